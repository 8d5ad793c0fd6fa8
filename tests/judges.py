"""Who judges whom: for every built-in profile the emulator, with its options, that says whether a request is accepted.

No sockets: `judge` reads and judges, with strict signatures, as the laws want it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any
from urllib.parse import parse_qsl

from dragoman.emulators.catalogue import names, provider
from dragoman.emulators.provider import EmulatedProvider, ErrorResponse
from dragoman.profiles.profile import builtin, builtin_names

_OTHER_NAMES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "gemini-compatible": ("gemini-openai", {"reported": False}),  # which fields a proxy takes is unknown
    "anthropic-compatible-strict": ("anthropic", {}),
    "openai-compatible": ("compatible-lenient", {}),
    "openai-compatible-strict": ("compatible", {}),
    "strict-template": ("template", {"template": "alternating"}),
}
"""Profiles that are judged by an emulator of another name."""


def _emulator_for(profile: str) -> tuple[str, Mapping[str, Any]]:
    """The emulator of the profile's own name, or that of the profile that it is like."""
    if profile in _OTHER_NAMES:
        return _OTHER_NAMES[profile]
    if profile in names():
        return profile, {}
    like = builtin(profile).like
    assert like, (
        f"name the emulator that judges {profile} in tests/judges.py: none has its name, and it is `like` no other"
    )
    return _emulator_for(like)


JUDGES: Mapping[str, tuple[str, Mapping[str, Any]]] = {name: _emulator_for(name) for name in sorted(builtin_names())}
# a profile's path may be relative to its base URL; the emulator knows the vendor's from the root
_PREFIXES = ("", "/v1", "/v1beta", "/api", "/api/v1", "/openai", "/openai/v1", "/v1beta/openai", "/compatibility/v1")


@cache
def judge_of(profile: str, strict: bool) -> EmulatedProvider:
    name, options = JUDGES[profile]
    return provider(name, **({"signatures": "strict"} if strict else {}), **options)


def judge(
    profile: str, model: str, path: str, headers: Mapping[str, str], body: bytes, strict: bool = True
) -> ErrorResponse | None:
    """The refusal of the emulator that judges this profile, or None. `model` fills a `{model}` in the path.

    `strict`: signatures of unknown make are refused; recorded traffic is judged without that.
    """
    one = judge_of(profile, strict)
    owned, fields = served_path(one, path, model)
    call = one.parse_request("POST", owned, fields, {name.lower(): value for name, value in headers.items()}, body)
    return call if isinstance(call, ErrorResponse) else one.judge(call)


def served_path(one: EmulatedProvider, path: str, model: str) -> tuple[str, dict[str, str]]:
    """A profile's path as its emulator knows it, and the query."""
    route, _, query = path.replace("{model}", model).partition("?")
    owned = next((prefix + route for prefix in _PREFIXES if one.operation_of("POST", prefix + route)), None)
    if owned is None:
        raise ValueError(f"the emulator {one.name} knows no path {route}; its own: {one.example[0]}")
    return owned, dict(parse_qsl(query))
