"""What a history may hold, and what is spared when it is cut."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

MOST_TOKENS = 1_000_000_000
TokenLimit = Annotated[int, Meta(ge=1, le=MOST_TOKENS)]
_COUNTS = (
    *("max_history_tokens", "window", "keep_recent_exchanges"),
    *("keep_recent_user_turns_in_chained_tool_calls", "old_message_max_tokens", "oldest_message_max_tokens"),
    *("old_tool_result_max_tokens", "oldest_tool_result_max_tokens"),
)


class Trim(msgspec.Struct, frozen=True, repr_omit_defaults=True, forbid_unknown_fields=True):
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
    until_it_pays: Annotated[
        bool,
        Meta(
            description="If the provider reads its cache for less, the turns may hold up to twice "
            "`max_history_tokens`, until a cut saves more than it costs to write anew what stays."
        ),
    ] = True
    on_refusal: Annotated[
        bool,
        Meta(description="If the provider says that the conversation is too long: trim it further, and send it again."),
    ] = True


class TrimPolicy(Trim, frozen=True):
    """How a long history is trimmed; all sizes in tokens. The system texts and the tools are never cut.

    The four limits replace those that are worked out from the budget.
    """

    window: int = 0
    """The target's context window; 0: not known."""

    def __post_init__(self) -> None:
        for name in _COUNTS:
            count = getattr(self, name)
            if count is not None and not 0 <= count <= MOST_TOKENS:
                raise ValueError(f"TrimPolicy: {name} must be a whole number from 0 to {MOST_TOKENS}")
        if not 0 < self.context_budget <= 1:
            raise ValueError(f"TrimPolicy: context_budget is {self.context_budget}; it must be above 0 and up to 1")
        if not 0 < self.step < 1:
            raise ValueError(f"TrimPolicy: step is {self.step}; it must be above 0 and below 1")

    @property
    def smallest_budget(self) -> int:
        """The fewest tokens at which a cut is possible; 0: there is none."""
        window = int(self.window * self.context_budget)
        return min(self.max_history_tokens or window, window or self.max_history_tokens)
