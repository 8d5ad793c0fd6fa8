"""Every emulator at the desk, without sockets: faults, turns and streams in its own words, and never a crash."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from dragoman.emulators.answer_script import Script
from dragoman.emulators.catalogue import names, provider
from dragoman.emulators.emulator_core import EmulatorCore, Reply
from dragoman.emulators.faults import FAULTS
from dragoman.emulators.provider import FaultKind, ToolCall, Turn

TURNS = [
    Turn(text="Grüße 🌍"),
    Turn(reasoning="hm", text="x"),
    Turn(reasoning="hm", calls=(ToolCall("f", {"a": 1}), ToolCall("g", {}, "own_id_1"))),
    Turn(calls=(ToolCall("f", {"a": "x" * 30}), ToolCall("g", {"b": "y" * 30})), interleave=True),
    Turn(calls=(ToolCall("f", '{"broken": '),)),
    Turn(refusal="No."),
    Turn(text="cut", stop="length"),
    Turn(text="", stop="filter"),
    Turn(json={"a": 1}),
]


def ask(desk: EmulatorCore, stream: bool, **headers: str) -> Reply:
    path, body = desk.provider.example
    query: dict[str, str] = {}
    if stream and ":generateContent" in path:
        path, query = path.replace(":generateContent", ":streamGenerateContent"), {"alt": "sse"}
    elif stream:
        body = {**body, "stream": True}
    return desk.reply("POST", path, query, headers, orjson.dumps(body))


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", names())
def test_every_turn_is_answered(name: str, stream: bool) -> None:
    desk = EmulatorCore(provider(name), Script(TURNS))
    for _ in TURNS:
        reply = ask(desk, stream)
        assert reply.status == 200, reply.body
        assert (reply.frames is not None) is stream
        assert b"".join(reply.frames or [reply.body])
    assert {record.verdict for record in desk.records} == {"accepted"}
    assert desk.script.left == 0


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", names())
def test_every_fault_strikes(name: str, fault: str) -> None:
    desk = EmulatorCore(provider(name))
    reply = ask(desk, True, **{"x-emulate-fault": fault})
    assert desk.records[-1].verdict == "fault"
    known = FAULTS[fault]
    if known.is_early or fault == "502":
        assert reply.status == (known.status or reply.status) >= 400
    else:
        assert reply.fault == known
        assert bool(reply.error_frame) is (fault == "stream-error")


@pytest.mark.parametrize("kind", FaultKind)
@pytest.mark.parametrize("name", names())
def test_every_kind_of_fault_has_words_even_before_a_request_is_whole(name: str, kind: FaultKind) -> None:
    refused = provider(name).fault(kind, None)
    body: Any = refused.body
    assert 400 <= refused.status < 600
    assert len(str(body)) > 10


@pytest.mark.parametrize("name", names())
def test_lost_and_unreadable_requests(name: str) -> None:
    desk = EmulatorCore(provider(name))
    assert desk.reply("POST", "/no/such/path", {}, {}, b"{}").status == 404
    assert 400 <= desk.reply("POST", desk.provider.example[0], {}, {}, b"{").status < 500
    assert 400 <= desk.reply("DELETE", desk.provider.example[0], {}, {}, b"").status < 500
    assert [record.verdict for record in desk.records][:2] == ["lost", "refused"]
    assert desk.records[-1].verdict in ("lost", "refused")  # a provider may own the path and refuse the method itself
