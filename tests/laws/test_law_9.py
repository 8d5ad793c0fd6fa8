"""Law 9, prefix-stable: what was written for a conversation is written again when turns are appended to it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.strategies import SHAPES, request
from tests.targets import SEEDS, TARGETS, signer

from dragoman.engine.adapt import adapt, read

MORE: dict[str, list[dict[str, Any]]] = {
    "openai-chat": [{"role": "assistant", "content": "Indeed."}, {"role": "user", "content": "And then?"}],
    "anthropic": [{"role": "assistant", "content": "Indeed."}, {"role": "user", "content": "And then?"}],
    "openai-responses": [{"role": "assistant", "content": "Indeed."}, {"role": "user", "content": "And then?"}],
    "gemini": [{"role": "model", "parts": [{"text": "Indeed."}]}, {"role": "user", "parts": [{"text": "And then?"}]}],
}
LISTS = {"openai-chat": "messages", "anthropic": "messages", "openai-responses": "input", "gemini": "contents"}
MOVED = {"late-system", "late-result", "orphan-result", "repeated-result", "missing-result", "json-word"}
"""Repairs that a later turn may undo or move, and that are reported."""


@pytest.mark.parametrize("target", TARGETS)
def test_what_was_written_is_written_again(target: str) -> None:
    for source in SHAPES:
        for seed in range(SEEDS):
            short = msgspec.json.decode(request(source, seed, signer(target)).body)
            turns = short[LISTS[source]]
            if not isinstance(turns, list) or not ends_well(turns):
                continue
            long = {**short, LISTS[source]: turns + MORE[source]}
            before, after = (adapt(one, source=source, target=target) for one in (short, long))
            if MOVED & {change.rule for change in (*before.changes, *after.changes)}:
                continue
            assert kept(items(before.json), items(after.json)), (source, seed)
            assert before.json.get("system") == after.json.get("system")


def ends_well(turns: list[Any]) -> bool:
    """The last turn is the user's own: nothing is to be continued or answered."""
    last = turns[-1]
    return last.get("role") == "user" and "tool_result" not in str(last) and "functionResponse" not in str(last)


def items(wire: dict[str, Any]) -> list[Any]:
    found = wire.get("messages") or wire.get("contents") or wire.get("input") or []
    return found if isinstance(found, list) else [found]


def kept(before: list[Any], after: list[Any]) -> bool:
    """All but the output's last turn, cache hints and signatures of the turn that was the current one."""
    last = before[-1].get("role") if before else None
    stable = list(before)
    while stable and stable[-1].get("role") == last:
        stable.pop()
    return all(one == other for one, other in zip(stable, after, strict=False))


def test_ids_come_from_hashes_and_stay() -> None:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Hi"}]
    for number in range(3):
        call = {"id": f"odd id {number}!", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"odd id {number}!", "content": "ok"},
        ]
    long = adapt({"model": "m", "messages": messages}, target="mistral/mistral-large-latest").json["messages"]
    short = adapt({"model": "m", "messages": messages[:5]}, target="mistral/mistral-large-latest").json["messages"]
    assert long[:5] == short
    assert read(msgspec.json.encode({"model": "m", "messages": messages}), source="openai-chat")
