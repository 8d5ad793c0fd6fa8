"""Checks across items: calls and outputs, reasoning and the item after it, unique ids."""

from __future__ import annotations

from typing import Any

from dragoman.emulators.chat.openai.request_types import wrong_type
from dragoman.emulators.openai_responses.items import kind_of
from dragoman.emulators.openai_responses.refusals import ResponsesRefusal
from dragoman.emulators.signatures import check_signature, is_masked, mint

ISSUER = "openai-responses"
Item = dict[str, Any]
_CALL_KINDS = (
    *("function_call", "custom_tool_call", "shell_call", "local_shell_call", "apply_patch_call", "computer_call"),
    "tool_search_call",
)
"""Calls that must be answered, but for searches that OpenAI runs."""
_OUTPUT_KINDS = ("tool_search_output", *(f"{kind}_output" for kind in _CALL_KINDS))


def encrypt(content: str) -> str:
    """Encrypted reasoning. It is bound to the account, so here to this emulator."""
    return mint(ISSUER, content, url_safe=True)  # as all of more than 160 recorded values are


def check_items(items: list[Item], stored: bool, uses_stored_state: bool, strict: bool) -> None:
    """All checks across items."""
    _check_ids(items)
    _check_encrypted(items, strict)
    if stored:
        _check_reasoning_followed(items)
    if not uses_stored_state and not any(kind_of(item) == "item_reference" for item in items):
        _check_calls(items)


def _check_ids(items: list[Item]) -> None:
    seen: set[str] = set()
    for item in items:
        name = item.get("id")
        if not isinstance(name, str) or is_masked(name) or kind_of(item) == "item_reference":
            continue
        if name in seen:
            raise ResponsesRefusal(
                f"Duplicate item found with id {name}. Remove duplicate items from your input and try again.", "input"
            )
        seen.add(name)


def _check_encrypted(items: list[Item], strict: bool) -> None:
    for item in items:
        blob = item.get("encrypted_content")
        if blob is None or is_masked(blob) or kind_of(item) not in ("reasoning", "compaction"):
            continue
        if not isinstance(blob, str):
            raise wrong_type("input", "a string", blob)
        if check_signature(ISSUER, blob, strict) != "ok":
            raise ResponsesRefusal(
                f"The encrypted content {blob[:4]}...{blob[-4:]} could not be verified. "
                "Reason: Encrypted content could not be decrypted or parsed.",
                None,
                "invalid_encrypted_content",
            )


def _check_reasoning_followed(items: list[Item]) -> None:
    """A stored reasoning item comes directly before the item it led to, and that item has an id."""
    reasoning_id: str | None = None
    for item in items:
        kind = kind_of(item)
        if kind == "reasoning":
            reasoning_id = reasoning_id or item.get("id")
            continue
        if reasoning_id and kind == "message" and not item.get("id"):
            break
        reasoning_id = None
    if reasoning_id:
        raise ResponsesRefusal(
            f"Item '{reasoning_id}' of type 'reasoning' was provided without its required following item.", "input"
        )


def _check_calls(items: list[Item]) -> None:
    calls: dict[str, str] = {}
    answered: set[str] = set()
    for item in items:
        kind, name = kind_of(item), item.get("call_id")
        if kind == "local_shell_call_output":
            name = name or item.get("id")  # the published type has no other name for its call
        if kind in _CALL_KINDS and isinstance(name, str):
            calls[name] = kind
        elif kind in _OUTPUT_KINDS and isinstance(name, str):
            if name not in calls:
                raise ResponsesRefusal(f"No tool call found for {kind.replace('_', ' ')} with call_id {name}.", "input")
            answered.add(name)
        if kind == "tool_search_call" and item.get("execution") != "client" and isinstance(name, str):
            answered.add(name)
    for name, kind in calls.items():
        if name not in answered:
            raise ResponsesRefusal(f"No tool output found for {kind.replace('_', ' ')} {name}.", "input")
