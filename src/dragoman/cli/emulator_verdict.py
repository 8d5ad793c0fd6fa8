"""What an emulated provider says to a request, without a socket."""

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
from dragoman.profiles.profile import Profile
from dragoman.wire.error_bodies import read_failure

_OTHERWISE = {
    "anthropic-compatible": "anthropic",
    "gemini-compatible": "gemini",
    "openai-compatible": "compatible",
    "openai-compatible-lenient": "compatible-lenient",
    "strict-template": "template",
}
_BY_DIALECT = {
    "openai-chat": "openai",
    "openai-responses": "openai-responses",
    "anthropic": "anthropic",
    "gemini": "gemini",
}

_PARTICULAR = re.compile(r"""[0-9]+|"[^"]*"|'[^']*'|`[^`]*`""")


class Verdict(msgspec.Struct, frozen=True):
    """Accepted, or refused with these words."""

    status: int = 200
    says: str = ""

    @property
    def accepted(self) -> bool:
        return self.status < 400

    @property
    def kind(self) -> str:
        """The refusal without what is particular to this request: numbers, places and quoted texts."""
        return f"{self.status} {_PARTICULAR.sub('…', self.says)}"


def judge_of(profile: Profile) -> str:
    """The emulator that judges a profile best."""
    if profile.name in names():
        return profile.name
    return _OTHERWISE.get(profile.name) or _BY_DIALECT[profile.dialect]


def judged(name: str, path: str, headers: Mapping[str, str], body: bytes, root: str = "") -> Verdict:
    """The verdict of an emulator. `root` is what stands before the path in the provider's address."""
    one = _emulator(name)
    route, _, query = path.partition("?")
    prefixes = (urlsplit(root).path.rstrip("/"), "", "/v1", "/openai/v1", "/api/v1", "/v1beta")
    owned = next((prefix + route for prefix in prefixes if one.operation_of("POST", prefix + route)), None)
    if owned is None:
        raise OptionError(f'the emulator "{name}" speaks another dialect than {route}', hint="choose with --against")
    lowered = {name.lower(): value for name, value in headers.items()}
    call = one.parse_request("POST", owned, dict(parse_qsl(query)), lowered, body)
    refused = call if isinstance(call, ErrorResponse) else one.judge(call)
    return Verdict() if refused is None else Verdict(refused.status, _words(refused.body))


@cache
def _emulator(name: str) -> EmulatedProvider:
    try:
        return provider(name)
    except UnknownEmulatorError as fault:
        raise OptionError(str(fault), at="--against") from None


def _words(body: Any) -> str:
    raw = body.encode() if isinstance(body, str) else msgspec.json.encode(body)
    return read_failure(400, {}, raw).message
