"""Calls of functions that stand for a tool of the client's dialect, in the form that this dialect has for them.

An item of a vendor's tool, and the text of a tool that takes plain text, can be written once the arguments are whole:
what belongs to such a call is held until then. A call of a tool that the gateway runs becomes a block of its own.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from dragoman.conversation.collect import arguments_of
from dragoman.conversation.events import (
    CallDelta,
    CallEnded,
    CallStarted,
    Ended,
    Event,
    Failed,
    OpaqueBlock,
    Signed,
    Stopped,
)
from dragoman.conversation.literals import join_texts, quote, unquote
from dragoman.conversation.parts import OURS, Call, Extras, Json, Opaque, Origin
from dragoman.conversation.tools import CallForm

_CLOSING = (Stopped, Ended, Failed)


class _HeldCall(msgspec.Struct):
    started: CallStarted
    form: CallForm
    literals: list[bytes]
    state: Opaque | None = None


class ClientCalls(msgspec.Struct, eq=False):
    """`dialect`: the client's. `render` writes an item of its vendor's tools."""

    _dialect: str
    _render: Callable[[CallForm, str, str], Json | None]
    _held: dict[tuple[int, int], _HeldCall] = {}

    def begin(self, event: CallStarted, form: CallForm) -> CallStarted:
        """The beginning of a call that has a form of its own, under the client's name and id."""
        if form.kind or form.custom or form.run:
            self._held[event.choice, event.part] = _HeldCall(event, form, [])
        extras = Extras(self._dialect, dict(form.fields)) if form.fields else event.extras
        return replace(event, custom=form.custom or event.custom, extras=extras)

    def put(self, events: list[Event]) -> list[Event]:
        """The events with every such call in its form."""
        if not self._held:
            return events
        out: list[Event] = []
        for event in events:
            place = (getattr(event, "choice", -1), getattr(event, "part", -1))
            held = self._held.get(place)
            if isinstance(event, _CLOSING):
                for other in list(self._held):
                    out += self._whole(*other)
            elif held is not None and isinstance(event, CallStarted):
                held.started = event
                continue
            elif held is not None and isinstance(event, CallDelta):
                held.literals.append(event.literal)
                continue
            elif held is not None and isinstance(event, CallEnded):
                out += self._whole(*place)
                continue
            elif held is not None and held.form.run and isinstance(event, Signed):
                held.state = event.state
                continue
            out.append(event)
        return out

    def _whole(self, choice: int, part: int) -> list[Event]:
        held = self._held.pop((choice, part))
        text, started = unquote(join_texts("", held.literals)), held.started
        if held.form.run:
            call = Call(started.id, started.name, arguments_of(text), signature=held.state)
            block = Opaque(kind=held.form.run, json=b"{}", origin=OURS, meant=(call,))
            return [OpaqueBlock(choice, part, block)]
        item = self._render(held.form, started.id, text) if held.form.kind else None
        if item is not None:
            call = Call(started.id, started.name, arguments_of(text))
            block = Opaque(kind=held.form.kind, json=item, origin=Origin(self._dialect), meant=(call,))
            return [OpaqueBlock(choice, part, block)]
        if started.custom:
            text = _input_of(text)
        return [started, CallDelta(choice, part, quote(text)), CallEnded(choice, part)]


def _input_of(arguments: str) -> str:
    """The plain text in the arguments of a function with one; the arguments themselves if they hold none."""
    try:
        found = msgspec.json.decode(arguments)
    except (msgspec.DecodeError, RecursionError):
        return arguments
    texts = [value for value in found.values() if isinstance(value, str)] if isinstance(found, dict) else []
    if isinstance(found, dict) and isinstance(found.get("input"), str):
        return str(found["input"])
    return texts[0] if len(texts) == 1 else arguments
