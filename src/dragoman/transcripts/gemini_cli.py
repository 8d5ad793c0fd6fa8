"""Sessions and checkpoints of Gemini CLI: `chats/session-….json` or `.jsonl`, and `checkpoint-….json`.

The formats are those of google-gemini/gemini-cli (read at the commit of 2026-08-21):

- packages/core/src/services/chatRecordingTypes.ts: a session is an object with `sessionId`, `projectHash` and
  `messages`. As JSON Lines it begins with such an object; then each line is a message, `{"$set": …}` with a newer list
  of messages, or `{"$rewindTo": ID}`, which takes back that message and all after it. A later line with the same id
  replaces the message.
- packages/core/src/utils/sessionUtils.ts: how messages become `contents`. Notes (`info`, `error`, `warning`) and the
  user's commands (`/help`) were never sent. The content of newer files holds calls and thoughts; in older ones they
  stand beside it. Results of calls follow as a turn of the user.
- A checkpoint (`/chat save`) is a list of `contents`, or an object with such a list as `history`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dragoman.transcripts.transcript import (
    JsonObject,
    Transcript,
    TranscriptRecord,
    is_object,
    objects_at,
    objects_of,
    open_schema,
    text_at,
)

_COMMANDS = ("/", "?", "<session_context>", "<hook_context>")


def fits_session(value: Any) -> bool:
    return is_object(value) and isinstance(value.get("sessionId"), str) and isinstance(value.get("projectHash"), str)


def fits_checkpoint(value: Any) -> bool:
    """A list of contents, or an object with one."""
    turns = objects_of(value.get("history")) if is_object(value) else objects_of(value)
    return bool(turns) and all(turn.get("role") in ("user", "model") and _has_plain_parts(turn) for turn in turns)


def _has_plain_parts(turn: JsonObject) -> bool:
    """Parts of other SDKs say their type."""
    parts = turn.get("parts")
    return isinstance(parts, list) and all(is_object(part) and "type" not in part for part in parts)


def parse_session(records: Sequence[TranscriptRecord]) -> list[Transcript]:
    messages: dict[str, JsonObject] = {}
    for record in records:
        if is_object(record.value):
            messages = _after(messages, record.value)
    contents = [turn for message in messages.values() for turn in _turns(message)]
    return _transcripts(contents)


def parse_checkpoint(records: Sequence[TranscriptRecord]) -> list[Transcript]:
    found = []
    for record in records:
        turns = objects_at(record.value, "history") if is_object(record.value) else objects_of(record.value)
        found += _transcripts(turns)
    return found


def _after(messages: dict[str, JsonObject], line: JsonObject) -> dict[str, JsonObject]:
    """The messages after a line of the file."""
    if isinstance(line.get("$rewindTo"), str):
        ids = list(messages)
        kept = ids[: ids.index(line["$rewindTo"])] if line["$rewindTo"] in messages else []
        return {name: messages[name] for name in kept}
    if "id" in line:
        messages[text_at(line, "id")] = line
        return messages
    update = line["$set"] if is_object(line.get("$set")) else line
    if not isinstance(update.get("messages"), list):
        return messages
    return {text_at(message, "id"): message for message in objects_at(update, "messages")}


def _turns(message: JsonObject) -> list[JsonObject]:
    parts = _parts(message.get("content"))
    if message.get("type") == "user":
        text = "".join(text_at(part, "text") for part in parts).strip()
        has_media = any("text" not in part for part in parts)
        unsent = not parts or (not text and not has_media) or text.startswith(_COMMANDS)
        return [] if unsent else [{"role": "user", "parts": parts}]
    if message.get("type") != "gemini":
        return []
    calls = objects_at(message, "toolCalls")
    answer = parts if _is_whole(parts) else [*_thoughts(message), *parts, *map(_call, calls)]
    results = [part for call in calls for part in _result(call)]
    turns = [{"role": "model", "parts": answer}] if answer else []
    return [*turns, {"role": "user", "parts": results}] if turns and results else turns


def _parts(content: Any) -> list[JsonObject]:
    listed = content if isinstance(content, list) else [] if content is None else [content]
    texts = [{"text": part} if isinstance(part, str) else part for part in listed]
    return [part for part in texts if is_object(part) and part != {"text": ""}]


def _is_whole(parts: Iterable[JsonObject]) -> bool:
    return any("functionCall" in part or part.get("thought") for part in parts)


def _thoughts(message: JsonObject) -> list[JsonObject]:
    """The summaries of its thoughts, which older files keep beside the content."""
    thoughts = objects_at(message, "thoughts")
    texts = [
        f"**{text_at(one, 'subject')}** {text_at(one, 'description')}"
        if text_at(one, "subject")
        else text_at(one, "description")
        for one in thoughts
    ]
    return [{"text": text, "thought": True} for text in texts if text]


def _call(call: JsonObject) -> JsonObject:
    return {"functionCall": {"id": text_at(call, "id"), "name": text_at(call, "name"), "args": call.get("args") or {}}}


def _result(call: JsonObject) -> list[JsonObject]:
    result = call.get("result")
    if isinstance(result, str) and result:
        named = {"id": text_at(call, "id"), "name": text_at(call, "name"), "response": {"output": result}}
        return [{"functionResponse": named}]
    return _parts(result)


def _transcripts(contents: list[JsonObject]) -> list[Transcript]:
    while len(contents) > 1 and contents[-1].get("role") == "model":
        contents.pop()
    if not contents:
        return []
    calls = [part["functionCall"] for turn in contents for part in objects_at(turn, "parts") if "functionCall" in part]
    names = {text_at(call, "name"): None for call in calls if is_object(call)}
    request: JsonObject = {"contents": contents}
    if names:
        declared = [{"name": name, "parametersJsonSchema": open_schema()} for name in names]
        request["tools"] = [{"functionDeclarations": declared}]
    return [Transcript(request)]
