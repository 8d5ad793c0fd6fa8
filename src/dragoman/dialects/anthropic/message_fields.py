"""The fixed members of Anthropic's blocks and messages."""

from __future__ import annotations

from collections.abc import Mapping

from dragoman.conversation import reasoning_states
from dragoman.conversation.envelope import seal
from dragoman.conversation.events import CallStarted
from dragoman.conversation.literals import EMPTY, quote
from dragoman.conversation.parts import Json, Opaque, Origin
from dragoman.conversation.replies import Stop
from dragoman.dialects.anthropic import NAME
from dragoman.dialects.anthropic.stop_reasons import render_stop, render_stop_details
from dragoman.dialects.block_builder import BlockBuilder, BlockForm
from dragoman.dialects.ownership import own_fields
from dragoman.wire.json_reader import render_object

CALL_FIELDS: Mapping[str, Json] = {"caller": b'{"type":"direct"}'}
_UNSIGNED = quote(seal(Opaque(reasoning_states.UNSIGNED, EMPTY, Origin(""))))
"""The signature of thinking that nobody signed. Some clients turn thinking with an empty one into visible text."""


def _call(call: CallStarted) -> Json:
    fields = {**CALL_FIELDS, **own_fields(call.extras, NAME)}
    head = {"type": b'"tool_use"', "id": quote(call.id), "name": quote(call.name), "input": b"{}"}
    return render_object({**head, **fields})


def _redacted(data: Json) -> Json:
    return b'{"type":"redacted_thinking","data":' + data + b"}"


BLOCKS = BlockForm(
    NAME,
    b'{"type":"text","text":""}',
    b'{"type":"thinking","thinking":"","signature":""}',
    _call,
    _redacted,
    _UNSIGNED,
)


LATE_FIELDS: Mapping[str, Json] = {
    "container": b"null",
    "stop_details": b"null",
    "stop_reason": b"null",
    "stop_sequence": b"null",
}
"""Members that are not known before a message is complete. The SDK's types require all of them."""


def late_fields(blocks: BlockBuilder) -> dict[str, bytes]:
    """The last members of a message: why it stopped, and what came with the stop."""
    stop = blocks.stop
    if stop is None:
        return {**LATE_FIELDS, "stop_reason": b'"end_turn"'}
    fields = {
        **LATE_FIELDS,
        "stop_reason": quote(render_stop(stop.reason, stop.word)),
        "stop_sequence": quote(stop.sequence) if stop.sequence and stop.reason is Stop.STOP_SEQUENCE else b"null",
        **own_fields(stop.extras, NAME),
    }
    details = render_stop_details(stop.reason, stop.word)
    if details is not None:
        fields["stop_details"] = details
    return fields
