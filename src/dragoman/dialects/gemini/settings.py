"""Gemini's top-level members other than the contents, both ways."""

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
from dragoman.conversation.settings import Effort, FormatKind, ResponseFormat, Settings, Thinking
from dragoman.conversation.tools import ChoiceMode, ToolChoice
from dragoman.dialects.dialect import RenderOptions
from dragoman.dialects.gemini import NAME, tools
from dragoman.dialects.gemini.message_render import render_system
from dragoman.dialects.gemini.schema import GeminiGenerationConfig, GeminiSafety, GeminiToolConfig, camel
from dragoman.dialects.shared.ownership import require_own
from dragoman.dialects.shared.parsing import extras_of
from dragoman.dialects.shared.rendering import put
from dragoman.dialects.shared.setting_table import (
    SettingObject,
    SettingRow,
    SettingTable,
    decode_stops,
    flag,
    gather_thinking,
    number,
    word,
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
from dragoman.wire.json_reader import render_list, render_object

_whole = msgspec.json.Decoder(int, strict=False).decode
"""Protocol buffers write large numbers as texts."""


# The format of the answer, which takes several members

_JSON = "application/json"
_TEXT = "text/plain"
_FORMATS = ("responseFormat", "responseJsonSchema", "responseSchema", "responseMimeType")


def _take_format(wire: dict[str, Json]) -> dict[str, Any]:
    form = _parse_format(wire)
    return {} if form is None else {"response_format": form}


def _parse_format(wire: dict[str, Json]) -> ResponseFormat | None:
    """The response format, taken out of `generationConfig`. An unknown form stays there."""
    if "responseFormat" in wire:
        return _parse_new_format(wire)
    mime = wire.get("responseMimeType", b"")
    kind = unquote(mime) if mime[:1] == b'"' else ""
    schemas = [key for key in ("responseJsonSchema", "responseSchema") if key in wire]
    if kind not in ("", _JSON, _TEXT) or len(schemas) > 1 or (kind == _TEXT and schemas):
        return None
    wire.pop("responseMimeType", None)
    if schemas:
        schema = wire.pop(schemas[0])
        proto = schemas[0] == "responseSchema"
        return ResponseFormat(FormatKind.SCHEMA, tools.from_proto(schema) if proto else schema, wire_form=schemas[0])
    if not kind:
        return None
    return ResponseFormat(FormatKind.JSON if kind == _JSON else FormatKind.TEXT)


def _parse_new_format(wire: dict[str, Json]) -> ResponseFormat | None:
    """`responseFormat`, the newest spelling: `{"text": {"mimeType", "jsonSchema"}}`."""
    raw = wire["responseFormat"]
    if raw[:1] != b"{" or wire.keys() & {"responseMimeType", "responseJsonSchema", "responseSchema"}:
        return None
    outer = tools.open_camel(raw, "/generationConfig/responseFormat")
    text = outer.get("text", b"")
    if outer.keys() != {"text"} or text[:1] != b"{":
        return None
    inner = tools.open_camel(text, "/generationConfig/responseFormat/text")
    if inner.get("mimeType") != quote(_JSON) or inner.keys() - {"mimeType", "jsonSchema"}:
        return None
    del wire["responseFormat"]
    schema = inner.get("jsonSchema")
    return ResponseFormat(FormatKind.SCHEMA if schema else FormatKind.JSON, schema, wire_form="responseFormat")


def _render_format(settings: Settings) -> dict[str, Json]:
    form = settings.response_format
    if form is None:
        return {}
    if form.wire_form == "responseFormat" and form.kind is not FormatKind.TEXT:
        text = {"mimeType": quote(_JSON)} | ({"jsonSchema": form.schema} if form.schema is not None else {})
        return {"responseFormat": b'{"text":' + render_object(text) + b"}"}
    out: dict[str, Json] = {"responseMimeType": quote(_TEXT if form.kind is FormatKind.TEXT else _JSON)}
    if form.schema is not None and form.wire_form == "responseSchema":
        out["responseSchema"] = tools.to_proto(form.schema)
    elif form.schema is not None:
        out["responseJsonSchema"] = form.schema
    return out


# Thinking

_LEVELS = {
    "MINIMAL": Effort.MINIMAL,
    "LOW": Effort.LOW,
    "MEDIUM": Effort.MEDIUM,
    "HIGH": Effort.HIGH,
    "XHIGH": Effort.XHIGH,
}
_WORDS = {effort: level for level, effort in _LEVELS.items()}


def _parse_thinking(raw: Json) -> ParsedMember:
    at = "/generationConfig/thinkingConfig"
    wire = tools.open_camel(raw, at)
    found: dict[str, Any] = {}
    level = wire.get("thinkingLevel", b"")
    effort = _LEVELS.get(unquote(level).upper()) if level[:1] == b'"' else None
    if effort is not None:
        found["thinking.effort"] = effort
        del wire["thinkingLevel"]
    if "thinkingBudget" in wire:
        budget = decode_value(_whole, wire.pop("thinkingBudget"), f"{at}/thinkingBudget")
        found |= {"thinking.on": False} if budget == 0 else {"thinking.budget": budget}
    if "includeThoughts" in wire:
        found["thinking.visible"] = decode_value(flag, wire.pop("includeThoughts"), f"{at}/includeThoughts")
    return found, wire


def _render_thinking(settings: Settings, beside: Mapping[str, Json]) -> Json | None:
    thinking = settings.thinking or Thinking()
    if thinking.summary is not None or thinking.adaptive or thinking == Thinking(on=True):
        raise Unrepresentable("thinking without a budget or a level in a Gemini request", key="thinking")
    out: dict[str, Json] = {}
    put(out, "thinkingBudget", 0 if thinking.on is False else thinking.budget)
    if thinking.effort is not None and thinking.on is not False:
        if thinking.effort not in _WORDS:
            raise Unrepresentable(f"the effort {thinking.effort.value} in a Gemini request", key="thinking")
        out["thinkingLevel"] = quote(_WORDS[thinking.effort])
    put(out, "includeThoughts", thinking.visible)
    out |= beside
    return render_object(out) if out else None


def _interpret_effort(raw: Json) -> Json | None:
    """An effort as a level of thinking, if Gemini has a word for it."""
    known = raw[:1] == b'"' and unquote(raw).upper() in _LEVELS
    return b'{"thinkingLevel":%b}' % raw.upper() if known else None


# The tool choice

_CONFIGS = frozenset({"functionCallingConfig", "retrievalConfig", "includeServerSideToolInvocations"})
_open_tool_config = open_decoder(GeminiToolConfig)


def _parse_calling(raw: Json) -> ParsedMember:
    choice, rest = tools.parse_choice(raw)
    return ({"tool_choice": choice} if choice is not None else {}), rest


def _parse_own_choice(raw: Json) -> ToolChoice | None:
    """Any tool config with a member of Gemini's own is left alone."""
    own = raw[:1] == b"{" and not tools.open_camel(raw, "/toolConfig").keys().isdisjoint(_CONFIGS)
    return ToolChoice(ChoiceMode.AUTO) if own else None


def _render_whole_choice(choice: ToolChoice) -> Json | None:
    written = tools.render_choice(choice, {})
    return None if written is None else b'{"functionCallingConfig":' + written + b"}"


def _fit_names(members: Members) -> tuple[Members, tuple[NearMiss, ...]]:
    """Names are taken beside the modes `ANY` and `VALIDATED`. The latter leaves the model its choice, like `AUTO`."""
    found = dict(members)
    config = tools.open_camel(found["toolConfig"], "/toolConfig") if found.get("toolConfig", b"")[:1] == b"{" else {}
    calling = config.get("functionCallingConfig", b"")
    wire = tools.open_camel(calling, "/toolConfig/functionCallingConfig") if calling[:1] == b"{" else {}
    mode = unquote(wire["mode"]).upper() if wire.get("mode", b"")[:1] == b'"' else ""
    if wire.get("allowedFunctionNames", b"[]") in (b"[]", b"null") or mode not in _NAMELESS:
        return members, ()
    if mode == "NONE":
        del wire["allowedFunctionNames"]
    else:
        wire["mode"] = b'"VALIDATED"'
    found["toolConfig"] = render_object({**config, "functionCallingConfig": render_object(wire)})
    miss = NearMiss(Miss.CHOICE, "/toolConfig/functionCallingConfig", members=("toolConfig",))
    return tuple(found.items()), (miss,)


_NAMELESS = ("", "MODE_UNSPECIFIED", "AUTO", "NONE")


# Safety settings, which are no settings of ours

_open_safety = open_decoder(list[GeminiSafety] | GeminiSafety)
_NO_SAFETY = _open_safety(b"{}")


def _shape_safety(raw: Json) -> object:
    """A single setting may stand in place of the list. An object of anything else may not."""
    found = _open_safety(raw)
    if found == _NO_SAFETY:
        raise msgspec.ValidationError("Expected `array`, got `object`")
    return found


# All settings

_LIMITS = ("max_tokens", "maxTokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens")

SETTINGS = SettingTable(
    NAME,
    (
        SettingObject(
            member="toolConfig",
            objects=(
                SettingObject(
                    member="functionCallingConfig",
                    parse=_parse_calling,
                    render=lambda settings, beside: tools.render_choice(settings.tool_choice, beside),
                    holds={"tool_choice": ""},
                ),
            ),
            names=("tool_choice", "toolChoice"),
            members=tools.open_camel,
            shape=_open_tool_config,
        ),
        SettingObject(
            member="generationConfig",
            rows=(
                SettingRow("max_tokens", _whole, "maxOutputTokens", _LIMITS, limit=True),
                SettingRow("temperature", number, names=("temperature",)),
                SettingRow("top_p", number, "topP", ("top_p", "topP")),
                SettingRow("top_k", number, "topK", ("top_k", "topK")),
                SettingRow("n", _whole, "candidateCount", ("n",)),
                SettingRow("seed", _whole),
                SettingRow("presence_penalty", number, "presencePenalty"),
                SettingRow("frequency_penalty", number, "frequencyPenalty"),
                SettingRow("logprobs", flag, "responseLogprobs"),
                SettingRow("top_logprobs", _whole, "logprobs"),
                SettingRow(
                    "stop", decode_stops, "stopSequences", ("stop", "stop_sequences", "stopSequences"), render_list
                ),
            ),
            parse_rest=_take_format,
            render_rest=_render_format,
            holds={"response_format": ""},
            objects=(
                SettingObject(
                    member="thinkingConfig",
                    parse=_parse_thinking,
                    render=_render_thinking,
                    holds={"thinking": ""},
                    strays={"reasoning_effort": _interpret_effort},
                ),
            ),
            members=tools.open_camel,
            spell=camel,
            shape=open_decoder(GeminiGenerationConfig),
        ),
        SettingObject(member="safetySettings", parse=lambda raw: ({}, {"": raw}), shape=_shape_safety),
        SettingRow("service_tier", word, "serviceTier"),
        SettingRow("store", flag),
    ),
    stop="",
    stop_listed=False,
    parse_choice=_parse_own_choice,
    render_choice=_render_whole_choice,
    choice="toolConfig",
    odd_form=(),
)
SNAKE = {
    "system_instruction": "systemInstruction",
    "generation_config": "generationConfig",
    "tool_config": "toolConfig",
    "safety_settings": "safetySettings",
    "cached_content": "cachedContent",
    "service_tier": "serviceTier",
}
"""Top-level names in their other spelling."""
_THOUGHTS = SETTINGS.pointers["thinking"]
PLACES = SETTINGS.places(
    {
        "response_format": tuple([f"/generationConfig/{name}" for name in _FORMATS]),
        "tool_choice": ("/toolConfig/functionCallingConfig", "/toolConfig"),
        "reasoning_effort": _THOUGHTS,
        "include": _THOUGHTS,
    },
    tool="/functionDeclarations/{inner}",
    spellings={name: snake for snake, name in SNAKE.items()},
)
SKIPPED = frozenset({"model", "contents", "systemInstruction", "tools"})
"""Members that are no settings."""


def parse_top_level(source: Mapping[str, Raw]) -> TopLevel:
    """Settings, tools and the fields that we do not know."""
    settings, extras, misses = parse_settings(setting_members(source, SKIPPED, nulls=True))
    found = tools.parse_tools(bytes(source.get("tools", b"")))
    near_misses = join_misses(found.misses, misses)
    return TopLevel(settings, found.tools, extras, found.empty, near_misses=near_misses)


@remembered
def parse_settings(members: Members) -> tuple[Settings, Extras | None, tuple[NearMiss, ...]]:
    members, misses = SETTINGS.interpret(members)
    members, moved = _fit_names(members)
    found, extras = SETTINGS.parse(members)
    gather_thinking(found)
    return Settings(**found), extras_of(NAME, extras), join_misses(misses, moved)


def render_top_level(conversation: Conversation, options: RenderOptions) -> dict[str, Json]:
    """All top-level members other than the contents."""
    if conversation.hint is not None:
        raise Unrepresentable("a cache hint in a Gemini request", key="cache_control")
    extras = require_own(conversation.extras, NAME)
    out: dict[str, Json] = {}
    system = render_system(conversation.messages)
    if system is not None:
        out["systemInstruction"] = system
    if conversation.tools or conversation.empty_tools:
        out["tools"] = tools.render_tools(conversation.tools)
    out |= SETTINGS.render(conversation.settings, conversation.extras)
    if extras:
        out |= {key: value for key, value in extras.items() if "." not in key}
    return out
