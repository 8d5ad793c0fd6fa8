"""The emulated Responses API over a WebSocket."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from dragoman.emulators.serving.background_server import RunningEmulator
from dragoman.testing import emulator

ENDS = ("response.completed", "response.failed", "response.incomplete", "error")
TOOL = {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}, "strict": False}


@pytest.fixture
def openai() -> Iterator[RunningEmulator]:
    with emulator("openai-responses") as running:
        yield running


@pytest.fixture
def line(openai: RunningEmulator) -> Iterator[ClientConnection]:
    with connect(openai.url.replace("http", "ws") + "/v1/responses", proxy=None, max_size=None) as opened:
        yield opened


def say(line: ClientConnection, given: Any, **more: Any) -> None:
    line.send(json.dumps({"type": "response.create", "model": "gpt-5.6", "input": given, "store": False, **more}))


def until(line: ClientConnection, *kinds: str) -> list[dict[str, Any]]:
    events = [json.loads(line.recv(timeout=60))]
    while events[-1]["type"] not in kinds:
        events.append(json.loads(line.recv(timeout=60)))
    return events


def ask(line: ClientConnection, given: Any, **more: Any) -> dict[str, Any]:
    say(line, given, **more)
    return until(line, *ENDS)[-1]


def test_a_turn_continues_the_most_recent_answer_alone(openai: RunningEmulator, line: ClientConnection) -> None:
    openai.script("Hello Anna.", "You are Anna.")
    say(line, "I am Anna.", stream=True, background=False)
    events = until(line, *ENDS)
    assert [one["sequence_number"] for one in events] == list(range(len(events)))
    first = events[-1]["response"]
    second = ask(line, "Who am I?", previous_response_id=first["id"])["response"]
    assert (second["previous_response_id"], second["output"][-1]["content"][0]["text"]) == (
        first["id"],
        "You are Anna.",
    )
    read = str(openai.requests[-1].body["input"])
    assert read.index("I am Anna.") < read.index("Hello Anna.") < read.index("Who am I?")
    lost = ask(line, "And now?", previous_response_id=first["id"])
    assert (lost["status"], lost["error"]["code"]) == (400, "previous_response_not_found")
    assert lost["error"]["message"] == f"Previous response with id '{first['id']}' not found."
    assert ask(line, "And now?", previous_response_id=second["id"])["type"] == "response.completed", (
        "a miss costs nothing"
    )


def test_a_stored_answer_outlives_the_next_one_and_a_failed_turn_forgets(line: ClientConnection) -> None:
    stored = ask(line, "1", store=True)["response"]["id"]
    newest = ask(line, "2")["response"]["id"]
    assert ask(line, "3", previous_response_id=stored)["type"] == "response.completed"
    newest = ask(line, "4")["response"]["id"]
    assert ask(line, "5", previous_response_id=newest, temperature=7)["status"] == 400
    assert ask(line, "5", previous_response_id=newest)["error"]["code"] == "previous_response_not_found"


def test_a_prepared_turn_has_no_output_and_uses_no_step(openai: RunningEmulator, line: ClientConnection) -> None:
    openai.script("You are Anna.")
    ready = ask(line, [{"role": "user", "content": "I am Anna."}], generate=False)["response"]
    assert (ready["status"], ready["output"]) == ("completed", [])
    answer = ask(line, [], previous_response_id=ready["id"])["response"]
    assert answer["output"][-1]["content"][0]["text"] == "You are Anna."
    assert ask(line, "x", generate=False, temperature=7)["status"] == 400
    warm = ask(line, "x", prompt_cache_options={"prewarm": True})
    assert warm["type"] == "error" or warm["response"]["output"] == []


def test_lanes_repeat_their_name_and_keep_their_order(openai: RunningEmulator, line: ClientConnection) -> None:
    for lane, given in (("a", "1"), ("b", "2"), ("a", "3")):
        say(line, given, stream_id=lane)
    events = [event for _ in range(3) for event in until(line, *ENDS)]
    assert {one["stream_id"] for one in events} == {"a", "b"}
    begun = [one["stream_id"] for one in events if one["type"] == "response.created"]
    assert sorted(begun) == ["a", "a", "b"]
    mine = [one["type"] for one in events if one["stream_id"] == "a"]
    assert mine.index("response.completed") < len(mine) - 1 - mine[::-1].index("response.created")


def test_input_for_a_running_answer_becomes_its_successor(openai: RunningEmulator, line: ClientConnection) -> None:
    openai.script({"text": "A long answer.", "fault": "slow;every=0.05"}, "En francais.")
    say(line, "Tell me.", instructions="Be brief.")
    id = until(line, "response.created")[-1]["response"]["id"]
    line.send(json.dumps({"type": "response.steer", "previous_response_id": id, "input": "In French."}))
    accepted = until(line, "response.steer.accepted")[-1]
    assert accepted["steer"]["previous_response_id"] == id
    until(line, "response.completed")
    successor = until(line, "response.completed")
    assert (successor[0]["type"], successor[0]["response"]["previous_response_id"]) == ("response.created", id)
    assert successor[-1]["response"]["instructions"] == "Be brief."
    line.send(json.dumps({"type": "response.steer", "previous_response_id": id, "input": "Late."}))
    failed = json.loads(line.recv(timeout=60))
    assert (failed["type"], failed["error"]["code"]) == ("response.steer.failed", "response_not_found")


def test_input_waits_for_results_that_are_due(openai: RunningEmulator, line: ClientConnection) -> None:
    openai.script({"calls": [{"name": "look"}], "fault": "slow;every=0.05"}, "A fox.")
    say(line, "Look!", tools=[TOOL])
    id = until(line, "response.created")[-1]["response"]["id"]
    line.send(json.dumps({"type": "response.steer", "previous_response_id": id, "input": "Quick!"}))
    (stub,) = until(line, "response.steer.pending")[-1]["required_input"]
    assert (stub["type"], stub["name"]) == ("function_call_output", "look")
    result = {"type": "function_call_output", "call_id": stub["call_id"], "output": "a fox"}
    assert ask(line, [result], previous_response_id=id, tools=[TOOL])["type"] == "response.completed"
    assert "Quick!" in str(openai.requests[-1].body["input"])


@pytest.mark.parametrize(
    "message",
    ["", "[]", b"{}", "{}", '{"type": "response.cancel"}', '{"type": "response.create", "stream_id": 7}',
     '{"type": "response.create", "generate": 1}', '{"type": "response.create", "model": "gpt-5.6"}',
     '{"type": "response.create", "model": "gpt-5.6", "input": "x", "never_was": 1}'],
)  # fmt: skip
def test_a_message_of_the_wrong_form_is_an_error_with_a_status(line: ClientConnection, message: Any) -> None:
    line.send(message)
    error = json.loads(line.recv(timeout=60))
    assert (error["type"], error["status"], error["error"]["type"]) == ("error", 400, "invalid_request_error")
    assert ask(line, "x")["type"] == "response.completed"


def test_faults_reach_a_socket(openai: RunningEmulator, line: ClientConnection) -> None:
    openai.script({"fault": "429"}, {"fault": "stream-error"}, {"fault": "cut"})
    assert ask(line, "x")["status"] == 429
    assert until_failed(line)[-1]["type"] == "response.failed"
    say(line, "x")
    with pytest.raises(ConnectionClosed):
        until(line, *ENDS)


def until_failed(line: ClientConnection) -> list[dict[str, Any]]:
    say(line, "x")
    events = until(line, "response.failed")
    assert all("status" in one for one in events if one["type"] == "error")
    return events


def test_a_message_of_more_than_sixteen_megabytes_ends_the_socket(line: ClientConnection) -> None:
    with pytest.raises(ConnectionClosed) as closed:
        ask(line, "x" * (16 << 20))
    assert closed.value.rcvd is None or closed.value.rcvd.code == 1009


def test_only_the_path_of_responses_has_a_socket(openai: RunningEmulator) -> None:
    for path in ("/v1/models", "/v1/responses/compact", "/v1/nothing"):
        with pytest.raises(InvalidStatus), connect(openai.url.replace("http", "ws") + path, proxy=None):
            pass


def test_azure_has_one_lane_and_no_steering() -> None:
    with emulator("azure-openai-responses", script=["Hello."]) as azure:
        address = azure.url.replace("http", "ws") + "/openai/v1/responses"
        with connect(address, proxy=None, additional_headers={"authorization": "Bearer k"}) as line:
            refused = ask(line, "Hi", stream_id="a")
            assert (refused["status"], refused["error"]["param"]) == (400, "stream_id")
            line.send(json.dumps({"type": "response.steer", "previous_response_id": "resp_x", "input": "Stop."}))
            assert until(line, *ENDS)[-1]["error"]["param"] == "type"
            assert ask(line, "Hi")["type"] == "response.completed"
