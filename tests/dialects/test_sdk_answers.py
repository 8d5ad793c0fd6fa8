"""Every recorded answer in every dialect, whole and streamed, as the official SDK of that dialect reads it.

The upstream's own SDK reads the recording; the others read what we make of it, over loopback. All must see the same
text, calls, arguments, ids, stop and usage. A recorded stream is translated as a stream and folded into a whole answer,
a recorded whole answer is translated whole and told as a stream. What cannot be compared stands in a table below with
its reason; nothing else is left out.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import anthropic
import ollama
import openai
import orjson
import pytest
from botocore.exceptions import ClientError as AwsError
from cohere.core.api_error import ApiError as CohereError
from google.genai import errors as gemini_errors
from msgspec.structs import replace
from tests.openai_answers import sse
from tests.recorded_answers import RECORDED, Recording, cut, recordings
from tests.sdk_readers import Loopback, ReportedFailure, Seen

from dragoman.conversation.changes import Undo
from dragoman.conversation.collect import collect
from dragoman.conversation.dialect_names import DIALECT_NAMES
from dragoman.conversation.events import Event
from dragoman.conversation.replies import Reply
from dragoman.dialects import registry
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.families.call_input import call_input
from dragoman.engine.answer.translation import Translation

ANSWERING = AnswerContext(model="shown", created=1_700_000_000, id="resp_made_up", include_usage=True)
FORCED = Undo(ids={"\0": ""})
FAILURES = (
    anthropic.APIError,
    openai.APIError,
    gemini_errors.APIError,
    ollama.ResponseError,
    CohereError,
    ReportedFailure,
    AwsError,
)
"""What the SDKs raise for a failure."""

# Recordings that hold no answer: every dialect must tell them as a failure.
NO_ANSWER = {
    "aa1ca13508201a38": "an echo of the request",
    "49fdabc3c1b2e4f0": "an echo of the request",
    "d7ca19906aeb369c": "a note that an answer was deleted",
    "f34688e4ea3509bd": "its last frame breaks off",
}
QUEUED = "a request that was only taken in, to be answered in the background"

# Streams that the upstream's own SDK is given tidied up: the frames of the first answer that are JSON. We read them as
# they are.
TIDIED = {
    "52216a626d9d81d4": "ends with [DONE], which Anthropic's SDK takes for JSON",
    "4381aeecc8c595d0": "several answers in one file",
    "19e40adac63bd750": "several answers in one file",
    "256776c8d60b4655": "several answers in one file",
    "bc51000a3b8e9a45": "several answers in one file",
}
# Recordings that the upstream's own SDK cannot read, so that there is nothing to compare with.
UNREADABLE = {
    "118ccb6edb301b10": "an answer of the old completions, which has no message",
    "2af0a31db292d0fb": "binary frames that were recorded as text, and are damaged",
    "dd34985d4a6ee1a8": "binary frames that were recorded as text, and are damaged",
    "0a5565e6fa29f4d1": "binary frames that were recorded as text, and are damaged",
    "4b0b2cc8a151f3f8": "binary frames that were recorded as text, and are damaged",
    "4ae04e9e81aaa7bd": "written by hand: blocks with a type, which Bedrock does not have",
    "bc03d34d1c4f9186": "written by hand: blocks with a type, which Bedrock does not have",
    "cefcee010981ec32": "written by hand: blocks with a type, which Bedrock does not have",
}
# Google's SDK does not read these at all: it is shown the recording in words, and not our answer in its own dialect,
# which keeps such fields as they came.
NUMBERED = "enums written as numbers, which Google's SDK does not read"

# What an SDK shows otherwise than the recording: fields that are not compared.
EXCUSED = {
    "fe85221344135475": ({"usage"}, "its usage stands in meta, which Cohere's SDK does not show"),
    "014a7ebdc71fc60c": ({"usage"}, "its usage stands in x_groq, which OpenAI's SDK does not show"),
    "d2d33405b3f10f1f": ({"stop"}, "no finish reason"),
    "8638e66480f15ce4": ({"stop"}, "UNEXPECTED_TOOL_CALL has no word in other dialects"),
    "803efa9306075438": ({"calls", "stop", "ids"}, "Google's SDK does not put streamed arguments together"),
    "8e0ebabc7f8cfafe": ({"calls", "stop", "ids"}, "Google's SDK does not put streamed arguments together"),
    "c66766e19d5a8cd7": ({"calls", "stop", "ids"}, "Google's SDK does not put streamed arguments together"),
    "881a203bcf547f12": ({"calls", "stop", "ids"}, "Google's SDK does not put streamed arguments together"),
}
ONE_TEXT = ("openai-chat", "gemini", "ollama", "cohere")
"""Clients that are not shown a run of a tool, and read all texts as one: where it stood, a translation has a blank
line. Gemini shows runs of code."""
# Pairs of a recording and a client whose SDK cannot read it.
BEYOND = {
    ("fa5582b589f5dc23", "gemini"): "its picture was shortened to text that is no base64",
}


def readable(recording: Recording, upstream: str) -> bytes:
    """The wire as the upstream's own SDK takes it: Google's reads arrays only as server-sent events."""
    if upstream != "gemini" or recording.wire.lstrip()[:1] != b"[":
        return recording.wire
    return b"".join(b"data: %b\r\n\r\n" % orjson.dumps(chunk) for chunk in orjson.loads(recording.wire))


def tidied(wire: bytes) -> bytes:
    """The frames up to the end of the first answer; no end marker, and nothing that is no JSON."""
    kept = []
    for frame in wire.replace(b"\r\n", b"\n").split(b"\n\n"):
        found = frame.partition(b"data:")[2]
        try:
            kind = orjson.loads(found).get("type")
        except orjson.JSONDecodeError:
            continue
        kept.append(frame + b"\n\n")
        if kind in ("message_stop", "response.completed"):
            break
    return b"".join(kept)


def translated(upstream: str, client: str, wire: bytes, stream: bool) -> tuple[bytes, Translation]:
    translation = Translation(upstream, client, FORCED, ANSWERING)
    if not stream:
        return translation.whole(wire), translation
    return b"".join(map(translation.feed, cut(wire, 50))) + translation.close(), translation


def other_form(upstream: str, client: str, wire: bytes, stream: bool) -> bytes:
    """A stream folded into a whole answer; a whole answer told as a stream."""
    codec = registry.dialect(upstream).answers
    if stream:
        parser = codec.stream_parser(seed=ANSWERING.id)
        reply = collect([*parser.feed(wire), *parser.close()])
        assert isinstance(reply, Reply), reply
        return registry.dialect(client).answers.render(reply, ANSWERING)
    events: list[Event] = codec.parse(wire, seed=ANSWERING.id)
    renderer = registry.dialect(client).answers.stream_renderer(ANSWERING)
    return renderer.render(events) + renderer.close()


_LINK = re.compile(r"\[(image|audio)\]\(data:[^)]*\)(\n\n)?")
_FIELDS = ("text", "calls", "stop", "usage", "ids")


def compared(seen: Seen, wanted: Seen, identity: str) -> dict[str, Any]:
    """The fields that differ. Ids that the recording does not have are made; pictures in Claude's dialect are links."""
    fields = set(_FIELDS) - EXCUSED.get(identity, (set(), ""))[0]
    if not all(wanted.ids) or not all(seen.ids):  # Ollama's SDK does not show the ids of calls
        fields.discard("ids")
    seen = replace(seen, text=_LINK.sub("", seen.text))
    pairs = {key: (getattr(seen, key), getattr(wanted, key)) for key in fields}
    return {key: (one, other) for key, (one, other) in pairs.items() if one != other}


def cut_short(wanted: Seen, client: str, stream: bool) -> Seen:
    """Arguments that break off: if they are an object, the members that are complete, as Claude's SDK reads a stream.
    In a stream of Bedrock they are a text."""
    if client == "ollama":
        return replace(wanted, usage=(*wanted.usage[:2], 0))  # it has no count of cached tokens
    if client != "anthropic" and (client != "bedrock" or stream):
        return wanted
    calls = []
    for name, arguments in wanted.calls:
        found = orjson.loads(arguments)
        text = found.get("arguments")
        broken = list(found) == ["arguments"] and isinstance(text, str) and text.lstrip()[:1] == "{"
        calls.append((name, json.dumps(orjson.loads(call_input(text)), sort_keys=True) if broken else arguments))
    return replace(wanted, calls=tuple(calls))


def shown(recording: Recording, wire: bytes) -> bytes:
    """The recording as its own SDK can read it."""
    if recording.id in TIDIED:
        return tidied(wire)
    if b'"finishReason":1' not in wire:
        return wire
    if not recording.stream:
        return orjson.dumps(worded(orjson.loads(wire)))
    frames = wire.replace(b"\r\n", b"\n").split(b"\n\n")
    return sse(*[worded(orjson.loads(frame.removeprefix(b"data:"))) for frame in frames if frame.strip()])


def worded(value: Any) -> Any:
    """The reason to finish as a word; other enums that are numbers left out."""
    if isinstance(value, list):
        return [worded(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {key: worded(item) for key, item in value.items() if key not in _ENUMS or not isinstance(item, int)}
    return {**kept, "finishReason": "STOP"} if value.get("finishReason") == 1 else kept


_ENUMS = frozenset({"category", "finishReason", "modality", "probability", "severity", "trafficType"})


def beyond(recording: Recording, wire: bytes, client: str) -> str:
    """Why a client's SDK cannot read what we make of a recording."""
    if client == "gemini" and b'"finishReason":1' in wire:
        return NUMBERED
    return BEYOND.get((recording.id, client), "")


def has_no_answer(recording: Recording, wire: bytes) -> str:
    if recording.stream or b'"object":"response"' not in wire:
        return NO_ANSWER.get(recording.id, "")
    return QUEUED if orjson.loads(wire).get("status") in ("queued", "in_progress") else ""


@pytest.mark.slow
@pytest.mark.parametrize("upstream", RECORDED)
def test_recorded_answers_read_the_same_in_every_sdk(sdks: Loopback, upstream: str) -> None:
    counts: Counter[str] = Counter()
    faults: list[object] = []
    for recording in recordings(upstream, about=35):
        wire = readable(recording, upstream)
        if recording.id in UNREADABLE:
            counts[f"cannot: {UNREADABLE[recording.id]}"] += 1
            continue
        reason = has_no_answer(recording, wire)
        if reason:
            faults += no_success(sdks, upstream, recording, wire)
            counts[f"failure: {reason}"] += 1
            continue
        wanted = sdks.read(upstream, shown(recording, wire), recording.stream)
        for client in DIALECT_NAMES:
            reason = beyond(recording, wire, client)
            if reason:
                counts[f"cannot in {client}: {reason}"] += 1
                continue
            faults += differences(sdks, upstream, client, recording, wire, wanted, counts)
    print(f"\n{upstream}", dict(counts))
    assert faults == []
    assert min(counts[f"{client} {form}"] for client in DIALECT_NAMES for form in ("whole", "streamed")) > 20


def differences(
    sdks: Loopback,
    upstream: str,
    client: str,
    recording: Recording,
    wire: bytes,
    wanted: Seen,
    counts: Counter[str],
) -> Iterator[object]:
    """What a client sees otherwise, in both forms; counts what it sees the same. The form that is not the recording's
    is written without a translation."""
    own, translation = translated(upstream, client, wire, recording.stream)
    assert translation.failure is None, (recording.id, translation.failure)
    other = other_form(upstream, client, wire, recording.stream)
    for body, stream in ((own, recording.stream), (other, not recording.stream)):
        form = f"{client} {'streamed' if stream else 'whole'}"
        apart = wanted.set_off_but_for_code if client == "gemini" else wanted.set_off
        asked = replace(wanted, text=apart) if body is own and client in ONE_TEXT and apart else wanted
        found = compared(sdks.read(client, body, stream), cut_short(asked, client, stream), recording.id)
        if found:
            yield recording.id, form, found
        else:
            counts[form] += 1


def no_success(sdks: Loopback, upstream: str, recording: Recording, wire: bytes) -> Iterator[object]:
    """A recording without an answer is a failure in every other dialect, and its SDK raises."""
    for client in set(DIALECT_NAMES) - {upstream}:
        body, translation = translated(upstream, client, wire, recording.stream)
        if translation.failure is None:
            yield recording.id, client, "no failure"
            continue
        status, headers, told = registry.dialect(client).answers.render_error(translation.failure, ANSWERING)
        if recording.stream:
            sdks.serve(body, True)
        else:
            sdks.serve(told, False, status, headers)
        with pytest.raises(FAILURES):
            sdks.read_served(client, recording.stream)
