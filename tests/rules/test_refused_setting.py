"""`refused-setting`: settings and top-level fields that the target does not have."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.judges import judge
from tests.rules.runs import CHAT, Run, facts, run, sent

from dragoman.engine.library.adapt import adapt
from dragoman.errors import Unrepresentable
from dragoman.profiles.facts import Facts
from dragoman.rules.settings.refused_setting import refused_setting

HI: dict[str, Any] = {"role": "user", "content": "Hi"}


def through(known: Facts, source: str = CHAT, **top: Any) -> Run:
    return run(refused_setting, {"messages": [HI], **top}, known, source=source)


def left(done: Run) -> set[str]:
    return done.json.keys() - {"messages", "model"}


SETTINGS: list[tuple[str, Any]] = [
    ("max_tokens", 9),
    ("temperature", 0.5),
    ("top_p", 0.5),
    ("top_k", 5),
    ("min_p", 0.1),
    ("stop", ["x"]),
    ("seed", 1),
    ("frequency_penalty", 1),
    ("presence_penalty", 1),
    ("n", 2),
    ("logprobs", True),
    ("top_logprobs", 2),
    ("parallel_tool_calls", False),
    ("verbosity", "low"),
    ("user", "u"),
    ("metadata", {"a": "b"}),
    ("service_tier", "flex"),
    ("store", True),
    ("prompt_cache_key", "k"),
]


GRADED = {
    "max_tokens": "authority",
    "stop": "authority",
    "n": "content",
    "logprobs": "content",
    "top_logprobs": "content",
}


@pytest.mark.parametrize(("name", "value"), SETTINGS)
def test_a_setting_that_the_target_refuses(name: str, value: Any) -> None:
    done = through(facts(settings={name: {"support": "refuses"}}), **{name: value, "frob": 1})
    assert left(done) == {"frob"}
    assert done.changes == [(f"/{name}", GRADED.get(name, "metadata"), False)]
    assert done.did == [f"left out {name}"]
    assert done.conversation.messages is done.ask.conversation.messages
    assert through(facts(), **{name: value}).untouched


def test_the_token_limit_goes_under_the_name_that_the_client_gave_it() -> None:
    done = through(facts(settings={"max_tokens": {"support": "refuses"}}), max_completion_tokens=9)
    assert left(done) == set()
    assert done.changes == [("/max_completion_tokens", "authority", False)]


VALUES: list[tuple[dict[str, Any], Any, bool]] = [
    ({"support": "refuses", "default": 1}, 1, True),
    ({"support": "refuses", "default": 1}, 0.5, False),
    ({"support": "refuses", "only": 1}, 1, True),
    ({"only": 1}, 1, True),
    ({"only": 1}, 0.5, False),
]


@pytest.mark.parametrize(("fact", "value", "stays"), VALUES)
def test_a_value_that_may_stay(fact: dict[str, Any], value: Any, stays: bool) -> None:
    assert through(facts(settings={"temperature": fact}), temperature=value).untouched is stays


@pytest.mark.parametrize(("tier", "stays"), [("auto", True), ("flex", False)])
def test_a_word_that_the_target_does_not_know(tier: str, stays: bool) -> None:
    assert through(facts(settings={"service_tier": {"values": ["auto"]}}), service_tier=tier).untouched is stays


def test_a_setting_that_is_refused_while_the_model_thinks() -> None:
    known = facts(settings={"temperature": {"thinking": "refuses", "default": 1}})
    done = through(known, temperature=0.5, reasoning_effort="high")
    assert left(done) == {"reasoning_effort"}
    assert done.changes == [("/temperature", "metadata", False)]
    assert through(known, temperature=1, reasoning_effort="high").untouched
    assert through(known, temperature=0.5).untouched


def test_the_least_that_is_taken_while_the_model_thinks() -> None:
    known = facts(settings={"top_p": {"thinking": "refuses", "thinking_min": 0.95}})
    assert left(through(known, top_p=0.9, reasoning_effort="high")) == {"reasoning_effort"}
    assert through(known, top_p=0.95, reasoning_effort="high").untouched
    assert through(known, top_p=0.9).untouched


def test_two_settings_that_may_not_stand_together() -> None:
    known = facts(settings={"top_p": {"without": "temperature"}})
    done = through(known, temperature=0.5, top_p=0.5)
    assert left(done) == {"temperature"}
    assert done.changes == [("/top_p", "metadata", False)]
    assert through(known, top_p=0.5).untouched
    both = facts(settings={"temperature": {"support": "refuses"}, "top_p": {"without": "temperature"}})
    assert left(through(both, temperature=0.5, top_p=0.5)) == {"top_p"}


@pytest.mark.parametrize(
    ("form", "kind"),
    [
        ({"type": "json_object"}, "json"),
        ({"type": "json_schema", "json_schema": {"name": "n", "schema": {}}}, "schema"),
    ],
)
def test_a_response_format_that_the_target_does_not_have(form: dict[str, Any], kind: str) -> None:
    done = through(facts(response_formats=["text"]), response_format=form)
    assert left(done) == set()
    assert done.changes == [("/response_format", "authority", False)]
    assert done.did == [f"left out the response format {kind}"]
    assert through(facts(response_formats=["text", kind]), response_format=form).untouched


FIELDS: dict[str, tuple[Facts, bool]] = {
    "a field that nobody knows, if they are taken": (facts(unknown_settings="accepts"), True),
    "a field that nobody knows, if they are refused": (facts(unknown_settings="refuses"), False),
    "a field that the target knows": (facts(unknown_settings="refuses", known_settings=["grammar"]), True),
    "a field that the target names as refused": (facts(refused_settings=["grammar"]), False),
    "a value that the target names as refused": (facts(refused_settings=['grammar="x"']), False),
    "another value": (facts(refused_settings=['grammar="y"']), True),
    "a field of another dialect": (facts("anthropic"), False),
}


@pytest.mark.parametrize("name", FIELDS)
def test_a_top_level_field(name: str) -> None:
    known, stays = FIELDS[name]
    done = through(known, grammar="x", temperature=1)
    assert done.untouched is stays
    assert stays or left(done) == {"temperature"}
    assert stays or done.changes == [("/grammar", "metadata", False)]


def test_a_nested_field_is_pointed_at() -> None:
    known = facts("gemini", unknown_settings="refuses")
    contents = [{"role": "user", "parts": [{"text": "Hi"}]}]
    body = {"contents": contents, "generationConfig": {"frob": 1, "temperature": 1}}
    done = run(refused_setting, body, known, source="gemini")
    assert done.json["generationConfig"] == {"temperature": 1}
    assert done.changes == [("/generationConfig/frob", "metadata", False)]


def test_a_wish_to_think_in_a_form_that_was_not_read() -> None:
    done = through(facts(thinking_form="none"), reasoning_effort="high", reasoning={"frob": 1})
    assert left(done) <= {"reasoning_effort"}
    assert ("/reasoning", "metadata", False) in done.changes


@pytest.mark.parametrize("field", ["previous_response_id", "conversation", "prompt"])
def test_a_field_that_stands_for_earlier_turns_is_an_error_elsewhere(field: str) -> None:
    body = {"input": [HI], field: "x_1"}
    with pytest.raises(Unrepresentable, match=f"{field} stands for turns that only its provider holds"):
        run(refused_setting, body, facts(CHAT), source="openai-responses")
    assert run(refused_setting, body, facts("openai-responses"), source="openai-responses").untouched


@pytest.mark.parametrize("target", ["openai/gpt-4o", "cerebras/some-model", "anthropic/claude-opus-4-8"])
@pytest.mark.parametrize("field", ["previous_response_id", "conversation", "prompt"])
def test_a_chat_request_holds_all_its_turns(field: str, target: str) -> None:
    done = sent({"messages": [HI], "max_tokens": 9, field: "x_1"}, target, source=CHAT)
    assert field not in done.json
    assert [change[1:3] for change in done.changes if change[1] == f"/{field}"] == [(f"/{field}", "content")]


def test_C21_adapt_for_real_providers() -> None:
    done = sent({"messages": [HI], "temperature": 0.5}, "openai/gpt-5")
    assert "temperature" not in done.json
    assert done.changes == [("refused-setting", "/temperature", "metadata", False)]
    assert sent({"messages": [HI], "temperature": 0.5}, "openai/gpt-4o").changes == []


def test_a_field_that_nobody_knows_goes_through() -> None:
    """X8."""
    done = sent({"messages": [HI], "frobnicate": 1}, "openai/gpt-4o")
    assert done.json["frobnicate"] == 1
    assert done.changes == []


def test_an_empty_list_of_stops_is_a_stop_too() -> None:
    assert "stop" not in sent({"messages": [HI], "stop": []}, "azure-openai/gpt-5").json
    assert sent({"messages": [HI], "stop": []}, "openai/gpt-4o").json["stop"] == []


def test_probabilities_are_asked_for_among_what_to_include() -> None:
    asked = sent({"messages": [HI], "logprobs": True}, "openai-responses/gpt-4o", source=CHAT)
    assert asked.json["include"] == ["message.output_text.logprobs"]
    both = ["message.output_text.logprobs", "reasoning.encrypted_content"]
    done = sent({"input": [HI], "include": both}, "openai-responses/gpt-5")
    assert done.json["include"] == ["reasoning.encrypted_content"]


def test_the_flag_for_tools_of_both_kinds_is_ai_studios() -> None:
    flag = {"toolConfig": {"includeServerSideToolInvocations": True}}
    body = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], "tools": [{"googleSearch": {}}], **flag}
    assert sent(body, "gemini/gemini-3-pro-preview").json["toolConfig"] == flag["toolConfig"]
    done = sent(body, "vertex/gemini-3-pro-preview")
    assert "toolConfig" not in done.json
    assert done.changes == [("refused-setting", "/toolConfig/includeServerSideToolInvocations", "metadata", False)]


def test_the_tier_of_another_dialect_does_not_go_into_the_body_of_invoke_model() -> None:
    target = "bedrock-anthropic/us.anthropic.claude-sonnet-4-5-20250929-v1:0"
    asked = {"messages": [HI], "max_tokens": 9, "service_tier": "auto"}
    done = sent(asked, target, source=CHAT)
    assert "service_tier" not in done.json
    assert done.changes == [("refused-setting", "/service_tier", "metadata", False)]
    assert sent(asked, target, source="anthropic").json["service_tier"] == "auto"


def test_labels_are_vertexs() -> None:
    body = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], "labels": {"a": "b"}}
    assert "labels" not in sent(body, "gemini/gemini-2.5-flash").json
    assert sent(body, "vertex/gemini-2.5-flash").json["labels"] == {"a": "b"}


def test_what_other_hosts_of_claude_want_in_the_body() -> None:
    body = {"anthropic_version": "vertex-2023-10-16", "max_tokens": 9, "messages": [HI]}
    assert "anthropic_version" not in sent(body, "anthropic/claude-sonnet-4-5").json


OPTIONS: dict[str, Any] = {"mode": "explicit", "ttl": "30m"}
SHARED: list[tuple[str, str, dict[str, Any], dict[str, Any], list[str]]] = [
    (CHAT, "openai-responses/gpt-5.6", {"prompt_cache_options": OPTIONS}, {"prompt_cache_options": OPTIONS}, []),
    (CHAT, "openai-responses/gpt-5.6", {"prompt_cache_retention": "24h"}, {"prompt_cache_retention": "24h"}, []),
    ("openai-responses", "openai/gpt-5.6", {"prompt_cache_options": OPTIONS}, {"prompt_cache_options": OPTIONS}, []),
    (
        "openai-responses",
        "openai/gpt-5.6",
        {"prompt_cache_options": {**OPTIONS, "ttl": "12h", "comparison_response_id": "resp_1"}},
        {"prompt_cache_options": {"mode": "explicit"}},
        ["/prompt_cache_options/comparison_response_id", "/prompt_cache_options/ttl"],
    ),
    (
        "openai-responses",
        "openai/gpt-5.6",
        {"prompt_cache_options": {"ttl": "12h"}},
        {},
        ["/prompt_cache_options"],
    ),
    (
        "openai-responses",
        "openai/gpt-5.6",
        {"prompt_cache_options": OPTIONS, "max_tool_calls": 3},
        {"prompt_cache_options": OPTIONS},
        ["/max_tool_calls"],
    ),
    (CHAT, "anthropic/claude-sonnet-4-6", {"prompt_cache_options": OPTIONS}, {}, ["/prompt_cache_options"]),
    (CHAT, "xai-responses/grok-4.3", {"prompt_cache_options": OPTIONS}, {}, ["/prompt_cache_options"]),
]


@pytest.mark.parametrize(("source", "target", "given", "kept", "reported"), SHARED)
def test_a_field_that_both_dialects_have_goes_on(
    source: str, target: str, given: dict[str, Any], kept: dict[str, Any], reported: list[str]
) -> None:
    turns = {"messages": [HI]} if source == CHAT else {"input": [HI]}
    adapted = adapt({"model": "m", **turns, **given}, source=source, target=target)
    sent_body = json.loads(adapted.body)
    assert {name: sent_body[name] for name in given if name in sent_body} == kept
    assert sorted(change.at for change in adapted.changes if change.rule == "refused-setting") == reported


@pytest.mark.parametrize(
    ("target", "retention", "kept"),
    [
        ("openai/gpt-5.6", "in_memory", False),
        ("openai-responses/gpt-5.6", "in_memory", False),
        ("openai/gpt-6-sol", "24h", True),
        ("openai-responses/gpt-5.6", "24h", True),
        ("openai/gpt-5.4", "in_memory", True),
        ("azure-openai/gpt-5.6", "in_memory", True),
        ("azure-openai-responses/gpt-5.6", "in_memory", True),
    ],
)
@pytest.mark.parametrize("source", [CHAT, "openai-responses"])
def test_a_cache_in_memory_is_not_asked_of_models_that_have_none(
    source: str, target: str, retention: str, kept: bool
) -> None:
    turns = {"messages": [HI]} if source == CHAT else {"input": [HI]}
    adapted = adapt({"model": "m", **turns, "prompt_cache_retention": retention}, source=source, target=target)
    assert ("prompt_cache_retention" in adapted.json) is kept
    left_out = [change.at for change in adapted.changes if change.rule == "refused-setting"]
    assert left_out == ([] if kept else ["/prompt_cache_retention"])
    name, model = target.split("/")
    assert judge(name, model, adapted.path, adapted.headers, adapted.body) is None
    retained = {**adapted.json, "prompt_cache_retention": retention}
    assert (judge(name, model, adapted.path, adapted.headers, json.dumps(retained).encode()) is None) is kept


def test_a_member_alone_is_no_field_that_goes_on() -> None:
    known = facts(dialect=CHAT, shared_settings={"openai-responses": ("box.lid",)})
    done = run(refused_setting, {"input": [HI], "box": "lid"}, known, source="openai-responses")
    assert "box" not in done.json


@pytest.mark.parametrize(
    ("model", "kept"), [("gpt-5.6", False), ("gpt-6-astra", False), ("gpt-4o-audio-preview", True)]
)
def test_spoken_answers_are_asked_of_models_that_know_the_field(model: str, kept: bool) -> None:
    spoken = {"modalities": ["text", "audio"], "audio": {"voice": "alloy", "format": "wav"}}
    done = sent({"messages": [HI], **spoken}, f"openai/{model}")
    assert {name for name in spoken if name in done.json} == (set(spoken) if kept else set())
    assert {at for rule, at, *_ in done.changes if rule == "refused-setting"} == (
        set() if kept else {"/audio", "/modalities"}
    )


def test_the_model_of_boto3s_arguments_is_no_member_of_the_body() -> None:
    asked = {"modelId": "x", "messages": [{"role": "user", "content": [{"text": "Hi"}]}]}
    for model in ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "us.amazon.nova-lite-v1:0", "some-model"):
        done = sent(asked, f"bedrock/{model}", source="bedrock")
        assert "modelId" not in done.json
        assert done.changes == [("refused-setting", "/modelId", "metadata", False)]
