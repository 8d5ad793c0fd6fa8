"""The name of a session, in the field or header by which a provider finds its prompt cache."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.running import Running, gateway, provider

from dragoman.testing import emulator

Wire = dict[str, Any]
LONG = "You are a careful engineer. " * 200
TARGETS = {
    "openai-responses": ("openai-responses/gpt-5.6-terra", "prompt_cache_key"),
    "openai": ("openai/gpt-5.2", "prompt_cache_key"),
    "mistral": ("mistral/mistral-large-latest", "prompt_cache_key"),
    "fireworks": ("fireworks/accounts/fireworks/models/kimi-k2p6", "prompt_cache_key"),
    "openrouter": ("openrouter/google/gemini-2.5-flash", "session_id"),
    "xai": ("xai/grok-4", "x-grok-conv-id"),
}


@contextmanager
def serving(folder: Path, name: str, **config: Any) -> Iterator[tuple[Running, Any]]:
    target, _ = TARGETS[name]
    with emulator(name, answers="echo") as vendor:
        base: Wire = {
            "providers": {name: provider(name, vendor.base_url)},
            "models": {"m": {"target": target}},
            "keys": {one: {"sha256": sha256(f"dk-{one}-0123456789".encode()).hexdigest()} for one in ("ann", "bob")},
            **config,
        }
        with gateway(base, folder) as running:
            yield running, vendor


def ask(running: Running, session: str | None, key: str = "ann", **more: Any) -> Any:
    headers = {"authorization": f"Bearer dk-{key}-0123456789"}
    if session is not None:
        headers["x-claude-code-session-id"] = session
    body = {"model": "m", "max_tokens": 99, "messages": [{"role": "user", "content": LONG}], **more}
    answered = running.post("/v1/messages", body, **headers)
    assert answered.status_code == 200, answered.text
    return answered


def found(vendor: Any, field: str) -> list[str | None]:
    return [one.headers.get(field) if field.startswith("x-") else one.body.get(field) for one in vendor.requests]


@pytest.mark.parametrize("name", TARGETS)
def test_a_session_has_one_name_which_tells_nothing(tmp_path: Path, name: str) -> None:
    with serving(tmp_path, name) as (running, vendor):
        answers = [ask(running, "one"), ask(running, "one"), ask(running, "two"), ask(running, "one", "bob")]
        names = found(vendor, TARGETS[name][1])
        assert names[0] == names[1]
        assert len({*names}) == 3
        assert all(isinstance(one, str) and len(one) == 32 and not {"ann", "one"} & {one} for one in names)
        assert "session-key;n=1" in answers[0].headers["x-dragoman-added"]


def test_nothing_is_named_that_the_client_does_not_name(tmp_path: Path) -> None:
    """Requests that share an opening find each other's cache by it, and not by a name."""
    with serving(tmp_path, "openai-responses") as (running, vendor):
        ask(running, None)
        ask(running, "one", messages=[{"role": "user", "content": "Hi"}])
        assert found(vendor, "prompt_cache_key") == [None, None]


@pytest.mark.parametrize(
    ("config", "named"), [({"cache": "client"}, 0), ({"cache": "off"}, 0), ({"cache": "auto"}, 1), ({}, 0)]
)
def test_within_one_dialect_only_if_it_is_chosen(tmp_path: Path, config: Wire, named: int) -> None:
    with serving(tmp_path, "openai-responses", **config) as (running, vendor):
        headers = {"authorization": "Bearer dk-ann-0123456789", "session-id": "one"}
        for more in ({}, {"prompt_cache_key": "mine"}):
            assert running.post("/v1/responses", {"model": "m", "input": LONG, **more}, **headers).status_code == 200
        first, second = found(vendor, "prompt_cache_key")
        assert (first is not None) == bool(named)
        assert second == "mine"
