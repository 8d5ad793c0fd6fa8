"""A reply and its events are two forms of one thing."""

from __future__ import annotations

import msgspec
import pytest

from dragoman.conversation.collect import UNFINISHED, arguments_of, collect, merge_usage, tell, text_of_arguments
from dragoman.conversation.events import (
    CallDelta,
    CallEnded,
    CallStarted,
    Cited,
    Ended,
    Event,
    Failed,
    MediaDelta,
    ReasoningDelta,
    Signed,
    Started,
    Stopped,
    TextDelta,
    Used,
)
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.parts import (
    Call,
    Citation,
    Extras,
    Inline,
    Media,
    MediaKind,
    Opaque,
    Origin,
    Reasoning,
    Refusal,
    Remote,
    Text,
)
from dragoman.conversation.replies import Choice, Reply, Stop, Usage

ORIGIN = Origin("anthropic", "", "m")
STATE = Opaque(kind="signature", json=b'"abc"', origin=ORIGIN)
EXTRAS = Extras("openai-chat", {"id": b'"x"'})

PARTS = {
    "text": (Text(literal=b'"hi"'),),
    "empty text": (Text(literal=b'""'),),
    "signed text": (Text(literal=b'"hi"', signature=STATE, extras=EXTRAS),),
    "two texts": (Text(literal=b'"a"'), Text(literal=b'"b"')),
    "cited text": (Text(literal=b'"a"'), Citation(json=b"{}", origin=ORIGIN), Citation(json=b"[]", origin=ORIGIN)),
    "thinking": (Reasoning(text=Text(literal=b'"so"'), state=STATE, field="thinking"), Text(literal=b'"hi"')),
    "thinking without state": (Reasoning(text=Text(literal=b'"so"'), field="reasoning", extras=EXTRAS),),
    "hidden thinking": (Reasoning(state=STATE, redacted=True),),
    "empty thinking": (Reasoning(),),
    "calls": (Call(id="1", name="f", arguments=b'{"a":1}'), Call(id="2", name="g", arguments=b"{}", signature=STATE)),
    "bad arguments": (Call(id="1", name="f", arguments=b'"not json"', extras=EXTRAS),),
    "custom call": (Call(id="1", name="f", arguments=b'"{}"', custom=True),),
    "refusal": (Refusal(literal=b'"no"'),),
    "sound": (Media(kind=MediaKind.AUDIO, source=Inline("audio/wav", b'"QUJD"'), transcript=b'"abc"', extras=EXTRAS),),
    "picture by address": (Media(kind=MediaKind.IMAGE, source=Remote("https://x.org/a.png", "image/png")),),
    "a block of the provider's own": (Opaque(kind="server_tool_use", json=b'{"a":1}', origin=ORIGIN),),
    "nothing": (),
}


@pytest.mark.parametrize("name", PARTS)
def test_a_reply_told_and_collected_is_the_same(name: str) -> None:
    choice = Choice(PARTS[name], Stop.END, "stop", "###", None, EXTRAS)
    reply = Reply("id", "m", (choice,), Usage(1, 2, 3, 4, 5, EXTRAS), 6, "fp", "default", EXTRAS)
    assert collect(tell(reply)) == reply


def test_log_probabilities_ride_on_the_first_text() -> None:
    choice = Choice((Reasoning(state=STATE), Text(literal=b'"a"')), Stop.END, logprobs=b'[{"token":"a"}]')
    assert collect(tell(Reply(choices=(choice,)))) == Reply(choices=(choice,))


def test_several_choices_keep_their_places() -> None:
    choices = tuple(Choice((Text(literal=b'"%d"' % index),), Stop.END) for index in range(3))
    assert collect(tell(Reply(choices=choices))) == Reply(choices=choices)


def test_deltas_may_be_cut_and_calls_may_interleave() -> None:
    events: list[Event] = [
        Started("r", "m"),
        ReasoningDelta(0, 0, b'"th"'),
        ReasoningDelta(0, 0, b'"ink"'),
        Signed(0, 0, STATE),
        TextDelta(0, 1, b'"a"', b'[{"token":"a"}]'),
        TextDelta(0, 1, b'"b"', b"[]"),
        TextDelta(0, 1, b'"\\n"', b'[ {"token":"n"} ]'),
        Cited(0, 1, b'{"url":"u"}', ORIGIN),
        CallStarted(0, 2, "1", "f"),
        CallStarted(0, 3, "2", "g"),
        CallDelta(0, 3, b'"{}"'),
        CallDelta(0, 2, b'"{\\"x\\":"'),
        CallDelta(0, 2, b'"1}"'),
        CallEnded(0, 2),
        CallEnded(0, 3),
        Used(Usage(input=5)),
        Stopped(0, Stop.CALLS),
        Used(Usage(output=7)),
        Ended(),
    ]
    reply = collect(events)
    assert isinstance(reply, Reply)
    assert reply.usage == Usage(5, 7)
    assert reply.choices[0].logprobs == b'[{"token":"a"},{"token":"n"}]'
    assert reply.choices[0].parts == (
        Reasoning(text=Text(literal=b'"think"'), state=STATE),
        Text(literal=b'"ab\\n"'),
        Citation(json=b'{"url":"u"}', origin=ORIGIN),
        Call(id="1", name="f", arguments=b'{"x":1}'),
        Call(id="2", name="g", arguments=b"{}"),
    )


def test_pieces_of_a_sound_are_joined_as_bytes() -> None:
    pieces = [b'"QQ=="', b'"QkM="', b'"RA=="']
    events = [MediaDelta(0, 0, MediaKind.AUDIO, "audio/pcm", piece, b'"w"') for piece in pieces]
    reply = collect([*events, Ended()])
    assert isinstance(reply, Reply)
    media = reply.choices[0].parts[0]
    assert isinstance(media, Media)
    assert media.source == Inline("audio/pcm", b'"QUJDRA=="')
    assert media.transcript == b'"www"'


def test_a_failure_is_the_result() -> None:
    failure = Failure(FailureKind.SERVER, "no")
    assert collect([Started(), TextDelta(0, 0, b'"half"'), Failed(failure)]) == failure


def test_events_that_just_stop_are_a_broken_stream() -> None:
    assert collect([Started(), TextDelta(0, 0, b'"half"')]) == UNFINISHED
    assert collect([]) == UNFINISHED


def test_the_last_word_on_usage_counts_field_by_field() -> None:
    """Q31."""
    first = Usage(10, 1, cached=4, extras=Extras("d", {"cost": b"1", "a": b"1"}))
    last = Usage(0, 20, reasoning=5, extras=Extras("d", {"cost": b"2"}))
    expected = Usage(10, 20, 4, 0, 5, Extras("d", {"cost": b"2", "a": b"1"}))
    assert merge_usage(first, last) == expected
    assert merge_usage(None, last) == last


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ('{"a": 1}', b'{"a": 1}'),
        ("", b"{}"),
        ("  ", b"{}"),
        ("null", b"{}"),
        ("[1]", b'"[1]"'),
        ("15 * 4", b'"15 * 4"'),
        ('{"a":', b'"{\\"a\\":"'),
    ],
)
def test_arguments_are_an_object_or_a_text(text: str, arguments: bytes) -> None:
    assert arguments_of(text) == arguments
    if arguments != b"{}":
        assert msgspec.json.decode(text_of_arguments(Call(id="", name="", arguments=arguments))) == text
