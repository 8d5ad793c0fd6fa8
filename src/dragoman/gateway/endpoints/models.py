"""The models that a caller may ask for, in the shape that its SDK reads."""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.dialects.dialect import ListedModel, ModelListing
from dragoman.dialects.registry import caller_dialect, model_listing
from dragoman.gateway.callers import Known, Refused, may_ask
from dragoman.gateway.endpoints.generate import unknown_model
from dragoman.gateway.inbound import Inbound
from dragoman.gateway.live_models import context_window
from dragoman.gateway.outbound import Outbound
from dragoman.gateway.services import Services


async def models(services: Services, inbound: Inbound, outbound: Outbound, known: Known) -> None:
    """All that are not hidden and that the caller may use; with `?live=true` as their providers describe them."""
    listed = [_listed(name, services) for name in visible(services, known)]
    if _is_live(inbound):
        listed = [await _described(one, services) for one in listed]
    await outbound.whole(200, _listing(inbound).render_models(listed))


async def model(services: Services, inbound: Inbound, outbound: Outbound, known: Known, name: str) -> None:
    """One model, hidden or not."""
    may_ask(known, name)
    if not services.routes.find(name):
        raise Refused(unknown_model(name))
    shown = _listed(name, services)
    if _is_live(inbound):
        shown = await _described(shown, services)
    await outbound.whole(200, _listing(inbound).render_model(shown))


def visible(services: Services, known: Known) -> list[str]:
    """Names that are not hidden and that the caller may use."""
    client = known.client
    listed = [name for name, model in services.config.models.items() if not model.hidden]
    return [name for name in listed if client is None or client.may_ask(name)]


def _listing(inbound: Inbound) -> ModelListing:
    return model_listing(caller_dialect(inbound.path, inbound.headers))


def _is_live(inbound: Inbound) -> bool:
    return inbound.query.get("live", "").lower() in ("1", "true", "yes")


async def _described(listed: ListedModel, services: Services) -> ListedModel:
    """The model with what its provider says about it; without, where the provider does not answer."""
    route = services.routes.find(listed.name)
    if route is None:
        return listed
    entry = await services.live_models.entry(route.first, services.transport(route.first))
    if entry is None:
        return listed
    return replace(listed, context_window=listed.context_window or context_window(entry), metadata=entry)


def _listed(name: str, services: Services) -> ListedModel:
    configured = services.config.models.get(name)
    if configured is None:
        return ListedModel(name, created=int(services.started))
    return ListedModel(name, configured.description or "", int(services.started), configured.context_window)
