"""What a model of OpenAI's takes on this endpoint, by its name."""

from __future__ import annotations

import re
from dataclasses import dataclass

_GPT = re.compile(r"(?:^|/)gpt-(?P<major>\d+)(?:\.(?P<minor>\d+))?")
_O_SERIES = re.compile(r"(?:^|/)o\d")


@dataclass(frozen=True, slots=True)
class Model:
    """Whether a model reasons, and how much if nothing is said. A name we cannot read is given the benefit of doubt."""

    name: str
    is_o: bool
    version: tuple[int, int] | None

    @property
    def reasons(self) -> bool:
        return self.is_o or (self.version is not None and self.version >= (5, 0) and "chat" not in self.name)

    @property
    def never_reasons(self) -> bool:
        return self.version is not None and self.version < (5, 0)

    def is_reasoning(self, effort: str | None) -> bool:
        """Whether a request with this effort reasons; from gpt-5.1 to 5.5 the default is not to."""
        if not self.reasons or effort == "none":
            return False
        rests = self.version is not None and (5, 1) <= self.version <= (5, 5)
        return effort is not None or not rests


def model_of(name: str) -> Model:
    """The model behind a name."""
    found = _GPT.search(name)
    version = (int(found["major"]), int(found["minor"] or 0)) if found else None
    return Model(name, _O_SERIES.search(name) is not None, version)
