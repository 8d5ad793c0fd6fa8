"""Counters for Prometheus: plain numbers, rendered as text on request."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping

BUCKETS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
OVERHEAD_BUCKETS = (100, 250, 500, 1_000, 2_500, 5_000, 10_000, 50_000)

_MAX_TARGETS = 1000


class Histogram:
    """How many values are below each bound."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        self.total += value
        self.counts[bisect_left(self.bounds, value)] += 1

    def lines(self, name: str) -> list[str]:
        out: list[str] = []
        below = 0
        for bound, count in zip(self.bounds, self.counts, strict=False):
            below += count
            out.append(f'{name}_bucket{{le="{bound:g}"}} {below}')
        below += self.counts[-1]
        return [*out, f'{name}_bucket{{le="+Inf"}} {below}', f"{name}_sum {self.total:g}", f"{name}_count {below}"]


class Metrics:
    """All counters since the start."""

    def __init__(self) -> None:
        self.requests: dict[tuple[str, str, int], int] = {}
        self.tokens: dict[tuple[str, str], int] = {}
        self.changes: dict[str, int] = {}
        self.failures: dict[tuple[str, str], int] = {}
        self.lessons: dict[tuple[str, str], int] = {}
        self.active = 0
        self._targets: set[str] = set()
        self.seconds = Histogram(BUCKETS)
        self.first_byte = Histogram(BUCKETS)
        self.overhead = Histogram(OVERHEAD_BUCKETS)

    def request(self, dialect: str, target: str, status: int) -> None:
        key = (dialect, self._known_target(target), status)
        self.requests[key] = self.requests.get(key, 0) + 1

    def used(self, target: str, input_tokens: int, output_tokens: int) -> None:
        target = self._known_target(target)
        for direction, count in (("input", input_tokens), ("output", output_tokens)):
            if count:
                key = (target, direction)
                self.tokens[key] = self.tokens.get(key, 0) + count

    def changed(self, rule: str) -> None:
        self.changes[rule] = self.changes.get(rule, 0) + 1

    def failed(self, target: str, kind: str) -> None:
        key = (self._known_target(target), kind)
        self.failures[key] = self.failures.get(key, 0) + 1

    def learnt(self, target: str, lesson: str) -> None:
        key = (self._known_target(target), lesson)
        self.lessons[key] = self.lessons.get(key, 0) + 1

    def _known_target(self, target: str) -> str:
        """Limits the number of targets, because clients may send any model name. Further ones count as "other"."""
        if target in self._targets:
            return target
        if len(self._targets) >= _MAX_TARGETS:
            return "other"
        self._targets.add(target)
        return target

    def text(self, gauges: Mapping[str, float]) -> str:
        """All counters in the exposition format of Prometheus."""
        lines = ["# TYPE dragoman_requests_total counter"]
        for (dialect, target, status), count in sorted(self.requests.items()):
            labels = f'dialect="{dialect}",target="{_label(target)}",status="{status}"'
            lines.append(f"dragoman_requests_total{{{labels}}} {count}")
        lines.append("# TYPE dragoman_tokens_total counter")
        for (target, direction), count in sorted(self.tokens.items()):
            lines.append(f'dragoman_tokens_total{{target="{_label(target)}",direction="{direction}"}} {count}')
        lines.append("# TYPE dragoman_changes_total counter")
        lines += [f'dragoman_changes_total{{rule="{rule}"}} {count}' for rule, count in sorted(self.changes.items())]
        lines.append("# TYPE dragoman_upstream_failures_total counter")
        for (target, kind), count in sorted(self.failures.items()):
            lines.append(f'dragoman_upstream_failures_total{{target="{_label(target)}",kind="{kind}"}} {count}')
        lines.append("# TYPE dragoman_lessons_learnt_total counter")
        for (target, lesson), count in sorted(self.lessons.items()):
            lines.append(f'dragoman_lessons_learnt_total{{target="{_label(target)}",lesson="{lesson}"}} {count}')
        for name, histogram in (
            ("dragoman_request_seconds", self.seconds),
            ("dragoman_first_byte_seconds", self.first_byte),
            ("dragoman_overhead_microseconds", self.overhead),
        ):
            lines += [f"# TYPE {name} histogram", *histogram.lines(name)]
        for name, value in gauges.items():
            lines += [f"# TYPE {name} gauge", f"{name} {value:g}"]
        return "\n".join(lines) + "\n"


def _label(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
