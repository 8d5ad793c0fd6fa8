"""What the transport makes of every answer a server can give, honest or not."""

import asyncio
import gzip
import zlib
from collections.abc import Awaitable

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
    then_reset,
    then_stall,
    whole,
)

from dragoman.upstream.transport.connection import BodyFraming
from dragoman.upstream.transport.decoding import PIECE, Inflater
from dragoman.upstream.transport.failures import (
    BrokenResponse,
    Phase,
    TimedOut,
    TooLarge,
    TransportFailure,
    UnknownEncoding,
)
from dragoman.upstream.transport.limits import Timeouts, TransportLimits
from dragoman.upstream.transport.outgoing import Outgoing
from dragoman.upstream.transport.transport import Transport

H = b"HTTP/1.1 200 OK\r\n"
CHUNKED = H + b"transfer-encoding: chunked\r\n\r\n"
CLOSE = H + b"content-length: 2\r\nconnection: close\r\n\r\nok"
EARLY = b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n"


HONEST: list[tuple[str, tuple[bytes, ...], bytes, bool]] = [
    ("length", (OK,), b"ok", True),
    ("length zero", (H + b"content-length: 0\r\n\r\n",), b"", True),
    ("chunked", (CHUNKED + b"2\r\nok\r\n1\r\n!\r\n0\r\n\r\n",), b"ok!", True),
    ("chunk extension", (CHUNKED + b"2;a=b\r\nok\r\n0\r\n\r\n",), b"ok", True),
    ("trailers", (CHUNKED + b"2\r\nok\r\n0\r\nx-sum: 1\r\n\r\n",), b"ok", True),
    ("upper case names", (b"HTTP/1.1 200 OK\r\nTRANSFER-ENCODING: Chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",), b"ok", True),
    ("no reason phrase", (b"HTTP/1.1 200\r\ncontent-length: 2\r\n\r\nok",), b"ok", True),
    ("100 first", (b"HTTP/1.1 100 Continue\r\n\r\n" + OK,), b"ok", True),
    ("103 twice, late", (EARLY, EARLY, OK), b"ok", True),
    ("connection: close", (CLOSE,), b"ok", False),
    ("http/1.0", (b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok",), b"ok", False),
    (
        "http/1.0 keep-alive",
        (b"HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\nok",),
        b"ok",
        True,
    ),
    ("byte by byte", tuple(bytes([b]) for b in CHUNKED + b"2\r\nok\r\n0\r\n\r\n"), b"ok", True),
    ("cut in the head", (OK[:9], OK[9:30], OK[30:]), b"ok", True),
    (
        "gzip",
        (H + b"content-encoding: gzip\r\ncontent-length: 22\r\n\r\n" + gzip.compress(b"ok", mtime=0),),
        b"ok",
        True,
    ),
    ("204", (b"HTTP/1.1 204 No Content\r\n\r\n",), b"", True),
    ("304 with a length", (b"HTTP/1.1 304 Not Modified\r\ncontent-length: 99\r\n\r\n",), b"", True),
]


@pytest.mark.parametrize(
    ("pieces", "body", "reusable"), [case[1:] for case in HONEST], ids=[case[0] for case in HONEST]
)
@on_both_loops
async def test_honest_answers_are_read_and_the_connection_kept(pieces, body, reusable) -> None:
    async with serving(answering(*pieces)) as raw, Transport() as transport:
        for _ in range(2):
            answer = await ask(transport, raw.url, timeouts=PATIENT)
            assert await answer.read(100) == body
        assert answer.reused is reusable
        assert raw.connections == (1 if reusable else 2)
        assert transport.stats.idle == int(reusable)


@on_both_loops
async def test_a_close_delimited_body_ends_with_the_connection() -> None:
    async with serving(answering(H + b"\r\nsome", b" more", times=1)) as raw, Transport() as transport:
        assert await whole(transport, raw.url) == b"some more"
        assert await settled(lambda: transport.stats.open == 0)


@on_both_loops
async def test_HEAD_has_no_body_whatever_its_length_says() -> None:
    async with serving(answering(H + b"content-length: 5000\r\n\r\n")) as raw, Transport() as transport:
        for turn in range(3):
            answer = await ask(transport, raw.url, "HEAD", b"")
            assert (await answer.read(10), answer.header("content-length"), answer.reused) == (b"", "5000", turn > 0)


@on_both_loops
async def test_head_and_headers_arrive_before_the_body() -> None:
    act = then_stall(H + b"X-One: 1\r\nx-one: 2\r\ncontent-length: 5\r\n\r\nab")
    async with serving(act) as raw, Transport() as transport:
        answer = await ask(transport, raw.url)
        assert (answer.status, answer.header("x-one"), answer.header("absent")) == (200, "1", None)
        assert [pair for pair in answer.headers if pair[0] == "x-one"] == [("x-one", "1"), ("x-one", "2")]
        assert await anext(answer) == b"ab"
        await answer.close()
        await answer.close()


@on_both_loops
async def test_pieces_come_as_they_arrive() -> None:
    pieces = (CHUNKED, b"1\r\na\r\n", b"2\r\nbb\r\n3\r\nccc\r\n", b"0\r\n\r\n")
    async with serving(answering(*pieces)) as raw, Transport() as transport:
        answer = await ask(transport, raw.url)
        assert [piece async for piece in answer] == [b"a", b"bbccc"]


BROKEN: list[tuple[str, Act]] = [
    ("hangs up at once", answering(times=1)),
    ("hangs up in the status line", answering(b"HTTP/1.", times=1)),
    ("hangs up in the headers", answering(H + b"x: y", times=1)),
    ("hangs up in a counted body", answering(H + b"content-length: 10\r\n\r\nok", times=1)),
    ("hangs up in a chunk", answering(CHUNKED + b"a\r\nok", times=1)),
    ("hangs up between chunks", answering(CHUNKED + b"2\r\nok\r\n", times=1)),
    ("hangs up before the last line", answering(CHUNKED + b"2\r\nok\r\n0\r\n", times=1)),
    ("hangs up after a 100", answering(b"HTTP/1.1 100 Continue\r\n\r\n", times=1)),
    ("reset at once", then_reset()),
    ("reset in the headers", then_reset(H + b"x: y")),
    ("reset in a counted body", then_reset(H + b"content-length: 10\r\n\r\nok")),
    ("reset in a chunked body", then_reset(CHUNKED + b"2\r\nok\r\n")),
    ("reset in a close-delimited body", then_reset(H + b"\r\nok")),
    ("not http", then_stall(b"SSH-2.0-OpenSSH_9.6\r\n")),
    ("a bad status", then_stall(b"HTTP/1.1 2x0 OK\r\n\r\n")),
    ("http/2", then_stall(b"HTTP/2.0 200 OK\r\ncontent-length: 2\r\n\r\nok")),
    ("http/0.9", then_stall(b"<html>hello</html>\r\n")),
    ("switches protocols", then_stall(b"HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n")),
    (
        "length and chunked",
        then_stall(H + b"content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"),
    ),
    (
        "chunked and length",
        then_stall(H + b"transfer-encoding: chunked\r\ncontent-length: 2\r\n\r\n2\r\nok\r\n0\r\n\r\n"),
    ),
    ("two lengths", then_stall(H + b"content-length: 2\r\ncontent-length: 3\r\n\r\nok!")),
    ("two equal lengths", then_stall(H + b"content-length: 2\r\ncontent-length: 2\r\n\r\nok")),
    ("a list of lengths", then_stall(H + b"content-length: 2, 2\r\n\r\nok")),
    ("a signed length", then_stall(H + b"content-length: +2\r\n\r\nok")),
    ("a negative length", then_stall(H + b"content-length: -2\r\n\r\nok")),
    ("a hex length", then_stall(H + b"content-length: 0x2\r\n\r\nok")),
    ("an endless length", then_stall(H + b"content-length: " + b"9" * 30 + b"\r\n\r\nok")),
    ("gzip as transfer coding", then_stall(H + b"transfer-encoding: gzip, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n")),
    ("identity as transfer coding", then_stall(H + b"transfer-encoding: identity\r\n\r\nok")),
    ("chunked twice", then_stall(H + b"transfer-encoding: chunked, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n")),
    ("two transfer codings", then_stall(H + b"transfer-encoding: x\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n")),
    ("a disguised coding", then_stall(H + b"transfer-encoding: xchunked\r\n\r\n2\r\nok\r\n0\r\n\r\n")),
    ("chunked in 1.0", then_stall(b"HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n")),
    ("a chunk size that is none", then_stall(CHUNKED + b"zz\r\nok\r\n0\r\n\r\n")),
    ("a negative chunk size", then_stall(CHUNKED + b"-2\r\nok\r\n0\r\n\r\n")),
    ("a chunk size with 0x", then_stall(CHUNKED + b"0x2\r\nok\r\n0\r\n\r\n")),
    ("an overflowing chunk size", then_stall(CHUNKED + b"fffffffffffffffff\r\nok")),
    ("a chunk longer than it says", then_stall(CHUNKED + b"2\r\nokay\r\n0\r\n\r\n")),
    ("a space before the colon", then_stall(H + b"content-length : 2\r\n\r\nok")),
    ("a line without a colon", then_stall(H + b"nonsense\r\n\r\nok")),
    ("a NUL in a header", then_stall(H + b"x: a\x00b\r\ncontent-length: 2\r\n\r\nok")),
    ("a bare CR in a header", then_stall(H + b"x: a\rb\r\ncontent-length: 2\r\n\r\nok")),
]


@pytest.mark.parametrize("act", [case[1] for case in BROKEN], ids=[case[0] for case in BROKEN])
@on_both_loops
async def test_broken_answers_are_refused_and_the_connection_dropped(act: Act) -> None:
    async with serving(act) as raw, Transport() as transport:
        with pytest.raises(BrokenResponse, match=r"http://127\.0\.0\.1:\d+: "):
            await whole(transport, raw.url)
        assert await settled(lambda: transport.stats.open == 0)
        assert raw.connections == 1


POISON = [
    ("garbage", b"garbage"),
    ("a whole second answer", b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil"),
    ("the start of a second answer", b"HTTP/1.1 200 OK\r\nx-"),
    ("one byte of it", b"H"),
]


@pytest.mark.parametrize("late", [False, True], ids=["glued", "later"])
@pytest.mark.parametrize("poison", [case[1] for case in POISON], ids=[case[0] for case in POISON])
@pytest.mark.parametrize("answer", [OK, CHUNKED + b"2\r\nok\r\n0\r\n\r\n"], ids=["length", "chunked"])
@on_both_loops
async def test_what_follows_an_answer_never_becomes_the_next_one(answer: bytes, poison: bytes, late: bool) -> None:
    pieces = (answer, poison) if late else (answer + poison,)
    async with serving(then_stall(*pieces), answering(OK)) as raw, Transport() as transport:
        assert await whole(transport, raw.url) == b"ok"
        assert await settled(lambda: transport.stats.open == 0)
        assert await whole(transport, raw.url) == b"ok"
        assert raw.connections == 2


@pytest.mark.parametrize("method", ["HEAD", "GET"])
@on_both_loops
async def test_a_body_where_none_may_be_spoils_the_connection(method: str) -> None:
    lie = b"HTTP/1.1 %s\r\ncontent-length: 4\r\n\r\nevil" % (b"200 OK" if method == "HEAD" else b"304 Not Modified")
    async with serving(then_stall(lie), answering(OK)) as raw, Transport() as transport:
        assert await (await ask(transport, raw.url, method, b"")).read(10) == b""
        assert await whole(transport, raw.url) == b"ok"
        assert raw.connections == 2


@on_both_loops
async def test_a_body_longer_than_its_length_is_cut_and_the_connection_dropped() -> None:
    async with serving(then_stall(H + b"content-length: 2\r\n\r\nokay")) as raw, Transport() as transport:
        assert await whole(transport, raw.url) == b"ok"
        assert await settled(lambda: transport.stats.open == 0)


STALLS: list[tuple[str, Act, Phase]] = [
    ("never answers", silent, Phase.FIRST_BYTE),
    ("stops in the status line", then_stall(b"HTTP/1."), Phase.FIRST_BYTE),
    ("stops in the headers", then_stall(H + b"x: y\r\n"), Phase.FIRST_BYTE),
    ("stops after a 100", then_stall(b"HTTP/1.1 100 Continue\r\n\r\n"), Phase.FIRST_BYTE),
    ("stops after the head", then_stall(H + b"content-length: 9\r\n\r\n"), Phase.IDLE),
    ("stops in the body", then_stall(H + b"content-length: 9\r\n\r\nok"), Phase.IDLE),
    ("stops in a chunk", then_stall(CHUNKED + b"9\r\nok"), Phase.IDLE),
    ("stops before the end", then_stall(CHUNKED + b"2\r\nok\r\n"), Phase.IDLE),
    ("never closes", then_stall(H + b"\r\nok"), Phase.IDLE),
]


@pytest.mark.parametrize(("act", "phase"), [case[1:] for case in STALLS], ids=[case[0] for case in STALLS])
@on_both_loops
async def test_stalls_end_in_the_timeout_of_their_phase(act: Act, phase: Phase) -> None:
    async with serving(act) as raw, Transport() as transport:
        with pytest.raises(TimedOut, match=f"Raise the {phase} timeout") as caught:
            await whole(
                transport, raw.url, timeouts=Timeouts(first_byte=0.1 if phase is Phase.FIRST_BYTE else 60, idle=0.1)
            )
        assert caught.value.phase is phase
        assert await settled(lambda: transport.stats.open == 0 and raw.open == 0)


@on_both_loops
async def test_total_ends_an_answer_that_drips() -> None:
    async def drip(line: Line) -> None:
        await line.request()
        await line.say(CHUNKED, *[b"1\r\n.\r\n"] * 100, pause=0.02)

    async with serving(drip) as raw, Transport() as transport:
        with pytest.raises(TimedOut) as caught:
            await whole(transport, raw.url, timeouts=Timeouts(idle=60, total=0.5))
        assert caught.value.phase is Phase.TOTAL


def dot_by_dot(go_on: asyncio.Event) -> Act:
    """Say a dot at once, and another one each time the event is set."""

    async def act(line: Line) -> None:
        await line.request()
        await line.say(CHUNKED)
        while True:
            await line.say(b"1\r\n.\r\n")
            await go_on.wait()
            go_on.clear()

    return act


async def begin(reading: Awaitable[bytes]) -> asyncio.Future[bytes]:
    """Start to read, so that the timeout counts from this moment of the clock."""
    begun = asyncio.ensure_future(reading)
    await asyncio.sleep(0)
    return begun


@on_a_stepped_clock
async def test_idle_counts_from_piece_to_piece() -> None:
    go_on = asyncio.Event()
    async with serving(dot_by_dot(go_on)) as raw, Transport() as transport:
        answer = await ask(transport, raw.url, timeouts=Timeouts(idle=10))
        assert await anext(answer) == b"."
        for _ in range(4):
            reading = await begin(anext(answer))
            await step(6)
            go_on.set()
            assert await reading == b"."
        reading = await begin(anext(answer))
        await step(6)
        await step(6)
        with pytest.raises(TimedOut):
            await reading


@on_a_stepped_clock
async def test_idle_does_not_count_while_the_reader_is_away() -> None:
    go_on = asyncio.Event()
    async with serving(dot_by_dot(go_on)) as raw, Transport() as transport:
        answer = await ask(transport, raw.url, timeouts=Timeouts(idle=10))
        assert await anext(answer) == b"."
        await step(30)
        reading = await begin(anext(answer))
        await step(6)
        go_on.set()
        assert await reading == b"."


@on_both_loops
async def test_a_large_head_is_refused_even_if_it_comes_in_one_piece_with_its_body() -> None:
    wire = H + b"x-a: %b\r\n" % (b"v" * 1000) * 25 + OK[len(H) :]
    async with serving(answering(wire)) as raw:
        async with Transport(TransportLimits(max_headers=20_000)) as transport:
            with pytest.raises(TooLarge, match="headers of the answer are longer than 20000 bytes"):
                await whole(transport, raw.url)
        async with Transport() as transport:
            assert await whole(transport, raw.url) == b"ok"


@on_both_loops
async def test_a_long_stream_of_small_chunks_is_no_large_head() -> None:
    async def drip(line: Line) -> None:
        await line.request()
        await line.say(CHUNKED, *[b"1\r\n", b".", b"\r\n"] * 40, b"0\r\n\r\n", pause=0.001)

    async with serving(drip) as raw, Transport(TransportLimits(max_headers=120)) as transport:
        assert await whole(transport, raw.url) == b"." * 40


@on_both_loops
async def test_an_answer_before_the_request_was_taken_costs_the_connection() -> None:
    async def hasty(line: Line) -> None:
        await line.reader.readuntil(b"\r\n\r\n")
        await line.say(OK)
        await asyncio.sleep(600)

    async with serving(hasty, answering(OK)) as raw, Transport() as transport:
        answer = await ask(transport, raw.url, body=bytes(30_000_000))
        assert await answer.read(9) == b"ok"
        assert await whole(transport, raw.url) == b"ok"
        assert raw.connections == 2


FRAMED: list[tuple[list[tuple[str, str]], str, str]] = [
    ([("content-length", "2")], "1.1", ""),
    ([("transfer-encoding", "Chunked")], "1.1", ""),
    ([], "1.0", ""),
    ([("content-length", "2"), ("content-length", "2")], "1.1", "twice"),
    ([("content-length", "\u0662")], "1.1", "not a plain number"),
    ([("content-length", "2"), ("transfer-encoding", "chunked")], "1.1", "although it has a length"),
    ([("transfer-encoding", "chunked"), ("transfer-encoding", "chunked")], "1.1", "transfer-encoding"),
    ([("transfer-encoding", "chunked")], "1.0", "HTTP/1.0"),
    ([], "2.0", "HTTP/2.0"),
]


@pytest.mark.parametrize(("headers", "version", "fault"), FRAMED)
def test_contradictions_are_found_without_the_parsers_help(headers, version: str, fault: str) -> None:
    found = BodyFraming.parse(headers, version).error
    assert fault in found
    assert bool(found) is bool(fault)


ENDLESS: list[tuple[str, bytes, bytes]] = [
    ("headers", H, b"x-a: %b\r\n" % (b"v" * 1000)),
    ("one header", H + b"x-a: ", b"v" * 1000),
    ("one header name", H, b"v" * 1000),
    ("a reason phrase", b"HTTP/1.1 200 ", b"v" * 1000),
    ("interim answers", b"", EARLY * 10),
    ("trailers", CHUNKED + b"0\r\n", b"x-a: %b\r\n" % (b"v" * 1000)),
    ("a chunk extension", CHUNKED + b"2;x=", b"v" * 1000),
]


@pytest.mark.parametrize(("start", "more"), [case[1:] for case in ENDLESS], ids=[case[0] for case in ENDLESS])
@on_both_loops
async def test_endless_heads_are_refused(start: bytes, more: bytes) -> None:
    async with (
        serving(then_stall(start + more * 400)) as raw,
        Transport(TransportLimits(max_headers=20_000)) as transport,
    ):
        with pytest.raises(TooLarge, match="headers"):
            await whole(transport, raw.url)
        assert await settled(lambda: transport.stats.open == 0)


@pytest.mark.parametrize("head", [H + b"content-length: 100\r\n\r\n", CHUNKED + b"64\r\n", H + b"\r\n"])
@on_both_loops
async def test_bodies_over_the_limit_are_refused(head: bytes) -> None:
    async with serving(then_stall(head + b"x" * 100)) as raw, Transport() as transport:
        with pytest.raises(TooLarge, match="longer than 99 bytes"):
            await whole(transport, raw.url, limit=99)
        assert await settled(lambda: transport.stats.open == transport.stats.idle)


def _raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


PACKED = [
    ("gzip", b"gzip", gzip.compress(b"hello" * 100)),
    ("x-gzip", b"X-GZip", gzip.compress(b"hello" * 100)),
    ("two members", b"gzip", gzip.compress(b"hello" * 50) * 2),
    ("deflate", b"deflate", zlib.compress(b"hello" * 100)),
    ("raw deflate", b"deflate", _raw_deflate(b"hello" * 100)),
    ("identity", b"identity", b"hello" * 100),
]


@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize(("encoding", "body"), [case[1:] for case in PACKED], ids=[case[0] for case in PACKED])
@on_both_loops
async def test_compressed_bodies_are_opened(encoding: bytes, body: bytes, size: int) -> None:
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(c), c) for c in (body[i : i + size] for i in range(0, len(body), size)))
    head = H + b"transfer-encoding: chunked\r\ncontent-encoding: " + encoding + b"\r\n\r\n"
    async with serving(answering(head + chunks + b"0\r\n\r\n")) as raw, Transport() as transport:
        assert await whole(transport, raw.url) == b"hello" * 100
        answer = await ask(transport, raw.url)
        assert b"".join([piece async for piece in answer]) == b"hello" * 100
        assert answer.reused


@pytest.mark.parametrize("step", [1, 9, 1 << 20])
@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress, _raw_deflate])
def test_bodies_that_fill_their_pieces_exactly_are_whole(pack, step: int) -> None:
    for size in [n * PIECE + d for n in (1, 2, 3) for d in (-259, -258, -1, 0, 1, 258)]:
        packed = pack(bytes(size))
        inflater = Inflater("here", "gzip" if pack is gzip.compress else "deflate")
        length = 0
        for start in range(0, len(packed), step):
            inflater.feed(packed[start : start + step])
            while piece := inflater.piece():
                assert len(piece) <= PIECE
                length += len(piece)
        inflater.finish()
        assert length == size


@on_both_loops
async def test_a_bomb_meets_the_limit_and_not_the_memory() -> None:
    bomb = gzip.compress(bytes(20_000_000))
    head = H + b"content-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(bomb)
    async with serving(answering(head + bomb)) as raw, Transport() as transport:
        with pytest.raises(TooLarge):
            await whole(transport, raw.url, limit=300_000)
        answer = await ask(transport, raw.url)
        assert len(await anext(answer)) <= 65536
        await answer.close()


SPOILT = [
    ("brotli", b"br", b"xx", UnknownEncoding, "'br'.*identity"),
    ("zstd", b"zstd", b"xx", UnknownEncoding, "'zstd'"),
    ("gzip twice", b"gzip, gzip", b"xx", UnknownEncoding, "'gzip, gzip'"),
    ("cut gzip", b"gzip", gzip.compress(b"hello" * 100)[:-4], BrokenResponse, "is incomplete"),
    ("garbage", b"gzip", b"this is not gzip", BrokenResponse, "damaged"),
]


@pytest.mark.parametrize(("encoding", "body", "error", "says"), [c[1:] for c in SPOILT], ids=[c[0] for c in SPOILT])
@on_both_loops
async def test_unreadable_encodings_are_refused(encoding, body, error, says) -> None:
    head = H + b"content-encoding: %b\r\ncontent-length: %d\r\n\r\n" % (encoding, len(body))
    async with serving(answering(head + body)) as raw, Transport() as transport:
        with pytest.raises(error, match=says):
            await whole(transport, raw.url)


@on_both_loops
async def test_a_slow_reader_slows_the_server_down() -> None:
    sent = 0

    async def flood(line: Line) -> None:
        nonlocal sent
        await line.request()
        await line.say(H + b"content-length: 50000000\r\n\r\n")
        for _ in range(500):
            line.writer.write(bytes(100_000))
            await line.writer.drain()
            sent += 100_000
        await line.request()
        await line.say(OK)

    async with serving(flood) as raw, Transport(TransportLimits(buffer=100_000)) as transport:
        answer = await ask(transport, raw.url, timeouts=PATIENT)
        await anext(answer)
        await asyncio.sleep(0.3)
        assert sent < 25_000_000, "the rest must wait in the kernel, not in our memory"
        assert answer.size < 500_000
        size = 0
        async for piece in answer:
            size += len(piece)
        assert sent == 50_000_000
        assert await whole(transport, raw.url) == b"ok"


@on_both_loops
async def test_a_slow_server_slows_the_body_down() -> None:
    taken = 0

    async def body():
        nonlocal taken
        for _ in range(500):
            taken += 100_000
            yield bytes(100_000)

    async def lazy(line: Line) -> None:
        await line.reader.readuntil(b"\r\n\r\n")
        await asyncio.sleep(0.3)
        assert taken < 25_000_000, "the body must not be read faster than it is sent"
        while not (await line.reader.read(1 << 20)).endswith(b"0\r\n\r\n"):
            pass
        await line.say(OK)

    async with serving(lazy) as raw, Transport() as transport:
        answer = await transport.send(Outgoing("POST", raw.url, (), body()), PATIENT)
        assert (await answer.read(10), taken) == (b"ok", 50_000_000)


@on_both_loops
async def test_a_server_that_takes_nothing_times_out_in_the_send_phase() -> None:
    async def body():
        while True:
            yield bytes(1_000_000)

    async def deaf(line: Line) -> None:
        await asyncio.sleep(600)

    async with serving(deaf) as raw, Transport() as transport:
        with pytest.raises(TimedOut) as caught:
            await transport.send(Outgoing("POST", raw.url, (), body()), SHORT)
        assert caught.value.phase is Phase.SEND


@on_both_loops
async def test_streamed_bodies_are_chunked_and_both_directions_run_at_once() -> None:
    async def body():
        yield b"one"
        yield b""
        await asyncio.sleep(0.02)
        yield b"three"

    async def echo(line: Line) -> None:
        await line.reader.readuntil(b"one\r\n")
        await line.say(CHUNKED + b"3\r\none\r\n")
        assert await line.reader.readexactly(15) == b"5\r\nthree\r\n0\r\n\r\n"
        await line.say(b"5\r\nthree\r\n0\r\n\r\n")
        await line.request()
        await line.say(OK)

    async with serving(echo) as raw, Transport() as transport:
        answer = await transport.send(Outgoing("POST", raw.url, (), body()), PATIENT)
        assert [piece async for piece in answer] == [b"one", b"three"]
        assert await whole(transport, raw.url) == b"ok"
        assert raw.connections == 1


@on_both_loops
async def test_an_answer_before_the_body_is_over_stops_the_body() -> None:
    closed = asyncio.Event()

    async def body():
        try:
            while True:
                yield b"x"
                await asyncio.sleep(0.005)
        finally:
            closed.set()

    async def refuse(line: Line) -> None:
        await line.reader.readuntil(b"\r\n\r\n")
        await line.say(b"HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno")
        await line.reader.read()

    async with serving(refuse) as raw, Transport() as transport:
        answer = await transport.send(Outgoing("POST", raw.url, (), body()), PATIENT)
        assert (answer.status, await answer.read(10)) == (413, b"no")
        await asyncio.wait_for(closed.wait(), 60)
        assert await settled(lambda: transport.stats.open == 0)


@on_both_loops
async def test_a_body_that_fails_fails_the_request_with_its_own_error() -> None:
    async def body():
        yield b"x"
        raise ValueError("the client went away")

    async with serving(silent) as raw, Transport() as transport:
        with pytest.raises(ValueError, match="the client went away"):
            await transport.send(Outgoing("POST", raw.url, (), body()), PATIENT)
        assert await settled(lambda: transport.stats.open == 0 and raw.open == 0)


@on_both_loops
async def test_what_arrived_before_a_failure_is_read_before_it() -> None:
    async with serving(then_reset(CHUNKED + b"2\r\nok\r\n")) as raw, Transport() as transport:
        answer = await ask(transport, raw.url)
        assert await settled(lambda: transport.stats.open == 0)
        assert await anext(answer) == b"ok"
        for _ in range(2):
            with pytest.raises(TransportFailure):
                await anext(answer)
