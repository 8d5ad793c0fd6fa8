"""Chat's top-level members other than the messages, both ways."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw

from dragoman.conversation.bounded_cache import remembered
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.identity_cache import IdentityCache
from dragoman.conversation.literals import quote, unquote
from dragoman.conversation.near_misses import Miss, NearMiss
from dragoman.conversation.parts import Extras, Json
from dragoman.conversation.settings import (
    THINKING_FIELDS,
    FormatKind,
    ResponseFormat,
    Settings,
)
from dragoman.conversation.tools import ChoiceMode, ToolChoice
from dragoman.dialects.dialect import MemberPlaces, RenderOptions
from dragoman.dialects.near_misses.fitting import fits
from dragoman.dialects.near_misses.settings import SettingForm, meant_settings
from dragoman.dialects.openai_chat import NAME, ORIGIN
from dragoman.dialects.openai_chat.message_parse import LEGACY
from dragoman.dialects.openai_chat.setting_shapes import READERS, SHAPES, SPARE, decode_stream_options
from dragoman.dialects.openai_chat.thinking import parse_thinking, render_thinking
from dragoman.dialects.openai_chat.tools import parse_tools, render_tools, text_literal
from dragoman.dialects.ownership import own_choice, require_own
from dragoman.dialects.parsing import asks_for_stream, extras_of, stream_misses
from dragoman.dialects.rendering import put
from dragoman.dialects.top_level import (
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
from dragoman.errors import MalformedRequest
from dragoman.wire.json_reader import render_object, split_items, split_members

PLAIN: PlainMembers = {
    "temperature": ("temperature", decode_number),
    "top_p": ("top_p", decode_number),
    "top_k": ("top_k", decode_number),
    "min_p": ("min_p", decode_number),
    "seed": ("seed", decode_whole),
    "random_seed": ("seed", decode_whole),
    "frequency_penalty": ("frequency_penalty", decode_number),
    "presence_penalty": ("presence_penalty", decode_number),
    "n": ("n", decode_whole),
    "logprobs": ("logprobs", decode_flag),
    "top_logprobs": ("top_logprobs", decode_whole),
    "max_completion_tokens": ("max_tokens", decode_whole),
    "max_tokens": ("max_tokens", decode_whole),
    "parallel_tool_calls": ("parallel_tool_calls", decode_flag),
    "verbosity": ("verbosity", decode_word),
    "user": ("user", decode_word),
    "metadata": ("metadata", bytes),
    "service_tier": ("service_tier", decode_word),
    "store": ("store", decode_flag),
    "prompt_cache_key": ("prompt_cache_key", decode_word),
}
"""Name of a member → our field and its decoder."""

SKIPPED = frozenset({"model", "messages", "stream", "stream_options", "tools", "functions"})
"""Members that are parsed elsewhere."""


def parse_top_level(source: Mapping[str, Raw]) -> TopLevel:
    """Settings, tools and the fields that we do not know."""
    members = setting_members(source, SKIPPED)
    functions = source.get("functions")
    if functions is not None and len(functions) == 4 and bytes(functions) == b"null":
        members = (*members, ("functions", b"null"))
    settings, extras, misses = parse_settings(members)
    found = parse_tools(source)
    usage = _include_usage(source)
    near_misses = joined_misses(found.misses, misses, _odd_stream_options(source), stream_misses(source))
    return TopLevel(settings, found.tools, extras, found.empty, None, usage, near_misses)


@remembered
def parse_settings(members: Members) -> tuple[Settings, Extras | None, tuple[NearMiss, ...]]:
    """Settings and unknown fields. Clients repeat them on every turn: the same bytes give the same objects."""
    members, misses = meant_settings(members, FORM)
    given = {key for key, raw in members if raw != b"null"}
    if "top_logprobs" in given and "logprobs" not in given:
        misses = (*misses, NearMiss(Miss.SETTING, "/top_logprobs", members=("logprobs",)))
    thinking = {key: raw for key, raw in members if key in THINKING_FIELDS and raw != b"null"}
    found, extras = parse_members([pair for pair in members if pair[0] not in thinking], PLAIN, PARSERS)
    if thinking:
        parse_thinking(thinking, found, extras)
    for field, spelled in (("max_tokens", "limit_as"), ("seed", "seed_as")):
        if field in found:
            found[spelled] = next(key for key, raw in members if raw != b"null" and _field_of(key) == field)
    return Settings(**found), extras_of(NAME, extras), misses


def _field_of(key: str) -> str:
    return PLAIN[key][0] if key in PLAIN else ""


def _parse_stop(raw: bytes) -> ParsedMember:
    if raw[:1] == b'"':
        return {"stop": (raw,), "stop_listed": False}, {}
    texts = tuple(bytes(item) for item in split_items(raw, "/stop"))
    if not texts:
        return {}, {"": raw}
    if any(text[:1] != b'"' for text in texts):
        raise MalformedRequest("a stop sequence that is not a string", at="/stop")
    return {"stop": texts}, {}


def _parse_choice(raw: bytes) -> ParsedMember:
    if raw[:1] == b'"':
        word = unquote(raw)
        mode = _MODES.get(word)
        if mode is None:
            return {"tool_choice": ToolChoice(ChoiceMode.NATIVE, json=raw, origin=ORIGIN)}, {}
        return {"tool_choice": ToolChoice(mode, spelled=word if word == ANY else "")}, {}
    return {"tool_choice": _named_choice(raw, msgspec.json.decode(raw))}, {}


ANY = "any"
TYPELESS = "typeless"
"""Spellings of a tool choice: Mistral's word for `required`, and a name without the `type` beside it."""
_MODES = {
    "auto": ChoiceMode.AUTO,
    "none": ChoiceMode.NONE,
    "required": ChoiceMode.REQUIRED,
    ANY: ChoiceMode.REQUIRED,
}


def _named_choice(raw: bytes, wire: dict[str, Any]) -> ToolChoice:
    kind = wire.get("type", "function")
    if kind == "function" and isinstance(wire.get("function"), dict) and isinstance(wire["function"].get("name"), str):
        return ToolChoice(ChoiceMode.NAMED, (wire["function"]["name"],), spelled="" if "type" in wire else TYPELESS)
    if kind == "allowed_tools":
        allowed = wire["allowed_tools"]
        if all(tool.get("type") == "function" for tool in allowed["tools"]):
            names = tuple(tool["function"]["name"] for tool in allowed["tools"])
            return ToolChoice(ChoiceMode.ALLOWED, names, allowed.get("mode") == "required")
    return ToolChoice(ChoiceMode.NATIVE, json=raw, origin=ORIGIN)


def _parse_legacy_choice(raw: bytes) -> ParsedMember:
    if raw[:1] == b'"':
        return {"tool_choice": ToolChoice(ChoiceMode(unquote(raw)), spelled=LEGACY)}, {}
    return {"tool_choice": ToolChoice(ChoiceMode.NAMED, (msgspec.json.decode(raw)["name"],), spelled=LEGACY)}, {}


def _parse_format(raw: bytes) -> ParsedMember:
    wire = split_members(raw, "/response_format")
    kind = _FORMATS.get(unquote(bytes(wire["type"])))
    if kind is None or wire.keys() - {"type", "json_schema"}:
        return {}, {"": raw}
    if kind is not FormatKind.SCHEMA:
        return {"response_format": ResponseFormat(kind)}, {}
    schema = split_members(wire["json_schema"], "/response_format/json_schema")
    if schema.keys() - {"name", "description", "schema", "strict"}:
        return {}, {"": raw}
    strict = bytes(schema.get("strict", b"null"))
    form = ResponseFormat(
        kind,
        bytes(schema["schema"]) if "schema" in schema else None,
        unquote(bytes(schema.get("name", b'""'))),
        text_literal(schema.get("description")),
        None if strict == b"null" else decode_flag(strict),
    )
    return {"response_format": form}, {}


_FORMATS = {"text": FormatKind.TEXT, "json_object": FormatKind.JSON, "json_schema": FormatKind.SCHEMA}

PARSERS: SpecialMembers = {
    "stop": _parse_stop,
    "tool_choice": _parse_choice,
    "function_call": _parse_legacy_choice,
    "response_format": _parse_format,
}


def _own_choice(raw: bytes) -> ToolChoice | None:
    found: ToolChoice = _parse_choice(raw)[0]["tool_choice"]
    return found


def _written_choice(choice: ToolChoice) -> Json | None:
    out: dict[str, Json] = {}
    _render_choice(choice, out)
    return out.get("tool_choice")


FORM = SettingForm(
    PLAIN,
    {
        "stop_sequences": "stop",
        "stopSequences": "stop",
        "max_output_tokens": "max_tokens",
        "maxOutputTokens": "max_tokens",
        "maxTokens": "max_tokens",
        "num_predict": "max_tokens",
        "topP": "top_p",
        "topK": "top_k",
        "toolChoice": "tool_choice",
        "responseFormat": "response_format",
    },
    "stop",
    False,
    _own_choice,
    _written_choice,
    shapes=SHAPES,
    spare=SPARE,
    readers=READERS,
)
"""How Chat writes settings, and what other dialects call them."""


def _include_usage(source: Mapping[str, Raw]) -> bool:
    if "stream_options" not in source:
        return False
    raw = bytes(source["stream_options"])
    if raw[:1] != b"{":
        return False
    return bytes(split_members(raw, "/stream_options").get("include_usage", b"")) == b"true"


def _odd_stream_options(source: Mapping[str, Raw]) -> tuple[NearMiss, ...]:
    """The options of a stream, where they do not fit or there is no stream: then they are left out."""
    raw = bytes(source.get("stream_options", b"null"))
    streams = asks_for_stream(source)
    if raw == b"null" or (streams and fits(decode_stream_options, raw)):
        return ()
    kind = Miss.TYPE if streams else Miss.NO_STREAM
    return (NearMiss(kind, "/stream_options", members=("stream_options",), lost=raw),)


_THOUGHTS = ("/thinking", "/reasoning_effort", "/reasoning")
PLACES = MemberPlaces(
    {
        **places_of(PLAIN),
        "max_tokens": ("/max_tokens", "/max_completion_tokens"),
        "user": ("/user", "/safety_identifier"),
        "tool_choice": ("/tool_choice", "/function_call"),
        "thinking": _THOUGHTS,
        "include": _THOUGHTS,
    },
    tools=("/tools", "/functions"),
)
"""Where a request holds its settings and tools."""


def render_top_level(conversation: Conversation, options: RenderOptions) -> dict[str, Json]:
    """All top-level members other than the messages."""
    out: dict[str, Json] = {"model": quote(options.model)}
    if conversation.empty_tools and not conversation.tools:
        out["tools"] = b"[]"
    out |= render_tools(conversation.tools)
    out |= _render_settings(conversation.settings)
    if options.stream:
        out["stream"] = b"true"
        if options.usage:
            out["stream_options"] = b'{"include_usage":true}'
    out |= require_own(conversation.extras, NAME)
    return out


def _settings_members(settings: Settings) -> dict[str, Json]:
    out: dict[str, Json] = {}
    for key, (field, _) in PLAIN.items():
        value = getattr(settings, field)
        if value is None or key in _ALIASES:
            continue
        if key == "metadata":
            out[key] = value
        else:
            put(out, key, value)
    if settings.top_logprobs is not None and settings.logprobs is None:
        out["logprobs"] = b"true"
    if settings.max_tokens is not None:
        put(out, settings.limit_as or "max_tokens", settings.max_tokens)
    if settings.seed is not None:
        put(out, settings.seed_as or "seed", settings.seed)
    if settings.stop:
        out["stop"] = b"[" + b",".join(settings.stop) + b"]" if settings.stop_listed else settings.stop[0]
    render_thinking(settings.thinking, out)
    _render_choice(settings.tool_choice, out)
    _render_format(settings.response_format, out)
    return out


_render_settings = IdentityCache(_settings_members)


_ALIASES = frozenset({"random_seed", "seed", "max_tokens", "max_completion_tokens"})


def _render_choice(choice: ToolChoice | None, out: dict[str, Json]) -> None:
    if choice is None:
        return
    if choice.spelled == LEGACY:
        named = choice.mode is ChoiceMode.NAMED
        out["function_call"] = b'{"name":' + quote(choice.names[0]) + b"}" if named else quote(choice.mode)
        return
    match choice.mode:
        case ChoiceMode.NAMED:
            kind = b"" if choice.spelled == TYPELESS else b'"type":"function",'
            out["tool_choice"] = b"{" + kind + b'"function":{"name":' + quote(choice.names[0]) + b"}}"
        case ChoiceMode.ALLOWED:
            tools = [{"type": "function", "function": {"name": name}} for name in choice.names]
            allowed = {"mode": "required" if choice.must else "auto", "tools": tools}
            out["tool_choice"] = msgspec.json.encode({"type": "allowed_tools", "allowed_tools": allowed})
        case ChoiceMode.NATIVE:
            out["tool_choice"] = own_choice(choice, NAME)
        case _:
            out["tool_choice"] = quote(ANY if choice.spelled == ANY else choice.mode)


def _render_format(form: ResponseFormat | None, out: dict[str, Json]) -> None:
    if form is None:
        return
    if form.kind is not FormatKind.SCHEMA:
        out["response_format"] = b'{"type":"text"}' if form.kind is FormatKind.TEXT else b'{"type":"json_object"}'
        return
    schema: dict[str, Json] = {"name": quote(form.name or "response")}
    if form.description is not None:
        schema["description"] = form.description
    if form.schema is not None:
        schema["schema"] = form.schema
    put(schema, "strict", form.strict)
    out["response_format"] = b'{"type":"json_schema","json_schema":' + render_object(schema) + b"}"
