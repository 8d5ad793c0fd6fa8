"""Responses requests: small ones of every kind, to values and back."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from msgspec.structs import replace
from tests.dialects.read_back import WANTED, read_back, text

from dragoman import adapt
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
from dragoman.conversation.tools import CallForm, ChoiceMode, NativeTool, Tool, ToolChoice
from dragoman.dialects.dialect import RenderOptions
from dragoman.dialects.openai_responses.dialect import DIALECT
from dragoman.dialects.openai_responses.request import REQUESTS, locate_parts
from dragoman.errors import MalformedRequest, Unrepresentable

RESPONSES = Origin("openai-responses")
ENCRYPTED = Opaque(kind=StateKind.ENCRYPTED, json=b'"gAAA"', origin=RESPONSES)
CLAUDE = Opaque(kind=StateKind.SIGNATURE, json=b'"abc"', origin=Origin("anthropic", "anthropic", "claude"))


def own(**fields: Any) -> Extras:
    return Extras("openai-responses", {key.replace("__", "."): orjson.dumps(value) for key, value in fields.items()})


def asked(body: Any) -> Ask:
    return read_back("openai-responses", {"model": "m", **body})


def items(*found: Any) -> tuple[Message, ...]:
    return asked({"input": list(found)}).conversation.messages


def written(*messages: Message, **more: Any) -> dict[str, Any]:
    return orjson.loads(REQUESTS.render(Conversation(messages, **more), WANTED))


def call(name: str, **more: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": f"call_{name}", "name": name, "arguments": "{}", **more}


def output(name: str, said: Any = "ok") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": f"call_{name}", "output": said}


def said(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": words}], **more}


THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "content": None, "encrypted_content": "gAAA"}
SEARCH = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
USER = {"role": "user", "content": "hi"}

TURNS: list[tuple[str, list[dict[str, Any]], list[tuple[Role, list[type[Part]], int]]]] = [
    ("two messages", [said("a"), said("b")], [(Role.ASSISTANT, [Text], 1), (Role.ASSISTANT, [Text], 1)]),
    (
        "one turn of everything",
        [THOUGHT, said("a"), call("f"), call("g"), output("f"), output("g"), USER],
        [(Role.ASSISTANT, [Reasoning, Text, Call, Call], 4), (Role.TOOL, [Result, Result], 2), (Role.USER, [Text], 1)],
    ),
    (
        "words between calls",
        [call("f"), said("a"), THOUGHT, call("g"), output("f"), output("g")],
        [(Role.ASSISTANT, [Call, Text, Reasoning, Call], 4), (Role.TOOL, [Result, Result], 2)],
    ),
    (
        "two steps",
        [call("f"), output("f"), call("g"), output("g")],
        [(Role.ASSISTANT, [Call], 1), (Role.TOOL, [Result], 1), (Role.ASSISTANT, [Call], 1), (Role.TOOL, [Result], 1)],
    ),
    (
        "an item of the provider's own",
        [THOUGHT, SEARCH, said("a")],
        [(Role.ASSISTANT, [Reasoning], 1), (Role.ASSISTANT, [Opaque], 1), (Role.ASSISTANT, [Text], 1)],
    ),
    ("the same among calls", [call("f"), SEARCH, call("g")], [(Role.ASSISTANT, [Call, Opaque, Call], 3)]),
    ("an empty message", [{"role": "assistant", "content": []}], [(Role.ASSISTANT, [], 1)]),
]


@pytest.mark.parametrize(("wire", "turns"), [turn[1:] for turn in TURNS], ids=[turn[0] for turn in TURNS])
def test_items_of_one_turn_are_one_message(wire: list[Any], turns: list[Any]) -> None:
    found = items(*wire)
    assert [(message.role, [type(part) for part in message.parts], message.span) for message in found] == turns
    assert [message.at for message in found] == [sum(turn[2] for turn in turns[:index]) for index in range(len(turns))]


PARTS: list[tuple[dict[str, Any], Part]] = [
    (said("a"), text("a")),
    (
        said("a", id="msg_1", status="completed", phase="commentary"),
        text("a", extras=own(item__id="msg_1", item__status="completed", item__phase="commentary")),
    ),
    (
        {"role": "assistant", "content": [{"type": "output_text", "text": "a", "annotations": [], "logprobs": [1]}]},
        text("a", extras=own(logprobs=[1])),
    ),
    ({"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}, Refusal(b'"no"')),
    (call("f", arguments=' {"a":1}'), Call("call_f", "f", b'{"a":1}')),
    (call("f", arguments="[]"), Call("call_f", "f", b'"[]"')),
    (call("f", arguments=""), Call("call_f", "f", b"{}")),
    (
        call("f", id="fc_1", status=None, namespace="n"),
        Call("call_f", "f", b"{}", extras=own(id="fc_1", namespace="n")),
    ),
    (
        {"type": "custom_tool_call", "call_id": "c", "name": "patch", "input": "*** Begin"},
        Call("c", "patch", b'"*** Begin"', custom=True),
    ),
    (THOUGHT, Reasoning(state=ENCRYPTED, extras=own(id="rs_1"))),
    ({"type": "reasoning", "summary": [{"type": "summary_text", "text": "so"}]}, Reasoning(text=text("so"))),
    (
        {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "so"}]},
        Reasoning(text=text("so"), field="content"),
    ),
    (
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": words} for words in "ab"]},
        Reasoning(text=text("a\n\nb"), extras=own(summary=[{"type": "summary_text", "text": words} for words in "ab"])),
    ),
    ({"type": "reasoning", "summary": [], "encrypted_content": seal(CLAUDE)}, Reasoning(state=CLAUDE)),
    (SEARCH, Opaque(kind="web_search_call", json=orjson.dumps(SEARCH), origin=RESPONSES)),
    ({"id": "msg_1"}, Opaque(kind="item_reference", json=b'{"id":"msg_1"}', origin=RESPONSES)),
]


@pytest.mark.parametrize(("wire", "part"), PARTS)
def test_items_of_the_assistant(wire: dict[str, Any], part: Part) -> None:
    assert items(wire) == (Message(Role.ASSISTANT, (part,)),)


CONTENT: list[tuple[dict[str, Any], Part]] = [
    ({"type": "input_text", "text": "a"}, text("a")),
    (
        {"type": "input_text", "text": "a", "prompt_cache_breakpoint": True},
        text("a", extras=own(prompt_cache_breakpoint=True)),
    ),
    (
        {"type": "input_image", "image_url": "https://x.test/a.png", "detail": "low"},
        Media(MediaKind.IMAGE, Remote("https://x.test/a.png"), detail="low"),
    ),
    (
        {"type": "input_image", "image_url": "data:image/png;base64,AA"},
        Media(MediaKind.IMAGE, Inline("image/png", b'"AA"')),
    ),
    (
        {"type": "input_image", "image_url": None, "file_id": "file_1"},
        Media(MediaKind.IMAGE, Stored("file_1", "openai")),
    ),
    (
        {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,AA"},
        Media(MediaKind.DOCUMENT, Inline("application/pdf", b'"AA"'), title="a.pdf"),
    ),
    ({"type": "input_file", "file_url": "https://x.test/a"}, Media(MediaKind.DOCUMENT, Remote("https://x.test/a"))),
    (
        {"type": "input_audio", "input_audio": {"data": "AA", "format": "mp3"}},
        Media(MediaKind.AUDIO, Inline("audio/mpeg", b'"AA"')),
    ),
    (
        {"type": "computer_screenshot", "file_id": "f"},
        Opaque(kind="computer_screenshot", json=b'{"type":"computer_screenshot","file_id":"f"}', origin=RESPONSES),
    ),
]


@pytest.mark.parametrize(("wire", "part"), CONTENT)
def test_content_of_users_and_of_outputs(wire: dict[str, Any], part: Part) -> None:
    user, tool = items({"role": "user", "content": [wire]}, output("f", [wire]))
    assert user == Message(Role.USER, (part,))
    assert tool == Message(Role.TOOL, (Result("call_f", (part,)),))


def test_a_picture_has_no_name() -> None:
    picture = Media(MediaKind.IMAGE, Inline("image/png", b'"AA"'), title="a.png")
    sent = written(Message(Role.USER, (picture,)))["input"][0]["content"][0]
    assert sent == {"type": "input_image", "image_url": "data:image/png;base64,AA", "detail": "auto"}


def test_roles_and_the_fields_of_messages() -> None:
    wire = [
        {"type": "message", "role": "developer", "id": "msg_1", "content": "a"},
        {"role": "system", "content": [{"type": "input_text", "text": "b"}]},
        {"role": "narrator", "content": "c"},
    ]
    assert items(*wire) == (
        Message(Role.DEVELOPER, (text("a"),), extras=own(id="msg_1")),
        Message(Role.SYSTEM, (text("b"),)),
        Message(Role.USER, (text("c"),), role_text="narrator"),
    )


def test_instructions_are_a_system_message_of_their_own_field() -> None:
    ask = asked({"instructions": "be kind", "input": [{"role": "system", "content": "and brief"}, USER]})
    first, second, _ = ask.conversation.messages
    assert (first, first.at) == (Message(Role.SYSTEM, (text("be kind"),)), FIELD)
    assert second.role is Role.SYSTEM
    anew = orjson.loads(REQUESTS.render(ask.conversation, WANTED))
    assert anew["instructions"] == "be kind"
    assert [item["role"] for item in anew["input"]] == ["system", "user"]


def test_the_first_of_several_system_messages_goes_to_the_field() -> None:
    anew = written(*[Message(Role.SYSTEM, (text(words),)) for words in "ab"], Message(Role.USER, (text("hi"),)))
    assert anew["instructions"] == "a"
    assert [item["content"] for item in anew["input"]] == ["b", "hi"]


def test_a_text_as_input_becomes_a_list_only_when_it_is_amended() -> None:
    ask = asked({"input": "hi"})
    assert orjson.loads(REQUESTS.render(ask.conversation, RenderOptions("x", False), ask)) == {
        "model": "x",
        "input": "hi",
    }
    longer = replace(ask.conversation, messages=(*ask.conversation.messages, Message(Role.USER, (text("more"),))))
    amended = orjson.loads(REQUESTS.render(longer, WANTED, ask))["input"]
    assert [item["content"] for item in amended] == ["hi", "more"]


SETTINGS: list[tuple[dict[str, Any], Settings]] = [
    ({"max_output_tokens": 16, "temperature": 0, "top_p": 0.5}, Settings(max_tokens=16, temperature=0, top_p=0.5)),
    ({"store": False, "user": "u", "metadata": {"a": "b"}}, Settings(store=False, user="u", metadata=b'{"a":"b"}')),
    (
        {"parallel_tool_calls": False, "prompt_cache_key": "k"},
        Settings(parallel_tool_calls=False, prompt_cache_key="k"),
    ),
    ({"service_tier": "flex", "top_logprobs": 2, "tool_choice": None}, Settings(service_tier="flex", top_logprobs=2)),
    (
        {"reasoning": {"effort": "xhigh", "summary": "auto"}},
        Settings(thinking=Thinking(effort=Effort.XHIGH, summary="auto")),
    ),
    ({"reasoning": {"effort": None, "summary": None}}, Settings()),
    (
        {"text": {"verbosity": "low", "format": {"type": "text"}}},
        Settings(verbosity="low", response_format=ResponseFormat(FormatKind.TEXT)),
    ),
    ({"text": {"format": {"type": "json_object"}}}, Settings(response_format=ResponseFormat(FormatKind.JSON))),
    (
        {"text": {"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}, "strict": True}}},
        Settings(response_format=ResponseFormat(FormatKind.SCHEMA, b'{"type":"object"}', "n", strict=True)),
    ),
    ({"tool_choice": "required"}, Settings(tool_choice=ToolChoice(ChoiceMode.REQUIRED))),
    ({"tool_choice": {"type": "function", "name": "f"}}, Settings(tool_choice=ToolChoice(ChoiceMode.NAMED, ("f",)))),
    (
        {"tool_choice": {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "f"}]}},
        Settings(tool_choice=ToolChoice(ChoiceMode.ALLOWED, ("f",), True)),
    ),
    (
        {"tool_choice": {"type": "web_search"}},
        Settings(tool_choice=ToolChoice(ChoiceMode.NATIVE, json=b'{"type":"web_search"}', origin=RESPONSES)),
    ),
]


@pytest.mark.parametrize(("body", "settings"), SETTINGS)
def test_settings(body: dict[str, Any], settings: Settings) -> None:
    found = asked({"input": [USER], **body}).conversation
    assert found == Conversation((Message(Role.USER, (text("hi"),)),), settings=settings)


def test_unknown_and_stateful_fields_are_kept_with_their_dialect() -> None:
    body = {"previous_response_id": "resp_1", "include": ["x"], "reasoning": {"context": "auto"}, "text": {"new": 1}}
    found = asked({"input": [USER], **body}).conversation
    assert found.extras == Extras(
        "openai-responses",
        {
            "previous_response_id": b'"resp_1"',
            "include": b'["x"]',
            "reasoning.context": b'"auto"',
            "text.new": b"1",
        },
    )
    assert asked({"prompt": {"id": "p"}}).conversation.messages == ()


def test_tools() -> None:
    namespace = {"type": "namespace", "name": "n", "tools": [{"type": "function", "name": "f", "parameters": {}}]}
    wire = [
        {"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": None, "defer_loading": True},
        {"type": "custom", "name": "patch", "description": "d", "format": {"type": "text"}},
        namespace,
        {"type": "web_search", "external_web_access": True},
    ]
    ask = asked({"input": [USER], "tools": wire, "tool_choice": {"type": "custom", "name": "patch"}})
    inner = Tool("n__f", schema=b"{}", at=2, called=CallForm("f", fields={"namespace": b'"n"'}))
    assert ask.conversation.tools == (
        Tool("f", None, b'{"type":"object"}', extras=own(defer_loading=True), at=0),
        Tool("patch", b'"d"', b'{"type":"text"}', custom=True, at=1),
        NativeTool("namespace", orjson.dumps(namespace), RESPONSES, 2, (inner,)),
        NativeTool("web_search", orjson.dumps(wire[3]), RESPONSES, 3),
    )
    anew = orjson.loads(REQUESTS.render(ask.conversation, WANTED))
    assert anew["tool_choice"] == {"type": "custom", "name": "patch"}


def test_places() -> None:
    double = {"role": "assistant", "content": [{"type": "output_text", "text": words} for words in "ab"]}
    turn, results = items(THOUGHT, double, call("f"), call("g"), output("f"), output("g"))
    assert locate_parts(turn) == [
        "/input/0",
        "/input/1/content/0",
        "/input/1/content/1",
        "/input/2",
        "/input/3",
    ]
    assert locate_parts(results)[1] == "/input/5"
    assert DIALECT.request_path(WANTED, "") == "/responses"


REFUSED: list[tuple[str, Message]] = [
    ("a name", Message(Role.USER, (text("a"),), name="bob")),
    ("a hint", Message(Role.USER, (text("a", hint=CacheHint()),))),
    ("an error flag", Message(Role.TOOL, (Result("x", (text("a"),), is_error=True),))),
    ("a signature", Message(Role.ASSISTANT, (Call("x", "f", b"{}", CLAUDE),))),
    ("a foreign block", Message(Role.ASSISTANT, (Opaque(kind="x", json=b"{}", origin=Origin("anthropic")),))),
    ("a film", Message(Role.USER, (Media(MediaKind.VIDEO, Remote("https://x.test")),))),
    ("a plain document", Message(Role.USER, (Media(MediaKind.DOCUMENT, Plain(b'"a"')),))),
    ("a foreign file", Message(Role.USER, (Media(MediaKind.DOCUMENT, Stored("files/1", "gemini")),))),
    ("an image of the assistant's", Message(Role.ASSISTANT, (Media(MediaKind.IMAGE, Remote("https://x.test")),))),
    ("foreign fields", Message(Role.USER, (text("a"),), extras=Extras("anthropic", {"a": b"1"}))),
]


@pytest.mark.parametrize("message", [message for _, message in REFUSED], ids=[name for name, _ in REFUSED])
def test_what_it_has_no_words_for_is_refused(message: Message) -> None:
    with pytest.raises(Unrepresentable):
        written(message)


@pytest.mark.parametrize(
    "settings",
    [
        Settings(stop=(b'"a"',)),
        Settings(seed=1),
        Settings(n=2),
        Settings(top_k=3),
        Settings(thinking=Thinking(budget=1024)),
        Settings(thinking=Thinking(on=True, adaptive=True)),
    ],
)
def test_settings_it_has_no_words_for_are_refused(settings: Settings) -> None:
    with pytest.raises(Unrepresentable):
        written(Message(Role.USER, (text("a"),)), settings=settings)


@pytest.mark.parametrize(
    ("body", "at"),
    [
        ({}, "/input"),
        ({"input": 3}, "/input"),
        ({"input": [3]}, "/input/0"),
        ({"input": [USER, {"type": "function_call", "call_id": "c"}]}, "/input/1/name"),
        ({"input": [{"role": "user", "content": [3]}]}, "/input/0/content/0"),
        ({"input": [], "temperature": "hot"}, "/temperature"),
        ({"input": [], "tools": {}}, "/tools"),
    ],
)
def test_faults_point_at_their_place(body: dict[str, Any], at: str) -> None:
    with pytest.raises(MalformedRequest) as caught:
        REQUESTS.parse(orjson.dumps(body))
    assert caught.value.at == at


@pytest.mark.parametrize(("model", "included"), [("gpt-4o", ["message.output_text.logprobs"]), ("gpt-5.6", None)])
def test_chats_flag_for_logprobs_is_an_entry_of_include(model: str, included: list[str] | None) -> None:
    done = adapt({"model": model, "input": "Hi", "logprobs": True}, target=f"openai-responses/{model}")
    assert "logprobs" not in done.json
    assert done.json.get("include") == included
    assert ("off-schema", "/logprobs") in [(one.rule, one.at) for one in done.changes]


def test_chats_option_for_usage_is_left_out() -> None:
    asked = {"input": "Hi", "stream": True, "stream_options": {"include_usage": True}}
    done = adapt(asked, target="openai-responses/gpt-5.6")
    assert "stream_options" not in done.json
    assert [(one.rule, one.at) for one in done.changes] == [("off-schema", "/stream_options")]


def test_a_phase_stays_on_turns_of_the_model_alone() -> None:
    marked = [{"role": role, "content": "Hi", "phase": "commentary"} for role in ("user", "assistant", "user")]
    done = adapt({"input": marked}, target="openai-responses/gpt-5.6")
    assert [one.get("phase") for one in done.json["input"]] == [None, "commentary", None]
    assert [(one.rule, one.at) for one in done.changes] == [("stray-field", "/input/0"), ("stray-field", "/input/2")]
