"""Every recorded answer, whole and streamed, in every dialect, as the strictest client of that dialect reads it.

`tests/strict_readers.py` is that client: required members by the vendors' published types, one current item, no part
without text at the end, the order of events, one id for one thing. What it ends up with must be the same from a stream
as from a whole answer, and the same text and calls in all dialects.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from tests.dialects.test_sdk_answers import FORCED, UNREADABLE, has_no_answer, readable
from tests.recorded_answers import RECORDED, Recording, cut, recordings
from tests.strict_readers import Result, Unacceptable, read

from dragoman.conversation.collect import collect
from dragoman.conversation.dialect_names import DIALECT_NAMES
from dragoman.conversation.replies import Reply
from dragoman.dialects import registry
from dragoman.dialects.dialect import AnswerContext, Framing
from dragoman.engine.answer.translation import Translation
from dragoman.wire.aws_event_stream import EventStreamDecoder

TOOL = b'[{"type":"function","name":"f","parameters":{"type":"object"}}]'
ASKED = AnswerContext(
    model="shown",
    created=1_700_000_000,
    id="req_0123456789",
    include_usage=True,
    request={"tools": TOOL, "reasoning": b'{"effort":"low"}', "text": b'{"verbosity":"low"}', "temperature": b"null"},
)
# Recordings of a dialect that its own strictest reader refuses for what the provider itself wrote. Written again in the
# same dialect that stays as it came; in every other dialect they are read like all others.
AS_IT_CAME = {
    "d7a30b458c8272cd": "a citation without its place",
    "421a976d0e2b8fa2": "a citation without its place",
    "54f034cc1f4d890c": "an annotation of OpenRouter's own type",
    "12ea235dae58cc12": "a text in the place of the setting `reasoning`",
    "45db53f687649a66": "xAI gives two reasoning items the same id",
}
# Pairs of a recording and a client whose answer is right, and still refused by the reader.
EXCUSED = {
    ("8638e66480f15ce4", "openai-chat"): "a call of a tool that nobody declared: `stop`, so that no client runs it",
}
_CHOICES = "two choices, and the second comes first: a stream shows the first to come, a whole answer the first one"
EXCUSED |= {("80c7aae55719f50d", client): _CHOICES for client in ("anthropic", "openai-responses", "ollama")}
PREFIXES = {"openai-chat": "chatcmpl-", "openai-responses": "resp_", "anthropic": "msg_"}
"""How the ids of a vendor's answers begin. Others have ids of no particular form."""


def both_forms(upstream: str, client: str, recording: Recording) -> Iterator[tuple[bytes, bool]]:
    """The recording as the client gets it: in the form in which it came, and in the other one."""
    own, other = (Translation(upstream, client, FORCED, ASKED) for _ in range(2))
    answers = registry.dialect(client).answers
    if recording.stream:
        yield b"".join(map(own.feed, cut(recording.wire, 50))) + own.close(), True
        reply = collect([*other.read(recording.wire), *other.read_end()])
        assert isinstance(reply, Reply)
        yield answers.render(reply, ASKED), False
    else:
        yield own.whole(recording.wire), False
        renderer = answers.stream_renderer(ASKED)
        yield renderer.render(other.read_whole(recording.wire)) + renderer.close(), True
    assert own.failure is None, (recording.id, own.failure)


def is_counted(upstream: str, recording: Recording) -> bool:
    """Whether the provider said what the answer cost."""
    seen = Translation(upstream, upstream, FORCED, ASKED)
    _ = [*seen.read(recording.wire), *seen.read_end()] if recording.stream else seen.read_whole(recording.wire)
    return seen.usage is not None and seen.usage.total > 0


def arguments(text: str) -> Any:
    """Arguments to be compared: what is no object has a name of its own in dialects that want one."""
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return "cut off"
    return found if isinstance(found, dict) and "cut off" not in found and "arguments" not in found else "cut off"


def alike(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Whether two clients run the same calls. Arguments that a limit cut off are in nobody's hands."""
    if [name for name, _ in one] != [name for name, _ in other]:
        return False
    return all(mine == theirs or "cut off" in (mine, theirs) for (_, mine), (_, theirs) in zip(one, other, strict=True))


def essence(result: Result) -> tuple[Any, ...]:
    return tuple((name, arguments(text)) for _, name, text in result.calls)


@pytest.mark.parametrize("upstream", RECORDED)
def test_the_strictest_reader_takes_every_recorded_answer(upstream: str) -> None:
    faults: list[object] = []
    counts: Counter[str] = Counter()
    for recording in recordings(upstream, about=50):
        if recording.id in UNREADABLE or has_no_answer(recording, readable(recording, upstream)):
            continue
        for client in DIALECT_NAMES:
            if (recording.id, client) in EXCUSED or (client == upstream and recording.id in AS_IT_CAME):
                counts[f"{client} excused"] += 1
                continue
            faults += misreadings(upstream, client, recording, counts)
    print(f"\n{upstream}", dict(counts))
    assert faults == []
    assert min(counts[f"{client} {form}"] for client in DIALECT_NAMES for form in ("whole", "streamed")) > 30


def misreadings(upstream: str, client: str, recording: Recording, counts: Counter[str]) -> Iterator[object]:
    used = is_counted(upstream, recording)
    results = []
    for body, stream in both_forms(upstream, client, recording):
        try:
            results.append(read(client, body, stream, used=used))
        except Unacceptable as refusal:
            yield recording.id, client, "streamed" if stream else "whole", str(refusal)
            continue
        counts[f"{client} {'streamed' if stream else 'whole'}"] += 1
    if len(results) == 2:
        yield from differences(upstream, client, recording, results)


def differences(upstream: str, client: str, recording: Recording, results: list[Result]) -> Iterator[object]:
    """What a client gets otherwise from a stream; and whether it finds the answer where it looks for it."""
    first, second = results
    if (first.id, first.text) != (second.id, second.text) or not alike(essence(first), essence(second)):
        yield recording.id, client, "a stream is read otherwise", first, second
    if upstream != client and not first.id.startswith(PREFIXES.get(client, "")):
        yield recording.id, client, "another vendor's id", first.id
    if upstream != client and first.text and not first.calls and not first.last:
        yield recording.id, client, "the last block is not the answer", first.text[:80]


@pytest.mark.parametrize("upstream", RECORDED)
def test_ids_are_made_from_the_upstreams_and_never_change(upstream: str) -> None:
    """Two answers with the same id of the upstream's share an id, two with different ones do not."""
    found = []
    for recording in recordings(upstream, about=15):
        if recording.id not in UNREADABLE and not has_no_answer(recording, readable(recording, upstream)):
            for client in DIALECT_NAMES:
                once, again = (next(both_forms(upstream, client, recording))[0] for _ in range(2))
                assert once == again, client
            found.append(recording.id)
    assert found


# Readers that refuse nothing prove nothing.

CHAT = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [
        {
            "index": 0,
            "logprobs": None,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "Hi", "refusal": None},
        }
    ],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
}


def without(body: Any, *path: Any) -> bytes:
    copy = orjson.loads(orjson.dumps(body))
    inner = copy
    for step in path[:-1]:
        inner = inner[step]
    del inner[path[-1]]
    return orjson.dumps(copy)


def test_the_chat_reader_refuses_what_is_not_whole() -> None:
    assert read("openai-chat", orjson.dumps(CHAT), False).text == "Hi"
    choice = ("choices", 0)
    paths = [("id",), ("created",), ("usage",), (*choice, "logprobs"), (*choice, "finish_reason"), (*choice, "index")]
    for path in [*paths, (*choice, "message", "refusal"), (*choice, "message", "content")]:
        with pytest.raises(Unacceptable):
            read("openai-chat", without(CHAT, *path), False)
    null = orjson.loads(orjson.dumps(CHAT))
    null["choices"][0]["message"]["tool_calls"] = None
    with pytest.raises(Unacceptable, match="tool_calls is null"):
        read("openai-chat", orjson.dumps(null), False)


def rendered_stream(client: str) -> list[bytes]:
    """A stream of ours with text and two calls, frame by frame."""
    wire = orjson.dumps(
        {
            "id": "x1",
            "model": "m",
            "type": "message",
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Hello"},
                {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}},
                {"type": "tool_use", "id": "t2", "name": "f", "input": {"a": 2}},
            ],
            "stop_reason": "tool_use",
            "usage": {"input_tokens": 3, "output_tokens": 4},
        }
    )
    renderer = registry.dialect(client).answers.stream_renderer(ASKED)
    body = renderer.render(Translation("anthropic", client, FORCED, ASKED).read_whole(wire)) + renderer.close()
    if registry.dialect(client).framing is Framing.EVENT_STREAM:
        return [frame.raw for frame in EventStreamDecoder().feed(body)]
    end = next(end for end in (b"\r\n\r\n", b"\n\n", b"\n") if end in body)
    return [frame + end for frame in body.split(end)[:-1]]


@pytest.mark.parametrize("client", DIALECT_NAMES)
def test_a_stream_reader_refuses_every_frame_that_is_missing_twice_or_out_of_place(client: str) -> None:
    """All but the deltas that carry nothing which the end repeats: their loss is a loss of text alone."""
    frames = rendered_stream(client)
    wanted = read(client, b"".join(frames), True)
    assert (wanted.text, len(wanted.calls)) == ("Hello", 2)
    for at in range(len(frames)):
        for damaged in (
            frames[:at] + frames[at + 1 :],
            frames[: at + 1] + frames[at:],
            frames[:at] + frames[at + 1 : at + 2] + frames[at : at + 1] + frames[at + 2 :],
        ):
            if damaged == frames:
                continue
            try:
                result = read(client, b"".join(damaged), True)
            except (Unacceptable, KeyError, IndexError, ValueError):
                continue
            assert result != wanted, (at, frames[at])
