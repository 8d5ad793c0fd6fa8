"""Turns of a client's WebSocket that go over one to the provider: only what is new, and posted if the socket fails."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.gateway.running import Running, gateway, provider, wait_for
from tests.gateway.test_sockets import TOOL, Talk, talking, text

from dragoman.dialects.contracts.sockets import KeptAnswer, SocketTurn
from dragoman.dialects.openai_responses.endpoints.provider_messages import ResponseEvents
from dragoman.dialects.openai_responses.endpoints.socket_frames import ResponseMessages
from dragoman.emulators.serving.background_server import RunningEmulator
from dragoman.testing import emulator
from dragoman.upstream.socket_line import SocketLine
from dragoman.wire.json_size import LARGE

MODEL = "gpt-5.6"


@pytest.fixture
def behind() -> Iterator[RunningEmulator]:
    with emulator("openai-responses") as one:
        yield one


@pytest.fixture
def running(behind: RunningEmulator, tmp_path: Path) -> Iterator[Running]:
    providers = {
        "p": provider("openai-responses", behind.base_url, websocket=True),
        "posts": provider("openai-responses", behind.base_url),
    }
    models = {"m": {"target": f"p/{MODEL}"}, "posted": {"target": f"posts/{MODEL}"}}
    with gateway({"providers": providers, "models": models}, tmp_path) as one:
        yield one


@pytest.fixture
def sent_over(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The messages that went over sockets to the provider."""
    messages: list[dict[str, Any]] = []
    say = SocketLine.say

    async def note(line: SocketLine, message: bytes) -> None:
        messages.append(json.loads(message))
        await say(line, message)

    monkeypatch.setattr(SocketLine, "say", note)
    return messages


def run_tool_loop(talk: Talk, model: str) -> list[dict[str, Any]]:
    """Three turns, each by the id of the one before."""
    more = {"tools": [TOOL], "include": ["reasoning.encrypted_content"], "instructions": "Be brief."}
    ends = [talk.ask(model, [{"role": "user", "content": "What is there?"}], **more)]
    call = next(item for item in ends[-1]["response"]["output"] if item["type"] == "function_call")
    result = {"type": "function_call_output", "call_id": call["call_id"], "output": "A fox."}
    ends.append(talk.ask(model, [result], previous_response_id=ends[-1]["response"]["id"], **more))
    ends.append(talk.ask(model, "Sure?", previous_response_id=ends[-1]["response"]["id"], **more))
    return ends


TURNS = ({"reasoning": "I look.", "calls": [{"name": "look", "arguments": {}}]}, "It is a fox.", "Yes.")


def test_a_turn_holds_what_is_new_and_the_provider_reads_the_whole_conversation(
    running: Running, behind: RunningEmulator, sent_over: list[dict[str, Any]]
) -> None:
    behind.script(*TURNS, *TURNS)
    with talking(running) as talk:
        ends = run_tool_loop(talk, "m")
        posted = run_tool_loop(talk, "posted")
    assert [text(end) for end in ends] == ["", "It is a fox.", "Yes."]
    assert [one["response"]["previous_response_id"] for one in ends[1:]] == [one["response"]["id"] for one in ends[:2]]
    assert [text(end) for end in posted] == [text(end) for end in ends]
    over, by_post = behind.requests[:3], behind.requests[3:]
    assert [one.headers.get("upgrade") for one in behind.requests] == ["websocket"] * 3 + [None] * 3
    assert [len(one["input"]) for one in sent_over] == [1, 1, 1], "what is new"
    named = [one.get("previous_response_id") for one in sent_over]
    assert named == [None, *(end["response"]["id"] for end in ends[:2])]
    assert [len(one.body["input"]) for one in over] == [len(one.body["input"]) for one in by_post] == [1, 4, 6]
    assert all(one["instructions"] == "Be brief." and one["tools"] for one in sent_over), "these are not kept"


def test_an_error_is_the_same_as_by_post(running: Running, behind: RunningEmulator) -> None:
    behind.script({"fault": "401"}, {"fault": "401"}, "Fine.")
    with talking(running) as talk:
        told = [talk.ask(model, "Hi") for model in ("m", "posted")]
        assert text(talk.ask("m", "Hi")) == "Fine.", "the socket goes on"
    assert [(one["type"], one["status"]) for one in told] == [("error", told[0]["status"])] * 2
    assert told[0]["error"]["message"] == told[1]["error"]["message"]


def test_the_wait_that_a_provider_asks_for_is_kept(
    running: Running, behind: RunningEmulator, sent_over: list[dict[str, Any]]
) -> None:
    behind.script({"fault": "429;retry-after=70"}, "Fine.")
    with talking(running) as talk:
        told = talk.ask("m", "Hi")
    assert (told["status"], told["headers"]["retry-after"]) == (429, "70")
    assert len(sent_over) == 1, "it is not tried again before"


ERRORS: dict[str, tuple[dict[str, Any], int, str]] = {
    "flat": ({"code": "server_error", "message": "flat", "param": None, "sequence_number": 0}, 500, "flat"),
    "a text": ({"error": "in words", "status": 400}, 400, "in words"),
    "another name": ({"error": {"message": "named"}, "status_code": 422}, 422, "named"),
    "none": ({"error": {"message": "typed", "type": "invalid_request_error"}}, 400, "typed"),
    "none, but a code": ({"error": {"message": "slow", "code": "rate_limit_exceeded"}}, 429, "slow"),
    "no status": ({"error": {"message": "odd"}, "status": 200}, 500, "odd"),
    "not numbers": ({"error": {"message": "odd", "code": [7]}, "status": "no", "headers": 7}, 500, "odd"),
}


TYPES = {**dict.fromkeys((400, 422), "invalid_request_error"), 429: "rate_limit_error", 500: "server_error"}


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("began", [False, True])
def test_an_error_of_any_form_has_its_status_and_words(error: str, began: bool) -> None:
    message, status, words = ERRORS[error]
    written = json.dumps({"type": "error", **message}).encode()
    if began:
        shown = ResponseMessages(SocketTurn(b"{}", "a", "", b"[]"))
        (told,) = [*shown.event(b"error", written), *shown.close()]
        end = json.loads(told)
        assert (end["stream_id"], end["status"], end["error"]["message"]) == ("a", status, words)
        assert end["error"]["type"] == TYPES[status]
        return
    events = ResponseEvents()
    body = json.loads(events.read(written))
    assert (events.status, events.is_over, body["error"]["message"]) == (status, True, words)


def test_headers_of_an_error_are_read_without_those_of_a_body() -> None:
    events = ResponseEvents()
    error = {"message": "slow", "headers": {"Retry-After": 7, "Content-Encoding": "gzip", "x": None}}
    events.read(json.dumps({"type": "error", "status": 429, "error": error, "headers": {"A": "b"}}).encode())
    assert events.headers == {"retry-after": "7", "a": "b"}


def test_a_stream_that_breaks_ends_with_an_error(running: Running, behind: RunningEmulator) -> None:
    behind.script({"text": "One two three four.", "fault": "cut;after=4"}, "Fine.")
    with talking(running) as talk:
        broken = talk.ask("m", "Hi")
        assert broken["type"] in ("response.failed", "error")
        assert text(talk.ask("m", "Hi")) == "Fine.", "over a new socket"


def test_a_provider_without_sockets_is_asked_by_post(
    running: Running, behind: RunningEmulator, sent_over: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    behind.script("One.", "Two.")
    monkeypatch.setattr(type(behind.provider), "has_socket", lambda self, path: False)
    with talking(running) as talk:
        assert [text(talk.ask("m", "Hi")) for _ in range(2)] == ["One.", "Two."]
    assert sent_over == []
    assert [one.method for one in behind.requests] == ["GET", "POST", "POST"], "it is not tried again at once"


def test_a_socket_that_has_forgotten_costs_no_turn(
    running: Running, behind: RunningEmulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    behind.script("One.", "Two.", "Three.")

    def forget(line: SocketLine, kept: KeptAnswer | None) -> None:
        line._kept = replace(kept, id="resp_gone") if kept is not None else None

    monkeypatch.setattr(SocketLine, "keep", forget)
    with talking(running) as talk:
        first = talk.ask("m", "1")
        second = talk.ask("m", "2", previous_response_id=first["response"]["id"])
    assert [text(first), text(second)] == ["One.", "Two."]
    assert [one.headers.get("upgrade") for one in behind.requests] == ["websocket", None], "the second was posted"
    assert len(behind.requests[1].body["input"]) == 3


def test_a_turn_ends_with_its_client(running: Running, behind: RunningEmulator) -> None:
    behind.script({"text": "word " * 200, "fault": "slow;every=0.05"})
    with talking(running) as talk:
        talk.create("m", "Hi")
        talk.until("response.output_text.delta")
    transports = running.services.dispatcher.transports.values()
    wait_for(lambda: all(one.is_closing() for each in transports for one in each._sockets))
    wait_for(lambda: running.busy() == (0, 0))


def test_a_key_is_a_bearer_token_at_an_upgrade(tmp_path: Path) -> None:
    with emulator("azure-openai-responses", script=["Hello."]) as behind:
        served = provider("azure-openai-responses", behind.base_url, websocket=True)
        config = {"providers": {"p": served}, "models": {"m": {"target": f"p/{MODEL}"}}}
        with gateway(config, tmp_path) as running, talking(running) as talk:
            assert text(talk.ask("m", "Hi")) == "Hello."
    (asked,) = behind.requests
    assert (asked.headers.get("upgrade"), "api-key" in asked.headers) == ("websocket", False)
    assert "authorization" in asked.headers


ODD_MESSAGES = {
    "depth": b'{"type":"x","a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "a list": b"[]",
    "bytes": b"\xff\x00",
    "no type": b'{"type":5}',
    "half an item": b'{"type":"response.output_item.done"}',
    "no place": b'{"type":"response.output_item.done","output_index":"x","item":{}}',
    "no response": b'{"type":"response.completed","response":1}',
}


@pytest.mark.parametrize("odd", ODD_MESSAGES)
def test_an_odd_message_is_the_error_of_its_turn(
    running: Running, behind: RunningEmulator, monkeypatch: pytest.MonkeyPatch, odd: str
) -> None:
    behind.script("One.", "Fine.")
    hear, heard = SocketLine.hear, 0

    async def hear_odd(line: SocketLine) -> bytes:
        nonlocal heard
        heard += 1
        message = await hear(line)
        return ODD_MESSAGES[odd] if heard == 4 else message  # once something went to the client

    monkeypatch.setattr(SocketLine, "hear", hear_odd)
    with talking(running) as talk:
        assert talk.ask("m", "Hi")["type"] in ("response.failed", "error")
        assert text(talk.ask("m", "Hi")) == "Fine.", "over a new socket"


def test_a_large_message_is_read_in_a_thread(
    running: Running, behind: RunningEmulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[bool, set[bool]] = {}
    read = ResponseEvents.read

    def note(events: ResponseEvents, message: bytes) -> bytes:
        heavy = threading.current_thread().name.startswith("dragoman-heavy")
        seen.setdefault(len(message) > LARGE, set()).add(heavy)
        return read(events, message)

    monkeypatch.setattr(ResponseEvents, "read", note)
    behind.script("a" * 2 * LARGE)
    with talking(running) as talk:
        assert len(text(talk.ask("m", "Hi"))) == 2 * LARGE
    assert seen == {True: {True}, False: {False}}
