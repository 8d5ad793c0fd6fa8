"""The models that a caller may ask for, in the shape that its SDK reads."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from dragoman.config.model_lookup import find_asked_name
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.dialects.dialect import ListedModel, ModelListing
from dragoman.dialects.registry import caller_dialect, model_listing
from dragoman.gateway.callers.caller import Refused
from dragoman.gateway.callers.credentials import find_list_credential
from dragoman.gateway.http.inbound import Inbound
from dragoman.gateway.models.live_models import Entry, context_window
from dragoman.gateway.models.model_names import find_lead, visible_names
from dragoman.gateway.served_request import ServedRequest
from dragoman.gateway.services import Services
from dragoman.profiles.facts import Stance, ThinkingForm
from dragoman.profiles.models import find_output_limit, find_window
from dragoman.upstream.auth.caller_credential import CallerCredential
from dragoman.upstream.destinations import Routes


async def models(request: ServedRequest) -> None:
    """All that are not hidden and that the caller may use, or a page of them; with `?live=true` as their providers
    describe them."""
    services, inbound = request.services, request.inbound
    client = caller_dialect(inbound.path, inbound.headers)
    credential = find_list_credential(request, client)
    names = await visible_names(services, request.caller, client, credential)
    page, more = _page(list(names), inbound.query)
    listed = [_able(_list(name, services, names[name]), services.live.routes, client) for name in page]
    if _is_live(inbound):
        listed = [await _describe(one, services, client, credential) for one in listed]
    await request.outbound.whole(200, _listing(inbound).render_models(listed, more))


_SIZES = ("limit", "pageSize", "page_size")
_AFTER = ("after_id", "after", "pageToken", "page_token")
_BEFORE = ("before_id", "before")
_LARGEST_PAGE = 1000


def _page(names: list[str], query: Mapping[str, str]) -> tuple[list[str], bool | None]:
    """The names that the client asks for, as the lists of vendors are paged, and whether there are more that way. The
    token of a page is the last name of the page before it."""
    size = next((query[name] for name in _SIZES if name in query), None)
    if size is not None and not (size.isdecimal() and len(size) < 9 and int(size) > 0):
        raise _bad_page(f'the size of a page must be a number from 1 to {_LARGEST_PAGE}, not "{size[:20]}"')
    after, before = _place(names, query, _AFTER), _place(names, query, _BEFORE)
    if size is None and after is None and before is None:
        return names, None
    most = min(int(size), _LARGEST_PAGE) if size is not None else _LARGEST_PAGE
    if before is not None:
        return names[max(before - most, 0) : before], before > most
    start = 0 if after is None else after + 1
    return names[start : start + most], len(names) > start + most


def _place(names: list[str], query: Mapping[str, str], keys: tuple[str, ...]) -> int | None:
    key = next((key for key in keys if query.get(key)), None)
    if key is None:
        return None
    if query[key] not in names:
        raise _bad_page(f'{key}: there is no model "{query[key][:100]}" in the list')
    return names.index(query[key])


def _bad_page(message: str) -> Refused:
    return Refused(Failure(FailureKind.BAD_REQUEST, message, 400))


async def model(request: ServedRequest, name: str) -> None:
    """One model, hidden or not."""
    services, inbound = request.services, request.inbound
    client = caller_dialect(inbound.path, inbound.headers)
    find_lead(services, request.caller, name, client)
    shown = _able(_list(name, services), services.live.routes, client)
    if _is_live(inbound):
        shown = await _describe(shown, services, client, find_list_credential(request, client))
    await request.outbound.whole(200, _listing(inbound).render_model(shown))


def _able(listed: ListedModel, routes: Routes, client: str) -> ListedModel:
    """The model with what it can do and its window, if the list of this dialect shows that."""
    if not model_listing(client).shows_abilities:
        return listed
    route = routes.find(listed.name, client)
    if route is None:
        return listed
    facts = route.first.target.facts
    able = ["completion"]
    able += ["tools"] * (facts.tools is not Stance.REFUSES)
    able += ["vision"] * (facts.medium("image").inline is Stance.ACCEPTS)
    able += ["audio"] * (facts.medium("audio").inline is Stance.ACCEPTS)
    able += ["thinking"] * (facts.thinking is Stance.ACCEPTS and facts.thinking_form is not ThinkingForm.NONE)
    window = listed.context_window or find_window(facts.model, facts.context_window) or None
    most = find_output_limit(facts.model, facts.output_limit) or None
    return replace(listed, capabilities=tuple(able), context_window=window, output_limit=most)


def _listing(inbound: Inbound) -> ModelListing:
    return model_listing(caller_dialect(inbound.path, inbound.headers))


def _is_live(inbound: Inbound) -> bool:
    return inbound.query.get("live", "").lower() in ("1", "true", "yes")


async def _describe(
    listed: ListedModel, services: Services, client: str, credential: CallerCredential | None
) -> ListedModel:
    """The model with what its provider says about it; without it, if the provider does not answer."""
    route = services.live.routes.find(listed.name, client)
    if route is None:
        return listed
    transport = services.dispatcher.transports.of(route.first)
    entry = await services.models.lists.entry(route.first, transport, credential)
    if entry is None:
        return listed
    stated = entry.get("capabilities")
    able = tuple(str(one) for one in stated) if isinstance(stated, list) else listed.capabilities
    window = context_window(entry) or listed.context_window
    return replace(listed, context_window=window, metadata=entry, capabilities=able)


def _list(name: str, services: Services, entry: Entry | None = None) -> ListedModel:
    behind = find_asked_name(services.live.config, name)
    configured = services.live.config.models.get(behind)
    window = context_window(entry) if entry is not None else None
    if configured is None:
        shown = "" if behind == name else behind
        return ListedModel(name, shown, created=int(services.traffic.started), context_window=window)
    return ListedModel(name, configured.description or behind, int(services.traffic.started), configured.context_window)
