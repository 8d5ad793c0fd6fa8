"""Gemini requests: small ones in every spelling, to values and back."""

from __future__ import annotations

from itertools import product
from typing import Any

import orjson
import pytest
from tests.dialects.read_back import WANTED, read_back, text

from dragoman import adapt
from dragoman.conversation.conversation import Ask, Conversation
from dragoman.conversation.envelope import seal
from dragoman.conversation.messages import Message, Role
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
)
from dragoman.conversation.settings import Effort, FormatKind, ResponseFormat, Settings, Thinking
from dragoman.conversation.tools import ChoiceMode, NativeTool, Tool, ToolChoice
from dragoman.dialects.dialect import RenderOptions
from dragoman.dialects.gemini import message_parse
from dragoman.dialects.gemini.dialect import request_path
from dragoman.dialects.gemini.request import REQUESTS, locate, locate_parts
from dragoman.dialects.gemini.tools import from_proto, to_proto
from dragoman.errors import DuplicateKey, MalformedRequest, Unrepresentable

GEMINI = Origin("gemini")
USER = {"role": "user", "parts": [{"text": "hi"}]}
SIGNATURE = Opaque(kind=StateKind.THOUGHT, json=b'"c2ln"', origin=GEMINI)
CLAUDE = Opaque(kind=StateKind.SIGNATURE, json=b'"abc"', origin=Origin("anthropic", "anthropic", "claude"))


def asked(body: Any) -> Ask:
    return read_back("gemini", body)


def contents(*found: Any) -> tuple[Message, ...]:
    return asked({"contents": list(found)}).conversation.messages


def written(*messages: Message, **more: Any) -> dict[str, Any]:
    return orjson.loads(REQUESTS.render(Conversation(messages, **more), WANTED))


PARTS: list[tuple[dict[str, Any], Part]] = [
    ({"text": "a", "thought": False}, text("a")),
    ({"text": "a", "thought": True}, Reasoning(text=text("a"))),
    ({"text": "a", "thought": True, "thoughtSignature": "c2ln"}, Reasoning(text=text("a"), state=SIGNATURE)),
    ({"text": "", "thought_signature": "c2ln"}, text("", signature=SIGNATURE)),
    ({"thoughtSignature": "c2ln"}, Reasoning(state=SIGNATURE)),
    ({"text": "a", "thought": True, "thoughtSignature": seal(CLAUDE)}, Reasoning(text=text("a"), state=CLAUDE)),
    (
        {"function_call": {"name": "f", "args": {"a": 1}, "id": "x"}, "thought_signature": "c2ln"},
        Call("x", "f", b'{"a":1}', SIGNATURE),
    ),
    (
        {"functionCall": {"name": "f", "id": "x", "willContinue": True}, "partMetadata": {"k": 1}},
        Call(
            "x", "f", b"{}", extras=Extras("gemini", {"functionCall.willContinue": b"true", "partMetadata": b'{"k":1}'})
        ),
    ),
    (
        {"inline_data": {"mime_type": "audio/wav", "data": "AA=="}},
        Media(MediaKind.AUDIO, Inline("audio/wav", b'"AA=="')),
    ),
    (
        {"inlineData": {"mimeType": "application/pdf", "data": "AA==", "displayName": "a.pdf"}},
        Media(MediaKind.DOCUMENT, Inline("application/pdf", b'"AA=="'), title="a.pdf"),
    ),
    ({"fileData": {"fileUri": "https://x.test/a.png"}}, Media(MediaKind.IMAGE, Remote("https://x.test/a.png"))),
    (
        {"file_data": {"file_uri": "https://youtu.be/x", "mime_type": "video/*"}},
        Media(MediaKind.VIDEO, Remote("https://youtu.be/x")),
    ),
    (
        {"fileData": {"fileUri": "gs://b/a", "mimeType": "image/png"}, "videoMetadata": {"fps": 1}},
        Media(
            MediaKind.IMAGE,
            Stored("gs://b/a", "gemini", "image/png"),
            extras=Extras("gemini", {"videoMetadata": b'{"fps":1}'}),
        ),
    ),
    (
        {"executableCode": {"language": "PYTHON", "code": "1"}},
        Opaque(kind="executableCode", json=b'{"executableCode":{"language":"PYTHON","code":"1"}}', origin=GEMINI),
    ),
    (
        {"toolCall": {"id": "1"}, "thoughtSignature": "c2ln"},
        Opaque(kind="toolCall", json=b'{"toolCall":{"id":"1"},"thoughtSignature":"c2ln"}', origin=GEMINI),
    ),
]


@pytest.mark.parametrize(("wire", "part"), PARTS)
def test_parts(wire: dict[str, Any], part: Part) -> None:
    (message,) = contents({"role": "model", "parts": [wire]})
    assert message == Message(Role.ASSISTANT, (part,))


@pytest.mark.parametrize(
    ("response", "parts", "is_error"),
    [
        ({"output": "ok"}, (text("ok"),), False),
        ({"error": "bad"}, (text("bad"),), True),
        ({"outputs": ["a", "b"]}, (text("a"), text("b")), False),
        ({"result": "ok"}, (text('{"result":"ok"}'),), False),
        ({"output": 1}, (text('{"output":1}'),), False),
        ({"error": "bad", "code": 1}, (text('{"error":"bad","code":1}'),), False),
        ({}, (), False),
    ],
)
def test_responses_of_tools(response: Any, parts: tuple[Part, ...], is_error: bool) -> None:
    call = {"role": "model", "parts": [{"functionCall": {"name": "f", "id": "x"}}]}
    answer = {"role": "user", "parts": [{"functionResponse": {"name": "f", "id": "x", "response": response}}]}
    messages = contents(USER, call, answer)
    assert messages[2] == Message(Role.TOOL, (Result("x", parts, is_error),))
    assert written(*messages)["contents"][2]["parts"][0]["functionResponse"]["response"] == response


@pytest.mark.parametrize(
    "words", ["plain", "{", "{}", '{"output":"x"}', ' {"a":1}', '{"a":1} ', '{"a":NaN}', "[1]", '{"a": 1}']
)
def test_any_result_text_reads_back_as_it_was(words: str) -> None:
    messages = (Message(Role.ASSISTANT, (Call("x", "f", b"{}"),)), Message(Role.TOOL, (Result("x", (text(words),)),)))
    again = REQUESTS.parse(REQUESTS.render(Conversation(messages), WANTED))
    assert again.conversation.messages == messages


def test_calls_and_responses_without_ids_are_matched_by_name_and_place() -> None:
    messages = contents(
        USER,
        {"role": "model", "parts": [{"functionCall": {"name": name}} for name in ("f", "g", "f")]},
        {"role": "function", "parts": [{"functionResponse": {"name": "g", "response": {"output": "1"}}}]},
        {"parts": [{"functionResponse": {"name": "f", "response": {"output": "2"}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}, {"text": "go on"}]},
    )
    assert [message.role for message in messages] == [Role.USER, Role.ASSISTANT, Role.TOOL, Role.USER]
    first, second, third = [part.id for part in messages[1].parts if isinstance(part, Call)]
    assert len({first, second, third}) == 3
    assert [part.call_id for part in messages[2].parts if isinstance(part, Result)] == [second, first, third]
    assert (messages[2].at, messages[2].span, messages[3].at) == (2, 3, 2)
    anew = written(*messages)["contents"]
    assert len(anew) == 3
    assert "id" not in anew[1]["parts"][0]["functionCall"]
    assert [next(iter(part)) for part in anew[2]["parts"]] == ["functionResponse"] * 3 + ["text"]


def test_ids_are_the_same_whether_calls_are_filled_in_pair_by_pair_or_turn_by_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = [{"role": role, "parts": [{"text": "a"}]} for role in ("user", "model")]
    call, response = {"name": "f", "args": {}}, {"name": "f", "response": {"output": "1"}}
    calls = [{"role": "model", "parts": [{"functionCall": call | more}]} for more in ({}, {"id": "x"})]
    responses = [{"role": "user", "parts": [{"functionResponse": response | more}]} for more in ({}, {"id": "x"})]
    bodies = [{"contents": items} for items in product([*texts, *calls, *responses], repeat=4)]
    by_pairs = [REQUESTS.parse(orjson.dumps(body)) for body in bodies]
    monkeypatch.setattr(message_parse, "_fill_pairs", lambda messages, count: (0, count))
    for body, ask in zip(bodies, by_pairs, strict=True):
        by_turns = REQUESTS.parse(orjson.dumps(body))
        assert ids_of(ask) == ids_of(by_turns), body
        assert ask.traits == by_turns.traits, body


def ids_of(ask: Ask) -> list[str]:
    parts = [part for message in ask.conversation.messages for part in message.parts]
    return [part.id if isinstance(part, Call) else part.call_id for part in parts if isinstance(part, Call | Result)]


def test_a_response_tells_the_id_of_its_call() -> None:
    calls: list[dict[str, Any]] = [{"name": "f"}, {"name": "f"}, {"name": "g", "id": "c"}]
    answers = [{"name": "f", "id": "a", "response": {}}, {"name": "g", "id": "c", "response": {}}]
    messages = contents(
        USER,
        {"role": "model", "parts": [{"functionCall": call} for call in calls]},
        {"role": "user", "parts": [{"functionResponse": answer} for answer in answers]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "id": "b", "response": {}}}]},
    )
    assert [part.id for part in messages[1].parts if isinstance(part, Call)] == ["a", "b", "c"]
    assert [call.get("id") for call in calls] == [
        part["functionCall"].get("id") for part in written(*messages)["contents"][1]["parts"]
    ]


def test_media_in_a_response() -> None:
    answer = {
        "name": "f",
        "id": "x",
        "response": {"output": "see"},
        "parts": [{"inlineData": {"mimeType": "image/png", "data": "AAAA"}}],
    }
    messages = contents({"role": "user", "parts": [{"functionResponse": answer}]})
    media = Media(MediaKind.IMAGE, Inline("image/png", b'"AAAA"'))
    assert messages == (Message(Role.TOOL, (Result("x", (text("see"), media)),)),)


@pytest.mark.parametrize(
    "system",
    ["be kind", {"parts": [{"text": "be kind"}]}, {"role": "user", "parts": {"text": "be kind"}}],
    ids=["text", "list", "object"],
)
@pytest.mark.parametrize("key", ["systemInstruction", "system_instruction"])
def test_system_instruction(key: str, system: Any) -> None:
    ask = asked({key: system, "contents": [USER]})
    assert ask.conversation.messages[0] == Message(Role.SYSTEM, (text("be kind"),))
    assert locate(ask.conversation.messages[0]) == "/systemInstruction"
    assert orjson.loads(REQUESTS.render(ask.conversation, WANTED))["systemInstruction"] == {
        "parts": [{"text": "be kind"}]
    }


def test_a_system_content_stays_among_the_contents() -> None:
    late = {"role": "system", "parts": [{"text": "late"}]}
    messages = contents(late, USER, late)
    assert [message.role for message in messages] == [Role.SYSTEM, Role.USER, Role.SYSTEM]
    assert written(*messages) == {"contents": [late, USER, late]}


@pytest.mark.parametrize("given", ["hi", ["hi"], USER, {"parts": {"text": "hi"}}, [{"parts": [{"text": "hi"}]}]])
def test_contents_in_every_form(given: Any) -> None:
    ask = asked({"contents": given})
    assert ask.conversation.messages == (Message(Role.USER, (text("hi"),)),)
    assert bool(ask.conversation.near_misses) is (type(given) is not list or given == ["hi"])


def model(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


def thought(words: str, **more: Any) -> dict[str, Any]:
    return {"text": words, "thought": True, **more}


CALLED = {"functionCall": {"name": "f", "args": {}, "id": "x"}}
JOINED: dict[str, tuple[list[dict[str, Any]], tuple[Part, ...]]] = {
    "words": ([{"text": '{"a": 7'}, {"text": "3"}, {"text": "1}"}], (text('{"a": 731}'),)),
    "a blank piece": ([{"text": "Let"}, {"text": " "}, {"text": "me"}], (text("Let me"),)),
    "words signed at their beginning": (
        [{"text": "It ", "thoughtSignature": "c2ln"}, {"text": "rains."}],
        (text("It rains.", signature=SIGNATURE),),
    ),
    "words signed at their end": (
        [{"text": "It "}, {"text": "rains.", "thoughtSignature": "c2ln"}],
        (text("It rains.", signature=SIGNATURE),),
    ),
    "two signatures": (
        [{"text": "It ", "thoughtSignature": "c2ln"}, {"text": "r"}, {"text": "ains.", "thoughtSignature": "c2ln"}],
        (text("It r", signature=SIGNATURE), text("ains.", signature=SIGNATURE)),
    ),
    "an empty text, on which a signature hangs": (
        [{"text": "It "}, {"text": "rains."}, {"text": "", "thoughtSignature": "c2ln"}],
        (text("It rains."), text("", signature=SIGNATURE)),
    ),
    "a thought and words": (
        [thought("I "), thought("see."), {"text": "It "}, {"text": "rains."}, CALLED],
        (Reasoning(text=text("I see.")), text("It rains."), Call("x", "f", b"{}")),
    ),
    "a thought that another provider signed": (
        [thought("I "), thought("see.", thoughtSignature=seal(CLAUDE)), thought("So.")],
        (Reasoning(text=text("I see."), state=CLAUDE), Reasoning(text=text("So."))),
    ),
    "calls": ([CALLED, CALLED], (Call("x", "f", b"{}"), Call("x", "f", b"{}"))),
}


@pytest.mark.parametrize("name", JOINED)
def test_pieces_of_an_answer_are_joined_in_one_content_and_in_several(name: str) -> None:
    parts, expected = JOINED[name]
    _, together, _ = contents(USER, model(*parts), USER)
    _, apart, _ = contents(USER, *(model(part) for part in parts), USER)
    assert together.parts == apart.parts == expected
    assert (apart.at, apart.span, together.span) == (1, len(parts), 1)
    calls = sum("functionCall" in part for part in parts)
    assert (apart.steps, together.steps) == (max(calls, 1), 1)
    assert locate_parts(apart) == ["/contents/1"] * len(expected)


def test_what_a_user_says_in_two_texts_stays_two() -> None:
    two = {"role": "user", "parts": [{"text": "One."}, {"text": "Two."}]}
    assert [len(message.parts) for message in contents(two, USER)] == [2, 1]


def test_a_content_with_fields_of_its_own_is_joined_to_none() -> None:
    assert len(contents(USER, model({"text": "a"}), {**model({"text": "b"}), "odd": 1}, USER)) == 4


CONFIGS: list[tuple[dict[str, Any], Settings]] = [
    ({"max_output_tokens": 5, "topK": 3, "top_p": 0.5}, Settings(max_tokens=5, top_k=3, top_p=0.5)),
    ({"candidateCount": 2, "seed": 7, "stopSequences": ["a"]}, Settings(n=2, seed=7, stop=(b'"a"',))),
    ({"responseLogprobs": True, "logprobs": 3}, Settings(logprobs=True, top_logprobs=3)),
    ({"temperature": None, "presencePenalty": 1}, Settings(presence_penalty=1)),
    ({"thinkingConfig": {"thinkingBudget": 0}}, Settings(thinking=Thinking(on=False))),
    (
        {"thinking_config": {"thinking_budget": -1, "include_thoughts": True}},
        Settings(thinking=Thinking(budget=-1, visible=True)),
    ),
    ({"thinkingConfig": {"thinkingLevel": "low"}}, Settings(thinking=Thinking(effort=Effort.LOW))),
    ({"responseMimeType": "application/json"}, Settings(response_format=ResponseFormat(FormatKind.JSON))),
    ({"responseMimeType": "text/plain"}, Settings(response_format=ResponseFormat(FormatKind.TEXT))),
    (
        {"responseMimeType": "application/json", "responseJsonSchema": {"type": "object"}},
        Settings(response_format=ResponseFormat(FormatKind.SCHEMA, b'{"type":"object"}')),
    ),
    (
        {"response_mime_type": "application/json", "response_schema": {"type": "STRING", "nullable": True}},
        Settings(response_format=ResponseFormat(FormatKind.SCHEMA, b'{"type":["string","null"]}')),
    ),
    (
        {"responseFormat": {"text": {"mimeType": "application/json", "jsonSchema": {"type": "object"}}}},
        Settings(response_format=ResponseFormat(FormatKind.SCHEMA, b'{"type":"object"}')),
    ),
]


@pytest.mark.parametrize(("config", "settings"), CONFIGS)
@pytest.mark.parametrize("key", ["generationConfig", "generation_config"])
def test_generation_config(key: str, config: Any, settings: Settings) -> None:
    assert asked({"contents": [USER], key: config}).conversation == Conversation(
        (Message(Role.USER, (text("hi"),)),), settings=settings
    )


CHOICES: list[tuple[dict[str, Any], ToolChoice]] = [
    ({"mode": "AUTO"}, ToolChoice(ChoiceMode.AUTO)),
    ({"mode": "any"}, ToolChoice(ChoiceMode.REQUIRED)),
    ({"mode": "NONE"}, ToolChoice(ChoiceMode.NONE)),
    ({"mode": "ANY", "allowed_function_names": ["f"]}, ToolChoice(ChoiceMode.NAMED, ("f",))),
    ({"mode": "ANY", "allowedFunctionNames": ["f", "g"]}, ToolChoice(ChoiceMode.ALLOWED, ("f", "g"), True)),
    ({"mode": "VALIDATED", "allowedFunctionNames": ["f"]}, ToolChoice(ChoiceMode.ALLOWED, ("f",))),
    ({"mode": "NONE", "allowedFunctionNames": ["f"]}, ToolChoice(ChoiceMode.NONE)),
    ({"mode": "VALIDATED"}, ToolChoice(ChoiceMode.VALIDATED)),
    ({"mode": "AUTO", "allowedFunctionNames": ["f"]}, ToolChoice(ChoiceMode.ALLOWED, ("f",))),
    ({"allowed_function_names": ["f"]}, ToolChoice(ChoiceMode.ALLOWED, ("f",))),
    ({"mode": "none", "allowedFunctionNames": ["f"]}, ToolChoice(ChoiceMode.NONE)),
    ({"mode": "NEW"}, ToolChoice(ChoiceMode.NATIVE, json=b'{"mode":"NEW"}', origin=GEMINI)),
]


@pytest.mark.parametrize(("config", "choice"), CHOICES)
def test_tool_choice(config: Any, choice: ToolChoice) -> None:
    ask = asked(
        {"contents": [USER], "toolConfig": {"functionCallingConfig": config, "includeServerSideToolInvocations": True}}
    )
    assert ask.conversation.settings.tool_choice == choice
    assert ask.conversation.extras == Extras("gemini", {"toolConfig.includeServerSideToolInvocations": b"true"})


@pytest.mark.parametrize(
    ("config", "written"),
    [
        ({"mode": "AUTO", "allowedFunctionNames": ["f"]}, {"mode": "VALIDATED", "allowedFunctionNames": ["f"]}),
        ({"mode": "NONE", "allowedFunctionNames": ["f"]}, {"mode": "NONE"}),
    ],
)
def test_names_beside_a_mode_that_takes_none(config: dict[str, Any], written: dict[str, Any]) -> None:
    kept = {"retrievalConfig": {"languageCode": "de"}}
    tools = [{"functionDeclarations": [{"name": "f", "description": "d"}]}]
    body = {"contents": [USER], "tools": tools, "toolConfig": {"functionCallingConfig": config, **kept}}
    done = adapt(body, target="gemini/gemini-2.5-flash")
    assert done.json["toolConfig"] == {"functionCallingConfig": written, **kept}
    assert [(one.rule, one.at) for one in done.changes] == [("off-schema", "/toolConfig/functionCallingConfig")]


def test_fields_that_one_of_the_two_hosts_has() -> None:
    marked = {"role": "user", "parts": [{"text": "hi", "partMetadata": {"a": 1}}]}
    assert adapt({"contents": [marked]}, target="gemini/gemini-2.5-flash").json["contents"] == [marked]
    on_vertex = adapt({"contents": [marked]}, target="vertex/gemini-2.5-flash")
    assert on_vertex.json["contents"] == [USER]
    assert [(one.rule, one.at) for one in on_vertex.changes] == [("stray-field", "/contents/0/parts/0")]
    call = {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}, "willContinue": False}}]}
    result = {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]}
    turns = [USER, call, result]
    assert adapt({"contents": turns}, target="vertex/gemini-2.5-flash").json["contents"] == turns


@pytest.mark.parametrize("target", ["gemini/gemini-2.5-flash", "vertex/gemini-2.5-flash"])
def test_a_list_with_null_becomes_nullable(target: str) -> None:
    listed = {"type": "OBJECT", "properties": {"a": {"type": ["string", "null"]}}}
    tools = [{"functionDeclarations": [{"name": "f", "description": "d", "parameters": listed}]}]
    form = {"responseMimeType": "application/json", "responseSchema": listed}
    proto = {"type": "OBJECT", "properties": {"a": {"type": "STRING", "nullable": True}}}
    done = adapt({"contents": [USER], "tools": tools}, target=target)
    assert done.json["tools"][0]["functionDeclarations"][0]["parameters"] == proto
    assert {str(one.loses) for one in done.changes} == {"nothing"}
    done = adapt({"contents": [USER], "generationConfig": form}, target=target)
    assert done.json["generationConfig"]["responseSchema"] == proto


def test_tools_in_several_objects() -> None:
    tools = [
        {
            "functionDeclarations": [
                {"name": "f", "description": "d", "parameters": {"type": "OBJECT"}, "behavior": "BLOCKING"}
            ]
        },
        {"google_search": {}, "function_declarations": {"name": "g", "parameters_json_schema": {"type": "object"}}},
    ]
    ask = asked({"contents": [USER], "tools": tools})
    assert ask.conversation.tools == (
        Tool(
            "f",
            b'"d"',
            b'{"type":"object"}',
            schema_as="parameters",
            extras=Extras("gemini", {"behavior": b'"BLOCKING"'}),
            at=0,
            inner=0,
        ),
        NativeTool("googleSearch", b'{"google_search":{}}', GEMINI, 1),
        Tool("g", None, b'{"type":"object"}', wrapper="function_declarations", at=1, inner=0),
    )
    assert orjson.loads(REQUESTS.render(ask.conversation, WANTED))["tools"] == [
        {"functionDeclarations": [tools[0]["functionDeclarations"][0]]},
        {"google_search": {}},
        {"function_declarations": [{"name": "g", "parametersJsonSchema": {"type": "object"}}]},
    ]


SCHEMAS: list[tuple[Any, Any]] = [
    ({"type": "STRING", "format": "enum", "enum": ["a"]}, {"type": "string", "format": "enum", "enum": ["a"]}),
    ({"type": "STRING", "nullable": True}, {"type": ["string", "null"]}),
    ({"type": "STRING", "nullable": True, "enum": ["a"]}, {"type": ["string", "null"], "enum": ["a", None]}),
    ({"nullable": True, "any_of": [{"type": "STRING"}]}, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
    ({"anyOf": [{"type": "NULL"}, {"type": "STRING"}]}, {"anyOf": [{"type": "null"}, {"type": "string"}]}),
    (
        {"type": "ARRAY", "items": {"type": "INTEGER"}, "min_items": "2"},
        {"type": "array", "items": {"type": "integer"}, "minItems": 2},
    ),
    ({"ref": "#/defs/A", "defs": {"A": {"type": "OBJECT"}}}, {"$ref": "#/$defs/A", "$defs": {"A": {"type": "object"}}}),
    (
        {"type": "OBJECT", "properties": {"type": {"type": "STRING"}, "any_of": {"type": "NUMBER"}}},
        {"type": "object", "properties": {"type": {"type": "string"}, "any_of": {"type": "number"}}},
    ),
    ({"type": "TYPE_UNSPECIFIED", "nullable": True}, {"nullable": True}),
]


@pytest.mark.parametrize(("proto", "schema"), SCHEMAS)
def test_schemas_of_its_own_language(proto: Any, schema: Any) -> None:
    made = from_proto(orjson.dumps(proto))
    assert orjson.loads(made) == schema
    assert from_proto(to_proto(made)) == made


def test_unknown_fields_are_kept_with_their_dialect() -> None:
    ask = asked(
        {
            "contents": [{**USER, "note": 1}],
            "safety_settings": [],
            "labels": {"a": "b"},
            "generationConfig": {"speech_config": {"x": 1}, "thinkingConfig": {"thinkingLevel": "ULTRA"}},
            "toolConfig": None,
        }
    )
    assert ask.conversation.messages[0].extras == Extras("gemini", {"note": b"1"})
    assert ask.conversation.extras == Extras(
        "gemini",
        {
            "safetySettings": b"[]",
            "labels": b'{"a":"b"}',
            "generationConfig.speechConfig": b'{"x":1}',
            "generationConfig.thinkingConfig.thinkingLevel": b'"ULTRA"',
        },
    )
    assert ask.conversation.settings.nulls == ("toolConfig",)


def test_model_and_stream_are_told_by_the_path() -> None:
    body = orjson.dumps({"contents": [USER]})
    ask = REQUESTS.parse(body)
    assert (ask.model, ask.stream) == (None, False)
    assert REQUESTS.parse(orjson.dumps({"contents": [USER], "model": "models/gemini-x"})).model == "gemini-x"
    assert REQUESTS.render(ask.conversation, RenderOptions("other", False), ask) == body
    assert request_path(RenderOptions("gemini-x", False)) == "/v1beta/models/gemini-x:generateContent"
    assert (
        request_path(RenderOptions("models/gemini-x", True)) == "/v1beta/models/gemini-x:streamGenerateContent?alt=sse"
    )


REFUSED: list[tuple[str, Message]] = [
    ("developer", Message(Role.DEVELOPER, (text("a"),))),
    ("a name", Message(Role.USER, (text("a"),), name="bob")),
    ("a hint", Message(Role.USER, (text("a", hint=CacheHint()),))),
    ("arguments", Message(Role.ASSISTANT, (Call("x", "f", b'"text"'),))),
    ("a custom call", Message(Role.ASSISTANT, (Call("x", "f", b'"text"', custom=True),))),
    ("a nameless result", Message(Role.TOOL, (Result("x", (text("a"),)),))),
    ("refusal", Message(Role.ASSISTANT, (Refusal(b'"no"'),))),
    ("a foreign block", Message(Role.ASSISTANT, (Opaque(kind="x", json=b"{}", origin=Origin("anthropic")),))),
    ("a plain document", Message(Role.USER, (Media(MediaKind.DOCUMENT, Plain(b'"a"')),))),
    ("a foreign file", Message(Role.USER, (Media(MediaKind.DOCUMENT, Stored("file_1", "anthropic")),))),
    ("foreign fields", Message(Role.USER, (text("a"),), extras=Extras("anthropic", {"a": b"1"}))),
]


@pytest.mark.parametrize("message", [message for _, message in REFUSED], ids=[name for name, _ in REFUSED])
def test_what_it_has_no_words_for_is_refused(message: Message) -> None:
    with pytest.raises(Unrepresentable):
        written(message)


@pytest.mark.parametrize(
    "settings",
    [
        Settings(verbosity="low"),
        Settings(parallel_tool_calls=False),
        Settings(user="u"),
        Settings(thinking=Thinking(effort=Effort.MAX)),
        Settings(thinking=Thinking(on=True, adaptive=True)),
    ],
)
def test_settings_it_has_no_words_for_are_refused(settings: Settings) -> None:
    with pytest.raises(Unrepresentable):
        written(Message(Role.USER, (text("a"),)), settings=settings)


@pytest.mark.parametrize(
    ("body", "error", "at"),
    [
        ({}, MalformedRequest, "/contents"),
        ({"contents": 3}, MalformedRequest, "/contents"),
        ({"contents": [3]}, MalformedRequest, "/contents/0"),
        ({"contents": [{"parts": [3]}]}, MalformedRequest, "/contents/0/parts/0"),
        ({"contents": [], "generationConfig": {"topK": "a"}}, MalformedRequest, "/generationConfig/topK"),
        ({"contents": [], "toolConfig": {}, "tool_config": {}}, DuplicateKey, "/tool_config"),
    ],
)
def test_faults_point_at_their_place(body: Any, error: type[Exception], at: str) -> None:
    with pytest.raises(error) as caught:
        REQUESTS.parse(orjson.dumps(body))
    assert caught.value.at == at  # type: ignore[attr-defined]
