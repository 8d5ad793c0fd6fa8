"""The emulators against what the real services answered: no false refusal, and the recorded ones in the same words."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from typing import Any
from urllib.parse import parse_qsl

import orjson
import pytest
from recordings import EMULATORS, emulator_of, exchanges
from unknowable import reason

from dragoman.emulators.catalogue import provider
from dragoman.emulators.provider import EmulatedProvider, ErrorResponse, FaultKind, ReceivedRequest

_LEADING = 70  # words are compared up to here; what follows may name a place in the recorder's own bytes


@cache
def made(name: str, **options: Any) -> EmulatedProvider:
    return provider(name, **options)


def received(one: EmulatedProvider, exchange: dict[str, Any]) -> ReceivedRequest:
    path, _, query = exchange["request"]["path"].replace("//", "/").partition("?")
    owned = path if one.operation_of("POST", path) else one.example[0]
    call = one.parse_request("POST", owned, dict(parse_qsl(query)), {}, orjson.dumps(exchange["request"]["body"]))
    assert isinstance(call, ReceivedRequest), call
    return call


def test_recorded_successes_are_accepted(capsys: pytest.CaptureFixture[str]) -> None:
    counted: Counter[str] = Counter()
    wrong = []
    for exchange in exchanges("*.openai-chat.jsonl"):
        request = exchange["request"]
        if not request or exchange["response"]["status"] >= 300 or not isinstance(request["body"], dict):
            continue
        one = made(emulator_of(exchange["provider"]))
        refused = one.judge(received(one, exchange))
        counted[exchange["provider"]] += 1
        if refused is not None:
            wrong.append((exchange["provider"], exchange["id"], refused.body))
    with capsys.disabled():
        print(f"\nrecorded successes: {counted.total()} accepted but {len(wrong)}; {dict(counted.most_common(9))}")
    assert wrong == []
    assert counted.total() > 1500


def test_recorded_refusals_are_refused_in_the_same_words(capsys: pytest.CaptureFixture[str]) -> None:
    same, unknown, wrong = 0, Counter[str](), []
    for exchange in exchanges("errors.jsonl"):
        if exchange["dialect"] != "openai-chat" or exchange["response"]["status"] == 200:
            continue
        why = reason(exchange, exchange["provider"] in EMULATORS)
        if why is not None:
            unknown[why] += 1
            continue
        refused = _refusal(exchange)
        expected = (exchange["response"]["status"], _words(exchange["response"]["body"])[:_LEADING])
        if refused is not None and (refused.status, _words(refused.body)[:_LEADING]) == expected:
            same += 1
        else:
            wrong.append((exchange["id"], expected, refused))
    with capsys.disabled():
        print(f"\nrecorded refusals: {same} in the same words but {len(wrong)}; not knowable: {dict(unknown)}")
    assert wrong == []
    assert same >= 30


def _refusal(exchange: dict[str, Any]) -> ErrorResponse | None:
    """The emulator's refusal, told what a request cannot tell: the models there are, a bad key, a small window."""
    name, said = emulator_of(exchange["provider"]), str(exchange["response"]["body"])
    status = exchange["response"]["status"]
    if status == 401:
        one = made(name)
        return one.render_fault(FaultKind.AUTH, received(one, exchange))
    if "context size" in said or "too long" in said:
        one = made(name)
        return one.render_fault(FaultKind.CONTEXT, received(one, exchange))
    if "model" in said and ("not exist" in said or "not a valid model" in said or "Invalid model" in said):
        one = made(name, models=("the-only-model",))
        return one.judge(received(one, exchange))
    one = made(name, vision=False) if "mmproj" in said else made(name)
    return one.judge(received(one, exchange))


def _words(body: Any) -> str:
    """The sentence of an error body, without what names a number, a key or a place."""
    if isinstance(body, list):
        return _words(body[0])
    error = body.get("error")
    inner = error.get("message") if isinstance(error, dict) else error
    text = str(inner or body.get("message") or body.get("detail"))
    return re.sub(r"\d+", "#", text.split("provided: ")[0])
