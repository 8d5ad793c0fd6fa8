"""sigrid: system message consolidation."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.acceptance.asking import CLAUDE, NATIVE, NEW_CLAUDE, OPENAI, STRICT, Wire, ask, says, sent
from tests.acceptance.through_gateway import served
from tests.gateway.asking import PLAIN
from tests.gateway.running import Running
from tests.gateway.upstream import upstream

from dragoman.cli import cli
from dragoman.config.load import load
from dragoman.errors import OptionError
from dragoman.gateway.config_names import collect_names

TWO = ask(says("system", "Say apple."), says("system", "Say banana."), says("user", "Go"))
JOINED = ["Say apple.\n\n---\n\nSay banana."]
APART = ["Say apple.", "Say banana."]

CHOICES: list[tuple[Any, list[str]]] = [
    (False, APART),
    ("separate", APART),
    (True, JOINED),
    ("join", JOINED),
    ("\n", ["Say apple.\nSay banana."]),
    ("", ["Say apple.Say banana."]),
    ({"join": "\n"}, ["Say apple.\nSay banana."]),
    ({"join": ""}, ["Say apple.Say banana."]),
    ({"join": "true"}, ["Say apple.trueSay banana."]),
    ("join:\\n", ["Say apple.\nSay banana."]),
]


def systems(messages: list[Wire]) -> list[str]:
    return [message["content"] for message in messages if message["role"] == "system"]


@pytest.mark.parametrize(("choice", "expected"), CHOICES)
def test_D1_consolidation(choice: Any, expected: list[str]) -> None:
    assert systems(sent(TWO, OPENAI, rules={"many-systems": choice}).json["messages"]) == expected


@pytest.mark.parametrize("target", [CLAUDE, NEW_CLAUDE, NATIVE, "bedrock/anthropic.claude-sonnet-4-5"])
def test_D1_one_field_holds_each_instruction_as_a_part_of_its_own(target: str) -> None:
    body = sent(TWO, target, rules={"many-systems": False}).json
    field = body.get("system") or body["systemInstruction"]["parts"]
    assert [part["text"] for part in field] == APART


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("choice", "expected"), CHOICES)
def test_D1_consolidation_in_the_gateway(tmp_path: Path, choice: Any, expected: list[str]) -> None:
    with served(tmp_path, rules={"many-systems": choice}) as (running, behind):
        assert running.post("/v1/chat/completions", TWO).status_code == 200
        assert systems(behind.seen[-1].body["messages"]) == expected


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("true", JOINED),
        ("false", APART),
        ("join", JOINED),
        ("join:, ", ["Say apple., Say banana."]),
        ("|", ["Say apple.|Say banana."]),
    ],
)
def test_D1_consolidation_on_the_command_line(choice: str, expected: list[str]) -> None:
    command = ["adapt", "-", "--to", OPENAI, "--rule", f"many-systems={choice}"]
    done = CliRunner().invoke(cli, command, input=json.dumps(TWO))
    assert systems(json.loads(done.stdout)["messages"]) == expected


def test_D1_a_word_that_is_no_option_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="separate"):
        sent(TWO, OPENAI, rules={"many-systems": "seperate"})
    file = tmp_path / "dragoman.yaml"
    file.write_text("rules: {many-systems: seperate}\n")
    with pytest.raises(Exception, match='Did you mean "separate"'):
        load(file, known=collect_names(), process={})


def test_D2_one_instruction_is_a_list_of_one() -> None:
    one = ask(says("system", "Say apple."), says("user", "Go"))
    assert sent(one, OPENAI, rules={"many-systems": "join"}).json["messages"] == one["messages"]


LISTS: list[Any] = [
    APART,
    [{"type": "input_text", "text": text} for text in APART],
    [{"role": "system", "content": text} for text in APART],
]


@pytest.mark.parametrize("instructions", LISTS)
def test_D2_a_list_of_instructions_is_kept_in_order(tmp_path: Path, instructions: list[Any]) -> None:
    asked = {"model": "m", "instructions": instructions, "input": "Go"}
    assert sent(asked, CLAUDE, source="openai-responses").json["system"] == "Say apple.\n\nSay banana."
    joined = sent(asked, CLAUDE, source="openai-responses", rules={"many-systems": True})
    assert joined.json["system"] == JOINED[0]
    with served(tmp_path, rules={"many-systems": True}) as (running, behind):
        assert running.post("/v1/responses", asked).status_code == 200
        assert systems(behind.seen[-1].body["messages"]) == JOINED


def test_D2_a_list_of_instructions_is_repaired_for_responses_itself() -> None:
    asked = {"model": "m", "instructions": APART, "input": "Go"}
    done = sent(asked, "openai-responses/gpt-5", source="openai-responses").json
    assert [done["instructions"], done["input"][0]["content"]] == APART


def test_D3_claude_gets_all_of_them() -> None:
    assert sent(TWO, CLAUDE).json["system"] == "Say apple.\n\nSay banana."


@pytest.mark.parametrize("profile", ["openai-compatible-strict", "openai-compatible-lenient"])
def test_D3_claude_behind_a_chat_gateway_gets_one_message(tmp_path: Path, profile: str) -> None:
    expected = ["Say apple.\n\nSay banana."]
    assert systems(sent(TWO, f"{profile}/claude-sonnet-4-5").json["messages"]) == expected
    assert systems(sent(TWO, f"{profile}/llama-4").json["messages"]) == APART
    models = {"m": {"target": "p/anthropic/claude-sonnet-4-5"}}
    with served(tmp_path, profile=profile, models=models) as (running, behind):
        running.post("/v1/chat/completions", TWO)
        assert systems(behind.seen[-1].body["messages"]) == expected


def test_D4_banana() -> None:
    assert sent(TWO, CLAUDE, rules={"many-systems": "join"}).json["system"] == JOINED[0]


def test_D5_the_environment_alone_is_a_gateway(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with upstream() as behind:
        named = {"LLM_GATEWAY_URL": behind.url, "LLM_GATEWAY_API_KEY": "k", "LLM_MODEL": "anthropic/best"}
        for name in list(os.environ):
            if name.endswith("_API_KEY"):
                monkeypatch.delenv(name)
        for name, value in {**named, "ANTHROPIC_API_KEY": "a"}.items():
            monkeypatch.setenv(name, value)
        running = Running({}, tmp_path).start()
        try:
            assert set(running.services.live.config.providers) == {"anthropic", "gateway"}
            for model in ({}, {"model": "anthropic/best"}, {"model": "gateway/anthropic/best"}):
                answered = running.post("/v1/chat/completions", {"messages": PLAIN, **model})
                assert answered.headers["x-dragoman-model"] == "gateway/anthropic/best"
                assert behind.seen[-1].body["model"] == "anthropic/best"
                assert behind.seen[-1].headers["authorization"] == "Bearer k"
            assert "anthropic/best" in running.get("/v1/models").text
        finally:
            running.stop()


@pytest.mark.parametrize("target", [STRICT, "lmstudio/qwen3.5", "ollama-openai/qwen3.5"])
def test_D7_one_message_by_default_and_apart_by_choice(target: str) -> None:
    apart = systems(sent(TWO, target, rules={"many-systems": "separate"}).json["messages"])
    assert apart == APART
    if target != "ollama-openai/qwen3.5":
        assert systems(sent(TWO, target).json["messages"]) == ["Say apple.\n\nSay banana."]
