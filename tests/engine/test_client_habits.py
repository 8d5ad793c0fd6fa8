"""What clients of OpenAI's two APIs write of their own making: it is sent as it is meant, and reported."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletionChunk
from tests.judges import judge
from tests.targets import split

from dragoman.engine.library.adapt import AdaptedRequest, adapt

Wire = dict[str, Any]
HI: Wire = {"role": "user", "content": "Hi"}
CALL: Wire = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"}
OUTPUT: Wire = {"type": "function_call_output", "call_id": "c1", "output": "a lake"}
SCHEMA: Wire = {"type": "object", "properties": {}, "additionalProperties": False, "required": []}
RESPONSES = "openai-responses/gpt-5.1"


def sent(body: Wire, target: str) -> AdaptedRequest:
    """What is sent for a request of Chat or Responses: the target's judge takes it, and nothing is left to change."""
    done = adapt(body, target=target)
    name, model = split(target)
    assert judge(name, model, done.path, done.headers, done.body) is None
    assert adapt(done.body, source=done.dialect, target=target).changes == ()
    return done


def reported(done: AdaptedRequest) -> list[tuple[str, str]]:
    return [(change.rule, change.at) for change in done.changes if change.kind == "repair"]


def items(*given: Wire, **more: Any) -> Wire:
    return {"model": "m", "input": [HI, *given], **more}


def asked(*messages: Wire, **more: Any) -> Wire:
    return {"model": "m", "messages": [HI, *messages], **more}


@pytest.mark.parametrize("call", [CALL, {**CALL, "type": "custom_tool_call", "input": "x"}])
def test_a_namespace_of_null_is_none(call: Wire) -> None:
    given = {key: value for key, value in call.items() if key != "arguments"} if "input" in call else call
    output = {**OUTPUT, "type": given["type"] + "_output"}
    done = sent(items({**given, "namespace": None}, output), RESPONSES)
    assert done.json["input"][1:] == [given, output]
    assert reported(done) == [("off-schema", "/input/1/namespace")]


def test_responses_has_no_name_on_a_message() -> None:
    done = sent(items({**HI, "name": "bob"}), RESPONSES)
    assert b"bob" not in done.body
    assert reported(done) == [("stray-field", "/input/1")]


def helped(*deltas: Wire) -> Wire:
    """The message that OpenAI's stream helper makes of an answer whose chunks all say the role."""
    helper = ChatCompletionStreamState()
    for delta in deltas:
        choice = {"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": None}
        chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
        helper.handle_chunk(ChatCompletionChunk.model_validate(chunk))
    return helper.current_completion_snapshot.choices[0].message.to_dict()


@pytest.mark.parametrize(
    "target",
    ["openai/gpt-4o", "openrouter/openai/gpt-4o", "openai-compatible/m", "vllm/m", "anthropic/claude-opus-4-8"],
)
def test_a_role_that_a_stream_helper_has_joined(target: str) -> None:
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    calling = helped({"content": "Let me "}, {"content": "look."}, {"tool_calls": [call]})
    spoken = helped({"content": "A "}, {"content": "lake."})
    assert (calling["role"], spoken["role"]) == ("assistant" * 3, "assistant" * 2)
    result = {"role": "tool", "tool_call_id": "c1", "content": "a lake"}
    tool = {"type": "function", "function": {"name": "look", "parameters": SCHEMA}}
    done = sent(asked(calling, result, spoken, HI, tools=[tool]), target)
    assert [turn["role"] for turn in done.json["messages"]].count("assistant") == 2
    assert b"assistantassistant" not in done.body
    assert {("off-schema", "/messages/1/role"), ("off-schema", "/messages/3/role")} <= set(reported(done))


@pytest.mark.parametrize("named", [{"name": "place"}, {}])
def test_a_format_in_the_form_of_chat(named: Wire) -> None:
    form = {"type": "json_schema", "json_schema": {**named, "schema": SCHEMA, "strict": True}}
    done = sent(items(text={"format": form}), RESPONSES)
    written = {"type": "json_schema", "name": named.get("name", "response"), "schema": SCHEMA, "strict": True}
    assert done.json["text"] == {"format": written}
    assert reported(done) == [("off-schema", "/text")]


def test_members_of_the_other_api() -> None:
    done = sent(items(verbosity="low", modalities=["text"], prediction={"type": "content", "content": "x"}), RESPONSES)
    assert done.json["text"] == {"verbosity": "low"}
    assert reported(done) == [
        ("off-schema", "/verbosity"),
        ("foreign-field", "/modalities"),
        ("foreign-field", "/prediction"),
    ]
    assert orjson.loads(sent(asked(max_tool_calls=3), "openai/gpt-4o").body).keys() == {"model", "messages"}


ITEM: Wire = {"id": "rs_1", "summary": [{"type": "summary_text", "text": "hmm"}]}


@pytest.mark.parametrize("target", ["openai/gpt-4o", "openrouter/openai/gpt-4o", "deepseek/deepseek-chat"])
@pytest.mark.parametrize(
    ("field", "thought"), [("reasoning", ITEM), ("reasoning_content", [ITEM]), ("reasoning_details", "hmm")]
)
def test_a_thought_of_another_type_is_left_out(target: str, field: str, thought: Any) -> None:
    done = sent(asked({"role": "assistant", "content": "Yes", field: thought}, HI), target)
    assert b"hmm" not in done.body
    assert reported(done) == [("off-schema", f"/messages/1/{field}")]


@pytest.mark.parametrize("thought", [ITEM, [ITEM]])
def test_a_thought_of_another_type_is_a_field_like_any_other(thought: Any) -> None:
    """For a server that nobody knows it stays, and elsewhere the report says that it went."""
    body = asked({"role": "assistant", "content": "Yes", "reasoning": thought}, HI)
    assert sent(body, "openai-compatible/m").json["messages"] == body["messages"]
    assert ("off-schema", "/messages/1/reasoning") in reported(sent(body, "anthropic/claude-opus-4-8"))


@pytest.mark.parametrize("target", ["openai/gpt-4o", "fireworks/m", "anthropic/claude-opus-4-8"])
def test_an_empty_name_is_none(target: str) -> None:
    done = sent(asked({"role": "assistant", "name": "", "content": "Yes"}, {**HI, "name": ""}), target)
    assert b'"name"' not in done.body
    assert [one for one in reported(done) if one[0] == "refused-name"] == [
        ("refused-name", "/messages/1"),
        ("refused-name", "/messages/2"),
    ]


@pytest.mark.parametrize("target", ["vllm/m", "sglang/m", "together/m", "openai/gpt-5"])
@pytest.mark.parametrize("effort", ["HIGH", "", 3])
def test_an_effort_that_is_no_word_for_one(target: str, effort: Any) -> None:
    assert reported(sent(asked(reasoning_effort=effort), target)) == [("off-schema", "/reasoning_effort")]


@pytest.mark.parametrize("target", ["qwen/m", "openai/gpt-4o"])
def test_a_result_among_the_parts_of_a_turn(target: str) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "a lake"}
    body = asked({"role": "assistant", "tool_calls": [call]}, {"role": "user", "content": [result]})
    assert sent(body, target).json["messages"][2] == {"role": "tool", "tool_call_id": "c1", "content": "a lake"}


@pytest.mark.parametrize("given", [{"type": "message", "content": "Hi"}, {"role": "USER", "content": "Hi"}])
def test_xai_takes_items_of_the_published_form(given: Wire) -> None:
    done = sent(items(given), "xai-responses/grok-4.3")
    assert done.json["input"][1]["role"] == "user"


@pytest.mark.parametrize("target", ["openai/gpt-4o", "deepseek/deepseek-chat", "anthropic/claude-opus-4-8"])
@pytest.mark.parametrize("words", [["So I", "look."], []])
def test_items_of_responses_among_the_messages_of_chat(target: str, words: list[str]) -> None:
    """As of a client that appends the output of one API to the messages of the other."""
    summary = [{"type": "summary_text", "text": one} for one in words]
    thought = {"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": "gAAAAAB"}
    done = sent(asked(thought, {**CALL, "id": "fc_1", "status": "completed"}, OUTPUT), target)
    assert b"a lake" in done.body
    assert {("off-schema", f"/messages/{at}") for at in (1, 2, 3)} <= {*reported(done)}
    if target.startswith("deepseek"):
        assert done.json["messages"][1]["reasoning_content"] == "\n\n".join(words)
    else:
        assert ("refused-reasoning", "/messages/1") in reported(done)
