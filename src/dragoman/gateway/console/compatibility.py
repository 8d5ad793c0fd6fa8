"""Message patterns and what each target makes of them: computed from facts, rules and the strict emulators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from dragoman.conversation.dialect_names import DEFAULT_DIALECT
from dragoman.dialects.dialect import AnswerContext
from dragoman.emulation.emulator_verdict import EmulatorVerdict
from dragoman.engine.exchange.exchange import Exchange
from dragoman.engine.exchange.offline_driver import compile_offline
from dragoman.engine.library.adapt import read
from dragoman.errors import DragomanError, RequestError, TargetError
from dragoman.gateway.console.body_marks import keep_choice
from dragoman.gateway.console.dry_runs import judge_dry_run, profile_destination
from dragoman.gateway.console.explained_changes import ShownReport, show_report
from dragoman.gateway.live_config import LiveConfig
from dragoman.upstream.destinations import HttpDestination

MOST_TARGETS = 16
_CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
_TOOLS = [{"type": "function", "function": {"name": "weather", "description": "The weather.", "parameters": _CITY}}]
_PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="  # one white pixel
)


def _user(text: Any) -> dict[str, Any]:
    return {"role": "user", "content": text}


def _system(text: str, role: str = "system") -> dict[str, Any]:
    return {"role": role, "content": text}


def _assistant(text: str | None, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **more}


def _call(call_id: str = "call_abc123", name: str = "weather", **more: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": '{"city":"Paris"}'}
    return _assistant(None, tool_calls=[{"id": call_id, "type": "function", "function": function}], **more)


def _result(call_id: str = "call_abc123") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "Sunny, 24 degrees."}


def _tools(name: str = "weather", parameters: Any = _CITY) -> dict[str, Any]:
    return {"tools": [{"type": "function", "function": {"name": name, "parameters": parameters}}]}


def _request(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"messages": list(messages), **more}


_HI = _user("What is the weather in Paris?")
PATTERNS: Mapping[str, dict[str, Any]] = {
    "A plain question": _request(_HI),
    "Two system messages": _request(_system("Be brief."), _system("Answer in French."), _HI),
    "A system message in the middle": _request(
        _HI, _assistant("Sunny."), _system("Answer in French."), _user("And tomorrow?")
    ),
    "A developer message": _request(_system("Be brief.", "developer"), _HI),
    "The assistant speaks first": _request(_assistant("How can I help?"), _HI),
    "Ends with the assistant": _request(_HI, _assistant("The weather in Paris is")),
    "Two user turns in a row": _request(_HI, _user("And in Rome?")),
    "No user turn": _request(_system("Write a haiku.")),
    "An empty text": _request(_HI, _assistant(""), _user("Hello?")),
    "A call and its result": _request(_HI, _call(), _result(), tools=_TOOLS),
    "A call without its result": _request(_HI, _call(), _user("Never mind."), tools=_TOOLS),
    "A result without its call": _request(_HI, _result(), _user("And tomorrow?"), tools=_TOOLS),
    "Calls, but no tools declared": _request(_HI, _call(), _result(), _user("Thanks!")),
    "A long call id": _request(_HI, _call("call_" + "x" * 70), _result("call_" + "x" * 70), tools=_TOOLS),
    "A dot in a tool's name": _request(_HI, _call(name="weather.now"), _result(), **_tools("weather.now")),
    "A field left over from a stream": _request(_HI, _call(index=0, done=True), _result(), tools=_TOOLS),
    "Reasoning of another model": _request(_HI, _assistant("Sunny.", reasoning_content="I know."), _user("Thanks!")),
    "A picture": _request(
        _user(
            [
                {"type": "text", "text": "What is this?"},
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{_PIXEL}"}},
            ]
        )
    ),
    "A schema with $ref and const": _request(
        _HI,
        **_tools(
            parameters={
                "$schema": "http://json-schema.org/draft-07/schema#",
                "$defs": {"city": {"type": "string"}},
                "type": "object",
                "properties": {"city": {"$ref": "#/$defs/city"}, "unit": {"const": "celsius"}},
            }
        ),
    ),
    "Temperature 1.8": _request(_HI, temperature=1.8),
    "A JSON schema for the answer": _request(
        _HI,
        response_format={"type": "json_schema", "json_schema": {"name": "weather", "schema": _CITY, "strict": True}},
    ),
    "Log probabilities and a seed": _request(_HI, logprobs=True, top_logprobs=2, seed=7),
}
"""Requests in the default dialect. Each shows one thing."""


class CompatibilityCell(msgspec.Struct, frozen=True, kw_only=True):
    """One pattern for one target."""

    verdict: str
    loses: str = "nothing"
    message: str = ""
    report: ShownReport | None = None
    unrepaired: EmulatorVerdict | None = None
    """What the emulator says to the request without the repairs, None if it cannot be written or judged."""
    repaired: EmulatorVerdict | None = None
    """What it says to the body that is sent."""


class CompatibilityTable(msgspec.Struct, frozen=True):
    """Which conversations each target takes."""

    targets: tuple[str, ...]
    rows: tuple[tuple[str, dict[str, Any]], ...]
    """Patterns with the request that shows them."""
    cells: tuple[tuple[CompatibilityCell, ...], ...]
    """By pattern and target."""


def compatibility_table(live: LiveConfig, targets: tuple[str, ...]) -> CompatibilityTable:
    """All patterns for some targets. It takes a moment, so a thread does it."""
    chosen = targets[:MOST_TARGETS]
    destinations = [_destination(live, name) for name in chosen]
    cells = tuple(
        tuple(_cell(live, pattern, destination) for destination in destinations) for pattern in PATTERNS.values()
    )
    return CompatibilityTable(chosen, tuple(PATTERNS.items()), cells)


def _destination(live: LiveConfig, name: str) -> HttpDestination | TargetError:
    route = live.routes.find(name)
    try:
        return route.first if route is not None else profile_destination(name, live.profiles)
    except TargetError as fault:
        return fault


def _cell(live: LiveConfig, pattern: dict[str, Any], destination: HttpDestination | TargetError) -> CompatibilityCell:
    if isinstance(destination, TargetError):
        return CompatibilityCell(verdict="refused", message=str(destination))
    ask = read(pattern, source=DEFAULT_DIALECT)
    try:
        exchange, sent = compile_offline(ask, destination, AnswerContext(model=destination.name))
    except RequestError as fault:
        return CompatibilityCell(verdict="refused", message=str(fault))
    report = show_report(sent.changes, exchange.target, live.profiles)
    return CompatibilityCell(
        verdict=report.verdict,
        loses=report.loses,
        report=report if sent.changes else None,
        unrepaired=_judge_unrepaired(exchange, destination, report) if sent.changes else None,
        repaired=judge_dry_run(destination, sent),
    )


def _judge_unrepaired(
    exchange: Exchange[HttpDestination], destination: HttpDestination, report: ShownReport
) -> EmulatorVerdict | None:
    kept: dict[str, Any] = {}
    for one in report.rules:
        kept |= keep_choice(one.rule)
    try:
        return judge_dry_run(destination, exchange.compile_with(kept))
    except DragomanError:
        return None
