"""Thinking: who may ask for it and how, and whether the blocks that come back are the ones that were sent."""

from __future__ import annotations

from typing import Any

from dragoman.emulators.anthropic.claude import Claude
from dragoman.emulators.anthropic.conversation import Turn, turns_of
from dragoman.emulators.anthropic.shape import Fault
from dragoman.emulators.signatures import mint, verdict

_EXPECTED = (
    "When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the "
    "lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous "
    "turns. To avoid this requirement, disable `thinking`."
)


def issuer(model: str) -> str:
    """Signatures are bound to the model that thought."""
    return f"anthropic/{model}"


def sign(model: str, thought: str) -> str:
    """The signature of a thinking block."""
    return mint(issuer(model), thought)


def check_blocks(messages: list[dict[str, Any]], model: Claude, strict: bool) -> None:
    """Every thinking block must be whole and ours."""
    for turn in turns_of(messages):
        for i, j, block in turn.blocks:
            if block["type"] == "thinking":
                _check_block(block, f"messages.{i}.content.{j}", model, strict)
            elif block["type"] == "redacted_thinking":
                _check_redacted(block, f"messages.{i}.content.{j}", model, strict)


def _check_block(block: dict[str, Any], at: str, model: Claude, strict: bool) -> None:
    if not block["thinking"] and (model.before(4, 7) or not block["signature"]):
        raise Fault(f"{at}.thinking: each thinking block must contain thinking")
    if verdict(issuer(model.name), block["signature"], strict, content=block["thinking"]) != "ok":
        raise Fault(f"{at}: Invalid `signature` in `thinking` block")


def _check_redacted(block: dict[str, Any], at: str, model: Claude, strict: bool) -> None:
    if verdict(issuer(model.name), block["data"], strict) != "ok":
        raise Fault(f"{at}: Invalid `data` in `redacted_thinking` block")


def check_config(body: dict[str, Any], model: Claude, beta: str) -> None:
    """What the model is asked to do about thinking, effort and sampling."""
    config = body.get("thinking") or {}
    kind = config.get("type", "disabled")
    _check_kind(kind, model)
    if kind == "enabled":
        _check_budget(config, body, beta)
        _check_loop(turns_of(body["messages"]))
    if kind in ("enabled", "adaptive") and body.get("temperature", 1) != 1:
        raise Fault("`temperature` may only be set to 1 when thinking is enabled or in adaptive mode.")
    _check_forced(body.get("tool_choice") or {}, kind, model)
    _check_effort((body.get("output_config") or {}).get("effort"), kind, model)


def _check_kind(kind: str, model: Claude) -> None:
    if kind == "adaptive" and model.before(4, 6):
        raise Fault("adaptive thinking is not supported on this model")
    if kind == "enabled" and model.since(4, 7):
        raise Fault(
            "thinking.type.enabled is not supported for this model. Use thinking.type.adaptive and output_config.effort"
        )


def _check_budget(config: dict[str, Any], body: dict[str, Any], beta: str) -> None:
    limit = body.get("max_tokens")
    if limit is not None and config["budget_tokens"] >= limit and "interleaved-thinking" not in beta:
        raise Fault(
            "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at "
            "https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size"
        )


def _check_loop(turns: list[Turn]) -> None:
    """In a running tool loop the assistant's turn must begin with its thinking."""
    if len(turns) < 2 or not turns[-1].of("tool_result") or turns[-2].role != "assistant":
        return
    i, j, first = turns[-2].blocks[0]
    if first["type"] not in ("thinking", "redacted_thinking"):
        raise Fault(
            f"messages.{i}.content.{j}.type: Expected `thinking` or `redacted_thinking`, but found "
            f"`{first['type']}`. {_EXPECTED}"
        )


def _check_forced(choice: dict[str, Any], kind: str, model: Claude) -> None:
    if choice.get("type") not in ("any", "tool"):
        return
    if kind == "enabled":
        raise Fault("Thinking may not be enabled when tool_choice forces tool use.")
    if model.forbids_forced_choice:
        raise Fault("tool_choice that forces tool use is not supported on this model.")


def _check_effort(effort: str | None, kind: str, model: Claude) -> None:
    if effort == "xhigh" and model.before(4, 7):
        raise Fault("This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium.")
    if effort in ("xhigh", "max") and kind == "disabled" and model.family == "opus" and model.since(5, 0):
        raise Fault(f"effort level '{effort}' is not supported when thinking is disabled.")
