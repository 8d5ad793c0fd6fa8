"""What would be sent to several targets, as somebody types: nothing is sent, and nothing is fetched."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from dragoman.config.schema.config_file import Config
from dragoman.config.schema.providers import Provider
from dragoman.conversation.conversation import Ask
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.registry import dialect
from dragoman.emulation.emulator_verdict import EmulatorVerdict, emulator_for, judge_request
from dragoman.engine.compile.compiled_request import CompiledRequest
from dragoman.engine.exchange.caller_options import CallerOptions
from dragoman.engine.exchange.offline_driver import compile_offline
from dragoman.engine.library.adapt import read
from dragoman.engine.tokens.token_estimate import estimate_request
from dragoman.errors import DragomanError, TargetError
from dragoman.gateway.console.code_samples import ResendForm, resend_form
from dragoman.gateway.console.explained_changes import ShownReport, show_compiled
from dragoman.gateway.endpoints.dry_run_options import DryRunOptions
from dragoman.gateway.live_config import LiveConfig
from dragoman.profiles.profile import Profiles
from dragoman.store.exchange_state import StoredState
from dragoman.upstream.destinations import HttpDestination, Routes

MOST_TARGETS = 12


class DryRunRequest(DryRunOptions, kw_only=True):
    """A request, and the targets to compile it for."""

    request: str
    """The JSON text as somebody typed it."""
    targets: tuple[str, ...]


class RefusedDryRun(msgspec.Struct, frozen=True):
    """Why a target cannot be asked."""

    message: str
    at: str = ""
    hint: str = ""


class ShownDryRun(msgspec.Struct, frozen=True, kw_only=True):
    """One target."""

    target: str
    name: str = ""
    dialect: str = ""
    configured: bool = False
    """Whether the gateway can send to it."""
    refused: RefusedDryRun | None = None
    path: str = ""
    body: str = ""
    report: ShownReport | None = None
    judged: EmulatorVerdict | None = None
    """What its emulator says to the body."""


class ShownDryRuns(msgspec.Struct, frozen=True):
    """A request on several targets."""

    source: str = ""
    """The dialect that was recognised."""
    title: str = ""
    tokens: int = 0
    resend: ResendForm | None = None
    """How a client of it sends requests."""
    runs: tuple[ShownDryRun, ...] = ()
    refused: RefusedDryRun | None = None
    """There is no request to speak about, as while somebody is typing."""


def dry_runs(live: LiveConfig, state: StoredState[HttpDestination], wanted: DryRunRequest, caller: str) -> ShownDryRuns:
    """Compile for each target."""
    try:
        ask = read(wanted.request, source=wanted.source, stream=wanted.stream, limits=live.config.limits)
        options = wanted.options()
    except DragomanError as fault:
        return ShownDryRuns(refused=RefusedDryRun(fault.message, fault.at, fault.hint))
    runs = tuple(
        _dry_run(live, state, ask, name, options=options, caller=caller) for name in wanted.targets[:MOST_TARGETS]
    )
    return ShownDryRuns(
        ask.dialect,
        dialect(ask.dialect).title,
        estimate_request(ask.conversation),
        resend_form(ask.dialect, ask.stream),
        runs,
    )


def _dry_run(
    live: LiveConfig, state: StoredState[HttpDestination], ask: Ask, name: str, *, options: CallerOptions, caller: str
) -> ShownDryRun:
    found = live.routes.find(name, ask.dialect)
    try:
        destination = found.first if found is not None else profile_destination(name, live.profiles)
        corrected = replace(destination, target=state.correct(destination, caller)[0])
        exchange, sent = compile_offline(ask, corrected, AnswerContext(model=name), options)
        return ShownDryRun(
            target=name,
            name=destination.name,
            dialect=sent.dialect,
            configured=found is not None,
            path=sent.path,
            body=sent.body.decode("utf-8", "replace"),
            report=show_compiled(exchange, sent, live.profiles),
            judged=judge_dry_run(destination, sent),
        )
    except DragomanError as fault:
        return ShownDryRun(
            target=name, configured=found is not None, refused=RefusedDryRun(fault.message, fault.at, fault.hint)
        )


def judge_dry_run(destination: HttpDestination, sent: CompiledRequest) -> EmulatorVerdict | None:
    """The verdict of the emulator for a body; None if there is no emulator to ask."""
    try:
        emulator = emulator_for(destination.target.profile)
        return judge_request(emulator, sent.path, sent.headers, sent.body, destination.base_url)
    except (DragomanError, ImportError):  # some emulators need packages of the extra `emulators`
        return None


def profile_destination(name: str, profiles: Profiles) -> HttpDestination:
    """A target of a profile that no provider is configured for. Raises TargetError."""
    first = name.partition("/")[0]
    if first not in profiles.names():
        raise TargetError(f'no model and no profile is called "{name[:100]}"', hint="write PROVIDER/MODEL")
    route = Routes(Config(providers={first: Provider(profile=first)}), profiles).find(name)
    if route is None:
        raise TargetError(f'"{name[:100]}" is not a target', hint="write PROVIDER/MODEL")
    return route.first
