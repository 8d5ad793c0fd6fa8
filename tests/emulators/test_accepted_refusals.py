"""No recorded refusal is accepted without a reason, and the guide lists all reasons and the errors of token counts."""

from __future__ import annotations

from pathlib import Path

import pytest
from accepted_refusals import accepted
from token_errors import row, table

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "emulators.md"


def test_every_accepted_refusal_has_a_reason_in_the_guide() -> None:
    """Of other recordings the guide has all reasons; of these 132 it has the numbers."""
    found, unexplained, refused = accepted()
    assert unexplained == []
    text = GUIDE.read_text()
    assert [reason.why for reason in found if f"| {reason.why} | {reason.instead} |" not in text] == []
    if refused + found.total() == 132:
        assert f"Of 132 refusals in recorded traffic the emulators repeat {refused} by default" in text
        assert [row for row, count in found.items() if f"| {count} | {row.why} |" not in text] == []


@pytest.mark.slow
def test_the_guide_has_the_errors_of_all_token_counts() -> None:
    """Of these recordings to the percent; of others there must be a row for each emulator."""
    text = GUIDE.read_text()
    measured = table()
    assert {name for name in measured if f"| `{name}` | " not in text} == set()
    if measured["anthropic"].prompts == 427:
        assert [row(name, one) for name, one in measured.items() if row(name, one) not in text] == []
