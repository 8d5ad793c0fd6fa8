"""What repairs may do: `rules`, `max_loss`, `synthetic`."""

from __future__ import annotations

from enum import StrEnum

RuleChoice = str | dict[str, str]


class MaxLoss(StrEnum):
    """The largest loss that a repair may cause."""

    NOTHING = "nothing"
    ORDER = "order"
    METADATA = "metadata"
    AUTHORITY = "authority"
    CONTENT = "content"


class Synthetic(StrEnum):
    """Whether a repair may make up a turn."""

    ALLOW = "allow"
    REFUSE = "refuse"
