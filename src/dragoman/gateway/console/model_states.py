"""Models and their health as this process sees them: targets, times, errors, pauses, lessons and routes."""

from __future__ import annotations

import time
from collections import defaultdict

import msgspec

from dragoman.config.model_lookup import list_shown_names
from dragoman.engine.exchange.lesson_book import LessonRecord
from dragoman.engine.routing.candidates import Decision
from dragoman.gateway.models.health_checks import CheckResult
from dragoman.gateway.records.recent_exchanges import TargetFailures
from dragoman.gateway.services import Services
from dragoman.profiles.prices import TokenPrice
from dragoman.store.contracts.ledger import LedgerQuery
from dragoman.store.ledger_entry import By, Totals, Viewer

MOST_MODELS = 500
_DAY = 86_400.0


class ModelState(msgspec.Struct, frozen=True, kw_only=True):
    """One model, or a target that only fallbacks lead to."""

    name: str
    targets: tuple[str, ...]
    """The first choice first. All that follows is about the first one."""
    dialect: str
    emulated: bool
    first_byte: float | None
    """Of this worker, as `busy` and `failures` are."""
    busy: int
    resting: float | None
    """Seconds of its pause."""
    failures: TargetFailures | None
    """Sends that failed, also if a fallback saved the request."""
    price: TokenPrice | None
    context_window: int
    totals: Totals | None
    """Of the last day."""
    lessons: int


class ShownDecision(msgspec.Struct, frozen=True):
    """What a route chose for a request."""

    id: str
    time: float
    asked: str
    decision: Decision


class ModelsView(msgspec.Struct, frozen=True):
    models: tuple[ModelState, ...]
    providers: tuple[str, ...]
    lessons: tuple[LessonRecord, ...]
    checks: tuple[CheckResult, ...]
    decisions: tuple[ShownDecision, ...]
    routes: dict[str, tuple[str, ...]]


async def models_view(services: Services, viewer: Viewer) -> ModelsView:
    since = LedgerQuery(since=time.time() - _DAY)
    totals = {one.name: one for one in await services.store.ledger.totals(viewer, By.TARGET, since)}
    lessons = await services.exchange_state.records()
    counted: dict[str, int] = defaultdict(int)
    for lesson in lessons:
        counted[lesson.target] += 1
    resting = services.dispatcher.health.resting(time.perf_counter())
    names = _names(services, totals)
    found = [_state(services, name, totals, resting, counted) for name in names]
    decisions = [
        ShownDecision(entry.id, entry.time, entry.asked, decision)
        for entry, decision in services.records.recent.routed()
    ]
    return ModelsView(
        tuple(one for one in found if one is not None),
        tuple(services.live.config.providers),
        lessons,
        services.models.checks.results,
        tuple(decisions),
        {name: tuple(route.models) for name, route in services.live.config.routes.items()},
    )


def _names(services: Services, totals: dict[str, Totals]) -> list[str]:
    """The models of the file, their fallbacks, and targets that were asked by their full names."""
    listed = list_shown_names(services.live.config)[:MOST_MODELS]
    routes = [route for name in listed if (route := services.live.routes.find(name)) is not None]
    known = {route.first.name for route in routes}
    others = dict.fromkeys(one.name for route in routes for one in route.destinations)
    others |= dict.fromkeys([*totals, *services.records.recent.failures])
    return [*listed, *[name for name in others if name and name not in known]][:MOST_MODELS]


def _state(
    services: Services,
    name: str,
    totals: dict[str, Totals],
    resting: dict[str, float],
    lessons: dict[str, int],
) -> ModelState | None:
    route = services.live.routes.find(name)
    if route is None:
        return None
    first, targets = route.first, tuple(one.name for one in route.destinations)
    figure = services.models.figures.of(first.name)
    return ModelState(
        name=name,
        targets=targets,
        dialect=first.target.dialect,
        emulated=first.emulated,
        first_byte=figure.first_byte,
        busy=figure.busy,
        resting=resting.get(first.name),
        failures=services.records.recent.failures.get(first.name),
        price=first.price,
        context_window=first.target.facts.context_window,
        totals=totals.get(first.name),
        lessons=sum(lessons.get(target, 0) for target in targets),
    )
