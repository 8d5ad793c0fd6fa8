"""Converse's top-level members other than the messages, both ways."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw

from dragoman.conversation.bounded_cache import remembered
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import quote, unquote
from dragoman.conversation.near_misses import Miss, NearMiss
from dragoman.conversation.parts import Extras, Json
from dragoman.conversation.settings import EFFORT_ALONE, Effort, FormatKind, ResponseFormat, Settings, Thinking
from dragoman.conversation.tools import ToolChoice
from dragoman.dialects.bedrock import NAME
from dragoman.dialects.bedrock.message_render import render_system
from dragoman.dialects.bedrock.tools import TOOL_CONFIG, parse_choice, parse_tools, render_choice, render_tools
from dragoman.dialects.dialect import MemberPlaces, RenderOptions
from dragoman.dialects.near_misses.loose_json import fields_of
from dragoman.dialects.near_misses.settings import is_unlimited, meant_scalar, meant_stop
from dragoman.dialects.near_misses.tools import MeantTools
from dragoman.dialects.ownership import require_own
from dragoman.dialects.parsing import extras_of
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
    decoded,
    joined_misses,
    parse_members,
    places_of,
    setting_members,
)
from dragoman.errors import MalformedRequest, Unrepresentable
from dragoman.wire.json_reader import render_object, split_items, split_members

INFERENCE = "inferenceConfig"
ADDITIONAL = "additionalModelRequestFields"
OUTPUT = "outputConfig"

INFERENCE_SETTINGS: PlainMembers = {
    "maxTokens": ("max_tokens", decode_whole),
    "temperature": ("temperature", decode_number),
    "topP": ("top_p", decode_number),
}
"""Name in `inferenceConfig` → our field and its decoder."""

SKIPPED = frozenset({"messages", "system", TOOL_CONFIG})
NOT_SUPPORTED = (
    "min_p",
    "seed",
    "frequency_penalty",
    "presence_penalty",
    "n",
    "logprobs",
    "top_logprobs",
    "verbosity",
    "user",
    "metadata",
    "store",
    "reasoning_state",
    "prompt_cache_key",
    "parallel_tool_calls",
)
"""Settings that Converse has no member for."""

_THINKING = ("on", "adaptive", "budget", "effort", "visible", "spelled")
_DISPLAYS = {b'"summarized"': True, b'"omitted"': False}


def parse_top_level(source: Mapping[str, Raw]) -> TopLevel:
    """Settings, tools and the fields that we do not know."""
    settings, extras, misses = parse_settings(setting_members(source, SKIPPED, nulls=True))
    config = bytes(source.get(TOOL_CONFIG, b""))
    if config in (b"", b"null"):
        return TopLevel(settings, (), extras, False, near_misses=misses)
    tools, choice, rest = _parse_tool_config(config)
    if choice is not None:
        settings = settings.but(tool_choice=choice)
    if rest:
        extras = Extras(NAME, {**(extras.fields if extras is not None else {}), **rest})
    return TopLevel(settings, tools.tools, extras, tools.empty, near_misses=joined_misses(tools.misses, misses))


@remembered
def _parse_tool_config(raw: bytes) -> tuple[MeantTools, ToolChoice | None, Mapping[str, Json]]:
    """The tools, the choice among them, and what else stands beside them."""
    if raw[:1] != b"{":
        raise MalformedRequest("toolConfig is not an object", at=f"/{TOOL_CONFIG}")
    wire = split_members(raw, f"/{TOOL_CONFIG}")
    tools = parse_tools(bytes(wire.pop("tools", b"")))
    choice = bytes(wire.pop("toolChoice", b"null"))
    rest = {f"{TOOL_CONFIG}.{key}": bytes(value) for key, value in wire.items()}
    return tools, None if choice == b"null" else parse_choice(choice), rest


@remembered
def parse_settings(members: Members) -> tuple[Settings, Extras | None, tuple[NearMiss, ...]]:
    members, misses = _meant_settings(members)
    found, extras = parse_members(members, {}, PARSERS)
    thinking = {key: found.pop(key) for key in _THINKING if key in found}
    if thinking:
        if "on" in thinking:
            thinking.pop("spelled", None)
        found["thinking"] = Thinking(**thinking)
    return Settings(**found), extras_of(NAME, extras), misses


_STRAY = {
    "temperature": "temperature",
    "max_tokens": "maxTokens",
    "max_completion_tokens": "maxTokens",
    "max_output_tokens": "maxTokens",
    "maxTokens": "maxTokens",
    "maxOutputTokens": "maxTokens",
    "top_p": "topP",
    "topP": "topP",
    "stop": "stopSequences",
    "stop_sequences": "stopSequences",
    "stopSequences": "stopSequences",
}
"""Settings that are misplaced at the top level, and their names in `inferenceConfig`."""


def _meant_settings(members: Members) -> tuple[Members, tuple[NearMiss, ...]]:
    """The members as Converse has them: settings of other dialects stand in `inferenceConfig`."""
    given = dict(members)
    stray = {key: _STRAY[key] for key in given if key in _STRAY and given[key] != b"null"}
    config = fields_of(given.get(INFERENCE, b"{}"))
    if config is None:
        return members, ()
    misses = [NearMiss(Miss.SETTING_NAME, f"/{key}", members=(key, INFERENCE)) for key in stray]
    config = _meant_inference({**{name: given.pop(key) for key, name in stray.items()}, **config}, misses)
    if not misses:
        return members, ()
    return tuple({**given, INFERENCE: render_object(config)}.items()), tuple(misses)


def _meant_inference(config: dict[str, bytes], misses: list[NearMiss]) -> dict[str, bytes]:
    meant: dict[str, bytes] = {}
    for written, raw in config.items():
        at = f"/{INFERENCE}/{written}"
        key = _STRAY.get(written, written)
        if key != written:
            misses.append(NearMiss(Miss.SETTING_NAME, at, members=(INFERENCE,)))
        if key == "maxTokens" and is_unlimited(raw, at):
            misses.append(NearMiss(Miss.NO_LIMIT, at, members=(INFERENCE,)))
            continue
        meant[key] = meant_stop(raw, True) if key == "stopSequences" else _meant_value(key, raw)
        if meant[key] is not raw:
            misses.append(NearMiss(Miss.SETTING, at, members=(INFERENCE,)))
    return meant


def _meant_value(key: str, raw: bytes) -> bytes:
    return meant_scalar(raw, INFERENCE_SETTINGS[key][1]) if key in INFERENCE_SETTINGS else raw


def _parse_inference(raw: bytes) -> ParsedMember:
    wire = _members(raw, INFERENCE)
    found: dict[str, Any] = {}
    for key, (field, decode) in INFERENCE_SETTINGS.items():
        if key in wire:
            found[field] = decoded(decode, wire.pop(key), f"/{INFERENCE}/{key}")
    if "stopSequences" in wire:
        found["stop"] = _stop(wire.pop("stopSequences"))
    return found, wire


def _stop(raw: bytes) -> tuple[bytes, ...]:
    texts = tuple([bytes(item) for item in split_items(raw, f"/{INFERENCE}/stopSequences")])
    if any(text[:1] != b'"' for text in texts):
        raise MalformedRequest("a stop sequence that is not a string", at=f"/{INFERENCE}/stopSequences")
    return texts


def _parse_additional(raw: bytes) -> ParsedMember:
    """What is meant for the model itself. Two of these are settings that other dialects have too."""
    wire = _members(raw, ADDITIONAL)
    found: dict[str, Any] = {}
    for key, parse in _ADDITIONAL_PARSERS.items():
        fields = parse(wire[key]) if key in wire else None
        if fields is not None:
            found |= fields
            del wire[key]
    return found, wire


def _parse_thinking(raw: bytes) -> dict[str, Any] | None:
    """Claude's form. None where it is another one."""
    wire = {key: bytes(value) for key, value in split_members(raw).items()} if raw[:1] == b"{" else {}
    kind = wire.pop("type", b"")
    found: dict[str, Any] = {"on": kind != b'"disabled"'}
    if kind == b'"adaptive"':
        found["adaptive"] = True
    elif kind == b'"enabled"' and "budget_tokens" in wire:
        found["budget"] = decode_whole(wire.pop("budget_tokens"))
    elif kind != b'"disabled"':
        return None
    if wire.get("display") in _DISPLAYS:
        found["visible"] = _DISPLAYS[wire.pop("display")]
    return None if wire else found


def _parse_effort(raw: bytes) -> dict[str, Any] | None:
    word = unquote(raw) if raw[:1] == b'"' else ""
    return {"effort": Effort(word)} if word in _EFFORTS else None


_EFFORTS = frozenset(Effort)


def _parse_top_k(raw: bytes) -> dict[str, Any] | None:
    return {"top_k": decode_number(raw)} if raw[:1].isdigit() else None


_ADDITIONAL_PARSERS = {"thinking": _parse_thinking, "reasoning_effort": _parse_effort, "top_k": _parse_top_k}


def _parse_output(raw: bytes) -> ParsedMember:
    wire = _members(raw, OUTPUT)
    found: dict[str, Any] = {}
    effort = _parse_effort(wire.get("effort", b""))
    if effort is not None:
        found |= {**effort, "spelled": EFFORT_ALONE}
        del wire["effort"]
    form = _parse_format(wire["textFormat"]) if "textFormat" in wire else None
    if form is not None:
        found["response_format"] = form
        del wire["textFormat"]
    return found, wire


def _parse_format(raw: bytes) -> ResponseFormat | None:
    """A schema, which is written as JSON text. None where it has another form."""
    try:
        wire = _decode_format(raw)
    except msgspec.DecodeError:
        return None
    inner = wire.structure.jsonSchema
    schema = unquote(bytes(inner.schema)).encode() if bytes(inner.schema)[:1] == b'"' else b""
    if wire.type != "json_schema" or fields_of(schema.strip() or b"[]") is None:
        return None
    description = bytes(inner.description) if inner.description is not None else None
    return ResponseFormat(FormatKind.SCHEMA, schema, inner.name, description)


class _BedrockJsonSchema(msgspec.Struct, forbid_unknown_fields=True):
    schema: Raw
    name: str = ""
    description: Raw | None = None


class _BedrockStructure(msgspec.Struct, forbid_unknown_fields=True):
    jsonSchema: _BedrockJsonSchema  # noqa: N815


class _BedrockFormat(msgspec.Struct, forbid_unknown_fields=True):
    type: str
    structure: _BedrockStructure


_decode_format = msgspec.json.Decoder(_BedrockFormat).decode


def _parse_tier(raw: bytes) -> ParsedMember:
    wire = _members(raw, "serviceTier")
    if wire.keys() != {"type"}:
        raise ValueError("serviceTier")
    return {"service_tier": decode_word(wire["type"])}, {}


def _members(raw: bytes, name: str) -> dict[str, bytes]:
    """The members of an object. Raises ValueError where a name has a dot, which marks a place in ours."""
    wire = {key: bytes(value) for key, value in split_members(raw, f"/{name}").items()}
    if any("." in key or not key for key in wire):
        raise ValueError(name)
    return wire


PARSERS: SpecialMembers = {
    INFERENCE: _parse_inference,
    ADDITIONAL: _parse_additional,
    OUTPUT: _parse_output,
    "serviceTier": _parse_tier,
}


_THOUGHTS = (f"/{ADDITIONAL}/thinking", f"/{ADDITIONAL}/reasoning_effort", f"/{OUTPUT}/effort")
PLACES = MemberPlaces(
    {
        **places_of(INFERENCE_SETTINGS, f"/{INFERENCE}"),
        "top_k": (f"/{ADDITIONAL}/top_k",),
        "stop": (f"/{INFERENCE}/stopSequences",),
        "response_format": (f"/{OUTPUT}/textFormat",),
        "service_tier": ("/serviceTier",),
        "tool_choice": (f"/{TOOL_CONFIG}/toolChoice",),
        "thinking": _THOUGHTS,
        "reasoning_effort": _THOUGHTS,
        "include": _THOUGHTS,
    },
    tools=(f"/{TOOL_CONFIG}/tools",),
    tool="/toolSpec",
)
"""Where a request holds its settings and tools."""


def render_top_level(conversation: Conversation, options: RenderOptions) -> dict[str, Json]:
    """All top-level members other than the messages."""
    if conversation.hint is not None:
        raise Unrepresentable("a cache hint for a whole Bedrock request", key="cache_control")
    extras = require_own(conversation.extras, NAME)
    out: dict[str, Json] = {}
    system = render_system(conversation.messages)
    if system is not None:
        out["system"] = system
    config = _tool_config(conversation, extras)
    if config:
        out[TOOL_CONFIG] = render_object(config)
    out |= render_settings(conversation.settings, conversation.extras)
    if extras:
        out |= {key: value for key, value in extras.items() if "." not in key}
    return out


def _tool_config(conversation: Conversation, extras: Mapping[str, Json]) -> dict[str, Json]:
    config: dict[str, Json] = {}
    if conversation.tools or conversation.empty_tools:
        config["tools"] = render_tools(conversation.tools)
    choice = conversation.settings.tool_choice
    if choice is not None:
        config["toolChoice"] = render_choice(choice)
    return config | inside(TOOL_CONFIG, extras)


def _render_settings(settings: Settings, extras: Mapping[str, Json]) -> dict[str, Json]:
    """The settings, with the extra fields that stood in their objects."""
    refuse_settings(settings, NOT_SUPPORTED, NAME)
    out: dict[str, Json] = {}
    inference: dict[str, Json] = {}
    for key, (field, _) in INFERENCE_SETTINGS.items():
        put(inference, key, getattr(settings, field))
    if settings.stop:
        inference["stopSequences"] = b"[" + b",".join(settings.stop) + b"]"
    additional: dict[str, Json] = {}
    output: dict[str, Json] = {}
    put(additional, "top_k", settings.top_k)
    _render_thinking(settings.thinking, additional, output)
    _render_format(settings.response_format, output)
    for name, content in ((INFERENCE, inference), (ADDITIONAL, additional), (OUTPUT, output)):
        content |= inside(name, extras)
        if content:
            out[name] = render_object(content)
    if settings.service_tier is not None:
        out["serviceTier"] = b'{"type":%b}' % quote(settings.service_tier)
    return out


render_settings = RenderedSettings(_render_settings)


def _render_thinking(thinking: Thinking | None, additional: dict[str, Json], output: dict[str, Json]) -> None:
    if thinking is None:
        return
    wire: dict[str, Json] = {}
    if thinking.on is False:
        wire = {"type": b'"disabled"'}
    elif thinking.budget is not None:
        wire = {"type": b'"enabled"', "budget_tokens": b"%d" % thinking.budget}
    elif thinking.adaptive or thinking.on:
        wire = {"type": b'"adaptive"'}
    if thinking.visible is not None:
        if not wire:
            raise Unrepresentable("thoughts to be shown without thinking in a Bedrock request", key="thinking")
        wire["display"] = b'"summarized"' if thinking.visible else b'"omitted"'
    if wire:
        additional["thinking"] = render_object(wire)
    if thinking.effort is not None:
        beside = bool(wire) or thinking.spelled == EFFORT_ALONE
        (output if beside else additional)["effort" if beside else "reasoning_effort"] = quote(thinking.effort)


def _render_format(form: ResponseFormat | None, output: dict[str, Json]) -> None:
    if form is None:
        return
    if form.kind is not FormatKind.SCHEMA or form.schema is None:
        raise Unrepresentable(f"a response format of kind {form.kind.value}", key="response_format")
    schema: dict[str, Json] = {"schema": quote(form.schema.decode())}
    if form.name:
        schema["name"] = quote(form.name)
    if form.description is not None:
        schema["description"] = form.description
    inner = render_object(schema)
    output["textFormat"] = b'{"type":"json_schema","structure":{"jsonSchema":' + inner + b"}}"
