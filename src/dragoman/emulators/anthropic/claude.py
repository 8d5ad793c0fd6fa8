"""What a Claude model takes, by its version. A name we cannot read is given the benefit of the doubt."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NAME = re.compile(
    r"claude-(?:(?P<family>[a-z]+)-)?(?P<major>\d)(?:[-.](?P<minor>\d{1,2})(?!\d))?(?:-(?P<late>[a-z]+))?"
)


@dataclass(frozen=True, slots=True)
class Claude:
    """A model and its generation: 4.5 and older, 4.6, 4.7, then 4.8 and the 5 families."""

    name: str
    family: str
    version: tuple[int, int] | None

    def since(self, major: int, minor: int) -> bool:
        """Known to be of this version or later."""
        return self.version is not None and self.version >= (major, minor)

    def before(self, major: int, minor: int) -> bool:
        """Known to be older than this version."""
        return self.version is not None and self.version < (major, minor)

    @property
    def is_legacy(self) -> bool:
        """Claude 3 Opus once took a result under another id; nothing later does."""
        return self.family == "opus" and self.version == (3, 0)

    @property
    def forbids_forced_choice(self) -> bool:
        return "fable" in self.name or "mythos" in self.name


def claude(name: str) -> Claude:
    """The model behind a name, in any of the spellings of hosts and gateways."""
    found = _NAME.search(name)
    if found is None:
        return Claude(name, "", None)
    family = found["family"] or found["late"] or ""
    return Claude(name, family, (int(found["major"]), int(found["minor"] or 0)))
