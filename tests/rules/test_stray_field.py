"""`stray-field`: fields that do not belong in a message, a part or a tool (K18)."""

from __future__ import annotations

from typing import Any

import pytest
from tests.rules.runs import Run, facts, run, sent

from dragoman.emulators.signatures import mint
from dragoman.rules.clean.stray_field import stray_field

HI: dict[str, Any] = {"role": "user", "content": "Hi"}
CALL: dict[str, Any] = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
RESULT: dict[str, Any] = {"role": "tool", "tool_call_id": "c", "content": "ok"}
STRICT = facts(unknown_fields="refuses")
LENIENT = facts(unknown_fields="accepts")


def through(known: Any, *messages: dict[str, Any], **top: Any) -> Run:
    return run(stray_field, {"messages": list(messages), **top}, known)


def test_an_unknown_field_is_taken_out_if_the_target_refuses_it() -> None:
    done = through(STRICT, HI, {**HI, "mood": "calm"})
    assert done.json["messages"] == [HI, HI]
    assert done.changes == [("/messages/1", "metadata", False)]
    assert done.did == ["took out `mood`"]
    assert done.conversation.messages[0] is done.ask.conversation.messages[0]


@pytest.mark.parametrize(
    "leftover", ["done", "__stream_end__", "__internal__", "stream_end", "delta", "index", "finish_reason"]
)
def test_E1_a_leftover_of_a_stream_is_taken_out_for_every_target(leftover: str) -> None:
    done = through(LENIENT, HI, {"role": "assistant", "content": "Hello", leftover: True, "mood": "calm"})
    assert done.json["messages"] == [HI, {"role": "assistant", "content": "Hello", "mood": "calm"}]
    assert done.changes == [("/messages/1", "metadata", False)]
    assert done.did == [f"took out `{leftover}`"]


@pytest.mark.parametrize("mark", ["done", "__stream_end__", "__internal__", "stream_end"])
def test_E1_a_mark_of_a_stream_is_taken_off_parts_and_calls_for_every_target(mark: str) -> None:
    text = {"type": "text", "text": "x"}
    marked = {"role": "assistant", "content": [{**text, mark: True}], "tool_calls": [{**CALL, mark: 1, "index": 0}]}
    done = through(LENIENT, HI, marked, RESULT)
    assert done.json["messages"][1] == {**marked, "content": [text], "tool_calls": [{**CALL, "index": 0}]}
    assert {change[1] for change in done.changes} == {"metadata"}
    assert done.did == [f"took out `{mark}`"] * 2


def test_a_field_of_a_call_a_result_and_a_part() -> None:
    asked = {"role": "assistant", "content": "x", "tool_calls": [{**CALL, "mood": 1}]}
    inner = {"type": "text", "text": "ok"}
    answer = {**RESULT, "content": [{**inner, "mood": 2}, inner]}
    done = through(STRICT, HI, asked, answer)
    assert done.json["messages"] == [HI, {**asked, "tool_calls": [CALL]}, {**RESULT, "content": [inner, inner]}]
    assert done.changes == [("/messages/1/tool_calls/0", "metadata", False), ("/messages/2", "metadata", False)]


@pytest.mark.parametrize("known", [STRICT, LENIENT])
def test_a_field_of_a_call_in_the_older_form(known: Any) -> None:
    called = {"name": "f", "arguments": "{}"}
    made = {"role": "assistant", "content": None, "function_call": {**called, "mood": 1, "done": True}}
    done = through(known, HI, made, {"role": "function", "name": "f", "content": "ok"})
    assert done.json["messages"][1]["function_call"] == (called if known is STRICT else {**called, "mood": 1})
    assert done.changes == [("/messages/1/function_call", "metadata", False)]


def test_a_call_keeps_a_field_that_is_named_like_a_leftover_and_a_tool_message_does_not() -> None:
    asked = {"role": "assistant", "content": "x", "tool_calls": [{**CALL, "index": 0}]}
    done = through(LENIENT, HI, asked, {**RESULT, "index": 1})
    assert done.json["messages"] == [HI, asked, RESULT]
    assert done.changes == [("/messages/2", "metadata", False)]


def test_a_field_of_a_part_if_only_parts_are_strict() -> None:
    text = {"type": "text", "text": "Hi"}
    said = {"role": "user", "content": [{**text, "mood": 1}, text], "mood": 2}
    done = through(facts(unknown_fields="accepts", part_fields="refuses"), said)
    assert done.json["messages"] == [{**said, "content": [text, text]}]
    assert done.changes == [("/messages/0/content/0", "metadata", False)]


def test_a_field_of_a_tool() -> None:
    tool = {"type": "function", "function": {"name": "f"}}
    done = through(STRICT, HI, tools=[tool, {**tool, "mood": 1}])
    assert done.json["tools"] == [tool, tool]
    assert done.changes == [("/tools/1", "metadata", False)]
    assert done.did == ["took `mood` out of the tool f"]


def test_tools_that_nothing_can_find_are_shown_at_once() -> None:
    find = {"name": "find", "input_schema": {"type": "object"}}
    hidden = [
        {**find, "defer_loading": True},
        {**find, "name": "look", "defer_loading": True, "eager_input_streaming": True},
    ]
    hosted = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
    body = {"model": "m", "max_tokens": 9, "messages": [HI]}
    done = sent({**body, "tools": hidden}, "anthropic/claude-sonnet-4-6")
    assert done.json["tools"] == [find, {**find, "name": "look", "eager_input_streaming": True}]
    assert done.changes == [("stray-field", f"/tools/{index}", "metadata", False) for index in (0, 1)]
    for searched in ([hosted, *hidden], [find, hidden[1]]):
        assert sent({**body, "tools": searched}, "anthropic/claude-sonnet-4-6").json["tools"] == searched


def test_a_tool_has_no_leftovers() -> None:
    assert through(LENIENT, HI, tools=[{"type": "function", "function": {"name": "f"}, "index": 0}]).untouched


@pytest.mark.parametrize("allowed", [{"user": ["mood"]}, {"*": ["mood"]}])
def test_a_field_that_the_target_takes_stays(allowed: dict[str, list[str]]) -> None:
    done = through(facts(unknown_fields="refuses", message_fields=allowed), {**HI, "mood": 1, "more": 2})
    assert done.json["messages"] == [{**HI, "mood": 1}]
    assert through(facts(unknown_fields="refuses", message_fields=allowed), {**HI, "mood": 1}).untouched


def test_calls_and_tools_have_lists_of_their_own() -> None:
    known = facts(unknown_fields="refuses", message_fields={"calls": ["mood"], "tools": ["mood"]})
    asked = {"role": "assistant", "content": "x", "tool_calls": [{**CALL, "mood": 1}]}
    tool = {"type": "function", "function": {"name": "f"}, "mood": 1}
    assert through(known, asked, RESULT, tools=[tool]).untouched
    assert not through(known, {**HI, "mood": 1}).untouched


def test_a_field_never_goes_to_another_dialect() -> None:
    foreign = facts("anthropic", unknown_fields="accepts", message_fields={"*": ["mood"]})
    done = through(foreign, {**HI, "mood": 1})
    assert done.changes == [("/messages/0", "metadata", False)]
    assert done.conversation.messages[0].extras is None


UNTOUCHED = {
    "a target that ignores unknown fields": (LENIENT, {**HI, "mood": 1}),
    "no further fields": (STRICT, HI),
}


@pytest.mark.parametrize("name", UNTOUCHED)
def test_untouched(name: str) -> None:
    assert through(*UNTOUCHED[name]).untouched


def test_E1_E8_adapt_for_real_providers() -> None:
    messages = [HI, {"role": "assistant", "content": "Hello", "mood": "calm", "done": True}, HI]
    strict = sent({"messages": messages}, "groq/llama-3.3-70b-versatile")
    assert strict.json["messages"] == [HI, {"role": "assistant", "content": "Hello"}, HI]
    assert strict.changes == [("stray-field", "/messages/1", "metadata", False)]
    lenient = sent({"messages": messages}, "together/some-model")
    assert lenient.json["messages"] == [HI, {"role": "assistant", "content": "Hello", "mood": "calm"}, HI]
    assert lenient.changes == [("stray-field", "/messages/1", "metadata", False)]


def test_a_null_member_of_a_part_is_left_to_null_field() -> None:
    words = {"type": "text", "text": "Read it."}
    said = {"role": "user", "content": [words, {"type": "text", "text": "See?", "image_url": None}]}
    done = sent({"messages": [said]}, "openai/gpt-4o")
    assert done.json["messages"][0]["content"] == [words, {"type": "text", "text": "See?"}]
    assert done.changes == [("null-field", "/messages/0/content/1", "nothing", False)]
    assert sent({"messages": [said]}, "zai/glm-4.6").json["messages"] == [said]


@pytest.mark.parametrize("target", ["xai/grok-4", "perplexity/sonar", "cohere-openai/command-a-03-2025"])
def test_a_message_field_of_another_vendor_stays_home(target: str) -> None:
    said = {"role": "assistant", "content": "Hello", "tool_plan": "greet", "newest": 1}
    body: dict[str, Any] = {"messages": [HI, said, HI]}
    done = sent(body, target)
    assert done.json["messages"][1] == {"role": "assistant", "content": "Hello", "newest": 1}
    assert done.changes == [("stray-field", "/messages/1", "metadata", False)]
    hints = {"annotations": [{"a": 1}], "cache_control": {"type": "ephemeral"}}
    body["messages"][1] = {"role": "assistant", "content": "Hello", **hints}
    assert sent(body, target).json["messages"][1] == {"role": "assistant", "content": "Hello"}


def test_a_vendors_own_message_field_stays() -> None:
    part = {"type": "image_url", "image_url": {"url": "https://a.org/a.png"}, "min_pixels": 100}
    body = {"messages": [{"role": "user", "content": [part]}]}
    assert sent(body, "qwen/qwen-vl-plus").json["messages"] == body["messages"]
    assert "min_pixels" not in str(sent(body, "fireworks/m").json)


def told_about(**fields: Any) -> dict[str, Any]:
    source = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}
    said = [{"type": "document", "source": source, "title": "Q3", **fields}, {"type": "text", "text": "Sum it up."}]
    return {"max_tokens": 9, "messages": [{"role": "user", "content": said}]}


def test_what_is_said_about_a_document_becomes_a_text_before_it() -> None:
    done = sent(told_about(context="The board's draft."), "gemini/gemini-2.5-flash", source="anthropic")
    assert done.json["contents"][0]["parts"] == [
        {"text": "[about the document]\nThe board's draft."},
        {"inlineData": {"mimeType": "application/pdf", "data": "JVBERi0=", "displayName": "Q3"}},
        {"text": "Sum it up."},
    ]
    assert ("stray-field", "/messages/0/content/0", "nothing", False) in done.changes


def test_a_document_of_which_nothing_is_said_gets_no_text() -> None:
    asked = told_about(context="", citations={"enabled": True})
    done = run(stray_field, asked, facts(), source="anthropic")
    assert [type(part).__name__ for part in done.conversation.messages[0].parts] == ["Media", "Text"]
    assert done.changes == [("/messages/0/content/0", "metadata", False)]
    assert done.did == ["took out `citations`, `context`"]


def test_other_fields_of_such_a_document_are_still_told() -> None:
    asked = told_about(context="The board's draft.", citations={"enabled": True})
    done = run(stray_field, asked, facts(), source="anthropic")
    assert done.changes == [("/messages/0/content/0", "metadata", False)]
    assert done.did == ["took out `citations`, wrote `context` as a text before it"]


def test_claude_gets_what_is_said_about_a_document_as_it_is() -> None:
    asked = told_about(context="The board's draft.")
    done = sent(asked, "anthropic/claude-sonnet-4-5", source="anthropic")
    assert done.json["messages"] == asked["messages"]
    assert done.changes == []


OF_CLAUDE, OF_GEMINI = mint("anthropic/claude-sonnet-4-5", "x"), mint("gemini/gemini-3-pro-preview", "f")
BLOCKS = [
    {"type": "thinking", "thinking": "I look.", "signature": OF_CLAUDE},
    {"type": "redacted_thinking", "data": OF_CLAUDE},
]


def kept_by_litellm(where: str) -> dict[str, Any]:
    """A turn as agents on LiteLLM keep it: the signature of a call stands beside the call, or in its function."""
    beside = {"provider_specific_fields": {"thought_signature": OF_GEMINI}}
    call = {**CALL, **beside} if where == "call" else {**CALL, "function": {**CALL["function"], **beside}}
    turn = {"role": "assistant", "content": "x", "reasoning_content": "I look.", "thinking_blocks": BLOCKS}
    return {"messages": [HI, {**turn, "tool_calls": [call]}, RESULT], "max_tokens": 8000}


@pytest.mark.parametrize("where", ["call", "function"])
def test_thinking_that_litellm_keeps_goes_back_to_who_takes_such(where: str) -> None:
    asked = {**kept_by_litellm(where), "thinking": {"type": "enabled", "budget_tokens": 2048}}
    claude = sent(asked, "anthropic/claude-sonnet-4-5", source="openai-chat")
    assert claude.json["messages"][1]["content"][:2] == BLOCKS
    assert claude.json["thinking"]["type"] == "enabled"
    assert claude.changes[0] == ("stray-field", "/messages/1/tool_calls/0", "metadata", False)
    assert claude.changes[1:] == [("stray-field", "/messages/1", "nothing", False)]
    gemini = sent(asked, "gemini/gemini-3-pro-preview", source="openai-chat")
    assert gemini.json["contents"][1]["parts"][1]["thoughtSignature"] == OF_GEMINI
    behind = sent(asked, "gemini-openai/gemini-3-pro-preview").json["messages"][1]["tool_calls"][0]
    assert behind["extra_content"] == {"google": {"thought_signature": OF_GEMINI}}


def test_a_server_of_the_same_dialect_gets_it_as_it_is() -> None:
    """LiteLLM's own proxy reads it there."""
    asked = kept_by_litellm("call")
    assert sent(asked, "openai-compatible/claude").json["messages"] == asked["messages"]


@pytest.mark.parametrize("odd", [7, "x", [7], [{"type": "thinking"}], [{"type": "thinking", "thinking": "I look."}]])
def test_what_is_no_signed_thinking_is_left_out(odd: Any) -> None:
    turn = {"role": "assistant", "content": "x", "thinking_blocks": odd}
    done = sent({"messages": [HI, turn, HI], "max_tokens": 9}, "anthropic/claude-sonnet-4-5", source="openai-chat")
    assert done.json["messages"][1] == {"role": "assistant", "content": "x"}
    assert done.changes == [("stray-field", "/messages/1", "metadata", False)]


def test_a_field_without_a_name_is_taken_out_like_any_other() -> None:
    body = {"model": "claude-opus-4-8", "max_tokens": 5, "messages": [{**HI, "": -1}]}
    assert sent(body, "anthropic/claude-opus-4-8", source="anthropic").json["messages"] == [HI]
