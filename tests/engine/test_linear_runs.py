"""Histories that a client makes long on purpose: twice as much takes twice as many steps, which are counted."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.counted_work import count_lines

import dragoman
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import quote
from dragoman.conversation.parts import Call, Opaque, Reasoning, Text
from dragoman.conversation.provider_tools import Family, ToolRun
from dragoman.conversation.tools import Tool
from dragoman.engine.compile.request_limits import parse_ask
from dragoman.engine.tool_runs.approvals import find_answered
from dragoman.engine.tool_runs.kept_runs import find_runs, keep_run, restore_runs, seal_run
from dragoman.engine.tool_runs.tool_catalogue import search_tools
from dragoman.rules.schema.merging import JOINS

N = 60


def _responses(items: list[dict[str, Any]]) -> Conversation:
    return parse_ask("openai-responses", json.dumps({"model": "m", "input": items}).encode()).conversation


def _claude(blocks: list[dict[str, Any]]) -> Conversation:
    messages = [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": blocks}]
    return parse_ask(
        "anthropic", json.dumps({"model": "m", "max_tokens": 9, "messages": messages}).encode()
    ).conversation


def approvals(n: int) -> Callable[[], object]:
    """Questions that nobody answers, and answers to questions that nobody asked."""
    items = [
        {"type": "mcp_approval_request", "id": f"a{at}", "arguments": "{}", "name": "x", "server_label": "s"}
        for at in range(n)
    ]
    for at in range(n):
        items.append({"type": "mcp_approval_response", "approval_request_id": f"b{at}", "approve": True})
        items.append({"type": "message", "role": "assistant", "content": "Yes?"})
    conversation = _responses(items)
    return lambda: find_answered(conversation, "openai-responses")


def _kept(id: str, name: str, *thoughts: Reasoning) -> tuple[Any, ...]:
    return keep_run("round", Call(id=id, name=name, arguments=b"{}"), ToolRun(Family.MCP, id, output="found"), thoughts)


def runs_of_one_round(n: int) -> Callable[[], object]:
    """A message for each."""
    items = [
        {"type": "mcp_call", "id": f"mcp_{at}", "arguments": "{}", "name": "x", "server_label": "s", "output": "found"}
        for at in range(n)
    ]
    conversation = _responses([{"role": "user", "content": "Hello."}, *items])
    kept = {id: _kept(id, "s__x") for id in find_runs(conversation, "openai-responses")}
    return lambda: restore_runs(conversation, "openai-responses", kept, {"s__x": Tool("s__x")})


def runs_with_thoughts(n: int) -> Callable[[], object]:
    thought = Reasoning(text=Text(quote("Hm.")))
    sealed = [seal_run(_kept(f"c{at}", "web_search", thought)) for at in range(n)]
    blocks: list[dict[str, Any]] = []
    for at, state in enumerate(sealed):
        found = {"type": "web_search_result", "url": "u", "title": "t", "encrypted_content": state}
        blocks.append(
            {"type": "server_tool_use", "id": f"srvtoolu_{at}", "name": "web_search", "input": {"query": "q"}}
        )
        blocks.append({"type": "web_search_tool_result", "tool_use_id": f"srvtoolu_{at}", "content": [found]})
    conversation = _claude(blocks)
    kept = find_runs(conversation, "anthropic")
    return lambda: restore_runs(conversation, "anthropic", kept, {"web_search": Tool("web_search")})


@pytest.mark.parametrize("history", [approvals, runs_of_one_round, runs_with_thoughts])
def test_twice_the_history_takes_twice_the_steps(history: Callable[[int], Callable[[], object]]) -> None:
    once, twice = count_lines(history(N)), count_lines(history(2 * N))
    assert once > N
    assert twice < 2.2 * once


def servers(n: int) -> Callable[[], object]:
    """Toolsets, each of a server of its own."""
    request = {
        "model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello."}],
        "mcp_servers": [{"type": "url", "url": "https://a.test/", "name": f"s{at}"} for at in range(n)],
        "tools": [{"type": "mcp_toolset", "mcp_server_name": f"s{at}"} for at in range(n)],
    }  # fmt: skip
    body = json.dumps(request).encode()
    return lambda: dragoman.adapt(body, target="openai/gpt-4o", source="anthropic")


def lists_in_all_of(n: int) -> Callable[[], object]:
    """Two long lists that are joined, of words and of objects."""
    first, second = [f"a{at}" for at in range(n)], [{"b": at} for at in range(n)]
    branches = [{"required": first, "enum": [*first, *second]}, {"required": first[::-1], "enum": [*second, *first]}]
    return lambda: [join(*[branch[key] for branch in branches]) for key, join in JOINS.items() if key in branches[0]]


@pytest.mark.parametrize("request_of", [servers, lists_in_all_of])
def test_twice_the_tools_take_twice_the_steps(request_of: Callable[[int], Callable[[], object]]) -> None:
    request_of(N)()  # what is made once is made
    once, twice = count_lines(request_of(2 * N)), count_lines(request_of(4 * N))
    assert once > N
    assert twice < 2.2 * once


def test_equal_values_of_lists_in_all_of_are_found() -> None:
    some, others = ["a", 1, {"b": [2], "c": 3}], [{"c": 3, "b": [2]}, "d", 1.0]
    assert JOINS["enum"](some, others) == [1, {"b": [2], "c": 3}]
    assert JOINS["required"](some, others) == [*some, "d"]


def test_all_of_is_merged_as_far_as_anybody_writes_it() -> None:
    """Each branch is merged into all before it."""
    branches = [{"properties": {f"p{at}": {"type": "string"}}} for at in range(70)]
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "allOf": branches}}}
    request = {"model": "m", "messages": [{"role": "user", "content": "Hello."}], "tools": [tool]}
    made = dragoman.adapt(request, target="openai/gpt-4o", source="openai-chat")
    assert [change for change in made.changes if "after the first 64" in change.did and change.loses == "content"]
    assert b'"p63"' in made.body
    assert b'"p64"' not in made.body


def test_runs_of_one_round_become_one_turn() -> None:
    [_, turn] = runs_of_one_round(3)().messages  # type: ignore[attr-defined]
    [block] = turn.parts
    assert isinstance(block, Opaque)
    assert block.meant is not None
    assert [type(part).__name__ for part in block.meant] == ["Call", "Call", "Call", "Result", "Result", "Result"]


def test_a_search_reads_the_beginning_of_a_description() -> None:
    """The whole catalogue is read for each search, and a description may be as long as a request."""
    early, late = f"apple {'word ' * 100_000}", f"{'word ' * 100_000} apple"
    catalogue = [Tool("early", quote(early)), Tool("late", quote(late))]
    assert [tool.name for tool in search_tools(catalogue, "apple")] == ["early"]
