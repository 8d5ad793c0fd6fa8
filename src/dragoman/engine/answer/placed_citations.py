"""Citations in an answer, each with the range of the text that it speaks of, as the client's vendor counts.

One vendor cites for a whole block of text, another for a range of it, and a third tells at the end of the answer which
bytes rest on which page.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from dragoman.conversation.events import Cited, Event, Stopped, TextDelta
from dragoman.conversation.literals import join_texts, unquote
from dragoman.conversation.parts import Json
from dragoman.conversation.provider_tools import CitationRange, GroundedSpan
from dragoman.dialects.dialect import Dialect
from dragoman.dialects.shared.citations import Page, page_of, place_citation

_MOST_TEXT = 4 * 1024 * 1024
"""So many bytes of an answer are kept. Citations of a longer one have no range."""
_MOST_CITATIONS = 1000
_INSIDE = bytes(range(0x80, 0xC0))
"""The bytes of UTF-8 that begin no character."""


class PlacedCitations:
    """Citations that say nothing of a range wait for the end of their text, all others go on."""

    __slots__ = ("_from", "_marks", "_offsets", "_size", "_texts", "_to", "_upstream", "_waiting")

    def __init__(self, upstream: Dialect, client: Dialect) -> None:
        self._upstream = upstream
        self._from, self._to = _range_of(upstream), _range_of(client)
        self._texts: dict[int, list[Json]] = {}
        """The text of each part."""
        self._offsets: dict[int, int] = {}
        """The characters before it."""
        self._size = 0
        self._waiting: list[tuple[Cited, Page]] = []
        self._marks: list[tuple[int, Page]] = []
        """What was cited, with its part. The range is one of that part."""

    def put(self, events: Sequence[Event]) -> list[Event]:
        out: list[Event] = []
        for event in events:
            if self._waiting and getattr(event, "part", None) != self._waiting[0][0].part:
                out += self._place_all(event)
            page = page_of(event.json) if isinstance(event, Cited) and self._is_theirs(event) else None
            if isinstance(event, TextDelta) and event.choice == 0:
                self._add(event)
            if page is None or not isinstance(event, Cited):
                out.append(event)
            elif page.end and self._from is not CitationRange.BLOCK:
                out.append(self._place(event, page))
            else:
                self._waiting.append((event, page))
        return out

    def _is_theirs(self, event: Cited) -> bool:
        return event.choice == 0 and event.origin.dialect == self._upstream.name

    def _add(self, event: TextDelta) -> None:
        if event.part not in self._texts:
            last = next(reversed(self._texts), None)
            before = 0 if last is None else self._offsets[last] + len(self._text(last))
            self._texts[event.part], self._offsets[event.part] = [], before
        self._size += len(event.literal)
        if self._size <= _MOST_TEXT:
            self._texts[event.part].append(event.literal)

    def _text(self, part: int) -> str:
        return unquote(join_texts("", self._texts.get(part, ())))

    def _place_all(self, event: Event) -> list[Event]:
        """Those that waited, in front of what ends their text."""
        waiting, self._waiting = self._waiting, []
        if self._size > _MOST_TEXT:
            return [cited for cited, _ in waiting]
        if self._from is CitationRange.BLOCK:
            end = len(self._text(waiting[0][0].part))
            return [self._place(cited, msgspec.structs.replace(page, start=0, end=end)) for cited, page in waiting]
        fields = event.extras.fields if isinstance(event, Stopped) and event.extras is not None else {}
        found = self._find_ranges(waiting[0][0].part, fields)
        out: list[Event] = []
        for cited, page in waiting:
            ranges = found.get(page.url, ())
            out += [self._place(cited, msgspec.structs.replace(page, start=one, end=end)) for one, end in ranges]
            out += [] if ranges else [cited]
        return out

    def _find_ranges(self, part: int, fields: Mapping[str, Json]) -> Mapping[str, list[tuple[int, int]]]:
        """The ranges of a part by the addresses of pages, by what stands at the end of the answer."""
        codec = self._upstream.provider_tools
        spans = codec.parse_spans(fields) if codec is not None else ()
        whole = "".join(map(self._text, self._texts)).encode() if spans else b""
        most = len(whole)
        limited = [(span.url, min(max(span.start, 0), most), min(max(span.end, 0), most)) for span in spans]
        counted = _count_characters([place for _, start, end in limited for place in (start, end)], whole)
        offset = self._offsets.get(part, 0)
        found: dict[str, list[tuple[int, int]]] = {}
        for url, first, last in limited:
            start, end = counted[first] - offset, counted[last] - offset
            if 0 <= start < end:
                found.setdefault(url, []).append((start, end))
        return found

    def _place(self, cited: Cited, page: Page) -> Cited:
        if len(self._marks) < _MOST_CITATIONS:
            self._marks.append((cited.part, page))
        shift = self._offsets.get(cited.part, 0) if self._to is CitationRange.ANSWER else 0
        moved = msgspec.structs.replace(page, start=page.start + shift, end=page.end + shift)
        return place_citation(cited.choice, cited.part, moved)

    def spans(self) -> list[GroundedSpan]:
        """What was cited so far, in bytes of the whole text."""
        if not self._marks or self._size > _MOST_TEXT:
            return []
        whole = "".join(map(self._text, self._texts))
        placed = [(self._offsets.get(part, 0), page) for part, page in self._marks]
        ranges = [(before + page.start, before + page.end) for before, page in placed]
        bytes_before = _count_bytes([place for one in ranges for place in one], whole)
        return [
            GroundedSpan(page.url, bytes_before[start], bytes_before[end], whole[start:end])
            for (start, end), (_, page) in zip(ranges, self._marks, strict=True)
        ]


def _range_of(dialect: Dialect) -> CitationRange:
    codec = dialect.provider_tools
    return codec.cites if codec is not None else CitationRange.PART


def _count_characters(places: Iterable[int], whole: bytes) -> Mapping[int, int]:
    """The characters before each of these bytes."""
    counts: dict[int, int] = {}
    last = count = 0
    for place in sorted(set(places)):
        count += len(whole[last:place].translate(None, _INSIDE))
        counts[place] = count
        last = place
    return counts


def _count_bytes(places: Iterable[int], whole: str) -> Mapping[int, int]:
    """The bytes before each of these characters."""
    counts: dict[int, int] = {}
    last = count = 0
    for place in sorted(set(places)):
        count += len(whole[last:place].encode())
        counts[place] = count
        last = place
    return counts
