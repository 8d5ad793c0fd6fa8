"""What the prompt caches behind Chat and Responses see, and what is known of each service's cache.

If a service does not publish its minimum or step, they are those of recorded answers. Steps of one token are emulated
as steps of sixteen.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from dragoman.emulators.prompt_cache import AUTOMATIC, BlockList, lifetime_of
from dragoman.emulators.provider import CachePlan, CachePolicy, CacheQuestion, ReceivedRequest
from dragoman.emulators.usage import UnseenTokens

BREAKPOINT = "prompt_cache_breakpoint"
BREAKPOINTS = CachePolicy(look_back=80, by_marks=True)
_HOUR, _DAY = 3600.0, 86_400.0
_SERVICES: Mapping[str, CachePolicy] = {
    "deepseek": CachePolicy(128, step=64, seconds=_DAY, learns=True),
    "groq": CachePolicy(128, step=128, seconds=2 * _HOUR),
    "llamacpp": CachePolicy(16, step=16),
    "mistral": CachePolicy(16, step=16),
    "moonshot": CachePolicy(64, step=64),
    "xai": CachePolicy(64, step=64),
    "zai": CachePolicy(16, step=16),
}
_BREAKS = re.compile(r"(?:^|/)gpt-(?:5\.[6-9]|[6-9])")
_MOST_BREAKPOINTS = 4


def openai_policy(model: str) -> CachePolicy:
    """Since gpt-5.6 a prefix is kept at breakpoints alone; before, in steps of 128 tokens."""
    return BREAKPOINTS if _BREAKS.search(model) else AUTOMATIC


def gemini_policy(model: str) -> CachePolicy:
    """The shortest prefix that is cached: 1024 tokens on Flash, 4096 on Pro. Any length above it is found."""
    return CachePolicy(4096 if "pro" in model else 1024, step=16)


_BY_MODEL: Mapping[str, Callable[[str], CachePolicy]] = {
    "openai": openai_policy,
    "azure-openai": openai_policy,
    "gemini-openai": gemini_policy,
}


def policy_of(service: str, model: str) -> CachePolicy | None:
    """What a service's cache does with a model; None if it is not known to have one."""
    by_model = _BY_MODEL.get(service)
    return by_model(model) if by_model else _SERVICES.get(service)


def plan_chat(request: ReceivedRequest, policy: CachePolicy, unseen: UnseenTokens) -> CachePlan:
    """The prompt of a Chat request. `unseen`: what the service puts before it."""
    body, blocks = request.body, BlockList()
    blocks.salt([body.get(name) for name in ("response_format", "reasoning_effort", "verbosity", "service_tier")])
    if unseen.tokens:
        blocks.add(unseen)
    for tool in body.get("tools") or []:
        blocks.add(tool, _mark(tool, policy))
    for message in body["messages"]:
        _add_message(blocks, message, policy, _options(body).get("mode") != "explicit")
    blocks.mark_last(lifetime_of(body))
    _mark_implicitly(blocks, body, policy)
    return CachePlan(policy, blocks.blocks, _scope(request))


def plan_responses(request: ReceivedRequest, answer_id: str, policy: CachePolicy, unseen: UnseenTokens) -> CachePlan:
    """The prompt of a Responses request."""
    body, blocks = request.body, BlockList()
    text, reasoning = body.get("text") or {}, body.get("reasoning") or {}
    settings = {
        "model_changed": request.model,
        "prompt_cache_key_changed": body.get("prompt_cache_key"),
        "tools_changed": body.get("tools") or [],
        "text_format_changed": text.get("format"),
        "reasoning_effort_changed": reasoning.get("effort"),
        "verbosity_changed": text.get("verbosity"),
        "service_tier_changed": body.get("service_tier"),
    }
    blocks.salt([settings[name] for name in settings if name != "tools_changed"])
    if unseen.tokens:
        blocks.add(unseen)
    for tool in body.get("tools") or []:
        blocks.add(tool)
    if body.get("instructions"):
        blocks.add(body["instructions"])
    given = body.get("input") or []
    for item in [{"role": "user", "content": given}] if isinstance(given, str) else given:
        _add_message(blocks, item, policy, _options(body).get("mode") != "explicit")
    _mark_implicitly(blocks, body, policy)
    previous = _options(body).get("comparison_response_id")
    question = CacheQuestion(answer_id, previous, previous is not None, tuple(settings.items()), "input_changed")
    return CachePlan(policy, blocks.blocks, _scope(request), question)


def _scope(request: ReceivedRequest) -> str:
    """A key for the cache leads to one machine, and another key to another."""
    return f"{request.model}\0{request.body.get('prompt_cache_key') or request.headers.get('x-grok-conv-id', '')}"


def _add_message(blocks: BlockList, message: dict[str, Any], policy: CachePolicy, ends: bool) -> None:
    """The parts of a message, each for itself, and what else it has. `ends`: the end of a prompt is marked unasked."""
    body = "output" if isinstance(message.get("output"), list) else "content"  # of a tool, if it is one
    content = message.get(body)
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}] if content else []
    for part in parts:
        blocks.salt(message.get("role"))
        blocks.add(part.get("text") or part if isinstance(part, dict) else part, _mark(part, policy))
    rest = {name: value for name, value in message.items() if name not in ("role", body, "id", "status")}
    if not parts or any(name != "type" for name in rest):
        blocks.salt(message.get("role"))
        blocks.add(rest)
    if ends:
        blocks.end_message()


def _mark(value: Any, policy: CachePolicy) -> str:
    """A marker in either of its two forms. Of OpenRouter it is known that both mean the same."""
    if policy is not BREAKPOINTS:
        return lifetime_of(value)
    return lifetime_of(value, BREAKPOINT, "30m")


def _mark_implicitly(blocks: BlockList, body: dict[str, Any], policy: CachePolicy) -> None:
    """Since gpt-5.6 the latest message is marked without being asked, and only the latest four marks count."""
    if policy is not BREAKPOINTS:
        return
    options = _options(body)
    if options.get("mode") != "explicit":
        blocks.mark_last("30m")
    blocks.keep_marks(_MOST_BREAKPOINTS, options.get("ttl"))


def _options(body: dict[str, Any]) -> dict[str, Any]:
    found = body.get("prompt_cache_options")
    return found if isinstance(found, dict) else {}
