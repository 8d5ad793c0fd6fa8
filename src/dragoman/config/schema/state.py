"""`state`: conversations that clients refer to by ids."""

import re
from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

from dragoman.config.schema.start_keys import at_start

_AMOUNT = re.compile(r"(\d{1,9})([a-z]{1,2})")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_BYTES = {"kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30}


class ForeignIds(StrEnum):
    """What is done with an id that this gateway did not give out to the same key."""

    REFUSE = "refuse"
    PASS = "pass"  # noqa: S105


class StateConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Conversations that clients refer to by ids: `store` and `previous_response_id` of the Responses API."""

    enabled: Annotated[bool, Meta(description="Keep them. `state: off` is the same as `false` here.")] = True
    lifetime: Annotated[str, at_start("How long a turn is kept after its last use: `90s`, `30m`, `24h`, `7d`.")] = "24h"
    size: Annotated[str, at_start("How much is kept of all keys together: `512KB`, `256MB`, `2GB`.")] = "256MB"
    per_key: Annotated[str, at_start("How much is kept of one key.")] = "64MB"
    foreign_ids: Annotated[
        ForeignIds,
        Meta(
            description="What is done with an id that this gateway did not give to the same key. `pass` sends it to a "
            "provider that may know it: only if all keys belong to one tenant."
        ),
    ] = ForeignIds.REFUSE

    def seconds(self) -> float:
        return float(parse_amount(self.lifetime, _SECONDS) or 0)

    def bytes(self) -> int:
        return parse_amount(self.size, _BYTES) or 0

    def key_bytes(self) -> int:
        return parse_amount(self.per_key, _BYTES) or 0

    def faults(self) -> dict[str, str]:
        """What is wrong with its amounts, by key."""
        given = {"lifetime": (self.lifetime, _SECONDS, "24h"), "size": (self.size, _BYTES, "256MB")}
        given["per_key"] = (self.per_key, _BYTES, "64MB")
        return {
            key: f"is {text!r}; write it like {like}"
            for key, (text, units, like) in given.items()
            if not parse_amount(text, units)
        }


def parse_amount(text: str, units: dict[str, int]) -> int | None:
    """A number with its unit; None if it has neither."""
    found = _AMOUNT.fullmatch(text.strip().lower().replace(" ", ""))
    return int(found[1]) * units[found[2]] if found is not None and found[2] in units else None
