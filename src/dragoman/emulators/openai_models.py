"""What an OpenAI model's name says about what it takes."""

from __future__ import annotations

import re
from dataclasses import dataclass

_REASONERS = re.compile(r"^(o\d|gpt-[5-9])")
_CHATTERS = re.compile(r"chat|search|audio|realtime|oss")
_VERSION = re.compile(r"^gpt-(\d+)(?:\.(\d+))?")


@dataclass(frozen=True, slots=True)
class Family:
    """The facts that the checks ask for."""

    model: str
    version: tuple[int, int]  # of gpt models; (0, 0) for the o series and all others
    reasons: bool
    default_effort: str

    @property
    def newer_validator(self) -> bool:
        """Two validators are live, and word an unknown key differently; measured on gpt-5.6 and on gpt-4o-mini."""
        return self.reasons or self.version >= (5, 0)

    def is_since(self, major: int, minor: int) -> bool:
        return self.version >= (major, minor)


def family(model: str) -> Family:
    """The family of a model, whatever gateway prefix or fine-tune mark its name carries."""
    name = model.rsplit("/", 1)[-1].removeprefix("ft:")
    found = _VERSION.match(name)
    version = (int(found[1]), int(found[2] or 0)) if found else (0, 0)
    reasons = bool(_REASONERS.match(name)) and not _CHATTERS.search(name)
    # gpt-5.1 to 5.5 do not reason unless asked; the generations around them do
    effort = "none" if (5, 1) <= version < (5, 6) else "medium"
    return Family(name, version, reasons, effort)
