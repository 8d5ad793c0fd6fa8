"""`dragoman profiles`: the facts of each provider, the layer that sets them and their evidence; `diff` and `test`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import msgspec

from dragoman.cli.inputs.compile_context import parse_choices, profile_options
from dragoman.cli.output.console import echo_json, print_beside, print_table, printable
from dragoman.cli.value_completion import complete_profiles
from dragoman.engine.compile.evidence import evidence
from dragoman.engine.library.lint import ANY_MODEL
from dragoman.errors import OptionError
from dragoman.profiles.fact_names import flat_facts
from dragoman.profiles.facts import ANY_SETTING, Facts
from dragoman.profiles.profile import Evidence, Layer, Profiles, Target, read_profiles_file

DEFAULT = "default"


class StatedFact(msgspec.Struct, frozen=True):
    """One fact of a target."""

    fact: str
    """Its name."""
    value: Any
    """What it says."""
    origin: str
    """The layer that sets it."""
    evidence: tuple[Evidence, ...]
    """Who has seen it, and when."""


@click.command()
@click.argument("words", metavar="[NAME[/MODEL] | diff A B | test FILE]", nargs=-1, shell_complete=complete_profiles)
@click.option("--all", "everything", is_flag=True, help="Include facts with their default value.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@profile_options
def profiles(
    words: tuple[str, ...], everything: bool, as_json: bool, rules: tuple[str, ...], profiles: Path | None
) -> int:
    """List the profiles, or show each fact of one with the layer that sets it and its evidence.

    PROFILE/MODEL shows the facts of that model, PROFILE those of the newest models. `diff A B` shows the facts in which
    two differ. `test FILE` runs the laws for the profile in a file, judged by a server that does what its facts say.
    Both take names or files, and exit with 1 if there is something to show.
    """
    choices = parse_choices(profiles, rules)
    if not words:
        _list(choices.profiles, as_json)
        return 0
    if words[0] in _FURTHER:
        return _further(words, choices.profiles, as_json)
    if len(words) > 1:
        raise OptionError(f'"{words[1]}" is one word too many', at="profiles", hint="see `dragoman profiles --help`")
    name = words[0]
    target = choices.profiles.target(name if "/" in name else f"{name}/{ANY_MODEL}")
    stated = [one for one in stated_facts(target, choices.profiles) if everything or one.origin != DEFAULT]
    if as_json:
        echo_json(stated)
    else:
        _show(target, stated, choices.profiles)
    return 0


_FURTHER = {"diff": ("A", "B"), "test": ("FILE",)}


def _further(words: tuple[str, ...], known: Profiles, as_json: bool) -> int:
    """`diff` or `test`, with the profiles that they name."""
    wanted = _FURTHER[words[0]]
    if len(words) != len(wanted) + 1:
        raise OptionError(f"{words[0]} takes {' and '.join(wanted)}", at="profiles")
    found = [find_named_target(word, known) for word in words[1:]]
    if words[0] == "diff":
        return show_difference(*(target for target, _ in found), as_json=as_json)
    from dragoman.cli.profile_laws import show_laws

    return show_laws(*found[0], as_json=as_json)


def find_named_target(word: str, known: Profiles) -> tuple[Target, Profiles]:
    """The target of PROFILE[/MODEL] or FILE.toml[:PROFILE/MODEL], and the profiles among which it is known."""
    file, _, name = word.partition(".toml:")
    if not name and not word.endswith(".toml"):
        return known.target(word if "/" in word else f"{word}/{ANY_MODEL}"), known
    path = Path(f"{file}.toml" if name else word)
    own = read_profiles_file(path)
    if not name and len(own) != 1:
        raise OptionError(
            f"holds {len(own)} profiles", at=str(path), hint=f"name one: {path}:{next(iter(own), 'NAME')}"
        )
    name = name or next(iter(own))
    extended = known.extended(own)
    return extended.target(name if "/" in name else f"{name}/{ANY_MODEL}"), extended


def _list(known: Profiles, as_json: bool) -> None:
    found = [known.profile(name) for name in known.names()]
    if as_json:
        plain = [{"name": one.name, "title": one.title, "dialect": one.dialect, "url": one.url} for one in found]
        echo_json(plain)
        return
    rows = [(one.name, one.title, one.dialect, one.url) for one in found]
    print_table(("profile", "title", "dialect", "address"), rows)


def stated_facts(target: Target, known: Profiles) -> Iterator[StatedFact]:
    """Every fact of a target in the order of the catalogue. A table gives one fact per entry."""
    layers = known.layers(target.profile, target.model)
    plain: dict[str, Any] = msgspec.to_builtins(target.facts)
    for fact in Facts.__struct_fields__:
        value = plain[fact]
        if fact in ("dialect", "model"):
            continue
        if isinstance(value, dict) and value:
            for entry, content in value.items():
                yield _state(f"{fact}.{entry}", content, layers, target, known)
        else:
            yield _state(fact, value, layers, target, known)
    for rule, choice in target.choices.items():
        yield StatedFact(f"rule {rule}", choice, _rule_origin(rule, layers), ())


def _state(fact: str, value: Any, layers: list[Layer], target: Target, known: Profiles) -> StatedFact:
    return StatedFact(fact, value, _origin(fact, layers), tuple(evidence(target, [fact], known)))


def _origin(fact: str, layers: list[Layer]) -> str:
    """The last layer that sets the fact."""
    table, _, entry = fact.partition(".")
    for layer in reversed(layers):
        content = layer.facts.get(table)
        if table in layer.facts and (not entry or (isinstance(content, Mapping) and entry in content)):
            return layer.origin
    return DEFAULT


def _rule_origin(rule: str, layers: list[Layer]) -> str:
    return next((layer.origin for layer in reversed(layers) if rule in layer.rules), DEFAULT)


def _show(target: Target, stated: list[StatedFact], known: Profiles) -> None:
    profile = target.profile
    title = f"{printable(profile.title or profile.name)}, {profile.dialect}"
    print_beside(f"{click.style(profile.name, bold=True)}: ", title)
    print_beside("address  ", printable(profile.url or "(you set it)"))
    if profile.key.names:
        print_beside("key      ", " or ".join(profile.key.names))
    if profile.families:
        print_beside("families ", ", ".join(profile.families))
    globs = list(dict.fromkeys(glob for models in profile.models for glob in models.globs))
    if globs:
        print_beside("models   ", f"{printable(', '.join(globs[:12]))}{', …' if len(globs) > 12 else ''}")
    rows = [(one.fact, _value(one), _shorten(one.origin, 40), _evidence(one)) for one in stated]
    print_table(("fact", "value", "set by", "evidence"), rows)


def _value(one: StatedFact) -> str:
    """The value. Of a setting only what differs from the default."""
    if not one.fact.startswith("settings."):
        return _render_value(one.value)
    usual = msgspec.to_builtins(ANY_SETTING)
    return _render_value({key: value for key, value in one.value.items() if value != usual[key]}) or "accepts"


def _render_value(value: Any) -> str:
    if isinstance(value, str):
        return value or "(none)"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_render_value(one)}" for key, one in value.items() if one not in (None, [], ()))
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value)) or "(none)"
    return "yes" if value is True else "no" if value is False else str(value)


def _evidence(one: StatedFact) -> str:
    if not one.evidence:
        return ""
    first = one.evidence[0]
    quote = f"“{first.says}”" if first.says else first.source
    more = f" (+{len(one.evidence) - 1})" if len(one.evidence) > 1 else ""
    return f"{first.kind} {first.seen}: {quote}{more}"


def _shorten(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


_NAMES = ("dialect", "provider", "family", "model")
"""Facts that say who it is, in which any two differ."""


class DifferingFact(msgspec.Struct, frozen=True):
    """A fact, and what each of the two says. None: nothing."""

    fact: str
    first: Any
    second: Any


def differing_facts(first: Target, second: Target) -> tuple[DifferingFact, ...]:
    """The facts in which two targets differ, in the order of the catalogue."""
    before, after = _flat_facts(first), _flat_facts(second)
    return tuple(
        DifferingFact(name, before.get(name), after.get(name))
        for name in dict.fromkeys((*before, *after))
        if before.get(name) != after.get(name)
    )


def show_difference(first: Target, second: Target, *, as_json: bool) -> int:
    """Print the difference. 1 if there is one."""
    found = differing_facts(first, second)
    if as_json:
        echo_json(found)
    elif found:
        rows = [(one.fact, _shown(one.first), _shown(one.second)) for one in found]
        print_table(("fact", first.profile.name, second.profile.name), rows)
    else:
        click.echo("no fact differs")
    return 1 if found else 0


def _flat_facts(target: Target) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(target.facts)
    return {name: value for name, value in flat_facts(plain).items() if name not in _NAMES}


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) and value else msgspec.json.encode(value).decode()
