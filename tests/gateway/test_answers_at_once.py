"""`n` answers are n answers: a target that gives one is asked n times at once, and the client gets them as one."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import openai
import pytest
from google.genai import types
from tests.gateway.asking import PATHS, PLAIN, body
from tests.gateway.running import QUICK, Running, ask_and_leave, gateway, provider, wait_for
from tests.gateway.upstream import Answer, Seen, refusal, upstream

from dragoman.testing import emulator

CHAT = PATHS["openai-chat"]
EMULATED = {
    "claude": "anthropic/claude-sonnet-4-5",
    "nova": "bedrock/amazon.nova-pro-v1:0",
    "command": "cohere/command-a-03-2025",
    "llama": "ollama/llama3",
    "five": "openai-responses/gpt-5",
    "deepseek": "deepseek/deepseek-chat",
    "groq": "groq/llama-3.3-70b-versatile",
    "gemini-3": "gemini/gemini-3-flash-preview",
    "old-llama": "ollama-openai/llama3",
}
ANSWER = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [{"type": "text", "text": "Good."}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 100, "output_tokens": 20},
}
PRICE = {"input": 1000, "output": 2000}
COST = 0.14
"""Of one answer: 100 x 1000 + 20 x 2000, by a million."""


@pytest.fixture(scope="module")
def emulated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with ExitStack() as stack:
        made = {
            name.partition("/")[0]: stack.enter_context(emulator(name.partition("/")[0])) for name in EMULATED.values()
        }
        providers = {name: provider(name, one.base_url) for name, one in made.items()}
        models = {alias: {"target": target} for alias, target in EMULATED.items()}
        yield stack.enter_context(
            gateway({"providers": providers, "models": models}, tmp_path_factory.mktemp("several"))
        )


@pytest.mark.parametrize("model", EMULATED)
def test_the_sdk_gets_a_whole_answer_with_all_choices(emulated: Running, model: str) -> None:
    one = emulated.openai().chat.completions.create(model=model, messages=PLAIN)
    asked = emulated.openai().chat.completions.with_raw_response.create(model=model, messages=PLAIN, n=3)
    answer = asked.parse()
    assert [choice.index for choice in answer.choices] == [0, 1, 2]
    assert {choice.message.content for choice in answer.choices} == {one.choices[0].message.content}
    assert {choice.finish_reason for choice in answer.choices} == {"stop"}
    assert answer.usage is not None
    assert one.usage is not None
    assert answer.usage.completion_tokens == 3 * one.usage.completion_tokens
    assert answer.usage.prompt_tokens == 3 * one.usage.prompt_tokens
    assert "refused-setting" not in asked.headers.get("x-dragoman-changes", "")


@pytest.mark.parametrize("model", EMULATED)
def test_the_sdk_gets_a_stream_of_all_choices(emulated: Running, model: str) -> None:
    one = emulated.openai().chat.completions.create(model=model, messages=PLAIN)
    texts, stops, usages = Counter[int](), Counter[tuple[int, str]](), []
    said: dict[int, str] = {}
    chunks = emulated.openai().chat.completions.create(
        model=model, messages=PLAIN, n=3, stream=True, stream_options={"include_usage": True}
    )
    for chunk in chunks:
        usages += [chunk.usage] if chunk.usage is not None else []
        for choice in chunk.choices:
            said[choice.index] = said.get(choice.index, "") + (choice.delta.content or "")
            texts[choice.index] += 1
            if choice.finish_reason is not None:
                stops[choice.index, choice.finish_reason] += 1
    assert said == dict.fromkeys(range(3), one.choices[0].message.content)
    assert stops == {(0, "stop"): 1, (1, "stop"): 1, (2, "stop"): 1}
    assert [usage.completion_tokens for usage in usages] == [3 * one.usage.completion_tokens]  # type: ignore[union-attr]


@pytest.mark.parametrize("stream", [False, True])
def test_a_gemini_client_gets_its_candidates(emulated: Running, stream: bool) -> None:
    wanted = types.GenerateContentConfig(candidate_count=2)
    client = emulated.gemini().models
    if stream:
        chunks = list(client.generate_content_stream(model="claude", contents="Hi", config=wanted))
    else:
        chunks = [client.generate_content(model="claude", contents="Hi", config=wanted)]
    said: dict[int, str] = {}
    for candidate in [candidate for chunk in chunks for candidate in chunk.candidates or ()]:
        parts = candidate.content.parts if candidate.content is not None else None
        index = candidate.index or 0
        said[index] = said.get(index, "") + "".join(part.text or "" for part in parts or ())
    assert sorted(said) == [0, 1]
    assert said[0] == said[1] != ""


def test_old_completions_have_them_too(emulated: Running) -> None:
    answer = emulated.openai().completions.create(model="claude", prompt="Hi", n=2)
    assert [choice.index for choice in answer.choices] == [0, 1]
    assert answer.choices[0].text == answer.choices[1].text != ""


@contextmanager
def claude(folder: Path, answer: Callable[[Seen], Answer | None], **more: Any) -> Iterator[tuple[Running, list[Seen]]]:
    """A gateway before one target that gives one answer, and what that target was sent."""
    models = {"m": {"target": "p/claude-sonnet-4-5", "price": PRICE, **more.pop("model", {})}}
    with upstream(lambda seen: answer(seen) or (200, ANSWER)) as behind:
        providers = {"p": provider("anthropic", behind.url.removesuffix("/v1"))}
        with gateway({"providers": providers, "models": models, **more}, folder) as running:
            yield running, behind.seen


def failing(*numbers: int, status: int = 529) -> Callable[[Seen], Answer | None]:
    """Fails these requests, counted from 1 as they come."""
    lock, seen = threading.Lock(), Counter[str]()

    def answer(request: Seen) -> Answer | None:
        with lock:
            seen["all"] += 1
            return (status, refusal("Overloaded", type="overloaded_error")) if seen["all"] in numbers else None

    return answer


def rows(running: Running, answer: Any) -> list[Any]:
    """What the ledger has of a request: a row for each answer."""
    running.entry(answer)
    return [
        entry
        for entry in running.services.records.recent._entries
        if entry.id.startswith(answer.headers["x-dragoman-request-id"])
    ]


def test_one_that_fails_is_asked_for_again_alone(tmp_path: Path) -> None:
    with claude(tmp_path, failing(1, 3)) as (running, seen):
        answer = running.post(CHAT, body("openai-chat", "m", n=4))
        assert answer.status_code == 200
        assert len(answer.json()["choices"]) == 4
        assert len(seen) == 6
        assert all("n" not in one.body for one in seen)
        booked = rows(running, answer)
        assert (len(booked), sum(entry.attempts for entry in booked)) == (4, 6)
        assert {(entry.input_tokens, entry.output_tokens, round(entry.cost, 6)) for entry in booked} == {
            (100, 20, COST)
        }


@pytest.mark.parametrize("stream", [False, True])
def test_one_that_cannot_be_had_fails_the_request(tmp_path: Path, stream: bool) -> None:
    def answer(seen: Seen) -> Answer | None:
        return 401, refusal("invalid x-api-key", type="authentication_error")

    with claude(tmp_path, answer) as (running, _):
        refused = running.post(CHAT, body("openai-chat", "m", n=3, stream=stream))
        assert refused.status_code == 401
        assert "invalid x-api-key" in refused.text
        wait_for(lambda: running.busy() == (0, 0))
        assert running.tasks() <= 6


def test_more_than_eight_are_a_bad_request(tmp_path: Path) -> None:
    with claude(tmp_path, lambda seen: None) as (running, seen):
        with pytest.raises(openai.BadRequestError, match="asked for at most 8"):
            running.openai().chat.completions.create(model="m", messages=PLAIN, n=9)
        assert seen == []


def test_it_can_be_configured_to_refuse(tmp_path: Path) -> None:
    with claude(tmp_path, lambda seen: None, rules={"several-answers": "fail"}) as (running, seen):
        refused = running.post(CHAT, body("openai-chat", "m", n=2))
        assert refused.status_code == 422
        assert "several-answers" in refused.text
        assert seen == []


def key(name: str, **more: Any) -> dict[str, Any]:
    return {name: {"sha256": sha256(name.encode()).hexdigest(), **more}}


def test_limits_and_budgets_count_every_answer_before_the_first_is_sent(tmp_path: Path) -> None:
    keys = {
        **key("calls", requests_per_minute=3),
        **key("words", tokens_per_minute=300),
        **key("money", budget={"day": 0.3}),
        **key("estimate", budget={"day": 0.02}),
        **key("places", concurrent=2),
        **key("rich", requests_per_minute=4, tokens_per_minute=10_000, budget={"day": 10}, concurrent=4),
    }
    with claude(tmp_path, lambda seen: None, keys=keys) as (running, seen):

        def ask(name: str, n: int) -> int:
            return running.post(CHAT, body("openai-chat", "m", n=n), name).status_code

        assert ask("rich", 4) == 200
        assert ask("rich", 1) == 429  # four of four requests
        sent = len(seen)
        assert [ask("calls", 4), ask("places", 3), ask("estimate", 8)] == [429, 429, 429]
        assert len(seen) == sent  # nothing was sent for any of them
        assert [ask("words", 3), ask("words", 1)] == [200, 429]  # 360 tokens were used
        assert [ask("money", 3), ask("money", 1)] == [200, 429]  # and 0.42
        assert ask("places", 2) == 200
        assert running.busy() == (0, 0)


def test_the_limits_of_a_model_count_every_answer(tmp_path: Path) -> None:
    limits = {"model": {"rate_limits": {"requests_per_minute": 3, "when_full": "refuse"}}}
    with claude(tmp_path, lambda seen: None, **limits) as (running, seen):
        assert running.post(CHAT, body("openai-chat", "m", n=4)).status_code == 429
        assert seen == []


def test_a_client_that_leaves_ends_all_of_them(tmp_path: Path) -> None:
    waits = threading.Event()

    def answer(seen: Seen) -> Answer | None:
        waits.wait(60)
        return None

    with claude(tmp_path, answer) as (running, seen):
        ask_and_leave(running, CHAT, body("openai-chat", "m", n=3), lambda: len(seen) == 3)
        wait_for(lambda: running.busy() == (0, 0))
        waits.set()
        wait_for(lambda: len(running.services.records.recent._entries) == 3)
        assert {entry.status for entry in running.services.records.recent._entries} == {499}


def event(kind: str, **more: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n".encode()


BEGIN = event("message_start", message={**ANSWER, "content": [], "stop_reason": None})
TEXT = event("content_block_start", index=0, content_block={"type": "text", "text": ""}) + event(
    "content_block_delta", index=0, delta={"type": "text_delta", "text": "Good."}
)
END = (
    event("content_block_stop", index=0)
    + event("message_delta", delta={"stop_reason": "end_turn", "stop_sequence": None}, usage={"output_tokens": 20})
    + event("message_stop")
)
ERROR = event("error", error={"type": "overloaded_error", "message": "Overloaded"})


def streams(*answers: tuple[bytes, ...]) -> Callable[[Seen], Answer | None]:
    """These streams, one after the other as requests come."""
    lock, left = threading.Lock(), list(answers)

    def answer(seen: Seen) -> Answer:
        with lock:
            return 200, left.pop(0)

    return answer


def test_a_stream_that_fails_before_its_first_word_is_asked_for_again(tmp_path: Path) -> None:
    good = (BEGIN + TEXT, END)
    with claude(tmp_path, streams(good, (BEGIN + ERROR,), good)) as (running, seen):
        told = running.post(CHAT, body("openai-chat", "m", n=2, stream=True))
        assert told.text.count('"content":"Good."') == 2
        assert told.text.endswith("data: [DONE]\n\n")
        assert "Overloaded" not in told.text
        assert len(seen) == 3


def test_a_stream_that_fails_after_its_first_word_ends_all(tmp_path: Path) -> None:
    with claude(tmp_path, streams((BEGIN + TEXT, END), (BEGIN + TEXT, ERROR))) as (running, seen):
        told = running.post(CHAT, body("openai-chat", "m", n=2, stream=True))
        assert told.text.count('data: {"error":') == 1
        assert told.text.rindex('"choices"') < told.text.index('data: {"error":')
        assert len(seen) == 2
        wait_for(lambda: running.busy() == (0, 0))
        assert {entry.error_kind for entry in rows(running, told)} == {"overloaded"}


def test_a_target_that_turns_out_to_give_one_answer_is_asked_for_each(tmp_path: Path) -> None:
    def answer(seen: Seen) -> Answer | None:
        return (400, refusal("Unsupported parameter: 'n'")) if "n" in seen.body else None

    with upstream(answer) as behind:
        made = {"p": provider("openai-compatible", behind.url, retries=QUICK)}
        with gateway({"providers": made, "models": {"m": {"target": "p/m"}}}, tmp_path) as running:
            first = running.post(CHAT, body("openai-chat", "m", n=2))
            assert len(first.json()["choices"]) == 2
            assert ["n" in one.body for one in behind.seen] == [True, False, False]
            assert len(running.post(CHAT, body("openai-chat", "m", n=3)).json()["choices"]) == 3
            assert len(behind.seen) == 6  # the lesson holds
            assert [entry.attempts for entry in rows(running, first)] == [2, 1]


def test_a_dry_run_shows_the_first_of_them(emulated: Running) -> None:
    asked = {"request": body("openai-chat", "claude", n=2), "from": "openai-chat", "to": "claude"}
    shown = emulated.post("/dragoman/adapt", asked).json()
    assert "n" not in shown["body"]
    assert "asked for answer 1 of 2 by itself" in [change["did"] for change in shown["changes"]]
