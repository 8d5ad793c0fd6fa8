"""Sessions of Codex become the request that was sent last."""

from __future__ import annotations

from typing import Any

from dragoman.transcripts.codex import fits_rollout, parse_rollout
from dragoman.transcripts.transcript import TranscriptRecord

META = {"type": "session_meta", "payload": {"id": "s", "cwd": "/", "base_instructions": {"text": "Be brief."}}}
CONTEXT = {"type": "turn_context", "payload": {"model": "gpt-5.1-codex", "effort": "high"}}


def item(**payload: Any) -> dict[str, Any]:
    return {"timestamp": "t", "type": "response_item", "payload": payload}


def message(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return item(type="message", role=role, content=[{"type": kind, "text": text}])


def event(**payload: Any) -> dict[str, Any]:
    return {"type": "event_msg", "payload": payload}


def request(*lines: Any) -> dict[str, Any]:
    [found] = parse_rollout([TranscriptRecord(one, number) for number, one in enumerate(lines, 1)])
    return found.request


def texts(found: dict[str, Any]) -> list[str]:
    return [one["content"][0]["text"] for one in found["input"] if one.get("type") == "message"]


def test_items_instructions_model_and_tools() -> None:
    found = request(
        META,
        CONTEXT,
        message("user", "Run it"),
        event(type="user_message", message="Run it"),
        item(
            type="reasoning", summary=[], encrypted_content="abc", internal_chat_message_metadata_passthrough={"x": 1}
        ),
        item(type="function_call", name="shell", arguments="{}", call_id="c1"),
        item(type="custom_tool_call", name="apply_patch", input="*** Begin", call_id="c2"),
        item(type="ghost_snapshot", ghost_commit={}),
        item(type="function_call_output", call_id="c1", output="ok"),
        item(type="custom_tool_call_output", call_id="c2", output="done"),
        message("assistant", "Done."),
    )
    assert (found["model"], found["instructions"]) == ("gpt-5.1-codex", "Be brief.")
    kinds = [one["type"] for one in found["input"]]
    assert kinds == [
        "message",
        "reasoning",
        "function_call",
        "custom_tool_call",
        "function_call_output",
        "custom_tool_call_output",
    ]
    assert "internal_chat_message_metadata_passthrough" not in found["input"][1]
    assert [(tool["type"], tool["name"]) for tool in found["tools"]] == [
        ("function", "shell"),
        ("custom", "apply_patch"),
    ]


def test_the_task_of_another_agent_is_sent() -> None:
    task = {"type": "agent_message", "author": "/root", "recipient": "/root/a", "content": []}
    assert request(META, CONTEXT, item(**task), message("assistant", "Done."))["input"] == [task]


def test_a_compaction_replaces_what_was_before() -> None:
    replaced = {"message": "", "replacement_history": [message("user", "Summary")["payload"]]}
    new = request(message("user", "Old"), {"type": "compacted", "payload": replaced}, message("user", "New"))
    assert texts(new) == ["Summary", "New"]
    older = {"type": "compacted", "payload": {"message": "It was about ships."}}
    old = request(message("user", "Ships?"), message("assistant", "Yes"), older, message("user", "New"))
    assert texts(old) == ["Ships?", "It was about ships.", "New"]


def test_turns_that_were_taken_back() -> None:
    lines = [
        message("user", "One"),
        message("assistant", "1"),
        message("user", "<environment_context>"),
        message("user", "Two"),
        message("assistant", "2"),
        event(type="thread_rolled_back", num_turns=1),
        message("user", "Three"),
    ]
    assert texts(request(*lines)) == ["One", "1", "<environment_context>", "Three"]


def test_the_first_versions_wrote_bare_items() -> None:
    first = {"id": "s", "timestamp": "t", "instructions": "Be brief."}
    found = request(first, {"record_type": "state"}, message("user", "Hi")["payload"])
    assert (texts(found), found["instructions"]) == (["Hi"], "Be brief.")


def test_recognition() -> None:
    assert all(
        map(fits_rollout, (META, CONTEXT, message("user", "Hi"), {"id": "", "timestamp": "", "instructions": None}))
    )
    assert not any(map(fits_rollout, ({"type": "message", "role": "user"}, {"type": "response_item"}, [], None)))
    assert parse_rollout([TranscriptRecord(META)]) == []
