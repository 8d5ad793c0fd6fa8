"""The profile of a provider at a known address."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import lru_cache
from urllib.parse import urlsplit

from dragoman.profiles.profile import Profile, builtin, builtin_names

_LOCAL = ("localhost", "127.0.0.1", "::1")


def profile_at(url: str | None, dialect: str) -> str | None:
    """The built-in profile of the vendor whose host stands in this URL, in this dialect; None for any other host."""
    host = _host(url)
    if not host:
        return None
    return next((profile.name for profile in _remote() if profile.dialect == dialect and _serves(profile, host)), None)


def _serves(profile: Profile, host: str) -> bool:
    return host == _host(profile.url) or any(fnmatchcase(host, glob) for glob in profile.hosts)


def _host(url: str | None) -> str:
    try:
        return urlsplit(url or "").hostname or ""
    except ValueError:
        return ""


@lru_cache(maxsize=1)
def _remote() -> tuple[Profile, ...]:
    """Built-in profiles with an address of their own. A local port says nothing about the server behind it."""
    found = [builtin(name) for name in sorted(builtin_names())]
    return tuple(one for one in found if one.hosts or (one.url and _host(one.url) not in _LOCAL))
