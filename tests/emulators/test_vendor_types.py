"""Vendors of the Chat dialect against the types of their own SDKs: the emulator, and what the compiler writes for them.

If a vendor is known to take what its types lack, or nobody knows that it refuses it, this is set aside by name.
`make vendors` installs the SDKs whose dependencies are heavy, and runs this file.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

import orjson
import pytest
from tests.published_schemas import VENDORS, fits, is_installed, misfits
from tests.shapes.chooser import seeded
from tests.shapes.malformed import MUTATIONS, malformed
from tests.shapes.spoiled import Spoiled, spoil
from tests.shapes.wellformed import SAMPLES
from tests.strategies import SHAPES, request

from dragoman.emulators.catalogue import provider
from dragoman.emulators.provider import ErrorResponse
from dragoman.engine.library.adapt import adapt
from dragoman.errors import RequestError

Wire = dict[str, Any]
MODELS: Mapping[str, str] = {
    "cerebras": "gpt-oss-120b",
    "fireworks": "accounts/fireworks/models/kimi-k2",
    "together": "meta-llama/Llama-3.3-70B-Instruct-Turbo",
}
UNTYPED: Mapping[str, tuple[str, ...]] = {
    "cerebras": (),
    # LangChain (#36977, April 2026) and the AI SDK (#16087, June 2026) send it, and some models need it
    "fireworks": ("stream_options",),
    # in the types: a list of stops, a number of log probabilities, and the call itself as the choice of a tool
    "together": ("stop", "logprobs", "tool_choice"),
}
"""Top-level keys that are not in a vendor's types, or have another type there, and are not known to be refused."""


def set_aside(vendor: str, body: Wire) -> Wire:
    """The request without what does not fit the types and the vendor is not known to refuse."""
    body = {key: value for key, value in copy.deepcopy(body).items() if key not in UNTYPED[vendor]}
    if vendor == "together":
        body = _without_nulls(body)
        for message in body["messages"]:
            for call in message.get("tool_calls") or ():
                call["index"] = 0  # its types want it; no client writes it
    return body


def _without_nulls(value: Any) -> Any:
    """Null for absent is recorded as accepted by Together, in the request and in a message."""
    if isinstance(value, list):
        return [_without_nulls(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {key: _without_nulls(one) for key, one in value.items() if one is not None}


def judged(vendor: str, body: Wire) -> ErrorResponse | None:
    one = provider(vendor)
    received = one.parse_request("POST", "/v1/chat/completions", {}, {}, orjson.dumps(body))
    return received if isinstance(received, ErrorResponse) else one.judge(received)


def compiled(vendor: str) -> Iterator[tuple[str, Wire]]:
    """What is sent for requests of all dialects: well-formed ones, generated ones with defects, and malformed ones."""
    asked = [(f"{dialect} {at}", dialect, body) for dialect in SAMPLES for at, body in enumerate(SAMPLES[dialect])]
    asked += [(f"{name} {seed}", name, orjson.loads(request(name, seed).body)) for name in SHAPES for seed in range(8)]
    asked += [(one.name, one.dialect, malformed(one, seeded(0)).body) for one in MUTATIONS]
    for name, dialect, body in asked:
        try:
            adapted = adapt(orjson.dumps(body), source=dialect, target=f"{vendor}/{MODELS[vendor]}")
        except RequestError:
            continue
        yield f"{name} ({dialect})", orjson.loads(adapted.body)


@pytest.mark.parametrize("vendor", VENDORS)
def test_what_the_compiler_writes_fits_the_types_and_is_accepted(vendor: str) -> None:
    if not is_installed(vendor):
        pytest.skip(f"the SDK of {vendor} is not installed: `make vendors` does it")
    wrong: dict[str, Any] = {}
    tried = 0
    for name, body in compiled(vendor):
        tried += 1
        unfit = list(misfits(vendor, set_aside(vendor, body)))
        refused = judged(vendor, body)
        if unfit or refused is not None:
            wrong[name] = (unfit, refused and refused.body)
    assert wrong == {}
    assert tried > 150


EXCEPTIONS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "cerebras": {},
    "fireworks": {"tools": ("null",), "tool_choice": ("null",)},  # not known
    "together": {"messages/*/tool_calls/*/index": ("null", "text", "missing")},
}
"""By vendor and place: kinds of wrong values that its types refuse, and its emulator takes."""


def spoiled(vendor: str) -> Iterator[Spoiled]:
    seen: set[tuple[str, str]] = set()
    for body in SAMPLES["openai-chat"]:
        fitting = {**set_aside(vendor, body), "model": MODELS[vendor]}
        if fits(vendor, set_aside(vendor, fitting)):
            for one in spoil(fitting):
                if (one.kind, one.place) not in seen:
                    seen.add((one.kind, one.place))
                    yield one


@pytest.mark.parametrize("vendor", VENDORS)
def test_what_the_types_refuse_is_refused_by_the_emulator(vendor: str) -> None:
    """The exceptions are compared as a whole: one that is no longer needed fails as well."""
    if not is_installed(vendor):
        pytest.skip(f"the SDK of {vendor} is not installed: `make vendors` does it")
    accepted: dict[str, list[str]] = {}
    tried = 0
    for one in spoiled(vendor):
        if not fits(vendor, _without_nulls(one.body) if vendor == "together" else one.body):
            tried += 1
            if judged(vendor, one.body) is None:
                accepted.setdefault(one.place, []).append(one.kind)
    assert {place: tuple(kinds) for place, kinds in accepted.items()} == dict(EXCEPTIONS[vendor])
    assert tried > 60
