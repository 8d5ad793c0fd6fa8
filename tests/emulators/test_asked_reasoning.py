"""Emulators give what a request asks for, and nothing else: as the recorded answers of the providers do."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from dragoman.emulators.catalogue import provider
from dragoman.emulators.emulator_core import EmulatorCore
from dragoman.emulators.provider import ModelCall, ModelTurn

TURN = ModelTurn(reasoning="Hm.", text="Hello there.")
CALLS = ModelTurn(reasoning="Hm.", calls=(ModelCall("look", {}), ModelCall("look", {"q": 1})))


def answer(name: str, path: str, body: dict[str, Any], turn: ModelTurn = TURN) -> Any:
    """The answer with this turn of the model; the chunks of a stream."""
    path, _, query = path.partition("?")
    core = EmulatorCore(provider(name), model=lambda request: turn)
    planned = core.respond("POST", path, {"alt": "sse"} if query else {}, {"x-api-key": "k"}, orjson.dumps(body))
    assert planned.status == 200, planned.body
    if planned.frames is None:
        return orjson.loads(planned.body)
    frames = b"".join(planned.frames).decode().split("\r\n\r\n")
    return [orjson.loads(frame.removeprefix("data: ")) for frame in frames if frame]


def claude(model: str, **more: Any) -> list[dict[str, Any]]:
    body = {"model": model, "max_tokens": 4000, "messages": [{"role": "user", "content": "Hi"}], **more}
    return [block for block in answer("anthropic", "/v1/messages", body)["content"] if block["type"] == "thinking"]


ADAPTIVE = {"type": "adaptive"}


@pytest.mark.parametrize(
    ("model", "thinking", "shown"),
    [
        ("claude-sonnet-4-5", None, None),
        ("claude-sonnet-4-5", {"type": "disabled"}, None),
        ("claude-sonnet-4-5", {"type": "enabled", "budget_tokens": 1024}, "Hm."),
        ("claude-sonnet-4-6", ADAPTIVE, "Hm."),
        ("claude-opus-4-7", None, None),
        ("claude-opus-4-7", ADAPTIVE, ""),
        ("claude-opus-4-8", {**ADAPTIVE, "display": "summarized"}, "Hm."),
        ("claude-sonnet-5", None, ""),
        ("claude-sonnet-5", {**ADAPTIVE, "display": "omitted"}, ""),
        ("claude-sonnet-5", {"type": "disabled"}, None),
    ],
)
def test_claude_thinks_when_it_is_told_to(model: str, thinking: Any, shown: str | None) -> None:
    blocks = claude(model, **({"thinking": thinking} if thinking else {}))
    assert [block["thinking"] for block in blocks] == ([] if shown is None else [shown])
    assert all(block["signature"] for block in blocks)


def gemini(model: str, turn: ModelTurn, thinking: Any = None, tools: bool = False, stream: bool = False) -> Any:
    body: dict[str, Any] = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
    if thinking is not None:
        body["generationConfig"] = {"thinkingConfig": thinking}
    if tools:
        body["tools"] = [{"functionDeclarations": [{"name": "look"}]}]
    if not stream:
        whole = answer("gemini", f"/v1beta/models/{model}:generateContent", body, turn)
        return whole["candidates"][0]["content"]["parts"]
    chunks = answer("gemini", f"/v1beta/models/{model}:streamGenerateContent?alt=sse", body, turn)
    return [part for chunk in chunks for part in chunk["candidates"][0]["content"]["parts"]]


@pytest.mark.parametrize("model", ["gemini-2.5-flash", "gemini-3-pro-preview"])
@pytest.mark.parametrize("stream", [False, True])
def test_gemini_shows_thoughts_only_with_include_thoughts(model: str, stream: bool) -> None:
    def thoughts(config: Any) -> str:
        parts = gemini(model, TURN, config, stream=stream)
        return "".join(part["text"] for part in parts if part.get("thought"))

    assert thoughts(None) == ""
    assert thoughts({"includeThoughts": False}) == ""
    assert thoughts({"includeThoughts": True}) == "Hm."


def signed(parts: list[Any]) -> list[int]:
    return [place for place, part in enumerate(parts) if "thoughtSignature" in part]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("model", ["gemini-2.5-flash", "gemini-3-pro-preview"])
def test_gemini_signs_the_first_call_of_a_group_alone(model: str, stream: bool) -> None:
    parts = gemini(model, CALLS, tools=True, stream=stream)
    assert [place for place in signed(parts) if "functionCall" in parts[place]] == [0]
    assert len(signed(parts)) == 1


def test_gemini_signs_the_last_text_of_a_whole_answer() -> None:
    assert signed(gemini("gemini-3-pro-preview", TURN)) == [0]
    assert signed(gemini("gemini-2.5-flash", TURN, tools=True)) == [0]
    assert signed(gemini("gemini-2.5-flash", TURN)) == []
    assert signed(gemini("gemini-2.5-flash", TURN, {"thinkingBudget": 0}, tools=True)) == []
    assert signed(gemini("gemini-2.5-flash-lite", TURN, tools=True)) == []


def test_gemini_3_signs_a_stream_on_an_empty_last_part_and_gemini_2_5_on_its_first_text() -> None:
    newer = gemini("gemini-3-pro-preview", TURN, stream=True)
    assert signed(newer) == [len(newer) - 1]
    assert newer[-1]["text"] == ""
    older = gemini("gemini-2.5-flash", TURN, {"includeThoughts": True}, tools=True, stream=True)
    first = next(place for place, part in enumerate(older) if not part.get("thought"))
    assert signed(older) == [first]
    assert older[first]["text"]


def responses(model: str, **more: Any) -> dict[str, Any] | None:
    output = answer("openai-responses", "/v1/responses", {"model": model, "input": "Hi", **more})["output"]
    return next((item for item in output if item["type"] == "reasoning"), None)


def test_responses_gives_a_summary_and_the_state_only_when_asked() -> None:
    bare = responses("gpt-5")
    assert bare is not None
    assert bare["summary"] == []
    assert "encrypted_content" not in bare
    summed = responses("gpt-5", reasoning={"summary": "auto"})
    assert summed is not None
    assert (summed["summary"][0]["text"], "encrypted_content" in summed) == ("Hm.", False)
    kept = responses("gpt-5", include=["reasoning.encrypted_content"])
    assert kept is not None
    assert (kept["summary"], bool(kept["encrypted_content"])) == ([], True)


@pytest.mark.parametrize(
    ("model", "more", "thinks"),
    [
        ("gpt-5", {}, True),
        ("gpt-4o", {}, False),
        ("gpt-5.4", {}, False),
        ("gpt-5.4", {"reasoning": {"effort": "low"}}, True),
        ("gpt-5.6", {"reasoning": {"effort": "none"}}, False),
        ("o4-mini", {}, True),
    ],
)
def test_a_model_that_does_not_reason_gives_no_reasoning(model: str, more: Any, thinks: bool) -> None:
    assert (responses(model, **more) is not None) is thinks


def chat(name: str, path: str, model: str, **more: Any) -> dict[str, Any]:
    body = {"model": model, "messages": [{"role": "user", "content": "Hi"}], **more}
    message: dict[str, Any] = answer(name, path, body)["choices"][0]["message"]
    return message


def test_deepseek_thinks_unless_it_is_told_not_to() -> None:
    path = "/chat/completions"
    assert chat("deepseek", path, "deepseek-v4-flash")["reasoning_content"] == "Hm."
    assert "reasoning_content" not in chat("deepseek", path, "deepseek-v4-flash", thinking={"type": "disabled"})
    assert "reasoning_content" not in chat("deepseek", path, "deepseek-chat")


OPEN = "/api/v1/chat/completions"


@pytest.mark.parametrize(
    ("model", "more", "text", "kinds"),
    [
        ("anthropic/claude-haiku-4.5", {}, None, []),
        ("anthropic/claude-haiku-4.5", {"reasoning": {"max_tokens": 1024}}, "Hm.", ["reasoning.text"]),
        ("anthropic/claude-sonnet-4.5", {"reasoning": {"effort": "none"}}, None, []),
        ("anthropic/claude-opus-5", {}, "Hm.", ["reasoning.text"]),
        ("google/gemini-3-pro-preview", {}, None, ["reasoning.encrypted"]),
        (
            "google/gemini-3-pro-preview",
            {"reasoning": {"enabled": True}},
            "Hm.",
            ["reasoning.text", "reasoning.encrypted"],
        ),
        ("openai/gpt-5.2", {}, None, []),
        ("openai/gpt-5", {}, "Hm.", ["reasoning.summary"]),
        ("moonshotai/kimi-k2.5", {}, "Hm.", ["reasoning.summary"]),
    ],
)
def test_openrouter_gives_what_its_models_give(model: str, more: Any, text: str | None, kinds: list[str]) -> None:
    message = chat("openrouter", OPEN, model, **more)
    assert message["reasoning"] == text
    assert [item["type"] for item in message.get("reasoning_details", ())] == kinds
