"""OpenAI's checks of the messages: shape first, then content, then the pairing of calls and results.

A key that no one has seen refused is let through: the service's stance on most unknown message keys is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from dragoman.emulators.chat_service import Complaint
from dragoman.emulators.media_types import sniff_image
from dragoman.emulators.openai_models import family
from dragoman.emulators.openai_types import (
    empty_array,
    kind,
    missing,
    not_among,
    too_long,
    unknown,
    unsupported_value,
    wrong_type,
)
from dragoman.emulators.pairs import gaps, orphans
from dragoman.emulators.provider import Received
from dragoman.emulators.signatures import is_masked

ROLES = ("system", "assistant", "user", "function", "tool", "developer")
_NAME = re.compile(r"^[^\s<|\\/>]+$")
_PARTS = {
    "system": ("text",),
    "developer": ("text",),
    "tool": ("text", "image_url", "file"),  # the type says text alone; no refusal of the others is known
    "user": ("text", "image_url", "input_audio", "file"),
    "assistant": ("text", "refusal"),
    "function": ("text",),
}
_PART_KEYS = {
    "text": {"type", "text", "prompt_cache_breakpoint"},
    "refusal": {"type", "refusal"},
    "image_url": {"type", "image_url", "prompt_cache_breakpoint"},
    "input_audio": {"type", "input_audio", "prompt_cache_breakpoint"},
    "file": {"type", "file", "prompt_cache_breakpoint"},
}
_DETAILS = ("auto", "low", "high", "original")


def shape(call: Received) -> Complaint | None:
    """Types and values, message by message."""
    messages = call.body["messages"]
    if not isinstance(messages, list):
        return wrong_type("messages", "an array of objects", messages)
    if not messages:
        return empty_array("messages")
    return _first(_message(item, f"messages[{at}]") for at, item in enumerate(messages))


def _message(message: Any, path: str) -> Complaint | None:
    if not isinstance(message, dict):
        return wrong_type(path, "an object", message)
    role = message.get("role")
    if role is None:
        return missing(f"{path}.role")
    if role not in ROLES:
        return not_among(f"{path}.role", role, ROLES)
    return _content(message, path) or _name(message, path) or _calls(message, path) or _result(message, path)


def _content(message: dict[str, Any], path: str) -> Complaint | None:
    content = message.get("content")
    if content is None or isinstance(content, str):
        return None
    if not isinstance(content, list):
        return wrong_type(f"{path}.content", "one of a string or array of objects", content)
    parts = enumerate(content)
    return _first(_part(part, message["role"], f"{path}.content[{at}]") for at, part in parts)


def _part(part: Any, role: str, path: str) -> Complaint | None:
    if not isinstance(part, dict):
        return wrong_type(path, "an object", part)
    sort = part.get("type")
    if sort is None:
        return missing(f"{path}.type")
    if sort not in _PARTS[role]:
        return not_among(f"{path}.type", sort, ("text", "image_url", "input_audio", "refusal", "audio", "file"))
    stray = next((key for key in part if key not in _PART_KEYS[sort]), None)
    if stray is not None:
        return unknown(f"{path}.{stray}")
    if part.get(sort) is None:
        return missing(f"{path}.{sort}")
    return _BODIES[sort](part[sort], f"{path}.{sort}")


def _text(value: Any, path: str) -> Complaint | None:
    return None if isinstance(value, str) else wrong_type(path, "a string", value)


def _image(value: Any, path: str) -> Complaint | None:
    if not isinstance(value, dict):
        return wrong_type(path, "an object", value)
    url = value.get("url")
    if not isinstance(url, str):
        return missing(f"{path}.url") if url is None else wrong_type(f"{path}.url", "a string", url)
    detail = value.get("detail")
    if detail is not None and detail not in _DETAILS:
        return not_among(f"{path}.detail", detail, _DETAILS)
    if url.startswith("data:") and sniff_image(url) == "":
        return Complaint(
            400,
            "You uploaded an unsupported image. Please make sure your image has of one the following formats:"
            " ['png', 'jpeg', 'gif', 'webp'].",
            code="invalid_image_format",
        )
    return None


def _audio(value: Any, path: str) -> Complaint | None:
    if not isinstance(value, dict):
        return wrong_type(path, "an object", value)
    for key in ("data", "format"):
        if not isinstance(value.get(key), str):
            return missing(f"{path}.{key}")
    return None if value["format"] in ("wav", "mp3") else not_among(f"{path}.format", value["format"], ("wav", "mp3"))


def _file(value: Any, path: str) -> Complaint | None:
    if not isinstance(value, dict):
        return wrong_type(path, "an object", value)
    stray = next((key for key in value if key not in ("file_data", "file_id", "filename")), None)
    if stray is not None:
        return unknown(f"{path}.{stray}")
    if value.get("file_id") is None and (value.get("file_data") is None or value.get("filename") is None):
        return missing(f"{path}.file_id")
    return None


_BODIES: dict[str, Callable[[Any, str], Complaint | None]] = {
    "text": _text,
    "refusal": _text,
    "image_url": _image,
    "input_audio": _audio,
    "file": _file,
}


def _name(message: dict[str, Any], path: str) -> Complaint | None:
    name = message.get("name")
    if name is None:
        return None
    if not isinstance(name, str):
        return wrong_type(f"{path}.name", "a string", name)
    if _NAME.match(name):
        return None
    words = r"string does not match pattern. Expected a string that matches the pattern '^[^\s<|\\/>]+$'."
    return Complaint(400, f"Invalid '{path}.name': {words}", param=f"{path}.name", code="invalid_value")


def _calls(message: dict[str, Any], path: str) -> Complaint | None:
    calls = message.get("tool_calls")
    if calls is None:
        return None
    path = f"{path}.tool_calls"
    if message["role"] != "assistant":
        return unknown(path)
    if not isinstance(calls, list):
        return wrong_type(path, "an array of objects", calls)
    if not calls:
        return empty_array(path)
    return _first(_call(made, f"{path}[{at}]") for at, made in enumerate(calls))


def _call(made: Any, path: str) -> Complaint | None:
    if not isinstance(made, dict):
        return wrong_type(path, "an object", made)
    for key in ("id", "type"):
        if made.get(key) is None:
            return missing(f"{path}.{key}")
    if not isinstance(made["id"], str):
        return wrong_type(f"{path}.id", "a string", made["id"])
    if len(made["id"]) > 40 and not is_masked(made["id"]):
        return too_long(f"{path}.id", 40, made["id"])
    if made["type"] not in ("function", "custom"):
        return not_among(f"{path}.type", made["type"], ("function", "custom"))
    return _function(made.get("function"), f"{path}.function") if made["type"] == "function" else None


def _function(function: Any, path: str) -> Complaint | None:
    if function is None:
        return missing(path)
    if not isinstance(function, dict):
        return wrong_type(path, "an object", function)
    for key in ("name", "arguments"):
        value = function.get(key)
        if value is None:
            return missing(f"{path}.{key}")
        if not isinstance(value, str):
            return wrong_type(f"{path}.{key}", "a string", value)
    return None


def _result(message: dict[str, Any], path: str) -> Complaint | None:
    if message["role"] == "tool" and message.get("tool_call_id") is None:
        return missing(f"{path}.tool_call_id")
    return None


def capable(call: Received) -> Complaint | None:
    """Roles and kinds of content that this model does not take."""
    model = family(call.model)
    for at, message in enumerate(call.body["messages"]):
        role, path = message["role"], f"messages[{at}]"
        if model.model.startswith("o1-mini") and role in ("system", "developer"):
            return unsupported_value(f"{path}.role", role)
        if role == "function" and model.is_since(5, 6):
            return unsupported_value(f"{path}.role", role)
        if role == "user" and model.is_since(5, 0) and "audio" not in model.model and _has_audio(message):
            words = f"Invalid '{path}'. Content blocks are expected to be either text or image_url type."
            return Complaint(400, words, param=path, code="invalid_value")
    return None


def _has_audio(message: dict[str, Any]) -> bool:
    content = message.get("content")
    return isinstance(content, list) and any(part.get("type") == "input_audio" for part in content)


def present(call: Received) -> Complaint | None:
    """Content that is absent or null where the role needs it."""
    for at, message in enumerate(call.body["messages"]):
        if message.get("content") is not None or _may_be_silent(message):
            continue
        if message["role"] == "developer":
            return missing(f"messages[{at}].content")
        return Complaint(
            400,
            f"Invalid value for 'content': expected a string, got {kind(None)}.",
            param=f"messages.[{at}].content",
        )
    return None


def _may_be_silent(message: dict[str, Any]) -> bool:
    if message["role"] == "function":
        return True
    speaks = ("tool_calls", "function_call", "refusal", "audio")
    return message["role"] == "assistant" and any(message.get(key) is not None for key in speaks)


def paired(call: Received) -> Complaint | None:
    """Every call with its results directly after it, every result with its call; the first fault in reading order."""
    messages = call.body["messages"]
    gap = next(gaps(messages), None)
    orphan = next(orphans(messages), None)
    if gap is not None and (orphan is None or gap.at < orphan):
        words = (
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each"
            " 'tool_call_id'. The following tool_call_ids did not have response messages: "
        )
        return Complaint(400, words + ", ".join(gap.missing), param=f"messages.[{gap.until}].role")
    if orphan is not None:
        # the misspelling is theirs
        words = "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
        return Complaint(400, f"Invalid parameter: {words}", param=f"messages.[{orphan}].role")
    return None


def _first(complaints: Iterator[Complaint | None]) -> Complaint | None:
    return next((one for one in complaints if one is not None), None)
