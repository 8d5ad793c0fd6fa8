"""The names that a configuration may use: rules, facts and profiles of this version, and the user's own profiles."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dragoman.config import KnownNames
from dragoman.engine.library.policy import check_choice
from dragoman.errors import OptionError
from dragoman.profiles.facts import fact_types
from dragoman.profiles.families import family_names
from dragoman.profiles.mistakes import enum_values
from dragoman.profiles.profile import Profiles, read_profiles_file
from dragoman.rules import ORDER
from dragoman.rules.context import TEXTS
from dragoman.rules.rule import FAIL, KEEP


def known_names(profiles: Profiles | None = None) -> KnownNames:
    """All known names, to check a configuration against."""
    known = profiles or Profiles()
    names = known.names()
    variables = {name: known.profile(name).key.names for name in names}
    addresses = {name: known.profile(name).url_env for name in names}
    return KnownNames(
        profiles=frozenset(names),
        rules={rule.name: () if rule.free else (*rule.options, KEEP, FAIL) for rule in ORDER},
        facts={name: enum_values(kind) for name, kind in fact_types().items()},
        texts=frozenset(TEXTS),
        families=family_names(),
        variables={name: found for name, found in variables.items() if found},
        addresses={name: found for name, found in addresses.items() if found},
        regions={name: found for name in names if (found := known.profile(name).cloud.region_env)},
        projects={name: found for name in names if (found := known.profile(name).cloud.project_env)},
        choice_refusal=choice_refusal,
        with_profiles=lambda files: known_names(own_profiles(files, known)),
    )


def own_profiles(files: Iterable[Path], profiles: Profiles | None = None) -> Profiles:
    """The profiles with those of the user's files. Raises ProfileError."""
    found = profiles or Profiles()
    for file in files:
        found = found.extended(read_profiles_file(file, choice_refusal))
    return found


def choice_refusal(rule: str, choice: Any) -> str | None:
    """Why there is no such rule, or why it does not take this choice; None where it does."""
    try:
        check_choice(rule, choice)
    except OptionError as fault:
        return fault.message if not fault.hint else f"{fault.message} ({fault.hint})"
    return None
