"""How fast and how busy each destination is, as this process sees it."""

from __future__ import annotations

import msgspec

_SMOOTHING = 0.2
_MOST = 4096


class LiveFigure(msgspec.Struct):
    """`first_byte`: seconds until an answer begins, smoothed; None: never measured. `busy`: requests under way."""

    first_byte: float | None = None
    busy: int = 0


_UNKNOWN = LiveFigure()


class LiveFigures:
    """The figures of all destinations, by name."""

    def __init__(self) -> None:
        self._known: dict[str, LiveFigure] = {}

    def of(self, name: str) -> LiveFigure:
        return self._known.get(name, _UNKNOWN)

    def began(self, name: str) -> None:
        self._figure(name).busy += 1

    def ended(self, name: str) -> None:
        self._figure(name).busy -= 1

    def measured(self, name: str, first_byte: float) -> None:
        figure = self._figure(name)
        before = first_byte if figure.first_byte is None else figure.first_byte
        figure.first_byte = before + (first_byte - before) * _SMOOTHING

    def _figure(self, name: str) -> LiveFigure:
        """Clients may make up names of models: only so many are remembered."""
        found = self._known.get(name)
        if found is None:
            if len(self._known) >= _MOST:
                self._known = {key: one for key, one in self._known.items() if one.busy}
            found = self._known[name] = LiveFigure()
        return found
