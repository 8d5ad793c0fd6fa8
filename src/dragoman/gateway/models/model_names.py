"""The model names that a client may ask for, and the error for one that leads nowhere."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from dragoman.config import model_lookup
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.dialects.dialect import ModelListing
from dragoman.dialects.registry import model_listing
from dragoman.engine.exchange.destination import TargetRoute
from dragoman.gateway.callers.caller import LONGEST_MODEL, Caller, Refused, may_ask
from dragoman.gateway.live_config import LiveConfig
from dragoman.gateway.models.live_models import Entry
from dragoman.gateway.services import Services
from dragoman.profiles.families import families_of
from dragoman.profiles.offers import list_offered_names
from dragoman.upstream.auth.caller_credential import CallerCredential
from dragoman.upstream.destinations import HttpDestination, Lead

_MOST_COMPARED = 500
_SHOWN = 200


def find_lead(services: Services, caller: Caller, name: str, client: str) -> Lead:
    """Where a model's name leads, for a caller who may ask for it. `client` is its dialect. Raises Refused.

    Whether the caller may use a model of a route is decided when one is chosen.
    """
    if not name:
        message = "the request names no model, and there is no default; GET /v1/models lists what there is"
        raise Refused(Failure(FailureKind.BAD_REQUEST, message, 400, param="model"))
    if len(name) > LONGEST_MODEL:
        may_ask(caller, name)
    lead = services.live.routes.lead(name, client)
    if lead.candidates is None:
        _check(services, caller, name, lead)
    return lead


def find_destinations(services: Services, caller: Caller, name: str, client: str) -> TargetRoute[HttpDestination]:
    """The destinations of a model's name that is taken for no route. Raises Refused."""
    lead = find_lead(services, caller, name, client)
    if lead.candidates is not None:
        _check(services, caller, name, lead)
    assert lead.route is not None
    return lead.route


def _check(services: Services, caller: Caller, name: str, lead: Lead) -> None:
    """Raise Refused if the caller may not use it, and else if it leads nowhere."""
    if caller.client is not None and caller.client.key.allowed_models:
        meant, full = lead.names
        may_ask(caller, meant if caller.client.may_ask(meant) else full)
    if lead.route is None:
        raise Refused(unknown_model(services, caller, name, lead.family))


# Lists


async def visible_names(
    services: Services, caller: Caller, client: str, credential: CallerCredential | None = None
) -> dict[str, Entry | None]:
    """Every name that the caller may ask for, with what its provider says about it if that is known.

    Names and routes of the file, and `auto`, which chooses from all its models; its patterns with the models of their
    providers; without any models in the file, the models of all providers. `credential`: the caller's own.
    """
    config, listing = services.live.config, model_listing(client)
    found: dict[str, Entry | None] = dict.fromkeys((*model_lookup.list_shown_names(config), *config.routes))
    if config.models:
        found |= await _expand(services, listing.timeout, credential)
    else:
        found |= await _offer(services, client, listing.timeout, credential)
    if model_lookup.find_candidates(config, model_lookup.AUTO):
        found.setdefault(model_lookup.AUTO, None)
    allowed = {name: entry for name, entry in found.items() if caller.client is None or caller.client.may_ask(name)}
    return allowed | {
        alias: entry for name, entry in allowed.items() if (alias := _alias(name, listing)) not in allowed
    }


def _alias(name: str, listing: ModelListing) -> str:
    """The name under which agents of a dialect take a model up that they would leave out; else the name itself."""
    known = not listing.known_words or any(word in name.lower() for word in listing.known_words)
    return name if known else listing.alias_prefix + name


async def _expand(services: Services, seconds: float, credential: CallerCredential | None) -> dict[str, Entry | None]:
    """The names that patterns stand for. A pattern with one model for all stands for nothing that could be listed."""
    found: dict[str, Entry | None] = {}
    models = services.live.config.models.items()
    shown = [
        (pattern, model.target.partition("/"))
        for pattern, model in models
        if model_lookup.is_pattern(pattern) and not model.hidden
    ]
    starred = {provider for _, (provider, _, rest) in shown if model_lookup.is_pattern(rest)}
    lists = await provider_lists(services, starred, seconds, credential)
    for pattern, (provider, _, rest) in shown:
        for name, entry in lists.get(provider, {}).items():
            match = model_lookup.match_pattern((rest,), name)
            if match is not None:
                found.setdefault(model_lookup.PatternMatch(pattern, match.star).fill(pattern), entry)
    return found


async def _offer(
    services: Services, client: str, seconds: float, credential: CallerCredential | None
) -> dict[str, Entry | None]:
    """The models of every provider: by their bare names if those lead to one. A provider that has no list, or does
    not answer, has those that it is known to run."""
    found: dict[str, Entry | None] = {}
    lists = await provider_lists(services, services.live.config.providers, seconds, credential)
    for provider, listed in lists.items():
        profile = services.live.config.providers[provider].profile or provider
        known: Mapping[str, Entry | None] = listed or dict.fromkeys(list_offered_names(profile))
        for name, entry in known.items():
            chosen = model_lookup.find_family(services.live.config, services.live.profiles, name, client)
            found.setdefault(name if chosen is not None and chosen.provider else f"{provider}/{name}", entry)
    return found


async def provider_lists(
    services: Services, names: Iterable[str], seconds: float, credential: CallerCredential | None = None
) -> dict[str, Mapping[str, Entry]]:
    """What providers list. All are asked at the same time, so that one that is silent delays nobody else."""
    places = {name: place for name in names if (place := services.live.routes.provider(name)) is not None}
    asking = [
        services.models.lists.entries(place, services.dispatcher.transports.of(place), seconds, credential)
        for place in places.values()
    ]
    return dict(zip(places, await asyncio.gather(*asking), strict=True))


# What leads nowhere


def unknown_model(services: Services, caller: Caller, name: str, chosen: model_lookup.FamilyChoice | None) -> Failure:
    """What is wrong with a name, names that are near it, and what to write."""
    shown = name[:_SHOWN]
    why = _why_undecided(shown, chosen) if chosen is not None else f'no model is called "{shown}" here'
    maker, slash, _ = shown.partition("/")
    if slash and chosen is None and maker not in services.live.config.providers:
        why += f', no provider is called "{maker}", and none is known to run models of such a maker'
    near = _find_near(services, caller, name)
    hints = [f"Did you mean {' or '.join(near)}?"] if near else []
    if chosen is None:
        hints += [f"{_what_to_write(services.live, shown)}.", "GET /v1/models lists what there is."]
    return Failure(FailureKind.NOT_FOUND, " ".join([f"{why}.", *hints]), 404, "model_not_found", param="model")


def _why_undecided(shown: str, chosen: model_lookup.FamilyChoice) -> str:
    among = " and ".join(chosen.among)
    return (
        f'"{shown}" could be a model of {among}; ask for {chosen.among[0]}/{shown}, or write '
        f"families: {{{chosen.family}: {chosen.among[0]}}} into the configuration"
    )


def _what_to_write(live: LiveConfig, shown: str) -> str:
    """The line of the configuration that would make the name known."""
    maker = next((family.default for family in families_of(shown) if family.default), "")
    if maker and maker not in live.config.providers and "/" not in shown and maker in live.profiles.names():
        variables = live.profiles.profile(maker).key.names
        setting = f"set {variables[0]} and write" if variables else "write"
        return f'It is a name of {maker}: {setting} models: {{"{shown}": {{target: "{maker}/{shown}"}}}}'
    provider = next(iter(live.config.providers), "PROVIDER")
    return f'Ask for {provider}/MODEL, or write models: {{"{shown}": {{target: "{provider}/MODEL"}}}}'


def _find_near(services: Services, caller: Caller, name: str) -> list[str]:
    """At most three names like this one that the caller may ask for."""
    word = name[:100]
    names = list(islice(_askable(services, caller), _MOST_COMPARED))
    lowered = {one.lower(): one for one in reversed(names)}
    close = difflib.get_close_matches(word.lower(), lowered, n=3, cutoff=0.7)
    return [f'"{lowered[one]}"' for one in close]


def _list_offered(services: Services) -> Iterator[str]:
    """What the configured providers are known to run."""
    for name, provider in services.live.config.providers.items():
        yield from list_offered_names(provider.profile or name)


def _askable(services: Services, caller: Caller) -> Iterator[str]:
    names: Iterable[str] = (*model_lookup.list_shown_names(services.live.config), *services.live.config.routes)
    if not services.live.config.models:
        names = (*names, *services.models.lists.known_names(), *_list_offered(services))
    return (name for name in names if caller.client is None or caller.client.may_ask(name))
