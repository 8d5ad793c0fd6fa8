"""Servers that lie, storm, drip and never end: every inquiry ends within its budget, with what it knows for sure."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from random import Random

import msgspec
import pytest

from dragoman.errors import ProbeError
from dragoman.probe.asked_dialects import find_asked_dialect
from dragoman.probe.findings import ProbeFinding
from dragoman.probe.inquiry import Inquiry
from dragoman.probe.live.address import SoughtServer, find_server
from dragoman.probe.live.asking import ProbeRun, ProbeTally
from dragoman.probe.live.budget import ProbeBudget
from dragoman.probe.live.probed_server import ProbedServer
from dragoman.probe.question import Verdict
from dragoman.upstream.transport.transport import Transport

Answer = tuple[int, bytes, str]
"""Status, body, and further header lines."""
Script = Callable[[int, bytes], Answer]
"""The answer to the n-th request with this body."""

GOOD = b'{"choices":[{"index":0,"message":{"role":"assistant","content":"A"},"finish_reason":"length"}]}'
QUICK = ProbeBudget(requests=40, seconds=120.0, rate=1000.0)


def refusal(message: str, status: int = 400, more: str = "") -> Answer:
    return status, msgspec.json.encode({"error": {"message": message, "type": "invalid_request_error"}}), more


class HostileServer:
    """Answers by a script. `write` may write more than an answer, or less."""

    def __init__(self, script: Script, write: Callable[[asyncio.StreamWriter], AsyncIterator[bytes]] | None) -> None:
        self.count = 0
        self._script = script
        self._write = write

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    (int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0
                )
                body = await reader.readexactly(length)
                self.count += 1
                await self._answer(writer, body)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, writer: asyncio.StreamWriter, body: bytes) -> None:
        if self._write is not None:
            async for piece in self._write(writer):
                writer.write(piece)
                await writer.drain()
            return
        status, content, more = self._script(self.count, body)
        head = f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n{more}content-length: {len(content)}\r\n\r\n"
        writer.write(head.encode() + content)
        await writer.drain()


@asynccontextmanager
async def serving(server: HostileServer) -> AsyncIterator[str]:
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        listening.close()


class Outcome(msgspec.Struct, frozen=True):
    tally: ProbeTally
    findings: tuple[ProbeFinding, ...]
    received: int
    seconds: float

    @property
    def refused(self) -> set[str]:
        return {one.question for one in self.findings if one.verdict is Verdict.REFUSED}


def probe(
    script: Script = lambda count, body: (200, GOOD, ""),
    write: Callable[[asyncio.StreamWriter], AsyncIterator[bytes]] | None = None,
    budget: ProbeBudget = QUICK,
    model: str = "m",
) -> Outcome:
    async def run() -> Outcome:
        server, inquiry = HostileServer(script, write), Inquiry(find_asked_dialect())
        started = time.monotonic()
        async with serving(server) as url, Transport() as transport:
            place = ProbedServer(f"{url}/chat/completions", model)
            tally = await ProbeRun(place, transport, budget).run(inquiry)
        return Outcome(tally, inquiry.findings, server.count, time.monotonic() - started)

    return asyncio.run(run())


def test_a_friendly_server_is_asked_few_questions() -> None:
    found = probe(budget=ProbeBudget(requests=60, seconds=120.0, rate=1000.0))
    # A stream is asked for once, and this server does not stream: that question stays open.
    assert (found.tally.ended, found.refused) == ("", set())
    assert len(found.findings) > 80
    assert found.received == found.tally.requests <= 40


def test_a_server_that_turns_to_refusing_everything_settles_nothing_more() -> None:
    found = probe(lambda count, body: (200, GOOD, "") if count <= 4 else refusal("No."))
    assert found.refused == set()
    assert "refuses what it took before" in found.tally.ended


def test_a_server_that_takes_back_a_refusal_is_not_trusted() -> None:
    """It refuses what it is asked first, and accepts it at the end."""
    refusals = itertools.count()

    def script(count: int, body: bytes) -> Answer:
        first = b"developer" in body and next(refusals) == 0
        return refusal("unknown variant `developer`") if first else (200, GOOD, "")

    found = probe(script, budget=ProbeBudget(requests=60, seconds=120.0, rate=1000.0))
    assert "accepts what it refused before (developer-role)" in found.tally.ended
    assert found.refused == set()


def test_a_model_that_could_not_finish_took_the_request() -> None:
    words = "Could not finish the message because max_tokens or model output limit was reached. Please try again."
    found = probe(lambda count, body: refusal(words))
    assert (found.tally.ended, found.refused) == ("", set())


def test_nothing_is_sent_without_a_token_limit() -> None:
    sent: list[bytes] = []

    def script(count: int, body: bytes) -> Answer:
        sent.append(body)
        return refusal("no limits here") if b"max_" in body else (200, GOOD, "")

    found = probe(script)
    assert "refuses a plain request" in found.tally.ended
    assert len(sent) == 4
    assert all(b"max_" in body for body in sent)


def test_a_storm_of_429_ends_in_time() -> None:
    found = probe(lambda count, body: refusal("slow down", 429, "retry-after: 0\r\n"))
    assert "busy" in found.tally.ended
    assert (found.findings, found.received) == ((), 6)


def test_a_long_wait_is_not_waited_for() -> None:
    found = probe(lambda count, body: refusal("slow down", 429, "retry-after: 3600\r\n"))
    assert "3600" in found.tally.ended
    assert found.received == 1


def test_a_short_wait_is_waited_for_and_the_question_asked_again() -> None:
    def script(count: int, body: bytes) -> Answer:
        return refusal("slow down", 429, "retry-after: 0\r\n") if count in (2, 5) else (200, GOOD, "")

    found = probe(script)
    assert (found.tally.ended, found.refused) == ("", set())


@pytest.mark.parametrize(
    ("status", "message", "ended"),
    [
        (401, "Incorrect API key provided", "key"),
        (402, "Insufficient credits", "quota"),
        (429, "You exceeded your current quota, please check your plan and billing details", "quota"),
    ],
)
def test_it_stops_at_a_refused_key_and_a_spent_quota(status: int, message: str, ended: str) -> None:
    found = probe(lambda count, body: (200, GOOD, "") if count <= 3 else refusal(message, status))
    assert ended in found.tally.ended
    assert found.received == 4


def test_an_unknown_model_is_no_answer() -> None:
    found = probe(lambda count, body: refusal("The model `m` does not exist", 404))
    assert "does not exist" in found.tally.ended
    assert (found.findings, found.received) == ((), 1)


def test_a_server_that_fails_now_and_then_is_asked_again() -> None:
    failing = itertools.cycle([False, False, True])

    def script(count: int, body: bytes) -> Answer:
        return refusal("internal error", 500) if next(failing) else (200, GOOD, "")

    found = probe(script, budget=ProbeBudget(requests=80, seconds=120.0, rate=1000.0))
    assert found.refused == set()


@pytest.mark.parametrize(
    "content",
    [b"<html>Log in first</html>", b"", b"\xff\xfe\x00", b"[]", b'{"ok":true}', b"[" * 100_000],
    ids=["page", "nothing", "bytes", "list", "other", "deep"],
)
def test_garbage_is_no_acceptance(content: bytes) -> None:
    found = probe(lambda count, body: (200, content, ""))
    assert found.findings == ()
    assert "this is no answer" in found.tally.ended


def test_a_redirect_is_named_and_not_followed() -> None:
    found = probe(lambda count, body: (307, b"", "location: http://127.0.0.1:1/elsewhere\r\n"))
    assert "http://127.0.0.1:1/elsewhere" in found.tally.ended
    assert found.received == 1


async def _endless(writer: asyncio.StreamWriter) -> AsyncIterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
    for _ in itertools.count():
        yield b"10000\r\n" + b" " * 0x10000 + b"\r\n"


async def _dripping(writer: asyncio.StreamWriter) -> AsyncIterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n"
    for _ in itertools.count():
        yield b" "
        await asyncio.sleep(0.02)


async def _hanging_up(writer: asyncio.StreamWriter) -> AsyncIterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{"
    writer.close()


@pytest.mark.parametrize("write", [_endless, _dripping, _hanging_up], ids=["endless", "dripping", "hanging up"])
def test_answers_without_an_end_do_not_hold_it(
    write: Callable[[asyncio.StreamWriter], AsyncIterator[bytes]],
) -> None:
    budget = ProbeBudget(requests=40, seconds=0.6, rate=1000.0, answer_seconds=0.2)
    found = probe(write=write, budget=budget)
    assert found.findings == ()
    assert found.tally.ended
    assert found.received < 10


def test_the_budget_of_requests_is_never_exceeded() -> None:
    words: Iterator[int] = itertools.count()

    def script(count: int, body: bytes) -> Answer:
        """Refuses every group in words that help nobody."""
        asked = msgspec.json.decode(body)
        plain = len(asked["messages"]) == 1 and asked.keys() <= {"model", "messages", "max_tokens"}
        return (200, GOOD, "") if plain else refusal(f"no {next(words)}")

    found = probe(script, budget=ProbeBudget(requests=25, seconds=120.0, rate=1000.0))
    assert found.received == found.tally.requests == 25
    assert "25 requests" in found.tally.ended


def test_a_key_in_a_refusal_is_not_kept() -> None:
    async def run() -> tuple[ProbeFinding, ...]:
        def script(count: int, body: bytes) -> Answer:
            odd = b"developer" in body
            return refusal("`developer` is refused for sk-secret") if odd else (200, GOOD, "")

        inquiry = Inquiry(find_asked_dialect())
        async with serving(HostileServer(script, None)) as url, Transport() as transport:
            place = ProbedServer(f"{url}/chat/completions", "m")
            redact = lambda words: words.replace("sk-secret", "[REDACTED]")  # noqa: E731
            await ProbeRun(place, transport, QUICK, redact=redact).run(inquiry)
        return inquiry.findings

    says = [one.says for one in asyncio.run(run()) if one.verdict is Verdict.REFUSED]
    assert says == ["`developer` is refused for [REDACTED]"]


def find(script: Script, model: str = "") -> str:
    async def run() -> str:
        async with serving(HostileServer(script, None)) as url, Transport() as transport:
            return (await find_server(SoughtServer(url.removesuffix("/v1"), model), transport, 5.0)).server.model

    return asyncio.run(run())


def test_the_first_model_of_the_list_is_asked() -> None:
    listed = msgspec.json.encode({"data": [{"id": "one"}, {"id": "two"}]})
    assert find(lambda count, body: (200, listed, "")) == "one"


@pytest.mark.parametrize("content", [b"{}", b'{"data":[{"id":7},{}]}', b'{"data":[]}'])
def test_without_a_list_a_model_must_be_named(content: bytes) -> None:
    with pytest.raises(ProbeError, match="--model"):
        find(lambda count, body: (200, content, ""))


def test_a_server_without_chat_is_told_so() -> None:
    with pytest.raises(ProbeError, match="serves none of /chat/completions, "):
        find(lambda count, body: (404, b"<html>", ""), "m")


MIXED = ProbeBudget(requests=150, seconds=120.0, rate=1000.0)
LENIENT = ProbeBudget(requests=60, seconds=120.0, rate=1000.0)


def _flaky(bad: Callable[[], Answer], seed: int, share: float = 0.3) -> Script:
    """A server that takes everything, and answers this way now and then."""
    drawn = Random(seed)
    return lambda count, body: bad() if drawn.random() < share else (200, GOOD, "")


OUTAGES: dict[str, Callable[[], Answer]] = {
    "a rate limit": lambda: refusal("slow down", 429, "retry-after: 0\r\n"),
    "a rate limit in a 200": lambda: (200, b'{"error":{"message":"Rate limit reached"}}', "retry-after: 0\r\n"),
    "an outage": lambda: refusal("internal error", 500),
    "an outage in a 200": lambda: (200, b'{"error":{"message":"The engine is starting"}}', ""),
    "an outage in plain text": lambda: (502, b"upstream connect error", ""),
    "a page": lambda: (403, b"<html><body>Checking your browser</body></html>", ""),
    "a page of a proxy": lambda: (502, b"<html>Bad gateway</html>", ""),
    "a model that is not loaded on every replica": lambda: refusal("The model `m` does not exist", 404),
    "no answer": lambda: (200, b"", ""),
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("outage", OUTAGES)
def test_an_outage_is_hardly_ever_stored_as_a_refusal(outage: str) -> None:
    """A question that fails whenever it is asked, among others that do not, looks refused: of 60 such servers, the ones
    that answer 404 mislead seven, those that answer 500 one."""
    found = [probe(_flaky(OUTAGES[outage], seed), budget=MIXED) for seed in range(4)]
    assert [len(one.refused) for one in found if one.refused] in ([], [1])
    assert all(one.received <= MIXED.requests for one in found)


def test_a_server_that_answers_at_random_is_not_believed() -> None:
    """It refuses in clear words what it accepts the next time. Of 60 such servers 55 are found out; of the others no
    refusal is kept but for two."""
    found = [probe(_flaky(lambda: refusal("No."), seed), budget=MIXED) for seed in range(6)]
    assert [one.refused for one in found] == [set()] * 6
    assert sum(bool(one.tally.ended) for one in found) >= 5


def test_a_refusal_by_500_is_found_between_outages() -> None:
    """Some servers refuse with 500, also while others of their answers are outages."""
    drawn = Random(3)

    def script(count: int, body: bytes) -> Answer:
        if b'"developer"' in body:
            return refusal("Unexpected message role.", 500)
        return refusal("internal error", 500) if drawn.random() < 0.15 else (200, GOOD, "")

    found = probe(script, budget=MIXED)
    assert found.refused <= {"developer-role"}
    assert "developer-role" in {one.question for one in found.findings if one.verdict is not Verdict.ACCEPTED}


def test_a_stream_in_place_of_an_answer_is_one() -> None:
    found = probe(lambda count, body: (200, b'data: {"choices":[]}\n\ndata: [DONE]\n\n', ""), budget=LENIENT)
    assert (found.tally.ended, found.refused) == ("", set())


def test_a_redirect_in_the_middle_ends_it_with_what_is_known() -> None:
    def script(count: int, body: bytes) -> Answer:
        if b'"developer"' in body:
            return refusal("unknown variant `developer`")
        return (200, GOOD, "") if count <= 6 else (302, b"", "location: http://127.0.0.1:1/login\r\n")

    found = probe(script)
    assert "http://127.0.0.1:1/login" in found.tally.ended
    assert found.findings
    assert found.refused <= {"developer-role"}


def test_models_of_one_server_are_told_apart() -> None:
    """What one model refuses says nothing about another."""

    def script(count: int, body: bytes) -> Answer:
        refused = msgspec.json.decode(body)["model"] == "strict" and b'"developer"' in body
        return refusal("unknown variant `developer`") if refused else (200, GOOD, "")

    found = {model: probe(script, budget=LENIENT, model=model).refused for model in ("strict", "open")}
    assert found == {"strict": {"developer-role"}, "open": set()}
