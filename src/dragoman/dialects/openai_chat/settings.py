"""Chat's top-level members other than the messages, both ways."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping
from typing import Any

import msgspec
from msgspec import UNSET, Raw

from dragoman.conversation.bounded_cache import remembered
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import quote, unquote
from dragoman.conversation.near_misses import Miss, NearMiss
from dragoman.conversation.parts import LEGACY, Extras, Json
from dragoman.conversation.settings import (
    EFFORT_FIELD,
    SWITCH_FIELD,
    THINKING_FIELDS,
    UNNAMED,
    Effort,
    FormatKind,
    ResponseFormat,
    Settings,
    Thinking,
)
from dragoman.conversation.tools import ChoiceMode, Tool, ToolChoice
from dragoman.dialects.dialect import RenderOptions
from dragoman.dialects.openai_chat import NAME, ORIGIN
from dragoman.dialects.openai_chat.schema import ChatChoice, ChatFormat, ChatNamedChoice, ChatStreamOptions, EffortWord
from dragoman.dialects.openai_chat.tools import parse_tools, render_tools, text_literal
from dragoman.dialects.shared.ownership import own_choice, require_own
from dragoman.dialects.shared.parsing import extras_of, option_misses, stream_misses
from dragoman.dialects.shared.raw_json import Fields, fields_of, text_of
from dragoman.dialects.shared.rendering import inside, put
from dragoman.dialects.shared.setting_table import (
    METADATA,
    SettingObject,
    SettingRow,
    SettingTable,
    flag,
    gather_thinking,
    number,
    whole,
    word,
)
from dragoman.dialects.shared.top_level import Members, ParsedMember, TopLevel, join_misses, setting_members
from dragoman.dialects.shared.wire_schema import needing, open_decoder
from dragoman.errors import MalformedRequest, Unrepresentable
from dragoman.wire.json_reader import render_list, render_object, split_items, split_members

# Thinking: `reasoning_effort`, OpenRouter's `reasoning`, DeepSeek's `thinking` and DashScope's `enable_thinking` are
# one intent


def _parse_effort(raw: Json) -> ParsedMember:
    return {"thinking.effort": Effort(unquote(raw))}, {}


def _parse_reasoning(raw: Json) -> ParsedMember:
    wire = msgspec.json.decode(raw, type=dict[str, Any])
    given = {key: value for key, value in wire.items() if value is not None}
    found = {_REASONING[key][0]: _REASONING[key][1](value) for key, value in given.items()}
    if not found or wire.keys() - _REASONING.keys():
        raise ValueError("reasoning")
    return found, {}


_REASONING: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "effort": ("thinking.effort", Effort),
    "max_tokens": ("thinking.budget", int),
    "exclude": ("thinking.visible", operator.not_),
    "enabled": ("thinking.on", bool),
}
"""The members of `reasoning` → our field, and what it makes of the value."""
_SWITCHES: Mapping[str, Mapping[str, Any]] = {
    "enabled": {"thinking.on": True},
    "disabled": {"thinking.on": False},
    "adaptive": {"thinking.on": True, "thinking.adaptive": True},
}


def _parse_switch(raw: Json) -> ParsedMember:
    """The switch, with Claude's budget if it has one. What else stands beside it is not known here and stays."""
    wire = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    found = dict(_SWITCHES[unquote(bytes(wire.pop("type")))])
    budget = bytes(wire.get("budget_tokens", b""))
    if budget.isdigit():
        found["thinking.budget"] = int(budget)
        del wire["budget_tokens"]
    return found, {name: bytes(value) for name, value in wire.items()}


def _parse_flag(raw: Json) -> ParsedMember:
    return {"thinking.on": msgspec.json.decode(raw, type=bool)}, {}


def _parse_template(raw: Json) -> ParsedMember:
    """A switch among what the chat template of a server reads. The rest stays."""
    wire = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    switches = {bytes(wire.pop(name)) for name in _TEMPLATE_SWITCHES if name in wire}
    if switches not in ({b"true"}, {b"false"}):
        raise ValueError(_TEMPLATE)
    return {"thinking.on": switches == {b"true"}}, {name: bytes(value) for name, value in wire.items()}


def _find_template_fields(raw: Json) -> list[str]:
    wire = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    return [f"{_TEMPLATE}.{name}" for name in _TEMPLATE_SWITCHES if name in wire]


_TEMPLATE = "chat_template_kwargs"
_TEMPLATE_SWITCHES = ("enable_thinking", "thinking")


def _parse_budget(raw: Json) -> ParsedMember:
    return {"thinking.budget": msgspec.json.decode(raw, type=int)}, {}


def _render_effort(settings: Settings, _: Mapping[str, Json]) -> Json | None:
    thinking = settings.thinking
    if thinking is None or thinking.effort is None or "reasoning_effort" not in _thinking_members(thinking):
        return None
    return quote(thinking.effort)


def _render_reasoning(settings: Settings, _: Mapping[str, Json]) -> Json | None:
    """What the members beside it do not say: what two of them say is read as one setting, and a second field."""
    thinking = settings.thinking
    members = () if thinking is None else _thinking_members(thinking)
    if thinking is None or "reasoning" not in members:
        return None
    hidden = None if thinking.visible is None else not thinking.visible
    effort = None if "reasoning_effort" in members else thinking.effort
    switched = any(name in ("thinking", SWITCH_FIELD) or name.startswith(_TEMPLATE) for name in members)
    on = None if switched else thinking.on
    wire = {"effort": effort, "max_tokens": _budget_for("reasoning", thinking), "exclude": hidden, "enabled": on}
    given = {key: value for key, value in wire.items() if value is not None}
    return msgspec.json.encode(given) if given else None


def _render_switch(settings: Settings, rest: Mapping[str, Json]) -> Json | None:
    thinking = settings.thinking
    if thinking is None or thinking.on is None or "thinking" not in _thinking_members(thinking):
        return None
    switch = "adaptive" if thinking.adaptive else "enabled" if thinking.on else "disabled"
    budget = _budget_for("thinking", thinking)
    given = {} if budget is None else {"budget_tokens": str(budget).encode()}
    return render_object({"type": quote(switch), **given, **rest})


def _render_flag(settings: Settings, _: Mapping[str, Json]) -> Json | None:
    thinking = settings.thinking
    if thinking is None or thinking.on is None or SWITCH_FIELD not in _thinking_members(thinking):
        return None
    return b"true" if thinking.on else b"false"


def _render_template(settings: Settings, rest: Mapping[str, Json]) -> Json | None:
    thinking = settings.thinking
    members = () if thinking is None or thinking.on is None else _thinking_members(thinking)
    value = b"true" if thinking is not None and thinking.on else b"false"
    fields = [name.partition(".")[2] for name in members if name.startswith(_TEMPLATE)]
    given = {**dict.fromkeys(fields, value), **rest}
    return render_object(given) if given else None


def _render_budget(settings: Settings, _: Mapping[str, Json]) -> Json | None:
    budget = None if settings.thinking is None else _budget_for("thinking_budget", settings.thinking)
    return None if budget is None else str(budget).encode()


def _budget_for(member: str, thinking: Thinking) -> int | None:
    """The budget, for the one of the members that has it."""
    members = _thinking_members(thinking)
    holders = [name for name in ("thinking_budget", "reasoning", "thinking") if name in members]
    return thinking.budget if holders[:1] == [member] else None


def _thinking_members(thinking: Thinking) -> tuple[str, ...]:
    """The members that the client used, and the others that the setting needs."""
    used = tuple(thinking.wire_form.split())
    if "reasoning" in used:
        return used
    flags = (SWITCH_FIELD, "thinking_budget") if not {SWITCH_FIELD, "thinking_budget"}.isdisjoint(used) else ()
    switches = (*flags, *[name for name in used if name.startswith(_TEMPLATE)])
    if switches:
        unsaid = thinking.visible is not None or (thinking.budget is not None and not flags)
        further = (EFFORT_FIELD,) if thinking.effort is not None else ()
        return (*switches, *further, "reasoning") if unsaid else (*switches, *further)
    holds_budget = "thinking" in used and thinking.on is not None
    if thinking.visible is not None or (thinking.budget is not None and not holds_budget):
        return ("reasoning",)
    return "reasoning_effort", "thinking"


# Stop sequences


def _parse_stop(raw: bytes) -> ParsedMember:
    if raw[:1] == b'"':
        return {"stop": (raw,), "stop_listed": False}, {}
    texts = tuple(bytes(item) for item in split_items(raw, "/stop"))
    if not texts:
        return {}, {"": raw}
    if any(text[:1] != b'"' for text in texts):
        raise MalformedRequest("a stop sequence that is not a string", at="/stop")
    return {"stop": texts}, {}


def _render_stop(settings: Settings, _: Mapping[str, Json]) -> Json | None:
    return (render_list(settings.stop) if settings.stop_listed else settings.stop[0]) if settings.stop else None


# The tool choice, and the older `function_call`


def _parse_choice(raw: bytes) -> ParsedMember:
    if raw[:1] == b'"':
        word = unquote(raw)
        mode = _MODES.get(word)
        if mode is None:
            return {"tool_choice": ToolChoice(ChoiceMode.NATIVE, json=raw, origin=ORIGIN)}, {}
        return {"tool_choice": ToolChoice(mode, wire_form=word if word == ANY else "")}, {}
    return {"tool_choice": _named_choice(raw, msgspec.json.decode(raw))}, {}


ANY = "any"
TYPELESS = "typeless"
"""Spellings of a tool choice: Mistral's word for `required`, and a name without the `type` beside it."""
_MODES = {
    "auto": ChoiceMode.AUTO,
    "none": ChoiceMode.NONE,
    "required": ChoiceMode.REQUIRED,
    ANY: ChoiceMode.REQUIRED,
}
_CALLABLE = ("function", "custom")


def _named_choice(raw: bytes, wire: dict[str, Any]) -> ToolChoice:
    kind = wire.get("type", "function")
    if kind == "function" and isinstance(wire.get("function"), dict) and isinstance(wire["function"].get("name"), str):
        return ToolChoice(ChoiceMode.NAMED, (wire["function"]["name"],), wire_form="" if "type" in wire else TYPELESS)
    if kind == "custom" and wire.keys() == {"type", "custom"}:
        return ToolChoice(ChoiceMode.NAMED, (wire["custom"]["name"],))
    if kind == "allowed_tools":
        allowed = wire["allowed_tools"]
        if all(tool.get("type") in _CALLABLE for tool in allowed["tools"]):
            names = tuple(tool[tool["type"]]["name"] for tool in allowed["tools"])
            return ToolChoice(ChoiceMode.ALLOWED, names, allowed.get("mode") == "required")
    return ToolChoice(ChoiceMode.NATIVE, json=raw, origin=ORIGIN)


def _parse_legacy_choice(raw: bytes) -> ParsedMember:
    if raw[:1] == b'"':
        return {"tool_choice": ToolChoice(ChoiceMode(unquote(raw)), wire_form=LEGACY)}, {}
    return {"tool_choice": ToolChoice(ChoiceMode.NAMED, (msgspec.json.decode(raw)["name"],), wire_form=LEGACY)}, {}


_open_choice = open_decoder(str | ChatChoice)
_open_named = open_decoder(ChatNamedChoice)


def _shape_choice(raw: Json) -> object:
    found = _open_choice(raw)
    if not isinstance(found, str) and found.type in (UNSET, "function"):
        return _open_named(raw)
    return found


def _parse_own_choice(raw: Json) -> ToolChoice | None:
    found: ToolChoice = _parse_choice(raw)[0]["tool_choice"]
    return found


def _render_choice(choice: ToolChoice | None, custom: Collection[str] = ()) -> Json | None:
    """The choice. `custom`: the declared tools that take plain text."""
    if choice is None or choice.wire_form == LEGACY:
        return None
    match choice.mode:
        case ChoiceMode.NAMED:
            name = choice.names[0]
            kind = "custom" if name in custom else "function"
            typed = "" if choice.wire_form == TYPELESS else f'"type":"{kind}",'
            return f'{{{typed}"{kind}":{{"name":'.encode() + quote(name) + b"}}"
        case ChoiceMode.ALLOWED:
            kinds = [("custom" if name in custom else "function", name) for name in choice.names]
            tools = [{"type": kind, kind: {"name": name}} for kind, name in kinds]
            allowed = {"mode": "required" if choice.must else "auto", "tools": tools}
            return msgspec.json.encode({"type": "allowed_tools", "allowed_tools": allowed})
        case ChoiceMode.NATIVE:
            return own_choice(choice, NAME)
        case _:
            return quote(ANY if choice.wire_form == ANY else choice.mode)


def _render_legacy_choice(choice: ToolChoice | None) -> Json | None:
    if choice is None or choice.wire_form != LEGACY:
        return None
    named = choice.mode is ChoiceMode.NAMED
    return b'{"name":' + quote(choice.names[0]) + b"}" if named else quote(choice.mode)


# The format of the answer


def _parse_format(raw: bytes) -> ParsedMember:
    wire = split_members(raw, "/response_format")
    kind = _FORMATS.get(unquote(bytes(wire["type"])))
    if kind is None or wire.keys() - {"type", "json_schema"}:
        return {}, {"": raw}
    if kind is not FormatKind.SCHEMA:
        return {"response_format": ResponseFormat(kind)}, {}
    schema = split_members(wire["json_schema"], "/response_format/json_schema")
    if schema.keys() - {"name", "description", "schema", "strict"}:
        return {}, {"": raw}
    strict = bytes(schema.get("strict", b"null"))
    form = ResponseFormat(
        kind,
        bytes(schema["schema"]) if "schema" in schema else None,
        unquote(bytes(schema.get("name", b'""'))),
        text_literal(schema.get("description")),
        None if strict == b"null" else flag(strict),
    )
    return {"response_format": form}, {}


_FORMATS = {"text": FormatKind.TEXT, "json_object": FormatKind.JSON, "json_schema": FormatKind.SCHEMA}


def _render_format(form: ResponseFormat | None) -> Json | None:
    if form is None:
        return None
    if form.kind is not FormatKind.SCHEMA:
        return b'{"type":"text"}' if form.kind is FormatKind.TEXT else b'{"type":"json_object"}'
    schema: dict[str, Json] = {"name": quote(form.name or UNNAMED)}
    if form.description is not None:
        schema["description"] = form.description
    if form.schema is not None:
        schema["schema"] = form.schema
    put(schema, "strict", form.strict)
    return b'{"type":"json_schema","json_schema":' + render_object(schema) + b"}"


def _interpret_format(raw: Json) -> Json:
    """The format of the answer that is meant: a bare word, a schema beside its type, or one without a name."""
    fields = fields_of(raw)
    if fields is None:
        word = _WORDS.get(text_of(raw).lower())
        return raw if word is None else render_object({"type": quote(word)})
    kind, inner = text_of(fields.get("type")), fields_of(fields.get("json_schema"))
    if not kind and inner is not None:
        fields["type"], kind = quote("json_schema"), "json_schema"
        raw = render_object(fields)
    beside = {key: fields[key] for key in _SCHEMA_MEMBERS if key in fields}
    if inner is None and kind in ("json_schema", "json_object") and fields_of(beside.get("schema")) is not None:
        return _render_schema(beside)
    if kind == "json_schema" and inner is not None and inner.get("name", b'""') == b'""':
        return _render_schema(inner if "schema" in inner else {"schema": render_object(inner)})
    return raw


def _render_schema(members: Fields) -> Json:
    schema = render_object(members | ({} if members.get("name", b'""') != b'""' else {"name": quote(UNNAMED)}))
    return render_object({"type": quote("json_schema"), "json_schema": schema})


_WORDS = {"json": "json_object", "json_object": "json_object", "json_schema": "json_object", "text": "text"}
"""Words for a format. One that says `json_schema` has no schema to go by."""
_SCHEMA_MEMBERS = ("name", "description", "schema", "strict")


# All settings

_LIMITS = ("max_output_tokens", "maxOutputTokens", "maxTokens", "num_predict")

SETTINGS = SettingTable(
    NAME,
    (
        SettingRow("temperature", number),
        SettingRow("top_p", number, names=("topP",)),
        SettingRow("top_k", number, names=("topK",)),
        SettingRow("min_p", number),
        SettingRow("frequency_penalty", number),
        SettingRow("presence_penalty", number),
        SettingRow("n", whole),
        SettingRow("logprobs", flag),
        SettingRow("top_logprobs", whole),
        SettingRow("parallel_tool_calls", flag),
        SettingRow("verbosity", word),
        SettingRow("user", word),
        METADATA,
        SettingRow("service_tier", word),
        SettingRow("store", flag),
        SettingRow("prompt_cache_key", word),
        SettingRow("max_tokens", whole, names=_LIMITS, also=("max_completion_tokens",), name_field="limit_as"),
        SettingRow("seed", whole, also=("random_seed",), name_field="seed_as"),
        SettingObject(
            member="stop",
            parse=_parse_stop,
            render=_render_stop,
            holds={"stop": ""},
            names=("stop_sequences", "stopSequences"),
        ),
        SettingObject(member="thinking", parse=_parse_switch, render=_render_switch, holds={"thinking": ""}),
        SettingObject(
            member="reasoning_effort",
            parse=_parse_effort,
            render=_render_effort,
            holds={"thinking": ""},
            shape=open_decoder(EffortWord),
            spare=True,
        ),
        SettingObject(member=SWITCH_FIELD, parse=_parse_flag, render=_render_flag, holds={"thinking": ""}),
        SettingObject(member=_TEMPLATE, parse=_parse_template, render=_render_template, holds={"thinking": ""}),
        SettingObject(member="thinking_budget", parse=_parse_budget, render=_render_budget, holds={"thinking": ""}),
        SettingObject(member="reasoning", parse=_parse_reasoning, render=_render_reasoning, holds={"thinking": ""}),
        SettingObject(
            member="tool_choice",
            parse=_parse_choice,
            render=lambda settings, _: _render_choice(settings.tool_choice),
            holds={"tool_choice": ""},
            names=("toolChoice",),
            shape=_shape_choice,
        ),
        SettingObject(
            member="function_call",
            parse=_parse_legacy_choice,
            render=lambda settings, _: _render_legacy_choice(settings.tool_choice),
            holds={"tool_choice": ""},
        ),
        SettingObject(
            member="response_format",
            parse=_parse_format,
            render=lambda settings, _: _render_format(settings.response_format),
            holds={"response_format": ""},
            names=("responseFormat",),
            shape=needing(ChatFormat, "json_schema", "json_schema"),
            meant=_interpret_format,
        ),
        SettingObject(
            member="logit_bias",
            parse=lambda raw: ({}, {"": raw}),
            shape=msgspec.json.Decoder(dict[str, int]).decode,
            spare=True,
        ),
    ),
    stop="stop",
    stop_listed=False,
    parse_choice=_parse_own_choice,
    render_choice=_render_choice,
)
PLACES = SETTINGS.places(
    {"user": ("/user", "/safety_identifier"), "include": SETTINGS.pointers["thinking"]}, tools=("/tools", "/functions")
)
SKIPPED = frozenset({"model", "messages", "tools", "functions"})
_OPTIONS = "stream_options"
STREAM_MEMBERS = frozenset({"stream", _OPTIONS})
"""Members that are no settings."""


def parse_top_level(source: Mapping[str, Raw]) -> TopLevel:
    """Settings, tools and the fields that we do not know."""
    members = setting_members(source, SKIPPED)
    if "functions" in source and bytes(source["functions"]) == b"null":
        members = (*members, ("functions", b"null"))
    settings, extras, misses, usage = parse_settings(members)
    found = parse_tools(source)
    near_misses = join_misses(found.misses, misses) if found.misses else misses
    return TopLevel(settings, found.tools, extras, found.empty, None, include_usage=usage, near_misses=near_misses)


@remembered
def parse_settings(given: Members) -> tuple[Settings, Extras | None, tuple[NearMiss, ...], bool]:
    """Settings, unknown fields, near misses, and whether a stream is to report its usage. Clients repeat them on every
    turn: the same bytes give the same objects."""
    settings, extras, misses = _parse_settings(tuple([one for one in given if one[0] not in STREAM_MEMBERS]))
    stream = {name: Raw(value) for name, value in given if name in STREAM_MEMBERS}
    odd = option_misses(stream, _open_stream_options)
    options = _parse_stream_options(stream)
    usage = options.pop("include_usage", b"") == b"true"
    if options and not odd:
        fields = {f"{_OPTIONS}.{name}": value for name, value in options.items()}
        extras = extras_of(NAME, {**(extras.fields if extras is not None else {}), **fields})
    return settings, extras, (*misses, *odd, *stream_misses(stream)), usage


def _parse_settings(members: Members) -> tuple[Settings, Extras | None, tuple[NearMiss, ...]]:
    members, misses = SETTINGS.interpret(members)
    given = {key for key, raw in members if raw != b"null"}
    if "top_logprobs" in given and "logprobs" not in given:
        misses = (*misses, NearMiss(Miss.SETTING, "/top_logprobs", members=("logprobs",)))
    found, extras = SETTINGS.parse(members)
    used = [key for key, _ in members if key in THINKING_FIELDS and key in given and key not in extras]
    template = dict(members).get(_TEMPLATE)
    if template is not None and template != b"null" and _TEMPLATE not in extras:
        used += _find_template_fields(template)
    gather_thinking(found, wire_form=" ".join(used))
    return Settings(**found), extras_of(NAME, extras), misses


_open_stream_options = open_decoder(ChatStreamOptions)


def _parse_stream_options(source: Mapping[str, Raw]) -> dict[str, Json]:
    """The members of the options of a stream."""
    raw = bytes(source.get(_OPTIONS, b""))
    return {name: bytes(value) for name, value in split_members(raw).items()} if raw[:1] == b"{" else {}


def render_top_level(conversation: Conversation, options: RenderOptions) -> dict[str, Json]:
    """All top-level members other than the messages."""
    if conversation.hint is not None:
        raise Unrepresentable("a cache hint for a whole Chat request", key="cache_control")
    extras = require_own(conversation.extras, NAME)
    out: dict[str, Json] = {"model": quote(options.model)}
    if conversation.empty_tools and not conversation.tools:
        out["tools"] = b"[]"
    out |= render_tools(conversation.tools)
    settings = conversation.settings
    out |= SETTINGS.render(settings, conversation.extras)
    if settings.tool_choice is not None and settings.tool_choice.names:
        custom = {tool.name for tool in conversation.tools if isinstance(tool, Tool) and tool.custom}
        if custom and (choice := _render_choice(settings.tool_choice, custom)) is not None:
            out["tool_choice"] = choice
    if settings.top_logprobs is not None and settings.logprobs is None:
        out["logprobs"] = b"true"
    if options.stream:
        out["stream"] = b"true"
        if wanted := ({"include_usage": b"true"} if options.usage else {}) | inside(_OPTIONS, extras):
            out[_OPTIONS] = render_object(wanted)
    out |= {name: value for name, value in extras.items() if not name.startswith(f"{_OPTIONS}.")}
    return out
