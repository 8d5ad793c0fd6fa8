"""`history`: what is done about long conversations."""

from typing import Annotated

from msgspec import Meta, Struct

from dragoman.engine.history.compaction import CompactPolicy
from dragoman.engine.history.trim_policy import Trim


class HistoryConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is done about long conversations. By default nothing."""

    trim: Annotated[Trim | None, Meta(description="Cut them to a budget; `{}` takes the defaults.", examples=[{}])] = (
        None
    )
    compact: Annotated[
        CompactPolicy | None,
        Meta(description="Summarise old turns; applied before `trim`.", examples=[{"model": "openai/gpt-4o-mini"}]),
    ] = None
