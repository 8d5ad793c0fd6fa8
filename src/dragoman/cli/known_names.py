"""The names that a configuration may use: rules, facts and profiles of this version."""

from __future__ import annotations

from enum import Enum
from typing import Any, get_args

import msgspec

from dragoman.config import KnownNames
from dragoman.profiles.facts import Facts
from dragoman.profiles.profile import Profiles
from dragoman.rules import BY_NAME
from dragoman.rules.context import TEXTS
from dragoman.rules.rule import FAIL, KEEP


def known_names() -> KnownNames:
    """All known names, to check a configuration against."""
    profiles = Profiles()
    return KnownNames(
        profiles=frozenset(profiles.names()),
        rules={name: () if rule.free else (*rule.options, KEEP, FAIL) for name, rule in BY_NAME.items()},
        facts={field.name: _enum_values(field.type) for field in msgspec.structs.fields(Facts)},
        texts=frozenset(TEXTS),
        variables={name: profiles.profile(name).key.names for name in profiles.names()},
    )


def _enum_values(annotation: Any) -> tuple[str, ...]:
    """The values of a fact that is an enum; empty if any value is possible."""
    plain = get_args(annotation)[0] if hasattr(annotation, "__metadata__") else annotation
    return tuple(plain) if isinstance(plain, type) and issubclass(plain, Enum) else ()
