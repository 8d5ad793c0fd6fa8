"""What is stored of a stream of the Responses API that is not as OpenAI writes it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.event_streams import read_events

from dragoman.dialects.contracts.background import BackgroundAsk
from dragoman.dialects.contracts.sockets import SocketTurn
from dragoman.dialects.contracts.stored_answers import StoreQuestion
from dragoman.dialects.openai_responses.endpoints.background import EventTeller
from dragoman.dialects.openai_responses.endpoints.socket_frames import ResponseMessages
from dragoman.dialects.openai_responses.endpoints.stored_answers import PassedItems, ResponseKeeper
from dragoman.wire.sse import SseDecoder

ITEMS = [
    {"id": "rs_1", "type": "reasoning", "summary": []},
    {"id": "msg_1", "type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]},
]


def stream(output: list[Any], named: bool) -> bytes:
    events: list[dict[str, Any]] = [{"type": "response.created", "response": {"id": "resp_1", "output": []}}]
    for at, item in enumerate(ITEMS):
        events.append({"type": "response.output_item.done", "output_index": at, "item": item})
    events.append({"type": "response.completed", "response": {"id": "resp_1", "output": output}})
    names = [f"event: {event['type']}\n" if named else "" for event in events]
    return "".join(f"{name}data: {json.dumps(event)}\n\n" for name, event in zip(names, events, strict=True)).encode()


@pytest.mark.parametrize("output", [[], ITEMS])
@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("size", [1, 90, 100_000])
def test_an_answer_is_stored_with_the_items_that_went_by(output: list[Any], named: bool, size: int) -> None:
    keeper = ResponseKeeper(StoreQuestion(model="m", previous="", keeps=True, items=b"[]"))
    wire = stream(output, named)
    made = b"".join([keeper.piece(wire[at : at + size]) for at in range(0, len(wire), size)]) + keeper.close()
    assert keeper.kept is not None
    assert json.loads(keeper.kept[1])["output"] == ITEMS
    shown = read_events(made)
    assert shown[-1]["response"]["output"] == ITEMS
    assert [one["type"] for one in shown] == [one["type"] for one in map(json.loads, _payloads(wire))]


@pytest.mark.parametrize("output", [[], ITEMS])
@pytest.mark.parametrize("named", [True, False])
def test_a_background_answer_ends_with_the_items_that_went_by(output: list[Any], named: bool) -> None:
    teller = EventTeller("resp_2", BackgroundAsk(body=b"{}", model="m", streams=True, items=b"[]", previous=""))
    told = teller.feed(stream(output, named))
    assert teller.is_over
    assert teller.state is not None
    assert json.loads(teller.state)["output"] == ITEMS
    assert told[-1].startswith(b"event: response.completed\n")


@pytest.mark.parametrize("output", [[], ITEMS])
@pytest.mark.parametrize("named", [True, False])
def test_a_socket_remembers_the_items_that_went_by(output: list[Any], named: bool) -> None:
    answer = ResponseMessages(SocketTurn(body=b"{}", lane=None, previous="", items=b"[]"))
    for frame in SseDecoder().feed(stream(output, named)):
        answer.event(frame.event, frame.data)
    assert (answer.id, answer.complete) == ("resp_1", True)
    assert json.loads(answer.output) == ITEMS


def _payloads(wire: bytes) -> list[bytes]:
    return [line[6:] for line in wire.splitlines() if line.startswith(b"data: ")]


@pytest.mark.parametrize("places", [True, False])
def test_items_are_held_in_their_order(places: bool) -> None:
    passed = PassedItems()
    for at in (1, 0) if places else (0, 1):
        place = {"output_index": at} if places else {}
        passed.take(json.dumps({"item": ITEMS[at], **place}).encode())
    assert json.loads(passed.put_into(b'{"output":[]}'))["output"] == ITEMS


def test_of_items_without_end_none_are_held() -> None:
    passed, event = PassedItems(), json.dumps({"item": {"text": "x" * (1 << 20)}}).encode()
    for _ in range(40):
        passed.take(event)
    assert not passed.fit
    assert passed.put_into(b'{"output":[]}') == b'{"output":[]}'
