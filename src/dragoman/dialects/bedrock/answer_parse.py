"""A Converse answer as events: its blocks, and why it stopped. Streams have the same blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw

from dragoman.conversation import events
from dragoman.conversation.failures import Failure
from dragoman.conversation.literals import EMPTY
from dragoman.conversation.parts import Inline, Json, MediaKind, Opaque, Origin, StateKind
from dragoman.conversation.replies import Stop, Usage, clamp_tokens
from dragoman.dialects.bedrock import NAME, ORIGIN
from dragoman.dialects.bedrock.message_parse import FORMATS, parse_cited_texts, parse_media
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
    text_of,
)
from dragoman.errors import MalformedRequest
from dragoman.wire.error_bodies import parse_no_answer, unreadable_answer

STOPS = StopReasons(
    {
        "end_turn": Stop.END,
        "tool_use": Stop.CALLS,
        "max_tokens": Stop.LENGTH,
        "stop_sequence": Stop.STOP_SEQUENCE,
        "content_filtered": Stop.FILTER,
        "guardrail_intervened": Stop.FILTER,
        "malformed_model_output": Stop.ERROR,
        "malformed_tool_use": Stop.BROKEN_CALL,
        "model_context_window_exceeded": Stop.CONTEXT,
    }
)


TEXT_KEY, THINKING_KEY, CALL_KEY, IMAGE_KEY, OTHER_KEY = "text", "reasoningContent", "toolUse", "image", ""

_OWN_CALL = frozenset({"toolUseId", "name", "input", "type"})
_ORDINARY = ("", "tool_use")
_NOT_KEPT = frozenset({"role", "stopReason", "usage", "output", "metrics", "p"})
"""Members with a meaning of their own, the time that the provider took, and the padding of frames."""


class _OpenContentBlock(msgspec.Struct, eq=False):
    """A block that is not closed yet. Its part begins with its first event: an empty block is no part."""

    kind: str
    fields: Mapping[str, Raw]
    part: int = -1
    fragments: list[bytes] = []
    pieces: list[Json] = []


class BedrockAnswerParser(msgspec.Struct, eq=False):
    """An answer on its way in: the open blocks and the number of parts."""

    origin: Origin
    _seed: str = ""
    _blocks: dict[int, _OpenContentBlock] = {}
    _late: dict[str, Json] = {}
    _parts: int = 0
    _called: bool = False
    _started: bool = False
    _stop: str | None = None
    over: bool = False

    @property
    def is_stopped(self) -> bool:
        return self._stop is not None

    def start(self, out: list[events.Event]) -> None:
        """An answer has neither an id nor the name of its model."""
        if not self._started:
            self._started = True
            out.append(events.Started())

    def text(self, index: int, literal: bytes, out: list[events.Event]) -> None:
        if literal == EMPTY or literal[:1] != b'"':
            return
        out.append(events.TextDelta(0, self._part(index, TEXT_KEY), literal))

    def reasoning(self, index: int, fields: Mapping[str, Raw], out: list[events.Event]) -> None:
        """A piece of thinking: text, the signature, or what is withheld."""
        text, signature = bytes(fields.get("text", b"")), bytes(fields.get("signature", b""))
        redacted = bytes(fields.get("redactedContent", b""))
        if len(text) > 2 and text[:1] == b'"':
            out.append(events.ReasoningDelta(0, self._part(index, THINKING_KEY), text))
        if len(signature) > 2 and signature[:1] == b'"':
            state = parse_state(StateKind.SIGNATURE, signature, self.origin)
            out.append(events.Signed(0, self._part(index, THINKING_KEY), state))
        if len(redacted) > 2 and redacted[:1] == b'"':
            state = parse_state(StateKind.REDACTED, redacted, self.origin)
            out.append(events.Signed(0, self._part(index, THINKING_KEY), state, redacted=True))

    def cite(self, index: int, json: Json) -> None:
        """A source. It may come before the text that rests on it, so it waits for the end of its block."""
        block = self._blocks.get(index)
        if block is None:
            block = self._blocks[index] = _OpenContentBlock(TEXT_KEY, {})
        block.pieces.append(json)

    def open_call(self, index: int, fields: Mapping[str, Raw], out: list[events.Event]) -> None:
        """The head of a call. One that Bedrock itself runs is kept as it is."""
        if text_of(fields.get("type")) not in _ORDINARY:
            self._blocks[index] = _OpenContentBlock(OTHER_KEY, {"toolUse": Raw(encode(fields))})
            return
        block = self._blocks[index] = _OpenContentBlock(CALL_KEY, fields)
        self._called = True
        block.part = self._next_part()
        others = {key: bytes(raw) for key, raw in fields.items() if key not in _OWN_CALL}
        given = text_of(fields.get("toolUseId"))
        identity, name = given or answer_call_id(self._seed, block.part), text_of(fields.get("name"))
        out.append(events.CallStarted(0, block.part, identity, name, extras=extras_of(NAME, others), made=not given))

    def arguments(self, index: int, literal: bytes, out: list[events.Event]) -> None:
        block = self._blocks.get(index)
        if block is None or literal == EMPTY or literal[:1] != b'"':
            return
        block.fragments.append(literal)
        if block.kind == CALL_KEY:
            out.append(events.CallDelta(0, block.part, literal))

    def image(self, index: int, fields: Mapping[str, Raw], out: list[events.Event]) -> None:
        """A piece of a picture."""
        block = self._blocks.get(index)
        known = FORMATS[MediaKind.IMAGE].get(text_of(block.fields.get("format")), "") if block is not None else ""
        source = fields.get("source")
        data = bytes(decode_members(source).get("bytes", b"")) if source is not None else b""
        if data[:1] == b'"':
            out.append(events.MediaDelta(0, self._part(index, IMAGE_KEY), MediaKind.IMAGE, known, data))

    def open_other(self, index: int, kind: str, fields: Mapping[str, Raw]) -> None:
        """The head of a block of another kind."""
        self._blocks[index] = _OpenContentBlock(kind if kind == IMAGE_KEY else OTHER_KEY, fields)

    def extend(self, index: int, items: list[Json]) -> None:
        """Further content of a block that is kept as it is."""
        block = self._blocks.get(index)
        if block is not None:
            block.pieces += items

    def whole_block(self, index: int, raw: bytes, out: list[events.Event]) -> None:
        """A block that came at once."""
        fields = decode_members(raw)
        fields.pop("type", None)  # some servers also write the kind
        kind, content = next(iter(fields.items()), ("", Raw(b"null")))
        if kind == TEXT_KEY:
            self.text(index, bytes(content), out)
        elif kind == THINKING_KEY:
            self._whole_reasoning(index, decode_members(content), out)
        elif kind == CALL_KEY:
            call = decode_members(content)
            self.open_call(index, call, out)
            self.arguments(index, parse_input(bytes(call.get("input", b"{}"))), out)
        elif not self._known_block(index, kind, content, out):
            out.append(events.OpaqueBlock(0, self._next_part(), Opaque(kind=kind, json=raw, origin=self.origin)))
        self.close_block(index, out)

    def _known_block(self, index: int, kind: str, content: Raw, out: list[events.Event]) -> bool:
        """A text with its sources, or a picture; False if it is neither."""
        if kind == "citationsContent":
            return self._whole_cited(index, decode_members(content), out)
        return kind == IMAGE_KEY and self._whole_image(bytes(content), out)

    def _whole_reasoning(self, index: int, fields: Mapping[str, Raw], out: list[events.Event]) -> None:
        inner = fields.get("reasoningText")
        self.reasoning(index, decode_members(inner) if inner is not None else fields, out)

    def _whole_cited(self, index: int, fields: Mapping[str, Raw], out: list[events.Event]) -> bool:
        texts = parse_cited_texts(bytes(fields.get("content", b"")))
        for text in texts:
            self.text(index, text, out)
        raw = bytes(fields.get("citations", b""))
        for citation in decode_items(raw) if raw[:1] == b"[" else []:
            self.cite(index, bytes(citation))
        return bool(texts) or raw[:1] == b"["

    def _whole_image(self, raw: bytes, out: list[events.Event]) -> bool:
        try:
            found = parse_media(MediaKind.IMAGE, raw, "")
        except MalformedRequest:
            return False
        if found is None or not isinstance(found.source, Inline):
            return False
        source = found.source
        out.append(events.MediaDelta(0, self._next_part(), MediaKind.IMAGE, source.media_type, source.data))
        return True

    def close_block(self, index: int, out: list[events.Event]) -> None:
        block = self._blocks.pop(index, None)
        if block is None:
            return
        if block.kind == CALL_KEY:
            out.append(events.CallEnded(0, block.part))
        elif block.kind == OTHER_KEY and block.fields:
            self._keep(block, out)
        elif block.kind == TEXT_KEY and block.pieces:
            part = block.part if block.part >= 0 else max(self._parts - 1, 0)  # a block of its own: for the text before
            out += [events.Cited(0, part, json, self.origin) for json in block.pieces]

    def _keep(self, block: _OpenContentBlock, out: list[events.Event]) -> None:
        """A block that only Bedrock knows, put together as it would come whole."""
        kind, content = next(iter(block.fields.items()))
        fields = decode_members(content)
        if block.fragments:
            text = b"".join([literal[1:-1] for literal in block.fragments])
            fields["input"] = Raw(text_of(b'"' + text + b'"').encode() or b"{}")
        if block.pieces:
            fields["content"] = Raw(b"[" + b",".join(block.pieces) + b"]")
        json = encode({kind: fields})
        out.append(events.OpaqueBlock(0, self._next_part(), Opaque(kind=kind, json=json, origin=self.origin)))

    def stop(self, fields: Mapping[str, Raw], out: list[events.Event]) -> None:
        """Why it stopped. The event follows when the rest is known: what comes last belongs to it."""
        self._close_all(out)
        self._stop = text_of(fields.get("stopReason"))
        self._note_late(fields)

    def metadata(self, fields: Mapping[str, Raw], out: list[events.Event]) -> None:
        """The last frame: usage, and how the answer came about."""
        self._note_late(fields)
        usage = parse_usage(bytes(fields.get("usage", b"{}")))
        self._add_stop(out)
        if usage is not None:
            out.append(events.Used(usage))

    def _note_late(self, fields: Mapping[str, Raw]) -> None:
        others = {key: bytes(raw) for key, raw in fields.items() if key not in _NOT_KEPT}
        self._late |= {key: value for key, value in others.items() if value != b"null"}

    def _add_stop(self, out: list[events.Event]) -> None:
        word = self._stop or ""
        out.append(events.Stopped(0, STOPS.parse(word, self._called), word, None, extras_of(NAME, self._late)))

    def end(self, out: list[events.Event]) -> None:
        self._close_all(out)
        if not self._has_stop(out):
            self._add_stop(out)
        out.append(events.Ended())
        self.over = True

    def _has_stop(self, out: list[events.Event]) -> bool:
        return any(type(event) is events.Stopped for event in out)

    def fail(self, failure: Failure, out: list[events.Event]) -> None:
        out.append(events.Failed(failure))
        self.over = True

    def _part(self, index: int, kind: str) -> int:
        """The part that a piece belongs to. Text and thinking begin with their first piece."""
        block = self._blocks.get(index)
        if block is None or block.kind != kind:
            block = self._blocks[index] = _OpenContentBlock(kind, {})
        if block.part < 0:
            block.part = self._next_part()
        return block.part

    def _next_part(self) -> int:
        self._parts += 1
        return self._parts - 1

    def _close_all(self, out: list[events.Event]) -> None:
        for index in list(self._blocks):
            self.close_block(index, out)


def parse_answer(
    body: bytes, origin: Origin | None = None, *, seed: str = "", think_tags: bool = False
) -> list[events.Event]:
    """The events of a whole answer. A body that is no answer gives one event, the failure."""
    answer = BedrockAnswerParser(origin or ORIGIN, seed)
    out: list[events.Event] = []
    try:
        fields = decode_answer(body)
        if "output" not in fields:
            return [events.Failed(parse_no_answer(body, NAME))]
        answer.start(out)
        for index, block in enumerate(_blocks(fields)):
            answer.whole_block(index, bytes(block), out)
        answer.stop(fields, out)
        answer.metadata({"usage": fields["usage"]} if "usage" in fields else {}, out)
        answer.end(out)
    except UNREADABLE:
        return [events.Failed(unreadable_answer(body))]
    return out


def _blocks(fields: dict[str, Raw]) -> list[Raw]:
    message = decode_members(decode_members(fields["output"]).get("message", Raw(b"{}")))
    content = message.get("content", Raw(b"[]"))
    return decode_items(content) if bytes(content) != b"null" else []


# Usage: new input, cache reads and cache writes are separate and add up to the whole

_KNOWN = frozenset(
    {"inputTokens", "outputTokens", "totalTokens", "cacheReadInputTokens", "cacheWriteInputTokens", "serverToolUsage"}
)
_TWIN = "TokenCount"
"""How the names of counts end that Bedrock sends twice."""
DETAILS, SHORT, LONG = "cacheDetails", "5m", "1h"


def parse_usage(raw: bytes) -> Usage | None:
    """The counts; None if there are none."""
    try:
        fields = decode_object(raw)
    except msgspec.DecodeError:
        return None
    if not fields:
        return None
    read, written = clamp_tokens(fields.get("cacheReadInputTokens")), clamp_tokens(fields.get("cacheWriteInputTokens"))
    extras = {key: encode(value) for key, value in fields.items() if key not in _KNOWN and not key.endswith(_TWIN)}
    return Usage(
        input=clamp_tokens(fields.get("inputTokens")) + read + written,
        output=clamp_tokens(fields.get("outputTokens")),
        cached=read,
        cache_written=written,
        extras=extras_of(NAME, extras),
        kept_long=_count_kept(fields.get(DETAILS), LONG, written),
        kept_short=_count_kept(fields.get(DETAILS), SHORT, written),
    )


def _count_kept(details: Any, lifetime: str, written: int) -> int:
    """Of the tokens that were written to the cache, those that stay so long."""
    entries = [one for one in details if isinstance(one, dict)] if isinstance(details, list) else []
    return min(sum(clamp_tokens(one.get("inputTokens")) for one in entries if one.get("ttl") == lifetime), written)
