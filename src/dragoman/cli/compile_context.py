"""What a command is asked to compile for: the target, with the user's profiles, configuration and choices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

from dragoman.cli.console import complain
from dragoman.dialects.answering import AnswerContext
from dragoman.engine.adapt import Adapted, check_choice, choose, doubt_of, loss_of, read
from dragoman.engine.compile_options import CallerOptions
from dragoman.engine.destination import Destination, Route
from dragoman.engine.exchange import Exchange, compile_offline
from dragoman.errors import OptionError, TargetError, Unrepresentable, near_match
from dragoman.profiles.facts import Doubt
from dragoman.profiles.profile import Layer, Profiles, patched, read_profiles_file
from dragoman.wire.json_reader import too_deep

Command = TypeVar("Command", bound=Callable[..., Any])

file_type = click.Path(path_type=Path, dir_okay=False)

source_option = click.option(
    "--from",
    "source",
    metavar="DIALECT",
    default="auto",
    show_default=True,
    help="The dialect of the request: openai-chat, openai-responses, anthropic, gemini, or auto.",
)
doubt_option = click.option(
    "--doubt",
    type=click.Choice([doubt.value for doubt in Doubt]),
    help="What the target may refuse, and nobody knows: leave it (faithful) or repair it (careful).",
)
lines_option = click.option("--lines", is_flag=True, help="One request a line (also known by the name *.jsonl).")


config_option = click.option(
    "--config", "-c", "config", type=file_type, help="A gateway's file: its model names, rules and facts hold."
)


def profile_options(command: Command) -> Command:
    """The options that say which profiles there are and what rules are to do."""
    for option in (
        click.option("--profiles", "profiles", type=file_type, help="A TOML file of profiles of your own."),
        click.option("--rule", "rules", metavar="NAME=VALUE", multiple=True, help="What a rule is to do; repeatable."),
    ):
        command = option(command)
    return command


class Choices(msgspec.Struct, frozen=True):
    """What the user chose, read and checked."""

    profiles: Profiles
    rules: Mapping[str, Any]
    config: Path | None = None


def chosen(profiles: Path | None, rules: tuple[str, ...], config: Path | None = None) -> Choices:
    own = read_profiles_file(profiles) if profiles is not None else {}
    return Choices(Profiles(own), dict(_rule(text) for text in rules), config)


def _rule(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not value:
        raise OptionError(f'"{text}" chooses nothing', at="--rule", hint="write --rule late-system=opening")
    check_choice(name, value)
    return name, value


class Errand(msgspec.Struct, frozen=True):
    """Where requests go, and what the user allows on the way."""

    destination: Destination
    options: CallerOptions

    @property
    def name(self) -> str:
        return self.destination.name

    def run(self, body: bytes, source: str, stream: bool | None) -> Adapted:
        try:
            ask = read(body, source=source, stream=stream)
            return compile_offline(Exchange(ask, Route((self.destination,)), AnswerContext(), self.options))
        except RecursionError:
            raise too_deep() from None
        except Unrepresentable as fault:
            if not self.options.stop_after:
                raise
            hint = f"the rules after {self.options.stop_after} would have repaired it"
            raise Unrepresentable(fault.message, at=fault.at, hint=hint) from None


def errand(
    name: str,
    given: Choices,
    *,
    max_loss: str | None = None,
    stream: bool | None = None,
    stop_after: str = "",
    doubt: str | None = None,
) -> Errand:
    """Where a name leads: by the configuration, if there is one, else as PROFILE/MODEL."""
    options = CallerOptions(
        None if max_loss is None else loss_of(max_loss),
        None if doubt is None else doubt_of(doubt),
        loosen=True,
        stream=stream,
        stop_after=stop_after,
    )
    if given.config is not None:
        return Errand(_configured(name, given, given.config), options)
    target = choose(name, given.profiles, given.rules)
    return Errand(Destination(name=target.name, provider=target.profile.name, target=target), options)


def _configured(name: str, given: Choices, config: Path) -> Destination:
    from dragoman.cli.known_names import known_names
    from dragoman.config import load
    from dragoman.upstream.destinations import Routes

    loaded = load(config, known=known_names())
    for warning in loaded.warnings:
        complain(f"warning: {warning}")
    route = Routes(loaded.config, given.profiles).find(name)
    if route is None:
        known = [*loaded.config.models, *(f"{provider}/MODEL" for provider in loaded.config.providers)]
        raise TargetError(f'"{name}" leads nowhere in {config}; {near_match(name, known)}')
    if not given.rules:
        return route.first
    return msgspec.structs.replace(route.first, target=patched(route.first.target, Layer("request", {}, given.rules)))
