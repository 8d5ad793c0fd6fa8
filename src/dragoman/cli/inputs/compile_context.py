"""What a command compiles for: the target, with the user's profiles, configuration and choices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec
from msgspec.structs import replace

from dragoman.cli.output.console import print_error
from dragoman.cli.value_completion import complete_dialects, complete_formats, complete_rule_choices
from dragoman.engine.compile.compiled_request import CompiledRequest
from dragoman.engine.exchange.caller_options import CallerOptions
from dragoman.engine.exchange.destination import Destination
from dragoman.engine.exchange.offline_driver import compile_offline
from dragoman.engine.library.adapt import choose, read
from dragoman.engine.library.policy import check_choice, parse_doubt, parse_loss
from dragoman.errors import OptionError, TargetError, Unrepresentable, near_match
from dragoman.profiles.doubts import Doubt
from dragoman.profiles.profile import Layer, Profiles, patch_target, read_profiles_file
from dragoman.wire.json_reader import too_deep

if TYPE_CHECKING:
    from dragoman.config.load import Loaded
    from dragoman.upstream.destinations import Routes

Command = TypeVar("Command", bound=Callable[..., Any])

file_type = click.Path(path_type=Path, dir_okay=False)

source_option = click.option(
    "--from",
    "source",
    metavar="DIALECT",
    default="auto",
    show_default=True,
    shell_complete=complete_dialects,
    help="The dialect of the request: openai-chat, openai-responses, anthropic, gemini, or auto.",
)
format_option = click.option(
    "--from",
    "source",
    metavar="FORMAT",
    default="auto",
    show_default=True,
    shell_complete=complete_formats,
    help="The dialect of the requests, such as openai-chat; or a format of transcripts, such as claude-code; or auto.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
details_option = click.option("--details", is_flag=True, help="Print what is found in each line, not only the table.")
jobs_option = click.option(
    "--jobs", "-j", type=click.IntRange(1, 64), default=1, show_default=True, help="Processes for JSON Lines."
)
doubt_option = click.option(
    "--doubt",
    type=click.Choice([doubt.value for doubt in Doubt]),
    help="What the target may refuse, and nobody knows: leave it (faithful) or repair it (careful).",
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
            "--rule",
            "rules",
            metavar="NAME=VALUE",
            multiple=True,
            shell_complete=complete_rule_choices,
            help="Set the option of a rule; repeatable.",
        ),
    ):
        command = option(command)
    return command


class UserChoices(msgspec.Struct, frozen=True):
    """The user's profiles, rule options and configuration file, checked."""

    profiles: Profiles
    rules: Mapping[str, Any]
    config: Path | None = None
    quiet: bool = False
    """Print no warnings about the configuration."""


def parse_choices(
    profiles: Path | None, rules: tuple[str, ...], config: Path | None = None, quiet: bool = False
) -> UserChoices:
    user_profiles = read_profiles_file(profiles, _choice_refusal) if profiles is not None else {}
    return UserChoices(Profiles(user_profiles), dict(_parse_rule(text) for text in rules), config, quiet)


def _choice_refusal(rule: str, choice: Any) -> str | None:
    try:
        check_choice(rule, choice)
    except OptionError as fault:
        return fault.message
    return None


def _parse_rule(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not value:
        raise OptionError(f'"{text}" names no option', at="--rule", hint="write --rule late-system=opening")
    check_choice(name, value)
    return name, value


class CompileContext(msgspec.Struct, frozen=True):
    """The destination of requests, and the user's options."""

    destination: Destination
    options: CallerOptions

    @property
    def name(self) -> str:
        return self.destination.name

    def compile(self, body: bytes, source: str, stream: bool | None) -> CompiledRequest:
        try:
            ask = read(body, source=source, stream=stream)
            return compile_offline(ask, self.destination, options=self.options)[1]
        except RecursionError:
            raise too_deep() from None
        except Unrepresentable as error:
            if not self.options.stop_after:
                raise
            hint = f"the rules after {self.options.stop_after} would have repaired it"
            raise Unrepresentable(error.message, at=error.at, hint=hint) from None


def compile_context(
    name: str,
    choices: UserChoices,
    *,
    max_loss: str | None = None,
    stream: bool | None = None,
    stop_after: str = "",
    doubt: str | None = None,
) -> CompileContext:
    """The context for a target: a model of the configuration if there is one, else PROFILE/MODEL."""
    options = CallerOptions(
        None if max_loss is None else parse_loss(max_loss),
        None if doubt is None else parse_doubt(doubt),
        loosen=True,
        stream=stream,
        stop_after=stop_after,
    )
    if choices.config is not None:
        return CompileContext(_find_configured(name, choices, choices.config), options)
    try:
        target = choose(name, choices.profiles, choices.rules)
    except TargetError as error:
        error.hint += "" if "/" in name else "; for a model of your configuration, add --config FILE"
        raise
    return CompileContext(Destination(name=target.name, provider=target.profile.name, target=target), options)


def read_routes(
    file: Path | None, profiles: Profiles, *, env_files: tuple[Path, ...] = (), quiet: bool = False
) -> tuple[Loaded, Profiles, Routes]:
    """A configuration, the profiles with those that it brings along, and where names lead by both. `quiet`: its
    warnings are not printed."""
    from dragoman.config.load import load, profile_files
    from dragoman.gateway.config_names import collect_names, own_profiles
    from dragoman.upstream.destinations import Routes

    loaded = load(file, known=collect_names(profiles), env_files=env_files)
    for warning in () if quiet else loaded.warnings:
        print_error(f"warning: {warning}")
    known = own_profiles(profile_files(loaded.config, file.parent if file is not None else Path()), profiles)
    return loaded, known, Routes(loaded.config, known)


def _find_configured(name: str, choices: UserChoices, config: Path) -> Destination:
    loaded, profiles, routes = read_routes(config, choices.profiles, quiet=choices.quiet)
    route = routes.find(name)
    if route is None and name.partition("/")[0] in profiles.names():
        target = choose(name, profiles, choices.rules)
        return Destination(name=target.name, provider=target.profile.name, target=target)
    if route is None:
        known = [*loaded.config.models, *(f"{provider}/MODEL" for provider in loaded.config.providers)]
        raise TargetError(f'{config} has no model "{name}". {near_match(name, known)}')
    if not choices.rules:
        return route.first
    return replace(route.first, target=patch_target(route.first.target, Layer("request", {}, choices.rules)))
