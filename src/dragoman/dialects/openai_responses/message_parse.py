"""Responses items to ours.

One strict typed decode takes the whole list. Only where it fails, each item is decoded again, and its unknown fields
become extras. Items of one assistant turn become one message: reasoning, texts and calls in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import msgspec
from msgspec import Raw

from dragoman.conversation import reasoning_states
from dragoman.conversation.literals import EMPTY, joined, unquote
from dragoman.conversation.messages import ASSISTANT, DEVELOPER, FIELD, SYSTEM, TOOL, USER, Message, Role
from dragoman.conversation.parts import Call, Extras, Json, Opaque, Part, Reasoning, Result, Text
from dragoman.dialects.openai_responses import NAME, ORIGIN
from dragoman.dialects.openai_responses.content import parse_content
from dragoman.dialects.parsing import extras_of, made_id, parse_state
from dragoman.dialects.raw_json import ABSENT, NOTHING
from dragoman.errors import MalformedRequest
from dragoman.wire.json_reader import salvage, split_items, split_members

ITEM = "item."
"""The head of extras that belong to an assistant's message item. Its first part holds them, since one message may hold
several items."""


class ResponsesWireItem(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    type: str | None = None
    role: str | None = None
    content: Raw = ABSENT
    id: Raw = ABSENT
    status: Raw = ABSENT
    phase: Raw = ABSENT
    namespace: Raw = ABSENT
    call_id: str | None = None
    name: str | None = None
    arguments: Raw = ABSENT
    input: Raw = ABSENT
    output: Raw = ABSENT
    summary: Raw = ABSENT
    encrypted_content: Raw = ABSENT


class _ItemKind(msgspec.Struct, gc=False):
    type: str | None = None
    role: str | None = None


class _ReasoningText(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    text: Raw


class _SummaryText(_ReasoningText, gc=False, forbid_unknown_fields=True):
    """One text of a summary. A tag would let an entry without a type pass."""

    type: Literal["summary_text"]


class _ThoughtText(_ReasoningText, gc=False, forbid_unknown_fields=True):
    """One text of the reasoning itself."""

    type: Literal["reasoning_text"]


_summaries = msgspec.json.Decoder(list[_SummaryText]).decode
_thoughts = msgspec.json.Decoder(list[_ThoughtText]).decode
_items = msgspec.json.Decoder(list[ResponsesWireItem]).decode
_item = msgspec.json.Decoder(ResponsesWireItem)
_kind = msgspec.json.Decoder(_ItemKind)

_PLAIN_ROLES = {"user": USER, "system": SYSTEM, "developer": DEVELOPER}
_KEPT_FIELDS = ("id", "status", "phase", "namespace")
"""Fields that are kept as extras on every type of item."""

Fields = Mapping[str, Json]
_NO_FIELDS: Fields = {}


def parse_messages(raw: bytes) -> list[Message]:
    """The `input`: a text, or a list of items."""
    if raw in NOTHING:
        return []
    if raw[:1] == b'"':
        return [Message(USER, (Text(raw),), 0)]
    if raw[:1] != b"[":
        raise MalformedRequest("input is neither a string nor a list of items", at="/input")
    parser = ResponsesItemParser(raw)
    try:
        wire = _items(raw)
    except msgspec.DecodeError:
        for item in split_items(raw, "/input"):
            parser.salvage(bytes(item))
        return parser.messages()
    for found in wire:
        parser.parse(found, _NO_FIELDS)
    return parser.messages()


def parse_instructions(raw: bytes) -> list[Message]:
    """The `instructions`: a text, or a list of texts and items, each of them a system message of its own."""
    if raw[:1] != b"[":
        return [Message(SYSTEM, (Text(raw),), FIELD)] if raw[:1] == b'"' else []
    found: list[Message] = []
    for item in split_items(raw, "/instructions"):
        if bytes(item)[:1] == b'"':
            found.append(Message(SYSTEM, (Text(bytes(item)),), FIELD))
        else:
            found += [message.but(role=SYSTEM, at=FIELD) for message in parse_messages(_instruction(bytes(item)))]
    return found


def _instruction(raw: bytes) -> bytes:
    """An item of `instructions` as a list of items: a message, or a bare text part, which needs one around it."""
    if b'"role"' in raw:
        return b"[" + raw + b"]"
    return b'[{"role":"system","content":[' + raw + b"]}]"


class ResponsesItemParser:
    """Collects items into turns: the assistant's items, and the outputs that answer its calls."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._raws: list[Raw] | None = None
        self._done: list[Message] = []
        self._index = -1
        self._calls = 0
        self._role = ASSISTANT
        self._parts: list[Part] = []
        self._since = 0
        self._has_text = False
        self._called = False

    def messages(self) -> list[Message]:
        self._index += 1
        self._flush()
        return self._done

    def salvage(self, raw: bytes) -> None:
        """An item with unknown fields: they become extras where the type is known, else the item is kept verbatim."""
        at = f"/input/{self._index + 1}"
        if raw[:1] != b"{":
            raise MalformedRequest("an item that is not an object", at=at)
        kind = salvage(raw, _kind, at).value
        if kind.type in _KNOWN or (kind.type is None and kind.role is not None):
            salvaged = salvage(raw, _item, at)
            self.parse(salvaged.value, salvaged.extras.get("$", {}))
        else:
            self._index += 1
            self._opaque(kind.type)

    def parse(self, wire: ResponsesWireItem, fields: Fields) -> None:
        self._index += 1
        kind = wire.type
        if kind == "message" or (kind is None and wire.role is not None):
            self._message(wire, fields)
        elif kind == "function_call" or kind == "custom_tool_call":
            self._add_call(self._call(wire, fields))
        elif kind == "function_call_output" or kind == "custom_tool_call_output":
            self._join(TOOL, self._result(wire, fields))
        elif kind == "reasoning":
            self._reasoning(wire, fields)
        else:
            self._opaque(kind)

    def _add_call(self, call: Call) -> None:
        """Add a call. Its signature was handed out as a reasoning item of its own, which stands before it."""
        before = self._parts[-1] if self._parts and self._role is ASSISTANT else None
        if isinstance(before, Reasoning) and signs_call(before):
            self._parts[-1] = msgspec.structs.replace(call, signature=before.state)
        else:
            self._join(ASSISTANT, call)
        self._called = True

    def _join(self, role: Role, part: Part) -> None:
        if self._role is not role or not self._parts:
            self._flush()
            self._role, self._since = role, self._index
        self._parts.append(part)

    def _flush(self) -> None:
        if self._parts:
            span = self._index - self._since
            self._done.append(Message(self._role, tuple(self._parts), self._since, span))
        self._parts = []
        self._has_text = self._called = False

    def _opaque(self, kind: str | None) -> None:
        """Add an item of an unknown type: as a message of its own, or to the turn whose calls it stands among."""
        if self._raws is None:
            self._raws = split_items(self._raw, "/input")
        part = Opaque(kind=kind or "item_reference", json=bytes(self._raws[self._index]), origin=ORIGIN)
        if self._called and self._role is ASSISTANT:
            self._parts.append(part)
            return
        self._flush()
        self._done.append(Message(ASSISTANT, (part,), self._index))

    def _message(self, wire: ResponsesWireItem, fields: Fields) -> None:
        content = bytes(wire.content)
        at = f"/input/{self._index}/content"
        parts = (Text(content),) if content[:1] == b'"' else parse_content(content, at)
        extras = _extras(wire, fields, ("call_id", "name"))
        if wire.role == "assistant":
            self._assistant_message(parts, extras)
            return
        self._flush()
        role = _PLAIN_ROLES.get(wire.role or "")
        self._done.append(
            Message(
                role or USER,
                parts,
                self._index,
                extras=extras,
                listed=content[:1] == b"[",
                inline=role is SYSTEM,
                role_text="" if role is not None else wire.role or "",
            )
        )

    def _assistant_message(self, parts: tuple[Part, ...], extras: Extras | None) -> None:
        """Add an assistant's message to its turn. A second text without a call in between begins a new turn."""
        if not parts and extras is None:
            self._flush()
            self._done.append(Message(ASSISTANT, (), self._index))
            return
        if not parts or any(type(part) is Opaque for part in parts):
            self._opaque("message")
            return
        if self._has_text and not self._called:
            self._flush()
        if extras is not None:
            parts = (with_item_fields(parts[0], extras), *parts[1:])
        for part in parts:
            self._join(ASSISTANT, part)
        self._has_text = True

    def _call(self, wire: ResponsesWireItem, fields: Fields) -> Call:
        self._calls += 1
        custom = wire.type == "custom_tool_call"
        if wire.name is None:
            raise MalformedRequest("a call without the name of its tool", at=f"/input/{self._index}/name")
        raw = bytes(wire.input if custom else wire.arguments)
        arguments = _arguments(raw) if not custom else EMPTY if raw in NOTHING else raw
        identity = wire.call_id or made_id(self._calls, wire.name)
        return Call(identity, wire.name, arguments, custom=custom, extras=_extras(wire, fields))

    def _result(self, wire: ResponsesWireItem, fields: Fields) -> Result:
        at = f"/input/{self._index}"
        if wire.call_id is None:
            raise MalformedRequest(
                "an output without the id of its call", at=f"{at}/call_id", hint="repeat the call_id of the call"
            )
        output = bytes(wire.output)
        parts = (Text(output),) if output[:1] == b'"' else parse_content(output, f"{at}/output")
        return Result(
            wire.call_id,
            parts,
            name=wire.name,
            listed=output[:1] == b"[",
            custom=wire.type == "custom_tool_call_output",
            extras=_extras(wire, fields),
        )

    def _reasoning(self, wire: ResponsesWireItem, fields: Fields) -> None:
        beside = _beside(wire, fields)
        part = parse_reasoning(bytes(wire.summary), bytes(wire.content), bytes(wire.encrypted_content), beside)
        if part is None:
            self._opaque("reasoning")
        else:
            self._join(ASSISTANT, part)


def parse_reasoning(summary: bytes, content: bytes, encrypted: bytes, beside: Mapping[str, Json]) -> Reasoning | None:
    """A reasoning item. None where its summary or its content has a form that we do not know.

    Several texts are one to us, so the lists that held them are kept beside it.
    """
    summarised, thought = _texts(summary, _summaries), _texts(content, _thoughts)
    if summarised is None or thought is None:
        return None
    held = parse_state(reasoning_states.ENCRYPTED, encrypted, ORIGIN) if encrypted[:1] == b'"' else None
    more = dict(beside)
    if len(summarised) > 1 or (summarised and thought):
        more["summary"] = summary
    if thought and (len(thought) > 1 or summarised):
        more["content"] = content
    texts = summarised or thought
    return Reasoning(
        text=Text(joined("\n\n", texts)) if texts else None,
        state=held,
        redacted=held is not None and held.kind == reasoning_states.REDACTED,
        field="content" if thought and not summarised else "summary",
        extras=extras_of(NAME, more),
    )


def signs_call(part: Reasoning) -> bool:
    """Whether it holds nothing but the state that hangs on the call after it."""
    return part.text is None and part.state is not None and part.state.kind == reasoning_states.THOUGHT


_KNOWN = frozenset(
    {
        "message",
        "function_call",
        "function_call_output",
        "custom_tool_call",
        "custom_tool_call_output",
        "reasoning",
    }
)


def _extras(wire: ResponsesWireItem, fields: Fields, more: tuple[str, ...] = ()) -> Extras | None:
    """Unknown fields, and known ones that are kept as they are."""
    found = {name: msgspec.json.encode(getattr(wire, name)) for name in more if getattr(wire, name) is not None}
    return extras_of(NAME, _beside(wire, {**found, **fields}))


def _beside(wire: ResponsesWireItem, fields: Fields) -> dict[str, Json]:
    """Unknown fields, and those that every kind of item may have. Null is absence."""
    found: dict[str, Json] = {}
    for name in _KEPT_FIELDS:
        raw = getattr(wire, name)
        if raw is not ABSENT and bytes(raw) != b"null":
            found[name] = bytes(raw)
    return found | dict(fields)


def _arguments(raw: bytes) -> Json:
    """The JSON object in an argument string; the string as it is where it holds none."""
    if raw[:1] != b'"':
        return b"{}" if raw in NOTHING else raw
    text = unquote(raw).strip().encode()
    try:
        split_members(text)
    except (MalformedRequest, RecursionError):
        return raw if text else b"{}"
    return text


def with_item_fields(part: Part, extras: Extras) -> Part:
    """The first part of an assistant's message item, with the fields of the item."""
    own = dict(part.extras.fields) if part.extras is not None else {}
    own |= {ITEM + key: value for key, value in extras.fields.items()}
    return msgspec.structs.replace(part, extras=Extras(NAME, own))


def _texts(raw: bytes, decode: Callable[[bytes], Sequence[_ReasoningText]]) -> list[bytes] | None:
    """The texts of a reasoning item's list, or None where it holds anything else."""
    if raw in NOTHING:
        return []
    try:
        found = [bytes(entry.text) for entry in decode(raw)]
    except msgspec.DecodeError:
        return None
    return None if any(literal[:1] != b'"' for literal in found) else found
