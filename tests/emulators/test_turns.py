"""Scripts, faults and the echo: what is said, and what is wrong with what cannot be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dragoman.emulators.answer_script import BadScriptError, Script, load
from dragoman.emulators.catalogue import UnknownEmulatorError, provider
from dragoman.emulators.chat.template_server import BadTemplateError
from dragoman.emulators.echo_answer import echo
from dragoman.emulators.faults import BadFaultError, parse_fault
from dragoman.emulators.provider import ModelCall, ModelTurn, Operation, ReceivedRequest
from dragoman.emulators.schema_sample import sample


def call(body: Any) -> ReceivedRequest:
    return ReceivedRequest("POST", "/", {}, {}, b"", Operation.GENERATE, body, "m")


def test_a_script_in_yaml(tmp_path: Path) -> None:
    path = tmp_path / "script.yaml"
    path.write_text(
        "- Hello\n- text: Look\n  reasoning: hm\n  calls:\n    - {name: f, arguments: {a: 1}, id: x}\n"
        "- fault: 429;retry-after=2\n- {text: cut, stop: length}\n- {json: {a: 1}}\n"
    )
    script = load(path)
    steps = [script.next(call({})) for _ in range(6)]
    said = [step.turn_for(call({"messages": []}), echo) for step in steps]
    assert said[0] == ModelTurn(text="Hello")
    assert said[1] == ModelTurn(text="Look", reasoning="hm", calls=(ModelCall("f", {"a": 1}, "x"),))
    assert steps[2].fault == parse_fault("429;retry-after=2")
    assert said[3].stop == "length"
    assert said[4].visible_text == '{"a":1}'
    assert said[5].visible_text.startswith("received:")
    assert script.left == 0


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("text: Hello", "must be a list of turns"),
        ("- [1, 2]", "turn 1: must be a mapping or a text, not list"),
        ("- txt: Hello", 'turn 1: no key "txt". Did you mean "text"? Known: text, reasoning'),
        ("- txt: Hello", 'Did you mean "text"?'),
        ("- text: [a]", "turn 1: text must be a text"),
        ("- Hello\n- stop: never", 'turn 2: stop is "never". Known: end, length, filter'),
        ("- calls: {}", "turn 1: calls must be a list"),
        ("- calls: [{arguments: {}}]", "turn 1: call 1: must be a mapping with a name"),
        ("- fault: explode", 'turn 1: no fault is named "explode"'),
        ("- 'a: b: c", "is not YAML"),
    ],
)
def test_a_bad_script_is_told_where_and_what(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "script.yaml"
    path.write_text(text)
    with pytest.raises(BadScriptError) as raised:
        load(path)
    assert sentence in str(raised.value)
    assert str(path) in str(raised.value)


def test_a_script_that_is_not_there() -> None:
    with pytest.raises(BadScriptError, match=r"nowhere\.yaml: cannot be read"):
        load("nowhere.yaml")


def test_a_script_in_python_may_look_at_the_request() -> None:
    script = Script([lambda request: ModelTurn(text=request.model), ModelTurn(text="b"), "c"])
    assert [script.next(call({})).turn_for(call({}), echo).visible_text for _ in range(3)] == ["m", "b", "c"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("explode", 'no fault is named "explode". Known: 401'),
        ("stal", 'Did you mean "stall"?'),
        ("429;retry=2", 'fault "429" has no setting "retry"'),
        ("cut;after=x", 'fault "cut": after must be a number, not "x"'),
        ("cut;after=-1", "must be 0 or more"),
    ],
)
def test_a_bad_fault_is_told_what_is_known(text: str, sentence: str) -> None:
    with pytest.raises(BadFaultError) as raised:
        parse_fault(text)
    assert sentence in str(raised.value)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: provider("openia"), 'no emulator is named "openia"'),
        (lambda: provider("openia"), 'Did you mean "openai"?'),
        (lambda: provider("openai", template="x"), 'emulator "openai" has no option "template"'),
    ],
)
def test_an_unknown_emulator_or_option(make: Any, sentence: str) -> None:
    with pytest.raises(UnknownEmulatorError) as raised:
        make()
    assert sentence in str(raised.value)


@pytest.mark.parametrize("template", ["no-such-template", "{% if %}"])
def test_a_bad_template(template: str) -> None:
    with pytest.raises(BadTemplateError):
        provider("template", template=template)


USER = {"role": "user", "content": "Hi"}
SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"$ref": "#/$defs/B"}},
    "$defs": {"B": {"enum": ["x"]}},
}
CHAT_TOOL = {"type": "function", "function": {"name": "f", "parameters": SCHEMA}}


@pytest.mark.parametrize(
    ("body", "description"),
    [
        ({"messages": [{"role": "system", "content": "s"}, USER]}, 'received: system user; tools: 0; last user: "Hi"'),
        ({"system": "s", "messages": [{"role": "user", "content": [{"type": "text", "text": "a"}]}], "tools": [{}]},
         'received: system user; tools: 1; last user: "a"'),
        ({"systemInstruction": {"parts": [{"text": "s"}]}, "contents": [{"parts": [{"text": "a"}]}, {"role": "model"}],
          "tools": [{"functionDeclarations": [{"name": "f"}, {"name": "g"}]}]},
         'received: system user model; tools: 2; last user: "a"'),
        ({"instructions": "s", "input": "a"}, 'received: system user; tools: 0; last user: "a"'),
        ({"input": [{"role": "user", "content": [{"type": "input_text", "text": "a"}]}, {"type": "function_call"}]},
         'received: user function_call; tools: 0; last user: "a"'),
    ],
)  # fmt: skip
def test_the_echo_describes_the_request(body: Any, description: str) -> None:
    assert echo(call(body)).visible_text == description


@pytest.mark.parametrize(
    "body",
    [
        {"tools": [CHAT_TOOL], "tool_choice": "required"},
        {"tools": [CHAT_TOOL], "tool_choice": {"type": "function", "function": {"name": "f"}}},
        {"tools": [{"name": "f", "input_schema": SCHEMA}], "tool_choice": {"type": "tool", "name": "f"}},
        {"tools": [{"name": "f", "input_schema": SCHEMA}], "tool_choice": {"type": "any"}},
        {"tools": [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": SCHEMA}]}],
         "toolConfig": {"functionCallingConfig": {"mode": "ANY"}}},
    ],
)  # fmt: skip
def test_the_echo_calls_a_tool_that_is_forced(body: Any) -> None:
    assert echo(call(body)).calls == (ModelCall("f", {"a": 1, "b": "x"}),)


@pytest.mark.parametrize(
    "body",
    [
        {"response_format": {"type": "json_schema", "json_schema": {"schema": SCHEMA}}},
        {"text": {"format": {"type": "json_schema", "schema": SCHEMA}}},
        {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}},
        {"generationConfig": {"responseJsonSchema": SCHEMA}},
    ],
)
def test_the_echo_answers_by_schema(body: Any) -> None:
    assert echo(call(body)).json == {"a": 1, "b": "x"}


def test_a_sample_of_a_recursive_schema_ends() -> None:
    tree = {"$defs": {"T": {"type": "object", "properties": {"next": {"$ref": "#/$defs/T"}}}}, "$ref": "#/$defs/T"}
    assert sample(tree)["next"] is not None
