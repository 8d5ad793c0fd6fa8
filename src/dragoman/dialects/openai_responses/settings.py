"""Responses' top-level members but the input: settings, tools, tool choice and text format, both ways.

Members that we do not know, of objects that we do, are kept as extras with a dotted name (`reasoning.context`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Raw

from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import quote, unquote
from dragoman.conversation.parts import Extras, Json
from dragoman.conversation.settings import Effort, FormatKind, Number, ResponseFormat, Settings, Thinking
from dragoman.conversation.tools import ChoiceMode, NativeTool, Tool, ToolChoice
from dragoman.dialects.dialect import RenderOptions
from dragoman.dialects.openai_responses import NAME, ORIGIN
from dragoman.dialects.openai_responses.message_render import render_instructions
from dragoman.dialects.openai_responses.tools import _parse_tools, render_tool
from dragoman.dialects.parsing import extras_of
from dragoman.dialects.rendering import own_extras, put, put_text, refuse_unspoken
from dragoman.errors import MalformedRequest, Unrepresentable
from dragoman.wire.json_reader import items, malformed, members, render_object

_number = msgspec.json.Decoder(Number).decode
_whole = msgspec.json.Decoder(int).decode
_flag = msgspec.json.Decoder(bool).decode
_word = msgspec.json.Decoder(str).decode

PLAIN: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "max_output_tokens": ("max_tokens", _whole),
    "temperature": ("temperature", _number),
    "top_p": ("top_p", _number),
    "frequency_penalty": ("frequency_penalty", _number),
    "presence_penalty": ("presence_penalty", _number),
    "top_logprobs": ("top_logprobs", _whole),
    "parallel_tool_calls": ("parallel_tool_calls", _flag),
    "store": ("store", _flag),
    "user": ("user", _word),
    "service_tier": ("service_tier", _word),
    "prompt_cache_key": ("prompt_cache_key", _word),
}
"""Wire name → our field and its decoder."""

SKIPPED = frozenset({"model", "input", "stream", "stream_options", "tools"})
"""Members that are read elsewhere."""

UNSPOKEN = ("top_k", "min_p", "seed", "n")
"""Settings that Responses has no word for."""


INCLUDE = "include"
_LOGPROBS = b'"message.output_text.logprobs"'
"""The probabilities of tokens are asked for among the things to include."""


class TopLevel(msgspec.Struct):
    """What the top level says besides the messages."""

    settings: Settings
    tools: tuple[Tool | NativeTool, ...]
    extras: Extras | None
    empty_tools: bool


def parse_top_level(source: Mapping[str, Raw]) -> TopLevel:
    """Settings, tools and the fields we do not know."""
    found: dict[str, Any] = {}
    extras: dict[str, Json] = {}
    nulls: list[str] = []
    for key, value in source.items():
        if key in SKIPPED:
            continue
        raw = bytes(value)
        if raw == b"null":
            nulls.append(key)
        elif key in PLAIN:
            _parse_plain(key, raw, found)
        elif key in PARSERS:
            _parse_special(key, raw, found, extras)
        elif key == INCLUDE and _LOGPROBS in raw:
            found["logprobs"] = True
            rest = [bytes(item) for item in items(raw, "/include") if bytes(item) != _LOGPROBS]
            if rest:
                extras[key] = b"[" + b",".join(rest) + b"]"
        elif key != "instructions" or raw[:1] != b'"':
            extras[key] = raw
    if nulls:
        found["nulls"] = tuple(nulls)
    tools, empty = _parse_tools(bytes(source.get("tools", b"")))
    return TopLevel(Settings(**found), tools, extras_of(NAME, extras), empty)


def _parse_plain(key: str, raw: bytes, found: dict[str, Any]) -> None:
    field, decode = PLAIN[key]
    try:
        found[field] = decode(raw)
    except msgspec.DecodeError as fault:
        raise malformed(fault, f"/{key}") from None


Parsed = tuple[dict[str, Any], Mapping[str, Json]]


def _parse_special(key: str, raw: bytes, found: dict[str, Any], extras: dict[str, Json]) -> None:
    """A member with a form of its own. What has another form than we know is kept as it is."""
    try:
        content, rest = PARSERS[key](raw)
    except (msgspec.DecodeError, MalformedRequest, KeyError, TypeError, ValueError, AttributeError):
        extras[key] = raw
        return
    found |= content
    extras |= {f"{key}.{name}": value for name, value in rest.items()}


def _given(raw: bytes) -> dict[str, bytes]:
    return {key: bytes(value) for key, value in members(raw).items() if bytes(value) != b"null"}


def _parse_reasoning(raw: bytes) -> Parsed:
    wire = _given(raw)
    fields: dict[str, Any] = {}
    if "effort" in wire:
        fields["effort"] = Effort(_word(wire.pop("effort")))
    if "summary" in wire:
        fields["summary"] = _word(wire.pop("summary"))
    return ({"thinking": Thinking(**fields)} if fields else {}), wire


def _parse_text(raw: bytes) -> Parsed:
    wire = _given(raw)
    found: dict[str, Any] = {}
    if "verbosity" in wire:
        found["verbosity"] = _word(wire.pop("verbosity"))
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
        _word(wire.get("name", b'""')),
        description if description[:1] == b'"' else None,
        _flag(wire["strict"]) if "strict" in wire else None,
    )


_FORMATS = {"text": FormatKind.TEXT, "json_object": FormatKind.JSON, "json_schema": FormatKind.SCHEMA}


def _parse_choice(raw: bytes) -> Parsed:
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


def _parse_metadata(raw: bytes) -> Parsed:
    return {"metadata": raw}, {}


PARSERS: dict[str, Callable[[bytes], Parsed]] = {
    "reasoning": _parse_reasoning,
    "text": _parse_text,
    "tool_choice": _parse_choice,
    "metadata": _parse_metadata,
}


def render_top_level(conversation: Conversation, options: RenderOptions) -> dict[str, Json]:
    """All top-level members but the input."""
    settings = conversation.settings
    _check(conversation)
    extras = own_extras(conversation, NAME)
    out: dict[str, Json] = {"model": quote(options.model)}
    instructions = render_instructions(conversation.messages)
    if instructions is not None:
        out["instructions"] = instructions
    if conversation.tools or conversation.empty_tools:
        out["tools"] = b"[" + b",".join([render_tool(tool) for tool in conversation.tools]) + b"]"
    for key, (field, _) in PLAIN.items():
        put(out, key, getattr(settings, field))
    if settings.metadata is not None:
        out["metadata"] = settings.metadata
    _render_object("reasoning", _thinking(settings.thinking), extras, out)
    _render_object("text", _text(settings), extras, out)
    _render_choice(conversation, out)
    if options.stream:
        out["stream"] = b"true"
    out |= {key: value for key, value in extras.items() if "." not in key}
    if settings.logprobs:
        rest = [bytes(item) for item in items(out.get(INCLUDE, b"[]"))]
        out[INCLUDE] = b"[" + b",".join([*rest, _LOGPROBS]) + b"]"
    return out


def _check(conversation: Conversation) -> None:
    settings = conversation.settings
    refuse_unspoken(settings, UNSPOKEN, NAME)
    if settings.stop:
        raise Unrepresentable("stop sequences in a Responses request", at="/stop")
    if conversation.hint is not None:
        raise Unrepresentable("a cache hint in a Responses request")


def _render_object(key: str, fields: dict[str, Json], extras: Mapping[str, Json], out: dict[str, Json]) -> None:
    """A member of what we know and the extras that stood inside it."""
    head = key + "."
    fields |= {name[len(head) :]: value for name, value in extras.items() if name.startswith(head)}
    if fields:
        out[key] = render_object(fields)


def _thinking(thinking: Thinking | None) -> dict[str, Json]:
    if thinking is None:
        return {}
    if thinking.effort is None and (thinking.on is not None or thinking.summary is None):
        raise Unrepresentable("thinking without an effort in a Responses request", at="/thinking")
    if thinking.budget is not None or thinking.adaptive or thinking.visible is not None:
        raise Unrepresentable("a thinking budget or its visibility in a Responses request", at="/thinking")
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
            if choice.origin is None or choice.origin.dialect != NAME or choice.json is None:
                raise Unrepresentable("a tool choice of another dialect", at="/tool_choice")
            out["tool_choice"] = choice.json
        case _:
            out["tool_choice"] = quote(choice.mode)


def _entries(conversation: Conversation, choice: ToolChoice) -> list[dict[str, str]]:
    """The chosen tools, each with the kind it is declared as."""
    custom = {tool.name for tool in conversation.tools if isinstance(tool, Tool) and tool.custom}
    return [{"type": "custom" if name in custom else "function", "name": name} for name in choice.names]
