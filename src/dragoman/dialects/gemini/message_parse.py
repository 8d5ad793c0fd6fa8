"""Gemini's contents to our messages.

Calls and responses may come without ids. They are parsed as they are, each content by itself; then `settle` lets a
response answer the first waiting call of its name.

A stream comes in pieces, and Google's SDKs keep each as a content of its own, or as a part of one content. To Gemini
they are one text. Here they are, too: `settle` joins the contents of a model's turn, and `join_pieces` its texts.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType
from msgspec.structs import force_setattr, replace

from dragoman.conversation import traits
from dragoman.conversation.bounded_cache import remembered
from dragoman.conversation.literals import EMPTY, join_texts, quote, unquote
from dragoman.conversation.messages import ASSISTANT, FIELD, SYSTEM, TOOL, USER, Message, Role
from dragoman.conversation.parts import (
    NO_ID,
    UNTYPED,
    Call,
    Extras,
    Inline,
    Json,
    Media,
    MediaKind,
    Opaque,
    Part,
    Reasoning,
    Remote,
    Result,
    StateKind,
    Stored,
    Text,
)
from dragoman.conversation.traits import CALLING, CODES, LEFTOVERS, ObservedMessage, observe_message, observe_name
from dragoman.dialects.gemini import NAME, ORIGIN, schema
from dragoman.dialects.near_misses.two_readings import refuse_two_kinds
from dragoman.dialects.shared.parsed_messages import BRACE, QUOTE, ParsedList, is_blank, mark_inline
from dragoman.dialects.shared.parsing import extras_of, make_id, parse_state
from dragoman.dialects.shared.raw_json import ABSENT, NOTHING, encode
from dragoman.dialects.shared.read_lists import BEGIN
from dragoman.dialects.shared.top_level import decode_value
from dragoman.errors import MalformedRequest
from dragoman.wire.json_reader import render_object, split_items, split_members
from dragoman.wire.media_types import type_of_url

_ROLES: Mapping[str | None, Role] = {"user": USER, "model": ASSISTANT}
_NONE: Mapping[str, Json] = {}
UNSIGNED = (Raw(b'""'), Raw(b"null"))
"""Signatures that are none."""


def parse_content(content: schema.GeminiContent, index: int) -> Sequence[ObservedMessage] | None:
    """A content that is decoded already; None if it is not of the usual kinds."""
    role, parts = _ROLES.get(content.role), content.parts
    if role is None or not parts:
        return None
    if len(parts) == 1:
        found = _parse_only(parts[0], role, index)
        if found is not None:
            return found
    try:
        return _parse_usual(parts, role, index)
    except MalformedRequest:
        return None


def _parse_only(wire: schema.GeminiPart, role: Role, index: int) -> Sequence[ObservedMessage] | None:
    """A content of one plain text, call or response, as most of an agent's are; None if it is anything else."""
    signature, call, response = wire.thoughtSignature, wire.functionCall, wire.functionResponse
    if signature is not ABSENT or wire.thought or wire.inlineData is not UNSET or wire.fileData is not UNSET:
        return None
    if response is not UNSET:
        answer: Any = response.response
        if call is not UNSET or role is not USER or type(answer) is not schema.GeminiOutput or wire.text is not ABSENT:
            return None
        literal, name = bytes(answer.output), response.name
        if literal[0] != QUOTE or response.parts is not ABSENT or not name:
            return None
        identity = response.id or ""
        ids, wire_form, seen = ([identity], "", 0) if identity else _RESULT_WITHOUT_ID
        result = Result(identity, (Text(literal),), False, name, False, False, wire_form)
        seen |= traits.BLANK_TEXT if is_blank(literal) else 0
        return (ObservedMessage(Message(TOOL, (result,), index), seen, "t", ids),)
    if call is not UNSET:
        if call.args is ABSENT or wire.text is not ABSENT or role is USER:
            return None
        arguments = bytes(call.args)
        if arguments[0] != BRACE:
            return None
        identity, name = call.id or "", call.name
        ids, wire_form, seen = ([identity], "", _CALLS) if identity else _CALL_WITHOUT_ID
        part = Call(identity, name, arguments, None, False, wire_form)
        return (ObservedMessage(Message(role, (part,), index), seen | observe_name(name), CALLING, ids),)
    literal = bytes(wire.text)
    if literal[:1] != b'"':
        return None
    seen = traits.BLANK_TEXT if is_blank(literal) else 0
    return (ObservedMessage(Message(role, (Text(literal),), index), seen, CODES[role]),)


_NO_ID_YET: Sequence[str] = ("",)
"""The ids of a message of one part, a call or a response without an id, until `settle` fills them in."""
_PAIRED = frozenset((CALLING, "t"))
_CALLS, _LEGACY = traits.CALLS, traits.LEGACY
_CALL_WITHOUT_ID = (_NO_ID_YET, NO_ID, _CALLS | _LEGACY)
_RESULT_WITHOUT_ID = (_NO_ID_YET, NO_ID, _LEGACY)
"""Ids, form and traits of such a part."""


def _parse_usual(wire: list[schema.GeminiPart], role: Role, index: int) -> Sequence[ObservedMessage] | None:
    """The messages of parts that fit. Only the model calls functions."""
    parts: list[Part] = []
    for one in wire:
        part = _parse_part(one)
        if part is None or _has_odd_bytes(one.inlineData) or _has_odd_bytes(one.fileData):
            return None
        if (type(part) is Call and role is USER) or (type(part) is Result and part.extras is None and not part.name):
            return None
        parts.append(part)
    return _compose(role, join_pieces(parts) if role is ASSISTANT else parts, index)


def _are_listed(parts: Sequence[Part]) -> bool:
    """Whether these parts are more than one text: what others write as a list. One text may be a string anywhere."""
    return len(parts) > 1 and len([part for part in parts if type(part) is Text]) > 1


def _has_odd_bytes(blob: schema.GeminiBlob | UnsetType) -> bool:
    """Whether something else than a text, or a data URL, stands in place of bytes."""
    if blob is UNSET or blob.data is ABSENT:
        return False
    head = bytes(memoryview(blob.data)[:6])
    return head[0] != QUOTE or head == b'"data:'


def _compose(
    role: Role, parts: Sequence[Part], index: int, *, extras: Extras | None = None, role_text: str = "", span: int = 1
) -> Sequence[ObservedMessage]:
    """The messages of these parts. In a user's turn, each run of results is a message of its own."""
    if role is not USER or not any(type(part) is Result for part in parts):
        listed = _are_listed(parts)
        return (observe_message(Message(role, tuple(parts), index, extras=extras, listed=listed, role_text=role_text)),)
    runs: list[tuple[Role, list[Part]]] = []
    for part in parts:
        home = TOOL if type(part) is Result else USER
        if not runs or runs[-1][0] is not home:
            runs.append((home, []))
        runs[-1][1].append(part)
    return [
        observe_message(Message(home, tuple(run), index, span, extras=extras, listed=_are_listed(run)))
        for home, run in runs
    ]


class _AnyContent(msgspec.Struct, gc=False):
    role: str | None = None
    parts: Raw = ABSENT


_decode_any_content = msgspec.json.Decoder(_AnyContent).decode
_NO_ROLE: Mapping[str, Json] = {"role": b"null"}
"""The extra field of a content without a role. It is the user's, but not every server accepts it."""


def parse_odd_item(raw: Json, index: int) -> Sequence[ObservedMessage]:
    """A content with members or parts that the schema does not name, or with another role than the usual ones."""
    at = f"/contents/{index}"
    content = decode_value(_decode_any_content, raw, at)
    parts = _parse_parts(bytes(content.parts), f"{at}/parts")
    unknown = _split(raw, schema.GeminiContent)[1]
    extras = extras_of(NAME, _NO_ROLE if content.role is None and not unknown else unknown)
    named = content.role or "user"
    role = SYSTEM if named == "system" else _ROLES.get(named, USER)
    if role is ASSISTANT:
        parts = join_pieces(parts)
    return _compose(role, parts, index, extras=extras, role_text="" if named in _KNOWN_ROLES else named)


_KNOWN_ROLES = frozenset({"user", "model", "system", "function"})


@remembered
def parse_system(raw: Json) -> tuple[ObservedMessage, ...]:
    """The `systemInstruction`: one message, of a text or of parts. Its role has no meaning."""
    if raw in NOTHING:
        return ()
    if raw[:1] == b'"':
        return (observe_message(Message(SYSTEM, (Text(raw),), FIELD)),)
    at = "/systemInstruction"
    content = decode_value(_decode_any_content, raw, at)
    parts = _parse_parts(bytes(content.parts), f"{at}/parts", inner=True)
    extras = extras_of(NAME, _split(raw, schema.GeminiContent)[1])
    listed = _are_listed(parts)
    return (observe_message(Message(SYSTEM, parts, FIELD, extras=extras, listed=listed)),) if parts or extras else ()


# What depends on the contents around it


def settle(listed: ParsedList) -> ParsedList:
    """Fill in the ids that are missing, and join the contents of one turn: of the model, or of responses to it."""
    mark_inline(listed)
    if any(one.traits & traits.LEGACY for one in listed.messages):
        start = BEGIN if listed.reading is None else listed.reading.start
        alone = _fill_ids(listed.messages, start.calls) and (not start.calls or start.traits & traits.LEGACY != 0)
        listed.alone = listed.alone and alone
    return listed.settled(_join_turns(listed.messages)) if _has_pieces(listed.codes()) else listed


_has_pieces = re.compile("tt|[ac]{2}").search


def _fill_ids(messages: list[ObservedMessage], calls: int = 0) -> bool:
    """A call without an id gets one by its number and name, or that of the response to it. A response without one
    answers a waiting call.

    The parts are filled in place: they were made a moment ago, and nobody else has seen them. `calls`: those before.
    Returns whether this needs no look at the turns before: nothing else has an id, and every response answers a call.
    """
    paired, calls = _fill_pairs(messages, calls)
    return paired == len(messages) or _fill_turns(messages[paired:], calls)


def _fill_pairs(messages: list[ObservedMessage], calls: int) -> tuple[int, int]:
    """Fill in the ids as long as each call stands alone and the only response right behind it, as most of an agent's.
    Returns how many messages that are, with the texts among them, and the number of calls."""
    place, stop = 0, len(messages)
    while place < stop:
        one = messages[place]
        if one.ids is not _NO_ID_YET:
            if one.traits & _LEGACY or one.code in _PAIRED:
                break
            place += 1
            continue
        after = messages[place + 1] if place + 1 < stop else one
        if after.ids is not _NO_ID_YET or after.code != "t" or one.code == "t":
            break
        call: Any = one.message.parts[0]
        result: Any = after.message.parts[0]
        calls += 1
        identity = make_id(calls, call.name)
        force_setattr(call, "id", identity)
        force_setattr(result, "call_id", identity)
        one.ids = after.ids = [identity]
        place += 2
    return place, calls


def _fill_turns(messages: list[ObservedMessage], calls: int) -> bool:
    """The same for calls and responses in any order. What `_fill_ids` returns."""
    alone = True
    waiting: set[str] = set()  # calls of the turn that no response has answered yet
    asked: list[Call] = []  # all calls of the turn, until they are put into queues: of all names, and of each
    claimed: set[str] | None = None  # calls that responses name: no response without an id answers one of these
    order: deque[str] = deque()
    by_name: dict[str | None, deque[str]] = {}
    known: set[str] = set()  # ids that calls have
    nameless: dict[str | None, deque[_Nameless]] = {}  # calls of the turn without an id, by the names of their tools
    orphans = 0
    before = ASSISTANT
    for one in messages:
        message = one.message
        role = message.role
        if role is ASSISTANT and before is not ASSISTANT:
            if waiting:
                waiting.clear()
            asked = []
            nameless.clear()
        before = role
        ids: list[str] = []
        for part in message.parts:
            if type(part) is Call:
                calls += 1
                identity = part.id
                if not identity:
                    identity = make_id(calls, part.name)
                    force_setattr(part, "id", identity)
                    nameless.setdefault(part.name, deque()).append((part, ids, len(ids)))
                else:
                    alone = False
                    known.add(identity)
                    claimed = _find_named(messages) if claimed is None else claimed
                waiting.add(identity)
                if claimed is None or identity not in claimed:
                    asked.append(part)
                ids.append(identity)
            elif type(part) is Result:
                identity = part.call_id
                if not identity:
                    if len(waiting) == 1:
                        (identity,) = waiting
                    else:
                        _put_in_queues(asked, order, by_name)
                        identity = _find_first(by_name.get(part.name), waiting) or _find_first(order, waiting)
                    if not identity:
                        orphans += 1
                        alone = False
                        identity = make_id(-orphans, part.name or "")
                    force_setattr(part, "call_id", identity)
                elif nameless and identity not in known:
                    alone = False
                    _share_id(part, nameless.get(part.name), waiting)
                waiting.discard(identity)
                if role is TOOL:
                    ids.append(identity)
        if one.traits & _LEGACY:
            one.ids = ids
    return alone


_Nameless = tuple[Call, list[str], int]
"""A call, and its place among the ids of its message."""


def _share_id(result: Result, calls: deque[_Nameless] | None, waiting: set[str]) -> None:
    """Give the id that only a response has to the call that it answers, the first of its name that waits."""
    while calls:
        call, ids, place = calls.popleft()
        if call.id in waiting:
            waiting.discard(call.id)
            ids[place] = result.call_id
            force_setattr(call, "id", result.call_id)
            return


def _find_named(messages: list[ObservedMessage]) -> set[str]:
    """The ids that responses have."""
    return {part.call_id for one in messages for part in one.message.parts if type(part) is Result}


def _put_in_queues(asked: list[Call], order: deque[str], by_name: dict[str | None, deque[str]]) -> None:
    for call in asked:
        order.append(call.id)
        by_name.setdefault(call.name, deque()).append(call.id)
    asked.clear()


def _find_first(order: deque[str] | None, waiting: set[str]) -> str:
    """The first call that waits. Those before it will not wait again, so that each is looked at a few times only."""
    while order and order[0] not in waiting:
        order.popleft()
    return order[0] if order else ""


def _join_turns(messages: list[ObservedMessage]) -> list[ObservedMessage]:
    """Responses at the head of a content continue those at the end of the content before, and the model itself."""
    turns: list[list[ObservedMessage]] = []
    for one in messages:
        if turns and _continues(turns[-1][-1], one):
            turns[-1].append(one)
        else:
            turns.append([one])
    done: list[ObservedMessage] = []
    for turn in turns:
        start, stop = turn[0].message.at, turn[-1].message.at + 1
        if stop - start > 1:
            parts: Sequence[Part] = [part for one in turn for part in one.message.parts]
            if turn[0].message.role is ASSISTANT:
                steps = sum(one.code == CALLING for one in turn) or 1
                whole = join_pieces(parts)
                joint = Message(ASSISTANT, whole, start, stop - start, listed=_are_listed(whole), steps=steps)
                done.append(observe_message(joint))
                continue
            extras = next((one.message.extras for one in turn if one.message.extras is not None), None)
            done += _compose(USER, parts, start, extras=extras, span=stop - start)
        else:
            done += turn
    return done


def _continues(one: ObservedMessage, after: ObservedMessage) -> bool:
    """Whether a message is of the same turn as the one before it. A content without parts is nobody's piece."""
    if one.message.at == after.message.at:
        return True
    marks = (one.message.extras, after.message.extras)
    if one.message.role is after.message.role is ASSISTANT:
        if not one.message.parts or not after.message.parts:
            return False
        return marks == (None, None) and not any(type(part) is Result for part in after.message.parts)
    return one.code == after.code == "t" and all(extras is None or extras.fields == _NO_ROLE for extras in marks)


# Parts

_INNER: Mapping[str, type[msgspec.Struct]] = {
    "functionCall": schema.GeminiCall,
    "functionResponse": schema.GeminiResponse,
    "inlineData": schema.GeminiBlob,
    "fileData": schema.GeminiBlob,
}
_BESIDE = frozenset({"thought", "thoughtSignature", "videoMetadata", "mediaResolution", "partMetadata"})
"""Members of a part that stand beside its content."""


def _split(raw: Json, kind: type[msgspec.Struct], nulls: bool = False) -> tuple[dict[str, Json], dict[str, Json]]:
    """The members that a type has, and all others, under their camelCase names; leftovers of streams keep their own.
    `nulls`: with those it has that are."""
    known: dict[str, Json] = {}
    unknown: dict[str, Json] = {}
    found = split_members(raw)
    for key, value in found.items():
        name = key if key in LEFTOVERS else schema.camel(key)
        is_known = name in kind.__struct_fields__
        if (name != key and name in found) or (is_known and not nulls and bytes(value) == b"null"):
            continue
        if is_known:
            known[name] = bytes(value)
        else:
            unknown[name] = encode(msgspec.json.decode(value))
    return known, unknown


def _parse_parts(raw: Json, at: str, inner: bool = False) -> tuple[Part, ...]:
    """A list of parts of any kind, or a single one. `inner`: calls and responses have no meaning there."""
    if raw in NOTHING:
        return ()
    if raw[:1] not in b"[{":
        raise MalformedRequest("parts are not a list", at=at)
    items = [raw] if raw[:1] == b"{" else [bytes(item) for item in split_items(raw, at)]
    parts = [_parse_odd_part(item, f"{at}/{index}") for index, item in enumerate(items)]
    if inner:
        parts = [
            _keep_part(item) if type(part) in (Call, Result) else part for item, part in zip(items, parts, strict=True)
        ]
    return tuple(parts)


def _parse_odd_part(raw: Json, at: str) -> Part:
    """A part in either spelling. Members that it should not have become extra fields; a new kind is kept as it is."""
    if raw[:1] != b"{":
        raise MalformedRequest("a part that is not an object", at=at)
    known, unknown = _split(raw, schema.GeminiPart)
    if not unknown.keys() <= _BESIDE:
        return _keep_part(raw)
    refuse_two_kinds(known, at)
    if known.get("text") == b'""' and not known.keys().isdisjoint(_INNER):
        del known["text"]
    for name, kind in _INNER.items():
        if known.get(name, b"")[:1] == b"{":
            inner, others = _split(known[name], kind, nulls=True)
            known[name] = render_object(inner)
            unknown |= {f"{name}.{key}": value for key, value in others.items()}
    part = _parse_part(decode_value(schema.decode_part, render_object(known), at), unknown, at)
    return _keep_part(raw) if part is None else part


def _keep_part(raw: Json) -> Opaque:
    names = [schema.camel(key) for key in split_members(raw)]
    kind = next((name for name in names if name not in _BESIDE), "")
    return Opaque(kind=kind, json=raw, origin=ORIGIN)


def _parse_part(wire: schema.GeminiPart, unknown: Mapping[str, Json] = _NONE, at: str = "") -> Part | None:
    """A part of a known kind, or None. Raises MalformedRequest if it holds something else than it may."""
    call, response, signature = wire.functionCall, wire.functionResponse, wire.thoughtSignature
    if signature in UNSIGNED:
        signature = ABSENT
    if wire.inlineData is not UNSET or wire.fileData is not UNSET:
        kinds = (wire.text, call, response, wire.inlineData, wire.fileData)
        if sum(kind is not ABSENT and kind is not UNSET for kind in kinds) > 1:
            return None
    if wire.text is not ABSENT:
        literal = bytes(wire.text)
        if call is not UNSET or response is not UNSET or literal[0] != QUOTE:
            return None
        if not wire.thought and signature is ABSENT and not unknown:
            return Text(literal)
        return parse_text(literal, bool(wire.thought), bytes(signature), extras_of(NAME, unknown))
    if call is not UNSET:
        return _parse_call(call, bool(wire.thought), signature, unknown, at) if response is UNSET else None
    beside = {**unknown, "thought": b"true"} if wire.thought else unknown
    if response is not UNSET:
        signed = {} if signature is ABSENT else {"thoughtSignature": bytes(signature)}
        return _parse_result(response, {**beside, **signed}, at)
    if wire.inlineData is not UNSET:
        media = _parse_inline(wire.inlineData, beside)
    else:
        media = _parse_file(wire.fileData, beside) if wire.fileData is not UNSET else None
    held = _parse_signature(bytes(signature))
    if held is not None and type(media) is Media:
        return replace(media, signature=held)
    if media is None and signature is not ABSENT and bytes(signature)[:1] == b'"':
        return parse_text(b"", True, bytes(signature), extras_of(NAME, unknown))
    return media


def _parse_call(wire: schema.GeminiCall, thought: bool, signature: Raw, unknown: Mapping[str, Json], at: str) -> Call:
    arguments = bytes(wire.args)
    if arguments in NOTHING:
        arguments = b"{}"
    if arguments[0] != BRACE:
        raise MalformedRequest("arguments that are no object", at=f"{at}/functionCall/args")
    held = _parse_signature(bytes(signature))
    if thought:
        unknown = {**unknown, "thought": b"true"}
    extras = extras_of(NAME, unknown) if unknown else None
    return Call(wire.id or "", wire.name, arguments, held, False, "" if wire.id else NO_ID, extras=extras)


def _parse_result(wire: schema.GeminiResponse, unknown: Mapping[str, Json], at: str) -> Result | None:
    answer: Any = wire.response
    parts: tuple[Part, ...]
    if type(answer) is schema.GeminiOutput:
        literal = bytes(answer.output)
        if literal[0] != QUOTE:
            return None
        parts, is_error = (Text(literal),), False
    else:
        response = bytes(answer)
        if response not in NOTHING and response[0] != BRACE:
            raise MalformedRequest("a response that is no object", at=f"{at}/functionResponse/response")
        parts, is_error = parse_response(response)
    if wire.parts is not ABSENT:
        parts += _parse_parts(bytes(wire.parts), f"{at}/functionResponse/parts", inner=True)
    extras = extras_of(NAME, unknown) if unknown else None
    wire_form = "" if wire.id else NO_ID
    return Result(wire.id or "", parts, is_error, wire.name, wire_form=wire_form, extras=extras)


def _parse_signature(signature: bytes) -> Opaque | None:
    return parse_state(StateKind.THOUGHT, signature, ORIGIN) if signature[:1] == b'"' else None


def parse_text(literal: bytes, thought: bool, signature: bytes, extras: Extras | None) -> Part:
    held = _parse_signature(signature)
    if not thought:
        return Text(literal, held, extras=extras)
    text = Text(literal) if literal else None
    return Reasoning(
        text=text, state=held, redacted=held is not None and held.kind == StateKind.REDACTED, extras=extras
    )


def join_pieces(parts: Sequence[Part]) -> tuple[Part, ...]:
    """The parts of a model's turn, with the pieces of a streamed text or thought as one, as the whole answer has them.

    A signature is that of all pieces; after a second one another text begins. An empty text stays as it is: it may hold
    the signature of the turn, and some servers refuse it. Gemini itself takes its pieces back as they were sent.
    """
    if len(parts) < 2:
        return tuple(parts)
    out: list[list[Part]] = []
    for part in parts:
        if out and _goes_on(out[-1], part):
            out[-1].append(part)
        else:
            out.append([part])
    return tuple(parts) if len(out) == len(parts) else tuple([_join(run) for run in out])


def _goes_on(run: list[Part], part: Part) -> bool:
    """Whether a part is the next piece of the text or thought that a run holds."""
    first, last = run[0], run[-1]
    if type(part) is Text and type(first) is Text:
        if part.literal == EMPTY or first.literal == EMPTY or part.extras is not None or first.extras is not None:
            return False
        return part.signature is None or all(one.signature is None for one in run if type(one) is Text)
    if type(part) is Reasoning and type(last) is Reasoning:
        is_open = last.state is None and last.extras is None
        return is_open and (_is_foreign_signature(part) or (part.state is None and part.extras is None))
    return False


def _join(run: list[Part]) -> Part:
    last = run[-1]
    if len(run) == 1:
        return last
    texts = [one if type(one) is Text else one.text for one in run if type(one) in (Text, Reasoning)]  # type: ignore[attr-defined]
    whole = join_texts("", [text.literal for text in texts if text is not None])
    if type(last) is Reasoning:
        return replace(last, text=Text(whole))
    signatures = (one.signature for one in run if type(one) is Text and one.signature is not None)
    return Text(whole, next(signatures, None))


def _is_foreign_signature(part: Part) -> bool:
    return type(part) is Reasoning and part.state is not None and not part.redacted and part.state.origin != ORIGIN


def parse_response(raw: bytes) -> tuple[tuple[Part, ...], bool]:
    """The texts of a response, and whether they are an error.

    A text is rendered as `{"output": "…"}` or `{"error": "…"}`, several as `{"outputs": […]}` or `{"errors": […]}`. Any
    other object is one text that holds it as JSON.
    """
    if raw in NOTHING:
        return (), False
    found = split_members(raw)
    if not found:
        return (), False
    if len(found) == 1:
        (key, value), text = next(iter(found.items())), bytes(next(iter(found.values())))
        if key in ("output", "error") and text[:1] == b'"':
            return (Text(text),), key == "error"
        if key in ("outputs", "errors") and text[:1] == b"[":
            texts = [bytes(item) for item in split_items(value)]
            if not texts and key == "errors":
                return (), True
            if len(texts) > 1 and all(item[:1] == b'"' for item in texts):
                return tuple([Text(item) for item in texts]), key == "errors"
    return (Text(quote(raw.decode())),), False


def _parse_inline(blob: schema.GeminiBlob, unknown: Mapping[str, Json]) -> Media | None:
    content = bytes(blob.data)
    if content[:1] != b'"':
        return None
    media_type = blob.mimeType or ""
    return _compose_media(MediaKind.of(media_type), Inline(media_type, standard_base64(content)), blob, unknown)


def _parse_file(blob: schema.GeminiBlob, unknown: Mapping[str, Json]) -> Media | None:
    url = blob.fileUri
    if url is None:
        return None
    name = blob.mimeType or ""
    kind = MediaKind.of(name or type_of_url(url))
    name = "" if name.endswith("/*") or name == type_of_url(url) else name
    media = _compose_media(kind, Stored(url, NAME, name) if _is_stored(url) else Remote(url, name), blob, unknown)
    return media if blob.mimeType else replace(media, wire_form=UNTYPED)


def _compose_media(
    kind: MediaKind, source: Inline | Remote | Stored, blob: schema.GeminiBlob, unknown: Mapping[str, Json]
) -> Media:
    title = bytes(blob.displayName)
    extras = extras_of(NAME, unknown) if unknown else None
    return Media(kind, source, unquote(title) if title[:1] == b'"' else None, extras=extras)


_STANDARD = bytes.maketrans(b"-_", b"+/")


def standard_base64(data: bytes) -> bytes:
    """Base64 in the standard alphabet, padded. Google's own SDK writes the alphabet for URLs."""
    if b"-" in data or b"_" in data:
        data = data.translate(_STANDARD)
    missing = -(len(data) - 2) % 4
    return data[:-1] + b"=" * missing + b'"' if missing in (1, 2) and b"\\" not in data else data


def _is_stored(url: str) -> bool:
    """Whether Google stores the file: in its Files API or in a bucket."""
    return url.startswith(("gs://", "files/")) or ("/files/" in url and "googleapis.com/" in url)
