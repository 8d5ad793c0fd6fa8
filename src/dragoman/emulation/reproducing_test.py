"""The source of a test that compiles a request for its target and has the emulator judge it."""

from __future__ import annotations

import re

import msgspec

_TEST = """{title!r}

import json
import urllib.request

import dragoman
from dragoman.testing import emulator

REQUEST = json.loads(r\'\'\'
{request}
\'\'\')


def test_{name}():
    adapted = dragoman.adapt(REQUEST, source={dialect!r}, target={target!r}, stream={stream})
    with emulator({emulator!r}) as provider:
        url = provider.base_url + adapted.path
        request = urllib.request.Request(url, adapted.body, dict(adapted.headers))
        try:
            urllib.request.urlopen(request).read()
        except urllib.error.HTTPError as refusal:
            raise AssertionError(refusal.read().decode()) from None
        assert provider.requests[-1].verdict == "accepted"
"""


def reproducing_test(
    *, request: bytes, dialect: str, target: str, emulator: str, stream: bool, error: str = "", when: str = ""
) -> str:
    """The source. `error` is what the request was refused with, if it was. Names and errors are other people's words:
    they stand in the source as literals."""
    return _TEST.format(
        title=f"Refused on {when}: {error[:200]}" if error else f"A request of {when}, as {target} accepts it.",
        name=re.sub(r"[^a-z0-9]+", "_", error.lower())[:50].strip("_") or "refused" if error else "request",
        request=msgspec.json.format(request, indent=4).decode().replace("'''", "\\u0027" * 3),
        dialect=dialect,
        target=target,
        emulator=emulator,
        stream=stream,
    )
