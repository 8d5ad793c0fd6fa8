"""A recorded refusal that can be compiled, changed, sent and turned into a test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from dragoman.cli.inputs.compile_context import read_routes
from dragoman.cli.inputs.given_config import GivenConfig
from dragoman.cli.output.console import print_error
from dragoman.config.schema.config_file import Config
from dragoman.config.schema.providers import Provider
from dragoman.conversation.conversation import Ask, Conversation
from dragoman.conversation.dialect_names import DEFAULT_DIALECT
from dragoman.conversation.failures import Failure
from dragoman.conversation.parts import Call, Result
from dragoman.dialects import registry
from dragoman.dialects.dialect import AnswerContext, RenderOptions
from dragoman.emulation.reproducing_test import reproducing_test
from dragoman.engine.compile.compiled_request import CompiledRequest
from dragoman.engine.exchange.destination import TargetRoute
from dragoman.engine.exchange.offline_driver import compile_offline
from dragoman.engine.exchange.steps import Answered
from dragoman.errors import OptionError, TargetError
from dragoman.profiles.profile import Profiles
from dragoman.store.journals.refusal_log import RefusalLine
from dragoman.upstream.destinations import HttpDestination, Routes

_MAX_SHOWN = 24


class Reproduction(msgspec.Struct, frozen=True):
    """A refused request, and its destination now."""

    failure: RefusalLine
    request: dict[str, Any]
    dialect: str
    destination: HttpDestination
    ask: Ask
    adapted: CompiledRequest

    def of(self, request: dict[str, Any]) -> Reproduction:
        """This refusal with another request. Raises if it cannot be compiled."""
        return _compile(self.failure, request, self.dialect, self.destination)

    def direct(self) -> tuple[str, dict[str, str], bytes]:
        """The path, headers and body of the client's own request, without repairs."""
        model = self.destination.target.model
        dialect = registry.dialect(self.dialect)
        body = dict(self.request) if dialect.model_in_path else {**self.request, "model": model}
        path = dialect.request_path(RenderOptions(model, self.ask.stream), "")
        return path, {"content-type": "application/json", **dialect.headers}, msgspec.json.encode(body)

    def differs(self) -> list[str]:
        """Where the compiled body differs from the one that was sent. Texts are not compared."""
        if not isinstance(self.failure.sent_request, dict):
            return []
        return list(_differences(self.failure.sent_request, self.adapted.json, ""))

    def outline(self) -> Iterator[tuple[str, str, str]]:
        """The usual causes of refusals, as the client wrote them and as they are sent: the roles, the tools and the
        shapes that they are written in, and the call ids."""
        asked, sent = (
            _outline(self.ask.conversation, self.request),
            _outline(self.adapted.conversation, self.adapted.json),
        )
        for name, before in asked.items():
            if before or sent[name]:
                yield name, _shorten(before), _shorten(sent[name])

    def test(self, emulator: str) -> str:
        """The source of a test for this request."""
        return reproducing_test(
            request=msgspec.json.encode(self.request),
            dialect=self.dialect,
            target=f"{self.destination.target.profile.name}/{self.destination.target.model}",
            emulator=emulator,
            stream=self.ask.stream,
            error=self.failure.error,
            when=self.failure.timestamp[:10],
        )

    async def send(self, given: GivenConfig) -> tuple[Failure | None, str]:
        """Send the request to the configured provider. Returns its refusal, or its answer."""
        from dragoman.gateway.services import open_services

        services = open_services(given.file, given.env_files, in_memory=True)
        try:
            route = services.live.routes.find(self.destination.name)
            if route is None:
                hint = "configure it, or set its environment variable"
                raise OptionError(f'no provider is configured for "{self.destination.name}"', hint=hint)
            ask = replace(self.ask, stream=False)
            context = AnswerContext(model=ask.model or "", id="replay")
            dispatch = services.dispatcher.open(ask, TargetRoute((route.first,)), context)
            end = await dispatch.run()
            return dispatch.exchange.failure, end.body.decode("utf-8", "replace") if isinstance(end, Answered) else ""
        finally:
            await services.close()


def reproduction(failure: RefusalLine, target: str | None, given: GivenConfig) -> Reproduction:
    """A recorded refusal, compiled for its target or another one."""
    request = failure.input_request
    if not isinstance(request, dict):
        raise OptionError(f"the line contains no request ({str(request)[:60]})")
    dialect = failure.client_dialect or registry.recognise(request)
    if target is None:
        return _compile(failure, request, dialect, _find_destination(failure, request, given))
    return _compile(failure, request, dialect, _destination(target, given))


def _compile(failure: RefusalLine, request: dict[str, Any], dialect: str, destination: HttpDestination) -> Reproduction:
    ask = registry.dialect(dialect).requests.parse(msgspec.json.encode(request))
    if registry.dialect(dialect).model_in_path:
        ask = replace(ask, model=destination.target.model, stream=failure.stage == "stream")
    _, adapted = compile_offline(ask, destination)
    return Reproduction(failure, request, dialect, destination, ask, adapted)


_GENERIC = ("openai-compatible", "anthropic-compatible", "gemini-native-compatible")
"""Profiles for servers that nobody here knows."""


def _generic(dialect: str) -> str:
    """The profile for any server of a dialect."""
    profiles = Profiles()
    names = (*_GENERIC, *profiles.names())
    return next(name for name in names if profiles.profile(name).dialect == dialect)


def _find_destination(failure: RefusalLine, request: dict[str, Any], given: GivenConfig) -> HttpDestination:
    """The destination of the line; if its provider is not known here, any server of the same dialect."""
    params = failure.params if isinstance(failure.params, dict) else {}
    model = params.get("model") or request.get("model") or ""
    name = failure.target or f"{failure.provider}/{model}"
    try:
        return _destination(name, given)
    except TargetError as unknown:
        known = name.partition("/")[2]
        if not known:
            raise
        generic = _generic(failure.upstream_dialect or failure.client_dialect or DEFAULT_DIALECT)
        print_error(f"{unknown}; it is taken for {generic}")
        return _destination(f"{generic}/{known}", None)


def _destination(name: str, given: GivenConfig | None) -> HttpDestination:
    """The destination in the user's file, or the profile of that name."""
    profiles, route = Profiles(), None
    if given is not None and (file := given.file) is not None:
        _, profiles, routes = read_routes(file, profiles, env_files=given.env_files, quiet=True)
        route = routes.find(name)
    first, slash, _ = name.partition("/")
    if route is None and slash and first not in profiles.names():
        hint = "give its configuration with --config, or another target with --to"
        raise TargetError(f'no profile is called "{first}"', hint=hint)
    if route is None and slash:
        route = Routes(Config(providers={first: Provider(profile=first)}), profiles).find(name)
    if route is None:
        raise TargetError(f'"{name}" is not a target', hint="give one with --to PROFILE/MODEL")
    return route.first


def _outline(conversation: Conversation, body: dict[str, Any]) -> dict[str, list[str]]:
    tools = body.get("tools")
    shapes = ["+".join(sorted(tool)) for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
    calls = [part for message in conversation.messages for part in message.parts if isinstance(part, Call | Result)]
    ids = [part.id if isinstance(part, Call) else part.call_id for part in calls]
    return {
        "roles": [message.role_text or str(message.role) for message in conversation.messages],
        "tools": [getattr(tool, "name", "") or type(tool).__name__ for tool in conversation.tools],
        "shapes": list(dict.fromkeys(shapes)),
        "ids": list(dict.fromkeys(filter(None, ids))),
    }


def _shorten(items: list[str]) -> str:
    more = f" … {len(items) - _MAX_SHOWN} more" if len(items) > _MAX_SHOWN else ""
    return " ".join(items[:_MAX_SHOWN]) + more or "none"


def _differences(then: Any, now: Any, at: str) -> Iterator[str]:
    """JSON pointers to differences. Texts in the file may be masked, so only their presence counts."""
    if isinstance(then, dict) and isinstance(now, dict):
        for key in dict.fromkeys([*then, *now]):
            if (key in then) != (key in now):
                yield f"{at}/{key}"
            else:
                yield from _differences(then[key], now[key], f"{at}/{key}")
    elif isinstance(then, list) and isinstance(now, list):
        if len(then) != len(now):
            yield at
        else:
            for index, (one, other) in enumerate(zip(then, now, strict=True)):
                yield from _differences(one, other, f"{at}/{index}")
    elif type(then) is not type(now) or (not isinstance(then, str) and then != now):
        yield at
