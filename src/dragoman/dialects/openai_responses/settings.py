"""Responses' top-level members other than the input, both ways."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import UNSET, Raw

from dragoman.conversation.bounded_cache import remembered
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import quote, unquote
from dragoman.conversation.near_misses import Miss, NearMiss
from dragoman.conversation.parts import Extras, Json
from dragoman.conversation.settings import UNNAMED, Effort, FormatKind, ResponseFormat, Settings
from dragoman.conversation.tools import ChoiceMode, Tool, ToolChoice
from dragoman.dialects.dialect import RenderOptions
from dragoman.dialects.near_misses.answer_formats import take_chat_format
from dragoman.dialects.openai_responses import NAME, ORIGIN, schema
from dragoman.dialects.openai_responses.message_render import render_instructions
from dragoman.dialects.openai_responses.tools import choice_names, parse_tools, render_tools, render_translated_tools
from dragoman.dialects.shared import top_level
from dragoman.dialects.shared.ownership import own_choice, require_own
from dragoman.dialects.shared.parsing import extras_of, option_misses, stream_misses
from dragoman.dialects.shared.raw_json import encode, fields_of, text_of
from dragoman.dialects.shared.rendering import put, put_text
from dragoman.dialects.shared.setting_table import (
    METADATA,
    SettingObject,
    SettingRow,
    SettingTable,
    flag,
    gather_thinking,
    number,
    whole,
    word,
)
from dragoman.dialects.shared.wire_schema import needing, open_decoder
from dragoman.errors import MalformedRequest, Unrepresentable
from dragoman.wire.json_reader import render_object, split_items, split_members

# Reasoning


def _given(raw: Json, at: str = "") -> dict[str, Json]:
    return {key: bytes(value) for key, value in split_members(raw, at).items() if bytes(value) != b"null"}


def _render_reasoning(settings: Settings, beside: Mapping[str, Json]) -> Json | None:
    thinking = settings.thinking
    out: dict[str, Json] = {}
    if thinking is not None:
        if thinking.effort is None and (thinking.on is not None or thinking.summary is None):
            raise Unrepresentable("thinking without an effort in a Responses request", key="thinking")
        if thinking.budget is not None or thinking.adaptive or thinking.visible is not None:
            raise Unrepresentable("a thinking budget or its visibility in a Responses request", key="thinking")
        put_text(out, "effort", thinking.effort)
        put_text(out, "summary", thinking.summary)
    out |= beside
    return render_object(out) if out else None


# Text: the format of the answer, and how many words it has


def _parse_text(raw: bytes) -> top_level.ParsedMember:
    wire = _given(raw)
    found: dict[str, Any] = {}
    if "verbosity" in wire:
        found["verbosity"] = word(wire.pop("verbosity"))
    form = _format(wire["format"]) if "format" in wire else None
    if form is not None:
        found["response_format"] = form
        del wire["format"]
    return found, wire


def _format(raw: bytes) -> ResponseFormat | None:
    wire = _given(raw)
    kind = _FORMATS.get(unquote(wire.pop("type")))
    if kind is None or wire.keys() - {"name", "description", "schema", "strict"}:
        return None
    if kind is not FormatKind.SCHEMA:
        return ResponseFormat(kind) if not wire else None
    description = wire.get("description", b"")
    return ResponseFormat(
        kind,
        wire.get("schema"),
        word(wire.get("name", b'""')),
        description if description[:1] == b'"' else None,
        flag(wire["strict"]) if "strict" in wire else None,
    )


_FORMATS = {"text": FormatKind.TEXT, "json_object": FormatKind.JSON, "json_schema": FormatKind.SCHEMA}


def _render_text(settings: Settings, beside: Mapping[str, Json]) -> Json | None:
    out: dict[str, Json] = {}
    form = settings.response_format
    if form is not None:
        out["format"] = _render_format(form)
    put_text(out, "verbosity", settings.verbosity)
    out |= beside
    return render_object(out) if out else None


def _render_format(form: ResponseFormat) -> Json:
    if form.kind is not FormatKind.SCHEMA:
        return b'{"type":"text"}' if form.kind is FormatKind.TEXT else b'{"type":"json_object"}'
    wire: dict[str, Json] = {"type": b'"json_schema"', "name": quote(form.name or UNNAMED)}
    if form.description is not None:
        wire["description"] = form.description
    if form.schema is not None:
        wire["schema"] = form.schema
    put(wire, "strict", form.strict)
    return render_object(wire)


_open_text = open_decoder(schema.ResponsesTextConfig)


def _shape_text(raw: Json) -> object:
    found = _open_text(raw)
    form = found.format
    if form is not UNSET and form.type == "json_schema" and UNSET in (form.name, form.schema):
        raise msgspec.ValidationError("Object missing required field `name` or `schema` - at `$.format`")
    return found


def _interpret_text(raw: Json) -> Json:
    """A schema that has no name gets one. One in Chat's form stands in an object of its own."""
    fields = fields_of(raw) or {}
    form = fields_of(fields.get("format"))
    if form is None or text_of(form.get("type")) != "json_schema":
        return raw
    inner = fields_of(form.get("json_schema"))
    if inner is not None and "schema" not in form:
        form = {name: value for name, value in (form | inner).items() if name != "json_schema"}
    elif form.get("name", b'""') != b'""':
        return raw
    if form.get("name", b'""') == b'""':
        form = form | {"name": quote(UNNAMED)}
    return render_object(fields | {"format": render_object(form)})


# The tool choice


def _parse_choice(raw: bytes) -> top_level.ParsedMember:
    if raw[:1] == b'"':
        mode = _MODES.get(unquote(raw))
        choice = ToolChoice(mode) if mode else ToolChoice(ChoiceMode.NATIVE, json=raw, origin=ORIGIN)
    else:
        choice = _named_choice(raw, msgspec.json.decode(raw))
    return {"tool_choice": choice}, {}


_MODES = {"auto": ChoiceMode.AUTO, "none": ChoiceMode.NONE, "required": ChoiceMode.REQUIRED}
_CALLABLE = ("function", "custom")


def _named_choice(raw: bytes, wire: Any) -> ToolChoice:
    match wire:
        case {"type": "function" | "custom", "name": str() as name, **rest} if not rest:
            return ToolChoice(ChoiceMode.NAMED, (name,))
        case {"type": "allowed_tools", "mode": str() as mode, "tools": list() as tools, **rest} if not rest:
            if all(isinstance(tool, dict) and isinstance(tool.get("type"), str) for tool in tools):
                return _parse_allowance(mode, tools)
        case {"type": str() as kind, **rest} if not rest:
            return ToolChoice(ChoiceMode.NATIVE, choice_names(kind), json=raw, origin=ORIGIN)
    return ToolChoice(ChoiceMode.NATIVE, json=raw, origin=ORIGIN)


def _parse_allowance(mode: str, tools: list[dict[str, Any]]) -> ToolChoice:
    names = tuple([str(tool.get("name")) for tool in tools if tool["type"] in _CALLABLE])
    vendor = tuple([(tool["type"], msgspec.json.encode(tool)) for tool in tools if tool["type"] not in _CALLABLE])
    origin = ORIGIN if vendor else None
    return ToolChoice(ChoiceMode.ALLOWED, names, mode == "required", origin=origin, vendor=vendor)


def _parse_own_choice(raw: bytes) -> ToolChoice | None:
    found: ToolChoice | None = _parse_choice(raw)[0].get("tool_choice")
    return found


def _render_choice(choice: ToolChoice, tools: top_level.Tools = ()) -> Json:
    """The choice. Each chosen tool has the type of its declaration."""
    custom = {tool.name for tool in tools if isinstance(tool, Tool) and tool.custom}
    entries = [{"type": "custom" if name in custom else "function", "name": name} for name in choice.names]
    match choice.mode:
        case ChoiceMode.NAMED:
            return encode(entries[0])
        case ChoiceMode.ALLOWED:
            listed = [msgspec.Raw(encode(entry)) for entry in entries] + [
                msgspec.Raw(json) for _, json in choice.vendor
            ]
            return encode({"type": "allowed_tools", "mode": "required" if choice.must else "auto", "tools": listed})
        case ChoiceMode.NATIVE:
            return own_choice(choice, NAME)
        case _:
            return quote(choice.mode)


# What the answer is to include


INCLUDE = "include"
_INCLUDED = {
    b'"message.output_text.logprobs"': "logprobs",
    b'"reasoning.encrypted_content"': "reasoning_state",
}
"""What the list `include` asks for → our field."""


def _parse_include(raw: bytes) -> top_level.ParsedMember:
    """The list `include`. Some of its entries are settings; the rest of the list is an extra field."""
    if not any(entry in raw for entry in _INCLUDED):
        return {}, {"": raw}
    entries = [bytes(item) for item in split_items(raw, "/include")]
    found = {_INCLUDED[entry]: True for entry in entries if entry in _INCLUDED}
    rest = [entry for entry in entries if entry not in _INCLUDED]
    return found, {"": b"[" + b",".join(rest) + b"]"} if rest else {}


def _take_chat_members(found: dict[str, Any], extras: dict[str, Json]) -> Iterator[tuple[NearMiss, ...]]:
    """What Chat says in members of its own: the flag for logprobs, and the number of words."""
    yield _take_logprobs(found, extras)
    if "verbosity" not in found and extras.get("verbosity", b"")[:1] == b'"':
        found["verbosity"] = word(extras.pop("verbosity"))
        yield (NearMiss(Miss.SETTING_NAME, "/verbosity", members=("verbosity", "text")),)


def _take_logprobs(found: dict[str, Any], extras: dict[str, Json]) -> tuple[NearMiss, ...]:
    """Chat's flag for what an entry of the list `include` asks for here."""
    if extras.get("logprobs") not in (b"true", b"false"):
        return ()
    if extras.pop("logprobs") == b"true":
        found["logprobs"] = True
    return (NearMiss(Miss.SETTING_NAME, "/logprobs", members=("logprobs", INCLUDE)),)


def _keep(raw: bytes) -> top_level.ParsedMember:
    return {}, {"": raw}


def _parse_instructions(raw: bytes) -> top_level.ParsedMember:
    """A text or a list is parsed as messages; anything else is an extra field."""
    return {}, {} if raw[:1] in (b'"', b"[") else {"": raw}


# All settings

_LIMITS = ("max_tokens", "max_completion_tokens", "maxOutputTokens", "maxTokens")

SETTINGS = SettingTable(
    NAME,
    (
        SettingRow("max_tokens", whole, "max_output_tokens", _LIMITS),
        SettingRow("temperature", number),
        SettingRow("top_p", number, names=("topP",)),
        SettingRow("frequency_penalty", number),
        SettingRow("presence_penalty", number),
        SettingRow("top_logprobs", whole),
        SettingRow("parallel_tool_calls", flag),
        SettingRow("store", flag),
        SettingRow("user", word),
        SettingRow("service_tier", word),
        SettingRow("prompt_cache_key", word),
        METADATA,
        SettingObject(
            member="reasoning",
            members=_given,
            rows=(
                SettingRow("thinking.effort", lambda raw: Effort(word(raw)), "effort", ("reasoning_effort",)),
                SettingRow("thinking.summary", word, "summary"),
            ),
            render=_render_reasoning,
            shape=open_decoder(schema.ResponsesReasoningConfig),
        ),
        SettingObject(
            member="text",
            parse=_parse_text,
            render=_render_text,
            holds={"verbosity": "/verbosity", "response_format": "/format"},
            shape=_shape_text,
            meant=_interpret_text,
        ),
        SettingObject(
            member="tool_choice",
            parse=_parse_choice,
            holds={"tool_choice": ""},
            names=("toolChoice",),
            shape=needing(str | schema.ResponsesChoice, "name", *_CALLABLE),
        ),
        SettingObject(
            member=INCLUDE,
            parse=_parse_include,
            holds=dict.fromkeys(_INCLUDED.values(), ""),
            shape=msgspec.json.Decoder(list[str]).decode,
            spare=True,
        ),
        SettingObject(member="instructions", parse=_parse_instructions),
        SettingObject(member="truncation", parse=_keep, shape=word, spare=True),
        SettingObject(member="max_tool_calls", parse=_keep, shape=whole),
    ),
    stop="",
    stop_listed=False,
    parse_choice=_parse_own_choice,
    render_choice=_render_choice,
    odd_form=(*top_level.ODD_FORM, MalformedRequest),
)
PLACES = SETTINGS.places(
    {
        "user": ("/user", "/safety_identifier"),
        "thinking": ("/reasoning",),
        "reasoning_effort": ("/reasoning/effort", "/reasoning"),
    }
)
_decode_stream_options = open_decoder(schema.ResponsesStreamOptions)


def _open_stream_options(raw: bytes) -> object:
    """Chat's option that asks for the usage is refused here: every answer has it."""
    if "include_usage" in (fields_of(raw) or ()):
        raise msgspec.ValidationError("Object contains unknown field `include_usage`")
    return _decode_stream_options(raw)


SKIPPED = frozenset({"model", "input", "stream", "stream_options", "tools"})
"""Members that are parsed elsewhere."""


def parse_top_level(source: Mapping[str, Raw]) -> top_level.TopLevel:
    """Settings, tools and the fields that we do not know."""
    settings, extras, misses = parse_settings(top_level.setting_members(source, SKIPPED))
    found = parse_tools(bytes(source.get("tools", b"")))
    options = option_misses(source, _open_stream_options) if "stream_options" in source else ()
    near_misses = top_level.join_misses(found.misses, misses, stream_misses(source), options)
    return top_level.TopLevel(settings, found.tools, extras, found.empty, near_misses=near_misses)


@remembered
def parse_settings(members: top_level.Members) -> tuple[Settings, Extras | None, tuple[NearMiss, ...]]:
    members, misses = SETTINGS.interpret(members)
    found, extras = SETTINGS.parse(members)
    misses = top_level.join_misses(misses, take_chat_format(found, extras, "text"), *_take_chat_members(found, extras))
    gather_thinking(found)
    return Settings(**found), extras_of(NAME, extras), misses


def render_top_level(conversation: Conversation, options: RenderOptions) -> dict[str, Json]:
    """All top-level members other than the input."""
    if conversation.hint is not None:
        raise Unrepresentable("a cache hint in a Responses request", key="cache_control")
    settings = conversation.settings
    extras = require_own(conversation.extras, NAME)
    out: dict[str, Json] = {"model": quote(options.model)}
    instructions = render_instructions(conversation.messages)
    if instructions is not None:
        out["instructions"] = instructions
    if conversation.tools or conversation.empty_tools:
        render = render_translated_tools if options.translated else render_tools
        out["tools"] = render(conversation.tools)
    out |= SETTINGS.render(settings, conversation.extras)
    if settings.tool_choice is not None:
        out["tool_choice"] = _render_choice(settings.tool_choice, conversation.tools)
    if options.stream:
        out["stream"] = b"true"
    out |= {key: value for key, value in extras.items() if "." not in key}
    _render_include(settings, out)
    if options.translated:
        out.setdefault("store", b"false")  # silence means yes here, and no in all other dialects
    return out


def _render_include(settings: Settings, out: dict[str, Json]) -> None:
    asked = [entry for entry, field in _INCLUDED.items() if getattr(settings, field)]
    if asked:
        rest = [bytes(item) for item in split_items(out.get(INCLUDE, b"[]"))]
        out[INCLUDE] = b"[" + b",".join([*rest, *asked]) + b"]"
