"""The emulators of clouds, Ollama and Cohere against what the real services answered: no false refusal, and the
recorded refusals in the same words."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from typing import Any
from urllib.parse import parse_qsl, unquote

import orjson
import pytest
from recordings import exchanges

from dragoman.emulators.catalogue import provider
from dragoman.emulators.provider import EmulatedProvider, ErrorResponse, FaultKind

SUCCESSES = {
    "*.bedrock-converse.jsonl": ("bedrock", 170),
    "bedrock.bedrock-invoke.jsonl": ("bedrock", 31),
    "bedrock.bedrock-count.jsonl": ("bedrock", 3),
    "ollama.ollama-chat.jsonl": ("ollama", 24),
    "ollama.openai-chat.jsonl": ("ollama-openai", 25),
    "cohere.cohere-chat.jsonl": ("cohere", 57),
    "vertex.gemini.jsonl": ("vertex", 97),
    "vertex.gemini-count.jsonl": ("vertex", 2),
    "vertex.anthropic.jsonl": ("vertex-anthropic", 5),
    "azure-openai.openai-chat.jsonl": ("azure-openai", 26),
    "azure-openai.openai-responses.jsonl": ("azure-openai-responses", 15),
    "azure-foundry.openai-chat.jsonl": ("azure-foundry", 21),
    "azure-foundry.openai-responses.jsonl": ("azure-openai-responses", 1),
}
"""Whose recorded requests are put before which emulator, and how many there are at least."""
OTHER_APIS = {
    re.compile(
        "/model/.*/invoke(-with-response-stream)?"
    ): "a body of Titan's, Nova's, Llama's or Cohere's own: only Claude's is emulated",
    re.compile("/v1/chat"): "the first version of Cohere's API",
}
REFUSALS = {
    ("bedrock", "bedrock-converse"): "bedrock",
    ("bedrock", "bedrock-invoke"): "bedrock",
    ("bedrock", "bedrock-count"): "bedrock",
    ("cohere", "cohere-chat"): "cohere",
    ("vertex", "gemini"): "vertex",
    ("ollama", "openai-chat"): "ollama-openai",
}
NOT_KNOWABLE = {
    "reached the end of its life": "which models were switched off, and when",
    "You don't have access to the model": "what the recorder's account may ask",
    "Cannot fetch content": "the service tried to download a URL and failed: that needs the network",
}
AS_FAULT = {
    "The security token": FaultKind.AUTH,
    "Incorrect API key": FaultKind.AUTH,
    "Unauthorized": FaultKind.AUTH,
    "model identifier is invalid": FaultKind.MODEL,
    "not found, make sure the correct model": FaultKind.MODEL,
    "Publisher Model": FaultKind.MODEL,
}
"""What a request cannot tell: a bad key, and which models there are. The emulator is told, and says it."""


@cache
def made(name: str) -> EmulatedProvider:
    return provider(name)


def other_api(request: dict[str, Any]) -> str | None:
    path, body = request["path"], request["body"]
    return next(
        (why for mark, why in OTHER_APIS.items() if mark.fullmatch(path) and "anthropic_version" not in body),
        None,
    )


def asked(one: EmulatedProvider, request: dict[str, Any]) -> Any:
    """The request as the emulator takes it apart."""
    path, _, query = request["path"].replace("//", "/").removeprefix("/bedrock").partition("?")
    headers = {name.lower(): value for name, value in (request["headers"] or {}).items()}
    return one.parse_request("POST", unquote(path), dict(parse_qsl(query)), headers, orjson.dumps(request["body"]))


def judged(one: EmulatedProvider, request: dict[str, Any]) -> ErrorResponse | None:
    call = asked(one, request)
    return call if isinstance(call, ErrorResponse) else one.judge(call)


@pytest.mark.parametrize("files", SUCCESSES)
def test_recorded_successes_are_accepted(files: str, capsys: pytest.CaptureFixture[str]) -> None:
    name, least = SUCCESSES[files]
    accepted, wrong, others = 0, [], Counter[str]()
    for exchange in exchanges(files):
        request = exchange["request"]
        if not request or exchange["response"]["status"] >= 300 or not isinstance(request["body"], dict):
            continue
        if (why := other_api(request)) is not None:
            others[why] += 1
            continue
        refused = judged(made(name), request)
        accepted += refused is None
        if refused is not None:
            wrong.append((exchange["id"], refused.body))
    with capsys.disabled():
        print(f"\n{files}: {accepted} recorded successes accepted, {len(wrong)} not; left out: {dict(others)}")
    assert wrong == []
    assert accepted >= least


def test_recorded_refusals_are_told_alike(capsys: pytest.CaptureFixture[str]) -> None:
    same, unknown, wrong = Counter[str](), Counter[str](), []
    for exchange in exchanges("errors.jsonl"):
        name = REFUSALS.get((exchange["provider"], exchange["dialect"]))
        if name is None:
            continue
        said, status = words(exchange["response"]["body"]), exchange["response"]["status"]
        if (why := next((why for mark, why in NOT_KNOWABLE.items() if mark in said), None)) is not None:
            unknown[why] += 1
            continue
        got = refusal(made(name), exchange["request"], said)
        if got is not None and (got.status, words(got.body)) == (status, said):
            same[name] += 1
        else:
            wrong.append((exchange["id"], status, said, got))
    with capsys.disabled():
        print(f"\nrecorded refusals: {dict(same)} told alike, {len(wrong)} not; not knowable: {dict(unknown)}")
    assert wrong == []
    assert same.total() >= 18


def refusal(one: EmulatedProvider, request: dict[str, Any], said: str) -> ErrorResponse | None:
    fault = next((fault for mark, fault in AS_FAULT.items() if mark in said), None)
    if fault is None:
        return judged(one, request)
    call = asked(one, request)
    return one.render_fault(fault, None if isinstance(call, ErrorResponse) else call)


def words(body: Any) -> str:
    """The sentence of an error body, without what names a key, a place or a page."""
    error = body.get("error")
    inner = error.get("message") if isinstance(error, dict) else error
    text = str(inner or body.get("message"))
    return re.sub(r"\*+|sk-\S+|Please refer to .*| Learn more: .*", "", text).strip()
