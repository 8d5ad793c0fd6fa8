"""Which prompts a caller has sent lately, as digests: what a provider may still have in its cache."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from enum import IntEnum

from dragoman.engine.history.prompt_digests import PromptDigests

KEPT_SECONDS = 300.0
"""The lifetime of a cache hint that names none."""
MOST_PROMPTS = 65_536


class SentBefore(IntEnum):
    """How much of a prompt was sent before."""

    UNKNOWN = 0
    """Nobody asked: no hints are to be set."""
    NOTHING = 1
    OPENING = 2
    """Its tools and system texts."""
    TURNS = 3
    """And the turns before the model's last answer, or so it seems from the result of a tool at the end."""


class SentPrompts:
    """The digests of prompts, by caller. The oldest go first. Nothing of their text is kept."""

    def __init__(self, clock: Callable[[], float], most: int = MOST_PROMPTS) -> None:
        self._clock = clock
        self._most = most
        self._sent: OrderedDict[tuple[str, int], float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sent)

    def note(self, caller: str, prompt: PromptDigests) -> SentBefore:
        """How much of this prompt the caller has sent before. From now on all of it was."""
        now = self._clock()
        found = SentBefore.NOTHING
        if prompt.continues or (prompt.earlier and self._is_known(caller, prompt.earlier, now)):
            found = SentBefore.TURNS
        elif self._is_known(caller, prompt.opening, now):
            found = SentBefore.OPENING
        for one in (prompt.opening, prompt.whole):
            self._sent[caller, one] = now
            self._sent.move_to_end((caller, one))
        while len(self._sent) > self._most:
            self._sent.popitem(last=False)
        return found

    def _is_known(self, caller: str, digest: int, now: float) -> bool:
        at = self._sent.get((caller, digest))
        return at is not None and now - at < KEPT_SECONDS
