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
from dragoman.dialects.dialect import MemberPlaces, RenderOptions
from dragoman.dialects.gemini import NAME
from dragoman.dialects.gemini.message_render import render_system
from dragoman.dialects.gemini.proto_schema import camel, from_proto, to_proto
from dragoman.dialects.gemini.setting_shapes import SHAPES
from dragoman.dialects.gemini.tools import named, parse_choice, parse_tools, render_choice, render_tools
from dragoman.dialects.near_misses.loose_json import fields_of
from dragoman.dialects.near_misses.settings import (
    LIMITS,
    SettingForm,
    is_unlimited,
    meant_scalar,
    meant_settings,
    meant_stop,
)
from dragoman.dialects.ownership import require_own
from dragoman.dialects.parsing import extras_of
from dragoman.dialects.rendering import RenderedSettings, inside, put, refuse_settings
from dragoman.dialects.top_level import (
    Members,
    ParsedMember,
    PlainMembers,
    SpecialMembers,
    TopLevel,
    decode_flag,
    decode_number,
    decode_word,
    decoded,
    joined_misses,
    parse_members,
    places_of,
    setting_members,
)
from dragoman.errors import MalformedRequest, Unrepresentable
from dragoman.wire.json_reader import render_object, split_items

_whole = msgspec.json.Decoder(int, strict=False).decode
"""Protocol buffers write large numbers as texts."""

GENERATION: PlainMembers = {
    "maxOutputTokens": ("max_tokens", _whole),
    "temperature": ("temperature", decode_number),
    "topP": ("top_p", decode_number),
    "topK": ("top_k", decode_number),
    "candidateCount": ("n", _whole),
    "seed": ("seed", _whole),
    "presencePenalty": ("presence_penalty", decode_number),
    "frequencyPenalty": ("frequency_penalty", decode_number),
    "responseLogprobs": ("logprobs", decode_flag),
    "logprobs": ("top_logprobs", _whole),
}
"""Name in `generationConfig` → our field and its decoder."""

PLAIN: PlainMembers = {"serviceTier": ("service_tier", decode_word), "store": ("store", decode_flag)}

SKIPPED = frozenset({"model", "contents", "systemInstruction", "tools"})
"""Members that are parsed elsewhere."""

SNAKE = {
    "system_instruction": "systemInstruction",
    "generation_config": "generationConfig",
    "tool_config": "toolConfig",
    "safety_settings": "safetySettings",
    "cached_content": "cachedContent",
    "service_tier": "serviceTier",
}
"""Top-level names in their other spelling."""

NOT_SUPPORTED = ("min_p", "parallel_tool_calls", "verbosity", "user", "metadata", "reasoning_state", "prompt_cache_key")
"""Settings that Gemini has no member for."""

_LEVELS = {
    "MINIMAL": Effort.MINIMAL,
    "LOW": Effort.LOW,
    "MEDIUM": Effort.MEDIUM,
    "HIGH": Effort.HIGH,
}
_WORDS = {effort: level for level, effort in _LEVELS.items()}
_JSON = "application/json"
_TEXT = "text/plain"

Fields = dict[str, bytes]


def parse_top_level(source: Mapping[str, Raw]) -> TopLevel:
    """Settings, tools and the fields that we do not know."""
    settings, extras, misses = parse_settings(setting_members(source, SKIPPED, nulls=True))
    found = parse_tools(bytes(source.get("tools", b"")))
    near_misses = joined_misses(found.misses, misses)
    return TopLevel(settings, found.tools, extras, found.empty, near_misses=near_misses)


@remembered
def parse_settings(members: Members) -> tuple[Settings, Extras | None, tuple[NearMiss, ...]]:
    members, misses = _meant_settings(members)
    found, extras = parse_members(members, PLAIN, PARSERS, ())
    return Settings(**found), extras_of(NAME, extras), misses


def _meant_settings(members: Members) -> tuple[Members, tuple[NearMiss, ...]]:
    """The members as Gemini has them: settings of other dialects stand in `generationConfig`."""
    members, misses = meant_settings(members, FORM)
    given = dict(members)
    stray = {key: _STRAY[key] for key in given if _is_stray(key, given[key])}
    config = fields_of(given.get(GENERATION_CONFIG, b"{}"))
    if config is None:
        return members, misses
    found = [NearMiss(Miss.SETTING_NAME, f"/{key}", members=(key, GENERATION_CONFIG)) for key in stray]
    config = {**{name: _stray_value(name, given.pop(key)) for key, name in stray.items()}, **config}
    config = _meant_generation(config, found)
    if not found:
        return members, misses
    return tuple({**given, GENERATION_CONFIG: render_object(config)}.items()), (*misses, *found)


def _meant_generation(config: dict[str, bytes], misses: list[NearMiss]) -> dict[str, bytes]:
    meant: dict[str, bytes] = {}
    for wrong, raw in config.items():
        key, at = _named(wrong, config), f"/{GENERATION_CONFIG}/{wrong}"
        name = camel(key)
        if key != wrong:
            misses.append(NearMiss(Miss.SETTING_NAME, at, members=(GENERATION_CONFIG,)))
        if name in LIMITS and is_unlimited(raw, at):
            misses.append(NearMiss(Miss.NO_LIMIT, at, members=(GENERATION_CONFIG,)))
            continue
        meant[key] = _meant_value(name, raw)
        if meant[key] is not raw:
            misses.append(NearMiss(Miss.SETTING, at, members=(GENERATION_CONFIG,)))
    return meant


def _named(key: str, config: Mapping[str, bytes]) -> str:
    """The name that Gemini has for a setting, unless the client gave that one too."""
    name = _OTHER_NAMES.get(key, key)
    return key if any(camel(given) == name for given in config) else name


def _stray_value(name: str, raw: bytes) -> bytes:
    """The value of a misplaced setting: an effort is a level of thinking."""
    return b'{"thinkingLevel":%b}' % raw.upper() if name == THINKING_CONFIG else raw


def _is_stray(key: str, raw: bytes) -> bool:
    """Whether a setting stands at the top level by mistake. An effort that Gemini has no word for stays there."""
    if key == "reasoning_effort":
        return raw[:1] == b'"' and unquote(raw).upper() in _LEVELS
    return key in _STRAY and raw != b"null"


def _meant_value(name: str, raw: bytes) -> bytes:
    if name == "stopSequences":
        return meant_stop(raw, True)
    return meant_scalar(raw, GENERATION[name][1]) if name in GENERATION else raw


GENERATION_CONFIG = "generationConfig"
THINKING_CONFIG = "thinkingConfig"
_OTHER_NAMES = {
    "max_tokens": "maxOutputTokens",
    "maxTokens": "maxOutputTokens",
    "max_completion_tokens": "maxOutputTokens",
    "stop": "stopSequences",
    "n": "candidateCount",
}
"""What other dialects call settings that stand in `generationConfig`."""
_STRAY = {
    "temperature": "temperature",
    "max_tokens": "maxOutputTokens",
    "max_completion_tokens": "maxOutputTokens",
    "max_output_tokens": "maxOutputTokens",
    "maxOutputTokens": "maxOutputTokens",
    "top_p": "topP",
    "topP": "topP",
    "top_k": "topK",
    "topK": "topK",
    "stop": "stopSequences",
    "stop_sequences": "stopSequences",
    "stopSequences": "stopSequences",
    "reasoning_effort": THINKING_CONFIG,
}
"""Settings that are misplaced at the top level, and their names in `generationConfig`."""


def _parse_generation(raw: bytes) -> ParsedMember:
    at = "/generationConfig"
    wire = named(raw, at)
    found: dict[str, Any] = {}
    for key, (field, decode) in GENERATION.items():
        if key in wire:
            found[field] = decoded(decode, wire.pop(key), f"{at}/{key}")
    if "stopSequences" in wire:
        found["stop"] = _stop(wire.pop("stopSequences"))
    form = _parse_format(wire)
    if form is not None:
        found["response_format"] = form
    if "thinkingConfig" in wire:
        fields, rest = _parse_thinking(wire.pop("thinkingConfig"))
        return found | fields, {f"thinkingConfig.{key}": value for key, value in rest.items()} | wire
    return found, wire


def _stop(raw: bytes) -> tuple[bytes, ...]:
    texts = (
        (raw,)
        if raw[:1] == b'"'
        else tuple([bytes(item) for item in split_items(raw, "/generationConfig/stopSequences")])
    )
    if any(text[:1] != b'"' for text in texts):
        raise MalformedRequest("a stop sequence that is not a string", at="/generationConfig/stopSequences")
    return texts


def _parse_format(wire: Fields) -> ResponseFormat | None:
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
        return ResponseFormat(FormatKind.SCHEMA, from_proto(schema) if proto else schema, spelled=schemas[0])
    if not kind:
        return None
    return ResponseFormat(FormatKind.JSON if kind == _JSON else FormatKind.TEXT)


def _parse_new_format(wire: Fields) -> ResponseFormat | None:
    """`responseFormat`, the newest spelling: `{"text": {"mimeType", "jsonSchema"}}`."""
    raw = wire["responseFormat"]
    if raw[:1] != b"{" or wire.keys() & {"responseMimeType", "responseJsonSchema", "responseSchema"}:
        return None
    outer = named(raw, "/generationConfig/responseFormat")
    text = outer.get("text", b"")
    if outer.keys() != {"text"} or text[:1] != b"{":
        return None
    inner = named(text, "/generationConfig/responseFormat/text")
    if inner.get("mimeType") != quote(_JSON) or inner.keys() - {"mimeType", "jsonSchema"}:
        return None
    del wire["responseFormat"]
    schema = inner.get("jsonSchema")
    return ResponseFormat(FormatKind.SCHEMA if schema else FormatKind.JSON, schema, spelled="responseFormat")


def _parse_thinking(raw: bytes) -> ParsedMember:
    at = "/generationConfig/thinkingConfig"
    wire = named(raw, at)
    fields: dict[str, Any] = {}
    level = wire.get("thinkingLevel", b"")
    effort = _LEVELS.get(unquote(level).upper()) if level[:1] == b'"' else None
    if effort is not None:
        fields["effort"] = effort
        del wire["thinkingLevel"]
    if "thinkingBudget" in wire:
        budget = decoded(_whole, wire.pop("thinkingBudget"), f"{at}/thinkingBudget")
        fields |= {"on": False} if budget == 0 else {"budget": budget}
    if "includeThoughts" in wire:
        fields["visible"] = decoded(decode_flag, wire.pop("includeThoughts"), f"{at}/includeThoughts")
    return ({"thinking": Thinking(**fields)} if fields else {}), wire


def _parse_tool_config(raw: bytes) -> ParsedMember:
    wire = named(raw, "/toolConfig")
    config = wire.pop("functionCallingConfig", None)
    if config is None:
        return {}, wire
    choice, rest = parse_choice(config)
    found = {"tool_choice": choice} if choice is not None else {}
    return found, {f"functionCallingConfig.{key}": value for key, value in rest.items()} | wire


PARSERS: SpecialMembers = {"generationConfig": _parse_generation, "toolConfig": _parse_tool_config}


def _own_choice(raw: bytes) -> ToolChoice | None:
    """Any tool config with a member of Gemini's own is left alone."""
    own = raw[:1] == b"{" and not named(raw, "/toolConfig").keys().isdisjoint(_CONFIGS)
    return ToolChoice(ChoiceMode.AUTO) if own else None


_CONFIGS = frozenset({"functionCallingConfig", "retrievalConfig", "includeServerSideToolInvocations"})


def _written_choice(choice: ToolChoice) -> Json | None:
    written = render_choice(choice, {})
    return None if written is None else b'{"functionCallingConfig":' + written + b"}"


FORM = SettingForm(
    PLAIN,
    {"tool_choice": "toolConfig", "toolChoice": "toolConfig"},
    "",
    False,
    _own_choice,
    _written_choice,
    "toolConfig",
    shapes=SHAPES,
)
"""How Gemini writes settings, and what other dialects call them."""


_FORMATS = ("responseFormat", "responseJsonSchema", "responseSchema", "responseMimeType")
_THOUGHTS = (f"/{GENERATION_CONFIG}/{THINKING_CONFIG}",)
PLACES = MemberPlaces(
    {
        **places_of(PLAIN),
        **places_of(GENERATION, f"/{GENERATION_CONFIG}"),
        "stop": (f"/{GENERATION_CONFIG}/stopSequences",),
        "response_format": tuple([f"/{GENERATION_CONFIG}/{name}" for name in _FORMATS]),
        "tool_choice": ("/toolConfig/functionCallingConfig", "/toolConfig"),
        "thinking": _THOUGHTS,
        "reasoning_effort": _THOUGHTS,
        "include": _THOUGHTS,
    },
    tool="/functionDeclarations/{inner}",
    spellings={name: snake for snake, name in SNAKE.items()},
)
"""Where a request holds its settings and tools."""


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
        out["tools"] = render_tools(conversation.tools)
    out |= render_settings(conversation.settings, conversation.extras)
    if extras:
        out |= {key: value for key, value in extras.items() if "." not in key}
    return out


def _render_settings(settings: Settings, extras: Mapping[str, Json]) -> dict[str, Json]:
    """The settings, with the extra fields that stood in their objects."""
    refuse_settings(settings, NOT_SUPPORTED, NAME)
    out: dict[str, Json] = {}
    config = inside("toolConfig", extras)
    choice = render_choice(settings.tool_choice, inside("toolConfig.functionCallingConfig", extras))
    if choice is not None:
        config = {"functionCallingConfig": choice, **config}
    if config:
        out["toolConfig"] = render_object(config)
    generation = _generation(settings, extras)
    if generation:
        out["generationConfig"] = render_object(generation)
    for key, (field, _) in PLAIN.items():
        put(out, key, getattr(settings, field))
    return out


render_settings = RenderedSettings(_render_settings)


def _generation(settings: Settings, extras: Mapping[str, Json]) -> dict[str, Json]:
    out: dict[str, Json] = {}
    for key, (field, _) in GENERATION.items():
        put(out, key, getattr(settings, field))
    if settings.stop:
        out["stopSequences"] = b"[" + b",".join(settings.stop) + b"]"
    _render_format(settings.response_format, out)
    thinking = _thinking(settings.thinking) | inside("generationConfig.thinkingConfig", extras)
    if thinking:
        out["thinkingConfig"] = render_object(thinking)
    return out | inside("generationConfig", extras)


def _render_format(form: ResponseFormat | None, out: dict[str, Json]) -> None:
    if form is None:
        return
    if form.spelled == "responseFormat" and form.kind is not FormatKind.TEXT:
        text = {"mimeType": quote(_JSON)} | ({"jsonSchema": form.schema} if form.schema is not None else {})
        out["responseFormat"] = b'{"text":' + render_object(text) + b"}"
        return
    out["responseMimeType"] = quote(_TEXT if form.kind is FormatKind.TEXT else _JSON)
    if form.schema is None:
        return
    if form.spelled == "responseSchema":
        out["responseSchema"] = to_proto(form.schema)
    else:
        out["responseJsonSchema"] = form.schema


def _thinking(thinking: Thinking | None) -> dict[str, Json]:
    if thinking is None:
        return {}
    if thinking.summary is not None or thinking.adaptive or thinking == Thinking(on=True):
        raise Unrepresentable("thinking without a budget or a level in a Gemini request", key="thinking")
    out: dict[str, Json] = {}
    put(out, "thinkingBudget", 0 if thinking.on is False else thinking.budget)
    if thinking.effort is not None and thinking.on is not False:
        if thinking.effort not in _WORDS:
            raise Unrepresentable(f"the effort {thinking.effort.value} in a Gemini request", key="thinking")
        out["thinkingLevel"] = quote(_WORDS[thinking.effort])
    put(out, "includeThoughts", thinking.visible)
    return out
