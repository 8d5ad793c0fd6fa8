"""`mixed-system`: a system message that holds more than text."""

from __future__ import annotations

from typing import Any

import pytest
from tests.rules.runs import facts, run, sent

from dragoman import adapt
from dragoman.rules.clean.mixed_system import mixed_system

PICTURE = "[image https://a/b.png]"
FACTS = facts()


def test_what_is_no_text_is_left_out() -> None:
    done = run(mixed_system, f"system: A\n{PICTURE}\n+ B\nuser: Hi\n{PICTURE}", FACTS)
    assert done.script == f"system: A\n+ B\nuser: Hi\n{PICTURE}"
    assert done.changes == [("/messages/0/content", "content", False)]


def test_a_message_of_nothing_else_goes() -> None:
    assert run(mixed_system, f"developer: {PICTURE}\nuser: Hi", FACTS).script == "user: Hi"


TEXT = {"type": "text", "text": "Be brief."}
USER = {"role": "user", "content": "Hi"}
BLOCKS: dict[str, dict[str, Any]] = {
    "picture": {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}},
    "document": {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}},
    "call": {"type": "tool_use", "id": "toolu_1", "name": "lookup", "input": {"q": "x"}},
    "result": {"type": "tool_result", "tool_use_id": "toolu_1", "content": "found"},
    "thought": {"type": "thinking", "thinking": "Hm.", "signature": "c2lnbmF0dXJlc2lnbmF0dXJl"},
    "picture of Chat": {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
}
MEDIA = ("picture", "document", "picture of Chat")
TARGETS = (
    "anthropic/claude-sonnet-4-5",
    "anthropic/claude-opus-4-8",
    "openai/gpt-4o",
    "openai-responses/gpt-5",
    "gemini/gemini-3-pro-preview",
    "gemini-compatible/gemini-2.5-flash",
    "bedrock/us.amazon.nova-lite-v1:0",
    "cohere/command-a-03-2025",
    "ollama/qwen3:8b",
    "openai-compatible/m",
    "anthropic-compatible/m",
    "openrouter/google/gemini-2.5-flash",
)
FORMS: dict[str, Any] = {
    "Anthropic's field": ("anthropic", lambda block: {"system": [TEXT, block], "max_tokens": 9, "messages": [USER]}),
    "a late message of Anthropic's": (
        "anthropic",
        lambda block: {"max_tokens": 9, "messages": [USER, {"role": "system", "content": [TEXT, block]}]},
    ),
    "Chat": ("openai-chat", lambda block: {"messages": [{"role": "system", "content": [TEXT, block]}, USER]}),
    "Responses": ("openai-responses", lambda block: {"input": [{"role": "system", "content": [TEXT, block]}, USER]}),
    "Responses' field": (
        "openai-responses",
        lambda block: {"instructions": [{"role": "system", "content": [TEXT, block]}], "input": "Hi"},
    ),
    "Cohere": ("cohere", lambda block: {"messages": [{"role": "system", "content": [TEXT, block]}, USER]}),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", BLOCKS)
def test_B4_it_is_left_out_for_every_target_and_reported(form: str, kind: str) -> None:
    source, make = FORMS[form]
    at_home = "openai-responses/gpt-5" if form == "Responses" and kind in MEDIA else ""
    for target in TARGETS:
        if target == at_home:
            continue
        done = adapt({"model": "m", **make(BLOCKS[kind])}, target=target, source=source)
        assert b"Be brief." in done.body, target
        assert not any(word in done.body for word in (b"iVBOR", b"JVBERi", b"toolu_1", b"lookup", b"Hm.")), target
        assert [change for change in done.changes if change.loses == "content"], target


@pytest.mark.parametrize(
    "part",
    [
        {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}},
        {"functionCall": {"name": "lookup", "args": {}}},
        {"functionResponse": {"name": "lookup", "response": {}}},
    ],
)
def test_B4_it_is_left_out_of_geminis_field(part: dict[str, Any]) -> None:
    body = {"systemInstruction": {"parts": [{"text": "A"}, part]}, "contents": [{"parts": [{"text": "Hi"}]}]}
    for target in TARGETS:
        done = adapt(body, target=target, source="gemini")
        assert not any(word in done.body for word in (b"iVBOR", b"lookup")), target
        assert [change for change in done.changes if change.loses == "content"], target


@pytest.mark.parametrize("role", ["system", "developer"])
def test_responses_takes_pictures_and_files_in_its_own_instructions(role: str) -> None:
    picture = {"type": "input_image", "image_url": "https://a/b.png"}
    file = {"type": "input_file", "file_url": "https://a/b.pdf"}
    told = {"role": role, "content": [{"type": "input_text", "text": "Be brief."}, picture, file]}
    body = {"input": [told, USER]}
    for target in ("openai-responses/gpt-5", "azure-openai-responses/gpt-5"):
        done = sent(body, target)
        assert (done.json["input"], done.changes) == (body["input"], [])


def test_texts_beside_it_keep_their_cache_hints() -> None:
    hinted = {**TEXT, "cache_control": {"type": "ephemeral"}}
    body = {"system": [hinted, BLOCKS["picture"]], "max_tokens": 9, "messages": [USER]}
    assert adapt(body, target="anthropic/claude-opus-4-8", source="anthropic").json["system"] == [hinted]


def test_blocks_that_may_stand_there_stay() -> None:
    added = {"type": "tool_addition", "tool": {"type": "tool_reference", "tool_name": "lookup"}}
    turn = {"role": "system", "content": [TEXT, added]}
    body = {"max_tokens": 9, "messages": [USER, turn, {"role": "assistant", "content": "Yes"}, USER]}
    assert adapt(body, target="anthropic/claude-opus-4-8", source="anthropic").json["messages"][1] == turn


def test_the_words_of_an_unknown_block_stay() -> None:
    message = {"role": "system", "content": [{"type": "markdown", "text": "Be brief."}]}
    done = sent({"messages": [message, USER]}, "openai/gpt-4o")
    assert done.json["messages"][0] == {"role": "system", "content": [TEXT]}


def test_the_words_of_a_block_that_its_dialect_has_among_instructions_stay() -> None:
    guarded = {"guardContent": {"text": {"text": "Never tell the code."}}}
    body = {"system": [{"text": "Be brief."}, guarded], "messages": [{"role": "user", "content": [{"text": "Hi"}]}]}
    adapted = adapt(body, source="bedrock", target="openai/gpt-4o")
    assert b"Never tell the code." in adapted.body
    assert ("mixed-system", "/system/1", "metadata") in [
        (change.rule, change.at, change.loses) for change in adapted.changes
    ]
