"""Converse's top-level members other than the messages, both ways."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from dragoman.conversation.bounded_cache import remembered
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import quote, unquote
from dragoman.conversation.near_misses import Miss, NearMiss
from dragoman.conversation.parts import Extras, Json
from dragoman.conversation.settings import (
    EFFORT_ALONE,
    EFFORT_CONFIG,
    EFFORT_INSIDE,
    Effort,
    FormatKind,
    ResponseFormat,
    Settings,
    Thinking,
)
from dragoman.conversation.tools import ChoiceMode, ToolChoice
from dragoman.dialects.bedrock import NAME
from dragoman.dialects.bedrock.message_render import render_system
from dragoman.dialects.bedrock.schema import decode_format
from dragoman.dialects.bedrock.tools import TOOL_CONFIG, parse_choice, parse_tools, render_choice, render_tools
from dragoman.dialects.dialect import RenderOptions
from dragoman.dialects.families.claude_thinking import parse_claude_thinking, render_claude_thinking
from dragoman.dialects.near_misses.choices import parse_any_choice
from dragoman.dialects.near_misses.tools import MeantTools
from dragoman.dialects.shared.ownership import require_own
from dragoman.dialects.shared.parsing import extras_of
from dragoman.dialects.shared.raw_json import NOTHING, fields_of, text_of
from dragoman.dialects.shared.rendering import inside, put
from dragoman.dialects.shared.setting_table import (
    SettingObject,
    SettingRow,
    SettingTable,
    decode_stops,
    gather_thinking,
    number,
    open_members,
    refuse_nulls,
    whole,
    word,
)
from dragoman.dialects.shared.top_level import ODD_FORM, Members, ParsedMember, TopLevel, join_misses, setting_members
from dragoman.errors import MalformedRequest, Unrepresentable
from dragoman.wire.json_reader import render_list, render_object, split_members

INFERENCE = "inferenceConfig"
ADDITIONAL = "additionalModelRequestFields"
OUTPUT = "outputConfig"


def _open_dotless(raw: Json, at: str) -> dict[str, Json]:
    """The members of an object. Raises ValueError if a name has a dot, which marks a place in ours."""
    wire = open_members(raw, at)
    if any("." in key or not key for key in wire):
        raise ValueError(at)
    return wire


# What is meant for the model itself: some of it are settings that other dialects have too


def _take_additional(wire: dict[str, Json]) -> dict[str, Any]:
    found = _take_thinking(wire) | _take_effort(wire, "reasoning_effort") or _take_config(wire)
    if wire.get("top_k", b"")[:1].isdigit():
        found["top_k"] = number(wire.pop("top_k"))
    return found


def _take_thinking(wire: dict[str, Json]) -> dict[str, Any]:
    """Claude's form. Any other stays there."""
    try:
        found, rest = parse_claude_thinking(wire["thinking"])
    except (*ODD_FORM, MalformedRequest):
        return {}
    if rest:
        return {}
    del wire["thinking"]
    return found


def _take_effort(wire: dict[str, Json], key: str) -> dict[str, Any]:
    raw = wire.get(key, b"")
    if raw[:1] != b'"' or unquote(raw) not in _EFFORTS:
        return {}
    return {"thinking.effort": Effort(unquote(wire.pop(key)))}


_EFFORTS = frozenset(Effort)


def _take_config(wire: dict[str, Json]) -> dict[str, Any]:
    """Nova's form. A high effort allows no token limit beside it: it stays as it is, written by one who knows Nova."""
    given = fields_of(wire.get(EFFORT_CONFIG, b""))
    effort = None if given is None else _CONFIGS.get((text_of(given.get("type")), text_of(given.get(_MOST))))
    if given is None or effort is None or given.keys() - {"type", _MOST}:
        return {}
    del wire[EFFORT_CONFIG]
    return {"thinking.effort": effort, "thinking.wire_form": EFFORT_CONFIG}


def _render_config(effort: Effort) -> Json:
    if effort is Effort.NONE:
        return b'{"type":"disabled"}'
    return render_object({"type": b'"enabled"', _MOST: quote(effort)})


_MOST = "maxReasoningEffort"
_CONFIGS = {("disabled", ""): Effort.NONE, ("enabled", "low"): Effort.LOW, ("enabled", "medium"): Effort.MEDIUM}


def _render_additional(settings: Settings) -> dict[str, Json]:
    out: dict[str, Json] = {}
    put(out, "top_k", settings.top_k)
    thinking = settings.thinking or Thinking()
    wire = render_claude_thinking(thinking, NAME)
    if wire:
        out["thinking"] = render_object(wire)
    if thinking.effort is not None and thinking.wire_form == EFFORT_CONFIG:
        out[EFFORT_CONFIG] = _render_config(thinking.effort)
    elif thinking.effort is not None and not _is_beside(thinking):
        out["reasoning_effort"] = quote(thinking.effort)
    return out


def _is_beside(thinking: Thinking) -> bool:
    """Whether an effort stands in `outputConfig`, as Claude has it."""
    if thinking.wire_form in (EFFORT_ALONE, EFFORT_INSIDE):
        return thinking.wire_form == EFFORT_ALONE
    return bool(render_claude_thinking(thinking, NAME))


# The answer's form


def _take_output(wire: dict[str, Json]) -> dict[str, Any]:
    found = _take_effort(wire, "effort")
    if found:
        found["thinking.wire_form"] = EFFORT_ALONE
    form = _parse_format(wire["textFormat"]) if "textFormat" in wire else None
    if form is not None:
        found["response_format"] = form
        del wire["textFormat"]
    return found


def _parse_format(raw: Json) -> ResponseFormat | None:
    """A schema, which is written as JSON text. None if it has another form."""
    try:
        wire = decode_format(raw)
    except msgspec.DecodeError:
        return None
    inner = wire.structure.jsonSchema
    schema = unquote(bytes(inner.schema)).encode() if bytes(inner.schema)[:1] == b'"' else b""
    if wire.type != "json_schema" or fields_of(schema.strip() or b"[]") is None:
        return None
    description = bytes(inner.description)
    return ResponseFormat(FormatKind.SCHEMA, schema, inner.name, None if description in NOTHING else description)


def _render_output(settings: Settings) -> dict[str, Json]:
    out: dict[str, Json] = {}
    thinking = settings.thinking
    if thinking is not None and thinking.effort is not None and _is_beside(thinking):
        out["effort"] = quote(thinking.effort)
    if settings.response_format is not None:
        out["textFormat"] = _render_format(settings.response_format)
    return out


def _render_format(form: ResponseFormat) -> Json:
    if form.kind is not FormatKind.SCHEMA or form.schema is None:
        raise Unrepresentable(f"a response format of kind {form.kind.value}", key="response_format")
    schema: dict[str, Json] = {"schema": quote(form.schema.decode())}
    if form.name:
        schema["name"] = quote(form.name)
    if form.description is not None:
        schema["description"] = form.description
    return b'{"type":"json_schema","structure":{"jsonSchema":' + render_object(schema) + b"}}"


def _parse_tier(raw: Json) -> ParsedMember:
    wire = open_members(raw, "/serviceTier")
    if wire.keys() != {"type"}:
        raise ValueError("serviceTier")
    return {"service_tier": word(wire["type"])}, {}


def _render_tier(settings: Settings, _: Mapping[str, Json]) -> Json | None:
    return None if settings.service_tier is None else b'{"type":%b}' % quote(settings.service_tier)


# All settings

_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxTokens", "maxOutputTokens")

SETTINGS = SettingTable(
    NAME,
    (
        SettingObject(
            member=INFERENCE,
            rows=(
                SettingRow("max_tokens", whole, "maxTokens", _LIMITS, limit=True),
                SettingRow("temperature", number, names=("temperature",)),
                SettingRow("top_p", number, "topP", ("top_p", "topP")),
                SettingRow(
                    "stop", decode_stops, "stopSequences", ("stop", "stop_sequences", "stopSequences"), render_list
                ),
            ),
            members=_open_dotless,
            shape=refuse_nulls,
        ),
        SettingObject(
            member=ADDITIONAL,
            members=_open_dotless,
            shape=refuse_nulls,
            parse_rest=_take_additional,
            render_rest=_render_additional,
            holds={"top_k": "/top_k", "thinking": "/thinking"},
        ),
        SettingObject(
            member=OUTPUT,
            members=_open_dotless,
            parse_rest=_take_output,
            render_rest=_render_output,
            holds={"response_format": "/textFormat"},
        ),
        SettingObject(member="serviceTier", parse=_parse_tier, render=_render_tier, holds={"service_tier": ""}),
        SettingObject(member=TOOL_CONFIG, render=lambda settings, _: None, holds={"tool_choice": "/toolChoice"}),
    ),
    stop="",
    stop_listed=True,
    parse_choice=parse_choice,
    render_choice=render_choice,
    choice="",
)
"""The tool choice stands with the tools, in the last one, which is parsed and rendered with them."""

_THOUGHTS = (
    f"/{ADDITIONAL}/thinking",
    f"/{ADDITIONAL}/reasoning_effort",
    f"/{ADDITIONAL}/{EFFORT_CONFIG}",
    f"/{OUTPUT}/effort",
)
PLACES = SETTINGS.places(
    {"thinking": _THOUGHTS, "reasoning_effort": _THOUGHTS, "include": _THOUGHTS},
    tools=(f"/{TOOL_CONFIG}/tools",),
    tool="/toolSpec",
)
SKIPPED = frozenset({"messages", "system", TOOL_CONFIG})
"""Members that are no settings."""


def parse_top_level(source: Mapping[str, Raw]) -> TopLevel:
    """Settings, tools and the fields that we do not know."""
    settings, extras, misses = parse_settings(setting_members(source, SKIPPED, nulls=True))
    config = bytes(source.get(TOOL_CONFIG, b""))
    if config in (b"", b"null"):
        return TopLevel(settings, (), extras, False, near_misses=misses)
    tools, choice, rest = _parse_tool_config(config)
    if choice is not None:
        settings = replace(settings, tool_choice=choice)
    if rest:
        extras = Extras(NAME, {**(extras.fields if extras is not None else {}), **rest})
    return TopLevel(settings, tools.tools, extras, tools.empty, near_misses=join_misses(tools.misses, misses))


@remembered
def _parse_tool_config(raw: bytes) -> tuple[MeantTools, ToolChoice | None, Mapping[str, Json]]:
    """The tools, the choice among them, and what else stands beside them."""
    if raw[:1] != b"{":
        raise MalformedRequest("toolConfig is not an object", at=f"/{TOOL_CONFIG}")
    wire = split_members(raw, f"/{TOOL_CONFIG}")
    tools = parse_tools(bytes(wire.pop("tools", b"" if wire else b"[]")))
    choice = bytes(wire.pop("toolChoice", b"null"))
    rest = {f"{TOOL_CONFIG}.{key}": bytes(value) for key, value in wire.items()}
    found = None if choice == b"null" else parse_choice(choice)
    meant = parse_any_choice(choice) if found is not None and found.mode is ChoiceMode.NATIVE else None
    if meant is not None:
        miss = NearMiss(Miss.CHOICE, f"/{TOOL_CONFIG}/toolChoice", members=(TOOL_CONFIG,))
        tools, found = replace(tools, misses=(*tools.misses, miss)), meant
    return tools, found, rest


@remembered
def parse_settings(members: Members) -> tuple[Settings, Extras | None, tuple[NearMiss, ...]]:
    members, moved = _move_top_k(members)
    members, misses = SETTINGS.interpret(members)
    found, extras = SETTINGS.parse(members)
    if "thinking.on" in found and found.pop("thinking.wire_form", None) is None and "thinking.effort" in found:
        found["thinking.wire_form"] = EFFORT_INSIDE
    gather_thinking(found)
    return Settings(**found), extras_of(NAME, extras), join_misses(moved, misses)


def _move_top_k(members: Members) -> tuple[Members, tuple[NearMiss, ...]]:
    """`topK` stands beside `topP` in other dialects; the model itself takes it here."""
    wire = dict(members)
    inference, additional = fields_of(wire.get(INFERENCE, b"")) or {}, fields_of(wire.get(ADDITIONAL, b"{}"))
    name = next((one for one in ("topK", "top_k") if inference.get(one, b"")[:1].isdigit()), None)
    if name is None or additional is None or "top_k" in additional:
        return members, ()
    moved = {**additional, "top_k": inference.pop(name)}
    wire |= {INFERENCE: render_object(inference), ADDITIONAL: render_object(moved)}
    miss = NearMiss(Miss.SETTING_NAME, f"/{INFERENCE}/{name}", members=(INFERENCE, ADDITIONAL))
    return tuple(wire.items()), (miss,)


def render_top_level(conversation: Conversation, options: RenderOptions) -> dict[str, Json]:
    """All top-level members other than the messages."""
    if conversation.hint is not None:
        raise Unrepresentable("a cache hint for a whole Bedrock request", key="cache_control")
    extras = require_own(conversation.extras, NAME)
    out: dict[str, Json] = {}
    system = render_system(conversation.messages)
    if system is not None:
        out["system"] = system
    config = _render_tool_config(conversation, extras)
    if config:
        out[TOOL_CONFIG] = render_object(config)
    out |= SETTINGS.render(conversation.settings, conversation.extras)
    if extras:
        out |= {key: value for key, value in extras.items() if "." not in key}
    return out


def _render_tool_config(conversation: Conversation, extras: Mapping[str, Json]) -> dict[str, Json]:
    config: dict[str, Json] = {}
    if conversation.tools or conversation.empty_tools:
        config["tools"] = render_tools(conversation.tools)
    choice = conversation.settings.tool_choice
    if choice is not None:
        config["toolChoice"] = render_choice(choice)
    return config | inside(TOOL_CONFIG, extras)
