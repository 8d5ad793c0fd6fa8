"""What a Claude model accepts, by its version. A model of unknown version accepts everything."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NAME = re.compile(
    r"claude-(?:(?P<family>[a-z]+)-)?(?P<major>\d)(?:[-.](?P<minor>\d{1,2})(?!\d))?(?:-(?P<late>[a-z]+))?"
)


@dataclass(frozen=True, slots=True)
class ClaudeModel:
    """A model and its version. Behaviour changed with 4.6, 4.7, 4.8 and 5."""

    name: str
    family: str
    version: tuple[int, int] | None

    def since(self, major: int, minor: int) -> bool:
        """Whether it is known to have this version or a later one."""
        return self.version is not None and self.version >= (major, minor)

    def before(self, major: int, minor: int) -> bool:
        """Whether it is known to be older than this version."""
        return self.version is not None and self.version < (major, minor)

    @property
    def max_output(self) -> int:
        """The most tokens that it answers with, as Anthropic lists them. 3.7 has twice as many with a beta."""
        if self.version is None:
            return 1 << 62
        if self.before(3, 7):
            return 4_096 if self.before(3, 5) else 8_192
        if self.family == "opus" and self.before(4, 5):
            return 32_000
        middle = self.before(4, 6) or (self.family == "sonnet" and self.before(4, 7))
        return 64_000 if middle and self.since(4, 0) else 128_000

    @property
    def is_legacy(self) -> bool:
        """Claude 3 Opus accepted a result with another id. No later model does."""
        return self.family == "opus" and self.version == (3, 0)

    @property
    def thinks_by_default(self) -> bool:
        """Sonnet 5 thinks unless it is told not to: 16 of 16 recorded answers to requests without `thinking`."""
        return self.family == "sonnet" and self.since(5, 0)

    @property
    def omits_by_default(self) -> bool:
        """Since 4.7 the text of thinking is shown only with `display: summarized`."""
        return self.since(4, 7)

    @property
    def forbids_forced_choice(self) -> bool:
        return "fable" in self.name or "mythos" in self.name


def claude_model(name: str) -> ClaudeModel:
    """The model of that name, in any spelling that hosts and gateways use."""
    found = _NAME.search(name)
    if found is None:
        return ClaudeModel(name, "", None)
    family = found["family"] or found["late"] or ""
    return ClaudeModel(name, family, (int(found["major"]), int(found["minor"] or 0)))
