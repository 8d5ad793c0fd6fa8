"""Values that a shell completes: targets, models, rules with their options, profiles, dialects and formats.

Each function is called in a process of its own when the user presses the tab key, so everything is loaded late.
"""

from __future__ import annotations

from collections.abc import Iterable

import click

MOST = 200
"""A shell shows no more, and the user goes on typing."""


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return sorted(name for name in set(names) if name.startswith(incomplete))[:MOST]


def complete_targets(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """`PROFILE/` first, then its models. Of a list with commas, the last one is completed."""
    before, comma, last = incomplete.rpartition(",")
    return [before + comma + name for name in _targets(last)]


def _targets(incomplete: str) -> list[str]:
    from dragoman.profiles.offers import list_offered_names
    from dragoman.profiles.profile import builtin_names

    profile, slash, _ = incomplete.partition("/")
    if not slash:
        return _beginning((f"{name}/" for name in builtin_names()), incomplete)
    return _beginning((f"{profile}/{model}" for model in list_offered_names(profile)), incomplete)


def complete_models(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Short names, and targets."""
    from dragoman.emulation.emulator_fallback import MODELS

    short = [model for models in MODELS.values() for model in models]
    return [*_beginning(short, incomplete), *_targets(incomplete)]


def complete_rules(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from dragoman.rules import BY_NAME

    return _beginning(BY_NAME, incomplete)


def complete_rule_choices(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """`NAME=` first, then its options."""
    from dragoman.rules import BY_NAME
    from dragoman.rules.rule import FAIL, KEEP

    name, equals, _ = incomplete.partition("=")
    if not equals or name not in BY_NAME:
        return _beginning((f"{rule}=" for rule in BY_NAME), incomplete)
    return _beginning((f"{name}={option}" for option in (*BY_NAME[name].options, KEEP, FAIL)), incomplete)


def complete_profiles(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from dragoman.profiles.profile import builtin_names

    return _beginning(builtin_names(), incomplete) if "/" not in incomplete else _targets(incomplete)


def complete_dialects(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from dragoman.conversation.dialect_names import DIALECT_NAMES

    return _beginning((*DIALECT_NAMES, "auto"), incomplete)


def complete_formats(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from dragoman.transcripts.catalogue import FORMATS

    return [*complete_dialects(ctx, param, incomplete), *_beginning(FORMATS, incomplete)]


def complete_losses(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from dragoman.conversation.changes import Loss

    return [str(loss) for loss in Loss if str(loss).startswith(incomplete)]


def complete_emulators(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from dragoman.emulators.catalogue import names

    return _beginning(names(), incomplete)
