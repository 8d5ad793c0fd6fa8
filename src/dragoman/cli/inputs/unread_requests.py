"""Requests of a file that cannot be used: the first ones are listed, the others counted."""

from __future__ import annotations

from dragoman.cli.inputs.request_files import RequestItem
from dragoman.cli.output.console import print_error, print_note

SHOWN = 10


class UnreadRequests:
    """Counts them. `details`: tell all of them."""

    def __init__(self, details: bool) -> None:
        self.count = 0
        self._details = details

    def add(self, item: RequestItem, message: str) -> None:
        self.count += 1
        if self._details or not item.line or self.count <= SHOWN:
            print_error(f"{item.where}: {message}")

    def end(self) -> None:
        hidden = self.count - SHOWN
        if hidden > 0 and not self._details:
            print_note(f"… and {hidden:,} more requests that cannot be used (--details shows all)")
