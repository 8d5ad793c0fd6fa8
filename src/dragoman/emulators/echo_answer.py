"""The answer when there is no script: it describes the request, so that a test can see what arrived.

    received: system user assistant tool user; tools: 2; last user: "And in Paris?"

If the request forces a tool, the echo calls it. If the request has a response schema, the echo answers with a value
that fits. The echo recognises the dialects by the names of their fields.
"""

from __future__ import annotations

from typing import Any

import orjson

from dragoman.emulators.provider import ModelCall, ModelTurn, ReceivedRequest
from dragoman.emulators.schema_sample import sample

_SHOWN = 400  # characters of the last user message


def echo(request: ReceivedRequest) -> ModelTurn:
    """The turn that describes the request."""
    body = request.body if isinstance(request.body, dict) else {}
    forced = _forced(body)
    if forced is not None:
        return ModelTurn(calls=(ModelCall(forced[0], sample(forced[1])),))
    schema = asked_schema(body)
    if schema is not None:
        return ModelTurn(json=sample(schema))
    turns = request_turns(body)
    last = next((text for role, text in reversed(turns) if role == "user" and text), "")
    roles = " ".join(role for role, _ in turns)
    return ModelTurn(text=f'received: {roles}; tools: {len(declared_tools(body))}; last user: "{last[:_SHOWN]}"')


def request_turns(body: dict[str, Any]) -> list[tuple[str, str]]:
    """The role and text of every turn, in order."""
    opening = [body.get(key) for key in ("system", "systemInstruction", "system_instruction", "instructions")]
    systems = [("system", _text(one)) for one in opening if one]
    messages = body.get("messages") or body.get("contents") or body.get("input") or []
    if isinstance(messages, str):
        return [*systems, ("user", messages)]
    turns = messages if isinstance(messages, list) else [messages]
    return systems + [(_role(turn), _text(turn)) for turn in turns if isinstance(turn, dict)]


def _role(turn: dict[str, Any]) -> str:
    # Gemini may omit the role of the user; Responses items that are not messages have a type instead
    return str(turn.get("role") or turn.get("type") or "user")


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return " ".join(filter(None, map(_text, value)))
    if not isinstance(value, dict):
        return ""
    found = next((value[key] for key in ("text", "content", "parts", "output") if value.get(key)), "")
    return _text(found)


def declared_tools(body: dict[str, Any]) -> list[tuple[str, Any]]:
    """The name and schema of every declared tool, in any wrapper."""
    return [(name, schema) for name, _, schema in declared_functions(body)]


def declared_functions(body: dict[str, Any]) -> list[tuple[str, str, Any]]:
    """The name, description and schema of every declared tool, in any wrapper."""
    config = body.get("toolConfig")
    declared = body.get("tools") or (config.get("tools") if isinstance(config, dict) else None)
    found = []
    for tool in declared if isinstance(declared, list) else []:
        for one in _unwrapped(tool):
            schema = one.get("parameters") or one.get("parametersJsonSchema") or one.get("input_schema")
            schema = schema or (one.get("inputSchema") or {}).get("json") or one.get("parameters_json_schema") or {}
            found.append((str(one.get("name") or one.get("type")), str(one.get("description") or ""), schema))
    return found


def _unwrapped(tool: Any) -> list[dict[str, Any]]:
    if not isinstance(tool, dict):
        return []
    many = tool.get("functionDeclarations") or tool.get("function_declarations")
    if isinstance(many, list):
        return [one for one in many if isinstance(one, dict)]
    inner = tool.get("function") or tool.get("toolSpec")
    return [inner] if isinstance(inner, dict) else [tool]


def _forced(body: dict[str, Any]) -> tuple[str, Any] | None:
    """The tool that the request forces, or None."""
    tools = declared_tools(body)
    choice = body.get("tool_choice")
    config = body.get("toolConfig") or body.get("tool_config")
    calling = config.get("functionCallingConfig") if isinstance(config, dict) else None
    if isinstance(calling, dict) and calling.get("mode") == "ANY":
        return _named(tools, (calling.get("allowedFunctionNames") or [None])[0])
    own = config.get("toolChoice") if isinstance(config, dict) else None
    if isinstance(own, dict) and "auto" not in own:
        return _named(tools, own.get("tool", {}).get("name"))
    if choice in ("required", "any", "REQUIRED"):
        return _named(tools, None)
    if not isinstance(choice, dict):
        return None
    if choice.get("type") == "any":
        return _named(tools, None)
    inner = choice.get("function")
    name = inner.get("name") if isinstance(inner, dict) else choice.get("name")
    return _named(tools, name) if isinstance(name, str) else None


def _named(tools: list[tuple[str, Any]], name: Any) -> tuple[str, Any] | None:
    return next((tool for tool in tools if name is None or tool[0] == name), None)


def asked_schema(body: dict[str, Any]) -> Any:
    """The response schema of the request, or None."""
    places = (
        ("response_format", "json_schema", "schema"),
        ("text", "format", "schema"),
        ("output_config", "format", "schema"),
        ("output_format", "schema"),
        ("generationConfig", "responseJsonSchema"),
        ("generationConfig", "responseSchema"),
        ("format",),
    )
    for place in places:
        value: Any = body
        for key in place:
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, dict):
            return value
    return _json_object(body) or _schema_text(body)


def _schema_text(body: dict[str, Any]) -> Any:
    """Bedrock's schema, which is written as JSON text."""
    value: Any = body
    for key in ("outputConfig", "textFormat", "structure", "jsonSchema", "schema"):
        value = value.get(key) if isinstance(value, dict) else None
    try:
        return orjson.loads(value) if isinstance(value, str) else None
    except orjson.JSONDecodeError:
        return None


def _json_object(body: dict[str, Any]) -> Any:
    format_, generation = body.get("response_format"), body.get("generationConfig")
    typed = generation.get("responseMimeType") if isinstance(generation, dict) else None
    if body.get("format") == "json" or typed == "application/json":
        return {"type": "object"}
    if not isinstance(format_, dict) or format_.get("type") != "json_object":
        return None
    bare = format_.get("json_schema")  # Cohere's schema stands without a wrapper
    return bare if isinstance(bare, dict) else {"type": "object"}
