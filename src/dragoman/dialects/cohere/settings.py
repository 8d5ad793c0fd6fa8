"""Cohere's top-level members other than the messages, both ways."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw

from dragoman.conversation.bounded_cache import remembered
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import quote
from dragoman.conversation.near_misses import NearMiss
from dragoman.conversation.parts import Extras, Json
from dragoman.conversation.settings import FormatKind, ResponseFormat, Settings, Thinking
from dragoman.conversation.tools import ChoiceMode, ToolChoice
from dragoman.dialects.cohere import NAME, ORIGIN
from dragoman.dialects.cohere.documents import render_documents
from dragoman.dialects.cohere.setting_shapes import SHAPES, SPARE
from dragoman.dialects.cohere.tools import parse_tools, render_tools
from dragoman.dialects.dialect import MemberPlaces, RenderOptions
from dragoman.dialects.near_misses.choices import parse_any_choice
from dragoman.dialects.near_misses.settings import SettingForm, meant_settings
from dragoman.dialects.ownership import own_choice, require_own
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
    joined_misses,
    parse_members,
    places_of,
    setting_members,
)
from dragoman.errors import MalformedRequest, Unrepresentable
from dragoman.wire.json_reader import render_object, split_items, split_members

PLAIN: PlainMembers = {
    "temperature": ("temperature", decode_number),
    "p": ("top_p", decode_number),
    "k": ("top_k", decode_number),
    "seed": ("seed", decode_whole),
    "frequency_penalty": ("frequency_penalty", decode_number),
    "presence_penalty": ("presence_penalty", decode_number),
    "max_tokens": ("max_tokens", decode_whole),
    "logprobs": ("logprobs", decode_flag),
}
"""Name of a member → our field and its decoder."""

SKIPPED = frozenset({"model", "messages", "stream", "tools", "documents"})
"""Members that are parsed elsewhere."""

_REFUSED = frozenset(
    {
        *("n", "min_p", "top_logprobs", "parallel_tool_calls", "verbosity", "user", "metadata", "service_tier"),
        *("store", "prompt_cache_key"),
    }
)
"""Settings that this dialect has no member for."""


def parse_top_level(source: Mapping[str, Raw], documents_known: bool) -> TopLevel:
    """Settings, tools and the fields that we do not know. Documents of an unknown form are such a field."""
    settings, extras, misses = parse_settings(setting_members(source, SKIPPED))
    documents = bytes(source.get("documents", b"[]"))
    if not documents_known and documents not in (b"[]", b"null"):
        extras = Extras(NAME, {**(extras.fields if extras is not None else {}), "documents": documents})
    found = parse_tools(source)
    near_misses = joined_misses(found.misses, misses, stream_misses(source))
    return TopLevel(settings, found.tools, extras, found.empty, near_misses=near_misses)


@remembered
def parse_settings(members: Members) -> tuple[Settings, Extras | None, tuple[NearMiss, ...]]:
    """Settings and unknown fields. Clients repeat them on every turn: the same bytes give the same objects."""
    members, misses = meant_settings(members, FORM)
    found, extras = parse_members(members, PLAIN, PARSERS)
    return Settings(**found), extras_of(NAME, extras), misses


def _parse_stop(raw: bytes) -> ParsedMember:
    texts = tuple(bytes(item) for item in split_items(raw, "/stop_sequences"))
    if not texts:
        return {}, {"": raw}
    if any(text[:1] != b'"' for text in texts):
        raise MalformedRequest("a stop sequence that is not a string", at="/stop_sequences")
    return {"stop": texts}, {}


_MODES = {b'"REQUIRED"': ChoiceMode.REQUIRED, b'"NONE"': ChoiceMode.NONE}
_WORDS = {mode: word for word, mode in _MODES.items()}


def _own_choice(raw: bytes) -> ToolChoice | None:
    mode = _MODES.get(raw)
    return None if mode is None else ToolChoice(mode)


def _parse_choice(raw: bytes) -> ParsedMember:
    choice = _own_choice(raw) or parse_any_choice(raw)
    return {"tool_choice": choice or ToolChoice(ChoiceMode.NATIVE, json=raw, origin=ORIGIN)}, {}


def _parse_format(raw: bytes) -> ParsedMember:
    wire = split_members(raw, "/response_format")
    kind = bytes(wire["type"])
    schema = bytes(wire.get("json_schema", b"null"))
    if wire.keys() - {"type", "json_schema"} or kind not in (b'"text"', b'"json_object"'):
        return {}, {"": raw}
    if kind == b'"text"':
        return {"response_format": ResponseFormat(FormatKind.TEXT)}, {}
    if schema == b"null":
        return {"response_format": ResponseFormat(FormatKind.JSON)}, {}
    return {"response_format": ResponseFormat(FormatKind.SCHEMA, schema)}, {}


def _parse_thinking(raw: bytes) -> ParsedMember:
    wire = msgspec.json.decode(raw)
    switch = {"enabled": True, "disabled": False}.get(wire.get("type"))
    budget = wire.get("token_budget")
    if switch is None or not (budget is None or isinstance(budget, int)):
        return {}, {"": raw}
    members = split_members(raw, "/thinking")
    rest = {key: bytes(value) for key, value in members.items() if key not in ("type", "token_budget")}
    return {"thinking": Thinking(on=switch, budget=budget)}, rest


PARSERS: SpecialMembers = {
    "stop_sequences": _parse_stop,
    "tool_choice": _parse_choice,
    "response_format": _parse_format,
    "thinking": _parse_thinking,
}


def _written_choice(choice: ToolChoice) -> Json | None:
    return _WORDS.get(choice.mode)


FORM = SettingForm(
    PLAIN,
    {
        "top_p": "p",
        "topP": "p",
        "top_k": "k",
        "topK": "k",
        "stop": "stop_sequences",
        "stopSequences": "stop_sequences",
        "max_completion_tokens": "max_tokens",
        "max_output_tokens": "max_tokens",
        "maxOutputTokens": "max_tokens",
        "maxTokens": "max_tokens",
        "toolChoice": "tool_choice",
        "responseFormat": "response_format",
    },
    "stop_sequences",
    True,
    _own_choice,
    _written_choice,
    shapes=SHAPES,
    spare=SPARE,
)
"""How Cohere writes settings, and what other dialects call them."""


PLACES = MemberPlaces(
    {
        **places_of(PLAIN),
        "stop": ("/stop_sequences",),
        "reasoning_effort": ("/thinking",),
        "include": ("/thinking",),
    }
)
"""Where a request holds its settings and tools."""


def render_top_level(conversation: Conversation, options: RenderOptions) -> dict[str, Json]:
    """All top-level members other than the messages."""
    out: dict[str, Json] = {"model": quote(options.model)}
    if conversation.tools:
        out["tools"] = render_tools(conversation.tools)
    elif conversation.empty_tools:
        out["tools"] = b"[]"
    documents = render_documents(conversation.messages)
    if documents is not None:
        out["documents"] = documents
    require_own(conversation.extras, NAME)
    out |= _rendered_settings(conversation.settings, conversation.extras)
    if options.stream:
        out["stream"] = b"true"
    return out


def _render_settings(settings: Settings, extras: Mapping[str, Json]) -> dict[str, Json]:
    refuse_settings(settings, _REFUSED, NAME)
    out: dict[str, Json] = {}
    for key, (field, _) in PLAIN.items():
        put(out, key, getattr(settings, field))
    if settings.stop:
        out["stop_sequences"] = b"[" + b",".join(settings.stop) + b"]"
    _render_thinking(settings.thinking, inside("thinking", extras), out)
    _render_choice(settings.tool_choice, out)
    _render_format(settings.response_format, out)
    return out | {key: value for key, value in extras.items() if "." not in key}


_rendered_settings = RenderedSettings(_render_settings)


def _render_thinking(thinking: Thinking | None, others: Mapping[str, Json], out: dict[str, Json]) -> None:
    if thinking is None or (thinking.on is None and thinking.budget is None and not thinking.adaptive):
        return
    if thinking.effort is not None:
        raise Unrepresentable("an effort of thinking in a Cohere request", key="thinking")
    wire: dict[str, Any] = {"type": "disabled" if thinking.on is False else "enabled"}
    if thinking.budget is not None:
        wire["token_budget"] = thinking.budget
    out["thinking"] = render_object({**{key: msgspec.json.encode(value) for key, value in wire.items()}, **others})


def _render_choice(choice: ToolChoice | None, out: dict[str, Json]) -> None:
    if choice is None:
        return
    if choice.mode is ChoiceMode.NATIVE:
        out["tool_choice"] = own_choice(choice, NAME)
    elif choice.mode in _WORDS:
        out["tool_choice"] = _WORDS[choice.mode]
    elif choice.mode is ChoiceMode.AUTO:
        # What clients write that know other dialects. Cohere has no word for it, and a rule leaves it out.
        out["tool_choice"] = b'"auto"'
    elif choice.mode is ChoiceMode.NAMED:
        out["tool_choice"] = b'{"type":"function","function":{"name":' + quote(choice.names[0]) + b"}}"
    else:
        raise Unrepresentable(f"the tool choice {choice.mode.value} in a Cohere request", key="tool_choice")


def _render_format(form: ResponseFormat | None, out: dict[str, Json]) -> None:
    if form is None:
        return
    wire: dict[str, Json] = {"type": b'"text"' if form.kind is FormatKind.TEXT else b'"json_object"'}
    if form.kind is FormatKind.SCHEMA and form.schema is not None:
        wire["json_schema"] = form.schema
    out["response_format"] = render_object(wire)
