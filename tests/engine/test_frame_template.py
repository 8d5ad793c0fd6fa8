"""A relayed stream gives the same bytes whether a frame is checked or known by the one before it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman.dialects.openai_chat.relay_rewrite import check_plain_chunk
from dragoman.engine.answer.frame_template import FrameTemplate
from dragoman.engine.answer.relay_frames import RelayFrames
from dragoman.engine.answer.translation import Translation
from dragoman.engine.tokens.answer_tally import AnswerTally

LEFTOVERS = frozenset({"done", "__stream_end__"})
SECRET = b"sk-0123456789abcdef"


def clean(data: bytes) -> bytes:
    return data.replace(SECRET, b"[REDACTED]")


def chat(text: str, **more: Any) -> bytes:
    return frame({"id": "c", "choices": [{"index": 0, "delta": {"content": text}}], **more})


def frame(chunk: Any, event: str = "") -> bytes:
    head = f"event: {event}\n" if event else ""
    return f"{head}data: {json.dumps(chunk, ensure_ascii=False, separators=(',', ':'))}\n\n".encode()


def learnt(*frames: bytes) -> FrameTemplate:
    template = FrameTemplate()
    for one in frames:
        template.learn(one)
    return template


def test_a_frame_with_another_text_is_known() -> None:
    template = learnt(chat("one"), chat("two"))
    assert template.fill(chat("three"))
    assert template.fill(chat(""))
    assert template.fill(chat('"quoted"\n and \\ and é'))


def test_several_texts_and_numbers_are_known() -> None:
    def delta(number: int, text: str, noise: str) -> bytes:
        return frame({"sequence_number": number, "delta": text, "obfuscation": noise}, "response.output_text.delta")

    template = learnt(delta(8, "a", "x"), delta(9, "b", "yz"))
    assert template.fill(delta(10, "c", "zzz"))
    assert not template.fill(delta(10, "c", "zzz").replace(b":10", b":010"))
    assert not template.fill(delta(10, "c", "zzz").replace(b":10", b":1,0"))


WORD = chat("word")
UNKNOWN = {
    "another key": chat("word", done=True),
    "a text that ends early": WORD.replace(b"word", b'word"'),
    "a member more": WORD.replace(b"word", b'word","done":"'),
    "a text that does not end": WORD.replace(b"word", b"word\\"),
    "space before the text": WORD.replace(b'"word"', b' "word"'),
    "a line break behind the text": WORD.replace(b'"word"', b'"word"\n'),
    "a raw line break": WORD.replace(b"word", b"wo\nrd"),
    "a bad escape": WORD.replace(b"word", b"\\x"),
    "half a surrogate": WORD.replace(b"word", b"\\ud83d"),
    "no UTF-8": WORD.replace(b"word", b"\xff"),
    "an error": WORD.replace(b"word", b"an error"),
    "a part of the frame": WORD[:-30],
    "two frames": WORD + WORD,
}


@pytest.mark.parametrize("data", UNKNOWN.values(), ids=UNKNOWN)
def test_any_other_frame_is_not_known(data: bytes) -> None:
    assert not learnt(chat("one"), chat("two")).fill(data)


def test_a_key_is_no_value() -> None:
    template = learnt(frame({"a": 1}), frame({"b": 1}))
    assert not template.fill(frame({"done": 1}))


SIGNS = [
    b'\\"',
    b'"',
    b"\\",
    b"\\\\",
    b"\\n",
    b"\n",
    b"\r",
    b"\x01",
    b"\xff",
    b"\xc3\xa9",
    b"1",
    b"0",
    b"{",
    b"}",
    b",",
    b":",
]
WORDS = [b"a", b" b", b'","done":"', b"error " + SECRET, b"\\u00e9", b"\\ud83d", b'"done"', b"__stream_end__"]
PIECES = st.sampled_from([*SIGNS, *WORDS])
TEXTS = st.lists(PIECES, max_size=4).map(b"".join)
SHAPES = st.sampled_from(
    [
        b'data: {"id":"c","choices":[{"index":0,"delta":{"content":"%b"}}]}\n\n',
        b'data: {"choices":[{"index":0,"delta":{"content":"%b"}}],"obfuscation":"%b"}\n\n',
        b'event: x.y\ndata: {"sequence_number":%b,"delta":"%b"}\n\n',
        b'data: {"candidates": [{"parts": [{"text": "%b"}], "index": %b}]}\r\n\r\n',
        b'data: {"%b":"%b"}\n\n',
        b'data:{"a":"%b"}\n\n',
    ]
)


@st.composite
def streams(draw: st.DrawFn) -> list[bytes]:
    """Frames of one or two shapes, their values good or broken."""
    shapes = draw(st.lists(SHAPES, min_size=1, max_size=2))
    good = st.sampled_from([b"a", b"12", b"7", b"say", b"\xc3\xa9", b'\\"', b"\\n"])
    frames = []
    for _ in range(draw(st.integers(2, 8))):
        shape = draw(st.sampled_from(shapes))
        values = [draw(st.one_of(good, good, TEXTS)) for _ in range(shape.count(b"%b"))]
        frames.append(shape % tuple(values))
    return frames


@pytest.mark.slow
@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(streams(), st.sampled_from([None, check_plain_chunk]))
def test_a_known_frame_is_treated_as_a_checked_one(frames: list[bytes], check: Any) -> None:
    together, burst = RelayFrames(clean, LEFTOVERS, check), RelayFrames(clean, LEFTOVERS, check)
    sent = b""
    for one in frames:
        alone = RelayFrames(clean, LEFTOVERS, check)
        out = alone.feed(one)
        assert together.feed(one) == out
        assert together.close() == alone.close()
        sent += out
    assert burst.feed(b"".join(frames)) == sent
    assert burst.skipped == together.skipped


NULLED = b'data: {"choices":[{"index":0,"delta":{"content":"%b"}}],"usage":null%b}\n\n'


@pytest.mark.parametrize("more", [b"", b',"obfuscation":"%b"'])
def test_members_are_taken_out_of_a_known_frame(more: bytes) -> None:
    relay = RelayFrames(None, LEFTOVERS, check_plain_chunk, unasked=frozenset({"usage"}))
    for word in (b"a", b"b", b"c", b"dd", b'a,\\"usage\\":null', b'"', b"\xff"):
        sent = NULLED % (word, more.replace(b"%b", word))
        readable = word not in (b'"', b"\xff")
        assert relay.feed(sent) == (sent.replace(b',"usage":null', b"") if readable else b"")


def count_checks(wire: list[bytes]) -> int:
    """How many frames of those that come together are checked, of which none is changed."""
    checked: list[bytes] = []
    data = b"".join(wire)
    assert RelayFrames(clean, LEFTOVERS, checked.append).feed(data) is data
    return len(checked)


def test_frames_that_come_together_are_not_checked_one_by_one() -> None:
    opening, end = chat("", object="chunk"), [chat("", finish=1), b"data: [DONE]\n\n"]
    words = [chat(f"w{number} \u00e9\n") for number in range(400)]
    counts = {count_checks([opening, *words[:count], *end]) for count in (10, 100, 400)}
    assert len(counts) == 1
    assert counts.pop() <= 5


@pytest.mark.parametrize("word", ["an error", "\\u0065rror"], ids=["said", "escaped"])
def test_of_frames_that_come_together_one_is_checked_that_may_be_another(word: str) -> None:
    words = [chat(f"w{number}") for number in range(100)]
    odd = chat("odd").replace(b"odd", word.encode())
    assert count_checks([*words, odd, *words]) == count_checks([*words, *words]) + 1


def test_a_pair_of_surrogates_among_frames_that_come_together_is_known() -> None:
    words = [chat(f"w{number}") for number in range(100)]
    pair = chat("odd").replace(b"odd", b"\\ud83d\\ude00")
    assert count_checks([*words, pair, *words]) == count_checks([*words, *words])


def test_members_are_taken_out_of_frames_that_come_together() -> None:
    relay = RelayFrames(None, LEFTOVERS, check_plain_chunk, unasked=frozenset({"usage"}))
    wire = b"".join([NULLED % (b"%d" % number, b"") for number in range(50)])
    assert relay.feed(wire) == wire.replace(b',"usage":null', b"")
    assert relay.feed(NULLED % (b"one", b"")) == (NULLED % (b"one", b"")).replace(b',"usage":null', b"")


def test_a_frame_is_not_known_by_one_that_was_redacted() -> None:
    relay = RelayFrames(clean)
    for word in "abcd":
        assert SECRET not in relay.feed(chat(word, id=SECRET.decode()))


def test_blanks_around_a_text_are_not_known() -> None:
    template = learnt(chat("one"), chat("two"))
    assert not template.fill(WORD.replace(b'"word"', b'"word"\n'))
    assert not template.fill(WORD.replace(b'"word"', b'\n"word"'))


ENDINGS = {
    "a proper end": (
        frame({"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]}),
        frame({"id": "c", "choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 70, "total_tokens": 79}}),
        b"data: [DONE]\n\n",
    ),
    "no usage": (chat("", finish=1), b"data: [DONE]\n\n"),
    "an error": (frame({"error": {"message": "overloaded", "type": "server_error"}}),),
    "nothing": (),
}


@pytest.mark.parametrize("ending", ENDINGS.values(), ids=ENDINGS)
@pytest.mark.parametrize("count", [0, 3, 70, 700])
def test_words_that_are_passed_on_change_nothing_that_is_seen(count: int, ending: tuple[bytes, ...]) -> None:
    """Chunks that end within a frame are never passed on by what is known: both give the same in the end."""
    wire = [chat("Hi", object="chunk"), *(chat(f" word{number}") for number in range(count)), *ending]
    by_frame, halved, burst = (Translation("openai-chat", "openai-chat") for _ in range(3))
    out = b"".join([by_frame.feed(one) for one in wire]) + by_frame.close()
    halves = b"".join([half for one in wire for half in (halved.feed(one[:-9]), halved.feed(one[-9:]))])
    assert out == halves + halved.close()
    assert out == burst.feed(b"".join(wire)) + burst.close()
    seen = [(one.usage, one.stop, one.ended, one.failure, one.skipped) for one in (by_frame, halved, burst)]
    assert seen[0] == seen[1] == seen[2]
    tokens = [one.output_tokens() for one in (by_frame, halved, burst)]
    assert tokens[0][0] == pytest.approx(tokens[1][0], rel=0.03)
    assert tokens[0][0] == pytest.approx(tokens[2][0], rel=0.03)
    assert tokens[0][1] == tokens[1][1] == tokens[2][1]


def test_words_are_not_searched_for_if_the_tokens_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[bytes] = []
    monkeypatch.setattr(AnswerTally, "add_frames", lambda _, frames, where: searched.append(frames))
    stream = Translation("openai-chat", "openai-chat")
    stream.feed(b"".join([chat(f" word{number}") for number in range(2000)]))
    stream.feed(b"".join(ENDINGS["a proper end"]))
    stream.close()
    assert stream.output_tokens() == (70, False)
    assert searched == []


def test_texts_that_come_together_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    added: list[object] = []
    add = AnswerTally.add
    monkeypatch.setattr(AnswerTally, "add", lambda tally, event: added.append(event) or add(tally, event))
    tokens = []
    for count in (10, 400):
        wire = [chat(f" word{number % 10}") for number in range(count)]
        burst, by_frame = (Translation("openai-chat", "anthropic") for _ in range(2))
        added.clear()
        burst.feed(b"".join(wire))
        assert len(added) <= 3
        for one in wire:
            by_frame.feed(one)
        tokens.append((burst.output_tokens(), by_frame.output_tokens()))
    assert all(together == alone for together, alone in tokens)
    assert tokens[1][0][0] > 30 * tokens[0][0][0]
