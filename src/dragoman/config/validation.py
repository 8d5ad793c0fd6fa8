"""Checks beyond types: names that must exist, and values that exclude each other."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from msgspec import Struct

from dragoman.config.build import Origins, join_path, quote
from dragoman.config.client_keys import hash_hint, is_sha256
from dragoman.config.errors import Problem
from dragoman.config.known_names import KnownNames
from dragoman.config.model_lookup import STAR, is_pattern, match_pattern
from dragoman.config.schema.config_file import Config
from dragoman.config.schema.history import HistoryConfig
from dragoman.config.schema.keys import ClientKey
from dragoman.config.schema.models import Model, ModelRateLimits
from dragoman.config.schema.providers import Provider
from dragoman.config.schema.repairs import RuleChoice
from dragoman.config.schema.store import HOT_SCHEMES, LEDGER_SCHEMES
from dragoman.config.schema.tools import FetchConfig, SearchConfig, ToolsConfig, ToolServer
from dragoman.config.sendable import TRANSPORT_HEADERS, key_fault, url_fault
from dragoman.dialects.registry import list_names
from dragoman.engine.routing.router_model import PLACES, PROMPT
from dragoman.engine.routing.strategies import Strategy
from dragoman.errors import near_match

HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
HOST = re.compile(r"(\*\.)?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?")
REGION = re.compile(r"[A-Za-z0-9-]+")
SERVER_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")

_WILD = frozenset("*?[")
LocatedMessage = tuple[str, str]  # a key path, and the message about it


class ValidationResult(Struct, frozen=True):
    problems: list[Problem]
    warnings: list[str]


def validate(config: Config, known: KnownNames, origins: Origins, file: str) -> ValidationResult:
    """All problems and warnings that need more than one value to find."""
    problems = [Problem(message, file, line_of(path, origins)) for path, message in _problems(config, known)]
    return ValidationResult(problems, locate_warnings(_warnings(config, known), origins, file))


def locate_warnings(found: Iterable[LocatedMessage], origins: Origins, file: str) -> list[str]:
    return [f"{file}:{line_of(path, origins)}: {message}" for path, message in found]


def line_of(path: str, origins: Origins) -> int:
    """The line of a key path, or of the nearest mapping that contains it."""
    while path:
        if path in origins:
            return origins[path].line
        path = path.rpartition(".")[0]
    return 0


def _problems(config: Config, known: KnownNames) -> Iterator[LocatedMessage]:
    for name, provider in config.providers.items():
        yield from _provider(join_path("providers", name), name, provider, known)
    for name, model in config.models.items():
        yield from _pattern(join_path("models", name), name, model)
        yield from _model(join_path("models", name), model, config, known)
    for i, override in enumerate(config.overrides):
        yield from _options(f"overrides[{i}].options", override.options)
    yield from _families(config, known)
    yield from _secrets(config)
    yield from ((f"state.{key}", f"state.{key} {fault}") for key, fault in config.state.faults().items())
    yield from _servers(config)
    yield from _routes(config)
    yield from _router(config, known)
    yield from _summary_model("history", config.history, config, known)
    yield from _rules("rules", config.rules, known)
    yield from _keys(config.keys)
    yield from _default_model("default_model", config.default_model, config, known)
    yield from _default_model("default_audio_model", config.default_audio_model, config, known)
    yield from _texts(config.texts, known)
    yield from _hosts("media.allow", config.media.allow)
    for name, server in config.tool_servers.items():
        yield from _tool_server(join_path("tool_servers", name), name, server)
    yield from _tools(config.tools, config.tool_servers)
    named = {join_path("keys", name): key.tool_servers for name, key in config.keys.items()}
    named |= {join_path("models", name): model.tool_servers for name, model in config.models.items()}
    for path, offered in named.items():
        for i, one in enumerate(offered):
            yield from _tool_server_name(f"{path}.tool_servers[{i}]", one, config.tool_servers)


def _provider(path: str, name: str, provider: Provider, known: KnownNames) -> Iterator[LocatedMessage]:
    if "/" in name:
        yield path, f'{path} has a "/" in its name; a target PROVIDER/MODEL could not refer to it'
    yield from _profile(path, name, provider, known)
    if provider.api_key is not None and provider.api_keys:
        yield f"{path}.api_keys", f"{path} has both api_key and api_keys; keep one"
    if provider.asks_as_caller and (provider.key_pool() or provider.auth is not None):
        yield f"{path}.credentials", f"{path} is asked with the caller's credential; remove its api_key and auth"
    yield from _base_url(f"{path}.base_url", provider.base_url)
    region = provider.cloud.region
    if region is not None and REGION.fullmatch(region) is None:
        at = f"{path}.cloud.region"
        yield at, f"{at} is {quote(region)}; it is part of a host name: letters, digits and dashes"
    yield from _headers(f"{path}.headers", provider.headers)
    for i, key in enumerate(provider.key_pool()):
        if (fault := key_fault(key.reveal())) is not None:
            where = f"{path}.api_keys[{i}]" if provider.api_keys else f"{path}.api_key"
            yield where, f"{where} {fault}"
    yield from _facts(f"{path}.facts", provider.facts, known)
    yield from _rules(f"{path}.rules", provider.rules, known)


def _profile(path: str, name: str, provider: Provider, known: KnownNames) -> Iterator[LocatedMessage]:
    if known.profiles is None or (provider.profile or name) in known.profiles:
        return
    if provider.profile is None:
        yield path, f'{path}.profile is missing, and no profile is called "{name}". {near_match(name, known.profiles)}'
    else:
        message = f"{path}.profile is {quote(provider.profile)}. {near_match(provider.profile, known.profiles)}"
        yield f"{path}.profile", message


def _base_url(path: str, url: str | None) -> Iterator[LocatedMessage]:
    if url is not None and (fault := url_fault(url)) is not None:
        yield path, f"{path} {fault}"


def _headers(path: str, headers: Mapping[str, str]) -> Iterator[LocatedMessage]:
    for name, value in headers.items():
        if not HEADER_NAME.fullmatch(name):
            yield join_path(path, name), f"{join_path(path, name)} is not a valid header name"
        if name.lower() in TRANSPORT_HEADERS:
            yield join_path(path, name), f"{join_path(path, name)} is set by the gateway itself; leave it out"
        if any((ord(letter) < 32 and letter != "\t") or ord(letter) == 127 for letter in value):
            yield join_path(path, name), f"{join_path(path, name)} contains a line break or control character"


def _facts(path: str, facts: Mapping[str, Any], known: KnownNames) -> Iterator[LocatedMessage]:
    if known.facts is None:
        return
    for name, value in facts.items():
        here = join_path(path, name)
        if name not in known.facts:
            yield here, f"{here} is not a fact. {near_match(name, known.facts)}"
        elif (values := known.facts[name]) and isinstance(value, str) and value not in values:
            yield here, f"{here} is {quote(value)}. {near_match(value, values)}"


def _rules(path: str, rules: Mapping[str, RuleChoice], known: KnownNames) -> Iterator[LocatedMessage]:
    if known.rules is None:
        return
    for name, choice in rules.items():
        here = join_path(path, name)
        if name not in known.rules:
            yield here, f"{here} is not a rule. {near_match(name, known.rules)}"
        elif options := known.rules[name]:
            yield from _rule_choice(here, choice, options)
        elif known.choice_refusal is not None and (refusal := known.choice_refusal(name, choice)):
            yield here, f"{here} is not valid: {refusal}"


def _rule_choice(path: str, choice: RuleChoice, options: tuple[str, ...]) -> Iterator[LocatedMessage]:
    if isinstance(choice, dict) and len(choice) != 1:
        yield path, f"{path} must name one option, e.g. {{{options[0]}: …}}"
        return
    name = choice if isinstance(choice, str) else next(iter(choice))
    if name not in options:
        yield path, f"{path} is {quote(name)}. {near_match(name, options)}"


_NO_OPTIONS = {
    "stream": "the client says whether its answer is streamed",
    "model": "the target names the model",
}
"""Members of a request that no option may replace: the answer would not fit the question."""


def _options(path: str, options: Mapping[str, Any]) -> Iterator[LocatedMessage]:
    for name in options:
        why = "the conversation is the client's" if name in list_names() else _NO_OPTIONS.get(name)
        if why is not None:
            yield f"{path}.{name}", f"{path}.{name} is no option: {why}"


def _model(path: str, model: Model, config: Config, known: KnownNames) -> Iterator[LocatedMessage]:
    yield from _target(f"{path}.target", model.target, config, known)
    for name, targets in _list_fallbacks(model).items():
        for i, target in enumerate(targets):
            if target not in config.models:
                yield from _target(f"{path}.{name}[{i}]", target, config, known)
            yield from _as_caller(f"{path}.{name}[{i}]", target, config, model.target.partition("/")[0])
    yield from _options(f"{path}.options", model.options)
    yield from _facts(f"{path}.facts", model.facts, known)
    yield from _rules(f"{path}.rules", model.rules, known)
    yield from _rate_limits(f"{path}.rate_limits", model.rate_limits)
    yield from _summary_model(f"{path}.history", model.history, config, known)


def _list_fallbacks(model: Model) -> dict[str, tuple[str, ...]]:
    """By their keys."""
    on = model.fallbacks_on
    return {
        "fallbacks": model.fallbacks,
        "fallbacks_on.context_length": on.context_length,
        "fallbacks_on.content_filter": on.content_filter,
        "fallbacks_on.rate_limit": on.rate_limit,
    }


def _as_caller(path: str, name: str, config: Config, own: str = "") -> Iterator[LocatedMessage]:
    """A model that is asked with a credential of which nobody knows whether it is meant for its provider. `own`: the
    provider that it is meant for."""
    known = config.models.get(name)
    provider = (known.target if known is not None else name).partition("/")[0]
    if provider != own and provider in config.providers and config.providers[provider].asks_as_caller:
        what = "is asked with the caller's credential, so the caller must name its model"
        yield path, f"{path} is {quote(name)}: {provider} {what}"


def _summary_model(
    path: str, history: HistoryConfig | None, config: Config, known: KnownNames
) -> Iterator[LocatedMessage]:
    if history is None or history.compact is None:
        return
    name = history.compact.model
    if match_pattern(config.models, name) is None:
        yield from _default_model(f"{path}.compact.model", name, config, known)


def _secrets(config: Config) -> Iterator[LocatedMessage]:
    for path, secret in (("secret", config.secret), ("old_secret", config.old_secret)):
        if secret is not None and len(secret.reveal()) < LEAST_SECRET:
            yield path, f"{path} has fewer than {LEAST_SECRET} characters; anybody could guess it"


LEAST_SECRET = 16


def _servers(config: Config) -> Iterator[LocatedMessage]:
    """Servers of the store that are of another kind."""
    for path, address, schemes in (
        ("store.hot", config.store.hot, HOT_SCHEMES),
        ("store.ledger", config.store.ledger, LEDGER_SCHEMES),
    ):
        if address and address.reveal().partition("://")[0].lower() not in schemes:
            yield path, f"{path} must begin with {', '.join(f'{scheme}://' for scheme in schemes)}"


def _rate_limits(path: str, limits: ModelRateLimits | None) -> Iterator[LocatedMessage]:
    names = ("requests_per_minute", "input_tokens_per_minute", "output_tokens_per_minute")
    if limits is not None and all(getattr(limits, name) is None for name in names):
        yield path, f"{path} limits nothing; add {', '.join(names[:2])} or {names[2]}"


def _pattern(path: str, name: str, model: Model) -> Iterator[LocatedMessage]:
    """A name with a star, and the stars of its targets."""
    if name.count(STAR) > 1:
        yield path, f"{path} has more than one *; a name may have one"
    for target in (model.target, *chain(*_list_fallbacks(model).values())):
        if target.count(STAR) > 1 or (is_pattern(target) and not is_pattern(name)):
            yield path, f"{path} leads to {quote(target)}; a target has one * at most, and only where the name has one"
        elif is_pattern(target.partition("/")[0]):
            yield path, f"{path} leads to {quote(target)}; a * may not stand for the provider"


def _families(config: Config, known: KnownNames) -> Iterator[LocatedMessage]:
    for family, provider in config.families.items():
        path = join_path("families", family)
        if known.families and family not in known.families:
            yield path, f"{path} is not a family. {near_match(family, known.families)}"
        if provider not in config.providers and known.profiles is not None and provider not in known.profiles:
            names = {*config.providers, *known.profiles}
            yield path, f"{path} is {quote(provider)}, which is no provider of this file. {near_match(provider, names)}"


def _routes(config: Config) -> Iterator[LocatedMessage]:
    for name, route in config.routes.items():
        path = join_path("routes", name)
        if name in config.models:
            yield path, f"{path} is also the name of a model; give the route another one"
        for i, model in enumerate(route.models):
            yield from _as_caller(f"{path}.models[{i}]", model, config)
            if model not in config.models or is_pattern(model):
                here = f"{path}.models[{i}]"
                yield (
                    here,
                    f"{here} is {quote(model)}, which is no model of this file. {near_match(model, config.models)}",
                )
        if route.default is not None and route.default not in (route.models or config.models):
            yield f"{path}.default", f"{path}.default is {quote(route.default)}, which is no model of the route"
        if route.strategy is Strategy.MODEL and config.router is None:
            yield f"{path}.strategy", f"{path}.strategy is model, and there is no router; add router: {{model: NAME}}"


def _router(config: Config, known: KnownNames) -> Iterator[LocatedMessage]:
    if config.router is None:
        return
    for key, name in (("router.model", config.router.model), ("router.fallback", config.router.fallback)):
        if name is not None and name not in config.models:
            yield from _target(key, name, config, known)
    missing = [place for place in PLACES if place not in (config.router.prompt or PROMPT)]
    if missing:
        yield "router.prompt", f"router.prompt has no place for {', '.join(missing)}"


def _target(path: str, target: str, config: Config, known: KnownNames) -> Iterator[LocatedMessage]:
    first, slash, rest = target.partition("/")
    if not slash or not rest:
        yield path, f"{path} is {quote(target)}; a target is written PROVIDER/MODEL"
    elif first not in config.providers and known.profiles is not None and first not in known.profiles:
        names = {*config.providers, *known.profiles}
        yield (
            path,
            f'{path} begins with "{first}", which is neither a provider of this file nor a profile. '
            + near_match(first, names),
        )
    else:
        profile = (config.providers[first].profile if first in config.providers else None) or first
        if refusal := known.model_refusal(profile, rest):
            yield path, f"{path} is {quote(target)}: {refusal}"


def _keys(keys: Mapping[str, ClientKey]) -> Iterator[LocatedMessage]:
    seen: dict[str, str] = {}
    for name, key in keys.items():
        if not name or not name.isprintable():
            yield "keys", f"keys has the name {quote(name)}; a key needs a printable name"
        path = f"{join_path('keys', name)}.sha256"
        if not is_sha256(key.sha256.lower()):
            yield path, f"{path} is not 64 hex digits; if it is the key itself, {hash_hint(key.sha256)}"
        elif (first := seen.setdefault(key.sha256.lower(), name)) != name:
            yield path, f'{path} is the same as that of "{first}"; each client needs its own key'


def _default_model(key: str, name: str | None, config: Config, known: KnownNames) -> Iterator[LocatedMessage]:
    if name is None or name in config.models or name in config.routes:
        return
    if "/" in name:
        yield from _target(key, name, config, known)
    else:
        yield key, f"{key} is {quote(name)}, which is not a model of this file. {near_match(name, config.models)}"


def _texts(texts: Mapping[str, str], known: KnownNames) -> Iterator[LocatedMessage]:
    for name in texts:
        if known.texts is not None and name not in known.texts:
            here = join_path("texts", name)
            yield here, f"{here} is not a known reason for a text. {near_match(name, known.texts)}"


def _hosts(path: str, allow: tuple[str, ...]) -> Iterator[LocatedMessage]:
    for i, entry in enumerate(allow):
        try:
            ipaddress.ip_network(entry, strict=False)
        except ValueError:
            if not HOST.fullmatch(entry):
                here = f"{path}[{i}]"
                yield here, f"{here} is {quote(entry)}; it must be a host, *.suffix, an address or a network"


def _tools(tools: ToolsConfig, servers: Collection[str]) -> Iterator[LocatedMessage]:
    for i, url in enumerate(tools.allow):
        yield from _base_url(f"tools.allow[{i}]", url)
    if tools.search is not None:
        yield from _base_url("tools.search.url", tools.search.url)
        if (tools.search.url is None) == (tools.search.server is None):
            yield "tools.search", "tools.search needs a url (SearXNG) or a server with its tool, and not both"
        yield from _tool_of_server("tools.search", tools.search, servers)
    if tools.fetch is not None:
        yield from _hosts("tools.fetch.allow", tools.fetch.allow)
        yield from _tool_of_server("tools.fetch", tools.fetch, servers)


def _tool_server(path: str, name: str, server: ToolServer) -> Iterator[LocatedMessage]:
    if not SERVER_NAME.fullmatch(name):
        yield path, f"{path} is no name for a server; use up to 64 letters, digits, - and _"
    if (server.url is None) == (not server.command):
        yield path, f"{path} needs a url or a command, and not both"
    if server.url is not None:
        yield from _base_url(f"{path}.url", server.url.partition("?")[0])
    if server.command and (server.token or server.headers or server.oauth):
        yield path, f"{path} is a program, which takes no token, headers or oauth; give it secrets by env"
    if server.token is not None and server.oauth is not None:
        yield f"{path}.oauth", f"{path} has both token and oauth; keep one"
    yield from _headers(f"{path}.headers", {header: value.reveal() for header, value in server.headers.items()})
    if server.oauth is not None:
        yield from _base_url(f"{path}.oauth.issuer", server.oauth.issuer)


def _tool_of_server(path: str, ran: SearchConfig | FetchConfig, servers: Collection[str]) -> Iterator[LocatedMessage]:
    if (ran.server is None) != (ran.tool is None):
        yield path, f"{path} needs both server and tool, or neither"
    if ran.server is not None:
        yield from _tool_server_name(f"{path}.server", ran.server, servers)


def _tool_server_name(path: str, name: str, servers: Collection[str]) -> Iterator[LocatedMessage]:
    if name not in servers:
        yield path, f"{path} is {quote(name)}, which is not in tool_servers. {near_match(name, servers)}"


def _warnings(config: Config, known: KnownNames) -> Iterator[LocatedMessage]:
    if refusal := public_bind_refusal(config, config.server.host):
        yield "server.host", f"server.host: {refusal}"
    for name, model in config.models.items():
        yield from _idle_fallbacks(join_path("models", name), model, config)
    for name, key in config.keys.items():
        for i, allowed in enumerate(key.allowed_models):
            if not _leads_somewhere(allowed, config, known):
                path = f"{join_path('keys', name)}.allowed_models[{i}]"
                near = near_match(allowed, {*config.models, *config.routes})
                yield path, f"{path} is {quote(allowed)}, which is not a model of this file. {near}"


def _idle_fallbacks(path: str, model: Model, config: Config) -> Iterator[LocatedMessage]:
    """Fallbacks that lead to the target that has failed. A fallback's own fallbacks are not tried, so that models may
    name each other."""
    for name, names in _list_fallbacks(model).items():
        for i, fallback in enumerate(names):
            named = config.models.get(fallback)
            if (named.target if named is not None else fallback) == model.target:
                here = f"{path}.{name}[{i}]"
                yield here, f"{here} is {quote(fallback)}, the target that has failed; it is never tried"


def _leads_somewhere(name: str, config: Config, known: KnownNames) -> bool:
    """Whether a key that may use this name may use anything. A pattern may fit names that only a provider knows."""
    if name in config.models or name in config.routes or set(name) & _WILD:
        return True
    provider, slash, _ = name.partition("/")
    profiles = known.profiles if known.profiles is not None else {provider}
    return bool(slash) and (provider in config.providers or provider in profiles)


def public_bind_refusal(config: Config, host: str) -> str | None:
    """Why the gateway refuses to listen on this host; None if it does not."""
    if config.keys or config.server.allow_public_without_keys or is_loopback(host):
        return None
    return (
        f"{host} can be reached from other machines and there are no keys: anyone could spend your money. "
        "Create a key (dragoman keys create NAME), use 127.0.0.1, "
        "or set server.allow_public_without_keys: true"
    )


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
