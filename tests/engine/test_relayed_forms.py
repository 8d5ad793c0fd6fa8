"""What servers and proxies write around the events of a stream: official SDKs that stumble over it do not see it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import anthropic
import msgspec
import pytest
from google.genai.errors import APIError
from tests.by_dialect import SSE_DIALECTS, TEXT_DIALECTS
from tests.sdk_readers import Loopback

from dragoman.conversation.events import Ended, Event, Started, Stopped, TextDelta, Used
from dragoman.conversation.literals import quote
from dragoman.conversation.replies import Stop, Usage
from dragoman.dialects import registry
from dragoman.dialects.dialect import AnswerContext, FrameForm
from dragoman.engine.answer.relay_frames import RelayFrames
from dragoman.engine.answer.translation import Translation

ANSWERING = AnswerContext(model="m", created=1_700_000_000, id="resp_1", include_usage=True)
EVENTS: list[Event] = [
    Started("resp_1", "m", 1_700_000_000),
    *[TextDelta(0, 0, quote(f" word{number}")) for number in range(20)],
    Stopped(0, Stop.END),
    Used(Usage(5, 20)),
    Ended(),
]
BOM = b"\xef\xbb\xbf"
PICTURE = b"x" * 100_000

Distort = Callable[[list[bytes]], list[bytes]]


def _rename(frame: bytes, name: bytes) -> bytes:
    return name + b"".join([line for line in frame.splitlines(keepends=True) if not line.startswith(b"event:")])


DISTORTED: Mapping[str, Distort] = {
    "a byte order mark": lambda frames: [BOM + frames[0], *frames[1:]],
    "comments": lambda frames: [b": ping\n\n" + frame for frame in frames],
    "comments within": lambda frames: [b": ping\n" + frame for frame in frames],
    "a time to wait": lambda frames: [b"retry: 3000\n\n", *frames],
    "a time to wait within": lambda frames: [b"retry: 3000\n" + frame for frame in frames],
    "ids": lambda frames: [b"id: %d\n%b" % pair for pair in enumerate(frames)],
    "an id, and comments": lambda frames: [b"id: 1\n" + frames[0], *[b": ping\n\n" + one for one in frames[1:]]],
    "the standard's name": lambda frames: [_rename(frame, b"event: message\n") for frame in frames],
    "no space": lambda frames: [frame.replace(b"data: ", b"data:") for frame in frames],
    "data before the name": lambda frames: [
        b"\n".join([*reversed(frame.strip().splitlines()), b"", b""]) for frame in frames
    ],
    "no data": lambda frames: [b"event: keepalive\n\n" + b"data:\n\n" + frame for frame in frames],
    "an end marker": lambda frames: [*[one for one in frames if b"[DONE]" not in one], b"data: [DONE]\n\n"],
    "a named end marker": lambda frames: [
        *[one for one in frames if b"[DONE]" not in one],
        b"event: done\ndata: [DONE]\n\n",
    ],
}
UNNAMED: Mapping[str, Distort] = {"no names": lambda frames: [_rename(frame, b"") for frame in frames]}


def _frames(dialect: str) -> list[bytes]:
    renderer = registry.dialect(dialect).answers.stream_renderer(ANSWERING)
    wire = b"".join([renderer.render([event]) for event in EVENTS]) + renderer.close()
    return [frame + b"\n\n" for frame in wire.replace(b"\r\n", b"\n").split(b"\n\n") if frame]


def _relay(dialect: str, pieces: list[bytes]) -> bytes:
    relayed = Translation(dialect, dialect, context=ANSWERING)
    out = b"".join([relayed.feed(piece) for piece in pieces]) + relayed.close()
    assert relayed.relays
    assert relayed.failure is None
    return out


@pytest.mark.parametrize("dialect", SSE_DIALECTS)
@pytest.mark.parametrize("how", [*DISTORTED, *UNNAMED])
def test_E4_the_official_sdk_reads_a_distorted_stream_like_a_clean_one(how: str, dialect: str, sdks: Loopback) -> None:
    clean = _frames(dialect)
    odd = {**DISTORTED, **UNNAMED}[how](clean)
    seen = sdks.read(dialect, b"".join(clean), stream=True)
    assert seen.text.endswith("word19")
    wire = b"".join(odd)
    for pieces in (odd, [wire], [wire[at : at + 7] for at in range(0, len(wire), 7)]):
        assert sdks.read(dialect, _relay(dialect, pieces), stream=True) == seen


@pytest.mark.parametrize("dialect", ["anthropic", "gemini"])
@pytest.mark.parametrize("how", DISTORTED)
def test_a_client_of_few_forms_gets_the_frames_of_its_vendor(how: str, dialect: str) -> None:
    clean = _frames(dialect)
    relayed = _relay(dialect, DISTORTED[how](clean))
    if dialect == "anthropic":
        relayed = relayed.replace(b": ping\n\n", b"").replace(b": ping\n", b"").replace(b"data:{", b"data: {")
    assert relayed == b"".join(clean)


HALVES = (TextDelta(0, 0, quote("a HIGH")), TextDelta(0, 0, quote("LOW b HIGH")), TextDelta(0, 0, quote("LOW")))


@pytest.mark.parametrize("dialect", TEXT_DIALECTS)
def test_a_pair_that_a_server_split_reaches_the_official_sdk_whole(dialect: str, sdks: Loopback) -> None:
    renderer = registry.dialect(dialect).answers.stream_renderer(ANSWERING)
    rendered = [renderer.render([event]) for event in (EVENTS[0], *HALVES, *EVENTS[-3:])]
    wire = b"".join([*rendered, renderer.close()])
    wire = wire.replace(b"HIGH", b"\\ud83d").replace(b"LOW", b"\\ude00")
    for size in (7, len(wire)):
        relayed = _relay(dialect, [wire[at : at + size] for at in range(0, len(wire), size)])
        assert sdks.read(dialect, relayed, stream=True).text == "a \U0001f600 b \U0001f600"


BARE = {"one line": '{"error":{"message":"No."}}', "many lines": '{\n  "error": {\n    "message": "No."\n  }\n}\n'}


@pytest.mark.parametrize("dialect", SSE_DIALECTS)
@pytest.mark.parametrize("client", SSE_DIALECTS)
@pytest.mark.parametrize("form", BARE)
def test_E14_an_error_outside_of_any_frame_reaches_the_client(form: str, client: str, dialect: str) -> None:
    bare = BARE[form].encode()
    for end in (b"", b"\n\n"):
        answer = Translation(dialect, client, context=ANSWERING)
        assert answer.feed(b"".join(_frames(dialect)[:6]))
        last = answer.feed(bare + end) + answer.close()
        assert answer.failure is not None
        assert answer.failure.message == "No."
        assert any(b"No." in line for line in last.splitlines() if line.startswith(b"data:"))


FOREIGN: dict[str, dict[str, Any]] = {
    "an object": {"error": {"message": "No.", "type": "server_error", "code": None}},
    "a text": {"error": "No."},
    "beside a type": {"type": "error", "error": {"message": "No.", "type": "overloaded_error"}},
}
"""What proxies and other servers write for an error in the middle of a stream."""


@pytest.mark.parametrize("dialect", ["anthropic", "gemini"])
@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.parametrize("size", [9, 4096])
def test_an_error_in_another_vendors_form_is_raised_by_the_official_sdk(
    name: str, dialect: str, size: int, sdks: Loopback
) -> None:
    wire = b"".join(_frames(dialect)[:6]) + b"data: " + json.dumps(FOREIGN[name]).encode() + b"\n\n"
    answer = Translation(dialect, dialect, context=ANSWERING)
    relayed = b"".join([answer.feed(wire[at : at + size]) for at in range(0, len(wire), size)]) + answer.close()
    assert answer.failure is not None
    with pytest.raises((anthropic.APIError, APIError), match=r"No\."):
        sdks.read(dialect, relayed, stream=True)


@pytest.mark.parametrize("dialect", ["anthropic", "gemini"])
def test_an_error_in_the_vendors_own_form_is_relayed_as_it_came(dialect: str) -> None:
    own: dict[str, Any] = {"type": "error", "error": {"type": "overloaded_error", "message": "No."}, "more": 1}
    own = {"error": {"code": 503, "message": "No.", "status": "UNAVAILABLE"}, "more": 1} if dialect == "gemini" else own
    frame = (b"event: error\n" if dialect == "anthropic" else b"") + b"data: " + json.dumps(own).encode() + b"\n\n"
    wire = b"".join(_frames(dialect)[:6]) + frame
    answer = Translation(dialect, dialect, context=ANSWERING)
    assert answer.feed(wire) + answer.close() == wire


def test_signs_of_life_and_names_of_their_own_reach_clients_that_read_them() -> None:
    wire = b': waiting\n\nevent: progress\ndata: {"at":1}\n\ndata:{"at":2}\n\n'
    assert RelayFrames(None).feed(wire) == wire


@pytest.mark.parametrize("form", FrameForm)
def test_what_stands_around_a_picture_is_taken_out_too(form: FrameForm) -> None:
    frames = RelayFrames(None, form=form)
    out = frames.feed(BOM + b'retry: 1\nevent: message\ndata: {"type":"message","a":"' + PICTURE)
    out += frames.feed(PICTURE)
    out += frames.feed(b'"}\n\nid: 4\ndata: {"type":"b"}\n\n')
    name = b"event: %b\n" if form is FrameForm.NAMED else b"%.0b"
    picture = b'data: {"type":"message","a":"' + PICTURE + PICTURE + b'"}\n\n'
    assert out == name % b"message" + picture + name % b"b" + b'data: {"type":"b"}\n\n'
    body = b'{"a": "data: ' + PICTURE
    assert RelayFrames(None, form=form).feed(body) == body


@pytest.mark.parametrize("client", ["ollama", "openai-chat"])
@pytest.mark.parametrize("size", [1, 4096])
def test_lines_of_json_may_have_a_byte_order_mark_or_be_server_sent_events(client: str, size: int) -> None:
    renderer = registry.dialect("ollama").answers.stream_renderer(ANSWERING)
    clean = renderer.render([*EVENTS[:3], TextDelta(0, 0, quote(PICTURE.decode())), *EVENTS[3:]]) + renderer.close()
    framed = [b"id: 1\nevent: message\ndata: %b\n\n" % line for line in clean.splitlines()]
    events = b"".join([BOM, b": ping\n\n", *framed, b"data: [DONE]\n\n"])
    outs = []
    for wire in (clean, BOM + clean, events):
        relayed = Translation("ollama", client, context=ANSWERING)
        outs.append(
            b"".join([relayed.feed(wire[at : at + size]) for at in range(0, len(wire), size)]) + relayed.close()
        )
        assert not relayed.skipped
    assert outs[0] == outs[1]
    assert outs[0].replace(b"\n", b"") == outs[2].replace(b"\n", b"")


def _line(message: object, **more: object) -> dict[str, object]:
    return {"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": False, **more}


def _called(arguments: object) -> dict[str, object]:
    return _line(
        {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": arguments}}]}
    )


COUNTED = {"done": True, "done_reason": "stop", "prompt_eval_count": 3, "eval_count": 2}
BEGUN = _line({"role": "assistant", "content": "a"})
OVER = _line({"role": "assistant", "content": ""}, **COUNTED)
ODD_LINES: Mapping[str, tuple[list[object], str]] = {
    "a message that is null": ([BEGUN, _called({"a": 1}), _line(None, **COUNTED)], '{"a": 1}'),
    "no message": ([BEGUN, _called({"a": 1}), {"model": "m", **COUNTED}], '{"a": 1}'),
    "a content that is null": (
        [BEGUN, _line({"role": "assistant", "content": None}), _called({"a": 1}), OVER],
        '{"a": 1}',
    ),
    "what is no object": ([BEGUN, [1], None, "x", _called({"a": 1}), OVER], '{"a": 1}'),
    "arguments as a text": ([BEGUN, _called('{"a": 1}'), OVER], '{"a": 1}'),
    "arguments that are null": ([BEGUN, _called(None), OVER], "{}"),
}


@pytest.mark.parametrize("client", ["ollama", "openai-chat", "anthropic", "gemini"])
@pytest.mark.parametrize("size", [7, 4096])
@pytest.mark.parametrize("name", ODD_LINES)
def test_sdks_read_odd_lines_of_ollama(name: str, size: int, client: str, sdks: Loopback) -> None:
    lines, arguments = ODD_LINES[name]
    wire = b"\n\r\n".join([b"", *map(msgspec.json.encode, lines), b""])
    relayed = Translation("ollama", client, context=ANSWERING)
    out = b"".join([relayed.feed(wire[at : at + size]) for at in range(0, len(wire), size)]) + relayed.close()
    seen = sdks.read(client, out, stream=True)
    assert (seen.text, seen.calls, seen.stop, seen.usage) == ("a", (("f", arguments),), "calls", (3, 2, 0))


def _event(kind: str, message: object = None, **more: object) -> dict[str, object]:
    return {"type": kind, **({"delta": {"message": message}} if message is not None else {}), **more}


WORDS = [
    _event("content-start", {"content": {"type": "text", "text": ""}}, index=0),
    _event("content-delta", {"content": {"text": "a"}}, index=0),
    _event("content-end", index=0),
]
NAMED = {"id": "c", "type": "function", "function": {"name": "f", "arguments": ""}}
FILLED = _event("tool-call-delta", {"tool_calls": {"function": {"arguments": '{"a": 1}'}}}, index=0)
CALLED = [_event("tool-call-start", {"tool_calls": NAMED}, index=0), FILLED, _event("tool-call-end", index=0)]
ODD_EVENTS: Mapping[str, list[dict[str, object]]] = {
    "numbers that are null": [{**event, "index": None} for event in [*WORDS, *CALLED]],
    "no numbers": [{key: value for key, value in event.items() if key != "index"} for event in [*WORDS, *CALLED]],
    "a kind that is null": [
        _event("content-start", {"content": {"type": None, "text": None, "thinking": None}}, index=0),
        *[*WORDS[1:], *CALLED],
    ],
    "a block that is null": [_event("content-start", {"content": None}, index=0), *WORDS[1:], *CALLED],
    "texts that are null": [
        *WORDS[:2],
        _event("content-delta", {"content": {"text": None, "thinking": None}}, index=0),
        _event("content-delta", {"content": None}, index=0),
        _event("content-delta", index=0, delta=None),
        *[WORDS[2], _event("tool-plan-delta", {"tool_plan": None}), *CALLED],
    ],
    "an id and a type that are null": [
        *WORDS,
        _event("tool-call-start", {"tool_calls": {**NAMED, "id": None, "type": None}}, index=0),
        *CALLED[1:],
    ],
    "arguments that are null": [
        *[*WORDS, CALLED[0], FILLED],
        _event("tool-call-delta", {"tool_calls": {"function": {"arguments": None}}}, index=0),
        _event("tool-call-delta", {"tool_calls": {"function": None}}, index=0),
        CALLED[2],
    ],
}


def test_cohere_users_read_an_error_in_the_form_of_a_body() -> None:
    answer = Translation("cohere", "cohere", context=ANSWERING)
    assert answer.feed(b"".join(_frames("cohere")[:4]))
    out = answer.feed(b'data: {"id":"x","message":"No."}\n\n') + answer.close()
    assert answer.failure is not None
    assert b'"type":"message-end","delta":{"finish_reason":"ERROR","error":"No."}' in out


@pytest.mark.parametrize("client", ["cohere", "openai-chat", "anthropic", "gemini"])
@pytest.mark.parametrize("size", [7, 4096])
@pytest.mark.parametrize("name", ODD_EVENTS)
def test_sdks_read_odd_events_of_cohere(name: str, size: int, client: str, sdks: Loopback) -> None:
    tokens = {"input_tokens": 3, "output_tokens": 2}
    ending = _event("message-end", delta={"finish_reason": "TOOL_CALL", "usage": {"tokens": tokens}})
    events = [_event("message-start", {"role": "assistant"}, id="r"), *ODD_EVENTS[name], ending]
    frames = [b"event: %b\ndata: %b\n\n" % (str(one["type"]).encode(), msgspec.json.encode(one)) for one in events]
    wire = b"".join(frames)
    relayed = Translation("cohere", client, context=ANSWERING)
    out = b"".join([relayed.feed(wire[at : at + size]) for at in range(0, len(wire), size)]) + relayed.close()
    seen = sdks.read(client, out, stream=True)
    assert (seen.text, seen.calls, seen.stop, seen.usage) == ("a", (("f", '{"a": 1}'),), "calls", (3, 2, 0))


@pytest.mark.parametrize("dialect", ["cohere", "ollama", "openai-chat"])
def test_bytes_that_are_no_text_break_nothing_off(dialect: str) -> None:
    wire = b"".join(_frames(dialect)).replace(b" word3", b" w\xc5ord3")
    relayed = _relay(dialect, [wire[:600], wire[600:]])
    assert b"word2" in relayed
    assert b"word4" in relayed
    assert relayed.endswith(wire.rstrip()[-20:] + b"\n" * (len(relayed) - len(relayed.rstrip())))


@pytest.mark.parametrize("dialect", ["cohere", "ollama", "openai-chat"])
def test_a_name_that_is_no_text_is_an_error_of_the_server(dialect: str) -> None:
    wire = b"".join(_frames(dialect))
    at = wire.index(b'"', wire.index(b" word3") - 20)
    relayed = Translation(dialect, dialect, context=ANSWERING)
    assert relayed.feed(wire[:at] + b'"\xc5' + wire[at + 1 :]) + relayed.close()
