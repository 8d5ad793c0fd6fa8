"""What the tools that the gateway runs for one answer may take."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta


class RunLimits(msgspec.Struct, frozen=True, kw_only=True, gc=False, forbid_unknown_fields=True):
    """What the tools that the gateway runs for one answer may take."""

    rounds: Annotated[int, Meta(ge=1, description="How often the model may be asked again with results.")] = 10
    calls: Annotated[int, Meta(ge=1, description="All runs of an answer.")] = 32
    seconds: Annotated[float, Meta(gt=0, description="All runs of an answer together, by the clock.")] = 60.0
    bytes: Annotated[int, Meta(ge=256, description="What the model reads of one run.")] = 65_536
    total_bytes: Annotated[int, Meta(ge=256, description="What the model reads of all runs.")] = 524_288
    media_bytes: Annotated[
        int, Meta(ge=0, description="Pictures, sounds and documents of all runs, as base64; 0: none is shown.")
    ] = 4_194_304
    listed_bytes: Annotated[
        int, Meta(ge=256, description="What the lists of all servers of a request add to it; one with more is refused.")
    ] = 4_194_304
    cost: Annotated[
        float, Meta(ge=0, description="All runs, in the currency of the prices; 0: not limited.", examples=[0.5])
    ] = 0.0


USUAL_LIMITS = RunLimits()
