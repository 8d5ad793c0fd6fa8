"""Conversations that providers refuse: one for each client dialect, as real programs send them."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.conversation.dialect_names import DialectName
from dragoman.dialects.registry import dialect

_QUESTION = "What is the weather in Paris?"
_CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


class DemoConversation(msgspec.Struct, frozen=True):
    """A conversation, its client, and the provider that refuses it unchanged."""

    client: str
    dialect: DialectName
    provider: str
    model: str
    reason: str
    path: str
    body: dict[str, Any]

    def request(self, model: str) -> tuple[str, bytes]:
        """The path and body, with the model's name in its place."""
        named = self.body if dialect(self.dialect).model_in_path else {"model": model, **self.body}
        return self.path.format(model=model), msgspec.json.encode(named)


CHAT = DemoConversation(
    client="OpenAI SDK, Chat Completions",
    dialect="openai-chat",
    provider="mistral",
    model="mistral-large-latest",
    reason="the history was made with another model: its call ids, a leftover field, a late instruction",
    path="/v1/chat/completions",
    body={
        "messages": [
            {"role": "system", "content": "You are brief."},
            {"role": "user", "content": _QUESTION},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "call_8Xk2_weather-Paris",
                        "type": "function",
                        "index": 0,
                        "function": {"name": "weather", "arguments": '{"city": "Paris"}'},
                    }
                ],
                "reasoning_content": "I should look it up.",
            },
            {"role": "tool", "tool_call_id": "call_8Xk2_weather-Paris", "content": "Sunny, 24 degrees."},
            {"role": "system", "content": "Answer in French."},
        ],
        "tools": [{"type": "function", "function": {"name": "weather", "parameters": _CITY}}],
        "logit_bias": {},
    },
)

RESPONSES = DemoConversation(
    client="Codex, OpenAI SDK (Responses)",
    dialect="openai-responses",
    provider="openai-responses",
    model="gpt-5.6",
    reason="the history was cut: a tool's answer is there, the call for it is not",
    path="/v1/responses",
    body={
        "input": [
            {"type": "message", "role": "user", "content": _QUESTION},
            {"type": "function_call_output", "call_id": "call_cut_away", "output": "Sunny, 24 degrees."},
            {"type": "message", "role": "user", "content": "And tomorrow?"},
        ],
    },
)

MESSAGES = DemoConversation(
    client="Claude Code, Anthropic SDK",
    dialect="anthropic",
    provider="anthropic",
    model="claude-sonnet-4-6",
    reason="the user interrupted a tool: the call was never answered",
    path="/v1/messages",
    body={
        "max_tokens": 1024,
        "messages": [
            {"role": "user", "content": _QUESTION},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "I'll look it up."},
                    {"type": "tool_use", "id": "toolu_01A", "name": "weather", "input": {"city": "Paris"}},
                ],
            },
            {"role": "user", "content": "Never mind. Tell me a joke instead."},
        ],
        "tools": [{"name": "weather", "input_schema": _CITY}],
    },
)

GENERATE = DemoConversation(
    client="Gemini CLI, Google SDK",
    dialect="gemini",
    provider="gemini",
    model="gemini-2.5-flash",
    reason="a tool's schema comes from a library that writes all of JSON Schema",
    path="/v1beta/models/{model}:generateContent",
    body={
        "contents": [{"role": "user", "parts": [{"text": _QUESTION}]}],
        "tools": [
            {
                "functionDeclarations": [
                    {
                        "name": "weather",
                        "description": "The weather in a city.",
                        "parameters": {
                            "$schema": "http://json-schema.org/draft-07/schema#",
                            "type": "object",
                            "additionalProperties": False,
                            "properties": {
                                "city": {"type": "string"},
                                "unit": {"const": "celsius"},
                            },
                        },
                    }
                ]
            }
        ],
    },
)

COHERE = DemoConversation(
    client="Cohere SDK",
    dialect="cohere",
    provider="cohere",
    model="command-a-03-2025",
    reason="the settings come from code for OpenAI",
    path="/v2/chat",
    body={
        "messages": [{"role": "user", "content": _QUESTION}],
        "tools": [{"type": "function", "function": {"name": "weather", "parameters": _CITY}}],
        "tool_choice": "auto",
        "parallel_tool_calls": True,
        "stream": False,
    },
)

OLLAMA = DemoConversation(
    client="Ollama SDK",
    dialect="ollama",
    provider="ollama",
    model="qwen3:8b",
    reason="the history was made with OpenAI, whose arguments are a text",
    path="/api/chat",
    body={
        "messages": [
            {"role": "user", "content": _QUESTION},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"function": {"name": "weather", "arguments": '{"city": "Paris"}'}}],
            },
            {"role": "tool", "tool_name": "weather", "content": "Sunny, 24 degrees."},
        ],
        "tools": [{"type": "function", "function": {"name": "weather", "parameters": _CITY}}],
        "stream": False,
    },
)

CONVERSE = DemoConversation(
    client="boto3, Bedrock Converse",
    dialect="bedrock",
    provider="bedrock",
    model="us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    reason="the history has calls, and the last request offers no tools",
    path="/model/{model}/converse",
    body={
        "messages": [
            {"role": "user", "content": [{"text": _QUESTION}]},
            {
                "role": "assistant",
                "content": [{"toolUse": {"toolUseId": "tooluse_1", "name": "weather", "input": {"city": "Paris"}}}],
            },
            {
                "role": "user",
                "content": [{"toolResult": {"toolUseId": "tooluse_1", "content": [{"text": "Sunny, 24 degrees."}]}}],
            },
        ],
    },
)

DEMO_CONVERSATIONS = (CHAT, RESPONSES, MESSAGES, GENERATE, COHERE, OLLAMA, CONVERSE)
