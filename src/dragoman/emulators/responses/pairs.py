"""What holds between items: calls and outputs, reasoning and what it led to, ids that are used once."""

from __future__ import annotations

from typing import Any

from dragoman.emulators.responses.items import kind_of
from dragoman.emulators.responses.shape import Fault, mistyped
from dragoman.emulators.signatures import is_masked, mint, verdict

ISSUER = "openai-responses"
Item = dict[str, Any]
_ASKS = ("function_call", "custom_tool_call", "tool_search_call")


def seal(content: str) -> str:
    """Encrypted reasoning, bound to the account and so to this emulator."""
    return mint(ISSUER, content)


def check_items(items: list[Item], stored: bool, leans_on_state: bool, strict: bool) -> None:
    """All rules between items, in the order of the input."""
    _check_ids(items)
    _check_seals(items, strict)
    if stored:
        _check_followers(items)
    if not leans_on_state and not any(kind_of(item) == "item_reference" for item in items):
        _check_calls(items)


def _check_ids(items: list[Item]) -> None:
    seen: set[str] = set()
    for item in items:
        name = item.get("id")
        if not isinstance(name, str) or is_masked(name) or kind_of(item) == "item_reference":
            continue
        if name in seen:
            raise Fault(
                f"Duplicate item found with id {name}. Remove duplicate items from your input and try again.", "input"
            )
        seen.add(name)


def _check_seals(items: list[Item], strict: bool) -> None:
    for item in items:
        blob = item.get("encrypted_content")
        if blob is None or is_masked(blob) or kind_of(item) not in ("reasoning", "compaction"):
            continue
        if not isinstance(blob, str):
            raise mistyped(blob, "a string", "input")
        if verdict(ISSUER, blob, strict) != "ok":
            raise Fault(
                f"The encrypted content {blob[:4]}...{blob[-4:]} could not be verified. "
                "Reason: Encrypted content could not be decrypted or parsed.",
                None,
                "invalid_encrypted_content",
            )


def _check_followers(items: list[Item]) -> None:
    """A stored reasoning item stands directly before the item it led to, and that one is known by its id."""
    waiting: str | None = None
    for item in items:
        kind = kind_of(item)
        if kind == "reasoning":
            waiting = waiting or item.get("id")
            continue
        if waiting and kind == "message" and not item.get("id"):
            break
        waiting = None
    if waiting:
        raise Fault(f"Item '{waiting}' of type 'reasoning' was provided without its required following item.", "input")


def _check_calls(items: list[Item]) -> None:
    asked: dict[str, str] = {}
    answered: set[str] = set()
    for item in items:
        kind, name = kind_of(item), item.get("call_id")
        if kind in _ASKS and isinstance(name, str):
            asked[name] = kind
        elif kind in ("function_call_output", "custom_tool_call_output", "tool_search_output") and isinstance(
            name, str
        ):
            if name not in asked:
                raise Fault(f"No tool call found for {_output(kind)} with call_id {name}.", "input")
            answered.add(name)
    for name, kind in asked.items():
        if name not in answered and kind != "tool_search_call":
            raise Fault(f"No tool output found for {kind.replace('_', ' ')} {name}.", "input")


def _output(kind: str) -> str:
    return kind.replace("_", " ")
