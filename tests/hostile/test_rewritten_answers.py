"""An answer that the gateway stores, or writes in another form, is worked on beside the event loop if it is large."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from tests.gateway.running import Running
from tests.hostile.provider import HostileProvider
from tests.hostile.table import Answer, http, streamed, whole

from dragoman.dialects.contracts.stored_answers import StoreQuestion
from dragoman.dialects.families.openai_completions import CompletionAnswers
from dragoman.dialects.ollama.endpoints.prompt_form import PromptAnswers
from dragoman.dialects.openai_responses.endpoints.stored_answers import STORED_ANSWERS, ResponseKeeper
from dragoman.gateway.http.outbound import Outbound
from dragoman.wire.json_size import LARGE

_ASKED: dict[str, tuple[str, dict[str, Any], type]] = {
    "stored": ("/v1/responses", {"input": "Hi"}, ResponseKeeper),
    "a completion": ("/v1/completions", {"prompt": "Hi"}, CompletionAnswers),
    "a prompt": ("/api/generate", {"prompt": "Hi"}, PromptAnswers),
}


def note_threads(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> list[str]:
    """The names of the threads in which a function is called."""
    seen: list[str] = []
    function: Callable[..., Any] = getattr(owner, name)

    def noted(*given: Any) -> Any:
        seen.append(threading.current_thread().name)
        return function(*given)

    monkeypatch.setattr(owner, name, noted)
    return seen


@pytest.mark.parametrize("what", _ASKED)
def test_a_large_answer_is_rewritten_in_a_thread(
    gateway: Running, provider: HostileProvider, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    path, asked, rewriter = _ASKED[what]
    dialect = "openai-responses" if what == "stored" else "openai-chat"
    model = provider.serve(Answer("long", dialect, lambda n: http(whole(dialect, "a" * n)), 2 * LARGE), 2 * LARGE)
    seen = note_threads(monkeypatch, rewriter, "whole")
    said = gateway.post(path, {"model": model, "stream": False, **asked})
    assert (said.status_code, len(said.content) > LARGE) == (200, True)
    assert [name.startswith("dragoman-heavy") for name in seen] == [True]


BEGUN = b"".join(
    [
        b"event: %b\ndata: %b\n\n" % (event["type"].encode(), json.dumps(event).encode())
        for event in (
            {"type": "response.created", "response": {"id": "resp_1", "object": "response", "output": []}},
            {"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "delta": "Hi"},
        )
    ]
)
"""A stream of Responses whose model has said something: from then on it is its client's."""


def test_a_frame_without_an_end_is_rewritten_in_a_thread(
    gateway: Running, provider: HostileProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = Answer("lines", "openai-responses", lambda n: streamed(BEGUN + b"data: x\n" * n), 40_000, stream=True)
    model = provider.serve(line, line.count)
    seen = note_threads(monkeypatch, ResponseKeeper, "piece")
    gateway.post("/v1/responses", {"model": model, "input": "Hi", "stream": True})
    assert seen[-1].startswith("dragoman-heavy")  # our own error ends the frame


def test_the_items_of_a_large_answer_are_found_in_a_thread(
    gateway: Running, provider: HostileProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 2_000
    made = Answer("calls", "openai-responses", lambda n: http(whole("openai-responses", called=n, id="b")), count)
    model = provider.serve(made, count)
    assert len(made.make(count)) > LARGE
    seen: list[str] = []

    def find(response: bytes) -> dict[str, bytes]:
        seen.append(threading.current_thread().name)
        return {}

    monkeypatch.setattr("dragoman.gateway.state.stored_answers.dialect", lambda name: _Dialect(STORED_ANSWERS, find))
    assert gateway.post("/v1/responses", {"model": model, "input": "Hi"}).status_code == 200
    assert [name.startswith("dragoman-heavy") for name in seen] == [True]


class _Dialect:
    """A dialect whose stored answers are searched by another function."""

    def __init__(self, stored: Any, find: Callable[[bytes], dict[str, bytes]]) -> None:
        class Stored:
            output_items = staticmethod(find)

            def __getattr__(self, name: str) -> Any:
                return getattr(stored, name)

        self.stored_answers = Stored()


def test_a_long_frame_is_searched_once() -> None:
    """Each piece used to be joined to all before it, and all of it searched."""
    question = StoreQuestion("m", "", True, b"[]")

    def searched(count: int) -> int:
        keeper = ResponseKeeper(question)
        keeper._rest = counted = _CountedBytes()
        for _ in range(count):
            keeper.piece(b"a" * 100)
        return counted.searched

    assert 0 < searched(400) <= 11 * searched(40)


class _CountedBytes(bytearray):
    searched = 0

    def rfind(self, sub: Any, start: Any = 0, end: Any = None) -> int:
        self.searched += len(self) - int(start)
        return super().rfind(sub, start)


def test_a_long_piece_of_a_stream_is_written_in_slices() -> None:
    """Framing all of it at once would hold up everybody."""
    sent: list[bytes] = []

    async def send(message: Any) -> None:
        sent.append(message.get("body", b""))

    async def pieces() -> AsyncIterator[bytes]:
        yield b"a" * 3_000_001
        yield b"b"

    asyncio.run(Outbound(send, "r").streamed(pieces(), [], b"text/event-stream", 60))
    assert b"".join(sent) == b"a" * 3_000_001 + b"b"
    assert max(map(len, sent)) <= 300_000
