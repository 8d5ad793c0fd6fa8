"""Addresses that a stranger's URL may not lead to."""

import asyncio

import pytest
from transport_servers import OK, PATIENT, answering, on_both_loops, serving

from dragoman.upstream.transport.address_guard import public_only
from dragoman.upstream.transport.failures import AddressRefused
from dragoman.upstream.transport.limits import Stats
from dragoman.upstream.transport.outgoing import Outgoing
from dragoman.upstream.transport.proxy import Proxies
from dragoman.upstream.transport.transport import Transport

PRIVATE = [
    "127.0.0.1",
    "127.1.2.3",
    "0.0.0.0",
    "10.0.0.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "192.0.2.1",
    "198.18.0.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::1",
    "::",
    "fe80::1",
    "fe80::1%eth0",
    "fc00::1",
    "fd12::1",
    "ff02::1",
    "2001:db8::1",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "2002:7f00:1::",
    "2002:a9fe:a9fe::",
    "64:ff9b::7f00:1",
    "64:ff9b:1::a00:1",
    "192.0.0.8",
    "192.0.0.170",
    "192.88.99.1",
    "198.51.100.1",
    "203.0.113.9",
    "239.255.255.250",
    "fec0::1",
    "febf::1",
    "3fff::1",
    "3fff:fff::1",
    "5f00::1",
    "100::1",
    "4000::1",
    "2001::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:2::1",
    "2001:10::1",
    "2002:101:101::",
    "::1.1.1.1",
    "::ffff:0:127.0.0.1",
    "::ffff:192.0.0.8",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::101:101",
    "nonsense",
]
PUBLIC = [
    "1.1.1.1",
    "93.184.216.34",
    "2606:4700:4700::1111",
    "::ffff:1.1.1.1",
    "64:ff9b::101:101",
    "2620:4f:8000::1",
    "2a00:1450:4001::200e",
    "192.31.196.1",
    "172.32.0.1",
    "100.128.0.1",
    "223.255.255.254",
]


@pytest.mark.parametrize(("address", "allowed"), [*((a, False) for a in PRIVATE), *((a, True) for a in PUBLIC)])
def test_only_the_public_internet_is_public(address: str, allowed: bool) -> None:
    assert public_only(address) is allowed


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f000001", "[::1]", "0"])
@on_both_loops
async def test_no_spelling_of_this_machine_gets_past_the_guard(host: str) -> None:
    async with serving(answering(OK)) as raw, Transport(guard=public_only) as transport:
        with pytest.raises(AddressRefused, match="is not allowed"):
            await transport.send(Outgoing("GET", f"http://{host}:{raw.port}/"), PATIENT)
        assert (raw.connections, transport.stats) == (0, Stats(0, 0, 0))


async def test_one_bad_address_among_good_ones_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.get_running_loop()
    answers = [(2, 1, 6, "", ("1.1.1.1", 80)), (2, 1, 6, "", ("10.0.0.1", 80))]

    async def resolve(*_: object, **__: object):
        return answers

    monkeypatch.setattr(loop, "getaddrinfo", resolve)
    async with Transport(guard=public_only) as transport:
        with pytest.raises(AddressRefused, match=r"10\.0\.0\.1"):
            await transport.send(Outgoing("GET", "http://rebinding.test/"), PATIENT)


@on_both_loops
async def test_an_allowed_address_is_reached() -> None:
    async with serving(answering(OK)) as raw, Transport(guard=lambda address: address == "127.0.0.1") as transport:
        answer = await transport.send(Outgoing("GET", raw.url), PATIENT)
        assert await answer.read(9) == b"ok"


@on_both_loops
async def test_a_proxy_is_not_asked_for_a_forbidden_address() -> None:
    async with (
        serving(answering(OK)) as proxy,
        Transport(proxies=Proxies(http=f"http://127.0.0.1:{proxy.port}"), guard=public_only) as transport,
    ):
        for host in ("169.254.169.254", "[fe80::1]", "0xa9fea9fe", "2852039166", "169.16689662"):
            with pytest.raises(AddressRefused):
                await transport.send(Outgoing("GET", f"http://{host}/latest"), PATIENT)
        answer = await transport.send(Outgoing("GET", "http://public.test/"), PATIENT)
        assert (await answer.read(9), len(proxy.heard)) == (b"ok", 1)
