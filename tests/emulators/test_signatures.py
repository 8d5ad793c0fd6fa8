"""D3: signatures are minted per emulator and checked when they come back."""

from __future__ import annotations

import base64
from typing import Any

import httpx
import orjson
import pytest

from dragoman.emulators.catalogue import provider
from dragoman.emulators.provider import ModelTurn, ReceivedRequest
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
def test_D3_verdicts(value: Any, strict: bool, expected: str) -> None:
    assert check_signature("anthropic", value, strict) == expected


def test_D3_a_signature_is_bound_to_its_content() -> None:
    assert check_signature("anthropic", MINE, content="thought") == "ok"
    assert check_signature("anthropic", MINE, content="another thought") == "altered"


def test_D3_a_signature_is_base64_as_a_whole() -> None:
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
    chunks = [orjson.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: {")]
    deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
    *spoken, signed = [delta for delta in deltas if "reasoning_details" in delta]
    assert len(spoken) > 1
    assert [delta["reasoning"] for delta in spoken] == [delta["reasoning_details"][0]["text"] for delta in spoken]
    assert "".join(delta["reasoning"] for delta in spoken) == "Clouds, so it will rain."
    assert signed["reasoning_details"][0].keys() == {"type", "signature", "format", "index"}
