"""Can opaque reasoning state be what its issuer handed out, by its looks?"""

from __future__ import annotations

from base64 import b64encode, urlsafe_b64encode

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.corpus import unmasked
from tests.rules.runs import facts, sent

from dragoman.conversation.parts import Opaque, Origin
from dragoman.rules.state_form import can_be_real

CLAUDE = b"\x12\xa4\x01" + bytes(range(164))
GOOGLE = b"\x0a\x18" + bytes(24) + b"\x0a\x04abcd"
TOKEN = b"\x80" + bytes(8) + bytes(16) + bytes(32) + bytes(32)
ROUTE = "." + urlsafe_b64encode(b'{"endpoint_slug":"anthropic/claude-5-fable-20260609|anthropic"}').decode().rstrip("=")
"""What OpenRouter has put behind the state of Claude and GPT since the summer of 2026."""


def text(blob: bytes, cut: int = 0) -> str:
    return b64encode(blob[: len(blob) - cut]).decode()


def real(kind: str, value: str, knows_skips: bool = False) -> bool:
    return can_be_real(
        Opaque(kind=kind, json=orjson.dumps(value), origin=Origin("d")),
        facts(signature_skip="a" if knows_skips else ""),
    )


@pytest.mark.parametrize(
    "value",
    [
        text(CLAUDE),
        text(CLAUDE).rstrip("="),
        urlsafe_b64encode(CLAUDE).decode(),
        text(GOOGLE),
        text(b"\x08\x02" + CLAUDE),  # it begins with another field: nothing is known of its length
        text(b"\x01\x8f=k_" + bytes(40)),
        text(CLAUDE + bytes(900)),
    ],
)
@pytest.mark.parametrize("kind", ["signature", "redacted_thinking", "thought_signature"])
def test_a_signature(kind: str, value: str) -> None:
    assert real(kind, value)


@pytest.mark.parametrize(
    "value",
    [
        "undefined",
        "c2lnbmVk",
        "not a signature at all, but words",
        text(CLAUDE, 60),
        text(GOOGLE, 20),
        text(CLAUDE)[:53],
        text(b"\x12\xff\xff\xff\x7f" + bytes(900))[:600],
        text(TOKEN),  # OpenAI's encrypted state
    ],
)
@pytest.mark.parametrize("kind", ["signature", "redacted_thinking", "thought_signature"])
def test_no_signature(kind: str, value: str) -> None:
    assert not real(kind, value)


@pytest.mark.parametrize(
    ("kind", "recorded"),
    [
        ("signature", "signature_REDACTED_1"),
        ("redacted_thinking", "redacted_thinking_REDACTED_2"),
        ("thought_signature", text(b"\x12\xff\xff\xff\x7f" + bytes(900))[:600]),
        ("encrypted_content", "gAAAA" + "b" * 595),
    ],
)
def test_what_recordings_hide_gets_the_form_of_a_real_one(kind: str, recorded: str) -> None:
    """The program knows nothing of recordings: those who read them put stand-ins into them."""
    line = orjson.dumps({"signature": recorded})
    assert unmasked(line) != line
    assert real(kind, orjson.loads(unmasked(line))["signature"])


def test_a_slash_may_be_written_with_a_backslash() -> None:
    value = b'"' + text(b"\x12\x30" + b"\xff" * 48).replace("/", "\\/").encode() + b'"'
    assert can_be_real(Opaque(kind="signature", json=value, origin=Origin("d")), facts())


@pytest.mark.parametrize("knows", [True, False])
def test_a_documented_value_if_it_is_documented(knows: bool) -> None:
    assert real("thought_signature", "skip_thought_signature_validator", knows) is knows


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (text(TOKEN), True),
        (urlsafe_b64encode(TOKEN).decode(), True),
        (text(TOKEN, 5), False),
        (text(TOKEN, 5) + "==", False),
        ("xAI says it in other words", True),
        ("c2hvcnQ=", False),
    ],
)
def test_encrypted_state(value: str, expected: bool) -> None:
    assert real("encrypted_content", value) is expected


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"type": "reasoning.text", "text": "Hm", "signature": text(CLAUDE), "format": "anthropic-claude-v1"}, True),
        ({"type": "reasoning.text", "text": "Hm", "signature": text(CLAUDE, 60)}, False),
        ({"type": "reasoning.text", "text": "Hm"}, True),
        ({"type": "reasoning.text", "text": "Hm", "signature": None}, True),
        ({"type": "reasoning.encrypted", "data": text(GOOGLE), "format": "google-gemini-v1"}, True),
        ({"type": "reasoning.encrypted", "data": text(GOOGLE, 20), "format": "google-gemini-v1"}, False),
        ({"type": "reasoning.encrypted", "data": text(TOKEN), "format": "openai-responses-v1"}, True),
        ({"type": "reasoning.encrypted", "data": text(TOKEN, 3), "format": "openai-responses-v1"}, False),
        ({"type": "reasoning.text", "text": "Hm", "signature": text(CLAUDE) + ROUTE}, True),
        ({"type": "reasoning.text", "text": "Hm", "signature": text(CLAUDE, 60) + ROUTE}, False),
        ({"type": "reasoning.encrypted", "data": text(TOKEN) + ROUTE, "format": "openai-responses-v1"}, True),
        ({"type": "reasoning.encrypted", "data": text(TOKEN, 3) + ROUTE, "format": "openai-responses-v1"}, False),
        ({"type": "reasoning.encrypted", "data": "c2hvcnQ=" + ROUTE}, False),
        ({"type": "reasoning.encrypted", "data": 7}, True),
        ({"type": "reasoning.encrypted", "data": "Z2VtaW5pLWJsb2I=", "format": "unknown"}, False),
    ],
)
def test_an_entry_of_the_details(entry: dict[str, object], expected: bool) -> None:
    state = Opaque(kind="reasoning_details", json=orjson.dumps(entry), origin=Origin("openai-chat"))
    assert can_be_real(state, facts()) is expected


@pytest.mark.parametrize(("kind", "blob"), [("signature", CLAUDE), ("encrypted_content", TOKEN)])
@pytest.mark.parametrize("takes", [True, False])
def test_a_routers_state_goes_to_servers_that_may_be_the_router(kind: str, blob: bytes, takes: bool) -> None:
    state = Opaque(kind=kind, json=orjson.dumps(text(blob) + ROUTE), origin=Origin("d"))
    assert can_be_real(state, facts(routed_state=takes)) is takes


@pytest.mark.parametrize(("target", "kept"), [("anthropic/claude-opus-4-8", False), ("anthropic-compatible/x", True)])
def test_thinking_of_claude_behind_a_router_goes_back_to_a_router(target: str, kept: bool) -> None:
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": text(CLAUDE) + ROUTE}
    answer = {"role": "assistant", "content": [thinking, {"type": "text", "text": "Hi"}]}
    hi = {"role": "user", "content": "Hi"}
    done = sent({"max_tokens": 9, "messages": [hi, answer, hi]}, target)
    assert (thinking in done.json["messages"][1]["content"]) is kept
    assert (done.changes == []) is kept


@pytest.mark.parametrize(
    ("model", "kept"),
    [
        ("anthropic/claude-fable-5", True),
        ("anthropic/claude-5-fable-20260609", True),
        ("anthropic/claude-fable-5:thinking", True),
        ("openrouter/auto", True),
        ("~anthropic/claude-latest", True),
        ("anthropic/claude-fable-5.1", False),
        ("anthropic/claude-opus-5", False),
        ("openai/gpt-5.6-luna", False),
        ("deepseek/deepseek-v4", False),
    ],
)
def test_thinking_goes_back_to_the_model_on_the_route(model: str, kept: bool) -> None:
    entry = {"type": "reasoning.text", "text": "Hm", "signature": text(CLAUDE) + ROUTE, "format": "anthropic-claude-v1"}
    answer = {"role": "assistant", "content": "Hi", "reasoning_details": [entry]}
    hi = {"role": "user", "content": "Hi"}
    done = sent({"messages": [hi, answer, hi]}, f"openrouter/{model}")
    assert (done.json["messages"][1].get("reasoning_details") == [entry]) is kept
    assert ("foreign-reasoning" in [change[0] for change in done.changes]) is not kept


@given(st.binary(max_size=80), st.sampled_from(["signature", "encrypted_content", "reasoning_details"]))
@settings(deadline=None)
def test_any_bytes_get_an_answer(value: bytes, kind: str) -> None:
    quoted = orjson.dumps(b64encode(value).decode())
    for json in (quoted, b'"' + value.replace(b'"', b"") + b'"', b'{"data":' + quoted + b"}"):
        assert can_be_real(Opaque(kind=kind, json=json, origin=Origin("d")), facts()) in (True, False)


def test_what_was_cut_is_left_out_for_its_own_provider() -> None:
    call = {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": text(GOOGLE, 20)}
    result = {"functionResponse": {"name": "f", "response": {"output": "ok"}}}
    contents = [{"role": "user", "parts": [{"text": "Hi"}]}, {"role": "model", "parts": [call]}]
    body = {"contents": [*contents, {"role": "user", "parts": [result]}], "tools": [{"functionDeclarations": []}]}
    done = sent(body, "gemini/gemini-2.5-flash")
    assert "thoughtSignature" not in done.json["contents"][1]["parts"][0]
    assert done.changes[0] == ("foreign-reasoning", "/contents/1/parts/0", "metadata", False)
