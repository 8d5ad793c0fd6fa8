"""The names of the tools that results answer, for dialects whose results carry them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from dragoman.conversation.messages import Message
from dragoman.conversation.parts import Call, Result
from dragoman.errors import Unrepresentable

_FEW = 8
"""So many parts are looked through for each result. With more of them, an index of the calls costs less."""


class ToolNames(Struct, eq=False):
    """The names of the tools that results answer: a result here carries the name, elsewhere only the call does.

    The call mostly stands in the message right before, among a few parts. If it does not, the messages are searched,
    each once.
    """

    _messages: Sequence[Message]
    _names: dict[str, str] = {}
    _searched: int = 0

    def of(self, result: Result, here: int) -> str:
        """The name of the last call with the result's id before the message `here`. Raises Unrepresentable."""
        found = self.find(result, here)
        if found is None:
            raise Unrepresentable(f"a result of {result.call_id} without the name of its tool")
        return found

    def find(self, result: Result, here: int) -> str | None:
        """The name that `of` returns; None if nothing tells it."""
        before = self._messages[here - 1].parts if here else ()
        for part in before[:_FEW]:
            if type(part) is Call and part.id == result.call_id:
                return part.name
        return self._search(result.call_id, here) or result.name or None

    def _search(self, call_id: str, here: int) -> str | None:
        for message in self._messages[self._searched : here]:
            self._names.update({part.id: part.name for part in reversed(message.parts) if type(part) is Call})
        self._searched = max(self._searched, here)
        return self._names.get(call_id)
