"""Clients of a cloud: the members that it adds to a body, and the frames that it puts around a stream."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore.eventstream import EventStreamBuffer
from tests.event_streams import write_events

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.dialects.dialect import AnswerContext, CloudMembers, Framing, Route
from dragoman.dialects.registry import route
from dragoman.engine.answer.translation import Translation
from dragoman.engine.compile.cloud_requests import parse_routed, without_members
from dragoman.errors import DuplicateKey, MalformedRequest

EVENTS: list[dict[str, Any]] = [
    {"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "content": []}},
    {"type": "ping"},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
    {"type": "message_stop"},
]
STREAM = b"".join(write_events(EVENTS))
BINARY = AnswerContext(framing=Framing.EVENT_STREAM)
CLOUD = CloudMembers(headers={"anthropic_beta": "anthropic-beta"}, others=("anthropic_version",))


def frames(wire: bytes) -> list[tuple[str, dict[str, object]]]:
    """As AWS's own parser reads them: the kind of each frame and its payload."""
    buffer = EventStreamBuffer()
    buffer.add_data(wire)
    kinds = (":event-type", ":exception-type")
    return [
        (next(message.headers[kind] for kind in kinds if kind in message.headers), json.loads(message.payload))
        for message in buffer
    ]


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_a_relayed_stream_is_framed_for_bedrocks_clients(size: int) -> None:
    translation = Translation("anthropic", "anthropic", context=BINARY)
    pieces = [translation.feed(STREAM[at : at + size]) for at in range(0, len(STREAM), size)]
    found = frames(b"".join([*pieces, translation.close()]))
    assert [kind for kind, _ in found] == ["chunk"] * 6
    assert translation.relays
    assert translation.failure is None


def test_a_stream_that_breaks_in_the_middle_of_an_event_ends_with_an_exception() -> None:
    translation = Translation("anthropic", "anthropic", context=BINARY)
    half = STREAM.index(b'"text_delta"')
    wire = translation.feed(STREAM[:half]) + translation.fail(Failure(FailureKind.NETWORK, "gone", 502))
    kinds = [kind for kind, _ in frames(wire)]
    assert kinds == ["chunk", "chunk", "internalServerException"]
    assert frames(wire)[-1][1] == {"message": "gone"}


def test_a_stream_without_its_end_ends_with_an_exception() -> None:
    translation = Translation("anthropic", "anthropic", context=BINARY)
    wire = translation.feed(STREAM[: STREAM.index(b"event: message_delta")]) + translation.close()
    assert frames(wire)[-1][0] == "internalServerException"


@pytest.mark.parametrize(
    ("members", "header"),
    [
        ('"anthropic_beta":["a","b"],', "a,b"),
        ('"anthropic_beta":null,', None),
        ('"anthropic_beta":[],', None),
        ("", None),
    ],
)
def test_betas_of_a_body_are_a_header(members: str, header: str | None) -> None:
    body = '{"anthropic_version":"bedrock-2023-05-31",' + members + '"messages":[ ]}'
    bare, headers = without_members(body.encode(), {"x": "y"}, CLOUD)
    assert bare == b'{"messages":[ ]}'
    assert headers.get("anthropic-beta") == header


def test_the_clients_own_header_wins() -> None:
    body = b'{"anthropic_beta":["a","b"],"messages":[]}'
    assert without_members(body, {"anthropic-beta": "b,a"}, CLOUD)[1]["anthropic-beta"] == "b,a"


def test_a_body_without_such_members_stays_as_it_is() -> None:
    body = b'{ "messages": [] }'
    assert without_members(body, {}, CLOUD)[0] is body


def asked() -> Route:
    found = route("POST", "/model/a/b:c/invoke", {})
    assert found is not None
    assert (found.model, found.stream, found.dialect) == ("a/b:c", False, "anthropic")
    return found


def test_a_member_twice_is_refused_although_one_is_taken_out() -> None:
    with pytest.raises(DuplicateKey):
        parse_routed(asked(), b'{"anthropic_beta":[],"messages":[],"messages":[]}', {})
    with pytest.raises(MalformedRequest, match="list of texts"):
        parse_routed(asked(), b'{"anthropic_beta":"a","messages":[]}', {})
