"""What repairs may do: `rules`, `max_loss`, `synthetic`, `cache`."""

from enum import StrEnum

RuleChoice = str | dict[str, str]


class MaxLoss(StrEnum):
    """The largest loss that a repair may cause."""

    NOTHING = "nothing"
    ORDER = "order"
    METADATA = "metadata"
    AUTHORITY = "authority"
    CONTENT = "content"


class CacheChoice(StrEnum):
    """Who sets cache hints."""

    CLIENT = "client"
    AUTO = "auto"
    OFF = "off"


class Synthetic(StrEnum):
    """Whether a repair may make up a turn."""

    ALLOW = "allow"
    REFUSE = "refuse"
