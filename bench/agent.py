"""A coding agent's request, written as the seven kinds of clients write it.

Twenty-five tools with schemas, a long system text and 200 messages, about 80 kB: what Claude Code, Codex, Gemini CLI,
Chat clients and others send on one turn in the middle of a task. The content is the same in every dialect; the form
is that of the own clients of the dialect.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

MESSAGES = 200
_ROUND = 9
"""Calls that the agent makes on one question of the user's."""
_SYSTEM = (
    "You are a coding agent in a terminal. Read before you write, run the tests, and say what you changed and why. "
    * 30
)
_QUESTION = 'The test "pool gives the connection back twice" fails on slow machines. Find out why.\nChange little. '
_RESULT = 3 * (
    "    if waiting:\n        waiting.popleft().set_result(connection)\n"
    '    else:\n        idle.append(connection)  # "LIFO"\n'
)
_VERBS = ("read", "write", "list", "search", "run", "edit", "move", "show", "check", "fetch", "plan", "ask", "note")
_NOUNS = ("file", "task")


class Call(NamedTuple):
    id: str
    name: str
    arguments: dict[str, Any]


class Turn(NamedTuple):
    """One message: words of the user or the model, a call, or a result."""

    role: str
    text: str = ""
    call: Call | None = None


def turns(count: int) -> Iterator[Turn]:
    """So many messages after the system text: a question, calls and their results, an answer, and again."""
    call = None
    for number in range(count):
        place = number % (2 * _ROUND + 2)
        if place == 0:
            yield Turn("user", f"[{number}] {_QUESTION}")
        elif place == 2 * _ROUND + 1:
            yield Turn("assistant", f"[{number}] The lock is taken after the waiting time is counted. {_QUESTION}")
        elif place % 2:
            call = _call(number)
            yield Turn("assistant", call=call)
        else:
            yield Turn("tool", f"[{number}] {_RESULT}", call)


def _call(number: int) -> Call:
    path = f"src/pool/part_{number}.py"
    name = f"{_VERBS[number % len(_VERBS)]}_{_NOUNS[0]}"
    return Call(f"call_{number:05d}abcdefgh", name, {"path": path, "start": number, "end": number + 80})


def tools() -> list[dict[str, Any]]:
    """Name, description and schema of each tool."""
    names = [f"{verb}_{noun}" for noun in _NOUNS for verb in _VERBS][:25]
    return [{"name": name, "description": _description(name), "schema": _schema(name)} for name in names]


def _description(name: str) -> str:
    return (
        f"{name.replace('_', ' ').capitalize()}. Use an absolute path, and prefer one call with a range to many. " * 3
    )


def _schema(name: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": f"What to {name.partition('_')[0]}, as an absolute path"},
            "start": {"type": "integer", "description": "The first line, counted from 1"},
            "end": {"type": "integer", "description": "The last line; all that follow where it is left out"},
            "mode": {"type": "string", "enum": ["plain", "numbered", "diff"], "description": "How to show it"},
            "tags": {"type": "array", "items": {"type": "string"}, "description": "Words to find it by"},
        },
        "required": ["path"],
    }


def chat(count: int) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [{"role": "system", "content": _SYSTEM}]
    for turn in turns(count - 1):
        if turn.call is None:
            messages.append({"role": turn.role, "content": turn.text})
        elif turn.role == "tool":
            messages.append({"role": "tool", "tool_call_id": turn.call.id, "content": turn.text})
        else:
            function = {"name": turn.call.name, "arguments": json.dumps(turn.call.arguments)}
            call = {"id": turn.call.id, "type": "function", "function": function}
            messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
    functions = [
        {"name": one["name"], "description": one["description"], "parameters": one["schema"]} for one in tools()
    ]
    return {
        "model": "gpt-4o",
        "messages": messages,
        "tools": [{"type": "function", "function": function} for function in functions],
        "tool_choice": "auto",
        "max_tokens": 8192,
        "stream": True,
    }


_CACHED = {"cache_control": {"type": "ephemeral"}}


def anthropic(count: int) -> dict[str, Any]:
    messages: list[dict[str, Any]] = []
    for turn in turns(count - 1):
        block: dict[str, Any]
        if turn.call is None:
            block = {"type": "text", "text": turn.text}
        elif turn.role == "tool":
            block = {"type": "tool_result", "tool_use_id": turn.call.id, "content": turn.text}
        else:
            block = {"type": "tool_use", "id": turn.call.id, "name": turn.call.name, "input": turn.call.arguments}
        messages.append({"role": "assistant" if turn.role == "assistant" else "user", "content": [block]})
    messages[-1]["content"][-1] |= _CACHED
    return {
        "model": "claude-sonnet-4-5",
        "max_tokens": 8192,
        "system": [{"type": "text", "text": _SYSTEM, **_CACHED}],
        "tools": [
            {"name": one["name"], "description": one["description"], "input_schema": one["schema"]} for one in tools()
        ],
        "messages": messages,
        "metadata": {"user_id": "user_0123456789abcdef"},
        "stream": True,
    }


def responses(count: int) -> dict[str, Any]:
    items: list[dict[str, Any]] = []
    for turn in turns(count - 1):
        if turn.call is None:
            kind = "output_text" if turn.role == "assistant" else "input_text"
            content = [{"type": kind, "text": turn.text}]
            items.append({"type": "message", "role": turn.role, "content": content})
        elif turn.role == "tool":
            items.append({"type": "function_call_output", "call_id": turn.call.id, "output": turn.text})
        else:
            arguments = json.dumps(turn.call.arguments)
            call = {"name": turn.call.name, "arguments": arguments, "call_id": turn.call.id}
            items.append({"type": "function_call", **call})
    functions = [
        {"name": one["name"], "description": one["description"], "parameters": one["schema"]} for one in tools()
    ]
    return {
        "model": "gpt-5.1",
        "instructions": _SYSTEM,
        "input": items,
        "tools": [{"type": "function", "strict": False, **function} for function in functions],
        "tool_choice": "auto",
        "parallel_tool_calls": False,
        "store": False,
        "stream": True,
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "0123-4567",
    }


def gemini(count: int) -> dict[str, Any]:
    contents: list[dict[str, Any]] = []
    for turn in turns(count - 1):
        part: dict[str, Any]
        if turn.call is None:
            part = {"text": turn.text}
        elif turn.role == "tool":
            part = {"functionResponse": {"name": turn.call.name, "response": {"output": turn.text}}}
        else:
            part = {"functionCall": {"name": turn.call.name, "args": turn.call.arguments}}
        contents.append({"role": "model" if turn.role == "assistant" else "user", "parts": [part]})
    functions = [
        {"name": one["name"], "description": one["description"], "parametersJsonSchema": one["schema"]}
        for one in tools()
    ]
    return {
        "contents": contents,
        "systemInstruction": {"role": "user", "parts": [{"text": _SYSTEM}]},
        "tools": [{"functionDeclarations": functions}],
        "generationConfig": {"temperature": 1, "topP": 0.95, "maxOutputTokens": 8192},
    }


def ollama(count: int) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [{"role": "system", "content": _SYSTEM}]
    for turn in turns(count - 1):
        if turn.call is None:
            messages.append({"role": turn.role, "content": turn.text})
        elif turn.role == "tool":
            messages.append({"role": "tool", "content": turn.text, "tool_name": turn.call.name})
        else:
            call = {"function": {"name": turn.call.name, "arguments": turn.call.arguments}}
            messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
    asked = chat(1)
    options = {"num_predict": 8192}
    return {"model": "qwen3", "messages": messages, "tools": asked["tools"], "options": options, "stream": True}


def cohere(count: int) -> dict[str, Any]:
    asked = chat(count)
    for message in asked["messages"]:
        if message.get("content") is None:
            del message["content"]
    del asked["tool_choice"]
    return asked | {"model": "command-a-03-2025"}


def bedrock(count: int) -> dict[str, Any]:
    messages: list[dict[str, Any]] = []
    for turn in turns(count - 1):
        block: dict[str, Any]
        if turn.call is None:
            block = {"text": turn.text}
        elif turn.role == "tool":
            block = {"toolResult": {"toolUseId": turn.call.id, "content": [{"text": turn.text}]}}
        else:
            block = {"toolUse": {"toolUseId": turn.call.id, "name": turn.call.name, "input": turn.call.arguments}}
        messages.append({"role": "assistant" if turn.role == "assistant" else "user", "content": [block]})
    specs = [
        {"name": one["name"], "description": one["description"], "inputSchema": {"json": one["schema"]}}
        for one in tools()
    ]
    return {
        "system": [{"text": _SYSTEM}],
        "messages": messages,
        "toolConfig": {"tools": [{"toolSpec": spec} for spec in specs]},
        "inferenceConfig": {"maxTokens": 8192},
    }


WRITERS: dict[str, Callable[[int], dict[str, Any]]] = {
    "openai-chat": chat,
    "openai-responses": responses,
    "anthropic": anthropic,
    "gemini": gemini,
    "cohere": cohere,
    "ollama": ollama,
    "bedrock": bedrock,
}


@cache
def body(dialect: str, count: int = MESSAGES) -> bytes:
    """The request in a client's dialect."""
    return json.dumps(WRITERS[dialect](count), separators=(",", ":")).encode()
