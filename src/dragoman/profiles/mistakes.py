"""Every mistake in the tables of a user's profile, with its path: unknown keys and facts, values that no fact takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import Any, get_args

import msgspec

from dragoman.errors import near_match
from dragoman.profiles.facts import Facts, fact_types
from dragoman.profiles.toml_lines import KeyPath

RuleCheck = Callable[[str, Any], str | None]
"""Why a rule or its option is not known; None if it is. Profiles do not know the rules."""

Mistake = tuple[KeyPath, str]


def key_mistakes(table: Mapping[str, Any], kind: type[msgspec.Struct], path: KeyPath) -> Iterator[Mistake]:
    """Keys that a table does not have."""
    known = [name for name in kind.__struct_fields__ if name != "name"]
    for key in table:
        if key not in known:
            yield (*path, key), f'"{key}" is no key of a profile here. {near_match(key, known)}'


def fact_mistakes(facts: Any, path: KeyPath) -> Iterator[Mistake]:
    if not isinstance(facts, dict):
        return
    types = fact_types()
    for name, value in facts.items():
        if name not in types:
            yield (*path, name), f'"{name}" is no fact. {near_match(name, types)}'
        elif fault := _describe_fault(name, value, types[name]):
            yield (*path, name), fault


def _describe_fault(name: str, value: Any, annotation: Any) -> str:
    values = enum_values(annotation)
    if values and isinstance(value, str):
        return "" if value in values else f'{name} cannot be "{value}". {near_match(value, values)}'
    try:
        msgspec.convert({name: value}, Facts)
    except msgspec.ValidationError as fault:
        return f"{name}: {fault}".replace(f" - at `$.{name}`", "")
    return ""


def enum_values(annotation: Any) -> tuple[str, ...]:
    """The values of a fact that is an enum; empty if any value is possible."""
    plain = get_args(annotation)[0] if hasattr(annotation, "__metadata__") else annotation
    return tuple(plain) if isinstance(plain, type) and issubclass(plain, Enum) else ()


def rule_mistakes(rules: Any, path: KeyPath, check: RuleCheck) -> Iterator[Mistake]:
    for name, choice in rules.items() if isinstance(rules, dict) else ():
        if refusal := check(name, choice):
            yield (*path, name), refusal
