"""Small truths: what the report and `lint` say is so, and nothing is doubled."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.acceptance.asking import CLAUDE, OPENAI, PROXY, ask, says, sent
from tests.event_streams import read_events

from dragoman.conversation.changes import Loss
from dragoman.engine.library.adapt import adapt
from dragoman.engine.library.lint import lint

HI = says("user", "Hi")


def event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


@pytest.mark.parametrize(("streamed", "done", "final"), [(0, 0, 0), (1, 1, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)])
def test_deltas_under_another_index_do_not_double_the_text(streamed: int, done: int, final: int) -> None:
    content = [{"type": "output_text", "text": "", "annotations": []}] * final
    text = {"type": "output_text", "text": "Hello", "annotations": []}
    item = {"id": "i", "type": "message", "role": "assistant", "status": "completed", "content": [*content, text]}
    response = {"id": "r", "object": "response", "status": "completed", "model": "m", "output": [item]}
    where = {"item_id": "i", "output_index": 0}
    wire = [
        event("response.created", response={**response, "status": "in_progress", "output": []}),
        event("response.output_item.added", output_index=0, item={**item, "content": []}),
        event("response.output_text.delta", **where, content_index=streamed, delta="Hel"),
        event("response.output_text.delta", **where, content_index=streamed, delta="lo"),
        event("response.output_text.done", **where, content_index=done, text="Hello"),
        event("response.output_item.done", output_index=0, item=item),
        event("response.completed", response=response),
    ]
    stream = adapt(ask(HI), target="openai-responses/gpt-5").stream()
    out = b"".join(stream.feed(one) for one in wire) + stream.finish()
    chunks = read_events(out)
    assert "".join(one["choices"][0]["delta"].get("content") or "" for one in chunks if one["choices"]) == "Hello"


def test_two_contents_of_one_item_are_both_shown() -> None:
    texts = [{"type": "output_text", "text": text, "annotations": []} for text in ("One", "Two")]
    item = {"id": "i", "type": "message", "role": "assistant", "status": "completed", "content": texts}
    response = {"id": "r", "object": "response", "status": "completed", "model": "m", "output": [item]}
    where = {"item_id": "i", "output_index": 0}
    wire = [
        event("response.created", response={**response, "status": "in_progress", "output": []}),
        event("response.output_text.delta", **where, content_index=0, delta="One"),
        event("response.output_text.done", **where, content_index=0, text="One"),
        event("response.output_text.done", **where, content_index=1, text="Two"),
        event("response.output_item.done", output_index=0, item=item),
        event("response.completed", response=response),
    ]
    stream = adapt(ask(HI), target="openai-responses/gpt-5").stream()
    out = (b"".join(stream.feed(one) for one in wire) + stream.finish()).decode()
    assert (out.count('"One"'), out.count('"Two"')) == (1, 1)


def test_a_part_after_a_tool_result_has_its_own_pointer() -> None:
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}
    hinted = {"type": "text", "text": "So?", "cache_control": {"type": "ephemeral"}}
    document = {"type": "document", "source": {"type": "url", "url": "https://x.example/y.pdf"}}
    request = {
        "model": "m",
        "max_tokens": 5,
        "tools": [{"name": "f", "input_schema": {"type": "object", "properties": {}}}],
        "messages": [
            HI,
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {}}]},
            {"role": "user", "content": [result, hinted, document]},
        ],
    }
    changes = {change.rule: change.at for change in adapt(request, source="anthropic", target=OPENAI).changes}
    assert changes["refused-hint"] == "/messages/2/content/1"
    assert changes["refused-part"] == "/messages/2/content/2"


def test_a_stray_field_that_goes_with_its_part_is_named() -> None:
    image = {"type": "image_url", "image_url": {"url": "https://x.example/y.png"}, "mood": 1}
    (change,) = sent(ask(says("user", [image])), "deepseek/deepseek-chat").changes
    assert (change.rule, change.at) == ("refused-part", "/messages/0/content/0")
    assert change.did.endswith("without mood")


@pytest.mark.parametrize(
    ("setting", "loses"),
    [
        ({"n": 1}, "metadata"),
        ({"logit_bias": {"1": 5}}, "authority"),
        ({"logprobs": True}, "content"),
        ({"seed": 5}, "metadata"),
    ],
)
def test_a_setting_that_is_left_out_is_graded_by_what_it_does(setting: dict[str, Any], loses: str) -> None:
    found = [one for one in sent(ask(HI, **setting), CLAUDE).changes if one.rule == "refused-setting"]
    assert {one.loses for one in found} <= {loses}


def test_turned_off_thinking_weighs_more_than_a_cache_hint() -> None:
    request = {
        "model": "m",
        "max_tokens": 4000,
        "thinking": {"type": "enabled", "budget_tokens": 2000},
        "tools": [{"name": "f", "input_schema": {"type": "object"}}],
        "messages": [
            HI,
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]},
        ],
    }
    (off,) = [one for one in adapt(request, source="anthropic", target=CLAUDE).changes if "thinking off" in one.did]
    assert Loss[off.loses.upper()] > Loss.METADATA


LINTED = [
    ("anthropic/claude-opus-4-8", ask(HI, seed=5, max_tokens=5), "refused-setting", "thinking"),
    ("anthropic/claude-sonnet-4-5", ask(HI, logit_bias={"1": 2}, max_tokens=5), "refused-setting", "thinking"),
    ("gemini/gemini-2.5-flash", ask(HI, logit_bias={"1": 2}), "refused-setting", "Claude"),
    ("openrouter/google/gemini-3-pro", ask(HI, says("assistant", "a")), "missing-result", "tool_call_ids"),
]


@pytest.mark.parametrize(("target", "request_", "rule", "foreign"), LINTED)
def test_lint_quotes_the_provider_and_rule_it_speaks_of(target: str, request_: Any, rule: str, foreign: str) -> None:
    quoted = [finding.says for finding in lint(request_, targets=target) if finding.rule == rule]
    assert [words for words in quoted if foreign in words] == []


def test_lint_of_gemini_behind_a_router_quotes_gemini() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    asked = ask(HI, {"role": "assistant", "content": None, "tool_calls": [call]}, HI)
    (words,) = [
        one.says for one in lint(asked, targets="openrouter/google/gemini-3-pro") if one.rule == "missing-result"
    ]
    assert "function response parts" in words


def test_flattened_text_names_a_tool_as_it_is_declared() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "my.tool", "arguments": "{}"}}
    tools = [{"type": "function", "function": {"name": "my.tool", "parameters": {"type": "object"}}}]
    done = sent(
        ask(
            HI,
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": "ok"},
            tools=tools,
        ),
        PROXY,
    )
    assert done.json["tools"][0]["function"]["name"] == "my_tool"
    assert "name=my_tool" in done.json["messages"][1]["content"]
    assert "name=my_tool" in done.json["messages"][2]["content"]
