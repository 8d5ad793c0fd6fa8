"""What refusals have taught about targets: for whom it holds, and for how long.

A lesson in the provider's own words holds for everybody. What care has proved is an inference: at first it holds for
the caller whose request proved it, and for everybody once another request has proved it too. Both expire after a day:
providers change.

No clock and no file: the time comes in, and what is learnt is a record that any store can keep.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from dragoman.engine.exchange.corrections import Patch
from dragoman.engine.exchange.lessons import Learnt
from dragoman.profiles.profile import Layer, Target, merge, patch_target

DAY = 86_400.0
_MOST = 4096


class LessonRecord(Struct, frozen=True, kw_only=True):
    """Facts of a target that a refusal corrected. There is one record for each target, name and caller."""

    target: str
    name: str
    facts: Patch
    caller: str = ""
    """The only one that it holds for; empty if it holds for everybody."""
    confirmed: bool = False
    """Whether a second request has proved it."""
    request_id: str = ""
    """The request that proved it: it takes another one to confirm it."""
    learnt: float = 0.0
    """In seconds since 1970."""
    expires: float
    """In seconds since 1970."""

    def holds(self, caller: str, now: float) -> bool:
        return self.caller in ("", caller) and now < self.expires


def remember(
    known: Iterable[LessonRecord], learnt: Learnt, *, target: str, caller: str, request_id: str, now: float
) -> list[LessonRecord]:
    """The records that an accepted request adds to those that are known of its target."""
    alive = [one for one in known if now < one.expires]
    new = LessonRecord(
        target=target,
        name=learnt.lesson,
        facts=learnt.facts,
        confirmed=True,
        request_id=request_id,
        learnt=now,
        expires=now + DAY,
    )
    if learnt.tentative:
        return [_infer(alive, replace(new, facts=one), caller) for one in _apart(learnt.facts)]
    before = merge_believed([one for one in alive if one.name == learnt.lesson], caller, now)
    return [replace(new, facts=merge(before, learnt.facts))]


def _infer(known: list[LessonRecord], new: LessonRecord, caller: str) -> LessonRecord:
    """One fact that care has proved, confirmed if another request has proved it before."""
    name = f"{new.name} {_path(new.facts)}"
    confirmed = any(one.name == name and (one.confirmed or one.request_id != new.request_id) for one in known)
    return replace(new, name=name, caller="" if confirmed else caller, confirmed=confirmed)


def _apart(facts: Patch) -> Iterator[Patch]:
    """A patch taken apart, so that each fact can be confirmed by itself."""
    for name, value in facts.items():
        if isinstance(value, dict):
            yield from ({name: inner} for inner in _apart(value))
        else:
            yield {name: value}


def _path(facts: Patch) -> str:
    """The name of a patch's only fact: `settings.seed.support`."""
    ((name, value),) = facts.items()
    return f"{name}.{_path(value)}" if isinstance(value, dict) else name


def merge_believed(records: Iterable[LessonRecord], caller: str, now: float) -> Patch:
    """The facts that hold for a caller; what was learnt last wins."""
    facts: Patch = {}
    for record in sorted(records, key=_learnt):
        if record.holds(caller, now):
            facts = merge(facts, record.facts)
    return facts


def _learnt(record: LessonRecord) -> float:
    return record.learnt


class CorrectedTargets:
    """Targets with what is believed about them; the same object as long as that is the same, since plans are
    remembered by it."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[Target, Patch, Target]] = {}

    def correct(self, name: str, target: Target, records: Iterable[LessonRecord], caller: str, now: float) -> Target:
        facts = merge_believed(records, caller, now)
        if not facts:
            return target
        known = self._known.get((name, caller))
        if known is not None and known[0] is target and known[1] == facts:
            return known[2]
        corrected = patch_target(target, Layer("lessons", facts))
        if len(self._known) >= _MOST:
            self._known.clear()
        self._known[name, caller] = (target, facts, corrected)
        return corrected
