"""What a history may hold, and what is spared when it is cut."""

from __future__ import annotations

import msgspec

MOST_TOKENS = 1_000_000_000
_COUNTS = (
    *("max_history_tokens", "window", "keep_recent_exchanges"),
    *("keep_recent_user_turns_in_chained_tool_calls", "old_message_max_tokens", "oldest_message_max_tokens"),
    *("old_tool_result_max_tokens", "oldest_tool_result_max_tokens"),
)


class TrimPolicy(msgspec.Struct, frozen=True, repr_omit_defaults=True):
    """How a long history is trimmed; all sizes in tokens. The system texts and the tools are never cut.

    The four limits replace those that are worked out from the budget.
    """

    max_history_tokens: int = 16_000
    """The most that the turns may hold; 0: only the window counts."""
    window: int = 0
    """The target's context window; 0: not known."""
    context_budget: float = 0.8
    """How much of the window a request may fill."""
    keep_recent_exchanges: int = 3
    """The last turns of the user, with all that follows them, that are not shortened."""
    keep_recent_user_turns_in_chained_tool_calls: int = 1
    """The same while the model works through calls."""
    old_message_max_tokens: int | None = None
    oldest_message_max_tokens: int | None = None
    old_tool_result_max_tokens: int | None = None
    oldest_tool_result_max_tokens: int | None = None
    step: float = 0.25
    """The share of the budget that a cut sets free, so that the next cut is many turns away."""
    until_it_pays: bool = True
    """Whether the turns may hold up to twice as much if the provider reads its cache for less: until a cut saves more
    than it costs to write anew what stays."""
    on_refusal: bool = True
    """Whether a conversation that the provider finds too long is trimmed to what it says and sent again."""

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
