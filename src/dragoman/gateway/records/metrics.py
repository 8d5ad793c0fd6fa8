"""Counts for Prometheus: plain numbers while requests run, a snapshot when somebody looks.

The names, help texts and labels stand once, where a family is declared. Durations are in seconds. Snapshots of several
workers add up to one (`metrics_board.py`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import partial

import msgspec

from dragoman.engine.history.trimming import TrimStatistics
from dragoman.engine.tool_runs.tool_rounds import FinishedRun
from dragoman.store.ledger_entry import Entry

SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
OVERHEAD_SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05)

_MAX_TARGETS = 1000

Labels = tuple[str, ...]


class MetricKind(StrEnum):
    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class MetricFamily(msgspec.Struct, frozen=True):
    """One metric: what it tells and how it is divided."""

    name: str
    kind: MetricKind
    help: str
    labels: Labels = ()
    bounds: tuple[float, ...] = ()
    """Those of a histogram."""
    shared: bool = False
    """Whether every worker sees the same value, so that the largest counts and not the sum."""


FAMILIES: list[MetricFamily] = []
"""Every metric of `/metrics`, in its order there, which is that of the declarations below."""


def _declare(family: MetricFamily) -> MetricFamily:
    FAMILIES.append(family)
    return family


def _counter(name: str, help: str, *labels: str) -> MetricFamily:
    return _declare(MetricFamily(f"dragoman_{name}_total", MetricKind.COUNTER, help, labels))


def _gauge(name: str, help: str, *labels: str, shared: bool = False) -> MetricFamily:
    return _declare(MetricFamily(f"dragoman_{name}", MetricKind.GAUGE, help, labels, shared=shared))


def _histogram(name: str, help: str, bounds: tuple[float, ...], *labels: str) -> MetricFamily:
    return _declare(MetricFamily(f"dragoman_{name}_seconds", MetricKind.HISTOGRAM, help, labels, bounds))


REQUESTS = _counter("requests", "Requests answered, by HTTP status.", "dialect", "target", "status")
TOKENS = _counter(
    "tokens", "Tokens used, as the provider counted them or as estimated.", "target", "direction", "estimated"
)
COST = _counter("cost", "What requests cost, as reported or by the prices, in their currency.", "target", "estimated")
CACHE_TOKENS = _counter(
    "cache_tokens", "Tokens read from providers' caches, written to them, and sent again.", "target", "how"
)
CACHE_MONEY = _counter(
    "cache_cost",
    "What reading from providers' caches saved, and what was lost where they were broken.",
    "target",
    "how",
)
CHANGES = _counter("changes", "Changes made to requests, by rule.", "rule")
TRIMMED_TOKENS = _counter(
    "trimmed_tokens", "Estimated tokens of histories, by what trimming did to them.", "target", "how"
)
TRIMMED_MESSAGES = _counter("trimmed_messages", "Messages that trimming dropped or shortened.", "target", "how")
FAILURES = _counter("upstream_failures", "Sends to a provider that failed, by kind.", "target", "kind")
FULL = _counter(
    "rate_limited",
    "Sends for which the limits of their model had no room, by limit and by what became of them.",
    *("target", "limit", "outcome"),
)
TOOL_RUNS = _counter("tool_runs", "Tools that the gateway ran in a provider's place, by outcome.", "family", "outcome")
TOOL_BYTES = _counter("tool_run_bytes", "What models read of such runs, in bytes.", "family")
TOOL_TIME = _histogram("tool_run", "From the beginning of such a run to its end.", SECONDS, "family")
LEARNT = _counter("lessons_learnt", "Lessons that a refusal taught and an accepted request proved.", "target", "lesson")
DURATION = _histogram("request_duration", "From the request's head to the end of its answer.", SECONDS, "target")
FIRST_BYTE = _histogram("time_to_first_byte", "From the request's head to the first byte sent.", SECONDS, "target")
OVERHEAD = _histogram("overhead", "Time of the gateway itself before a provider was asked.", OVERHEAD_SECONDS)
ACTIVE = _gauge("active_requests", "Requests under way.")
ABORTED = _counter("aborted_connections", "Connections reset, because the client did not read its answer.")
TASKS = _gauge("tasks", "Tasks of the event loop: requests, connections and work in the background.")
CONNECTIONS = _gauge("upstream_connections", "Connections to providers.")
IDLE = _gauge("upstream_idle_connections", "Connections to providers that wait for a request.")
QUEUED = _gauge("upstream_queued_requests", "Requests that wait for a connection.")
WAITING_FOR_LIMITS = _gauge("rate_limited_waiting_requests", "Requests that wait for room in the limits of a model.")
WAITING = _gauge("store_waiting_entries", "Entries that wait to be written to the store.")
DROPPED = _counter("store_dropped_entries", "Entries that were not taken, because too many waited.")
FAILED = _counter("store_failed_entries", "Entries that were lost to an error.")
UNREAD = _counter("store_failed_reads", "Reads of the store that failed or took too long.")
REPLACED = _counter("store_replaced_files", "Times that the store's file was gone and a new one was begun.")
AWAY = _gauge(
    "store_away", "Processes that cannot reach a server of the store: the state that replicas share, or the ledger."
)
LOCAL = _counter("store_local_decisions", "Decisions that a process made alone, because shared state was away or slow.")
RECONNECTS = _counter("store_reconnects", "Times that a connection to shared state was made again.")
REPLICAS = _gauge("store_replicas", "Processes that share state, as last known.", shared=True)
LESSONS = _gauge("lessons", "Lessons that are in force.", shared=True)
WORKERS = _gauge("workers", "Processes that serve.")
CONFIG = _gauge("config_info", "Always 1; the digest of the configuration file.", "digest", shared=True)


class Histogram(msgspec.Struct):
    """How many values fall between the bounds of its family, and their sum."""

    counts: list[int]
    total: float = 0.0

    def plus(self, other: Histogram) -> Histogram:
        both = zip(self.counts, other.counts, strict=True)
        return Histogram([mine + theirs for mine, theirs in both], self.total + other.total)


class MetricsSnapshot(msgspec.Struct):
    """All values at one moment, by the name of their family."""

    values: dict[str, list[tuple[Labels, float]]] = {}
    histograms: dict[str, list[tuple[Labels, Histogram]]] = {}

    def counters(self) -> MetricsSnapshot:
        """Without gauges: what outlives the process that counted it."""
        gauges = {family.name for family in FAMILIES if family.kind is MetricKind.GAUGE}
        kept = {name: values for name, values in self.values.items() if name not in gauges}
        return MetricsSnapshot(kept, self.histograms)


class _RequestSums(msgspec.Struct, gc=False):
    """What requests of one kind come to, before it is counted under the labels of each family."""

    requests: int = 0
    input: int = 0
    output: int = 0
    cost: float = 0.0
    cached: int = 0
    written: int = 0
    resent: int = 0
    saved: float = 0.0
    lost: float = 0.0


class Metrics:
    """All counts since the start, and `before` it: those of a worker whose place this one took."""

    def __init__(self) -> None:
        self.active = 0
        self.aborted = 0
        self.before = MetricsSnapshot()
        self._counts: dict[str, dict[Labels, float]] = defaultdict(partial(defaultdict, int))
        self._histograms: dict[str, dict[Labels, Histogram]] = defaultdict(dict)
        self._sums: dict[tuple[str, str, int, bool, bool], _RequestSums] = defaultdict(_RequestSums)
        """By dialect, target, status, and whether the tokens are estimated and the cost is reported."""
        self._targets: set[str] = set()

    def request(self, dialect: str, target: str, status: int) -> None:
        self._counts[REQUESTS.name][dialect, self._limit_target(target), str(status)] += 1

    def add(self, entry: Entry, changes: Mapping[str, int]) -> None:
        """A request to a model: its tokens, its cost, its times, and the changes by rule."""
        target = entry.target
        if target not in self._targets:
            target = self._limit_target(target)
        sums = self._sums[entry.client_dialect, target, entry.status, entry.estimated, entry.reported_cost]
        sums.requests += 1
        sums.input += entry.input_tokens
        sums.output += entry.output_tokens
        if entry.cost:
            sums.cost += entry.cost
        if entry.cached_tokens or entry.written_tokens:
            sums.cached += entry.cached_tokens
            sums.written += entry.written_tokens
            sums.saved += max(entry.cache_saved, 0.0)  # a counter does not go down
        if entry.resent_tokens:
            sums.resent += entry.resent_tokens
            sums.lost += entry.cache_lost
        for rule, number in changes.items():
            self._counts[CHANGES.name][(rule,)] += number
        if entry.trimmed is not None:
            self._add_trimming(target, entry.trimmed)
        self._time(DURATION, (target,), entry.duration)
        self._time(OVERHEAD, (), entry.overhead_us / 1e6)
        if entry.ttfb is not None:
            self._time(FIRST_BYTE, (target,), entry.ttfb)

    def tool_run(self, run: FinishedRun) -> None:
        """A tool that was run in a provider's place."""
        self._counts[TOOL_RUNS.name][run.family, "failed" if run.error else "done"] += 1
        self._counts[TOOL_BYTES.name][(run.family,)] += run.size
        self._time(TOOL_TIME, (run.family,), run.seconds)

    def _add_trimming(self, target: str, figures: TrimStatistics) -> None:
        tokens, messages = self._counts[TRIMMED_TOKENS.name], self._counts[TRIMMED_MESSAGES.name]
        tokens[target, "kept"] += figures.kept_tokens
        tokens[target, "saved"] += figures.saved_tokens
        messages[target, "dropped"] += figures.dropped
        messages[target, "shortened"] += figures.shortened

    def failed(self, target: str, kind: str) -> None:
        self._counts[FAILURES.name][self._limit_target(target), kind] += 1

    def rate_limited(self, target: str, limit: str, outcome: str) -> None:
        self._counts[FULL.name][self._limit_target(target), limit, outcome] += 1

    def learnt(self, target: str, lesson: str) -> None:
        self._counts[LEARNT.name][self._limit_target(target), lesson] += 1

    def snapshot(self, others: Mapping[str, float], marks: Mapping[str, Labels] | None = None) -> MetricsSnapshot:
        """All values now. `others` are those that are not counted here, by the name of their family.

        `marks` are labels that say all there is to say.
        """
        self._add_sums()
        values: dict[str, list[tuple[Labels, float]]] = {
            name: [(labels, float(count)) for labels, count in counts.items()] for name, counts in self._counts.items()
        }
        values |= {name: [((), float(value))] for name, value in others.items()}
        values |= {name: [(labels, 1.0)] for name, labels in (marks or {}).items()}
        histograms = {name: list(found.items()) for name, found in self._histograms.items()}
        return sum_snapshots([self.before, MetricsSnapshot(values, histograms)])

    def _add_sums(self) -> None:
        """Add what was summed up of requests since the last time."""
        counts, sums = self._counts, dict(self._sums)
        self._sums.clear()
        for (dialect, target, status, is_estimated, is_reported), one in sums.items():
            estimated = "true" if is_estimated else "false"
            counts[REQUESTS.name][dialect, target, str(status)] += one.requests
            if one.input:
                counts[TOKENS.name][target, "input", estimated] += one.input
            if one.output:
                counts[TOKENS.name][target, "output", estimated] += one.output
            if one.cost:
                counts[COST.name][target, "false" if is_reported else estimated] += one.cost
            for how, tokens in (("read", one.cached), ("written", one.written), ("sent again", one.resent)):
                if tokens:
                    counts[CACHE_TOKENS.name][target, how] += tokens
            for how, money in (("saved", one.saved), ("lost", one.lost)):
                if money:
                    counts[CACHE_MONEY.name][target, how] += money

    def _time(self, family: MetricFamily, labels: Labels, seconds: float) -> None:
        histograms, bounds = self._histograms[family.name], family.bounds
        histogram = histograms.get(labels)
        if histogram is None:
            histogram = histograms[labels] = Histogram([0] * (len(bounds) + 1))
        histogram.total += seconds
        histogram.counts[bisect_left(bounds, seconds)] += 1

    def _limit_target(self, target: str) -> str:
        """Limits the number of targets, because clients may send any model name. Further ones count as "other"."""
        if target in self._targets:
            return target
        if len(self._targets) >= _MAX_TARGETS:
            return "other"
        self._targets.add(target)
        return target


def sum_snapshots(snapshots: Iterable[MetricsSnapshot]) -> MetricsSnapshot:
    """One view of several processes."""
    values: dict[str, dict[Labels, float]] = {}
    histograms: dict[str, dict[Labels, Histogram]] = {}
    shared = {family.name for family in FAMILIES if family.shared}
    for snapshot in snapshots:
        for name, pairs in snapshot.values.items():
            found = values.setdefault(name, {})
            for labels, value in pairs:
                known = found.get(labels, 0.0)
                found[labels] = max(known, value) if name in shared else known + value
        for name, timed in snapshot.histograms.items():
            seen = histograms.setdefault(name, {})
            for labels, histogram in timed:
                seen[labels] = seen[labels].plus(histogram) if labels in seen else histogram
    return MetricsSnapshot(
        {name: list(found.items()) for name, found in values.items()},
        {name: list(found.items()) for name, found in histograms.items()},
    )


def render_metrics(snapshot: MetricsSnapshot) -> str:
    """A snapshot in the exposition format of Prometheus."""
    lines: list[str] = []
    for family in FAMILIES:
        lines += [f"# HELP {family.name} {family.help}", f"# TYPE {family.name} {family.kind}"]
        for labels, value in sorted(snapshot.values.get(family.name, ())):
            lines.append(f"{family.name}{_render_labels(family, labels)} {_number(value)}")
        for labels, histogram in sorted(snapshot.histograms.get(family.name, ()), key=lambda pair: pair[0]):
            lines += _render_histogram(family, labels, histogram)
    return "\n".join(lines) + "\n"


def _render_histogram(family: MetricFamily, labels: Labels, histogram: Histogram) -> list[str]:
    lines: list[str] = []
    below = 0
    for bound, count in zip((*[f"{bound:g}" for bound in family.bounds], "+Inf"), histogram.counts, strict=True):
        below += count
        lines.append(f"{family.name}_bucket{_render_labels(family, labels, bound)} {below}")
    named = _render_labels(family, labels)
    return [*lines, f"{family.name}_sum{named} {_number(histogram.total)}", f"{family.name}_count{named} {below}"]


def _render_labels(family: MetricFamily, labels: Labels, bound: str | None = None) -> str:
    pairs = [f'{name}="{_escape(value)}"' for name, value in zip(family.labels, labels, strict=True)]
    if bound is not None:
        pairs.append(f'le="{bound}"')
    return "{" + ",".join(pairs) + "}" if pairs else ""


def _number(value: float) -> str:
    """Whole numbers in full: six digits would round a counter."""
    return str(int(value)) if value == int(value) else repr(value)


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


_SMOOTHING = 0.2
_MOST = 4096


class LiveFigure(msgspec.Struct):
    """How a target is doing."""

    first_byte: float | None = None
    """Seconds until an answer begins, smoothed; None: never measured."""
    busy: int = 0
    """Requests under way."""

    def end(self, first_byte: float) -> None:
        """A request is over. `first_byte`: when its answer began, and 0 if that says nothing about the destination."""
        self.busy -= 1
        if first_byte:
            before = first_byte if self.first_byte is None else self.first_byte
            self.first_byte = before + (first_byte - before) * _SMOOTHING


_UNKNOWN = LiveFigure()


class LiveFigures:
    """The figures of all destinations, by name."""

    def __init__(self) -> None:
        self._known: dict[str, LiveFigure] = {}

    def of(self, name: str) -> LiveFigure:
        return self._known.get(name, _UNKNOWN)

    def begin(self, name: str) -> LiveFigure:
        """The figure of a destination that gets one more request. Clients may make up names of models: only so many are
        remembered."""
        found = self._known.get(name)
        if found is None:
            if len(self._known) >= _MOST:
                self._known = {key: one for key, one in self._known.items() if one.busy}
            found = self._known[name] = LiveFigure()
        found.busy += 1
        return found
