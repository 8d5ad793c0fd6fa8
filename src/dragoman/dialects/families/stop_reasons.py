"""The words of a dialect for why a model stopped, both ways."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import msgspec

from dragoman.conversation.replies import Stop

_NEAREST: Mapping[Stop, Stop] = {
    Stop.STOP_SEQUENCE: Stop.END,
    Stop.CALLS: Stop.END,
    Stop.PAUSE: Stop.END,
    Stop.CONTEXT: Stop.LENGTH,
    Stop.REFUSAL: Stop.FILTER,
    Stop.FILTER: Stop.ERROR,
    Stop.BROKEN_CALL: Stop.ERROR,
}


class StopReasons(msgspec.Struct, frozen=True, dict=True):
    """The words of one dialect."""

    meanings: Mapping[str, Stop]
    """Of several words for one reason the first is written."""
    instead: Mapping[Stop, Stop] = {}
    """The reason whose word is written for one without a word, if that is not the nearest one."""

    @cached_property
    def words(self) -> Mapping[Stop, str]:
        """The word for each reason."""
        own: dict[Stop, str] = {}
        for word, reason in self.meanings.items():
            own.setdefault(reason, word)
        words: dict[Stop, str] = {}
        for reason in Stop:
            nearest = reason
            while nearest not in own:
                nearest = self.instead.get(nearest) or _NEAREST[nearest]
            words[reason] = own[nearest]
        return words

    def parse(self, word: str, called: bool) -> Stop:
        """Our reason for a word. An answer with a tool call stops for the call, whatever a server says."""
        reason = self.meanings.get(word, Stop.END)
        return Stop.CALLS if called and reason is Stop.END else reason

    def render(self, reason: Stop, word: str) -> str:
        """The word for our reason: the provider's own word if this dialect has it and it means the same."""
        return word if self.meanings.get(word) is reason else self.words[reason]
