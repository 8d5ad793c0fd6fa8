"""Sessions of Codex: `~/.codex/sessions/YYYY/MM/DD/rollout-….jsonl`.

The format is `RolloutItemWire` in openai/codex, codex-rs/history/src/rollout_payload.rs, and its reading follows
codex-rs/core/src/session/rollout_reconstruction.rs (read at the commit of 2026-08-22):

- A line is `{"timestamp", "type", "payload"}`. `response_item` holds an item of the Responses API, `session_meta` the
  instructions, `turn_context` the model. `event_msg` is for the screen.
- `compacted` replaces what came before it by its `replacement_history`. Older files only have the summary, `message`:
  then the user's messages stay, and the summary follows them.
- The event `thread_rolled_back` takes back the last `num_turns` turns of the user.
- The first versions wrote bare items, after a line with `id`, `timestamp` and `instructions`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from dragoman.transcripts import transcript

_LINE_TYPES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state"})
_PRIVATE = frozenset({"internal_chat_message_metadata_passthrough", "metadata"})
_NEVER_SENT = frozenset({"ghost_snapshot", "other", "additional_tools"})
_OUTPUTS = ("function_call_output", "custom_tool_call_output", "local_shell_call_output", "tool_search_output")
_CONTEXT = ("<environment_context>", "<user_instructions>", "# AGENTS.md", "<turn_aborted>", "<permissions")
"""How messages begin that Codex adds in the user's name. They begin no turn."""


def fits_rollout(value: Any) -> bool:
    if not transcript.is_object(value):
        return False
    if transcript.text_at(value, "type") in _LINE_TYPES:
        return transcript.is_object(value.get("payload"))
    return "type" not in value and {"id", "timestamp", "instructions"} <= value.keys()


class _Session:
    """The state after each line."""

    def __init__(self) -> None:
        self.items: list[transcript.JsonObject] = []
        self.instructions = ""
        self.model = ""

    def meta(self, payload: transcript.JsonObject) -> None:
        found = transcript.text_at(transcript.object_at(payload, "base_instructions"), "text") or transcript.text_at(
            payload, "instructions"
        )
        self.instructions = found or self.instructions

    def context(self, payload: transcript.JsonObject) -> None:
        self.model = transcript.text_at(payload, "model") or self.model

    def item(self, payload: transcript.JsonObject) -> None:
        if transcript.text_at(payload, "type") not in _NEVER_SENT:
            self.items.append({key: value for key, value in payload.items() if key not in _PRIVATE})

    def compaction(self, payload: transcript.JsonObject) -> None:
        history = payload.get("replacement_history")
        kept = [item for item in self.items if item.get("role") == "user"]
        self.items = []
        for item in kept if history is None else transcript.objects_of(history):
            self.item(item)
        if history is None and transcript.text_at(payload, "message"):
            self.item(_user_message(transcript.text_at(payload, "message")))

    def event(self, payload: transcript.JsonObject) -> None:
        turns = payload.get("num_turns")
        if payload.get("type") == "thread_rolled_back" and isinstance(turns, int) and turns > 0:
            begins = [index for index, item in enumerate(self.items) if _begins_turn(item)]
            del self.items[begins[-min(turns, len(begins))] if begins else len(self.items) :]


_READERS: Mapping[str, Callable[[_Session, transcript.JsonObject], None]] = {
    "session_meta": _Session.meta,
    "turn_context": _Session.context,
    "response_item": _Session.item,
    "compacted": _Session.compaction,
    "event_msg": _Session.event,
}


def parse_rollout(records: Sequence[transcript.TranscriptRecord]) -> list[transcript.Transcript]:
    session = _Session()
    for record in records:
        if transcript.is_object(record.value):
            _read_line(session, record.value)
    items = session.items
    while len(items) > 1 and not _is_sent(items[-1]):
        items.pop()
    if not items:
        return []
    request: transcript.JsonObject = {"model": session.model, "input": items}
    if session.instructions:
        request["instructions"] = session.instructions
    if tools := list(_tools(items)):
        request["tools"] = tools
    return [transcript.Transcript(request)]


def _read_line(session: _Session, line: transcript.JsonObject) -> None:
    if "payload" in line:
        read = _READERS.get(transcript.text_at(line, "type"))
        if read is not None:
            read(session, transcript.object_at(line, "payload"))
    elif "type" in line:
        session.item(line)
    else:
        session.meta(line)


def _user_message(text: str) -> transcript.JsonObject:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def _begins_turn(item: transcript.JsonObject) -> bool:
    content = transcript.objects_of(item.get("content"))
    return item.get("role") == "user" and not (content and transcript.text_at(content[0], "text").startswith(_CONTEXT))


def _is_sent(item: transcript.JsonObject) -> bool:
    """Whether the agent wrote it, and not the model."""
    return item.get("type") in (*_OUTPUTS, "agent_message") or item.get("role") in ("user", "developer", "system")


def _tools(items: Iterable[transcript.JsonObject]) -> Iterable[transcript.JsonObject]:
    called = {(transcript.text_at(item, "type"), transcript.text_at(item, "name")): None for item in items}
    for kind, name in called:
        if kind == "function_call":
            yield {"type": "function", "name": name, "parameters": transcript.open_schema(), "strict": False}
        elif kind == "custom_tool_call":
            yield {"type": "custom", "name": name}
        elif kind in _BUILT_IN:
            yield {"type": _BUILT_IN[kind]}


_BUILT_IN = {
    "local_shell_call": "local_shell",
    "web_search_call": "web_search",
    "image_generation_call": "image_generation",
}
