"""Thinking: which models support which options, and whether returned blocks are unaltered."""

from __future__ import annotations

import re
from typing import Any

from dragoman.emulators.anthropic.conversation import ClaudeTurn, turns_of
from dragoman.emulators.anthropic.models import ClaudeModel
from dragoman.emulators.anthropic.refusals import AnthropicRefusal
from dragoman.emulators.signatures import check_signature, mint

_THINKING_FIRST = (
    "When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the "
    "lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous "
    "turns. To avoid this requirement, disable `thinking`."
)


_PLATFORM = re.compile(r"^.*?(?=claude)|[@-]20\d{6}|-v\d+(:\d+)?$|:\d+$")
"""What Bedrock and Google Cloud write around the name of a model, and the date of its version."""


def issuer(model: str) -> str:
    """The issuer of signatures: a signature is bound to its model, and is the same on all platforms."""
    return f"anthropic/{_PLATFORM.sub('', model)}"


def sign(model: str, text: str) -> str:
    """The signature of a thinking block."""
    return mint(issuer(model), text)


def check_blocks(messages: list[dict[str, Any]], model: ClaudeModel, strict: bool) -> None:
    """Every thinking block is this emulator's own, and unaltered."""
    for turn in turns_of(messages):
        for i, j, block in turn.blocks:
            if block["type"] == "thinking":
                _check_block(block, f"messages.{i}.content.{j}", model, strict)
            elif block["type"] == "redacted_thinking":
                _check_redacted(block, f"messages.{i}.content.{j}", model, strict)


def _check_block(block: dict[str, Any], at: str, model: ClaudeModel, strict: bool) -> None:
    if not block["thinking"] and (model.before(4, 6) or not block["signature"]):
        raise AnthropicRefusal(f"{at}.thinking: each thinking block must contain thinking")
    if check_signature(issuer(model.name), block["signature"], strict, content=block["thinking"]) != "ok":
        raise AnthropicRefusal(f"{at}: Invalid `signature` in `thinking` block")


def _check_redacted(block: dict[str, Any], at: str, model: ClaudeModel, strict: bool) -> None:
    if check_signature(issuer(model.name), block["data"], strict) != "ok":
        raise AnthropicRefusal(f"{at}: Invalid `data` in `redacted_thinking` block")


def check_config(body: dict[str, Any], model: ClaudeModel, beta: str) -> None:
    """The options for thinking, effort and sampling."""
    config = body.get("thinking") or {}
    kind = config.get("type", "disabled")
    _check_kind(kind, model)
    if kind == "enabled":
        _check_budget(config, body, beta)
        _check_loop(turns_of(body["messages"]))
    if kind in ("enabled", "adaptive"):
        _check_sampling(body)
    _check_forced(body.get("tool_choice") or {}, kind, model)
    _check_effort((body.get("output_config") or {}).get("effort"), kind, model)


def _check_sampling(body: dict[str, Any]) -> None:
    if body.get("temperature", 1) != 1:
        raise AnthropicRefusal("`temperature` may only be set to 1 when thinking is enabled or in adaptive mode.")
    if body.get("top_p", 1) < 0.95:
        raise AnthropicRefusal(
            "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled or in adaptive mode."
        )
    if "top_k" in body:
        raise AnthropicRefusal("`top_k` must be unset when thinking is enabled or in adaptive mode.")


def _check_kind(kind: str, model: ClaudeModel) -> None:
    if kind == "adaptive" and model.before(4, 6):
        raise AnthropicRefusal("adaptive thinking is not supported on this model")
    if kind == "enabled" and model.since(4, 7):
        raise AnthropicRefusal(
            "thinking.type.enabled is not supported for this model. Use thinking.type.adaptive and output_config.effort"
        )


def _check_budget(config: dict[str, Any], body: dict[str, Any], beta: str) -> None:
    limit = body.get("max_tokens")
    interleaves = "interleaved-thinking" in beta and body.get("tools")  # then the budget is of the whole turn
    if limit is not None and config["budget_tokens"] >= limit and not interleaves:
        raise AnthropicRefusal(
            "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at "
            "https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size"
        )


def _check_loop(turns: list[ClaudeTurn]) -> None:
    """In a running tool loop the assistant turn must begin with its thinking."""
    if len(turns) < 2 or not turns[-1].of("tool_result") or turns[-2].role != "assistant":
        return
    i, j, first = turns[-2].blocks[0]
    if first["type"] not in ("thinking", "redacted_thinking"):
        raise AnthropicRefusal(
            f"messages.{i}.content.{j}.type: Expected `thinking` or `redacted_thinking`, but found "
            f"`{first['type']}`. {_THINKING_FIRST}"
        )


def _check_forced(choice: dict[str, Any], kind: str, model: ClaudeModel) -> None:
    if choice.get("type") not in ("any", "tool"):
        return
    if kind == "enabled":
        raise AnthropicRefusal("Thinking may not be enabled when tool_choice forces tool use.")
    if model.forbids_forced_choice:
        raise AnthropicRefusal("tool_choice that forces tool use is not supported on this model.")


def _check_effort(effort: str | None, kind: str, model: ClaudeModel) -> None:
    if effort == "xhigh" and model.before(4, 7):
        raise AnthropicRefusal(
            "This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium."
        )
    if effort in ("xhigh", "max") and kind == "disabled" and model.family == "opus" and model.since(5, 0):
        raise AnthropicRefusal(f"effort level '{effort}' is not supported when thinking is disabled.")
