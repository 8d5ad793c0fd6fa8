"""What an Anthropic client is shown of other providers' state: nothing that could pass for the answer (K22)."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from tests.event_streams import read_events

from dragoman import adapt
from dragoman.conversation.changes import NOTHING_TO_UNDO
from dragoman.dialects.dialect import AnswerContext
from dragoman.engine.answer.translation import Translation


def gemini_chunk(*parts: dict[str, Any], stop: str | None = None) -> dict[str, Any]:
    candidate = {"content": {"role": "model", "parts": list(parts)}, **({"finishReason": stop} if stop else {})}
    return {"candidates": [candidate], "modelVersion": "gemini-3-pro-preview", "responseId": "r"}


SIGNATURE = "c2lnbmF0dXJlIG9mIHRoZSB0ZXh0"
SIGNED = gemini_chunk({"text": "Four."}, {"text": "", "thoughtSignature": SIGNATURE}, stop="STOP")


def blocks_of(wire: bytes) -> list[dict[str, Any]]:
    """The blocks of a stream, each with its signature."""
    blocks: list[dict[str, Any]] = []
    for event in read_events(wire):
        if event["type"] == "content_block_start":
            blocks.append(event["content_block"])
        elif event["type"] == "content_block_delta" and event["delta"]["type"] == "signature_delta":
            blocks[-1]["signature"] = event["delta"]["signature"]
    return blocks


def translated(upstream: str, answer: dict[str, Any], stream: bool) -> tuple[list[dict[str, Any]], Translation]:
    translation = Translation(upstream, "anthropic", NOTHING_TO_UNDO, AnswerContext(model="m"), keep=True)
    if not stream:
        return orjson.loads(translation.whole(orjson.dumps(answer)))["content"], translation
    wire = translation.feed(b"data: " + orjson.dumps(answer) + b"\r\n\r\n") + translation.close()
    return blocks_of(wire), translation


@pytest.mark.parametrize("stream", [False, True])
def test_nothing_follows_the_text_of_an_answer(stream: bool) -> None:
    blocks, translation = translated("gemini", SIGNED, stream)
    assert [block["type"] for block in blocks] == ["text"]
    [(_, kept)] = translation.kept.items()
    assert SIGNATURE in str(kept)


def thinking(signature: str) -> dict[str, Any]:
    content = [{"type": "thinking", "thinking": "Hm.", "signature": signature}, {"type": "text", "text": "Four."}]
    messages = [
        {"role": "user", "content": "Two and two?"},
        {"role": "assistant", "content": content},
        {"role": "user", "content": "Sure?"},
    ]
    return {"max_tokens": 100, "messages": messages}


DEEPSEEK = {
    "id": "c",
    "choices": [{"index": 0, "message": {"reasoning_content": "Hm.", "content": "Four."}, "finish_reason": "stop"}],
}


@pytest.mark.parametrize(
    "target", ["anthropic/claude-opus-4-8", "gemini/gemini-3-pro-preview", "openai-responses/gpt-5"]
)
def test_unsigned_thinking_has_a_signature_that_no_provider_sees(target: str) -> None:
    blocks, _ = translated("openai-chat", DEEPSEEK, stream=False)
    assert [block["type"] for block in blocks] == ["thinking", "text"]
    signature = blocks[0]["signature"]
    assert signature
    adapted = adapt(orjson.dumps(thinking(signature)), source="anthropic", target=target)
    assert signature.encode() not in adapted.body


def test_unsigned_thinking_returns_as_words_if_these_are_taken() -> None:
    blocks, _ = translated("openai-chat", DEEPSEEK, stream=False)
    adapted = adapt(
        orjson.dumps(thinking(blocks[0]["signature"])), source="anthropic", target="moonshot/kimi-k2-thinking"
    )
    assert orjson.loads(adapted.body)["messages"][1]["reasoning_content"] == "Hm."
