"""The examples of the library's guide are run as they stand, against emulators."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

GUIDES = Path(__file__).parent.parent / "docs" / "guide"
BLOCKS = [
    block
    for name in ("library.md", "long-conversations.md")
    for block in re.findall(r"```python\n(.*?)```", (GUIDES / name).read_text("utf-8"), re.DOTALL)
]


def test_the_guide_has_its_examples() -> None:
    assert len(BLOCKS) >= 7


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_example_runs(block: str) -> None:
    exec(compile(block, "guide", "exec"), {})
