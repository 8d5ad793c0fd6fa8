"""The types of a request to OpenRouter, after its OpenAPI of 2026-08-22 and recorded requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dragoman.emulators.chat import request_types as chat_types
from dragoman.emulators.chat.openai.request_types import bracketed, json_type
from dragoman.emulators.chat.service import ChatRefusal
from dragoman.emulators.provider import ReceivedRequest
from dragoman.emulators.request_shape import (
    MismatchKind,
    Path,
    RecordShape,
    Shape,
    ShapeMismatch,
    boolean,
    complete,
    integer,
    items,
    mapping,
    nullable,
    number,
    one_of,
    table,
    tagged,
    text,
    text_up_to,
)

_cached: Mapping[str, Shape] = {"cache_control": nullable(mapping)}
_AUDIO = complete(data=text, format=text)
_PARTS: Mapping[str, Shape] = {
    "text": chat_types.TEXT_PART.adding(_cached),
    "image_url": chat_types.IMAGE_PART.adding(_cached),
    "input_audio": RecordShape({**_cached, "type": text, "input_audio": _AUDIO}, required=("type", "input_audio")),
    "file": chat_types.FILE_PART.adding(_cached),
    "video_url": RecordShape({**_cached, "type": text, "video_url": mapping}, required=("type", "video_url")),
    "input_video": RecordShape({**_cached, "type": text, "video_url": mapping}, required=("type", "video_url")),
    "refusal": chat_types.REFUSAL_PART,
}
_CONTENT = chat_types.content(_PARTS)
_detail: Mapping[str, Shape] = {
    **dict.fromkeys(("text", "summary", "data", "signature", "id", "format"), nullable(text)),
    "type": text,
    "index": nullable(integer),
}
_DETAILS = items(
    tagged(
        "type",
        {
            "reasoning.text": RecordShape(_detail, required=("type",)),
            "reasoning.summary": RecordShape({**_detail, "summary": text}, required=("type", "summary")),
            "reasoning.encrypted": RecordShape({**_detail, "data": text}, required=("type", "data")),
        },
    )
)
_CALL = chat_types.FUNCTION_CALL.adding({**_cached, "index": nullable(integer)})
# After OpenRouter's OpenAPI of 2026-08-22 and recorded requests. It forbids no other keys, but a message with `done`
# was refused: keys that nobody has seen accepted are refused here.
_MESSAGES: Mapping[str, RecordShape] = {
    "system": chat_types.SYSTEM.adding({**_cached, "content": _CONTENT}),
    "developer": chat_types.SYSTEM.adding({**_cached, "content": _CONTENT}),
    "user": chat_types.USER.adding({**_cached, "content": _CONTENT}),
    "assistant": chat_types.ASSISTANT.adding(
        {
            **_cached,
            "content": nullable(_CONTENT),
            "tool_calls": nullable(items(_CALL)),
            "annotations": nullable(items(mapping)),  # of a file, to be sent back (openrouter.ai/docs, PDF inputs)
            "audio": nullable(mapping),
            "images": nullable(items(mapping)),
            "model": nullable(text),
            "reasoning": nullable(text),
            "reasoning_content": nullable(text),
            "reasoning_details": nullable(_DETAILS),
        }
    ),
    "tool": chat_types.TOOL_RESULT.adding({**_cached, "content": _CONTENT, "name": nullable(text)}),
}
_FUNCTION = chat_types.FUNCTION.adding({"name": text_up_to(64)})
_FUNCTION_TOOL = chat_types.FUNCTION_TOOL.adding({**_cached, "function": _FUNCTION})


def _tool(value: Any, path: Path) -> None:
    """A function, or one of OpenRouter's own tools, which are not checked."""
    kind = value.get("type") if isinstance(value, dict) else None
    if isinstance(kind, str) and kind not in ("function", "custom"):
        if ":" not in kind:
            raise ShapeMismatch(MismatchKind.TAG, (*path, "type"), kind, choices=("function",))
        return
    tagged("type", {"function": _FUNCTION_TOOL, "custom": chat_types.CUSTOM_TOOL})(value, path)


_number, _whole, _flag = nullable(number), nullable(integer), nullable(boolean)
_EFFORT = one_of("max", "xhigh", "high", "medium", "low", "minimal", "none")
_REASONING = RecordShape(
    {
        "effort": nullable(_EFFORT),
        "max_tokens": _whole,
        "summary": nullable(text),
        "exclude": _flag,
        "enabled": _flag,
    },
    open=True,
)
_CHOICE = chat_types.tool_choice(("none", "auto", "required", "any"), {"function": chat_types.NAMED_CHOICE})
_SCHEMA = chat_types.JSON_SCHEMA.adding({"description": nullable(text)}).opened()
_FORMATS: Mapping[str, Shape] = {
    **dict.fromkeys(("text", "json_object", "grammar", "python"), RecordShape({"type": text}, open=True)),
    "json_schema": complete(type=text, json_schema=_SCHEMA).opened(),
}
REQUEST = RecordShape(
    {
        **dict.fromkeys(("temperature", "top_p", "min_p", "top_a", "repetition_penalty"), _number),
        **dict.fromkeys(("frequency_penalty", "presence_penalty"), _number),
        **dict.fromkeys(("max_tokens", "max_completion_tokens", "top_k", "top_logprobs", "seed", "n"), _whole),
        **dict.fromkeys(("logprobs", "stream", "parallel_tool_calls"), _flag),
        **dict.fromkeys(("model", "service_tier"), nullable(text)),
        "session_id": nullable(text_up_to(256)),
        "logit_bias": nullable(table(number)),
        "stream_options": nullable(RecordShape({"include_usage": boolean}, open=True)),
        "messages": chat_types.with_messages(_MESSAGES),
        "tools": nullable(items(_tool)),
        "tool_choice": nullable(_CHOICE),
        "response_format": nullable(tagged("type", _FORMATS)),
        "metadata": nullable(table(text)),
        "reasoning": nullable(_REASONING),
        "reasoning_effort": nullable(_EFFORT),
        "stop": chat_types.REQUEST.fields["stop"],
        "user": nullable(text),
    },
    open=True,
)


def refuse_mismatch(mismatch: ShapeMismatch, request: ReceivedRequest) -> ChatRefusal:
    return ChatRefusal(400, f"{_mismatch_words(mismatch)}: {bracketed(mismatch.path)}")


def _mismatch_words(mismatch: ShapeMismatch) -> str:
    match mismatch.kind:
        case MismatchKind.UNKNOWN:
            return f'Unrecognized key: "{mismatch.path[-1]}"'
        case MismatchKind.MISSING:
            return "Invalid input: expected a value, received undefined"
        case MismatchKind.TOO_LONG:
            return f"Too big: expected string to have <={mismatch.limit} characters"
        case MismatchKind.CHOICE | MismatchKind.TAG:
            return "Invalid option: expected one of " + "|".join(f'"{one}"' for one in mismatch.choices)
        case _:
            return f"Invalid input: expected {mismatch.expected}, received {json_type(mismatch.value).split()[-1]}"
