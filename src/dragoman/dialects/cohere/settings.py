"""Cohere's top-level members other than the messages, both ways."""

from __future__ import annotations

from collections.abc import Mapping

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
from dragoman.dialects.cohere.message_parse import parse_documents
from dragoman.dialects.cohere.message_render import render_documents
from dragoman.dialects.cohere.schema import CohereCitationOptions, CohereFormat, CohereThinkingConfig
from dragoman.dialects.cohere.tools import parse_tools, render_tools
from dragoman.dialects.dialect import RenderOptions
from dragoman.dialects.near_misses.answer_formats import parse_chat_format
from dragoman.dialects.near_misses.choices import parse_any_choice
from dragoman.dialects.shared.ownership import own_choice, require_own
from dragoman.dialects.shared.parsing import extras_of, stream_misses
from dragoman.dialects.shared.raw_json import fields_of
from dragoman.dialects.shared.setting_table import (
    SettingObject,
    SettingRow,
    SettingTable,
    decode_stops,
    flag,
    number,
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
from dragoman.dialects.shared.wire_schema import open_decoder
from dragoman.errors import Unrepresentable
from dragoman.wire.json_reader import render_list, render_object, split_members


def _parse_stop(raw: Json) -> ParsedMember:
    texts = decode_value(decode_stops, raw, "/stop_sequences")
    return ({"stop": texts}, {}) if texts else ({}, {"": raw})


# Thinking


def _parse_thinking(raw: Json) -> ParsedMember:
    wire = msgspec.json.decode(raw)
    switch = {"enabled": True, "disabled": False}.get(wire.get("type"))
    budget = wire.get("token_budget")
    if switch is None or not (budget is None or isinstance(budget, int)):
        return {}, {"": raw}
    members = split_members(raw, "/thinking")
    rest = {key: bytes(value) for key, value in members.items() if key not in ("type", "token_budget")}
    return {"thinking": Thinking(on=switch, budget=budget)}, rest


def _render_thinking(settings: Settings, beside: Mapping[str, Json]) -> Json | None:
    thinking = settings.thinking
    if thinking is None or (thinking.on is None and thinking.budget is None and not thinking.adaptive):
        return None
    if thinking.effort is not None:
        raise Unrepresentable("an effort of thinking in a Cohere request", key="thinking")
    wire: dict[str, Json] = {"type": b'"disabled"' if thinking.on is False else b'"enabled"'}
    if thinking.budget is not None:
        wire["token_budget"] = b"%d" % thinking.budget
    return render_object({**wire, **beside})


# The tool choice

_MODES = {b'"REQUIRED"': ChoiceMode.REQUIRED, b'"NONE"': ChoiceMode.NONE}
_WORDS = {mode: word for word, mode in _MODES.items()}


def _parse_own_choice(raw: Json) -> ToolChoice | None:
    mode = _MODES.get(raw)
    return None if mode is None else ToolChoice(mode)


def _parse_choice(raw: Json) -> ToolChoice:
    choice = _parse_own_choice(raw) or parse_any_choice(raw)
    return choice or ToolChoice(ChoiceMode.NATIVE, json=raw, origin=ORIGIN)


def _render_choice(choice: ToolChoice) -> Json:
    if choice.mode is ChoiceMode.NATIVE:
        return own_choice(choice, NAME)
    if choice.mode in _WORDS:
        return _WORDS[choice.mode]
    if choice.mode is ChoiceMode.AUTO:
        # What clients write that know other dialects. Cohere has no word for it, and a rule leaves it out.
        return b'"auto"'
    if choice.mode is ChoiceMode.NAMED:
        return b'{"type":"function","function":{"name":' + quote(choice.names[0]) + b"}}"
    raise Unrepresentable(f"the tool choice {choice.mode.value} in a Cohere request", key="tool_choice")


# The format of the answer


def _parse_format(raw: Json) -> ParsedMember:
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


def _interpret_format(raw: Json) -> Json:
    """The format that is meant: a schema under the name that Cohere's first API had for it, or in Chat's form."""
    fields = fields_of(raw)
    if fields is None or ("schema" not in fields and fields.get("type") != b'"json_schema"'):
        return raw
    form = parse_chat_format(raw)
    if form is None or form.schema is None:
        return raw
    return render_object({"type": b'"json_object"', "json_schema": form.schema})


def _render_format(settings: Settings, beside: Mapping[str, Json]) -> Json | None:
    form = settings.response_format
    if form is None:
        return None
    wire: dict[str, Json] = {"type": b'"text"' if form.kind is FormatKind.TEXT else b'"json_object"'}
    if form.kind is FormatKind.SCHEMA and form.schema is not None:
        wire["json_schema"] = form.schema
    return render_object(wire)


# All settings

_LIMITS = ("max_completion_tokens", "max_output_tokens", "maxOutputTokens", "maxTokens")

SETTINGS = SettingTable(
    NAME,
    (
        SettingRow("temperature", number),
        SettingRow("top_p", number, "p", ("top_p", "topP")),
        SettingRow("top_k", number, "k", ("top_k", "topK")),
        SettingRow("seed", whole),
        SettingRow("frequency_penalty", number),
        SettingRow("presence_penalty", number),
        SettingRow("max_tokens", whole, names=_LIMITS),
        SettingRow("logprobs", flag),
        SettingObject(
            member="stop_sequences",
            parse=_parse_stop,
            render=lambda settings, beside: render_list(settings.stop) if settings.stop else None,
            holds={"stop": ""},
            names=("stop", "stopSequences"),
        ),
        SettingObject(
            member="thinking",
            parse=_parse_thinking,
            render=_render_thinking,
            # The state of thinking is not asked for: an answer has none.
            holds={"thinking": "", "reasoning_state": ""},
            shape=open_decoder(CohereThinkingConfig),
            spare=True,
        ),
        SettingRow("tool_choice", _parse_choice, names=("toolChoice",), encode=_render_choice),
        SettingObject(
            member="response_format",
            parse=_parse_format,
            render=_render_format,
            holds={"response_format": ""},
            shape=open_decoder(CohereFormat),
            meant=_interpret_format,
            names=("responseFormat",),
        ),
        SettingObject(
            member="citation_options",
            parse=lambda raw: ({}, {"": raw}),
            shape=open_decoder(CohereCitationOptions),
            spare=True,
        ),
    ),
    stop="stop_sequences",
    stop_listed=True,
    parse_choice=_parse_own_choice,
    render_choice=lambda choice: _WORDS.get(choice.mode),
)
PLACES = SETTINGS.places({"reasoning_effort": ("/thinking",), "include": ("/thinking",)})
SKIPPED = frozenset({"model", "messages", "stream", "tools", "documents"})
"""Members that are no settings."""


def parse_top_level(source: Mapping[str, Raw]) -> TopLevel:
    """Settings, tools and the fields that we do not know. Documents of an unknown form are such a field."""
    settings, extras, misses = parse_settings(setting_members(source, SKIPPED))
    documents = bytes(source.get("documents", b"[]"))
    if documents not in (b"[]", b"null") and parse_documents(documents) is None:
        extras = Extras(NAME, {**(extras.fields if extras is not None else {}), "documents": documents})
    found = parse_tools(bytes(source.get("tools", b"")))
    near_misses = join_misses(found.misses, misses, stream_misses(source))
    return TopLevel(settings, found.tools, extras, found.empty, near_misses=near_misses)


@remembered
def parse_settings(members: Members) -> tuple[Settings, Extras | None, tuple[NearMiss, ...]]:
    members, misses = SETTINGS.interpret(members)
    found, extras = SETTINGS.parse(members)
    return Settings(**found), extras_of(NAME, extras), misses


def render_top_level(conversation: Conversation, options: RenderOptions) -> dict[str, Json]:
    """All top-level members other than the messages."""
    extras = require_own(conversation.extras, NAME)
    out: dict[str, Json] = {"model": quote(options.model)}
    if conversation.tools or conversation.empty_tools:
        out["tools"] = render_tools(conversation.tools)
    documents = render_documents(conversation.messages)
    if documents is not None:
        out["documents"] = documents
    out |= SETTINGS.render(conversation.settings, conversation.extras)
    out |= {key: value for key, value in extras.items() if "." not in key}
    if options.stream:
        out["stream"] = b"true"
    return out
