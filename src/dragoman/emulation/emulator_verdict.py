"""Whether an emulated provider accepts a request, without a socket."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec

from dragoman.emulators.catalogue import UnknownEmulatorError, names, provider
from dragoman.emulators.provider import EmulatedProvider, ErrorResponse
from dragoman.errors import OptionError
from dragoman.profiles.profile import Profile, builtin, builtin_names
from dragoman.wire.error_bodies import parse_failure

_EMULATOR_BY_PROFILE = {
    "anthropic-compatible-strict": "anthropic",
    "auto": "compatible-lenient",
    "gemini-compatible": "gemini-openai",
    "gemini-native-compatible-strict": "gemini",
    "openai-compatible": "compatible-lenient",
    "openai-compatible-lenient": "compatible-lenient",
    "openai-compatible-strict": "compatible",
    "strict-template": "template",
}
_CHAT_EMULATOR = "openai"
"""Judges a dialect that has no emulator of its own name."""

_DETAILS = re.compile(r"""[0-9]+|"[^"]*"|'[^']*'|`[^`]*`""")


class EmulatorVerdict(msgspec.Struct, frozen=True):
    """Accepted, or refused with this status and message."""

    status: int = 200
    message: str = ""

    @property
    def accepted(self) -> bool:
        return self.status < 400

    @property
    def kind(self) -> str:
        """The refusal without the details of this request: numbers and quoted texts."""
        return f"{self.status} {_DETAILS.sub('…', self.message)}"


def emulator_for(profile: Profile) -> str:
    """The emulator that is closest to a profile: its own, that of the one it is like, or that of its dialect."""
    for name in (profile.name, profile.like):
        found = name if name in names() else _EMULATOR_BY_PROFILE.get(name)
        if found is not None and (name == profile.name or _speaks(name, profile.dialect)):
            return found
    return profile.dialect if profile.dialect in names() else _CHAT_EMULATOR


def _speaks(profile: str, dialect: str) -> bool:
    """Whether a built-in profile has this dialect. One that is like it may have another."""
    return profile in builtin_names() and builtin(profile).dialect == dialect


def judge_request(name: str, path: str, headers: Mapping[str, str], body: bytes, root: str = "") -> EmulatorVerdict:
    """The verdict of an emulator. `root` is the provider's base URL."""
    emulated = _emulator(name)
    route, _, query = path.partition("?")
    prefixes = (urlsplit(root).path.rstrip("/"), "", "/v1", "/openai/v1", "/api/v1", "/v1beta", "/v1beta/openai")
    served = next((prefix + route for prefix in prefixes if emulated.operation_of("POST", prefix + route)), None)
    if served is None:
        raise OptionError(f'the emulator "{name}" does not serve {route}', hint="choose another with --against")
    lowered = {name.lower(): value for name, value in headers.items()}
    request = emulated.parse_request("POST", served, dict(parse_qsl(query)), lowered, body)
    error = request if isinstance(request, ErrorResponse) else emulated.judge(request)
    return EmulatorVerdict() if error is None else EmulatorVerdict(error.status, _error_message(error.body))


@cache
def _emulator(name: str) -> EmulatedProvider:
    try:
        return provider(name)
    except UnknownEmulatorError as error:
        raise OptionError(str(error), at="--against") from None


def _error_message(body: Any) -> str:
    raw = body.encode() if isinstance(body, str) else msgspec.json.encode(body)
    return parse_failure(400, {}, raw).message
