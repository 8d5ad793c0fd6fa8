"""The emulated providers of the matrix, and what each of them received: tools, results, and its own reasoning.

A body is read as its provider reads it. Nothing here is shared with the compiler or with the emulators.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Body = Mapping[str, Any]
Ran = tuple[str, Any, str]
"""A tool call that a body holds: the tool, its arguments, and the text of its result."""


@dataclass(frozen=True)
class Reader:
    """How one wire format is read."""

    tools: Callable[[Body], set[str]]
    ran: Callable[[Body], list[Ran]]
    usage: Callable[[Body], tuple[int, int]]
    """The tokens that a whole answer names: read, and written with the thoughts among them."""


@dataclass(frozen=True)
class Upstream:
    """One provider with one model. `thinks_on` and `proofs` are None if the model has no reasoning to return."""

    name: str
    title: str
    profile: str
    model: str
    reader: Reader
    thinks_on: Callable[[Body], bool] | None = None
    proofs: Callable[[Body], list[str]] | None = None
    """The reasoning that stands with the turns that called tools: its text if there is one, else "sealed"."""
    silent: bool = False
    """Whether the model hides its thoughts from clients of its own dialect that do not ask for a summary."""

    @property
    def thinks(self) -> bool:
        return self.thinks_on is not None

    def reader_of(self, body: Body) -> Reader:
        """How a body is read: the provider's other API has tools, such as Codex's web search, that its Chat lacks."""
        return RESPONSES if "input" in body else self.reader


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


def _chat_tools(body: Body) -> set[str]:
    """Functions and custom tools; those that the provider runs itself have no name."""
    kinds = [tool.get(tool.get("type", "function")) for tool in body.get("tools") or ()]
    return {kind["name"] for kind in kinds if isinstance(kind, dict) and "name" in kind}


def _chat_ran(body: Body) -> list[Ran]:
    results = {one["tool_call_id"]: _text(one["content"]) for one in body["messages"] if one["role"] == "tool"}
    calls = [call for one in body["messages"] for call in one.get("tool_calls") or ()]
    return [
        (call["function"]["name"], json.loads(call["function"]["arguments"]), results[call["id"]])
        for call in calls
        if call["id"] in results
    ]


def _calling(body: Body) -> list[Any]:
    return [one for one in body["messages"] if one.get("tool_calls")]


def _responses_tools(body: Body) -> set[str]:
    return {tool["name"] for tool in body.get("tools") or () if "name" in tool}


def _responses_ran(body: Body) -> list[Ran]:
    items = body["input"] if isinstance(body["input"], list) else []
    results = {one["call_id"]: _text(one["output"]) for one in items if one.get("type") == "function_call_output"}
    return [
        (one["name"], json.loads(one["arguments"]), results[one["call_id"]])
        for one in items
        if one.get("type") == "function_call" and one["call_id"] in results
    ]


def _responses_proofs(body: Body) -> list[str]:
    """The encrypted reasoning before each run of calls; a message may stand between them."""
    found: list[str] = []
    sealed, calling = "", False
    for item in body["input"]:
        kind = item.get("type", "message")
        if kind == "reasoning":
            sealed = "sealed" if item.get("encrypted_content") else ""
        elif kind == "function_call" and not calling:
            found.append(sealed)
        elif kind == "function_call_output":
            sealed = ""
        calling = kind == "function_call"
    return found


def _responses_thinks(body: Body) -> bool:
    kept = body.get("store") is False and "reasoning.encrypted_content" in (body.get("include") or ())
    return kept and (body.get("reasoning") or {}).get("effort") != "none"


def _blocks(body: Body) -> Iterator[Any]:
    for message in body["messages"]:
        yield from message["content"] if isinstance(message["content"], list) else ()


def _anthropic_tools(body: Body) -> set[str]:
    return {tool["name"] for tool in body.get("tools") or ()}


def _anthropic_ran(body: Body) -> list[Ran]:
    results = {one["tool_use_id"]: _text(one["content"]) for one in _blocks(body) if one["type"] == "tool_result"}
    calls = [one for one in _blocks(body) if one["type"] == "tool_use" and one["id"] in results]
    return [(one["name"], one["input"], results[one["id"]]) for one in calls]


def _anthropic_proofs(body: Body) -> list[str]:
    turns = [one["content"] for one in body["messages"] if isinstance(one["content"], list)]
    calling = [blocks for blocks in turns if any(block["type"] == "tool_use" for block in blocks)]
    signed = [[block for block in blocks if block.get("signature")] for blocks in calling]
    return ["".join(block["thinking"] for block in blocks) or ("sealed" if blocks else "") for blocks in signed]


def _anthropic_thinks(body: Body) -> bool:
    return (body.get("thinking") or {}).get("type") in ("enabled", "adaptive")


def _gemini_tools(body: Body) -> set[str]:
    return {one["name"] for tool in body.get("tools") or () for one in tool.get("functionDeclarations", ())}


def _gemini_ran(body: Body) -> list[Ran]:
    """Gemini pairs calls and responses by their place: the turn of responses follows the turn of calls."""
    ran: list[Ran] = []
    calls: list[Any] = []
    for content in body["contents"]:
        called = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
        results = [part["functionResponse"] for part in content["parts"] if "functionResponse" in part]
        if results:
            assert [one["name"] for one in results] == [one["name"] for one in calls]
            texts = [json.dumps(one["response"], ensure_ascii=False) for one in results]
            ran += [(call["name"], call["args"], text) for call, text in zip(calls, texts, strict=True)]
        calls = called or calls
    return ran


def _gemini_proofs(body: Body) -> list[str]:
    turns = [[part for part in one["parts"] if "functionCall" in part] for one in body["contents"]]
    return ["sealed" if _is_signature(calls[0].get("thoughtSignature")) else "" for calls in turns if calls]


def _is_signature(value: Any) -> bool:
    """Whether it is one at all, and not the value that tells Gemini to do without."""
    return bool(value) and b"skip_thought" not in base64.b64decode(value.replace("-", "+").replace("_", "/") + "==")


def _gemini_thinks(body: Body) -> bool:
    """Google's Python SDK writes these names with underscores, and Gemini reads both."""
    config = (body.get("generationConfig") or {}).get("thinkingConfig") or {}
    config = {key.replace("_", "").lower(): value for key, value in config.items()}
    return bool(config.get("includethoughts")) and config.get("thinkingbudget") != 0


def _deepseek_thinks(body: Body) -> bool:
    return (body.get("thinking") or {}).get("type") != "disabled" and body.get("reasoning_effort") != "none"


def _openrouter_proofs(body: Body) -> list[str]:
    details = [one.get("reasoning_details") or () for one in _calling(body)]
    return ["".join(item.get("text", "") for item in items if item.get("signature")) for items in details]


def _openrouter_thinks(body: Body) -> bool:
    config = body.get("reasoning") or {}
    effort = config.get("effort") or body.get("reasoning_effort")
    return config.get("enabled") is not False and (effort or "medium") != "none" and config.get("max_tokens") != 0


def _asks_by_effort(body: Body) -> bool:
    return body.get("reasoning_effort") != "none" and body.get("include_reasoning") is not False


def _field(name: str) -> Callable[[Body], list[str]]:
    return lambda body: [one.get(name) or "" for one in _calling(body)]


def _counts(read: str, written: str) -> Callable[[Body], tuple[int, int]]:
    return lambda answer: (answer["usage"][read], answer["usage"][written])


ANTHROPIC_INPUT = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
"""Anthropic counts the tokens that its cache held, and those that it was given, beside the others."""


def _anthropic_usage(answer: Body) -> tuple[int, int]:
    usage = answer["usage"]
    return sum(usage.get(name) or 0 for name in ANTHROPIC_INPUT), usage["output_tokens"]


def _gemini_usage(answer: Body) -> tuple[int, int]:
    usage = answer["usageMetadata"]
    return usage["promptTokenCount"], usage.get("candidatesTokenCount", 0) + usage.get("thoughtsTokenCount", 0)


CHAT = Reader(_chat_tools, _chat_ran, _counts("prompt_tokens", "completion_tokens"))
RESPONSES = Reader(_responses_tools, _responses_ran, _counts("input_tokens", "output_tokens"))
ANTHROPIC = Reader(_anthropic_tools, _anthropic_ran, _anthropic_usage)
GEMINI = Reader(_gemini_tools, _gemini_ran, _gemini_usage)
_claude = (ANTHROPIC, _anthropic_thinks, _anthropic_proofs)
_gemini = (GEMINI, _gemini_thinks, _gemini_proofs)
UPSTREAMS: tuple[Upstream, ...] = (
    Upstream("claude", "Claude 4.5", "anthropic", "claude-sonnet-4-5", *_claude),
    Upstream("opus", "Claude 4.8", "anthropic", "claude-opus-4-8", *_claude, silent=True),
    Upstream("gemini3", "Gemini 3", "gemini", "gemini-3.1-pro-preview", *_gemini),
    Upstream("gemini25", "Gemini 2.5", "gemini", "gemini-2.5-flash", *_gemini),
    Upstream(
        "responses", "OpenAI Responses", "openai-responses", "gpt-5.6", RESPONSES, _responses_thinks, _responses_proofs
    ),
    Upstream("chat", "OpenAI Chat", "openai", "gpt-4o", CHAT),
    Upstream(
        "deepseek", "DeepSeek", "deepseek", "deepseek-v4-flash", CHAT, _deepseek_thinks, _field("reasoning_content")
    ),
    Upstream(
        "openrouter",
        "OpenRouter",
        "openrouter",
        "anthropic/claude-sonnet-4.5",
        CHAT,
        _openrouter_thinks,
        _openrouter_proofs,
    ),
    Upstream("groq", "Groq", "groq", "openai/gpt-oss-120b", CHAT, _asks_by_effort, _field("reasoning")),
    Upstream("mistral", "Mistral", "mistral", "mistral-large-latest", CHAT),
)
BY_NAME: Mapping[str, Upstream] = {one.name: one for one in UPSTREAMS}
