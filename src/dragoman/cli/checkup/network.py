"""The network: does each provider answer, does it take the key, and does its clock agree with ours?

Each is asked once for its list of models, all at the same time, and none for longer than a few seconds. That costs no
tokens.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

import msgspec

from dragoman.cli.checkup.check import Check, Mark
from dragoman.config.load import Loaded
from dragoman.dialects.registry import dialect
from dragoman.profiles.profile import Profiles
from dragoman.upstream.auth.authorizer import NoCredentials
from dragoman.upstream.auth.authorizers import Authorizers
from dragoman.upstream.destinations import HttpDestination, Routes
from dragoman.upstream.transport.failures import TransportFailure
from dragoman.upstream.transport.limits import TransportLimits
from dragoman.upstream.transport.outgoing import Outgoing
from dragoman.upstream.transport.tls import Tls
from dragoman.upstream.transport.transport import Transport

SKEW_WARN, SKEW_FAIL = 60.0, 300.0
"""Seconds. Clouds refuse signatures whose time is five minutes off."""
_LIMIT = 8 << 20


class Reached(msgspec.Struct, frozen=True):
    """How a provider answered."""

    check: Check
    ahead: float | None = None
    """Seconds that our clock is before its, if it sent a date."""


def network_checks(loaded: Loaded, profiles: Profiles, seconds: float) -> list[Check]:
    routes = Routes(loaded.config, profiles)
    places = [place for name in loaded.config.providers if (place := routes.provider(name)) is not None]
    reached = asyncio.run(_reach_all(places, seconds))
    return [*(one.check for one in reached), *_clock([one.ahead for one in reached if one.ahead is not None])]


async def _reach_all(places: list[HttpDestination], seconds: float) -> list[Reached]:
    authorizers = Authorizers()
    return await asyncio.gather(*(_reach(place, authorizers, seconds) for place in places))


async def _reach(place: HttpDestination, authorizers: Authorizers, seconds: float) -> Reached:
    transport = Transport(TransportLimits(per_origin=1), Tls(place.ca_file))
    started = time.perf_counter()
    try:
        async with asyncio.timeout(seconds):
            return await _ask(place, transport, authorizers, started)
    except TimeoutError:
        text = f"{place.base_url} did not answer within {seconds:g} s"
        return Reached(_check(place, Mark.FAIL, text, "is there a proxy or a firewall?"))
    except TransportFailure as fault:
        return Reached(_check(place, Mark.FAIL, str(fault)))
    except NoCredentials as fault:
        return Reached(_check(place, Mark.FAIL, str(fault)))
    finally:
        await transport.close()


async def _ask(place: HttpDestination, transport: Transport, authorizers: Authorizers, started: float) -> Reached:
    url = place.url(dialect(place.target.dialect).models_path)
    outgoing = Outgoing("GET", url, (*place.signed(0), ("accept", "application/json")), b"")
    if place.scheme is not None and not place.as_caller:
        outgoing = await authorizers.authorize(place.scheme, outgoing)
    incoming = await transport.send(outgoing, place.timeouts)
    took = f"{(time.perf_counter() - started) * 1000:,.0f} ms"
    await incoming.read(_LIMIT)
    return Reached(_verdict(place, incoming.status, took), _ahead(incoming.header("date")))


def _verdict(place: HttpDestination, status: int, took: str) -> Check:
    if status in (401, 403) and place.as_caller:
        return _check(place, Mark.OK, f"{place.base_url} answers in {took}, and wants the credential of a caller")
    if status in (401, 403):
        has = "refuses the key" if place.keys else "wants a key"
        return _check(place, Mark.FAIL, f"{place.base_url} {has} ({status})", "see the section on keys")
    if status < 400:
        how = "and takes the key" if place.keys or place.scheme is not None else "without a key"
        return _check(place, Mark.OK, f"{place.base_url} answers in {took}, {how}")
    # Some have no list of models; that they answer is what counts.
    hint = _doubt_address(place) if status == 404 else ""
    mark = Mark.OK if status in (404, 405) and not hint else Mark.WARN
    text = f"{place.base_url} answers in {took}, with {status} to the question for its models"
    return _check(place, mark, text, hint)


def _doubt_address(place: HttpDestination) -> str:
    """What may be wrong with the address of a server that does not know the path."""
    asked = dialect(place.target.dialect)
    usual = asked.prefixes[0]
    if place.base_url.endswith(usual * 2):
        return f"base_url has {usual} twice"
    if not urlsplit(place.base_url).path and not asked.models_path.startswith(usual):
        return f"base_url should probably be {place.base_url}{usual}"
    return ""


def _check(place: HttpDestination, mark: Mark, text: str, hint: str = "") -> Check:
    return Check("network", place.provider, mark, text, hint)


def _ahead(date: str | None) -> float | None:
    try:
        return None if date is None else time.time() - parsedate_to_datetime(date).timestamp()
    except (TypeError, ValueError):
        return None


def _clock(skews: list[float]) -> Iterator[Check]:
    if not skews:
        return
    skew = sorted(skews)[len(skews) // 2]
    direction = "ahead of" if skew > 0 else "behind"
    if abs(skew) < SKEW_WARN:
        yield Check("network", "clock", Mark.OK, "agrees with the providers")
        return
    mark = Mark.FAIL if abs(skew) >= SKEW_FAIL else Mark.WARN
    text = f"is {abs(skew):,.0f} s {direction} that of the providers"
    yield Check("network", "clock", mark, text, "set the clock; signatures of clouds depend on it")
