"""Where a request can be sent: a target of the configuration with its address, keys, timeouts and limits."""

from __future__ import annotations

import re

import msgspec
from msgspec.structs import replace

from dragoman.config.model_lookup import ConfiguredTarget, FallbackReason, ModelLead, find_lead
from dragoman.config.schema.config_file import Config
from dragoman.config.schema.models import Model, ModelRateLimits
from dragoman.config.schema.providers import Auth, Growth, Jitter, Provider, UsageCounting
from dragoman.config.schema.repairs import CacheChoice, Synthetic
from dragoman.config.secret import EMULATOR_KEY
from dragoman.config.target_settings import settings_for
from dragoman.conversation.changes import Loss
from dragoman.conversation.failures import FailureKind
from dragoman.dialects.dialect import RenderOptions
from dragoman.dialects.registry import dialect
from dragoman.engine.compile.request_frames import path_template
from dragoman.engine.exchange.attempts import RetryPolicy
from dragoman.engine.exchange.destination import CacheHints, Destination, TargetRoute
from dragoman.engine.history.trim_policy import MOST_TOKENS, Trim, TrimPolicy
from dragoman.errors import ConfigError
from dragoman.profiles.facts import Facts
from dragoman.profiles.models import find_window
from dragoman.profiles.prices import TokenPrice, find_price
from dragoman.profiles.profile import Layer, Profile, Profiles, Target, patch_target
from dragoman.upstream.auth.authorizer import AuthScheme
from dragoman.upstream.auth.caller_credential import CALLER
from dragoman.upstream.transport.limits import Timeouts

_AUTH = {
    Auth.BEARER: ("authorization", "Bearer "),
    Auth.X_API_KEY: ("x-api-key", ""),
    Auth.X_GOOG_API_KEY: ("x-goog-api-key", ""),
    Auth.API_KEY: ("api-key", ""),
}


class HttpDestination(Destination, frozen=True, eq=False, weakref=True, kw_only=True):
    """A destination with all it takes to send to it."""

    base_url: str
    headers: tuple[tuple[str, str], ...]
    keys: tuple[str, ...]
    auth: tuple[str, str] | None
    timeouts: Timeouts
    failures: int
    """Failures in a row after which it is left alone."""
    pause: float
    """Seconds for which it is left alone."""
    connections: int
    ca_file: str | None = None
    emulated: bool = False
    """Whether an emulator of ours stands in for the provider."""
    rate_limits: ModelRateLimits | None = None
    """What it is sent at most in a minute."""
    scheme: AuthScheme | None = None
    """How requests are authorized that have no key."""
    is_estimated: bool = False
    """Whether its provider counts no tokens beforehand."""
    has_sockets: bool = False
    """Whether turns of a client's WebSocket go over one to it."""

    def url(self, path: str) -> str:
        return self.base_url + path

    def signed(self, key: int) -> tuple[tuple[str, str], ...]:
        """The fixed headers with the n-th key of the pool."""
        if not self.keys or self.auth is None:
            return self.headers
        name, scheme = self.auth
        return (*self.headers, (name, scheme + self.keys[key % len(self.keys)]))


_CACHE_HINTS = {
    None: CacheHints.ACROSS,
    CacheChoice.CLIENT: CacheHints.CLIENT,
    CacheChoice.AUTO: CacheHints.AUTO,
    CacheChoice.OFF: CacheHints.CLIENT,
}
_REASONS = {
    FallbackReason.CONTEXT_LENGTH: FailureKind.CONTEXT_LENGTH,
    FallbackReason.CONTENT_FILTER: FailureKind.CONTENT_FILTER,
    FallbackReason.RATE_LIMIT: FailureKind.RATE_LIMIT,
}


class Lead(ModelLead, frozen=True):
    """Where a name leads, with the destinations."""

    route: TargetRoute[HttpDestination] | None = None
    """None if it leads nowhere."""


class Routes:
    """The destinations of each model name that clients ask for, made when first asked for."""

    def __init__(self, config: Config, profiles: Profiles, policy: RetryPolicy | None = None) -> None:
        """`policy` is used instead of what the configuration says about retries."""
        self.config = config
        self.profiles = profiles
        self._policy = policy
        self._leads: dict[tuple[str, str], Lead] = {}
        self._destinations: dict[tuple[str, int], HttpDestination] = {}

    def find(self, name: str, client: str = "") -> TargetRoute[HttpDestination] | None:
        """The destinations of a name; None if it leads nowhere."""
        return self.lead(name, client).route

    def lead(self, name: str, client: str = "") -> Lead:
        """Where a name leads. `client` is the dialect of who asks: it may decide which provider a bare name means."""
        return self._leads.get((name, client)) or self._make_lead(name, client)

    def provider(self, name: str) -> HttpDestination | None:
        """A place of a provider that stands for all its models; None if there is no such provider."""
        provider = self.config.providers.get(name)
        return self._destination(ConfiguredTarget(name, provider, ANY_MODEL)) if provider is not None else None

    def _make_lead(self, name: str, client: str) -> Lead:
        found = find_lead(self.config, self.profiles, name, client)
        destinations = tuple(map(self._destination, found.targets))
        reserved = {_REASONS[reason]: tuple(map(self._destination, some)) for reason, some in found.reserved.items()}
        route = TargetRoute(destinations, reserved) if destinations else None
        made = Lead(found.names, found.candidates, found.targets, found.reserved, found.family, route)
        if route is not None:
            self._forget_many()
            self._leads[name, client] = made
        return made

    def _forget_many(self) -> None:
        """Clients may make up names: only so many are remembered. Names of the file are found again at once."""
        if len(self._leads) <= _MOST:
            return
        self._leads.clear()
        named = {(model.target, id(model)) for model in self.config.models.values()}
        self._destinations = {key: one for key, one in self._destinations.items() if key in named}

    def _destination(self, found: ConfiguredTarget) -> HttpDestination:
        """One object for one place: health and plans are remembered by it."""
        key = (found.target, id(found.entry))
        known = self._destinations.get(key)
        if known is None:
            known = self._destinations[key] = destination(self.config, found, self.profiles, self._policy)
        return known


ANY_MODEL = "-"
"""Of a destination that stands for a whole provider."""
_MOST = 4096


def destination(
    config: Config, found: ConfiguredTarget, profiles: Profiles, policy: RetryPolicy | None = None
) -> HttpDestination:
    """All that the file and the profile say of one place."""
    provider = found.provider
    profile = profiles.profile(provider.profile or found.provider_name)
    treated = settings_for(config, found)
    history = treated.history or config.history
    facts = dict(treated.facts)
    if treated.passthrough_fields:
        facts["message_fields"] = {"*": list(treated.passthrough_fields)}
    if treated.cache is CacheChoice.OFF:
        facts["cache_hints"] = "refuses"
    if treated.context_window:
        facts["context_window"] = treated.context_window
    place = _place(provider, profile)
    runs = treated.base_model or found.model
    target = _in_cloud(profiles.target(f"{profile.name}/{runs}"), place)
    if runs != found.model:
        target = _deploy(target, found.model)
    if facts or treated.rules or config.texts:
        target = patch_target(target, Layer("configuration", facts, treated.rules, config.texts))
    keys = tuple(key.reveal() for key in provider.key_pool())
    scheme = _scheme(provider, profile, place, found.provider_name)
    return HttpDestination(
        name=found.target,
        provider=found.provider_name,
        target=target,
        base_url=_base_url(_address(provider, profile, place), target),
        headers=tuple((name, value) for name, value in {**profile.headers, **provider.fixed_headers()}.items()),
        keys=keys,
        key_count=max(len(keys), 1),
        auth=_auth(provider, profile),
        timeouts=Timeouts(**msgspec.structs.asdict(provider.timeouts)),
        policy=policy or _policy(provider),
        options=treated.options,
        omit=treated.omit,
        max_loss=Loss[(treated.max_loss or config.max_loss).value.upper()],
        synthetic=treated.synthetic is Synthetic.ALLOW,
        doubt=treated.doubt,
        cache=_CACHE_HINTS[treated.cache],
        ask_usage=provider.usage is UsageCounting.ASK,
        answer_model=treated.answer_model,
        answers=treated.answers,
        shows_model=treated.show_model_prefix,
        reasoning=treated.reasoning,
        history=_trim_policy(history.trim, target.facts),
        compact=history.compact,
        tool_servers=treated.tool_servers,
        failures=provider.cooldown.failures,
        pause=provider.cooldown.seconds,
        connections=provider.max_connections,
        ca_file=provider.ca_file,
        emulated=provider.api_key == EMULATOR_KEY,
        price=(price := _price(treated, profile.name, runs)),
        stores_prompts=_stores_prompts(price, target.dialect) and not provider.asks_as_caller,
        rate_limits=treated.rate_limits,
        scheme=scheme,
        renews_credentials=scheme is not None and not provider.asks_as_caller,
        as_caller=provider.asks_as_caller,
        is_estimated=dialect(target.dialect).token_count is None,
        has_sockets=provider.websocket and target.facts.sockets,
    )


_PLACE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,99}")


def _place(provider: Provider, profile: Profile) -> dict[str, str]:
    """What fills the cloud's address and path."""
    cloud = provider.cloud
    given = {
        "region": cloud.region or profile.cloud.region,
        "project": cloud.project or "",
        "api_version": cloud.api_version or "",
    }
    for name, value in given.items():
        if value and not _PLACE.fullmatch(value):
            raise ConfigError(f'"{value[:80]}" cannot stand in an address', at=f"cloud.{name}")
    return {name: value for name, value in given.items() if value}


def _address(provider: Provider, profile: Profile, place: dict[str, str]) -> str:
    if provider.base_url:
        return provider.base_url
    regions = profile.cloud.regions if "project" in place else {}
    url = regions.get(place.get("region", "")) or regions.get("*") or profile.url
    return url.replace("{region}", place.get("region", ""))


def _in_cloud(target: Target, place: dict[str, str]) -> Target:
    """The target with the path of this project, region and version of the cloud's API. Its other API has its usual
    path: it may be younger than that version."""
    known = {f"{{{name}}}": value for name, value in place.items()}
    for path in target.profile.cloud.paths:
        for name, value in known.items():
            path = path.replace(name, value)
        if not _UNFILLED.search(path):
            return replace(target, profile=replace(target.profile, path=path))
    return target


_UNFILLED = re.compile(r"\{(?:project|region|api_version)\}")


def _scheme(provider: Provider, profile: Profile, place: dict[str, str], name: str) -> AuthScheme | None:
    """How requests are authorized if there is no key, and none is forbidden. `name`: the provider's."""
    if provider.asks_as_caller:
        return AuthScheme(CALLER, account=name)
    cloud = profile.cloud
    if not cloud.scheme or provider.key_pool() or provider.auth is not None:
        return None
    return AuthScheme(cloud.scheme, cloud.service, place.get("region", ""), provider.cloud.account or "")


def _deploy(target: Target, name: str) -> Target:
    """The target under the name by which its provider knows it, with the facts of the model that it runs."""
    twin = _deploy(target.twin, name) if target.twin is not None else None
    return replace(target, model=name, twin=twin, versions=tuple(_deploy(one, name) for one in target.versions))


def _price(entry: Model, profile: str, model: str) -> TokenPrice | None:
    """What the file says wins over what is published."""
    own = entry.price
    if own is None:
        return find_price(profile, model)
    return TokenPrice(own.input, own.output, own.cached, own.written, stored=own.stored, audio=own.audio)


def _stores_prompts(price: TokenPrice | None, name: str) -> bool:
    if price is None or price.stored is None or price.cached is None:
        return False
    return dialect(name).stored_prompts is not None


def _trim_policy(trim: Trim | None, facts: Facts) -> TrimPolicy | None:
    if trim is None:
        return None
    window = min(find_window(facts.model, facts.context_window), MOST_TOKENS)
    return TrimPolicy(**msgspec.structs.asdict(trim), window=window)


def _base_url(url: str, target: Target) -> str:
    """The address without what the path of a request repeats: some people write `/v1beta`, `/v1` or the whole path."""
    url = url.rstrip("/")
    path = dialect(target.dialect).request_path(
        RenderOptions(target.model, False), path_template(target.profile, False)
    )
    steps = path.partition("?")[0].split("/")
    heads = ["/".join(steps[:count]) for count in range(len(steps), 1, -1)]
    versions = [version for version in dialect(target.dialect).prefixes if version]
    if f"/{steps[1]}" in versions:
        heads += versions  # another version than the one that is asked for
    return next((url.removesuffix(head) for head in heads if url.endswith(head)), url)


def _auth(provider: Provider, profile: Profile) -> tuple[str, str] | None:
    if provider.auth is not None:
        return _AUTH.get(provider.auth)
    scheme = profile.key.scheme
    return profile.key.header, f"{scheme} " if scheme else ""


def _policy(provider: Provider) -> RetryPolicy:
    retries = provider.retries
    return RetryPolicy(
        attempts=retries.attempts,
        base=retries.base,
        factor=retries.factor,
        cap=retries.cap,
        jitter=retries.jitter is Jitter.FULL,
        linear=retries.growth is Growth.LINEAR,
    )
