"""The figures of the pages are of one run, and say of which commit."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("README.md", "docs/guide/performance.md", "bench/results/README.md")
_RUN = re.compile(r"Measured on (\d{4}-\d\d-\d\d) at commit `([0-9a-f]{12})` with `make bench`")


def test_all_pages_have_the_figures_of_one_run_and_name_its_commit() -> None:
    runs = {page: _RUN.findall((ROOT / page).read_text()) for page in PAGES}
    assert all(len(found) == 1 for found in runs.values()), runs
    assert len({found[0] for found in runs.values()}) == 1, runs


def test_a_loop_is_shown_by_its_pair_and_compared_round_by_round() -> None:
    costs = {("Chat → Chat", "Dragoman"): (10.0, 20.0), ("Chat → Chat", "LiteLLM"): (100.0, 800.0)}
    costs |= {("Anthropic → Chat", "Dragoman"): (30.0, 30.0)}
    rows = [
        {"pair": pair, "gateway": gateway, "turn": turn, "round": round_, "cpu": cost * (round_ + 1)}
        for (pair, gateway), both in costs.items()
        for turn, cost in zip((2, 200), both, strict=True)
        for round_ in (0, 2)
    ]
    spec = importlib.util.spec_from_file_location("figures", ROOT / "bench" / "figures.py")
    assert spec is not None
    assert spec.loader is not None
    figures = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(figures)
    head, _, *lines = figures.loop_table({"loop": rows}).splitlines()
    assert head.count("turn") == 2
    assert [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines] == [
        ["Anthropic → Chat", "Dragoman", "60", "60", "1.00", "1.00"],
        ["Chat → Chat", "Dragoman", "20", "40", "2.00", "1.00"],
        ["Chat → Chat", "LiteLLM", "200", "1,600", "8.00", "40.00"],
    ]
