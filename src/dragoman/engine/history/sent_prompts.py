"""Which prompts a caller has sent lately, as digests: what a provider may still have in its cache."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from enum import IntEnum

from dragoman.engine.history.prompt_digests import PromptDigests

KEPT_SECONDS = 300.0
"""The lifetime of a cache hint that names none."""
MOST_PROMPTS = 65_536
_MOST_OPENINGS = 2
"""So many turns in a row may begin otherwise than those before them. A session that goes on so never reads what was
written for it."""


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
        self._openings: OrderedDict[tuple[str, int], tuple[float, int]] = OrderedDict()
        """By session: its last turn, and how many openings it had in a row that were new."""

    def __len__(self) -> int:
        return len(self._sent)

    def note(self, caller: str, prompt: PromptDigests) -> SentBefore:
        """How much of this prompt the caller has sent before. From now on all of it was."""
        now = self._clock()
        found = SentBefore.NOTHING
        has_opening = self._is_known(caller, prompt.opening, now)
        continues = self._count_openings(caller, prompt, has_opening, now) <= _MOST_OPENINGS and prompt.continues
        if continues or (prompt.earlier and self._is_known(caller, prompt.earlier, now)):
            found = SentBefore.TURNS
        elif has_opening:
            found = SentBefore.OPENING
        for one in (prompt.opening, prompt.whole):
            self._sent[caller, one] = now
            self._sent.move_to_end((caller, one))
        while len(self._sent) > self._most:
            self._sent.popitem(last=False)
        return found

    def _count_openings(self, caller: str, prompt: PromptDigests, has_opening: bool, now: float) -> int:
        """How many openings in a row are new. One that this process has not seen may be one of another process."""
        at, count = self._openings.get((caller, prompt.session), (-KEPT_SECONDS, 0))
        count = 0 if has_opening else count + 1 if now - at < KEPT_SECONDS else 1
        self._openings[caller, prompt.session] = now, count
        self._openings.move_to_end((caller, prompt.session))
        while len(self._openings) > self._most:
            self._openings.popitem(last=False)
        return count

    def _is_known(self, caller: str, digest: int, now: float) -> bool:
        at = self._sent.get((caller, digest))
        return at is not None and now - at < KEPT_SECONDS
