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


class LineOutput(StreamOutput):
    """The same for clients that read a stream by lines, so that no text is cut within."""

    __slots__ = ()

    def render(self, events: Sequence[Event]) -> bytes:
        data = super().render(events)
        if not data.isascii():
            for letter, escape in _BREAKS:
                data = data.replace(letter, escape)
        return data


_BREAKS = ((b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"), (b"\xc2\x85", b"\\u0085"))
"""Letters that end a line for some readers, though not in JSON: the SDKs of Google and Ollama split streams at them."""
