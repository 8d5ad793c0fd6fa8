"""Law 9, prefix-stable: what was written for a conversation is written again when turns are appended to it."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from msgspec import Raw
from tests.by_dialect import write_request
from tests.strategies import SHAPES, request
from tests.targets import SWEEPS, signer

from dragoman.conversation.messages import Message, Role
from dragoman.conversation.pairs import pair
from dragoman.dialects import registry
from dragoman.engine.library.adapt import AdaptedRequest, adapt, read
from dragoman.wire.json_reader import split_items, split_members

LISTS = {name: registry.dialect(name).list_name for name in SHAPES}
MORE = {name: write_request(name, "user: Hi\nassistant: Indeed.\nuser: And then?")[LISTS[name]][1:] for name in SHAPES}
MOVES = {("late-system", "moved to the opening"), ("late-result", "moved a result to its call")}
"""What the law excepts: a reported hoist, and a late result."""


@pytest.mark.parametrize(("target", "seeds"), SWEEPS)
def test_what_was_written_is_written_again(target: str, seeds: range) -> None:
    compared = 0
    for source in SHAPES:
        for seed in seeds:
            body = request(source, seed, signer(target)).body
            asked = read(body, source=source).conversation.messages
            if pair(asked).unanswered:
                continue  # the law speaks of conversations whose calls are all answered
            short = msgspec.json.decode(body)
            turns = short[LISTS[source]]
            if isinstance(turns, str):
                turns = [{"role": "user", "content": turns}]
                short = {**short, LISTS[source]: turns}
            more = MORE[source] if ends_with_user(asked) else MORE[source][1:]
            before = adapt(short, source=source, target=target)
            after = adapt({**short, LISTS[source]: turns + more}, source=source, target=target)
            if MOVES & {(change.rule, change.did) for change in (*before.changes, *after.changes)}:
                continue
            if source == after.dialect and (not after.changes or only_then(before, after)):
                continue  # law 2 wins: what is accepted as it is goes out as it came
            assert changed(before.body, after.body) == [], (source, seed)
            compared += 1
    assert compared > len(seeds)


def only_then(before: AdaptedRequest, after: AdaptedRequest) -> bool:
    """A signature that the client's own dialect demands in the current turn alone: later the call is fine as it is."""
    then, now = ({change.at for change in one.changes if change.rule == "missing-signature"} for one in (before, after))
    return bool(then - now)


def ends_with_user(messages: tuple[Message, ...]) -> bool:
    return messages[-1].role is not Role.ASSISTANT


def changed(before: bytes, after: bytes) -> list[tuple[bytes, bytes]]:
    """What was written otherwise the second time, byte by byte: but the output's last turn and cache hints."""
    first, second = split_members(before), split_members(after)
    name = next(name for name in LISTS.values() if name in first)
    pairs = zip(_stable(first[name]), split_items(second[name]), strict=False)
    tops = ((first.get(key, b""), second.get(key, b"")) for key in ("system", "systemInstruction", "tools"))
    return [(one, other) for one, other in map(_plain, (*pairs, *tops)) if one != other]


def _plain(two: tuple[bytes | Raw, bytes | Raw]) -> tuple[bytes, bytes]:
    one, other = (_HINT.sub(b"", bytes(text)) for text in two)
    return one, other


_HINT = re.compile(rb',"cache_control":\{[^}]*\}')


def _stable(raw: Raw) -> list[Raw]:
    """The items less the last turn: those of one side at the end."""
    found = list(split_items(raw))
    sides = [_side(item) for item in found]
    while sides and sides[-1] == _side(found[-1]):
        sides.pop()
    return found[: len(sides)]


def _side(item: Raw) -> str:
    """The user's and the tools' side, or the model's."""
    wire = msgspec.json.decode(item)
    mine = wire.get("role") in ("assistant", "model") or wire.get("type") in ("function_call", "reasoning")
    return "model" if mine else str(wire.get("role", "tool"))


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
