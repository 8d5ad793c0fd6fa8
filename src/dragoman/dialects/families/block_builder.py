"""Events to content blocks that come one after the other and never overlap, as Anthropic and Bedrock have them.

While a call is open, events of other parts wait until it is complete (`call_order.py`). The signature that another
provider put on a call goes into a thinking block of its own before the call. One on a text is not shown: it comes after
the text, and many agents take the last block for the result. Nor is state that follows the last text. The store keeps
both for the next turn.
`docs/theory/anthropic-blocks.md` explains the order with examples.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from dragoman.conversation import events
from dragoman.conversation.collect import merge_usage
from dragoman.conversation.failures import Failure
from dragoman.conversation.literals import EMPTY, join_texts, quote, unquote
from dragoman.conversation.parts import Json, StateKind
from dragoman.conversation.replies import Usage
from dragoman.dialects.families.call_input import is_object
from dragoman.dialects.shared.call_order import CallOrder
from dragoman.dialects.shared.citations import Page, Passage, page_of, passage_of
from dragoman.dialects.shared.media_links import LINK_END, link_head
from dragoman.dialects.shared.ownership import own_or_sealed
from dragoman.dialects.shared.raw_json import encode

TEXT, THINKING, TOOL, NO_BLOCK = b"text_delta", b"thinking_delta", b"input_json_delta", b""


_NO_PART = -1
_MOST_OPENING = 1024
"""Bytes of a call's arguments, nearly all of them blank, that wait for what follows them."""


class BlockForm(msgspec.Struct, frozen=True):
    """What blocks look like when they open."""

    dialect: str
    """The one whose own state is shown as it is."""
    text: Json
    thinking: Json
    call: Callable[[events.CallStarted], Json]
    redacted: Callable[[Json], Json]
    unsigned: bytes = b""
    """The signature of thinking that nobody signed; empty if it needs none."""
    citation: Callable[[Page], Json] | None = None
    """The citation of a page that another vendor's model cites."""
    passage: Callable[[Passage], Json] | None = None
    """The citation of a document of the request, from another host of the model."""


class BlockBuilder:
    """Puts events into the order of blocks. A subclass decides what a block looks like on the wire."""

    __slots__ = (
        *("_call", "_carriers", "_form", "_hides_reasoning", "_kind", "_last_kind"),
        *("_late_signature", "_linked", "_opening", "_order", "_part", "_shown"),
        *("_is_signed", "_suffix", "_text_part", "_transcripts", "over", "stop", "usage"),
    )

    def __init__(self, form: BlockForm, hides_reasoning: bool) -> None:
        self._form = form
        self._hides_reasoning = hides_reasoning
        self._part = _NO_PART
        self._kind = NO_BLOCK
        self._last_kind = NO_BLOCK
        self._carriers: list[bytes] = []
        self._is_signed = False
        self._suffix = b""
        self._text_part = _NO_PART
        self._opening: bytes | None = None
        self._linked = False
        self._transcripts: list[bytes] = []
        self._call: events.CallStarted | None = None
        self._late_signature: bytes | None = None
        self._order = CallOrder()
        self._shown: int | None = None
        self.stop: events.Stopped | None = None
        self.usage: Usage | None = None
        self.over = False

    def take(self, event: events.Event) -> None:
        """Take one event. This dialect has one choice: events of any choice but the first one to come are dropped."""
        if self.over:
            return
        choice: int | None = getattr(event, "choice", None)
        if choice is not None and choice != self._shown:
            if self._shown is not None:
                return
            self._shown = choice
        if self._order.is_open or type(event) is events.CallStarted:
            for ordered in self._order.take(event):
                _TAKE[type(ordered)](self, ordered)
        else:
            _TAKE[type(event)](self, event)

    # What a subclass writes.

    def begin(self, event: events.Started) -> None: ...

    def open_block(self, kind: bytes, block: Json) -> None: ...

    def append(self, kind: bytes, literal: bytes) -> None: ...

    def sign(self, literal: bytes) -> None: ...

    def cite(self, json: Json) -> None: ...

    def close_block(self) -> None: ...

    def finish(self) -> None: ...

    def fail(self, failure: Failure) -> None: ...

    # Events.

    def _started(self, event: events.Started) -> None:
        self.begin(event)

    def _text(self, event: events.TextDelta | events.RefusalDelta) -> None:
        if event.literal == EMPTY:
            return
        if self._part != event.part or self._kind is not TEXT:
            self._open(event.part, TEXT, self._form.text)
            self._text_part = event.part
        self.append(TEXT, event.literal)

    _refusal = _text

    def _reasoning(self, event: events.ReasoningDelta) -> None:
        if self._hides_reasoning or event.literal == EMPTY:
            return
        if self._part != event.part or self._kind is not THINKING or self._is_signed:
            self._open(event.part, THINKING, self._form.thinking)
        self.append(THINKING, event.literal)

    def _signed(self, event: events.Signed) -> None:
        if self._hides_reasoning:
            return
        state = event.state
        if state.kind == StateKind.REDACTED and state.origin.dialect == self._form.dialect:
            self._whole(event.part, self._form.redacted(state.json))
            return
        literal = own_or_sealed(state, StateKind.SIGNATURE, self._form.dialect)
        if self._kind is THINKING and self._part == event.part and not self._is_signed:
            self._is_signed = True
            self.sign(literal)
        elif event.part == self._text_part:
            return
        elif self._kind is TOOL:
            # The call is open already, so its signature follows it.
            self._late_signature = literal
        else:
            self._carry(literal)

    def _call_started(self, event: events.CallStarted) -> None:
        self._close()
        # Opened with the next event: that may be its signature, which has to stand before the call.
        self._call = event

    def _call_delta(self, event: events.CallDelta) -> None:
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
        start = text.strip()
        if len(opening) <= _MOST_OPENING and ("null".startswith(start) or start == "{"):
            self._opening = opening
            return
        self._opening = None
        if is_object(text) or not start:
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

    def _call_ended(self, event: events.CallEnded) -> None:
        if self._call is not None:
            self._open_call(self._call)
        self._close()
        late, self._late_signature = self._late_signature, None
        if late is not None:
            self._carry(late)

    def _cited(self, event: events.Cited) -> None:
        if self._kind is not TEXT or self._part != event.part:
            return
        if event.origin.dialect == self._form.dialect:
            self.cite(event.json)
            return
        page = page_of(event.json)
        if page is not None and self._form.citation is not None:
            self.cite(self._form.citation(page))
            return
        passage = passage_of(event.json)
        if passage is not None and self._form.passage is not None:
            self.cite(self._form.passage(passage))

    def _media(self, event: events.MediaDelta) -> None:
        """This dialect has no media in answers: they become a link that holds the bytes, and the transcript."""
        if self._part != event.part or self._kind is not TEXT:
            self._open(event.part, TEXT, self._form.text)
            if event.url:
                self.append(TEXT, quote(f"[{event.kind.value}]({event.url})"))
        if event.data != EMPTY and not event.url:
            if not self._linked:
                self._linked = True
                self.append(TEXT, link_head(event.kind, event.media_type))
            self.append(TEXT, event.data)
        if event.transcript is not None and event.transcript != EMPTY:
            self._transcripts.append(event.transcript)

    def _end_media(self) -> None:
        """The end of the link, and after it the transcript of a sound."""
        words = [join_texts("", self._transcripts)] if self._transcripts else []
        ends = [LINK_END] if self._linked else []
        self._linked, self._transcripts = False, []
        self.append(TEXT, join_texts("\n\n", [*ends, *words]))

    def _kept(self, event: events.OpaqueBlock) -> None:
        if event.opaque.origin.dialect != self._form.dialect:
            return
        self._whole(event.part, event.opaque.json)

    def _stopped(self, event: events.Stopped) -> None:
        self._close()
        self.stop = event

    def _used(self, event: events.Used) -> None:
        self.usage = merge_usage(self.usage, event.usage)

    def _ended(self, event: events.Ended) -> None:
        self._close()
        if self._last_kind is not TEXT:
            self._render_carriers()
        self.over = True
        self.finish()

    def _failed(self, event: events.Failed) -> None:
        self.over = True
        self._kind = NO_BLOCK
        self._opening = None
        self.fail(event.failure)

    # The order.

    def _open_call(self, call: events.CallStarted) -> None:
        self._call = None
        self._open(call.part, TOOL, self._form.call(call))
        self._opening = b""

    def _carry(self, signature: bytes) -> None:
        """A signature in a thinking block of its own. It waits for the next block, since no text may be followed by one
        at the end of an answer."""
        self._close()
        self._carriers.append(signature)

    def _render_carriers(self) -> None:
        carriers, self._carriers = self._carriers, []
        for signature in carriers:
            self.open_block(THINKING, self._form.thinking)
            self.sign(signature)
            self.close_block()

    def _open(self, part: int, kind: bytes, block: Json) -> None:
        self._close()
        if self._carriers:
            self._render_carriers()
        self._part, self._kind, self._is_signed = part, kind, False
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
        if self._kind is THINKING and not self._is_signed and self._form.unsigned:
            self.sign(self._form.unsigned)
        if self._linked or self._transcripts:
            self._end_media()
        if self._suffix:
            self.append(self._kind, self._suffix)
            self._suffix = b""
        self._part, self._kind = _NO_PART, NO_BLOCK
        self.close_block()


_TAKE = events.methods_by_event(BlockBuilder)


class BlockCollector(BlockBuilder):
    """Collects blocks as the content of one message. A subclass decides what a whole block looks like."""

    __slots__ = ("_blocks", "_citations", "_kind_open", "_literals", "_opened", "_signature", "body")

    def __init__(self, form: BlockForm, hides_reasoning: bool) -> None:
        super().__init__(form, hides_reasoning)
        self._blocks: list[bytes] = []
        self._opened = b""
        self._kind_open = b""
        self._literals: list[bytes] = []
        self._citations: list[bytes] = []
        self._signature = b""
        self.body = b""

    def closed_block(self) -> bytes:
        """The block that was open, with all that was added to it."""
        raise NotImplementedError

    def open_block(self, kind: bytes, block: Json) -> None:
        self._opened, self._kind_open = block, kind
        self._literals, self._citations, self._signature = [], [], b""

    def append(self, kind: bytes, literal: bytes) -> None:
        self._literals.append(literal)

    def sign(self, literal: bytes) -> None:
        self._signature = literal

    def cite(self, json: Json) -> None:
        self._citations.append(json)

    def close_block(self) -> None:
        self._blocks.append(self.closed_block())
