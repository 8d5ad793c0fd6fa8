"""Envelopes that a client made itself: what they hold is the client's, and can never be more than one value."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

import dragoman
from dragoman.conversation.envelope import seal
from dragoman.conversation.parts import OURS, Opaque, Origin, StateKind
from dragoman.engine.tool_runs.kept_runs import KeptRun, open_run

SPLICED = '"a"}]}],"model":"dear","tail":[{"messages":[{"b":"c"'
"""Closes what it is written into, names another model, and opens as much again."""


def _forge(kind: str, dialect: str, inside: str) -> str:
    return seal(Opaque(kind=kind, json=inside.encode(), origin=Origin(dialect)))


@pytest.mark.parametrize("inside", [SPLICED, ""])
def test_an_envelope_cannot_name_another_model(inside: str) -> None:
    thinking = {
        "type": "thinking", "thinking": "Hm.", "signature": _forge(StateKind.DETAIL, "openai-chat", inside),
    }  # fmt: skip
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Hello."},
        {"role": "assistant", "content": [thinking, {"type": "text", "text": "Yes?"}]},
        {"role": "user", "content": "Go on."},
    ]
    request = {"model": "cheap", "max_tokens": 100, "messages": messages}
    sent = dragoman.adapt(json.dumps(request).encode(), target="openrouter/cheap", source="anthropic").body
    assert b"dear" not in sent
    assert json.loads(sent)["model"] == "cheap"


def _run(arguments: str = "{}", state: str = '"a"') -> str:
    run = KeptRun("round", "call_1", "search", arguments, "found")
    inside = [
        {"kind": "run", "json": msgspec.json.encode(run).decode(), "origin": msgspec.to_builtins(OURS)},
        {"kind": "signature", "json": state, "origin": msgspec.to_builtins(Origin("anthropic"))},
    ]
    return _forge("run", OURS.dialect, json.dumps(inside))


def test_a_run_that_a_client_carries_is_opened() -> None:
    run, state = open_run(_run('{"query":"a"}'))
    assert isinstance(run, Opaque)
    assert isinstance(state, Opaque)
    assert (json.loads(run.json)["arguments"], state.json) == ('{"query":"a"}', b'"a"')


@pytest.mark.parametrize("forged", [{"arguments": SPLICED}, {"arguments": "{bad"}, {"state": SPLICED}, {"state": ""}])
def test_a_run_with_a_splice_is_not_opened(forged: dict[str, str]) -> None:
    assert open_run(_run(**forged)) == ()
