"""Compaction: the `compaction` parameter, the edit `compact_20260112`, and blocks that come back.

The codes are those of the SDK's types; the sentences are ours, because none was recorded.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dragoman.emulators.anthropic.conversation import blocks_of
from dragoman.emulators.anthropic.refusals import AnthropicRefusal
from dragoman.emulators.provider import ReceivedRequest
from dragoman.emulators.signatures import check_signature, mint
from dragoman.emulators.usage import answer_seed, count_tokens

Block = dict[str, Any]
_ISSUER = "anthropic-compaction"
_EDIT = "compact_20260112"
_USUAL_TRIGGER = 150_000


def check_compaction(body: dict[str, Any], strict: bool) -> None:
    """What may be wrong with blocks that come back, and with a request for a new one."""
    blocks = list(_blocks_in(body))
    signed = [one for one in blocks if one[2].get("signature") is not None]
    if len(signed) > 1:
        raise _refusal("compaction_block_ambiguous", "more than one compaction block has content")
    for i, j, block in blocks:
        at = f"messages.{i}.content.{j}"
        if block.get("content") == "":
            raise AnthropicRefusal(f"{at}.compaction.content: String should have at least 1 character")
        if block.get("signature") is None:
            continue
        if (i, j) != (0, 0):
            raise _refusal("compaction_block_misplaced", f"{at}: a signed compaction block must come first")
        verdict = check_signature(_ISSUER, block["signature"], strict, content=block.get("content"))
        if verdict == "altered" and check_signature(_ISSUER, block["signature"], strict) == "ok":
            raise _refusal("compaction_content_mismatch", f"{at}: the content is not what was signed")
        if verdict != "ok":
            raise _refusal("compaction_signature_invalid", f"{at}: Invalid `signature` in `compaction` block")
    if body.get("compaction") is not None:
        _check_request(body)


def _check_request(body: dict[str, Any]) -> None:
    config = body["compaction"]
    if not isinstance(config, dict) or config.get("type") != "summarize":
        raise AnthropicRefusal("compaction.type: Input should be 'summarize'")
    if body.get("context_management") is not None:
        raise AnthropicRefusal("compaction: cannot be combined with context_management")
    if body["messages"][-1]["role"] == "assistant":
        kinds = {block["type"] for block in blocks_of(body["messages"][-1])}
        if "tool_use" in kinds:
            raise _refusal("compaction_incomplete_turn", "the conversation ends on an unfinished assistant turn")
    if all(block["type"] == "compaction" for message in body["messages"] for block in blocks_of(message)):
        raise _refusal("compaction_nothing_to_summarize", "there is nothing to summarize")


def is_asked(request: ReceivedRequest) -> bool:
    """Whether the answer is a compaction and nothing else."""
    return request.body.get("compaction") is not None or (_crosses(request) and bool(_edit(request.body)["pause"]))


def compact(request: ReceivedRequest, prompt: list[Any]) -> Block | None:
    """The block that the answer begins with, if there is one."""
    summary = f"A summary of {count_tokens(prompt)} tokens."
    if request.body.get("compaction") is not None:
        return {"type": "compaction", "content": summary, "signature": mint(_ISSUER, summary), "tool_changes": []}
    if _crosses(request):
        return {"type": "compaction", "content": summary, "encrypted_content": mint(_ISSUER, answer_seed(request))}
    return None


def _crosses(request: ReceivedRequest) -> bool:
    edit = _edit(request.body)
    prompt = [request.body.get(name) for name in ("system", "messages", "tools")]
    return edit is not None and count_tokens(prompt) > edit["above"]


def _edit(body: dict[str, Any]) -> Any:
    edits = (body.get("context_management") or {}).get("edits") or ()
    found = next((one for one in edits if one.get("type") == _EDIT), None)
    if found is None:
        return None
    trigger = found.get("trigger") or {}
    return {"above": trigger.get("value", _USUAL_TRIGGER), "pause": found.get("pause_after_compaction")}


def _blocks_in(body: dict[str, Any]) -> Iterator[tuple[int, int, Block]]:
    for i, message in enumerate(body["messages"]):
        for j, block in enumerate(blocks_of(message)):
            if block["type"] == "compaction":
                yield i, j, block


def _refusal(code: str, sentence: str) -> AnthropicRefusal:
    refusal = AnthropicRefusal(sentence)
    refusal.code = code
    return refusal
