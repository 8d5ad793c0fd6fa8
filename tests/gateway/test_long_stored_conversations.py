"""Long Responses conversations that are sent whole on every turn: stored like short ones, and not opened again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.running import Running, gateway, provider

from dragoman.dialects.shared import parsing
from dragoman.testing import emulator

PATH = "/v1/responses"
WORDS = "So it goes on and on. " * 40


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    with emulator("openai") as chat, emulator("openai-responses") as responses:
        providers = {"openai": provider("openai", chat.base_url)}
        providers["own"] = provider("openai-responses", responses.base_url)
        with gateway({"providers": providers}, tmp_path) as found:
            yield found


def written(turns: int, **more: Any) -> bytes:
    items: list[dict[str, Any]] = []
    for turn in range(turns):
        items.append({"role": "user", "content": f"{turn}: {WORDS}"})
        items.append({"type": "message", "role": "assistant", "content": f"Yes, {turn}."})
    return json.dumps({"model": "openai/gpt-4o", "input": items[:-1], **more}, separators=(",", ":")).encode()


@pytest.mark.parametrize("more", [{}, {"store": False}])
def test_a_long_conversation_is_not_opened_for_what_is_stored(
    running: Running, more: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for turns in (60, 61):
        assert running.post(PATH, written(turns, **more)).status_code == 200
    opened: list[int] = []
    plain = parsing.open_object
    monkeypatch.setattr(parsing, "open_object", lambda body: opened.append(len(body)) or plain(body))
    for turns in (62, 63):
        assert running.post(PATH, written(turns, **more)).status_code == 200
    assert [size for size in opened if size > 10_000] == []


def test_all_of_it_is_stored_on_every_turn(running: Running) -> None:
    for turns in (60, 61, 62, 63):
        answer = running.post(PATH, written(turns)).json()
        listed = running.get(f"{PATH}/{answer['id']}/input_items?limit=100&order=asc").json()["data"]
        assert len(listed) == min(2 * turns - 1, 100)
        assert listed[2]["content"][0]["text"].startswith("1: ")
    more = {"model": "openai/gpt-4o", "input": "Is that all?", "previous_response_id": answer["id"]}
    assert running.post(PATH, more).status_code == 200


def test_an_id_that_stands_behind_a_known_list_is_looked_up(running: Running) -> None:
    """The body begins and ends like the turn before."""
    for turns in (60, 61, 62):
        body = written(turns, model="own/gpt-5.1", include=[])
        assert running.post(PATH, body).status_code == 200
    hidden = body.replace(b'],"include":[]', b'],"previous_response_id":"resp_else","metadata":null,"include":[]')
    for odd in (
        hidden,
        body.replace(b'],"include":[]', b'],"previous_response_id":"resp_else","tools":[],"include":[]'),
    ):
        refused = running.post(PATH, odd)
        assert refused.status_code == 400
        assert refused.json()["error"]["code"] == "previous_response_not_found"
