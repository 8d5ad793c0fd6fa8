"""Anthropic's top-level members other than the messages, both ways."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from dragoman.conversation.bounded_cache import remembered
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import quote, unquote
from dragoman.conversation.near_misses import NearMiss
from dragoman.conversation.parts import CacheHint, Extras, Json
from dragoman.conversation.settings import EARLY_FORMAT, EFFORT_ALONE, Effort, FormatKind, ResponseFormat, Settings
from dragoman.conversation.tools import ChoiceMode, ToolChoice
from dragoman.dialects.anthropic import NAME, ORIGIN, schema
from dragoman.dialects.anthropic.message_render import render_system
from dragoman.dialects.anthropic.tools import parse_tools, render_tools
from dragoman.dialects.dialect import RenderOptions
from dragoman.dialects.families.claude_thinking import parse_claude_thinking, render_claude_thinking
from dragoman.dialects.near_misses.answer_formats import CHAT_MEMBER, render_chat_format, take_chat_format
from dragoman.dialects.near_misses.misfits import without_misfits
from dragoman.dialects.shared.ownership import own_choice, require_own
from dragoman.dialects.shared.parsing import cache_hint, extras_of, stream_misses
from dragoman.dialects.shared.raw_json import NULL, fields_of, text_of
from dragoman.dialects.shared.setting_table import (
    SettingObject,
    SettingRow,
    SettingTable,
    decode_stops,
    gather_thinking,
    number,
    whole,
    word,
)
from dragoman.dialects.shared.top_level import Members, ParsedMember, TopLevel, join_misses, setting_members
from dragoman.dialects.shared.wire_schema import needing, open_decoder
from dragoman.errors import Unrepresentable
from dragoman.wire.json_reader import render_list, render_object, split_members

# Thinking

_ADAPTIVE, _DISABLED = b'{"type":"adaptive"}', b'{"type":"disabled"}'


def _render_thinking(settings: Settings, beside: Mapping[str, Json]) -> Json | None:
    thinking = settings.thinking
    wire = render_claude_thinking(thinking, NAME) if thinking is not None else {}
    if thinking is not None and thinking.on is False:
        beside = {}  # nothing stands beside `disabled`: how thoughts are shown goes with them
    return render_object(wire | dict(beside)) if wire else None


def _interpret_thinking(raw: Json) -> Json:
    """Thinking as a word or a truth value, or without a budget: then the model decides how much."""
    if raw in (b"true", b"false"):
        return _ADAPTIVE if raw == b"true" else _DISABLED
    fields = fields_of(raw)
    kind = text_of(raw) if fields is None else text_of(fields.get("type"))
    if fields is None:
        return {"enabled": _ADAPTIVE, "adaptive": _ADAPTIVE, "disabled": _DISABLED}.get(kind, raw)
    if kind != "enabled" or fields.get("budget_tokens", NULL) != NULL:
        return raw
    fields.pop("budget_tokens", None)
    return render_object({**fields, "type": quote("adaptive")})


# The format of the answer


def _parse_format(raw: Json) -> ResponseFormat:
    wire = split_members(raw, "/output_config/format")
    if bytes(wire["type"]) != b'"json_schema"' or wire.keys() - {"type", "schema"}:
        raise ValueError("format")
    return ResponseFormat(FormatKind.SCHEMA, bytes(wire["schema"]))


def _parse_early_format(raw: Json) -> ParsedMember:
    return {"response_format": replace(_parse_format(raw), wire_form=EARLY_FORMAT)}, {}


def _render_early_format(settings: Settings, _: Mapping[str, Json]) -> Json | None:
    form = settings.response_format
    return _render_schema_format(form) if form is not None and form.wire_form == EARLY_FORMAT else None


def _render_format(form: ResponseFormat) -> Json | None:
    if form.wire_form == EARLY_FORMAT or (form.wire_form == CHAT_MEMBER and form.kind is not FormatKind.SCHEMA):
        return None
    return _render_schema_format(form)


def _render_schema_format(form: ResponseFormat) -> Json:
    if form.kind is not FormatKind.SCHEMA or form.schema is None:
        raise Unrepresentable(f"a response format of kind {form.kind.value}", key="response_format")
    return b'{"type":"json_schema","schema":' + form.schema + b"}"


# The tool choice, and whether calls may be parallel

_MODES = {"auto": ChoiceMode.AUTO, "any": ChoiceMode.REQUIRED, "none": ChoiceMode.NONE}
_KINDS = {mode: kind for kind, mode in _MODES.items()}


def _parse_choice(raw: Json) -> ParsedMember:
    wire = msgspec.json.decode(raw)
    found: dict[str, Any] = {}
    disable = wire.pop("disable_parallel_tool_use", None)
    if disable is not None:
        found["parallel_tool_calls"] = not disable
    match wire:
        case {"type": "tool", "name": str() as name}:
            found["tool_choice"] = ToolChoice(ChoiceMode.NAMED, (name,))
        case {"type": str() as kind} if kind in _MODES:
            found["tool_choice"] = ToolChoice(_MODES[kind])
        case _:
            found["tool_choice"] = ToolChoice(ChoiceMode.NATIVE, json=raw, origin=ORIGIN)
    return found, {}


def _render_choice(settings: Settings, beside: Mapping[str, Json]) -> Json | None:
    choice, parallel = settings.tool_choice, settings.parallel_tool_calls
    if choice is None and parallel is None:
        return None
    mode = choice.mode if choice is not None else ChoiceMode.AUTO
    if choice is not None and mode is ChoiceMode.NATIVE:
        return own_choice(choice, NAME)
    if choice is not None and mode is ChoiceMode.NAMED:
        wire: dict[str, Json] = {"type": b'"tool"', "name": quote(choice.names[0])}
    elif mode in _KINDS:
        wire = {"type": quote(_KINDS[mode])}
    else:
        raise Unrepresentable(f"a tool choice of kind {mode.value}", key="tool_choice")
    if parallel is not None and mode is not ChoiceMode.NONE:
        wire["disable_parallel_tool_use"] = b"false" if parallel else b"true"
    return render_object(wire)


def _parse_own_choice(raw: Json) -> ToolChoice | None:
    found: ToolChoice | None = _parse_choice(raw)[0].get("tool_choice")
    return found


def _render_any_choice(choice: ToolChoice) -> Json | None:
    written = choice.mode is ChoiceMode.NAMED or choice.mode in _KINDS
    return _render_choice(Settings(tool_choice=choice), {}) if written else None


# All settings

_LIMITS = ("max_completion_tokens", "max_output_tokens", "maxOutputTokens", "maxTokens", "max_tokens_to_sample")

SETTINGS = SettingTable(
    NAME,
    (
        SettingRow("max_tokens", whole, names=_LIMITS),
        SettingRow("temperature", number),
        SettingRow("top_p", number, names=("topP",)),
        SettingRow("top_k", number, names=("topK",)),
        SettingRow("service_tier", word),
        SettingRow("stop", decode_stops, "stop_sequences", ("stop", "stopSequences"), render_list),
        SettingObject(
            member="thinking",
            parse=parse_claude_thinking,
            render=_render_thinking,
            holds={"thinking": ""},
            shape=needing(schema.AnthropicThinkingConfig, "budget_tokens", "enabled"),
            meant=_interpret_thinking,
        ),
        SettingObject(
            member="output_config",
            rows=(
                SettingRow("thinking.effort", lambda raw: Effort(unquote(raw)), "effort", ("reasoning_effort",)),
                SettingRow("response_format", _parse_format, "format", encode=_render_format),
            ),
            shape=open_decoder(schema.AnthropicOutputConfig),
        ),
        SettingObject(
            member=EARLY_FORMAT,
            parse=_parse_early_format,
            render=_render_early_format,
            holds={"response_format": ""},
        ),
        SettingObject(
            member="tool_choice",
            parse=_parse_choice,
            render=_render_choice,
            holds={"tool_choice": "", "parallel_tool_calls": "/disable_parallel_tool_use"},
            shape=needing(schema.AnthropicToolChoice, "name", "tool"),
            names=("toolChoice",),
        ),
        SettingObject(
            member="metadata",
            rows=(SettingRow("user", word, "user_id"),),
            shape=open_decoder(schema.AnthropicMetadata),
            spare=True,
        ),
    ),
    stop="stop_sequences",
    stop_listed=True,
    parse_choice=_parse_own_choice,
    render_choice=_render_any_choice,
)
_THOUGHTS = ("/thinking", "/output_config/effort")
PLACES = SETTINGS.places({"reasoning_effort": (*_THOUGHTS[1:], *_THOUGHTS[:1]), "include": _THOUGHTS})
SKIPPED = frozenset({"model", "messages", "system", "stream", "tools", "cache_control"})
"""Members that are no settings."""


def parse_top_level(source: Mapping[str, Raw]) -> TopLevel:
    """Settings, tools, the cache hint and the fields that we do not know."""
    settings, extras, misses = parse_settings(setting_members(source, SKIPPED, nulls=True))
    found = parse_tools(bytes(source.get("tools", b"")))
    hint, odd = _parse_hint(bytes(source.get("cache_control", b"")))
    near_misses = join_misses(found.misses, misses, odd, stream_misses(source))
    return TopLevel(settings, found.tools, extras, found.empty, hint, near_misses=near_misses)


def _parse_hint(raw: Json) -> tuple[CacheHint | None, tuple[NearMiss, ...]]:
    """The hint, without what does not fit."""
    trimmed = without_misfits(raw, schema.decode_hint) if raw[:1] == b"{" else None
    if trimmed is None or not trimmed.misfits:
        return cache_hint(Raw(raw)), ()
    misses = [
        NearMiss(one.kind, f"/cache_control{one.below}", members=("cache_control",), lost=one.lost)
        for one in trimmed.misfits
    ]
    return cache_hint(Raw(trimmed.raw)), tuple(misses)


@remembered
def parse_settings(members: Members) -> tuple[Settings, Extras | None, tuple[NearMiss, ...]]:
    members, misses = SETTINGS.interpret(members)
    found, extras = SETTINGS.parse(members)
    misses = join_misses(misses, take_chat_format(found, extras, "output_config"))
    gather_thinking(found, wire_form="" if "thinking.on" in found else EFFORT_ALONE)
    return Settings(**found), extras_of(NAME, extras), misses


def render_top_level(conversation: Conversation, options: RenderOptions) -> dict[str, Json]:
    extras = require_own(conversation.extras, NAME)
    out: dict[str, Json] = {"model": quote(options.model)}
    system = render_system(conversation.messages)
    if system is not None:
        out["system"] = system
    if conversation.tools or conversation.empty_tools:
        out["tools"] = render_tools(conversation.tools)
    out |= SETTINGS.render(conversation.settings, conversation.extras)
    form = conversation.settings.response_format
    if form is not None and form.wire_form == CHAT_MEMBER and form.kind is not FormatKind.SCHEMA:
        out[CHAT_MEMBER] = render_chat_format(form)
    if conversation.hint is not None:
        out["cache_control"] = conversation.hint.json
    if options.stream:
        out["stream"] = b"true"
    if extras:
        out |= {key: value for key, value in extras.items() if "." not in key}
    return out
