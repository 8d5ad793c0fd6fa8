"""What a model sees of a request: who said what, which tools there are, and which limits hold.

It reads the request in the names of all dialects. Judging the request is the provider's business and has been done.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

import orjson

from dragoman.emulators.plausible.attachments import describe_attachment
from dragoman.emulators.plausible.computer_use import list_screen_verbs
from dragoman.emulators.plausible.hosted_tools import HostedTool, find_hosted_kind, list_hosted_tools
from dragoman.emulators.plausible.workspace_tools import is_workspace, workspace_verbs
from dragoman.emulators.provider import Hosted
from dragoman.emulators.request_members import find_asked_schema, list_functions

_SYSTEM_FIELDS = ("system", "systemInstruction", "system_instruction", "instructions")
_SYSTEM_ROLES = ("system", "developer")
_MODEL_ROLES = ("assistant", "model")
_INSTRUCTION = re.compile(r"^\[(?:system|developer)\b[^\]\n]{0,40}\]\s", re.IGNORECASE | re.MULTILINE)
_ONE_CALL = re.compile(
    r"\b(?:at most|no more than|only|just) (?:one|a single|1) (?:tool|function)\b"
    r"|\b(?:one|a single|1) (?:tool|function)(?: call)? (?:at a time|per \w{1,20}|in (?:each|every) \w{1,20})\b"
    r"|\b(?:tools|functions) one (?:at a time|by one|after (?:the other|another))\b"
    r"|\b(?:never|not|don't|no)(?: (?:call|use|make|run))?(?: (?:several|multiple|parallel))?(?: tools?| functions?)?"
    r"(?: calls?)? (?:at once|in parallel|simultaneously|at the same time)\b"
    r"|\b(?:never|not|don't|no) (?:(?:use|make) )?parallel (?:tool|function) calls\b",
    re.IGNORECASE,
)
"""An instruction that forbids a second call beside the first, in the words that people have for it."""
_FORMED = ("computer", "shell", "local_shell", "apply_patch")
_CALLS = ("function_call", "custom_tool_call", "tool_use", *[f"{name}_call" for name in _FORMED])
_RESULTS = ("tool_result", *[f"{name}_output" for name in _CALLS if name != "tool_use"])
_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens", "maxTokens", "num_predict")
_STOPS = ("stop", "stop_sequences", "stopSequences")
_THINKING = ("thinking", "reasoning", "reasoning_effort", "think", "thinkingConfig", "enable_thinking")
_FURTHER = ("additionalModelRequestFields", "chat_template_kwargs")
_CALLING = ("functionCallingConfig", "function_calling_config")
_SETTINGS = ("generationConfig", "generation_config", "inferenceConfig", "options")


class Speaker(Enum):
    """Who says something."""

    SYSTEM = 1
    USER = 2
    MODEL = 3
    CALL = 4
    RESULT = 5


@dataclass(frozen=True, slots=True)
class Saying:
    """One thing that was said."""

    speaker: Speaker
    text: str = ""
    name: str = ""  # of the tool, if it is known
    call_id: str = ""
    attached: tuple[str, ...] = ()  # what is to be said of pictures, documents and recordings


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """One declared function."""

    name: str
    description: str
    schema: Any
    entry: Any = None  # the declaration as it stands in the request, if the model must look for it
    form: Mapping[str, Any] | None = None  # the declaration of a screen, a shell or files, if this is done with them


@dataclass(frozen=True, slots=True)
class RequestView:
    """What a model sees of a request."""

    sayings: tuple[Saying, ...]
    tools: tuple[OfferedTool, ...]
    choice: str  # "auto" | "none" | "required" | the name of a tool
    one_call: bool = False  # parallel calls are forbidden
    limit: int | None = None  # of tokens
    stops: tuple[str, ...] = ()
    schema: Any = field(default=None)  # of the answer
    thinking: bool | None = None  # whether the request turns thinking on or off; None: it says nothing
    hosted: tuple[HostedTool, ...] = ()  # tools that the provider runs
    deferred: tuple[OfferedTool, ...] = ()  # functions that the model does not see before it has looked for them
    approvals: Mapping[str, bool] = field(default_factory=dict)  # of calls of servers, by the server's label


def view_request(body: dict[str, Any]) -> RequestView:
    """What the model sees of the body."""
    allowed = _find_allowed(body)
    hosted = tuple(list_hosted_tools(body))
    offered, deferred = _functions(body, hosted)
    settings = [body, *(body[name] for name in _SETTINGS if isinstance(body.get(name), dict))]
    sayings = tuple(_sayings(body))
    return RequestView(
        sayings,
        tuple(one for one in offered if allowed is None or one.name in allowed),
        _choice(body),
        one_call=_forbids_parallel_calls(body) or any(_asks_for_one_call(saying) for saying in sayings),
        limit=next((one for one in _find_given(settings, _LIMITS) if isinstance(one, int) and one > 0), None),
        stops=_stops(_find_given(settings, _STOPS)),
        schema=find_asked_schema(body),
        thinking=_thinking(body, settings),
        hosted=hosted,
        deferred=tuple(deferred),
        approvals=dict(_approvals(body)),
    )


def _functions(body: dict[str, Any], hosted: tuple[HostedTool, ...]) -> tuple[list[OfferedTool], list[OfferedTool]]:
    """The functions that the model sees, and those that it must look for first."""
    config = body.get("toolConfig")
    declared = body.get("tools") or (config.get("tools") if isinstance(config, dict) else None)
    entries = [one for one in declared if isinstance(one, dict)] if isinstance(declared, list) else []
    searches = any(one.tool is Hosted.TOOLS for one in hosted)
    found = set(_find_tools(body)) if searches or any(one.get("defer_loading") for one in entries) else set()
    offered: list[OfferedTool] = []
    deferred: list[OfferedTool] = []
    for entry in entries:
        inner = entry.get("tools") if entry.get("type") == "namespace" else None
        for one in inner if isinstance(inner, list) else [entry]:
            if not isinstance(one, dict) or find_hosted_kind(one) is not None:
                continue
            verbs = workspace_verbs(one) if is_workspace(one) else list_screen_verbs(one)
            if verbs or is_workspace(one):
                offered += [OfferedTool(verb, about, {}, form=one) for verb, about in verbs]
                continue
            tools = [OfferedTool(*found_one) for found_one in list_functions({"tools": [one]})]
            if one.get("defer_loading") is True and not {tool.name for tool in tools} & found:
                deferred += [replace(tool, entry=entry) for tool in tools]
            else:
                offered += tools
    return offered, deferred


def _find_tools(value: Any) -> Iterator[str]:
    """The names of tools that were found before: of references, and of those that were given whole."""
    waiting = [value.get("messages") or value.get("input")]
    while waiting:
        one = waiting.pop()
        if isinstance(one, list):
            waiting += one
        elif isinstance(one, dict):
            if one.get("type") == "tool_reference":
                yield str(one.get("tool_name"))
            elif one.get("type") in ("tool_search_output", "additional_tools"):
                yield from (str(tool.get("name")) for tool in _flat_tools(one.get("tools")))
            else:
                waiting += [inner for inner in one.values() if isinstance(inner, list | dict)]


def _flat_tools(tools: Any) -> Iterator[dict[str, Any]]:
    for tool in tools if isinstance(tools, list) else ():
        if isinstance(tool, dict):
            inner = tool.get("tools")
            yield from _flat_tools(inner) if isinstance(inner, list) else (tool,)


def _approvals(body: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """What the client says about calls that it was asked about, by the label of their server."""
    given = body.get("input")
    items = [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []
    labels = {one.get("id"): str(one.get("server_label")) for one in items if one.get("type") == "mcp_approval_request"}
    for item in items:
        if item.get("type") == "mcp_approval_response" and item.get("approval_request_id") in labels:
            yield labels[item["approval_request_id"]], item.get("approve") is True


def _find_given(settings: list[dict[str, Any]], names: tuple[str, ...]) -> list[Any]:
    return [one[name] for one in settings for name in names if one.get(name) is not None]


def _stops(given: list[Any]) -> tuple[str, ...]:
    several = [one for value in given for one in (value if isinstance(value, list) else [value])]
    return tuple(one for one in several if isinstance(one, str) and one)


def _choice(body: dict[str, Any]) -> str:
    config = body.get("toolConfig") or body.get("tool_config")
    config = config if isinstance(config, dict) else {}
    calling = config.get("functionCallingConfig") or config.get("function_calling_config")
    if isinstance(calling, dict):
        return {"NONE": "none", "ANY": "required"}.get(str(calling.get("mode")), "auto")
    choice = config.get("toolChoice") or body.get("tool_choice")
    if isinstance(choice, str):
        return {"none": "none", "required": "required", "any": "required"}.get(choice.lower(), "auto")
    if not isinstance(choice, dict):
        return "auto"
    if "any" in choice or choice.get("type") == "any":
        return "required"
    if choice.get("type") == "allowed_tools":
        return "required" if _allowance(choice).get("mode") == "required" else "auto"
    if choice.get("type") == "none":
        return "none"
    inner = choice.get("function") or choice.get("tool")
    named = inner.get("name") if isinstance(inner, dict) else choice.get("name")
    return named if isinstance(named, str) else "auto"


def _find_allowed(body: dict[str, Any]) -> set[str] | None:
    """The tools of which the model may call one. None: all of them."""
    config = body.get("toolConfig") or body.get("tool_config")
    calling = next(iter(_find_given([config], _CALLING)), None) if isinstance(config, dict) else None
    if isinstance(calling, dict):
        names = calling.get("allowedFunctionNames") or calling.get("allowed_function_names")
        return {str(name) for name in names} if isinstance(names, list) and names else None
    choice = body.get("tool_choice")
    if not isinstance(choice, dict) or choice.get("type") != "allowed_tools":
        return None
    entries = [one for one in _allowance(choice).get("tools") or () if isinstance(one, dict)]
    return {str((one.get("function") or one).get("name")) for one in entries}


def _allowance(choice: dict[str, Any]) -> dict[str, Any]:
    """Chat has the mode and the tools in a member of their own."""
    inner = choice.get("allowed_tools")
    return inner if isinstance(inner, dict) else choice


def _thinking(body: dict[str, Any], settings: list[dict[str, Any]]) -> bool | None:
    further = [body[name] for name in _FURTHER if isinstance(body.get(name), dict)]
    found = _find_given([*settings, *further], _THINKING)
    return _turns_on(found[0]) if found else None


def _turns_on(value: Any) -> bool:
    if isinstance(value, dict):
        members = [value[key] for key in ("type", "effort", "enabled", "thinkingBudget") if value.get(key) is not None]
        return _turns_on(members[0]) if members else True
    return value not in (False, 0, "none", "disabled", "off")


def _forbids_parallel_calls(body: dict[str, Any]) -> bool:
    choice = body.get("tool_choice")
    disabled = choice.get("disable_parallel_tool_use") if isinstance(choice, dict) else None
    return body.get("parallel_tool_calls") is False or disabled is True


def _asks_for_one_call(saying: Saying) -> bool:
    return saying.speaker is Speaker.SYSTEM and _ONE_CALL.search(saying.text) is not None


def _sayings(body: dict[str, Any]) -> Iterator[Saying]:
    for name in _SYSTEM_FIELDS:
        if body.get(name):
            yield Saying(Speaker.SYSTEM, plain_text(body[name]))
    documents = body.get("documents")
    if isinstance(documents, list) and documents:  # Cohere's stand beside the conversation
        yield Saying(Speaker.SYSTEM, plain_text(documents))
    turns = body.get("messages") or body.get("contents") or body.get("input") or []
    if isinstance(turns, str):
        yield Saying(Speaker.USER, turns)
        return
    for turn in turns if isinstance(turns, list) else [turns]:
        if isinstance(turn, str):  # Gemini's contents may be texts
            yield Saying(Speaker.USER, turn)
        elif isinstance(turn, dict):
            yield from _sayings_of(turn)


def _sayings_of(turn: dict[str, Any]) -> Iterator[Saying]:
    kind = str(turn.get("type") or "")
    if kind in _CALLS or kind in _RESULTS:
        yield from _of_part(turn)
        return
    role = str(turn.get("role") or ("user" if not kind or kind == "message" else kind))
    if role in ("tool", "function"):
        name = str(turn.get("tool_name") or turn.get("name") or "")
        yield Saying(Speaker.RESULT, plain_text(turn.get("content")), name, str(turn.get("tool_call_id") or ""))
        return
    content = turn.get("parts") if turn.get("parts") is not None else turn.get("content")
    parts = [content] if isinstance(content, str | dict) else content if isinstance(content, list) else []
    speaker = _speaker(role)
    texts = [text for part in parts if (text := _own_text(part))]
    if speaker is Speaker.USER:
        texts, marked = _split_instructions(texts)
        yield from (Saying(Speaker.SYSTEM, text) for text in marked)
    attached = [words for part in parts if isinstance(part, dict) and (words := describe_attachment(part))]
    images = turn.get("images")  # Ollama's stand beside the text
    attached += [
        words for one in (images if isinstance(images, list) else []) if (words := describe_attachment({"data": one}))
    ]
    if texts or attached:
        yield Saying(speaker, "\n".join(texts), attached=tuple(attached))
    for part in parts:
        if isinstance(part, dict):
            yield from _of_part(part)
    calls = turn.get("tool_calls")
    for call in calls if isinstance(calls, list) else []:
        if isinstance(call, dict):
            yield _call(call)


def _split_instructions(texts: list[str]) -> tuple[list[str], list[str]]:
    """What the user says himself, and instructions that stand in his turn with a mark, such as `[System]`."""
    own: list[str] = []
    marked: list[str] = []
    for text in texts:
        found = _INSTRUCTION.search(text)
        own += [text] if found is None else [text[: found.start()].strip()]
        marked += [] if found is None else [text[found.end() :].strip()]
    return [text for text in own if text], marked


def _speaker(role: str) -> Speaker:
    if role in _SYSTEM_ROLES:
        return Speaker.SYSTEM
    return Speaker.MODEL if role in _MODEL_ROLES else Speaker.USER


def _own_text(part: Any) -> str:
    """The text of a part that was said, and not thought, called or attached."""
    if isinstance(part, str):
        return part
    if not isinstance(part, dict) or part.get("thought") is True:
        return ""
    text = part.get("text")
    return text if isinstance(text, str) else ""


def _of_part(part: dict[str, Any]) -> Iterator[Saying]:
    kind = part.get("type")
    call = part.get("functionCall") or part.get("function_call") or part.get("toolUse")
    result = part.get("functionResponse") or part.get("function_response") or part.get("toolResult")
    if isinstance(call, dict) or kind in _CALLS:
        yield _call(call if isinstance(call, dict) else part)
    elif isinstance(result, dict) or kind in _RESULTS:
        found = result if isinstance(result, dict) else part
        output = next((found[key] for key in ("content", "output", "response") if found.get(key) is not None), "")
        identity = found.get("tool_use_id") or found.get("toolUseId") or found.get("call_id") or found.get("id")
        yield Saying(Speaker.RESULT, _result_text(output), str(found.get("name") or ""), str(identity or ""))


def _result_text(output: Any) -> str:
    """The words of a result, or what is to be said of its pictures."""
    parts = [part for part in (output if isinstance(output, list) else [output]) if isinstance(part, dict)]
    shown = [{**part, "type": "input_image"} if part.get("type") == "computer_screenshot" else part for part in parts]
    return plain_text(output) or " ".join(filter(None, map(describe_attachment, shown)))


def _call(call: dict[str, Any]) -> Saying:
    function = call.get("function")
    inner = function if isinstance(function, dict) else call
    identity = call.get("call_id") or call.get("toolUseId") or call.get("id")
    kind = str(call.get("type") or "").removesuffix("_call")
    name = inner.get("name") or (kind if kind in _FORMED else "")
    return Saying(Speaker.CALL, "", str(name), str(identity or ""))


def plain_text(value: Any) -> str:
    """The words of a value: a text, the texts of parts, or JSON if it is something else."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(filter(None, map(plain_text, value)))
    if not isinstance(value, dict):
        return "" if value is None else str(value)
    for key in ("text", "content", "parts", "output", "result", "json", "data", "document"):
        if isinstance(value.get(key), str | list | dict):
            return plain_text(value[key])
    return "" if value.keys() & {"source", "inlineData", "image_url"} else orjson.dumps(value, default=str).decode()
