"""TLS: who is trusted, who is not, and the tunnel through a proxy."""

import asyncio
import contextlib
import ssl
from pathlib import Path

import pytest
from transport_servers import OK, Line, answering, ask, on_both_loops, serving, settled, silent, whole

from dragoman.upstream.transport.failures import ProxyFailed, TimedOut, TlsFailed
from dragoman.upstream.transport.limits import Stats, Timeouts
from dragoman.upstream.transport.outgoing import Outgoing
from dragoman.upstream.transport.proxy import Proxies
from dragoman.upstream.transport.tls import Tls
from dragoman.upstream.transport.transport import Transport

trustme = pytest.importorskip("trustme", reason="makes the certificates")
PATIENT = Timeouts(connect=60, first_byte=60)


@pytest.fixture(scope="module")
def authority() -> "trustme.CA":
    return trustme.CA()


@pytest.fixture
def ca_file(authority: "trustme.CA", tmp_path: Path) -> str:
    path = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(path)
    return str(path)


def server_side(authority: "trustme.CA", *names: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names).configure_cert(context)
    return context


@on_both_loops
async def test_a_custom_authority_is_trusted_and_the_connection_kept(authority, ca_file: str) -> None:
    async with serving(answering(OK), tls=server_side(authority, "127.0.0.1")) as raw:
        async with Transport(tls=Tls(ca_file)) as transport:
            for turn in range(3):
                answer = await ask(transport, raw.url, timeouts=PATIENT)
                assert (await answer.read(9), answer.reused) == (b"ok", turn > 0)
            assert transport.stats == Stats(1, 1, 0)
        assert await settled(lambda: raw.open == 0)


@on_both_loops
async def test_large_bodies_pass_in_both_directions(authority, ca_file: str) -> None:
    reply = b"HTTP/1.1 200 OK\r\ncontent-length: 3000000\r\n\r\n" + bytes(3_000_000)
    async with (
        serving(answering(reply), tls=server_side(authority, "127.0.0.1")) as raw,
        Transport(tls=Tls(ca_file)) as transport,
    ):
        for _ in range(2):
            answer = await transport.send(Outgoing("POST", raw.url, (), bytes(2_000_000)), PATIENT)
            assert len(await answer.read(3_000_000)) == 3_000_000
        assert raw.connections == 1


@on_both_loops
async def test_the_name_is_sent_so_that_a_server_can_choose_its_certificate(authority, ca_file: str) -> None:
    names: list[str | None] = []
    context = server_side(authority, "localhost")
    context.sni_callback = lambda _socket, name, _context: names.append(name)
    async with serving(answering(OK), tls=context) as raw, Transport(tls=Tls(ca_file)) as transport:
        assert await whole(transport, f"https://localhost:{raw.port}", timeouts=PATIENT) == b"ok"
    assert names == ["localhost"]


@on_both_loops
async def test_a_close_delimited_body_ends_with_the_tls_session(authority, ca_file: str) -> None:
    act = answering(b"HTTP/1.1 200 OK\r\n\r\nsome", b" more", times=1)
    async with (
        serving(act, tls=server_side(authority, "127.0.0.1")) as raw,
        Transport(tls=Tls(ca_file)) as transport,
    ):
        assert await whole(transport, raw.url, timeouts=PATIENT) == b"some more"
        assert await settled(lambda: transport.stats == Stats(0, 0, 0))


DISTRUSTED = [
    (
        "an unknown authority",
        ("127.0.0.1",),
        False,
        r"certificate is not trusted \(.*\)\. .*set ca_file of its provider",
    ),
    ("another host's certificate", ("other.test",), True, "not trusted .*127.0.0.1"),
]


@pytest.mark.parametrize(("names", "known", "says"), [case[1:] for case in DISTRUSTED], ids=[c[0] for c in DISTRUSTED])
@on_both_loops
async def test_a_server_that_cannot_prove_itself_is_refused(authority, ca_file, names, known, says) -> None:
    async with serving(answering(OK), tls=server_side(authority, *names)) as raw:
        async with Transport(tls=Tls(ca_file if known else None)) as transport:
            with pytest.raises(TlsFailed, match=says):
                await whole(transport, raw.url, timeouts=PATIENT)
            assert await settled(lambda: transport.stats == Stats(0, 0, 0))
        async with Transport(tls=Tls(verify=False)) as transport:
            assert await whole(transport, raw.url, timeouts=PATIENT) == b"ok"
        assert len(raw.heard) == 1, "nothing is sent to a server that is not trusted"


@on_both_loops
async def test_a_server_without_tls_is_refused() -> None:
    async def plain(line: Line) -> None:
        await line.say(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async with serving(plain) as raw, Transport() as transport:
        with pytest.raises(TlsFailed, match=r"it does not speak TLS .*Write http:// in"):
            await whole(transport, raw.url.replace("http", "https"), timeouts=PATIENT)
        assert await settled(lambda: transport.stats == Stats(0, 0, 0))


async def test_an_unreadable_authority_is_named(tmp_path: Path) -> None:
    async with Transport(tls=Tls(str(tmp_path / "none.pem"))) as transport:
        with pytest.raises(TlsFailed, match=r"none\.pem.*cannot be read"):
            await whole(transport, "https://127.0.0.1:1/")


def tunnel_to(port: int, answer: bytes = b"HTTP/1.1 200 Connected\r\nvia: test\r\n\r\n"):
    """A CONNECT proxy that leads everybody to one port."""

    async def act(line: Line) -> None:
        await line.request()
        await line.say(answer[:9], answer[9:])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            await asyncio.gather(_copy(line.reader, writer), _copy(reader, line.writer))
        finally:
            writer.close()

    return act


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while block := await reader.read(65536):
        writer.write(block)
        await writer.drain()
    with contextlib.suppress(OSError, RuntimeError, NotImplementedError):
        writer.close()


@on_both_loops
async def test_https_goes_through_the_proxy_in_a_tunnel(authority, ca_file: str) -> None:
    async with (
        serving(answering(OK), tls=server_side(authority, "api.test")) as origin,
        serving(tunnel_to(origin.port)) as proxy,
        Transport(tls=Tls(ca_file), proxies=Proxies(https=f"http://me:pw@127.0.0.1:{proxy.port}")) as transport,
    ):
        for turn in range(2):
            answer = await ask(transport, "https://api.test/v1", timeouts=PATIENT)
            assert (await answer.read(9), answer.reused) == (b"ok", turn > 0)
        assert proxy.heard == [
            b"CONNECT api.test:443 HTTP/1.1\r\nhost: api.test:443\r\nproxy-authorization: Basic bWU6cHc=\r\n\r\n"
        ]
        assert origin.heard[0].startswith(b"POST /v1 HTTP/1.1\r\nhost: api.test\r\n")
        assert b"proxy" not in origin.heard[0]


@on_both_loops
async def test_the_tunnel_does_not_weaken_the_check(authority, ca_file: str) -> None:
    async with (
        serving(answering(OK), tls=server_side(authority, "other.test")) as origin,
        serving(tunnel_to(origin.port)) as proxy,
        Transport(tls=Tls(ca_file), proxies=Proxies(https=f"http://127.0.0.1:{proxy.port}")) as transport,
    ):
        with pytest.raises(TlsFailed, match="not trusted"):
            await whole(transport, "https://api.test/", timeouts=PATIENT)
        assert await settled(lambda: transport.stats == Stats(0, 0, 0) and proxy.open == 0)


@on_both_loops
async def test_a_proxy_may_itself_speak_tls(authority, ca_file: str) -> None:
    async with (
        serving(answering(OK), tls=server_side(authority, "api.test")) as origin,
        serving(tunnel_to(origin.port), tls=server_side(authority, "127.0.0.1")) as proxy,
        Transport(tls=Tls(ca_file), proxies=Proxies(https=f"https://127.0.0.1:{proxy.port}")) as transport,
    ):
        assert await whole(transport, "https://api.test/", timeouts=PATIENT) == b"ok"


REFUSALS = [
    ("credentials", b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", r"407.*user:password"),
    ("forbidden", b"HTTP/1.1 403 Not Here\r\n\r\n", r"403 Not Here.*NO_PROXY"),
    ("no proxy at all", b"SSH-2.0-x\r\n\r\n", "does not answer CONNECT"),
    ("endless", b"HTTP/1.1 200 OK\r\nx: " + b"y" * 40_000, "does not answer CONNECT"),
    ("bytes ahead", b"HTTP/1.1 200 OK\r\n\r\nevil", "before the tunnel was open"),
]


@pytest.mark.parametrize(("answer", "says"), [case[1:] for case in REFUSALS], ids=[case[0] for case in REFUSALS])
@on_both_loops
async def test_a_proxy_that_refuses_is_quoted(answer: bytes, says: str) -> None:
    async with (
        serving(answering(answer)) as proxy,
        Transport(proxies=Proxies(https=f"http://me:secret@127.0.0.1:{proxy.port}")) as transport,
    ):
        with pytest.raises(ProxyFailed, match=says) as caught:
            await whole(transport, "https://api.test/", timeouts=PATIENT)
        assert "secret" not in str(caught.value)
        assert await settled(lambda: transport.stats == Stats(0, 0, 0) and proxy.open == 0)


@on_both_loops
async def test_a_proxy_that_hangs_up_stalls_or_is_not_there() -> None:
    async with serving(answering(times=1)) as proxy:
        url = f"http://127.0.0.1:{proxy.port}"
        async with Transport(proxies=Proxies(https=url)) as transport:
            with pytest.raises(ProxyFailed, match="closed the connection"):
                await whole(transport, "https://api.test/")
    async with Transport(proxies=Proxies(url, url)) as transport:
        for scheme in ("http", "https"):
            with pytest.raises(ProxyFailed, match="cannot be reached"):
                await whole(transport, f"{scheme}://api.test/")
    async with (
        serving(silent) as proxy,
        Transport(proxies=Proxies(https=f"http://127.0.0.1:{proxy.port}")) as transport,
    ):
        with pytest.raises(TimedOut):
            await ask(transport, "https://api.test/", timeouts=Timeouts(connect=0.3))
        assert await settled(lambda: transport.stats == Stats(0, 0, 0) and proxy.open == 0)
