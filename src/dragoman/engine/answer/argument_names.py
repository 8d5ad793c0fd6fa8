"""Arguments of calls under the client's own names, if a target's schema had to use others.

A fragment of JSON cannot be renamed: what belongs to a call is held until it is whole.
"""

from __future__ import annotations

from collections.abc import Mapping

from dragoman.conversation.events import CallDelta, CallEnded, Ended, Event, Failed, Stopped
from dragoman.conversation.literals import joined, quote, unquote
from dragoman.rules.schema import renamed_arguments

_CLOSING = (Stopped, Ended, Failed)


class Renaming:
    """Holds the fragments of open calls. `keys`: the target's argument names → the client's."""

    __slots__ = ("_held", "_keys")

    def __init__(self, keys: Mapping[str, str]) -> None:
        self._keys = keys
        self._held: dict[tuple[int, int], list[bytes]] = {}

    def put(self, events: list[Event]) -> list[Event]:
        """The events with every call's arguments in one piece, renamed."""
        out: list[Event] = []
        for event in events:
            if isinstance(event, CallDelta):
                self._held.setdefault((event.choice, event.part), []).append(event.literal)
                continue
            if isinstance(event, CallEnded):
                out += self._whole(event.choice, event.part)
            elif isinstance(event, _CLOSING):
                for choice, part in list(self._held):
                    out += self._whole(choice, part)
            out.append(event)
        return out

    def _whole(self, choice: int, part: int) -> list[Event]:
        held = self._held.pop((choice, part), None)
        if held is None:
            return []
        text = unquote(joined("", held))
        try:
            renamed = renamed_arguments(text.encode(), self._keys).decode()
        except ValueError:
            renamed = text  # not JSON: nothing in it can be renamed
        return [CallDelta(choice, part, quote(renamed))]
