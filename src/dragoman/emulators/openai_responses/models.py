"""What an OpenAI model accepts on this endpoint, by its name."""

from __future__ import annotations

import re
from dataclasses import dataclass

_GPT = re.compile(r"(?:^|/)gpt-(?P<major>\d+)(?:\.(?P<minor>\d+))?")
_ALL_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_O_SERIES = re.compile(r"(?:^|/)o\d")


@dataclass(frozen=True, slots=True)
class ResponsesModel:
    """Whether a model reasons, and by default. A model of unknown version accepts everything."""

    name: str
    is_o: bool
    version: tuple[int, int] | None

    @property
    def reasons(self) -> bool:
        return self.is_o or (self.version is not None and self.version >= (5, 0) and "chat" not in self.name)

    @property
    def never_reasons(self) -> bool:
        return self.version is not None and self.version < (5, 0)

    @property
    def efforts(self) -> tuple[str, ...]:
        """The levels of effort it takes; all if that is not known."""
        if self.is_o:
            return _ALL_EFFORTS[2:5]
        return _ALL_EFFORTS[1:5] if self.version == (5, 0) and self.reasons else _ALL_EFFORTS

    def is_reasoning(self, effort: str | None) -> bool:
        """Whether the model reasons at this effort. By default gpt-5.1 to 5.5 do not."""
        if not self.reasons or effort == "none":
            return False
        reasons_on_request = self.version is not None and (5, 1) <= self.version <= (5, 5)
        return effort is not None or not reasons_on_request


def model_of(name: str) -> ResponsesModel:
    """The model of that name."""
    found = _GPT.search(name)
    version = (int(found["major"]), int(found["minor"] or 0)) if found else None
    return ResponsesModel(name, _O_SERIES.search(name) is not None, version)
