"""What the prompt cache behind Converse sees: a `cachePoint` marks what stands before it."""

from __future__ import annotations

from typing import Any

from dragoman.emulators.anthropic.caching import cache_policy
from dragoman.emulators.bedrock.families import family_of, unseen
from dragoman.emulators.prompt_cache import BlockList, lifetime_of
from dragoman.emulators.provider import CachePlan, ReceivedRequest


def plan_cache(request: ReceivedRequest) -> CachePlan | None:
    """The prompt of a request; None if the family has no cache."""
    if not family_of(request.model).caching:
        return None
    body, blocks = request.body, BlockList()
    tools = body.get("toolConfig") or {}
    blocks.add(unseen(request))
    _add(blocks, tools.get("tools"))
    _add(blocks, body.get("system"))
    thinking = (body.get("additionalModelRequestFields") or {}).get("thinking")
    blocks.salt([thinking, tools.get("toolChoice")])
    for message in body.get("messages") or []:
        _add(blocks, message.get("content"), message.get("role"))
    return CachePlan(cache_policy(request.model), blocks.blocks, request.model)


def _add(blocks: BlockList, entries: list[dict[str, Any]] | None, role: str = "") -> None:
    for entry in entries or []:
        if "cachePoint" in entry:
            blocks.mark_last(lifetime_of(entry, "cachePoint"))
            continue
        blocks.salt(role)
        blocks.add(entry)
