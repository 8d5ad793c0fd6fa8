"""Breakpoints of OpenAI's prompt cache (gpt-5.6 and later) and cache hints of the others, in both directions."""

from __future__ import annotations

from typing import Any

import pytest
from tests.laws.test_cache_parity import CachedProvider, Caller

from dragoman import adapt
from dragoman.engine.exchange.destination import CacheHints
from dragoman.engine.library.adapt import read

Wire = dict[str, Any]
HINT: Wire = {"cache_control": {"type": "ephemeral"}}
HOUR: Wire = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
POINT: Wire = {"prompt_cache_breakpoint": {"mode": "explicit"}}
CLAUDE, CHAT, RESPONSES = "anthropic/claude-sonnet-4-6", "openai/gpt-5.6-terra", "openai-responses/gpt-5.6-terra"
BEDROCK = "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0"
LONG = "You are a careful engineer. " * 400


def claude_request(hint: Wire) -> Wire:
    """A hint wherever Claude takes one."""
    call = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}, **hint}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "12", **hint}
    return {
        "max_tokens": 99,
        "system": [{"type": "text", "text": "S", **hint}],
        "tools": [{"name": "f", "input_schema": {"type": "object", "properties": {}}, **hint}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Hi", **hint}]},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result]},
        ],
        **hint,
    }


@pytest.mark.parametrize(("hint", "lost"), [(HINT, "nothing"), (HOUR, "metadata")])
def test_hints_on_input_parts_become_breakpoints(hint: Wire, lost: str) -> None:
    done = adapt(claude_request(hint), target=RESPONSES, source="anthropic")
    system, user, _, output = done.json["input"]
    assert "instructions" not in done.json
    assert system["content"] == [{"type": "input_text", "text": "S", **POINT}]
    assert user["content"] == [{"type": "input_text", "text": "Hi", **POINT}]
    assert output["output"] == [{"type": "input_text", "text": "12", **POINT}]
    assert str(done.json).count("prompt_cache_breakpoint") == 3
    hints = [(change.at, change.loses) for change in done.changes if change.rule == "refused-hint"]
    assert hints == [
        ("/cache_control", "nothing"),
        ("/system/0", lost),
        ("/messages/0/content/0", lost),
        ("/messages/1/content/0", "metadata"),
        ("/messages/2/content/0", lost),
        ("/tools/0", "metadata"),
    ]


def test_a_hint_of_a_chat_client_becomes_a_breakpoint() -> None:
    body = {"messages": [{"role": "user", "content": [{"type": "text", "text": "Hi", **HINT}]}]}
    done = adapt(body, target=CHAT)
    assert done.json["messages"][0]["content"] == [{"type": "text", "text": "Hi", **POINT}]
    assert adapt(body, target="openai/gpt-5.2").json["messages"][0]["content"] == [{"type": "text", "text": "Hi"}]


def responses_request(**more: Any) -> Wire:
    text = {"type": "input_text", "text": "S", **POINT}
    items = [{"role": "system", "content": [text]}, {"role": "user", "content": [{"type": "input_text", "text": "Hi"}]}]
    return {"input": items, **more}


MARKED: dict[str, tuple[str, Wire, Any]] = {
    "to Claude": (CLAUDE, {}, [{"type": "text", "text": "S", **HINT}]),
    "to Claude, for long": (CLAUDE, {"ttl": "12h"}, [{"type": "text", "text": "S", **HOUR}]),
    "to Bedrock": (BEDROCK, {}, [{"text": "S"}, {"cachePoint": {"type": "default"}}]),
    "to a target without hints": ("gemini/gemini-2.5-pro", {}, {"parts": [{"text": "S"}]}),
}


@pytest.mark.parametrize("name", MARKED)
def test_a_breakpoint_becomes_a_hint(name: str) -> None:
    target, options, expected = MARKED[name]
    more = {"prompt_cache_options": options} if options else {}
    done = adapt(responses_request(**more), target=target, source="openai-responses")
    assert (done.json.get("system") or done.json["systemInstruction"]) == expected
    lost = [change.loses for change in done.changes if change.rule == "stray-field"]
    assert lost == ["metadata" if "systemInstruction" in done.json else "nothing"]


def test_a_breakpoint_stays_one_between_chat_and_responses() -> None:
    done = adapt(responses_request(), target=CHAT, source="openai-responses")
    assert done.json["messages"][0]["content"] == [{"type": "text", "text": "S", **POINT}]
    assert adapt({**done.json, "model": "x"}, target=RESPONSES, source="openai-chat").json["input"][0]["content"] == [
        {"type": "input_text", "text": "S", **POINT}
    ]
    own = adapt(responses_request(), target=RESPONSES)
    assert own.changes == ()


def asked(words: str) -> Wire:
    """Two agents that share their system text."""
    return {"messages": [{"role": "system", "content": LONG}, {"role": "user", "content": f"{words} " * 600}]}


@pytest.mark.parametrize(("source", "target"), [("openai-chat", RESPONSES), ("openai-chat", CHAT)])
def test_conversations_that_share_their_opening_read_it(source: str, target: str) -> None:
    """The second request marks it, and the third reads it. A first one is not marked."""
    judge, caller = CachedProvider(target), Caller(target, CacheHints.AUTO)
    found = []
    for words in ("One", "Two", "Three"):
        request = caller.compile(read(asked(words), source=source))
        found.append((judge.use(request.path, request.body)[0].read, [one.kind for one in request.changes]))
    assert [read for read, _ in found[:2]] == [0, 0]
    assert found[2][0] >= len(LONG) // 4
    assert [kinds.count("added") for _, kinds in found[:2]] == [
        found[0][1].count("added"),
        found[0][1].count("added") + 1,
    ]


def test_the_opening_is_written_alike_on_every_turn() -> None:
    """The field for system texts takes no breakpoint, so they are input from the first request on."""
    caller = Caller(RESPONSES, CacheHints.ACROSS)
    first, second = (caller.compile(read(asked(words), source="openai-chat")).json for words in ("One", "Two"))
    assert "instructions" not in first
    assert first["input"][0]["content"] == LONG
    assert second["input"][0]["content"] == [{"type": "input_text", "text": LONG, **POINT}]


def test_a_client_of_the_same_dialect_keeps_its_instructions() -> None:
    caller = Caller(RESPONSES, CacheHints.AUTO)
    body = {"instructions": LONG, "input": "Hi " * 600}
    caller.compile(read(body, source="openai-responses"))
    assert caller.compile(read(body, source="openai-responses")).json["instructions"] == LONG


@pytest.mark.parametrize("mode", ["implicit", "explicit"])
def test_turns_are_marked_beside_breakpoints_of_the_client(mode: str) -> None:
    """Who sets a breakpoint expects one at the end of the prompt as well, unless its request says otherwise."""
    caller, output = Caller(CLAUDE, CacheHints.ACROSS), "12 " * 400
    body = responses_request(prompt_cache_options={"mode": mode})
    body["input"][1]["content"][0]["text"] = LONG
    body["input"] += [
        {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_1", "output": output},
    ]
    body["tools"] = [{"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}]
    done = caller.compile(read(body, source="openai-responses")).json
    assert "cache_control" in done["system"][0]
    assert ["cache_control" in one["content"][-1] for one in done["messages"]] == [
        mode == "implicit",
        False,
        mode == "implicit",
    ]
    assert "cache_control" not in done["tools"][0]
