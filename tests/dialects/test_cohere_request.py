"""Cohere requests: plan, thinking, documents, citations and settings, to and from the other dialects."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from dragoman import adapt
from dragoman.dialects.registry import dialect
from dragoman.errors import MalformedRequest

USER = {"role": "user", "content": "Rain in Paris?"}
CALL = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Paris"}'}}
PLANNED = {"role": "assistant", "tool_plan": "I will look.", "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "It pours."}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOL = {"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}
CLAUDE, GPT, COMMAND = "anthropic/claude-opus-4-8", "openai/gpt-4o", "cohere/command-a-03-2025"
THINKER = "cohere/command-a-reasoning-08-2025"


def asked(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"model": "command-a-03-2025", "messages": list(messages), **more}


def sent(body: dict[str, Any], target: str, source: str = "cohere") -> Any:
    return adapt(orjson.dumps(body), source=source, target=target)


def test_a_plan_is_the_text_before_calls_in_every_dialect() -> None:
    body = asked(USER, PLANNED, RESULT, tools=[TOOL], max_tokens=500)
    claude = sent(body, CLAUDE)
    assert claude.changes == ()
    assert claude.json["messages"][1]["content"][0] == {"type": "text", "text": "I will look."}
    chat = sent(body, GPT)
    assert chat.json["messages"][1]["content"] == "I will look."
    back = sent(claude.json, COMMAND, "anthropic")
    assert back.json["messages"][1:] == [PLANNED, RESULT]


def test_a_list_of_texts_beside_calls_stays_content() -> None:
    listed = {"role": "assistant", "content": [{"type": "text", "text": "So."}], "tool_calls": [CALL]}
    body = asked(USER, {**listed, "index": 0}, RESULT)
    assert sent(body, COMMAND).json["messages"][1] == listed


@pytest.mark.parametrize(
    "beside",
    [
        {"content": [{"type": "text", "text": ""}]},
        {"content": [], "tool_plan": None, "citations": []},
        {"content": None},
    ],
)
def test_nothing_beside_calls_is_nothing_in_other_dialects(beside: dict[str, Any]) -> None:
    turn = {"role": "assistant", "tool_calls": [CALL], **beside}
    same = sent(asked(USER, turn, RESULT, tools=[TOOL]), COMMAND)
    assert (same.changes, same.json["messages"][1]) == ((), turn)
    blocks = sent(asked(USER, turn, RESULT, tools=[TOOL]), CLAUDE).json["messages"][1]["content"]
    assert [block["type"] for block in blocks] == ["tool_use"]


def test_thinking_goes_back_without_a_signature() -> None:
    thought = {"type": "thinking", "thinking": "Hm."}
    body = asked(
        USER, {"role": "assistant", "content": [thought, {"type": "text", "text": "Yes."}]}, USER, max_tokens=9
    )
    assert sent(body, THINKER).changes == ()
    dropped = sent(body, CLAUDE)
    assert [change.rule for change in dropped.changes] == ["refused-reasoning"]
    chat = {"messages": [USER, {"role": "assistant", "content": "Yes.", "reasoning_content": "Hm."}, USER]}
    assert sent(chat, THINKER, "openai-chat").json["messages"][1]["content"][0] == thought
    assert "Hm." not in sent(chat, COMMAND, "openai-chat").body.decode(), "nobody knows whether it takes thinking"


DOCUMENTS: list[Any] = [
    "A bare text.",
    {"id": "d1", "data": {"title": "Harbour", "text": "Dock Seven."}},
    {"id": "d2", "data": {"depth": 7, "text": "Deep."}},
    {"data": "Only words."},
]


def test_documents_are_written_again_as_they_were() -> None:
    body = asked(USER, documents=DOCUMENTS)
    ask = dialect("cohere").requests.parse(orjson.dumps(body))
    assert [message.role.value for message in ask.conversation.messages] == ["user", "user"]
    assert dialect("cohere").requests.locate_parts(ask.conversation.messages[0])[2] == "/documents/2"
    changed = sent({**body, "messages": [{**USER, "index": 0}]}, COMMAND)
    assert changed.json["documents"] == DOCUMENTS


def test_documents_of_a_request_reach_other_dialects_as_documents_or_text() -> None:
    blocks = sent(asked(USER, documents=DOCUMENTS), CLAUDE).json["messages"][0]["content"]
    assert [block["type"] for block in blocks] == ["document"] * 4
    assert blocks[1]["title"] == "Harbour"
    assert blocks[2]["source"]["data"] == '{"depth":7,"text":"Deep."}'
    text = sent(asked(USER, documents=DOCUMENTS), GPT).body.decode()
    assert "[document: Harbour]" in text
    assert "Dock Seven." in text


def test_documents_of_a_result_are_its_content_elsewhere() -> None:
    document = {"type": "document", "document": {"data": {"text": "It pours."}}}
    body = asked(USER, PLANNED, {**RESULT, "content": [document]}, tools=[TOOL])
    assert sent(body, COMMAND).changes == ()
    assert sent(body, GPT).json["messages"][2]["content"] == "It pours."
    block = sent(body, CLAUDE).json["messages"][2]["content"][0]["content"][0]
    assert block == {
        "type": "document",
        "source": {"type": "text", "media_type": "text/plain", "data": "It pours."},
    }


def test_a_document_in_a_users_turn_becomes_text() -> None:
    """Cohere's turns have no documents: those of a request stand beside the messages."""
    source = {"type": "text", "media_type": "text/plain", "data": "Dock Seven."}
    body = {"max_tokens": 9, "messages": [{"role": "user", "content": [{"type": "document", "source": source}]}]}
    assert "Dock Seven." in sent(body, COMMAND, "anthropic").body.decode()
    assert "document" not in sent(body, COMMAND, "anthropic").json["messages"][0]


def test_citations_in_the_history_stay_home() -> None:
    source = {"type": "document", "id": "d1", "document": {"id": "d1", "text": "Dock."}}
    cited = {"start": 0, "end": 4, "text": "Dock", "sources": [source], "type": "TEXT_CONTENT"}
    said = {"role": "assistant", "content": [{"type": "text", "text": "Dock Seven."}], "citations": [cited]}
    assert sent(asked(USER, said, USER), COMMAND).changes == ()
    assert "left out a citation" in [change.did for change in sent(asked(USER, said, USER), GPT).changes]


def test_settings_have_their_own_names() -> None:
    chat = {"messages": [USER], "top_p": 1, "top_k": 40, "stop": ["a", "b", "c", "d", "e", "f"], "user": "u"}
    chat |= {"max_completion_tokens": 50, "presence_penalty": -1, "n": 1, "parallel_tool_calls": True}
    body = sent(chat, COMMAND, "openai-chat").json
    assert body == {
        "model": "command-a-03-2025",
        "p": 0.99,
        "k": 40,
        "presence_penalty": 0,
        "max_tokens": 50,
        "stop_sequences": ["a", "b", "c", "d", "e"],
        "messages": [USER],
    }
    own = asked(USER, p=0.5, k=3, stop_sequences=["END"], seed=7, temperature=0.2)
    assert sent(own, GPT).json["top_p"] == 0.5
    assert sent(own, GPT).json["stop"] == ["END"]


@pytest.mark.parametrize(
    ("choice", "written"),
    [
        ("auto", None),
        ("none", "NONE"),
        ("required", "REQUIRED"),
        ({"type": "function", "function": {"name": "weather"}}, "REQUIRED"),
    ],
)
def test_a_tool_choice_is_one_of_two_words(choice: Any, written: str | None) -> None:
    body = sent({"messages": [USER], "tools": [TOOL], "tool_choice": choice}, COMMAND, "openai-chat").json
    assert body.get("tool_choice") == written


def test_a_schema_stands_bare_and_beside_no_tools() -> None:
    form = {"type": "json_schema", "json_schema": {"name": "city", "schema": SCHEMA, "strict": True}}
    alone = sent({"messages": [USER], "response_format": form}, COMMAND, "openai-chat").json
    assert alone["response_format"] == {"type": "json_object", "json_schema": {"title": "city"} | SCHEMA}
    both = sent({"messages": [USER], "response_format": form, "tools": [TOOL]}, COMMAND, "openai-chat").json
    assert "response_format" not in both
    back = sent(asked(USER, response_format=alone["response_format"]), GPT).json["response_format"]
    assert back["json_schema"]["schema"] == {"title": "city"} | SCHEMA


@pytest.mark.parametrize(
    ("asks", "written"),
    [
        ({"reasoning_effort": "none"}, {"type": "disabled"}),
        ({"reasoning_effort": "low"}, {"type": "enabled", "token_budget": 2048}),
        ({}, None),
    ],
)
def test_an_effort_becomes_a_budget(asks: dict[str, Any], written: Any) -> None:
    body = sent({"messages": [USER], **asks}, THINKER, "openai-chat").json
    assert body.get("thinking") == written
    assert "thinking" not in sent({"messages": [USER], **asks}, COMMAND, "openai-chat").json


def test_thinking_that_is_only_switched_on_stays_so() -> None:
    body = asked(USER, thinking={"type": "enabled"})
    assert sent(body, "cohere/command-a-reasoning-08-2025").changes == ()
    budget = asked(USER, thinking={"type": "enabled", "token_budget": 2000})
    assert sent(budget, "gemini/gemini-2.5-flash").json["generationConfig"]["thinkingConfig"]["thinkingBudget"] == 2000


def test_near_misses_are_read_for_what_they_mean() -> None:
    odd = asked({"role": "user", "content": [{"type": "input_text", "text": "Hi"}]}, top_p=0.5, stop="END")
    done = sent(odd, COMMAND)
    assert done.json["messages"][0]["content"] == [{"type": "text", "text": "Hi"}]
    assert (done.json["p"], done.json["stop_sequences"]) == (0.5, ["END"])
    assert {change.rule for change in done.changes} == {"off-schema"}


@pytest.mark.parametrize(
    ("body", "at"),
    [
        ({"model": "m"}, "/messages"),
        (asked(USER, max_tokens=-5), "/max_tokens"),
        (asked(USER, stream="yes"), "/stream"),
    ],
)
def test_what_is_no_request_is_refused_with_its_place(body: dict[str, Any], at: str) -> None:
    with pytest.raises(MalformedRequest) as refused:
        dialect("cohere").requests.parse(orjson.dumps(body))
    assert refused.value.at == at


@pytest.mark.parametrize(
    ("body", "at"),
    [
        (
            {"message": "Hi", "chat_history": [{"role": "CHATBOT", "message": "Hello"}], "preamble": "Be brief."},
            "/message",
        ),
        ({"chat_history": [{"role": "USER", "message": "Hello"}]}, "/chat_history"),
        ({"preamble": "Be brief."}, "/preamble"),
    ],
)
def test_a_request_of_version_1_is_told_what_to_send(body: dict[str, Any], at: str) -> None:
    for source in ("cohere", "auto"):
        with pytest.raises(MalformedRequest, match=r'version 1 .*send "messages", as ClientV2.chat does') as raised:
            adapt(orjson.dumps(body), source=source, target=GPT)
        assert raised.value.at == at
