"""What an OpenAI model accepts, by its name."""

from __future__ import annotations

import re
from dataclasses import dataclass

_REASONERS = re.compile(r"^(o\d|gpt-[5-9])")
_NOT_REASONING = re.compile(r"chat|search|audio|realtime|oss")
_VERSION = re.compile(r"^gpt-(\d+)(?:\.(\d+))?")


@dataclass(frozen=True, slots=True)
class ChatModel:
    """The properties of a model that the checks need."""

    name: str
    version: tuple[int, int]  # of gpt models; (0, 0) for the o series and all others
    reasons: bool
    default_effort: str

    @property
    def has_newer_validator(self) -> bool:
        """OpenAI runs two validators that report an unknown key differently; seen on gpt-5.6 and gpt-4o-mini."""
        return self.reasons or self.version >= (5, 0)

    @property
    def never_reasons(self) -> bool:
        """The families before gpt-5 know no effort at all. Other models that do not reason are not known."""
        return (0, 0) < self.version < (5, 0) or self.name.startswith("chatgpt-4o")

    def since(self, major: int, minor: int) -> bool:
        return self.version >= (major, minor)


def chat_model(model: str) -> ChatModel:
    """The model of that name, with or without a gateway prefix or a fine-tuning mark."""
    name = model.rsplit("/", 1)[-1].removeprefix("ft:")
    found = _VERSION.match(name)
    version = (int(found[1]), int(found[2] or 0)) if found else (0, 0)
    reasons = bool(_REASONERS.match(name)) and not _NOT_REASONING.search(name)
    # by default gpt-5.1 to 5.5 do not reason; earlier and later generations do
    effort = "none" if (5, 1) <= version < (5, 6) else "medium"
    return ChatModel(name, version, reasons, effort)
