"""Anthropic's top-level members: settings, tools and tool choice, both ways."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Raw

from dragoman.conversation.conversation import Conversation
from dragoman.conversation.identity_cache import IdentityCache
from dragoman.conversation.literals import quote, unquote
from dragoman.conversation.parts import CacheHint, Extras, Json
from dragoman.conversation.settings import EFFORT_ALONE, Effort, FormatKind, Number, ResponseFormat, Settings, Thinking
from dragoman.conversation.tools import ChoiceMode, NativeTool, Tool, ToolChoice
from dragoman.dialects.anthropic import NAME, ORIGIN
from dragoman.dialects.anthropic.message_render import render_system
from dragoman.dialects.anthropic.tools import _parse_tool, _render_tools, _tool_items
from dragoman.dialects.dialect import RenderOptions
from dragoman.dialects.parsing import cache_hint, extras_of
from dragoman.dialects.rendering import inside, own_extras, put, refuse_unspoken
from dragoman.errors import MalformedRequest, Unrepresentable
from dragoman.wire.json_reader import items, malformed, members, render_object

_number = msgspec.json.Decoder(Number).decode
_whole = msgspec.json.Decoder(int).decode
_flag = msgspec.json.Decoder(bool).decode
_word = msgspec.json.Decoder(str).decode

PLAIN: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "max_tokens": ("max_tokens", _whole),
    "temperature": ("temperature", _number),
    "top_p": ("top_p", _number),
    "top_k": ("top_k", _number),
    "service_tier": ("service_tier", _word),
}
SKIPPED = frozenset({"model", "messages", "system", "stream", "tools", "cache_control"})
UNSPOKEN = (
    "min_p",
    "seed",
    "frequency_penalty",
    "presence_penalty",
    "n",
    "logprobs",
    "top_logprobs",
    "verbosity",
    "metadata",
    "store",
    "prompt_cache_key",
)
"""Settings that Anthropic has no word for."""


class TopLevel(msgspec.Struct):
    settings: Settings
    tools: tuple[Tool | NativeTool, ...]
    extras: Extras | None
    hint: CacheHint | None
    empty_tools: bool


def parse_top_level(source: Mapping[str, Raw]) -> TopLevel:
    found: dict[str, Any] = {}
    extras: dict[str, Json] = {}
    nulls: list[str] = []
    for key, value in source.items():
        raw = bytes(value)
        if raw == b"null":
            nulls.append(key)
            continue
        if key in SKIPPED:
            continue
        if key in PLAIN:
            _parse_plain(key, raw, found)
        elif key in PARSERS:
            _parse_special(key, raw, found, extras)
        else:
            extras[key] = raw
    if nulls:
        found["nulls"] = tuple(nulls)
    tools = tuple([_parse_tool(bytes(item), at) for at, item in enumerate(_tool_items(source))])
    empty = bytes(source.get("tools", b"")).strip(b"[] \n") == b"" and bytes(source.get("tools", b""))[:1] == b"["
    return TopLevel(_settings(found), tools, extras_of(NAME, extras), cache_hint(source.get("cache_control")), empty)


def _settings(found: dict[str, Any]) -> Settings:
    thinking = found.pop("thinking", {})
    if thinking:
        found["thinking"] = Thinking(**thinking, spelled="" if "on" in thinking else EFFORT_ALONE)
    return Settings(**found)


def _parse_plain(key: str, raw: bytes, found: dict[str, Any]) -> None:
    field, decode = PLAIN[key]
    try:
        found[field] = decode(raw)
    except msgspec.DecodeError as fault:
        raise malformed(fault, f"/{key}") from None


def _parse_special(key: str, raw: bytes, found: dict[str, Any], extras: dict[str, Json]) -> None:
    try:
        content, rest = PARSERS[key](raw)
    except (msgspec.DecodeError, KeyError, TypeError, ValueError, AttributeError):
        extras[key] = raw
        return
    thinking = content.pop("thinking", None)
    if thinking:
        found.setdefault("thinking", {}).update(thinking)
    found |= content
    extras |= {f"{key}.{name}": value for name, value in rest.items()}


Parsed = tuple[dict[str, Any], dict[str, Json]]


def _parse_stop(raw: bytes) -> Parsed:
    texts = tuple(bytes(item) for item in items(raw, "/stop_sequences"))
    if any(text[:1] != b'"' for text in texts):
        raise MalformedRequest("a stop sequence that is not a string", at="/stop_sequences")
    return {"stop": texts}, {}


def _parse_thinking(raw: bytes) -> Parsed:
    wire = members(raw, "/thinking")
    kind = unquote(bytes(wire.pop("type")))
    content: dict[str, Any] = {"on": kind != "disabled"}
    if kind == "adaptive":
        content["adaptive"] = True
    elif kind == "enabled":
        content["budget"] = _whole(wire.pop("budget_tokens"))
    elif kind != "disabled":
        raise ValueError(kind)
    return {"thinking": content}, {key: bytes(value) for key, value in wire.items()}


def _parse_output(raw: bytes) -> Parsed:
    wire = members(raw, "/output_config")
    content: dict[str, Any] = {}
    effort = wire.pop("effort", None)
    if effort is not None and bytes(effort) != b"null":
        content["thinking"] = {"effort": Effort(unquote(bytes(effort)))}
    form = wire.pop("format", None)
    if form is not None and bytes(form) != b"null":
        content["response_format"] = _format(members(form, "/output_config/format"))
    return content, {key: bytes(value) for key, value in wire.items()}


def _format(wire: Mapping[str, Raw]) -> ResponseFormat:
    if bytes(wire["type"]) != b'"json_schema"' or wire.keys() - {"type", "schema"}:
        raise ValueError("format")
    return ResponseFormat(FormatKind.SCHEMA, bytes(wire["schema"]))


def _parse_choice(raw: bytes) -> Parsed:
    wire = msgspec.json.decode(raw)
    content: dict[str, Any] = {}
    disable = wire.pop("disable_parallel_tool_use", None)
    if disable is not None:
        content["parallel_tool_calls"] = not disable
    match wire:
        case {"type": "tool", "name": str() as name}:
            content["tool_choice"] = ToolChoice(ChoiceMode.NAMED, (name,))
        case {"type": str() as kind} if kind in _MODES:
            content["tool_choice"] = ToolChoice(_MODES[kind])
        case _:
            content["tool_choice"] = ToolChoice(ChoiceMode.NATIVE, json=raw, origin=ORIGIN)
    return content, {}


_MODES = {"auto": ChoiceMode.AUTO, "any": ChoiceMode.REQUIRED, "none": ChoiceMode.NONE}
_KINDS = {mode: kind for kind, mode in _MODES.items()}


def _parse_metadata(raw: bytes) -> Parsed:
    wire = members(raw, "/metadata")
    content: dict[str, Any] = {}
    user = wire.pop("user_id", None)
    if user is not None and bytes(user)[:1] == b'"':
        content["user"] = unquote(bytes(user))
    return content, {key: bytes(value) for key, value in wire.items()}


PARSERS: dict[str, Callable[[bytes], Parsed]] = {
    "stop_sequences": _parse_stop,
    "thinking": _parse_thinking,
    "output_config": _parse_output,
    "tool_choice": _parse_choice,
    "metadata": _parse_metadata,
}


def render_top_level(conversation: Conversation, options: RenderOptions) -> dict[str, Json]:
    extras = own_extras(conversation, NAME)
    out: dict[str, Json] = {"model": quote(options.model)}
    system = render_system(conversation.messages)
    if system is not None:
        out["system"] = system
    if conversation.tools or conversation.empty_tools:
        out["tools"] = _render_tools(conversation.tools)
    out |= _render_settings(conversation.settings, extras) if extras else _render_plain(conversation.settings)
    if conversation.hint is not None:
        out["cache_control"] = conversation.hint.json
    if options.stream:
        out["stream"] = b"true"
    if extras:
        out |= {key: value for key, value in extras.items() if "." not in key}
    return out


def _render_settings(settings: Settings, extras: Mapping[str, Json]) -> dict[str, Json]:
    """The settings, and around them what stood in their objects besides."""
    refuse_unspoken(settings, UNSPOKEN, NAME)
    out: dict[str, Json] = {}
    for key, (field, _) in PLAIN.items():
        put(out, key, getattr(settings, field))
    if settings.stop:
        out["stop_sequences"] = b"[" + b",".join(settings.stop) + b"]"
    _render_thinking(settings, out, extras)
    _render_choice(settings, out)
    if settings.user is not None or any(key.startswith("metadata.") for key in extras):
        user = {"user_id": quote(settings.user)} if settings.user is not None else {}
        out["metadata"] = render_object(user | inside("metadata", extras))
    return out


_render_plain = IdentityCache[Settings, dict[str, Json]](lambda settings: _render_settings(settings, {}))


def _render_thinking(settings: Settings, out: dict[str, Json], extras: Mapping[str, Json]) -> None:
    output: dict[str, Json] = {}
    thinking = settings.thinking
    if thinking is not None:
        if thinking.on is False:
            wire: dict[str, Json] = {"type": b'"disabled"'}
        elif thinking.budget is not None:
            wire = {"type": b'"enabled"', "budget_tokens": b"%d" % thinking.budget}
        else:
            wire = {"type": b'"adaptive"'} if thinking.adaptive or thinking.on else {}
        if wire:
            out["thinking"] = render_object(wire | inside("thinking", extras))
        if thinking.effort is not None:
            output["effort"] = quote(thinking.effort)
    form = settings.response_format
    if form is not None:
        if form.kind is not FormatKind.SCHEMA or form.schema is None:
            raise Unrepresentable(f"a response format of kind {form.kind.value}", at="/response_format")
        output["format"] = b'{"type":"json_schema","schema":' + form.schema + b"}"
    output |= inside("output_config", extras)
    if output:
        out["output_config"] = render_object(output)


def _render_choice(settings: Settings, out: dict[str, Json]) -> None:
    choice, parallel = settings.tool_choice, settings.parallel_tool_calls
    if choice is None and parallel is None:
        return
    mode = choice.mode if choice is not None else ChoiceMode.AUTO
    wire: dict[str, Json]
    if choice is not None and mode is ChoiceMode.NATIVE:
        if choice.origin is None or choice.origin.dialect != NAME or choice.json is None:
            raise Unrepresentable("a tool choice of another dialect", at="/tool_choice")
        out["tool_choice"] = choice.json
        return
    if choice is not None and mode is ChoiceMode.NAMED:
        wire = {"type": b'"tool"', "name": quote(choice.names[0])}
    elif mode in _KINDS:
        wire = {"type": quote(_KINDS[mode])}
    else:
        raise Unrepresentable(f"a tool choice of kind {mode.value}", at="/tool_choice")
    if parallel is not None and mode is not ChoiceMode.NONE:
        wire["disable_parallel_tool_use"] = b"false" if parallel else b"true"
    out["tool_choice"] = render_object(wire)
