"""Several answers of a target that gives one: an error, unless the driver asks for each of them, or one is enough."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dragoman import Policy, adapt
from dragoman.conversation.changes import Change
from dragoman.engine.compile.compiler import Options, compile_ask
from dragoman.engine.library.adapt import choose, read
from dragoman.errors import RepairRefused, Unrepresentable

HI = [{"role": "user", "content": "Hi"}]
CLAUDE = "anthropic/claude-sonnet-4-5"
ONE_EACH = (
    "deepseek/deepseek-chat",
    "groq/llama-3.3-70b-versatile",
    "gemini/gemini-3-flash-preview",
    "ollama-openai/llama3",
    "openai-responses/gpt-5",
    CLAUDE,
    "bedrock/amazon.nova-pro-v1:0",
    "cohere/command-a-03-2025",
    "ollama/llama3",
)
SEVERAL = (
    "openai/gpt-4o",
    "mistral/mistral-large-latest",
    "gemini/gemini-2.5-flash",
    "vertex/gemini-3-flash-preview",
    "openai-compatible/m",
)


def compiled(
    target: str, answer: int, rules: dict[str, Any] | None = None, **more: Any
) -> tuple[Any, tuple[Change, ...]]:
    """The body for one of several answers, and what was changed."""
    ask = read({"model": "m", "messages": HI, **more}, source="openai-chat")
    request = compile_ask(ask, choose(target, rules=rules or {}), Options(answer=answer))
    return msgspec.json.decode(request.body), request.changes


@pytest.mark.parametrize("target", ONE_EACH)
def test_the_library_refuses_what_one_request_cannot_get(target: str) -> None:
    with pytest.raises(Unrepresentable, match="gives one answer, and 3 are asked for") as refused:
        adapt({"model": "m", "messages": HI, "n": 3}, source="openai-chat", target=target)
    assert refused.value.at == "/n"


def test_the_place_of_the_error_is_that_of_the_client() -> None:
    asked = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], "generationConfig": {"candidateCount": 2}}
    with pytest.raises(Unrepresentable) as refused:
        adapt(asked, source="gemini", target=CLAUDE)
    assert refused.value.at == "/generationConfig/candidateCount"


@pytest.mark.parametrize("target", [*SEVERAL, *ONE_EACH])
@pytest.mark.parametrize("n", [None, 1])
def test_one_answer_is_nothing_to_repair(target: str, n: int | None) -> None:
    done = adapt({"model": "m", "messages": HI, "n": n}, source="openai-chat", target=target)
    assert "several-answers" not in {change.rule for change in done.changes}


@pytest.mark.parametrize("target", SEVERAL)
def test_a_target_that_gives_several_is_asked_once(target: str) -> None:
    done = adapt({"model": "m", "messages": HI, "n": 2}, source="openai-chat", target=target)
    assert b"2" in done.body
    assert "several-answers" not in {change.rule for change in done.changes}


@pytest.mark.parametrize("target", ONE_EACH)
def test_each_answer_is_asked_for_by_itself(target: str) -> None:
    body, changes = compiled(target, 1, n=3)
    assert "n" not in body
    assert [(one.at, one.did, one.loses) for one in changes if one.rule == "several-answers"] == [
        ("/n", "asked for answer 2 of 3 by itself", "nothing")
    ]


@pytest.mark.parametrize(("answer", "seed"), [(0, 7), (1, 8), (2, 9)])
def test_a_seed_is_counted_up(answer: int, seed: int) -> None:
    body, changes = compiled("ollama/llama3", answer, n=3, seed=7)
    assert body["options"]["seed"] == seed
    counted = [one.did for one in changes if one.at == "/seed"]
    assert counted == ([f"counted the seed up for answer {answer + 1}"] if answer else [])


def test_a_seed_that_the_target_does_not_have_is_left_out_and_not_counted_up() -> None:
    body, changes = compiled(CLAUDE, 1, n=2, seed=7)
    assert "seed" not in body
    assert [one.rule for one in changes if one.at == "/seed"] == ["refused-setting"]


def test_the_choices() -> None:
    asked = {"model": "m", "messages": HI, "n": 2}
    one = adapt(asked, source="openai-chat", target=CLAUDE, policy=Policy(rules={"several-answers": "one"}))
    assert [(change.rule, change.at, change.loses) for change in one.changes if change.at == "/n"] == [
        ("several-answers", "/n", "content")
    ]
    with pytest.raises(RepairRefused, match="several-answers"):
        compiled(CLAUDE, 0, {"several-answers": "fail"}, n=2)
    kept = adapt(asked, source="openai-chat", target=CLAUDE, policy=Policy(rules={"several-answers": "keep"}))
    assert [change.rule for change in kept.changes if change.at == "/n"] == ["refused-setting"]
