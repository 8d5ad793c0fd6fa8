"""Frames of a relayed stream, however its bytes are cut: secrets, leftovers, and what cannot be read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.sdk_readers import Loopback

from dragoman.conversation.events import CallStarted
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.openai_chat import IN_ANSWER, IN_CHOICE
from dragoman.dialects.openai_chat.relay_rewrite import MisreadChunks, check_plain_chunk
from dragoman.dialects.openai_chat.stream import WORDS, ChatStreamParser
from dragoman.engine.answer import frame_template, relay_frames
from dragoman.engine.answer.relay_frames import RelayFrames
from dragoman.engine.answer.relay_observer import RelayObserver
from dragoman.engine.answer.translation import Translation
from dragoman.engine.tokens.answer_tally import AnswerTally

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


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_the_last_frame_gets_the_end_that_it_lacks(end: bytes) -> None:
    """Without it, the SDKs would not read the usage that stands there."""
    redactor = RelayFrames(clean)
    assert redactor.feed(b'data: {"usage":1}' + end) == b""
    assert redactor.close() == b'data: {"usage":1}\n\n'
    assert redactor.close() == b""


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
    wire = b":a\n" * 20_000
    assert frames.feed(wire) + frames.close() == wire + b"\n"


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


SAYS = b'{"choices":[{"index":0,"delta":{"content":"a,\\"usage\\":null"}}],"object":"chat.completion.chunk"%b}'
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
    frames = RelayFrames(None, LEFTOVERS, lambda chunk: None, rewrite=MisreadChunks(), unasked=usage)
    told, shown = TOLD[name]
    wire = b"data: " + told + b"\n\ndata: [DONE]\n\n"
    fed = [frames.feed(wire[at : at + size]) for at in range(0, len(wire), size)]
    assert b"".join(fed) + frames.close() == (b"data: " + shown + b"\n\n" if shown else b"") + b"data: [DONE]\n\n"
    assert frames.skipped == 0


def test_a_role_of_no_word_is_left_out() -> None:
    """MiniMax's chunks have one (MiniMax-M2.5#2), and SDKs that check the role of each chunk raise."""
    chunk = {
        "id": "1",
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": {"role": "", "content": "x"}}],
    }
    relay = RelayFrames(None, IN_ANSWER | IN_CHOICE, check_plain_chunk, rewrite=MisreadChunks())
    out = relay.feed(b"data: " + json.dumps(chunk).encode() + b"\n\n") + relay.close()
    assert json.loads(out[6:])["choices"] == [{"index": 0, "delta": {"content": "x"}}]


def test_a_verdict_on_words_that_were_sent_is_no_chunk_of_the_client() -> None:
    """Azure's filter, if it judges while the model writes: choices without a delta, also after the last one."""
    verdict = {"content_filter_results": {"hate": {"filtered": True}}, "content_filter_offsets": {"check_offset": 0}}
    choices = [{"index": 0, "finish_reason": word, **verdict} for word in (None, "content_filter", None)]
    chunks = [json.dumps({"id": "", "object": "", "choices": [choice]}).encode() for choice in choices]
    relay = RelayFrames(None, IN_ANSWER | IN_CHOICE, check_plain_chunk, rewrite=MisreadChunks())
    out = b"".join([relay.feed(b"data: " + chunk + b"\n\n") for chunk in chunks]) + relay.close()
    (chunk,) = [json.loads(line[6:]) for line in out.splitlines() if line]
    assert chunk["choices"] == [{"index": 0, "finish_reason": "content_filter", "delta": {}}]


def _call(name: str, **more: Any) -> dict[str, Any]:
    return {"id": f"call_{name}", "function": {"name": name, "arguments": '{"function": 1}'}, **more}


CHUNK = {"object": "chat.completion.chunk"}


def _chunk(*calls: dict[str, Any], reason: str | None = None, **more: Any) -> dict[str, Any]:
    delta = {"role": "assistant", "content": "", "tool_calls": list(calls)}
    return {"id": "a", **CHUNK, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}], **more}


@pytest.mark.parametrize("more", [{"usage": {"x": 1}}, {}])
@pytest.mark.parametrize("size", [7, 4096])
def test_two_calls_of_a_chunk_become_two_chunks(size: int, more: dict[str, Any]) -> None:
    frame = b"data: " + json.dumps(_chunk(_call("f"), _call("g"), reason="tool_calls", **more)).encode() + b"\n\n"
    relay = RelayFrames(None, check=check_plain_chunk, rewrite=MisreadChunks())
    out = b"".join([relay.feed(frame[at : at + size]) for at in range(0, len(frame), size)]) + relay.close()
    first, last = (json.loads(line[6:]) for line in out.decode().splitlines() if line)
    assert first == _chunk(_call("f", index=0))
    assert last["choices"][0]["delta"] == {"tool_calls": [_call("g", index=1)]}
    assert last["choices"][0]["finish_reason"] == "tool_calls"
    assert last.get("usage") == more.get("usage")


def _piece(words: str, **more: Any) -> dict[str, Any]:
    return {"function": {"arguments": words}, **more}


def _begin(name: str, words: Any = "", **more: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "arguments": words}, **more}


MIXED_UP = {
    "one number for all": [
        *(_begin("f", index=0, id="a"), _piece("[1,", index=0), _piece("2]", index=0)),
        *(_begin("g", index=0, id="b"), _piece("[3,", index=0), _piece("4]", index=0)),
    ],
    "no numbers": [_begin("f", "[1,", id="a"), _piece("2]"), _begin("g", "[3,", id="b"), _piece("4]")],
    "numbers from one on": [_begin("f", "[1,2]", index=1, id="a"), _begin("g", "[3,4]", index=2, id="b")],
    "ids and names in each piece": [
        *(_begin("f", "[1,", index=0, id="a"), _begin("f", "2]", index=0, id="a")),
        *(_begin("g", "[3,", index=1, id="b"), _begin("g", "4]", index=1, id="b")),
    ],
    "side by side without numbers": [
        *(_begin("f", "[1,", id="a"), _begin("g", "[3,", id="b")),
        *(_piece("2]", id="a"), _piece("4]", id="b")),
    ],
    "one id for all": [_begin("f", "[1,2]", index=0, id="a"), _begin("g", "[3,4]", index=1, id="a")],
    "no ids": [_begin("f", "[1,2]", index=0), _begin("g", "[3,4]", index=1)],
    "one number for all and no ids": [_begin("f", "[1,2]", index=0), _begin("g", "[3,4]", index=0)],
    "ids as numbers, numbers as texts": [_begin("f", "[1,2]", index="0", id=7), _begin("g", "[3,4]", index="1", id=8)],
}


@pytest.mark.parametrize("calls", MIXED_UP.values(), ids=MIXED_UP)
@pytest.mark.parametrize("size", [1, 300, 100_000])
def test_calls_of_a_relayed_stream_can_be_told_apart(calls: list[dict[str, Any]], size: int) -> None:
    chunks = [{"id": "a", "choices": [{"index": 0, "delta": {"tool_calls": [call]}}]} for call in calls]
    wire = b"".join([b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks])
    relay = RelayFrames(None, check=check_plain_chunk, rewrite=MisreadChunks("seed"))
    out = b"".join([relay.feed(wire[at : at + size]) for at in range(0, len(wire), size)]) + relay.close()
    joined: dict[int, list[str]] = {}
    for line in out.decode().splitlines():
        if line:
            (piece,) = json.loads(line[6:])["choices"][0]["delta"]["tool_calls"]
            found = joined.setdefault(piece["index"], ["", "", ""])
            found[0] += piece.get("id") or ""
            found[1] += piece["function"].get("name") or ""
            found[2] += piece["function"]["arguments"]
    assert [joined[at][1:] for at in sorted(joined)] == [["f", "[1,2]"], ["g", "[3,4]"]]
    ids = [joined[at][0] for at in (0, 1)]
    assert len(set(ids)) == 2
    assert all(ids)
    parsed = [event for event in ChatStreamParser(seed="seed").feed(wire) if isinstance(event, CallStarted)]
    assert [event.id for event in parsed] == ids


LONG = [_begin("f", '{"a":"', index=0, id="a"), *[_piece(f"word{at}", index=0) for at in range(30)]]
"""So many pieces that differ in their words alone are passed on unread, were it not for calls."""
CODE = [_begin("f", '{"a":"', index=0, id="a"), *[_piece("{ go(); ", index=0) for _ in range(30)]]
CODED = "".join([call["function"]["arguments"] for call in CODE]) + '"}'
WHOLE = "".join([call["function"]["arguments"] for call in LONG]) + '"}'
ALIKE = [_begin("f", '{"a":"', index=0, id="a"), *[_piece("-", index=0)] * 30, _piece('"}', index=0)]
LINE = "".join([call["function"]["arguments"] for call in ALIKE])
IN_TURNS = [
    *[_begin(name, '{"a":"', index=at, id=name) for at, name in enumerate("fg")],
    *[_piece(f"word{turn}", index=turn // 4 % 2) for turn in range(40)],
    *[_piece('"}', index=at) for at in (0, 1)],
]
"""Two calls, some pieces of the one and some of the other."""
BOTH = ["".join([call["function"]["arguments"] for call in IN_TURNS if call["index"] == at]) for at in (0, 1)]


@pytest.mark.parametrize(
    ("calls", "told"),
    [
        ([_begin("f", '{"a":1}', index=0), _begin("f", '{"a":2}', index=0)], ["f", '{"a":1}', "f", '{"a":2}']),
        ([_begin("f", '{"a":1}', index=0), _begin("f", '{"a":1}', index=0)], ["f", '{"a":1}']),
        ([_begin("f", '{"a":1}', index=0, id="a"), _piece('{"a":1}', index=0)], ["f", '{"a":1}']),
        ([_begin("f", '{"a":', index=0, id="a"), _begin("f", '{"b":1}}', index=0, id="a")], ["f", '{"a":{"b":1}}']),
        ([*LONG, _piece('"}', index=0), _piece(WHOLE, index=0)], ["f", WHOLE]),
        ([*LONG, _piece(WHOLE, index=0)], ["f", WHOLE]),
        ([*CODE, _piece('"}', index=0), _piece(CODED, index=0)], ["f", CODED]),
        ([*LONG, _piece('"}', index=0), _piece(WHOLE.replace(":", ": "), index=0)], ["f", WHOLE]),
        ([*LONG, _piece("{}", index=0), _piece('"}', index=0)], ["f", WHOLE[:-2] + '{}"}']),
        ([*ALIKE, _piece(LINE, index=0)], ["f", LINE]),
        ([*IN_TURNS, *[_piece(BOTH[at], index=at) for at in (0, 1)]], ["f", BOTH[0], "g", BOTH[1]]),
        ([*LONG, _begin("g", index=0, id="b"), *LONG[1:], _piece('"}', index=0)], ["f", WHOLE[:-2], "g", WHOLE[6:]]),
    ],
)
@pytest.mark.parametrize("noise", [False, True])
@pytest.mark.parametrize("size", [1, 0, 100_000], ids=["by bytes", "by frames", "at once"])
def test_a_call_that_is_whole_does_not_grow(
    calls: list[dict[str, Any]], told: list[str], noise: bool, size: int
) -> None:
    """vLLM tells calls again at the end of a stream (vllm#42167, vllm#51697)."""
    frames = [_frame(call, f"{at * 7919 % 1000}" if noise else "") for at, call in enumerate(calls)]
    wire = b"".join(frames)
    pieces = [wire[at : at + size] for at in range(0, len(wire), size)] if size else frames
    relay = Translation("openai-chat", "openai-chat", context=AnswerContext(id="seed"))
    joined: dict[int, list[str]] = {}
    for line in b"".join(map(relay.feed, pieces)).splitlines():
        for piece in json.loads(line[6:])["choices"][0]["delta"]["tool_calls"] if line else ():
            found = joined.setdefault(piece["index"], ["", ""])
            found[0] += piece["function"].get("name") or ""
            found[1] += piece["function"]["arguments"]
    assert [word for at in sorted(joined) for word in joined[at]] == told


@st.composite
def calls_told_twice(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Two calls, some pieces of the one and some of the other, and both once more."""
    calls = [_begin(name, '{"a":"', index=at, id=name) for at, name in enumerate("fg")]
    words = st.lists(st.sampled_from(["x", "y", "{ z", "error", "\\n", "{}", ":"]), min_size=1, max_size=8)
    for _ in range(draw(st.integers(2, 6))):
        index = draw(st.integers(0, 1))
        calls += [_piece(words, index=index) for words in draw(words)]
    calls += [_piece('"}', index=at) for at in (0, 1)]
    whole = ["".join([call["function"]["arguments"] for call in calls if call["index"] == at]) for at in (0, 1)]
    return [*calls, *[_piece(whole[at], index=at) for at in (0, 1)]]


@pytest.mark.slow
@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(calls_told_twice(), st.lists(st.sampled_from(["", "a", "bc"]), min_size=1, max_size=3))
def test_pieces_of_calls_are_the_same_whether_they_are_known_or_checked(
    calls: list[dict[str, Any]], noise: list[str]
) -> None:
    frames = [_frame(call, noise[at % len(noise)]) for at, call in enumerate(calls)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frame_template, "_ATTEMPTS", 0)
        checked = _relay()
    expected = b"".join(map(checked.feed, frames))
    alone, passed = _relay(), _relay()
    assert b"".join(map(alone.feed, frames)) == expected
    assert _relay().feed(b"".join(frames)) == expected
    assert b"".join([passed.pass_words(one) or passed.feed(one) for one in frames]) == expected


def _relay(rewrite: MisreadChunks | None = None) -> RelayFrames:
    observer = RelayObserver(ChatStreamParser, AnswerTally("m"), WORDS)
    return RelayFrames(None, check=check_plain_chunk, rewrite=rewrite or MisreadChunks("seed"), observer=observer)


@pytest.mark.parametrize("at_once", [False, True])
def test_pieces_of_a_call_are_not_checked_one_by_one(at_once: bool) -> None:
    looks: list[bytes] = []

    class Looked(MisreadChunks):
        def may_be_misread(self, payload: bytes) -> bool:
            looks.append(payload)
            return super().may_be_misread(payload)

    calls = [_begin("f", '{"a":"', index=0, id="a"), *[_piece(f"word{at}", index=0) for at in range(200)]]
    frames = [_frame(call, f"noise{at % 7}") for at, call in enumerate(calls)]
    relay = _relay(Looked("seed"))
    assert b"".join(map(relay.feed, [b"".join(frames)] if at_once else frames)) == b"".join(frames)
    assert len(looks) <= 5


def test_pieces_of_a_call_that_come_together_are_known_when_nothing_more_is_learned() -> None:
    looks: list[bytes] = []

    class Looked(MisreadChunks):
        def may_be_misread(self, payload: bytes) -> bool:
            looks.append(payload)
            return super().may_be_misread(payload)

    relay = _relay(Looked("seed"))
    for call in (_begin("f", '{"a":"', index=0, id="a"), *[_piece(word, index=0) for word in "abc"]):
        relay.feed(_frame(call, ""))
    for at in range(frame_template._ATTEMPTS):  # a frame of another form uses up an attempt
        relay.feed(b'data: {"x%d":[],%b' % (at, _frame(_piece("x", index=0), "")[7:]))
    known = [_frame(_piece(f"word{at}", index=0), "") for at in range(200)]
    before = len(looks)
    assert relay.feed(b"".join(known)) == b"".join(known)
    assert len(looks) == before


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\n\r\n", b"\r\r"])
def test_frames_are_parted_at_any_blank_line(end: bytes) -> None:
    frames = [b'data: {"a":%d}' % at for at in range(3)]
    assert [*relay_frames._split(end.join(frames) + end)] == [frame + end for frame in frames]
    assert [*relay_frames._split(end.join(frames))] == [*[frame + end for frame in frames[:2]], frames[2]]


def _frame(call: dict[str, Any], noise: str) -> bytes:
    chunk: dict[str, Any] = {"id": "a", **CHUNK, "choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}
    return b"data: %b\n\n" % json.dumps(chunk | ({"obfuscation": noise} if noise else {})).encode()


def test_usage_within_a_choice_is_where_clients_look_for_it() -> None:
    counted = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    frame = b"data: %b\n\n" % json.dumps(_words("", "stop", usage=counted)).encode()
    out = RelayFrames(None, check=check_plain_chunk, rewrite=MisreadChunks()).feed(frame)
    assert json.loads(out[6:])["usage"] == counted


ODD_CHUNKS = [
    _chunk({"index": [], "id": "a", "function": {"name": "f"}}),
    _chunk({"index": 0, "id": [1], "function": {"name": "f"}}),
    _chunk({"index": 0, "id": "a", "function": "f"}),
    {**CHUNK, "choices": [{"index": 0, "delta": {"tool_calls": [{"id": "a"}]}}]},
    {**CHUNK, "choices": [{"index": 0, "delta": {"tool_calls": [None, 7]}}]},
    {**CHUNK, "choices": [{"index": 0, "delta": {"tool_calls": {"id": "a"}}}]},
]


@pytest.mark.parametrize("chunk", ODD_CHUNKS)
def test_a_chunk_that_nobody_can_read_goes_through(chunk: dict[str, Any]) -> None:
    frame = b"data: " + json.dumps(chunk).encode() + b"\n\n"
    assert RelayFrames(None, check=check_plain_chunk, rewrite=MisreadChunks()).feed(frame) == frame


def test_arguments_as_an_object_become_a_text() -> None:
    chunk = _chunk(_begin("f", {"a": 1}, index=0, id="a"))
    out = RelayFrames(None, check=check_plain_chunk, rewrite=MisreadChunks()).feed(
        b"data: " + json.dumps(chunk).encode() + b"\n\n"
    )
    assert json.loads(out[6:]) == _chunk(_begin("f", '{"a":1}', index=0, id="a"))


@pytest.mark.parametrize(
    "chunk", [_chunk(_call("f", index=0)), {**CHUNK, "choices": [], "text": '"function": "function":'}]
)
def test_every_other_chunk_keeps_its_bytes(chunk: dict[str, Any]) -> None:
    frame = b"data:  " + json.dumps(chunk).encode() + b"\n\n"
    assert RelayFrames(None, rewrite=MisreadChunks()).feed(frame) == frame


@pytest.mark.parametrize("several", ["calls", "choices"])
def test_of_calls_without_end_the_first_are_told_apart(several: str) -> None:
    """The relay of an endless stream holds no more of it than before."""
    rewrite = MisreadChunks("seed")
    relay = RelayFrames(None, check=check_plain_chunk, rewrite=rewrite)
    for number in range(5_000):
        call = {"index": 0, "id": f"call_{number}", "function": {"name": "go", "arguments": "{}"}}
        choice = {"index": number if several == "choices" else 0, "delta": {"tool_calls": [call]}}
        frame = b"data: %b\n\n" % json.dumps({**CHUNK, "choices": [choice]}).encode()
        last = relay.feed(frame)
    assert last == frame
    assert len(rewrite.calls) + sum(len(begun.calls) for begun in rewrite.calls.values()) < 3_000


def _words(text: str, stop: str | None = None, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": stop, **more}
    return {"id": "a", **CHUNK, "choices": [choice]}


LACKING: dict[str, list[dict[str, Any]]] = {
    "choices that are null": [{"id": "a", "choices": None}],
    "no choices": [{"id": "a", "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}],
    "a choice that is null": [{"id": "a", "choices": [None]}],
    "a delta that is null": [_words("", delta=None)],
    "no delta": [{"id": "a", "choices": [{"index": 0, "finish_reason": None}]}],
    "an index that is null": [_words("", index=None)],
    "a message": [{"id": "a", "choices": [{"index": 0, "message": {"role": "assistant", "content": ""}}]}],
}


@pytest.mark.parametrize("kind", ["", None, "chat.completion", ...])
def test_the_sdk_reads_chunks_that_do_not_say_that_they_are_chunks(kind: Any, sdks: Loopback) -> None:
    untold = [{**chunk, "object": kind} for chunk in (_words("a"), _words("b"), _words("", "stop"))]
    if kind is ...:
        untold = [{key: value for key, value in chunk.items() if key != "object"} for chunk in untold]
    assert _read(sdks, untold, 4096).choices[0].message.content == "ab"


@pytest.mark.parametrize("name", LACKING)
@pytest.mark.parametrize("size", [7, 4096])
def test_the_sdk_reads_chunks_that_lack_what_every_chunk_has(name: str, size: int, sdks: Loopback) -> None:
    seen = _read(sdks, [_words("a"), *LACKING[name], _words("b", "stop")], size)
    assert (seen.choices[0].message.content, seen.choices[0].finish_reason) == ("ab", "stop")


@pytest.mark.parametrize(
    ("reasons", "shown"),
    [
        (["tool_calls", "stop"], "tool_calls"),
        (["stop", "stop"], "stop"),
        (["stop", "tool_calls"], "tool_calls"),
        (["", "tool_calls", "", "tool_calls"], "tool_calls"),
    ],
)
def test_the_sdk_gets_the_reason_that_tells_more(reasons: list[str], shown: str, sdks: Loopback) -> None:
    seen = _read(sdks, [_words("a"), *[_words("", reason) for reason in reasons]], 4096)
    assert seen.choices[0].finish_reason == shown


@pytest.mark.parametrize("size", [7, 4096])
def test_the_sdk_reads_annotations_that_come_one_by_one(size: int, sdks: Loopback) -> None:
    """As OpenRouter tells the pages of a search."""

    def cited(*pages: str) -> dict[str, Any]:
        notes = [{"type": "url_citation", "url_citation": {"url": page, "title": ""}} for page in pages]
        return {"id": "a", **CHUNK, "choices": [{"index": 0, "delta": {"content": "", "annotations": notes}}]}

    seen = _read(sdks, [_words("a"), cited("x"), cited("y", "z"), cited(), _words("", "stop")], size)
    found = [note.url_citation.url for note in seen.choices[0].message.annotations]
    assert found == ["x", "y", "z"]


def test_annotations_that_come_at_once_keep_their_bytes() -> None:
    delta = {"content": "", "annotations": [{"type": "url_citation"}, {"type": "url_citation"}]}
    frame = b"data: " + json.dumps({**CHUNK, "choices": [{"index": 0, "delta": delta}]}).encode() + b"\n\n"
    assert RelayFrames(None, check=check_plain_chunk, rewrite=MisreadChunks()).feed(frame) == frame


@pytest.mark.parametrize("end", [b"d", b"data", b"data:", b"data: [DO", b": pi", b"event: mess", b"id: 1"])
def test_the_sdk_reads_a_whole_answer_whose_last_frame_breaks_off(end: bytes, sdks: Loopback) -> None:
    seen = _read(sdks, [_words("ab", "stop")], 4096, end)
    assert (seen.choices[0].message.content, seen.choices[0].finish_reason) == ("ab", "stop")


def _read(sdks: Loopback, chunks: list[dict[str, Any]], size: int, end: bytes = b"data: [DONE]\n\n") -> Any:
    wire = b"".join([b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks]) + end
    relay = RelayFrames(None, check=check_plain_chunk, rewrite=MisreadChunks("seed"))
    out = b"".join([relay.feed(wire[at : at + size]) for at in range(0, len(wire), size)]) + relay.close()
    sdks.serve(out, stream=True)
    with sdks.openai.chat.completions.stream(model="m", messages=[{"role": "user", "content": "hi"}]) as stream:
        return stream.get_final_completion()


def test_a_frame_that_is_not_clean_is_looked_at_once() -> None:
    looks: list[bytes] = []

    class Looked(MisreadChunks):
        def may_be_misread(self, payload: bytes) -> bool:
            looks.append(payload)
            return True

    chunk = b'{"object":"chat.completion.chunk","choices":[{"index":0,"finish_reason":"error"}]}'
    out = RelayFrames(None, rewrite=Looked()).feed(b"data: " + chunk + b"\n\n")
    assert "error" in json.loads(out.removeprefix(b"data: "))
    assert looks == [chunk]


BROKE_OFF = {"index": 0, "delta": {"content": ""}, "finish_reason": "error"}
TOLD_ERRORS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "alone": ({"error": {"message": "No.", "code": 502}}, {"message": "No.", "code": 502}),
    "a text": ({"error": "No."}, {"message": "No."}),
    "no member": ({"object": "error", "message": "No.", "type": "BadRequestError", "code": 400}, {"message": "No."}),
    "a detail": ({"detail": "No."}, {"message": "No."}),
    "in a chunk": ({**CHUNK, "choices": [BROKE_OFF], "error": {"message": "No."}}, {"message": "No."}),
    "beside no choices": ({**CHUNK, "choices": [], "error": {"message": "No."}}, {"message": "No."}),
    "beside a choice without words": (
        {**CHUNK, "choices": [{"index": 0, "finish_reason": None}], "error": {"message": "No."}},
        {"message": "No."},
    ),
    "in a choice": ({**CHUNK, "choices": [{**BROKE_OFF, "error": {"message": "No."}}]}, {"message": "No."}),
}
"""What a provider sends in the middle of a stream, and what of it stays in the client's error."""


def relay_error(frame: dict[str, Any]) -> dict[str, Any]:
    """The error that a client reads after the first words of a relayed stream."""
    translation = Translation("openai-chat", "openai-chat")
    translation.provider = "p"
    delta = {"role": "assistant", "content": "Hello"}
    words = {**CHUNK, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    assert translation.feed(b"data: " + json.dumps(words).encode() + b"\n\n")
    out = translation.feed(b"data: " + json.dumps(frame).encode() + b"\n\n") + translation.close()
    assert translation.failure is not None
    (error,) = [json.loads(line[6:])["error"] for line in out.splitlines() if b'"error":' in line]
    told: dict[str, Any] = error
    return told


@pytest.mark.parametrize("name", TOLD_ERRORS)
def test_E14_an_error_in_a_relayed_stream_names_its_provider(name: str) -> None:
    frame, kept = TOLD_ERRORS[name]
    error = relay_error(frame)
    assert error.items() >= kept.items()
    assert error["metadata"]["provider_name"] == "p"
    assert "No." in error["metadata"]["raw"]


def test_E14_a_provider_that_names_another_is_believed() -> None:
    named = {"message": "No.", "metadata": {"provider_name": "X", "raw": "words"}}
    assert relay_error({"error": named}) == named
