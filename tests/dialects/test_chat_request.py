"""Chat requests: small ones of every kind, to values and back."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from msgspec.structs import replace
from tests.dialects.read_back import WANTED, read_back, text

from dragoman.conversation.conversation import Ask, Conversation
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.parts import (
    CacheHint,
    Call,
    Citation,
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
from dragoman.dialects.openai_chat.request import REQUESTS, locate_parts
from dragoman.engine.library.adapt import adapt
from dragoman.errors import DuplicateKey, MalformedRequest, Unrepresentable

CHAT = Origin("openai-chat")
USER = {"role": "user", "content": "hi"}
HELLO = Message(Role.USER, (Text(b'"hi"'),))


def asked(body: Any) -> Ask:
    return read_back("openai-chat", {"model": "m", **body})


def messages(*found: Any) -> tuple[Message, ...]:
    return asked({"messages": list(found)}).conversation.messages


def call(name: str, arguments: str = "{}", **more: Any) -> dict[str, Any]:
    return {"id": f"call_{name}", "type": "function", "function": {"name": name, "arguments": arguments}, **more}


ASSISTANT: list[tuple[dict[str, Any], tuple[Part, ...]]] = [
    ({"content": "a"}, (text("a"),)),
    ({"content": [{"type": "text", "text": "a"}, {"type": "refusal", "refusal": "no"}]}, (text("a"), Refusal(b'"no"'))),
    ({"content": None, "refusal": "no"}, (Refusal(b'"no"'),)),
    ({"content": "", "tool_calls": [call("f", '{"a":1}')]}, (Call("call_f", "f", b'{"a":1}'),)),
    ({"content": None, "tool_calls": [call("f", "not json")]}, (Call("call_f", "f", b'"not json"'),)),
    ({"tool_calls": [call("f", "")]}, (Call("call_f", "f", b"{}"),)),
    (
        {"tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "patch", "input": "x"}}]},
        (Call("c", "patch", b'"x"', custom=True),),
    ),
    (
        {"tool_calls": [call("f", extra_content={"google": {"thought_signature": "c2ln"}})]},
        (Call("call_f", "f", b"{}", Opaque(kind=StateKind.THOUGHT, json=b'"c2ln"', origin=CHAT)),),
    ),
    ({"content": "a", "reasoning_content": "so"}, (Reasoning(text=text("so")), text("a"))),
    ({"content": "a", "reasoning": "so"}, (Reasoning(text=text("so")), text("a"))),
    (
        {"content": "a", "reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}]},
        (
            Reasoning(
                state=Opaque(kind=StateKind.DETAIL, json=b'{"type":"reasoning.encrypted","data":"x"}', origin=CHAT)
            ),
            text("a"),
        ),
    ),
    ({"content": None, "audio": {"id": "a"}}, (Opaque(kind="audio", json=b'{"id":"a"}', origin=CHAT),)),
    ({"content": "a", "annotations": [{"type": "x"}]}, (text("a"), Citation(json=b'{"type":"x"}', origin=CHAT))),
]


@pytest.mark.parametrize(("wire", "parts"), ASSISTANT)
def test_assistant_messages(wire: dict[str, Any], parts: tuple[Part, ...]) -> None:
    assert messages({"role": "assistant", **wire}) == (Message(Role.ASSISTANT, parts),)


CONTENT: list[tuple[dict[str, Any], Part]] = [
    ({"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}, text("a", hint=CacheHint())),
    ({"type": "text", "text": "a", "note": 1}, text("a", extras=Extras("openai-chat", {"note": b"1"}))),
    (
        {"type": "image_url", "image_url": {"url": "https://x.test/a", "detail": "low"}},
        Media(MediaKind.IMAGE, Remote("https://x.test/a"), detail="low"),
    ),
    (
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}},
        Media(MediaKind.IMAGE, Inline("image/png", b'"AA"')),
    ),
    (
        {"type": "input_audio", "input_audio": {"data": "AA", "format": "mp3"}},
        Media(MediaKind.AUDIO, Inline("audio/mpeg", b'"AA"')),
    ),
    ({"type": "file", "file": {"file_id": "file_1"}}, Media(MediaKind.DOCUMENT, Stored("file_1", "openai"))),
    ({"type": "video_url", "video_url": {"url": "https://x.test"}}, Media(MediaKind.VIDEO, Remote("https://x.test"))),
    ({"type": "thing", "x": 1}, Opaque(kind="thing", json=b'{"type":"thing","x":1}', origin=CHAT)),
]


@pytest.mark.parametrize(("wire", "part"), CONTENT)
def test_content_parts(wire: dict[str, Any], part: Part) -> None:
    assert messages({"role": "user", "content": [wire]}) == (Message(Role.USER, (part,)),)


def test_tool_messages_that_follow_each_other_are_one() -> None:
    found = messages(
        USER,
        {"role": "assistant", "tool_calls": [call("f"), call("g")]},
        {"role": "tool", "tool_call_id": "call_f", "content": "1"},
        {"role": "tool", "tool_call_id": "call_g", "content": [{"type": "text", "text": "2"}], "name": "g"},
        USER,
    )
    results = (Result("call_f", (text("1"),)), Result("call_g", (text("2"),)))
    assert found[2] == Message(Role.TOOL, results)
    assert (found[2].at, found[2].span, found[3].at) == (2, 2, 4)
    assert locate_parts(found[2]) == ["/messages/2", "/messages/3"]
    assert locate_parts(found[1])[1] == "/messages/1/tool_calls/1"


def test_the_older_function_call() -> None:
    wire = [
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "1"},
    ]
    ask = asked({"messages": wire, "functions": [{"name": "f", "parameters": {}}], "function_call": {"name": "f"}})
    made, result = ask.conversation.messages[0].parts[0], ask.conversation.messages[1].parts[0]
    assert isinstance(made, Call)
    assert isinstance(result, Result)
    assert made.id == result.call_id
    assert ask.conversation.settings.tool_choice == ToolChoice(ChoiceMode.NAMED, ("f",), wire_form="function_call")
    anew = orjson.loads(REQUESTS.render(ask.conversation, WANTED))
    assert anew["functions"] == [{"name": "f", "parameters": {}}]
    assert anew["messages"][1] == wire[1]


SETTINGS: list[tuple[dict[str, Any], Settings]] = [
    ({"max_tokens": 5}, Settings(max_tokens=5)),
    ({"max_completion_tokens": 5, "temperature": None}, Settings(max_tokens=5)),
    ({"stop": "a", "seed": 1, "n": 2}, Settings(stop=(b'"a"',), seed=1, n=2)),
    ({"reasoning_effort": "low"}, Settings(thinking=Thinking(effort=Effort.LOW))),
    ({"reasoning": {"max_tokens": 9, "exclude": True}}, Settings(thinking=Thinking(budget=9, visible=False))),
    ({"thinking": {"type": "disabled"}}, Settings(thinking=Thinking(on=False))),
    ({"response_format": {"type": "json_object"}}, Settings(response_format=ResponseFormat(FormatKind.JSON))),
    (
        {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {}, "strict": True}}},
        Settings(response_format=ResponseFormat(FormatKind.SCHEMA, b"{}", "n", strict=True)),
    ),
    ({"tool_choice": "required"}, Settings(tool_choice=ToolChoice(ChoiceMode.REQUIRED))),
    (
        {"tool_choice": {"type": "function", "function": {"name": "f"}}},
        Settings(tool_choice=ToolChoice(ChoiceMode.NAMED, ("f",))),
    ),
]


@pytest.mark.parametrize(("body", "settings"), SETTINGS)
def test_settings(body: dict[str, Any], settings: Settings) -> None:
    assert asked({"messages": [USER], **body}).conversation == Conversation((HELLO,), settings=settings)


TOOLS: list[tuple[dict[str, Any], Tool | NativeTool]] = [
    (
        {"type": "function", "function": {"name": "f", "description": "d", "parameters": {}, "strict": True}},
        Tool("f", b'"d"', b"{}", True, at=0),
    ),
    (
        {"type": "function", "function": {"name": "f", "x": 1}, "y": 2},
        Tool("f", extras=Extras("openai-chat", {"y": b"2", "function.x": b"1"}), at=0),
    ),
    ({"name": "f", "parameters": {}}, Tool("f", None, b"{}", wrapper="bare", at=0)),
    ({"type": "custom", "custom": {"name": "p"}}, Tool("p", custom=True, at=0)),
    ({"type": "web_search"}, NativeTool("web_search", b'{"type":"web_search"}', CHAT, 0)),
]


@pytest.mark.parametrize(("wire", "tool"), TOOLS)
def test_tools(wire: dict[str, Any], tool: Tool | NativeTool) -> None:
    ask = asked({"messages": [USER], "tools": [wire]})
    assert ask.conversation.tools == (tool,)
    assert orjson.loads(REQUESTS.render(ask.conversation, WANTED))["tools"] == [wire]


def test_unknown_fields_and_roles_are_kept() -> None:
    ask = asked({"messages": [{"role": "narrator", "content": "a", "mood": 1}], "cache_prompt": True})
    message = Message(Role.USER, (text("a"),), extras=Extras("openai-chat", {"mood": b"1"}), role_text="narrator")
    assert ask.conversation.messages == (message,)
    assert ask.conversation.extras == Extras("openai-chat", {"cache_prompt": b"true"})


def test_a_choice_of_an_unknown_word_is_kept() -> None:
    ask = asked({"messages": [USER], "function_call": "sometimes"})
    assert ask.conversation.extras == Extras("openai-chat", {"function_call": b'"sometimes"'})


def test_a_touched_message_is_the_only_one_written_anew() -> None:
    source = b'{"messages": [{"role":"user","content":"\\u0061" }, {"role":"user","content":"b"}], "model":"m"}'
    ask = REQUESTS.parse(source)
    changed = Message(Role.USER, (text("c"),))
    amended = REQUESTS.render(replace(ask.conversation, messages=(ask.conversation.messages[0], changed)), WANTED, ask)
    assert amended == b'{"messages":[{"role":"user","content":"\\u0061" },{"role":"user","content":"c"}],"model":"m"}'


@pytest.mark.parametrize(
    "message",
    [
        Message(Role.USER, (Media(MediaKind.DOCUMENT, Plain(b'"a"')),)),
        Message(Role.USER, (Opaque(kind="x", json=b"{}", origin=Origin("gemini")),)),
        Message(Role.USER, (text("a"),), extras=Extras("gemini", {"a": b"1"})),
        Message(Role.TOOL, (text("a"),)),
    ],
)
def test_what_it_has_no_words_for_is_refused(message: Message) -> None:
    with pytest.raises(Unrepresentable):
        REQUESTS.render(Conversation((message,)), WANTED)


@pytest.mark.parametrize(
    ("body", "error", "at"),
    [
        (b"{}", MalformedRequest, "/messages"),
        (b"[", MalformedRequest, ""),
        (b'{"messages":[],"messages":[]}', DuplicateKey, "/messages"),
        (b'{"messages":[3]}', MalformedRequest, "/messages/0"),
        (b'{"messages":[{"role":"user","content":[3]}]}', MalformedRequest, "/messages/0/content/0"),
        (b'{"messages":[],"temperature":"hot"}', MalformedRequest, "/temperature"),
    ],
)
def test_faults_point_at_their_place(body: bytes, error: type[Exception], at: str) -> None:
    with pytest.raises(error) as caught:
        REQUESTS.parse(body)
    assert caught.value.at == at  # type: ignore[attr-defined]


OPTIONS = {"include_usage": True, "include_obfuscation": False}


@pytest.mark.parametrize(
    ("target", "options"),
    [
        ("openai/gpt-4o", OPTIONS),
        ("vllm/m", OPTIONS),
        ("cerebras/m", {"include_usage": True}),
        ("fireworks/m", {"include_usage": True}),
        ("mistral/mistral-large-latest", None),
    ],
)
def test_options_of_a_stream_that_a_target_does_not_take_are_left_out(
    target: str, options: dict[str, Any] | None
) -> None:
    asked = {"messages": [{"role": "user", "content": "Hi"}], "stream": True, "stream_options": OPTIONS}
    done = adapt(asked, target=target)
    assert done.json.get("stream_options") == options
    assert bool(done.changes) == (options != OPTIONS)


def test_options_of_a_stream_are_reported_in_a_translation() -> None:
    asked = {"messages": [{"role": "user", "content": "Hi"}], "stream": True, "stream_options": OPTIONS}
    done = adapt(asked, target="gemini/gemini-2.5-flash")
    assert ("refused-setting", "/stream_options/include_obfuscation") in [(one.rule, one.at) for one in done.changes]
