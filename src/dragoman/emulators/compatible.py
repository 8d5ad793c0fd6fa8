"""Any service that speaks Chat Completions: strict, lenient, or with the manners of one of a dozen providers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson

from dragoman.emulators.chat_providers import COMPATIBLE, MANNERS, SHAPES, Manner
from dragoman.emulators.chat_service import Chat, Check, Complaint
from dragoman.emulators.openai_settings import typed
from dragoman.emulators.openai_types import empty_array, missing, not_among, unknown, wrong_type
from dragoman.emulators.pairs import gaps, orphans, role
from dragoman.emulators.provider import Options, Provider, Received

Judge = Callable[[Manner, Received], Complaint | None]


def required(manner: Manner, call: Received) -> Complaint | None:
    if manner.needs_model and not call.model:
        return missing("model")
    messages = call.body.get("messages")
    if messages is None:
        return missing("messages")
    if not isinstance(messages, list):
        return wrong_type("messages", "an array of objects", messages)
    return None if messages else empty_array("messages")


def top_fields(manner: Manner, call: Received) -> Complaint | None:
    for key in call.body:
        if manner.top is not None and key not in manner.top:
            return unknown(key)
    return None


def message_fields(manner: Manner, call: Received) -> Complaint | None:
    for at, message in enumerate(call.body["messages"]):
        if not isinstance(message, dict):
            return wrong_type(f"messages[{at}]", "an object", message)
        if message.get("role") not in manner.roles:
            return not_among(f"messages[{at}].role", message.get("role"), manner.roles)
        stray = _stray(manner, message)
        if stray is not None:
            words = manner.field_words.format(at=at, key=stray, role=message["role"])
            return Complaint(400, words, param=f"messages[{at}].{stray}", code=manner.field_code)
    return None


def _stray(manner: Manner, message: dict[str, Any]) -> str | None:
    if manner.fields is None:
        return None
    return next((key for key in message if key not in manner.fields[message["role"]]), None)


def contents(manner: Manner, call: Received) -> Complaint | None:
    for at, message in enumerate(call.body["messages"]):
        complaint = _content(manner, message, f"messages[{at}]") or _calls(manner, message, f"messages[{at}]")
        if complaint is not None:
            return complaint
    return None


def _content(manner: Manner, message: dict[str, Any], path: str) -> Complaint | None:
    content = message.get("content")
    silent = not content and not message.get("tool_calls")
    if role(message) == "assistant" and silent and manner.empty_assistant is not None:
        return manner.empty_assistant
    if content is None:
        allowed = manner.null_content or (role(message) == "assistant" and not silent)
        return None if allowed else missing(f"{path}.content")
    if isinstance(content, str):
        return None
    if not isinstance(content, list):
        return wrong_type(f"{path}.content", "one of a string or array of objects", content)
    return _parts(manner, content, f"{path}.content")


def _parts(manner: Manner, content: list[Any], path: str) -> Complaint | None:
    for at, part in enumerate(content):
        if not isinstance(part, dict):
            return wrong_type(f"{path}[{at}]", "an object", part)
        if manner.parts is not None and part.get("type") not in manner.parts:
            return not_among(f"{path}[{at}].type", part.get("type"), manner.parts)
    return None


def _calls(manner: Manner, message: dict[str, Any], path: str) -> Complaint | None:
    calls, path = message.get("tool_calls"), f"{path}.tool_calls"
    if calls is None:
        return None
    if not isinstance(calls, list):
        return wrong_type(path, "an array of objects", calls)
    if not calls and not manner.empty_lists:
        return empty_array(path)
    for at, made in enumerate(calls):
        function = made.get("function") if isinstance(made, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            return missing(f"{path}[{at}].function")
        if manner.json_arguments and not _is_object(function.get("arguments")):
            words = f"Invalid '{path}[{at}].function.arguments': expected the text of a JSON object."
            return Complaint(400, words, param=f"{path}[{at}].function.arguments", code="invalid_value")
    return None


def _is_object(text: Any) -> bool:
    if not isinstance(text, str):
        return False
    try:
        return isinstance(orjson.loads(text), dict)
    except orjson.JSONDecodeError:
        return False


def order(manner: Manner, call: Received) -> Complaint | None:
    """Systems ahead of the turns, and turns of the two sides by turns."""
    messages = call.body["messages"]
    start = 0
    while start < len(messages) and role(messages[start]) in ("system", "developer"):
        start += 1
    turns = messages[start:]
    late = any(role(message) in ("system", "developer") for message in turns)
    if late and manner.system_first is not None:
        return Complaint(400, manner.system_first, "invalid_message")
    if manner.alternation is not None and not _alternates(turns):
        return Complaint(400, manner.alternation, "invalid_message")
    return None


def _alternates(turns: list[Any]) -> bool:
    """User or tool turns alternate with assistant turns; the results of one turn count as one."""
    last = "assistant"
    for turn in turns:
        side = "assistant" if role(turn) == "assistant" else role(turn)
        if (side == "assistant") == (last == "assistant") and not side == last == "tool":
            return False
        last = side
    return True


def pairing(manner: Manner, call: Received) -> Complaint | None:
    messages = call.body["messages"]
    gap = next(gaps(messages), None)
    if gap is not None and manner.unanswered is not None:
        words = manner.unanswered.format(ids=", ".join(gap.missing), at=gap.until)
        return Complaint(400, words, param=f"messages.[{gap.until}].role")
    orphan = next(orphans(messages), None)
    if orphan is not None and manner.orphaned is not None:
        words = manner.orphaned.format(id=messages[orphan].get("tool_call_id"), at=orphan)
        return Complaint(400, words, param=f"messages.[{orphan}].role")
    return None


def reasoning(manner: Manner, call: Received) -> Complaint | None:
    """Thinking models want their reasoning back with the calls it led to."""
    if manner.reasoning_required is None or _thinks_not(manner, call):
        return None
    for at, message in enumerate(call.body["messages"]):
        if message.get("tool_calls") and message.get("reasoning_content") is None:
            return Complaint(400, manner.reasoning_required.format(at=at))
    return None


def _thinks_not(manner: Manner, call: Received) -> bool:
    asked = call.body.get("thinking")
    if isinstance(asked, dict) and "type" in asked:
        return bool(asked["type"] == "disabled")
    return manner.thinkers is not None and re.search(manner.thinkers, call.model) is None


def tools(manner: Manner, call: Received) -> Complaint | None:
    declared = call.body.get("tools")
    if declared is None:
        return None
    if not isinstance(declared, list):
        return wrong_type("tools", "an array of objects", declared)
    if not declared and not manner.empty_lists:
        return empty_array("tools")
    for at, tool in enumerate(declared):
        if not isinstance(tool, dict):
            return wrong_type(f"tools[{at}]", "an object", tool)
        function = tool.get("function")
        if tool.get("type", "function") == "function" and not isinstance(function, dict):
            return missing(f"tools[{at}].function")
    return None


def ranges(manner: Manner, call: Received) -> Complaint | None:
    """Types and ranges, where the service is known to check them."""
    return typed(call) if manner.top is not None else None


JUDGES: tuple[Judge, ...] = (
    required,
    top_fields,
    message_fields,
    contents,
    tools,
    ranges,
    order,
    pairing,
    reasoning,
)


def _bound(judge: Judge, manner: Manner) -> Check:
    return lambda call: judge(manner, call)


def adjusted(manner: Manner, options: Options) -> Manner:
    """The row of the table with what the caller asked for laid over it."""
    more = options.more
    if more.get("extra_fields") is not None and manner.top is not None:
        manner = replace(manner, top=manner.top | set(more["extra_fields"]))
    if more.get("extra_message_fields") is not None and manner.fields is not None:
        extra = frozenset(more["extra_message_fields"])
        manner = replace(manner, fields={name: known | extra for name, known in manner.fields.items()})
    manner = replace(manner, **_switched(more))
    return _outward(manner, more)


def _switched(more: Any) -> Any:
    return {key: words if more[key] else None for key, words in _SWITCHES.items() if key in more}


def _outward(manner: Manner, more: Any) -> Manner:
    if "pairing" in more:
        words = (COMPATIBLE.unanswered, COMPATIBLE.orphaned) if more["pairing"] else (None, None)
        manner = replace(manner, unanswered=words[0], orphaned=words[1])
    if "roles" in more:
        manner = replace(manner, roles=tuple(more["roles"]))
    if "error_shape" in more:
        manner = replace(manner, shape=SHAPES[more["error_shape"]])
    if "done" in more:
        manner = replace(manner, voice=replace(manner.voice, done="[DONE]" if more["done"] else None))
    return manner


_SWITCHES: dict[str, Any] = {
    "alternation": MANNERS["perplexity"].alternation,
    "system_first": "System message must be at the beginning.",
    "reasoning_required": MANNERS["moonshot"].reasoning_required,
    "empty_assistant": COMPATIBLE.empty_assistant,
}


def provider(options: Options) -> Provider:
    """The emulator with the manner that the options name."""
    name = options.more.get("manner", "compatible")
    manner = adjusted(MANNERS[name], options)
    return Chat(
        name=name if name != "lenient" else "compatible-lenient",
        options=options,
        checks=manner.checks or tuple(_bound(judge, manner) for judge in JUDGES),
        voice=manner.voice,
        root=manner.root,
        further_paths=manner.further_paths,
        shape=manner.shape,
        faults=manner.faults,
        example_model=manner.model,
    )
