"""A Chat request from messages of a framework: the answer at its end left out, the tools that it called declared."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from dragoman.transcripts.transcript import JsonObject, Transcript, object_at, objects_at, open_schema, text_at


def chat_call(call_id: str, name: str, arguments: object) -> JsonObject:
    """A tool call of Chat, whose arguments are JSON text."""
    text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments or {}).decode()
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}


def chat_transcripts(messages: Sequence[JsonObject]) -> list[Transcript]:
    """The request that these messages are. None if there is no message."""
    kept = list(messages)
    while len(kept) > 1 and kept[-1].get("role") == "assistant":
        kept.pop()
    if not kept:
        return []
    calls = [call for message in kept for call in objects_at(message, "tool_calls")]
    names = {text_at(object_at(call, "function"), "name"): None for call in calls}
    request: JsonObject = {"messages": kept}
    if names:
        tools = [{"type": "function", "function": {"name": name, "parameters": open_schema()}} for name in names]
        request["tools"] = tools
    return [Transcript(request)]


def image_part(url: str) -> JsonObject:
    return {"type": "image_url", "image_url": {"url": url}}


def file_part(url: str, filename: str = "") -> JsonObject:
    return {"type": "file", "file": {**({"filename": filename} if filename else {}), "file_data": url}}


def media_part(url: str, media_type: str, filename: str = "") -> JsonObject:
    """A picture or another file. `url` may hold its data."""
    return image_part(url) if media_type.startswith("image/") else file_part(url, filename)


def data_url(data: str, media_type: str) -> str:
    """Data as a URL; a link stays one."""
    is_link = data.startswith(("http://", "https://", "data:"))
    return data if is_link else f"data:{media_type or 'application/octet-stream'};base64,{data}"
