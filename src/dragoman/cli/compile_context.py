"""What a command compiles for: the target, with the user's profiles, configuration and choices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

from dragoman.cli.console import print_error
from dragoman.conversation.changes import Loss
from dragoman.engine.adapt import Adapted, Options, check_choice, choose, compile_ask, loss_of, read
from dragoman.errors import OptionError, TargetError, Unrepresentable, near_match
from dragoman.profiles.profile import Layer, Profiles, Target, patched, read_profiles_file
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
lines_option = click.option(
    "--lines", is_flag=True, help="FILE has one request per line (implied by the name *.jsonl)."
)


config_option = click.option(
    "--config", "-c", "config", type=file_type, help="A gateway configuration: use its model names, rules and facts."
)


def profile_options(command: Command) -> Command:
    """The options for profiles and rules."""
    for option in (
        click.option("--profiles", "profiles", type=file_type, help="A TOML file with your own profiles."),
        click.option(
            "--rule", "rules", metavar="NAME=VALUE", multiple=True, help="Set the option of a rule; repeatable."
        ),
    ):
        command = option(command)
    return command


class UserChoices(msgspec.Struct, frozen=True):
    """The user's profiles, rule options and configuration file, checked."""

    profiles: Profiles
    rules: Mapping[str, Any]
    config: Path | None = None


def parse_choices(profiles: Path | None, rules: tuple[str, ...], config: Path | None = None) -> UserChoices:
    user_profiles = read_profiles_file(profiles) if profiles is not None else {}
    return UserChoices(Profiles(user_profiles), dict(_parse_rule(text) for text in rules), config)


def _parse_rule(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not value:
        raise OptionError(f'"{text}" names no option', at="--rule", hint="write --rule late-system=opening")
    check_choice(name, value)
    return name, value


class CompileContext(msgspec.Struct, frozen=True):
    """A target and the options to compile for it. `finish` adds what a configuration sets for a model."""

    target: Target
    name: str
    options: Options
    finish: Callable[[Adapted], Adapted] = lambda adapted: adapted

    def compile(self, body: bytes, source: str, stream: bool | None) -> Adapted:
        try:
            ask = read(body, source=source, stream=stream)
            return self.finish(compile_ask(ask, self.target, self.options))
        except RecursionError:
            raise too_deep() from None
        except Unrepresentable as error:
            if not self.options.stop_after:
                raise
            hint = f"the rules after {self.options.stop_after} would have repaired it"
            raise Unrepresentable(error.message, at=error.at, hint=hint) from None


def compile_context(
    name: str, choices: UserChoices, *, max_loss: str | None = None, stream: bool | None = None, stop_after: str = ""
) -> CompileContext:
    """The context for a target: a model of the configuration if there is one, else PROFILE/MODEL."""
    limit = Loss.CONTENT if max_loss is None else loss_of(max_loss)
    if choices.config is None:
        target = choose(name, choices.profiles, choices.rules)
        return CompileContext(target, target.name, Options(limit, stream=stream, stop_after=stop_after))
    return _context_from_config(name, choices, None if max_loss is None else limit, stream, stop_after)


def _context_from_config(
    name: str, choices: UserChoices, limit: Loss | None, stream: bool | None, stop_after: str
) -> CompileContext:
    from dragoman.cli.known_names import known_names
    from dragoman.config import load
    from dragoman.upstream.configured_options import configured
    from dragoman.upstream.destinations import Routes

    loaded = load(choices.config, known=known_names())
    for warning in loaded.warnings:
        print_error(f"warning: {warning}")
    found = Routes(loaded.config, choices.profiles).find(name)
    if not found:
        known = [*loaded.config.models, *(f"{provider}/MODEL" for provider in loaded.config.providers)]
        raise TargetError(f'{choices.config} has no model "{name}"; {near_match(name, known)}')
    destination = found[0]
    target = patched(destination.target, Layer("request", {}, choices.rules)) if choices.rules else destination.target
    options = Options(
        destination.max_loss if limit is None else limit, destination.synthetic, stream=stream, stop_after=stop_after
    )
    return CompileContext(target, destination.name, options, lambda adapted: configured(adapted, destination))
