"""Gemini's explicit caches, as the official SDK makes, uses and deletes them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from google import genai
from google.genai import errors, types
from tests.emulators.test_gemini_sdk import client

from dragoman.testing import emulator

MODEL = "gemini-2.5-flash"
LONG = "A long manual. " * 400  # 1,500 tokens


@contextmanager
def serving(name: str = "gemini") -> Iterator[tuple[genai.Client, list[float], Any]]:
    now = [1_800_000_000.0]
    with emulator(name, answers="echo", clock=lambda: now[0]) as server:
        yield client(server.url, name), now, server


def manual(**more: Any) -> types.CreateCachedContentConfig:
    return types.CreateCachedContentConfig(contents=LONG, system_instruction="Be brief.", ttl="300s", **more)


def ask(api: genai.Client, cache: str | None, model: str = MODEL, **more: Any) -> types.GenerateContentResponse:
    config = types.GenerateContentConfig(cached_content=cache, **more)
    return api.models.generate_content(model=model, contents="What does it say?", config=config)


@pytest.mark.parametrize("name", ["gemini", "vertex"])
def test_a_cache_is_made_used_changed_listed_and_deleted(name: str) -> None:
    with serving(name) as (api, now, _):
        made = api.caches.create(model=MODEL, config=manual(display_name="manual"))
        assert made.name
        assert "cachedContents/" in made.name
        assert made.usage_metadata
        tokens = made.usage_metadata.total_token_count
        assert tokens == 1505
        used = ask(api, made.name).usage_metadata
        assert used
        assert used.cached_content_token_count == tokens
        assert used.prompt_token_count == tokens + 6
        assert [one.name for one in api.caches.list()] == [made.name]
        later = api.caches.update(name=made.name, config=types.UpdateCachedContentConfig(ttl="900s"))
        assert later.expire_time
        assert made.expire_time
        assert (later.expire_time - made.expire_time).total_seconds() == 600
        now[0] += 600
        assert api.caches.get(name=made.name).display_name == "manual"
        api.caches.delete(name=made.name)
        assert list(api.caches.list()) == []
        with pytest.raises(errors.ClientError, match="not found"):
            ask(api, made.name)


def test_a_stream_uses_it_too() -> None:
    with serving() as (api, _, _):
        made = api.caches.create(model=MODEL, config=manual())
        config = types.GenerateContentConfig(cached_content=made.name)
        *_, last = api.models.generate_content_stream(model=MODEL, contents="And?", config=config)
        assert last.usage_metadata
        assert last.usage_metadata.cached_content_token_count == 1505


def refused(code: int, words: str, call: Any) -> None:
    with pytest.raises(errors.ClientError) as caught:
        call()
    assert caught.value.code == code
    assert words in (caught.value.message or "")


def test_what_is_refused() -> None:
    with serving() as (api, now, server):
        made = api.caches.create(model=MODEL, config=manual())
        short = types.CreateCachedContentConfig(contents="Short.")
        small = "Cached content is too small. total_token_count=3, min_total_token_count=1024"
        refused(400, small, lambda: api.caches.create(model=MODEL, config=short))
        refused(400, "has to be the same", lambda: ask(api, made.name, "gemini-2.5-pro"))
        refused(400, "can not be used with", lambda: ask(api, made.name, system_instruction="Be long."))
        refused(403, "CachedContent not found", lambda: ask(api, "cachedContents/nobody"))
        refused(403, "CachedContent not found", lambda: api.caches.get(name="cachedContents/nobody"))
        other = {"x-goog-api-key": "another"}
        assert httpx.get(f"{server.url}/v1beta/{made.name}", headers=other).status_code == 403
        changed = httpx.patch(
            f"{server.url}/v1beta/{made.name}", headers={"x-goog-api-key": "any"}, json={"contents": []}
        )
        assert (changed.status_code, changed.json()["error"]["message"]) == (
            400,
            "Only ttl or expireTime can be updated.",
        )
        now[0] += 301
        refused(403, "CachedContent not found", lambda: ask(api, made.name))


def test_vertex_has_its_own_words() -> None:
    with serving("vertex") as (api, _, _):
        made = api.caches.create(model=MODEL, config=manual())
        refused(400, "should not be set in the request", lambda: ask(api, made.name, system_instruction="Be long."))
