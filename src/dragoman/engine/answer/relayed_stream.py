"""A stream that goes to the client as its provider writes it: what sees its bytes, and what cleans them."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from dragoman.conversation.failures import UNREADABLE_ANSWERS
from dragoman.conversation.traits import STREAM_MARKS
from dragoman.dialects.dialect import Dialect, Framing, StreamParser
from dragoman.engine.answer.binary_relay import BinaryObserver, BinaryRelay
from dragoman.engine.answer.relay_frames import RelayFrames
from dragoman.engine.answer.relay_lines import RelayLines
from dragoman.engine.answer.relay_observer import RelayObserver
from dragoman.engine.tokens.answer_tally import AnswerTally
from dragoman.wire.sse import BOM


class RelayedStream(Struct, frozen=True, eq=False):
    """Both read every chunk."""

    observer: RelayObserver | BinaryObserver
    frames: RelayFrames | RelayLines | BinaryRelay

    @property
    def tells_failure(self) -> bool:
        """Whether the provider itself told the client, in an event, why the stream ends here."""
        failure = self.observer.failure
        return failure is not None and failure.kind not in UNREADABLE_ANSWERS and self.observer.framed


def open_relay(
    upstream: Dialect,
    client: Dialect,
    parser: Callable[[], StreamParser],
    tally: AnswerTally,
    redact: Callable[[bytes], bytes] | None,
    *,
    id: str,
    provider: str,
    hides_usage: bool,
) -> RelayedStream:
    """The relay of one stream. `id` and `provider` are for chunks that clients misread; `hides_usage`: it was asked for
    on nobody's behalf."""
    framing, answers = upstream.framing, upstream.answers
    if framing is Framing.EVENT_STREAM:
        return RelayedStream(BinaryObserver(parser(), tally), BinaryRelay(redact))
    observer = RelayObserver(parser, tally, answers.streamed_text, framing)
    rewrite = answers.chunk_rewrite and answers.chunk_rewrite(id, provider)
    if framing is Framing.NDJSON:
        return RelayedStream(observer, RelayLines(redact, rewrite))
    frames = RelayFrames(
        redact,
        upstream.chunk_leftovers,
        answers.check_chunk,
        outer=STREAM_MARKS,
        unasked=upstream.usage_members if hides_usage else frozenset(),
        observer=observer,
        rewrite=rewrite,
        form=client.frame_form,
    )
    return RelayedStream(observer, frames)


def is_plain(beginning: bytes, framing: Framing) -> bool:
    """Whether a server answers a request for a stream with a whole body or a page."""
    first = beginning.lstrip(BOM + b" \t\r\n")[:1]
    return first == b"<" or (framing is Framing.SSE and first in (b"{", b"["))
