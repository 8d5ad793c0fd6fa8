"""Streams, byte for byte in each service's own framing; folded they are the whole answer."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import orjson
import pytest
from tests.offenders import offenders

from dragoman.emulators.catalogue import provider
from dragoman.emulators.provider import EmulatedProvider, FaultKind, ModelCall, ModelTurn, ReceivedRequest
from dragoman.emulators.wire import fragments, rechunk

CHATS = (
    "openai",
    "openrouter",
    "mistral",
    "deepseek",
    "groq",
    "compatible",
    "xai",
    "zai",
    "perplexity",
    "llamacpp",
    "ollama-openai",
    "vllm",
)
TURNS = {
    "text": ModelTurn(text='Grüße, "Welt" \n 🌍 – fin', cached=1),
    "reasoning": ModelTurn(reasoning="Let me think…", text="42"),
    "calls": ModelTurn(calls=(ModelCall("f", {"a": 'é"\n'}), ModelCall("g", {"b": [1, 2, 3]}))),
    "interleaved": ModelTurn(calls=(ModelCall("f", {"a": "x" * 40}), ModelCall("g", {"b": "y" * 40})), interleave=True),
    "refusal": ModelTurn(refusal="I cannot help with that."),
    "length": ModelTurn(text="cut o", stop="length"),
    "json": ModelTurn(json={"a": [1, {"b": None}]}),
}


def call_to(one: EmulatedProvider, **more: Any) -> ReceivedRequest:
    path, body = one.example
    call = one.parse_request("POST", path, {}, {}, orjson.dumps({**body, "stream": True, **more}))
    assert isinstance(call, ReceivedRequest)
    return call


def payloads(frames: bytes) -> list[dict[str, Any]]:
    lines = [line[6:] for line in frames.split(b"\n") if line.startswith(b"data: ")]
    return [orjson.loads(line) for line in lines if line != b"[DONE]"]


def folded(chunks: list[dict[str, Any]]) -> dict[str, Any]:
    """A message from its deltas, as a client would put it together."""
    message: dict[str, Any] = {"content": ""}
    calls: dict[int, dict[str, Any]] = {}
    for choice in (choice for chunk in chunks for choice in chunk["choices"]):
        for key, value in choice["delta"].items():
            if key == "tool_calls":
                for piece in value:
                    made = calls.setdefault(piece["index"], {"arguments": ""})
                    made["id"] = piece.get("id", made.get("id"))
                    made["name"] = piece["function"].get("name", made.get("name"))
                    made["arguments"] += piece["function"]["arguments"]
            elif isinstance(value, str) and key != "role":
                message[key] = message.get(key, "") + value
        message["finish_reason"] = choice["finish_reason"]
    return message | {"calls": [calls[index] for index in sorted(calls)]}


def test_the_stream_folds_to_the_whole_answer() -> None:
    assert not offenders(check_fold, product(CHATS, TURNS))


def check_fold(name: str, turn: str) -> None:
    one, said = provider(name), TURNS[turn]
    call = call_to(one)
    said = said if one.thinks(call) else replace(said, reasoning=None)
    streamed = folded(payloads(b"".join(one.render_stream(call, said))))
    choice = one.render_answer(call, said)["choices"][0]
    message = choice["message"]
    assert streamed["content"] == (message["content"] or "")
    assert streamed["finish_reason"] == choice["finish_reason"]
    assert streamed.get("refusal", "") == (message.get("refusal") or "")
    for key in ("reasoning", "reasoning_content"):
        assert streamed.get(key, "") == (message.get(key) or "")
    whole_calls = [{"id": made["id"], **made["function"]} for made in message.get("tool_calls") or ()]
    assert streamed["calls"] == whole_calls


@pytest.mark.parametrize("name", CHATS)
def test_answers_are_deterministic_and_usage_adds_up(name: str) -> None:
    one, said = provider(name), TURNS["reasoning"]
    call = call_to(one)
    assert list(one.render_stream(call, said)) == list(one.render_stream(call, said))
    usage = one.render_answer(call, said)["usage"]
    assert usage["prompt_tokens"] + usage["completion_tokens"] == usage["total_tokens"]


def test_openai_says_usage_only_when_asked() -> None:
    one = provider("openai")
    silent = b"".join(one.render_stream(call_to(one), TURNS["text"]))
    asked = b"".join(one.render_stream(call_to(one, stream_options={"include_usage": True}), TURNS["text"]))
    assert b"usage" not in silent
    *chunks, last = payloads(asked)
    assert all(chunk["usage"] is None for chunk in chunks)
    assert last["choices"] == []
    assert last["usage"]["total_tokens"] > 0
    assert silent.endswith(b"data: [DONE]\n\n")
    assert asked.endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize("name", ["openrouter", "mistral", "deepseek", "zai", "together"])
def test_usage_rides_on_the_finish_chunk(name: str) -> None:
    one = provider(name)
    *chunks, last = payloads(b"".join(one.render_stream(call_to(one), TURNS["text"])))
    assert not any("usage" in chunk for chunk in chunks)
    assert last["choices"][0]["finish_reason"] == "stop"
    assert last["usage"]["total_tokens"] > 0


def test_openrouter_begins_with_comments_and_names_its_native_reason() -> None:
    one = provider("openrouter")
    frames = list(one.render_stream(call_to(one), TURNS["text"]))
    assert frames[0] == b": OPENROUTER PROCESSING\n\n"
    assert payloads(frames[-2])[0]["choices"][0]["native_finish_reason"] == "stop"


def test_perplexity_ends_without_done_and_repeats_itself() -> None:
    one = provider("perplexity")
    frames = b"".join(one.render_stream(call_to(one), TURNS["text"]))
    chunks = payloads(frames)
    assert b"[DONE]" not in frames
    assert all(chunk["usage"]["total_tokens"] for chunk in chunks)
    assert chunks[-1]["choices"][0]["message"]["content"] == TURNS["text"].text


def test_deepseek_streams_reasoning_content_and_counts_the_cache() -> None:
    one = provider("deepseek")
    chunks = payloads(b"".join(one.render_stream(call_to(one), TURNS["reasoning"])))
    assert "reasoning_content" in chunks[1]["choices"][0]["delta"]
    usage = chunks[-1]["usage"]
    assert usage["prompt_cache_hit_tokens"] + usage["prompt_cache_miss_tokens"] == usage["prompt_tokens"]


@pytest.mark.parametrize("name", ["groq", "xai", "ollama-openai"])
def test_calls_arrive_in_one_piece_if_they_do(name: str) -> None:
    one = provider(name)
    chunks = payloads(b"".join(one.render_stream(call_to(one), TURNS["calls"])))
    pieces = [piece for chunk in chunks for c in chunk["choices"] for piece in c["delta"].get("tool_calls", ())]
    assert [piece["index"] for piece in pieces] == [0, 1]


def test_mistral_puts_its_calls_on_the_finish_chunk() -> None:
    one = provider("mistral")
    first, last = payloads(b"".join(one.render_stream(call_to(one), TURNS["calls"])))
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert len(last["choices"][0]["delta"]["tool_calls"]) == 2
    assert last["choices"][0]["finish_reason"] == "tool_calls"


def test_interleaved_calls_take_turns() -> None:
    one = provider("openai")
    chunks = payloads(b"".join(one.render_stream(call_to(one), TURNS["interleaved"])))
    order = [c["delta"]["tool_calls"][0]["index"] for x in chunks for c in x["choices"] if "tool_calls" in c["delta"]]
    assert order[:6] == [0, 1, 0, 1, 0, 1]


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("openai", b'data: {"error":{"message":'),
        ("groq", b'event: error\ndata: {"error":{"message":'),
        ("openrouter", b'data: {"id":"gen-'),
        ("mistral", b'data: {"object":"error"'),
    ],
)
def test_an_error_inside_a_stream(name: str, begins: bytes) -> None:
    one = provider(name)
    frame = one.render_stream_error(FaultKind.OVERLOADED, call_to(one))
    assert frame.startswith(begins)
    if name == "openrouter":
        chunk = payloads(frame)[0]
        assert chunk["choices"][0]["finish_reason"] == "error"
        assert chunk["error"]["code"] == 503


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
def test_a_cut_changes_no_byte_and_tears_characters(size: int) -> None:
    frames = ["data: 🌍é\n\n".encode(), b"data: [DONE]\n\n"]
    pieces = list(rechunk(frames, size))
    assert b"".join(pieces) == b"".join(frames)
    assert all(len(piece) == size for piece in pieces[:-1])


def test_fragments_tear_escapes() -> None:
    text = '{"a":"line\\nline\\u00e9"}' * 4
    pieces = list(fragments(text))
    assert "".join(pieces) == text
    assert any(piece.endswith("\\") for piece in pieces)
