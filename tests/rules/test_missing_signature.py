"""`missing-signature`: calls without the signature that the target demands."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import orjson
import pytest
from tests.judges import judge
from tests.rules.runs import Run, facts, run, sent

from dragoman.engine.library.adapt import adapt
from dragoman.profiles.facts import Facts
from dragoman.rules.reason.missing_signature import missing_signature

GEMINI = "gemini"
SKIP = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="
HI: dict[str, Any] = {"role": "user", "parts": [{"text": "Hi"}]}


def demanding(**more: Any) -> Facts:
    stated = {"call_signature": "refuses", "signature_skip": SKIP, "reasoning_states": ["thought_signature"]}
    return facts(GEMINI, **{**stated, "past_signature": "accepts", **more})


def call(name: str, signature: str | None = None) -> dict[str, Any]:
    part: dict[str, Any] = {"functionCall": {"name": name, "args": {}}}
    return part if signature is None else {**part, "thoughtSignature": signature}


def calls(*parts: dict[str, Any]) -> list[dict[str, Any]]:
    """A turn of calls and the answers to them."""
    answers = [
        {"functionResponse": {"name": part["functionCall"]["name"], "response": {"ok": 1}}}
        for part in parts
        if "functionCall" in part
    ]
    return [{"role": "model", "parts": list(parts)}, {"role": "user", "parts": answers}]


def through(known: Facts, *contents: dict[str, Any]) -> Run:
    return run(missing_signature, {"contents": list(contents)}, known, source=GEMINI)


def test_the_first_call_of_each_step_of_the_current_turn_gets_the_skip_value() -> None:
    done = through(demanding(), HI, *calls(call("f"), call("g")), *calls({"text": "Next"}, call("h")))
    assert done.json["contents"] == [
        HI,
        *calls(call("f", SKIP), call("g")),
        *calls({"text": "Next"}, call("h", SKIP)),
    ]
    assert done.changes == [("/contents/1/parts/0", "nothing", True), ("/contents/3/parts/1", "nothing", True)]
    assert done.conversation.messages[0] is done.ask.conversation.messages[0]


def test_earlier_turns_only_if_that_is_demanded() -> None:
    contents = [HI, *calls(call("f")), HI, *calls(call("g"))]
    done = through(demanding(), *contents)
    assert done.json["contents"] == [HI, *calls(call("f")), HI, *calls(call("g", SKIP))]
    assert [at for at, _, _ in done.changes] == ["/contents/4/parts/0"]
    everywhere = through(demanding(past_signature="refuses"), *contents)
    assert [at for at, _, _ in everywhere.changes] == ["/contents/1/parts/0", "/contents/4/parts/0"]


def test_a_conversation_without_a_user_turn_is_all_current() -> None:
    assert through(demanding(), *calls(call("f"))).json["contents"] == calls(call("f", SKIP))


UNTOUCHED: dict[str, tuple[Facts, list[dict[str, Any]]]] = {
    "a first call that is signed": (demanding(), [HI, *calls(call("f", "c2lnbmVk"), call("g"))]),
    "calls of an earlier turn": (demanding(), [HI, *calls(call("f")), HI]),
    "no calls": (demanding(), [HI]),
    "a target that demands none": (demanding(call_signature="accepts"), [HI, *calls(call("f"))]),
    "a target without a skip value": (demanding(signature_skip=""), [HI, *calls(call("f"))]),
}


@pytest.mark.parametrize("name", UNTOUCHED)
def test_untouched(name: str) -> None:
    known, contents = UNTOUCHED[name]
    assert through(known, *contents).untouched


def test_calls_in_turns_of_their_own_are_written_as_the_one_turn_they_were() -> None:
    """Google's SDKs keep every piece of a stream so, and only the first call is signed."""
    thought: Any = {"text": "Hm.", "thought": True}
    turn, answers = calls(thought, {"text": "I "}, {"text": "look."}, call("f", "c2lnbmVk"), call("g"))
    apart = [{"role": "model", "parts": [part]} for part in turn["parts"]]
    whole = {"role": "model", "parts": [thought, {"text": "I look."}, *turn["parts"][3:]]}
    done = through(demanding(), HI, *apart, answers)
    assert done.json["contents"] == [HI, whole, answers]
    assert done.changes == [("/contents/1", "nothing", False)]
    assert through(demanding(), HI, *apart, answers, HI).untouched
    assert through(demanding(), HI, *apart[:3], {"role": "model", "parts": turn["parts"][3:]}, answers).untouched
    pieces = through(demanding(call_signature="accepts", turn_signature="refuses"), HI, *apart[1:3], HI)
    assert pieces.json["contents"][1] == {"role": "model", "parts": [{"text": "I look.", "thoughtSignature": SKIP}]}


def test_adapt_for_a_real_provider() -> None:
    contents = [HI, *calls(call("f")), HI, *calls(call("g"))]
    own = sent({"contents": contents}, "gemini/gemini-3-pro-preview")
    assert own.json["contents"] == [HI, *calls(call("f")), HI, *calls(call("g", SKIP))]
    assert own.changes == [("missing-signature", "/contents/4/parts/0", "nothing", True)]
    assert sent({"contents": contents}, "gemini/gemini-2.5-flash").changes == []


def test_adapt_from_another_dialect_signs_earlier_turns_too() -> None:
    asked = {"type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "x", "tool_calls": [{**asked, "id": "a"}]},
        {"role": "tool", "tool_call_id": "a", "content": "ok"},
        {"role": "user", "content": "More"},
    ]
    done = sent({"messages": messages}, "gemini/gemini-3-pro-preview", source="openai-chat")
    assert done.json["contents"][1]["parts"][1]["thoughtSignature"] == SKIP
    assert done.changes == [("missing-signature", "/messages/1/tool_calls/0", "nothing", True)]


def test_an_empty_signature_is_none() -> None:
    done = sent({"contents": [HI, *calls(call("look", ""))]}, "gemini/gemini-3-pro-preview")
    assert done.json["contents"][1]["parts"][0]["thoughtSignature"] == SKIP
    assert [rule for rule, *_ in done.changes] == ["missing-signature"]


def test_a_text_with_an_empty_signature_is_sent_as_it_is() -> None:
    said = {"role": "model", "parts": [{"text": "Hello", "thoughtSignature": ""}]}
    done = sent({"contents": [HI, said, HI]}, "gemini/gemini-3-pro-preview")
    assert (done.json["contents"][1], done.changes) == (said, [])
    assert sent({"contents": [HI, said, HI]}, "openai/gpt-4o", source=GEMINI).changes == []


@pytest.mark.parametrize(("signature", "left"), [("", [{"text": ""}]), (None, [])])
def test_a_part_of_an_empty_signature_alone_says_nothing(signature: str | None, left: list[Any]) -> None:
    said = {"role": "model", "parts": [{"text": "Hello"}, {"thoughtSignature": signature}]}
    done = sent({"contents": [HI, said, HI]}, "gemini/gemini-3-pro-preview")
    assert done.json["contents"][1]["parts"] == [{"text": "Hello"}, *left]
    assert done.changes == [("off-schema", "/contents/1/parts/1", "nothing", False)]


BESIDE: dict[str, Any] = {
    "an empty signature": {"google": {"thought_signature": ""}},
    "none": {"google": {"thought_signature": None}},
    "a mark of Google's": {"google": {"mark": 1}},
    "no object of Google's": {"google": None},
    "a mark of another vendor's": {"vendor": 1},
}


@pytest.mark.parametrize("beside", BESIDE.values(), ids=BESIDE)
def test_a_signature_joins_what_the_client_has_beside_it(beside: dict[str, Any]) -> None:
    asked = {"role": "user", "content": "Hi"}
    made = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}, "extra_content": beside}
    turn = {"role": "assistant", "content": None, "tool_calls": [made]}
    answer = {"role": "tool", "tool_call_id": "c1", "content": "12"}
    target = "gemini-openai/gemini-3-pro-preview"
    done = adapt({"messages": [asked, turn, answer]}, source="openai-chat", target=target)
    assert done.body.count(b'"extra_content"') == 1
    written = done.json["messages"][1]["tool_calls"][0]["extra_content"]
    assert written == {**beside, "google": {**(beside.get("google") or {}), "thought_signature": SKIP}}
    assert "missing-signature" in [change.rule for change in done.changes]


IMAGE: dict[str, Any] = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}
IMAGE_MODEL = demanding(call_signature="accepts", turn_signature="refuses")
SPOKEN: dict[str, tuple[list[dict[str, Any]], list[str]]] = {
    "a text and pictures": ([{"text": "Here"}, IMAGE, {"text": "And"}, IMAGE], ["text", "inlineData", "inlineData"]),
    "a thought first": ([{"text": "Hm", "thought": True}, {"text": "Here"}], ["text"]),
    "a picture that is signed": ([{"text": "Here"}, {**IMAGE, "thoughtSignature": "c2lnbmVk"}], ["text"]),
    "a call": ([call("f"), {"text": "Here"}], []),
    "nothing to sign": ([{"executableCode": {"language": "PYTHON", "code": "1"}}], []),
}


@pytest.mark.parametrize("name", SPOKEN)
def test_the_first_part_of_an_image_models_turn_and_each_picture(name: str) -> None:
    parts, signed = SPOKEN[name]
    answers = calls(*parts)[1:] if name == "a call" else []
    done = through(IMAGE_MODEL, HI, {"role": "model", "parts": parts}, *answers, HI)
    got = [part for part in done.json["contents"][1]["parts"] if part.get("thoughtSignature") == SKIP]
    assert [next(iter(part)) for part in got] == signed
    assert len(done.changes) == len(signed)
    assert done.json["contents"][0] == HI


def test_a_picture_of_the_users_needs_no_signature() -> None:
    assert through(IMAGE_MODEL, {"role": "user", "parts": [{"text": "See"}, IMAGE]}).untouched


CALLS: dict[str, Any] = {
    "role": "assistant",
    "content": "",
    "tool_calls": [
        {"id": name, "type": "function", "function": {"name": "look", "arguments": "{}"}} for name in ("c1", "c2")
    ],
}
FOUND = [{"role": "tool", "tool_call_id": name, "content": "Found."} for name in ("c1", "c2")]
ENTRY = {
    "type": "reasoning.encrypted",
    "data": "skip_thought_signature_validator",
    "id": "c1",
    "format": "google-gemini-v1",
    "index": 0,
}
SIGNATURE = b64encode(b"\n\x2e" + b"A" * 46).decode()


def to_openrouter(model: str, *details: dict[str, Any]) -> Run:
    said = {**CALLS, "reasoning_details": list(details)} if details else CALLS
    messages = [{"role": "user", "content": "Hi"}, said, *FOUND]
    return sent({"messages": messages}, f"openrouter/{model}")


def test_behind_openrouter_the_skip_value_stands_in_one_entry_for_each_turn() -> None:
    """https://github.com/RooCodeInc/Roo-Code/pull/10640"""
    done = to_openrouter("google/gemini-3-pro-preview")
    assert done.json["messages"][1] == {**CALLS, "reasoning_details": [ENTRY]}
    assert done.changes == [("missing-signature", "/messages/1/tool_calls/0", "nothing", True)]
    name = "google/gemini-3-pro-preview"
    plain = orjson.dumps({"model": name, "messages": [{"role": "user", "content": "Hi"}, CALLS, *FOUND]})
    compiled = adapt(plain, source="openai-chat", target=f"openrouter/{name}")
    assert judge("openrouter", name, compiled.path, compiled.headers, plain) is not None
    assert judge("openrouter", name, compiled.path, compiled.headers, compiled.body) is None


def test_behind_openrouter_words_of_thinking_stay_before_the_skip_value() -> None:
    words = {"type": "reasoning.text", "text": "Hm.", "format": "google-gemini-v1", "index": 0}
    done = to_openrouter("google/gemini-3-flash-preview", words)
    assert done.json["messages"][1]["reasoning_details"] == [words, ENTRY]


def test_behind_openrouter_what_gemini_signed_stays() -> None:
    own = {"type": "reasoning.encrypted", "data": SIGNATURE, "format": "google-gemini-v1", "id": "c1", "index": 0}
    for model in ("google/gemini-3-pro-preview", "google/gemini-2.5-flash"):
        assert to_openrouter(model, own).changes == []
    assert to_openrouter("google/gemini-2.5-flash").changes == []


@pytest.mark.parametrize(
    ("kind", "key", "given"),
    [
        ("reasoning.text", "signature", "anthropic-claude-v1"),
        ("reasoning.encrypted", "data", "openai-responses-v1"),
        ("reasoning.encrypted", "data", "xai-responses-v1"),
    ],
)
def test_behind_openrouter_what_another_vendor_signed_is_replaced(kind: str, key: str, given: str) -> None:
    foreign = {"type": kind, key: SIGNATURE, "format": given, "index": 0}
    assert to_openrouter("google/gemini-3-pro-preview", foreign).json["messages"][1]["reasoning_details"] == [ENTRY]
    own = {"anthropic": "anthropic-claude-v1", "openai": "openai-responses-v1", "x-ai": "xai-responses-v1"}
    for vendor, format_ in own.items():
        done = to_openrouter(f"{vendor}/some-model", foreign)
        assert ("reasoning_details" in done.json["messages"][1]) == (given == format_)


def test_the_entries_of_servers_whose_format_is_not_known_stay() -> None:
    foreign = {"type": "reasoning.encrypted", "data": SIGNATURE, "format": "openai-responses-v1", "index": 0}
    messages = [{"role": "user", "content": "Hi"}, {**CALLS, "reasoning_details": [foreign]}, *FOUND]
    for target in ("openrouter/z-ai/glm-4.6", "openai-compatible/some-model"):
        assert sent({"messages": messages}, target).json["messages"][1]["reasoning_details"] == [foreign]


def test_minimax_gets_thinking_as_its_own_entries() -> None:
    thought = {"type": "thinking", "thinking": "Hm.", "signature": ""}
    turns = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [thought, {"type": "text", "text": "Yes."}]},
    ]
    body = {"model": "m", "max_tokens": 9, "messages": [*turns, turns[0]]}
    done = adapt(body, source="anthropic", target="minimax/MiniMax-M2")
    assert done.json["messages"][1]["reasoning_details"] == [{"type": "reasoning.text", "text": "Hm."}]
