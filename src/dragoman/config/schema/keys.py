"""`keys`: the clients of the gateway."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

from dragoman.config.schema.amounts import Amount, Positive


class Unpriced(StrEnum):
    """What a key with a budget may do with models of which nobody tells what they cost."""

    REFUSE = "refuse"
    ALLOW = "allow"


class Budget(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a key may spend, in the currency of the prices. Days and months are those of UTC."""

    day: Annotated[Amount | None, Meta(description="In one day.", examples=[5])] = None
    month: Annotated[Amount | None, Meta(description="In one month.", examples=[50])] = None
    total: Annotated[Amount | None, Meta(description="Ever.", examples=[200])] = None
    warn: Annotated[
        float,
        Meta(ge=0, le=1, description="From this part of a budget on, answers have `x-dragoman-budget-warning`."),
    ] = 0.8


class ClientKey(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A client of the gateway. Create one with `dragoman keys create NAME`."""

    sha256: Annotated[
        str,
        Meta(
            description="SHA-256 of the key in hex. The key itself is never stored.",
            examples=["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"],
        ),
    ]
    allowed_models: Annotated[
        tuple[str, ...], Meta(description="Model names or globs that it may use; empty: all.", examples=[["cheap"]])
    ] = ()
    allowed_endpoints: Annotated[
        tuple[str, ...],
        Meta(
            description="Paths or globs that it may call; empty: all. `/v1/x` means `/x` too; `/v1/*` what begins so.",
            examples=[["/v1/chat/completions"]],
        ),
    ] = ()
    requests_per_minute: Annotated[Positive | None, Meta(description="Requests in any 60 seconds.")] = None
    tokens_per_minute: Annotated[Positive | None, Meta(description="Tokens, in and out, in any 60 seconds.")] = None
    concurrent: Annotated[Positive | None, Meta(description="Requests at the same time, per worker.")] = None
    budget: Annotated[
        Budget | None, Meta(description="What it may spend; further requests get 429.", examples=[{"day": 5}])
    ] = None
    unpriced: Annotated[
        Unpriced,
        Meta(description="If it has a budget: `refuse` models without a price, or `allow` them, at no cost."),
    ] = Unpriced.REFUSE
    tool_servers: Annotated[
        tuple[str, ...],
        Meta(description="Entries of `tool_servers` whose tools each of its requests is given."),
    ] = ()
    expires: Annotated[
        datetime | None,
        Meta(
            description="When it expires. A date means its first moment, UTC.",
            examples=["2030-01-01"],
        ),
    ] = None
    admin: Annotated[bool, Meta(description="May see all reports and use `x-dragoman-*` request headers.")] = False

    def is_limited(self) -> bool:
        return self.requests_per_minute is not None or self.tokens_per_minute is not None
