"""Calls that a client was asked about, on the turns after its answer: the model sees calls and results, as before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.gateway.running import Running
from tests.gateway.test_tool_rounds import FACT, SERVER, chat, running
from tests.gateway.upstream import Seen

DENIED = "[error] The user did not approve this call. Not now."
IGNORED = "[error] The user did not say whether this call may be made. It was not made."


def curious(seen: Seen) -> dict[str, Any]:
    """Wants to look up and to add once, and then talks."""
    if any(one["role"] == "tool" or "thanks" in str(one["content"]) for one in seen.body["messages"]):
        return chat("So it is.")
    return chat("Let me see.", ("docs__look_up", {"what": "bridge"}), ("docs__add", {"what": "note"}))


def answer_about(asking: dict[str, Any], approve: bool) -> dict[str, Any]:
    answer = {"type": "mcp_approval_response", "approval_request_id": asking["id"], "approve": approve}
    return answer if approve else {**answer, "reason": "Not now."}


def send(one: Running, items: list[Any], **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = one.post("/v1/responses", {"model": "m", "input": items, "tools": [SERVER], **more}).json()
    return found


def results(body: dict[str, Any]) -> list[str]:
    return [one["content"] for one in body["messages"] if one["role"] == "tool"]


@pytest.mark.parametrize("approve", [(True, False), (True, True), (False, False)])
@pytest.mark.parametrize("stored", [False, True])
def test_later_turns_have_the_calls_and_what_came_of_them(
    tmp_path: Path, approve: tuple[bool, bool], stored: bool
) -> None:
    with running(tmp_path, curious) as (one, _, seen):
        items: list[Any] = [{"role": "user", "content": "How long?"}]
        first = send(one, items)
        asking = [item for item in first["output"] if item["type"] == "mcp_approval_request"]
        answers = [answer_about(item, given) for item, given in zip(asking, approve, strict=True)]
        thanks = [{"role": "user", "content": "thanks"}]
        if stored:
            second = send(one, answers, previous_response_id=first["id"])
            send(one, thanks, previous_response_id=second["id"])
        else:
            second = send(one, items := [*items, *first["output"], *answers])
            send(one, [*items, *second["output"], *thanks])
    _, after_answers, later = [one.body for one in seen]
    assert results(later) == [FACT if given else DENIED for given in approve]
    assert later["messages"][: len(after_answers["messages"])] == after_answers["messages"]
    assert [one["role"] for one in later["messages"]] == ["user", "assistant", "tool", "tool", "assistant", "user"]
    assert "mcp_approval" not in str(later["messages"])


def test_a_question_without_an_answer_is_a_call_that_was_not_made(tmp_path: Path) -> None:
    with running(tmp_path, curious) as (one, runner, seen):
        first = send(one, [{"role": "user", "content": "How long?"}])
        send(one, [{"role": "user", "content": "Never mind, thanks."}], previous_response_id=first["id"])
    assert results(seen[1].body) == [IGNORED, IGNORED]
    assert runner.ran == []
