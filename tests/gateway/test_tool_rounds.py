"""A tool that the target lacks is run by the gateway, and the client gets all rounds as one answer in its own form."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from google.genai import types
from msgspec.structs import replace
from tests.gateway.running import Running, gateway, provider, wait_for
from tests.gateway.upstream import Answer, Seen, refusal, upstream

from dragoman.conversation.failures import Failure
from dragoman.conversation.literals import quote
from dragoman.conversation.provider_tools import Family, FoundPage, McpServer, ProviderTool, ToolRun
from dragoman.conversation.tools import Tool
from dragoman.emulators.signatures import mint
from dragoman.engine.tool_runs import wanted_tools
from dragoman.engine.tool_runs.run_functions import runnable_tool
from dragoman.engine.tool_runs.run_limits import RunLimits
from dragoman.store.contracts.budgets import Period, PeriodBudget

FACT = "The bridge is 1312 metres long."
PAGE = FoundPage("https://example.com/bridge", "The bridge", FACT)
SIGNATURE = mint("anthropic/claude-sonnet-4-5", "I should look.")
ASKED = "How long is the bridge?"
PROFILES = {"p": "openai", "q": "deepseek", "s": "mistral"}


class StubRunner:
    """Finds one page, whatever is asked, and has one server with two tools."""

    families = frozenset({Family.WEB_SEARCH, Family.WEB_FETCH, Family.MCP})

    def __init__(self, **limits: Any) -> None:
        self.limits = RunLimits(**limits)
        self.ran: list[tuple[str, ProviderTool, ToolRun]] = []
        self.error = ""
        self.text = FACT
        self.servers: tuple[McpServer, ...] = ()
        self.offers = True

    def offered(self, caller: str, named: tuple[str, ...]) -> tuple[McpServer, ...]:
        return self.servers

    async def list_tools(self, caller: str, server: McpServer) -> tuple[Tool, ...] | Failure:
        return Tool("look.up", b'"Looks it up."', b'{"type":"object"}'), Tool("add", b'"Adds."', b'{"type":"object"}')

    async def run(self, caller: str, tool: ProviderTool, call: ToolRun) -> ToolRun:
        self.ran.append((caller, tool, call))
        if tool.family is Family.MCP:
            return replace(call, output=FACT)
        return (
            replace(call, pages=(replace(PAGE, text=self.text),))
            if not self.error
            else replace(call, error=self.error, output="No.")
        )

    def cost(self, tool: ProviderTool) -> float:
        return 0.01


def chat(content: str | None, *calls: tuple[str, dict[str, Any]], tokens: int = 10) -> dict[str, Any]:
    """A whole answer of a Chat model."""
    made = [
        {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for number, (name, arguments) in enumerate(calls)
    ]
    message = {"role": "assistant", "content": content, **({"tool_calls": made} if made else {})}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if made else "stop"}],
        "usage": {"prompt_tokens": tokens, "completion_tokens": 5, "total_tokens": tokens + 5},
    }


def streamed(answer: dict[str, Any]) -> tuple[bytes, ...]:
    """The same answer as a stream."""
    choice = answer["choices"][0]
    message, chunks = choice["message"], []
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    if message.get("reasoning_content"):
        thoughts = {"reasoning_content": message["reasoning_content"]}
        chunks.append({"choices": [{"index": 0, "delta": thoughts, "finish_reason": None}]})
    if message["content"]:
        chunks.append({"choices": [{"index": 0, "delta": {"content": message["content"]}, "finish_reason": None}]})
    for index, call in enumerate(message.get("tool_calls", ())):
        delta = {"tool_calls": [{"index": index, **call}]}
        chunks.append({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]})
    chunks.append({"choices": [], "usage": answer["usage"]})
    return (*[b"data: " + json.dumps({**head, **chunk}).encode() + b"\n\n" for chunk in chunks], b"data: [DONE]\n\n")


def searching(seen: Seen) -> dict[str, Any]:
    """Searches once, and then tells what was found."""
    results = [one["content"] for one in seen.body["messages"] if one["role"] == "tool"]
    if results:
        return chat(f"It says: {results[-1]}", tokens=30)
    return chat("Let me search.", ("web_search", {"query": "bridge length"}), tokens=20)


@contextmanager
def running(
    folder: Path, answer: Callable[[Seen], dict[str, Any]] = searching, runner: StubRunner | None = None, **more: Any
) -> Iterator[tuple[Running, StubRunner, list[Seen]]]:
    def answered(seen: Seen) -> Answer:
        made = answer(seen)
        if made is None:
            return 503, refusal("Try again.")
        return 200, streamed(made) if seen.body.get("stream") else made

    with upstream(answered) as behind:
        providers = {name: provider(profile, behind.url) for name, profile in PROFILES.items()}
        models = {"m": {"target": "p/gpt-4o"}, "other": {"target": "q/deepseek-chat"}, "strict": {"target": "s/any"}}
        config = {"providers": providers, "models": models, **more}
        with gateway(config, folder) as one:
            found = one.services.dispatcher.tools = runner or StubRunner()
            yield one, found, behind.seen


ANTHROPIC = [{"type": "web_search_20250305", "name": "web_search", "max_uses": 5, "allowed_domains": ["example.com"]}]


@pytest.mark.parametrize("stream", [False, True])
def test_a_search_is_run_and_shown_as_anthropic_shows_it(tmp_path: Path, stream: bool) -> None:
    with running(tmp_path) as (one, runner, seen):
        asked: dict[str, Any] = {
            "model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": ASKED}], "tools": ANTHROPIC,
        }  # fmt: skip
        if stream:
            with one.anthropic().messages.stream(**asked) as events:
                answer = events.get_final_message()
        else:
            answer = one.anthropic().messages.create(**asked)
    assert [block.type for block in answer.content] == ["text", "server_tool_use", "web_search_tool_result", "text"]
    _, call, result, words = answer.content
    assert call.name == "web_search"
    assert call.input == {"query": "bridge length"}
    assert result.tool_use_id == call.id
    assert call.id.startswith("srvtoolu_")
    assert [(page.url, page.title) for page in result.content] == [(PAGE.url, PAGE.title)]
    assert FACT in words.text
    assert PAGE.url in words.text
    assert answer.stop_reason == "end_turn"
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (50, 10)
    assert answer.usage.server_tool_use.web_search_requests == 1
    assert [(caller, tool.allowed_domains) for caller, tool, _ in runner.ran] == [("", ("example.com",))]
    first, second = [one.body for one in seen]
    assert [tool["function"]["name"] for tool in first["tools"]] == ["web_search"]
    assert second["tools"] == first["tools"]
    assert [one["role"] for one in second["messages"]] == ["user", "assistant", "tool"]
    assert second["messages"][1]["tool_calls"][0]["id"] == second["messages"][2]["tool_call_id"] == "call_0"


@pytest.mark.parametrize("stream", [False, True])
def test_a_search_is_run_and_shown_as_openai_shows_it(tmp_path: Path, stream: bool) -> None:
    with running(tmp_path) as (one, _, _):
        asked: dict[str, Any] = {"model": "m", "input": ASKED, "tools": [{"type": "web_search"}]}
        if stream:
            with one.openai().responses.stream(**asked) as events:
                for _ in events:
                    pass
                answer = events.get_final_response()
        else:
            answer = one.openai().responses.create(**asked)
    assert [item.type for item in answer.output] == ["message", "web_search_call", "message"]
    search = answer.output[1]
    assert search.action.query == "bridge length"
    assert search.status == "completed"
    words = answer.output[2].content[0]
    assert FACT in words.text
    (cited,) = words.annotations
    assert (cited.url, words.text[cited.start_index : cited.end_index]) == (PAGE.url, PAGE.url)
    assert answer.status == "completed"
    assert answer.usage.total_tokens == 60


def endless(seen: Seen) -> dict[str, Any]:
    """Never has enough."""
    return chat(None, ("web_search", {"query": "more"}))


@pytest.mark.parametrize(("most", "ran"), [(2, 2), (0, 0), (None, 3)])
def test_a_client_bounds_the_runs_of_an_answer(tmp_path: Path, most: int | None, ran: int) -> None:
    request = {"model": "m", "input": ASKED, "tools": [{"type": "web_search"}], "max_tool_calls": most}
    with running(tmp_path, endless, StubRunner(rounds=3)) as (one, runner, _):
        answer = one.post("/v1/responses", request)
    assert answer.status_code == 200
    assert len(runner.ran) == ran
    assert "refused-setting" not in answer.headers.get("x-dragoman-changes", ""), "it is kept to"


def test_a_bound_that_is_not_kept_to_for_all_tools_is_reported(tmp_path: Path) -> None:
    tools = [{"type": "web_search"}, {"type": "code_interpreter", "container": {"type": "auto"}}]
    request = {"model": "other", "input": ASKED, "tools": tools, "max_tool_calls": 2}
    with running(tmp_path, endless, StubRunner(rounds=3)) as (one, _, _):
        answer = one.post("/v1/responses", request)
    assert "refused-setting" in answer.headers["x-dragoman-changes"]


@pytest.mark.parametrize("stream", [False, True])
def test_a_call_that_was_cut_off_ends_the_answer(tmp_path: Path, stream: bool) -> None:
    def cut_off(seen: Seen) -> dict[str, Any]:
        made = endless(seen)
        choice = made["choices"][0]
        choice["message"] |= {"content": "Let me"}
        choice["message"]["tool_calls"][0]["function"]["arguments"] = '{"query": "bri'
        return {**made, "choices": [{**choice, "finish_reason": "length"}]}

    with running(tmp_path, cut_off) as (one, runner, seen):
        request = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": ASKED}], "stream": stream}
        answer = one.post("/v1/messages", {**request, "tools": ANTHROPIC}).text
    assert (len(seen), runner.ran) == (1, [])
    assert '"stop_reason":"max_tokens"' in answer
    assert "Let me" in answer
    assert '"type":"server_tool_use"' not in answer


def asked(one: Running, **more: Any) -> Any:
    turns = [{"role": "user", "content": ASKED}]
    return one.anthropic().messages.create(model="m", max_tokens=100, messages=turns, **{"tools": ANTHROPIC, **more})


def test_rounds_have_a_limit_and_the_answer_pauses(tmp_path: Path) -> None:
    with running(tmp_path, endless, StubRunner(rounds=2)) as (one, runner, seen):
        answer = asked(one)
    assert len(runner.ran) == 2
    assert len(seen) == 4
    results = [block.content for block in answer.content if block.type == "web_search_tool_result"]
    assert [getattr(one, "error_code", "found") for one in results] == ["found", "found", *["max_uses_exceeded"] * 2]
    assert answer.stop_reason == "pause_turn"


@pytest.mark.parametrize(
    ("limits", "uses"),
    [({"calls": 1}, 9), ({}, 1), ({"cost": 0.005}, 9), ({"total_bytes": 256, "bytes": 256}, 9)],
    ids=["calls", "max_uses", "cost", "bytes"],
)
def test_runs_have_limits_and_the_model_is_told(tmp_path: Path, limits: dict[str, Any], uses: int) -> None:
    def twice(seen: Seen) -> dict[str, Any]:
        done = sum(one["role"] == "tool" for one in seen.body["messages"])
        return chat("Enough.") if done == 2 else chat(None, ("web_search", {"query": "more"}))

    runner = StubRunner(**limits)
    runner.text = "x" * 300 if "bytes" in limits else FACT
    with running(tmp_path, twice, runner) as (one, runner, seen):
        answer = asked(one, tools=[{**ANTHROPIC[0], "max_uses": uses}])
    assert len(runner.ran) == 1
    assert answer.stop_reason == "end_turn"
    told = [one["content"] for one in seen[-1].body["messages"] if one["role"] == "tool"]
    assert "cannot be used again" in told[1]
    assert len(told[0]) < 400


def test_calls_of_the_client_end_the_answer_once_ours_are_run(tmp_path: Path) -> None:
    def both(seen: Seen) -> dict[str, Any]:
        return chat(None, ("edit", {"path": "a"}), ("web_search", {"query": "bridge"}))

    edit = {"name": "edit", "input_schema": {"type": "object"}}
    with running(tmp_path, both) as (one, runner, seen):
        answer = asked(one, tools=[*ANTHROPIC, edit])
    assert [block.type for block in answer.content] == ["tool_use", "server_tool_use", "web_search_tool_result"]
    assert answer.content[0].name == "edit"
    assert answer.stop_reason == "tool_use"
    assert len(seen) == len(runner.ran) == 1


def test_a_run_that_fails_is_told_to_the_model_and_to_the_client(tmp_path: Path) -> None:
    runner = StubRunner()
    runner.error = "unavailable"
    with running(tmp_path, runner=runner) as (one, _, seen):
        answer = asked(one)
    assert answer.content[2].content.error_code == "unavailable"
    assert seen[1].body["messages"][2]["content"] == "[error] No."


def test_without_a_runner_the_tool_is_left_out_and_reported(tmp_path: Path) -> None:
    with running(tmp_path, lambda seen: chat("I cannot search.")) as (one, _, seen):
        one.services.dispatcher.tools = None
        turns = [{"role": "user", "content": ASKED}]
        answer = one.post("/v1/messages", {"model": "other", "max_tokens": 9, "messages": turns, "tools": ANTHROPIC})
    assert "native-tool" in answer.headers["x-dragoman-changes"]
    assert "tools" not in seen[0].body


@pytest.mark.parametrize("runner", [True, False])
def test_the_providers_other_api_has_the_tool_if_nobody_runs_it(tmp_path: Path, runner: bool) -> None:
    with running(tmp_path) as (one, _, seen):
        if not runner:
            one.services.dispatcher.tools = None
        turns = [{"role": "user", "content": ASKED}]
        one.post("/v1/messages", {"model": "m", "max_tokens": 9, "messages": turns, "tools": ANTHROPIC})
    assert seen[0].path == ("/v1/chat/completions" if runner else "/v1/responses")
    assert seen[0].body["tools"][0]["type"] == ("function" if runner else "web_search")


SERVER = {"type": "mcp", "server_label": "docs", "server_url": "https://docs.test/mcp"}
DECLARED_OTHERWISE: dict[str, tuple[str, dict[str, Any], str]] = {
    "options of a search": (
        "/v1/chat/completions",
        {"messages": [{"role": "user", "content": ASKED}], "web_search_options": {}},
        "web_search",
    ),
    "a server without a toolset": (
        "/v1/messages",
        {
            "max_tokens": 9,
            "messages": [{"role": "user", "content": ASKED}],
            "mcp_servers": [{"type": "url", "name": "docs", "url": "https://docs.example"}],
        },
        "docs__look_up",
    ),
    "a server among the tools of Chat": (
        "/v1/chat/completions",
        {
            "messages": [{"role": "user", "content": ASKED}],
            "tools": [{**SERVER, "require_approval": "never"}],
        },
        "docs__look_up",
    ),
}


@pytest.mark.parametrize("model", ["m", "strict"])
@pytest.mark.parametrize("name", DECLARED_OTHERWISE)
def test_a_tool_that_is_declared_in_another_way_is_run(tmp_path: Path, name: str, model: str) -> None:
    path, asked, function = DECLARED_OTHERWISE[name]

    def answer(seen: Seen) -> dict[str, Any]:
        done = any(turn["role"] == "tool" for turn in seen.body["messages"])
        return chat("Done.") if done else chat("", (function, {"query": "bridge"}))

    with running(tmp_path, answer) as (one, runner, seen):
        answered = one.post(path, {"model": model, **asked})
    assert "client-tool;n=1" in answered.headers["x-dragoman-changes"]
    assert not re.search("refused-setting|foreign-field", answered.headers["x-dragoman-changes"]), (
        "nothing was left out"
    )
    assert function in [tool["function"]["name"] for tool in seen[0].body["tools"]]
    assert not {"web_search_options", "mcp_servers"} & set(seen[0].body)
    assert len(runner.ran) == 1
    assert len(seen) == 2


def test_the_ledger_books_every_round_and_tells_what_was_run(tmp_path: Path) -> None:
    price = {"input": 1000, "output": 1000}
    with running(tmp_path, models={"m": {"target": "p/gpt-4o", "price": price}}) as (one, _, _):
        turns = [{"role": "user", "content": ASKED}]
        answer = one.post("/v1/messages", {"model": "m", "max_tokens": 9, "messages": turns, "tools": ANTHROPIC})
        one.entry(answer)
        rows = list(one.services.records.recent._entries)
        counted = one.get("/metrics").text
    assert [row.id.rpartition(".")[2] for row in rows][1:] == ["2"]
    assert [row.input_tokens for row in rows] == [20, 30]
    assert rows[1].duration < rows[0].duration
    assert rows[1].ttfb is None
    assert [row.cost for row in rows] == [pytest.approx(0.025 + 0.01), pytest.approx(0.035)]
    (run,) = [change for change in json.loads(rows[0].changes) if change["rule"] == "tool-run"]
    assert re.fullmatch(r"ran web_search \(\d+\.\d\d s, \d+ bytes, cost 0\.01\)", run["did"])
    assert (run["at"], run["kind"]) == ("/tools/0", "added")
    assert answer.headers["x-dragoman-added"] == "tool-run;n=1"
    assert float(answer.headers["x-dragoman-cost"]) == pytest.approx(0.07)
    assert 'dragoman_tool_runs_total{family="web-search",outcome="done"} 1' in counted


PRICED = {"m": {"target": "p/gpt-4o", "price": {"input": 1000, "output": 1000}}}
"""A round costs 0.015, and a search 0.01."""


def with_budget(limit: float) -> dict[str, Any]:
    return {"models": PRICED, "keys": {"ann": {"sha256": sha256(b"sk-ann").hexdigest(), "budget": {"total": limit}}}}


def spent_by_ann(one: Running) -> float:
    wait_for(lambda: one.busy() == (0, 0))
    (spent,) = one.do(lambda: one.services.store.budgets.reserve("ann", (PeriodBudget(Period.TOTAL, "total"),), 0.0))
    return spent


@pytest.mark.parametrize("stream", [False, True])
def test_a_spent_budget_ends_the_rounds_and_the_client_is_told(tmp_path: Path, stream: bool) -> None:
    given: Any = {"model": "m", "max_tokens": 9, "tools": ANTHROPIC, "messages": [{"role": "user", "content": ASKED}]}
    with running(tmp_path, endless, **with_budget(0.075)) as (one, runner, seen):
        client = one.anthropic().with_options(api_key="sk-ann")
        if stream:
            with client.messages.stream(**given) as events:
                answer = events.get_final_message()
        else:
            answer = client.messages.create(**given)
        spent = spent_by_ann(one)  # waits until the request is over, and in the ledger
        rows = list(one.services.records.recent._entries)
    assert (len(seen), len(runner.ran)) == (3, 2), "0.015 + 0.01 for each round, and the fourth has no room"
    *_, failed, words = answer.content
    assert failed.type == "web_search_tool_result"
    assert failed.content.error_code == "unavailable"
    assert words.text.startswith("[No further tools were run: the key's budget of 0.075 in total is spent")
    assert answer.stop_reason == "pause_turn"
    (last,) = [json.loads(row.changes)[-1] for row in rows[-1:]]
    assert (last["rule"], last["did"]) == ("tool-run", "did not run web_search: the key's budget is spent")
    assert spent == pytest.approx(0.065)


@pytest.mark.parametrize("client", ["chat", "responses"])
def test_openai_clients_are_told_of_a_spent_budget_in_words(tmp_path: Path, client: str) -> None:
    with running(tmp_path, endless, **with_budget(0.029)) as (one, runner, seen):
        sdk = one.openai().with_options(api_key="sk-ann")
        if client == "chat":
            turns: Any = [{"role": "user", "content": ASKED}]
            chosen = sdk.chat.completions.create(model="m", messages=turns, web_search_options={}).choices[0]
            words = chosen.message.content
        else:
            answer = sdk.responses.create(model="m", input=ASKED, tools=[{"type": "web_search"}])
            assert [item.type for item in answer.output] == ["web_search_call", "message"]
            assert answer.output[0].status == "failed"
            words = answer.output_text
    assert (len(seen), runner.ran) == (1, [])
    assert words.startswith("[No further tools were run: the key's budget")


def test_a_budget_with_room_for_all_rounds_changes_nothing(tmp_path: Path) -> None:
    with running(tmp_path, **with_budget(10)) as (one, runner, seen):
        turns: Any = [{"role": "user", "content": ASKED}]
        client = one.anthropic().with_options(api_key="sk-ann")
        answer = client.messages.create(model="m", max_tokens=9, messages=turns, tools=ANTHROPIC)
        spent = spent_by_ann(one)
    assert (answer.stop_reason, len(runner.ran), len(seen)) == ("end_turn", 1, 2)
    assert spent == pytest.approx(0.07), "what the ledger says, once"


def test_a_round_is_tried_again_while_nothing_of_it_was_sent(tmp_path: Path) -> None:
    failed: list[bool] = []

    def once(seen: Seen) -> Any:
        is_second = any(one["role"] == "tool" for one in seen.body["messages"])
        if is_second and not failed:
            failed.append(True)
            return None
        return searching(seen)

    with running(tmp_path, once) as (one, runner, seen):
        answer = asked(one)
    assert FACT in answer.content[-1].text
    assert len(runner.ran) == 1
    assert len(seen) == 3


def roles(seen: Seen) -> list[str]:
    return [one["role"] for one in seen.body["messages"]]


def test_the_next_turn_brings_back_the_call_and_the_result_that_the_model_saw(tmp_path: Path) -> None:
    with running(tmp_path) as (one, _, seen):
        first = asked(one)
        turns: list[Any] = [
            {"role": "user", "content": ASKED},
            {"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in first.content]},
            {"role": "user", "content": "And how wide?"},
        ]
        one.anthropic().messages.create(model="m", max_tokens=9, messages=turns, tools=ANTHROPIC)
    last = seen[-1].body["messages"]
    assert roles(seen[-1]) == ["user", "assistant", "tool", "assistant", "user"]
    assert last[1:3] == seen[1].body["messages"][1:3]
    assert "dragoman" not in seen[-1].raw.decode()
    assert seen[-1].body["tools"] == seen[0].body["tools"]


def test_a_responses_client_brings_no_result_and_the_model_sees_it_all_the_same(tmp_path: Path) -> None:
    def twice(seen: Seen) -> dict[str, Any]:
        done = sum(one["role"] == "tool" for one in seen.body["messages"])
        if done == 2:
            return chat("Both found.")
        return chat(None, ("web_search", {"query": "a"}), ("web_search", {"query": "b"}))

    tools: list[Any] = [{"type": "web_search"}]
    with running(tmp_path, twice) as (one, _, seen):
        first = one.openai().responses.create(model="m", input=ASKED, tools=tools, store=False)
        items: list[Any] = [{"role": "user", "content": ASKED}, *[item.model_dump() for item in first.output]]
        again = [*items, {"role": "user", "content": "And how wide?"}]
        one.openai().responses.create(model="m", input=again, tools=tools, store=False)
    assert [item.type for item in first.output] == ["web_search_call", "web_search_call", "message"]
    assert roles(seen[1]) == ["user", "assistant", "tool", "tool"]
    assert roles(seen[2]) == ["user", "assistant", "tool", "tool", "assistant", "user"]
    assert seen[2].body["messages"][1:4] == seen[1].body["messages"][1:4]


def ask_by_responses(one: Running, turns: list[Any]) -> None:
    items = [item for turn in turns for item in (turn if isinstance(turn, list) else [turn])]
    answer = one.openai().responses.create(model="m", input=items, tools=[{"type": "web_search"}], store=False)
    turns.append([item.model_dump() for item in answer.output])


def ask_by_anthropic(one: Running, turns: list[Any]) -> None:
    answer = one.anthropic().messages.create(model="m", max_tokens=99, messages=turns, tools=ANTHROPIC)
    turns.append({"role": "assistant", "content": answer.to_dict()["content"]})


@pytest.mark.parametrize("ask", [ask_by_responses, ask_by_anthropic])
@pytest.mark.parametrize("repeats", [False, True], ids=["ids of their own", "the same ids in each round"])
def test_rounds_that_follow_each_other_stay_apart_on_the_next_turns(
    tmp_path: Path, repeats: bool, ask: Callable[[Running, list[Any]], None]
) -> None:
    """Two rounds without words between them, of two searches and of one, and once more on the second turn."""

    def often(seen: Seen) -> dict[str, Any]:
        done = sum(one["role"] == "tool" for one in seen.body["messages"])
        is_new, queries = roles(seen)[-1] == "user", [f"a{done}", f"b{done}"]
        if done % 3 == 0 and not is_new:
            return chat("Found.")
        answer = chat(None, *[("web_search", {"query": query}) for query in (queries if is_new else queries[:1])])
        for number, call in enumerate(answer["choices"][0]["message"]["tool_calls"]):
            call["id"] = f"call_{0 if repeats else done}_{number}"
        return answer

    turns: list[Any] = []
    with running(tmp_path, often) as (one, runner, seen):
        for question in (ASKED, "And how wide?", "Thanks."):
            turns.append({"role": "user", "content": question})
            ask(one, turns)
    shown = [call.id for _, _, call in runner.ran]
    assert len(set(shown)) == len(shown) == 9
    turn = ["user", "assistant", "tool", "tool", "assistant", "tool"]
    assert roles(seen[2]) == turn
    assert roles(seen[-1]) == [*turn, "assistant", *turn, "assistant", *turn]
    calls = [call for one in seen[-1].body["messages"] for call in one.get("tool_calls", ())]
    asked = [json.loads(call["function"]["arguments"])["query"] for call in calls]
    assert asked == ["a0", "b0", "a2", "a3", "b3", "a5", "a6", "b6", "a8"]
    sent = [[{name: value for name, value in one.items() if value} for one in each.body["messages"]] for each in seen]
    for before, after in pairwise(sent):
        assert after[: len(before)] == before


def test_two_calls_of_one_round_with_one_id_are_two_runs(tmp_path: Path) -> None:
    def both(seen: Seen) -> dict[str, Any]:
        answer = searching(seen)
        calls = answer["choices"][0]["message"].get("tool_calls", [])
        second = {"name": "web_search", "arguments": '{"query":"bridge width"}'}
        calls += [{**call, "function": second} for call in calls]
        return answer

    with running(tmp_path, both) as (one, runner, seen):
        answer = asked(one)
    assert [json.loads(call.arguments)["query"] for _, _, call in runner.ran] == ["bridge length", "bridge width"]
    ids = [block.id for block in answer.content if block.type == "server_tool_use"]
    assert len(set(ids)) == 2
    assert roles(seen[1]) == ["user", "assistant", "tool", "tool"]


def test_what_was_kept_for_one_key_is_not_for_another(tmp_path: Path) -> None:
    secrets = {name: f"sk-{name}-0123456789abcdef0123" for name in ("ann", "ben")}
    keys = {name: {"sha256": sha256(secret.encode()).hexdigest()} for name, secret in secrets.items()}
    tools: list[Any] = [{"type": "web_search"}]
    with running(tmp_path, keys=keys) as (one, runner, seen):
        ann, ben = (one.openai(secret).responses for secret in secrets.values())
        first = ann.create(model="m", input=ASKED, tools=tools, store=False)
        items: list[Any] = [{"role": "user", "content": ASKED}, *[item.model_dump() for item in first.output]]
        ben.create(model="m", input=[*items, {"role": "user", "content": "So?"}], tools=tools, store=False)
    assert [caller for caller, *_ in runner.ran] == ["ann", "ben"]
    assert "tool" not in roles(seen[2])


def test_without_the_tool_what_was_found_is_text(tmp_path: Path) -> None:
    with running(tmp_path) as (one, _, seen):
        first = asked(one)
        turns: list[Any] = [
            {"role": "user", "content": ASKED},
            {"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in first.content]},
            {"role": "user", "content": "And how wide?"},
        ]
        one.anthropic().messages.create(model="m", max_tokens=9, messages=turns)
    assert roles(seen[-1]) == ["user", "assistant", "user"]
    told = json.dumps(seen[-1].body["messages"][1]["content"])
    assert FACT in told
    assert PAGE.url in told
    assert "bridge length" in told
    assert seen[-1].raw.count(b"encrypted") == 0


def thinking(seen: Seen) -> dict[str, Any]:
    """A model of Anthropic that thinks before it searches."""
    done = seen.body["messages"][-1]["role"] == "user" and "tool_result" in json.dumps(seen.body["messages"][-1])
    thought = {"type": "thinking", "thinking": "I should look.", "signature": SIGNATURE}
    call = {"type": "tool_use", "id": "toolu_1", "name": "web_search", "input": {"query": "bridge"}}
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": "1312 metres."}] if done else [thought, call],
        "stop_reason": "end_turn" if done else "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 5},
    }


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/responses"])
def test_a_model_that_thinks_gets_its_signature_back_in_the_next_round(tmp_path: Path, path: str) -> None:
    with upstream(lambda seen: (200, thinking(seen))) as behind:
        lacking = {"native_tools": []}
        claude = provider("anthropic", behind.url.removesuffix("/v1"), facts=lacking)
        config = {"providers": {"p": claude}, "models": {"m": {"target": "p/claude-sonnet-4-5"}}}
        with gateway(config, tmp_path) as one:
            runner = one.services.dispatcher.tools = StubRunner()
            runner.servers = (McpServer("docs"),)
            tools = {"/v1/messages": ANTHROPIC, "/v1/responses": [{"type": "web_search"}]}
            asked = {"model": "m", "max_tokens": 2000, "messages": [{"role": "user", "content": ASKED}]}
            if path == "/v1/responses":
                asked = {"model": "m", "input": ASKED}
            thinks = {"thinking": {"type": "enabled", "budget_tokens": 1024}} if path == "/v1/messages" else {}
            answer = one.post(path, {**asked, **thinks, "tools": tools[path]})
    assert answer.status_code == 200, answer.text
    first, second = behind.bodies()
    names = [tool["name"] for tool in first["tools"]]
    assert names[-2:] == ["docs__add", "docs__look_up"]
    assert [tool["name"] for tool in second["tools"]] == names
    assert [block["type"] for block in second["messages"][1]["content"]] == ["thinking", "tool_use"]
    assert second["messages"][1]["content"][0]["signature"] == SIGNATURE
    assert second["messages"][2]["content"][0]["tool_use_id"] == "toolu_1"


MANY = [
    {
        "name": f"tool_{number}",
        "description": f"Does thing {number}.",
        "input_schema": {"type": "object", "properties": {"size": {"type": "string"}}},
        "defer_loading": True,
    }
    for number in range(300)
]
WEATHER = {**MANY[0], "name": "read_weather", "description": "Tells how warm it is in a city."}
WIND = {**MANY[0], "name": "read_wind", "description": "Tells the weather at sea."}
SEARCH_TOOL = {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"}
EDIT = {"name": "edit", "input_schema": {"type": "object", "properties": {}}}


def names(seen: Seen) -> list[str]:
    return [tool["function"]["name"] for tool in seen.body["tools"]]


@pytest.mark.parametrize("kept", [True, False])
def test_deferred_tools_are_held_back_until_they_are_found(tmp_path: Path, kept: bool) -> None:
    def weather(seen: Seen) -> dict[str, Any]:
        results = [one["content"] for one in seen.body["messages"] if one["role"] == "tool"]
        if not results:
            return chat(None, ("tool_search", {"query": "how warm is it, weather"}))
        return chat("Warm.") if "30 degrees" in results else chat(None, ("read_weather", {"city": "Rome"}))

    tools: list[Any] = [SEARCH_TOOL, EDIT, *MANY, WIND, WEATHER]
    with running(tmp_path, weather) as (one, _, seen):
        one.services.dispatcher.tools = None
        first = asked(one, tools=tools)
        call = first.content[-1]
        turns: list[Any] = [
            {"role": "user", "content": ASKED},
            {"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in first.content]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": "30 degrees"}]},
        ]
        if not kept:
            turns[1]["content"] = [turns[1]["content"][-1]]
        answer = one.anthropic().messages.create(model="m", max_tokens=100, messages=turns, tools=tools)
    assert [block.type for block in first.content] == ["server_tool_use", "tool_search_tool_result", "tool_use"]
    assert next(one.tool_name for one in first.content[1].content.tool_references) == "read_weather"
    assert first.stop_reason == "tool_use"
    assert call.name == "read_weather"
    assert names(seen[0]) == ["tool_search", "edit"]
    assert names(seen[1]) == ["tool_search", "edit", "read_weather", "read_wind"]
    assert names(seen[2]) == (names(seen[1]) if kept else ["tool_search", "edit", "read_weather"])
    assert len(seen[0].raw) < 2000
    assert roles(seen[2]) == ["user", "assistant", "tool", *(["assistant", "tool"] if kept else [])]
    assert answer.content[0].text == "Warm."


def test_tools_are_not_held_back_without_the_search(tmp_path: Path) -> None:
    with running(tmp_path, lambda seen: chat("Yes.")) as (one, _, seen):
        asked(one, tools=[EDIT, *MANY[:3]])
    assert names(seen[0]) == ["edit", "tool_0", "tool_1", "tool_2"]


def looking(seen: Seen) -> dict[str, Any]:
    """Looks something up, and then tells it."""
    done = [one["content"] for one in seen.body["messages"] if one["role"] == "tool"]
    return chat(f"So: {done[0]}") if done else chat(None, ("docs__look_up", {"what": "bridge"}))


@pytest.mark.parametrize("approve", [True, False])
def test_a_call_that_needs_approval_is_run_once_the_client_approves(tmp_path: Path, approve: bool) -> None:
    with running(tmp_path, looking) as (one, runner, _):
        post = lambda items: one.post("/v1/responses", {"model": "m", "input": items, "tools": [SERVER]}).json()  # noqa: E731
        items: list[Any] = [{"role": "user", "content": ASKED}]
        first = post(items)
        assert runner.ran == []
        listing, asking = first["output"]
        items += [
            listing,
            asking,
            {"type": "mcp_approval_response", "approval_request_id": asking["id"], "approve": approve},
        ]
        second = post(items)
        ran = len(runner.ran)
        again = post([*items, *second["output"], {"role": "user", "content": "Look again."}])
    assert asking["type"] == "mcp_approval_request"
    assert (asking["server_label"], asking["name"], json.loads(asking["arguments"])) == (
        "docs", "look.up", {"what": "bridge"},
    )  # fmt: skip
    assert first["status"] == "completed"
    assert [item["type"] for item in second["output"]] == (["mcp_call", "message"] if approve else ["message"])
    assert ran == len(runner.ran) == int(approve)
    assert again["output"][-1]["type"] == "message"


def approvals(count: int) -> list[Any]:
    """Questions that a client claims it was asked, each with its yes."""
    items: list[Any] = [{"role": "user", "content": ASKED}]
    for number in range(count):
        asking = {"type": "mcp_approval_request", "id": f"mcpr_{number}", "server_label": "docs", "name": "look.up"}
        items += [{**asking, "arguments": "{}"}]
        items += [{"type": "mcp_approval_response", "approval_request_id": f"mcpr_{number}", "approve": True}]
    return items


def test_not_more_approved_calls_are_run_than_an_answer_may_have(tmp_path: Path) -> None:
    with running(tmp_path, looking, StubRunner(calls=3)) as (one, runner, seen):
        answer = one.post("/v1/responses", {"model": "m", "input": approvals(9), "tools": [SERVER]})
    assert answer.status_code == 200, answer.text
    assert len(runner.ran) == 3
    results = [message["content"] for message in seen[0].body["messages"] if message["role"] == "tool"]
    assert [FACT in result for result in results] == [True] * 3 + [False] * 6


def test_a_dry_run_and_a_count_run_nothing_that_was_approved(tmp_path: Path) -> None:
    request = {"model": "m", "input": approvals(1), "tools": [SERVER]}
    with running(tmp_path, looking) as (one, runner, seen):
        shown = one.post("/dragoman/adapt", {"request": request, "from": "openai-responses", "to": "m"})
        counted = one.post("/v1/responses/input_tokens", request)
    assert (shown.status_code, counted.status_code) == (200, 200), (shown.text, counted.text)
    assert "nothing is run as long as nothing is sent" in shown.text
    assert runner.ran == []
    assert seen == []


def test_lists_of_tools_have_one_time_for_all(tmp_path: Path) -> None:
    class SlowRunner(StubRunner):
        async def list_tools(self, caller: str, server: McpServer) -> tuple[Tool, ...] | Failure:
            await asyncio.sleep(3600)
            return ()

    servers = [{**SERVER, "server_label": f"docs{number}"} for number in range(50)]
    with running(tmp_path, looking, SlowRunner(seconds=0.05)) as (one, _, seen):
        answer = one.post("/v1/responses", {"model": "m", "input": ASKED, "tools": servers})
    assert answer.status_code == 424
    assert "took longer than 0.05 seconds" in answer.json()["error"]["message"]
    assert seen == []


class LongRunner(StubRunner):
    """Its servers describe their tools at length."""

    async def list_tools(self, caller: str, server: McpServer) -> tuple[Tool, ...] | Failure:
        return (Tool("look.up", quote("word " * 20_000), b'{"type":"object"}'),)


def test_lists_of_tools_have_one_size_for_all(tmp_path: Path) -> None:
    """One server, named fifty times, would be in the request fifty times."""
    servers = [{**SERVER, "server_label": f"docs{number}"} for number in range(50)]
    with running(tmp_path, looking, LongRunner(listed_bytes=1_000_000)) as (one, _, seen):
        answer = one.post("/v1/responses", {"model": "m", "input": ASKED, "tools": servers})
        assert one.post("/v1/responses", {"model": "m", "input": ASKED, "tools": servers[:5]}).status_code == 200
    assert answer.status_code == 424
    assert "hold more than 1000000 bytes (tools.limits.listed_bytes)" in answer.json()["error"]["message"]
    assert len(seen) == 1


def test_long_lists_of_tools_are_worked_on_beside_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The request itself is short."""
    threads: set[str] = set()

    def noted(*given: Any, **named: Any) -> Any:
        threads.add(threading.current_thread().name)
        return runnable_tool(*given, **named)

    monkeypatch.setattr(wanted_tools, "runnable_tool", noted)
    with running(tmp_path, looking, LongRunner()) as (one, _, _):
        assert one.post("/v1/responses", {"model": "m", "input": ASKED, "tools": [SERVER]}).status_code == 200
    assert all(name.startswith("dragoman-heavy") for name in threads)
    assert threads


def test_a_client_that_cannot_be_asked_is_refused(tmp_path: Path) -> None:
    runner = StubRunner()
    runner.servers = (McpServer("docs", approved=()),)
    with running(tmp_path, looking, runner) as (one, _, seen):
        turns = [{"role": "user", "content": ASKED}]
        answer = one.post("/v1/messages", {"model": "m", "max_tokens": 9, "messages": turns})
    assert answer.status_code == 400
    assert "need the client's approval" in answer.json()["error"]["message"]
    assert seen == []


def test_tools_of_a_server_are_called_by_their_own_names(tmp_path: Path) -> None:
    server = {**SERVER, "require_approval": "never"}
    with running(tmp_path, looking) as (one, runner, _):
        answer = one.openai().responses.create(model="m", input=ASKED, tools=[server])  # type: ignore[list-item]
    assert [(call.server, call.name, call.arguments) for _, _, call in runner.ran] == [
        ("docs", "look.up", b'{"what": "bridge"}')
    ]
    listing, item, words = answer.output
    assert (item.type, item.server_label, item.name, item.output) == ("mcp_call", "docs", "look.up", FACT)
    assert FACT in words.content[0].text
    assert (listing.type, listing.server_label, listing.error) == ("mcp_list_tools", "docs", None)
    assert [(tool.name, tool.description, tool.input_schema) for tool in listing.tools] == [
        ("add", "Adds.", {"type": "object"}),
        ("look.up", "Looks it up.", {"type": "object"}),
    ]


@pytest.mark.parametrize("seen_before", [False, True])
def test_the_tools_of_a_server_are_shown_once(tmp_path: Path, seen_before: bool) -> None:
    server = {**SERVER, "require_approval": "never"}
    listing = {"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "docs", "tools": []}
    items = [{"role": "user", "content": ASKED}, *([listing] if seen_before else [])]
    asked: dict[str, Any] = {"model": "m", "input": items, "tools": [server]}
    with running(tmp_path, looking) as (one, _, seen), one.openai().responses.stream(**asked) as events:
        kinds = [event.type for event in events]
    listed = [kind for kind in kinds if "mcp_list_tools" in kind]
    shown = [] if seen_before else ["response.mcp_list_tools.in_progress", "response.mcp_list_tools.completed"]
    assert listed == shown
    assert all("mcp_list_tools" not in json.dumps(one.body) for one in seen)


def test_tools_of_a_namespace_are_found_and_called_by_it(tmp_path: Path) -> None:
    def finding(seen: Seen) -> dict[str, Any]:
        done = any(one["role"] == "tool" for one in seen.body["messages"])
        return chat(None, ("crm__find", {"name": "Ann"}) if done else ("tool_search", {"query": "crm__find"}))

    function = {"type": "function", "name": "find", "parameters": {"type": "object"}, "defer_loading": True}
    space = {"type": "namespace", "name": "crm", "description": "Customers.", "tools": [function]}
    tools: list[Any] = [{"type": "tool_search"}, space]
    with running(tmp_path, finding) as (one, _, seen):
        answer = one.post("/v1/responses", {"model": "m", "input": ASKED, "tools": tools}).json()["output"]
    assert [item["type"] for item in answer] == ["tool_search_call", "tool_search_output", "function_call"]
    assert (answer[2]["name"], answer[2]["namespace"]) == ("find", "crm")
    assert names(seen[0]) == ["tool_search"]
    assert names(seen[1]) == ["tool_search", "crm__find"]


@pytest.mark.parametrize("stream", [False, True])
def test_a_gemini_client_gets_the_grounding_of_its_search(tmp_path: Path, stream: bool) -> None:
    def in_german(seen: Seen) -> dict[str, Any]:
        made = searching(seen)
        made["choices"][0]["message"]["content"] += " Die Brücke."
        return made

    config = types.GenerateContentConfig(tools=[types.Tool(google_search=types.GoogleSearch())])
    with running(tmp_path, in_german) as (one, _, seen):
        client = one.gemini().models
        if stream:
            chunks = list(client.generate_content_stream(model="m", contents=ASKED, config=config))
        else:
            chunks = [client.generate_content(model="m", contents=ASKED, config=config)]
    candidates = [candidate for chunk in chunks for candidate in chunk.candidates or ()]
    text = "".join(part.text or "" for one in candidates if one.content for part in one.content.parts or ())
    assert text.startswith("Let me search. Die Brücke.\n\nIt says: ")
    (grounding,) = [one.grounding_metadata for one in candidates if one.grounding_metadata]
    assert grounding.web_search_queries == ["bridge length"]
    assert [chunk.web.uri for chunk in grounding.grounding_chunks] == [PAGE.url]
    (support,) = grounding.grounding_supports
    place = support.segment
    assert text.encode()[place.start_index : place.end_index].decode() == place.text == PAGE.url
    assert support.grounding_chunk_indices == [0]
    assert len(seen) == 2


def test_a_round_that_cannot_be_had_is_the_last_event_of_the_stream(tmp_path: Path) -> None:
    def broken(seen: Seen) -> Any:
        return None if any(one["role"] == "tool" for one in seen.body["messages"]) else searching(seen)

    turns = [{"role": "user", "content": ASKED}]
    body = {"model": "m", "max_tokens": 9, "messages": turns, "tools": ANTHROPIC}
    with running(tmp_path, broken) as (one, _, _):
        whole = one.post("/v1/messages", body)
        stream = one.post("/v1/messages", {**body, "stream": True})
    assert whole.status_code == 529
    events = [line.removeprefix("event: ") for line in stream.text.splitlines() if line.startswith("event: ")]
    assert events[0] == "message_start"
    assert events[-1] == "error"
    assert "web_search_tool_result" in stream.text


# Choices, and servers of like names

LABELS = ("a", "a__look")
SERVERS = [{**SERVER, "server_label": label, "require_approval": "never"} for label in LABELS]
CHOICES: dict[str, tuple[Any, list[str], Any]] = {
    "one tool of a server": (
        {"type": "mcp", "server_label": "a", "name": "look.up"},
        ["a__add", "a__look_up", "web_search"],
        {"type": "function", "function": {"name": "a__look_up"}},
    ),
    "any tool of a server": ({"type": "mcp", "server_label": "a"}, ["a__add", "a__look_up"], "required"),
    "a server among those that may be called": (
        {"type": "allowed_tools", "mode": "required", "tools": [{"type": "mcp", "server_label": "a"}]},
        ["a__add", "a__look_up"],
        "required",
    ),
    "a search among those that may be called": (
        {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "web_search"}]},
        ["web_search"],
        "auto",
    ),
    "a tool that is not there": ({"type": "mcp", "server_label": "a", "name": "gone"}, ["a__add"], None),
}


@pytest.mark.parametrize("name", CHOICES)
def test_a_choice_of_tools_that_the_gateway_runs(tmp_path: Path, name: str) -> None:
    choice, functions, sent = CHOICES[name]
    asked = {"model": "other", "input": ASKED, "tools": [*SERVERS, {"type": "web_search"}], "tool_choice": choice}

    def answer(seen: Seen) -> dict[str, Any]:
        done = any(turn["role"] == "tool" for turn in seen.body["messages"])
        return chat("Done.") if done else chat("", (functions[-1], {"query": "bridge", "what": "bridge"}))

    with running(tmp_path, answer) as (one, runner, seen):
        assert one.post("/v1/responses", asked).status_code == 200
    named = {one["function"]["name"] for one in seen[0].body["tools"]}
    assert set(functions) <= named
    assert sent is None or sent == seen[0].body["tool_choice"]
    if isinstance(sent, str):
        assert named == set(functions)
    assert len(runner.ran) == 1
    assert seen[1].body.get("tool_choice") in (None, "auto")


def test_no_two_tools_of_servers_have_one_name(tmp_path: Path) -> None:
    class TwoServers(StubRunner):
        async def list_tools(self, caller: str, server: McpServer) -> tuple[Tool, ...] | Failure:
            return (Tool("look__up" if server.label == "a" else "up", b'"Looks."', b'{"type":"object"}'),)

    def answer(seen: Seen) -> dict[str, Any]:
        done = [turn for turn in seen.body["messages"] if turn["role"] == "tool"]
        return chat("Done.") if done else chat("", *[(name, {}) for name in names(seen)])

    with running(tmp_path, answer, TwoServers()) as (one, runner, seen):
        one.post("/v1/responses", {"model": "other", "input": ASKED, "tools": SERVERS})
    assert len(set(names(seen[0]))) == 2
    assert sorted([(call.server, call.name) for _, _, call in runner.ran]) == [("a", "look__up"), ("a__look", "up")]


def test_the_console_shows_each_run_with_its_time_size_and_cost(tmp_path: Path) -> None:
    with running(tmp_path) as (one, _, _):
        turns = [{"role": "user", "content": ASKED}]
        answer = one.post("/v1/messages", {"model": "m", "max_tokens": 9, "messages": turns, "tools": ANTHROPIC})
        one.entry(answer)
        rows = one.get("/dragoman/requests?limit=10").json()["requests"]
        shown = {row["id"]: one.get(f"/dragoman/requests/{row['id']}/view").json()["runs"] for row in rows}
    (ran,) = [run for runs in shown.values() for run in runs]
    assert len(shown) == 2
    assert (ran["name"], ran["error"], ran["cost"]) == ("web_search", "", 0.01)
    assert ran["size"] >= len(FACT)
    assert ran["seconds"] >= 0
    assert ran["did"].startswith("ran web_search (")
