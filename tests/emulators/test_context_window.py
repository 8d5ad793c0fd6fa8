"""Every emulator refuses what is longer than its context window, in its provider's own words."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import parse_qsl

import pytest

from dragoman.conversation.failures import FailureKind
from dragoman.emulators.catalogue import UnknownEmulatorError, names, provider
from dragoman.emulators.provider import EmulatedProvider, ErrorResponse
from dragoman.wire.error_bodies import parse_failure

WINDOW = 750


def with_words(body: Any, words: str) -> Any:
    """The example with a longer question."""
    if isinstance(body, dict):
        return {key: with_words(value, words) if key != "model" else value for key, value in body.items()}
    if isinstance(body, list):
        return [with_words(value, words) for value in body]
    return words if isinstance(body, str) and body.lower().startswith(("hello", "hi", "say", "what")) else body


def judged(emulated: EmulatedProvider, words: str) -> ErrorResponse | None:
    path, example = emulated.example
    path, _, query = path.partition("?")
    body = with_words(example, words)
    assert words in json.dumps(body), f"{emulated.name}: the example has no question: {example}"
    headers, raw = {"content-type": "application/json"}, json.dumps(body).encode()
    request = emulated.parse_request("POST", path, dict(parse_qsl(query)), headers, raw)
    assert not isinstance(request, ErrorResponse)
    return emulated.judge(request)


@pytest.mark.parametrize("name", names())
def test_a_longer_prompt_is_refused_and_the_refusal_is_understood(name: str) -> None:
    emulated = provider(name, window=WINDOW)
    assert judged(emulated, "word " * 100) is None
    refused = judged(emulated, "word " * 800)
    assert refused is not None
    failure = parse_failure(refused.status, {}, json.dumps(refused.body).encode())
    assert failure.kind is FailureKind.CONTEXT_LENGTH, (name, refused.body)
    numbers = set(map(int, re.findall(r"\d+", json.dumps(refused.body))))
    assert failure.limit == (WINDOW if WINDOW in numbers else None), (name, refused.body)
    assert failure.tokens == next((one for one in numbers if 1_000 <= one <= 1_400), None), (name, refused.body)
    assert judged(provider(name), "word " * 800) is None


def test_a_client_of_responses_may_have_its_history_cut_instead() -> None:
    emulated = provider("openai-responses", window=WINDOW)
    body = {"model": "gpt-4o", "input": "word " * 800, "truncation": "auto"}
    for choice, verdict in (("auto", None), ("disabled", 400)):
        raw = json.dumps({**body, "truncation": choice}).encode()
        request = emulated.parse_request("POST", "/v1/responses", {}, {}, raw)
        assert not isinstance(request, ErrorResponse)
        refused = emulated.judge(request)
        assert (refused.status if refused else None) == verdict


def test_counting_is_not_refused() -> None:
    emulated = provider("anthropic", window=WINDOW)
    raw = json.dumps({"model": "claude-sonnet-4-5", "messages": [{"role": "user", "content": "word " * 800}]}).encode()
    headers = {"anthropic-version": "2023-06-01"}
    request = emulated.parse_request("POST", "/v1/messages/count_tokens", {}, headers, raw)
    assert not isinstance(request, ErrorResponse)
    assert emulated.judge(request) is None
    assert emulated.count_tokens(request) == {"input_tokens": 1_001}


@pytest.mark.parametrize("window", [-1, "8k", 1.5, None])
def test_a_window_is_a_number_of_tokens(window: Any) -> None:
    with pytest.raises(UnknownEmulatorError, match="window is a number of tokens"):
        provider("openai", window=window)
