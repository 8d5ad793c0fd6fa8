"""Emulators against the vendors' own SDK types: what the types refuse is refused, except what recordings show accepted.

The emulators are written by hand, in their providers' words. These tests build validators from the installed SDKs and
compare: over well-formed requests, over each of them spoiled at every node, and over generated ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from random import Random
from typing import Any

import orjson
import pytest
from tests.published_schemas import fits, misfits
from tests.shapes.spoiled import Spoiled, spoil
from tests.shapes.wellformed import SAMPLES
from tests.strategies import request

from dragoman.emulators.catalogue import provider
from dragoman.emulators.provider import EmulatedProvider, ErrorResponse

Wire = dict[str, Any]
Exceptions = Mapping[str, tuple[str, ...]]

# emulator: dialect of its types, path, and a model that takes what the samples hold
JUDGES: Mapping[str, tuple[str, str, str | None]] = {
    "openai": ("openai-chat", "/v1/chat/completions", None),
    "azure-openai": ("openai-chat", "/openai/v1/chat/completions", None),
    "compatible": ("openai-chat", "/v1/chat/completions", "some-model"),
    "groq": ("openai-chat", "/openai/v1/chat/completions", "openai/gpt-oss-120b"),
    "openrouter": ("openai-chat", "/api/v1/chat/completions", "openai/gpt-4o"),
    "mistral": ("openai-chat", "/v1/chat/completions", "mistral-small-latest"),
    "openai-responses": ("openai-responses", "/v1/responses", None),
    "anthropic": ("anthropic", "/v1/messages", None),
    "gemini": ("gemini", "/v1beta/models/gemini-2.5-flash:generateContent", None),
}
# samples that a provider of the same dialect refuses: its own types lack a member that OpenAI's have
UNFIT: Mapping[str, tuple[int, ...]] = {"compatible": (1,), "groq": (0, 2, 6, 10), "mistral": (0, 1, 2, 6, 7, 10)}

# null for a known optional key at the top is recorded as accepted by OpenAI, Groq, Mistral and Together
_NULLS: Exceptions = {
    "tools": ("null",),
    "tool_choice": ("null",),
    "parallel_tool_calls": ("null",),
    "user": ("null",),
    "response_format": ("null",),
}
# `tools: null` too, but in the samples a tool choice stands beside it, which needs tools
_OPENAI_NULLS: Exceptions = {place: _NULLS[place] for place in _NULLS if place != "tools"}
EXCEPTIONS: Mapping[str, Exceptions] = {
    "openai": _OPENAI_NULLS,
    "azure-openai": {**_OPENAI_NULLS, "model": ("null", "missing")},  # the path names the deployment
    "compatible": _NULLS,
    "groq": {place: _NULLS[place] for place in _NULLS if place != "user"},
    "openrouter": {
        **_OPENAI_NULLS,
        "model": ("null", "missing"),  # optional in its OpenAPI
        # it ignores what it does not know, except in messages, parts and tools
        "logit_bias/*": ("number",),
        "store": ("number", "text"),
        "stream_options": ("unknown key",),
        "verbosity": ("number", "object for text", "list for text"),
        "response_format": ("null", "unknown key"),
        "response_format/json_schema": ("unknown key",),
        "response_format/json_schema/description": ("null",),
    },
    # the types of the mistralai package 3.7.0 allow these; arguments as an object and tools without a type are recorded
    "mistral": {
        **{place: _NULLS[place] for place in _NULLS if place != "user"},
        "messages/*/tool_calls/*/type": ("null", "missing"),
        "messages/*/tool_calls/*/function/arguments": ("object for text",),
        "tools/*/type": ("null", "missing"),
        "tool_choice/type": ("null", "missing"),
        "response_format/type": ("missing",),
        "response_format/json_schema": ("null", "missing"),
        "response_format/json_schema/description": ("null",),
    },
    # recorded: images without detail, messages without id, status and annotations, tools without strict
    "openai-responses": {
        "input/*/content/*/detail": ("missing",),
        "input/*/id": ("missing",),
        "input/*/status": ("missing",),
        "input/*/content/*/annotations": ("missing",),
        "tools/*/parameters": ("missing",),
        "tools/*/strict": ("missing",),
        "tool_choice": ("null",),
    },
    "anthropic": {},
    # recorded: null for keys at the top; the JSON parser takes one value for a list
    "gemini": {
        "systemInstruction": ("null",),
        "toolConfig": ("null",),
        "generationConfig": ("null",),
        "safetySettings": ("null",),
        "generationConfig/stopSequences": ("text for list",),
        "toolConfig/functionCallingConfig/allowedFunctionNames": ("text for list",),
    },
}


@cache
def _emulator(name: str) -> EmulatedProvider:
    return provider(name)


def judged(name: str, body: Wire) -> ErrorResponse | None:
    one = _emulator(name)
    received = one.parse_request("POST", JUDGES[name][1], {}, {}, orjson.dumps(body))
    return received if isinstance(received, ErrorResponse) else one.judge(received)


def samples(name: str) -> Iterator[Wire]:
    dialect, _, model = JUDGES[name]
    for number, body in enumerate(SAMPLES[dialect]):
        if number not in UNFIT.get(name, ()):
            yield body if model is None else {**body, "model": model}


def spoiled(name: str) -> Iterator[Spoiled]:
    """Every place of the samples once with every kind of wrong value."""
    seen: set[tuple[str, str]] = set()
    for body in samples(name):
        for one in spoil(body):
            if (one.kind, one.place) not in seen:
                seen.add((one.kind, one.place))
                yield one


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", JUDGES)
def test_well_formed_requests_fit_the_types_and_are_accepted(name: str) -> None:
    dialect = JUDGES[name][0]
    tried = 0
    for body in samples(name):
        if name == "azure-openai" and "reasoning_effort" in body:
            continue  # its path names no model: the name in the body is not looked at
        tried += 1
        assert judged(name, body) is None, body
        assert list(misfits(dialect, body)) == []
    assert tried >= 5


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", JUDGES)
def test_what_the_types_refuse_is_refused_but_for_recorded_exceptions(name: str) -> None:
    """The exceptions are compared as a whole: one that is no longer needed fails as well."""
    dialect = JUDGES[name][0]
    accepted: dict[str, list[str]] = {}
    tried = 0
    for one in spoiled(name):
        if not fits(dialect, one.body):
            tried += 1
            if judged(name, one.body) is None:
                accepted.setdefault(one.place, []).append(one.kind)
    assert {place: tuple(kinds) for place, kinds in accepted.items()} == dict(EXCEPTIONS[name])
    assert tried > 150


GENERATED: Mapping[str, Exceptions] = {
    "openai": _NULLS,
    "openai-responses": EXCEPTIONS["openai-responses"],
    "anthropic": {},
    "gemini": {
        **EXCEPTIONS["gemini"],
        # one value for a list
        "tools/*/functionDeclarations": ("object for list",),
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("name", GENERATED)
def test_generated_requests_spoiled_anywhere_are_refused_if_the_types_refuse(name: str) -> None:
    dialect = JUDGES[name][0]
    unfit, wrong = 0, []
    for one in _spoiled_generated(name):
        if fits(dialect, one.body):
            continue
        unfit += 1
        if one.kind not in GENERATED[name].get(one.place, ()) and judged(name, one.body) is None:
            wrong.append((one.kind, one.place))
    assert wrong == []
    assert unfit >= 15


def _spoiled_generated(name: str) -> Iterator[Spoiled]:
    """Generated requests that fit and are accepted, each spoiled at some places."""
    dialect = JUDGES[name][0]
    for seed in range(60):
        body = orjson.loads(request(dialect, seed).body)
        if judged(name, body) is None and fits(dialect, body):
            found = list(spoil(body))
            yield from Random(seed).sample(found, min(6, len(found)))
