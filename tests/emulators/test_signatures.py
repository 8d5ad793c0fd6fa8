"""K3: signatures are minted per emulator and checked when they come back."""

from __future__ import annotations

import base64
from typing import Any

import httpx
import orjson
import pytest
from tests.event_streams import read_events

from dragoman.emulators.anthropic.thinking import issuer
from dragoman.emulators.catalogue import provider
from dragoman.emulators.provider import ModelCall, ModelTurn, ReceivedRequest
from dragoman.emulators.signatures import check_signature, is_masked, mint
from dragoman.testing import emulator

MINE = mint("anthropic", "thought")
FLIPPED = base64.b64encode(bytes([*base64.b64decode(MINE)[:20], 0, *base64.b64decode(MINE)[21:]])).decode()


@pytest.mark.parametrize(
    ("value", "strict", "expected"),
    [
        (MINE, True, "ok"),
        (MINE.rstrip("=").replace("+", "-").replace("/", "_"), True, "ok"),
        (mint("gemini", "thought"), False, "foreign"),
        (FLIPPED, False, "altered"),
        (MINE[:-8], False, "altered"),
        (MINE[8:], False, "altered"),
        ("", False, "empty"),
        (None, False, "empty"),
        ("c29tZXRoaW5nIGVsc2U=", False, "ok"),
        ("c29tZXRoaW5nIGVsc2U=", True, "unknown"),
        ("not base64!", True, "altered"),
        ("not base64!", False, "altered"),
        ("undefined", False, "altered"),
        ("skip_thought_signature_validator", False, "altered"),
    ],
)
def test_verdicts(value: Any, strict: bool, expected: str) -> None:
    """K3."""
    assert check_signature("anthropic", value, strict) == expected


def test_a_signature_is_bound_to_its_content() -> None:
    """K3."""
    assert check_signature("anthropic", MINE, content="thought") == "ok"
    assert check_signature("anthropic", MINE, content="another thought") == "altered"


def test_a_signature_is_base64_as_a_whole() -> None:
    """K3."""
    assert base64.b64encode(base64.b64decode(MINE, validate=True)).decode() == MINE


def test_masked_ids_are_known() -> None:
    assert is_masked("call_REDACTED_1")
    assert not is_masked("call_1")


ASKED = {"reasoning": {"effort": "high"}}


@pytest.mark.parametrize(
    ("model", "words"),
    [("google/gemini-3-pro", "Thought signature"), ("anthropic/claude-haiku-4.5", "Invalid `signature`")],
)
def test_openrouter_wants_its_own_signatures_back(model: str, words: str) -> None:
    one = provider("openrouter", signatures="strict")
    path, body = one.example

    def judged(details: Any) -> Any:
        said = {"role": "assistant", "content": "x", "reasoning_details": details}
        messages = [*body["messages"], said, *body["messages"]]
        call = one.parse_request("POST", path, {}, {}, orjson.dumps({"model": model, "messages": messages}))
        assert isinstance(call, ReceivedRequest)
        return one.judge(call)

    asked = one.parse_request("POST", path, {}, {}, orjson.dumps({**body, "model": model, **ASKED}))
    assert isinstance(asked, ReceivedRequest)
    details = one.render_answer(asked, ModelTurn(reasoning="hm", text="x"))["choices"][0]["message"][
        "reasoning_details"
    ]
    assert judged(details) is None
    key = "signature" if "claude" in model else "data"
    for bad in ("", mint("gemini", "hm"), "b3RoZXI="):
        refused = judged([{**item, key: bad} for item in details])
        assert words in refused.body["error"]["metadata"]["raw"]


def test_openrouter_streams_each_thought_twice_and_its_signature_last() -> None:
    """As recorded: every chunk has the same piece as text and as an entry, and the last entry has no text."""
    with emulator("openrouter", script=[{"reasoning": "Clouds, so it will rain.", "text": "Rain."}]) as running:
        body = {
            "model": "anthropic/claude-haiku-4.5",
            "messages": [{"role": "user", "content": "?"}],
            "stream": True,
            "reasoning": {"effort": "low"},
        }
        answer = httpx.post(f"{running.base_url}/chat/completions", json=body, headers={"authorization": "Bearer k"})
    chunks = read_events(answer.text)
    deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
    *spoken, signed = [delta for delta in deltas if "reasoning_details" in delta]
    assert len(spoken) > 1
    assert [delta["reasoning"] for delta in spoken] == [delta["reasoning_details"][0]["text"] for delta in spoken]
    assert "".join(delta["reasoning"] for delta in spoken) == "Clouds, so it will rain."
    assert signed["reasoning_details"][0].keys() == {"type", "signature", "format", "index"}


def test_claude_signs_the_same_on_all_platforms() -> None:
    names = ("claude-sonnet-4-5", "claude-sonnet-4-5@20250929", "us.anthropic.claude-sonnet-4-5-20250929-v1:0")
    assert {issuer(name) for name in names} == {"anthropic/claude-sonnet-4-5"}
    assert issuer("anthropic.claude-opus-4-8") != issuer("claude-opus-4-7")


def _refusal(body: dict[str, Any]) -> Any:
    one = provider("gemini-openai", signatures="strict")
    call = one.parse_request("POST", one.example[0], {}, {}, orjson.dumps(body))
    assert isinstance(call, ReceivedRequest)
    return one.judge(call)


def test_geminis_compatible_endpoint_wants_its_signatures_back() -> None:
    one = provider("gemini-openai", signatures="strict")
    path, body = one.example
    body = {**body, "model": "gemini-3-pro-preview"}
    asked = one.parse_request("POST", path, {}, {}, orjson.dumps(body))
    assert isinstance(asked, ReceivedRequest)
    said = one.render_answer(asked, ModelTurn(calls=(ModelCall("look", {}), ModelCall("look", {}))))
    turn = said["choices"][0]["message"]
    results = [{"role": "tool", "tool_call_id": call["id"], "content": "x"} for call in turn["tool_calls"]]
    assert ["extra_content" in call for call in turn["tool_calls"]] == [True, False]
    assert _refusal({**body, "messages": [*body["messages"], turn, *results]}) is None
    for changed, words in ((None, "missing a thought_signature"), ("b3RoZXI=", "Corrupted thought signature")):
        turn["tool_calls"][0]["extra_content"] = {"google": {"thought_signature": changed}}
        assert words in str(_refusal({**body, "messages": [*body["messages"], turn, *results]}))
    assert _refusal({**body, "model": "gemini-2.5-flash", "messages": [*body["messages"], turn, *results]}) is not None
