"""`off-schema`: what does not fit the published schema, though it is clear what is meant (K17, K19, K29)."""

from __future__ import annotations

from typing import Any

import pytest
from tests.rules.runs import facts, run, sent

from dragoman import adapt
from dragoman.engine.library.lint import Severity, lint
from dragoman.errors import MalformedRequest
from dragoman.rules.clean.off_schema import off_schema

HELLO: dict[str, Any] = {"role": "user", "content": "Hi"}
TOOL: dict[str, Any] = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
VALIDATES = facts(off_schema="refuses")


def calling(arguments: Any, **more: Any) -> dict[str, Any]:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": arguments}, **more}
    return {"messages": [HELLO, {"role": "assistant", "tool_calls": [call]}, answer()]}


def answer(**more: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": "c1", "content": "sunny", **more}


def speaking(content: Any) -> dict[str, Any]:
    return {"messages": [HELLO, {"role": "user", "content": content}]}


PLACES: dict[str, tuple[dict[str, Any], dict[str, Any], str, str]] = {
    "arguments": (
        calling({"a": 1}),
        calling('{"a":1}'),
        "/messages/1/tool_calls/0/function/arguments",
        "argument-form",
    ),
    "part": (
        speaking([{"type": "input_text", "text": "So?"}]),
        speaking([{"type": "text", "text": "So?"}]),
        "/messages/1/content/0",
        "part-form",
    ),
    "content": (
        speaking({"type": "text", "text": "So?"}),
        speaking([{"type": "text", "text": "So?"}]) | {},
        "/messages/1/content",
        "content-form",
    ),
    "role": (
        {"messages": [{"role": "human", "content": "Hi"}]},
        {"messages": [HELLO]},
        "/messages/0/role",
        "role-name",
    ),
    "choice": (
        {"messages": [HELLO], "tools": [TOOL], "tool_choice": {"type": "tool", "name": "look"}},
        {"messages": [HELLO], "tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "look"}}},
        "/tool_choice",
        "choice-form",
    ),
    "no stream": (
        {"messages": [HELLO], "stream": False, "stream_options": {"include_usage": True}},
        {"messages": [HELLO], "stream": False},
        "/stream_options",
        "no-stream",
    ),
    "setting": ({"messages": [HELLO], "top_p": "0.5"}, {"messages": [HELLO], "top_p": 0.5}, "/top_p", "setting-form"),
}


@pytest.mark.parametrize("name", PLACES)
def test_what_is_meant_is_written_as_the_schema_has_it(name: str) -> None:
    odd, whole, at, kind = PLACES[name]
    done = run(off_schema, odd, VALIDATES)
    assert {key: value for key, value in done.json.items() if key != "model"} == whole
    assert done.changes == [(at, "nothing", False)]
    assert done.did[0].endswith(f"({kind})")


@pytest.mark.parametrize("name", PLACES)
def test_what_fits_or_is_not_checked_is_untouched(name: str) -> None:
    odd, whole, _, kind = PLACES[name]
    assert run(off_schema, whole, VALIDATES).untouched
    assert run(off_schema, odd, facts(off_schema="accepts")).untouched
    assert run(off_schema, odd, facts(off_schema="refuses", near_misses=[kind])).untouched


@pytest.mark.parametrize("name", PLACES)
def test_a_server_that_does_not_check_gets_the_clients_own_bytes(name: str) -> None:
    odd, _, _, _ = PLACES[name]
    done = sent(odd | {"model": "m"}, "openai-compatible-lenient/m")
    assert done.json == odd | {"model": "m"}
    assert done.changes == []


@pytest.mark.parametrize("name", PLACES)
def test_a_kind_that_is_known_to_be_refused_is_repaired_alone(name: str) -> None:
    odd, whole, at, kind = PLACES[name]
    done = run(off_schema, odd, facts(refused_near_misses=[kind]))
    assert {key: value for key, value in done.json.items() if key != "model"} == whole
    assert done.changes == [(at, "nothing", False)]
    others = [other for _, _, _, other in PLACES.values() if other != kind]
    assert run(off_schema, odd, facts(refused_near_misses=others)).untouched
    assert run(off_schema, odd, facts(refused_near_misses=[kind], near_misses=[kind])).untouched


@pytest.mark.parametrize("target", ["llamacpp/m", "ollama-openai/m", "vllm/m", "strict-template/m"])
def test_local_servers_get_no_parts_of_other_dialects(target: str) -> None:
    odd, whole, at, _ = PLACES["part"]
    done = sent(odd, target)
    assert "input_text" not in str(done.json)
    assert ("off-schema", at, "nothing", False) in done.changes
    assert sent(whole, target).json["messages"] == done.json["messages"]


@pytest.mark.parametrize("target", ["openai/gpt-4o", "vllm/m", "mistral/mistral-large-latest", "groq/llama-3.1-8b"])
def test_options_of_a_stream_go_only_with_a_stream(target: str) -> None:
    for more in ({}, {"stream": False}, {"stream": None}):
        done = sent({"messages": [HELLO], "stream_options": {"include_usage": True}, **more}, target)
        assert "stream_options" not in done.json
        assert [change[:3] for change in done.changes if "stream" in change[1]] == [
            ("off-schema", "/stream_options", "nothing")
        ]


@pytest.mark.parametrize("target", ["openai/gpt-4o", "vllm/m", "groq/llama-3.1-8b"])
def test_options_of_a_stream_stay_with_it(target: str) -> None:
    body = {"messages": [HELLO], "stream": True, "stream_options": {"include_usage": True}}
    done = sent(body, target)
    assert done.json["stream_options"] == {"include_usage": True}
    assert done.changes == []
    assert sent({"messages": [HELLO], "stream_options": None}, target).changes == []


GO: dict[str, Any] = {"name": "go", "parameters": {"type": "object", "properties": {"to": {"type": "string"}}}}
GO_TOOL: dict[str, Any] = {"type": "function", "function": GO}
STRICT_NULL = {"messages": [HELLO], "tools": [{**GO_TOOL, "function": {**GO, "strict": None}}]}
AT_STRICT = "/tools/0/function/strict"


@pytest.mark.parametrize("target", ["cerebras/m", "sglang/m", "together/m"])
def test_a_null_that_the_dialect_allows_goes_if_the_target_refuses_it(target: str) -> None:
    done = sent(STRICT_NULL, target)
    assert done.json["tools"] == [GO_TOOL]
    assert done.changes == [("off-schema", AT_STRICT, "nothing", False)]


@pytest.mark.parametrize("target", ["openai/gpt-4o", "groq/llama-3.1-8b", "openai-compatible/m"])
def test_a_null_that_the_dialect_allows_stays_otherwise(target: str) -> None:
    done = sent(STRICT_NULL, target)
    assert (done.json["tools"], done.changes) == (STRICT_NULL["tools"], [])


def test_a_null_that_the_dialect_allows_is_no_loss_in_a_translation() -> None:
    assert sent(STRICT_NULL, "anthropic/claude-sonnet-4-5", source="openai-chat", max_loss="metadata").changes == [
        ("required-setting", "/max_tokens", "nothing", True)
    ]


def test_tools_that_are_null_stay_for_a_target_that_took_them() -> None:
    done = sent({"messages": [HELLO], "tools": None}, "together/m")
    assert (done.json["tools"], done.changes) == (None, [])


PLACED_NULLS: dict[str, tuple[dict[str, Any], str]] = {
    "the hint of a tool": ({"tools": [{**GO_TOOL, "cache_control": None}]}, "/tools/0/cache_control"),
    "the schema of a format": ({"response_format": {"type": "text", "schema": None}}, "/response_format/schema"),
    "a format without one": (
        {"response_format": {"type": "text", "json_schema": None}},
        "/response_format/json_schema",
    ),
}


@pytest.mark.parametrize("name", PLACED_NULLS)
@pytest.mark.parametrize("target", ["cerebras/m", "openai/gpt-4o", "groq/llama-3.1-8b"])
def test_nulls_inside_tools_and_settings_are_left_out(name: str, target: str) -> None:
    members, at = PLACED_NULLS[name]
    done = sent({"messages": [HELLO], **members}, target)
    assert "None" not in str(done.json)
    assert done.changes == [("off-schema", at, "nothing", False)]


def test_care_repairs_it_there_too() -> None:
    odd, whole, _, _ = PLACES["arguments"]
    done = sent(odd, "openai-compatible-lenient/m", doubt="careful")
    assert done.json["messages"][1]["tool_calls"] == whole["messages"][1]["tool_calls"]


def test_only_what_was_odd_is_written_anew() -> None:
    odd, _, _, _ = PLACES["part"]
    done = run(off_schema, odd, VALIDATES)
    assert done.conversation.messages[0] is done.ask.conversation.messages[0]
    assert done.conversation == done.ask.conversation


def test_to_another_dialect_it_is_reported_too() -> None:
    odd, _, _, _ = PLACES["arguments"]
    done = sent(odd | {"tools": [TOOL], "max_tokens": 50}, "anthropic/claude-sonnet-4-5", source="openai-chat")
    assert done.json["messages"][1]["content"] == [{"type": "tool_use", "id": "c1", "name": "look", "input": {"a": 1}}]
    assert ("off-schema", "/messages/1/tool_calls/0/function/arguments", "nothing", False) in done.changes


@pytest.mark.parametrize("rules", [{}, {"off-schema": "keep"}])
def test_what_was_read_is_reported_whatever_the_target_takes(rules: dict[str, str]) -> None:
    """Nothing of another dialect is copied, so there is nothing to keep."""
    done = sent({"model": "m", "messages": [{"role": "user", "content": 7}]}, "ollama/m", source="cohere", rules=rules)
    assert done.json["messages"] == [{"role": "user", "content": "7"}]
    assert set(done.changes) == {("off-schema", "/messages/0/content", "nothing", False)}


@pytest.mark.parametrize("target", ["openai/gpt-4o", "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash"])
def test_C13_a_nameless_tool_among_others_is_left_out_and_reported(target: str) -> None:
    nameless = {"type": "function", "function": {"description": "?"}}
    done = sent({"messages": [HELLO], "tools": [TOOL, nameless], "max_tokens": 50}, target, source="openai-chat")
    assert ("off-schema", "/tools/1", "content", False) in done.changes
    assert str(done.json["tools"]).count("'look'") == 1


def test_C13_tools_that_are_written_anew_tell_what_was_read_of_the_others() -> None:
    """A server that takes near misses gets the client's list; a list that had to be written has only what was read."""
    nameless = {"type": "function", "function": {"description": "?"}}
    body = {"messages": [HELLO], "tools": [nameless, TOOL]}
    assert sent(body, "openai-compatible/m").json["tools"] == body["tools"]
    bare = {"name": "b", "parameters": {"type": "object", "properties": {}}}
    done = sent({**body, "tools": [nameless, bare]}, "openai-compatible/m", source="openai-chat")
    assert [tool["function"]["name"] for tool in done.json["tools"]] == ["b"]
    assert ("off-schema", "/tools/0", "content", False) in done.changes


def test_keys_that_a_part_does_not_have_lose_metadata() -> None:
    body = {"contents": [{"role": "user", "parts": [{"text": "hello", "index": 0}]}]}
    for target in ("gemini/gemini-2.5-flash", "openai/gpt-4o"):
        done = sent(body, target, source="gemini")
        assert "hello" in str(done.json)
        assert ("off-schema", "/contents/0/parts/0", "metadata", False) in done.changes


def test_a_lint_says_that_it_would_be_refused() -> None:
    odd, _, at, _ = PLACES["arguments"]
    (found,) = lint(odd, targets="openai/gpt-4o", source="openai-chat")
    assert (found.rule, found.at, found.severity) == ("off-schema", at, Severity.ERROR)
    assert found.says.startswith("What does not fit")  # the words that are known are about another member
    assert lint(odd, targets="vllm/m", source="openai-chat") == []


@pytest.mark.parametrize(
    "target", ["cerebras/m", "cohere-openai/m", "fireworks/m", "minimax/m", "together/m", "xai/grok-4"]
)
def test_a_message_of_nothing_but_an_unknown_part_is_refused_with_its_place(target: str) -> None:
    with pytest.raises(MalformedRequest, match="frob") as raised:
        sent(speaking([{"type": "frob", "x": 1}]), target)
    assert raised.value.at == "/messages/1/content/0"
    beside = sent(speaking([{"type": "text", "text": "So?"}, {"type": "frob", "x": 1}]), "openai-compatible-lenient/m")
    assert "frob" in str(beside.json)


def test_k29_a_pair_without_ids_stays_a_pair_if_one_of_the_two_is_written_anew() -> None:
    """A lenient server takes both as they are. A leftover of a stream goes from the call, so the call is written."""
    call = {"id": "", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    called = {"role": "assistant", "content": None, "tool_calls": [call]}
    told = {"role": "tool", "tool_call_id": "", "content": "sunny"}
    kept = sent({"messages": [HELLO, called, told], "tools": [TOOL]}, "openai-compatible-lenient/m")
    assert kept.json["messages"] == [HELLO, called, told]
    assert kept.changes == []
    done = sent({"messages": [HELLO, {**called, "done": True}, told], "tools": [TOOL]}, "openai-compatible-lenient/m")
    _, asked, answered = done.json["messages"]
    assert asked["tool_calls"][0]["id"] == answered["tool_call_id"] != ""
    assert [(rule, at) for rule, at, _, _ in done.changes] == [
        ("stray-field", "/messages/1"),
        ("off-schema", "/messages/1/tool_calls/0"),
        ("off-schema", "/messages/2"),
    ]


def test_forms_of_another_dialect_on_a_strict_server_that_speaks_messages() -> None:
    asked = {
        "max_tokens": 9,
        "messages": [{"role": "user", "content": [{"text": "Hi"}], "mark": 1}],
        "tool_choice": "auto",
        "tools": [{"name": "f", "input_schema": {"type": "object"}}],
    }
    done = sent(asked, "anthropic-compatible-strict/m", source="anthropic").json
    assert done["messages"] == [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]
    assert done["tool_choice"] == {"type": "auto"}


def test_a_field_of_a_message_that_was_written_anew_stays() -> None:
    asked = {"max_tokens": 9, "messages": [{"role": "user", "content": "Hi", "mark": 1, "done": True}]}
    done = sent(asked, "anthropic-compatible/m", source="anthropic").json
    assert done["messages"] == [{"role": "user", "content": "Hi", "mark": 1}]


@pytest.mark.parametrize(
    "content", ["1", [{"type": "text", "text": "1"}], [{"type": "tool_reference", "tool_name": "f"}]]
)
def test_a_null_mark_of_an_error_goes_whatever_the_result_holds(content: Any) -> None:
    call = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "a", "content": content}
    turns = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": [call]}]
    tools = [{"name": "f", "input_schema": {"type": "object"}}]
    last = {"role": "user", "content": [{**result, "is_error": None}]}
    asked = {"max_tokens": 9, "tools": tools, "messages": [*turns, last]}
    done = adapt(asked, source="anthropic", target="anthropic/claude-sonnet-4-5")
    assert done.json["messages"] == [*turns, {"role": "user", "content": [result]}]
    assert [(one.rule, one.at) for one in done.changes] == [("off-schema", "/messages/2/content/0/is_error")]
