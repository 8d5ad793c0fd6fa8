"""Every kind of answer in every client dialect, whole and streamed, against the types of the official SDKs.

The recorded answers are read elsewhere, but few of them are refusals, empty, cut in the middle of a call or broken off.
Here each SDK's own types validate what it is given (SDKs read leniently: a missing member shows only when it is used),
the strict reader of the dialect reads it, and a stream that breaks off raises in the SDK itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import anthropic
import cohere
import ollama
import openai
import pytest
from anthropic.types import Message, RawMessageStreamEvent
from botocore.exceptions import EventStreamError
from cohere.core.api_error import ApiError as CohereError
from google.genai import errors as gemini_errors
from google.genai.types import GenerateContentResponse
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter
from tests import strict_readers
from tests.sdk_readers import Loopback, ReportedFailure

from dragoman.conversation.changes import Undo
from dragoman.conversation.collect import collect
from dragoman.conversation.dialect_names import DIALECT_NAMES
from dragoman.conversation.events import (
    CallDelta,
    CallEnded,
    CallStarted,
    Ended,
    Event,
    Failed,
    ReasoningDelta,
    RefusalDelta,
    Started,
    Stopped,
    TextDelta,
    Used,
)
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.replies import Reply, Stop, Usage
from dragoman.dialects import registry
from dragoman.dialects.dialect import AnswerContext
from dragoman.engine.answer.translation import Translation

ANSWERING = AnswerContext(model="shown", created=1_700_000_000, id="resp_made_up", include_usage=True)
HALF = b'"{\\"a\\":"'
WHOLE = b'"{\\"a\\":1}"'


def called(part: int, arguments: bytes | None) -> list[Event]:
    deltas: list[Event] = [CallDelta(0, part, arguments)] if arguments is not None else []
    return [CallStarted(0, part, f"call_{part}", "look"), *deltas, CallEnded(0, part)]


KINDS: dict[str, tuple[list[Event], Stop]] = {
    "text": ([TextDelta(0, 0, b'"Hello "'), TextDelta(0, 0, b'"there"')], Stop.END),
    "a call": (called(0, WHOLE), Stop.CALLS),
    "a call without arguments": (called(0, None), Stop.CALLS),
    "text and calls": ([TextDelta(0, 0, b'"Look"'), *called(1, WHOLE), *called(2, b'"{}"')], Stop.CALLS),
    "thinking": ([ReasoningDelta(0, 0, b'"Hm"'), TextDelta(0, 1, b'"Yes"')], Stop.END),
    "thinking and a call": ([ReasoningDelta(0, 0, b'"Hm"'), *called(1, WHOLE)], Stop.CALLS),
    "nothing but thinking": ([ReasoningDelta(0, 0, b'"Hm"')], Stop.LENGTH),
    "a refusal": ([RefusalDelta(0, 0, b'"I cannot."')], Stop.FILTER),
    "a refusal that ends well": ([RefusalDelta(0, 0, b'"I cannot."')], Stop.END),
    "filtered": ([TextDelta(0, 0, b'"I"')], Stop.FILTER),
    "filtered at once": ([], Stop.FILTER),
    "cut by its length": ([TextDelta(0, 0, b'"I am"')], Stop.LENGTH),
    "a call cut by its length": (called(0, HALF), Stop.LENGTH),
    "nothing": ([], Stop.END),
}
WHOLE_TYPES: dict[str, Any] = {
    "openai-chat": ChatCompletion,
    "openai-responses": Response,
    "anthropic": Message,
    "gemini": GenerateContentResponse,
    "cohere": cohere.V2ChatResponse,
    "ollama": ollama.ChatResponse,
}
STREAM_TYPES: dict[str, Any] = {
    "openai-chat": TypeAdapter(ChatCompletionChunk),
    "openai-responses": TypeAdapter(ResponseStreamEvent),
    "anthropic": TypeAdapter(RawMessageStreamEvent),
    "gemini": TypeAdapter(GenerateContentResponse),
    "cohere": TypeAdapter(cohere.V2ChatStreamResponse),
    "ollama": TypeAdapter(ollama.ChatResponse),
}
"""boto3 has no types: its parser drops what the service model does not have, and the strict reader is its measure."""


def told(kind: str) -> list[Event]:
    events, stop = KINDS[kind]
    return [Started("made-1", "m", 1_700_000_000), *events, Stopped(0, stop), Used(Usage(10, 5)), Ended()]


def frames(body: bytes) -> Iterator[Any]:
    """What a stream of text has in each of its frames."""
    for line in body.splitlines():
        data = line.removeprefix(b"data: ")
        if data[:1] == b"{":
            yield json.loads(data)


@pytest.mark.parametrize("client", DIALECT_NAMES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_types_of_the_sdk_take_every_kind_of_answer(kind: str, client: str) -> None:
    answers = registry.dialect(client).answers
    reply = collect(told(kind))
    assert isinstance(reply, Reply)
    whole = answers.render(reply, ANSWERING)
    renderer = answers.stream_renderer(ANSWERING)
    streamed = b"".join(renderer.render([event]) for event in told(kind)) + renderer.close()
    strict_readers.read(client, whole, stream=False)
    strict_readers.read(client, streamed, stream=True)
    if client in WHOLE_TYPES:
        WHOLE_TYPES[client].model_validate_json(whole)
        validated = [STREAM_TYPES[client].validate_python(frame) for frame in frames(streamed)]
        assert len(validated) > 0


RAISED = (
    anthropic.APIError,
    openai.APIError,
    gemini_errors.APIError,
    ollama.ResponseError,
    CohereError,
    EventStreamError,
    ReportedFailure,
)
BROKEN = Failed(Failure(FailureKind.OVERLOADED, "The model is overloaded.", 529))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("upstream", DIALECT_NAMES)
def test_a_stream_that_breaks_off_raises_in_every_sdk(sdks: Loopback, upstream: str) -> None:
    """With the provider's own words, whether it tells why in its stream or its connection is cut (X11)."""
    renderer = registry.dialect(upstream).answers.stream_renderer(ANSWERING)
    begun = renderer.render([Started("made-1", "m"), TextDelta(0, 0, b'"Hello "'), TextDelta(0, 0, b'"the"')])
    for last, words in ((renderer.render([BROKEN]), "overloaded"), (b"", "")):
        for client in DIALECT_NAMES:
            translation = Translation(upstream, client, Undo(ids={"\0": ""}), ANSWERING)
            body = translation.feed(begun) + translation.feed(last) + translation.close()
            assert translation.failure is not None
            with pytest.raises(RAISED) as raised:
                sdks.read(client, body, stream=True)
            assert words in str(raised.value)
