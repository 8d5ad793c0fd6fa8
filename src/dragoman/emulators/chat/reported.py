"""Refusals that reports tell of single providers, as checks beside those of a `ProviderSpec`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import orjson

from dragoman.emulators.chat.openai.tools import find_odd_pattern, strict_errors
from dragoman.emulators.chat.pairs import role
from dragoman.emulators.chat.service import ChatRefusal, Check
from dragoman.emulators.provider import ReceivedRequest


def refusing(sentence: str, is_wrong: Callable[[ReceivedRequest], bool], **more: Any) -> Check:
    """A check that refuses with a sentence."""

    def check(request: ReceivedRequest) -> None:
        if is_wrong(request):
            raise ChatRefusal(400, sentence, **more)

    return check


def refusing_names(names: frozenset[str]) -> Check:
    """Refuses members of the request as Google's parser does: all of them at once."""

    def check(request: ReceivedRequest) -> None:
        found = [name for name in request.body if name in names]
        if found:
            lines = [f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.' for name in found]
            raise ChatRefusal(400, "\n".join(lines))

    return check


def refusing_stops(sentence: str, most: int, **more: Any) -> Check:
    """Refuses more stop sequences than these."""

    def check(request: ReceivedRequest) -> None:
        stop = request.body.get("stop")
        if isinstance(stop, list) and len(stop) > most:
            raise ChatRefusal(400, sentence, **more)

    return check


def has_odd_pattern(request: ReceivedRequest) -> bool:
    """Z.AI: https://github.com/farion1231/cc-switch/issues/7236"""
    schemas = [(tool.get("function") or {}).get("parameters") for tool in request.body.get("tools") or ()]
    return any(find_odd_pattern(schema) is not None for schema in schemas)


def refusing_limits(sentence: str, most: int, models: str, **more: Any) -> Check:
    """Refuses a token limit above what these models write."""
    pattern = re.compile(models)

    def check(request: ReceivedRequest) -> None:
        limit = request.body.get("max_tokens")
        if pattern.search(request.model.lower()) and isinstance(limit, int) and limit > most:
            raise ChatRefusal(400, sentence, **more)

    return check


def refusing_arguments(sentence: str) -> Check:
    """Refuses the arguments of a call that are not the text of a JSON object."""

    def check(request: ReceivedRequest) -> None:
        for message in request.body["messages"]:
            for call in message.get("tool_calls") or ():
                if not _is_object_text((call.get("function") or {}).get("arguments")):
                    raise ChatRefusal(400, sentence.format(id=call.get("id")))

    return check


def _is_object_text(value: Any) -> bool:
    try:
        return isinstance(orjson.loads(value), dict)
    except (TypeError, orjson.JSONDecodeError):
        return isinstance(value, dict)


def refusing_forced_choice(sentence: str, thinks: Callable[[ReceivedRequest], bool]) -> Check:
    """Refuses a tool that must be called while the model thinks. Kimi K3 takes `required`, and no name."""

    def check(request: ReceivedRequest) -> None:
        choice = request.body.get("tool_choice")
        if thinks(request) and (isinstance(choice, dict) or (choice == "required" and "k3" not in request.model)):
            raise ChatRefusal(400, sentence.format(choice=choice if isinstance(choice, str) else "specified"))

    return check


def has_many_systems(request: ReceivedRequest) -> bool:
    return sum(role(message) == "system" for message in request.body["messages"]) > 1


def list_promised_schemas(body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The schemas that a strict tool or a strict answer has, with whose they are."""
    for at, tool in enumerate(body.get("tools") or ()):
        function = tool.get("function") or {}
        if function.get("strict"):
            yield f"tool {function['name']}, tools[{at}].function.parameters", function.get("parameters") or {}
    form = (body.get("response_format") or {}).get("json_schema") or {}
    if form.get("strict"):
        yield f"response_format: '{form['name']}'", form.get("schema") or {}


def has_open_schema(request: ReceivedRequest) -> bool:
    """A strict schema that is not closed, or has an optional field."""
    return any(error for _, schema in list_promised_schemas(request.body) for error in strict_errors(schema))


def has_format_beside_tools(request: ReceivedRequest) -> bool:
    form = request.body.get("response_format") or {}
    return form.get("type", "text") != "text" and has_tools(request)


def has_mixed_strict(request: ReceivedRequest) -> bool:
    return len({bool((tool.get("function") or {}).get("strict")) for tool in request.body.get("tools") or ()}) > 1


def has_late_system(request: ReceivedRequest) -> bool:
    return any(role(message) == "system" for message in request.body["messages"][1:])


def has_choice_of_glm(request: ReceivedRequest) -> bool:
    """A tool choice on GLM 4.5 or 5; 4.7 took a name."""
    return bool(re.search(r"glm-(4\.5|5)", request.model)) and request.body.get("tool_choice") not in (None, "auto")


def ends_with_model(request: ReceivedRequest) -> bool:
    return role(request.body["messages"][-1]) == "assistant"


def has_only_systems(request: ReceivedRequest) -> bool:
    return all(role(message) == "system" for message in request.body["messages"])


def has_empty_user(request: ReceivedRequest) -> bool:
    return any(role(one) == "user" and one.get("content") in ("", []) for one in request.body["messages"])


def has_no_user(request: ReceivedRequest) -> bool:
    return all(role(message) != "user" for message in request.body["messages"])


def has_tool_without_parameters(request: ReceivedRequest) -> bool:
    return any(not (tool.get("function") or {}).get("parameters") for tool in request.body.get("tools") or ())


def has_tools(request: ReceivedRequest) -> bool:
    return bool(request.body.get("tools"))


def has_image_url(request: ReceivedRequest) -> bool:
    """A picture by a URL of the web."""
    parts = [part for message in request.body["messages"] for part in _parts(message)]
    urls = [(part.get("image_url") or {}).get("url") for part in parts if isinstance(part.get("image_url"), dict)]
    return any(isinstance(url, str) and url.startswith("http") for url in urls)


def refusing_pictures(sentence: str, models: str, **more: Any) -> Check:
    """Refuses pictures for models that see nothing. The sentence may say in which message, as `{at}`."""
    pattern = re.compile(models)

    def check(request: ReceivedRequest) -> None:
        if pattern.search(request.model.lower()) is None:
            return
        for at, message in enumerate(request.body["messages"]):
            if any(part.get("type") == "image_url" for part in _parts(message)):
                raise ChatRefusal(400, sentence.format(at=at), **more)

    return check


def _parts(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def thinks_unless_disabled(request: ReceivedRequest, models: str) -> bool:
    """Models of such names think, and others if they are told to."""
    thinking = request.body.get("thinking")
    if isinstance(thinking, dict) and "type" in thinking:
        return bool(thinking["type"] != "disabled")
    return re.search(models, request.model) is not None


def thinks_unless_switched_off(request: ReceivedRequest) -> bool:
    """Qwen on DashScope: Qwen 3.5 and later, and the open ones, think unless they are told not to."""
    switch = request.body.get("enable_thinking")
    if isinstance(switch, bool):
        return switch
    return "instruct" not in request.model and re.search(r"qwen3\.[5-9]|qwen3-\d+b", request.model) is not None


def thinks_in_no_stream(request: ReceivedRequest) -> bool:
    """Qwen on DashScope: the open ones think in streams alone."""
    is_open = re.search(r"qwen3-\d+b", request.model) is not None
    return is_open and thinks_unless_switched_off(request) and not request.body.get("stream")


def has_great_budget(request: ReceivedRequest) -> bool:
    """Qwen on DashScope: what its first generation of thinking models has room for."""
    budget = request.body.get("thinking_budget")
    first = re.search(r"qwen3-\d+b|qwen-(?:plus|flash|turbo)", request.model) is not None
    return first and isinstance(budget, int) and not 0 < budget <= 38912


def refuse_settings_of_grok(request: ReceivedRequest) -> None:
    """What models that think do not take: https://docs.x.ai/docs/guides/reasoning, November 2025."""
    if "non-reasoning" in request.model or not re.search(r"grok-(4|3-mini|build)", request.model):
        return
    for name, own in (
        ("presence_penalty", "presencePenalty"),
        ("frequency_penalty", "frequencyPenalty"),
        ("stop", "stop"),
    ):
        if request.body.get(name) is not None:
            raise ChatRefusal(400, f"Model {request.model} does not support parameter {own}.")


def refuse_unflavored_schemas(request: ReceivedRequest) -> None:
    """Moonshot's own flavor of JSON Schema, as far as its refusals are reported."""
    for tool in request.body.get("tools") or ():
        root = (tool.get("function") or {}).get("parameters")
        flaw = next(_flaws_of_schema(root, "root"), None) if isinstance(root, dict) and root else None
        if flaw is not None:
            raise ChatRefusal(
                400,
                "Invalid request: tools.function.parameters is not a valid moonshot flavored json schema, "
                f"details: <At path '{flaw[0]}': {flaw[1]}>",
            )


def _is_of(value: Any, kinds: list[str]) -> bool:
    """Whether a value has one of these types of JSON Schema."""
    if isinstance(value, bool) or value is None:
        return ("null" if value is None else "boolean") in kinds
    names = {str: ("string",), int: ("integer", "number"), float: ("number",), list: ("array",), dict: ("object",)}
    return not set(kinds).isdisjoint(names[type(value)])


def _flaws_of_schema(node: Any, at: str) -> Iterator[tuple[str, str]]:
    """Where something is wrong, and what."""
    if not isinstance(node, dict):
        return
    reference = node.get("$ref")
    if isinstance(reference, str):
        if reference != "#" and not reference.startswith("#/$defs/"):
            yield f"{at}.$ref", "references must start with #/$defs/"
        if "description" in node:
            yield at, "conflicting keywords found after $ref expansion: description"
    elif "anyOf" in node:
        if "type" in node:
            yield at, "when using anyOf, type should be defined in anyOf items instead of the parent schema"
    elif "type" not in node and "oneOf" not in node and "allOf" not in node:
        yield at, "type is not defined"
    kinds = [node["type"]] if isinstance(node.get("type"), str) else node.get("type") or []
    for value in node.get("enum") or () if kinds else ():
        if not _is_of(value, kinds):
            shown = "<nil>" if value is None else value
            yield f"{at}.enum", f"enum value ({shown}) does not match any type in [{' '.join(kinds)}]"
    if isinstance(node.get("items"), list):
        yield at, "items must be an object"
    inner = "" if at == "root" else f"{at}."
    for key in ("properties", "$defs"):
        for name, schema in (node.get(key) or {}).items():
            yield from _flaws_of_schema(schema, f"{inner}{key}.{name}")
    yield from _flaws_of_schema(node.get("items"), f"{inner}items")
    for index, schema in enumerate(node.get("anyOf") or ()):
        yield from _flaws_of_schema(schema, f"{inner}anyOf.{index}")
