"""What is asked and what is answered: one conversation in every client dialect, and its answers in every provider's."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import agent
import defects

import conversation
from dragoman.conversation.events import Ended, Event, Started, Stopped, TextDelta, Used
from dragoman.conversation.literals import quote
from dragoman.conversation.replies import Stop, Usage
from dragoman.dialects import registry
from dragoman.dialects.dialect import AnswerContext
from dragoman.engine.library.adapt import adapt

PATHS = {
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/{model}:{method}",
    "cohere": "/v2/chat",
    "ollama": "/api/chat",
    "bedrock": "/model/{model}/{method}",
}
SPOKEN_TO = {
    "openai-responses": "openai-responses/gpt-5.6",
    "anthropic": "anthropic/claude-sonnet-4-5",
    "gemini": "gemini/gemini-2.5-flash",
    "cohere": "cohere/command-a-03-2025",
    "ollama": "ollama/qwen3",
    "bedrock": "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0",
}
"""A target that each client dialect is compiled for, to have the question in that dialect."""
METHODS = {
    "gemini": ("generateContent", "streamGenerateContent?alt=sse"),
    "bedrock": ("converse", "converse-stream"),
}
"""The last word of the path where it says whether to stream."""
REPAIRS = {"50 repairs": 50, "500 repairs": 500}
"""Sizes of a question that is an agent's request with so many defects; only Chat clients ask it."""
TEXT = (
    "The waiting time is counted before the connection is given back: line 214 decides it, and nothing after it. " * 4
)
SHORT = {"messages": [{"role": "user", "content": "Say hello."}], "max_tokens": 64}


@cache
def question(dialect: str, size: str, model: str, stream: bool) -> bytes:
    """The request body: `short`; `tools`, the conversation of 20 messages with tools; `agent`, a coding agent's
    request; or one of `REPAIRS`."""
    named = {} if dialect in METHODS else {"model": model, "stream": stream}
    if size == "agent" or size in REPAIRS:
        asked = agent.WRITERS[dialect](agent.MESSAGES) if size == "agent" else defects.request(REPAIRS[size])
        return json.dumps(asked | named).encode()
    asked = dict(SHORT) if size == "short" else conversation.request(20, stream)
    if dialect == "openai-chat":
        return json.dumps(asked | named).encode()
    body = json.dumps(asked | {"model": "mock", "stream": stream}).encode()
    compiled = adapt(body, source="openai-chat", target=SPOKEN_TO[dialect])
    return json.dumps(json.loads(compiled.body) | named).encode()


def path(dialect: str, model: str, stream: bool) -> str:
    """Where a client of this dialect asks for a model's answer."""
    return PATHS[dialect].format(model=model, method=METHODS.get(dialect, ("", ""))[stream])


def whole(dialect: str) -> bytes:
    """A provider's whole answer."""
    return json.dumps(_WHOLE[dialect]).encode()


_WHOLE: dict[str, dict[str, Any]] = {
    "openai-chat": {
        "id": "chatcmpl-bench0001",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "gpt-4o-2024-08-06",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": TEXT, "refusal": None},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 2210, "completion_tokens": 96, "total_tokens": 2306},
    },
    "anthropic": {
        "id": "msg_bench0001",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "content": [{"type": "text", "text": TEXT}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 2210, "output_tokens": 96},
    },
    "gemini": {
        "candidates": [
            {"content": {"role": "model", "parts": [{"text": TEXT}]}, "finishReason": "STOP", "index": 0},
        ],
        "usageMetadata": {"promptTokenCount": 2210, "candidatesTokenCount": 96, "totalTokenCount": 2306},
        "modelVersion": "gemini-2.5-flash",
        "responseId": "bench0001",
    },
}


def frames(dialect: str, count: int) -> list[bytes]:
    """A provider's streamed answer in `count` words, one frame each."""
    renderer = registry.dialect(dialect).answers.stream_renderer(
        AnswerContext(model="mock", created=1_700_000_000, id="bench", include_usage=True)
    )
    events: list[Event] = [
        Started("bench", "mock", 1_700_000_000),
        *[TextDelta(0, 0, quote(f" word{number}")) for number in range(count)],
        Stopped(0, Stop.END),
        Used(Usage(2210, count)),
        Ended(),
    ]
    wire = b"".join(renderer.render([event]) for event in events) + renderer.close()
    end = b"\r\n\r\n" if dialect == "gemini" else b"\n\n"
    return [frame + end for frame in wire.split(end) if frame]
