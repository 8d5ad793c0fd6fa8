"""What a request says and asks for, in the names of all dialects."""

from __future__ import annotations

from typing import Any

import orjson


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


def list_functions(body: dict[str, Any]) -> list[tuple[str, str, Any]]:
    """The name, description and schema of every declared tool, in any wrapper."""
    config = body.get("toolConfig")
    declared = body.get("tools") or (config.get("tools") if isinstance(config, dict) else None)
    found = []
    for tool in declared if isinstance(declared, list) else []:
        for one in _unwrap(tool):
            schema = one.get("parameters") or one.get("parametersJsonSchema") or one.get("input_schema")
            schema = schema or (one.get("inputSchema") or {}).get("json") or one.get("parameters_json_schema") or {}
            found.append((str(one.get("name") or one.get("type")), str(one.get("description") or ""), schema))
    return found


def _unwrap(tool: Any) -> list[dict[str, Any]]:
    if not isinstance(tool, dict):
        return []
    many = tool.get("functionDeclarations") or tool.get("function_declarations")
    if isinstance(many, list):
        return [one for one in many if isinstance(one, dict)]
    inner = tool.get("function") or tool.get("toolSpec")
    return [inner] if isinstance(inner, dict) else [tool]


def find_asked_schema(body: dict[str, Any]) -> Any:
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
