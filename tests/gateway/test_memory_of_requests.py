"""What requests leave behind in memory: nothing that waits for the garbage collector, and for the console what fits."""

from __future__ import annotations

import asyncio
import gc
import io
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest
from tests.event_streams import stream_message, write_events
from tests.gateway.upstream import GOOD

from dragoman.conversation.conversation import KnownBeginning
from dragoman.engine.answer.translation import Translation
from dragoman.errors import DragomanError
from dragoman.gateway.app import Gateway
from dragoman.gateway.http.client_errors import as_failure
from dragoman.gateway.http.client_watch import ClientWatch
from dragoman.gateway.http.inbound import Inbound
from dragoman.gateway.records import recent_exchanges
from dragoman.gateway.records.request_record import RequestRecord
from dragoman.gateway.services import Services, open_services
from dragoman.wire.json_size import LARGE

CHAT = "/v1/chat/completions"


class Provider:
    """A transport that answers at once."""

    headers = (("content-type", "application/json"),)

    def __init__(self, status: int, answer: bytes) -> None:
        self.status = status
        self.answer = answer

    async def send(self, outgoing: Any, timeouts: Any, may_resend: Any = None) -> Provider:
        return self

    async def read(self, limit: int) -> bytes:
        return self.answer

    async def close(self) -> None:
        return


class StreamingProvider(Provider):
    """A transport whose answer is a stream of one piece."""

    headers = (("content-type", "text/event-stream"),)

    def __init__(self, status: int, answer: bytes) -> None:
        super().__init__(status, answer)
        self._pieces = self._cut()

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        return await anext(self._pieces)

    def nudge(self) -> None:
        """It never lets its reader wait."""

    async def _cut(self) -> AsyncIterator[bytes]:
        yield self.answer


def opened(folder: Path, provider: Provider, memory: int = 1 << 26) -> Services:
    file = folder / "dragoman.yaml"
    file.write_text(
        'providers: {openai: {profile: openai, base_url: "http://x.test", api_key: k, max_connections: 7},'
        ' claude: {profile: anthropic, base_url: "http://y.test", api_key: k, max_connections: 7}}\n'
        "log: {level: error, provider_errors: {path: null}}\nstore: {kind: memory}\n"
        f"server: {{conversation_memory: {memory}}}\n"
    )
    services = open_services(file)
    services.records.lines.stream = io.StringIO()
    services.dispatcher.transports[None, 7] = provider  # type: ignore[assignment]
    return services


async def ask(services: Services, body: bytes) -> int:
    statuses: list[int] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        statuses.extend([message["status"]] if "status" in message else [])

    scope = {"type": "http", "path": CHAT, "method": "POST", "headers": [], "query_string": b"", "root_path": ""}
    await Gateway(services)(scope, receive, send)
    return statuses[0]


def question(text: str, **members: Any) -> bytes:
    messages = [{"role": "user", "content": text}]
    return json.dumps({"model": "openai/gpt-4o", "messages": messages, **members}).encode()


@pytest.fixture
def collected() -> Any:
    """What the collector finds, asked for once the requests are over."""
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)

    def find() -> list[object]:
        gc.collect()
        kinds = Inbound, RequestRecord, DragomanError, ClientWatch, Translation
        return [one for one in gc.garbage if isinstance(one, kinds)]

    yield find
    gc.set_debug(0)
    gc.garbage.clear()
    gc.enable()


TOO_LONG = "n" * (2 * LARGE)
REQUESTS = {
    "answered": (question("hello"), GOOD, 200),
    "answered, large": (question("hello " * LARGE), GOOD, 200),
    "not UTF-8": (question("hello").replace(b"hello", b"\xff"), GOOD, 400),
    "not UTF-8, large": (question("hello " * LARGE).replace(b"hello", b"\xff", 1), GOOD, 400),
    "not JSON": (question("hello")[:-3], GOOD, 400),
    "a name that is too long": (
        question("hello", tools=[{"type": "function", "function": {"name": TOO_LONG}}]),
        GOOD,
        400,
    ),
    "a model that nobody has": (question("hello").replace(b"openai/gpt-4o", b"nobody/none"), GOOD, 404),
    "refused by the provider": (question("hello"), {"error": {"message": "no", "type": "x"}}, 400),
}


@pytest.mark.parametrize("name", REQUESTS)
async def test_a_request_leaves_nothing_for_the_collector(name: str, tmp_path: Path, collected: Any) -> None:
    body, answer, status = REQUESTS[name]
    upstream = 400 if "error" in answer else 200
    services = opened(tmp_path, Provider(upstream, json.dumps(answer).encode()))
    services.records.recent.keep(False)
    assert await ask(services, body) == status
    await asyncio.sleep(0)  # what a thread did ends a turn later
    assert collected() == []
    await services.close()


async def test_a_relayed_stream_leaves_nothing_for_the_collector(tmp_path: Path, collected: Any) -> None:
    services = opened(tmp_path, StreamingProvider(200, stream_of("openai/gpt-4o", "Hello")))
    services.records.recent.keep(False)
    assert await ask(services, question("hello", stream=True)) == 200
    await asyncio.sleep(0)
    assert collected() == []
    await services.close()


async def test_a_watch_over_a_client_leaves_nothing_for_the_collector(tmp_path: Path, collected: Any) -> None:
    async def receive() -> dict[str, Any]:
        await asyncio.sleep(3600)
        return {"type": "http.disconnect"}

    services = opened(tmp_path, Provider(200, b"{}"))
    scope = {"type": "http", "path": CHAT, "method": "POST", "headers": [], "query_string": b""}
    watch = ClientWatch(Inbound(scope, receive, CHAT, services.traffic.ticker))
    watch.on_timeout()
    await asyncio.sleep(0)
    watch.stop()
    del watch
    for _ in range(3):
        await asyncio.sleep(0)
    assert collected() == []
    await services.close()


def test_a_failure_has_the_words_of_its_exception_and_not_its_frames() -> None:
    try:
        raise DragomanError("what went wrong")
    except DragomanError as error:
        failure, frames = as_failure(error), error.__traceback__
    assert "what went wrong" in failure.message
    assert frames is None


@pytest.mark.slow
async def test_the_console_keeps_requests_by_what_they_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many small messages take many times their bytes: values were read from them, and repairs noted."""
    services = opened(tmp_path, Provider(200, json.dumps(GOOD).encode()), memory=0)
    recent = services.records.recent
    calls = [{"id": "one", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    messages = [{"role": "assistant", "content": None, "tool_calls": calls}] * 500
    body = json.dumps({"model": "openai/gpt-4o", "messages": messages}).encode()
    assert await ask(services, body) == 200
    (kept,) = recent._exchanges  # what is measured here is nobody else's
    taken = held(kept.record, services)
    assert taken / 3 < kept.weight < taken * 3
    assert kept.weight > 5 * len(body)
    monkeypatch.setattr(recent_exchanges, "MOST_BYTES", 3 * kept.weight)
    for _ in range(5):
        assert await ask(services, body) == 200
    assert len(recent._exchanges) == 3
    await services.close()


async def test_a_kept_request_does_not_hold_the_memory_of_its_conversation(tmp_path: Path) -> None:
    services = opened(tmp_path, Provider(200, json.dumps(GOOD).encode()))
    assert await ask(services, question("hello " * 5000)) == 200
    assert await ask(services, question("hello " * 5000)) == 200
    asked = [one.record.ask for one in services.records.recent._exchanges]
    known = [one.known for one in asked if one is not None and one.known is not None]
    assert known, "the gateway remembers conversations"
    for one in known:
        assert isinstance(one, KnownBeginning)
        assert one.made == {}
        one.keep("a key", "a value", 1)
        assert one.made == {}
    await services.close()


@pytest.mark.slow
@pytest.mark.parametrize("model", ["openai/gpt-4o", "claude/claude-sonnet-4-6"])
async def test_a_kept_request_does_not_hold_the_events_of_its_answer(model: str, tmp_path: Path) -> None:
    long = "long " * (LARGE // 4)
    services = opened(tmp_path, StreamingProvider(200, stream_of(model, long)))
    assert await ask(services, question("hello", stream=True).replace(b"openai/gpt-4o", model.encode())) == 200
    (kept,) = services.records.recent._exchanges
    assert kept.entry.output_tokens > 0
    assert held(kept.record, services) < 1.5 * len(long), "the client's bytes are kept, and no others"
    await services.close()


def stream_of(model: str, text: str) -> bytes:
    """An answer of one event."""
    if model.startswith("openai"):
        events: list[dict[str, Any]] = [
            {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": "stop"}]}
        ]
        return b"".join(b"data: %b\n\n" % json.dumps(one).encode() for one in events) + b"data: [DONE]\n\n"
    content = [{"type": "text", "text": text}]
    message = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": content}
    usage = {"input_tokens": 3, "output_tokens": 4}
    return b"".join(write_events(stream_message({**message, "stop_reason": "end_turn", "usage": usage})))


def held(record: RequestRecord, services: Services) -> int:
    """Bytes of all objects that a record alone refers to. Raw JSON is a view on the body."""
    shared = reached([services, services.records.recent], set(), {id(record)})
    return sum(map(sys.getsizeof, reached([record], shared, set()).values()))


def reached(begin: list[object], besides: Any, without: set[int]) -> dict[int, object]:
    found: dict[int, object] = {}
    waiting = list(begin)
    while waiting:
        one = waiting.pop()
        if (
            id(one) in found
            or id(one) in besides
            or id(one) in without
            or isinstance(one, (type, ModuleType, msgspec.Raw))
        ):
            continue
        found[id(one)] = one
        if isinstance(one, msgspec.Struct):
            waiting += [getattr(one, field) for field in one.__struct_fields__]
        else:
            waiting += gc.get_referents(one)
    return found
