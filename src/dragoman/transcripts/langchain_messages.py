"""Messages of LangChain and LangGraph, as their functions write them.

The forms are those of langchain-ai/langchain, libs/core/langchain_core (read 2026-11-16):

- messages/base.py, `message_to_dict`: `{"type": "human", "data": {…}}`.
- load/dump.py, `dumpd`: `{"lc": 1, "type": "constructor", "id": [… , "HumanMessage"], "kwargs": {…}}`.
- `model_dump()` of a message: `{"type": "human", "content": …}`.

A file is a list of them, or an object whose `messages` (of a LangGraph state: `values.messages`) is one. Calls stand in
`tool_calls` with `args`; blocks of a provider's own form that repeat them in `content` are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dragoman.transcripts.chat_request import chat_call, chat_transcripts, data_url, media_part
from dragoman.transcripts.transcript import (
    JsonObject,
    Transcript,
    TranscriptRecord,
    is_object,
    object_at,
    objects_at,
    objects_of,
    text_at,
)

_ROLES = {
    "human": "user",
    "HumanMessageChunk": "user",
    "ai": "assistant",
    "AIMessageChunk": "assistant",
    "system": "system",
    "SystemMessageChunk": "system",
    "developer": "developer",
    "tool": "tool",
    "ToolMessageChunk": "tool",
    "function": "function",
}
_CLASSES = {
    "HumanMessage": "human",
    "AIMessage": "ai",
    "SystemMessage": "system",
    "ToolMessage": "tool",
    "FunctionMessage": "function",
    "ChatMessage": "chat",
}
_CALL_BLOCKS = frozenset(
    {"tool_use", "tool_call", "tool_call_chunk", "function_call", "input_json_delta", "non_standard"}
)
_MEDIA_BLOCKS = frozenset({"image", "file", "audio", "video"})


def fits_dump(value: Any) -> bool:
    messages = _messages(value)
    return bool(messages) and all(_is_message(message) for message in messages)


def parse_dump(records: Sequence[TranscriptRecord]) -> list[Transcript]:
    found = []
    for record in records:
        messages = [_chat_message(_fields(message)) for message in _messages(record.value)]
        found += chat_transcripts([message for message in messages if message])
    return found


def _messages(value: Any) -> list[JsonObject]:
    if isinstance(value, list):
        return objects_of(value)
    if not is_object(value):
        return []
    inside = object_at(value, "values") or value
    return objects_at(inside, "messages")


def _is_message(message: JsonObject) -> bool:
    if message.get("lc") == 1:
        return isinstance(message.get("kwargs"), dict)
    kind = text_at(message, "type")
    known = kind in _ROLES or kind in ("chat", "remove")
    return known and (isinstance(message.get("data"), dict) or ("content" in message and "role" not in message))


def _fields(message: JsonObject) -> JsonObject:
    """The fields of a message in any of the three forms, with its type."""
    if message.get("lc") == 1:
        names = message.get("id")
        name = names[-1] if isinstance(names, list) and names else ""
        kind = _CLASSES.get(name, name) if isinstance(name, str) else ""
        return {"type": kind, **object_at(message, "kwargs")}
    data = object_at(message, "data")
    return {**data, "type": message.get("type")} if data else message


def _chat_message(fields: JsonObject) -> JsonObject:
    """The message in Chat's form; empty for one that only removes others."""
    kind = text_at(fields, "type")
    role = text_at(fields, "role") if kind == "chat" else _ROLES.get(kind, "")
    if not role:
        return {}
    blocks = fields.get("content")
    content = blocks if isinstance(blocks, str) else [_part(block) for block in _blocks(blocks)]
    message: JsonObject = {"role": role, "content": content}
    if role == "assistant":
        message |= _answer_fields(fields, blocks)
        message["content"] = content or (None if "tool_calls" in message else "")
    if role == "tool":
        message["tool_call_id"] = text_at(fields, "tool_call_id")
    if text_at(fields, "name") and role in ("user", "system", "function"):
        message["name"] = text_at(fields, "name")
    return message


def _blocks(content: Any) -> list[Any]:
    """The parts of a content that are no calls and no reasoning."""
    left_out = _CALL_BLOCKS | {"reasoning"}
    listed = content if isinstance(content, list) else []
    return [block for block in listed if not (is_object(block) and text_at(block, "type") in left_out)]


def _answer_fields(fields: JsonObject, blocks: Any) -> JsonObject:
    calls = [
        chat_call(text_at(call, "id"), text_at(call, "name"), call.get("args"))
        for name in ("tool_calls", "invalid_tool_calls")
        for call in objects_at(fields, name)
    ]
    thoughts = [text_at(block, "reasoning") for block in objects_of(blocks) if block.get("type") == "reasoning"]
    kept = text_at(object_at(fields, "additional_kwargs"), "reasoning_content") or "".join(thoughts)
    return {**({"tool_calls": calls} if calls else {}), **({"reasoning_content": kept} if kept else {})}


def _part(block: Any) -> Any:
    """A part in Chat's form. LangChain's own blocks for media name their data in several ways."""
    if isinstance(block, str):
        return {"type": "text", "text": block}
    if not is_object(block) or text_at(block, "type") not in _MEDIA_BLOCKS:
        return block
    data = text_at(block, "url") or text_at(block, "base64") or text_at(block, "data")
    media_type = text_at(block, "mime_type") or ("image/png" if block["type"] == "image" else "")
    return media_part(data_url(data, media_type), media_type, text_at(block, "filename")) if data else block
