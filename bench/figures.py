"""What a run of the benchmark says: a table, a plot, and the few figures that stand in the README and the guide."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
GUIDE = ROOT / "docs/guide/performance.md"
_MARKED = re.compile(r"(<!-- bench -->\n).*?(<!-- /bench -->)", re.DOTALL)
OURS = "Dragoman"
Found = dict[str, Any]


def median_of(found: Found, gateway: str, cell: str, what: str = "cpu") -> float | None:
    values = [one[what] for one in found["measurements"] if one["gateway"] == gateway and one["cell"] == cell]
    return statistics.median(values) if values else None


def ratio(found: Found, cell: str, other: str) -> tuple[float, float, float] | None:
    """How many times the CPU of ours another needs, paired round by round: median, least, most."""
    by_round: dict[int, dict[str, float]] = {}
    for one in found["measurements"]:
        if one["cell"] == cell:
            by_round.setdefault(one["round"], {})[one["gateway"]] = one["cpu"]
    pairs = [one[other] / one[OURS] for one in by_round.values() if OURS in one and other in one]
    return (statistics.median(pairs), min(pairs), max(pairs)) if pairs else None


def noise(found: Found) -> float:
    """By how much the same measurement differs between rounds: the median of most over least."""
    groups: dict[tuple[str, str], list[float]] = {}
    for one in found["measurements"]:
        groups.setdefault((one["gateway"], one["cell"]), []).append(one["cpu"])
    spreads = [max(values) / min(values) for values in groups.values() if len(values) > 1]
    return statistics.median(spreads) if spreads else 1.0


def table(found: Found) -> str:
    """CPU per request (or per event of a stream) of everybody, and what the others need of ours."""
    gateways = list(dict.fromkeys(one["gateway"] for one in found["measurements"] if one["gateway"] != "direct"))
    gateways.sort(key=lambda name: ("nginx", OURS).index(name) if name in ("nginx", OURS) else 9)
    lines = ["| cell | per | " + " | ".join(f"{name} µs" for name in gateways) + " | LiteLLM ÷ ours | share of nginx |"]
    lines.append("|---|---|" + "---:|" * (len(gateways) + 2))
    cells = {one["cell"]: one["events"] for one in found["measurements"]}
    for cell in sorted(cells):
        events = cells[cell]
        costs = [median_of(found, name, cell) for name in gateways]
        shown = [f"{cost / events:,.1f}" if cost is not None else "–" for cost in costs]
        theirs, limit = ratio(found, cell, "LiteLLM"), ratio(found, cell, "nginx")
        ends = [f"{theirs[0]:,.0f}" if theirs else "–", f"{limit[0]:.2f}" if limit else "–"]
        lines.append(f"| {cell} | {'request' if events == 1 else 'event'} | " + " | ".join([*shown, *ends]) + " |")
    return "\n".join(lines)


def latency(found: Found) -> str:
    """Milliseconds that a gateway adds at one connection."""
    lines = ["| gateway | added p50 ms | added p99 ms |", "|---|---:|---:|"]
    cell = "Chat → Chat, whole, tools, 1"
    bare = {what: median_of(found, "direct", cell, what) for what in ("p50", "p99")}
    for name in dict.fromkeys(one["gateway"] for one in found["measurements"] if one["cell"] == cell):
        if name == "direct":
            continue
        added = [((median_of(found, name, cell, what) or 0) - (bare[what] or 0)) / 1000 for what in ("p50", "p99")]
        lines.append(f"| {name} | {added[0]:.2f} | {added[1]:.2f} |")
    return "\n".join(lines)


def weights(found: Found) -> str:
    lines = [
        "| gateway | memory at rest MB | with 1,000 open streams MB | start to first answer s |",
        "|---|---:|---:|---:|",
    ]
    for name, held in found["memory"].items():
        opened = f"{held['open']:.0f}" if "open" in held else "–"
        lines.append(f"| {name} | {held['rest']:.0f} | {opened} | {found['starts'][name]:.2f} |")
    return "\n".join(lines)


def targets(found: Found) -> list[tuple[str, str, str, bool]]:
    """What was to be reached, what was, and whether that is enough."""
    rows: list[tuple[str, str, str, bool]] = []

    def times(what: str, cell: str, other: str, wanted: float, show: Callable[[float], str]) -> None:
        seen = ratio(found, cell, other)
        if seen is not None:
            rows.append((what, show(wanted), show(seen[0]), seen[0] >= wanted))

    def below(what: str, seen: float | None, wanted: float, unit: str) -> None:
        if seen is not None:
            shown = f"{seen:.2f}" if wanted < 10 else f"{seen:.0f}"
            rows.append((what, f"at most {wanted:g} {unit}", f"{shown} {unit}", seen <= wanted))

    def part(value: float) -> str:
        return f"1/{value:.0f} of LiteLLM's"

    times("CPU per request, Chat → Chat", "Chat → Chat, whole, tools, 32", "LiteLLM", 100, part)
    times(
        "CPU per request, Chat → Chat, compared with nginx",
        "Chat → Chat, whole, tools, 32",
        "nginx",
        0.12,
        lambda value: f"{value:.2f} of nginx",
    )
    times("CPU per request, Chat → Anthropic", "Chat → Anthropic, whole, tools, 32", "LiteLLM", 60, part)
    times("CPU per event, relayed", "Chat → Chat, burst, short, 32", "LiteLLM", 200, part)
    times("CPU per event, translated", "Chat → Anthropic, burst, short, 32", "LiteLLM", 80, part)
    held = found["memory"].get(OURS, {})
    below("memory at rest", held.get("rest"), 60, "MB")
    below("memory with 1,000 open streams", held.get("open"), 200, "MB")
    below("`import dragoman`", found["import"], 0.1, "s")
    below("start to first answer", found["starts"].get(OURS), 0.5, "s")
    return rows


def goals(found: Found) -> str:
    lines = ["| what | wanted | measured | |", "|---|---|---|---|"]
    lines += [f"| {what} | {wanted} | {seen} | {'✓' if good else '✗'} |" for what, wanted, seen, good in targets(found)]
    return "\n".join(lines)


COMPARED = ("nginx", "LiteLLM", "Portkey")
COMPARED_CELLS = (
    ("a request of a Chat client to a Chat provider", "Chat → Chat, whole, tools, 32"),
    ("a request of a Chat client to Anthropic", "Chat → Anthropic, whole, tools, 32"),
    ("a request of a Chat client to Gemini", "Chat → Gemini, whole, tools, 32"),
    ("an event of a stream, passed on", "Chat → Chat, burst, short, 32"),
    ("an event of a stream, translated", "Chat → Anthropic, burst, short, 32"),
)


def comparison(found: Found) -> str:
    """What one request or event costs here and elsewhere, for a reader who knows none of the cells."""
    lines = ["| µs of CPU for | Dragoman | " + " | ".join(COMPARED) + " |", "|---|---:|" + "---:|" * len(COMPARED)]
    events = {one["cell"]: one["events"] for one in found["measurements"]}
    for words, cell in COMPARED_CELLS:
        costs = [median_of(found, name, cell) for name in (OURS, *COMPARED)]
        shown = [_rounded(cost / events[cell]) if cost is not None else "–" for cost in costs]
        lines.append(f"| {words} | " + " | ".join(shown) + " |")
    return "\n".join(lines)


def _rounded(cost: float) -> str:
    return f"{cost:,.1f}" if cost < 10 else f"{cost:,.0f}"


def summary(found: Found) -> str:
    return f"{_circumstances(found)}\n\n{goals(found)}"


def _circumstances(found: Found) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in found["versions"].items())
    spread = noise(found)
    kind = "make bench-quick" if found["quick"] else "make bench"
    return (
        f"Measured on {found['when']} with `{kind}`: {found['rounds']} interleaved rounds on {found['machine']}. "
        f"{versions}. "
        f"The same measurement differs by {spread:.1f}× between rounds (median), so ratios are paired within a round; "
        f"believe none below {max(1.3, spread):.1f}."
    )


def page(found: Found) -> str:
    parts = [
        "# Results of the gateway benchmark",
        summary(found),
        "## CPU",
        "Median over the rounds, in microseconds. `burst` streams 400 events as fast as they are read, `paced` 100 "
        "events 5 ms apart, so that each costs its own system calls. The number after the size is that of connections.",
        table(found),
        "## Latency at one connection",
        latency(found),
        "## Memory and start",
        weights(found),
        "![CPU per request and event](gateway.png)",
    ]
    return "\n\n".join(parts) + "\n"


def plot(found: Found, file: Path) -> None:
    """Every cell's CPU beside the others', on a logarithmic scale."""
    try:
        import matplotlib
    except ImportError:
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot

    cells = sorted({one["cell"] for one in found["measurements"]})
    events = {one["cell"]: one["events"] for one in found["measurements"]}
    names = [name for name in dict.fromkeys(one["gateway"] for one in found["measurements"]) if name != "direct"]
    figure, axes = pyplot.subplots(figsize=(11, 1.5 + 0.34 * len(cells)))
    for mark, name in zip("osDv^P", names, strict=False):
        spots = [(median_of(found, name, cell), row) for row, cell in enumerate(cells)]
        there = [(cost / events[cells[row]], row) for cost, row in spots if cost is not None]
        axes.plot([cost for cost, _ in there], [row for _, row in there], mark, label=name, alpha=0.85)
    axes.set_yticks(range(len(cells)), cells, fontsize=8)
    axes.set_xscale("log")
    axes.set_xlabel("µs of CPU per request, or per event of a stream (logarithmic; less is better)")
    axes.grid(alpha=0.3)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.0 + 1.2 / (len(cells) + 3)), ncols=len(names), frameon=False)
    figure.tight_layout()
    figure.savefig(file, dpi=130)
    pyplot.close(figure)


def publish(found: Found, folder: Path, everywhere: bool) -> None:
    """Write it all down; `everywhere` also into README and guide."""
    plot(found, folder / "gateway.png")
    (folder / "README.md").write_text(page(found))
    print(page(found))
    if not everywhere:
        return
    _replace_figures(README, f"{comparison(found)}\n\n{_circumstances(found)}")
    _replace_figures(GUIDE, summary(found))


def _replace_figures(file: Path, figures: str) -> None:
    text = file.read_text()
    file.write_text(_MARKED.sub(lambda match: f"{match[1]}\n{figures}\n\n{match[2]}", text))
