"""The names that a configuration may use: rules, facts and profiles of this version, and the user's own profiles."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dragoman.config.known_names import NO_VARIABLES, KnownNames, ProfileVariables
from dragoman.engine.library.policy import check_choice
from dragoman.errors import OptionError
from dragoman.profiles.facts import fact_types
from dragoman.profiles.families import family_names
from dragoman.profiles.mistakes import enum_values
from dragoman.profiles.profile import Profile, Profiles, read_profiles_file, sibling_fault
from dragoman.rules import ORDER
from dragoman.rules.context import TEXTS
from dragoman.rules.rule import FAIL, KEEP


def collect_names(profiles: Profiles | None = None) -> KnownNames:
    """All known names, to check a configuration against."""
    known = profiles or Profiles()
    names = frozenset(known.names())
    return KnownNames(
        profiles=names,
        rules={rule.name: () if rule.free else (*rule.options, KEEP, FAIL) for rule in ORDER},
        facts={name: enum_values(kind) for name, kind in fact_types().items()},
        texts=frozenset(TEXTS),
        families=family_names(),
        variables_of=lambda name: _variables(known.profile(name)) if name in names else NO_VARIABLES,
        choice_refusal=choice_refusal,
        model_refusal=model_refusal,
        with_profiles=lambda files: collect_names(own_profiles(files, known)),
    )


def _variables(profile: Profile) -> ProfileVariables:
    cloud = profile.cloud
    return ProfileVariables(
        key=profile.key.names,
        address=profile.url_env,
        region=cloud.region_env,
        project=cloud.project_env,
        url=profile.url,
        takes_credentials=bool(cloud.scheme),
    )


def own_profiles(files: Iterable[Path], profiles: Profiles | None = None) -> Profiles:
    """The profiles with those of the user's files. Raises ProfileError."""
    found = profiles or Profiles()
    for file in files:
        found = found.extended(read_profiles_file(file, choice_refusal))
    return found


def model_refusal(profile: str, model: str) -> str | None:
    """Why a built-in profile does not serve the model; None if it does."""
    fault = sibling_fault(profile, model)
    return None if fault is None else f"{fault.message} ({fault.hint})"


def choice_refusal(rule: str, choice: Any) -> str | None:
    """Why there is no such rule, or why it does not take this choice; None if it does."""
    try:
        check_choice(rule, choice)
    except OptionError as fault:
        return fault.message if not fault.hint else f"{fault.message} ({fault.hint})"
    return None
