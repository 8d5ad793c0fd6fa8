"""Responses' top-level members other than the input, both ways."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw

from dragoman.conversation.bounded_cache import remembered
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import quote, unquote
from dragoman.conversation.near_misses import NearMiss
from dragoman.conversation.parts import Extras, Json
from dragoman.conversation.settings import Effort, FormatKind, ResponseFormat, Settings, Thinking
from dragoman.conversation.tools import ChoiceMode, Tool, ToolChoice
from dragoman.dialects.dialect import MemberPlaces, RenderOptions
from dragoman.dialects.near_misses.answer_formats import take_chat_format
from dragoman.dialects.near_misses.settings import SettingForm, meant_settings
from dragoman.dialects.openai_responses import NAME, ORIGIN
from dragoman.dialects.openai_responses.message_render import render_instructions
from dragoman.dialects.openai_responses.setting_shapes import SHAPES, SPARE
from dragoman.dialects.openai_responses.tools import parse_tools, render_tools, render_translated_tools
from dragoman.dialects.ownership import own_choice, require_own
from dragoman.dialects.parsing import extras_of, stream_misses
from dragoman.dialects.rendering import RenderedSettings, put, put_text, refuse_settings
from dragoman.dialects.top_level import (
    ODD_FORM,
    Members,
    ParsedMember,
    PlainMembers,
    SpecialMembers,
    TopLevel,
    decode_flag,
    decode_number,
    decode_whole,
    decode_word,
    joined_misses,
    parse_members,
    places_of,
    setting_members,
)
from dragoman.errors import MalformedRequest, Unrepresentable
from dragoman.wire.json_reader import render_object, split_items, split_members

PLAIN: PlainMembers = {
    "max_output_tokens": ("max_tokens", decode_whole),
    "temperature": ("temperature", decode_number),
    "top_p": ("top_p", decode_number),
    "frequency_penalty": ("frequency_penalty", decode_number),
    "presence_penalty": ("presence_penalty", decode_number),
    "top_logprobs": ("top_logprobs", decode_whole),
    "parallel_tool_calls": ("parallel_tool_calls", decode_flag),
    "store": ("store", decode_flag),
    "user": ("user", decode_word),
    "service_tier": ("service_tier", decode_word),
    "prompt_cache_key": ("prompt_cache_key", decode_word),
}
"""Name of a member → our field and its decoder."""

SKIPPED = frozenset({"model", "input", "stream", "stream_options", "tools"})
"""Members that are parsed elsewhere."""

NOT_SUPPORTED = ("top_k", "min_p", "seed", "n")
"""Settings that Responses has no member for."""


INCLUDE = "include"
_INCLUDED = {
    b'"message.output_text.logprobs"': "logprobs",
    b'"reasoning.encrypted_content"': "reasoning_state",
}
"""What the list `include` asks for → our field."""


def parse_top_level(source: Mapping[str, Raw]) -> TopLevel:
    """Settings, tools and the fields that we do not know."""
    settings, extras, misses = parse_settings(setting_members(source, SKIPPED))
    found = parse_tools(bytes(source.get("tools", b"")))
    near_misses = joined_misses(found.misses, misses, stream_misses(source))
    return TopLevel(settings, found.tools, extras, found.empty, near_misses=near_misses)


@remembered
def parse_settings(members: Members) -> tuple[Settings, Extras | None, tuple[NearMiss, ...]]:
    members, misses = meant_settings(members, FORM)
    found, extras = parse_members(members, PLAIN, PARSERS, (*ODD_FORM, MalformedRequest))
    misses = joined_misses(misses, take_chat_format(found, extras, "text"))
    return Settings(**found), extras_of(NAME, extras), misses


def _given(raw: bytes) -> dict[str, bytes]:
    return {key: bytes(value) for key, value in split_members(raw).items() if bytes(value) != b"null"}


def _parse_reasoning(raw: bytes) -> ParsedMember:
    wire = _given(raw)
    fields: dict[str, Any] = {}
    if "effort" in wire:
        fields["effort"] = Effort(decode_word(wire.pop("effort")))
    if "summary" in wire:
        fields["summary"] = decode_word(wire.pop("summary"))
    return ({"thinking": Thinking(**fields)} if fields else {}), wire


def _parse_text(raw: bytes) -> ParsedMember:
    wire = _given(raw)
    found: dict[str, Any] = {}
    if "verbosity" in wire:
        found["verbosity"] = decode_word(wire.pop("verbosity"))
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
        decode_word(wire.get("name", b'""')),
        description if description[:1] == b'"' else None,
        decode_flag(wire["strict"]) if "strict" in wire else None,
    )


_FORMATS = {"text": FormatKind.TEXT, "json_object": FormatKind.JSON, "json_schema": FormatKind.SCHEMA}


def _parse_choice(raw: bytes) -> ParsedMember:
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
            if all(tool.keys() == {"type", "name"} and tool["type"] in _CALLABLE for tool in tools):
                names = tuple([str(tool["name"]) for tool in tools])
                return ToolChoice(ChoiceMode.ALLOWED, names, mode == "required")
    return ToolChoice(ChoiceMode.NATIVE, json=raw, origin=ORIGIN)


def _parse_metadata(raw: bytes) -> ParsedMember:
    return {"metadata": raw}, {}


def _parse_include(raw: bytes) -> ParsedMember:
    """The list `include`. Some of its entries are settings; the rest of the list is an extra field."""
    if not any(entry in raw for entry in _INCLUDED):
        return {}, {"": raw}
    entries = [bytes(item) for item in split_items(raw, "/include")]
    found = {_INCLUDED[entry]: True for entry in entries if entry in _INCLUDED}
    rest = [entry for entry in entries if entry not in _INCLUDED]
    return found, {"": b"[" + b",".join(rest) + b"]"} if rest else {}


def _parse_instructions(raw: bytes) -> ParsedMember:
    """A text or a list is parsed as messages; anything else is an extra field."""
    return {}, {} if raw[:1] in (b'"', b"[") else {"": raw}


PARSERS: SpecialMembers = {
    "reasoning": _parse_reasoning,
    "text": _parse_text,
    "tool_choice": _parse_choice,
    "metadata": _parse_metadata,
    "include": _parse_include,
    "instructions": _parse_instructions,
}


def _own_choice(raw: bytes) -> ToolChoice | None:
    found: ToolChoice | None = _parse_choice(raw)[0].get("tool_choice")
    return found


def _written_choice(choice: ToolChoice) -> Json | None:
    if choice.mode is ChoiceMode.NAMED:
        return b'{"type":"function","name":%b}' % quote(choice.names[0])
    return None if choice.mode is ChoiceMode.ALLOWED else quote(choice.mode)


FORM = SettingForm(
    PLAIN,
    {
        "max_tokens": "max_output_tokens",
        "max_completion_tokens": "max_output_tokens",
        "maxOutputTokens": "max_output_tokens",
        "maxTokens": "max_output_tokens",
        "topP": "top_p",
        "toolChoice": "tool_choice",
    },
    "",
    False,
    _own_choice,
    _written_choice,
    shapes=SHAPES,
    spare=SPARE,
)
"""How Responses writes settings, and what other dialects call them."""


PLACES = MemberPlaces(
    {
        **places_of(PLAIN),
        "logprobs": (f"/{INCLUDE}",),
        "user": ("/user", "/safety_identifier"),
        "verbosity": ("/text/verbosity",),
        "response_format": ("/text/format",),
        "thinking": ("/reasoning",),
        "reasoning_effort": ("/reasoning/effort", "/reasoning"),
    }
)
"""Where a request holds its settings and tools."""


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
    out |= render_settings(settings, conversation.extras)
    _render_choice(conversation, out)
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


def _render_settings(settings: Settings, extras: Mapping[str, Json]) -> dict[str, Json]:
    """The members of the settings, each object with the extra fields that stood in it."""
    refuse_settings(settings, NOT_SUPPORTED, NAME)
    if settings.stop:
        raise Unrepresentable(f"stop in a request of {NAME}", key="stop")
    out: dict[str, Json] = {}
    for key, (field, _) in PLAIN.items():
        put(out, key, getattr(settings, field))
    if settings.metadata is not None:
        out["metadata"] = settings.metadata
    _render_object("reasoning", _thinking(settings.thinking), extras, out)
    _render_object("text", _text(settings), extras, out)
    return out


render_settings = RenderedSettings(_render_settings)


def _render_object(key: str, fields: dict[str, Json], extras: Mapping[str, Json], out: dict[str, Json]) -> None:
    """An object of known members and of the extra fields that stood in it."""
    head = key + "."
    fields |= {name[len(head) :]: value for name, value in extras.items() if name.startswith(head)}
    if fields:
        out[key] = render_object(fields)


def _thinking(thinking: Thinking | None) -> dict[str, Json]:
    if thinking is None:
        return {}
    if thinking.effort is None and (thinking.on is not None or thinking.summary is None):
        raise Unrepresentable("thinking without an effort in a Responses request", key="thinking")
    if thinking.budget is not None or thinking.adaptive or thinking.visible is not None:
        raise Unrepresentable("a thinking budget or its visibility in a Responses request", key="thinking")
    out: dict[str, Json] = {}
    put_text(out, "effort", thinking.effort)
    put_text(out, "summary", thinking.summary)
    return out


def _text(settings: Settings) -> dict[str, Json]:
    out: dict[str, Json] = {}
    form = settings.response_format
    if form is not None:
        out["format"] = _render_format(form)
    put_text(out, "verbosity", settings.verbosity)
    return out


def _render_format(form: ResponseFormat) -> Json:
    if form.kind is not FormatKind.SCHEMA:
        return b'{"type":"text"}' if form.kind is FormatKind.TEXT else b'{"type":"json_object"}'
    wire: dict[str, Json] = {"type": b'"json_schema"', "name": quote(form.name or "response")}
    if form.description is not None:
        wire["description"] = form.description
    if form.schema is not None:
        wire["schema"] = form.schema
    put(wire, "strict", form.strict)
    return render_object(wire)


def _render_choice(conversation: Conversation, out: dict[str, Json]) -> None:
    choice = conversation.settings.tool_choice
    if choice is None:
        return
    match choice.mode:
        case ChoiceMode.NAMED:
            out["tool_choice"] = msgspec.json.encode(_entries(conversation, choice)[0])
        case ChoiceMode.ALLOWED:
            mode = "required" if choice.must else "auto"
            allowed = {"type": "allowed_tools", "mode": mode, "tools": _entries(conversation, choice)}
            out["tool_choice"] = msgspec.json.encode(allowed)
        case ChoiceMode.NATIVE:
            out["tool_choice"] = own_choice(choice, NAME)
        case _:
            out["tool_choice"] = quote(choice.mode)


def _entries(conversation: Conversation, choice: ToolChoice) -> list[dict[str, str]]:
    """The chosen tools, each with the type of its declaration."""
    custom = {tool.name for tool in conversation.tools if isinstance(tool, Tool) and tool.custom}
    return [{"type": "custom" if name in custom else "function", "name": name} for name in choice.names]
