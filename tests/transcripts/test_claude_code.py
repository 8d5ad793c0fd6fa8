"""Sessions of Claude Code become the request that was sent last."""

from __future__ import annotations

from typing import Any

from dragoman.transcripts.claude_code import fits_session, parse_session
from dragoman.transcripts.transcript import TranscriptRecord

TEXT, CALL, RESULT = "text", "tool_use", "tool_result"


def line(uuid: str, parent: str | None, role: str, content: Any, **more: Any) -> dict[str, Any]:
    message = {"role": role, "content": content, **more.pop("message", {})}
    return {"uuid": uuid, "parentUuid": parent, "sessionId": "s", "type": role, "message": message, **more}


def block(kind: str, answer: str, **fields: Any) -> dict[str, Any]:
    return {"content": [{"type": kind, **fields}], "message": {"id": answer, "model": "claude-sonnet-4-5"}}


def parse(*lines: Any) -> list[Any]:
    return parse_session([TranscriptRecord(one, number) for number, one in enumerate(lines, 1)])


HEAD = ({"type": "summary", "summary": "s", "leafUuid": "x"}, {"type": "file-history-snapshot", "messageId": "m"})
PARALLEL = (
    *HEAD,
    line("1", None, "user", "Compare the two"),
    line("2", "1", "assistant", **block("thinking", "m1", thinking="Hm", signature="c2ln")),
    line("3", "2", "assistant", **block(CALL, "m1", id="a", name="Read", input={"path": "a"})),
    line("4", "3", "user", [{"type": RESULT, "tool_use_id": "a", "content": "A"}]),
    line("5", "3", "assistant", **block(CALL, "m1", id="b", name="Read", input={"path": "b"})),
    line("6", "5", "user", [{"type": RESULT, "tool_use_id": "b", "content": "B"}]),
    line("7", "6", "assistant", **block(TEXT, "m2", text="They differ.")),
)


def test_the_blocks_of_an_answer_stand_together_and_the_last_answer_is_left_out() -> None:
    [found] = parse(*PARALLEL)
    assert [turn["role"] for turn in found.request["messages"]] == ["user", "assistant", "user"]
    _, answer, results = found.request["messages"]
    assert [one["type"] for one in answer["content"]] == ["thinking", CALL, CALL]
    assert [one["tool_use_id"] for one in results["content"]] == ["a", "b"]
    assert found.request["model"] == "claude-sonnet-4-5"
    assert [tool["name"] for tool in found.request["tools"]] == ["Read"]


def test_a_branch_that_the_user_left_is_not_part_of_it() -> None:
    [found] = parse(
        line("1", None, "user", "One"),
        line("2", "1", "assistant", **block(TEXT, "m1", text="1")),
        line("3", "2", "user", "Wrong"),
        line("4", "3", "assistant", **block(TEXT, "m2", text="?")),
        line("5", "2", "user", "Two"),
    )
    texts = [one["text"] for turn in found.request["messages"] for one in turn["content"]]
    assert texts == ["One", "1", "Two"]


def test_a_compaction_begins_anew() -> None:
    [found] = parse(
        line("1", None, "user", "Old"),
        line("2", None, "user", "Summary of before", isCompactSummary=True, logicalParentUuid="1"),
        line("3", "2", "user", "Go on"),
    )
    [turn] = found.request["messages"]
    assert [one["text"] for one in turn["content"]] == ["Summary of before", "Go on"]


def test_subagents_have_conversations_of_their_own() -> None:
    found = parse(
        line("1", None, "user", "Main"),
        line("a", None, "user", "Look it up", isSidechain=True, agentId="9f"),
        line("b", None, "user", "And this", isSidechain=True),
        line("c", "b", "assistant", isSidechain=True, **block(TEXT, "m3", text="Yes")),
        line("2", "1", "user", "More"),
    )
    assert [one.label for one in found] == ["", "agent 9f", "agent b"]


def test_what_was_never_sent_is_left_out() -> None:
    [found] = parse(
        line("1", None, "user", "Hi"),
        line("2", "1", "assistant", "API Error: 529", isApiErrorMessage=True),
        line("3", "2", "assistant", [{"type": TEXT, "text": "No response"}], message={"model": "<synthetic>"}),
        line("4", "3", "user", "shown only", isVisibleInTranscriptOnly=True),
        {"uuid": "5", "parentUuid": "4", "type": "system", "content": "hook ran"},
        line("6", "5", "user", "Again"),
    )
    assert [one["text"] for one in found.request["messages"][0]["content"]] == ["Hi", "Again"]


def test_recognition() -> None:
    assert fits_session(line("1", None, "user", "Hi"))
    assert not any(map(fits_session, HEAD))
    assert not fits_session({"type": "message", "role": "user", "content": "Hi"})
