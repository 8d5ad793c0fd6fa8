"""`history`: what is done about long conversations."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from dragoman.config.schema.amounts import TokenLimit
from dragoman.engine.history.policy import MOST_TOKENS


class Trim(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Cutting a long history to a budget, in tokens. System texts and tools are never cut."""

    max_history_tokens: Annotated[
        int,
        Meta(ge=0, le=MOST_TOKENS, description="The most that the turns may hold; 0: only the context window counts."),
    ] = 16_000
    context_budget: Annotated[
        float, Meta(gt=0, le=1, description="The share of the context window that a request may fill.")
    ] = 0.8
    keep_recent_exchanges: Annotated[
        int,
        Meta(
            ge=0,
            le=MOST_TOKENS,
            description="The user's last turns, with all that follows them, that are not shortened.",
        ),
    ] = 3
    keep_recent_user_turns_in_chained_tool_calls: Annotated[
        int,
        Meta(
            ge=0,
            le=MOST_TOKENS,
            description="Takes the place of `keep_recent_exchanges` while the model works through calls. Then no turn "
            "is left out unless the context window demands it.",
        ),
    ] = 1
    old_message_max_tokens: Annotated[
        TokenLimit | None, Meta(description="The most of an old message; by default from the budget.")
    ] = None
    oldest_message_max_tokens: Annotated[TokenLimit | None, Meta(description="The most of one of the oldest.")] = None
    old_tool_result_max_tokens: Annotated[TokenLimit | None, Meta(description="The most of an old result.")] = None
    oldest_tool_result_max_tokens: Annotated[
        TokenLimit | None, Meta(description="The most of one of the oldest results.")
    ] = None
    step: Annotated[
        float,
        Meta(
            gt=0,
            lt=1,
            description="The share of the budget that one cut sets free. Between two cuts the beginning of the "
            "conversation stays the same, so that the provider's cache is of use.",
        ),
    ] = 0.25
    on_refusal: Annotated[
        bool,
        Meta(description="If the provider says that the conversation is too long: trim it further, and send it again."),
    ] = True


class Compact(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Summarising old turns with a small model, beside the answer, for the turns that follow."""

    model: Annotated[str, Meta(description="The model of this file, or `PROVIDER/MODEL`, that writes summaries.")]
    above_tokens: Annotated[int, Meta(ge=1, le=MOST_TOKENS, description="Shorter histories are left alone.")] = 12_000
    keep_recent: Annotated[
        int, Meta(ge=1, le=MOST_TOKENS, description="The last messages, which are never summarised.")
    ] = 5
    chunk_size: Annotated[int, Meta(ge=2, le=MOST_TOKENS, description="Messages that are summarised at a time.")] = 20
    max_chunk_tokens: Annotated[
        int, Meta(ge=1000, le=MOST_TOKENS, description="Tokens that are summarised at a time.")
    ] = 8_000
    max_summary_tokens: Annotated[TokenLimit, Meta(description="The longest summary.")] = 1_024
    clip_first: Annotated[
        int, Meta(ge=0, le=MOST_TOKENS, description="Lines that stay at the start of a message that is clipped.")
    ] = 2
    clip_last: Annotated[int, Meta(ge=0, le=MOST_TOKENS, description="Lines that stay at its end.")] = 2
    timeout: Annotated[float, Meta(gt=0, le=3600, description="Seconds for one part.")] = 120.0
    retries: Annotated[int, Meta(ge=0, le=10, description="How often a part that fails is tried again, halved.")] = 2


class HistoryConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is done about long conversations. By default nothing."""

    trim: Annotated[Trim | None, Meta(description="Cut them to a budget; `{}` takes the defaults.", examples=[{}])] = (
        None
    )
    compact: Annotated[
        Compact | None,
        Meta(description="Summarise old turns; applied before `trim`.", examples=[{"model": "openai/gpt-4o-mini"}]),
    ] = None
