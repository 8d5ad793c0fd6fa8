"""What Gemini's implicit cache sees. It needs no marker."""

from __future__ import annotations

from typing import Any

from dragoman.emulators.chat.caching import gemini_policy
from dragoman.emulators.prompt_cache import BlockList
from dragoman.emulators.provider import CachePlan, ReceivedRequest


def plan_cache(request: ReceivedRequest) -> CachePlan:
    """The prompt of a request, however its members are spelled."""
    body: dict[str, Any] = request.body
    blocks = BlockList()
    for tool in body.get("tools") or []:
        blocks.add(tool)
    system = body.get("systemInstruction") or body.get("system_instruction")
    if system:
        blocks.add(_parts(system))
    contents = body.get("contents") or []
    for content in contents if isinstance(contents, list) else [contents]:
        for part in _parts(content):
            blocks.salt(content.get("role") or "user")
            blocks.add(part)
    return CachePlan(gemini_policy(request.model), blocks.blocks, request.model)


def _parts(content: Any) -> list[Any]:
    parts = content.get("parts") if isinstance(content, dict) else content
    return parts if isinstance(parts, list) else [parts]
