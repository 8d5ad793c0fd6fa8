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


def loop_costs(found: Found, pair: str, turn: int) -> dict[str, float]:
    """What a turn of an agent's loop costs each gateway: the median of the rounds."""
    seen: dict[str, list[float]] = {}
    for one in found["loop"]:
        if (one["pair"], one["turn"]) == (pair, turn):
            seen.setdefault(one["gateway"], []).append(one["cpu"])
    return {name: statistics.median(costs) for name, costs in seen.items()}


def loop_ratio(found: Found, pair: str, one: tuple[str, int], other: tuple[str, int]) -> float | None:
    """How many times the CPU of another gateway and turn one of them needs, paired round by round."""
    by_round: dict[int, dict[tuple[str, int], float]] = {}
    for row in found["loop"]:
        if row["pair"] == pair:
            by_round.setdefault(row["round"], {})[row["gateway"], row["turn"]] = row["cpu"]
    pairs = [costs[one] / costs[other] for costs in by_round.values() if one in costs and other in costs]
    return statistics.median(pairs) if pairs else None


def loop_table(found: Found) -> str:
    """What turns of an agent's loop cost everybody, and what the last one costs of the second."""
    gateways = list(dict.fromkeys(one["gateway"] for one in found["loop"]))
    turns = sorted({one["turn"] for one in found["loop"]})
    lines = ["| loop | gateway | " + " | ".join(f"turn {turn} µs" for turn in turns) + " | last ÷ second | ÷ ours |"]
    lines.append("|---|---|" + "---:|" * (len(turns) + 2))
    for pair in sorted({one["pair"] for one in found["loop"]}):
        for name in gateways:
            costs = [loop_costs(found, pair, turn).get(name) for turn in turns]
            grown = loop_ratio(found, pair, (name, turns[-1]), (name, turns[0]))
            of_ours = loop_ratio(found, pair, (name, turns[-1]), (OURS, turns[-1]))
            if grown is not None:
                shown = [_rounded(cost) if cost is not None else "–" for cost in costs]
                shown += [f"{grown:.2f}", f"{of_ours:.2f}" if of_ours is not None else "–"]
                lines.append(f"| {pair} | {name} | " + " | ".join(shown) + " |")
    return "\n".join(lines)


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
    for pair in sorted({one["pair"] for one in found["loop"]}):
        loop_target = f"turn {_LAST_TURN} of an agent's loop, {pair}"
        grown = loop_ratio(found, pair, (OURS, _LAST_TURN), (OURS, 2))
        theirs = loop_ratio(found, pair, ("LiteLLM", _LAST_TURN), (OURS, _LAST_TURN))
        limit = loop_ratio(found, pair, (OURS, _LAST_TURN), ("nginx", _LAST_TURN))
        below(loop_target, grown, 1.5, "times turn 2")
        below(loop_target, limit, 20, "times nginx's")
        if theirs is not None:
            rows.append((loop_target, part(100), part(theirs), theirs >= 100))
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


COMPARED_LOOPS = (
    ("Chat client to Chat provider", "Chat → Chat"),
    ("Chat client to Anthropic", "Chat → Anthropic"),
    ("Messages client to Anthropic", "Anthropic → Anthropic"),
)
_LAST_TURN = 200


def comparison(found: Found) -> str:
    """What one request or event costs here and elsewhere, for a reader who knows none of the cells."""
    lines = ["| µs of CPU for | Dragoman | " + " | ".join(COMPARED) + " |", "|---|---:|" + "---:|" * len(COMPARED)]
    events = {one["cell"]: one["events"] for one in found["measurements"]}
    for words, cell in COMPARED_CELLS:
        costs = [median_of(found, name, cell) for name in (OURS, *COMPARED)]
        shown = [_rounded(cost / events[cell]) if cost is not None else "–" for cost in costs]
        lines.append(f"| {words} | " + " | ".join(shown) + " |")
    for words, pair in COMPARED_LOOPS:
        for turn, named in ((2, "second"), (_LAST_TURN, f"{_LAST_TURN}th")):
            costs_of = loop_costs(found, pair, turn)
            shown = [_rounded(costs_of[name]) if name in costs_of else "–" for name in (OURS, *COMPARED)]
            lines.append(f"| the {named} turn of an agent's loop, {words} | " + " | ".join(shown) + " |")
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
        f"Measured on {found['when']} at commit `{found['commit']}` with `{kind}`: "
        f"{found['rounds']} interleaved rounds on {found['machine']}. "
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
        "## An agent's loop",
        "What a turn costs if the turns before it were sent too: 25 tools of 40 kB, two messages more on every turn, "
        "and 170 kB on the last one. Markers move over the last messages, and the last result is sometimes replaced.",
        loop_table(found),
        "![CPU by turn](loop.png)",
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


def plot_loop(found: Found, file: Path) -> bool:
    """What turns cost each gateway, for each pair of dialects. Whether there is a plot."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("Agg")
    from matplotlib import pyplot

    pairs = list(dict.fromkeys(one["pair"] for one in found["loop"]))
    turns = sorted({one["turn"] for one in found["loop"]})
    figure, axes = pyplot.subplots(
        -(-len(pairs) // 4), min(len(pairs), 4), figsize=(13, 6.5), squeeze=False, sharey=True
    )
    for area, pair in zip(axes.flat, pairs, strict=False):
        for mark, name in zip("osDv^P", dict.fromkeys(one["gateway"] for one in found["loop"]), strict=False):
            spots = [(turn, costs[name]) for turn in turns if name in (costs := loop_costs(found, pair, turn))]
            area.plot([turn for turn, _ in spots], [cost for _, cost in spots], f"{mark}-", label=name, alpha=0.85)
        area.set_title(pair, fontsize=9)
        area.set_yscale("log")
        area.grid(alpha=0.3)
        area.set_xlabel("turn")
    axes[0][0].set_ylabel("µs of CPU (logarithmic; less is better)")
    axes[0][0].legend(frameon=False, fontsize=8)
    figure.tight_layout()
    figure.savefig(file, dpi=130)
    pyplot.close(figure)
    return True


def publish(found: Found, folder: Path, everywhere: bool) -> None:
    """Write it all down; `everywhere` also into README and guide."""
    plot(found, folder / "gateway.png")
    plotted = plot_loop(found, folder / "loop.png")
    (folder / "README.md").write_text(page(found))
    print(page(found))
    if not everywhere:
        return
    shown = "![CPU by turn of an agent's loop](bench/results/loop.png)\n\n" if plotted else ""
    _replace_figures(README, f"{comparison(found)}\n\n{shown}{_circumstances(found)}")
    _replace_figures(GUIDE, summary(found))


def _replace_figures(file: Path, figures: str) -> None:
    text = file.read_text()
    file.write_text(_MARKED.sub(lambda match: f"{match[1]}\n{figures}\n\n{match[2]}", text))
