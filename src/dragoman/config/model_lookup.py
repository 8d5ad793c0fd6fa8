"""Where a model's name leads: `find_lead` is the one place that decides it.

In this order: a name of the file; of an alias such as `anthropic/via/NAME`, which lists show to agents, its NAME;
the name by which its provider knows a model of the file; a pattern (`team-*`); `PROVIDER/MODEL`; the pattern `*`; the
beginning of one name of the file; and a bare name such as `claude-sonnet-4-6`, by its family. The only configured
provider of a family is taken. Of several, the configuration decides (`families`), else the one in the client's dialect,
else the maker's own profile.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct

from dragoman.config.schema.config_file import Config
from dragoman.config.schema.models import Model
from dragoman.config.schema.providers import Provider
from dragoman.dialects.registry import strip_alias
from dragoman.profiles.families import NameFamily, families_of
from dragoman.profiles.offers import list_offered_names
from dragoman.profiles.profile import Profile, Profiles, builtin_names

AUTO = "auto"
STAR = "*"
_CLEAN = re.compile(r"[!-~]+")


class FallbackReason(StrEnum):
    """A reason of failure for which the file may name its own fallbacks."""

    CONTEXT_LENGTH = "context_length"
    CONTENT_FILTER = "content_filter"
    RATE_LIMIT = "rate_limit"


class ConfiguredTarget(Struct, frozen=True):
    """A provider and one of its models."""

    provider_name: str
    provider: Provider
    model: str
    entry: Model | None = None
    """The model of the file that names them, if any."""

    @property
    def target(self) -> str:
        return f"{self.provider_name}/{self.model}"


class FamilyChoice(Struct, frozen=True):
    """Who serves a family."""

    family: str
    provider: str
    """Empty if several do and nobody says which is meant."""
    among: tuple[str, ...]


class ModelLead(Struct, frozen=True):
    """Where a name leads."""

    names: tuple[str, ...]
    """What the name means: a name of the file, or the name itself; and `PROVIDER/MODEL` of a bare name. A key that may
    use one of these may use the model."""
    candidates: tuple[str, ...] | None = None
    """The models of a route, of which one is chosen for each request; None if the name is no route."""
    targets: tuple[ConfiguredTarget, ...] = ()
    """The first choice first. There are none if the name leads nowhere."""
    reserved: Mapping[FallbackReason, tuple[ConfiguredTarget, ...]] = {}
    """Those for one reason of failure of the first choice. They go before the others."""
    family: FamilyChoice | None = None
    """Who serves a name that is not in the file."""


def find_lead(config: Config, profiles: Profiles, name: str, client: str = "") -> ModelLead:
    """Where a name leads. `client` is the dialect of who asks: it may decide which provider a bare name means."""
    name = find_asked_name(config, name)
    family = None if name in config.models else find_family(config, profiles, name, client)
    meant = _find_meant(config, name, family)
    targets, reserved = _targets(config, meant)
    if family is not None and family.provider and find_target(config, meant) is None:
        found = find_target(config, f"{family.provider}/{name}")
        targets = (found,) if found is not None and _is_clean(name) else ()
    is_bare = match_pattern(config.models, name) is None and name.partition("/")[0] not in config.providers
    full = targets[0].target if targets and family is not None and is_bare else name
    return ModelLead((meant, full), find_candidates(config, name), targets, reserved, family)


def find_asked_name(config: Config, name: str) -> str:
    """The name that a client asks for, behind the prefix of an alias, or behind its own name for the gateway: agents
    write one before `auto`. It is a name that no provider, model, route or maker has."""
    if name in config.models:
        return name
    asked = strip_alias(name)
    return AUTO if asked.endswith(f"/{AUTO}") and _begins_with_own_name(config, asked) else asked


def _begins_with_own_name(config: Config, name: str) -> bool:
    prefix, maker = name.rpartition("/")[0], name.partition("/")[0]
    if name in config.routes or maker in config.providers or maker in builtin_names() or families_of(name):
        return False
    return match_pattern(config.models, name) is None and not any(one.startswith(prefix) for one in config.models)


def _find_meant(config: Config, name: str, family: FamilyChoice | None) -> str:
    """The name of the file that a name means, or the name itself.

    A beginning stands for a name only if no provider may run a model that is called so: `gpt-4o` is not the
    beginning of `gpt-4o-mini`.
    """
    if name in config.models or "/" in name:
        return name
    if find_target(config, name) is not None:
        return known_as(config, name)
    return name if family is not None and _is_run(config, name, family) else _find_beginning(config, name) or name


def _is_run(config: Config, name: str, family: FamilyChoice) -> bool:
    """May a provider run a model of this name? Nearly all names have a version; the others are listed."""
    profiles = {config.providers[one].profile or one for one in family.among}
    return any(map(str.isdigit, name)) or any(name in list_offered_names(profile) for profile in profiles)


def _targets(
    config: Config, name: str
) -> tuple[tuple[ConfiguredTarget, ...], Mapping[FallbackReason, tuple[ConfiguredTarget, ...]]]:
    """The targets of a name of the file, and those for one reason."""
    first, known = find_target(config, name), find_entry(config, name)
    if first is None or not _is_clean(first.model):
        return (), {}
    if known is None:
        return (first,), {}
    named = {reason: getattr(known.entry.fallbacks_on, reason.value) for reason in FallbackReason}
    reserved = {reason: _others(config, known, names) for reason, names in named.items()}
    others = _others(config, known, known.entry.fallbacks)
    return (first, *others), {reason: some for reason, some in reserved.items() if some}


def _others(config: Config, known: NamedEntry, names: Sequence[str]) -> tuple[ConfiguredTarget, ...]:
    """Targets to try after a model's own, each once.

    A fallback to another model of the file uses that model's options, but not its fallbacks: a chain is written in one
    place. A caller's credential is meant for the provider that the caller named.
    """
    others: dict[str, ConfiguredTarget] = {}
    for name in names:
        found = find_target(config, known.fill(name))
        foreign = found is not None and found.provider_name != known.target.partition("/")[0]
        if found is not None and found.target != known.target and not (foreign and found.provider.asks_as_caller):
            others.setdefault(found.target, found)
    return tuple(others.values())


def _is_clean(model: str) -> bool:
    """A model's name may stand in a URL and in a header: nothing in it may lead elsewhere."""
    if not _CLEAN.fullmatch(model) or any(letter in model for letter in "?#%\\"):
        return False
    return not any(step in ("", ".", "..") for step in model.split("/"))


# Names of the file


def find_target(config: Config, name: str) -> ConfiguredTarget | None:
    """The target of a name of the file, of one that fits a pattern, or of `PROVIDER/MODEL`; None if unknown."""
    found = find_entry(config, name)
    if found is not None:
        return _target(config, found.target, found.entry)
    return _target(config, name, None) if not is_pattern(name) else None


def _target(config: Config, target: str, entry: Model | None) -> ConfiguredTarget | None:
    provider_name, slash, model = target.partition("/")
    provider = config.providers.get(provider_name)
    if not slash or not model or provider is None:
        return None
    return ConfiguredTarget(provider_name, provider, model, entry)


class PatternMatch(Struct, frozen=True):
    """A pattern that a name fits, and what its star stands for."""

    pattern: str
    star: str

    @property
    def is_catch_all(self) -> bool:
        return self.pattern == STAR

    def fill(self, target: str) -> str:
        """A target with the star filled in. One without a star is the same for every name."""
        return target.replace(STAR, self.star, 1)


class NamedEntry(Struct, frozen=True):
    """A model of the file that a name leads to, by itself or by a pattern."""

    entry: Model
    match: PatternMatch | None = None

    @property
    def target(self) -> str:
        return self.fill(self.entry.target)

    def fill(self, target: str) -> str:
        return target if self.match is None else self.match.fill(target)


def find_entry(config: Config, name: str) -> NamedEntry | None:
    """The model of the file that a name leads to; None if it names a provider itself, or nothing."""
    if is_pattern(name):
        return None
    entry = config.models.get(name) or config.models.get(known_as(config, name))
    if entry is not None:
        return NamedEntry(entry)
    match = match_pattern(config.models, name)
    if match is None or (match.is_catch_all and _target(config, name, None) is not None):
        return None
    return NamedEntry(config.models[match.pattern], match)


def known_as(config: Config, name: str) -> str:
    """The model of this file that a name means: itself, or the one whose provider calls it so.

    If several would do, none is meant.
    """
    if name in config.models or "/" in name:
        return name
    same = [alias for alias, model in _list_named(config) if _provider_name(model) == name]
    return same[0] if len(same) == 1 else name


def _find_beginning(config: Config, name: str) -> str:
    """The model of this file whose name begins so, else the one whose provider's name for it does; empty if there is
    none, or several."""
    if not name:
        return ""
    own = [alias for alias, _ in _list_named(config) if alias.startswith(name)]
    theirs = [alias for alias, model in _list_named(config) if _provider_name(model).startswith(name)]
    found = own or theirs
    return found[0] if len(found) == 1 else ""


def _list_named(config: Config) -> list[tuple[str, Model]]:
    return [(alias, model) for alias, model in config.models.items() if not is_pattern(alias)]


def _provider_name(model: Model) -> str:
    return model.target.partition("/")[2]


def list_shown_names(config: Config) -> tuple[str, ...]:
    """The names of the file that are shown: neither hidden ones nor patterns."""
    return tuple(name for name, model in config.models.items() if not model.hidden and not is_pattern(name))


def find_candidates(config: Config, name: str) -> tuple[str, ...] | None:
    """The models that a route chooses from; None if the name is no route.

    `auto` chooses from all, `PREFIX/auto` from those whose provider or name begins so. A model that is asked with the
    caller's credential is chosen by the caller alone.
    """
    name = find_asked_name(config, name)
    route = config.routes.get(name)
    if (route is None and not name.endswith(AUTO)) or name in config.models:
        return None
    listed = tuple([one for one in list_shown_names(config) if not _asks_as_caller(config, config.models[one])])
    if route is not None:
        return route.models or listed
    prefix, slash, last = name.rpartition("/")
    if last != AUTO or not listed:
        return None
    if not slash:
        return listed
    some = tuple(one for one in listed if one.startswith(prefix) or config.models[one].target.startswith(f"{prefix}/"))
    return some or None


def _asks_as_caller(config: Config, model: Model) -> bool:
    provider = config.providers.get(model.target.partition("/")[0])
    return provider is not None and provider.asks_as_caller


# Patterns: names in `models` that stand for many


def is_pattern(name: str) -> bool:
    return STAR in name


def match_pattern(names: Iterable[str], name: str) -> PatternMatch | None:
    """The pattern that a name fits, the one with the most letters."""
    if is_pattern(name):
        return None
    fitting = [pattern for pattern in names if is_pattern(pattern) and _fits(pattern, name)]
    if not fitting:
        return None
    pattern = max(fitting, key=len)
    head, _, tail = pattern.partition(STAR)
    return PatternMatch(pattern, name[len(head) : len(name) - len(tail)])


def _fits(pattern: str, name: str) -> bool:
    head, _, tail = pattern.partition(STAR)
    return len(name) > len(head) + len(tail) and name.startswith(head) and name.endswith(tail)


# Families of bare names


def find_family(config: Config, profiles: Profiles, name: str, client: str) -> FamilyChoice | None:
    """Who serves a bare name for a client that speaks a dialect; None if no configured provider does."""
    head, slash, _ = name.partition("/")
    named = head if slash and head in profiles.names() else ""
    for family in families_of(name):
        serving = _serving(config, profiles, family)
        if serving and not (named and family.has(named)):  # `gemini-compatible/M` names a profile, and no Gemini
            chosen = config.families.get(family.name) or _choose_provider(serving, family, client)
            return FamilyChoice(family.name, chosen, tuple(provider for provider, _ in serving))
    return None


def _serving(config: Config, profiles: Profiles, family: NameFamily) -> list[tuple[str, Profile]]:
    """The configured providers that serve a family. The one that the configuration names may have any profile."""
    named = config.families.get(family.name)
    known = [(name, profiles.profile(one.profile or name)) for name, one in config.providers.items()]
    return [(name, profile) for name, profile in known if name == named or family.name in profile.families]


def _choose_provider(serving: Sequence[tuple[str, Profile]], family: NameFamily, client: str) -> str:
    alike = [one for one in serving if one[1].dialect == client] or serving
    own = [one for one in alike if one[1].name == family.default] or [
        one for one in serving if one[1].name == family.default
    ]
    for some in (serving, alike, own):
        if len(some) == 1:
            return some[0][0]
    return ""
