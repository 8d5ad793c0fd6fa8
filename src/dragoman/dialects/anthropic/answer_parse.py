"""An answer of Anthropic, whole or in pieces, as events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from dragoman.conversation import events
from dragoman.conversation.failures import Failure
from dragoman.conversation.literals import EMPTY, quote
from dragoman.conversation.parts import Extras, Json, Opaque, Origin, StateKind
from dragoman.conversation.replies import Stop, Usage, clamp_tokens
from dragoman.dialects.anthropic import NAME, ORIGIN
from dragoman.dialects.families.call_input import parse_input
from dragoman.dialects.families.stop_reasons import StopReasons
from dragoman.dialects.shared.parsing import answer_call_id, extras_of, parse_state
from dragoman.dialects.shared.raw_json import (
    UNREADABLE,
    decode_answer,
    decode_items,
    decode_members,
    decode_object,
    encode,
    fields_of,
    items_in,
    says_nothing,
    text_of,
)
from dragoman.wire.error_bodies import parse_no_answer, unreadable_answer


class _ReadBlock(msgspec.Struct, gc=False):
    """What clients read of a block without a look at its type."""

    type: str
    text: str | msgspec.UnsetType = msgspec.UNSET
    thinking: str | msgspec.UnsetType = msgspec.UNSET
    id: str | msgspec.UnsetType = msgspec.UNSET
    name: str | msgspec.UnsetType = msgspec.UNSET
    input: dict[str, Raw] | msgspec.UnsetType = msgspec.UNSET


class _ReadUsage(msgspec.Struct, gc=False):
    input_tokens: int
    output_tokens: int


class _ReadMessage(msgspec.Struct, gc=False):
    content: list[_ReadBlock]
    stop_reason: str
    usage: _ReadUsage


check_read_message = msgspec.json.Decoder(_ReadMessage).decode

STOPS = StopReasons(
    {
        "end_turn": Stop.END,
        "max_tokens": Stop.LENGTH,
        "stop_sequence": Stop.STOP_SEQUENCE,
        "tool_use": Stop.CALLS,
        "pause_turn": Stop.PAUSE,
        "compaction": Stop.PAUSE,
        "refusal": Stop.REFUSAL,
        "model_context_window_exceeded": Stop.CONTEXT,
    },
    # This dialect has no word for a model that failed. A refusal is the one stop that no client takes for success.
    dict.fromkeys((Stop.FILTER, Stop.BROKEN_CALL, Stop.ERROR), Stop.REFUSAL),
)


DETAILS = "stop_details"
LATE = frozenset({"container", "context_management", DETAILS})
"""Members of a message that a stream sends at its end."""
STOP = ("stop_reason", "stop_sequence")
"""Members that say why a message ended."""

_TEXT, _THINKING, _TOOL, _OTHER = "text", "thinking", "tool_use", ""

_QUOTE = 34
_NULL = b"null"
_MESSAGE = frozenset({"id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "usage"})
_CALL = frozenset({"type", "id", "name", "input"})
_DELTA = frozenset({"type", "delta", "usage"})

_text = msgspec.json.Decoder(str).decode


class _OpenBlock(msgspec.Struct, eq=False):
    """A block that is not closed yet. Its part begins with its first event: an empty block is no part."""

    kind: str
    fields: Mapping[str, Raw]
    part: int = -1
    citations: list[Json] = []
    fragments: list[str] = []


class AnthropicAnswerParser(msgspec.Struct, eq=False):
    """An answer on its way in: the open blocks, the usage so far and the number of parts."""

    origin: Origin
    _seed: str = ""
    begun: bool = False
    over: bool = False
    _blocks: dict[int, _OpenBlock] = {}
    _counter: UsageCounter = msgspec.field(default_factory=lambda: UsageCounter())
    _id: str = ""
    _late: dict[str, Json] = {}
    _parts: int = 0
    _called: bool = False
    _stopped: bool = False

    def start(self, message: Mapping[str, Raw], out: list[events.Event]) -> None:
        """What a message says of itself. Members that a stream sends at its end are kept for the stop."""
        model = text_of(message.get("model"))
        if model and not self.origin.model:
            self.origin = replace(self.origin, model=model)
        self._id = text_of(message.get("id"))
        others: dict[str, Json] = {}
        if not _MESSAGE.issuperset(message):
            others = {key: bytes(raw) for key, raw in message.items() if key not in _MESSAGE and bytes(raw) != _NULL}
            self._late = {key: others.pop(key) for key in [*others] if key in LATE}
        out.append(events.Started(self._id, model, extras=extras_of(NAME, others)))

    def text(self, index: int, literal: bytes, out: list[events.Event]) -> None:
        block = self._blocks.get(index)
        if block is None or block.kind != _TEXT:
            block = self._block(index, _TEXT)
        if literal == EMPTY or not literal or literal[0] != _QUOTE:
            return
        if block.part < 0:
            self._begin(block)
        out.append(events.TextDelta(0, block.part, literal))

    def thinking(self, index: int, literal: bytes, out: list[events.Event]) -> None:
        block = self._block(index, _THINKING)
        if literal == EMPTY or not literal or literal[0] != _QUOTE:
            return
        if block.part < 0:
            self._begin(block)
        out.append(events.ReasoningDelta(0, block.part, literal))

    def arguments(self, index: int, literal: bytes, out: list[events.Event]) -> None:
        block = self._blocks.get(index)
        if literal[:1] == b"{":  # the input itself, where others have a piece of its text
            literal = quote(literal.decode())
        if block is None or literal == EMPTY or not literal or literal[0] != _QUOTE:
            return
        if block.kind == _TOOL:
            block.fragments.append("")
            out.append(events.CallDelta(0, block.part, literal))
        else:
            block.fragments.append(_text(literal))

    def other_delta(self, index: int, delta: Mapping[str, Raw], out: list[events.Event]) -> None:
        """Signatures, citations, and deltas of blocks of an unknown type."""
        block = self._blocks.get(index)
        if "signature" in delta:
            self._sign(block or self._open_implied(index, _THINKING), bytes(delta["signature"]), out)
        elif block is not None and "citation" in delta:
            block.citations.append(bytes(delta["citation"]))
        elif block is not None and block.kind == _OTHER:
            block.fields = _grow(block.fields, delta)

    def open_block(self, index: int, raw: bytes, out: list[events.Event]) -> None:
        """A block's head, or a whole block."""
        fields = decode_members(raw)
        kind = text_of(fields.get("type"))
        if index in self._blocks:
            self.close_block(index, out)
        block = self._blocks[index] = _OpenBlock(kind if kind in (_TEXT, _THINKING, _TOOL) else _OTHER, fields)
        if kind == _TEXT:
            self.text(index, bytes(fields.get("text", b"")), out)
            if "citations" in fields:
                block.citations += items_in(fields["citations"])
        elif kind == _THINKING:
            self.thinking(index, bytes(fields.get("thinking", b"")), out)
            self._sign(block, bytes(fields.get("signature", b"")), out)
        elif kind == _TOOL:
            self._call(block, out)

    def close_block(self, index: int, out: list[events.Event]) -> None:
        block = self._blocks.pop(index, None)
        if block is None:
            return
        if block.kind == _TOOL:
            if not block.fragments:
                out.append(events.CallDelta(0, block.part, parse_input(bytes(block.fields.get("input", b"")))))
            out.append(events.CallEnded(0, block.part))
        elif block.kind == _OTHER:
            self._keep(block, out)
        elif block.citations and block.part >= 0:
            out += [events.Cited(0, block.part, json, self.origin) for json in block.citations]

    def message_delta(self, fields: Mapping[str, Raw], out: list[events.Event]) -> None:
        """Why it stopped, and the final usage."""
        delta = decode_members(fields["delta"]) if bytes(fields.get("delta", b"")).startswith(b"{") else {}
        usual = _DELTA.issuperset(fields)
        late = {} if usual else {key: bytes(raw) for key, raw in fields.items() if key not in _DELTA}
        self.stop(delta, late, out)
        self.use(fields.get("usage"), out)

    def stop(self, fields: Mapping[str, Raw], late: dict[str, Json], out: list[events.Event]) -> None:
        word = text_of(fields.get("stop_reason"))
        usual = _MESSAGE.issuperset(fields)
        others = {} if usual else {key: bytes(raw) for key, raw in fields.items() if key not in _MESSAGE}
        kept = {**self._late, **others, **late}
        if kept:
            kept = {key: value for key, value in kept.items() if value != _NULL}
        if not word:
            self._late = kept if len(kept) <= MOST_MEMBERS else self._late
            return
        self._stopped = True
        self._close_all(out)
        sequence = text_of(fields.get("stop_sequence")) or None
        why = _find_reason(kept[DETAILS]) if DETAILS in kept else ""
        out.append(events.Stopped(0, STOPS.parse(word, self._called), word, sequence, extras_of(NAME, kept), why))

    def end(self, out: list[events.Event]) -> None:
        self._close_all(out)
        if not self._stopped:
            out.append(events.Stopped(0, STOPS.parse("", self._called), "", None, extras_of(NAME, self._late)))
        out.append(events.Ended())
        self.over = True

    def fail(self, failure: Failure, out: list[events.Event]) -> None:
        out.append(events.Failed(failure))
        self.over = True

    def use(self, raw: Raw | None, out: list[events.Event]) -> None:
        if raw is not None and self._counter.add(bytes(raw)):
            out.append(events.Used(self._counter.usage()))

    def _begin(self, block: _OpenBlock) -> None:
        block.part = self._parts
        self._parts += 1

    def _block(self, index: int, kind: str) -> _OpenBlock:
        """The block that a delta belongs to; a second one if the block at this index has another type."""
        block = self._blocks.get(index) or self._open_implied(index, kind)
        if block.kind == kind:
            return block
        return self._blocks.get(~index) or self._open_implied(~index, kind)

    def _open_implied(self, index: int, kind: str) -> _OpenBlock:
        """A block that was never opened: some servers leave `content_block_start` out."""
        block = self._blocks[index] = _OpenBlock(kind, {})
        return block

    def _call(self, block: _OpenBlock, out: list[events.Event]) -> None:
        self._called = True
        self._begin(block)
        fields = block.fields
        others = {key: bytes(raw) for key, raw in fields.items() if key not in _CALL}
        extras = {key: value for key, value in others.items() if value != _NULL and not _is_usual(key, value)}
        given = text_of(fields.get("id"))
        identity, name = given or answer_call_id(self._id or self._seed, 0, block.part), text_of(fields.get("name"))
        out.append(events.CallStarted(0, block.part, identity, name, extras=extras_of(NAME, extras), made=not given))

    def _sign(self, block: _OpenBlock, literal: bytes, out: list[events.Event]) -> None:
        if literal == EMPTY or not literal or literal[0] != _QUOTE:
            return
        if block.part < 0:
            self._begin(block)
        out.append(events.Signed(0, block.part, parse_state(StateKind.SIGNATURE, literal, self.origin)))

    def _keep(self, block: _OpenBlock, out: list[events.Event]) -> None:
        kind = text_of(block.fields.get("type"))
        self._begin(block)
        if kind == StateKind.REDACTED:
            data = bytes(block.fields.get("data", b'""'))
            out.append(events.Signed(0, block.part, parse_state(StateKind.REDACTED, data, self.origin), redacted=True))
            return
        fields = dict(block.fields)
        if block.fragments:
            fields["input"] = Raw("".join(block.fragments).encode())
        out.append(events.OpaqueBlock(0, block.part, Opaque(kind=kind, json=encode(fields), origin=self.origin)))

    def _close_all(self, out: list[events.Event]) -> None:
        for index in list(self._blocks):
            self.close_block(index, out)


def _is_usual(key: str, value: bytes) -> bool:
    """Whether a member says what every call says."""
    return key == "caller" and value.replace(b" ", b"") == b'{"type":"direct"}'


def _grow(fields: Mapping[str, Raw], delta: Mapping[str, Raw]) -> Mapping[str, Raw]:
    """A block of an unknown type with a delta applied: texts grow, other values are replaced."""
    grown: dict[str, Any] = decode_object(encode(fields))
    for key, value in decode_object(encode(delta)).items():
        if key == "type":
            continue
        before = grown.get(key)
        grown[key] = before + value if isinstance(before, str) and isinstance(value, str) else value
    return decode_members(encode(grown))


def parse_answer(
    body: bytes, origin: Origin | None = None, *, seed: str = "", think_tags: bool = False
) -> list[events.Event]:
    """The events of a whole answer. A body that is no answer gives one event, the failure."""
    answer = AnthropicAnswerParser(origin or ORIGIN, seed)
    out: list[events.Event] = []
    try:
        message = decode_answer(body)
        if not says_nothing(message.get("error")) or "content" not in message:
            return [events.Failed(parse_no_answer(body))]
        answer.start(message, out)
        for index, block in enumerate(_blocks(bytes(message["content"]))):
            answer.open_block(index, block, out)
            answer.close_block(index, out)
        answer.stop({key: message[key] for key in STOP if key in message}, {}, out)
        answer.use(message.get("usage"), out)
        answer.end(out)
    except UNREADABLE:
        return [events.Failed(unreadable_answer(body))]
    return out


def _blocks(content: bytes) -> list[bytes]:
    """The blocks of a message. Some servers write a text that is alone as it is."""
    if content[:1] == b'"':
        return [b'{"type":"text","text":%b}' % content]
    return [bytes(block) for block in decode_items(content) if bytes(block) != _NULL] if content != _NULL else []


def _find_reason(details: Json) -> str:
    """What a refusal says of itself."""
    fields = fields_of(details)
    return text_of(fields.get("explanation")) if fields is not None else ""


# Usage

_INPUT, _OUTPUT = "input_tokens", "output_tokens"
_WRITTEN, _READ = "cache_creation_input_tokens", "cache_read_input_tokens"
_COUNTS = frozenset({_INPUT, _OUTPUT, _WRITTEN, _READ})
ROUNDS = "iterations"
_CHARGED = (*sorted(_COUNTS), "cache_creation")
MOST_MEMBERS = 64
"""Members of a usage, or of the end of a message, that may come in pieces."""
SHORT, LONG = "ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"


class UsageCounter(msgspec.Struct, eq=False):
    """Usage that comes in pieces. What a later piece leaves out still holds."""

    _fields: dict[str, Any] = {}

    def add(self, raw: bytes) -> bool:
        """Take one `usage` object; False if it holds no counts."""
        try:
            counts = decode_object(raw)
        except msgspec.DecodeError:
            return False
        counts = {key: value for key, value in counts.items() if value is not None}
        if len(self._fields) + len(counts) > MOST_MEMBERS:
            counts = {key: value for key, value in counts.items() if key in _COUNTS or key in self._fields}
        self._fields.update(counts)
        return bool(counts)

    def usage(self) -> Usage:
        fields = self._fields
        others: tuple[tuple[str, Usage], ...] = ()
        if ROUNDS in fields:
            fields, others = fields | count_with_compactions(fields, fields[ROUNDS]), _find_advisors(fields[ROUNDS])
        written, cached = clamp_tokens(fields.get(_WRITTEN)), clamp_tokens(fields.get(_READ))
        details = fields.get("output_tokens_details")
        reasoning = clamp_tokens(details.get("thinking_tokens")) if isinstance(details, dict) else 0
        extras = {key: encode(value) for key, value in fields.items() if key not in _COUNTS}
        created = fields.get("cache_creation")
        return Usage(
            input=clamp_tokens(fields.get(_INPUT)) + written + cached,
            output=clamp_tokens(fields.get(_OUTPUT)),
            cached=cached,
            cache_written=written,
            reasoning=reasoning,
            extras=Extras(NAME, extras) if extras else None,
            kept_long=_count_kept(created, LONG, written) if written else 0,
            kept_short=_count_kept(created, SHORT, written) if written else 0,
            others=others,
        )


def _find_advisors(rounds: Any) -> tuple[tuple[str, Usage], ...]:
    """What models took that gave advice during the answer. Each is charged at its own price."""
    listed = rounds if isinstance(rounds, list) else []
    found = [one for one in listed if isinstance(one, dict) and one.get("type") == "advisor_message"]
    counted = [(one.get("model"), {key: one[key] for key in _CHARGED if key in one}) for one in found]
    return tuple([(name, UsageCounter(counts).usage()) for name, counts in counted if isinstance(name, str)])


def count_with_compactions(counts: Mapping[str, Any], rounds: Any, sign: int = 1) -> dict[str, int]:
    """The counts with the tokens of summaries that the provider wrote, which it charges and lists nowhere but among the
    rounds of an answer; with `sign` -1, the counts without them."""
    listed = rounds if isinstance(rounds, list) else []
    found = [one for one in listed if isinstance(one, dict) and one.get("type") == "compaction"]
    added = {key: sum([clamp_tokens(one.get(key)) for one in found]) for key in _COUNTS}
    return {key: clamp_tokens(clamp_tokens(counts.get(key)) + sign * count) for key, count in added.items() if count}


def _count_kept(created: Any, lifetime: str, written: int) -> int:
    """Of the tokens that were written to the cache, those that stay so long."""
    return min(clamp_tokens(created.get(lifetime)), written) if isinstance(created, dict) else 0
