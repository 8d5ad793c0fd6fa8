"""Answers that are not as their vendor writes them, and that the gateway stores or tells in another form: they go to
the client as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.gateway.running import Running, wait_for
from tests.hostile.provider import HostileProvider
from tests.hostile.table import Answer, delta, http, sse, streamed, whole

from dragoman.conversation.changes import NOTHING_TO_UNDO
from dragoman.dialects.anthropic.endpoints.stored_answers import MessageKeeper
from dragoman.dialects.contracts.background import BackgroundAsk
from dragoman.dialects.contracts.sockets import SocketTurn
from dragoman.dialects.contracts.stored_answers import StoreQuestion
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.families.openai_completions import CompletionAnswers
from dragoman.dialects.openai_responses.endpoints import stored_answers
from dragoman.dialects.openai_responses.endpoints.background import EventTeller
from dragoman.dialects.openai_responses.endpoints.socket_frames import ResponseMessages
from dragoman.dialects.openai_responses.endpoints.stored_answers import ResponseKeeper
from dragoman.engine.answer.translation import Translation
from dragoman.gateway.state import background_job
from dragoman.wire.sse import render_event_frame

QUESTION = StoreQuestion("m", "", True, b"[]")
DEEP = b"[" * 20_000 + b"]" * 20_000
ODD = {
    "no JSON": b'{"response": {]',
    "a list": b'{"response":[]}',
    "a number": b'{"response":1}',
    "nothing": b'{"response":null}',
    "half a pair": b'{"response":{"id":"\\ud800"}}',
    "not UTF-8": b'{"response":{"id":"\xff"}}',
    "no items": b'{"response":{"id":"x","output":1}}',
    "numbers as items": b'{"response":{"id":"x","output":[1,2]}}',
    "depth": b'{"response":' + DEEP + b"}",
    "no object": b'"response"',
}
END = b"response.completed"
TURN = SocketTurn(b"", None, "", b"[]")


def tell(data: bytes) -> bytes:
    return b"".join(EventTeller("x", BackgroundAsk(b"", "m", True, b"[]", "")).feed(render_event_frame(END, data)))


def keep(data: bytes) -> bytes:
    keeper = ResponseKeeper(QUESTION)
    made = keeper.piece(render_event_frame(END, data)) + keeper.close()
    assert keeper.kept is None
    return made


READERS: dict[str, Callable[[bytes], bytes]] = {
    "stored": keep,
    "stored whole": lambda data: ResponseKeeper(QUESTION).whole(data),
    "a thread": lambda data: MessageKeeper(QUESTION).whole(data),
    "in the background": tell,
    "on a socket": lambda data: b"".join(ResponseMessages(TURN).event(END, data)),
    "an item on a socket": lambda data: b"".join(ResponseMessages(TURN).event(b"response.output_item.done", data)),
    "a completion": lambda data: CompletionAnswers("").whole(data),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("odd", ODD)
def test_what_cannot_be_read_goes_through(reader: str, odd: str) -> None:
    assert ODD[odd].strip(b"{}") in READERS[reader](ODD[odd]) or odd in ("no items", "numbers as items", "not UTF-8")


@pytest.mark.parametrize("client", ["ollama", "gemini"])
@pytest.mark.parametrize("upstream", ["openai-responses", "openai-chat"])
@pytest.mark.parametrize("time", [b"1e308", b"1e400", b"253402300800", b"9007199254740991", b"-1"])
def test_a_time_that_no_date_can_name_is_left_out(time: bytes, upstream: str, client: str) -> None:
    message = b'{"role":"assistant","content":"Hi"}'
    output = b'[{"type":"message","id":"i","role":"assistant","content":[{"type":"output_text","text":"Hi"}]}]'
    body = {
        "openai-chat": b'{"id":"a","created":%b,"choices":[{"index":0,"message":%b}]}' % (time, message),
        "openai-responses": b'{"id":"a","created_at":%b,"status":"completed","output":%b}' % (time, output),
    }[upstream]
    told = Translation(upstream, client, NOTHING_TO_UNDO, AnswerContext(model="m", created=1)).whole(body)
    assert b'"Hi"' in told


@pytest.mark.parametrize("place", [b'"x"', b"1.5", b"null", b"1e400", b"9" * 5_000])
def test_an_item_at_no_place_goes_through(place: bytes) -> None:
    data = b'{"output_index":' + place + b',"item":{}}'
    assert ResponseMessages(TURN).event(b"response.output_item.done", data) == [data]


def test_an_answer_that_is_too_long_is_not_kept_for_the_next_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_answers, "_MOST_HELD", 10_000)
    answer = ResponseMessages(TURN)
    for at in range(100):
        answer.event(b"response.output_item.done", b'{"output_index":%d,"item":{"id":"x"}}' % at)
    answer.event(END, b'{"response":{"id":"x"}}')
    assert (answer.output, answer.complete) == (b"[]", False)


# In the gateway.


def test_half_a_pair_in_an_answer_that_is_stored(gateway: Running, provider: HostileProvider) -> None:
    """It used to be a 400 that blamed the client's request."""
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    said = whole("openai-responses", "T", usage=usage).replace(b'"T"', b'"\\ud83d"')
    model = provider.serve(Answer("odd", "openai-responses", lambda n: http(said), 1), 1)
    answer = gateway.post("/v1/responses", {"model": model, "input": "Hi"})
    assert (answer.status_code, b'"\\ud83d"' in answer.content) == (200, True), answer.text


def test_a_stream_that_is_stored_ends_oddly(gateway: Running, provider: HostileProvider) -> None:
    frames = delta("openai-responses", "a") + sse(b'{"type":"response.completed","response":null}', event=END)
    line = Answer("odd", "openai-responses", lambda n: streamed(frames), 1, stream=True)
    answer = gateway.post("/v1/responses", {"model": provider.serve(line, 1), "input": "Hi", "stream": True})
    assert (answer.status_code, b'"delta":"a"' in answer.content) == (200, True)


def test_an_answer_in_the_background_without_end_has_failed(
    gateway: Running, provider: HostileProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background_job, "MOST_HELD", 50_000)
    head = sse(b'{"type":"response.created","response":{"id":"r","status":"in_progress"}}', event=b"response.created")
    frames = head + delta("openai-responses", "a") * 1_000
    line = Answer("endless", "openai-responses", lambda n: streamed(frames), 1, stream=True)
    asked = {"model": provider.serve(line, 1), "input": "Hi", "background": True}
    queued = gateway.post("/v1/responses", asked).json()

    def state() -> Any:
        return gateway.get(f"/v1/responses/{queued['id']}").json()

    wait_for(lambda: state()["status"] not in ("queued", "in_progress"))
    assert state()["status"] == "failed"
    assert "longer than one in the background may be" in str(state()["error"])
