"""What the renderers of all streams do: events in, bytes out, and an end for a stream that has none."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.conversation.collect import UNFINISHED
from dragoman.conversation.events import Event, Failed


class StreamOutput:
    """Renders events as they come."""

    __slots__ = ()

    over: bool
    """Whether the answer has ended or failed."""
    _out: list[bytes]
    """The bytes of the events at hand."""

    def take(self, event: Event) -> None:
        """Take one event. A subclass with a `render` of its own needs none."""
        raise NotImplementedError

    def render(self, events: Sequence[Event]) -> bytes:
        out = self._out = []  # type: ignore[misc]  # subclasses have the slot
        for event in events:
            self.take(event)
        return b"".join(out)

    def close(self) -> bytes:
        """The end of a stream that has none: an error."""
        return b"" if self.over else self.render((Failed(UNFINISHED),))
