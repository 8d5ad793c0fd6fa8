"""Who gets which connection, when it is given back, and that none is ever lost."""

import asyncio
import socket

import pytest
from transport_servers import (
    OK,
    PATIENT,
    SHORT,
    Act,
    Line,
    answering,
    ask,
    on_a_stepped_clock,
    on_both_loops,
    serving,
    settled,
    silent,
    step,
    then_stall,
    whole,
)

from dragoman.upstream.transport.connection import Connection
from dragoman.upstream.transport.failures import (
    BrokenResponse,
    ConnectFailed,
    Phase,
    PoolFull,
    TimedOut,
    TransportClosed,
)
from dragoman.upstream.transport.limits import Stats, Timeouts, TransportLimits
from dragoman.upstream.transport.outgoing import Outgoing
from dragoman.upstream.transport.transport import Transport

ONE = TransportLimits(per_origin=1)
PART = b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok"


async def slowly(line: Line) -> None:
    while True:
        await line.request()
        await asyncio.sleep(0.01)
        await line.say(OK)


@on_both_loops
async def test_two_hundred_requests_share_ten_connections() -> None:
    most = 0

    all_asked = asyncio.Event()

    async def counted(line: Line) -> None:
        nonlocal most
        most = max(most, line.raw.open)
        await all_asked.wait()
        await slowly(line)

    async with serving(counted) as raw, Transport(TransportLimits(per_origin=10)) as transport:
        answers = asyncio.gather(*(whole(transport, raw.url, timeouts=Timeouts()) for _ in range(200)))
        assert await settled(lambda: transport.stats == Stats(10, 0, 190))
        all_asked.set()
        assert await answers == [b"ok"] * 200
        assert (most, raw.connections, len(raw.heard)) == (10, 10, 200)
        assert transport.stats == Stats(10, 10, 0)
    assert transport.stats == Stats(0, 0, 0)


@on_both_loops
async def test_the_queue_is_served_in_order() -> None:
    async with serving(slowly) as raw, Transport(ONE) as transport:
        await asyncio.gather(*(whole(transport, f"{raw.url}/{n}", timeouts=Timeouts()) for n in range(20)))
    assert [heard.split()[1] for heard in raw.heard] == [b"/%d" % n for n in range(20)]


@on_both_loops
async def test_the_queue_is_served_in_order_when_no_connection_can_be_kept() -> None:
    closing = OK.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n")
    async with serving(answering(closing, times=1)) as raw, Transport(TransportLimits(per_origin=3)) as transport:
        assert (
            await asyncio.gather(*(whole(transport, raw.url, timeouts=Timeouts()) for _ in range(30))) == [b"ok"] * 30
        )
        assert raw.connections == 30
        assert await settled(lambda: transport.stats == Stats(0, 0, 0))
        assert not transport._pools, "an origin without connections is forgotten"


@on_both_loops
async def test_a_full_queue_refuses_at_once() -> None:
    async with serving(silent) as raw, Transport(TransportLimits(per_origin=1, queued=2)) as transport:
        waiting = [asyncio.create_task(whole(transport, raw.url, timeouts=Timeouts())) for _ in range(3)]
        assert await settled(lambda: transport.stats.queued == 2)
        with pytest.raises(PoolFull, match=r"2 requests already wait.*limits\.queued") as caught:
            await whole(transport, raw.url)
        assert not caught.value.sent
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        assert await settled(lambda: transport.stats == Stats(0, 0, 0))


@pytest.mark.parametrize(
    ("timeouts", "phase"),
    [
        (Timeouts(queue=0.05), Phase.QUEUE),
        (Timeouts(total=0.05), Phase.TOTAL),
        (Timeouts(queue=9, total=0.05), Phase.TOTAL),
    ],
)
@on_both_loops
async def test_waiting_in_the_queue_has_an_end(timeouts: Timeouts, phase: Phase) -> None:
    async with serving(silent) as raw, Transport(ONE) as transport:
        first = asyncio.create_task(whole(transport, raw.url, timeouts=Timeouts()))
        assert await settled(lambda: transport.stats.open == 1)
        with pytest.raises(TimedOut) as caught:
            await whole(transport, raw.url, timeouts=timeouts)
        assert caught.value.phase is phase
        assert transport.stats == Stats(1, 0, 0)
        first.cancel()


@on_both_loops
async def test_connecting_has_an_end() -> None:
    async with serving(silent) as raw, Transport() as transport:
        url = raw.url.replace("http:", "https:")  # a server that never answers the TLS hello
        with pytest.raises(TimedOut) as caught:
            await whole(transport, url, timeouts=Timeouts(connect=0.1))
        assert caught.value.phase is Phase.CONNECT
        assert not caught.value.sent
        assert await settled(lambda: transport.stats == Stats(0, 0, 0) and raw.open == 0)


@on_both_loops
async def test_no_server_is_a_failed_connection() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/secret?key=secret"
        async with Transport(ONE) as transport:
            for _ in range(2):
                with pytest.raises(ConnectFailed, match="cannot be reached") as caught:
                    await whole(transport, url)
                assert "secret" not in str(caught.value)
            assert transport.stats == Stats(0, 0, 0)


@on_both_loops
async def test_no_name_is_a_failed_connection() -> None:
    async with Transport() as transport:
        with pytest.raises(ConnectFailed):
            await whole(transport, "http://nobody.invalid/", timeouts=Timeouts(connect=60))


async def _once_then_hang_up(line: Line) -> None:
    await line.request()
    await line.say(OK)
    await line.request()


async def _once_then_reset(line: Line) -> None:
    await _once_then_hang_up(line)
    line.reset()


@pytest.mark.parametrize("dying", [_once_then_hang_up, _once_then_reset])
@on_both_loops
async def test_a_kept_connection_that_dies_unheard_is_replaced_once(dying: Act) -> None:
    async with serving(dying, slowly) as raw, Transport(ONE) as transport:
        assert await whole(transport, raw.url) == b"ok"
        answer = await ask(transport, raw.url)
        assert (await answer.read(9), answer.reused) == (b"ok", False)
        assert (raw.connections, len(raw.heard)) == (2, 3)


@pytest.mark.parametrize(
    ("method", "leave", "heard"),
    [("POST", None, 2), ("POST", False, 2), ("POST", True, 3), ("GET", None, 3), ("DELETE", None, 2)],
)
@on_both_loops
async def test_what_may_have_been_read_is_sent_again_only_by_leave(method: str, leave: bool | None, heard: int) -> None:
    async with serving(_once_then_hang_up, slowly) as raw, Transport(ONE) as transport:
        assert await whole(transport, raw.url) == b"ok"
        outgoing = Outgoing(method, raw.url, (), b"" if method == "GET" else b"{}")
        sending = transport.send(outgoing, PATIENT, None if leave is None else lambda: leave)
        if heard == 3:
            assert await (await sending).read(9) == b"ok"
        else:
            with pytest.raises(BrokenResponse):
                await sending
        assert len(raw.heard) == heard


@on_both_loops
async def test_a_request_that_needs_a_replacement_is_the_next_in_the_queue() -> None:
    async with serving(_once_then_hang_up, slowly) as raw, Transport(ONE) as transport:
        assert await whole(transport, raw.url) == b"ok"
        await asyncio.gather(*(whole(transport, f"{raw.url}/{n}") for n in range(4)))
    assert [heard.split()[1] for heard in raw.heard] == [b"/", b"/0", b"/1", b"/0", b"/2", b"/3"]


async def _once_then_part(line: Line) -> None:
    await _once_then_hang_up(line)
    await line.say(b"H")


async def _once_then_nothing(line: Line) -> None:
    await _once_then_hang_up(line)
    await line.reader.read()


@pytest.mark.parametrize(
    ("acts", "error", "requests"),
    [
        ((_once_then_part, slowly), BrokenResponse, 2),
        ((_once_then_nothing, slowly), TimedOut, 2),
        ((_once_then_hang_up, answering(times=1)), BrokenResponse, 3),
        ((answering(times=1),), BrokenResponse, 1),
    ],
    ids=["a byte came", "it only stalls", "the fresh one dies too", "it was fresh"],
)
@on_both_loops
async def test_nothing_else_is_sent_twice(acts: tuple[Act, ...], error: type[Exception], requests: int) -> None:
    async with serving(*acts) as raw, Transport() as transport:
        if len(acts) > 1:
            assert await whole(transport, raw.url) == b"ok"
        with pytest.raises(error):
            await whole(transport, raw.url, timeouts=SHORT if error is TimedOut else PATIENT)
        assert len(raw.heard) == requests
        assert await settled(lambda: transport.stats == Stats(0, 0, 0))


@on_both_loops
async def test_a_connection_the_server_closes_is_forgotten() -> None:
    async with serving(answering(OK, times=1)) as raw, Transport() as transport:
        assert await whole(transport, raw.url) == b"ok"
        assert await settled(lambda: transport.stats == Stats(0, 0, 0))
        assert await whole(transport, raw.url) == b"ok"
        assert raw.connections == 2


PATIENT_SERVER = b"HTTP/1.1 200 OK\r\nkeep-alive: timeout=%d, max=9\r\ncontent-length: 2\r\n\r\nok"


@pytest.mark.parametrize(
    ("limits", "answer", "kept"),
    [
        (TransportLimits(idle_seconds=20), OK, 20),
        (TransportLimits(idle_seconds=20), PATIENT_SERVER % 60, 20),
        (TransportLimits(idle_seconds=60), PATIENT_SERVER % 20, 16),
    ],
    ids=["ours", "ours is shorter", "theirs is shorter"],
)
@on_a_stepped_clock
async def test_idle_connections_are_retired(limits: TransportLimits, answer: bytes, kept: float) -> None:
    async with serving(answering(answer)) as raw, Transport(limits) as transport:
        assert await whole(transport, raw.url) == b"ok"
        await step(kept - 0.5)
        assert transport.stats == Stats(1, 1, 0)
        await step(1)
        assert transport.stats == Stats(0, 0, 0)
        while raw.open:  # noqa: ASYNC110
            await asyncio.sleep(0)


@on_both_loops
async def test_a_body_that_cannot_be_sent_twice_gets_a_fresh_connection() -> None:
    async def body():
        yield b"once"

    async with serving(slowly) as raw, Transport(ONE) as transport:
        assert await whole(transport, raw.url) == b"ok"
        answer = await transport.send(Outgoing("POST", raw.url, (), body()), PATIENT)
        assert (await answer.read(9), answer.reused, raw.connections) == (b"ok", False, 2)
        assert await whole(transport, raw.url) == b"ok"
        busy = asyncio.create_task(whole(transport, raw.url))
        await asyncio.sleep(0)
        answer = await transport.send(Outgoing("POST", raw.url, (), body()), PATIENT)
        assert (await answer.read(9), answer.reused, raw.connections) == (b"ok", False, 3)
        assert await busy == b"ok"
        assert transport.stats == Stats(1, 1, 0)


async def _endless():
    while True:
        yield bytes(1_000_000)


CANCELLED: list[tuple[str, Act, str]] = [
    ("connect", silent, "https"),
    ("send", lambda line: asyncio.sleep(9), "stream"),
    ("first byte", silent, "http"),
    ("head", then_stall(b"HTTP/1.1 200 OK\r\nx: "), "http"),
    ("body", then_stall(PART), "http"),
    ("compressed body", then_stall(PART.replace(b"\r\n\r\nok", b"\r\ncontent-encoding: gzip\r\n\r\n\x1f\x8b")), "http"),
]


@pytest.mark.parametrize(("act", "how"), [case[1:] for case in CANCELLED], ids=[case[0] for case in CANCELLED])
@on_both_loops
async def test_cancelling_drops_the_connection_and_serves_the_next(act: Act, how: str) -> None:
    async with serving(act, slowly) as raw, Transport(ONE) as transport:
        url = raw.url.replace("http", "https") if how == "https" else raw.url
        outgoing = Outgoing("POST", url, (), _endless() if how == "stream" else b"{}")

        async def exchange() -> None:
            await (await transport.send(outgoing, Timeouts())).read(10)

        first = asyncio.create_task(exchange())
        assert await settled(lambda: transport.stats.open == 1)
        await asyncio.sleep(0.05)  # so that it is in the phase of its name
        second = asyncio.create_task(whole(transport, raw.url, timeouts=Timeouts()))
        await asyncio.sleep(0.02)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        assert await second == b"ok"
        assert await settled(lambda: transport.stats == Stats(1, 1, 0))


@on_both_loops
async def test_cancelling_as_the_connection_is_made_leaves_nothing_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """uvloop closes the socket then, and tells nobody."""
    made = Connection.connection_made

    def cancel(connection: Connection, transport: asyncio.BaseTransport) -> None:
        made(connection, transport)
        leaving.cancel()

    async with serving(slowly) as raw, Transport(ONE) as transport:
        with monkeypatch.context() as patched:
            patched.setattr(Connection, "connection_made", cancel)
            leaving = asyncio.create_task(whole(transport, raw.url))
            with pytest.raises(asyncio.CancelledError):
                await leaving
        assert await settled(lambda: transport.stats == Stats(0, 0, 0), 5)
        assert await whole(transport, raw.url) == b"ok"


@on_both_loops
async def test_cancelling_in_the_queue_leaves_no_gap() -> None:
    all_asked = asyncio.Event()

    async def waiting(line: Line) -> None:
        await all_asked.wait()
        await slowly(line)

    async with serving(waiting) as raw, Transport(ONE) as transport:
        tasks = [asyncio.create_task(whole(transport, f"{raw.url}/{n}", timeouts=Timeouts())) for n in range(6)]
        assert await settled(lambda: transport.stats.queued == 5)
        for task in tasks[1:5:2]:
            task.cancel()
        all_asked.set()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert [r for r in results if r == b"ok"] == [b"ok"] * 4
        assert transport.stats == Stats(1, 1, 0)


@pytest.mark.parametrize("kept", [True, False], ids=["a connection", "a place"])
@on_both_loops
async def test_what_is_handed_to_a_waiter_that_leaves_goes_to_the_next(kept: bool) -> None:
    answer = OK if kept else OK.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n")
    async with serving(answering(answer)) as raw, Transport(ONE) as transport:
        busy = asyncio.create_task(whole(transport, raw.url, timeouts=Timeouts()))
        await asyncio.sleep(0)
        leaving = asyncio.create_task(whole(transport, raw.url, timeouts=Timeouts()))
        staying = asyncio.create_task(whole(transport, raw.url, timeouts=Timeouts()))
        while transport.stats.queued != 1:  # noqa: ASYNC110 the very step in which `leaving` is given its turn
            await asyncio.sleep(0)
        leaving.cancel()
        assert await staying == b"ok"
        assert await busy == b"ok"
        with pytest.raises(asyncio.CancelledError):
            await leaving
        assert await settled(lambda: transport.stats in (Stats(1, 1, 0), Stats(0, 0, 0)))


@on_both_loops
async def test_closing_an_answer_early_drops_the_connection_and_reading_on_fails() -> None:
    async with serving(then_stall(PART)) as raw, Transport() as transport:
        async with await ask(transport, raw.url) as answer:
            assert await anext(answer) == b"ok"
        assert await settled(lambda: transport.stats == Stats(0, 0, 0) and raw.open == 0)
        with pytest.raises(TransportClosed):
            await anext(answer)


@on_both_loops
async def test_closing_a_finished_answer_keeps_the_connection() -> None:
    async with serving(slowly) as raw, Transport() as transport:
        answer = await ask(transport, raw.url)
        await answer.close()
        assert await whole(transport, raw.url) == b"ok"
        assert raw.connections == 1


@on_both_loops
async def test_an_answer_has_one_reader() -> None:
    async with serving(then_stall(PART)) as raw, Transport() as transport:
        answer = await ask(transport, raw.url)
        await anext(answer)
        first = asyncio.create_task(answer.read(100))
        await asyncio.sleep(0.01)
        with pytest.raises(RuntimeError, match="one reader"):
            await answer.read(100)
        first.cancel()


@on_both_loops
async def test_close_ends_everything() -> None:
    async with serving(slowly, then_stall(PART), silent) as raw:
        transport = Transport(TransportLimits(per_origin=3))
        kept = await ask(transport, raw.url)
        busy = [asyncio.create_task(ask(transport, raw.url, timeouts=Timeouts())) for _ in range(3)]
        await asyncio.sleep(0.1)
        queued = [asyncio.create_task(whole(transport, raw.url, timeouts=Timeouts())) for _ in range(3)]
        await asyncio.sleep(0.02)
        await transport.close()
        await transport.close()
        assert transport.stats == Stats(0, 0, 0)
        results = await asyncio.gather(*busy, *queued, return_exceptions=True)
        assert all(r == b"ok" or isinstance(r, TransportClosed) or r.status == 200 for r in results)
        assert sum(isinstance(r, TransportClosed) for r in results) >= 1
        assert await kept.read(9) == b"ok", "what has arrived can still be read"
        with pytest.raises(TransportClosed):
            await ask(transport, raw.url)
        assert await settled(lambda: raw.open == 0)


@on_both_loops
async def test_no_task_is_left_behind() -> None:
    async with serving(slowly) as raw, Transport() as transport:
        for_origin = asyncio.all_tasks()
        answer = await ask(transport, raw.url)
        lines = asyncio.all_tasks() - for_origin
        assert len(lines) == 1, "the server's own"
        await answer.read(9)
