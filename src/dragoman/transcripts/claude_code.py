"""Sessions of Claude Code: `~/.claude/projects/FOLDER/SESSION.jsonl`, and `agent-ID.jsonl` of its subagents.

There is no published schema. These facts are those that public parsers agree on (alicoding/claude-parser,
oneryalcin/agent-schemas for versions 2.0.76 and 2.1.1, sjafferali/claudelens; read 2026-11-16):

- Every line is an object with `type`. Lines of type `user` and `assistant` hold a `message` as the Messages API has it.
  Others (`system`, `summary`, `progress`, `file-history-snapshot`, `queue-operation`) were never sent.
- `uuid` and `parentUuid` make a tree: a user who goes back begins a new branch. A compaction begins at `null`.
- An answer stands on several lines, a content block on each, all with the same `message.id`. Results of parallel calls
  may stand between them.
- `isSidechain` marks a subagent's conversation, `agentId` names it. Answers of the model `<synthetic>`, and lines with
  `isApiErrorMessage` or `isVisibleInTranscriptOnly`, are messages to the user.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dragoman.transcripts.transcript import (
    LIMIT,
    JsonObject,
    Transcript,
    TranscriptRecord,
    is_object,
    object_at,
    objects_of,
    open_schema,
    text_at,
)

_SENT = ("user", "assistant")
_NEVER_SENT = ("isApiErrorMessage", "isVisibleInTranscriptOnly")
_SYNTHETIC = "<synthetic>"


def fits_session(value: Any) -> bool:
    return (
        is_object(value)
        and "parentUuid" in value
        and isinstance(value.get("uuid"), str)
        and isinstance(value.get("type"), str)
    )


def parse_session(records: Sequence[TranscriptRecord]) -> list[Transcript]:
    """The conversation of a session, and one for each subagent that wrote into the same file."""
    lines = [record.value for record in records if is_object(record.value)]
    parents = {text_at(line, "uuid"): text_at(line, "parentUuid") for line in lines}
    threads: dict[str, list[JsonObject]] = {}
    roots = _roots(lines)
    for line in lines:
        if _was_sent(line):
            threads.setdefault(_thread(line, roots), []).append(line)
    return [_transcript(label, _branch(thread, parents)) for label, thread in threads.items()]


def _was_sent(line: JsonObject) -> bool:
    if line.get("type") not in _SENT or any(line.get(mark) is True for mark in _NEVER_SENT):
        return False
    message = object_at(line, "message")
    return bool(message.get("content")) and message.get("model") != _SYNTHETIC


def _roots(lines: Iterable[JsonObject]) -> dict[str, str]:
    """The first line of each line's conversation. A parent stands before its children."""
    roots: dict[str, str] = {}
    for line in lines:
        roots[text_at(line, "uuid")] = roots.get(text_at(line, "parentUuid"), text_at(line, "uuid"))
    return roots


def _thread(line: JsonObject, roots: Mapping[str, str]) -> str:
    if line.get("isSidechain") is not True:
        return ""
    return f"agent {text_at(line, 'agentId') or roots[text_at(line, 'uuid')]}"


def _branch(thread: Sequence[JsonObject], parents: Mapping[str, str]) -> list[JsonObject]:
    """The lines on the way to the last one, with all blocks of their answers and all results of their calls."""
    way: set[str] = set()
    at = text_at(thread[-1], "uuid")
    while at and at not in way:
        way.add(at)
        at = parents.get(at, "")
    answers = {_message_id(line) for line in thread if text_at(line, "uuid") in way} - {""}
    mine = [line for line in thread if text_at(line, "uuid") in way or _message_id(line) in answers]
    calls = {text_at(block, "id") for line in mine for block in _blocks(line) if block.get("type") == "tool_use"}
    kept = {id(line) for line in mine}
    return [line for line in thread if id(line) in kept or _answers(line, calls)]


def _message_id(line: JsonObject) -> str:
    return text_at(object_at(line, "message"), "id") if line.get("type") == "assistant" else ""


def _answers(line: JsonObject, calls: set[str]) -> bool:
    results = [block for block in _blocks(line) if block.get("type") == "tool_result"]
    return bool(results) and all(text_at(block, "tool_use_id") in calls for block in results)


def _blocks(line: JsonObject) -> list[JsonObject]:
    content = object_at(line, "message").get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else objects_of(content)


def _transcript(label: str, lines: Sequence[JsonObject]) -> Transcript:
    turns = _turns(lines)
    while len(turns) > 1 and turns[-1]["role"] == "assistant":
        turns.pop()
    tools = {
        text_at(block, "name"): None for turn in turns for block in turn["content"] if block.get("type") == "tool_use"
    }
    models = [text_at(object_at(line, "message"), "model") for line in lines]
    request: JsonObject = {"model": next(filter(None, reversed(models)), ""), "max_tokens": LIMIT, "messages": turns}
    if tools:
        request["tools"] = [{"name": name, "input_schema": open_schema()} for name in tools]
    return Transcript(request, label=label)


def _turns(lines: Iterable[JsonObject]) -> list[JsonObject]:
    """The turns as they were sent: the blocks of one answer together, and what the user sent after it in one turn."""
    turns: list[JsonObject] = []
    answers: dict[str, JsonObject] = {}
    for line in lines:
        role, known = line["type"], answers.get(_message_id(line))
        if known is not None:
            known["content"] += _blocks(line)
        elif role == "user" and turns and turns[-1]["role"] == "user":
            turns[-1]["content"] += _blocks(line)
        else:
            turns.append({"role": role, "content": _blocks(line)})
            if _message_id(line):
                answers[_message_id(line)] = turns[-1]
    return turns
