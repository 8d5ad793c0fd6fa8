"""Thinking that Mistral writes among the parts of the content: a text for Chat clients, and given back as it was."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from tests.event_streams import read_events
from tests.judges import judge

from dragoman.engine.library.adapt import adapt

TARGET = "mistral/magistral-medium-latest"
ASKED: dict[str, Any] = {"messages": [{"role": "user", "content": "Hi"}]}
THOUGHT = {"type": "thinking", "thinking": [{"type": "text", "text": "A greeting."}]}
TOLD = {"type": "text", "text": "Hello"}


def chunk(content: Any, stop: str | None = None) -> bytes:
    choice = {"index": 0, "delta": {"role": "assistant", "content": content}, "finish_reason": stop}
    body = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return b"data: " + orjson.dumps(body) + b"\n\n"


def whole(content: Any) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    return orjson.dumps({"id": "c", "object": "chat.completion", "created": 1, "choices": [choice], "usage": usage})


def test_a_whole_answer_has_a_text_and_the_thinking_beside_it() -> None:
    answer = adapt(ASKED, target=TARGET).answer(whole([{**THOUGHT, "closed": True}, TOLD]))
    message = answer.json["choices"][0]["message"]
    assert (message["content"], message["reasoning_content"]) == ("Hello", "A greeting.")
    assert "reasoning_details" not in message


def test_a_stream_has_pieces_of_text_and_of_thinking() -> None:
    stream = adapt({**ASKED, "stream": True}, target=TARGET).stream()
    chunks = (chunk([THOUGHT]), chunk("Hel"), chunk([{"type": "text", "text": "lo"}]), chunk("", "stop"))
    out = b"".join([stream.feed(one) for one in (*chunks, b"data: [DONE]\n\n")]) + stream.finish()
    frames = read_events(out)
    deltas = [frame["choices"][0]["delta"] for frame in frames]
    assert "".join([delta.get("reasoning_content") or "" for delta in deltas]) == "A greeting."
    assert "".join([delta.get("content") or "" for delta in deltas]) == "Hello"


def test_a_whole_answer_without_thinking_goes_through_as_it_is() -> None:
    body = whole("Hello").replace(b'"id"', b'"vendors_own":[1],"id"')
    answer = adapt(ASKED, target=TARGET).answer(body).json
    assert (answer["vendors_own"], answer["choices"][0]["message"]["content"]) == ([1], "Hello")


def test_mistrals_own_clients_get_its_parts() -> None:
    headers = {"user-agent": "mistral-client-python/3.7.0"}
    answer = adapt(ASKED, target=TARGET, headers=headers).answer(whole([THOUGHT, TOLD]))
    assert answer.json["choices"][0]["message"]["content"] == [THOUGHT, TOLD]
    assert adapt({**ASKED, "stream": True}, target=TARGET, headers=headers).stream().feed(chunk([THOUGHT])) == chunk(
        [THOUGHT]
    )


@pytest.mark.parametrize("calls", [False, True])
@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_it_goes_back_as_a_part(field: str, calls: bool) -> None:
    turn: dict[str, Any] = {"role": "assistant", "content": "Hello", field: "A greeting."}
    further: list[dict[str, Any]] = [{"role": "user", "content": "So?"}]
    if calls:
        turn["tool_calls"] = [{"id": "abcdefghi", "type": "function", "function": {"name": "look", "arguments": "{}"}}]
        further = [{"role": "tool", "tool_call_id": "abcdefghi", "content": "It rains."}]
    done = adapt({"messages": [*ASKED["messages"], turn, *further]}, target=TARGET)
    assert done.json["messages"][1]["content"] == [THOUGHT, TOLD]
    assert [(one.rule, one.loses) for one in done.changes] == [("refused-reasoning", "nothing")]
    assert judge("mistral", "magistral-medium-latest", done.path, done.headers, done.body) is None


def test_a_model_that_does_not_think_is_relayed_and_gets_none_back() -> None:
    turn = {"role": "assistant", "content": "Hello", "reasoning_content": "A greeting."}
    done = adapt({"messages": [*ASKED["messages"], turn, *ASKED["messages"]]}, target="mistral/mistral-large-latest")
    assert done.json["messages"][1] == {"role": "assistant", "content": "Hello"}
    assert done.stream().feed(chunk("Hi")) == chunk("Hi")


@pytest.mark.parametrize(
    "target", ["openrouter/openai/gpt-4o", "openrouter/mistralai/mistral-large", "openai-compatible-strict/m", "vllm/m"]
)
def test_thinking_of_other_dialects_is_no_part_of_the_content_elsewhere(target: str) -> None:
    turn = {"role": "assistant", "content": "Hello", "thinking": "A greeting."}
    done = adapt({"messages": [*ASKED["messages"], turn, *ASKED["messages"]]}, source="ollama", target=target)
    assert done.json["messages"][1]["content"] == "Hello"
    thought = {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "A greeting."}]}
    told = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello"}]}
    done = adapt({"input": [*ASKED["messages"], thought, told, *ASKED["messages"]]}, target=target)
    assert done.json["messages"][1]["content"] == "Hello"
