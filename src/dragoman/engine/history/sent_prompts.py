"""Which prompts a caller has sent lately, as digests: what a provider may still have in its cache."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple

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


class _SessionTurn(NamedTuple):
    """The last turn of a session in this process."""

    at: float
    openings: int
    """How many openings it had in a row that were new. One that this process has not seen may be another's."""
    turns: int
    """How many there were until then."""
    whole: int
    """The digest of all of them."""


_NO_TURN = _SessionTurn(-KEPT_SECONDS, 0, 0, 0)


class SentPrompts:
    """The digests of prompts, by caller. The oldest go first. Nothing of their text is kept."""

    def __init__(self, clock: Callable[[], float], most: int = MOST_PROMPTS) -> None:
        self._clock = clock
        self._most = most
        self._sent: OrderedDict[tuple[str, int], float] = OrderedDict()
        self._sessions: OrderedDict[tuple[str, int], _SessionTurn] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sent)

    def note(self, caller: str, prompt: PromptDigests) -> SentBefore:
        """How much of this prompt the caller has sent before. From now on all of it was."""
        now = self._clock()
        found = SentBefore.NOTHING
        has_opening = self._is_known(caller, prompt.opening, now)
        last = self._sessions.get((caller, prompt.session), _NO_TURN)
        is_recent = now - last.at < KEPT_SECONDS
        openings = 0 if has_opening else last.openings + 1 if is_recent else 1
        if (openings <= _MOST_OPENINGS and prompt.continues) or (
            prompt.earlier
            and (
                self._is_known(caller, prompt.earlier, now)
                or (is_recent and prompt.goes_on(last.turns, last.whole))  # other processes may have had turns between
            )
        ):
            found = SentBefore.TURNS
        elif has_opening:
            found = SentBefore.OPENING
        for one in (prompt.opening, prompt.whole):
            self._sent[caller, one] = now
            self._sent.move_to_end((caller, one))
        while len(self._sent) > self._most:
            self._sent.popitem(last=False)
        self._sessions[caller, prompt.session] = _SessionTurn(now, openings, len(prompt.turns), prompt.whole)
        self._sessions.move_to_end((caller, prompt.session))
        while len(self._sessions) > self._most:
            self._sessions.popitem(last=False)
        return found

    def _is_known(self, caller: str, digest: int, now: float) -> bool:
        at = self._sent.get((caller, digest))
        return at is not None and now - at < KEPT_SECONDS
