"""The table of hostile inputs in small: everybody gets an answer, the gateway itself never fails, and no input costs
more than in proportion to its size.

Nothing here looks at a clock: work is counted in calls. `make hostile` sends the large ones and measures.
"""

from __future__ import annotations

import asyncio
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import cycle, islice, product
from typing import Any

import pytest
from tests.corpus import FULL
from tests.counted_work import count_calls
from tests.gateway.running import Running
from tests.hostile.bodies import DIALECTS, PATHS, STREAM_PATHS, body, dump, user
from tests.hostile.provider import HostileProvider
from tests.hostile.table import (
    ANSWERS,
    CONFIGS,
    ERRORS,
    RAW,
    REQUESTS,
    STREAMS,
    Answer,
    Config,
    Raw,
    Request,
    all_names,
    post,
    whole,
)

from dragoman import adapt
from dragoman.config.known_names import KnownNames
from dragoman.config.load import parse
from dragoman.config.variables import Environment
from dragoman.conversation.bounded_cache import POOL
from dragoman.dialects.dialect import AnswerContext
from dragoman.engine.answer.translation import Translation
from dragoman.errors import ConfigError, DragomanError
from dragoman.wire.error_bodies import parse_failure
from dragoman.wire.json_size import LARGE as LARGE_BODY
from dragoman.wire.json_size import is_heavy

SMALL = 60
PROFILES = {
    "chat": "openai-compatible-strict",
    "responses": "openai-responses",
    "anthropic": "anthropic",
    "gemini": "gemini",
}
PROVIDERS = dict(zip(DIALECTS, ("chat", "responses", "anthropic", "gemini"), strict=True))


def ask(gateway: Running, sent: bytes) -> int:
    """The status of the answer; 0 if the connection was closed without one."""
    with socket.create_connection(("127.0.0.1", int(gateway.url.rpartition(":")[2])), 30) as line:
        writer = threading.Thread(target=_send, args=(line, sent), daemon=True)
        writer.start()
        heard = b""
        with suppress(ConnectionError):
            while piece := line.recv(65_536):
                heard += piece
    return int(heard[9:12]) if heard else 0


def _send(line: socket.socket, sent: bytes) -> None:
    with suppress(OSError):
        line.sendall(sent)


def crashes(gateway: Running) -> list[str]:
    gateway.services.records.lines.flush()
    return [line for line in gateway.log.getvalue().splitlines() if '"crash"' in line]


def test_the_table_has_inputs_of_every_kind() -> None:
    names = all_names()
    assert len(names) >= 200
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("line", REQUESTS, ids=lambda line: line.name)
def test_a_hostile_request_is_answered(gateway: Running, line: Request) -> None:
    for dialect in line.dialects:
        content = line.make(dialect, min(line.count, SMALL)).replace(b"MODEL", b"anthropic/hello")
        status = ask(gateway, post(PATHS[dialect].format(model="anthropic/hello"), content))
        assert status in line.good | ({200} if line.count > SMALL else set()), dialect
    assert crashes(gateway) == []


@pytest.mark.parametrize("line", RAW, ids=lambda line: line.name)
def test_a_hostile_http_request_is_answered(gateway: Running, line: Raw) -> None:
    status = ask(gateway, line.make(min(line.count, SMALL)))
    assert status in line.good
    assert crashes(gateway) == []


@pytest.mark.parametrize("line", [*ANSWERS, *STREAMS, *ERRORS], ids=lambda line: f"{line.name}, {line.dialect}")
def test_a_hostile_provider_harms_only_its_own_request(
    gateway: Running, provider: HostileProvider, line: Answer
) -> None:
    model = provider.serve(line, min(line.count, SMALL))
    for dialect in (line.dialect, "anthropic" if line.dialect != "anthropic" else "openai-chat"):
        content = dump(body(dialect, [user(dialect)], None, **({"stream": True} if line.stream else {})))
        path = (STREAM_PATHS if line.stream else PATHS)[dialect].format(model=model)
        assert ask(gateway, post(path, content.replace(b"MODEL", model.encode()))) in line.good
    assert crashes(gateway) == []


@pytest.mark.sampled(7)
@pytest.mark.parametrize("line", CONFIGS, ids=lambda line: line.name)
def test_a_hostile_configuration_is_loaded_or_refused(line: Config) -> None:
    with suppress(ConfigError):
        parse(line.make(min(line.count, 500)), known=KnownNames(), variables=Environment({}, {}))


# Work in proportion.

FEW, MANY = 40, 400
MOST = 16
"""How many times more work ten times the input may be: a square is a hundred."""
CONSTANT = 20_000
"""Calls that may be made once."""


def work(run: Callable[[], Any]) -> int:
    """How many functions are called, with nothing remembered."""

    def attempt() -> None:
        with suppress(DragomanError):
            run()

    POOL.clear()
    return count_calls(attempt)


def in_proportion(run: Callable[[int], Any]) -> tuple[int, int] | None:
    few, many = work(partial(run, FEW)), work(partial(run, MANY))
    return None if many <= MOST * few + CONSTANT else (few, many)


TARGETS = ("anthropic/claude-opus-4-8", "gemini/gemini-3-pro-preview", "mistral/mistral-large")


def pairs(line: Request) -> Iterator[tuple[str, str]]:
    """Every dialect of a line and every target at least once; each with each in the full run, or if there are few."""
    if FULL or len(line.dialects) < len(TARGETS):
        return product(line.dialects, TARGETS)
    turn = REQUESTS.index(line)
    return zip(line.dialects, islice(cycle(TARGETS), turn % len(TARGETS), None), strict=False)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("line", REQUESTS, ids=lambda line: line.name)
def test_a_hostile_request_is_compiled_in_proportion(line: Request) -> None:
    for dialect, target in pairs(line):
        made = {count: line.make(dialect, count) for count in (FEW, MANY)}
        grown = in_proportion(lambda n, made=made, by=dialect, to=target: adapt(made[n], source=by, target=to))  # type: ignore[misc]
        assert grown is None, (dialect, target, grown)


def test_every_dialect_and_every_target_is_compiled_in_proportion() -> None:
    for line in REQUESTS:
        dialects, targets = map(set, zip(*pairs(line), strict=True))
        assert (dialects, targets) == ({*line.dialects}, {*TARGETS}), line.name
    assert {pair for line in REQUESTS for pair in pairs(line)} == {*product(DIALECTS, TARGETS)}


def content_of(answer: bytes) -> bytes:
    return answer.partition(b"\r\n\r\n")[2]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("line", [*ANSWERS, *STREAMS], ids=lambda line: f"{line.name}, {line.dialect}")
def test_a_hostile_answer_is_translated_in_proportion(line: Answer) -> None:
    made = {count: content_of(line.make(count)) for count in (FEW, MANY)}

    def translate(count: int, client: str) -> None:
        translation = Translation(line.dialect, client, context=AnswerContext(model="m", id="x"))
        if line.stream:
            translation.feed(made[count])
            translation.close()
        else:
            translation.whole(made[count])

    for client in DIALECTS:
        grown = in_proportion(partial(translate, client=client))
        assert grown is None, (client, grown)


@pytest.mark.parametrize("line", ERRORS, ids=lambda line: line.name)
def test_a_hostile_error_is_parsed_in_proportion(line: Answer) -> None:
    made = {count: content_of(line.make(count)) for count in (FEW, MANY)}
    assert in_proportion(lambda n: parse_failure(400, {}, made[n])) is None


LARGE = 9_000
MOST_ON_THE_LOOP = 8_000
"""Calls on the event loop for one request: reading it, sending it, answering and logging take some hundreds."""


def calls_on_the_loop(gateway: Running, sent: bytes) -> int:
    """How many functions the event loop calls while a request is answered."""
    count = 0

    def tick(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    async def watch(profile: Any) -> None:
        sys.setprofile(profile)

    assert gateway.loop is not None
    asyncio.run_coroutine_threadsafe(watch(tick), gateway.loop).result(60)
    try:
        ask(gateway, sent)
    finally:
        asyncio.run_coroutine_threadsafe(watch(None), gateway.loop).result(60)
    return count


def large_requests(line: Request) -> Iterator[tuple[str, bytes]]:
    """The heavy bodies of a line, by dialect: the first, each dialect in its turn, and all in the full run."""
    turn = REQUESTS.index(line) % max(1, len(line.dialects))
    for dialect in (*line.dialects[turn:], *line.dialects[:turn]):
        content = line.make(dialect, min(line.count, LARGE)).replace(b"MODEL", b"anthropic/hello")
        if is_heavy(content):
            yield dialect, content
            if not FULL:
                return


@pytest.mark.parametrize("dialect", DIALECTS)
def test_large_requests_of_every_dialect_are_sent(dialect: str) -> None:
    assert any(dialect == sent for line in REQUESTS for sent, _ in large_requests(line))


@pytest.mark.sampled(8)
@pytest.mark.parametrize("line", REQUESTS, ids=lambda line: line.name)
def test_a_large_request_is_worked_on_beside_the_loop(gateway: Running, line: Request) -> None:
    for dialect, content in large_requests(line):
        path = PATHS[dialect].format(model="anthropic/hello")
        small = line.make(dialect, SMALL).replace(b"MODEL", b"anthropic/hello")
        ask(gateway, post(path, small))  # the first of its kind loads code
        assert calls_on_the_loop(gateway, post(path, content)) < MOST_ON_THE_LOOP, dialect


SHORT = 4_000


@pytest.mark.parametrize("line", [line for line in RAW if line.is_heavy], ids=lambda line: line.name)
def test_a_heavy_request_to_any_path_is_worked_on_beside_the_loop(gateway: Running, line: Raw) -> None:
    sent = line.make(SHORT)
    assert is_heavy(sent)
    assert len(sent) < LARGE_BODY
    ask(gateway, sent)  # the first of its kind loads code
    assert calls_on_the_loop(gateway, sent) < MOST_ON_THE_LOOP


def test_a_conversation_that_goes_on_oddly_is_read_beside_the_loop(gateway: Running) -> None:
    """It is known, and would be read on the loop if it went on as it began."""

    def asked(turns: int, *more: Any) -> bytes:
        said = [user("openai-chat", f"{turn} " + "word " * 30) for turn in range(turns)]
        answered = [one for turn in said for one in (turn, {"role": "assistant", "content": "Yes."})]
        content = dump(body("openai-chat", [*answered, user("openai-chat"), *more]))
        return post(PATHS["openai-chat"], content.replace(b"MODEL", b"anthropic/hello"))

    for turns in (1_000, 1_001, 1_002):
        ask(gateway, asked(turns))
    known = calls_on_the_loop(gateway, asked(1_003))
    assert known < MOST_ON_THE_LOOP
    assert calls_on_the_loop(gateway, asked(1_004, "And?")) < MOST_ON_THE_LOOP


# Depth: what can be decoded in one place of the program is too deep a few calls further in.


def deep_answers(dialect: str, depth: int) -> Iterator[bytes]:
    for deep in (b"[" * depth + b"]" * depth, b'{"a":' * depth + b"1" + b"}" * depth):
        yield whole(dialect, extra="E").replace(b'"E"', deep)
        yield whole(dialect, usage="E").replace(b'"E"', deep)
        yield whole(dialect, "T").replace(b'"T"', deep)
        called = whole(dialect, called=1)
        yield called.replace(b'"input":{}', b'"input":' + deep).replace(b'"args":{}', b'"args":' + deep)
        yield called.replace(b'"arguments":"{}"', b'"arguments":"' + deep.replace(b'"', b'\\"') + b'"')


def read_deep_answers(dialect: str, depth: int) -> None:
    for content, client in product(deep_answers(dialect, depth), DIALECTS):
        Translation(dialect, client, context=AnswerContext(model="m", id="x")).whole(content)
        streamed = Translation(dialect, client, context=AnswerContext(model="m", id="x"))
        streamed.feed(b"data: " + content + b"\n\n")
        streamed.close()


@pytest.mark.slow
@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_answer_of_any_depth_is_read_or_refused(dialect: str) -> None:
    limit = sys.getrecursionlimit()
    depths = (limit // 2, *range(limit - 40, limit + 4), 5 * limit)
    with ThreadPoolExecutor(1) as thread:  # the stack of a thread is empty: the depths are the same everywhere
        for depth in depths:
            thread.submit(read_deep_answers, dialect, depth).result()


def test_what_is_odd_in_a_request_is_not_remembered_for_others() -> None:
    """No other request has the same oddities: they would only drive out what agents send on every turn."""
    content = dump(body("openai-chat", ["x"] * MANY))  # type: ignore[list-item]

    def remembered(count: int) -> int:
        POOL.clear()
        for _ in range(count):
            adapt(content, source="openai-chat", target=TARGETS[0])
        return POOL.held

    assert remembered(10) < remembered(1) + len(content)


def test_work_that_is_not_in_proportion_is_noticed() -> None:
    def square(count: int) -> None:
        for _ in range(count * count):
            len(())

    assert in_proportion(square) is not None
