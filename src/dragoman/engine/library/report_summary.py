"""The report as one reads it: the heaviest losses first, repetitions folded, harmless spelling last.

`fold` is the one place that decides this. The header, the log, the commands, the gateway's report and
`AdaptedRequest.summary()` all show what it returns. The whole report, entry by entry, stays in `changes`; what is
written down of it for the ledger and the console is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from operator import attrgetter
from typing import Protocol

import msgspec

from dragoman.conversation.bounded_cache import BoundedCache, CacheEntry
from dragoman.conversation.changes import Change, ChangeKind, Loss
from dragoman.engine.compile.compiled_request import CompiledRequest

LONGEST = 1024
"""Bytes of the header."""
SHOWN_PLACES = 8
_SHOWN_ACTS = 5
_HARMLESS = str(Loss.NOTHING)
_WEIGHTS = {str(loss): int(loss) for loss in Loss}
_TOOL = re.compile(r"(?:/toolConfig)?/(?:tools|functions)/\d+(?:/function_?[dD]eclarations/\d+)?(?=/|$)")
_TURN = re.compile(r"/(?:messages|contents|input)/\d+(?=/|$)")
_NAMED = re.compile(r"[^\s:]{1,200}: ")
"""A tool's name, and maybe the path inside its schema, before what was done to it."""

_Act = tuple[str, str, str]
"""A rule, what was lost, and what it did."""


class ReportedChange(Protocol):
    """What a change and a finding have in common."""

    @property
    def rule(self) -> str: ...

    @property
    def at(self) -> str: ...

    @property
    def did(self) -> str: ...

    @property
    def loses(self) -> str: ...

    @property
    def kind(self) -> ChangeKind: ...


class FoldedChange(msgspec.Struct, frozen=True):
    """Changes of one rule that did the same."""

    rule: str
    did: str
    loses: str
    count: int
    where: str
    """Where, in words."""
    places: tuple[str, ...]
    """The first pointers."""
    kind: ChangeKind = "repair"

    @property
    def harmless(self) -> bool:
        """Nothing was lost: it was spelled otherwise, made up or added."""
        return self.loses == _HARMLESS

    def __str__(self) -> str:
        loss = "" if self.harmless else f" (loses {self.loses})"
        return f"`{self.rule}` {self.where}: {self.did}{loss}"


def weight(loses: str) -> int:
    """How heavy a loss is."""
    return _WEIGHTS.get(loses, 0)


def fold(changes: Iterable[ReportedChange]) -> tuple[FoldedChange, ...]:
    """Changes of one rule that did the same as one, the heaviest losses first."""
    groups: dict[_Act, list[ReportedChange]] = {}
    for change in changes:
        did = _NAMED.sub("", change.did, count=1) if _TOOL.match(change.at) else change.did
        groups.setdefault((change.rule, change.loses, did), []).append(change)
    folded = [_fold(act, group) for act, group in _join(groups).items()]
    return tuple(sorted(folded, key=lambda one: -weight(one.loses)))


def _join(groups: dict[_Act, list[ReportedChange]]) -> dict[_Act, list[ReportedChange]]:
    """If a rule did many different things, the rarest of them become one."""
    acts: dict[tuple[str, str], list[str]] = {}
    for rule, loses, did in sorted(groups, key=lambda act: -len(groups[act])):
        acts.setdefault((rule, loses), []).append(did)
    joined: dict[_Act, list[ReportedChange]] = {}
    for (rule, loses, did), group in groups.items():
        rest = acts[rule, loses][_SHOWN_ACTS:]
        named = f"{rest[0]}, and {len(rest) - 1} more of the kind" if did in rest and len(rest) > 1 else did
        joined.setdefault((rule, loses, named), []).extend(group)
    return joined


def _fold(act: _Act, group: Sequence[ReportedChange]) -> FoldedChange:
    rule, loses, did = act
    places = tuple(dict.fromkeys(change.at for change in group))
    return FoldedChange(rule, did, loses, len(group), _where(places), places[:SHOWN_PLACES], kind=group[0].kind)


def _where(places: Sequence[str]) -> str:
    if len(places) == 1:
        return f"at {places[0]}" if places[0] else "in the request"
    for pattern, things in ((_TOOL, "tools"), (_TURN, "messages")):
        found = [pattern.match(place) for place in places]
        roots = {one.group() for one in found if one is not None}
        if len(roots) > 1 and None not in found:
            return f"in {len(roots)} {things}"
    return f"in {len(places)} places"


class ReportCounts(msgspec.Struct, frozen=True):
    """The report in numbers."""

    profile: str
    """By whose facts the request was compiled."""
    messages_read: int
    """Messages of the conversation as the client sent it. A system field is one, and so are all results of a turn."""
    messages_written: int
    """The same as it is sent."""
    rules: Mapping[str, int]
    """How often each rule did something: `many-systems` and `repeated-role` joined messages, `late-system` moved or
    turned one, `leading-assistant` and `no-user-turn` put one in."""


def count_report(request: CompiledRequest, profile: str) -> ReportCounts:
    read, written = len(request.ask.conversation.messages), len(request.conversation.messages)
    return ReportCounts(profile, read, written, count_by_rule(request.changes))


def count_by_rule(changes: Iterable[ReportedChange]) -> dict[str, int]:
    """How many changes each rule made, in their order."""
    counts: dict[str, int] = {}
    for change in changes:
        counts[change.rule] = counts.get(change.rule, 0) + 1
    return counts


class ReportHeaders(msgspec.Struct, frozen=True, gc=False):
    """The report in two headers, each a list of RFC 8941: `late-system;n=2, call-id-form;n=1`."""

    changes: bytes = b""
    """What was repaired or made up, the heaviest loss first."""
    added: bytes = b""
    """What Dragoman added of its own."""

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        """The headers that say something, by name."""
        if self.changes:
            yield CHANGES_HEADER, self.changes
        if self.added:
            yield ADDED_HEADER, self.added


ID_HEADER = b"x-dragoman-request-id"
"""The id of the request, by which its report is found."""
MODEL_HEADER = b"x-dragoman-model"
"""Who really answered."""
CHANGES_HEADER = b"x-dragoman-changes"
ADDED_HEADER = b"x-dragoman-added"


def report_headers(changes: Sequence[ReportedChange]) -> ReportHeaders:
    """The report for the client, at most a kilobyte each."""
    made: dict[str, int] = {}
    added: dict[str, int] = {}
    for change in changes if len(changes) == 1 else sorted(changes, key=_weigh, reverse=True):
        counts = added if change.kind == "added" else made
        counts[change.rule] = counts.get(change.rule, 0) + 1
    return ReportHeaders(_render_counts(made), _render_counts(added))


def _weigh(change: ReportedChange) -> int:
    return _WEIGHTS.get(change.loses, 0)


def _render_counts(counts: dict[str, int]) -> bytes:
    words = ", ".join(map("{};n={}".format, counts, counts.values())) if counts else ""
    return words.encode() if len(words) <= LONGEST else words[:LONGEST].rpartition(", ")[0].encode()


def render_summary(changes: Sequence[ReportedChange]) -> str:
    """The report as text: a line for each loss, then what loses nothing."""
    if not changes:
        return "nothing changed"
    folded = fold(changes)
    lines = [str(one) for one in folded if not one.harmless]
    return "\n".join([*lines, *harmless_lines(folded)])


_HARMLESS_WORDS: dict[ChangeKind, str] = {
    "repair": "spelling only, nothing lost",
    "synthetic": "made up, nothing lost",
    "added": "added by Dragoman",
}


def harmless_lines(folded: Iterable[FoldedChange]) -> list[str]:
    """What loses nothing: a line for each kind of change that there is, by rule, with counts."""
    counts: dict[ChangeKind, dict[str, int]] = {kind: {} for kind in _HARMLESS_WORDS}
    for one in folded:
        if one.harmless:
            counts[one.kind][one.rule] = counts[one.kind].get(one.rule, 0) + one.count
    return [f"{_HARMLESS_WORDS[kind]}: {_name_counts(of_kind)}" for kind, of_kind in counts.items() if of_kind]


def _name_counts(counts: dict[str, int]) -> str:
    return ", ".join(f"`{rule}`" if count == 1 else f"`{rule}` ×{count}" for rule, count in counts.items())


_encode = msgspec.json.Encoder().encode
_is_shared = attrgetter("is_shared")
_AT_ONCE = 100
"""Changes that are encoded at once: the encoder holds the interpreter."""
MOST_WRITTEN = 500
"""Changes of one report that are written down. A request of 20 MB may have 90,000, which would be 13 MB of report."""
_MOST_SHARED = 8
"""Changes of a report that is kept for requests that are changed alike."""
_LONGEST_TEXT = 1000
"""Characters of a place, or of what was done."""


class WrittenReport(msgspec.Struct, frozen=True, gc=False):
    """A report as it was written."""

    changes: tuple[Change, ...]
    """All of them."""
    json: bytes
    """The report: the heaviest `MOST_WRITTEN` changes, and how many more there were of each kind."""
    headers: ReportHeaders
    """As clients get them."""
    counts: dict[str, int]
    """By rule."""


_WRITTEN: BoundedCache[tuple[int, ...]] = BoundedCache(f"{__name__}.{WrittenReport.__qualname__}")
"""Reports of nothing but shared changes, by the ids of these. Such are most: hints for caches, and questions."""


def find_report(changes: tuple[Change, ...]) -> WrittenReport | None:
    """A report of the same shared changes that was written for another request."""
    if not all(map(_is_shared, changes)):
        return None
    found: WrittenReport | None = _WRITTEN.get(tuple(map(id, changes)))
    return found


def write_report(changes: tuple[Change, ...], headers: ReportHeaders | None = None) -> WrittenReport:
    """Compute the digests of a report, and write it. `headers`: if these were written before."""
    counts = count_by_rule(changes)
    pieces: list[bytes] = []
    kept = list(map(_clip, changes if len(changes) <= MOST_WRITTEN else _choose(changes)))
    for at in range(0, len(kept), _AT_ONCE):
        pieces.append(_encode(kept[at : at + _AT_ONCE])[1:-1])
    made = WrittenReport(changes, b"[" + b",".join(pieces) + b"]", headers or report_headers(changes), counts)
    if len(changes) <= _MOST_SHARED and all(map(_is_shared, changes)):
        _WRITTEN.put(tuple(map(id, changes)), CacheEntry(made, 1024 + 2 * len(made.json), made))
    return made


def _choose(changes: Sequence[Change]) -> list[Change]:
    """The heaviest in their order, and at the end what was left out, by rule and loss."""
    by_weight = sorted(range(len(changes)), key=lambda at: _WEIGHTS.get(changes[at].loses, 0), reverse=True)
    left: dict[tuple[str, str, ChangeKind], int] = {}
    for at in by_weight[MOST_WRITTEN:]:
        act = changes[at].rule, changes[at].loses, changes[at].kind
        left[act] = left.get(act, 0) + 1
    counted = [
        Change(rule, "", f"did so {count} times more, which are left out of this record", loses, kind)
        for (rule, loses, kind), count in left.items()
    ]
    return [*[changes[at] for at in sorted(by_weight[:MOST_WRITTEN])], *counted]


def _clip(change: Change) -> Change:
    """The change, with the beginning of texts that are too long to be read: a name may have megabytes."""
    if len(change.at) <= _LONGEST_TEXT and len(change.did) <= _LONGEST_TEXT:
        return change
    made = copy(change)
    made.at, made.did = (
        text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + "…" for text in (made.at, made.did)
    )
    return made


NOTHING_WRITTEN = WrittenReport((), b"[]", ReportHeaders(), {})
