"""Sessions and checkpoints of Gemini CLI."""

from __future__ import annotations

from typing import Any

from dragoman.transcripts.gemini_cli import fits_checkpoint, fits_session, parse_checkpoint, parse_session
from dragoman.transcripts.transcript import TranscriptRecord

HEAD = {"sessionId": "s", "projectHash": "p", "startTime": "t", "lastUpdated": "t"}


def user(number: str, content: Any) -> dict[str, Any]:
    return {"id": number, "type": "user", "content": content}


def contents(*lines: Any) -> list[Any]:
    [found] = parse_session([TranscriptRecord(one, number) for number, one in enumerate(lines, 1)])
    return list(found.request["contents"])


OLD_CALLS = {
    "id": "2",
    "type": "gemini",
    "content": "Looking.",
    "thoughts": [{"subject": "Plan", "description": "look", "timestamp": "t"}],
    "toolCalls": [
        {"id": "a", "name": "ls", "args": {"dir": "."}, "result": "x.py", "status": "success"},
        {
            "id": "b",
            "name": "cat",
            "args": {},
            "result": [{"functionResponse": {"id": "b", "name": "cat", "response": {}}}],
        },
    ],
    "model": "gemini-3-pro",
}


def test_an_older_file_keeps_calls_beside_the_content() -> None:
    _, answer, results = contents({**HEAD, "messages": [user("1", "Hi"), OLD_CALLS, user("3", "/quit")]})
    assert [next(iter(part)) for part in answer["parts"]] == ["text", "text", "functionCall", "functionCall"]
    assert answer["parts"][0] == {"text": "**Plan** look", "thought": True}
    assert [part["functionResponse"]["id"] for part in results["parts"]] == ["a", "b"]


def test_a_newer_file_keeps_them_in_the_content() -> None:
    call = {"functionCall": {"id": "a", "name": "ls", "args": {}}, "thoughtSignature": "c2ln"}
    message = {**OLD_CALLS, "content": [call], "toolCalls": OLD_CALLS["toolCalls"][:1]}  # type: ignore[index]
    _, answer, _ = contents(HEAD, user("1", [{"text": "Hi"}]), message)
    assert answer["parts"] == [call]


def test_lines_change_what_came_before() -> None:
    lines = [
        HEAD,
        user("1", "One"),
        {"id": "n", "type": "info", "content": "a note"},
        user("2", "Two"),
        user("2", "Two, newer"),
        {"$set": {"summary": "s"}},
        user("3", "Three"),
        {"$rewindTo": "3"},
    ]
    assert [turn["parts"][0]["text"] for turn in contents(*lines)] == ["One", "Two, newer"]
    again = contents(*lines, {"$set": {"messages": [user("9", "Only")]}})
    assert [turn["parts"][0]["text"] for turn in again] == ["Only"]


def test_checkpoints() -> None:
    turns = [{"role": "user", "parts": [{"text": "Hi"}]}, {"role": "model", "parts": [{"text": "Hello"}]}]
    for value in (turns, {"history": turns, "authType": "x"}):
        assert fits_checkpoint(value)
        [found] = parse_checkpoint([TranscriptRecord(value)])
        assert found.request == {"contents": turns[:1]}


def test_recognition() -> None:
    assert fits_session({**HEAD, "messages": []})
    assert not fits_session({"sessionId": "s"})
    assert not fits_checkpoint({"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]})
    assert not fits_checkpoint([{"role": "user", "parts": [{"type": "text", "text": "Hi"}]}])
