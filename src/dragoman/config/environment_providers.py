"""Providers that the file does not name, found in the environment, and whether it wants texts in logs.

A vendor's key is only sent to that vendor: a provider with its own `base_url` must name its key. The base URLs of SDKs
(`OPENAI_BASE_URL`, `ANTHROPIC_BASE_URL`) are ignored, because users point them at this gateway.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from dragoman.config.build import join_path
from dragoman.config.known_names import KnownNames
from dragoman.config.schema.config_file import Config
from dragoman.config.schema.log import Log
from dragoman.config.schema.models import Model
from dragoman.config.schema.providers import Provider
from dragoman.config.secret import Secret
from dragoman.config.variables import Environment

GATEWAY = "gateway"
GATEWAY_URL = "LLM_GATEWAY_URL"
GATEWAY_KEY = "LLM_GATEWAY_API_KEY"
GATEWAY_MODEL = "LLM_MODEL"
LOG_CONTENT = "LAZYROUTER_LOG_MESSAGE_CONTENT"
_OFF = ("0", "false", "no", "off")
_UNSET = ", not set"
"""How the origin of a value ends whose variable is not set."""


class Completed(Struct, frozen=True):
    config: Config
    origins: dict[str, str]


def complete(config: Config, known: KnownNames, variables: Environment) -> Completed:
    """Add what the environment provides. The file wins, but the environment alone can take texts out of all logs."""
    origins: dict[str, str] = {}
    providers = dict(config.providers)
    for name, provider in config.providers.items():
        providers[name] = _complete(name, provider, known, variables, origins)
    for name in _find_implied(config, known, variables):
        providers[name] = _complete(name, Provider(profile=name), known, variables, origins)
    _gateway(providers, known, variables, origins)
    default = config.default_model or _default_model(config, providers, variables, origins)
    models = config.models
    if "default_model" in origins and default is not None and default.startswith(f"{GATEWAY}/"):
        # Clients may also ask for it by its own name, and find it in the list of models.
        models = {**models, default.removeprefix(f"{GATEWAY}/"): Model(target=default)}
    log = _without_texts(config.log, variables, origins)
    return Completed(replace(config, providers=providers, models=models, default_model=default, log=log), origins)


def _find_implied(config: Config, known: KnownNames, variables: Environment) -> Iterator[str]:
    """Profiles that a target names; if the file has no providers and models, those with a key."""
    defaults = {name for name in (config.default_model, config.default_audio_model) if name}
    for target in sorted({target for model in config.models.values() for target in _targets(model)} | defaults):
        first, slash, _ = target.partition("/")
        profiles = known.profiles if known.profiles is not None else {first}
        if slash and first not in config.providers and first in profiles:
            yield first
    if known.profiles is not None:
        yield from sorted(({*config.families.values()} & known.profiles) - {*config.providers})
    if not config.providers and not config.models:
        yield from (name for name in sorted(known.profiles or ()) if _is_offered(name, known, variables))


def _is_offered(profile: str, known: KnownNames, variables: Environment) -> bool:
    """Whether the environment has its key and address. Those of `LLM_GATEWAY_URL` are offered as one provider."""
    address = known.variables_of(profile).address
    if address == GATEWAY_URL or (address and not variables.values.get(address)):
        return False
    return _key_variable(profile, known, variables) is not None


def _targets(model: Model) -> tuple[str, ...]:
    on = model.fallbacks_on
    return (model.target, *model.fallbacks, *on.context_length, *on.content_filter, *on.rate_limit)


def _key_variable(profile: str, known: KnownNames, variables: Environment) -> str | None:
    return next((name for name in known.variables_of(profile).key if variables.values.get(name)), None)


def _complete(
    name: str, provider: Provider, known: KnownNames, variables: Environment, origins: dict[str, str]
) -> Provider:
    """The provider with the key and the address that the environment has for its profile. Who names a project has
    credentials of the cloud: a key of the environment is not meant for it."""
    placed = _with_cloud(name, provider, known, variables, origins)
    keyed = placed if placed.cloud.project else _with_key(name, placed, known, variables, origins)
    address = known.variables_of(provider.profile or name).address
    url = variables.values.get(address)
    if not url or provider.base_url is not None:
        return keyed
    origins[f"providers.{name}.base_url"] = variables.origin(address)
    return replace(keyed, base_url=url.rstrip("/"))


def _with_key(
    name: str, provider: Provider, known: KnownNames, variables: Environment, origins: dict[str, str]
) -> Provider:
    variable = _key_variable(provider.profile or name, known, variables)
    if provider.key_pool() or provider.base_url is not None or variable is None or provider.asks_as_caller:
        return provider
    origins[f"providers.{name}.api_key"] = variables.origin(variable)
    return replace(provider, api_key=Secret(variables.values[variable].strip()))


def _with_cloud(
    name: str, provider: Provider, known: KnownNames, variables: Environment, origins: dict[str, str]
) -> Provider:
    """With the region and the project that the environment has."""
    cloud, names = provider.cloud, known.variables_of(provider.profile or name)
    for place, named in (("region", names.region), ("project", names.project)):
        variable = next((one for one in named if variables.values.get(one)), None)
        if getattr(cloud, place) is None and variable is not None:
            origins[f"providers.{name}.cloud.{place}"] = variables.origin(variable)
            cloud = replace(cloud, **{place: variables.values[variable].strip()})
    return provider if cloud is provider.cloud else replace(provider, cloud=cloud)


def _gateway(
    providers: dict[str, Provider], known: KnownNames, variables: Environment, origins: dict[str, str]
) -> None:
    """Add `LLM_GATEWAY_URL` and its key as provider `gateway`. A `base_url` in the file wins."""
    configured = providers.get(GATEWAY)
    url = variables.values.get(GATEWAY_URL)
    if not url or (configured is not None and configured.base_url is not None):
        return
    found = replace(configured or Provider(profile=known.gateway_profile), base_url=url.rstrip("/"))
    if found.profile is None:
        found = replace(found, profile=known.gateway_profile)
    origins[f"providers.{GATEWAY}.base_url"] = variables.origin(GATEWAY_URL)
    key = variables.values.get(GATEWAY_KEY)
    if key and not found.key_pool():
        found = replace(found, api_key=Secret(key.strip()))
        origins[f"providers.{GATEWAY}.api_key"] = variables.origin(GATEWAY_KEY)
    providers[GATEWAY] = found


def _default_model(
    config: Config, providers: dict[str, Provider], variables: Environment, origins: dict[str, str]
) -> str | None:
    """`LLM_MODEL`: a model of the file, a target, or a model of `LLM_GATEWAY_URL`."""
    name = variables.values.get(GATEWAY_MODEL)
    if not name:
        return None
    # Beside `LLM_GATEWAY_URL` the model is that gateway's: a vendor's key in the environment does not take it away.
    known = config.providers if GATEWAY in providers else providers
    named = name in config.models or name.partition("/")[0] in known
    if not named and GATEWAY not in providers:
        return None
    origins["default_model"] = variables.origin(GATEWAY_MODEL)
    return name if named else f"{GATEWAY}/{name}"


def _without_texts(log: Log, variables: Environment, origins: dict[str, str]) -> Log:
    """LazyRouter's switch: with `0` no log holds texts, whatever the file says."""
    if variables.values.get(LOG_CONTENT, "").strip().lower() not in _OFF:
        return log
    files = {"exchanges": log.exchanges, "provider_errors": log.provider_errors}
    origins |= dict.fromkeys(["log.content", *[f"log.{name}.content" for name in files]], variables.origin(LOG_CONTENT))
    return replace(log, content=False, **{name: replace(file, content=False) for name, file in files.items()})


# Addresses and keys that are nowhere


def warn_of_addresses(config: Config, known: KnownNames) -> Iterator[tuple[str, str]]:
    """A key path and a warning for each provider that nobody gave an address: its profile stands for many servers."""
    if known.profiles is None:
        return
    for name, provider in config.providers.items():
        profile = known.variables_of(provider.profile or name)
        if not provider.base_url and not profile.url:
            path = f"{join_path('providers', name)}.base_url"
            yield path, f"{path} is missing: {address_hint(profile.address)}"


def address_hint(variable: str) -> str:
    """What to do about a missing address, which an environment variable may hold."""
    return "set it" + (f", or {variable} in the environment" if variable else "")


def find_missing_keys(config: Config, origins: Mapping[str, str], known: KnownNames) -> dict[str, str]:
    """The providers without a key though their vendor wants one, each with what to do about it."""
    providers = config.providers.items()
    return {name: hint for name, provider in providers if (hint := _find_hint(name, provider, origins, known))}


def warn_of_keys(config: Config, origins: Mapping[str, str], known: KnownNames) -> list[str]:
    """A warning for each provider without a key, unless there is one already for the variable of the file."""
    missing = [one for one in find_missing_keys(config, origins, known).items() if not _find_unset(one[0], origins)]
    return [f"{join_path('providers', name)} has no key: {hint}" for name, hint in missing]


def _find_hint(name: str, provider: Provider, origins: Mapping[str, str], known: KnownNames) -> str:
    """What to set; empty if it has a key, or needs none: a server without TLS is one of the user's own."""
    profile = known.variables_of(provider.profile or name)
    url = provider.base_url or profile.url
    if provider.key_pool() or provider.asks_as_caller or profile.takes_credentials or not url.startswith("https:"):
        return ""
    if unset := _find_unset(name, origins):
        return f"set {unset}, which the file names"
    if provider.base_url or not profile.key:  # a vendor's key goes to this vendor alone
        return "set api_key in the file"
    return f"set {' or '.join(profile.key)}, or api_key in the file"


def _find_unset(name: str, origins: Mapping[str, str]) -> str:
    """The variable that the file names for the key of a provider, and that is not set."""
    entry = join_path("providers", name) + ".api_key"
    origin = origins.get(entry, "")
    if origin.endswith(_UNSET):
        return origin.removeprefix("env ").removesuffix(_UNSET)
    return "a variable of api_keys" if f"{entry}s" in origins else ""
