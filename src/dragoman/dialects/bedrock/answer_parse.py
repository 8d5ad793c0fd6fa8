"""A whole Converse answer to events."""

from __future__ import annotations

import msgspec
from msgspec import Raw

from dragoman.conversation.events import Event, Failed
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.parts import Origin
from dragoman.dialects.bedrock import ORIGIN
from dragoman.dialects.bedrock.answer_events import BedrockAnswerParser
from dragoman.dialects.bedrock.errors import parse_error
from dragoman.dialects.raw_json import UNREADABLE, decode_items, decode_members
from dragoman.wire.json_reader import replace_lone_surrogates


def parse_answer(body: bytes, origin: Origin | None = None, *, seed: str = "", think_tags: bool = False) -> list[Event]:
    """The events of a whole answer. A body that is no answer gives one event, the failure."""
    answer = BedrockAnswerParser(origin or ORIGIN, seed)
    out: list[Event] = []
    try:
        fields = _readable(body)
        if "output" not in fields:
            return [Failed(parse_error(200, {}, body))]
        answer.start(out)
        for index, block in enumerate(_blocks(fields)):
            answer.whole_block(index, bytes(block), out)
        answer.stop(fields, out)
        answer.metadata({"usage": fields["usage"]} if "usage" in fields else {}, out)
        answer.end(out)
    except UNREADABLE:
        return [Failed(Failure(FailureKind.BROKEN_STREAM, "The answer is not a message that can be read.", raw=body))]
    return out


def _blocks(fields: dict[str, Raw]) -> list[Raw]:
    message = decode_members(decode_members(fields["output"]).get("message", Raw(b"{}")))
    content = message.get("content", Raw(b"[]"))
    return decode_items(content) if bytes(content) != b"null" else []


def _readable(body: bytes) -> dict[str, Raw]:
    if not body.isascii():
        body = body.decode("utf-8", "replace").encode()
    try:
        return decode_members(body)
    except msgspec.DecodeError:
        return decode_members(replace_lone_surrogates(body))
