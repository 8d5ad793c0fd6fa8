"""OpenAI's checks of the messages: their types, then content, then pairs of calls and results."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any

from dragoman.emulators.chat import request_types as chat_types
from dragoman.emulators.chat.openai.models import ChatModel, chat_model
from dragoman.emulators.chat.openai.request_types import (
    array_too_long,
    bracketed,
    json_type,
    missing,
    picture_url,
    unsupported_value,
    wrong_type,
)
from dragoman.emulators.chat.pairs import find_unanswered_calls, orphan_results
from dragoman.emulators.chat.service import ChatRefusal
from dragoman.emulators.provider import ReceivedRequest
from dragoman.emulators.request_shape import (
    MismatchKind,
    Path,
    RecordShape,
    Shape,
    ShapeMismatch,
    anything,
    complete,
    either,
    filled,
    items,
    matching,
    nullable,
    tagged,
    text,
    text_up_to,
    unmasked,
)

_MAGIC = ((b"\x89PNG", "png"), (b"\xff\xd8\xff", "jpeg"), (b"GIF8", "gif"))
"""How image formats begin."""
_PART_KINDS = ("text", "image_url", "input_audio", "refusal", "audio", "file")
_PICTURE = "Image URLs are only allowed for messages with role 'user'"
_MOST_CALLS = 128
_BLIND = re.compile(r"gpt-3|^gpt-4(?:-0[36]|-32k|$)|^o1-(?:mini|preview)|^o3-mini")
"""Models that see nothing."""
_name = matching(r"^[^\s<|\\/>]+$")


def shape(longest_id: int, numbered_calls: bool) -> Shape:
    """The messages. `numbered_calls`: a call may have an index. That content may be absent is checked later."""
    function = complete(name=filled, arguments=text)
    call = complete(id=unmasked(text_up_to(longest_id)), type=text, function=function)
    kinds = {"function": call.adding({"index": anything} if numbered_calls else {}), "custom": chat_types.CUSTOM_CALL}
    calls = _at_most(_MOST_CALLS, items(tagged("type", kinds), nonempty=True))
    return chat_types.with_messages(
        {
            "system": _message("system", "text"),
            "assistant": chat_types.ASSISTANT.adding(
                {**_message("assistant", "text", "refusal").fields, "annotations": anything, "tool_calls": calls}
            ),
            "user": _message("user", *chat_types.USER_PARTS),
            "function": chat_types.FUNCTION_RESULT,
            "tool": _result,
            "developer": _message("developer", "text"),
        }
    )


def _at_most(limit: int, shape: Shape) -> Shape:
    def check(value: Any, path: Path) -> None:
        if isinstance(value, list) and len(value) > limit:
            raise array_too_long(bracketed(path), limit, value)
        shape(value, path)

    return check


def longest_id(model: ChatModel) -> int:
    """How long a tool call's id may be."""
    return 64 if model.since(5, 6) else 40


def _message(role: str, *kinds: str) -> RecordShape:
    shapes = {kind: _PARTS[kind] for kind in kinds}

    def part(value: Any, path: Path) -> None:
        kind = value.get("type") if isinstance(value, dict) else None
        if kind == "image_url" and kind not in shapes:
            at = bracketed(path[:2])
            sentence = f"Invalid '{at}'. {_PICTURE}, but this message with role '{role}' contains an image URL."
            raise ChatRefusal(400, sentence, param=at, code="invalid_value")
        if isinstance(kind, str) and kind not in shapes:
            raise ShapeMismatch(MismatchKind.TAG, (*path, "type"), kind, choices=_PART_KINDS)
        tagged("type", shapes)(value, path)

    content = either(chat_types.STRING_OR_PARTS, text=text, items=items(part))
    return RecordShape({"role": text, "content": nullable(content), "name": _name}, required=("role",))


def _result(value: Any, path: Path) -> None:
    if "tool_call_id" not in value:
        sentence = "Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'."
        raise ChatRefusal(400, sentence, param=f"messages.[{path[1]}].tool_call_id")
    _message("tool", "text").adding({"tool_call_id": text, "name": text})(value, path)


def _image(value: Any, path: Path) -> None:
    chat_types.IMAGE_URL(value, path)
    picture_url(value["url"], (*path, "url"))
    if value["url"].startswith("data:") and _sniff_image(value["url"]) == "":
        raise ChatRefusal(
            400,
            "You uploaded an unsupported image. Please make sure your image has of one the following formats:"
            " ['png', 'jpeg', 'gif', 'webp'].",
            code="invalid_image_format",
        )


def _file(value: Any, path: Path) -> None:
    chat_types.FILE(value, path)
    if "file_id" not in value and not {"file_data", "filename"} <= value.keys():
        raise ShapeMismatch(MismatchKind.MISSING, (*path, "file_id"), value)


_PARTS: dict[str, Shape] = {
    **chat_types.USER_PARTS,
    "refusal": chat_types.REFUSAL_PART,
    "image_url": chat_types.IMAGE_PART.adding({"image_url": _image}),
    "file": chat_types.FILE_PART.adding({"file": _file}),
}


def check_capabilities(request: ReceivedRequest) -> None:
    """Roles and kinds of content that this model refuses."""
    model = chat_model(request.model)
    for at, message in enumerate(request.body["messages"]):
        role, path = message["role"], f"messages[{at}]"
        if model.name.startswith("o1-mini") and role in ("system", "developer"):
            raise unsupported_value(f"{path}.role", role)
        if role == "function" and model.since(5, 6):
            raise unsupported_value(f"{path}.role", role)
        if role == "user" and _BLIND.search(model.name) and _has_part(message, "image_url"):
            sentence = "Invalid content type. image_url is only supported by certain models."
            raise ChatRefusal(400, sentence, param=f"messages.[{at}].content.[1].type")
        if role == "user" and model.since(5, 0) and "audio" not in model.name and _has_part(message, "input_audio"):
            sentence = f"Invalid '{path}'. Content blocks are expected to be either text or image_url type."
            raise ChatRefusal(400, sentence, param=path, code="invalid_value")


def _has_part(message: dict[str, Any], kind: str) -> bool:
    content = message.get("content")
    return isinstance(content, list) and any(part.get("type") == kind for part in content)


def check_content(request: ReceivedRequest) -> None:
    """Content that is absent or null although the role requires it."""
    for at, message in enumerate(request.body["messages"]):
        if message.get("content") is not None or _may_lack_content(message):
            continue
        if message["role"] == "developer":
            place = f"messages[{at}].content"
            if "content" not in message:
                raise missing(place)
            raise wrong_type(place, chat_types.STRING_OR_PARTS, None)
        raise ChatRefusal(
            400,
            f"Invalid value for 'content': expected a string, got {json_type(None)}.",
            param=f"messages.[{at}].content",
        )


def _may_lack_content(message: dict[str, Any]) -> bool:
    if message["role"] == "function":
        return True
    content_keys = ("tool_calls", "function_call", "refusal", "audio")
    return message["role"] == "assistant" and any(message.get(key) is not None for key in content_keys)


def check_pairs(request: ReceivedRequest) -> None:
    """Every call has its results directly after it, every result its call. Reports the first defect."""
    messages = request.body["messages"]
    unanswered = next(find_unanswered_calls(messages), None)
    orphan = next(orphan_results(messages), None)
    if unanswered is not None and (orphan is None or unanswered.at < orphan):
        sentence = (
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each"
            " 'tool_call_id'. The following tool_call_ids did not have response messages: "
        )
        raise ChatRefusal(400, sentence + ", ".join(unanswered.missing), param=f"messages.[{unanswered.until}].role")
    if orphan is not None:
        # OpenAI misspells "preceding"
        sentence = "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
        raise ChatRefusal(400, f"Invalid parameter: {sentence}", param=f"messages.[{orphan}].role")


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
