"""Ollama's top-level members other than the messages, both ways. Most settings stand in the member `options`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Raw

from dragoman.conversation.bounded_cache import remembered
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import quote
from dragoman.conversation.near_misses import Miss, NearMiss
from dragoman.conversation.parts import Extras, Json
from dragoman.conversation.settings import Effort, FormatKind, ResponseFormat, Settings, Thinking
from dragoman.conversation.tools import ChoiceMode, ToolChoice
from dragoman.dialects.dialect import MemberPlaces, RenderOptions
from dragoman.dialects.near_misses.settings import meant_scalar, meant_stop
from dragoman.dialects.ollama import NAME
from dragoman.dialects.ollama.tools import parse_tools, render_tools
from dragoman.dialects.ownership import require_own
from dragoman.dialects.parsing import extras_of, stream_misses
from dragoman.dialects.rendering import RenderedSettings, inside, put, refuse_settings
from dragoman.dialects.top_level import (
    Members,
    ParsedMember,
    PlainMembers,
    SpecialMembers,
    TopLevel,
    decode_flag,
    decode_number,
    decode_whole,
    decoded,
    joined_misses,
    parse_members,
    places_of,
    setting_members,
)
from dragoman.errors import MalformedRequest, Unrepresentable
from dragoman.wire.json_reader import render_object, split_items, split_members

PLAIN: PlainMembers = {
    "logprobs": ("logprobs", decode_flag),
    "top_logprobs": ("top_logprobs", decode_whole),
}
OPTIONS: PlainMembers = {
    "num_predict": ("max_tokens", decode_whole),
    "temperature": ("temperature", decode_number),
    "top_p": ("top_p", decode_number),
    "top_k": ("top_k", decode_number),
    "min_p": ("min_p", decode_number),
    "seed": ("seed", decode_whole),
    "presence_penalty": ("presence_penalty", decode_number),
    "frequency_penalty": ("frequency_penalty", decode_number),
}
"""Members of `options` → our field and its decoder."""
SKIPPED = frozenset({"model", "messages", "stream", "tools"})
NOT_SUPPORTED = (
    "n",
    "parallel_tool_calls",
    "verbosity",
    "user",
    "metadata",
    "service_tier",
    "store",
    "reasoning_state",
    "prompt_cache_key",
)
"""Settings that Ollama has no member for."""
_LEVELS = {b'"low"': Effort.LOW, b'"medium"': Effort.MEDIUM, b'"high"': Effort.HIGH, b'"max"': Effort.MAX}
_WORDS = {effort: level for level, effort in _LEVELS.items()}
_UNBOUND = frozenset({"num_predict", "seed", "top_k"})
"""Options whose negative values mean "none of it": no limit, a random seed."""


def parse_top_level(source: Mapping[str, Raw]) -> TopLevel:
    """Settings, tools and the fields that we do not know."""
    settings, extras, misses = parse_settings(setting_members(source, SKIPPED))
    found = parse_tools(bytes(source.get("tools", b"")))
    near_misses = joined_misses(found.misses, misses, stream_misses(source))
    return TopLevel(settings, found.tools, extras, found.empty, near_misses=near_misses)


@remembered
def parse_settings(members: Members) -> tuple[Settings, Extras | None, tuple[NearMiss, ...]]:
    """Settings and unknown fields. Clients repeat them on every turn: the same bytes give the same objects."""
    misses: list[NearMiss] = []
    meant = [(key, _meant_options(raw, misses) if key == "options" else raw) for key, raw in members]
    found, extras = parse_members(meant, PLAIN, PARSERS)
    return Settings(**found), extras_of(NAME, extras), tuple(misses)


def _meant_options(raw: Json, misses: list[NearMiss]) -> Json:
    """The options in the types that they have. A number may have been written as a text, and a list as its item."""
    if raw[:1] != b"{":
        if raw == b"null":
            return raw
        raise MalformedRequest("options are not an object", at="/options")
    wire = {key: bytes(value) for key, value in split_members(raw, "/options").items()}
    meant = {key: _meant_option(key, value) for key, value in wire.items()}
    for key, value in wire.items():
        if meant[key] is not value:
            misses.append(NearMiss(Miss.SETTING, f"/options/{key}", members=("options",)))
    return render_object(meant) if misses else raw


def _meant_option(key: str, raw: Json) -> Json:
    if key == "stop":
        return meant_stop(raw, True)
    return meant_scalar(raw, OPTIONS[key][1]) if key in OPTIONS else raw


def _parse_options(raw: bytes) -> ParsedMember:
    found: dict[str, Any] = {}
    others: dict[str, Json] = {}
    for key, value in split_members(raw, "/options").items():
        text = bytes(value)
        if text == b"null":
            continue
        if key == "stop":
            found |= _parse_stop(text)
        elif key in OPTIONS and not (key in _UNBOUND and text[:1] == b"-"):
            field, decode = OPTIONS[key]
            found[field] = decoded(decode, text, f"/options/{key}")
        else:
            others[key] = text
    return found, others


def _parse_stop(raw: bytes) -> dict[str, Any]:
    texts = tuple(bytes(item) for item in split_items(raw, "/options/stop"))
    if any(text[:1] != b'"' for text in texts):
        raise MalformedRequest("a stop sequence that is not a string", at="/options/stop")
    return {"stop": texts}


def _parse_think(raw: bytes) -> ParsedMember:
    if raw in (b"true", b"false"):
        return {"thinking": Thinking(on=raw == b"true")}, {}
    if raw not in _LEVELS:
        hint = 'send true, false, "low", "medium", "high" or "max"'
        raise MalformedRequest("think is no level of thinking", at="/think", hint=hint)
    return {"thinking": Thinking(effort=_LEVELS[raw])}, {}


def _parse_format(raw: bytes) -> ParsedMember:
    """An empty text means none."""
    if raw == b'""':
        return {}, {}
    if raw == b'"json"':
        return {"response_format": ResponseFormat(FormatKind.JSON)}, {}
    if raw[:1] != b"{":
        raise MalformedRequest('the format is neither "json" nor a schema', at="/format")
    return {"response_format": ResponseFormat(FormatKind.SCHEMA, raw)}, {}


PARSERS: SpecialMembers = {"options": _parse_options, "think": _parse_think, "format": _parse_format}


PLACES = MemberPlaces(
    {
        **places_of(PLAIN),
        **places_of(OPTIONS, "/options"),
        "stop": ("/options/stop",),
        "response_format": ("/format",),
        "thinking": ("/think",),
        "reasoning_effort": ("/think",),
        "include": ("/think",),
    }
)
"""Where a request holds its settings and tools."""


def render_top_level(conversation: Conversation, options: RenderOptions) -> dict[str, Json]:
    """All top-level members other than the messages. A stream is what the server gives where nobody says otherwise."""
    out: dict[str, Json] = {"model": quote(options.model)}
    if conversation.tools:
        out["tools"] = render_tools(conversation.tools)
    elif conversation.empty_tools:
        out["tools"] = b"[]"
    out |= _render_settings(conversation.settings, conversation.extras)
    out["stream"] = b"true" if options.stream else b"false"
    return out


def _settings_members(settings: Settings, extras: Mapping[str, Json]) -> dict[str, Json]:
    refuse_settings(settings, NOT_SUPPORTED, NAME)
    _refuse_choice(settings.tool_choice)
    out: dict[str, Json] = {}
    for key, (field, _) in PLAIN.items():
        put(out, key, getattr(settings, field))
    if settings.thinking is not None:
        out["think"] = _think(settings.thinking)
    if settings.response_format is not None:
        _render_format(settings.response_format, out)
    chosen = _options(settings) | inside("options", extras)
    if chosen:
        out["options"] = render_object(chosen)
    return out


def _members(settings: Settings, extras: Mapping[str, Json]) -> dict[str, Json]:
    out = _settings_members(settings, extras)
    return out | {key: value for key, value in extras.items() if not key.startswith("options.")}


_rendered: Callable[[Settings, Extras | None], Mapping[str, Json]] = RenderedSettings(_members)


def _render_settings(settings: Settings, extras: Extras | None) -> Mapping[str, Json]:
    require_own(extras, NAME)
    return _rendered(settings, extras)


def _options(settings: Settings) -> dict[str, Json]:
    out: dict[str, Json] = {}
    for key, (field, _) in OPTIONS.items():
        put(out, key, getattr(settings, field))
    if settings.stop:
        out["stop"] = b"[" + b",".join(settings.stop) + b"]"
    return out


def _refuse_choice(choice: ToolChoice | None) -> None:
    """The model decides whether it calls a tool. Nothing else can be said."""
    if choice is not None and choice.mode is not ChoiceMode.AUTO:
        raise Unrepresentable(f"a tool choice of kind {choice.mode.value}", key="tool_choice")


def _think(thinking: Thinking) -> Json:
    if thinking.on is False or thinking.effort is Effort.NONE:
        return b"false"
    if thinking.effort is None:
        return b"true"
    if thinking.effort not in _WORDS:
        raise Unrepresentable(f"thinking with the effort {thinking.effort.value}", key="thinking")
    return _WORDS[thinking.effort]


def _render_format(form: ResponseFormat, out: dict[str, Json]) -> None:
    if form.kind is FormatKind.JSON:
        out["format"] = b'"json"'
    elif form.kind is FormatKind.SCHEMA:
        if form.schema is None:
            raise Unrepresentable("a schema for the answer that is empty", key="response_format")
        out["format"] = form.schema
