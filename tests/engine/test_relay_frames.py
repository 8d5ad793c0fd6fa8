"""Frames of a relayed stream, however its bytes are cut: secrets, leftovers, and what cannot be read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.dialects.openai_chat.dialect import finish_stripped_chunk
from dragoman.dialects.openai_chat.stream import MISREAD_CHUNKS, check_plain_chunk
from dragoman.engine.answer.relay_frames import RelayFrames

SECRET = b"sk-0123456789abcdef"
FRAMES = b'data: {"text":"fine"}\n\ndata: {"error":"' + SECRET + b' is bad"}\r\n\r\n: still here\n\ndata: [DONE]\r\r'


def clean(data: bytes) -> bytes:
    return data.replace(SECRET, b"[REDACTED]")


@pytest.mark.parametrize("size", [1, 2, 7, 33, 4096])
def test_any_cut_gives_the_same_bytes(size: int) -> None:
    redactor = RelayFrames(clean)
    fed = [redactor.feed(FRAMES[at : at + size]) for at in range(0, len(FRAMES), size)]
    assert b"".join(fed) + redactor.close() == clean(FRAMES)


def test_whole_frames_go_out_at_once() -> None:
    redactor = RelayFrames(clean)
    assert redactor.feed(b"data: 1\n\nda") == b"data: 1\n\n"
    assert redactor.feed(b"ta: 2\n") == b""
    assert redactor.feed(b"\n") == b"data: 2\n\n"


def test_the_last_frame_may_lack_its_end() -> None:
    redactor = RelayFrames(clean)
    assert redactor.feed(b"data: [DONE]") == b""
    assert redactor.close() == b"data: [DONE]"


def test_half_a_frame_is_dropped_where_the_stream_breaks() -> None:
    redactor = RelayFrames(clean)
    assert redactor.feed(b'data: 1\n\ndata: {"a') == b"data: 1\n\n"
    assert redactor.drop() == b""
    assert redactor.close() == b""


def test_a_very_long_frame_passes_and_is_ended_where_it_breaks() -> None:
    redactor, long = RelayFrames(clean), b"x" * 100_000
    assert redactor.feed(b"data: " + long) == b"data: " + long
    assert redactor.drop() == b"\n\n"
    assert redactor.feed(b"tail\n\n") == b"tail\n\n"
    assert redactor.drop() == b""


LEFTOVERS = frozenset({"done", "__stream_end__"})


@pytest.mark.parametrize("size", [1, 7, 4096])
@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n"])
def test_E4_E11_unreadable_frames_and_leftovers_stay_here(size: int, end: bytes) -> None:
    kept = [b'data: {"a":"\\"done\\": 1"}', b": comment", b'event: x\ndata: {"b":1}', b"data: [DONE]"]
    wire = end.join([kept[0], b"data: {not json", b'data: {"c": }', b'data: {"c":"\xff"}', *kept[1:], b""])
    frames = RelayFrames(None, LEFTOVERS)
    out = b"".join(frames.feed(wire[at : at + size]) for at in range(0, len(wire), size)) + frames.close()
    assert out == end.join([*kept, b""])
    assert frames.skipped == 3


def test_E11_leftovers_are_taken_out_at_any_depth() -> None:
    frames = RelayFrames(None, LEFTOVERS)
    wire = b'event: x\ndata: {"done":true,"choices":[{"delta":{"content":"a","__stream_end__":1}}]}\n\n'
    assert frames.feed(wire) == b'event: x\ndata: {"choices":[{"delta":{"content":"a"}}]}\n\n'
    assert RelayFrames(None).feed(wire) == wire


def test_a_frame_of_many_lines_takes_linear_time() -> None:
    frames = RelayFrames(None, LEFTOVERS)
    wire = b"a\n" * 30_000
    assert frames.feed(wire) + frames.close() == wire


def test_what_only_looks_like_a_mark_is_left_as_it_is() -> None:
    frames = RelayFrames(None, frozenset({"done", "stream_end", "__stream_end__"}))
    for wire in (b'data: {"status": "done" }\n\n', b'data: {"text":"say __stream_end__ or stream_end"}\n\n'):
        assert frames.feed(wire) == wire
    assert frames.feed(b'data: {"__stream_end__":1,"a":2}\n\n') == b'data: {"a":2}\n\n'


@pytest.mark.parametrize("count", [1, 3])
def test_a_chunk_of_several_clean_frames_is_the_same_object(count: int) -> None:
    wire = b'event: x\ndata: {"a":1}\n\n' * count
    assert RelayFrames(None, LEFTOVERS).feed(wire) is wire


def test_a_secret_in_a_plain_chunk_that_speaks_of_an_error_is_taken_out() -> None:
    frames = RelayFrames(clean, LEFTOVERS, lambda payload: None)
    assert SECRET not in frames.feed(b'data: {"text":"error: ' + SECRET + b'"}\n\n')


SAYS = b'{"choices":[{"index":0,"delta":{"content":"a,\\"usage\\":null"}}]%b}'
TOLD = {
    "nothing is said": (SAYS % b"", SAYS % b""),
    "null as most servers write it": (SAYS % b',"usage":null', SAYS % b""),
    "null with spaces": (SAYS % b', "usage": null', SAYS % b""),
    "null before the rest": (b'{"usage":null,' + (SAYS % b"")[1:], SAYS % b""),
    "a count beside words": (SAYS % b',"usage":{"total_tokens":3}', SAYS % b""),
    "a count alone": (b'{"choices":[],"usage":{"total_tokens":3}}', b""),
}


@pytest.mark.parametrize("size", [1, 7, 4096])
@pytest.mark.parametrize("name", TOLD)
def test_usage_that_the_client_did_not_ask_for_is_taken_out(name: str, size: int) -> None:
    usage = frozenset({"usage"})
    frames = RelayFrames(None, LEFTOVERS, lambda chunk: None, tidy=finish_stripped_chunk, unasked=usage)
    told, shown = TOLD[name]
    wire = b"data: " + told + b"\n\ndata: [DONE]\n\n"
    fed = [frames.feed(wire[at : at + size]) for at in range(0, len(wire), size)]
    assert b"".join(fed) + frames.close() == (b"data: " + shown + b"\n\n" if shown else b"") + b"data: [DONE]\n\n"
    assert frames.skipped == 0


def _call(name: str, **more: Any) -> dict[str, Any]:
    return {"id": f"call_{name}", "function": {"name": name, "arguments": '{"function": 1}'}, **more}


def _chunk(*calls: dict[str, Any], reason: str | None = None, **more: Any) -> dict[str, Any]:
    delta = {"role": "assistant", "content": "", "tool_calls": list(calls)}
    return {"id": "a", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}], **more}


@pytest.mark.parametrize("more", [{"usage": {"x": 1}}, {}])
@pytest.mark.parametrize("size", [7, 4096])
def test_two_calls_of_a_chunk_become_two_chunks(size: int, more: dict[str, Any]) -> None:
    frame = b"data: " + json.dumps(_chunk(_call("f"), _call("g"), reason="tool_calls", **more)).encode() + b"\n\n"
    relay = RelayFrames(None, check=check_plain_chunk, rewrite=MISREAD_CHUNKS)
    out = b"".join([relay.feed(frame[at : at + size]) for at in range(0, len(frame), size)]) + relay.close()
    first, last = (json.loads(line[6:]) for line in out.decode().splitlines() if line)
    assert first == _chunk(_call("f", index=0))
    assert last["choices"][0]["delta"] == {"tool_calls": [_call("g", index=1)]}
    assert last["choices"][0]["finish_reason"] == "tool_calls"
    assert last.get("usage") == more.get("usage")


@pytest.mark.parametrize("chunk", [_chunk(_call("f", index=0)), {"text": '"function": "function":'}, {"choices": []}])
def test_every_other_chunk_keeps_its_bytes(chunk: dict[str, Any]) -> None:
    frame = b"data:  " + json.dumps(chunk).encode() + b"\n\n"
    assert RelayFrames(None, rewrite=MISREAD_CHUNKS).feed(frame) == frame
