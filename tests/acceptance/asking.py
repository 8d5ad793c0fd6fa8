"""Small requests and what becomes of them, for the tests by id."""

from __future__ import annotations

from typing import Any

from dragoman.engine.adapt import Adapted, adapt

GEMINI = "openrouter/google/gemini-2.5-flash"
CLAUDE = "anthropic/claude-sonnet-4-5"
NEW_CLAUDE = "anthropic/claude-opus-4-8"
OPENAI = "openai/gpt-4o"
NATIVE = "gemini/gemini-2.5-flash"
PROXY = "gemini-compatible/gemini-2.5-flash"
STRICT = "strict-template/local"

Wire = dict[str, Any]


def says(role: str, content: Any, **more: Any) -> Wire:
    return {"role": role, "content": content, **more}


def called(identity: str = "call_1", name: str = "look", arguments: str = "{}", **more: Any) -> Wire:
    call = {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}
    return {"role": "assistant", "content": None, "tool_calls": [call], **more}


def answered(identity: str = "call_1", content: Any = "ok") -> Wire:
    return {"role": "tool", "tool_call_id": identity, "content": content}


def ask(*messages: Wire, **more: Any) -> Wire:
    return {"model": "m", "messages": list(messages), **more}


def sent(request: Wire, target: str, **options: Any) -> Adapted:
    return adapt(request, target=target, **options)


def rules(adapted: Adapted) -> list[str]:
    return [change.rule for change in adapted.changes]


def roles(adapted: Adapted) -> list[str]:
    return [message["role"] for message in adapted.json["messages"]]
