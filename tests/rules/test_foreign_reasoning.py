"""`foreign-reasoning`: thinking and signatures that another provider or model made (K31)."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from msgspec.structs import replace
from tests.judges import judge
from tests.rules.runs import Run, facts, run, sent

from dragoman import adapt
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.envelope import seal
from dragoman.conversation.literals import quote
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.parts import Call, Inline, Media, MediaKind, Opaque, Origin, Part, Reasoning, Text
from dragoman.profiles.facts import Facts
from dragoman.rules.reason.foreign_reasoning import foreign_reasoning

HI = Message(Role.USER, (Text(b'"Hi"'),), at=0)
WORDS = Text(b'"Hello"')


def own(**more: Any) -> Facts:
    """A target that issues signatures and takes back no thinking without one."""
    stated = {"provider": "a", "model": "m", "reasoning_states": ["signature"], "reasoning_text": "refuses", **more}
    return facts("anthropic", **stated)


SIGNED = b'"c2lnbmVkc2lnbmVkc2lnbmVkc2lnbmVk"'


def state(dialect: str = "anthropic", provider: str = "", model: str = "", kind: str = "signature") -> Opaque:
    return Opaque(kind=kind, json=SIGNED, origin=Origin(dialect, provider, model))


def thought(proof: Opaque, text: str | None = "Hm", redacted: bool = False) -> Reasoning:
    return Reasoning(text=None if text is None else Text(quote(text)), state=proof, redacted=redacted)


def through(known: Facts, *parts: Part, choice: str | None = None) -> Run:
    said = Conversation((HI, Message(Role.ASSISTANT, parts, at=1, listed=True)))
    return run(foreign_reasoning, said, known, choice=choice, source="anthropic")


FOREIGN = {
    "another dialect": (state("gemini"), own()),
    "another kind of state": (state(kind="encrypted_content"), own()),
    "another provider": (state(provider="b"), own()),
    "another model, if only the same one reads it": (state(provider="a", model="n"), own(reasoning_scope="model")),
    "a target whose own state was refused": (state(), own(reasoning_trusted=False)),
    "nobody's: the signature is empty": (Opaque(kind="signature", json=b'""', origin=Origin("anthropic")), own()),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_thinking_with_a_foreign_proof_is_left_out(name: str) -> None:
    proof, known = FOREIGN[name]
    done = through(known, thought(proof), WORDS)
    assert done.conversation.messages == (HI, Message(Role.ASSISTANT, (WORDS,)))
    assert done.changes == [("/messages/1/content/0", "metadata", False)]
    assert done.did == ["left out thinking that another model made"]


@pytest.mark.parametrize(("signed_media", "kept"), [(True, True), (False, False)])
def test_a_signature_stays_on_a_picture_if_it_fits_and_has_a_place_there(signed_media: bool, kept: bool) -> None:
    picture = Media(kind=MediaKind.IMAGE, source=Inline("image/png", b'"iVBORw0KGgo="'), signature=state())
    done = through(own(signed_media=signed_media), WORDS, picture)
    assert done.untouched is kept
    foreign = through(own(signed_media=signed_media), WORDS, replace(picture, signature=state("gemini")))
    assert foreign.changes == [("/messages/1/content/1", "metadata", False)]


@pytest.mark.parametrize("name", FOREIGN)
def test_a_foreign_signature_is_taken_off_words_and_calls(name: str) -> None:
    proof, known = FOREIGN[name]
    call = Call(id="c", name="f", arguments=b"{}", signature=proof)
    done = through(known, Text(b'"Hello"', signature=proof), call)
    assert done.conversation.messages[1].parts == (WORDS, Call(id="c", name="f", arguments=b"{}"))
    assert done.changes == [("/messages/1/content/0", "metadata", False), ("/messages/1/content/1", "metadata", False)]


OWN = {
    "of unknown make, in its own dialect": (state(), own()),
    "its own": (state(provider="a", model="m"), own(reasoning_scope="model")),
    "its own, of a model that it does not name": (state(provider="a"), own(reasoning_scope="model")),
    "of another model, if they share it": (state(provider="a", model="n"), own(reasoning_scope="provider")),
    "of the same family": (state(provider="fam"), own(family="fam")),
}


@pytest.mark.parametrize("name", OWN)
def test_untouched(name: str) -> None:
    proof, known = OWN[name]
    call = Call(id="c", name="f", arguments=b"{}", signature=proof)
    assert through(known, thought(proof), Text(b'"Hello"', signature=proof), call).untouched


def test_what_nobody_signed_is_no_business_of_this_rule() -> None:
    assert through(own(), Reasoning(text=Text(b'"Hm"')), WORDS).untouched


def test_it_stays_as_text_if_the_target_takes_text() -> None:
    known = own(reasoning_text="accepts", reasoning_field="reasoning_content")
    done = through(known, thought(state("gemini"), redacted=True), WORDS)
    assert done.conversation.messages[1].parts == (Reasoning(text=Text(b'"Hm"'), field="reasoning_content"), WORDS)
    assert done.conversation.messages[1].parts[0].field == "reasoning_content"  # type: ignore[attr-defined]
    assert done.changes == [("/messages/1/content/0", "metadata", False)]


@pytest.mark.parametrize("text", [None, "", " \n"])
def test_a_proof_without_words_leaves_nothing(text: str | None) -> None:
    done = through(own(reasoning_text="accepts"), thought(state("gemini"), text), WORDS)
    assert done.conversation.messages[1].parts == (WORDS,)


def test_the_choice_text_keeps_it_as_tagged_words() -> None:
    done = through(own(), thought(state("gemini")), WORDS, choice="text")
    assert done.script == "user: Hi\nassistant: <thinking>Hm</thinking>\n+ Hello"
    assert done.changes == [("/messages/1/content/0", "metadata", False)]
    assert through(own(), thought(state("gemini"), ""), WORDS, choice="text").script == "user: Hi\nassistant: Hello"
    assert through(own(), thought(state("gemini")), WORDS, choice="drop").script == "user: Hi\nassistant: Hello"


@pytest.mark.parametrize(
    ("text", "redacted", "stays"), [("", False, False), (None, False, False), ("", True, True), ("Hm", False, True)]
)
def test_a_target_may_refuse_its_own_proof_without_words(text: str | None, redacted: bool, stays: bool) -> None:
    done = through(own(empty_thinking="refuses"), thought(state(), text, redacted), WORDS)
    assert done.untouched is stays
    assert stays or done.did == ["left out thinking without words"]


THINKING = {"type": "thinking", "thinking": "Hm", "signature": "c2lnbmVkc2lnbmVkc2lnbmVkc2lnbmVk"}


def claude(first: dict[str, Any]) -> dict[str, Any]:
    spoken = {"role": "assistant", "content": [first, {"type": "text", "text": "Hello"}]}
    hi = {"role": "user", "content": "Hi"}
    return {"max_tokens": 9, "messages": [hi, spoken, hi]}


def test_adapt_from_claude_to_others() -> None:
    dropped = sent(claude(THINKING), "openai/gpt-4o", source="anthropic")
    assert dropped.json["messages"][1] == {"role": "assistant", "content": "Hello"}
    assert dropped.changes == [("foreign-reasoning", "/messages/1/content/0", "metadata", False)]
    asked = sent(claude(THINKING), "openai/gpt-4o", source="anthropic", rules={"foreign-reasoning": "text"})
    assert asked.json["messages"][1]["content"] == "<thinking>Hm</thinking>\nHello"
    as_text = sent(claude(THINKING), "deepseek/deepseek-reasoner", source="anthropic")
    assert as_text.json["messages"][1]["reasoning_content"] == "Hm"
    assert ("foreign-reasoning", "/messages/1/content/0", "metadata", False) in as_text.changes


@pytest.mark.parametrize(("model", "stays"), [("claude-sonnet-4-5", False), ("claude-opus-4-7", True)])
def test_adapt_and_a_proof_of_thinking_without_its_words(model: str, stays: bool) -> None:
    empty = {**THINKING, "thinking": ""}
    done = sent(claude(empty), f"anthropic/{model}")
    assert (empty in done.json["messages"][1]["content"]) is stays
    assert done.changes == ([] if stays else [("foreign-reasoning", "/messages/1/content/0", "metadata", False)])


@pytest.mark.parametrize(
    ("value", "skip", "stays"),
    [
        ("undefined", "", False),
        ("null", "", False),
        ("c2lnbmVk", "", False),
        ("this is not a signature at all", "", False),
        ("c2lnbmVkc2lnbmVkc2lnbmVkc", "", False),
        ("x" * 90 + "!" * 8, "", False),
        ("skip_thought_signature_validator", "", False),
        ("c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=", "", False),
        ("c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=", "documented", True),
        ("skip_thought_signature_validator", "documented", True),
        ("c2lnbmVkc2lnbmVkc2lnbmVk", "", True),
        ("c2lnbmVkc2lnbmVkc2lnbmVkcw==", "", True),
        ("c2lnbmVkc2lnbmVkc2lnbm-_cw", "", True),
        ("Q" * 4000, "", True),
        ("signature_REDACTED_1", "", False),
    ],
)
def test_a_signature_that_cannot_be_right_is_foreign(value: str, skip: str, stays: bool) -> None:
    proof = Opaque(kind="signature", json=f'"{value}"'.encode(), origin=Origin("anthropic"))
    assert through(own(signature_skip=skip), Text(b'"Hello"', signature=proof)).untouched is stays


def test_adapt_in_the_same_dialect() -> None:
    turn = {"role": "assistant", "content": [{**THINKING, "signature": "undefined"}, {"type": "text", "text": "Hello"}]}
    hi = {"role": "user", "content": "Hi"}
    body = {"model": "m", "max_tokens": 9, "messages": [hi, turn, hi]}
    done = sent(body, "anthropic/claude-sonnet-4-5", source="anthropic")
    assert done.json["messages"][1]["content"] == [{"type": "text", "text": "Hello"}]
    assert [change[0] for change in done.changes] == ["foreign-reasoning"]


BLOCK = b'"' + base64.b64encode(b"\x12\x8a\x01\x0a\x46\x08\x0b\x18\x02\x2a\x40" + bytes(130)) + b'"'
"""A signature of the form that thinking blocks have."""


@pytest.mark.parametrize("prefix", [b"", b"\x08\x02"])
@pytest.mark.parametrize("kind", ["encrypted_content", "thought_signature"])
def test_the_signature_of_a_thinking_block_is_nobody_elses_state(kind: str, prefix: bytes) -> None:
    """Clients put it where their dialect has room for state: OpenAI and Google refuse it."""
    signed = b'"' + base64.b64encode(prefix + base64.b64decode(BLOCK[1:-1])) + b'"'
    proof = Opaque(kind=kind, json=signed, origin=Origin("anthropic"))
    known = facts("anthropic", provider="a", model="m", reasoning_states=[kind], reasoning_text="refuses")
    assert through(known, thought(proof), WORDS).did == ["left out thinking that another model made"]
    kept = Opaque(kind=kind, json=SIGNED, origin=Origin("anthropic"))
    assert through(known, thought(kept), WORDS).did == []


def test_it_goes_to_neither_openai_nor_gemini() -> None:
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": BLOCK[1:-1].decode()}
    said = {"role": "user", "content": "Hi"}
    done = sent({"input": [said, thought, {"role": "assistant", "content": "Hello"}, said]}, "openai-responses/gpt-5")
    assert "encrypted_content" not in str(done.json["input"])
    parts = [{"text": "Hello", "thoughtSignature": BLOCK[1:-1].decode()}]
    turns = [{"role": "user", "parts": [{"text": "Hi"}]}, {"role": "model", "parts": parts}]
    done = sent({"contents": [*turns, turns[0]]}, "gemini/gemini-3-pro-preview")
    assert "thoughtSignature" not in str(done.json["contents"])


SHARED = {
    "of another platform, unnamed": (state("bedrock"), True),
    "of another platform, by name": (state("bedrock", "fam", "us.anthropic.m-20250929-v1:0"), True),
    "of another maker": (state("bedrock", "other", "m"), False),
    "of another model": (state("bedrock", "fam", "n"), False),
    "of a kind that is not shared": (state("bedrock", kind="redacted_thinking"), False),
}


@pytest.mark.parametrize("name", SHARED)
def test_platforms_that_share_state(name: str) -> None:
    proof, stays = SHARED[name]
    stated = {"family": "fam", "reasoning_scope": "model", "shared_states": ["signature"]}
    known = own(**stated, reasoning_states=["signature", "redacted_thinking"])
    assert through(known, thought(proof), WORDS).untouched is stays


CLAUDE_TARGETS = (
    "anthropic/claude-sonnet-4-5",
    "vertex-anthropic/claude-sonnet-4-5@20250929",
    "bedrock-anthropic/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
)


@pytest.mark.parametrize("target", CLAUDE_TARGETS)
def test_a_signature_of_claude_moves_between_platforms(target: str) -> None:
    text = {"text": "Hm", "signature": THINKING["signature"]}
    turn = {"role": "assistant", "content": [{"reasoningContent": {"reasoningText": text}}, {"text": "Hello"}]}
    user = {"role": "user", "content": [{"text": "Hi"}]}
    for body, source in (({"messages": [user, turn, user]}, "bedrock"), (claude(THINKING), "anthropic")):
        done = sent(body, target, source=source)
        assert "foreign-reasoning" not in [change[0] for change in done.changes]
        first = done.json["messages"][1]["content"][0]
        assert (first.get("reasoningContent", {}).get("reasoningText") == text) or first == THINKING


SIGNED_CALL = {
    "id": "c",
    "type": "function",
    "function": {"name": "look", "arguments": "{}"},
    "extra_content": {"google": {"thought_signature": THINKING["signature"]}},
}


def test_a_signature_of_gemini_moves_between_its_endpoints() -> None:
    chat = [{"role": "user", "content": "Hi"}, {"role": "assistant", "tool_calls": [SIGNED_CALL]}]
    body = {"messages": [*chat, {"role": "tool", "tool_call_id": "c", "content": "12"}]}
    native = sent(body, "gemini/gemini-3-pro-preview", source="openai-chat").json["contents"]
    assert native[1]["parts"][0]["thoughtSignature"] == THINKING["signature"]
    back = sent({"contents": native}, "gemini-openai/gemini-3-pro-preview", source="gemini").json["messages"]
    assert back[1]["tool_calls"][0]["extra_content"] == SIGNED_CALL["extra_content"]


SIGNED_TEXT = {"role": "assistant", "content": "Hello", "extra_content": SIGNED_CALL["extra_content"]}


def test_the_signature_of_a_text_moves_between_the_endpoints_of_gemini() -> None:
    asked, more = {"role": "user", "content": "Hi"}, {"role": "user", "content": "More"}
    native = sent({"messages": [asked, SIGNED_TEXT, more]}, "gemini/gemini-3-pro-preview", source="openai-chat")
    assert native.changes == []
    assert native.json["contents"][1]["parts"] == [{"text": "Hello", "thoughtSignature": THINKING["signature"]}]
    back = sent({"contents": native.json["contents"]}, "gemini-openai/gemini-3-pro-preview", source="gemini")
    assert back.changes == []
    assert back.json["messages"][1] == SIGNED_TEXT


def test_one_signature_goes_to_a_target_that_has_one_place_for_a_turn() -> None:
    texts = [{"text": text, "thoughtSignature": THINKING["signature"]} for text in ("One.", "Two.")]
    turns = [{"role": "user", "parts": [{"text": "Hi"}]}, {"role": "model", "parts": texts}]
    body = {"contents": [*turns, turns[0]]}
    done = sent(body, "gemini-openai/gemini-3-pro-preview", source="gemini")
    assert done.json["messages"][1]["extra_content"] == SIGNED_CALL["extra_content"]
    assert [change[:2] for change in done.changes] == [("foreign-reasoning", "/contents/1/parts/0")]


@pytest.mark.parametrize("words", [{"text": "Hm."}, {}])
def test_a_thought_has_no_place_for_its_signature_there(words: dict[str, str]) -> None:
    thought = {**words, "thought": True, "thoughtSignature": THINKING["signature"]}
    turns = [{"role": "user", "parts": [{"text": "Hi"}]}, {"role": "model", "parts": [thought, {"text": "Hello"}]}]
    body = {"contents": [*turns, turns[0]]}
    done = sent(body, "gemini-openai/gemini-3-pro-preview", source="gemini")
    assert done.json["messages"][1] == {"role": "assistant", "content": "Hello"}
    assert [change[:2] for change in done.changes] == [("foreign-reasoning", "/contents/1/parts/0")]


def test_a_server_that_nobody_knows_gets_the_signatures_that_the_client_has() -> None:
    called = {**SIGNED_TEXT, "tool_calls": [SIGNED_CALL]}
    body = {
        "messages": [{"role": "user", "content": "Hi"}, called, {"role": "tool", "tool_call_id": "c", "content": "1"}]
    }
    done = sent(body, "openai-compatible/gemini-3-pro", source="openai-chat")
    assert (done.changes, done.json["messages"]) == ([], body["messages"])


@pytest.mark.parametrize("content", [[], None, ""])
def test_the_signature_of_a_message_without_words_is_taken_off_at_once(content: object) -> None:
    signature = seal(state("gemini", "gemini", "gemini-3-pro", "thought_signature"))
    turn = {"role": "assistant", "content": content, "extra_content": {"google": {"thought_signature": signature}}}
    asked = {"messages": [{"role": "user", "content": "Hi"}, turn, {"role": "user", "content": "Go on."}]}
    once = sent(asked, "together/some-model", source="openai-chat")
    assert "foreign-reasoning" in [change[0] for change in once.changes]
    assert "extra_content" not in str(once.json)
    assert sent(once.json, "together/some-model", source="openai-chat").json == once.json


OPENAI_STATE = "gAAAAABqhb9F2FcQ" + ("_-Az" * 37)[:146] + "=="
"""57 bytes and four blocks of 16, in the alphabet for URLs."""
XAI_STATE = "xAGN+v6TT8vV6yfZzeJR" + "Az09" * 60


def an_item(state: str) -> dict[str, Any]:
    summary = [{"type": "summary_text", "text": "I look."}]
    return {"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": state}


def a_turn(state: str) -> dict[str, Any]:
    call = {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c", "output": "12 degrees"}
    return {"input": [{"role": "user", "content": "Hi"}, an_item(state), call, output], "store": False}


@pytest.mark.parametrize("target", ["openai-responses/gpt-5", "azure-openai-responses/gpt-5"])
@pytest.mark.parametrize("store", [True, False])
def test_openai_is_not_sent_what_xai_encrypted(target: str, store: bool) -> None:
    done = adapt({**a_turn(XAI_STATE), "store": store}, source="openai-responses", target=target)
    assert [item.get("type") for item in done.json["input"][1:]] == ["function_call", "function_call_output"]
    rule = "foreign-reasoning" if store else "item-id-form"
    assert (rule, "/input/1", "metadata") in [(one.rule, one.at, one.loses) for one in done.changes]
    kept = adapt(a_turn(OPENAI_STATE), source="openai-responses", target="openai-responses/gpt-5")
    assert (kept.json["input"], kept.changes) == (a_turn(OPENAI_STATE)["input"], ())


def test_xai_is_not_sent_what_openai_encrypted() -> None:
    done = adapt(a_turn(OPENAI_STATE), source="openai-responses", target="xai-responses/grok-4.3")
    assert done.json["input"][1] == {"type": "reasoning", "summary": [{"type": "summary_text", "text": "I look."}]}
    assert judge("xai-responses", "grok-4.3", done.path, done.headers, done.body) is None
    assert [(one.rule, one.at, one.loses) for one in done.changes] == [("foreign-reasoning", "/input/1", "metadata")]
    kept = adapt(a_turn(XAI_STATE), source="openai-responses", target="xai-responses/grok-4.3")
    assert (kept.json["input"], kept.changes) == (a_turn(XAI_STATE)["input"], ())


def test_thinking_in_words_and_in_entries_is_told_once() -> None:
    """An answer of OpenRouter's has both, and a client sends both back."""
    entries = [{"type": "reasoning.text", "text": text, "index": at} for at, text in enumerate(("Hm. ", "Oh."))]
    hi, spoken = {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello", "reasoning": "Hm. Oh."}
    body = {"messages": [hi, {**spoken, "reasoning_details": entries}, hi]}
    done = sent(body, "ollama/qwen3:8b", source="openai-chat")
    assert done.json["messages"][1]["thinking"] == "Hm. Oh."
    assert [change[2] for change in done.changes if change[0] == "foreign-reasoning"] == ["nothing", "nothing"]
    items = sent(body, "xai-responses/grok-4", source="openai-chat").json["input"]
    assert [one["summary"][0]["text"] for one in items if one["type"] == "reasoning"] == ["Hm. Oh."]
    other = {"messages": [hi, {**spoken, "reasoning": "Else.", "reasoning_details": entries}, hi]}
    told = sent(other, "ollama/qwen3:8b", source="openai-chat").json["messages"][1]["thinking"]
    assert all(word in told for word in ("Else.", "Hm. ", "Oh."))
    assert sent(body, "openrouter/openai/gpt-5.1").json["messages"] == body["messages"]


@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize("name", ["anthropic-claude-v1", "openai-responses-v1", "unknown"])
def test_a_format_that_a_client_joined_is_written_once(name: str, times: int) -> None:
    """OpenAI's stream helper (3.51) joins the texts of entries, and those of their formats too."""
    signature = base64.b64encode(b"\x12\x40" + bytes(64)).decode()
    text = 'I said {"format": "hahaha"}.'
    entry = {"type": "reasoning.text", "text": text, "format": name * times, "index": 0, "signature": signature}
    turn = {"role": "assistant", "content": "Yes.", "reasoning": text, "reasoning_details": [entry]}
    asked = [{"role": "user", "content": "Hi"}, turn, {"role": "user", "content": "More"}]
    model = "openai/gpt-5.1" if name.startswith("openai") else "anthropic/claude-sonnet-4.5"
    made = adapt({"model": "m", "messages": asked}, target=f"openrouter/{model}")
    assert json.loads(made.body)["messages"][1]["reasoning_details"] == [{**entry, "format": name}]
    changes = [(one.rule, one.at, one.loses) for one in made.changes]
    expected = ("foreign-reasoning", "/messages/1/reasoning_details", "nothing")
    assert changes == ([expected] if times > 1 else [])
