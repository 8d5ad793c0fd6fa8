"""The figures of the pages are of one run, and say of which commit."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("README.md", "docs/guide/performance.md", "bench/results/README.md")
_RUN = re.compile(r"Measured on (\d{4}-\d\d-\d\d) at commit `([0-9a-f]{12})` with `make bench`")


def test_all_pages_have_the_figures_of_one_run_and_name_its_commit() -> None:
    runs = {page: _RUN.findall((ROOT / page).read_text()) for page in PAGES}
    assert all(len(found) == 1 for found in runs.values()), runs
    assert len({found[0] for found in runs.values()}) == 1, runs
