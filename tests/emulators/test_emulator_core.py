"""Every emulator at the desk, without sockets: faults, turns and streams in its own words, and never a crash."""

from __future__ import annotations

from itertools import product
from typing import Any
from urllib.parse import parse_qsl

import orjson
import pytest
from tests.offenders import offenders

from dragoman.emulators.answer_script import Script
from dragoman.emulators.catalogue import names, provider
from dragoman.emulators.emulator_core import EmulatorCore, PlannedResponse
from dragoman.emulators.faults import FAULTS
from dragoman.emulators.provider import FaultKind, ModelCall, ModelTurn

TURNS = [
    ModelTurn(text="Grüße 🌍"),
    ModelTurn(reasoning="hm", text="x"),
    ModelTurn(reasoning="hm", calls=(ModelCall("f", {"a": 1}), ModelCall("g", {}, "own_id_1"))),
    ModelTurn(calls=(ModelCall("f", {"a": "x" * 30}), ModelCall("g", {"b": "y" * 30})), interleave=True),
    ModelTurn(calls=(ModelCall("f", '{"broken": '),)),
    ModelTurn(refusal="No."),
    ModelTurn(text="cut", stop="length"),
    ModelTurn(text="", stop="filter"),
    ModelTurn(json={"a": 1}),
]


def ask(core: EmulatorCore, stream: bool, **headers: str) -> PlannedResponse:
    asked, body = core.provider.example
    path, _, versioned = asked.partition("?")
    query: dict[str, str] = dict(parse_qsl(versioned))
    if stream and ":generateContent" in path:
        path, query = path.replace(":generateContent", ":streamGenerateContent"), {"alt": "sse"}
    elif stream and path.endswith("/converse"):
        path += "-stream"
    elif stream:
        body = {**body, "stream": True}
    return core.respond("POST", path, query, headers, orjson.dumps(body))


def test_every_turn_is_answered() -> None:
    assert not offenders(check_turns, product(names(), (False, True)))


def check_turns(name: str, stream: bool) -> None:
    core = EmulatorCore(provider(name), Script(TURNS))
    for _ in TURNS:
        reply = ask(core, stream)
        assert reply.status == 200, reply.body
        assert (reply.frames is not None) is stream
        assert b"".join(reply.frames or [reply.body])
    assert {record.verdict for record in core.records} == {"accepted"}
    assert core.script.left == 0


@pytest.mark.slow
def test_every_fault_strikes() -> None:
    assert not offenders(check_fault, product(names(), FAULTS))


def check_fault(name: str, fault: str) -> None:
    core = EmulatorCore(provider(name))
    reply = ask(core, True, **{"x-emulate-fault": fault})
    assert core.records[-1].verdict == "fault"
    known = FAULTS[fault]
    if known.replaces_answer:
        assert reply.status == (known.status or reply.status) >= 400
    else:
        assert reply.fault == known
        assert bool(reply.error_frame) is (fault == "stream-error")


def test_every_kind_of_fault_has_words_even_before_a_request_is_whole() -> None:
    assert not offenders(check_words, product(names(), FaultKind))


def check_words(name: str, kind: FaultKind) -> None:
    refused = provider(name).render_fault(kind, None)
    body: Any = refused.body
    assert 400 <= refused.status < 600
    assert len(str(body)) > 10


def test_lost_and_unreadable_requests() -> None:
    assert not offenders(check_lost, product(names()))


def check_lost(name: str) -> None:
    core = EmulatorCore(provider(name))
    path, _, query = core.provider.example[0].partition("?")
    assert core.respond("POST", "/no/such/path", {}, {}, b"{}").status == 404
    assert 400 <= core.respond("POST", path, dict(parse_qsl(query)), {}, b"{").status < 500
    assert 400 <= core.respond("DELETE", path, dict(parse_qsl(query)), {}, b"").status < 500
    assert [record.verdict for record in core.records][:2] == ["unknown-path", "refused"]
    assert core.records[-1].verdict in (
        "unknown-path",
        "refused",
    )  # a provider may own the path and refuse the method itself
