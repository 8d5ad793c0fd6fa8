"""Law 1, valid: what `adapt` returns is accepted by the emulator that judges the target."""

from __future__ import annotations

from itertools import chain
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.corpus import FULL, exchanges, recorded_in, sampled, under_our_name
from tests.judges import judge
from tests.strategies import SHAPES, conversations, request
from tests.targets import EXAMPLES, ONE_OF_EACH, SWEEPS, TARGETS, signer, split

from dragoman.engine.library.adapt import adapt
from dragoman.errors import MalformedRequest, Unrepresentable

ONCE = ("mistral", "groq", "openai-compatible-strict", "strict-template", "vertex")
CORPUS_TARGETS = TARGETS if FULL else [*ONE_OF_EACH, *(one for one in TARGETS if split(one)[0] in ONCE)]


def refusal(body: bytes, source: str, target: str, strict: bool = True) -> object:
    """The judge's refusal of what we would send, or None."""
    adapted = adapt(body, source=source, target=target)
    name, model = split(target)
    refused = judge(name, model, adapted.path, adapted.headers, adapted.body, strict)
    return None if refused is None else (refused.status, refused.body, adapted.body)


@pytest.mark.parametrize(("target", "seeds"), SWEEPS)
def test_generated_requests_are_accepted(target: str, seeds: range) -> None:
    hand = signer(target)
    for source in SHAPES:
        for seed in seeds:
            assert refusal(request(source, seed, hand).body, source, target) is None, (source, seed)


@pytest.mark.slow
@settings(max_examples=EXAMPLES, derandomize=not FULL, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_what_hypothesis_finds_is_accepted(data: st.DataObject) -> None:
    target = data.draw(st.sampled_from(TARGETS))
    asked = data.draw(conversations(signer=signer(target)))
    assert refusal(asked.body, asked.dialect, target) is None


def test_recorded_requests_are_accepted_by_all(capsys: pytest.CaptureFixture[str]) -> None:
    """By targets of all dialects, its own with another provider or model among them; and what was refused then too."""
    judged, unfit, wrong = 0, 0, []
    for exchange in chain(*map(recorded_in, SHAPES), map(under_our_name, exchanges("errors.jsonl"))):
        asked = exchange["request"]
        if exchange["dialect"] not in SHAPES or not asked or not isinstance(asked["body"], dict):
            continue
        if exchange["response"]["status"] < 300 and not sampled(exchange["id"], 12):
            continue
        for target in CORPUS_TARGETS:
            try:
                refused = recorded_refusal(exchange, target)
            except (MalformedRequest, Unrepresentable):
                unfit += 1  # turns that only their provider holds, or a value of the wrong type
                continue
            judged += 1
            if refused is not None:
                wrong.append((exchange["id"], target, refused))
    with capsys.disabled():
        print(f"\nlaw 1: {judged} recorded requests judged, {len(wrong)} refused, {unfit} that nobody else can answer")
    assert wrong == []


def recorded_refusal(exchange: dict[str, Any], target: str) -> object:
    """The judge's refusal of a recorded request. In its own dialect the client's headers and beta route hold."""
    asked = exchange["request"]
    adapted = adapt(
        orjson.dumps(asked["body"]), source=exchange["dialect"], target=target, headers=asked.get("headers") or {}
    )
    name, model = split(target)
    beta = adapted.dialect == exchange["dialect"] and asked["path"].endswith("?beta=true")
    path = adapted.path + "?beta=true" if beta else adapted.path
    refused = judge(name, model, path, adapted.headers, adapted.body, strict=False)
    return None if refused is None else refused.body
