"""The requests of an agent's loop, as its client sends them: every turn the whole history, and a little more."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

Wire = dict[str, Any]
SYSTEM = "You are a careful engineer. " * 200
LATE = "The plan has changed: be brief from now on. " * 4
IMAGE_TURN, LATE_TURN = 6, 11
_SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOLS = [(f"read_{at}", f"Reads a file of kind {at}. " * 12, _SCHEMA) for at in range(6)]
_PICTURE = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(200))).decode()


def _result(at: int) -> str:
    return f"Line {at} of the file, with some words in it. " * 25


def claude_code(turns: int) -> list[Wire]:
    """Messages with a marker on the system text and on the last two turns of the user's side, which move along."""
    messages: list[Wire] = [{"role": "user", "content": [{"type": "text", "text": "Please read the files. " * 20}]}]
    sent: list[Wire] = []
    for at in range(turns):
        users = [place for place, one in enumerate(messages) if one["role"] == "user"][-2:]
        marked = [_with_marker(one) if place in users else one for place, one in enumerate(messages)]
        sent.append(
            {
                "model": "claude-sonnet-4-6",
                "max_tokens": 4000,
                "system": [{"type": "text", "text": SYSTEM, "cache_control": {"type": "ephemeral"}}],
                "tools": [{"name": n, "description": d, "input_schema": s} for n, d, s in TOOLS],
                "messages": marked,
            }
        )
        call = {"type": "tool_use", "id": f"toolu_{at:04}", "name": f"read_{at % 6}", "input": {"path": f"/{at}"}}
        messages.append({"role": "assistant", "content": [{"type": "text", "text": f"I read file {at}."}, call]})
        result: Wire = {"type": "tool_result", "tool_use_id": call["id"], "content": _result(at)}
        more: list[Wire] = []
        if at == IMAGE_TURN:
            more = [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": _PICTURE}}]
        if at == LATE_TURN:
            more = [{"type": "text", "text": f"<system-reminder>{LATE}</system-reminder>"}]
        messages.append({"role": "user", "content": [result, *more]})
    return sent


def _with_marker(message: Wire) -> Wire:
    *rest, last = message["content"]
    return {**message, "content": [*rest, {**last, "cache_control": {"type": "ephemeral"}}]}


def codex(turns: int) -> list[Wire]:
    """Items of the Responses API."""
    items: list[Wire] = [_item("user", "input_text", "Please read the files. " * 20)]
    sent: list[Wire] = []
    tools = [{"type": "function", "name": n, "description": d, "parameters": s, "strict": False} for n, d, s in TOOLS]
    for at in range(turns):
        sent.append({"model": "gpt-5.1", "instructions": SYSTEM, "tools": tools, "input": list(items), "store": False})
        items.append(_item("assistant", "output_text", f"I read file {at}."))
        call = {"type": "function_call", "call_id": f"call_{at:04}", "name": f"read_{at % 6}"}
        items.append({**call, "arguments": f'{{"path":"/{at}"}}'})
        items.append({"type": "function_call_output", "call_id": call["call_id"], "output": _result(at)})
        if at == IMAGE_TURN:
            picture = {"type": "input_image", "image_url": f"data:image/png;base64,{_PICTURE}"}
            items.append({"type": "message", "role": "user", "content": [picture]})
        if at == LATE_TURN:
            items.append(_item("developer", "input_text", LATE))
    return sent


def _item(role: str, kind: str, text: str) -> Wire:
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def gemini_cli(turns: int) -> list[Wire]:
    """Contents of the Gemini API."""
    contents: list[Wire] = [{"role": "user", "parts": [{"text": "Please read the files. " * 20}]}]
    sent: list[Wire] = []
    declared = [{"name": n, "description": d, "parametersJsonSchema": s} for n, d, s in TOOLS]
    for at in range(turns):
        sent.append(
            {
                "systemInstruction": {"role": "user", "parts": [{"text": SYSTEM}]},
                "tools": [{"functionDeclarations": declared}],
                "contents": list(contents),
            }
        )
        name = f"read_{at % 6}"
        call = {"functionCall": {"name": name, "args": {"path": f"/{at}"}}}
        contents.append({"role": "model", "parts": [{"text": f"I read file {at}."}, call]})
        parts: list[Wire] = [{"functionResponse": {"name": name, "response": {"output": _result(at)}}}]
        if at == IMAGE_TURN:
            parts.append({"inlineData": {"mimeType": "image/png", "data": _PICTURE}})
        if at == LATE_TURN:
            parts.append({"text": LATE})
        contents.append({"role": "user", "parts": parts})
    return sent


def chat_agent(turns: int) -> list[Wire]:
    """Messages of the Chat Completions API."""
    messages: list[Wire] = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": "Please read the files. " * 20},
    ]
    sent: list[Wire] = []
    tools = [{"type": "function", "function": {"name": n, "description": d, "parameters": s}} for n, d, s in TOOLS]
    for at in range(turns):
        sent.append({"model": "gpt-4o", "tools": tools, "messages": list(messages)})
        function = {"name": f"read_{at % 6}", "arguments": f'{{"path":"/{at}"}}'}
        call = {"id": f"call_{at:04}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": f"I read file {at}.", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": _result(at)})
        if at == IMAGE_TURN:
            picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{_PICTURE}"}}
            messages.append({"role": "user", "content": [{"type": "text", "text": "This is it."}, picture]})
        if at == LATE_TURN:
            messages.append({"role": "system", "content": LATE})
    return sent


LOOPS: Mapping[str, tuple[str, Callable[[int], list[Wire]]]] = {
    "anthropic": ("anthropic/claude-sonnet-4-6", claude_code),
    "openai-responses": ("openai-responses/gpt-5.1", codex),
    "gemini": ("gemini/gemini-2.5-flash", gemini_cli),
    "openai-chat": ("openai/gpt-4o", chat_agent),
}
"""By the client's dialect: the target that speaks it, and the loop."""
