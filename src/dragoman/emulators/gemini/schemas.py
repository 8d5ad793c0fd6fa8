"""Function declarations and their schemas, after the parser has accepted every field."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from dragoman.emulators.gemini.flavour import Flavour, GeminiModel, GeminiRefusal

_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}")
_NAME_RULE = (
    "Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), "
    "underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 128."
)
_MAX_DECLARATIONS = 512
_UNMIXED = {"googleSearch", "googleSearchRetrieval", "googleMaps", "urlContext", "fileSearch"}
_BESIDE_ANY_OF = ("anyOf", "description", "nullable", "title")


def check_tools(request: dict[str, Any], flavour: Flavour) -> None:
    """Each tool, all tools together, and the tool choice."""
    declarations: list[dict[str, Any]] = []
    for i, tool in enumerate(request.get("tools", [])):
        if not tool:
            raise flavour.field_refusal(
                f"tools[{i}].tool_type", "required one_of 'tool_type' must have one initialized field"
            )
        for j, declaration in enumerate(tool.get("functionDeclarations", [])):
            _check_declaration(declaration, f"tools[{i}].function_declarations[{j}]", flavour)
            declarations.append(declaration)
    if len(declarations) > 512 and not flavour.is_vertex:  # https://github.com/google-gemini/gemini-cli/issues/19083
        sentence = "[FIELD_INVALID] At most 512 function declarations can be specified."
        raise GeminiRefusal(
            f"The GenerateContentRequest proto is invalid:\n  * tools[0].function_declarations: {sentence}"
        )
    _check_set([declaration["name"] for declaration in declarations])
    _check_choice(request, flavour)


def check_mixed(request: dict[str, Any], flavour: Flavour, model: GeminiModel) -> None:
    """Tools that Google runs beside functions: refused before Gemini 3, and then taken with a setting. Code has always
    been taken. What Vertex does is not known, and it has no such setting."""
    kinds = {kind for tool in request.get("tools", []) for kind, value in tool.items() if value is not None}
    hosted = sorted(kinds & _UNMIXED)
    if flavour.is_vertex or "functionDeclarations" not in kinds or not hosted:
        return
    if model.before(3):
        named = ", ".join(re.sub("([A-Z])", r"_\1", kind).lower() for kind in hosted)
        raise GeminiRefusal(
            f"Built-in tools ({{{named}}}) and Custom tools (Function Calling) cannot be combined in the same request. "
            "Please choose one to continue."
        )
    if model.since(3) and not request.get("toolConfig", {}).get("includeServerSideToolInvocations"):
        raise GeminiRefusal(
            "Please enable tool_config.include_server_side_tool_invocations to use Built-in tools with Function "
            "calling."
        )


def _check_declaration(declaration: dict[str, Any], at: str, flavour: Flavour) -> None:
    if not _NAME.fullmatch(declaration.get("name", "")):
        raise flavour.field_refusal(f"{at}.name", _NAME_RULE, f"function declaration name is invalid. {_NAME_RULE}")
    if "parameters" in declaration and "parametersJsonSchema" in declaration:
        raise flavour.field_refusal(at, "parameters and parameters_json_schema are mutually exclusive.")
    if "parameters" in declaration:
        _check_root(declaration["parameters"], f"{at}.parameters", flavour)
    loose = declaration.get("parametersJsonSchema")
    if loose is not None and not (isinstance(loose, dict) and loose.get("type", "object") == "object"):
        raise flavour.field_refusal(f"{at}.parameters_json_schema", "schema should be of OBJECT type.")


def _check_root(schema: dict[str, Any], at: str, flavour: Flavour) -> None:
    if schema.get("type", "OBJECT") != "OBJECT":
        raise flavour.field_refusal(
            at,
            "schema type should be OBJECT.",
            f"functionDeclaration `{at}` schema should be of type OBJECT.",
        )
    check_schema(schema, at, flavour)
    _check_alternatives(schema, at, flavour)


def check_schema(schema: dict[str, Any], at: str, flavour: Flavour) -> None:
    """A schema and all subschemas, the outermost first."""
    for path, node in _nodes(schema, at):
        _check_node(node, path, flavour)


def _nodes(schema: dict[str, Any], at: str) -> Iterator[tuple[str, dict[str, Any]]]:
    stack = [(at, schema)]
    while stack:
        path, node = stack.pop()
        yield path, node
        stack.extend((f"{path}.properties[{name}]", inner) for name, inner in node.get("properties", {}).items())
        stack.extend((f"{path}.any_of[{i}]", inner) for i, inner in enumerate(node.get("anyOf", [])))
        if "items" in node:
            stack.append((f"{path}.items", node["items"]))


def _check_alternatives(schema: dict[str, Any], at: str, flavour: Flavour) -> None:
    """In parameters `anyOf` must be alone. In response schemas recordings show it beside other keys."""
    beside = ("anyOf",) if flavour.is_vertex else _BESIDE_ANY_OF
    for path, node in _nodes(schema, at):
        if flavour.is_vertex and not node.keys() & {"type", "anyOf", "ref"} and path != at:
            raise flavour.field_refusal(path, "", f"`{path}` schema didn't specify the schema type field.")
        if "anyOf" in node and any(key not in beside for key in node):
            raise flavour.field_refusal(
                f"{path}.any_of",
                "when using any_of, it must be the only field set.",
                f"`{path}` schema specified other fields alongside any_of. When using any_of, it must be the only "
                "field set.",
            )


def _check_node(node: dict[str, Any], at: str, flavour: Flavour) -> None:
    if node.get("type") == "ARRAY" and "items" not in node:
        raise flavour.field_refusal(f"{at}.items", "missing field.", f"`{at}` schema didn't specify the items field.")
    if node.get("enum") and node.get("type", "STRING") != "STRING":
        raise flavour.field_refusal(f"{at}.enum", "only allowed for STRING type")
    for i, word in enumerate(node.get("enum", [])):
        if word == "":
            raise flavour.field_refusal(f"{at}.enum[{i}]", "cannot be empty")
    for i, name in enumerate(node.get("required", [])):
        if name not in node.get("properties", {}):
            raise flavour.field_refusal(f"{at}.required[{i}]", "property is not defined")


def _check_set(names: list[str]) -> None:
    if len(names) > _MAX_DECLARATIONS:
        raise GeminiRefusal(
            f"The maximum number of function declarations is {_MAX_DECLARATIONS}, but found {len(names)}."
        )
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise GeminiRefusal(f"Duplicate function declaration found: {name}")
        seen.add(name)


def _check_choice(request: dict[str, Any], flavour: Flavour) -> None:
    config = request.get("toolConfig", {}).get("functionCallingConfig", {})
    mode = config.get("mode", "AUTO")
    if mode == "ANY" and not request.get("tools") and "cachedContent" not in request:
        raise GeminiRefusal("Function calling config is set without function_declarations.")
    if config.get("allowedFunctionNames") and mode not in ("ANY", "VALIDATED"):
        raise flavour.field_refusal(
            "tool_config.function_calling_config.allowed_function_names",
            "allowed_function_names should be set only when the function calling mode is ANY or VALIDATED.",
        )
