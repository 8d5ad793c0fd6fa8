"""Requests that do not fit their dialect's schema but whose meaning is clear are read as what they mean (K29).

Each near miss is parsed to the same conversation as the request that it misses, and says where and of which kind it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from tests.counted_work import measure_growth
from tests.judges import judge

from dragoman.conversation.canonical import mean_same
from dragoman.conversation.conversation import Ask
from dragoman.conversation.dialect_names import DIALECT_NAMES
from dragoman.conversation.messages import Role
from dragoman.conversation.near_misses import Miss
from dragoman.conversation.parts import Call, Result
from dragoman.conversation.tools import Tool
from dragoman.dialects.dialect import RenderOptions
from dragoman.dialects.registry import dialect
from dragoman.engine.library.adapt import BUILTIN, AdaptedRequest, adapt
from dragoman.errors import MalformedRequest

CHAT, RESPONSES, ANTHROPIC, GEMINI = "openai-chat", "openai-responses", "anthropic", "gemini"
LIST_NAMES = {CHAT: "messages", RESPONSES: "input", ANTHROPIC: "messages", GEMINI: "contents"}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
URL = "https://example.com/a.png"
GIF = "R0lGODlhAQABAAAAACw="


def parse(name: str, body: dict[str, Any]) -> Ask:
    return dialect(name).requests.parse(msgspec.json.encode(body))


def said(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def chat_call(**more: Any) -> dict[str, Any]:
    return {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"city":"Paris"}'}} | more


def function(arguments: Any) -> dict[str, Any]:
    return {"name": "look", "arguments": arguments}


def calls(*entries: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(entries)}


USE = {"type": "tool_use", "id": "c1", "name": "look", "input": {"city": "Paris"}}
USE_RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": "sunny"}
GEMINI_CALL = {"functionCall": {"name": "look", "args": {"city": "Paris"}}}
GEMINI_RESULT = {"functionResponse": {"name": "look", "response": {"output": "sunny"}}}
ITEM_CALL = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"city":"Paris"}'}
ITEM_OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "sunny"}
TOOL_ANSWER = {"role": "tool", "tool_call_id": "c1", "content": "sunny"}
ASK = said("user", "Weather in Paris?")
GEMINI_ASK = {"role": "user", "parts": [{"text": "Weather in Paris?"}]}


def turns(name: str, answers: Any, **changes: Any) -> list[Any]:
    return [ASK, answers, changes.get("result", TOOL_ANSWER)]


def without(value: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: item for key, item in value.items() if key not in keys}


Case = tuple[str, list[Any], list[Any], str, Miss]
"""The dialect, the messages as they came, as they should be, where the near miss is, and its kind."""

OWN_CALL = [ASK, calls(chat_call()), TOOL_ANSWER]
CHAT_CASES: dict[str, tuple[list[Any], list[Any], str, Miss]] = {
    "LangChain's pairs": (
        [["system", "Be brief"], ["human", "Weather in Paris?"]],
        [said("system", "Be brief"), ASK],
        "/messages/1",
        Miss.TURN,
    ),
    "a list in the list of parts": (
        [said("user", [[{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]])],
        [said("user", [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])],
        "/messages/0/content/0",
        Miss.CONTENT,
    ),
    "a value": ([said("user", {"answer": 42})], [said("user", '{"answer":42}')], "/messages/0/content", Miss.CONTENT),
    "message": ([{"role": "user", "message": "a"}], [said("user", "a")], "/messages/0/message", Miss.CONTENT),
    "Ollama's pictures": (
        [said("user", "What is this?", images=["/9j/4AAQSkZJRg==", f"data:image/gif;base64,{GIF}", URL])],
        [
            said(
                "user",
                [
                    {"type": "text", "text": "What is this?"},
                    {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,/9j/4AAQSkZJRg=="}},
                    {"type": "image_url", "image_url": {"url": f"data:image/gif;base64,{GIF}"}},
                    {"type": "image_url", "image_url": {"url": URL}},
                ],
            )
        ],
        "/messages/0/images/1",
        Miss.PART,
    ),
    "arguments as an object": (
        [ASK, calls(chat_call(function=function({"city": "Paris"}))), TOOL_ANSWER],
        OWN_CALL,
        "/messages/1/tool_calls/0/function/arguments",
        Miss.ARGUMENTS,
    ),
    "arguments null": (
        [ASK, calls(chat_call(function=function(None))), TOOL_ANSWER],
        [ASK, calls(chat_call(function=function("{}"))), TOOL_ANSWER],
        "/messages/1/tool_calls/0/function/arguments",
        Miss.ARGUMENTS,
    ),
    "the older call with its arguments as an object": (
        [ASK, said("assistant", None, function_call=function({"city": "Paris"}))],
        [ASK, said("assistant", None, function_call=function('{"city":"Paris"}'))],
        "/messages/1/function_call/arguments",
        Miss.ARGUMENTS,
    ),
    "a call without its type": (
        [ASK, calls(without(chat_call(), "type")), TOOL_ANSWER],
        OWN_CALL,
        "/messages/1/tool_calls/0",
        Miss.CALL,
    ),
    "a flat call": (
        [ASK, calls({"id": "c1", "name": "look", "arguments": {"city": "Paris"}}), TOOL_ANSWER],
        OWN_CALL,
        "/messages/1/tool_calls/0",
        Miss.CALL,
    ),
    "calls as an object": (
        [ASK, {"role": "assistant", "tool_calls": chat_call()}, TOOL_ANSWER],
        OWN_CALL,
        "/messages/1/tool_calls",
        Miss.CALL,
    ),
    "C6 a result without an id": (
        [ASK, calls(chat_call()), without(TOOL_ANSWER, "tool_call_id")],
        OWN_CALL,
        "/messages/2",
        Miss.ID,
    ),
    "C6 a result with an empty id": (
        [ASK, calls(chat_call()), TOOL_ANSWER | {"tool_call_id": ""}],
        OWN_CALL,
        "/messages/2",
        Miss.ID,
    ),
    "C6 a call without an id": (
        [ASK, calls(without(chat_call(), "id")), TOOL_ANSWER],
        OWN_CALL,
        "/messages/1/tool_calls/0",
        Miss.ID,
    ),
    "a part without a type": (
        [said("user", [{"text": "a"}])],
        [said("user", [{"type": "text", "text": "a"}])],
        "/messages/0/content/0",
        Miss.PART,
    ),
    "input_text": (
        [said("user", [{"type": "input_text", "text": "a"}])],
        [said("user", [{"type": "text", "text": "a"}])],
        "/messages/0/content/0",
        Miss.PART,
    ),
    "output_text": (
        [ASK, said("assistant", [{"type": "output_text", "text": "a", "annotations": []}])],
        [ASK, said("assistant", [{"type": "text", "text": "a"}])],
        "/messages/1/content/0",
        Miss.PART,
    ),
    "texts in a list": (
        [said("user", ["a", {"type": "text", "text": "b"}])],
        [said("user", [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])],
        "/messages/0/content/0",
        Miss.PART,
    ),
    "input_image": (
        [said("user", [{"type": "input_image", "image_url": URL, "detail": "low"}])],
        [said("user", [{"type": "image_url", "image_url": {"url": URL, "detail": "low"}}])],
        "/messages/0/content/0",
        Miss.PART,
    ),
    "Anthropic's image": (
        [said("user", [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}])],
        [said("user", [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}])],
        "/messages/0/content/0",
        Miss.PART,
    ),
    "Gemini's image": (
        [said("user", [{"inlineData": {"mimeType": "image/png", "data": "AAAA"}}])],
        [said("user", [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}])],
        "/messages/0/content/0",
        Miss.PART,
    ),
    "Anthropic's call": ([ASK, said("assistant", [USE]), TOOL_ANSWER], OWN_CALL, "/messages/1/content/0", Miss.PART),
    "Anthropic's result": (
        [ASK, calls(chat_call()), said("user", [USE_RESULT])],
        OWN_CALL,
        "/messages/2/content/0",
        Miss.PART,
    ),
    "Gemini's call": (
        [ASK, said("assistant", [GEMINI_CALL]), TOOL_ANSWER],
        OWN_CALL,
        "/messages/1/content/0",
        Miss.PART,
    ),
    "Gemini's message": (
        [{"role": "user", "parts": [{"text": "a"}]}],
        [said("user", [{"type": "text", "text": "a"}])],
        "/messages/0/parts",
        Miss.CONTENT,
    ),
    "items of Responses": ([ASK, ITEM_CALL, ITEM_OUTPUT], OWN_CALL, "/messages/1", Miss.TURN),
    "content as an object": (
        [said("user", {"type": "text", "text": "a"})],
        [said("user", [{"type": "text", "text": "a"}])],
        "/messages/0/content",
        Miss.CONTENT,
    ),
    "content as a number": (
        [said("user", 42)],
        [said("user", [{"type": "text", "text": "42"}])],
        "/messages/0/content",
        Miss.CONTENT,
    ),
    "a result as an object": (
        [ASK, calls(chat_call()), TOOL_ANSWER | {"content": {"t": 12}}],
        [ASK, calls(chat_call()), TOOL_ANSWER | {"content": '{"t":12}'}],
        "/messages/2/content",
        Miss.RESULT,
    ),
    "a result as a list of objects": (
        [ASK, calls(chat_call()), TOOL_ANSWER | {"content": [{"t": 12}]}],
        [ASK, calls(chat_call()), TOOL_ANSWER | {"content": '[{"t":12}]'}],
        "/messages/2/content",
        Miss.RESULT,
    ),
    "a result that is null": (
        [ASK, calls(chat_call()), TOOL_ANSWER | {"content": None}],
        [ASK, calls(chat_call()), TOOL_ANSWER | {"content": ""}],
        "/messages/2/content",
        Miss.RESULT,
    ),
    "a role in capitals": ([said("User", "a")], [said("user", "a")], "/messages/0/role", Miss.ROLE),
    "a role of LangChain's": ([ASK, said("ai", "a")], [ASK, said("assistant", "a")], "/messages/1/role", Miss.ROLE),
    "no role": ([{"content": "a"}], [said("user", "a")], "/messages/0", Miss.ROLE),
    "a text for a message": (["a"], [said("user", "a")], "/messages/0", Miss.TURN),
}

BLOCK_CALL = [ASK, said("assistant", [USE]), said("user", [USE_RESULT])]
ANTHROPIC_CASES: dict[str, tuple[list[Any], list[Any], str, Miss]] = {
    "input as text": (
        [ASK, said("assistant", [USE | {"input": '{"city":"Paris"}'}]), BLOCK_CALL[2]],
        BLOCK_CALL,
        "/messages/1/content/0",
        Miss.PART,
    ),
    "input null": (
        [ASK, said("assistant", [USE | {"input": None}]), BLOCK_CALL[2]],
        [ASK, said("assistant", [USE | {"input": {}}]), BLOCK_CALL[2]],
        "/messages/1/content/0",
        Miss.PART,
    ),
    "C6 no ids": (
        [ASK, said("assistant", [USE]), said("user", [without(USE_RESULT, "tool_use_id")])],
        BLOCK_CALL,
        "/messages/2/content/0",
        Miss.ID,
    ),
    "a result as an object": (
        [*BLOCK_CALL[:2], said("user", [USE_RESULT | {"content": {"t": 12}}])],
        [*BLOCK_CALL[:2], said("user", [USE_RESULT | {"content": '{"t":12}'}])],
        "/messages/2/content/0",
        Miss.PART,
    ),
    "an empty list of a result": (
        [*BLOCK_CALL[:2], said("user", [USE_RESULT | {"content": []}])],
        [*BLOCK_CALL[:2], said("user", [without(USE_RESULT, "content")])],
        "/messages/2/content/0",
        Miss.PART,
    ),
    "Chat's call": ([ASK, calls(chat_call()), BLOCK_CALL[2]], BLOCK_CALL, "/messages/1", Miss.TURN),
    "Chat's result": ([*BLOCK_CALL[:2], TOOL_ANSWER], BLOCK_CALL, "/messages/2/role", Miss.ROLE),
    "image_url": (
        [said("user", [{"type": "image_url", "image_url": {"url": URL}}])],
        [said("user", [{"type": "image", "source": {"type": "url", "url": URL}}])],
        "/messages/0/content/0",
        Miss.PART,
    ),
    "a block without a type": (
        [said("user", [{"text": "a"}])],
        [said("user", [{"type": "text", "text": "a"}])],
        "/messages/0/content/0",
        Miss.PART,
    ),
    "content as an object": (
        [said("user", {"type": "text", "text": "a"})],
        [said("user", [{"type": "text", "text": "a"}])],
        "/messages/0/content",
        Miss.CONTENT,
    ),
    "Gemini's call": (
        [ASK, {"role": "model", "parts": [GEMINI_CALL | {"id": "c1"}]}, BLOCK_CALL[2]],
        BLOCK_CALL,
        "/messages/1/role",
        Miss.ROLE,
    ),
}

GEMINI_TURNS = [GEMINI_ASK, {"role": "model", "parts": [GEMINI_CALL]}, {"role": "user", "parts": [GEMINI_RESULT]}]


def response(**changes: Any) -> list[Any]:
    return [
        *GEMINI_TURNS[:2],
        {"role": "user", "parts": [{"functionResponse": GEMINI_RESULT["functionResponse"] | changes}]},
    ]


GEMINI_CASES: dict[str, tuple[list[Any], list[Any], str, Miss]] = {
    "a key too many": (
        [{"role": "user", "parts": [{"text": "a", "index": 0}]}],
        [{"role": "user", "parts": [{"text": "a"}]}],
        "/contents/0/parts/0",
        Miss.UNKNOWN_KEY,
    ),
    "a typed part": (
        [{"role": "user", "parts": [{"type": "text", "text": "a"}]}],
        [{"role": "user", "parts": [{"text": "a"}]}],
        "/contents/0/parts/0",
        Miss.PART,
    ),
    "content for parts": (
        [said("user", "a")],
        [{"role": "user", "parts": [{"text": "a"}]}],
        "/contents/0/content",
        Miss.CONTENT,
    ),
    "parts as a text": (
        [{"role": "user", "parts": "a"}],
        [{"role": "user", "parts": [{"text": "a"}]}],
        "/contents/0/parts",
        Miss.CONTENT,
    ),
    "assistant": (
        [GEMINI_ASK, {"role": "assistant", "parts": [{"text": "a"}]}],
        [GEMINI_ASK, {"role": "model", "parts": [{"text": "a"}]}],
        "/contents/1/role",
        Miss.ROLE,
    ),
    "the role tool": (
        [*GEMINI_TURNS[:2], {"role": "tool", "parts": [GEMINI_RESULT]}],
        GEMINI_TURNS,
        "/contents/2/role",
        Miss.ROLE,
    ),
    "args as text": (
        [
            GEMINI_ASK,
            {"role": "model", "parts": [{"functionCall": {"name": "look", "args": '{"city":"Paris"}'}}]},
            GEMINI_TURNS[2],
        ],
        GEMINI_TURNS,
        "/contents/1/parts/0/functionCall/args",
        Miss.ARGUMENTS,
    ),
    "a response as text": (
        response(response="sunny"),
        GEMINI_TURNS,
        "/contents/2/parts/0/functionResponse/response",
        Miss.RESULT,
    ),
    "a response as a list": (
        response(response=["sunny"]),
        GEMINI_TURNS,
        "/contents/2/parts/0/functionResponse/response",
        Miss.RESULT,
    ),
    "a response without a name": (
        response(name=None),
        GEMINI_TURNS,
        "/contents/2/parts/0/functionResponse",
        Miss.RESULT,
    ),
    "Chat's messages": (
        [ASK, calls(chat_call()), TOOL_ANSWER],
        [
            GEMINI_ASK,
            {"role": "model", "parts": [{"functionCall": GEMINI_CALL["functionCall"] | {"id": "c1"}}]},
            {"role": "user", "parts": [{"functionResponse": GEMINI_RESULT["functionResponse"] | {"id": "c1"}}]},
        ],
        "/contents/0/content",
        Miss.CONTENT,
    ),
}

ITEMS = [ASK, ITEM_CALL, ITEM_OUTPUT]
RESPONSES_CASES: dict[str, tuple[list[Any], list[Any], str, Miss]] = {
    "arguments as an object": (
        [ASK, ITEM_CALL | {"arguments": {"city": "Paris"}}, ITEM_OUTPUT],
        ITEMS,
        "/input/1/arguments",
        Miss.ARGUMENTS,
    ),
    "arguments null": (
        [ASK, ITEM_CALL | {"arguments": None}, ITEM_OUTPUT],
        [ASK, ITEM_CALL | {"arguments": "{}"}, ITEM_OUTPUT],
        "/input/1/arguments",
        Miss.ARGUMENTS,
    ),
    "an output as an object": (
        [ASK, ITEM_CALL, ITEM_OUTPUT | {"output": {"t": 12}}],
        [ASK, ITEM_CALL, ITEM_OUTPUT | {"output": '{"t":12}'}],
        "/input/2/output",
        Miss.RESULT,
    ),
    "an output that is null": (
        [ASK, ITEM_CALL, ITEM_OUTPUT | {"output": None}],
        [ASK, ITEM_CALL, ITEM_OUTPUT | {"output": ""}],
        "/input/2/output",
        Miss.RESULT,
    ),
    "an output of texts": (
        [ASK, ITEM_CALL, ITEM_OUTPUT | {"output": ["sunny"]}],
        ITEMS,
        "/input/2/output",
        Miss.RESULT,
    ),
    "no types": ([ASK, without(ITEM_CALL, "type"), without(ITEM_OUTPUT, "type")], ITEMS, "/input/1", Miss.CALL),
    "C6 no ids": ([ASK, ITEM_CALL, without(ITEM_OUTPUT, "call_id")], ITEMS, "/input/2", Miss.ID),
    "text": (
        [said("user", [{"type": "text", "text": "a"}])],
        [said("user", [{"type": "input_text", "text": "a"}])],
        "/input/0/content/0",
        Miss.PART,
    ),
    "the model's input_text": (
        [ASK, said("assistant", [{"type": "input_text", "text": "a"}])],
        [ASK, said("assistant", [{"type": "output_text", "text": "a"}])],
        "/input/1/content/0",
        Miss.PART,
    ),
    "image_url": (
        [said("user", [{"type": "image_url", "image_url": {"url": URL}}])],
        [said("user", [{"type": "input_image", "image_url": URL}])],
        "/input/0/content/0",
        Miss.PART,
    ),
    "Chat's messages": ([ASK, calls(chat_call()), TOOL_ANSWER], ITEMS, "/input/1", Miss.TURN),
    "Anthropic's messages": (
        [ASK, said("assistant", [USE]), said("user", [USE_RESULT])],
        ITEMS,
        "/input/1/content/0",
        Miss.PART,
    ),
}

LISTS = [
    (name, case, *cases[case])
    for name, cases in (
        (CHAT, CHAT_CASES),
        (ANTHROPIC, ANTHROPIC_CASES),
        (GEMINI, GEMINI_CASES),
        (RESPONSES, RESPONSES_CASES),
    )
    for case in cases
]


@pytest.mark.parametrize(("name", "case", "odd", "whole", "at", "kind"), LISTS)
def test_messages_are_read_as_what_they_mean(
    name: str, case: str, odd: list[Any], whole: list[Any], at: str, kind: Miss
) -> None:
    """K29."""
    found = parse(name, {LIST_NAMES[name]: odd}).conversation
    meant = parse(name, {LIST_NAMES[name]: whole}).conversation
    assert meant.near_misses == ()
    assert found.messages == meant.messages
    assert (at, kind) in [(miss.at, miss.kind) for miss in found.near_misses]


@pytest.mark.parametrize(("name", "case", "odd", "whole", "at", "kind"), LISTS)
def test_pointers_lead_into_the_clients_request(
    name: str, case: str, odd: list[Any], whole: list[Any], at: str, kind: Miss
) -> None:
    """K29."""
    for miss in parse(name, {LIST_NAMES[name]: odd}).conversation.near_misses:
        resolved({LIST_NAMES[name]: odd}, miss.at)


OWN_TARGETS = {
    CHAT: [
        "openai/gpt-4o",
        "openai-compatible-strict/m",
        "mistral/mistral-large-latest",
        "groq/llama-3.3-70b-versatile",
    ],
    ANTHROPIC: ["anthropic/claude-sonnet-4-5"],
    GEMINI: ["gemini/gemini-2.5-flash", "vertex/gemini-2.5-flash"],
    RESPONSES: ["openai-responses/gpt-5"],
}


def resolved(body: Any, at: str) -> Any:
    for step in at.split("/")[1:]:
        body = body[int(step)] if isinstance(body, list) else body[step]
    return body


@pytest.mark.parametrize(("name", "case", "odd", "whole", "at", "kind"), LISTS)
def test_what_is_written_for_a_provider_that_checks_has_no_near_miss_left(
    name: str, case: str, odd: list[Any], whole: list[Any], at: str, kind: Miss
) -> None:
    """K17."""
    body = {LIST_NAMES[name]: odd, "max_tokens": 100} if name == ANTHROPIC else {LIST_NAMES[name]: odd}
    for target in OWN_TARGETS[name]:
        done = adapt(body, source=name, target=target)
        again = adapt(done.body, source=name, target=target)
        assert again.changes == ()
        assert again.body == done.body
        assert again.ask.conversation.near_misses == ()
        for change in done.changes:
            resolved(body | {"tools": []}, change.at)


@pytest.mark.parametrize(("name", "case", "odd", "whole", "at", "kind"), LISTS)
def test_a_server_that_does_not_check_gets_what_came(
    name: str, case: str, odd: list[Any], whole: list[Any], at: str, kind: Miss
) -> None:
    """K17."""
    if name != CHAT:
        return
    done = adapt({LIST_NAMES[name]: odd}, source=name, target="openai-compatible-lenient/m")
    rules = {change.rule for change in done.changes}
    assert "off-schema" not in rules or "legacy-function-call" in rules  # that writes the message anew
    if not done.changes:
        assert done.json[LIST_NAMES[name]] == odd


CHAT_TOOL = {"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": SCHEMA}}
FLAT_TOOL = {"type": "function", "name": "look", "description": "Looks.", "parameters": SCHEMA}
BLOCK_TOOL = {"name": "look", "description": "Looks.", "input_schema": SCHEMA}
FETCH: dict[str, Any] = {"urlContext": {}}
SEARCH: dict[str, Any] = {"googleSearch": {}}
DECLARED = {"functionDeclarations": [{"name": "look", "description": "Looks.", "parametersJsonSchema": SCHEMA}]}
BEDROCK_TOOL = {"toolSpec": {"name": "look", "description": "Looks.", "inputSchema": {"json": SCHEMA}}}
MCP_TOOL = {"name": "look", "description": "Looks.", "inputSchema": SCHEMA}
OWN_TOOLS = {CHAT: CHAT_TOOL, RESPONSES: FLAT_TOOL, ANTHROPIC: BLOCK_TOOL, GEMINI: DECLARED}
TOOL_FORMS = {**OWN_TOOLS, "bedrock": BEDROCK_TOOL, "mcp": MCP_TOOL}
CHOICES = {
    CHAT: ("tool_choice", {"type": "function", "function": {"name": "look"}}),
    RESPONSES: ("tool_choice", {"type": "function", "name": "look"}),
    ANTHROPIC: ("tool_choice", {"type": "tool", "name": "look"}),
    GEMINI: ("toolConfig", {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["look"]}}),
}


def request(name: str, **more: Any) -> dict[str, Any]:
    return {LIST_NAMES[name]: [GEMINI_ASK if name == GEMINI else ASK], **more}


@pytest.mark.parametrize("form", TOOL_FORMS)
@pytest.mark.parametrize("name", OWN_TOOLS)
def test_tools_of_every_dialect_are_tools_in_every_other(name: str, form: str) -> None:
    """K29."""
    found = parse(name, request(name, tools=[TOOL_FORMS[form]])).conversation
    assert mean_same(found.tools, parse(name, request(name, tools=[OWN_TOOLS[name]])).conversation.tools)


@pytest.mark.parametrize("form", [*CHOICES, "name"])
@pytest.mark.parametrize("name", CHOICES)
def test_a_tool_choice_of_every_dialect_is_one_in_every_other(name: str, form: str) -> None:
    """K29."""
    key, own = CHOICES[name]
    choice = CHOICES[form][1] if form != "name" else "look"
    found = parse(name, request(name, tools=[OWN_TOOLS[name]], **{key: choice})).conversation.settings
    meant = parse(name, request(name, tools=[OWN_TOOLS[name]], **{key: own})).conversation.settings
    assert found.tool_choice is not None
    assert found.tool_choice == meant.tool_choice


FORMAT = {"type": "json_schema", "schema": SCHEMA}
CHAT_FORMAT = {"type": "json_schema", "json_schema": {"name": "", "schema": SCHEMA}}
SETTINGS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (CHAT, {"max_tokens": "100"}, {"max_tokens": 100}),
    (CHAT, {"temperature": "0.5", "logprobs": "true"}, {"temperature": 0.5, "logprobs": True}),
    (CHAT, {"stop_sequences": ["a"]}, {"stop": ["a"]}),
    (CHAT, {"maxTokens": 5}, {"max_tokens": 5}),
    (CHAT, {"tool_choice": "REQUIRED"}, {"tool_choice": "required"}),
    (CHAT, {"stop": ["a", None, "null"]}, {"stop": ["a", "null"]}),
    (ANTHROPIC, {"stop_sequences": "END"}, {"stop_sequences": ["END"]}),
    (ANTHROPIC, {"stop_sequences": [None, "END"]}, {"stop_sequences": ["END"]}),
    (ANTHROPIC, {"stop": "END"}, {"stop_sequences": ["END"]}),
    (ANTHROPIC, {"tool_choice": "auto"}, {"tool_choice": {"type": "auto"}}),
    (ANTHROPIC, {"tool_choice": "required"}, {"tool_choice": {"type": "any"}}),
    (RESPONSES, {"max_tokens": 5}, {"max_output_tokens": 5}),
    (RESPONSES, {"tool_choice": {"type": "any"}}, {"tool_choice": "required"}),
    (GEMINI, {"temperature": 0.5, "max_tokens": 5}, {"generationConfig": {"temperature": 0.5, "maxOutputTokens": 5}}),
    (GEMINI, {"generationConfig": {"temperature": "0.5"}}, {"generationConfig": {"temperature": 0.5}}),
    (GEMINI, {"generationConfig": {"stopSequences": "a"}}, {"generationConfig": {"stopSequences": ["a"]}}),
    (GEMINI, {"generationConfig": {"max_tokens": 5}}, {"generationConfig": {"maxOutputTokens": 5}}),
    (GEMINI, {"generationConfig": {"stopSequences": ["a", None]}}, {"generationConfig": {"stopSequences": ["a"]}}),
    (GEMINI, {"generationConfig": {"stop": ["a"]}}, {"generationConfig": {"stopSequences": ["a"]}}),
    (GEMINI, {"reasoning_effort": "low"}, {"generationConfig": {"thinkingConfig": {"thinkingLevel": "LOW"}}}),
    (CHAT, {"stream": "false"}, {"stream": False}),
    (ANTHROPIC, {"stream": "True"}, {"stream": True}),
    (RESPONSES, {"stream": "true"}, {"stream": True}),
    (ANTHROPIC, {"response_format": CHAT_FORMAT}, {"output_config": {"format": FORMAT}}),
    (ANTHROPIC, {"response_format": FORMAT}, {"output_config": {"format": FORMAT}}),
    (RESPONSES, {"response_format": {"type": "json_object"}}, {"text": {"format": {"type": "json_object"}}}),
    (GEMINI, {"tool_choice": "required"}, {"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}}),
]


@pytest.mark.parametrize(("name", "odd", "whole"), SETTINGS)
def test_settings_are_read_as_what_they_mean(name: str, odd: dict[str, Any], whole: dict[str, Any]) -> None:
    """K29."""
    found, meant = parse(name, request(name, **odd)).conversation, parse(name, request(name, **whole)).conversation
    assert found == meant
    assert found.near_misses
    assert not meant.near_misses


SYSTEMS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (GEMINI, {"systemInstruction": "Be brief"}, {"systemInstruction": {"parts": [{"text": "Be brief"}]}}),
    (GEMINI, {"system": "Be brief"}, {"systemInstruction": {"parts": [{"text": "Be brief"}]}}),
    (GEMINI, {"systemInstruction": {"content": "Be brief"}}, {"systemInstruction": {"parts": [{"text": "Be brief"}]}}),
    (ANTHROPIC, {"system": {"type": "text", "text": "Be brief"}}, {"system": "Be brief"}),
    (ANTHROPIC, {"instructions": "Be brief"}, {"system": "Be brief"}),
    (RESPONSES, {"system": "Be brief"}, {"instructions": "Be brief"}),
]


@pytest.mark.parametrize(("name", "odd", "whole"), SYSTEMS)
def test_a_system_text_is_found_where_it_stands(name: str, odd: dict[str, Any], whole: dict[str, Any]) -> None:
    """K29."""
    found, meant = parse(name, request(name, **odd)).conversation, parse(name, request(name, **whole)).conversation
    assert found == meant
    assert found.near_misses
    assert not meant.near_misses


def test_D2_a_list_of_instructions_is_a_system_message_each() -> None:
    """K29."""
    found = parse(RESPONSES, request(RESPONSES, instructions=["Be brief", "Be kind"])).conversation
    texts = [[part.text for part in message.parts] for message in found.messages if message.role is Role.SYSTEM]
    assert texts == [["Be brief"], ["Be kind"]]
    assert [miss.at for miss in found.near_misses] == ["/instructions"]


def test_a_system_text_beside_chats_messages_opens_them() -> None:
    """K29."""
    found = parse(CHAT, request(CHAT, system="Be brief")).conversation
    assert found == parse(CHAT, {"messages": [said("system", "Be brief"), ASK]}).conversation
    done = adapt(request(CHAT, system="Be brief"), source=CHAT, target="openai/gpt-4o")
    assert done.json == {"model": "gpt-4o", "messages": [said("system", "Be brief"), ASK]}
    assert [(change.rule, change.at) for change in done.changes] == [("off-schema", "/system")]


@pytest.mark.parametrize("name", LIST_NAMES)
@pytest.mark.parametrize("member", ["messages", "input", "contents"])
def test_messages_are_found_under_every_dialects_name(name: str, member: str) -> None:
    """K29."""
    own = request(name)[LIST_NAMES[name]]
    assert parse(name, {member: own}).conversation == parse(name, request(name)).conversation


@pytest.mark.parametrize("name", LIST_NAMES)
def test_a_message_alone_is_a_list_of_one(name: str) -> None:
    """K29."""
    own = request(name)[LIST_NAMES[name]]
    assert parse(name, {LIST_NAMES[name]: own[0]}).conversation == parse(name, request(name)).conversation


TARGETS = ["openai/gpt-4o", "openai-responses/gpt-5", "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash"]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", LIST_NAMES)
def test_a_choice_of_a_tool_that_is_not_there_is_refused(name: str, target: str) -> None:
    """K33."""
    key, choice = CHOICES[name]
    wrong = msgspec.json.decode(msgspec.json.encode(choice).replace(b"look", b"listen"))
    with pytest.raises(MalformedRequest) as caught:
        adapt(request(name, tools=[OWN_TOOLS[name]], **{key: wrong}), source=name, target=target)
    assert caught.value.at == f"/{key}"
    assert "listen" in str(caught.value)
    assert "look" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "tool"),
    [
        (CHAT, {"type": "function", "function": {"description": "?"}}),
        (RESPONSES, {"type": "function"}),
        (ANTHROPIC, {"input_schema": SCHEMA}),
        (ANTHROPIC, {"description": "?"}),
        (ANTHROPIC, {"of_no_dialect": 1}),
        (GEMINI, {"functionDeclarations": [{"description": "?"}]}),
    ],
)
def test_C13_a_nameless_tool_alone_is_left_out(name: str, tool: dict[str, Any]) -> None:
    conversation = parse(name, request(name, tools=[tool])).conversation
    assert conversation.tools == ()
    assert [(miss.kind, miss.at) for miss in conversation.near_misses] == [(Miss.NAMELESS, "/tools/0")]


@pytest.mark.parametrize(
    "before", [[{"function": {"description": "no name"}}], [{"functionDeclarations": [{"name": "a"}, {"name": "b"}]}]]
)
def test_C13_an_entry_that_is_no_tool_is_left_out_and_named_by_its_place(before: list[Any]) -> None:
    known = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
    for entry in ("look", 7, True, [known]):
        done = adapt(request(CHAT, tools=[known, *before, entry]), source=CHAT, target="openai/gpt-4o")
        assert [change.did for change in done.changes if change.at == "/tools/2"] == [
            "left out a tool without a name (nameless-tool)"
        ]
        assert done.json["tools"][0] == known
    broken = {"messages": [{"role": "user", "content": "Hi"}], "tools": [known, *before, {"function": "look"}]}
    with pytest.raises(MalformedRequest) as refused:
        adapt(broken, source="ollama", target="openai/gpt-4o")
    assert refused.value.at == "/tools/2/function"


def test_C13_parameters_that_are_no_object_become_an_empty_schema() -> None:
    """Of four vendors; what stood there is reported."""
    for name, tool in (
        (CHAT, {"type": "function", "function": {"name": "look", "parameters": "none"}}),
        (RESPONSES, {"type": "function", "name": "look", "parameters": [1]}),
        (ANTHROPIC, {"name": "look", "input_schema": 7}),
    ):
        conversation = parse(name, request(name, tools=[tool])).conversation
        (found,) = conversation.tools
        assert isinstance(found, Tool)
        assert (found.schema, conversation.near_misses[0].kind) == (b"{}", Miss.TYPE)


LIMITS = {CHAT: "max_tokens", RESPONSES: "max_output_tokens", ANTHROPIC: "max_tokens"}


def limited(name: str, limit: int) -> dict[str, Any]:
    if name == GEMINI:
        return request(name, generationConfig={"maxOutputTokens": limit})
    return request(name, **{LIMITS[name]: limit})


@pytest.mark.parametrize("name", LIST_NAMES)
def test_minus_one_is_no_limit(name: str) -> None:
    """K35."""
    found = parse(name, limited(name, -1)).conversation
    assert found.settings.max_tokens is None
    assert [miss.kind for miss in found.near_misses] == [Miss.NO_LIMIT]


def test_who_takes_minus_one_gets_it() -> None:
    """K35."""
    assert adapt(limited(CHAT, -1), target="llamacpp/m").json["max_tokens"] == -1
    done = adapt(limited(CHAT, -1), target="openai/gpt-4o")
    assert done.json == {"model": "gpt-4o", "messages": [ASK]}
    assert [(change.rule, change.at, change.loses) for change in done.changes] == [
        ("off-schema", "/max_tokens", "nothing")
    ]


@pytest.mark.parametrize("limit", [-2, -100])
@pytest.mark.parametrize("name", LIST_NAMES)
def test_other_negative_limits_are_refused(name: str, limit: int) -> None:
    """K35."""
    with pytest.raises(MalformedRequest) as caught:
        parse(name, limited(name, limit))
    assert caught.value.at == ("/generationConfig/maxOutputTokens" if name == GEMINI else f"/{LIMITS[name]}")
    assert caught.value.hint


UNKNOWN = {
    CHAT: [said("user", [{"type": "hologram", "data": 1}])],
    ANTHROPIC: [said("user", [{"type": "hologram", "data": 1}])],
    RESPONSES: [said("user", [{"type": "hologram", "data": 1}])],
    GEMINI: [{"role": "user", "parts": [{"hologram": {"data": 1}}]}],
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", UNKNOWN)
def test_a_request_is_never_sent_without_its_content(name: str, target: str) -> None:
    """K33."""
    body = {LIST_NAMES[name]: UNKNOWN[name]}
    with pytest.raises(MalformedRequest, match="hologram") as caught:
        adapt(body, source=name, target=target)
    assert caught.value.at.startswith(f"/{LIST_NAMES[name]}/0")
    assert caught.value.hint


HOLOGRAMS: list[dict[str, Any]] = [
    {"data": "AAAA"},
    {"source": {"type": "base64", "media_type": "model/gltf-binary", "data": "Z2xURgIAAAA="}},
    {"source": {"type": "base64", "media_type": "model/gltf-binary", "data": "Z2xURgIA" * 20}},
    {"mimeType": "model/gltf-binary", "bytes": "Z2xURgIAAAA="},
]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("block", HOLOGRAMS)
def test_the_form_of_an_unknown_picture_is_not_its_content(block: dict[str, Any], target: str) -> None:
    """K33."""
    source = CHAT if target.startswith("anthropic") else ANTHROPIC
    with pytest.raises(MalformedRequest, match="hologram") as caught:
        adapt({"messages": [said("user", [{"type": "hologram", **block}])]}, source=source, target=target)
    assert caught.value.at == "/messages/0/content/0"


@pytest.mark.parametrize("target", TARGETS)
def test_an_unknown_block_with_words_is_sent_as_them(target: str) -> None:
    """K33."""
    source = CHAT if target.startswith("anthropic") else ANTHROPIC
    block = {"type": "hologram", "caption": "a ship", "data": "AAAA"}
    done = adapt({"messages": [said("user", [block])], "max_tokens": 9}, source=source, target=target)
    assert "[hologram]\\na ship" in done.body.decode()
    assert "AAAA" not in done.body.decode()
    assert ("refused-part", "/messages/0/content/0", "content") in {(c.rule, c.at, c.loses) for c in done.changes}


@pytest.mark.parametrize("target", TARGETS[1:])
def test_an_unknown_part_beside_others_goes_to_its_own_provider(target: str) -> None:
    """It may be newer than we are: the provider knows its own kinds of parts best."""
    name = BUILTIN.target(target).dialect
    text = {RESPONSES: {"type": "input_text", "text": "Hi"}, GEMINI: {"text": "Hi"}}.get(
        name, {"type": "text", "text": "Hi"}
    )
    content = "parts" if name == GEMINI else "content"
    message = {**UNKNOWN[name][0], content: [text, *UNKNOWN[name][0][content]]}
    assert "hologram" in adapt({LIST_NAMES[name]: [message]}, source=name, target=target).body.decode()


def test_C6_parallel_calls_without_ids_are_paired_in_order() -> None:
    odd = [
        ASK,
        calls(without(chat_call(), "id"), without(chat_call(function={"name": "hear", "arguments": "{}"}), "id")),
        {"role": "tool", "name": "hear", "content": "birds"},
        {"role": "tool", "content": "sunny"},
    ]
    messages = parse(CHAT, {"messages": odd}).conversation.messages
    names = {part.id: part.name for part in messages[1].parts if isinstance(part, Call)}
    answers = {names[part.call_id]: part.parts for part in messages[2].parts if isinstance(part, Result)}
    assert {name: [part.text for part in parts] for name, parts in answers.items()} == {
        "hear": ["birds"],
        "look": ["sunny"],
    }  # type: ignore[attr-defined]
    assert len(names) == 2


@pytest.mark.slow
@pytest.mark.parametrize("named", [True, False])
def test_the_work_grows_with_the_calls(named: bool) -> None:
    def reading(count: int) -> Callable[[], object]:
        results = [{"role": "tool", "content": "x"} | ({"name": "look"} if named else {}) for _ in range(count)]
        body = msgspec.json.encode({"messages": [ASK, calls(*[without(chat_call(), "id")] * count), *results]})
        return lambda: adapt(body, target="openai/gpt-4o")

    assert measure_growth(reading(1000), reading(8000), times=8, most=3) < 3  # 8 if each call looks at all others


def test_C6_what_has_neither_name_nor_id_is_a_bare_tool_result() -> None:
    done = adapt({"messages": [ASK, {"role": "tool", "content": "sunny"}]}, target="gemini-compatible/gemini-2.5-flash")
    assert done.json["messages"][1]["content"] == "[tool_result]\nsunny"
    paired = [ASK, calls(without(chat_call(), "id")), {"role": "tool", "content": "sunny"}]
    done = adapt({"messages": paired}, target="gemini-compatible/gemini-2.5-flash")
    assert done.json["messages"][2]["content"] == "[tool_result name=look]\nsunny"


def test_C6_ids_do_not_change_when_turns_are_added() -> None:
    odd = [ASK, calls(without(chat_call(), "id")), without(TOOL_ANSWER, "tool_call_id")]
    first = parse(CHAT, {"messages": odd}).conversation.messages
    later = parse(CHAT, {"messages": [*odd, said("assistant", "Sunny."), ASK, *odd[1:]]}).conversation.messages
    assert later[:3] == first[:3]


@pytest.mark.parametrize("name", LIST_NAMES)
def test_messages_that_are_no_list_are_written_as_one(name: str) -> None:
    own = request(name)[LIST_NAMES[name]]
    for body in ({LIST_NAMES[name]: own[0]}, {"messages": own}, {"contents": own}):
        done = adapt(body, source=name, target=OWN_TARGETS[name][0])
        assert done.json[LIST_NAMES[name]] == parse_json(done, own)
        assert [key for key in done.json if key in ("messages", "input", "contents")] == [LIST_NAMES[name]]


def parse_json(done: AdaptedRequest, own: list[Any]) -> list[Any]:
    """The same messages as the dialect itself writes them."""
    codec = dialect(done.dialect).requests
    written = codec.render(
        codec.parse(msgspec.json.encode({LIST_NAMES[done.dialect]: own})).conversation, RenderOptions("m", False)
    )
    found: list[Any] = msgspec.json.decode(written)[LIST_NAMES[done.dialect]]
    return found


def test_a_message_that_a_rule_touches_beside_moved_messages_costs_none_of_them() -> None:
    body = {"input": [said("user", "a"), said("assistant", ""), said("user", "b", done=True)]}
    done = adapt(body, source=CHAT, target="openai-compatible-lenient/m")
    assert [message["content"] for message in done.json["input"]] == ["a", "", "b"]


def test_null_tools_are_left_out_if_they_are_refused() -> None:
    """K17."""
    assert "tools" not in adapt(request(CHAT, tools=None), target="groq/llama-3.3-70b-versatile").json
    for target in ("vllm/m", "openai/gpt-4o", "azure-openai/gpt-4o", "together/m"):
        assert adapt(request(CHAT, tools=None), target=target).json["tools"] is None


@pytest.mark.parametrize("name", OWN_TOOLS)
def test_a_null_among_the_tools_is_none_of_them(name: str) -> None:
    both = parse(name, request(name, tools=[None, OWN_TOOLS[name]])).conversation
    assert mean_same(both.tools, parse(name, request(name, tools=[OWN_TOOLS[name]])).conversation.tools)
    alone = parse(name, request(name, tools=[None])).conversation
    assert alone.tools == ()
    for found in (both, alone):
        assert [(miss.kind, miss.at) for miss in found.near_misses] == [(Miss.NULL_TOOL, "/tools/0")]
    done = adapt(request(name, tools=[None]), source=name, target="openai/gpt-4o")
    assert "tools" not in done.json
    assert "/tools/0" in [change.at for change in done.changes]


def test_reasoning_without_a_summary_gets_an_empty_one() -> None:
    """K29."""
    thought = {"type": "reasoning", "id": "rs_1", "encrypted_content": "gAAAAAB" + "a" * 91}
    done = adapt({"input": [ASK, thought, ITEM_CALL, ITEM_OUTPUT]}, source=RESPONSES, target="openai-responses/gpt-5")
    assert done.json["input"][1] == thought | {"summary": []}


def gemini_tools(*entries: Any) -> dict[str, Any]:
    return {"contents": [GEMINI_ASK], "tools": list(entries)}


DECLARED = {"functionDeclarations": [{"name": "look", "parameters": {"type": "OBJECT"}}]}


@pytest.mark.parametrize(
    ("tools", "left", "at", "kind"),
    [
        ([DECLARED, {}], [DECLARED], "/tools/1", Miss.NULL_TOOL),
        ([{"functionDeclarations": None}, DECLARED], [DECLARED], "/tools/0", Miss.NULL_TOOL),
        ([{}], [], "/tools/0", Miss.NULL_TOOL),
        ([{**DECLARED, "frobnicate": 1}], [DECLARED], "/tools/0/frobnicate", Miss.UNKNOWN_KEY),
        ([{"googleSearch": {}, "enabled": True}], [{"googleSearch": {}}], "/tools/0/enabled", Miss.UNKNOWN_KEY),
        ({"0": FETCH, "1": SEARCH}, [FETCH, SEARCH], "/tools", Miss.TOOL),
        ({"0": [DECLARED]}, [DECLARED], "/tools", Miss.TOOL),
    ],
)
def test_entries_of_geminis_tools_with_nothing_or_too_much_in_them(
    tools: Any, left: list[Any], at: str, kind: Miss
) -> None:
    """K29."""
    asked = {"contents": [GEMINI_ASK], "tools": tools}
    found = parse(GEMINI, asked).conversation
    assert [(miss.at, miss.kind) for miss in found.near_misses] == [(at, kind)]
    assert adapt(asked, source=GEMINI, target="gemini/gemini-2.5-flash").json.get("tools", []) == left


@pytest.mark.parametrize("entry", [{"newSearch": {}}, {"newSearch": [1]}, {"google_search": {"depth": 1}}])
def test_a_tool_that_may_be_newer_stays(entry: dict[str, Any]) -> None:
    adapted = adapt(gemini_tools(entry), source=GEMINI, target="gemini/gemini-2.5-flash")
    assert (adapted.json["tools"], adapted.changes) == ([entry], ())


def test_a_part_of_gemini_without_a_member_says_nothing() -> None:
    """K29."""
    asked = {"contents": [{"role": "user", "parts": [{}, {"text": "Hi"}, {"inlineData": None}]}]}
    adapted = adapt(asked, source=GEMINI, target="gemini/gemini-2.5-flash")
    assert [change.at for change in adapted.changes] == ["/contents/0/parts/0", "/contents/0/parts/2"]
    assert all("data" not in part and part for part in adapted.json["contents"][0]["parts"])
    assert adapt(asked, source=GEMINI, target="openai/gpt-4o").json["messages"][0]["content"]


def test_a_signature_alone_is_a_part_of_gemini() -> None:
    """It is recorded as accepted."""
    turn = {"role": "model", "parts": [{"thought": True, "thoughtSignature": "A" * 64}]}
    asked = {"contents": [GEMINI_ASK, turn, GEMINI_ASK]}
    assert parse(GEMINI, asked).conversation.near_misses == ()


def test_an_object_of_anything_but_a_safety_setting_is_refused() -> None:
    one = {"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}
    assert parse(GEMINI, {"contents": [GEMINI_ASK], "safetySettings": one}).conversation.near_misses == ()
    with pytest.raises(MalformedRequest) as refused:
        parse(GEMINI, {"contents": [GEMINI_ASK], "safetySettings": {"0": [one]}})
    assert refused.value.at == "/safetySettings"


def test_a_summary_without_its_type_is_one() -> None:
    """K29."""
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [{"text": "Hm."}]}
    asked = {"input": [ASK, reasoning, ITEM_CALL, ITEM_OUTPUT]}
    adapted = adapt(asked, source=RESPONSES, target="openai-responses/gpt-5")
    assert adapted.json["input"][1]["summary"] == [{"type": "summary_text", "text": "Hm."}]
    assert [(change.rule, change.at) for change in adapted.changes] == [("off-schema", "/input/1/summary")]


PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
DATA_URL = "data:image/png;base64," + PNG
PDF = "JVBERi0xLjQKMSAwIG9iago8PD4+CmVuZG9iagp0cmFpbGVyCjw8Pj4KJSVFT0Y="
PICTURES = {
    "MCP": {"type": "image", "data": PNG, "mimeType": "image/png"},
    "LangChain": {"type": "image", "base64": PNG, "mime_type": "image/png"},
    "LangChain of old": {"type": "image", "source_type": "base64", "data": PNG, "mime_type": "image/png"},
    "LangChain for Google": {"type": "media", "data": PNG, "mime_type": "image/png"},
    "Continue": {"type": "imageUrl", "imageUrl": {"url": DATA_URL}},
    "a data URL as bytes": {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA_URL}},
    "a resource of MCP": {"type": "resource", "resource": {"uri": "file:///a", "mimeType": "image/png", "blob": PNG}},
}


@pytest.mark.parametrize("form", PICTURES)
@pytest.mark.parametrize(
    "target", ["openai/gpt-4o", "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash", "openai-responses/gpt-5"]
)
@pytest.mark.parametrize("name", [CHAT, ANTHROPIC, RESPONSES])
def test_a_picture_is_never_lost_for_its_wrapper(name: str, target: str, form: str) -> None:
    """K29."""
    text = {"type": "input_text" if name == RESPONSES else "text", "text": "Look."}
    asked: dict[str, Any] = {LIST_NAMES[name]: [said("user", [text, PICTURES[form]])]}
    adapted = adapt(asked | ({"max_tokens": 9} if name == ANTHROPIC else {}), source=name, target=target)
    assert adapted.body.count(PNG.encode()) == 1
    assert b"data:image/png;base64,data:" not in adapted.body
    profile, _, model = target.partition("/")
    assert judge(profile, model, adapted.path, adapted.headers, adapted.body) is None


def test_a_data_url_in_place_of_geminis_bytes() -> None:
    """K29."""
    part = {"inlineData": {"mimeType": "image/png", "data": DATA_URL}}
    adapted = adapt({"contents": [{"role": "user", "parts": [part]}]}, source=GEMINI, target="gemini/gemini-2.5-flash")
    assert adapted.json["contents"][0]["parts"] == [{"inlineData": {"mimeType": "image/png", "data": PNG}}]
    assert [change.at for change in adapted.changes] == ["/contents/0/parts/0/inlineData/data"]


def test_a_file_beside_its_media_type() -> None:
    """K29."""
    file = {"type": "file", "source_type": "base64", "data": PDF, "mime_type": "application/pdf", "filename": "a.pdf"}
    adapted = adapt({"messages": [said("user", [file])]}, source=CHAT, target="openai/gpt-4o")
    inner = {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PDF}"}
    assert adapted.json["messages"][0]["content"] == [{"type": "file", "file": inner}]


@pytest.mark.parametrize("name", LIST_NAMES)
def test_a_type_of_libraries_is_a_role(name: str) -> None:
    """K29."""
    kinds = ("human", "ai", "human") if name in (ANTHROPIC, GEMINI) else ("system", "human", "ai", "human")
    odd = {LIST_NAMES[name]: [{"type": kind, "content": f"{kind} says"} for kind in kinds]}
    roles = {"system": Role.SYSTEM, "human": Role.USER, "ai": Role.ASSISTANT}
    found = parse(name, odd).conversation
    assert [message.role for message in found.messages] == [roles[kind] for kind in kinds]
    assert Miss.ROLE in {miss.kind for miss in found.near_misses}


FORMATS: dict[str, tuple[Any, Any]] = {
    "a word": ("json_object", {"type": "json_object"}),
    "a schema beside JSON": ({"type": "json_object", "schema": SCHEMA}, {"name": "response", "schema": SCHEMA}),
    "flat": ({"type": "json_schema", "name": "c", "schema": SCHEMA}, {"name": "c", "schema": SCHEMA}),
    "no name": ({"type": "json_schema", "json_schema": {"schema": SCHEMA}}, {"name": "response", "schema": SCHEMA}),
    "an empty name": (
        {"type": "json_schema", "json_schema": {"name": "", "schema": SCHEMA}},
        {"name": "response", "schema": SCHEMA},
    ),
    "the schema itself": ({"type": "json_schema", "json_schema": SCHEMA}, {"name": "response", "schema": SCHEMA}),
}


@pytest.mark.parametrize("form", FORMATS)
def test_a_format_in_another_form(form: str) -> None:
    """K29."""
    odd, meant = FORMATS[form]
    whole = meant if "type" in meant else {"type": "json_schema", "json_schema": meant}
    asked = {"messages": [said("user", "Answer in JSON.")], "response_format": odd}
    adapted = adapt(asked, source=CHAT, target="openai/gpt-4o")
    assert adapted.json["response_format"] == whole
    assert [(change.rule, change.at) for change in adapted.changes] == [("off-schema", "/response_format")]
    assert adapt(asked, source=CHAT, target="openai-compatible-lenient/m").json["response_format"] == odd


@pytest.mark.parametrize("odd", [True, "enabled", {"type": "enabled"}, {"type": "enabled", "budget_tokens": None}])
def test_thinking_without_a_budget_is_what_the_model_decides(odd: Any) -> None:
    """K29."""
    asked = {"messages": [ASK], "max_tokens": 5000, "thinking": odd}
    newest = adapt(asked, source=ANTHROPIC, target="anthropic/claude-opus-4-8")
    assert newest.json["thinking"] == {"type": "adaptive"}
    older = adapt(asked, source=ANTHROPIC, target="anthropic/claude-sonnet-4-5").json["thinking"]
    assert older["type"] == "enabled"
    assert 1024 <= older["budget_tokens"] < 5000


def test_parameters_as_text_and_declarations_in_a_wrapper() -> None:
    """K29."""
    function = {"name": "look", "description": "Looks.", "parameters": msgspec.json.encode(SCHEMA).decode()}
    adapted = adapt({"messages": [ASK], "tools": [{"type": "function", "function": function}]}, target="openai/gpt-4o")
    assert adapted.json["tools"][0]["function"]["parameters"] == SCHEMA
    wrapped = {"functionDeclarations": [{"type": "function", "function": function | {"parameters": SCHEMA}}]}
    found = adapt(gemini_tools(wrapped), source=GEMINI, target="gemini/gemini-2.5-flash").json["tools"]
    assert found[0]["functionDeclarations"][0]["name"] == "look"


def test_null_as_the_content_of_reasoning() -> None:
    """Codex writes it (K17)."""
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "content": None}
    asked = {"input": [ASK, reasoning, ITEM_CALL, ITEM_OUTPUT]}
    adapted = adapt(asked, source=RESPONSES, target="openai-responses/gpt-5")
    assert adapted.json["input"][1] == {"type": "reasoning", "id": "rs_1", "summary": []}
    assert [(change.at, change.loses) for change in adapted.changes] == [("/input/1/content", "nothing")]


def test_E16_num_predict_is_the_token_limit() -> None:
    asked = {"messages": [ASK], "num_predict": 44}
    assert adapt(asked, source=CHAT, target="ollama-openai/m").json["max_tokens"] == 44
    assert adapt(asked, source=CHAT, target="anthropic/claude-sonnet-4-5").json["max_tokens"] == 44
    assert "max_tokens" not in adapt({"messages": [ASK], "num_predict": -1}, source=CHAT, target="ollama-openai/m").json


def test_a_value_as_a_result_is_the_text_of_its_json() -> None:
    result = USE_RESULT | {"content": [{"type": "json", "json": {"degrees": 12}}]}
    asked = {"messages": [ASK, said("assistant", [USE]), said("user", [result])], "max_tokens": 9}
    adapted = adapt(asked, source=ANTHROPIC, target="anthropic/claude-sonnet-4-5")
    assert adapted.json["messages"][2]["content"][0]["content"] == '{"degrees":12}'


@pytest.mark.parametrize("name", [CHAT, ANTHROPIC, RESPONSES])
@pytest.mark.parametrize(("flag", "streams"), [("true", True), ("TRUE", True), ("false", False)])
def test_a_wish_for_a_stream_may_be_a_text(name: str, flag: str, streams: bool) -> None:
    """K29."""
    assert parse(name, request(name, stream=flag)).stream is streams


@pytest.mark.parametrize("flag", ["yes", "", "1", 1, [True]])
def test_what_is_no_truth_value_is_no_wish_for_a_stream(flag: Any) -> None:
    with pytest.raises(MalformedRequest) as refused:
        parse(CHAT, request(CHAT, stream=flag))
    assert refused.value.at == "/stream"


def test_a_stream_asked_for_as_a_text_is_asked_for_by_the_schema() -> None:
    """K29."""
    adapted = adapt(request(CHAT, stream="true"), source=CHAT, target="openai/gpt-4o")
    assert adapted.json["stream"] is True
    assert [(change.rule, change.at) for change in adapted.changes] == [("off-schema", "/stream")]
    whole = adapt(request(CHAT, stream="false"), source=CHAT, target="openai/gpt-4o")
    assert "stream" not in whole.json


def test_any_json_is_asked_of_claude_in_words() -> None:
    """K29, K32."""
    asked = {**request(ANTHROPIC, response_format={"type": "json_object"}), "max_tokens": 100}
    adapted = adapt(asked, source=ANTHROPIC, target="anthropic/claude-sonnet-4-5")
    assert "response_format" not in adapted.json
    assert b"JSON" in adapted.body
    assert {"off-schema", "refused-format"} <= {change.rule for change in adapted.changes}
    assert judge("anthropic", "claude-sonnet-4-5", adapted.path, adapted.headers, adapted.body) is None


def test_tools_may_stand_under_their_names() -> None:
    """K29."""
    tools = {"look": {"description": "Look", "parameters": SCHEMA}, "wait": {"inputSchema": SCHEMA}}
    found = parse(CHAT, request(CHAT, tools=tools)).conversation
    assert [getattr(tool, "name", "") for tool in found.tools] == ["look", "wait"]
    assert (found.near_misses[0].at, found.near_misses[0].kind) == ("/tools", Miss.TOOL)


@pytest.mark.parametrize("picture", ["/home/me/a.png", "no base64!", 5, {"path": "a"}])
def test_what_is_no_picture_stays_beside_the_content(picture: Any) -> None:
    found = parse(CHAT, {"messages": [said("user", "a", images=[picture])]}).conversation
    assert found.near_misses == ()
    assert found.messages[0].extras is not None
    assert "images" in found.messages[0].extras.fields


@pytest.mark.parametrize("summary", ["Thought.", ["Thought."], {"type": "summary_text", "text": "Thought."}])
def test_a_summary_is_never_lost_for_its_form(summary: Any) -> None:
    """K29."""
    item = {"type": "reasoning", "id": "rs_1", "summary": summary}
    found = parse(RESPONSES, {"input": [ASK, item, said("assistant", "a"), ASK]}).conversation
    whole = item | {"summary": [{"type": "summary_text", "text": "Thought."}]}
    assert found == parse(RESPONSES, {"input": [ASK, whole, said("assistant", "a"), ASK]}).conversation
    assert found.near_misses[0].at == "/input/1/summary"


def test_thinking_without_words_is_no_obstacle_to_a_dialect_that_writes_them() -> None:
    item = {"type": "reasoning", "id": "rs_1", "summary": []}
    adapted = adapt({"input": [ASK, item, said("assistant", "a"), ASK]}, source=RESPONSES, target="ollama/m")
    assert adapted.json["messages"][1] == said("assistant", "a")
    assert judge("ollama", "m", adapted.path, adapted.headers, adapted.body) is None


WORDS_ELSEWHERE = [
    {"blocks": [{"block_type": "text", "text": "It rains."}]},
    {"text": "It rains."},
    {"message": "It rains."},
    {"parts": [{"text": "It rains."}]},
]


@pytest.mark.parametrize("words", WORDS_ELSEWHERE)
@pytest.mark.parametrize("name", DIALECT_NAMES)
def test_an_answer_under_another_name_is_not_lost(name: str, words: dict[str, Any]) -> None:
    """A message of the model's need not have content in most dialects: what it says may stand elsewhere."""
    listed = dialect(name).list_name
    role = "model" if name == GEMINI else "assistant"
    body = {"model": "m", "max_tokens": 9, listed: [said("user", "Hi"), {"role": role, **words}, said("user", "So?")]}
    done = adapt(body, source=name, target="openai/gpt-4o")
    assert b"It rains." in done.body
    assert len(done.json["messages"]) == 3


SERIALISED = [
    ("HumanMessage", {"content": "Hi"}, {"role": "user", "content": "Hi"}),
    ("SystemMessage", {"content": "Hi"}, {"role": "system", "content": "Hi"}),
    ("AIMessage", {"content": "Hi", "type": "ai"}, {"role": "assistant", "content": "Hi"}),
]


@pytest.mark.parametrize(("kind", "inner", "meant"), SERIALISED)
def test_a_message_that_langchain_serialised(kind: str, inner: dict[str, Any], meant: dict[str, Any]) -> None:
    wrapped = {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", kind], "kwargs": inner}
    done = adapt({"model": "m", "messages": [ASK, wrapped, ASK]}, source=CHAT, target="openai/gpt-4o")
    assert done.json["messages"][1] == meant


@pytest.mark.parametrize(
    ("word", "kind"),
    [("JSON", "json_object"), ("Text", "text"), ("json_schema", "json_object"), ("json", "json_object")],
)
def test_a_format_as_a_word(word: str, kind: str) -> None:
    body = {"model": "m", "messages": [said("user", "Hi, in JSON")], "response_format": word}
    assert adapt(body, source=CHAT, target="openai/gpt-4o").json["response_format"] == {"type": kind}


def test_settings_of_converse_in_snake_case() -> None:
    body = {"messages": [said("user", [{"text": "Hi"}])], "inferenceConfig": {"max_tokens": 9, "top_p": 0.5}}
    done = adapt(body, source="bedrock", target="bedrock/us.amazon.nova-lite-v1:0")
    assert done.json["inferenceConfig"] == {"maxTokens": 9, "topP": 0.5}
    assert [change.at for change in done.changes] == ["/inferenceConfig/max_tokens", "/inferenceConfig/top_p"]


REQUIRED = {**SCHEMA, "required": ["city"]}


@pytest.mark.parametrize(
    "odd",
    [
        {"type": "json_object", "schema": REQUIRED},
        {"type": "json_schema", "json_schema": {"name": "city", "schema": REQUIRED}},
    ],
)
def test_the_schema_of_an_answer_under_another_name_is_kept_by_cohere(odd: dict[str, Any]) -> None:
    """LangChain's integration sends `schema`, the name of Cohere's first API."""
    asked = {"messages": [said("user", "Answer in JSON.")], "response_format": odd}
    adapted = adapt(asked, source="cohere", target="cohere/command-a-03-2025")
    assert adapted.json["response_format"] == {"type": "json_object", "json_schema": REQUIRED}
    assert [(change.rule, change.at) for change in adapted.changes] == [("off-schema", "/response_format")]


def test_unknown_keys_in_blocks_of_results_and_of_the_system_text() -> None:
    call = {"toolUse": {"toolUseId": "c", "name": "look", "input": {}}}
    output = {"toolResult": {"toolUseId": "c", "content": [{"text": "12 degrees", "index": 0}]}}
    turns = [("user", {"text": "Hi"}), ("assistant", call), ("user", output)]
    body = {
        "system": [{"text": "Be brief.", "id": 1}],
        "messages": [{"role": role, "content": [block]} for role, block in turns],
    }
    done = adapt(body, source="bedrock", target="bedrock/us.amazon.nova-lite-v1:0")
    assert done.json["system"] == [{"text": "Be brief."}]
    (given,) = done.json["messages"][2]["content"][0]["toolResult"]["content"]
    assert given.keys() == {"text"}
    assert "12 degrees" in given["text"]
    assert {"/system", "/messages/2/content/0"} <= {change.at for change in done.changes}


def test_a_key_of_null_that_gemini_does_not_have_is_left_out() -> None:
    said = {"role": "model", "parts": [{"text": "Yo"}], "logprobs": None}
    hi = {"role": "user", "parts": [{"text": "Hi"}]}
    done = adapt({"contents": [hi, said, hi]}, source="gemini", target="gemini/gemini-2.5-flash")
    assert done.json["contents"][1] == {"role": "model", "parts": [{"text": "Yo"}]}
    assert [(change.rule, change.loses) for change in done.changes] == [("null-field", "nothing")]


CALLED = {"id": "toolu_1", "type": "function", "function": {"name": "look", "arguments": '{"where": "yard"}'}}


@pytest.mark.parametrize("given", [{}, {"where": "yard"}])
def test_a_call_that_stands_among_the_parts_too_is_one_call(given: dict[str, Any]) -> None:
    block = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": given}
    asked = {
        "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": [{"type": "text", "text": "I look."}, block], "tool_calls": [CALLED]},
            {"role": "tool", "tool_call_id": "toolu_1", "content": "rain"},
        ]
    }
    for target in ("openai/gpt-4o", "anthropic/claude-opus-4-8", "gemini/gemini-2.5-flash"):
        done = adapt(asked, source="openai-chat", target=target)
        assert done.body.count(b'"look"') == (2 if "gemini" in target else 1)  # Gemini names it in the result too
        assert done.body.count(b"yard") == 1
        assert {change.rule for change in done.changes} >= {"off-schema"}


def test_a_call_with_two_sets_of_arguments_is_refused() -> None:
    block = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"where": "in"}}
    asked = {"messages": [{"role": "assistant", "content": [block], "tool_calls": [CALLED]}]}
    with pytest.raises(MalformedRequest, match='the call "toolu_1" has other arguments'):
        adapt(asked, source="openai-chat", target="openai/gpt-4o")


def test_what_a_rule_wrote_anew_is_reported_as_it_was_read() -> None:
    """A target that takes near misses gets them as they are, unless a rule writes their message: law 5."""
    odd = {"role": "user", "content": [{"type": "input_text", "text": "Hi", "mark": 1}], "done": True}
    done = adapt({"messages": [odd]}, source="openai-chat", target="openai-compatible/some-model")
    assert done.json["messages"] == [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]
    assert [(one.rule, one.at) for one in done.changes] == [
        ("stray-field", "/messages/0"),
        ("off-schema", "/messages/0/content/0"),
        ("off-schema", "/messages/0/content/0"),
    ]


def test_null_among_the_parts_stands_for_none() -> None:
    asked = {"messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}, None]}]}
    done = adapt(asked, source="openai-chat", target="openai/gpt-4o")
    assert done.json["messages"] == [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]
    assert [(one.rule, one.at, one.loses) for one in done.changes] == [
        ("off-schema", "/messages/0/content/1", "nothing")
    ]


@pytest.mark.parametrize(("name", "target"), [("ollama", "ollama/m"), ("openai-chat", "ollama-openai/m")])
@pytest.mark.parametrize("schema", [True, False])
def test_a_schema_of_a_tool_that_is_a_boolean_is_left_out_for_ollama(name: str, target: str, schema: bool) -> None:
    asked = {"messages": [ASK], "tools": [{"type": "function", "function": {"name": "look", "parameters": schema}}]}
    adapted = adapt(asked, source=name, target=target)
    assert judge(target[:-2], "m", adapted.path, adapted.headers, adapted.body) is None
    assert [change.at for change in adapted.changes][:1] == ["/tools/0"]


def test_empty_words_beside_the_parts_that_a_library_keeps_are_no_content() -> None:
    """So the AI SDK keeps the messages of its user interface."""
    ask = parse(CHAT, {"messages": [said("user", "", parts=[{"type": "text", "text": "Hi"}])]})
    meant = parse(CHAT, {"messages": [said("user", [{"type": "text", "text": "Hi"}])]})
    assert mean_same(ask.conversation.messages, meant.conversation.messages)
    assert [(miss.kind, miss.at) for miss in ask.conversation.near_misses] == [(Miss.CONTENT, "/messages/0/parts")]
    with pytest.raises(MalformedRequest, match="may say"):
        parse(CHAT, {"messages": [said("user", "Bye", parts=[{"type": "text", "text": "Hi"}])]})


@pytest.mark.parametrize(
    "target", ["openai/gpt-4o", "anthropic/claude-sonnet-4-6", "vllm/m", "groq/llama-3.3-70b-versatile"]
)
def test_a_tool_choice_without_a_word_leaves_it_to_the_model(target: str) -> None:
    tool = {"type": "function", "function": {"name": "look", "parameters": SCHEMA}}
    done = adapt({"messages": [said("user", "Hi")], "tools": [tool], "tool_choice": ""}, source=CHAT, target=target)
    choice = done.json["tool_choice"]
    assert choice in ("auto", {"type": "auto"})
    assert ("off-schema", "/tool_choice") in [(change.rule, change.at) for change in done.changes]


@pytest.mark.parametrize(
    "call", [{"id": "a", "name": "look", "arguments": "{}"}, {"id": "a", "function": function("{}")}]
)
def test_a_template_reads_the_function_of_every_call(call: dict[str, Any]) -> None:
    turns = [said("user", "Hi"), calls(call), {**TOOL_ANSWER, "tool_call_id": "a"}]
    done = adapt({"messages": turns}, source=CHAT, target="strict-template/m")
    assert done.json["messages"][1]["tool_calls"][0]["function"]["name"] == "look"
    assert judge("strict-template", "m", done.path, done.headers, done.body) is None


@pytest.mark.parametrize(
    "item",
    [
        {"type": "reasoning", "summary": []},
        ITEM_CALL,
        {"type": "custom_tool_call", "call_id": "c1", "name": "look", "input": "x"},
        ITEM_OUTPUT,
    ],
    ids=lambda item: item["type"],
)
def test_an_item_whose_id_is_null(item: dict[str, Any]) -> None:
    """So SDKs for Python write an item that they read without one."""
    ask = parse(RESPONSES, {"input": [said("user", "Hi"), {**item, "id": None}]})
    assert mean_same(
        ask.conversation.messages, parse(RESPONSES, {"input": [said("user", "Hi"), item]}).conversation.messages
    )
    assert [(miss.kind, miss.at) for miss in ask.conversation.near_misses] == [(Miss.NULL, "/input/1/id")]
