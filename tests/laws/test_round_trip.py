"""Law 7, round trip: the client's own names and ids can be had back, and opaque state goes only to its own makers."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.strategies import SHAPES, request
from tests.targets import ONE_OF_EACH, SWEEPS, signer

from dragoman.conversation.envelope import seal
from dragoman.conversation.literals import quote
from dragoman.conversation.parts import Call, Opaque, Origin, StateKind
from dragoman.emulators.signatures import mint
from dragoman.engine.library.adapt import adapt, read


@pytest.mark.parametrize(("target", "seeds"), SWEEPS)
def test_undo_gives_the_clients_names_and_ids_back(target: str, seeds: range) -> None:
    for source in SHAPES:
        for seed in seeds:
            body = request(source, seed, signer(target)).body
            adapted = adapt(body, source=source, target=target)
            known = {part.name for part in calls(read(body, source=source).conversation)}
            for call in calls(adapted.conversation):
                assert adapted.undo.names.get(call.name, call.name) in known, (source, seed)


def calls(conversation: Any) -> list[Call]:
    return [part for message in conversation.messages for part in message.parts if isinstance(part, Call)]


SIGNATURE = mint("anthropic/claude-opus-4-8", "I think")
STATE = Opaque(
    kind=StateKind.SIGNATURE, json=quote(SIGNATURE), origin=Origin("anthropic", "anthropic", "claude-opus-4-8")
)
CHAT = {
    "model": "m",
    "messages": [
        {"role": "user", "content": "Hi"},
        {
            "role": "assistant",
            "content": "Hello",
            "reasoning_details": [{"type": "reasoning.text", "text": "I think", "signature": seal(STATE)}],
        },
        {"role": "user", "content": "More"},
    ],
}


def test_sealed_state_goes_home_as_the_same_bytes() -> None:
    sent = adapt(CHAT, target="anthropic/claude-opus-4-8").json
    assert sent["messages"][1]["content"][0] == {"type": "thinking", "thinking": "I think", "signature": SIGNATURE}


@pytest.mark.parametrize(
    "target", [*(target for target in ONE_OF_EACH if "opus-4-8" not in target), "anthropic/claude-sonnet-5"]
)
def test_and_nowhere_else(target: str) -> None:
    adapted = adapt(CHAT, target=target)
    assert SIGNATURE.encode() not in adapted.body
    assert seal(STATE).encode() not in adapted.body
    assert "foreign-reasoning" in {change.rule for change in adapted.changes}


def test_own_state_is_untouched_in_its_own_dialect() -> None:
    body = {
        "model": "claude-opus-4-8",
        "max_tokens": 9,
        "messages": [
            {"role": "user", "content": "Hi"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "I think", "signature": SIGNATURE},
                    {"type": "text", "text": "a"},
                ],
            },
            {"role": "user", "content": "More"},
        ],
    }
    adapted = adapt(body, source="anthropic", target="anthropic/claude-opus-4-8")
    assert adapted.body == msgspec.json.encode(body)
