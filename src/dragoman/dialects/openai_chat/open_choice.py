"""One choice of an answer on its way in: the open part, the open calls, and what its end still needs."""

from __future__ import annotations

from msgspec import Raw

from dragoman.conversation import reasoning_states
from dragoman.conversation.events import CallDelta, CallEnded, CallStarted, Event, ReasoningDelta, Signed, TextDelta
from dragoman.conversation.literals import EMPTY, quote
from dragoman.conversation.parts import Extras, Json, Origin
from dragoman.dialects.openai_chat import NAME
from dragoman.dialects.openai_chat.answer_wire import ChatCallDelta, ChatFunctionDelta
from dragoman.dialects.openai_chat.reasoning_details import ENCRYPTED, ReasoningEntry
from dragoman.dialects.openai_chat.think_tags import ThinkTags
from dragoman.dialects.openai_chat.thought_signatures import parse_signature
from dragoman.dialects.parsing import answer_call_id, extras_of

TEXT, REASONING, REFUSAL, OTHER = "text", "reasoning", "refusal", ""

LEGACY = Extras(NAME, {"function_call": b"true"})
"""Marks a call that came as the old `function_call`, which has no id."""

_QUOTE = 34
_NULL = b"null"


class OpenCall:
    """A call that may still grow. Its name may come after its id."""

    __slots__ = ("custom", "given", "held", "legacy", "ordinal", "part", "started")

    def __init__(self, part: int, ordinal: int, given: str, custom: bool, legacy: bool) -> None:
        self.part = part
        self.ordinal = ordinal
        self.given = given
        self.custom = custom
        self.legacy = legacy
        self.started = False
        self.held: list[Event] = []


class OpenChoice:
    """What is unfinished in one choice."""

    __slots__ = (
        "audio",
        "calls",
        "entry",
        "extras",
        "finish_reason",
        "index",
        "last",
        "open",
        "origin",
        "part",
        "parts",
        "refused",
        "seed",
        "tags",
        "text_part",
    )

    def __init__(self, index: int, origin: Origin, seed: str, tags: bool) -> None:
        self.index = index
        self.origin = origin
        self.seed = seed
        self.tags = ThinkTags() if tags else None
        self.parts = 0
        self.part = -1
        self.open = OTHER
        self.text_part = -1
        self.audio = -1
        self.entry: ReasoningEntry | None = None
        self.calls: dict[int | str, OpenCall] = {}
        self.last: int | str = 0
        self.finish_reason: str | None = None
        self.refused = False
        self.extras: dict[str, Json] = {}

    def enter(self, kind: str, out: list[Event]) -> int:
        """The index of the open part of this kind. A new part begins where another kind was open."""
        if self.open != kind:
            self.begin(kind, out)
        return self.part

    def begin(self, kind: str, out: list[Event]) -> int:
        self.leave(out)
        self.open = kind
        self.part = self.parts
        self.parts += 1
        return self.part

    def leave(self, out: list[Event]) -> None:
        """The end of a reasoning entry, whose state is complete only now."""
        self.open = OTHER
        if self.entry is None:
            return
        state = self.entry.state(self.origin)
        if state is not None:
            out.append(Signed(self.index, self.part, state, redacted=state.kind == reasoning_states.REDACTED))
        elif not self.entry.literals and self.entry.kind == ENCRYPTED:
            out.append(ReasoningDelta(self.index, self.part, EMPTY, ENCRYPTED))
        self.entry = None

    def tagged(self, pieces: list[tuple[bool, str]], out: list[Event]) -> None:
        for thinking, text in pieces:
            part = self.enter(REASONING if thinking else TEXT, out)
            if thinking:
                out.append(ReasoningDelta(self.index, part, quote(text), "think"))
            else:
                self.text_part = part
                out.append(TextDelta(self.index, part, quote(text)))

    def take_entries(self, entries: list[ReasoningEntry], out: list[Event]) -> None:
        for entry in entries:
            self._take_entry(entry, out)
            for literal in entry.literals:
                out.append(ReasoningDelta(self.index, self.part, literal, entry.kind))

    def _take_entry(self, entry: ReasoningEntry, out: list[Event]) -> None:
        held = self.entry
        if self.open == REASONING and held is not None and held.key == entry.key and entry.kind != ENCRYPTED:
            held.grow(entry)
            return
        bare = not entry.literals and entry.kind != ENCRYPTED
        if not (bare and self.open == REASONING and held is None):
            self.begin(REASONING, out)
        self.entry = ReasoningEntry(entry.kind, entry.index, dict(entry.fields), list(entry.literals))

    def take_call(self, call: ChatCallDelta, position: int | None, out: list[Event]) -> None:
        """A call or a piece of one. `position` is its place in a whole message, where every entry is a call."""
        function = call.function or call.custom or ChatFunctionDelta()
        key = position if position is not None else self._key(call)
        found = None if position is not None else self.calls.get(key)
        if found is None or (call.id and found.given and call.id != found.given and function.name):
            custom = call.custom is not None and call.function is None
            found = self._open_call(key, call.id or "", custom, False, out)
        self.last = key
        self._grow_call(found, function, out)
        if call.extra_content:
            self._sign_call(found, call.extra_content, out)

    def take_legacy(self, function: ChatFunctionDelta, out: list[Event]) -> None:
        found = self.calls.get("legacy")
        if found is None and not function.name:
            return
        if found is None:
            found = self._open_call("legacy", "", False, True, out)
        self._grow_call(found, function, out)

    def _key(self, call: ChatCallDelta) -> int | str:
        return call.index if call.index is not None else call.id or self.last

    def _open_call(self, key: int | str, given: str, custom: bool, legacy: bool, out: list[Event]) -> OpenCall:
        if key in self.calls:
            # Some servers give all calls the same index. The earlier call stays open under another key.
            self.calls[f"{key}/{len(self.calls)}"] = self.calls.pop(key)
        call = OpenCall(self.begin(OTHER, out), len(self.calls), given, custom, legacy)
        self.calls[key] = call
        return call

    def _grow_call(self, call: OpenCall, function: ChatFunctionDelta, out: list[Event]) -> None:
        if not call.started and function.name:
            self._start_call(call, function.name, out)
        raw: Raw = function.input if call.custom else function.arguments
        literal = bytes(raw)
        if literal in (b"", EMPTY, _NULL):
            return
        if literal[0] != _QUOTE:
            literal = quote(literal.decode())
        (out if call.started else call.held).append(CallDelta(self.index, call.part, literal))

    def _start_call(self, call: OpenCall, name: str, out: list[Event]) -> None:
        call.started = True
        identity = call.given or answer_call_id(self.seed, self.index, call.ordinal)
        extras = LEGACY if call.legacy else None
        out.append(CallStarted(self.index, call.part, identity, name, call.custom, extras, made=not call.given))
        out += call.held
        call.held.clear()

    def _sign_call(self, call: OpenCall, extra_content: Raw, out: list[Event]) -> None:
        found = parse_signature(bytes(extra_content), self.origin)
        if found is not None:
            (out if call.started else call.held).append(Signed(self.index, call.part, found))

    def finish(self, out: list[Event]) -> None:
        """Everything that waited for the end of the choice, without the stop itself."""
        if self.tags is not None:
            self.tagged(self.tags.close(), out)
        self.leave(out)
        for call in sorted(self.calls.values(), key=_place):
            if not call.started:
                self._start_call(call, "", out)
            out.append(CallEnded(self.index, call.part))

    def stop_extras(self) -> Extras | None:
        return extras_of(NAME, self.extras)


def _place(call: OpenCall) -> int:
    return call.part
