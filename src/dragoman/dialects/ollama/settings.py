"""Ollama's top-level members other than the messages, both ways. Most settings stand in the member `options`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Raw

from dragoman.conversation.bounded_cache import remembered
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import quote
from dragoman.conversation.near_misses import NearMiss
from dragoman.conversation.parts import Extras, Json
from dragoman.conversation.settings import Effort, FormatKind, ResponseFormat, Settings, Thinking
from dragoman.conversation.tools import ChoiceMode
from dragoman.dialects.dialect import RenderOptions
from dragoman.dialects.ollama import NAME
from dragoman.dialects.ollama.tools import parse_tools, render_tools
from dragoman.dialects.shared.ownership import require_own
from dragoman.dialects.shared.parsing import extras_of, stream_misses
from dragoman.dialects.shared.setting_table import (
    SettingObject,
    SettingRow,
    SettingTable,
    decode_stops,
    flag,
    number,
    open_members,
    whole,
)
from dragoman.dialects.shared.top_level import (
    Members,
    ParsedMember,
    TopLevel,
    decode_value,
    join_misses,
    setting_members,
)
from dragoman.errors import MalformedRequest, Unrepresentable
from dragoman.wire.json_reader import render_list

# Thinking

_LEVELS = {b'"low"': Effort.LOW, b'"medium"': Effort.MEDIUM, b'"high"': Effort.HIGH, b'"max"': Effort.MAX}
_WORDS = {effort: level for level, effort in _LEVELS.items()}


def _parse_think(raw: Json) -> Thinking:
    if raw in (b"true", b"false"):
        return Thinking(on=raw == b"true")
    if raw not in _LEVELS:
        hint = 'send true, false, "low", "medium", "high" or "max"'
        raise MalformedRequest("think is no level of thinking", at="/think", hint=hint)
    return Thinking(effort=_LEVELS[raw])


def _render_think(thinking: Thinking) -> Json:
    if thinking.on is False or thinking.effort is Effort.NONE:
        return b"false"
    if thinking.effort is None:
        return b"true"
    if thinking.effort not in _WORDS:
        raise Unrepresentable(f"thinking with the effort {thinking.effort.value}", key="thinking")
    return _WORDS[thinking.effort]


# The format of the answer


def _parse_format(raw: Json) -> ResponseFormat | None:
    """An empty text means none."""
    if raw == b'""':
        return None
    if raw == b'"json"':
        return ResponseFormat(FormatKind.JSON)
    if raw[:1] != b"{":
        raise MalformedRequest('the format is neither "json" nor a schema', at="/format")
    return ResponseFormat(FormatKind.SCHEMA, raw)


def _render_format(form: ResponseFormat) -> Json | None:
    if form.kind is FormatKind.JSON:
        return b'"json"'
    if form.kind is FormatKind.SCHEMA and form.schema is None:
        raise Unrepresentable("a schema for the answer that is empty", key="response_format")
    return form.schema if form.kind is FormatKind.SCHEMA else None


# The options

_ROWS = (
    SettingRow("max_tokens", whole, "num_predict"),
    SettingRow("temperature", number),
    SettingRow("top_p", number),
    SettingRow("top_k", number),
    SettingRow("min_p", number),
    SettingRow("seed", whole),
    SettingRow("presence_penalty", number),
    SettingRow("frequency_penalty", number),
    SettingRow("stop", decode_stops, encode=render_list),
)
_OPTIONS = {row.member: row for row in _ROWS}
_UNBOUND = frozenset({"num_predict", "seed", "top_k"})
"""Options whose negative values mean "none of it": no limit, a random seed."""


def _parse_options(raw: Json) -> ParsedMember:
    if raw[:1] != b"{":
        raise MalformedRequest("options are not an object", at="/options")
    found: dict[str, Any] = {}
    others: dict[str, Json] = {}
    for key, value in open_members(raw, "/options").items():
        if value == b"null":
            continue
        if key not in _OPTIONS or (key in _UNBOUND and value[:1] == b"-"):
            others[key] = value
        else:
            row = _OPTIONS[key]
            found[row.field] = decode_value(row.decode, value, f"/options/{key}")
    return found, others


OPTIONS = SettingObject(member="options", rows=_ROWS, parse=_parse_options)


def _refuse_choice(settings: Settings, beside: Mapping[str, Json]) -> None:
    """The model decides whether it calls a tool. Nothing else can be said."""
    choice = settings.tool_choice
    if choice is not None and choice.mode is not ChoiceMode.AUTO:
        raise Unrepresentable(f"a tool choice of kind {choice.mode.value}", key="tool_choice")


# All settings

SETTINGS = SettingTable(
    NAME,
    (
        SettingObject(
            member="tool_choice",
            parse=lambda raw: ({}, {"": raw}),
            render=_refuse_choice,
            holds={"tool_choice": ""},
        ),
        SettingRow("logprobs", flag),
        SettingRow("top_logprobs", whole),
        SettingRow("thinking", _parse_think, "think", encode=_render_think),
        SettingRow("response_format", _parse_format, "format", encode=_render_format),
        OPTIONS,
    ),
    stop="",
    stop_listed=True,
    parse_choice=lambda raw: None,
    render_choice=lambda choice: None,
    choice="",
)
PLACES = SETTINGS.places({"reasoning_effort": ("/think",), "include": ("/think",)})
SKIPPED = frozenset({"model", "messages", "stream", "tools"})
"""Members that are no settings."""


def parse_top_level(source: Mapping[str, Raw]) -> TopLevel:
    """Settings, tools and the fields that we do not know."""
    settings, extras, misses = parse_settings(setting_members(source, SKIPPED))
    found = parse_tools(bytes(source.get("tools", b"")))
    near_misses = join_misses(found.misses, misses, stream_misses(source))
    return TopLevel(settings, found.tools, extras, found.empty, near_misses=near_misses)


@remembered
def parse_settings(members: Members) -> tuple[Settings, Extras | None, tuple[NearMiss, ...]]:
    given, misses = OPTIONS.interpret(dict(members))
    found, extras = SETTINGS.parse(tuple(given.items()))
    return Settings(**found), extras_of(NAME, extras), tuple(misses)


def render_top_level(conversation: Conversation, options: RenderOptions) -> dict[str, Json]:
    """All top-level members other than the messages. A stream is what the server gives if nobody says otherwise."""
    extras = require_own(conversation.extras, NAME)
    out: dict[str, Json] = {"model": quote(options.model)}
    if conversation.tools or conversation.empty_tools:
        out["tools"] = render_tools(conversation.tools)
    out |= SETTINGS.render(conversation.settings, conversation.extras)
    out |= {key: value for key, value in extras.items() if not key.startswith("options.")}
    out["stream"] = b"true" if options.stream else b"false"
    return out
