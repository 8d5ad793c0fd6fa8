"""Calls and results of tools that are no plain functions, without their other half, sent to strict emulators."""

from __future__ import annotations

from typing import Any

import pytest
from tests.engine.test_awkward_conversations import HI, Wire, items, send

from dragoman.engine.exchange.steps import Answered
from dragoman.engine.library.adapt import adapt
from dragoman.engine.library.policy import Policy
from dragoman.errors import RepairRefused

RESPONSES = ("openai-responses/gpt-5.1", "azure-openai-responses/gpt-5")
ID: Wire = {"call_id": "call_1"}
PATCH: Wire = {"type": "apply_patch_call", **ID, "status": "completed"}
PATCH |= {"operation": {"type": "delete_file", "path": "lake.txt"}}
PATCHED: Wire = {"type": "apply_patch_call_output", **ID, "status": "completed", "output": "gone"}
SHELL: Wire = {"type": "shell_call", **ID, "status": "completed", "action": {"commands": ["cat lake.txt"]}}
RAN: Wire = {"stdout": "gone", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}
SHELLED: Wire = {"type": "shell_call_output", **ID, "output": [RAN]}
CLICK: Wire = {"type": "computer_call", **ID, "status": "completed", "pending_safety_checks": []}
CLICK |= {"action": {"type": "type", "text": "lake.txt"}}
SEEN: Wire = {"type": "computer_screenshot", "image_url": "data:image/png;base64,iVBORw0KGgo="}
CLICKED: Wire = {"type": "computer_call_output", **ID, "output": SEEN}
PAIRS = {"apply_patch": (PATCH, PATCHED), "shell": (SHELL, SHELLED), "computer": (CLICK, CLICKED)}
MADE = "[no result was recorded for this call]"


@pytest.mark.parametrize("target", RESPONSES)
@pytest.mark.parametrize("tool", PAIRS)
def test_a_call_without_its_result_is_one_of_a_function_that_has_one(tool: str, target: str) -> None:
    call, _ = PAIRS[tool]
    done = send("openai-responses", items(HI, call, HI, tools=[{"type": tool}]), target)
    assert isinstance(done.end, Answered)
    assert all(word in done.bodies[-1] for word in ('"function_call_output"', MADE, "lake.txt"))
    assert done.rules == ("client-tool",)


@pytest.mark.parametrize("target", RESPONSES)
@pytest.mark.parametrize("tool", PAIRS)
def test_a_result_without_its_call_is_a_turn_of_the_users(tool: str, target: str) -> None:
    _, result = PAIRS[tool]
    done = send("openai-responses", items(HI, result, HI, tools=[{"type": tool}]), target)
    assert isinstance(done.end, Answered)
    assert "[tool_result id=call_1]" in done.bodies[-1]
    assert done.rules == ("client-tool", "orphan-result")


ANSWERED = {
    **{tool: items(HI, *pair, tools=[{"type": tool}]) for tool, pair in PAIRS.items()},
    "by the output of a function": items(
        HI,
        {"type": "tool_search_call", **ID, "execution": "client", "status": "completed", "arguments": {}},
        {"type": "function_call_output", **ID, "output": "None."},
    ),
    "a shell by the id of its call, as the published type names it": items(
        HI,
        {"type": "local_shell_call", "id": "lsh_1", **ID, "status": "completed"}
        | {"action": {"type": "exec", "command": ["ls"], "env": {}}},
        {"type": "local_shell_call_output", "id": "call_1", "output": "a lake"},
    ),
    "a kind of which nothing is known": items(HI, {"type": "future_tool_call_output", **ID, "output": "a lake"}),
    "beside a reference": items(
        {"type": "item_reference", "id": "fc_1"},
        {"type": "function_call_output", **ID, "output": "a lake"},
        HI,
        {**SHELLED, "call_id": "call_2"},
    ),
}


@pytest.mark.parametrize("name", ANSWERED)
def test_what_is_answered_goes_as_it_is(name: str) -> None:
    body = {**ANSWERED[name], "model": "gpt-5.1"}
    done = adapt(body, target=RESPONSES[0], source="openai-responses")
    assert (done.json, done.changes) == (body, ())


def test_a_call_of_the_same_tool_keeps_its_form() -> None:
    other: dict[str, Any] = {"call_id": "call_2"}
    done = send("openai-responses", items(HI, SHELL, {**SHELL, **other}, {**SHELLED, **other}), RESPONSES[0])
    assert isinstance(done.end, Answered)
    assert done.bodies[-1].count('"shell_call"') == done.bodies[-1].count('"shell_call_output"') == 1


def test_the_result_of_an_unknown_kind_stays_beside_a_broken_pair() -> None:
    alone = {"type": "future_tool_call_output", "call_id": "call_2", "output": "a lake"}
    result = {"type": "function_call_output", **ID, "output": "a pond"}
    done = adapt(items(HI, alone, HI, result, HI), target=RESPONSES[0], source="openai-responses")
    assert done.json["input"][1] == alone
    assert [change.rule for change in done.changes] == ["orphan-result"]


def test_a_made_up_result_can_be_refused() -> None:
    with pytest.raises(RepairRefused, match="missing-result"):
        adapt(items(HI, SHELL, HI), target=RESPONSES[0], policy=Policy(synthetic=False))
