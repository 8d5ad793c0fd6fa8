"""State that the client's dialect cannot carry comes back next turn: to its issuer, for its caller (K22, X13)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, ClassVar

import pytest
from tests.event_streams import read_events
from tests.gateway.running import Running, gateway, provider

from dragoman.testing import emulator

MODELS = {
    "gemini": "gemini-3-pro-preview",
    "anthropic": "claude-sonnet-4-5",
    "openai-responses": "gpt-5.6",
    "deepseek": "deepseek-v4-flash",
    "moonshot": "kimi-k2-thinking",
    "openrouter": "anthropic/claude-sonnet-4.5",
    "groq": "openai/gpt-oss-120b",
    "openai": "gpt-4o",
}
DROPPED_ON = [
    ("deepseek/deepseek-reasoner", False),
    ("deepseek/deepseek-reasoner", True),
    ("deepseek/deepseek-chat", False),
    ("deepseek/deepseek-chat", True),
    ("stranger/whole-v4", False),
    ("stranger/streamed-v4", True),
]
"""Models that want the thinking of tool turns back, one of them if it is told to think, one unknown; and whether it
streams. The stranger's demand is learnt at the second turn."""
STRICT = ("gemini", "anthropic", "openai-responses", "openrouter")
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
CALL = {"reasoning": "They want the weather.", "calls": [{"name": "weather", "arguments": {"city": "Paris"}}]}


class Stage:
    def __init__(self, running: Running, emulators: dict[str, Any]) -> None:
        self.running = running
        self.emulators = emulators

    def sent(self, name: str) -> Any:
        """The last body that reached an emulator, which must have accepted it."""
        record = self.emulators[name].requests[-1]
        assert record.verdict == "accepted", record.error_body
        return record.body


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with ExitStack() as stack:
        emulators = {
            name: stack.enter_context(emulator(name, signatures="strict" if name in STRICT else "lenient"))
            for name in MODELS
        }
        stranger = stack.enter_context(emulator("deepseek"))
        config = {
            "providers": {name: provider(name, one.base_url) for name, one in emulators.items()}
            | {"stranger": provider("openai-compatible", stranger.base_url)},
            "models": {name: {"target": f"{name}/{model}"} for name, model in MODELS.items()}
            | {name: {"target": name} for name, _ in DROPPED_ON},
            "keys": {
                name: {"sha256": hashlib.sha256(name.encode()).hexdigest(), "admin": name == "ann"}
                for name in ("ann", "bob")
            },
        }
        yield Stage(
            stack.enter_context(gateway(config, tmp_path_factory.mktemp("vault"))), {**emulators, "stranger": stranger}
        )


class Agent:
    """A client that asks, runs the tool and asks again, and keeps only what its dialect knows."""

    path = ""

    def __init__(self, stage: Stage, key: str = "ann") -> None:
        self.stage = stage
        self.key = key
        self.turns: list[Any] = []
        self.limits: dict[str, str] = {}

    def ask(self, model: str, text: str) -> None:
        self.turns.append(self.said(text))
        self._take(self.send(model))

    def answer(self, model: str) -> None:
        self.turns += self.results()
        self._take(self.send(model))

    def send(self, model: str) -> Any:
        path = self.path.format(model=model)
        answered = self.stage.running.post(path, self.body(model), key=self.key, **self.limits)
        assert answered.status_code == 200, (model, answered.text)
        self.headers = answered.headers
        return answered.json()

    def _take(self, answer: Any) -> None:
        self.turns.append(self.kept(answer))

    def said(self, text: str) -> Any: ...
    def body(self, model: str) -> Any: ...
    def kept(self, answer: Any) -> Any: ...
    def results(self) -> list[Any]: ...


class Chat(Agent):
    path = "/v1/chat/completions"
    more: ClassVar[dict[str, Any]] = {}

    def said(self, text: str) -> Any:
        return {"role": "user", "content": text}

    def body(self, model: str) -> Any:
        tool = {"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}
        return {"model": model, "messages": self.turns, "tools": [tool], **self.more}

    def kept(self, answer: Any) -> Any:
        message = answer["choices"][0]["message"]
        calls = [{name: call[name] for name in ("id", "type", "function")} for call in message.get("tool_calls") or ()]
        return {"role": "assistant", "content": message["content"], **({"tool_calls": calls} if calls else {})}

    def results(self) -> list[Any]:
        calls = self.turns[-1]["tool_calls"]
        return [{"role": "tool", "tool_call_id": call["id"], "content": "rain"} for call in calls]


class Streamed(Chat):
    """A Chat client that streams."""

    def send(self, model: str) -> Any:
        answered = self.stage.running.post(self.path, {**self.body(model), "stream": True}, key=self.key)
        assert answered.status_code == 200, (model, answered.text)
        deltas = [one["choices"][0]["delta"] for one in read_events(answered.text) if one["choices"]]
        calls = [call for delta in deltas for call in delta.get("tool_calls") or () if call.get("id")]
        for call in calls:
            call["function"]["arguments"] = "{}"
        content = "".join(delta.get("content") or "" for delta in deltas)
        return {"choices": [{"message": {"content": content, "tool_calls": calls}}]}


class Messages(Agent):
    path = "/v1/messages"

    def said(self, text: str) -> Any:
        return {"role": "user", "content": text}

    def body(self, model: str) -> Any:
        thinking = {"type": "enabled", "budget_tokens": 1024}
        tools = [{"name": "weather", "input_schema": SCHEMA}]
        return {"model": model, "max_tokens": 4000, "messages": self.turns, "tools": tools, "thinking": thinking}

    def kept(self, answer: Any) -> Any:
        return {"role": "assistant", "content": answer["content"]}

    def results(self) -> list[Any]:
        calls = [block["id"] for block in self.turns[-1]["content"] if block["type"] == "tool_use"]
        results = [{"type": "tool_result", "tool_use_id": call, "content": "rain"} for call in calls]
        return [{"role": "user", "content": results}]


class Responses(Agent):
    path = "/v1/responses"

    def said(self, text: str) -> Any:
        return {"role": "user", "content": text}

    def body(self, model: str) -> Any:
        flat = [item for turn in self.turns for item in (turn if isinstance(turn, list) else [turn])]
        tools = [{"type": "function", "name": "weather", "parameters": SCHEMA, "strict": False}]
        more = {"store": False, "include": ["reasoning.encrypted_content"], "reasoning": {"effort": "low"}}
        return {"model": model, "input": flat, "tools": tools, **more}

    def kept(self, answer: Any) -> Any:
        return answer["output"]

    def results(self) -> list[Any]:
        calls = [item["call_id"] for item in self.turns[-1] if item["type"] == "function_call"]
        return [{"type": "function_call_output", "call_id": call, "output": "rain"} for call in calls]


class Gemini(Agent):
    path = "/v1beta/models/{model}:generateContent"
    more: ClassVar[dict[str, Any]] = {}

    def said(self, text: str) -> Any:
        return {"role": "user", "parts": [{"text": text}]}

    def body(self, model: str) -> Any:
        return {
            "contents": self.turns,
            "tools": [{"functionDeclarations": [{"name": "weather", "parameters": SCHEMA}]}],
            **self.more,
        }

    def kept(self, answer: Any) -> Any:
        return answer["candidates"][0]["content"]

    def results(self) -> list[Any]:
        calls = [part["functionCall"] for part in self.turns[-1]["parts"] if "functionCall" in part]
        parts = [{"functionResponse": {"name": call["name"], "response": {"is": "rain"}} | _id(call)} for call in calls]
        return [{"role": "user", "parts": parts}]


def _id(call: dict[str, Any]) -> dict[str, Any]:
    return {"id": call["id"]} if "id" in call else {}


AGENTS: list[type[Agent]] = [Chat, Messages, Responses, Gemini]


def loop(agent: Agent, model: str) -> None:
    agent.stage.emulators[model].script(CALL, "It rains.")
    agent.ask(model, "Is it raining?")
    agent.answer(model)


def test_a_chat_client_on_gemini_3_brings_its_signatures_back(stage: Stage) -> None:
    agent = Chat(stage)
    loop(agent, "gemini")
    calls = [part for turn in stage.sent("gemini")["contents"] for part in turn["parts"] if "functionCall" in part]
    assert calls[0]["thoughtSignature"]
    assert "missing-signature" not in agent.headers["x-dragoman-added"]
    assert "kept-reasoning;n=1" in agent.headers["x-dragoman-added"]
    assert "x-dragoman-changes" not in agent.headers


@pytest.mark.parametrize("model", ["gemini", "deepseek"])
def test_what_the_gateway_puts_back_is_no_loss_of_the_clients(stage: Stage, model: str) -> None:
    """A thought that a target does not take without its proof is put back and left out again: nobody lost it."""
    agent = Chat(stage)
    agent.more = {"reasoning_effort": "high"}
    agent.limits = {"x_dragoman_max_loss": "order"}
    loop(agent, model)
    report = stage.running.get(f"/dragoman/requests/{agent.headers['x-dragoman-request-id']}", key="ann").json()
    told = [(one["rule"], one["kind"], one["loses"], one["at"]) for one in report["changes"]]
    assert ("kept-reasoning", "added", "nothing", "/messages/1") in told
    assert not [one for one in told if one[1] == "repair"]


def test_a_chat_client_on_claude_brings_its_thinking_back(stage: Stage) -> None:
    agent = Chat(stage)
    agent.more = {"reasoning_effort": "high"}
    loop(agent, "anthropic")
    sent = stage.sent("anthropic")
    assert sent["thinking"]["type"] == "enabled"
    assert [block["type"] for block in sent["messages"][1]["content"]] == ["thinking", "tool_use"]


@pytest.mark.parametrize("tags", ["<think>\n{}\n</think>", "<thinking>{}</thinking>"])
@pytest.mark.parametrize("before", ["", "Let me look."])
def test_thinking_that_comes_back_as_a_text_between_tags_is_known_again(stage: Stage, tags: str, before: str) -> None:
    agent = Responses(stage)
    stage.emulators["anthropic"].script({**CALL, "text": before} if before else CALL, "It rains.")
    agent.ask("anthropic", f"Is it raining? {tags}")
    items = [item for item in agent.turns[-1] if item["type"] != "reasoning"]
    agent.turns[-1] = [{"type": "message", "role": "assistant", "content": tags.format(CALL["reasoning"])}, *items]
    agent.answer("anthropic")
    sent = stage.sent("anthropic")
    assert sent["thinking"]["type"] == "enabled"
    kinds = ["thinking", "text", "tool_use"] if before else ["thinking", "tool_use"]
    assert [block["type"] for block in sent["messages"][1]["content"]] == kinds
    assert len(sent["messages"]) == 3


@pytest.mark.parametrize("model", ["deepseek", "moonshot"])
def test_B16_reasoning_content_comes_back_for_a_chat_client_that_drops_it(stage: Stage, model: str) -> None:
    agent = Chat(stage)
    loop(agent, model)
    assert "reasoning_content" not in json.dumps(agent.turns)
    assert stage.sent(model)["messages"][1]["reasoning_content"] == CALL["reasoning"]
    assert "missing-reasoning" not in agent.headers.get("x-dragoman-changes", "")
    assert "kept-reasoning;n=1" in agent.headers["x-dragoman-added"]


def test_thinking_that_the_client_brings_back_in_pieces_stays_as_it_is(stage: Stage) -> None:
    agent = Gemini(stage)
    thoughts = {"thinkingConfig": {"includeThoughts": True}}
    agent.more = {"generationConfig": thoughts}
    stage.emulators["gemini"].script(CALL, "It rains.")
    agent.ask("gemini", "Is it raining?")
    thought, *others = agent.turns[-1]["parts"]
    pieces = [{"text": text, "thought": True} for text in (thought["text"][:6], thought["text"][6:])]
    agent.turns[-1]["parts"] = [*pieces, *others]
    agent.answer("gemini")
    assert stage.sent("gemini")["contents"][1]["parts"] == [*pieces, *others]
    assert "x-dragoman-added" not in agent.headers


def test_reasoning_content_that_the_client_brings_back_is_not_reported(stage: Stage) -> None:
    agent = Chat(stage)
    stage.emulators["deepseek"].script(CALL, "It rains.")
    agent.ask("deepseek", "Is it raining?")
    agent.turns[-1]["reasoning_content"] = CALL["reasoning"]
    agent.answer("deepseek")
    assert stage.sent("deepseek")["messages"][1]["reasoning_content"] == CALL["reasoning"]
    assert "kept-reasoning" not in agent.headers.get("x-dragoman-added", "")


def test_streamed_thinking_is_kept_too(stage: Stage) -> None:
    stage.emulators["deepseek"].script({"reasoning": "Hm.", "calls": [{"name": "weather", "id": "call_streamed"}]})
    agent = Chat(stage)
    agent.turns.append(agent.said("Is it raining?"))
    streamed = stage.running.post(agent.path, {**agent.body("deepseek"), "stream": True}, key="ann")
    assert "call_streamed" in streamed.text
    called = {"id": "call_streamed", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    agent.turns.append({"role": "assistant", "tool_calls": [called]})
    agent.answer("deepseek")
    assert stage.sent("deepseek")["messages"][1]["reasoning_content"] == "Hm."


@pytest.mark.parametrize(("model", "streamed"), DROPPED_ON)
def test_three_turns_of_a_chat_client_that_drops_reasoning_content(stage: Stage, model: str, streamed: bool) -> None:
    agent = Streamed(stage) if streamed else Chat(stage)
    agent.more = {"thinking": {"type": "enabled"}} if model == "deepseek/deepseek-chat" else {}
    names = [f"call_{model}_{streamed}_{turn}" for turn in (1, 2)]
    said = [{"reasoning": f"Thought {name}.", "calls": [{"name": "weather", "id": name}]} for name in names]
    upstream = model.partition("/")[0]
    stage.emulators[upstream].script(*said, "It rains.")
    agent.ask(model, "Is it raining?")
    agent.answer(model)
    agent.answer(model)
    assert "reasoning_content" not in json.dumps(agent.turns)
    sent = stage.sent(upstream)["messages"]
    assert [one["reasoning_content"] for one in sent if one.get("tool_calls")] == [f"Thought {one}." for one in names]


def test_callers_never_see_each_others_state(stage: Stage) -> None:
    ann, bob = Chat(stage, "ann"), Chat(stage, "bob")
    stage.emulators["deepseek"].script({"reasoning": "Ann's secret thought.", "calls": CALL["calls"]})
    ann.ask("deepseek", "Is it raining?")
    bob.turns = list(ann.turns)
    bob.answer("deepseek")
    assert "Ann's secret thought." not in json.dumps(stage.sent("deepseek"))
    ann.answer("deepseek")
    assert "Ann's secret thought." in json.dumps(stage.sent("deepseek"))


def test_a_signature_of_another_caller_is_never_borrowed(stage: Stage) -> None:
    ann, bob = Chat(stage, "ann"), Chat(stage, "bob")
    stage.emulators["gemini"].script(CALL)
    ann.ask("gemini", "Is it raining?")
    bob.turns = list(ann.turns)
    bob.answer("gemini")
    assert "missing-signature" in bob.headers["x-dragoman-added"]


JOURNEY = ("anthropic", "gemini", "openai-responses", "deepseek", "openai", "deepseek", "gemini", "anthropic")


@pytest.mark.parametrize("agent", AGENTS)
def test_a_conversation_may_travel_from_model_to_model_and_back(stage: Stage, agent: type[Agent]) -> None:
    traveller = agent(stage)
    for model in JOURNEY:
        loop(traveller, model)
        stage.sent(model)
    refusals = [one.error_body for name in MODELS for one in stage.emulators[name].requests if one.verdict == "refused"]
    assert refusals == []
