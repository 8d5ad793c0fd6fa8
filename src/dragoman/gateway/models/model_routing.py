"""Routes: a name behind which a model is chosen for each request, with what the gateway knows at that moment.

The decision itself is made in `engine/routing`. Here are its sources: configuration, health, measured speed, pins and
sessions in the store, and the router model.
"""

from __future__ import annotations

import time
from random import random

from msgspec.structs import replace

from dragoman.config.model_lookup import find_asked_name, find_candidates
from dragoman.config.schema.config_file import Config
from dragoman.conversation.conversation import Ask
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.messages import find_waiting_results
from dragoman.engine.exchange.destination import TargetRoute
from dragoman.engine.exchange.exchange import Exchange
from dragoman.engine.history.cuts import PrefixDigests
from dragoman.engine.history.trimming import measure
from dragoman.engine.history.units import UnitKind
from dragoman.engine.routing.candidates import Candidate
from dragoman.engine.routing.decide import LastUse, RouterQuestion, Routing
from dragoman.engine.routing.sessions import session_key, starts_anew
from dragoman.gateway.callers.caller import Caller, Refused, may_ask
from dragoman.gateway.models.routed_request import RoutedRequest
from dragoman.gateway.models.side_requests import SideRequest, ask_model
from dragoman.gateway.services import Services
from dragoman.store.contracts.pins import SESSION, Pin, PinOwner
from dragoman.upstream.destinations import HttpDestination, Routes
from dragoman.upstream.model_candidates import candidate, route_policy

_LONGEST_REASON = 200
ROUTER = "router"
"""What the router model's requests are called in the ledger."""


async def choose_model(services: Services, caller: Caller, ask: Ask, name: str, request_id: str) -> RoutedRequest:
    """The destinations for a request to a route. Raises Refused and NoHealthyModel."""
    name = find_asked_name(services.live.config, name)
    names = find_candidates(services.live.config, name) or ()
    services.models.checks.note_request()
    allowed = [one for one in names if caller.client is None or caller.client.may_ask(one)]
    if not allowed:
        may_ask(caller, name)
        raise Refused(Failure(FailureKind.PERMISSION, f'the key may use no model of "{name[:200]}"', 403))
    return await _Choice(services, caller, ask, name, request_id).made(allowed)


class _Choice:
    """One request to a route."""

    def __init__(self, services: Services, caller: Caller, ask: Ask, name: str, request_id: str) -> None:
        self._services = services
        self._config: Config = services.live.config
        self._known = caller
        self._ask = ask
        self._name = name
        self._id = request_id
        self._session = session_key(ask)
        self._turns = _turn_digests(ask)

    async def made(self, names: list[str]) -> RoutedRequest:
        services, owner = self._services, PinOwner(self._known.name, self._session)
        if starts_anew(self._ask.conversation):
            await services.store.pins.forget(owner)
        candidates = [live_candidate(services, name) for name in names]
        routing = Routing(
            self._ask.conversation,
            candidates,
            route_policy(self._config, self._name),
            pinned=await self._find_pinned(),
            last=await self._last_use(owner),
            chance=random(),  # noqa: S311 - it spreads requests, nothing is hidden
        )
        found = routing.settle()
        if isinstance(found, RouterQuestion):
            found = routing.answered(await self._ask_router(found))
        return RoutedRequest(_join(services.live.routes, found.models), found, self._session, self._turns[0])

    async def _find_pinned(self) -> str:
        """The model that made the calls which this turn answers."""
        turn = self._turns[1]
        if not turn or not self._config.pin_tool_results:
            return ""
        found = await self._services.store.pins.find(PinOwner(self._known.name, self._session), [turn, SESSION])
        pin = found.get(turn) or found.get(SESSION)
        return pin.target if pin is not None else ""

    async def _last_use(self, owner: PinOwner) -> LastUse | None:
        if not self._session:
            return None
        found = await self._services.store.pins.find(owner, [SESSION])
        pin = found.get(SESSION)
        return None if pin is None else LastUse(pin.target, max(0.0, time.time() - pin.at))

    async def _ask_router(self, question: RouterQuestion) -> str | Failure:
        """What the router model says, or why it does not: it fails, takes too long, or is too dear for the caller."""
        router = self._config.router
        assert router is not None
        body = question.body if router.temperature is None else {**question.body, "temperature": router.temperature}
        models = [router.model, *([router.fallback] if router.fallback else [])]
        asked = SideRequest(f"{self._id}-{ROUTER}", self._known, body, router.timeout)
        try:
            return await ask_model(self._services, models, asked)
        except Refused as refused:
            return refused.failure


def _turn_digests(ask: Ask) -> tuple[str, str]:
    """The digest of this conversation, and of the one whose calls it answers; empty if it answers none."""
    seen = measure(ask.conversation)
    digests, units = PrefixDigests(seen), seen.units
    results = find_waiting_results(seen.messages)
    asked = next((place for place, unit in enumerate(units) if unit.start <= results < unit.end), None)
    before = "" if asked is None else digests.of(asked)
    while units and units[-1].kind is UnitKind.SYSTEM:
        units = units[:-1]
    return digests.of(len(units)), before


def live_candidate(services: Services, name: str) -> Candidate:
    """A model as it stands now."""
    found = candidate(services.live.config, services.live.routes, name)
    live = services.models.figures.of(found.target)
    resting = services.dispatcher.health.resting(time.perf_counter())
    return replace(
        found,
        healthy=services.models.checks.is_healthy(name) and found.target not in resting,
        latency=live.first_byte,
        busy=live.busy,
        full=services.models.limits.is_full(found.target),
    )


def _join(routes: Routes, names: tuple[str, ...]) -> TargetRoute[HttpDestination]:
    """The destinations of all chosen models, each with its own fallbacks behind it."""
    found = [route for name in names if (route := routes.find(name)) is not None]
    places = dict.fromkeys(place for route in found for place in route.destinations)
    return TargetRoute(tuple(places), found[0].reserved)


def route_header(name: str, routed: RoutedRequest) -> str:
    """Which model was chosen and why, as a structured field: `"auto";model="large";reason="...";session="..."`."""
    decision = routed.decision
    fields = {
        "model": decision.chosen,
        "reason": decision.reason,
        "skipped": decision.skipped,
        "session": routed.session,
    }
    shown = [f'{key}="{_quotable(value)}"' for key, value in fields.items() if value]
    return ";".join([f'"{_quotable(name)}"', *shown])


def _quotable(text: str) -> str:
    """Words for a header: printable ASCII, and not too many."""
    plain = "".join(letter if " " <= letter <= "~" else " " for letter in text[:_LONGEST_REASON])
    return plain.replace("\\", "\\\\").replace('"', '\\"')


async def keep_choice(
    services: Services, caller: Caller, routed: RoutedRequest, exchange: Exchange[HttpDestination]
) -> None:
    """Remember who answered: for results of its calls, and for the session."""
    target = exchange.destination.name if exchange.destination is not None else ""
    name = next((one for one in routed.decision.models if services.live.config.models[one].target == target), "")
    if not name:
        return
    pin = Pin(name, time.time())
    places = (routed.turn, SESSION) if routed.session else (routed.turn,)
    await services.store.pins.put(PinOwner(caller.name, routed.session), dict.fromkeys(places, pin))
