"""Messages of Vercel's AI SDK: those of a user interface, and those that go to a model.

The forms are those of vercel/ai (read at the commit of 2026-08-22):

- packages/ai/src/ui/ui-messages.ts, `UIMessage`: `{"id", "role", "parts"}`. A call and its result are one part,
  `tool-NAME` or `dynamic-tool`. `step-start` begins another answer of the model. Version 4 wrote `tool-invocation`.
- packages/provider-utils/src/types/content-part.ts, `ModelMessage`: `{"role", "content"}` with `tool-call` and
  `tool-result` parts. Version 4 wrote `args` for `input` and `result` for `output`.

A file is a list of messages, or an object whose `messages` is one. Parts for the screen (`source-url`, `data-…`) were
never sent to a model.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dragoman.transcripts.chat_request import chat_call, chat_transcripts, data_url, media_part
from dragoman.transcripts.transcript import (
    JsonObject,
    Transcript,
    TranscriptRecord,
    as_text,
    is_object,
    object_at,
    objects_at,
    objects_of,
    text_at,
)

_UI_PARTS = frozenset({"text", "reasoning", "file", "step-start", "dynamic-tool", "tool-invocation", "source-url"})
_DENIED = "The user did not allow this call."


def fits_dump(value: Any) -> bool:
    messages = _messages(value)
    if any(not isinstance(message.get("role"), str) for message in messages):
        return False
    return any(map(_is_ui_message, messages)) or any(map(_has_model_part, messages))


def parse_dump(records: Sequence[TranscriptRecord]) -> list[Transcript]:
    found = []
    for record in records:
        messages = [chat for message in _messages(record.value) for chat in _chat_messages(message)]
        found += chat_transcripts(messages)
    return found


def _messages(value: Any) -> list[JsonObject]:
    return objects_of(value) if isinstance(value, list) else objects_at(value, "messages") if is_object(value) else []


def _is_ui_message(message: JsonObject) -> bool:
    kinds = [text_at(part, "type") for part in objects_at(message, "parts")]
    return bool(kinds) and all(kind in _UI_PARTS or kind.startswith(("tool-", "data-", "source-")) for kind in kinds)


def _has_model_part(message: JsonObject) -> bool:
    """A part that only this SDK writes. Messages of texts alone are also Chat's."""
    parts = objects_at(message, "content")
    return any(
        "toolCallId" in part or (part.get("type") == "image" and "image" in part) or _is_file(part) for part in parts
    )


def _is_file(part: JsonObject) -> bool:
    return part.get("type") == "file" and ("mediaType" in part or "mimeType" in part)


def _chat_messages(message: JsonObject) -> list[JsonObject]:
    role = text_at(message, "role")
    if objects_at(message, "parts"):
        parts = objects_at(message, "parts")
        return _answers(parts) if role == "assistant" else [_write_plain_message(role, parts)]
    if role == "tool":
        return [_result(part) for part in objects_at(message, "content") if part.get("type") == "tool-result"]
    if role == "assistant":
        content = message.get("content")
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else objects_of(content)
        old_calls = [
            {"type": "tool-invocation", "toolInvocation": one} for one in objects_at(message, "toolInvocations")
        ]
        return _answers([*old_calls, *parts] if old_calls else parts)
    content = message.get("content")
    return [
        {"role": role, "content": content}
        if isinstance(content, str)
        else _write_plain_message(role, objects_of(content))
    ]


def _write_plain_message(role: str, parts: Iterable[JsonObject]) -> JsonObject:
    """A message without calls."""
    found = [chat for part in parts if (chat := _content_part(part)) is not None]
    texts = [part["text"] for part in found if part["type"] == "text"]
    return {"role": role, "content": "\n".join(texts) if len(texts) == len(found) else found}


def _content_part(part: JsonObject) -> JsonObject | None:
    match part.get("type"):
        case "text":
            return {"type": "text", "text": text_at(part, "text")}
        case "image" | "file":
            media_type = text_at(part, "mediaType") or text_at(part, "mimeType")
            data = text_at(part, "url") or text_at(part, "data") or text_at(part, "image")
            media_type = media_type or ("image/png" if part["type"] == "image" else "")
            return media_part(data_url(data, media_type), media_type, text_at(part, "filename"))
        case _:
            return None


def _answers(parts: Sequence[JsonObject]) -> list[JsonObject]:
    """The answers of the model, step by step, each with the results of its calls after it."""
    steps: list[list[JsonObject]] = [[]]
    for part in parts:
        if part.get("type") == "step-start":
            steps.append([])
        else:
            steps[-1].append(part)
    return [message for step in steps for message in _step(step)]


def _step(parts: Sequence[JsonObject]) -> list[JsonObject]:
    calls = [call for part in parts if (call := _call(part)) is not None]
    message = _write_plain_message("assistant", parts)
    thoughts = "".join(text_at(part, "text") for part in parts if part.get("type") == "reasoning")
    if thoughts:
        message["reasoning_content"] = thoughts
    if calls:
        message["tool_calls"] = [chat_call(text_at(call, "id"), text_at(call, "name"), call["input"]) for call in calls]
        message["content"] = message["content"] or None
    if not calls and not message["content"] and not thoughts:
        return []
    results = [
        {"role": "tool", "tool_call_id": call["id"], "content": call["result"]} for call in calls if "result" in call
    ]
    return [message, *results]


def _call(part: JsonObject) -> JsonObject | None:
    """A call with its id, name, input, and its result as text if there is one; None for other parts."""
    kind = text_at(part, "type")
    if kind == "tool-call":
        return _write_call(part, text_at(part, "toolName"), part.get("input", part.get("args")))
    if kind == "tool-invocation":
        old = object_at(part, "toolInvocation")
        call = _write_call(old, text_at(old, "toolName"), old.get("args"))
        return {**call, "result": as_text(old["result"])} if old.get("state") == "result" and "result" in old else call
    if (kind != "dynamic-tool" and not (kind.startswith("tool-") and "toolCallId" in part)) or kind == "tool-result":
        return None
    if part.get("state") == "input-streaming":
        return None
    name = text_at(part, "toolName") or kind.removeprefix("tool-")
    return {**_write_call(part, name, part.get("input")), **_ui_result(part)}


def _write_call(part: JsonObject, name: str, given: Any) -> JsonObject:
    return {"id": text_at(part, "toolCallId"), "name": name, "input": given}


def _ui_result(part: JsonObject) -> JsonObject:
    match part.get("state"):
        case "output-available":
            return {"result": as_text(part.get("output"))}
        case "output-error":
            return {"result": text_at(part, "errorText")}
        case "output-denied":
            return {"result": text_at(object_at(part, "approval"), "reason") or _DENIED}
        case _:
            return {}


def _result(part: JsonObject) -> JsonObject:
    return {"role": "tool", "tool_call_id": text_at(part, "toolCallId"), "content": _result_content(part)}


def _result_content(part: JsonObject) -> Any:
    output = part.get("output")
    if not isinstance(output, dict) or "type" not in output:
        return as_text(part.get("result") if output is None else output)
    if output["type"] == "execution-denied":
        return text_at(output, "reason") or _DENIED
    if output["type"] != "content":
        return as_text(output.get("value"))
    return [_result_part(one) for one in objects_at(output, "value")]


def _result_part(part: JsonObject) -> JsonObject:
    kind = text_at(part, "type")
    if kind == "text":
        return {"type": "text", "text": text_at(part, "text")}
    media_type = text_at(part, "mediaType") or ("image/png" if kind.startswith("image") else "")
    data = text_at(part, "url") or text_at(part, "data")
    return media_part(data_url(data, media_type), media_type) if data else {"type": "text", "text": as_text(part)}
