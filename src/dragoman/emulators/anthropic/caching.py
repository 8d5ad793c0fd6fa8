"""What Claude's prompt cache sees: tools, system, messages, with the markers of the client."""

from __future__ import annotations

from typing import Any

from dragoman.emulators.anthropic.models import ClaudeModel, claude_model
from dragoman.emulators.prompt_cache import BlockList, lifetime_of
from dragoman.emulators.provider import CacheMiss, CachePlan, CachePolicy, CacheQuestion, ReceivedRequest
from dragoman.emulators.usage import CLAUDE

_THOUGHTS = ("thinking", "redacted_thinking")


def cache_policy(model: str) -> CachePolicy:
    """The shortest prefix that the model caches, and how far it looks back."""
    return CachePolicy(minimum=_minimum(claude_model(model)))


def _minimum(model: ClaudeModel) -> int:
    if model.version is None:
        return 1024
    match model.family:
        case "haiku":
            return 2048 if model.before(4, 5) else 4096
        case "opus" if not model.since(5, 0):
            return {(4, 5): 4096, (4, 6): 4096, (4, 7): 2048}.get(model.version, 1024)
        case "opus" | "fable" | "mythos":
            return 512
    return 1024


def plan_cache(request: ReceivedRequest, answer_id: str) -> CachePlan:
    """The prompt of a request. The settings stand where a change of them begins to matter."""
    body: dict[str, Any] = request.body
    blocks = BlockList()
    blocks.add(CLAUDE.unseen(body.get("tools")))
    for tool in body.get("tools") or []:
        blocks.add(tool, lifetime_of(tool))
    blocks.salt(body.get("speed"))
    for block in _list_blocks(body.get("system")):
        blocks.add(block, lifetime_of(block))
    thinking, effort = body.get("thinking"), (body.get("output_config") or {}).get("effort")
    blocks.salt([thinking, effort if effort != "high" else None, body.get("tool_choice"), _has_image(body)])
    _add_messages(blocks, body["messages"], claude_model(request.model))
    blocks.mark_last(lifetime_of(body))
    return CachePlan(cache_policy(request.model), blocks.blocks, request.model, _question(request, answer_id))


def _add_messages(blocks: BlockList, messages: list[dict[str, Any]], model: ClaudeModel) -> None:
    """Each block of a turn. Models of before drop what they thought before the user's last own words."""
    keeps = model.since(4, 6) or (model.family == "opus" and model.since(4, 5))
    last = 0 if keeps else max((at for at, one in enumerate(messages) if _is_plain(one)), default=0)
    for at, message in enumerate(messages):
        for block in _list_blocks(message.get("content")):
            if block.get("type") in _THOUGHTS and at < last:
                continue
            blocks.salt(message.get("role"))
            blocks.add(block, lifetime_of(block))


def _list_blocks(content: Any) -> list[dict[str, Any]]:
    """A text stands for one block of text."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else content or []


def _without_marks(blocks: Any) -> list[dict[str, Any]]:
    """System texts or tools without their markers, which may move."""
    return [{name: one[name] for name in one if name != "cache_control"} for one in _list_blocks(blocks)]


def _is_plain(message: dict[str, Any]) -> bool:
    content = _list_blocks(message.get("content"))
    return message.get("role") == "user" and not any(block.get("type") == "tool_result" for block in content)


def _has_image(body: dict[str, Any]) -> bool:
    return any(block.get("type") == "image" for one in body["messages"] for block in _list_blocks(one.get("content")))


def _question(request: ReceivedRequest, answer_id: str) -> CacheQuestion | None:
    asked = request.body.get("diagnostics")
    if not isinstance(asked, dict):
        return None
    body = request.body
    parts = (
        ("model_changed", [request.model, body.get("speed")]),
        ("system_changed", _without_marks(body.get("system"))),
        ("tools_changed", _without_marks(body.get("tools"))),
        ("unavailable", [body.get("thinking"), body.get("tool_choice")]),
    )
    return CacheQuestion(answer_id, asked.get("previous_message_id"), True, parts)


def render_diagnostics(request: ReceivedRequest, miss: CacheMiss | None) -> dict[str, Any]:
    """What the answer says about the cache, if the request asked."""
    if not isinstance(request.body.get("diagnostics"), dict):
        return {}
    if miss is None or not miss.reason:
        return {"diagnostics": {"cache_miss_reason": None}}
    if miss.reason == "not_found":
        return {"diagnostics": {"cache_miss_reason": {"type": "previous_message_not_found"}}}
    counted = {} if miss.reason == "unavailable" else {"cache_missed_input_tokens": miss.tokens}
    return {"diagnostics": {"cache_miss_reason": {"type": miss.reason, **counted}}}
