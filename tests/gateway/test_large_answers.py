"""Answers that hold much: what a provider can say is passed on, what is too large is asked for once, and is a 502."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.asking import body, path
from tests.gateway.running import gateway, provider
from tests.gateway.upstream import GOOD, Answer, Seen, upstream

from dragoman.dialects.openai_chat.answer_parse import MOST_CHOICES
from dragoman.upstream.heavy_work import HeavyWork
from dragoman.wire.json_size import LARGE

CLIENTS = ("openai-chat", "anthropic")
"""One for which the answer is relayed, one for which it is translated."""


def choices(count: int) -> dict[str, Any]:
    (choice,) = GOOD["choices"]
    return {**GOOD, "choices": [{**choice, "index": index} for index in range(count)]}


def with_probabilities(tokens: int) -> dict[str, Any]:
    top = [{"token": f"t{n}", "logprob": -0.5, "bytes": [116, 48, 48]} for n in range(20)]
    token = {"token": "a", "logprob": -0.1, "bytes": [97], "top_logprobs": top}
    (choice,) = GOOD["choices"]
    return {**GOOD, "choices": [{**choice, "logprobs": {"content": [token] * tokens, "refusal": None}}]}


def streamed(count: int) -> bytes:
    """One event with so many choices."""
    deltas = [{"index": index, "delta": {"content": "x"}, "finish_reason": "stop"} for index in range(count)]
    return b"data: " + json.dumps({"id": "1", "model": "m", "choices": deltas}).encode() + b"\n\ndata: [DONE]\n\n"


@pytest.mark.parametrize("client", CLIENTS)
def test_twenty_probabilities_for_each_token_are_an_answer(client: str, tmp_path: Path) -> None:
    whole = with_probabilities(1500)
    with upstream(lambda seen: (200, whole)) as behind:
        config = {"providers": {"up": provider("openai-compatible-strict", behind.url)}}
        with gateway(config, tmp_path) as running:
            said = running.post(path(client, "up/m"), body(client, "up/m"))
            assert said.status_code == 200, said.text[:500]
            assert len(behind.seen) == 1
            if client == "openai-chat":
                assert said.json()["choices"][0]["logprobs"] == whole["choices"][0]["logprobs"]


TOO_LARGE: dict[str, tuple[Callable[[Seen], Answer], dict[str, Any], str]] = {
    "bytes": (lambda seen: (200, choices(40)), {"answer": 2000}, "longer than 2000 bytes"),
    "values": (lambda seen: (200, choices(1000)), {"values": 3000}, "limits.values"),
    "choices": (lambda seen: (200, choices(MOST_CHOICES + 1)), {}, f"more than {MOST_CHOICES} choices"),
    "choices of a stream": (lambda seen: (200, (streamed(MOST_CHOICES + 1),)), {}, f"more than {MOST_CHOICES} choices"),
}


RELAYED = ("choices", "choices of a stream")
"""What a client of the same dialect gets all the same: nothing of it is read."""


@pytest.mark.parametrize(
    ("what", "client"), [(one, client) for one in TOO_LARGE for client in CLIENTS[one in RELAYED :]]
)
def test_an_answer_that_is_too_large_is_asked_for_once(what: str, client: str, tmp_path: Path) -> None:
    answer, limits, why = TOO_LARGE[what]
    is_stream = "stream" in what
    with upstream(answer) as behind, upstream() as other:
        config = {
            "providers": {
                "up": provider("openai-compatible-strict", behind.url),
                "other": provider("openai-compatible-strict", other.url),
            },
            "models": {"both": {"target": "up/m", "fallbacks": ["other/m"]}},
            "limits": limits,
        }
        with gateway(config, tmp_path) as running:
            said = running.post(path(client, "both"), body(client, "both", **({"stream": True} if is_stream else {})))
            assert (said.status_code, why in said.text) == (502, True), said.text
            assert said.headers["x-should-retry"] == "false"
            assert (len(behind.seen), len(other.seen)) == (1, 0)
            assert running.resting() == {}


@pytest.mark.parametrize("what", RELAYED)
def test_many_choices_are_relayed(what: str, tmp_path: Path) -> None:
    with upstream(TOO_LARGE[what][0]) as behind:
        config = {"providers": {"up": provider("openai-compatible-strict", behind.url)}}
        with gateway(config, tmp_path) as running:
            more = {"stream": True} if "stream" in what else {}
            said = running.post("/v1/chat/completions", body("openai-chat", "up/m", **more))
            assert (said.status_code, said.text.count('"finish_reason"')) == (200, MOST_CHOICES + 1)


def test_most_choices_are_an_answer(tmp_path: Path) -> None:
    with upstream(lambda seen: (200, choices(MOST_CHOICES))) as behind:
        config = {"providers": {"up": provider("openai-compatible-strict", behind.url)}}
        with gateway(config, tmp_path) as running:
            assert running.post("/v1/messages", body("anthropic", "up/m")).status_code == 200


def test_large_requests_are_told_to_come_again_when_too_many_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with upstream() as behind:
        config = {"providers": {"up": provider("openai-compatible-strict", behind.url)}}
        with gateway(config, tmp_path) as running:
            monkeypatch.setattr(HeavyWork, "is_full", lambda heavy, key: True)
            large = [{"role": "user", "content": "x" * LARGE}]
            said = running.post("/v1/chat/completions", body("openai-chat", "up/m", messages=large))
            assert (said.status_code, said.headers["retry-after"]) == (503, "1"), said.text
            assert "busy with large requests" in said.text
            assert running.post("/v1/chat/completions", body("openai-chat", "up/m")).status_code == 200
            assert len(behind.seen) == 1
