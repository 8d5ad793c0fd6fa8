"""Ollama's answers: recorded ones at any cut, faults, and what has no place in them."""

from __future__ import annotations

import json

import msgspec
import pytest
from tests.recorded_answers import Recording, cut, recordings

from dragoman.conversation.collect import UNFINISHED, collect
from dragoman.conversation.events import (
    CallStarted,
    Ended,
    Event,
    Failed,
    MediaDelta,
    Started,
    Stopped,
    TextDelta,
    Used,
)
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.literals import quote
from dragoman.conversation.parts import Call, MediaKind, Reasoning, Text
from dragoman.conversation.replies import Reply, Stop, Usage
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.ollama.stream import OllamaStreamParser, OllamaStreamRenderer
from dragoman.dialects.registry import dialect
from dragoman.wire.error_bodies import parse_failure

ANSWERS = dialect("ollama").answers
SHOWN = AnswerContext(model="shown", created=1_700_000_000)


def events_of(recording: Recording, size: int = 1 << 20) -> list[Event]:
    if not recording.stream:
        return ANSWERS.parse(recording.wire)
    parser = OllamaStreamParser()
    return [*(event for chunk in cut(recording.wire, size) for event in parser.feed(chunk)), *parser.close()]


def test_recorded_answers_are_read_whole() -> None:
    found = [(recording, collect(events_of(recording))) for recording in recordings("ollama")]
    assert len(found) == 31
    for recording, reply in found:
        assert isinstance(reply, Reply), (recording.id, reply)
        assert reply.choices[0].stop in (Stop.END, Stop.CALLS)
        assert reply.choices[0].parts
    kinds = [type(part) for _, reply in found if isinstance(reply, Reply) for part in reply.choices[0].parts]
    assert kinds.count(Call) == sum(recording.wire.count(b'"function":') for recording, _ in found) > 15
    assert kinds.count(Reasoning) == sum(b'"thinking":' in recording.wire for recording, _ in found) > 5


def test_what_was_recorded_is_written_again_with_its_durations() -> None:
    for recording in recordings("ollama"):
        reply = collect(events_of(recording))
        assert isinstance(reply, Reply)
        again = json.loads(ANSWERS.render(reply, AnswerContext()))
        last = json.loads(recording.wire.strip().split(b"\n")[-1])
        assert again["total_duration"] == last.get("total_duration", again["total_duration"]) > 0, recording.id
        for name in ("done", "done_reason", "prompt_eval_count", "eval_count"):
            assert again.get(name) == last.get(name), (recording.id, name)


DURATIONS = ("total_duration", "load_duration", "prompt_eval_duration", "eval_duration")
SAID = [Started("a", "m"), TextDelta(0, 0, b'"Hi"'), Stopped(0, Stop.END), Used(Usage(input=7, output=2)), Ended()]


@pytest.mark.parametrize("streamed", [False, True])
def test_every_answer_has_the_four_durations(streamed: bool) -> None:
    """A client divides counts by them. The request came at 100, the first word at 101, the end at 103."""
    moments = [101.0, 103.0, 103.0] if streamed else [103.0] * 3
    milliseconds = [3001, 1, 1000, 2000] if streamed else [3001, 1, 300, 2700]
    assert durations(AnswerContext(clock=lambda: moments.pop(0), began=100.0), streamed) == milliseconds
    assert durations(AnswerContext(), streamed) == [3, 1, 1, 1]


def durations(context: AnswerContext, streamed: bool) -> list[float]:
    """In milliseconds, as the client reads them."""
    reply = collect(SAID)
    assert isinstance(reply, Reply)
    wire = OllamaStreamRenderer(context).render(SAID) if streamed else ANSWERS.render(reply, context)
    last = json.loads(wire.strip().split(b"\n")[-1])
    return [last[name] / 1_000_000 for name in DURATIONS]


LINE = {"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": {"role": "assistant", "content": "A"}}


def fed(*lines: object) -> list[Event]:
    parser = OllamaStreamParser(seed="s")
    wire = b"".join(line if isinstance(line, bytes) else msgspec.json.encode(line) + b"\n" for line in lines)
    return [*parser.feed(wire), *parser.close()]


def test_a_stream_without_its_last_line_is_a_failure() -> None:
    assert fed({**LINE, "done": False})[-1] == Failed(UNFINISHED)
    assert fed()[-1] == Failed(UNFINISHED)
    assert fed({**LINE, "done": True})[-1] == Ended()


def test_an_error_line_ends_the_stream() -> None:
    found = fed({**LINE, "done": False}, {"error": "llama runner process has terminated"}, {**LINE, "done": True})
    assert isinstance(found[-1], Failed)
    assert found[-1].failure.message == "llama runner process has terminated"


def test_an_error_before_the_answer_has_the_kind_of_its_words() -> None:
    sentence = "prompt too long; exceeded max context length by 10 tokens"
    failure = parse_failure(400, {}, msgspec.json.encode({"error": sentence}))
    assert (failure.kind, failure.message) == (FailureKind.CONTEXT_LENGTH, sentence)
    missing = parse_failure(404, {}, b'{"error":"model \'x\' not found"}')
    assert missing.kind is FailureKind.NOT_FOUND


def test_lines_that_are_no_json_are_skipped_and_counted() -> None:
    parser = OllamaStreamParser()
    found = parser.feed(b"garbage\n" + msgspec.json.encode({**LINE, "done": True}) + b"\n")
    assert parser.skipped == 1
    assert isinstance(collect(found), Reply)


def test_half_a_letter_in_each_of_two_lines_is_one_letter() -> None:
    head = b'{"message":{"content":"%b"},"done":%b}\n'
    found = collect(fed(head % (b"a\\ud83d", b"false"), head % (b"\\ude00", b"true")))
    assert isinstance(found, Reply)
    (text,) = found.choices[0].parts
    assert isinstance(text, Text)
    assert text.text == "a\U0001f600"
    lone = collect(fed(head % (b"a\\ud83d", b"true")))
    assert isinstance(lone, Reply)
    (text,) = lone.choices[0].parts
    assert isinstance(text, Text)
    assert text.text == "a\ufffd"


def test_two_answers_never_share_the_ids_that_are_made_for_their_calls() -> None:
    called = {**LINE, "message": {"tool_calls": [{"function": {"name": "f", "arguments": {}}}] * 2}, "done": True}
    ids = [event.id for event in fed(called) if isinstance(event, CallStarted)]
    assert len(set(ids)) == 2
    others = ANSWERS.parse(msgspec.json.encode(called), seed="another")
    assert not set(ids) & {event.id for event in others if isinstance(event, CallStarted)}


def rendered(*events: Event) -> list[dict[str, object]]:
    renderer = ANSWERS.stream_renderer(SHOWN)
    wire = renderer.render(events) + renderer.close()
    return [json.loads(line) for line in wire.decode().splitlines()]


def test_no_reader_of_lines_cuts_a_text() -> None:
    words = "a\u2028b\u2029c\x85d\x0be"
    first, last = rendered(Started(), TextDelta(0, 0, quote(words)), Stopped(0, Stop.END), Ended())
    assert first["message"] == {"role": "assistant", "content": words}
    assert last["done_reason"] == "stop"


def test_a_picture_is_a_link_and_the_stream_goes_on() -> None:
    picture = MediaDelta(0, 0, MediaKind.IMAGE, "image/png", b'"AAAA"')
    lines = rendered(Started(), picture, TextDelta(0, 1, b'" there"'), Stopped(0, Stop.END), Ended())
    text = "".join(line["message"]["content"] for line in lines)  # type: ignore[index,misc]
    assert text == "[image](data:image/png;base64,AAAA) there"


def test_a_failure_is_the_last_line_and_no_success() -> None:
    lines = rendered(Started(), TextDelta(0, 0, b'"A"'), Failed(Failure(FailureKind.OVERLOADED, "Busy.")))
    assert lines[-1] == {"error": "Busy."}
    assert not any(line.get("done") for line in lines)
    status, _, body = ANSWERS.render_error(Failure(FailureKind.OVERLOADED, "Busy."), SHOWN)
    assert (status, json.loads(body)) == (503, {"error": "Busy."})


def test_a_prompt_that_is_too_long_says_so_in_ollamas_words() -> None:
    failure = Failure(FailureKind.CONTEXT_LENGTH, "Too many.", tokens=110, limit=100)
    told = json.loads(ANSWERS.render_error(failure, SHOWN)[2])["error"]
    assert told == "prompt too long; exceeded max context length by 10 tokens (Too many.)"
