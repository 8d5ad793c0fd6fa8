"""`schema-keyword`: schemas that the target's schema dialect cannot say. For the compiler itself see schema/."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.rules.runs import CHAT, facts, leaves_alone, run, sent

import dragoman.rules.tools.schema_keyword as schema_keyword_module
from dragoman.engine.library.adapt import adapt
from dragoman.rules.tools.schema_keyword import schema_keyword

HI: dict[str, Any] = {"role": "user", "content": "Hi"}
CONST = {"type": "object", "properties": {"a": {"const": "x"}}}
ENUM = {"type": "object", "properties": {"a": {"type": "string", "enum": ["x"]}}}
OPEN = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}}
CLOSED = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}


def tool(schema: Any, name: str = "f", **more: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": schema, **more}}


def answer(schema: Any, **more: Any) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "n", "schema": schema, **more}}


def body(*tools: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"messages": [HI], **({"tools": list(tools)} if tools else {}), **more}


def test_a_tools_schema_is_compiled() -> None:
    done = run(schema_keyword, body(tool(ENUM, "e"), tool(CONST)), facts(schema_form="gemini-proto"))
    assert done.json["tools"] == [tool(ENUM, "e"), tool(ENUM)]
    assert set(done.changes) == {("/tools/1", "nothing", False)}
    assert done.did[0] == "f/properties/a: wrote const as an enum of one value"
    assert done.conversation.tools[0] is done.ask.conversation.tools[0]


def test_a_constraint_that_becomes_words_loses_metadata() -> None:
    done = run(schema_keyword, body(tool(OPEN)), facts(schema_form="gemini-proto"))
    described = 'Other properties follow {"type":"string"}.'
    assert done.json["tools"][0]["function"]["parameters"]["description"] == described
    assert done.changes == [("/tools/0", "metadata", False)]


def test_the_schema_of_the_answer_is_compiled_by_its_own_form() -> None:
    known = facts(schema_form="json-schema", format_schema_form="gemini-proto")
    done = run(schema_keyword, body(tool(CONST), response_format=answer(CONST)), known)
    assert done.json["response_format"] == answer(ENUM)
    assert done.json["tools"] == [tool(CONST)]
    assert set(done.changes) == {("/response_format", "nothing", False)}
    assert done.did[0] == "the answer's schema/properties/a: wrote const as an enum of one value"


def test_A21_a_strict_tool_is_compiled_strictly() -> None:
    optional = {"type": "object", "properties": {"a": {"type": "string"}}}
    done = run(schema_keyword, body(tool(optional, strict=True)), facts(schema_form="openai"))
    (function,) = [entry["function"] for entry in done.json["tools"]]
    assert function["strict"] is True
    assert function["parameters"]["required"] == ["a"]
    assert function["parameters"]["additionalProperties"] is False
    assert run(schema_keyword, body(tool(optional)), facts(schema_form="openai")).untouched


def test_a_strict_tool_that_cannot_stay_strict_loses_its_mark() -> None:
    done = run(schema_keyword, body(tool(OPEN, strict=True)), facts(schema_form="openai"))
    assert done.json["tools"] == [tool(OPEN)]
    assert done.changes == [("/tools/0", "metadata", False)]
    assert done.did == ["sent f without `strict`: its schema cannot be made strict"]


def test_a_strict_answer_that_cannot_stay_strict_loses_its_mark() -> None:
    done = run(schema_keyword, body(response_format=answer(OPEN, strict=True)), facts(format_schema_form="openai"))
    assert done.json["response_format"] == answer(OPEN)
    assert done.changes == [("/response_format", "metadata", False)]


def test_strict_tools_that_may_not_stand_beside_others() -> None:
    known = facts(schema_form="openai", mixed_strict="refuses")
    loose = body(tool(CLOSED, strict=True), tool(CLOSED, "g"))
    done = run(schema_keyword, loose, known)
    assert done.json["tools"] == [tool(CLOSED), tool(CLOSED, "g")]
    assert done.changes == [("/tools/0", "metadata", False)]
    assert run(schema_keyword, body(tool(CLOSED, strict=True), tool(CLOSED, "g", strict=True)), known).untouched
    one_cannot = run(schema_keyword, body(tool(CLOSED, strict=True), tool(OPEN, "g", strict=True)), known)
    assert one_cannot.json["tools"] == [tool(CLOSED), tool(OPEN, "g")]


def test_a_target_that_reads_no_lists_of_types_gets_a_union() -> None:
    optional = {"type": "object", "properties": {"a": {"type": ["integer", "null"]}, "b": {"type": "string"}}}
    done = run(schema_keyword, body(tool(optional, strict=True)), facts(schema_form="cerebras"))
    properties = done.json["tools"][0]["function"]["parameters"]["properties"]
    assert properties["a"] == {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    assert properties["b"] == {"anyOf": [{"type": "string"}, {"type": "null"}]}


def test_a_target_without_a_strict_mode() -> None:
    done = run(schema_keyword, body(tool(CLOSED, strict=True)), facts(strict_tools="refuses"))
    assert done.json["tools"] == [tool(CLOSED)]
    assert done.changes == [("/tools/0", "metadata", False)]
    assert done.did == ["sent f without `strict`: the target has no strict mode"]


def test_renamed_arguments_are_renamed_in_the_history_and_mapped_back() -> None:
    def calling(name: str, arguments: str) -> dict[str, Any]:
        call = {"id": "c", "type": "function", "function": {"name": name, "arguments": arguments}}
        return {"role": "assistant", "content": "x", "tool_calls": [call]}

    odd = {"type": "object", "properties": {"a b": {"type": "string"}}}
    asked = body(tool(odd))
    asked["messages"] = [HI, calling("f", '{"a b":"1"}'), calling("g", '{"a b":"1"}'), calling("f", "{}")]
    done = run(schema_keyword, asked, facts(schema_form="anthropic"))
    assert list(done.json["tools"][0]["function"]["parameters"]["properties"]) == ["a_b"]
    turns = done.json["messages"][1:]
    assert [turn["tool_calls"][0]["function"]["arguments"] for turn in turns] == ['{"a_b":"1"}', '{"a b":"1"}', "{}"]
    assert done.undo.keys == {"a_b": "a b"}
    assert done.changes == [("/tools/0", "nothing", False), ("/messages/1/tool_calls/0", "nothing", False)]


CUSTOM = {"type": "custom", "custom": {"name": "c"}}
UNTOUCHED = {
    "a form that says everything": (body(tool(CONST), response_format=answer(CONST)), facts()),
    "a schema that the form can say": (body(tool(ENUM)), facts(schema_form="gemini-proto")),
    "a tool without a schema": (body({"type": "function", "function": {"name": "f"}}), facts(schema_form="openai")),
    "a custom tool": (body(CUSTOM), facts(schema_form="gemini-proto")),
    "a tool of the provider's own": (body({"type": "web_search"}), facts(schema_form="gemini-proto")),
    "an answer without a schema": (
        body(response_format={"type": "json_object"}),
        facts(format_schema_form="gemini-proto"),
    ),
}


test_untouched = leaves_alone(schema_keyword, UNTOUCHED)


def test_adapt_for_real_providers() -> None:
    done = sent(body(tool(CONST)), "gemini-compatible/gemini-2.5-flash")
    assert done.json["tools"] == [tool(ENUM)]
    assert {change[:2] for change in done.changes} == {("schema-keyword", "/tools/0")}
    assert sent(body(tool(CONST)), "openai/gpt-4o").changes == []
    odd = body(tool({"type": "object", "properties": {"a b": {"type": "string"}}}), max_tokens=9)
    renamed = sent(odd, "anthropic/claude-opus-4-8", source=CHAT)
    assert list(renamed.json["tools"][0]["input_schema"]["properties"]) == ["a_b"]
    assert renamed.undo.keys == {"a_b": "a b"}


@pytest.mark.parametrize("bare", [{"name": "f"}, {"name": "f", "parameters": None}])
def test_a_tool_without_a_schema_says_that_it_takes_no_arguments(bare: dict[str, Any]) -> None:
    asked, empty = body({"type": "function", "function": bare}), {"type": "object", "properties": {}}
    done = run(schema_keyword, asked, facts(tools_without_schema="refuses"))
    assert done.json["tools"] == [tool(empty)]
    assert (done.changes, done.did) == ([("/tools/0", "nothing", False)], ["f: said that it takes no arguments"])
    nothing = run(schema_keyword, body(tool({})), facts(tools_without_schema="refuses"))
    assert nothing.did == ["f: said that it takes no arguments"], "as in `function parameters is empty`"
    assert run(schema_keyword, asked, facts()).untouched
    assert run(schema_keyword, body(tool(empty)), facts(tools_without_schema="refuses")).untouched
    compiled = sent(asked, "mistral/mistral-large-latest")
    assert compiled.json["tools"] == [tool(empty)]
    assert ("schema-keyword", "/tools/0", "nothing", False) in compiled.changes


GEMINI = "gemini/gemini-2.5-flash"


def in_geminis_words(**node: Any) -> dict[str, Any]:
    declared = {"name": "f", "parameters": {"type": "OBJECT", "properties": {"city": {"type": "STRING", **node}}}}
    return {
        "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
        "tools": [{"functionDeclarations": [declared]}],
    }


@pytest.mark.parametrize("odd", [{"frobnicate": 1}, {"type": ["STRING"]}, {"$comment": "x"}])
def test_geminis_own_schemas_lose_what_their_language_does_not_have(odd: dict[str, Any]) -> None:
    done = sent(in_geminis_words(**odd), GEMINI, source="gemini")
    assert done.json["tools"] == in_geminis_words()["tools"]
    assert {change[:2] for change in done.changes} == {("schema-keyword", "/tools/0/functionDeclarations/0")}


@pytest.mark.parametrize(
    ("odd", "written"),
    [
        ({"const": "x"}, {"type": "STRING", "enum": ["x"]}),
        ({"enum": ["", "a"]}, {"type": "STRING", "enum": ["a"], "description": 'May be "".'}),
        ({"type": "INTEGER", "enum": [1, 2]}, {"type": "INTEGER", "description": "One of: 1, 2."}),
    ],
)
def test_geminis_own_schemas_say_it_in_their_language(odd: dict[str, Any], written: dict[str, Any]) -> None:
    done = sent(in_geminis_words(**odd), GEMINI, source="gemini")
    declared = done.json["tools"][0]["functionDeclarations"][0]["parameters"]
    assert declared["properties"]["city"] == written


VERTEX = "vertex/gemini-3-pro-preview"
ANY = [{"type": "STRING"}, {"type": "NUMBER"}]


@pytest.mark.parametrize(
    ("target", "odd", "node"),
    [
        (GEMINI, {"type": "ARRAY"}, {"type": "array"}),
        (VERTEX, {"type": "ARRAY"}, {"type": "array"}),
        (VERTEX, {"type": None, "description": "Any."}, {"description": "Any."}),
    ],
)
def test_what_geminis_language_cannot_say_is_given_as_json_schema(
    target: str, odd: dict[str, Any], node: dict[str, Any]
) -> None:
    asked = in_geminis_words(**odd)
    city = asked["tools"][0]["functionDeclarations"][0]["parameters"]["properties"]["city"]
    for key in [key for key, value in odd.items() if value is None]:
        del city[key]
    done = sent(asked, target, source="gemini")
    declared = done.json["tools"][0]["functionDeclarations"][0]
    assert declared == {"name": "f", "parametersJsonSchema": {"type": "object", "properties": {"city": node}}}
    assert done.changes == [("schema-keyword", "/tools/0/functionDeclarations/0", "nothing", False)]


def test_a_proxy_gets_the_field_that_the_client_used() -> None:
    done = sent(in_geminis_words(type="ARRAY"), "gemini-native-compatible-strict/gemini-2.5-flash", source="gemini")
    node = done.json["tools"][0]["functionDeclarations"][0]["parameters"]["properties"]["city"]
    assert node == {"type": "ARRAY", "items": {"type": "STRING"}}


@pytest.mark.parametrize(
    ("beside", "within"),
    [
        ({}, {}),
        ({"description": "Where."}, {"description": "Where."}),
        ({"nullable": True}, {"nullable": True}),
        ({"description": "Where.", "nullable": True}, {"description": "Where.", "nullable": True}),
    ],
)
def test_vertex_has_nothing_beside_a_choice(beside: dict[str, Any], within: dict[str, Any]) -> None:
    asked = in_geminis_words(anyOf=ANY, **beside)
    del asked["tools"][0]["functionDeclarations"][0]["parameters"]["properties"]["city"]["type"]
    done = sent(asked, VERTEX, source="gemini")
    node = done.json["tools"][0]["functionDeclarations"][0]["parameters"]["properties"]["city"]
    assert node == {"anyOf": [{**one, **within} for one in ANY]}
    assert sent(asked, GEMINI, source="gemini").changes == []


def test_a_reference_in_geminis_own_schema_is_written_out() -> None:
    body = in_geminis_words()
    parameters = body["tools"][0]["functionDeclarations"][0]["parameters"]
    parameters |= {"$defs": {"City": {"type": "STRING"}}, "properties": {"city": {"$ref": "#/$defs/City"}}}
    assert sent(body, GEMINI, source="gemini").json["tools"] == in_geminis_words()["tools"]


@pytest.mark.parametrize(
    "fine", [{}, {"nullable": True}, {"enum": ["a"], "nullable": True}, {"example": 1, "title": "T"}]
)
def test_geminis_own_schemas_stay_as_they_are_written(fine: dict[str, Any]) -> None:
    body = in_geminis_words(**fine)
    done = sent(body, GEMINI, source="gemini")
    assert (done.json["tools"], done.changes) == (body["tools"], [])


def test_an_answers_schema_in_geminis_words() -> None:
    schema = {"type": "OBJECT", "properties": {"a": {"type": ["STRING"], "frobnicate": 1}}}
    asked = {"responseMimeType": "application/json", "responseSchema": schema}
    body = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], "generationConfig": asked}
    done = sent(body, GEMINI, source="gemini")
    written = done.json["generationConfig"]["responseSchema"]
    assert written == {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}}


def _doubling(depth: int, number: int) -> dict[str, Any]:
    """A tool whose definitions each use the next one twice: written out, it doubles with every level."""
    pair = [{"$ref": f"#/$defs/d{at + 1}"} for at in range(depth)]
    defs: dict[str, Any] = {
        f"d{at}": {"type": "object", "properties": {"a": pair[at], "b": pair[at]}} for at in range(depth)
    }
    defs[f"d{depth}"] = {"type": "string", "description": str(number)}
    schema = {"type": "object", "properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": defs}
    return {"type": "function", "function": {"name": f"f{number}", "parameters": schema}}


def _grown(numbers: range, monkeypatch: pytest.MonkeyPatch, most: int) -> int:
    """By how many bytes the definitions of these tools make a request longer."""
    monkeypatch.setattr(schema_keyword_module, "MAX_TOTAL_GROWTH", most)
    request = {"messages": [HI], "tools": [_doubling(22, number) for number in numbers]}
    body = msgspec.json.encode(request)
    return len(adapt(body, target="gemini-compatible/gemini-2.5-pro").body) - len(body)


def test_the_growth_of_schemas_has_a_sum_and_a_short_one_grows_little(monkeypatch: pytest.MonkeyPatch) -> None:
    one = _grown(range(1), monkeypatch, 1 << 30)
    assert 4096 < one < 200_000
    assert _grown(range(10, 13), monkeypatch, 1 << 30) > 2 * one
    assert _grown(range(20, 23), monkeypatch, 1) < one + 4096


def test_copies_add_little_to_a_request_that_is_compiled_on_the_event_loop() -> None:
    shared = {
        "type": "object",
        "properties": {f"p{one}": {"type": "string", "description": "x" * 60} for one in range(150)},
    }
    parameters = {"$defs": {"B": shared}, "properties": {f"r{one}": {"$ref": "#/$defs/B"} for one in range(16)}}
    tools = [
        {"type": "function", "function": {"name": f"f{one}", "parameters": {"type": "object", **parameters}}}
        for one in range(5)
    ]
    body = msgspec.json.encode({"messages": [HI], "tools": tools})
    assert len(body) < 96 * 1024
    done = adapt(body, source="openai-chat", target="gemini-compatible/gemini-2.5-pro")
    assert len(done.body) < len(body) + 256 * 1024
    assert "schema-keyword" in {change.rule for change in done.changes}


def test_nullable_stays_as_it_is_for_google_behind_openrouter() -> None:
    schema = {"type": "object", "properties": {"level": {"type": "string", "nullable": True}}, "required": ["level"]}
    tool = {"type": "function", "function": {"name": "look", "parameters": schema, "strict": True}}
    body = {"model": "m", "messages": [{"role": "user", "content": "Look."}], "tools": [tool]}
    for target in ("openrouter/google/gemini-2.5-flash", "openrouter/google/gemini-3-pro-preview"):
        made = adapt(body, source="openai-chat", target=target)
        assert (made.changes, made.json["tools"]) == ((), [tool])


@pytest.mark.parametrize(
    "schema", [{"type": "object", "properties": {}}, {"type": "object", "properties": {}, "required": []}]
)
@pytest.mark.parametrize(
    ("source", "target"), [("anthropic", "openai/gpt-5"), ("openai-chat", "openai-responses/gpt-5")]
)
def test_a_strict_tool_without_properties_keeps_its_empty_list(
    source: str, target: str, schema: dict[str, Any]
) -> None:
    """Strict mode demands `required`, whatever is known of empty lists."""
    tool = {"name": "f", "strict": True, "parameters": schema}
    if source == "anthropic":
        tool = {"name": "f", "strict": True, "input_schema": schema}
    asked = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 99, "tools": [tool]}
    if source == "openai-chat":
        asked["tools"] = [{"type": "function", "function": tool}]
    done = adapt(asked, source=source, target=target)
    written = done.json["tools"][0].get("function", done.json["tools"][0])["parameters"]
    assert written == {"type": "object", "properties": {}, "additionalProperties": False, "required": []}
    assert len({change.did for change in done.changes}) == len(done.changes), "each change is made once"
