"""What goes out on the wire, what may not, and which way it takes."""

import pytest
from transport_servers import OK, PATIENT, answering, serving

from dragoman.upstream.transport.address import HttpOrigin, parse_address
from dragoman.upstream.transport.failures import ProxyFailed, Unsendable
from dragoman.upstream.transport.outgoing import Outgoing, render_head
from dragoman.upstream.transport.proxy import Proxies, Proxy
from dragoman.upstream.transport.transport import Transport

URL = "http://host.test/path"


def head(outgoing: Outgoing, proxy_header: str | None = None) -> bytes:
    return render_head(outgoing, parse_address(outgoing.url), proxy_header)


async def _pieces():
    yield b""


WRITTEN = [
    (
        Outgoing("GET", "http://host.test"),
        b"GET / HTTP/1.1\r\nhost: host.test\r\naccept-encoding: identity\r\n\r\n",
    ),
    (
        Outgoing("GET", "https://host.test:443/a?b=c#part"),
        b"GET /a?b=c HTTP/1.1\r\nhost: host.test\r\naccept-encoding: identity\r\n\r\n",
    ),
    (
        Outgoing("POST", "http://host.test:8080/x", (("X-Key", "v w"),), b"{}"),
        b"POST /x HTTP/1.1\r\nX-Key: v w\r\nhost: host.test:8080\r\naccept-encoding: identity\r\n"
        b"content-length: 2\r\n\r\n",
    ),
    (
        Outgoing("POST", "http://[::1]:81/"),
        b"POST / HTTP/1.1\r\nhost: [::1]:81\r\naccept-encoding: identity\r\ncontent-length: 0\r\n\r\n",
    ),
    (
        Outgoing("DELETE", URL, (("Accept-Encoding", "gzip"), ("Host", "other.test"))),
        b"DELETE /path HTTP/1.1\r\nAccept-Encoding: gzip\r\nHost: other.test\r\n\r\n",
    ),
    (
        Outgoing("PUT", URL, (("x", "ä\t1"),), _pieces()),
        b"PUT /path HTTP/1.1\r\nx: \xe4\t1\r\nhost: host.test\r\naccept-encoding: identity\r\n"
        b"transfer-encoding: chunked\r\n\r\n",
    ),
]


@pytest.mark.parametrize(("outgoing", "wire"), WRITTEN)
def test_heads_are_written(outgoing: Outgoing, wire: bytes) -> None:
    assert head(outgoing) == wire


def test_a_plain_proxy_is_asked_for_the_whole_url() -> None:
    wire = head(Outgoing("GET", "http://host.test:81/a?b"), "proxy-authorization: Basic eA==")
    assert wire.startswith(b"GET http://host.test:81/a?b HTTP/1.1\r\n")
    assert wire.endswith(b"\r\nproxy-authorization: Basic eA==\r\n\r\n")


REFUSED = [
    Outgoing("GET", "/relative"),
    Outgoing("GET", "ftp://host.test/"),
    Outgoing("GET", "http:///path"),
    Outgoing("GET", "http://user:secret@host.test/"),
    Outgoing("GET", "http://host.test:99999/"),
    Outgoing("GET", "http://host.test:0/"),
    Outgoing("GET", "http://host.test:x/"),
    Outgoing("GET", "http://[::1/"),
    Outgoing("GET", "http://ho_st%0d.test/"),
    Outgoing("GET", "http://host.test\\@evil.test/"),
    Outgoing("GET", "http://host.test/a b"),
    Outgoing("GET", "http://host.test/a\r\nx: y"),
    Outgoing("GET", "http://host.test/a\nb"),
    Outgoing("GET", "http://host.test/\t"),
    Outgoing("GET", "http://host.test/\x00"),
    Outgoing("GET", "http://host.test/ä"),
    Outgoing("GET", "http://host.test\r\nx:/"),
    Outgoing("GET / HTTP/1.1\r\nx: y\r\n\r\nGET", URL),
    Outgoing("G T", URL),
    Outgoing("", URL),
    Outgoing("CONNECT", URL),
    Outgoing("connect", URL),
    *[
        Outgoing("POST", URL, ((name, "v"),))
        for name in ("", "a b", "a:", "a\r\nb", "a\n", "a\x00", "ä", " a", "a\t", "(a)", "a,b", "a;b", "a/b", '"a"')
    ],
    *[
        Outgoing("POST", URL, (("name", value),))
        for value in ("a\r\nb: c", "a\nb", "a\rb", "\r\n\r\nGET /", "a\x00b", "a\x1bb", "a\x7fb", "中", "a\u2028b")
    ],
    *[
        Outgoing("POST", URL, ((name, "1"),))
        for name in ("content-length", "Content-Length", "Transfer-Encoding", "connection", "upgrade", "expect", "te")
    ],
    Outgoing("POST", URL, (("host", "a"), ("Host", "b"))),
]


@pytest.mark.parametrize("outgoing", REFUSED, ids=lambda o: ascii((o.method, o.url, o.headers)))
async def test_what_could_break_out_of_its_place_is_refused(outgoing: Outgoing) -> None:
    async with Transport(proxies=Proxies()) as transport:
        with pytest.raises(Unsendable, match=r"^request: .+\. [A-Z].+") as caught:
            await transport.send(outgoing, PATIENT)
        assert "secret" not in str(caught.value)
        assert transport.stats.open == 0


def test_refused_requests_leave_no_pools_behind() -> None:
    transport = Transport(proxies=Proxies())
    for number in range(50):
        transport._new_pool(HttpOrigin("http", f"host{number}.test", 80))
    assert len(transport._pools) == 1


ENVIRONMENTS: list[tuple[dict[str, str], str, str | None]] = [
    ({}, "http://a.test/", None),
    ({"HTTP_PROXY": "http://p:1"}, "http://a.test/", "http://p:1"),
    ({"HTTP_PROXY": "http://p:1"}, "https://a.test/", None),
    ({"HTTPS_PROXY": "http://p:1"}, "https://a.test/", "http://p:1"),
    ({"https_proxy": "http://low:1", "HTTPS_PROXY": "http://up:1"}, "https://a.test/", "http://low:1"),
    ({"ALL_PROXY": "p:3128"}, "https://a.test/", "http://p:3128"),
    ({"ALL_PROXY": "https://p"}, "http://a.test/", "https://p"),
    ({"ALL_PROXY": "http://all:1", "HTTP_PROXY": "http://own:1"}, "http://a.test/", "http://own:1"),
    ({"HTTP_PROXY": "http://evil:1", "REQUEST_METHOD": "GET"}, "http://a.test/", None),
    ({"ALL_PROXY": "http://p:1"}, "http://localhost:1/", None),
    ({"ALL_PROXY": "http://p:1"}, "http://127.0.0.5/", None),
    ({"ALL_PROXY": "http://p:1"}, "http://[::1]/", None),
    ({"ALL_PROXY": "http://p:1", "NO_PROXY": "*"}, "http://a.test/", None),
    ({"ALL_PROXY": "http://p:1", "NO_PROXY": "a.test"}, "http://a.test/", None),
    ({"ALL_PROXY": "http://p:1", "NO_PROXY": "a.test"}, "http://sub.a.test/", None),
    ({"ALL_PROXY": "http://p:1", "NO_PROXY": "a.test"}, "http://ba.test/", "http://p:1"),
    ({"ALL_PROXY": "http://p:1", "no_proxy": " x.test , .A.test"}, "http://sub.a.test/", None),
    ({"ALL_PROXY": "http://p:1", "NO_PROXY": "*.a.test"}, "http://sub.a.test/", None),
    ({"ALL_PROXY": "http://p:1", "NO_PROXY": "a.test:81"}, "http://a.test/", "http://p:1"),
    ({"ALL_PROXY": "http://p:1", "NO_PROXY": "a.test:81"}, "http://a.test:81/", None),
    ({"ALL_PROXY": "http://p:1", "NO_PROXY": "10.0.0.0/8"}, "http://10.1.2.3/", None),
    ({"ALL_PROXY": "http://p:1", "NO_PROXY": "10.0.0.0/8"}, "http://11.1.2.3/", "http://p:1"),
    ({"ALL_PROXY": "http://p:1", "NO_PROXY": "10.0.0.0/8,fd00::/8"}, "http://[fd00::1]/", None),
    ({"ALL_PROXY": "http://p:1", "NO_PROXY": "not/a/network"}, "http://a.test/", "http://p:1"),
]


@pytest.mark.parametrize(("environ", "url", "proxy"), ENVIRONMENTS)
def test_the_environment_chooses_the_proxy(environ: dict[str, str], url: str, proxy: str | None) -> None:
    found = Proxies.from_environment(environ).for_origin(parse_address(url).origin)
    assert (None if found is None else str(found.origin)) == proxy


def test_a_proxy_has_its_credentials_in_its_url() -> None:
    assert Proxy.parse("http://user:p%40ss@p:1").credentials == "proxy-authorization: Basic dXNlcjpwQHNz"
    assert Proxy.parse("http://p:1").credentials == ""


@pytest.mark.parametrize("url", ["socks5://user:secret@p:1", "http://", "http://user:secret@p:x"])
async def test_an_unusable_proxy_is_refused_by_name(url: str) -> None:
    async with Transport(proxies=Proxies(http=url)) as transport:
        with pytest.raises(ProxyFailed) as caught:
            await transport.send(Outgoing("GET", URL), PATIENT)
        assert "secret" not in str(caught.value)


async def test_the_environment_is_read_without_being_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(answering(OK)) as raw:
        monkeypatch.setenv("http_proxy", f"http://user:pass@127.0.0.1:{raw.port}")
        async with Transport() as transport:
            answer = await transport.send(Outgoing("GET", "http://nobody.invalid/a?b"), PATIENT)
            assert await answer.read(9) == b"ok"
        assert raw.heard[0].startswith(b"GET http://nobody.invalid/a?b HTTP/1.1\r\nhost: nobody.invalid\r\n")
        assert b"\r\nproxy-authorization: Basic dXNlcjpwYXNz\r\n" in raw.heard[0]
