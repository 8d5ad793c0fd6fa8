"""Anthropic requests: small ones of every kind, to values and back."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from tests.dialects.read_back import WANTED, read_back, text

from dragoman.conversation.conversation import Ask, Conversation
from dragoman.conversation.envelope import seal
from dragoman.conversation.messages import FIELD, Message, Role
from dragoman.conversation.parts import (
    CacheHint,
    Call,
    Extras,
    Inline,
    Media,
    MediaKind,
    Opaque,
    Origin,
    Part,
    Plain,
    Reasoning,
    Refusal,
    Remote,
    Result,
    StateKind,
    Stored,
    Text,
)
from dragoman.conversation.settings import Effort, FormatKind, ResponseFormat, Settings, Thinking
from dragoman.conversation.tools import ChoiceMode, NativeTool, Tool, ToolChoice
from dragoman.dialects.anthropic.request import REQUESTS
from dragoman.dialects.dialect import locate_message
from dragoman.errors import MalformedRequest, Unrepresentable

CLAUDE = Origin("anthropic")
USER = {"role": "user", "content": "hi"}
HELLO = Message(Role.USER, (Text(b'"hi"'),))
SIGNATURE = Opaque(kind=StateKind.SIGNATURE, json=b'"sig"', origin=CLAUDE)
GEMINI = Opaque(kind=StateKind.THOUGHT, json=b'"c2ln"', origin=Origin("gemini", "google", "gemini-3"))


def own(**fields: Any) -> Extras:
    return Extras("anthropic", {key.replace("__", "."): orjson.dumps(value) for key, value in fields.items()})


def asked(body: Any) -> Ask:
    return read_back("anthropic", {"model": "m", **body})


def messages(*found: Any) -> tuple[Message, ...]:
    return asked({"messages": list(found)}).conversation.messages


BLOCKS: list[tuple[dict[str, Any], Part]] = [
    ({"type": "text", "text": "a"}, text("a")),
    ({"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}, text("a", hint=CacheHint())),
    ({"type": "text", "text": "a", "citations": [1], "new": 2}, text("a", extras=own(new=2, citations=[1]))),
    ({"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}}, Call("t", "f", b'{"a":1}')),
    (
        {"type": "thinking", "thinking": "so", "signature": "sig"},
        Reasoning(text=text("so"), state=SIGNATURE),
    ),
    ({"type": "thinking", "thinking": "", "signature": seal(GEMINI)}, Reasoning(state=GEMINI)),
    (
        {"type": "redacted_thinking", "data": "x"},
        Reasoning(state=Opaque(kind=StateKind.REDACTED, json=b'"x"', origin=CLAUDE), redacted=True),
    ),
    (
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}},
        Media(MediaKind.IMAGE, Inline("image/png", b'"AA"')),
    ),
    (
        {"type": "image", "source": {"type": "url", "url": "https://x.test/a"}},
        Media(MediaKind.IMAGE, Remote("https://x.test/a")),
    ),
    (
        {"type": "document", "source": {"type": "file", "file_id": "f"}, "title": "T", "citations": {"enabled": True}},
        Media(MediaKind.DOCUMENT, Stored("f", "anthropic"), title="T", extras=own(citations={"enabled": True})),
    ),
    (
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "a"}},
        Media(MediaKind.DOCUMENT, Plain(b'"a"')),
    ),
    (
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
        Opaque(
            kind="server_tool_use",
            json=b'{"type":"server_tool_use","id":"s","name":"web_search","input":{}}',
            origin=CLAUDE,
        ),
    ),
]


@pytest.mark.parametrize(("wire", "part"), BLOCKS)
def test_blocks(wire: dict[str, Any], part: Part) -> None:
    assert messages({"role": "assistant", "content": [wire]}) == (Message(Role.ASSISTANT, (part,)),)


@pytest.mark.parametrize("wire", [{"content": None}, {}])
def test_content_that_is_null_or_absent_is_empty(wire: dict[str, Any]) -> None:
    found = REQUESTS.parse(orjson.dumps({"model": "m", "messages": [{"role": "user", **wire}]})).conversation.messages
    assert [(message.parts, message.listed) for message in found] == [((), False)]


def test_results_without_content_and_an_absent_system_are_empty() -> None:
    result = {"type": "tool_result", "tool_use_id": "t", "content": None, "cache_control": None}
    body = {"model": "m", "system": None, "messages": [{"role": "user", "content": [result]}]}
    found = REQUESTS.parse(orjson.dumps(body)).conversation.messages
    assert [message.parts for message in found] == [(Result("t", ()),)]


def test_a_turn_of_results_and_text_is_two_messages_and_one_again() -> None:
    results = [
        {"type": "tool_result", "tool_use_id": "a", "content": "1"},
        {"type": "tool_result", "tool_use_id": "b", "content": [{"type": "text", "text": "2"}], "is_error": True},
        {"type": "tool_result", "tool_use_id": "c"},
    ]
    turn = {"role": "user", "content": [*results, {"type": "text", "text": "go on"}]}
    found = messages(USER, turn)
    assert found[1:] == (
        Message(
            Role.TOOL,
            (Result("a", (text("1"),)), Result("b", (text("2"),), True), Result("c", ())),
        ),
        Message(Role.USER, (text("go on"),)),
    )
    assert found[1].at == found[2].at == 1
    anew = orjson.loads(REQUESTS.render(Conversation(found), WANTED))
    assert anew["messages"] == [USER, turn]


@pytest.mark.parametrize(
    ("system", "parts"),
    [
        ("be kind", (text("be kind"),)),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], (text("a"), text("b"))),
        ([{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}], (text("a", hint=CacheHint()),)),
    ],
)
def test_system(system: Any, parts: tuple[Part, ...]) -> None:
    ask = asked({"system": system, "messages": [USER]})
    first = ask.conversation.messages[0]
    assert (first, first.at) == (Message(Role.SYSTEM, parts), FIELD)
    assert orjson.loads(REQUESTS.render(ask.conversation, WANTED))["system"] == system
    assert locate_message(first) == "/system"


def test_a_system_message_in_the_conversation_stays_where_it_is() -> None:
    late = {"role": "system", "content": "late"}
    found = messages(late, USER, late)
    assert [message.role for message in found] == [Role.SYSTEM, Role.USER, Role.SYSTEM]
    assert orjson.loads(REQUESTS.render(Conversation(found), WANTED))["messages"] == [late, USER, late]


SETTINGS: list[tuple[dict[str, Any], Settings]] = [
    ({"max_tokens": 5, "top_k": 3, "temperature": None}, Settings(max_tokens=5, top_k=3)),
    ({"stop_sequences": ["a"], "service_tier": "auto"}, Settings(stop=(b'"a"',), service_tier="auto")),
    (
        {"thinking": {"type": "enabled", "budget_tokens": 1024}},
        Settings(thinking=Thinking(on=True, budget=1024)),
    ),
    (
        {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}},
        Settings(thinking=Thinking(on=True, adaptive=True, effort=Effort.HIGH)),
    ),
    ({"thinking": {"type": "disabled"}}, Settings(thinking=Thinking(on=False))),
    (
        {"output_config": {"format": {"type": "json_schema", "schema": {}}}},
        Settings(response_format=ResponseFormat(FormatKind.SCHEMA, b"{}")),
    ),
    ({"tool_choice": {"type": "any"}}, Settings(tool_choice=ToolChoice(ChoiceMode.REQUIRED))),
    (
        {"tool_choice": {"type": "tool", "name": "f", "disable_parallel_tool_use": True}},
        Settings(tool_choice=ToolChoice(ChoiceMode.NAMED, ("f",)), parallel_tool_calls=False),
    ),
    ({"metadata": {"user_id": "u"}}, Settings(user="u")),
]


@pytest.mark.parametrize(("body", "settings"), SETTINGS)
def test_settings(body: dict[str, Any], settings: Settings) -> None:
    assert asked({"messages": [USER], **body}).conversation == Conversation((HELLO,), settings=settings)


TOOLS: list[tuple[dict[str, Any], Tool | NativeTool]] = [
    ({"name": "f", "description": "d", "input_schema": {}}, Tool("f", b'"d"', b"{}", at=0)),
    (
        {
            "name": "f",
            "input_schema": {},
            "strict": True,
            "cache_control": {"type": "ephemeral"},
            "defer_loading": True,
        },
        Tool("f", None, b"{}", True, hint=CacheHint(), extras=own(defer_loading=True), at=0),
    ),
    (
        {"type": "web_search_20250305", "name": "web_search"},
        NativeTool("web_search_20250305", b'{"type":"web_search_20250305","name":"web_search"}', CLAUDE, 0),
    ),
]


@pytest.mark.parametrize(("wire", "tool"), TOOLS)
def test_tools(wire: dict[str, Any], tool: Tool | NativeTool) -> None:
    ask = asked({"messages": [USER], "tools": [wire]})
    assert ask.conversation.tools == (tool,)
    assert orjson.loads(REQUESTS.render(ask.conversation, WANTED))["tools"] == [wire]


def test_unknown_fields_are_kept_with_their_dialect() -> None:
    ask = asked(
        {
            "messages": [USER],
            "context_management": {"edits": []},
            "output_config": {"new": 1},
            "metadata": {"user_id": "u", "more": 2},
            "cache_control": {"type": "ephemeral"},
        }
    )
    assert ask.conversation.extras == own(context_management={"edits": []}, output_config__new=1, metadata__more=2)
    assert ask.conversation.hint == CacheHint()


@pytest.mark.parametrize(
    "message",
    [
        Message(Role.DEVELOPER, (text("a"),)),
        Message(Role.ASSISTANT, (Call("x", "f", b'"no object"'),)),
        Message(Role.ASSISTANT, (Refusal(b'"no"'),)),
        Message(Role.USER, (Media(MediaKind.AUDIO, Remote("https://x.test")),)),
        Message(Role.USER, (Opaque(kind="x", json=b"{}", origin=Origin("gemini")),)),
        Message(Role.USER, (text("a", extras=Extras("gemini", {"a": b"1"})),)),
    ],
)
def test_what_it_has_no_words_for_is_refused(message: Message) -> None:
    with pytest.raises(Unrepresentable):
        REQUESTS.render(Conversation((message,)), WANTED)


@pytest.mark.parametrize("settings", [Settings(seed=1), Settings(n=2), Settings(verbosity="low"), Settings(min_p=0.1)])
def test_settings_it_has_no_words_for_are_refused(settings: Settings) -> None:
    with pytest.raises(Unrepresentable):
        REQUESTS.render(Conversation((HELLO,), settings=settings), WANTED)


@pytest.mark.parametrize(
    ("body", "at"),
    [
        ({}, "/messages"),
        ({"messages": [{"role": "user", "content": [3]}]}, "/messages/0/content/0"),
        ({"messages": [], "max_tokens": "many"}, "/max_tokens"),
        ({"messages": [], "tools": [{"type": "custom", "cache_control": {}}]}, "/tools/0/name"),
    ],
)
def test_faults_point_at_their_place(body: dict[str, Any], at: str) -> None:
    with pytest.raises(MalformedRequest) as caught:
        REQUESTS.parse(orjson.dumps(body))
    assert caught.value.at == at
