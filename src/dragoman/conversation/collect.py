"""A reply folded from its events, and turned into events again.

`collect(tell(reply)) == reply`, and `tell(collect(events))` are the same events but for where the deltas are cut.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from dragoman.conversation.events import (
    CallDelta,
    CallEnded,
    CallStarted,
    Cited,
    Ended,
    Event,
    Failed,
    MediaDelta,
    OpaqueBlock,
    ReasoningDelta,
    RefusalDelta,
    Signed,
    Started,
    Stopped,
    TextDelta,
    Used,
    methods_by_event,
)
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.literals import EMPTY, JsonText, quote, unquote
from dragoman.conversation.parts import (
    Call,
    Citation,
    Extras,
    Inline,
    Json,
    Media,
    MediaKind,
    Opaque,
    Part,
    Reasoning,
    Refusal,
    Remote,
    Text,
)
from dragoman.conversation.replies import Choice, Reply, Usage

UNFINISHED = Failure(FailureKind.BROKEN_STREAM, "The stream ended before the answer was complete.")

_decode_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def collect(events: Iterable[Event]) -> Reply | Failure:
    """The whole reply, or the failure that ended it. Events that simply stop are a broken stream."""
    folding = Folding()
    for event in events:
        _ADD[type(event)](folding, event)
    return folding.result()


def merge_usage(before: Usage | None, after: Usage) -> Usage:
    """Usage with the last word, field by field; a zero says nothing."""
    if before is None:
        return after
    return Usage(
        input=after.input or before.input,
        output=after.output or before.output,
        cached=after.cached or before.cached,
        cache_written=after.cache_written or before.cache_written,
        reasoning=after.reasoning or before.reasoning,
        extras=_merge_extras(before.extras, after.extras),
        kept_long=after.kept_long or before.kept_long,
        kept_short=after.kept_short or before.kept_short,
        audio=after.audio or before.audio,
        others=after.others or before.others,
    )


def arguments_of(text: str, custom: bool = False) -> JsonText:
    """A call's arguments from their text: an object as it was written, anything else as a string, none as `{}`."""
    if custom:
        return quote(text)
    if text.strip() in ("", "null"):
        return JsonText(b"{}")
    try:
        _decode_object(text)
    except (msgspec.DecodeError, RecursionError):
        return quote(text)
    return JsonText(text.encode())


def text_of_arguments(call: Call) -> bytes:
    """The literal of a call's arguments as text: what `arguments_of` was made from."""
    arguments = call.arguments
    return arguments if arguments[:1] == b'"' else quote(arguments.decode())


class Folding(msgspec.Struct, eq=False):
    """Events on their way to a reply. Usable piecemeal by whoever has to watch a stream as it goes by."""

    reply: Reply = msgspec.field(default_factory=Reply)
    usage: Usage | None = None
    failure: Failure | None = None
    ended: bool = False
    _choices: dict[int, _Folded] = {}

    def add(self, event: Event) -> None:
        _ADD[type(event)](self, event)

    def result(self) -> Reply | Failure:
        if self.failure is not None:
            return self.failure
        if not self.ended:
            return UNFINISHED
        choices = [self._choices[index].choice() for index in sorted(self._choices)]
        return replace(self.reply, choices=tuple(choices), usage=self.usage)

    def _choice(self, index: int) -> _Folded:
        found = self._choices.get(index)
        if found is None:
            found = self._choices[index] = _Folded()
        return found

    def _started(self, event: Started) -> None:
        self.reply = Reply(
            id=event.id,
            model=event.model,
            created=event.created,
            fingerprint=event.fingerprint,
            service_tier=event.service_tier,
            extras=event.extras,
        )

    def _text(self, event: TextDelta) -> None:
        choice = self._choice(event.choice)
        piece = choice.piece(event.part, Text)
        piece.literals.append(event.literal)
        if event.extras is not None:
            piece.extras = event.extras
        if event.logprobs is not None:
            choice.logprobs.append(event.logprobs)

    def _reasoning(self, event: ReasoningDelta) -> None:
        piece = self._choice(event.choice).piece(event.part, Reasoning)
        piece.literals.append(event.literal)
        piece.field = event.field or piece.field
        if event.extras is not None:
            piece.extras = event.extras

    def _signed(self, event: Signed) -> None:
        piece = self._choice(event.choice).piece(event.part, Reasoning)
        piece.state = event.state
        piece.redacted = event.redacted
        piece.field = event.field or piece.field

    def _call_started(self, event: CallStarted) -> None:
        self._choice(event.choice).piece(event.part, Call).call = event

    def _call_delta(self, event: CallDelta) -> None:
        self._choice(event.choice).piece(event.part, Call).literals.append(event.literal)

    def _refusal(self, event: RefusalDelta) -> None:
        self._choice(event.choice).piece(event.part, Refusal).literals.append(event.literal)

    def _cited(self, event: Cited) -> None:
        piece = self._choice(event.choice).piece(event.part, Citation)
        piece.citations.append(Citation(json=event.json, origin=event.origin))

    def _media(self, event: MediaDelta) -> None:
        self._choice(event.choice).piece(event.part, Media).media.append(event)

    def _kept(self, event: OpaqueBlock) -> None:
        self._choice(event.choice).piece(event.part, Opaque).state = event.opaque

    def _stopped(self, event: Stopped) -> None:
        self._choice(event.choice).stop = event

    def _used(self, event: Used) -> None:
        self.usage = event.usage if self.usage is None else merge_usage(self.usage, event.usage)

    def _ended(self, event: Ended) -> None:
        self.ended = True
        if event.service_tier is not None or event.extras is not None:
            tier, extras = event.service_tier or self.reply.service_tier, _merge_extras(self.reply.extras, event.extras)
            self.reply = replace(self.reply, service_tier=tier, extras=extras)

    def _failed(self, event: Failed) -> None:
        self.failure = event.failure


_ADD = methods_by_event(Folding)


class _Piece(msgspec.Struct, eq=False):
    """A part that is still growing."""

    kind: type[Part]
    literals: list[bytes] = []
    citations: list[Citation] = []
    media: list[MediaDelta] = []
    extras: Extras | None = None
    call: CallStarted | None = None
    state: Opaque | None = None
    redacted: bool = False
    field: str = ""


class _Folded(msgspec.Struct, eq=False):
    """A choice that is still growing."""

    pieces: dict[int, _Piece] = {}
    logprobs: list[Json] = []
    stop: Stopped | None = None

    def piece(self, index: int, kind: type[Part]) -> _Piece:
        found = self.pieces.get(index)
        if found is None:
            found = self.pieces[index] = _Piece(kind)
        elif found.kind is Citation:
            found.kind = kind
        return found

    def choice(self) -> Choice:
        found: list[Part] = []
        for index in sorted(self.pieces):
            piece = self.pieces[index]
            part = _FOLD[piece.kind](piece)
            if part is not None:
                found.append(part)
            found += piece.citations
        parts = tuple(found)
        logprobs = _join_arrays(self.logprobs) if self.logprobs else None
        stop = self.stop
        if stop is None:
            return Choice(parts, logprobs=logprobs)
        return Choice(parts, stop.reason, stop.word, stop.sequence, logprobs, stop.extras)


def _fold_text(piece: _Piece) -> Part:
    literals = piece.literals
    literal = literals[0] if len(literals) == 1 else _join(literals)
    return Text(literal=literal, signature=piece.state, extras=piece.extras)


def _fold_reasoning(piece: _Piece) -> Part:
    literal = _join(piece.literals) if piece.literals else EMPTY
    text = Text(literal=literal) if literal != EMPTY else None
    return Reasoning(text=text, state=piece.state, redacted=piece.redacted, field=piece.field, extras=piece.extras)


def _fold_call(piece: _Piece) -> Part:
    call = piece.call or CallStarted(0, 0, "", "")
    text = unquote(_join(piece.literals))
    return Call(
        id=call.id,
        name=call.name,
        arguments=arguments_of(text, call.custom),
        signature=piece.state,
        custom=call.custom,
        extras=call.extras,
    )


def _fold_refusal(piece: _Piece) -> Part:
    return Refusal(literal=_join(piece.literals))


def _fold_media(piece: _Piece) -> Part:
    deltas = piece.media
    first = deltas[0]
    media_type = next((delta.media_type for delta in deltas if delta.media_type), "")
    source = Remote(first.url, media_type) if first.url else Inline(media_type, _join_base64([d.data for d in deltas]))
    words = [delta.transcript for delta in deltas if delta.transcript is not None]
    extras: Extras | None = None
    for delta in deltas:
        extras = _merge_extras(extras, delta.extras)
    return Media(kind=first.kind, source=source, transcript=_join(words) if words else None, extras=extras)


def _fold_kept(piece: _Piece) -> Part | None:
    return piece.state


_FOLD: Mapping[type[Part], Callable[[_Piece], Part | None]] = {
    Text: _fold_text,
    Reasoning: _fold_reasoning,
    Call: _fold_call,
    Refusal: _fold_refusal,
    Citation: lambda piece: None,
    Media: _fold_media,
    Opaque: _fold_kept,
}


def _join(literals: list[bytes]) -> bytes:
    return b'"' + b"".join([literal[1:-1] for literal in literals]) + b'"'


def _join_arrays(arrays: list[Json]) -> Json:
    inner = [array.strip()[1:-1].strip() for array in arrays]
    return b"[" + b",".join([items for items in inner if items]) + b"]"


def _join_base64(literals: list[bytes]) -> bytes:
    """Pieces of base64 as one. Only a padded piece in the middle has to be decoded."""
    literals = [literal for literal in literals if literal != EMPTY]
    if not any(literal.endswith(b'="') for literal in literals[:-1]):
        return _join(literals) if literals else EMPTY
    try:
        return quote(b64encode(b"".join([b64decode(unquote(literal)) for literal in literals])).decode())
    except ValueError:
        return _join(literals)


def _merge_extras(before: Extras | None, after: Extras | None) -> Extras | None:
    if before is None or after is None:
        return after if before is None else before
    return Extras(after.dialect, {**before.fields, **after.fields})


def tell(reply: Reply) -> list[Event]:
    """The reply as the events of a stream that arrived at once."""
    events: list[Event] = [
        Started(reply.id, reply.model, reply.created, reply.fingerprint, reply.service_tier, reply.extras)
    ]
    for index, choice in enumerate(reply.choices):
        _parts_events(index, choice, events)
    for index, choice in enumerate(reply.choices):
        if choice.stop is not None:
            events.append(Stopped(index, choice.stop, choice.word, choice.sequence, choice.extras))
    if reply.usage is not None:
        events.append(Used(reply.usage))
    events.append(Ended())
    return events


def _parts_events(index: int, choice: Choice, events: list[Event]) -> None:
    number = -1
    logprobs = choice.logprobs
    for part in choice.parts:
        if type(part) is not Citation or number < 0:
            number += 1
        made = _EVENTS_OF[type(part)](index, number, part)
        if logprobs is not None and type(part) is Text:
            made[0] = replace(made[0], logprobs=logprobs)
            logprobs = None
        events += made


def _tell_text(choice: int, number: int, part: Text) -> list[Event]:
    events: list[Event] = [TextDelta(choice, number, part.literal, None, part.extras)]
    if part.signature is not None:
        events.append(Signed(choice, number, part.signature))
    return events


def _tell_reasoning(choice: int, number: int, part: Reasoning) -> list[Event]:
    events: list[Event] = []
    if part.text is not None or part.extras is not None or part.state is None:
        literal = part.text.literal if part.text is not None else EMPTY
        events.append(ReasoningDelta(choice, number, literal, part.field, part.extras))
    if part.state is not None:
        events.append(Signed(choice, number, part.state, part.redacted, part.field))
    return events


def _tell_call(choice: int, number: int, part: Call) -> list[Event]:
    events: list[Event] = [CallStarted(choice, number, part.id, part.name, part.custom, part.extras)]
    if part.signature is not None:
        events.append(Signed(choice, number, part.signature))
    return [*events, CallDelta(choice, number, text_of_arguments(part)), CallEnded(choice, number)]


def _tell_refusal(choice: int, number: int, part: Refusal) -> list[Event]:
    return [RefusalDelta(choice, number, part.literal)]


def _tell_citation(choice: int, number: int, part: Citation) -> list[Event]:
    return [Cited(choice, number, part.json, part.origin)]


def _tell_media(choice: int, number: int, part: Media) -> list[Event]:
    source = part.source
    data = source.data if isinstance(source, Inline) else EMPTY
    url = source.url if isinstance(source, Remote) else ""
    kind: MediaKind = part.kind
    return [MediaDelta(choice, number, kind, source.media_type, data, part.transcript, url=url, extras=part.extras)]


def _tell_kept(choice: int, number: int, part: Opaque) -> list[Event]:
    return [OpaqueBlock(choice, number, part)]


_EVENTS_OF: Mapping[type[Part], Callable[[int, int, Any], list[Event]]] = {
    Text: _tell_text,
    Reasoning: _tell_reasoning,
    Call: _tell_call,
    Refusal: _tell_refusal,
    Citation: _tell_citation,
    Media: _tell_media,
    Opaque: _tell_kept,
}
