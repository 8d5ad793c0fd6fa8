"""What a real service does and a kind imitation would not: slips in names, tools as they are echoed, durations."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from dragoman.emulators.catalogue import names, provider
from dragoman.emulators.emulator_core import EmulatorCore
from dragoman.emulators.provider import is_no_slip

Wire = dict[str, Any]
KNOWN = ("gpt-4o", "gpt-4.1", "claude-sonnet-5", "qwen3:8b")


@pytest.mark.parametrize("slip", ["gpt-4p", "gpr-4.1", "claude-sonet-5", "claude-sonnnet-5", "cluade-sonnet-5"])
def test_a_wrong_letter_is_a_slip(slip: str) -> None:
    assert not is_no_slip(slip, KNOWN)


@pytest.mark.parametrize("name", [*KNOWN, "gpt-4", "gpt-4-1", "gpt-5", "claude-sonnet-4-6", "my-own", "qwen3", ""])
def test_another_version_and_another_name_are_not(name: str) -> None:
    assert is_no_slip(name, KNOWN)


FREE_NAMES = {
    "anthropic-compatible",
    "azure-anthropic",
    "azure-openai-responses",
    "gemini-native-compatible",
    "azure-foundry",
    "azure-openai",
    "compatible",
    "compatible-lenient",
    "template",
    "llamacpp",
    "vllm",
    "sglang",
    "ollama-openai",
    "lmstudio",
}
"""Their models are called as whoever runs them likes."""


@pytest.mark.parametrize("name", names())
def test_every_service_with_names_of_its_own_refuses_a_slip(name: str) -> None:
    core = EmulatorCore(provider(name))
    path, body = core.provider.example
    path, _, query = path.partition("?")
    fields = dict(pair.split("=") for pair in query.split("&")) if query else {}
    found = core.provider.parse_request("POST", path, fields, {}, orjson.dumps(body))
    model: str = found.model  # type: ignore[union-attr]
    at = next(at for at in range(len(model) - 1, -1, -1) if model[at].isalpha())
    slip = model[:at] + "q" + model[at + 1 :]
    wrong = {**body, "model": slip} if "model" in body else body
    planned = core.respond("POST", path.replace(model, slip), fields, {}, orjson.dumps(wrong))
    assert (planned.status == 200) is (name in FREE_NAMES), planned.body


def echoed(tool: Wire) -> Wire:
    body = {"model": "gpt-5.4", "input": "Hi", "tools": [{"type": "function", "name": "f", **tool}]}
    planned = EmulatorCore(provider("openai-responses")).respond("POST", "/v1/responses", {}, {}, orjson.dumps(body))
    answer: Wire = orjson.loads(planned.body)["tools"][0]
    return answer


def test_a_function_becomes_strict_if_it_does_not_say() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["b"]}
    tool = echoed({"parameters": schema})
    assert tool["strict"] is True
    assert tool["parameters"] == {**schema, "required": ["b", "a"], "additionalProperties": False}


@pytest.mark.parametrize("given", [{"strict": None}, {"strict": False}, {}])
def test_a_function_stays_as_it_is_if_it_says_so_or_cannot_be_strict(given: Wire) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "object", "additionalProperties": {"type": "string"}}}}
    tool = echoed({"parameters": schema, **given})
    assert tool["strict"] is False
    assert tool["parameters"] == schema


@pytest.mark.parametrize("stream", [False, True])
def test_ollama_tells_four_durations(stream: bool) -> None:
    body = {"model": "qwen3:8b", "messages": [{"role": "user", "content": "Hi"}], "stream": stream}
    planned = EmulatorCore(provider("ollama")).respond("POST", "/api/chat", {}, {}, orjson.dumps(body))
    last = orjson.loads(planned.body if planned.frames is None else list(planned.frames)[-1])
    parts = [last[name] for name in ("load_duration", "prompt_eval_duration", "eval_duration")]
    assert all(part > 0 for part in parts)
    assert sum(parts) <= last["total_duration"]
