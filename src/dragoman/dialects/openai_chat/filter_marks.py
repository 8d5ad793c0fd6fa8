"""The marks of Azure's content filter, in answers that are relayed to clients of OpenAI's types.

Azure puts them beside the choices and into each of them. Its streams begin with a chunk that has nothing else, and with
its asynchronous filter there are choices without a delta. Strict clients stumble over these.
"""

from __future__ import annotations

from typing import Any

IN_ANSWER = frozenset({"prompt_filter_results"})
IN_CHOICE = frozenset({"content_filter_results", "content_filter_offsets"})
MARKS = IN_ANSWER | IN_CHOICE


def tidy_chunk(chunk: Any) -> Any | None:
    """A chunk from which marks were taken, as clients read it; None where nothing is left of it."""
    choices = chunk.get("choices") if isinstance(chunk, dict) else None
    if not isinstance(choices, list):
        return chunk
    kept = [_with_delta(choice) for choice in choices if _says_something(choice)]
    if not kept and not chunk.get("usage"):
        return None
    return {**chunk, "choices": kept}


def _says_something(choice: Any) -> bool:
    return not isinstance(choice, dict) or "delta" in choice or bool(choice.get("finish_reason"))


def _with_delta(choice: Any) -> Any:
    return {**choice, "delta": {}} if isinstance(choice, dict) and "delta" not in choice else choice
