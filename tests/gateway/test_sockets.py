"""Responses over a WebSocket: turns, lanes, steering, errors as messages, limits and ends."""

from __future__ import annotations

import json
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.gateway.running import Hands, Running, gateway, provider, wait_for
from tests.gateway.serving import serving
from tests.gateway.stage import HOMES, Stage
from tests.gateway.upstream import Seen, Upstream, upstream
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from dragoman.config.client_keys import sha256_of
from dragoman.dialects.openai_responses.endpoints import socket_frames, stored_answers
from dragoman.gateway.http import client_watch
from dragoman.gateway.sockets import open_sockets, socket_session
from dragoman.store.clock import Clocks
from dragoman.store.ledger_entry import Viewer
from dragoman.testing import emulator
from dragoman.wire.json_size import LARGE

ENDS = ("response.completed", "response.incomplete", "response.failed", "error")
PATIENCE = 60
TOOL = {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}, "strict": False}


@pytest.fixture(scope="module")
def on_stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with ExitStack() as stack:
        emulators = {name: stack.enter_context(emulator(home)) for name, (home, _) in HOMES.items()}
        providers = {name: provider(home, emulators[name].base_url) for name, (home, _) in HOMES.items()}
        models = {name: {"target": f"{name}/{model}"} for name, (_, model) in HOMES.items()}
        running = stack.enter_context(
            gateway({"providers": providers, "models": models}, tmp_path_factory.mktemp("sockets"))
        )
        yield Stage(running, emulators)


class Talk:
    """A client with one socket."""

    def __init__(self, line: ClientConnection) -> None:
        self.socket = line

    def say(self, message: Any) -> None:
        self.socket.send(message if isinstance(message, (str, bytes)) else json.dumps(message))

    def create(self, model: str, given: Any, **more: Any) -> None:
        self.say({"type": "response.create", "model": model, "input": given, "store": False, **more})

    def hear(self) -> dict[str, Any]:
        return json.loads(self.socket.recv(timeout=PATIENCE))

    def until(self, *kinds: str) -> list[dict[str, Any]]:
        heard = [self.hear()]
        while heard[-1]["type"] not in kinds:
            heard.append(self.hear())
        return heard

    def ask(self, model: str, given: Any, **more: Any) -> dict[str, Any]:
        """The last event of an answer."""
        self.create(model, given, **more)
        return self.until(*ENDS)[-1]

    def end(self) -> int | None:
        """The code of the end, which the other side begins."""
        with pytest.raises(ConnectionClosed) as closed:
            self.socket.recv(timeout=PATIENCE)
        return closed.value.rcvd.code if closed.value.rcvd is not None else None


@contextmanager
def talking(running: Running, path: str = "/v1/responses", key: str = "any", **headers: str) -> Iterator[Talk]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    address = running.url.replace("http", "ws") + path
    authorization = {"authorization": f"Bearer {key}"} if key else {}
    with connect(address, additional_headers=authorization | named, max_size=None, proxy=None) as line:
        yield Talk(line)


def text(event: dict[str, Any]) -> str:
    items = event["response"]["output"]
    return "".join(part["text"] for item in items if item["type"] == "message" for part in item["content"])


def refused(running: Running, **given: Any) -> Any:
    with pytest.raises(InvalidStatus) as refusal, talking(running, **given):
        pass
    return refusal.value.response


# Turns


@pytest.mark.parametrize("model", HOMES)
def test_a_conversation_goes_on_by_its_id_and_nothing_is_stored(on_stage: Stage, model: str) -> None:
    on_stage.script(model, "Hello Anna.", "You are Anna.", "Anna, still.")
    with talking(on_stage.gateway) as talk:
        talk.create(model, "I am Anna.", stream=True)
        heard = talk.until(*ENDS)
        assert heard[0]["type"] == "response.created"
        assert [event["sequence_number"] for event in heard] == list(range(len(heard)))
        first = heard[-1]["response"]
        assert (first["status"], first["previous_response_id"], first["store"]) == ("completed", None, False)
        second = talk.ask(model, "Who am I?", previous_response_id=first["id"])
        assert (text(second), second["response"]["previous_response_id"]) == ("You are Anna.", first["id"])
        third = talk.ask(
            model, [{"role": "user", "content": "Sure?"}], previous_response_id=second["response"]["id"], stream=False
        )
        assert text(third) == "Anna, still."
    sent = str(on_stage.check(model, 3)[2].body)
    for words in ("I am Anna.", "Hello Anna.", "Who am I?", "You are Anna.", "Sure?"):
        assert sent.count(words) == 1, words
    assert sent.index("I am Anna.") < sent.index("Hello Anna.") < sent.index("Who am I?") < sent.index("Sure?")


def test_only_the_newest_answer_of_a_lane_is_remembered(on_stage: Stage) -> None:
    on_stage.script("claude", "One.", "Two.")
    with talking(on_stage.gateway) as talk:
        first = talk.ask("claude", "1")["response"]["id"]
        talk.ask("claude", "2", previous_response_id=first)
        for id in (first, "resp_never_was"):
            lost = talk.ask("claude", "3", previous_response_id=id)
            assert (lost["type"], lost["status"]) == ("error", 400)
            assert lost["error"]["code"] == "previous_response_not_found"
            assert lost["error"]["message"] == f"Previous response with id '{id}' not found."
            assert lost["error"]["param"] == "previous_response_id"
    on_stage.check("claude", 2)
    with talking(on_stage.gateway) as talk:
        newest = talk.ask("claude", "1")["response"]["id"]
    with talking(on_stage.gateway) as other:
        assert other.ask("claude", "2", previous_response_id=newest)["type"] == "error", "it goes with its socket"


@pytest.mark.parametrize("model", ["claude", "thinker"])
def test_stored_answers_and_others_make_one_conversation(on_stage: Stage, model: str) -> None:
    on_stage.script(model, "One.", "Two.", "Three.", "Four.", "Five.")
    with talking(on_stage.gateway) as talk:
        first = talk.ask(model, "1?", store=True)["response"]
        second = talk.ask(model, "2?", previous_response_id=first["id"])["response"]
        assert (first["store"], second["store"]) == (True, False)
        third = talk.ask(model, "3?", previous_response_id=second["id"], store=True)["response"]
        fourth = talk.ask(model, "4?", previous_response_id=third["id"])
        assert text(fourth) == "Four."
    with talking(on_stage.gateway) as talk:
        assert text(talk.ask(model, "5?", previous_response_id=third["id"])) == "Five.", (
            "what is stored outlives a socket"
        )
        assert talk.ask(model, "6?", previous_response_id=second["id"])["type"] == "error", "and nothing else does"
    sent = [str(one.body) for one in on_stage.asked(model)]
    if model == "claude":
        assert all(sent[3].count(f"{number}?") == 1 for number in (1, 2, 3, 4))
        assert all(word in sent[4] for word in ("1?", "One.", "2?", "Two.", "3?", "Three."))
        assert "4?" not in sent[4]


@pytest.mark.parametrize("model", ["claude", "thinker"])
def test_a_prepared_turn_generates_nothing_and_can_be_continued(on_stage: Stage, model: str) -> None:
    on_stage.script(model, "You are Anna.")
    with talking(on_stage.gateway) as talk:
        talk.create(model, [{"role": "user", "content": "I am Anna. Who am I?"}], generate=False, tools=[TOOL])
        heard = talk.until(*ENDS)
        assert [one["type"] for one in heard] == ["response.created", "response.in_progress", "response.completed"]
        ready = heard[-1]["response"]
        assert (ready["status"], ready["output"], ready["usage"]["total_tokens"]) == ("completed", [], 0)
        assert on_stage.asked(model) == []
        answer = talk.ask(model, [], previous_response_id=ready["id"], tools=[TOOL])
    assert text(answer) == "You are Anna."
    assert "I am Anna. Who am I?" in str(on_stage.check(model)[0].body)
    ledger = on_stage.gateway.services.store.ledger
    page = on_stage.gateway.do(lambda: ledger.recent(Viewer("", True)))
    assert sorted(one.socket for one in page.entries[:2]) == ["continued", "prepared"]  # each is written by itself


def test_large_messages_and_events_are_read_in_threads(on_stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[bool, set[bool]] = {}
    readers = ((socket_frames, "split_members"), (socket_frames, "open_object"), (stored_answers, "open_body"))

    def note(read: Callable[..., Any], text: bytes, *more: Any) -> Any:
        is_heavy = threading.current_thread().name.startswith("dragoman-heavy")
        seen.setdefault(len(text) > LARGE, set()).add(is_heavy)
        return read(text, *more)

    for module, name in readers:
        monkeypatch.setattr(module, name, partial(note, getattr(module, name)))
    on_stage.script("claude", "a" * 2 * LARGE, "And more.")
    with talking(on_stage.gateway) as talk:
        first = talk.ask("claude", "b" * 2 * LARGE)
        assert len(text(first)) == 2 * LARGE
        assert text(talk.ask("claude", "Go on.", previous_response_id=first["response"]["id"])) == "And more."
    assert seen[True] == {True}
    assert False in seen[False]


@pytest.mark.parametrize("model", ["claude", "gemini", "thinker", "gpt"])
def test_results_of_tools_follow_their_calls(on_stage: Stage, model: str) -> None:
    on_stage.script(model, {"reasoning": "I look.", "calls": [{"name": "look", "arguments": {}}]}, "It is a fox.")
    more: Any = {"tools": [TOOL], "include": ["reasoning.encrypted_content"]}
    with talking(on_stage.gateway) as talk:
        first = talk.ask(model, "Look!", **more)["response"]
        call = next(item for item in first["output"] if item["type"] == "function_call")
        result = {"type": "function_call_output", "call_id": call["call_id"], "output": "a fox"}
        assert text(talk.ask(model, [result], previous_response_id=first["id"], **more)) == "It is a fox."
    assert "a fox" in str(on_stage.check(model, 2)[-1].body)


def test_the_official_sdk_holds_a_conversation(on_stage: Stage) -> None:
    on_stage.script("gemini", "Hello Anna.", "You are Anna.")
    with on_stage.gateway.openai().responses.connect() as connection:
        connection.response.create(model="gemini", input="I am Anna.", store=False)
        first = _completed(connection)
        connection.response.create(model="gemini", input="Who am I?", store=False, previous_response_id=first.id)
        assert _completed(connection).output_text == "You are Anna."
    sent = str(on_stage.check("gemini", 2)[-1].body)
    assert "I am Anna." in sent


def _completed(connection: Any) -> Any:
    for event in connection:
        if event.type == "response.completed":
            return event.response
        assert event.type not in ENDS, event
    raise AssertionError("the socket ended")


# Lanes and steering


class Held(tuple[bytes, ...]):
    """The pieces of a stream. After the first the rest waits until the test lets it go."""

    gate: threading.Event

    def __iter__(self) -> Iterator[bytes]:
        pieces = list(super().__iter__())
        yield pieces[0]
        assert self.gate.wait(PATIENCE)
        yield from pieces[1:]


class Slow:
    """An upstream whose answers wait for the test, and say what was asked last."""

    def __init__(self) -> None:
        self.gates: dict[str, threading.Event] = {}
        self.calls = False

    def __call__(self, seen: Seen) -> Any:
        asked = str(seen.body["messages"][-1]["content"])
        first = _chunk({"role": "assistant", "content": f"({asked}"}, id=f"chatcmpl-{asked}")
        pieces = Held((first, *self._rest(), b"data: [DONE]\n\n"))
        pieces.gate = self.gates.setdefault(asked, threading.Event())
        return 200, pieces

    def _rest(self) -> tuple[bytes, ...]:
        call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        if self.calls:
            return _chunk({"tool_calls": [call]}), _chunk({}, "tool_calls")
        return _chunk({"content": ")"}), _chunk({}, "stop")

    def go(self, asked: str) -> None:
        self.gates.setdefault(asked, threading.Event()).set()


def _chunk(delta: Any, stop: str | None = None, id: str = "c") -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": stop}
    chunk = {"id": id, "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[tuple[Running, Slow, Upstream]]:
    answers = Slow()
    with upstream(answers) as behind:
        config = {"providers": {"up": provider("openai-compatible", behind.url)}, "models": {"m": {"target": "up/m"}}}
        with gateway(config, tmp_path) as running:
            yield running, answers, behind


SlowStage = tuple[Running, Slow, Upstream]


def test_lanes_run_side_by_side_and_each_in_its_order(slow: SlowStage) -> None:
    running, answers, behind = slow
    with talking(running) as talk:
        for lane, asked in (("a", "one"), ("a", "two"), ("b", "three")):
            talk.create("m", asked, stream_id=lane)
        wait_for(lambda: len(behind.seen) == 2)
        assert {str(one.body["messages"][-1]["content"]) for one in behind.seen} == {"one", "three"}
        answers.go("three")
        heard = talk.until("response.completed")
        assert {one["stream_id"] for one in heard} <= {"a", "b"}
        assert (heard[-1]["stream_id"], text(heard[-1])) == ("b", "(three)")
        answers.go("one")
        answers.go("two")
        ended = [talk.until("response.completed")[-1] for _ in range(2)]
        assert [(one["stream_id"], text(one)) for one in ended] == [("a", "(one)"), ("a", "(two)")]
        answers.go("four")
        forked = talk.ask("m", "four", stream_id="b", previous_response_id=ended[1]["response"]["id"])
        assert text(forked) == "(four)"
    assert "two" in str(behind.bodies()[-1]), "a lane may go on from the answer of another"


def test_a_silent_answer_shows_that_it_lives(slow: SlowStage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Codex counts texts alone, and no comment of a posted answer."""
    monkeypatch.setattr(client_watch, "PING_SECONDS", 0.01)
    running, answers, _ = slow
    with talking(running) as talk:
        talk.create("m", "one", stream_id="a")
        assert talk.until("keepalive")[-1] == {"type": "keepalive", "stream_id": "a"}
        answers.go("one")
        assert text(talk.until("response.completed")[-1]) == "(one)"


def test_there_are_so_many_lanes_and_no_more(slow: SlowStage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket_session, "LANES", 2)
    monkeypatch.setattr(socket_session, "MOST_WAITING", 1)
    running, answers, _ = slow
    with talking(running) as talk:
        for lane in "ab":
            talk.create("m", f"in {lane}", stream_id=lane)
        refused = talk.ask("m", "in c", stream_id="c")
        while refused["type"] != "error":
            refused = talk.until("error")[-1]
        assert (refused["status"], refused["stream_id"]) == (429, "c")
        talk.create("m", "later", stream_id="a")
        talk.create("m", "much later", stream_id="a")
        assert talk.until("error")[-1]["status"] == 429
        for asked in ("in a", "later", "in b", "in c"):
            answers.go(asked)
        ids = {}
        for _ in range(3):
            last = talk.until("response.completed")[-1]
            ids[last["stream_id"]] = last["response"]["id"]
        assert text(talk.ask("m", "in c", stream_id="c")) == "(in c)"
        lost = [talk.ask("m", "in c", stream_id="c", previous_response_id=id)["type"] for id in ids.values()]
        assert sorted(lost) == ["error", "response.completed"], "the lane that went was an idle one"


def test_input_for_an_answer_under_way_becomes_its_successor(slow: SlowStage) -> None:
    running, answers, behind = slow
    with talking(running) as talk:
        talk.create("m", "one", stream_id="a", instructions="Be brief.")
        id = talk.until("response.output_text.delta")[0]["response"]["id"]
        talk.say({"type": "response.steer", "previous_response_id": id, "input": "In French."})
        accepted = talk.until("response.steer.accepted")[-1]
        assert accepted["steer"]["previous_response_id"] == id
        assert accepted["stream_id"] == "a"
        answers.go("one")
        talk.until("response.completed")
        answers.go("In French.")
        successor = talk.until("response.completed")
        assert successor[0]["type"] == "response.created"
        assert successor[0]["response"]["previous_response_id"] == id
        assert text(successor[-1]) == "(In French.)"
        talk.say({"type": "response.steer", "previous_response_id": id, "input": "Too late."})
        failed = talk.hear()
        assert (failed["type"], failed["error"]["code"]) == ("response.steer.failed", "response_not_found")
        assert failed["steer"] == {"previous_response_id": id, "input": "Too late."}
        newest = successor[-1]["response"]["id"]
        talk.say({"type": "response.steer", "previous_response_id": newest, "input": "Too late."})
        assert talk.hear()["error"]["code"] == "response_already_completed"
    sent = behind.bodies()[-1]["messages"]
    assert [one["content"] for one in sent[-3:]] == ["one", "(one)", "In French."]
    assert "Be brief." in str(sent), "with the same settings"


def test_input_waits_for_the_results_that_the_answer_asks_for(slow: SlowStage) -> None:
    running, answers, behind = slow
    answers.calls = True
    with talking(running) as talk:
        talk.create("m", "Look!", tools=[TOOL])
        id = talk.until("response.output_text.delta")[0]["response"]["id"]
        talk.say(
            {"type": "response.steer", "previous_response_id": id, "input": [{"role": "user", "content": "Quick!"}]}
        )
        talk.until("response.steer.accepted")
        answers.go("Look!")
        pending = talk.until("response.steer.pending")[-1]
        call = {"type": "function_call_output", "call_id": "call_1", "name": "look"}
        assert (pending["reason"], pending["required_input"]) == ("waiting_for_required_input", [call])
        answers.calls = False
        answers.go("a fox")
        result = {"type": "function_call_output", "call_id": "call_1", "output": "a fox"}
        answers.go("Quick!")
        assert talk.ask("m", [result], previous_response_id=id, tools=[TOOL])["type"] == "response.completed"
    told = str(behind.bodies()[-1]["messages"])
    assert "Quick!" in told
    assert "a fox" in told


def test_input_that_waits_is_given_back_when_another_response_begins(slow: SlowStage) -> None:
    running, answers, behind = slow
    answers.calls = True
    with talking(running) as talk:
        talk.create("m", "Look!", tools=[TOOL])
        id = talk.until("response.output_text.delta")[0]["response"]["id"]
        talk.say({"type": "response.steer", "previous_response_id": id, "input": "Quick!"})
        accepted = talk.until("response.steer.accepted")[-1]["steer"]
        answers.go("Look!")
        talk.until("response.steer.pending")
        answers.calls = False
        answers.go("Anew.")
        talk.create("m", "Anew.")
        heard = [*talk.until(*ENDS), talk.ask("m", "Anew.")]
    failed = heard[0]
    assert (failed["type"], failed["error"]["code"]) == ("response.steer.failed", "successor_creation_failed")
    assert failed["steer"] == {**accepted, "input": "Quick!"}
    assert [one["type"] for one in heard if one["type"] in ENDS] == ["response.completed"] * 2, (
        "nothing follows unasked"
    )
    assert "Quick!" not in str(behind.bodies())


def test_input_that_waits_is_given_back_when_its_lane_goes(slow: SlowStage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket_session, "LANES", 1)
    running, answers, _ = slow
    answers.calls = True
    with talking(running) as talk:
        talk.create("m", "Look!", tools=[TOOL], stream_id="a")
        id = talk.until("response.output_text.delta")[0]["response"]["id"]
        talk.say({"type": "response.steer", "previous_response_id": id, "input": "Quick!"})
        accepted = talk.until("response.steer.accepted")[-1]["steer"]
        answers.go("Look!")
        talk.until("response.steer.pending")
        heard = {"type": "error"}
        while heard["type"] == "error":  # the lane is still about to rest
            talk.create("m", "Look!", stream_id="b")
            heard = talk.until("error", "response.steer.failed")[-1]
    assert (heard["type"], heard["stream_id"]) == ("response.steer.failed", "a")
    assert heard["error"]["code"] == "successor_creation_failed"
    assert heard["steer"] == {**accepted, "input": "Quick!"}


@pytest.mark.parametrize("named", [{}, {"previous_response_id": ""}])
def test_input_for_no_response_is_given_back(slow: SlowStage, named: dict[str, str]) -> None:
    running, answers, _ = slow
    with talking(running) as talk:
        talk.create("m", "one")
        talk.say({"type": "response.steer", "input": "Which?", **named})
        failed = talk.until("response.steer.failed", "response.steer.accepted")[-1]
        assert (failed["type"], failed["error"]["code"]) == ("response.steer.failed", "response_not_found")
        answers.go("one")
        talk.until("response.completed")


@pytest.mark.parametrize(
    "input",
    [None, [], 7, [{"role": "system", "content": "x"}], [{"type": "function_call_output", "output": "x"}],
     [{"role": "user", "content": [{"type": "input_audio"}]}], [{"role": "user", "content": "x", "id": "m"}]],
)  # fmt: skip
def test_input_of_the_wrong_form_is_given_back(on_stage: Stage, input: Any) -> None:
    with talking(on_stage.gateway) as talk:
        talk.say({"type": "response.steer", "previous_response_id": "resp_1", "input": input})
        failed = talk.hear()
    assert (failed["type"], failed["error"]["code"]) == ("response.steer.failed", "invalid_input")
    assert failed["steer"] == {"previous_response_id": "resp_1", "input": input}


# Messages of the wrong form


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ("", "JSON"),
        ("{", "JSON"),
        ("[]", "object"),
        ("7", "object"),
        (b"{}", "must be a text"),
        ({}, "response.create"),
        ({"type": 7}, "type must be a text"),
        ({"type": "response.cancel"}, "response.cancel"),
        ({"type": "response.create", "input": "x"}, "model"),
        ({"type": "response.create", "model": "claude"}, "input"),
        ({"type": "response.create", "model": "nobody", "input": "x"}, "nobody"),
        ({"type": "response.create", "model": "claude", "input": 7}, "input"),
        ({"type": "response.create", "model": "claude", "input": "x", "stream_id": 7}, "stream_id"),
        ({"type": "response.create", "model": "claude", "input": "x", "stream_id": ""}, "stream_id"),
        ({"type": "response.create", "model": "claude", "input": "x", "generate": "no"}, "generate"),
        (
            {"type": "response.create", "model": "claude", "input": "x", "previous_response_id": 7},
            "previous_response_id",
        ),
        ('{"type":"response.create","model":"a","model":"b","input":"x"}', "twice"),
        ({"type": "response.create", "model": "claude", "input": [{"type": "never_was"}]}, "never_was"),
        ({"type": "response.steer", "input": "x", "previous_response_id": 1}, "previous_response_id"),
    ],
)
def test_a_message_of_the_wrong_form_gets_a_clear_error(on_stage: Stage, message: Any, says: str) -> None:
    on_stage.script("claude", "Still here.")
    with talking(on_stage.gateway) as talk:
        talk.say(message)
        told = talk.hear()
        assert told["type"] == "error", told
        assert 400 <= told["status"] < 500
        assert {"type", "code", "message", "param"} <= told["error"].keys()
        assert says.lower() in json.dumps(told["error"]).lower(), told
        assert text(talk.ask("claude", "x")) == "Still here.", "the socket goes on"


def test_an_error_of_a_message_names_its_lane(on_stage: Stage) -> None:
    faults: list[tuple[dict[str, Any], str | None]] = [
        ({"stream_id": "a", "generate": "no"}, "a"),
        ({"stream_id": "a", "previous_response_id": 7}, "a"),
        ({"stream_id": "b" * 300}, "b" * 256),
        ({"stream_id": 7}, None),
        ({"stream_id": "", "generate": "no"}, None),
    ]
    with talking(on_stage.gateway) as talk:
        for fault, lane in faults:
            talk.create("claude", "x", **fault)
            told = talk.hear()
            assert (told["type"], told.get("stream_id")) == ("error", lane)
        talk.say('{"type":"response.create","stream_id":"a","model":"a","model":"b","input":"x"}')
        assert talk.hear()["stream_id"] == "a"


def test_an_error_of_the_provider_has_its_status(on_stage: Stage) -> None:
    on_stage.script(
        "claude", {"fault": "429;retry-after=7"}, {"fault": "429;retry-after=7"}, {"fault": "429;retry-after=7"}
    )
    with talking(on_stage.gateway) as talk:
        told = talk.ask("claude", "x", stream_id="a")
    assert (told["type"], told["status"], told["stream_id"]) == ("error", 429, "a")
    assert told["error"]["code"] == "rate_limit_exceeded"
    assert int(told["headers"]["retry-after"]) > 0
    assert told["error"]["headers"] == told["headers"], "OpenAI's types have them in the error"


def test_a_stream_that_breaks_off_ends_with_one_failure(on_stage: Stage) -> None:
    on_stage.script("gpt", {"text": "Half of it", "fault": "cut;after=2"})
    with talking(on_stage.gateway) as talk:
        talk.create("gpt", "x")
        heard = talk.until("response.failed", "error")
        assert heard[-1]["type"] == "response.failed", "clients take an error before it for the end"
        assert all("status" in one for one in heard if one["type"] == "error")


# Who may


def test_without_an_upgrade_clients_are_told_to_upgrade_or_post(on_stage: Stage) -> None:
    for path in ("/v1/responses", "/responses", "/openai/v1/responses"):
        told = on_stage.gateway.get(path)
        assert (told.status_code, told.headers["upgrade"]) == (426, "websocket")
        assert "POST" in told.json()["error"]["message"]


@pytest.mark.parametrize("headers", [{"origin": "https://evil.example"}, {"sec_fetch_site": "cross-site"}])
def test_a_page_of_elsewhere_cannot_open_a_socket(on_stage: Stage, headers: dict[str, str]) -> None:
    assert refused(on_stage.gateway, **headers).status_code == 403


def test_a_name_that_is_not_ours_cannot_open_a_socket(on_stage: Stage) -> None:
    _, port = on_stage.url.removeprefix("http://").split(":")
    with (
        pytest.raises(InvalidStatus) as refusal,
        socket.create_connection(("127.0.0.1", int(port))) as line,
        connect("ws://evil.example/v1/responses", sock=line, proxy=None),
    ):
        pass
    assert refusal.value.response.status_code == 403


def test_a_path_without_a_socket_answers_as_usual(on_stage: Stage) -> None:
    assert refused(on_stage.gateway, path="/v1/nothing").status_code == 404
    assert refused(on_stage.gateway, path="/v1/chat/completions").status_code == 405
    answer = refused(on_stage.gateway, path="/health")
    assert (answer.status_code, json.loads(answer.body)["status"]) == (200, "ok")


def test_no_compression_and_no_subprotocol_is_agreed_on(on_stage: Stage) -> None:
    address = on_stage.url.replace("http", "ws") + "/v1/responses"
    with connect(address, compression="deflate", subprotocols=["x"], proxy=None) as line:  # type: ignore[list-item]
        assert line.protocol.extensions == []
        assert line.subprotocol is None


@pytest.fixture
def keyed(tmp_path: Path) -> Iterator[tuple[Running, Any]]:
    with emulator("anthropic", answers="echo") as behind:
        config = {
            "providers": {"a": provider("anthropic", behind.base_url)},
            "models": {"m": {"target": "a/claude-sonnet-4-5"}},
            "keys": {
                "anna": {"sha256": sha256_of("sk-anna-0123456789abcdef")},
                "ben": {"sha256": sha256_of("sk-ben-0123456789abcdef"), "requests_per_minute": 2},
            },
        }
        with gateway(config, tmp_path) as running:
            yield running, config


ANNA, BEN = "sk-anna-0123456789abcdef", "sk-ben-0123456789abcdef"


def test_a_key_is_asked_for_and_looked_at_for_each_turn(keyed: tuple[Running, Any]) -> None:
    running, config = keyed
    assert refused(running, key="").status_code == 401
    told = refused(running, key="wrong")
    assert (told.status_code, json.loads(told.body)["error"]["code"]) == (401, "invalid_api_key")
    with talking(running, key=ANNA) as anna, talking(running, key=BEN) as ben:
        assert anna.ask("m", "x")["type"] == "response.completed"
        assert [ben.ask("m", "x")["type"] for _ in range(3)] == ["response.completed"] * 2 + ["error"]
        del config["keys"]["anna"]
        running.write(config)
        running.do(running.services.live.reload_now)
        running.do(_looked(running))
        revoked = anna.hear()
        assert (revoked["type"], revoked["status"], revoked["error"]["code"]) == ("error", 401, "invalid_api_key")
        assert anna.end() == 1008
        assert ben.ask("m", "x")["status"] == 429, "its limit, and not the other key's end"


def _looked(running: Running) -> Callable[[], Any]:
    async def look() -> None:
        running.services.conversations.sockets.look()

    return look


def test_a_key_has_so_many_sockets_and_no_more(keyed: tuple[Running, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    running, _ = keyed
    monkeypatch.setattr(open_sockets, "SOCKETS_PER_KEY", 2)
    with talking(running, key=ANNA), talking(running, key=ANNA):
        assert refused(running, key=ANNA).status_code == 426, "on which clients post"
        with talking(running, key=BEN) as ben:
            assert ben.ask("m", "x")["type"] == "response.completed"
    wait_for(lambda: not running.services.conversations.sockets.sockets)
    with talking(running, key=ANNA):
        pass


def test_a_turn_of_two_keys_never_shares_an_answer(keyed: tuple[Running, Any]) -> None:
    running, _ = keyed
    with talking(running, key=ANNA) as anna, talking(running, key=BEN) as ben:
        id = anna.ask("m", "x")["response"]["id"]
        assert ben.ask("m", "x", previous_response_id=id)["error"]["code"] == "previous_response_not_found"
        running.services.conversations.sockets.forget("anna")
        assert anna.ask("m", "x", previous_response_id=id)["error"]["code"] == "previous_response_not_found"


# Limits and ends


def test_a_message_that_is_too_large_ends_the_socket(tmp_path: Path) -> None:
    with emulator("anthropic") as behind:
        config = {"providers": {"a": provider("anthropic", behind.base_url)}, "server": {"max_body": 20_000}}
        with gateway(config, tmp_path) as running, talking(running) as talk:
            talk.create("a/claude-sonnet-4-5", "x" * 30_000)
            assert talk.hear()["status"] == 413
            assert talk.end() == 1009


def test_a_conversation_that_grew_too_long_is_refused(tmp_path: Path) -> None:
    with emulator("anthropic", answers="echo") as behind:
        config = {"providers": {"a": provider("anthropic", behind.base_url)}, "server": {"max_body": 20_000}}
        with gateway(config, tmp_path) as running, talking(running) as talk:
            model = "a/claude-sonnet-4-5"
            id = talk.ask(model, "x" * 15_000)["response"]["id"]
            told = talk.ask(model, "x" * 15_000, previous_response_id=id)
            assert (told["type"], told["status"]) == ("error", 413)


def test_memory_is_bounded_and_what_went_is_not_found(on_stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_stage.gateway.services.conversations.sockets, "memory", open_sockets.SocketMemory(3000))
    on_stage.script("claude", *["Good."] * 5)
    with talking(on_stage.gateway) as talk:
        ids = [talk.ask("claude", lane * 1000, stream_id=lane)["response"]["id"] for lane in "abc"]
        told = [talk.ask("claude", "y", stream_id="c", previous_response_id=id) for id in reversed(ids)]
    assert [one["type"] for one in told] == ["response.completed", "response.completed", "error"]
    assert told[-1]["error"]["code"] == "previous_response_not_found"
    wait_for(lambda: not on_stage.gateway.services.conversations.sockets.sockets)


@pytest.mark.parametrize(("seconds", "says"), [(601.0, "idle for 10 minutes"), (3601.0, "60 minutes")])
def test_an_old_or_idle_socket_is_told_so_and_ended(tmp_path: Path, seconds: float, says: str) -> None:
    hands = Hands()
    with emulator("anthropic", answers="echo") as behind:
        config = {"providers": {"a": provider("anthropic", behind.base_url)}}
        with gateway(config, tmp_path, Clocks(steady=hands)) as running, talking(running) as talk:
            assert talk.ask("a/claude-sonnet-4-5", "x")["type"] == "response.completed"
            hands.now += 599
            running.do(_looked(running))
            assert talk.ask("a/claude-sonnet-4-5", "x")["type"] == "response.completed"
            (opened,) = running.services.conversations.sockets.sockets
            wait_for(lambda: not opened.is_busy)  # type: ignore[attr-defined]
            hands.now += seconds
            running.do(_looked(running))
            told = talk.hear()
            assert (told["status"], told["error"]["code"]) == (400, "websocket_connection_limit_reached")
            assert says in told["error"]["message"]
            assert talk.end() == 1001


def test_an_answer_under_way_ends_before_its_socket_does(slow: SlowStage, monkeypatch: pytest.MonkeyPatch) -> None:
    running, answers, _ = slow
    with talking(running) as talk:
        talk.create("m", "one")
        talk.until("response.output_text.delta")
        monkeypatch.setattr(socket_session, "LIFE_SECONDS", 0.0)
        running.do(_looked(running))
        late = talk.ask("m", "two")
        assert (late["type"], late["error"]["code"]) == ("error", "websocket_connection_limit_reached")
        answers.go("one")
        assert text(talk.until("response.completed")[-1]) == "(one)"
        assert talk.hear()["error"]["code"] == "websocket_connection_limit_reached"
        assert talk.end() == 1001


def test_a_client_that_leaves_ends_its_turns(slow: SlowStage) -> None:
    running, answers, behind = slow
    with talking(running) as talk:
        for asked in ("one", "two"):
            talk.create("m", asked)
        talk.until("response.output_text.delta")
    wait_for(lambda: running.busy() == (0, 0) and not running.services.conversations.sockets.sockets)
    assert len(behind.seen) == 1, "what waited does not begin"
    answers.go("one")
    ledger = running.services.store.ledger
    page = running.do(lambda: ledger.recent(Viewer("", True)))
    assert [(one.status, one.socket) for one in page.entries] == [(499, "new")]


@pytest.mark.slow
def test_a_client_that_does_not_read_pauses_its_upstream(tmp_path: Path) -> None:
    sent = []

    class Flood(tuple[bytes, ...]):
        def __iter__(self) -> Iterator[bytes]:
            for number in range(60):
                sent.append(number)
                yield _chunk({"content": "x" * 500_000})
            yield _chunk({}, "stop")

    with upstream(lambda seen: (200, Flood((b"", b"")))) as behind:
        config = {"providers": {"up": provider("openai-compatible", behind.url)}, "models": {"m": {"target": "up/m"}}}
        with gateway(config, tmp_path) as running:
            address = running.url.replace("http", "ws") + "/v1/responses"
            with connect(address, max_size=None, max_queue=1, proxy=None) as line:
                talk = Talk(line)
                talk.create("m", "x")
                seen = -1
                while seen != len(sent):
                    seen = len(sent)
                    threading.Event().wait(1.0)
                assert seen < 60, "thirty megabytes do not fit into the buffers between"
                last = talk.until(*ENDS)[-1]
                assert len(text(last)) == 30_000_000


@pytest.mark.slow
@pytest.mark.parametrize("finishes", [True, False])
def test_a_gateway_that_is_stopped_ends_the_turn_first(tmp_path: Path, finishes: bool) -> None:
    answers = Slow()
    with upstream(answers) as behind:
        config = {
            "providers": {"up": provider("openai-compatible", behind.url)},
            "models": {"m": {"target": "up/m"}},
            "server": {"shutdown_grace": 60 if finishes else 0.2},
        }
        (tmp_path / "dragoman.yaml").write_text(yaml.safe_dump(config))
        with (
            serving(tmp_path) as served,
            connect(f"{served.url.replace('http', 'ws')}/v1/responses", proxy=None) as line,
        ):
            talk = Talk(line)
            talk.create("m", "one")
            talk.until("response.output_text.delta")
            served.signal(signal.SIGTERM)
            served.wait("stopping")
            if finishes:
                answers.go("one")
            last = talk.until(*ENDS)[-1]
            assert last["type"] == ("response.completed" if finishes else "response.failed")
            assert talk.end() == 1001
            answers.go("one")
            assert served.stop() == 0
