"""OpenAI's checks of the messages: types first, then content, then pairs of calls and results.

Keys of messages are checked against the published types (`openai.py`).
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from typing import Any

from dragoman.emulators.chat import request_types as chat_types
from dragoman.emulators.chat.openai.models import ChatModel, chat_model
from dragoman.emulators.chat.openai.request_types import (
    empty_array,
    empty_string,
    json_type,
    missing,
    not_among,
    too_long,
    unknown,
    unsupported_value,
    wrong_type,
)
from dragoman.emulators.chat.pairs import orphan_results, unanswered_calls
from dragoman.emulators.chat.service import ChatRefusal
from dragoman.emulators.provider import ReceivedRequest
from dragoman.emulators.signatures import is_masked

_MAGIC = ((b"\x89PNG", "png"), (b"\xff\xd8\xff", "jpeg"), (b"GIF8", "gif"))
"""How image formats begin."""
ROLES = ("system", "assistant", "user", "function", "tool", "developer")
_NAME = re.compile(r"^[^\s<|\\/>]+$")
_PARTS = {
    "system": ("text",),
    "developer": ("text",),
    "tool": ("text",),
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
RESULT_PARTS = {kind: shape for kind, shape in chat_types.USER_PARTS.items() if kind in _PARTS["tool"]}
_PICTURE = "Image URLs are only allowed for messages with role 'user'"


def check_shape(request: ReceivedRequest) -> ChatRefusal | None:
    """The types and values of every message."""
    messages = request.body["messages"]
    if not isinstance(messages, list):
        return wrong_type("messages", "an array of objects", messages)
    if not messages:
        return empty_array("messages")
    longest = longest_id(chat_model(request.model))
    return _first(_check_message(item, f"messages[{at}]", longest) for at, item in enumerate(messages))


def longest_id(model: ChatModel) -> int:
    """How long a tool call's id may be."""
    return 64 if model.since(5, 6) else 40


def _check_message(message: Any, path: str, longest: int) -> ChatRefusal | None:
    if not isinstance(message, dict):
        return wrong_type(path, "an object", message)
    role = message.get("role")
    if role is None:
        return missing(f"{path}.role")
    if role not in ROLES:
        return not_among(f"{path}.role", role, ROLES)
    return (
        _check_parts(message, path)
        or _check_name(message, path)
        or _check_calls(message, path, longest)
        or _check_result(message, path)
    )


def _check_parts(message: dict[str, Any], path: str) -> ChatRefusal | None:
    content = message.get("content")
    if content is None or isinstance(content, str):
        return None
    if not isinstance(content, list):
        return wrong_type(f"{path}.content", "one of a string or array of objects", content)
    parts = enumerate(content)
    return _first(_check_part(part, message["role"], f"{path}.content[{at}]") for at, part in parts)


def _check_part(part: Any, role: str, path: str) -> ChatRefusal | None:
    if not isinstance(part, dict):
        return wrong_type(path, "an object", part)
    kind = part.get("type")
    if kind is None:
        return missing(f"{path}.type")
    if kind == "image_url" and kind not in _PARTS[role]:
        at = path.partition(".")[0]
        sentence = f"Invalid '{at}'. {_PICTURE}, but this message with role '{role}' contains an image URL."
        return ChatRefusal(400, sentence, param=at, code="invalid_value")
    if kind not in _PARTS[role]:
        return not_among(f"{path}.type", kind, ("text", "image_url", "input_audio", "refusal", "audio", "file"))
    stray = next((key for key in part if key not in _PART_KEYS[kind]), None)
    if stray is not None:
        return unknown(f"{path}.{stray}")
    if part.get(kind) is None:
        return missing(f"{path}.{kind}")
    return _PART_CHECKS[kind](part[kind], f"{path}.{kind}")


def _check_text(value: Any, path: str) -> ChatRefusal | None:
    return None if isinstance(value, str) else wrong_type(path, "a string", value)


def _check_image(value: Any, path: str) -> ChatRefusal | None:
    if not isinstance(value, dict):
        return wrong_type(path, "an object", value)
    url = value.get("url")
    if not isinstance(url, str):
        return missing(f"{path}.url") if url is None else wrong_type(f"{path}.url", "a string", url)
    detail = value.get("detail")
    if detail is not None and detail not in chat_types.DETAILS:
        return not_among(f"{path}.detail", detail, chat_types.DETAILS)
    if url.startswith("data:") and _sniff_image(url) == "":
        return ChatRefusal(
            400,
            "You uploaded an unsupported image. Please make sure your image has of one the following formats:"
            " ['png', 'jpeg', 'gif', 'webp'].",
            code="invalid_image_format",
        )
    return None


def _check_audio(value: Any, path: str) -> ChatRefusal | None:
    if not isinstance(value, dict):
        return wrong_type(path, "an object", value)
    for key in ("data", "format"):
        if not isinstance(value.get(key), str):
            return missing(f"{path}.{key}")
    return None if value["format"] in ("wav", "mp3") else not_among(f"{path}.format", value["format"], ("wav", "mp3"))


def _check_file(value: Any, path: str) -> ChatRefusal | None:
    if not isinstance(value, dict):
        return wrong_type(path, "an object", value)
    stray = next((key for key in value if key not in ("file_data", "file_id", "filename")), None)
    if stray is not None:
        return unknown(f"{path}.{stray}")
    if value.get("file_id") is None and (value.get("file_data") is None or value.get("filename") is None):
        return missing(f"{path}.file_id")
    return None


_PART_CHECKS: dict[str, Callable[[Any, str], ChatRefusal | None]] = {
    "text": _check_text,
    "refusal": _check_text,
    "image_url": _check_image,
    "input_audio": _check_audio,
    "file": _check_file,
}


def _check_name(message: dict[str, Any], path: str) -> ChatRefusal | None:
    name = message.get("name")
    if name is None:
        return None
    if not isinstance(name, str):
        return wrong_type(f"{path}.name", "a string", name)
    if _NAME.match(name):
        return None
    sentence = r"string does not match pattern. Expected a string that matches the pattern '^[^\s<|\\/>]+$'."
    return ChatRefusal(400, f"Invalid '{path}.name': {sentence}", param=f"{path}.name", code="invalid_value")


def _check_calls(message: dict[str, Any], path: str, longest: int) -> ChatRefusal | None:
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
    return _first(_check_call(tool_call, f"{path}[{at}]", longest) for at, tool_call in enumerate(calls))


def _check_call(tool_call: Any, path: str, longest: int) -> ChatRefusal | None:
    if not isinstance(tool_call, dict):
        return wrong_type(path, "an object", tool_call)
    for key in ("id", "type"):
        if key not in tool_call:
            return missing(f"{path}.{key}")
        if not isinstance(tool_call[key], str):
            return wrong_type(f"{path}.{key}", "a string", tool_call[key])
    if len(tool_call["id"]) > longest and not is_masked(tool_call["id"]):
        return too_long(f"{path}.id", longest, tool_call["id"])
    if tool_call["type"] not in ("function", "custom"):
        return not_among(f"{path}.type", tool_call["type"], ("function", "custom"))
    return _check_function(tool_call.get("function"), f"{path}.function") if tool_call["type"] == "function" else None


def _check_function(function: Any, path: str) -> ChatRefusal | None:
    if function is None:
        return missing(path)
    if not isinstance(function, dict):
        return wrong_type(path, "an object", function)
    for key in ("name", "arguments"):
        if key not in function:
            return missing(f"{path}.{key}")
        if not isinstance(function[key], str):
            return wrong_type(f"{path}.{key}", "a string", function[key])
    return None if function["name"] else empty_string(f"{path}.name")


def _check_result(message: dict[str, Any], path: str) -> ChatRefusal | None:
    if message["role"] != "tool" or "tool_call_id" in message:
        return None
    sentence = "Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'."
    return ChatRefusal(400, sentence, param=f"{path.replace('[', '.[')}.tool_call_id")


def check_capabilities(request: ReceivedRequest) -> ChatRefusal | None:
    """Roles and kinds of content that this model refuses."""
    model = chat_model(request.model)
    for at, message in enumerate(request.body["messages"]):
        role, path = message["role"], f"messages[{at}]"
        if model.name.startswith("o1-mini") and role in ("system", "developer"):
            return unsupported_value(f"{path}.role", role)
        if role == "function" and model.since(5, 6):
            return unsupported_value(f"{path}.role", role)
        if role == "user" and model.since(5, 0) and "audio" not in model.name and _has_audio(message):
            sentence = f"Invalid '{path}'. Content blocks are expected to be either text or image_url type."
            return ChatRefusal(400, sentence, param=path, code="invalid_value")
    return None


def _has_audio(message: dict[str, Any]) -> bool:
    content = message.get("content")
    return isinstance(content, list) and any(part.get("type") == "input_audio" for part in content)


def check_content(request: ReceivedRequest) -> ChatRefusal | None:
    """Content that is absent or null although the role requires it."""
    for at, message in enumerate(request.body["messages"]):
        if message.get("content") is not None or _may_lack_content(message):
            continue
        if message["role"] == "developer":
            place = f"messages[{at}].content"
            return (
                wrong_type(place, "one of a string or array of objects", None)
                if "content" in message
                else missing(place)
            )
        return ChatRefusal(
            400,
            f"Invalid value for 'content': expected a string, got {json_type(None)}.",
            param=f"messages.[{at}].content",
        )
    return None


def _may_lack_content(message: dict[str, Any]) -> bool:
    if message["role"] == "function":
        return True
    content_keys = ("tool_calls", "function_call", "refusal", "audio")
    return message["role"] == "assistant" and any(message.get(key) is not None for key in content_keys)


def check_pairs(request: ReceivedRequest) -> ChatRefusal | None:
    """Every call has its results directly after it, every result its call. Reports the first defect."""
    messages = request.body["messages"]
    unanswered = next(unanswered_calls(messages), None)
    orphan = next(orphan_results(messages), None)
    if unanswered is not None and (orphan is None or unanswered.at < orphan):
        sentence = (
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each"
            " 'tool_call_id'. The following tool_call_ids did not have response messages: "
        )
        return ChatRefusal(400, sentence + ", ".join(unanswered.missing), param=f"messages.[{unanswered.until}].role")
    if orphan is not None:
        # OpenAI misspells "preceding"
        sentence = "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
        return ChatRefusal(400, f"Invalid parameter: {sentence}", param=f"messages.[{orphan}].role")
    return None


def _first(refusals: Iterator[ChatRefusal | None]) -> ChatRefusal | None:
    return next((one for one in refusals if one is not None), None)


def _sniff_image(url: str) -> str | None:
    """The format of a base64 data URL: "png", "jpeg", "gif", "webp"; "" for any other; None if unknown.

    Only the first bytes are decoded, because recordings truncate long data.
    """
    head, comma, text = url.partition(",")
    if not comma or not head.endswith(";base64"):
        return None
    try:
        start = base64.b64decode(text[:32] + "=" * (-len(text[:32]) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None
    if len(start) < 12:
        return None
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        return "webp"
    return next((name for magic, name in _MAGIC if start.startswith(magic)), "")
