"""Generated replies: text, thinking with state, calls, refusals, usage and stops, as any provider might answer."""

from __future__ import annotations

import base64
from itertools import zip_longest

import msgspec
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.by_dialect import ByDialect

from dragoman.conversation.collect import arguments_of, tell
from dragoman.conversation.events import (
    CallDelta,
    CallEnded,
    CallStarted,
    Event,
    OpaqueBlock,
    ReasoningDelta,
    Signed,
    TextDelta,
)
from dragoman.conversation.literals import quote, unquote
from dragoman.conversation.parts import Call, Opaque, Origin, Part, Reasoning, StateKind, Text
from dragoman.conversation.replies import Choice, Reply, Stop, Usage

_TOKENS = [Stop.END, Stop.LENGTH]


class ReplyForm(msgspec.Struct, frozen=True):
    """What the replies of a dialect may hold."""

    stops: list[Stop]
    """Why they end, if they call nothing."""
    one_message: bool = False
    """In one message a model thinks, speaks and calls, in that order."""
    object_arguments: bool = False
    """The arguments of a call are an object, never a text."""
    state: StateKind | None = None
    """What proves the thinking."""
    signs_calls: bool = False
    """State hangs on calls, too."""
    block: Opaque | None = None
    """A block of the provider's own, whole."""


_SEARCH = b'{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"x"}}'
_CODE = b'{"executableCode":{"language":"PYTHON","code":"print(1)"}}'
REPLY_FORMS = ByDialect(
    "REPLY_FORMS of tests/strategies_replies.py",
    {
        "anthropic": ReplyForm(
            [*_TOKENS, Stop.STOP_SEQUENCE, Stop.PAUSE, Stop.REFUSAL, Stop.CONTEXT],
            object_arguments=True,
            state=StateKind.SIGNATURE,
            block=Opaque("server_tool_use", _SEARCH, Origin("anthropic", "", "made-up-model")),
        ),
        "gemini": ReplyForm(
            [*_TOKENS, Stop.FILTER, Stop.BROKEN_CALL, Stop.ERROR],
            object_arguments=True,
            state=StateKind.THOUGHT,
            signs_calls=True,
            block=Opaque("executableCode", _CODE, Origin("gemini", "", "made-up-model")),
        ),
        "openai-chat": ReplyForm([*_TOKENS, Stop.FILTER], one_message=True, state=StateKind.THOUGHT, signs_calls=True),
        "openai-responses": ReplyForm([*_TOKENS, Stop.FILTER], state=StateKind.ENCRYPTED),
        "ollama": ReplyForm(_TOKENS, one_message=True, object_arguments=True),
        "cohere": ReplyForm([*_TOKENS, Stop.STOP_SEQUENCE], one_message=True),
        "bedrock": ReplyForm(
            [*_TOKENS, Stop.STOP_SEQUENCE, Stop.FILTER, Stop.CONTEXT, Stop.BROKEN_CALL],
            object_arguments=True,
            state=StateKind.SIGNATURE,
        ),
    },
)

words = st.text(min_size=1, max_size=40).filter(lambda text: text.strip() and "\ud800" not in text)
names = st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_-]{0,20}", fullmatch=True)
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(st.text(max_size=8), plain, max_size=4).map(msgspec.json.encode)


@st.composite
def arguments(draw: st.DrawFn, dialect: str) -> bytes:
    """Mostly an object. If arguments are text, also one that is spread over lines or breaks off, or none at all."""
    whole = draw(objects)
    if REPLY_FORMS[dialect].object_arguments or draw(st.integers(0, 3)):
        return whole
    text = whole.decode()
    broken = text[: draw(st.integers(1, len(text)))]
    blanks = msgspec.json.format(whole, indent=2).decode()
    return arguments_of(draw(st.sampled_from([broken, " \n" + blanks, "not JSON", "[1]", '"x"', "nul"])))


@st.composite
def state_of(draw: st.DrawFn, dialect: str) -> Opaque:
    """State as that dialect's own provider would have made it."""
    kind = REPLY_FORMS[dialect].state
    assert kind is not None
    content = base64.b64encode(draw(st.binary(min_size=3, max_size=30))).decode()
    return Opaque(kind=kind, json=quote(content), origin=Origin(dialect, "", "made-up-model"))


@st.composite
def thoughts(draw: st.DrawFn, dialect: str) -> Reasoning:
    has_state = REPLY_FORMS[dialect].state is not None
    text = draw(st.none() | words if has_state else words)
    held = draw(state_of(dialect)) if has_state and (text is None or draw(st.booleans())) else None
    return Reasoning(text=Text(literal=quote(text)) if text is not None else None, state=held)


@st.composite
def calls(draw: st.DrawFn, dialect: str, number: int) -> Call:
    proven = REPLY_FORMS[dialect].signs_calls and draw(st.booleans())
    return Call(
        id=f"call_{draw(st.integers(0, 999))}_{number}",
        name=draw(names),
        arguments=draw(arguments(dialect)),
        signature=draw(state_of(dialect)) if proven else None,
    )


@st.composite
def signed(draw: st.DrawFn, part: Text) -> Text:
    """Gemini hangs state on words too, and on several of one turn."""
    return Text(literal=part.literal, signature=draw(st.none() | state_of("gemini")))


@st.composite
def replies(draw: st.DrawFn, dialect: str) -> Reply:
    """A reply that a provider speaking the dialect could have given."""
    form = REPLY_FORMS[dialect]
    most = 1 if form.one_message else 2
    parts: list[Part] = draw(st.lists(thoughts(dialect), max_size=most))
    parts += [Text(literal=quote(text)) for text in draw(st.lists(words, max_size=most))]
    parts += [draw(calls(dialect, number)) for number in range(draw(st.integers(0, 3)))]
    if form.block is not None and draw(st.booleans()):
        parts.append(form.block)
    if not form.one_message:
        parts = draw(st.permutations(parts))
    if dialect == "gemini":
        # Of texts in a row the last one is signed: a stream does not tell to which of them a signature belongs.
        parts = [
            draw(signed(part)) if isinstance(part, Text) and not isinstance(follows, Text) else part
            for part, follows in zip_longest(parts, parts[1:])
        ]
    called = any(isinstance(part, Call) for part in parts)
    stop = Stop.CALLS if called else draw(st.sampled_from(form.stops))
    return Reply(
        id=draw(st.from_regex(r"[a-z]{3}_[a-z0-9]{8}", fullmatch=True)),
        model="made-up-model",
        choices=(Choice(tuple(parts), stop, sequence="###" if stop is Stop.STOP_SEQUENCE else None),),
        usage=draw(usages()),
        created=1_700_000_000,
    )


@st.composite
def usages(draw: st.DrawFn) -> Usage:
    counts = st.integers(1, 5000)
    cached, reasoning = draw(st.integers(0, 1000)), draw(st.integers(0, 1000))
    return Usage(draw(counts) + cached, draw(counts) + reasoning, cached=cached, reasoning=reasoning)


def fragments(reply: Reply, size: int) -> list[Event]:
    """The reply's events with every text cut into deltas of that many characters."""
    events: list[Event] = []
    for event in tell(reply):
        if isinstance(event, TextDelta | ReasoningDelta | CallDelta):
            text = unquote(event.literal)
            pieces = [text[at : at + size] for at in range(0, len(text), size)]
            events += [replace(event, literal=quote(piece)) for piece in pieces]
        else:
            events.append(event)
    return events


def interleaved(events: list[Event]) -> list[Event]:
    """The same with calls side by side: all begin, their fragments come in turn, and all end together.

    Only if the calls come last: parts begin in the order of their numbers.
    """
    last = max((e.part for e in events if isinstance(e, TextDelta | ReasoningDelta | OpaqueBlock | Signed)), default=-1)
    if any(isinstance(e, CallStarted) and e.part < last for e in events):
        return events
    started = [e for e in events if isinstance(e, CallStarted)]
    kinds = CallStarted | CallDelta | CallEnded
    signed = {e.part: e for e in events if isinstance(e, Signed) and any(s.part == e.part for s in started)}
    rows = [[e for e in events if isinstance(e, CallDelta) and e.part == start.part] for start in started]
    middle: list[Event] = []
    for start in started:
        middle += [start, *([signed[start.part]] if start.part in signed else [])]
    for place in range(max(map(len, rows), default=0)):
        middle += [row[place] for row in rows if place < len(row)]
    middle += [e for e in events if isinstance(e, CallEnded)]
    others = [e for e in events if not isinstance(e, kinds) and e not in signed.values()]
    at = next((place for place, e in enumerate(others) if type(e).__name__ == "Stopped"), len(others))
    return [*others[:at], *middle, *others[at:]]
