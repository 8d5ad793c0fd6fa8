"""Reasoning in the forms that servers of Chat have for it, and the state that belongs to it.

`reasoning_details`, which OpenRouter introduced, holds reasoning with its state. An entry is a text (`reasoning.text`),
a summary or an encrypted blob. In a stream an entry comes in pieces that share their index. State of another dialect
travels sealed, in the `signature` or the `data` of an entry.

Other models write reasoning into their text, between `<think>` and `</think>`. Google's compatible endpoint puts its
signatures into `extra_content`.
"""

from __future__ import annotations

import msgspec
from msgspec import Raw

from dragoman.conversation.envelope import seal, unseal
from dragoman.conversation.literals import EMPTY, quote, unquote
from dragoman.conversation.parts import Json, Opaque, Origin, Part, Reasoning, StateKind, Text
from dragoman.dialects.shared.parsing import parse_state
from dragoman.dialects.shared.raw_json import UNREADABLE, decode_items, decode_members
from dragoman.wire.json_reader import render_object, split_items, split_members

TEXT, SUMMARY, ENCRYPTED = "reasoning.text", "reasoning.summary", "reasoning.encrypted"
KINDS = frozenset({TEXT, SUMMARY, ENCRYPTED})

_WORDS = {TEXT: "text", SUMMARY: "summary"}
_NO_STATE = frozenset({"type", "text", "summary", "index", "format"})
_PLAIN_DETAIL = {"type", "text"}
_OPEN = "<think>"
_CLOSE = "</think>"
_MOST_HELD = 1024
"""Characters, nearly all of them blank, that wait for what follows them."""


class ReasoningEntry(msgspec.Struct, gc=False):
    """One entry, as far as it has come."""

    kind: str
    index: bytes
    fields: dict[str, Json]
    literals: list[bytes]

    @property
    def key(self) -> tuple[str, bytes]:
        return self.kind, self.index

    def grow(self, piece: ReasoningEntry) -> None:
        self.fields |= piece.fields
        self.literals += piece.literals

    def state(self, origin: Origin) -> Opaque | None:
        """The state that has to come back: what was sealed in the entry, or the entry itself if it holds a proof."""
        for key in ("signature", "data"):
            value = self.fields.get(key, b"")
            sealed = unseal(unquote(value)) if value[:1] == b'"' else None
            if sealed is not None and sealed.json:
                return sealed
        if _NO_STATE.issuperset(self.fields):
            return None
        return Opaque(kind=StateKind.DETAIL, json=self._json(), origin=origin)

    def _json(self) -> Json:
        fields = {"type": self.fields["type"]}
        if self.literals:
            fields[_WORDS[self.kind]] = b'"' + b"".join([literal[1:-1] for literal in self.literals]) + b'"'
        return render_object(fields | self.fields)


def parse_entries(raw: bytes) -> list[ReasoningEntry]:
    """The entries of a list, without items that are none."""
    try:
        found = [decode_members(item) for item in decode_items(raw) if bytes(item)[:1] == b"{"]
    except UNREADABLE:
        return []
    return [entry for entry in map(_parse_entry, found) if entry is not None]


def _parse_entry(found: dict[str, Raw]) -> ReasoningEntry | None:
    fields = {key: bytes(value) for key, value in found.items() if bytes(value) != b"null"}
    kind = unquote(fields["type"]) if fields.get("type", b"")[:1] == b'"' else ""
    if kind not in KINDS:
        return None
    literal = fields.pop(_WORDS.get(kind, ""), b"")
    literals = [literal] if literal[:1] == b'"' and literal != EMPTY else []
    return ReasoningEntry(kind, fields.get("index", b""), fields, literals)


def parse_reasoning(content: Raw, text: Raw, details: Raw, origin: Origin) -> list[Part]:
    """The thinking of a message, in its fields `reasoning_content`, `reasoning` and `reasoning_details`."""
    listed = bytes(details)
    entries = [_parse_detail(bytes(item), origin) for item in split_items(listed)] if listed[:1] == b"[" else []
    if any(part.text is not None and part.state is not None and part.state.origin is not origin for part in entries):
        # We handed these out, with the same text in a plain field for clients that read only that.
        return [*entries]
    fields = {"reasoning_content": bytes(content), "reasoning": bytes(text)}
    plain = [Reasoning(text=Text(value), field=name) for name, value in fields.items() if value[:1] == b'"']
    return [*plain, *entries]


def _parse_detail(raw: bytes, origin: Origin) -> Reasoning:
    """One entry of `reasoning_details`. Sealed state in it is what we handed out before."""
    entry = split_members(raw) if raw[:1] == b"{" else {}
    literal = bytes(entry.get("text") or entry.get("summary") or b"")
    text, field = Text(literal) if literal[:1] == b'"' else None, StateKind.DETAIL
    for key in ("signature", "data"):
        value = bytes(entry.get(key, b""))
        if value[:1] == b'"':
            found = parse_state(StateKind.DETAIL, value, origin)
            if found.origin is not origin:
                return Reasoning(text=text, state=found, redacted=found.kind == StateKind.REDACTED, field=field)
    if text is not None and entry.keys() == _PLAIN_DETAIL:
        return Reasoning(text=text, field=field)
    return Reasoning(text=text, state=Opaque(kind=StateKind.DETAIL, json=raw, origin=origin), field=field)


class _Google(msgspec.Struct, gc=False):
    thought_signature: str | None = None


class _ExtraContent(msgspec.Struct, gc=False):
    google: _Google | None = None


_decode_extra = msgspec.json.Decoder(_ExtraContent).decode


def parse_signature(extra_content: bytes, origin: Origin) -> Opaque | None:
    """The state that Google's compatible endpoint puts into `extra_content`, if any. An empty one is none."""
    try:
        google = _decode_extra(extra_content).google
    except (msgspec.DecodeError, RecursionError):
        return None
    found = google.thought_signature if google is not None else None
    return parse_state(StateKind.THOUGHT, quote(found), origin) if found else None


def render_piece(kind: str, literal: bytes, number: int) -> Json:
    """A piece of an entry's text."""
    return b'[{"type":"%b","%b":%b,"index":%d}]' % (kind.encode(), _WORDS[kind].encode(), literal, number)


def render_state(state: Opaque, text: bytes | None, kind: str, number: int, *, dialect: str, streamed: bool) -> Json:
    """An entry with its state. `dialect`: its entries go back as they came. `streamed`: its text has been sent before,
    in pieces."""
    if state.kind == StateKind.DETAIL and state.origin.dialect == dialect:
        return _render_own_entry(state, number, streamed)
    sealed = quote(seal(state))
    if text is None:
        return b'{"type":"reasoning.encrypted","data":%b,"format":"dragoman","index":%d}' % (sealed, number)
    words = b"" if streamed else b'"%b":%b,' % (_WORDS[kind].encode(), text)
    return b'{"type":"%b",%b"signature":%b,"format":"dragoman","index":%d}' % (kind.encode(), words, sealed, number)


def _render_own_entry(state: Opaque, number: int, streamed: bool) -> Json:
    fields = {key: bytes(value) for key, value in decode_members(state.json).items()}
    if streamed and not {"text", "summary"}.isdisjoint(fields):
        fields = {key: value for key, value in fields.items() if key not in ("text", "summary")}
        fields["index"] = str(number).encode()
    return render_object(fields)


def entry_type(field: str) -> str:
    """The type of an entry for reasoning of this spelling."""
    return SUMMARY if field in (SUMMARY, "summary") else TEXT


class ThinkTags(msgspec.Struct, eq=False):
    """Splits a growing text into reasoning and answer. Only a text that begins with the tag holds reasoning."""

    _state: str = "before"
    _held: str = ""

    def feed(self, text: str) -> list[tuple[bool, str]]:
        """The pieces in order; True for reasoning."""
        text = self._held + text
        self._held = ""
        pieces: list[tuple[bool, str]] = []
        if self._state == "before":
            text = self._open(text)
        if self._state == "opened":
            text = text.lstrip("\n")
            if text:
                self._state = "inside"
        if self._state == "inside":
            text = self._close(text, pieces)
        if self._state == "after":
            text = text.lstrip("\n")
            if text:
                self._state = "answer"
        if self._state == "answer" and text:
            pieces.append((False, text))
        return pieces

    def close(self) -> list[tuple[bool, str]]:
        """What was held because it might have been the start of a tag."""
        held, self._held = self._held, ""
        return [(self._state == "inside", held)] if held else []

    def _open(self, text: str) -> str:
        start = text.lstrip()
        if start.startswith(_OPEN):
            self._state = "opened"
            return start[len(_OPEN) :]
        if _OPEN.startswith(start) and len(text) <= _MOST_HELD:
            self._held = text
            return ""
        self._state = "answer"
        return text

    def _close(self, text: str, pieces: list[tuple[bool, str]]) -> str:
        thought, tag, rest = text.partition(_CLOSE)
        if tag:
            self._state = "after"
            thought = thought.rstrip("\n")
        else:
            keep = _count_overlap(thought)
            self._held, thought = thought[len(thought) - keep :], thought[: len(thought) - keep]
        if thought:
            pieces.append((True, thought))
        return rest


def _count_overlap(text: str) -> int:
    """How many characters at the end may still become the closing tag, with the line ends before it."""
    for size in range(min(len(_CLOSE) - 1, len(text)), 0, -1):
        if text.endswith(_CLOSE[:size]):
            break
    else:
        size = 0
    body = text[: len(text) - size]
    return size + min(len(body) - len(body.rstrip("\n")), _MOST_HELD)
