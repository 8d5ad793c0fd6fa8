"""The official OpenAI SDK raises what we write as errors, in both dialects."""

from __future__ import annotations

from types import ModuleType

import openai
import orjson
import pytest
from tests.corpus import exchanges
from tests.sdk_readers import Loopback

from dragoman.conversation.events import Cited, Ended, Event, MediaDelta, ReasoningDelta, Signed, Stopped, TextDelta
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.parts import MediaKind, Opaque, Origin
from dragoman.conversation.replies import Stop
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.openai_chat import answer_render as chat_answers
from dragoman.dialects.openai_chat.stream import ChatStreamRenderer
from dragoman.dialects.openai_responses import answer_render as responses_answers
from dragoman.dialects.openai_responses.stream import ResponsesStreamRenderer
from dragoman.wire.error_bodies import parse_failure

CHAT, RESPONSES = "openai-chat", "openai-responses"
RENDERERS = {CHAT: ChatStreamRenderer, RESPONSES: ResponsesStreamRenderer}
ERRORS: dict[str, ModuleType] = {CHAT: chat_answers, RESPONSES: responses_answers}
ASKED = AnswerContext(model="m", id="answer_1", created=1, include_usage=True)


EXCEPTIONS: dict[FailureKind, type[openai.APIStatusError]] = {
    FailureKind.AUTH: openai.AuthenticationError,
    FailureKind.PERMISSION: openai.PermissionDeniedError,
    FailureKind.NOT_FOUND: openai.NotFoundError,
    FailureKind.QUOTA: openai.RateLimitError,
    FailureKind.RATE_LIMIT: openai.RateLimitError,
    FailureKind.OVERLOADED: openai.InternalServerError,
    FailureKind.CONTEXT_LENGTH: openai.BadRequestError,
    FailureKind.CONTENT_FILTER: openai.BadRequestError,
    FailureKind.BAD_REQUEST: openai.BadRequestError,
    FailureKind.TOO_LARGE: openai.APIStatusError,
    FailureKind.TIMEOUT: openai.InternalServerError,
    FailureKind.NETWORK: openai.InternalServerError,
    FailureKind.BROKEN_STREAM: openai.InternalServerError,
    FailureKind.ANSWER_TOO_LARGE: openai.InternalServerError,
    FailureKind.SERVER: openai.InternalServerError,
    FailureKind.NOT_SERVED: openai.InternalServerError,
}


def ask(sdks: Loopback, dialect: str, stream: bool = False) -> None:
    if dialect == CHAT:
        answer = sdks.openai.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "hi"}], stream=stream
        )
    else:
        answer = sdks.openai.responses.create(model="m", input="hi", stream=stream)
    if stream:
        list(answer)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dialect", [CHAT, RESPONSES])
@pytest.mark.parametrize("kind", FailureKind)
def test_every_kind_is_raised_as_its_exception(sdks: Loopback, dialect: str, kind: FailureKind) -> None:
    failure = Failure(kind, "the very words", 418, param="p", retry_after=2.5)
    status, headers, body = ERRORS[dialect].render_error(failure, ASKED)
    assert headers["retry-after"] == "3"
    sdks.serve(body, False, status, headers)
    with pytest.raises(EXCEPTIONS[kind]) as raised:
        ask(sdks, dialect)
    assert "the very words" in raised.value.message
    assert raised.value.request_id == "answer_1"
    again = parse_failure(status, headers, body)
    assert again.kind is (FailureKind.SERVER if status == 502 else kind)


@pytest.mark.parametrize("one_in", [8, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("dialect", [CHAT, RESPONSES])
def test_every_recorded_error_is_raised_as_its_exception(sdks: Loopback, dialect: str, one_in: int) -> None:
    count = 0
    for exchange in [one for one in exchanges("errors.jsonl") if one["response"]["status"] >= 400][::one_in]:
        response = exchange["response"]
        body = response["body"] if isinstance(response["body"], str) else orjson.dumps(response["body"]).decode()
        failure = parse_failure(response["status"], response["headers"], body.encode())
        sdks.serve(*_swapped(ERRORS[dialect].render_error(failure, ASKED)))
        with pytest.raises(EXCEPTIONS[failure.kind]) as raised:
            ask(sdks, dialect)
        assert failure.message in raised.value.message
        count += 1
    print(f"\n{dialect}: {count} recorded errors raised")
    assert count == -(-132 // one_in)


def _swapped(error: tuple[int, dict[str, str], bytes]) -> tuple[bytes, bool, int, dict[str, str]]:
    status, headers, body = error
    return body, False, status, headers


def test_the_helper_puts_together_what_comes_several_times(sdks: Loopback) -> None:
    """It fails for a second list whose things have no numbers."""
    notes = [b'{"url_citation":{"url":"http://a/%d","title":"","start_index":0,"end_index":1}}' % at for at in (0, 1)]
    pictures = [b'"%b"' % data for data in (b"AAAA", b"BBBB")]
    state = Opaque(kind="encrypted_content", json=b'"x"', origin=Origin(RESPONSES))
    events: list[Event] = [ReasoningDelta(0, 0, b'"Hm."', "summary"), Signed(0, 0, state), TextDelta(0, 1, b'"a"')]
    events += [Cited(0, 1, note, Origin(RESPONSES)) for note in notes]
    events += [MediaDelta(0, 2 + at, MediaKind.IMAGE, "image/png", data) for at, data in enumerate(pictures)]
    renderer = ChatStreamRenderer(ASKED)
    sdks.serve(renderer.render([*events, Stopped(0, Stop.END), Ended()]), True)
    with sdks.openai.chat.completions.stream(model="m", messages=[{"role": "user", "content": "hi"}]) as told:
        message = told.get_final_completion().choices[0].message
    more = message.model_extra or {}
    assert message.content == "a"
    assert [note.url_citation.url for note in message.annotations or ()] == ["http://a/0", "http://a/1"]
    assert [one["image_url"]["url"][-4:] for one in more["images"]] == ["AAAA", "BBBB"]
    (thought,) = more["reasoning_details"]
    assert (thought["type"], thought["summary"]) == ("reasoning.summary", "Hm.")


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 1, 0)])
def test_the_helper_tells_choices_apart_whatever_comes_first(sdks: Loopback, order: tuple[int, ...]) -> None:
    """Answers that are asked for one by one come as they are ready."""
    events: list[Event] = [TextDelta(choice, 0, b'"%d"' % choice) for choice in (*order, *reversed(order))]
    renderer = ChatStreamRenderer(ASKED)
    sdks.serve(renderer.render([*events, *[Stopped(choice, Stop.END) for choice in order], Ended()]), True)
    with sdks.openai.chat.completions.stream(model="m", messages=[{"role": "user", "content": "hi"}], n=3) as told:
        choices = told.get_final_completion().choices
    assert [(choice.index, choice.message.content, choice.finish_reason) for choice in choices] == [
        (number, f"{number}{number}", "stop") for number in range(3)
    ]


@pytest.mark.parametrize("dialect", [CHAT, RESPONSES])
def test_E13_an_error_in_a_stream_is_raised(sdks: Loopback, dialect: str) -> None:
    renderer = RENDERERS[dialect](ASKED)
    sdks.serve(renderer.close(), True)
    with pytest.raises(openai.APIError) as raised:
        ask(sdks, dialect, stream=True)
    assert "ended before the answer was complete" in raised.value.message


def test_a_context_length_error_has_the_numbers_in_the_clients_words() -> None:
    """D12."""
    failure = parse_failure(400, {}, b'{"type":"error","error":{"type":"invalid_request_error",'
                           b'"message":"prompt is too long: 213462 tokens > 200000 maximum"}}')  # fmt: skip
    status, _, body = chat_answers.render_error(failure, ASKED)
    error = orjson.loads(body)["error"]
    assert (status, error["code"]) == (400, "context_length_exceeded")
    assert error["message"].startswith("This model's maximum context length is 200000 tokens.")
    assert "resulted in 213462 tokens" in error["message"]
    assert "prompt is too long: 213462 tokens > 200000 maximum" in error["message"]
    error = orjson.loads(responses_answers.render_error(failure, ASKED)[2])["error"]
    assert error["message"].startswith("Your input exceeds the context window of this model.")


def test_a_spent_quota_is_not_tried_again() -> None:
    _, headers, _ = chat_answers.render_error(Failure(FailureKind.QUOTA, "spent"), ASKED)
    assert headers["x-should-retry"] == "false"
