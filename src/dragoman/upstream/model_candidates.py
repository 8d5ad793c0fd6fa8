"""The models of a route as the configuration and the facts describe them."""

from __future__ import annotations

from dragoman.config.schema.config_file import Config
from dragoman.engine.routing.candidates import Candidate
from dragoman.engine.routing.decide import RoutePolicy
from dragoman.engine.routing.router_model import PROMPT
from dragoman.engine.routing.strategies import Strategy
from dragoman.profiles.facts import REFUSES, Medium
from dragoman.profiles.models import find_window
from dragoman.upstream.destinations import Routes


def candidate(config: Config, routes: Routes, name: str) -> Candidate:
    """A model of the file, healthy and idle."""
    model, route = config.models[name], routes.find(name)
    assert route is not None, name
    facts, price = route.first.target.facts, route.first.price
    return Candidate(
        name=name,
        target=model.target,
        description=model.description or "",
        weight=model.weight,
        scores=model.ratings,
        price=price.input + price.output if price is not None else None,
        input_price=price.input if price is not None else None,
        cached_price=price.cached if price is not None else None,
        written_price=price.written if price is not None else None,
        context_window=find_window(facts.model, facts.context_window),
        inputs=frozenset(kind for kind, medium in facts.media.items() if _is_read(medium)),
        tools=facts.tools is not REFUSES,
        cache_minutes=model.cache_ttl,
    )


def _is_read(medium: Medium) -> bool:
    return medium.inline is not REFUSES or medium.url is not REFUSES


def route_policy(config: Config, name: str) -> RoutePolicy:
    """How a route chooses. `auto` asks the router model if there is one."""
    route, router = config.routes.get(name), config.router
    usual = Strategy.MODEL if router is not None else Strategy.ORDER
    return RoutePolicy(
        strategy=usual if route is None else route.strategy,
        default=(route.default if route is not None else None) or "",
        prompt=(router.prompt if router is not None else None) or PROMPT,
        context_messages=router.context_messages if router is not None else 0,
        caches=config.caches,
    )
