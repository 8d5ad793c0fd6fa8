"""What Converse's content blocks look like in an answer, and its last members."""

from __future__ import annotations

from dragoman.conversation.events import CallStarted
from dragoman.conversation.literals import quote
from dragoman.conversation.parts import Json
from dragoman.dialects.bedrock import NAME
from dragoman.dialects.bedrock.stop_reasons import render_stop
from dragoman.dialects.block_builder import BlockBuilder, BlockForm
from dragoman.dialects.ownership import own_fields
from dragoman.wire.json_reader import render_object

IN_STOP = ("additionalModelResponseFields",)
"""Members that a stream has beside its stop. The others come with the usage."""
_NO_METRICS: dict[str, Json] = {"metrics": b'{"latencyMs":0}'}


def _call(call: CallStarted) -> Json:
    head = {"toolUseId": quote(call.id), "name": quote(call.name)}
    return render_object({**head, **own_fields(call.extras, NAME)})


def _redacted(data: Json) -> Json:
    return b'{"reasoningContent":{"redactedContent":' + data + b"}}"


BLOCKS = BlockForm(NAME, b"", b"", _call, _redacted)


def stop_reason(blocks: BlockBuilder) -> Json:
    stop = blocks.stop
    return quote(render_stop(stop.reason, stop.word)) if stop is not None else b'"end_turn"'


def late_fields(blocks: BlockBuilder) -> dict[str, Json]:
    """What came with the stop, and the time that an answer of another provider does not tell."""
    return _NO_METRICS | (own_fields(blocks.stop.extras, NAME) if blocks.stop is not None else {})
