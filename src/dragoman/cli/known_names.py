"""The names that a configuration may use: what the rules, facts and profiles of this version are called."""

from __future__ import annotations

from enum import Enum
from typing import Any, get_args

import msgspec

from dragoman.config import Known
from dragoman.profiles.facts import Facts
from dragoman.profiles.profile import Profiles
from dragoman.rules import BY_NAME
from dragoman.rules.context import TEXTS
from dragoman.rules.rule import FAIL, KEEP


def known_names() -> Known:
    """All of them, for the checks of the configuration."""
    profiles = Profiles()
    return Known(
        profiles=frozenset(profiles.names()),
        rules={name: () if rule.free else (*rule.options, KEEP, FAIL) for name, rule in BY_NAME.items()},
        facts={field.name: values(field.type) for field in msgspec.structs.fields(Facts)},
        texts=frozenset(TEXTS),
        variables={name: profiles.profile(name).key.names for name in profiles.names()},
    )


def values(annotation: Any) -> tuple[str, ...]:
    """What a fact of a closed set can be; nothing where it can be anything."""
    plain = get_args(annotation)[0] if hasattr(annotation, "__metadata__") else annotation
    return tuple(plain) if isinstance(plain, type) and issubclass(plain, Enum) else ()
