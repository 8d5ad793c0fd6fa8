"""Anthropic's top-level members other than the messages, both ways."""

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
from dragoman.conversation.settings import EFFORT_ALONE, Effort, FormatKind, ResponseFormat, Settings, Thinking
from dragoman.conversation.tools import ChoiceMode, ToolChoice
from dragoman.dialects.anthropic import NAME, ORIGIN
from dragoman.dialects.anthropic.message_render import render_system
from dragoman.dialects.anthropic.setting_shapes import READERS, SHAPES, SPARE
from dragoman.dialects.anthropic.tools import parse_tools, render_tools
from dragoman.dialects.dialect import MemberPlaces, RenderOptions
from dragoman.dialects.near_misses.answer_formats import CHAT_MEMBER, render_chat_format, take_chat_format
from dragoman.dialects.near_misses.settings import SettingForm, meant_settings
from dragoman.dialects.ownership import own_choice, require_own
from dragoman.dialects.parsing import cache_hint, extras_of, stream_misses
from dragoman.dialects.rendering import RenderedSettings, inside, put, refuse_settings
from dragoman.dialects.top_level import (
    Members,
    ParsedMember,
    PlainMembers,
    SpecialMembers,
    TopLevel,
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
    "max_tokens": ("max_tokens", decode_whole),
    "temperature": ("temperature", decode_number),
    "top_p": ("top_p", decode_number),
    "top_k": ("top_k", decode_number),
    "service_tier": ("service_tier", decode_word),
}
SKIPPED = frozenset({"model", "messages", "system", "stream", "tools", "cache_control"})
NOT_SUPPORTED = (
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
    "reasoning_state",
    "prompt_cache_key",
)
"""Settings that Anthropic has no member for."""


_THINKING = ("on", "adaptive", "budget", "effort", "visible")
_DISPLAYS = {b'"summarized"': True, b'"omitted"': False}
"""What `thinking.display` says → whether the thoughts are shown."""


def parse_top_level(source: Mapping[str, Raw]) -> TopLevel:
    """Settings, tools, the cache hint and the fields that we do not know."""
    settings, extras, misses = parse_settings(setting_members(source, SKIPPED, nulls=True))
    found = parse_tools(bytes(source.get("tools", b"")))
    hint = cache_hint(source.get("cache_control"))
    near_misses = joined_misses(found.misses, misses, stream_misses(source))
    return TopLevel(settings, found.tools, extras, found.empty, hint, near_misses=near_misses)


@remembered
def parse_settings(members: Members) -> tuple[Settings, Extras | None, tuple[NearMiss, ...]]:
    members, misses = meant_settings(members, FORM)
    found, extras = parse_members(members, PLAIN, PARSERS)
    misses = joined_misses(misses, take_chat_format(found, extras, "output_config"))
    thinking = {key: found.pop(key) for key in _THINKING if key in found}
    if thinking:
        found["thinking"] = Thinking(**thinking, spelled="" if "on" in thinking else EFFORT_ALONE)
    return Settings(**found), extras_of(NAME, extras), misses


def _parse_stop(raw: bytes) -> ParsedMember:
    texts = tuple(bytes(item) for item in split_items(raw, "/stop_sequences"))
    if any(text[:1] != b'"' for text in texts):
        raise MalformedRequest("a stop sequence that is not a string", at="/stop_sequences")
    return {"stop": texts}, {}


def _parse_thinking(raw: bytes) -> ParsedMember:
    wire = split_members(raw, "/thinking")
    kind = unquote(bytes(wire.pop("type")))
    content: dict[str, Any] = {"on": kind != "disabled"}
    if kind == "adaptive":
        content["adaptive"] = True
    elif kind == "enabled":
        content["budget"] = decode_whole(wire.pop("budget_tokens"))
    elif kind != "disabled":
        raise ValueError(kind)
    display = _DISPLAYS.get(bytes(wire.get("display", b"")))
    if display is not None:
        content["visible"] = display
        del wire["display"]
    return content, {key: bytes(value) for key, value in wire.items()}


def _parse_output(raw: bytes) -> ParsedMember:
    wire = split_members(raw, "/output_config")
    content: dict[str, Any] = {}
    effort = wire.pop("effort", None)
    if effort is not None and bytes(effort) != b"null":
        content["effort"] = Effort(unquote(bytes(effort)))
    form = wire.pop("format", None)
    if form is not None and bytes(form) != b"null":
        content["response_format"] = _format(split_members(form, "/output_config/format"))
    return content, {key: bytes(value) for key, value in wire.items()}


def _format(wire: Mapping[str, Raw]) -> ResponseFormat:
    if bytes(wire["type"]) != b'"json_schema"' or wire.keys() - {"type", "schema"}:
        raise ValueError("format")
    return ResponseFormat(FormatKind.SCHEMA, bytes(wire["schema"]))


def _parse_choice(raw: bytes) -> ParsedMember:
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


def _parse_metadata(raw: bytes) -> ParsedMember:
    wire = split_members(raw, "/metadata")
    content: dict[str, Any] = {}
    user = wire.pop("user_id", None)
    if user is not None and bytes(user)[:1] == b'"':
        content["user"] = unquote(bytes(user))
    return content, {key: bytes(value) for key, value in wire.items()}


PARSERS: SpecialMembers = {
    "stop_sequences": _parse_stop,
    "thinking": _parse_thinking,
    "output_config": _parse_output,
    "tool_choice": _parse_choice,
    "metadata": _parse_metadata,
}


def _own_choice(raw: bytes) -> ToolChoice | None:
    found: ToolChoice | None = _parse_choice(raw)[0].get("tool_choice")
    return found


def _written_choice(choice: ToolChoice) -> Json | None:
    out: dict[str, Json] = {}
    if choice.mode is ChoiceMode.NAMED or choice.mode in _KINDS:
        _render_choice(Settings(tool_choice=choice), out)
    return out.get("tool_choice")


FORM = SettingForm(
    PLAIN,
    {
        "stop": "stop_sequences",
        "stopSequences": "stop_sequences",
        "max_completion_tokens": "max_tokens",
        "max_output_tokens": "max_tokens",
        "maxOutputTokens": "max_tokens",
        "maxTokens": "max_tokens",
        "max_tokens_to_sample": "max_tokens",
        "topP": "top_p",
        "topK": "top_k",
        "toolChoice": "tool_choice",
    },
    "stop_sequences",
    True,
    _own_choice,
    _written_choice,
    shapes=SHAPES,
    readers=READERS,
    spare=SPARE,
)
"""How Messages writes settings, and what other dialects call them."""


_THOUGHTS = ("/thinking", "/output_config/effort")
PLACES = MemberPlaces(
    {
        **places_of(PLAIN),
        "stop": ("/stop_sequences",),
        "response_format": ("/output_config/format",),
        "parallel_tool_calls": ("/tool_choice/disable_parallel_tool_use",),
        "user": ("/metadata/user_id",),
        "thinking": _THOUGHTS,
        "reasoning_effort": (*_THOUGHTS[1:], *_THOUGHTS[:1]),
        "include": _THOUGHTS,
    }
)
"""Where a request holds its settings and tools."""


def render_top_level(conversation: Conversation, options: RenderOptions) -> dict[str, Json]:
    extras = require_own(conversation.extras, NAME)
    out: dict[str, Json] = {"model": quote(options.model)}
    system = render_system(conversation.messages)
    if system is not None:
        out["system"] = system
    if conversation.tools or conversation.empty_tools:
        out["tools"] = render_tools(conversation.tools)
    out |= render_settings(conversation.settings, conversation.extras)
    if conversation.hint is not None:
        out["cache_control"] = conversation.hint.json
    if options.stream:
        out["stream"] = b"true"
    if extras:
        out |= {key: value for key, value in extras.items() if "." not in key}
    return out


def _render_settings(settings: Settings, extras: Mapping[str, Json]) -> dict[str, Json]:
    """The settings, with the extra fields that stood in their objects."""
    refuse_settings(settings, NOT_SUPPORTED, NAME)
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


render_settings = RenderedSettings(_render_settings)


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
        if thinking.visible is not None:
            if not wire:
                raise Unrepresentable("thoughts to be shown without thinking in an Anthropic request", key="thinking")
            wire["display"] = b'"summarized"' if thinking.visible else b'"omitted"'
        if wire:
            out["thinking"] = render_object(wire | inside("thinking", extras))
        if thinking.effort is not None:
            output["effort"] = quote(thinking.effort)
    form = settings.response_format
    if form is not None and form.spelled == CHAT_MEMBER and form.kind is not FormatKind.SCHEMA:
        out[CHAT_MEMBER] = render_chat_format(form)
    elif form is not None:
        if form.kind is not FormatKind.SCHEMA or form.schema is None:
            raise Unrepresentable(f"a response format of kind {form.kind.value}", key="response_format")
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
        out["tool_choice"] = own_choice(choice, NAME)
        return
    if choice is not None and mode is ChoiceMode.NAMED:
        wire = {"type": b'"tool"', "name": quote(choice.names[0])}
    elif mode in _KINDS:
        wire = {"type": quote(_KINDS[mode])}
    else:
        raise Unrepresentable(f"a tool choice of kind {mode.value}", key="tool_choice")
    if parallel is not None and mode is not ChoiceMode.NONE:
        wire["disable_parallel_tool_use"] = b"false" if parallel else b"true"
    out["tool_choice"] = render_object(wire)
