"""Events to Anthropic's content blocks, which come one after the other and never overlap.

While a call is open, events of other parts wait until it is complete (`call_order.py`). The signature that another
provider put on a call goes into a thinking block of its own before the call. One on a text is not shown: it comes after
the text, and many agents take the last block for the result. Nor is state that follows the last text. The store keeps
both for the next turn.
`docs/theory/anthropic-blocks.md` explains the order with examples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dragoman.conversation import reasoning_states
from dragoman.conversation.collect import merged
from dragoman.conversation.envelope import seal
from dragoman.conversation.events import (
    CallDelta,
    CallEnded,
    CallStarted,
    Cited,
    Ended,
    Event,
    Failed,
    Kept,
    MediaDelta,
    ReasoningDelta,
    RefusalDelta,
    Signed,
    Started,
    Stopped,
    TextDelta,
    Used,
)
from dragoman.conversation.failures import Failure
from dragoman.conversation.literals import EMPTY, joined, quote, unquote
from dragoman.conversation.parts import Json, Opaque, Origin
from dragoman.conversation.replies import Stop, Usage
from dragoman.dialects.anthropic import NAME
from dragoman.dialects.anthropic.call_input import is_object
from dragoman.dialects.anthropic.stop_reasons import render_stop, render_stop_details
from dragoman.dialects.call_order import CallOrder
from dragoman.dialects.ownership import own_fields, own_or_sealed
from dragoman.dialects.raw_json import encode
from dragoman.wire.json_reader import render_object

TEXT, THINKING, TOOL, NO_BLOCK = b"text_delta", b"thinking_delta", b"input_json_delta", b""


_NO_PART = -1
_TEXT_BLOCK = b'{"type":"text","text":""}'
_THINKING_BLOCK = b'{"type":"thinking","thinking":"","signature":""}'
CALL_FIELDS: Mapping[str, Json] = {"caller": b'{"type":"direct"}'}
_UNSIGNED = quote(seal(Opaque(reasoning_states.UNSIGNED, EMPTY, Origin(""))))
"""The signature of thinking that nobody signed. Some clients turn thinking with an empty one into visible text."""


class BlockBuilder:
    """Puts events into the order of blocks. A subclass decides what a block looks like on the wire."""

    __slots__ = (
        "_call",
        "_carriers",
        "_hides_reasoning",
        "_kind",
        "_last_kind",
        "_late_signature",
        "_linked",
        "_opening",
        "_order",
        "_part",
        "_shown",
        "_signed",
        "_suffix",
        "_text_part",
        "_transcripts",
        "over",
        "stop",
        "usage",
    )

    def __init__(self, hides_reasoning: bool) -> None:
        self._hides_reasoning = hides_reasoning
        self._part = _NO_PART
        self._kind = NO_BLOCK
        self._last_kind = NO_BLOCK
        self._carriers: list[bytes] = []
        self._signed = False
        self._suffix = b""
        self._text_part = _NO_PART
        self._opening: bytes | None = None
        self._linked = False
        self._transcripts: list[bytes] = []
        self._call: CallStarted | None = None
        self._late_signature: bytes | None = None
        self._order = CallOrder()
        self._shown: int | None = None
        self.stop: Stopped | None = None
        self.usage: Usage | None = None
        self.over = False

    def take(self, event: Event) -> None:
        """Take one event. This dialect has one choice: events of any choice but the first one to come are dropped."""
        if self.over:
            return
        choice: int | None = getattr(event, "choice", None)
        if choice is not None and choice != self._shown:
            if self._shown is not None:
                return
            self._shown = choice
        if self._order.is_open or type(event) is CallStarted:
            for ordered in self._order.take(event):
                _TAKE[type(ordered)](self, ordered)
        else:
            _TAKE[type(event)](self, event)

    # What a subclass writes.

    def begin(self, event: Started) -> None: ...

    def open_block(self, kind: bytes, block: Json) -> None: ...

    def append(self, kind: bytes, literal: bytes) -> None: ...

    def sign(self, literal: bytes) -> None: ...

    def cite(self, json: Json) -> None: ...

    def close_block(self) -> None: ...

    def finish(self) -> None: ...

    def fail(self, failure: Failure) -> None: ...

    # Events.

    def _started(self, event: Started) -> None:
        self.begin(event)

    def _text(self, event: TextDelta | RefusalDelta) -> None:
        if event.literal == EMPTY:
            return
        if self._part != event.part or self._kind is not TEXT:
            self._open(event.part, TEXT, _TEXT_BLOCK)
            self._text_part = event.part
        self.append(TEXT, event.literal)

    def _reasoning(self, event: ReasoningDelta) -> None:
        if self._hides_reasoning or event.literal == EMPTY:
            return
        if self._part != event.part or self._kind is not THINKING or self._signed:
            self._open(event.part, THINKING, _THINKING_BLOCK)
        self.append(THINKING, event.literal)

    def _state(self, event: Signed) -> None:
        if self._hides_reasoning:
            return
        state = event.state
        if state.kind == reasoning_states.REDACTED and state.origin.dialect == NAME:
            self._whole(event.part, b'{"type":"redacted_thinking","data":' + state.json + b"}")
            return
        literal = own_or_sealed(state, reasoning_states.SIGNATURE, NAME)
        if self._kind is THINKING and self._part == event.part and not self._signed:
            self._signed = True
            self.sign(literal)
        elif event.part == self._text_part:
            return
        elif self._kind is TOOL:
            # The call is open already, so its signature follows it.
            self._late_signature = literal
        else:
            self._carry(literal)

    def _call_started(self, event: CallStarted) -> None:
        self._close()
        # Opened with the next event: that may be its signature, which has to stand before the call.
        self._call = event

    def _call_delta(self, event: CallDelta) -> None:
        if event.literal == EMPTY:
            return
        if self._call is not None:
            self._open_call(self._call)
        if self._opening is not None:
            self._begin_arguments(self._opening + event.literal[1:-1])
        elif self._kind is TOOL:
            self.append(TOOL, quote(event.literal[1:-1].decode()) if self._suffix else event.literal)

    def _begin_arguments(self, opening: bytes) -> None:
        """Hold the first fragments until they show whether they begin an object, since input must be one."""
        literal = b'"' + opening + b'"'
        text = unquote(literal)
        if "null".startswith(text.strip()) or text.strip() == "{":
            self._opening = opening
            return
        self._opening = None
        if is_object(text):
            self.append(TOOL, literal)
            return
        self.append(TOOL, b'"{\\"arguments\\":\\""')
        self._suffix = b'"\\"}"'
        self.append(TOOL, quote(opening.decode()))

    def _end_arguments(self) -> None:
        """The end of a call whose fragments never showed that: it is empty, or was cut off at once."""
        opening, self._opening = self._opening, None
        text = unquote(b'"' + opening + b'"').strip() if opening else ""
        if text == "{":
            self.append(TOOL, quote(text))
        elif text not in ("", "null"):
            self.append(TOOL, quote(encode({"arguments": text}).decode()))

    def _call_ended(self, event: CallEnded) -> None:
        if self._call is not None:
            self._open_call(self._call)
        self._close()
        late, self._late_signature = self._late_signature, None
        if late is not None:
            self._carry(late)

    def _citation(self, event: Cited) -> None:
        if event.origin.dialect != NAME:
            return
        if self._kind is TEXT and self._part == event.part:
            self.cite(event.json)

    def _media(self, event: MediaDelta) -> None:
        """This dialect has no media in answers: they become a link that holds the bytes, and the transcript."""
        if self._part != event.part or self._kind is not TEXT:
            self._open(event.part, TEXT, _TEXT_BLOCK)
            if event.url:
                self.append(TEXT, quote(f"[{event.kind.value}]({event.url})"))
        if event.data != EMPTY and not event.url:
            if not self._linked:
                self._linked = True
                self.append(TEXT, quote(f"[{event.kind.value}](data:{event.media_type};base64,"))
            self.append(TEXT, event.data)
        if event.transcript is not None and event.transcript != EMPTY:
            self._transcripts.append(event.transcript)

    def _end_media(self) -> None:
        """The end of the link, and after it the transcript of a sound."""
        words = [joined("", self._transcripts)] if self._transcripts else []
        ends = [b'")"'] if self._linked else []
        self._linked, self._transcripts = False, []
        self.append(TEXT, joined("\n\n", [*ends, *words]))

    def _kept(self, event: Kept) -> None:
        if event.opaque.origin.dialect != NAME:
            return
        self._whole(event.part, event.opaque.json)

    def _stopped(self, event: Stopped) -> None:
        self._close()
        self.stop = event

    def _used(self, event: Used) -> None:
        self.usage = merged(self.usage, event.usage)

    def _ended(self, event: Ended) -> None:
        self._close()
        if self._last_kind is not TEXT:
            self._render_carriers()
        self.over = True
        self.finish()

    def _failed(self, event: Failed) -> None:
        self._fail(event.failure)

    # The order.

    def _fail(self, failure: Failure) -> None:
        self.over = True
        self._kind = NO_BLOCK
        self._opening = None
        self.fail(failure)

    def _open_call(self, call: CallStarted) -> None:
        self._call = None
        fields = {**CALL_FIELDS, **own_fields(call.extras, NAME)}
        head = {"type": b'"tool_use"', "id": quote(call.id), "name": quote(call.name), "input": b"{}"}
        self._open(call.part, TOOL, render_object({**head, **fields}))
        self._opening = b""

    def _carry(self, signature: bytes) -> None:
        """A signature in a thinking block of its own. It waits for the next block, since no text may be followed by one
        at the end of an answer."""
        self._close()
        self._carriers.append(signature)

    def _render_carriers(self) -> None:
        carriers, self._carriers = self._carriers, []
        for signature in carriers:
            self.open_block(THINKING, _THINKING_BLOCK)
            self.sign(signature)
            self.close_block()

    def _open(self, part: int, kind: bytes, block: Json) -> None:
        self._close()
        if self._carriers:
            self._render_carriers()
        self._part, self._kind, self._signed = part, kind, False
        self._last_kind = kind
        self.open_block(kind, block)

    def _whole(self, part: int, block: Json) -> None:
        self._open(part, NO_BLOCK, block)
        self.close_block()
        self._part = _NO_PART

    def _close(self) -> None:
        if self._kind is NO_BLOCK:
            return
        if self._opening is not None:
            self._end_arguments()
        if self._kind is THINKING and not self._signed:
            self.sign(_UNSIGNED)
        if self._linked or self._transcripts:
            self._end_media()
        if self._suffix:
            self.append(self._kind, self._suffix)
            self._suffix = b""
        self._part, self._kind = _NO_PART, NO_BLOCK
        self.close_block()


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


_TAKE: Mapping[type[Event], Callable[[Any, Any], None]] = {
    Started: BlockBuilder._started,
    TextDelta: BlockBuilder._text,
    RefusalDelta: BlockBuilder._text,
    ReasoningDelta: BlockBuilder._reasoning,
    Signed: BlockBuilder._state,
    CallStarted: BlockBuilder._call_started,
    CallDelta: BlockBuilder._call_delta,
    CallEnded: BlockBuilder._call_ended,
    Cited: BlockBuilder._citation,
    MediaDelta: BlockBuilder._media,
    Kept: BlockBuilder._kept,
    Stopped: BlockBuilder._stopped,
    Used: BlockBuilder._used,
    Ended: BlockBuilder._ended,
    Failed: BlockBuilder._failed,
}
