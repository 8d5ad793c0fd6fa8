"""What a target takes and leaves out of the prompt: sent as it is, reported for every request that has it."""

from __future__ import annotations

from typing import Any

import pytest
from click.testing import CliRunner

from dragoman.cli.commands.compile.explain import explain as explain_command
from dragoman.engine.library.adapt import adapt
from dragoman.engine.library.explain import explain
from dragoman.engine.library.lint import lint
from dragoman.engine.library.policy import Policy
from dragoman.errors import RepairRefused
from dragoman.profiles.profile import Layer, Profiles

TARGET = "openai-compatible-lenient/m"
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {"name": "f", "parameters": {"type": "object", "properties": {}}},
}
CALL = {"id": "callid001", "type": "function", "function": {"name": "f", "arguments": "{}"}}
HI: dict[str, Any] = {"role": "user", "content": "Hi"}
IMAGE = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}


def profiles(*drops: str) -> Profiles:
    return Profiles(layers=(Layer("test", {"drops": list(drops)}),))


def body(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [HI, *messages], **more}


THOUGHT = {"role": "assistant", "content": "Hello.", "reasoning_content": "Hm."}
CASES: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "tools": ("tools", body(tools=[TOOL]), "/tools", "content"),
    "tools alone": ("tools-without-system", body(tools=[TOOL]), "/tools", "content"),
    "descriptions": (
        "tool-descriptions",
        body(tools=[TOOL, {"type": "function", "function": {**TOOL["function"], "name": "g", "description": "It."}}]),
        "/tools/1",
        "metadata",
    ),
    "system": (
        "system",
        {"model": "m", "messages": [{"role": "system", "content": "Be brief."}, HI]},
        "/messages/0",
        "content",
    ),
    "calls": (
        "calls",
        body(
            {"role": "assistant", "tool_calls": [CALL]}, {"role": "tool", "tool_call_id": "callid001", "content": "1"}
        ),
        "/messages/1/tool_calls/0",
        "content",
    ),
    "results": (
        "results",
        body(
            {"role": "assistant", "tool_calls": [CALL]}, {"role": "tool", "tool_call_id": "callid001", "content": "1"}
        ),
        "/messages/2",
        "content",
    ),
    "reasoning": ("reasoning", body(THOUGHT, HI), "/messages/1/reasoning_content", "metadata"),
    "media": ("media", body({"role": "user", "content": [IMAGE]}), "/messages/1/content/0", "content"),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_sent_and_reported(name: str) -> None:
    kind, asked, at, loses = CASES[name]
    known = profiles(kind)
    done = adapt(asked, target=TARGET, profiles=known)
    assert done.json == asked
    (change,) = done.changes
    assert (change.rule, change.at, change.loses, change.kind) == ("unseen-content", at, loses, "repair")
    assert change.did.startswith("the target leaves ")
    assert change.did.endswith(" out of the prompt: the model does not see them")
    assert adapt(asked, target=TARGET).changes == ()
    (finding,) = lint(asked, targets=TARGET, profiles=known)
    assert (finding.rule, finding.at, finding.loses, str(finding.severity)) == ("unseen-content", at, loses, "warning")


def test_a_request_without_it_has_no_entry() -> None:
    known = profiles("tools", "tool-descriptions", "system", "calls", "results", "reasoning", "media", "dreams")
    assert adapt(body(), target=TARGET, profiles=known).changes == ()
    system = {"model": "m", "messages": [{"role": "system", "content": "Be brief."}, HI], "tools": [TOOL]}
    assert adapt(system, target=TARGET, profiles=profiles("tools-without-system")).changes == ()


def test_a_caller_may_refuse_the_loss() -> None:
    with pytest.raises(RepairRefused, match=r"unseen-content .* loses content"):
        adapt(body(tools=[TOOL]), target=TARGET, profiles=profiles("tools"), policy=Policy(max_loss="authority"))
    assert adapt(
        body(THOUGHT, HI), target=TARGET, profiles=profiles("reasoning"), policy=Policy(max_loss="metadata")
    ).changes


def test_explain_says_it(tmp_path: Any) -> None:
    known = profiles("tools")
    found = [one for one in explain(TARGET, profiles=known) if one.rule == "unseen-content"]
    assert [(one.group, one.loses, one.because[0].value) for one in found] == [("prompt", "content", ("tools",))]
    assert not any(one.rule == "unseen-content" for one in explain(TARGET))
    file = tmp_path / "profiles.toml"
    file.write_text('[mine]\nlike = "openai-compatible-lenient"\n[mine.facts]\ndrops = ["tools"]\n')
    shown = CliRunner().invoke(explain_command, ["mine/m", "--profiles", str(file)]).output
    assert "It leaves these out of the prompt. They are sent, and the report of each request says so:" in shown
    assert "unseen-content" in shown
