"""What a dry run may be asked for, whoever asks: the endpoint for programs and the console."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.engine.exchange.caller_options import CallerOptions
from dragoman.engine.library.policy import check_choice, parse_doubt, parse_loss


class DryRunOptions(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The members that every request for a dry run has in addition to its request and its targets."""

    source: str = msgspec.field(name="from", default="auto")
    stream: bool | None = None
    max_loss: str | None = None
    doubt: str | None = None
    rules: dict[str, Any] = {}

    def options(self) -> CallerOptions:
        """Nothing is sent, so everybody may try what would be done. Raises DragomanError for what there is not."""
        for name, choice in self.rules.items():
            check_choice(name, choice)
        return CallerOptions(
            None if self.max_loss is None else parse_loss(self.max_loss),
            None if self.doubt is None else parse_doubt(self.doubt),
            loosen=True,
            stream=self.stream,
            rules=self.rules,
        )
