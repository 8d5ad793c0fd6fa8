"""A whole Anthropic answer to events."""

from __future__ import annotations

import msgspec
from msgspec import Raw

from dragoman.conversation.events import Event, Failed
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.parts import Origin
from dragoman.dialects.anthropic import ORIGIN
from dragoman.dialects.anthropic.answer_events import AT_THE_END, AnthropicAnswerParser
from dragoman.dialects.anthropic.errors import parse_error
from dragoman.dialects.raw_json import UNREADABLE, decode_items, decode_members
from dragoman.wire.json_reader import replace_lone_surrogates


def parse_answer(body: bytes, origin: Origin | None = None, *, seed: str = "", think_tags: bool = False) -> list[Event]:
    """The events of a whole answer. A body that is no answer gives one event, the failure."""
    answer = AnthropicAnswerParser(origin or ORIGIN, seed)
    out: list[Event] = []
    try:
        message = _readable(body)
        if "error" in message or "content" not in message:
            return [Failed(parse_error(200, {}, body))]
        blocks = decode_items(message["content"]) if bytes(message["content"]) != b"null" else []
        answer.start({key: raw for key, raw in message.items() if key not in AT_THE_END}, out)
        for index, block in enumerate(blocks):
            answer.open_block(index, bytes(block), out)
            answer.close_block(index, out)
        answer.stop({key: raw for key, raw in message.items() if key in AT_THE_END}, {}, out)
        answer.use(message.get("usage"), out)
        answer.end(out)
    except UNREADABLE:
        return [Failed(Failure(FailureKind.BROKEN_STREAM, "The answer is not a message that can be read.", raw=body))]
    return out


def _readable(body: bytes) -> dict[str, Raw]:
    if not body.isascii():
        body = body.decode("utf-8", "replace").encode()
    try:
        return decode_members(body)
    except msgspec.DecodeError:
        return decode_members(replace_lone_surrogates(body))
