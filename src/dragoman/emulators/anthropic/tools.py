"""Tool definitions: the wrapper, the root of the schema, and the limits of strict tools."""

from __future__ import annotations

import re
from typing import Any

from dragoman.emulators.anthropic.blocks import NAME, cache_control
from dragoman.emulators.anthropic.refusals import AnthropicRefusal, by_type, invalid, items_of, mapping, record
from dragoman.emulators.anthropic.schemas import check_compilable, check_schema, count_optional, count_unions
from dragoman.emulators.request_shape import (
    Path,
    Shape,
    anything,
    boolean,
    bounded,
    integer,
    matching,
    nullable,
    one_of,
    text,
)

MAX_STRICT, MAX_OPTIONAL, MAX_UNIONS = 20, 24, 16
_PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")

_SERVER_TOOLS = (
    *("advisor_20260301", "code_execution_20250522", "code_execution_20250825"),
    *("code_execution_20260120", "code_execution_20260521", "mcp_toolset", "tool_search_tool_bm25"),
    *("tool_search_tool_bm25_20251119", "tool_search_tool_regex", "tool_search_tool_regex_20251119"),
    *("web_fetch_20250910", "web_fetch_20260209", "web_fetch_20260309"),
    *("web_fetch_20260318", "web_search_20250305", "web_search_20260209", "web_search_20260318"),
)


def input_schema(value: Any, path: Path) -> None:
    """The root is an object schema with an explicit type and without alternatives."""
    if not isinstance(value, dict):
        raise invalid(path, "Input does not match the expected shape.")
    if "type" not in value:
        raise invalid((*path, "type"), "Field required")
    if value["type"] != "object":
        raise invalid((*path, "type"), "Input should be 'object'")
    if any(key in value for key in ("oneOf", "allOf", "anyOf")):
        raise invalid(path, "input_schema does not support oneOf, allOf, or anyOf at the top level")
    _properties(value, path)
    check_schema(value, path)


def _properties(schema: dict[str, Any], path: Path) -> None:
    properties = schema.get("properties", {})
    if not isinstance(properties, dict):
        raise invalid((*path, "properties"), "Input should be a valid dictionary")
    if not all(_PROPERTY.fullmatch(name) for name in properties):
        raise invalid((*path, "properties"), "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'")


_custom: Shape = record(
    {
        "type": anything,
        "name": matching(NAME),
        "description": text,
        "input_schema": input_schema,
        "cache_control": cache_control,
        "strict": boolean,
        "defer_loading": boolean,
        "eager_input_streaming": nullable(boolean),
        "allowed_callers": items_of(text),
        "input_examples": items_of(anything),
    },
    required=("name", "input_schema"),
)
_server: Shape = record({"name": text, "cache_control": cache_control}, open=True)


def _named(name: str, *required: str, **fields: Shape) -> Shape:
    """A tool that the client runs. Its name is fixed, since the model knows the tool by it."""
    usual: dict[str, Shape] = {"type": anything, "name": one_of(name), "cache_control": cache_control}
    more = {"strict": boolean, "defer_loading": boolean, "allowed_callers": items_of(text), "input_examples": anything}
    return record({**usual, **more, **fields}, required=("name", *required))


_screen: dict[str, Shape] = {
    "display_width_px": bounded(integer, 1),
    "display_height_px": bounded(integer, 1),
    "display_number": nullable(bounded(integer, 0)),
}
_toolset: Shape = record({"type": anything, "cache_control": cache_control, "configs": nullable(mapping)})
_EDITOR, _OLD_EDITOR = "str_replace_based_edit_tool", "str_replace_editor"
_SIZES = ("display_width_px", "display_height_px")
_CLIENT_TOOLS: dict[str, Shape] = {
    "bash_20241022": _named("bash"),
    "bash_20250124": _named("bash"),
    "text_editor_20241022": _named(_OLD_EDITOR),
    "text_editor_20250124": _named(_OLD_EDITOR),
    "text_editor_20250429": _named(_EDITOR),
    "text_editor_20250728": _named(_EDITOR, max_characters=nullable(bounded(integer, 1))),
    "memory_20250818": _named("memory"),
    "computer_20241022": _named("computer", *_SIZES, **_screen),
    "computer_20250124": _named("computer", *_SIZES, **_screen),
    "computer_20251124": _named("computer", *_SIZES, **_screen, enable_zoom=boolean),
    "computer_toolset_20260801": _toolset,
    "browser_toolset_20260801": _toolset,
}
_DATED = {**dict.fromkeys(_SERVER_TOOLS, _server), **_CLIENT_TOOLS}
tools: Shape = items_of(by_type({"custom": _custom, **{name: _DATED[name] for name in sorted(_DATED)}}, "custom"))

_parallel: dict[str, Shape] = {"type": anything, "disable_parallel_tool_use": boolean}
tool_choice: Shape = by_type(
    {
        "auto": record(_parallel),
        "any": record(_parallel),
        "tool": record({**_parallel, "name": text}, required=("name",)),
        "none": record({"type": anything}),
    }
)


def check_tool_set(body: dict[str, Any]) -> None:
    """Tool names are unique, and the tool choice names one of them."""
    declared: list[dict[str, Any]] = body.get("tools") or []
    names = [tool["name"] for tool in declared if "name" in tool]
    if len(set(names)) < len(names):
        raise AnthropicRefusal("tools: Tool names must be unique.")
    hinted = next((tool["name"] for tool in declared if tool.get("defer_loading") and tool.get("cache_control")), None)
    if hinted is not None:
        raise AnthropicRefusal(
            f"Tool '{hinted}' cannot have both defer_loading=true and cache_control set."
            " Tools with defer_loading cannot use prompt caching."
        )
    choice = body.get("tool_choice")
    if choice and not declared and not body.get("mcp_servers"):
        raise AnthropicRefusal("tool_choice may only be specified while providing tools")
    if choice and choice["type"] == "tool" and choice["name"] not in names and not _has_toolset(declared):
        raise AnthropicRefusal(f"Tool '{choice['name']}' not found in provided tools")


def check_references(body: dict[str, Any]) -> None:
    """A tool that a client found is declared: https://github.com/anthropics/claude-code/issues/82004, July 2026."""
    declared: list[dict[str, Any]] = body.get("tools") or []
    if _has_toolset(declared):
        return
    names = {tool.get("name") for tool in declared}
    contents = [message["content"] for message in body["messages"] if isinstance(message["content"], list)]
    results = [block.get("content") for content in contents for block in content if block["type"] == "tool_result"]
    for block in (block for result in results if isinstance(result, list) for block in result):
        if block["type"] == "tool_reference" and block["tool_name"] not in names:
            raise AnthropicRefusal(f"Tool reference '{block['tool_name']}' not found in available tools")


def _has_toolset(declared: list[dict[str, Any]]) -> bool:
    return any("toolset" in str(tool.get("type")) for tool in declared)


def check_strict(declared: list[dict[str, Any]]) -> None:
    """The limits of the grammar compiler: for each strict tool, and for all together."""
    strict = {i: tool["input_schema"] for i, tool in enumerate(declared) if _is_strict(tool)}
    if len(strict) > MAX_STRICT:
        raise AnthropicRefusal(
            f"Too many strict tools ({len(strict)}). The maximum number of strict tools supported is {MAX_STRICT}. "
            "Try reducing the number of tools marked as strict."
        )
    for index, schema in strict.items():
        check_compilable(schema, f"tools.{index}.custom")
    optional = [count_optional(schema) for schema in strict.values()]
    unions = [count_unions(schema) for schema in strict.values()]
    _check_totals(sum(optional), sum(unions))
    if any(n >= MAX_OPTIONAL for n in optional) or any(n >= MAX_UNIONS for n in unions):
        raise AnthropicRefusal(
            "Schema is too complex for compilation. Try reducing the number of tools or simplifying tool schemas."
        )


def _is_strict(tool: dict[str, Any]) -> bool:
    return bool(tool.get("strict")) and "input_schema" in tool


def _check_totals(optional: int, unions: int) -> None:
    if optional > MAX_OPTIONAL:
        raise AnthropicRefusal(
            f"Schemas contains too many optional parameters ({optional}), which would make grammar compilation "
            f"inefficient. Reduce the number of optional parameters in your tool schemas (limit: {MAX_OPTIONAL})."
        )
    if unions > MAX_UNIONS:
        raise AnthropicRefusal(
            f"Schemas contains too many parameters with union types ({unions} parameters with type arrays or anyOf). "
            "This causes exponential compilation cost. Reduce the number of nullable or union-typed parameters "
            f"(limit: {MAX_UNIONS} parameters with unions)."
        )
