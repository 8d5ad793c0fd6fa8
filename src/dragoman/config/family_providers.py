"""The provider of a bare model name, such as `claude-sonnet-4-6`.

One configured provider that serves the family of the name is taken. Of several, the configuration decides
(`families`); else the one in the client's dialect; else the maker's own profile.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from dragoman.config.schema import Config
from dragoman.profiles.families import Family, families_of
from dragoman.profiles.profile import Profile, Profiles


class FamilyChoice(Struct, frozen=True):
    """Who serves a family. `provider` is empty where several do and nobody says which is meant."""

    family: str
    provider: str
    among: tuple[str, ...]


def choose_family_provider(config: Config, profiles: Profiles, name: str, client: str) -> FamilyChoice | None:
    """The choice for a name of a client that speaks a dialect; None where no configured provider serves the name."""
    for family in families_of(name):
        serving = _serving(config, profiles, family)
        if serving:
            chosen = config.families.get(family.name) or _chosen(serving, family, client)
            return FamilyChoice(family.name, chosen, tuple(provider for provider, _ in serving))
    return None


def _serving(config: Config, profiles: Profiles, family: Family) -> list[tuple[str, Profile]]:
    """The configured providers that serve a family. The one that the configuration names may have any profile."""
    named = config.families.get(family.name)
    known = [(name, profiles.profile(one.profile or name)) for name, one in config.providers.items()]
    return [(name, profile) for name, profile in known if name == named or family.name in profile.families]


def _chosen(serving: Sequence[tuple[str, Profile]], family: Family, client: str) -> str:
    alike = [one for one in serving if one[1].dialect == client] or serving
    own = [one for one in alike if one[1].name == family.default] or [
        one for one in serving if one[1].name == family.default
    ]
    for some in (serving, alike, own):
        if len(some) == 1:
            return some[0][0]
    return ""
