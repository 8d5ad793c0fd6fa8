"""Conversations that the gateway remembers for their next turn: by key, until they are to be forgotten."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.running import Running, gateway, provider

from dragoman.dialects.shared.read_lists import ReadList
from dragoman.engine.memory.conversation_memory import KnownTop, ReadConversation, SentList
from dragoman.gateway.records.metrics_board import MetricsBoard
from dragoman.gateway.services import Services, open_services
from dragoman.gateway.sockets.open_sockets import SOCKETS_PER_KEY, RememberedAnswer
from dragoman.testing import emulator

KEYS: dict[str, dict[str, Any]] = {
    name: {"sha256": hashlib.sha256(name.encode()).hexdigest()} for name in ("anna", "ben", "boss")
}
KEYS["boss"]["admin"] = True


def conversation(turns: int) -> dict[str, Any]:
    messages = [{"role": "system", "content": "Be brief. " * 2000}]
    for turn in range(turns):
        messages.append({"role": "user", "content": f"{turn}: What now?"})
        messages.append({"role": "assistant", "content": f"Go on with {turn}."})
    return {"model": "openai/gpt-4o", "messages": messages[:-1]}


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    with emulator("openai") as openai:
        config = {"providers": {"openai": provider("openai", openai.base_url)}, "keys": KEYS}
        with gateway(config, tmp_path) as found:
            yield found


def ask(running: Running, turns: int, key: str) -> None:
    assert running.post("/v1/chat/completions", conversation(turns), key).status_code == 200


def test_keys_are_apart_and_forget_drops_those_of_one(running: Running) -> None:
    memory = running.services.conversations.memory
    for turns in (3, 4):
        for key in ("anna", "ben"):
            ask(running, turns, key)
    assert len(memory) == 2
    headers = {"authorization": "Bearer boss"}
    gone = running.http.delete(f"{running.url}/dragoman/callers?name=anna", headers=headers)
    assert gone.status_code == 200
    assert len(memory) == 1
    text = json.dumps(conversation(4)["messages"], separators=(",", ":")).encode()
    assert memory.of("anna").find("openai-chat", text) == (None, 0)
    assert memory.of("ben").find("openai-chat", text)[0] is not None


def test_a_reload_drops_everything(running: Running) -> None:
    ask(running, 3, "anna")
    held = running.services.conversations.memory
    running.services.live.reload()
    assert len(held) == 1, "requests under way go on with what they have"
    assert len(running.services.conversations.memory) == 0


def opened(folder: Path, config: dict[str, Any], board: MetricsBoard | None = None, number: int = 0) -> Services:
    file = folder / "dragoman.yaml"
    file.write_text(json.dumps({"providers": {"openai": {"api_key": "k"}}, "store": {"kind": "memory"}, **config}))
    if board is None:
        return open_services(file)
    own = open_services(file).live.file
    assert own is not None
    return Services(own.load(), own, place=board.place(number))


def test_one_line_turns_it_off(tmp_path: Path) -> None:
    assert opened(tmp_path, {}).conversations.memory_of("anna") is not None
    assert opened(tmp_path, {"server": {"conversation_memory": 0}}).conversations.memory_of("anna") is None


def test_workers_share_the_budget(tmp_path: Path) -> None:
    services = opened(tmp_path, {"server": {"conversation_memory": 8_000_000, "workers": 4}})
    assert services.conversations.memory.budget == 2_000_000


def test_every_worker_forgets(tmp_path: Path) -> None:
    board = MetricsBoard(2)
    first, second = (opened(tmp_path, {}, board, number) for number in range(2))
    kept = second.conversations.memory_of("anna")
    assert kept is not None
    kept.keep("openai-chat", ReadConversation(KnownTop(), SentList(b"[]", 0, 2), ReadList(())))
    first.conversations.forget("anna")
    again = second.conversations.memory_of("anna")
    assert again is not None
    assert len(again.memory) == 0


class Line:
    """A socket of a key."""

    def __init__(self, key: str) -> None:
        self.key = key

    def look(self) -> None: ...


def test_sockets_of_every_worker_forget_and_count(tmp_path: Path) -> None:
    board = MetricsBoard(2)
    first, second = (opened(tmp_path, {}, board, number) for number in range(2))
    kept = RememberedAnswer("resp_1", (), "", False, 10)

    async def run() -> None:
        lines = [Line("anna") for _ in range(SOCKETS_PER_KEY - 1)]
        for line in lines:
            first.conversations.sockets.add(line)
        assert second.conversations.sockets.has_room("anna")
        last = Line("anna")
        second.conversations.sockets.add(last)
        second.conversations.sockets.memory.put(last, None, kept)
        assert not first.conversations.sockets.has_room("anna")
        assert not second.conversations.sockets.has_room("anna")
        assert first.conversations.sockets.has_room("bert")
        first.conversations.forget("anna")
        second.conversations.follow_forgets()
        assert second.conversations.sockets.memory.find(last, None, "resp_1") is None
        first.conversations.sockets.remove(lines[0])
        assert second.conversations.sockets.has_room("anna")
        assert board.place(0).sockets.total("anna") == 1, "a worker that takes the place of another begins anew"

    asyncio.run(run())


def test_a_worker_that_is_asked_nothing_forgets(tmp_path: Path) -> None:
    board = MetricsBoard(2)
    first, second = (opened(tmp_path, {}, board, number) for number in range(2))
    kept = second.conversations.memory_of("anna")
    assert kept is not None
    kept.keep("openai-chat", ReadConversation(KnownTop(), SentList(b"[]", 0, 2), ReadList(())))
    first.conversations.forget("anna")
    second.conversations.follow_forgets()
    assert len(second.conversations.memory) == 0
