"""Responses items to ours. The items of one turn become one message: reasoning, texts and calls in their order."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType
from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.bounded_cache import remembered
from dragoman.conversation.literals import EMPTY, join_texts, quote, unquote
from dragoman.conversation.messages import ASSISTANT, DEVELOPER, FIELD, SYSTEM, TOOL, USER, Message
from dragoman.conversation.parts import (
    REFERENCE,
    Call,
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
    Result,
    StateKind,
    Stored,
    Text,
)
from dragoman.conversation.traits import CALLING, CODES, ObservedMessage, observe_message, observe_name
from dragoman.dialects.near_misses.parts import fits_items
from dragoman.dialects.openai_responses import NAME, ORIGIN, schema
from dragoman.dialects.openai_responses.tools import CLIENT_ITEMS
from dragoman.dialects.shared import parsed_messages, parsing
from dragoman.dialects.shared.raw_json import ABSENT, NOTHING, UNREADABLE
from dragoman.dialects.shared.top_level import decode_value
from dragoman.dialects.shared.wire_schema import fits
from dragoman.errors import MalformedRequest
from dragoman.wire.json_reader import split_items, split_members

ITEM = "item."
"""The head of extras that belong to an assistant's message item. Its first part holds them, since one message may hold
several items."""

SERVED = "xs_call"
"""How the ids of calls begin that a provider made of its own search and has answered itself. They are items of runs,
and no calls of the client's tools, although they look so."""

AGENT_MESSAGE = "agent_message"
"""A message of another agent, which is to be heeded as one of the user's: often it is the whole task."""
USER_ITEMS = frozenset({AGENT_MESSAGE, "mcp_approval_response"})
"""Items that are turns of the user: with the latter it lets the model call a tool of a server."""

_ROLES = {"user": USER, "assistant": ASSISTANT, "system": SYSTEM, "developer": DEVELOPER}


def parse_item(raw: Json, index: int) -> Sequence[ObservedMessage] | None:
    """An item that fits the schema; None if it does not."""
    try:
        item = schema.decode_short_message(raw) if raw[:7] == b'{"role"' else schema.decode_item(raw)
    except UNREADABLE:
        try:
            item = schema.decode_short_message(raw)  # its role may stand anywhere
        except UNREADABLE:
            return None
    return parse_turn(item, index)


def parse_turn(item: Any, index: int) -> Sequence[ObservedMessage] | None:
    """An item that is decoded. The decode has checked all but what stays raw in it."""
    try:
        if (
            type(item) is schema.ResponsesFunctionOutput
            and item.id is UNSET
            and item.status is UNSET
            and item.name is None
        ):
            output = bytes(item.output)  # half of an agent's items are plain outputs
            if output[0] == parsed_messages.QUOTE:
                message = Message(TOOL, (Result(item.call_id, (Text(output),)),), index)
                return (
                    ObservedMessage(
                        message, traits.BLANK_TEXT if parsed_messages.is_blank(output) else 0, "t", [item.call_id]
                    ),
                )
        return _ITEM_PARSERS[type(item)](item, index)
    except (*UNREADABLE, MalformedRequest):
        return None


def _parse_function_call(item: schema.ResponsesFunctionCall, index: int) -> Sequence[ObservedMessage] | None:
    identity, arguments = item.call_id, item.arguments.encode()
    if not arguments or arguments[0] != parsed_messages.BRACE or arguments[-1] != parsed_messages.BRACE_END:
        return None
    parsed_messages.check_object(arguments)
    seen = traits.CALLS | observe_name(item.name)
    if item.id is UNSET and item.status is UNSET and item.namespace is UNSET:
        call = Call(identity, item.name, arguments)
    else:
        extras = _gather_marks(item, "namespace", item.namespace)
        call = Call(identity, item.name, arguments, extras=extras)
        seen |= traits.PART_EXTRAS if extras is not None else 0
    return (ObservedMessage(Message(ASSISTANT, (call,), index), seen, CALLING, [identity]),)


def _parse_custom_call(item: schema.ResponsesCustomCall, index: int) -> Sequence[ObservedMessage] | None:
    text = bytes(item.input)
    if text[0] != parsed_messages.QUOTE or item.call_id.startswith(SERVED):
        return None
    extras = _gather_marks(item, "namespace", item.namespace)
    return (
        observe_message(Message(ASSISTANT, (Call(item.call_id, item.name, text, custom=True, extras=extras),), index)),
    )


def _parse_output(
    item: schema.ResponsesFunctionOutput | schema.ResponsesCustomOutput, index: int
) -> Sequence[ObservedMessage] | None:
    output = bytes(item.output)
    is_text = output[0] == parsed_messages.QUOTE
    if not is_text and not fits_output(output):
        return None
    parts = (Text(output),) if is_text else parse_content(output, f"/input/{index}/output")
    custom, extras = type(item) is schema.ResponsesCustomOutput, _gather_marks(item)
    result = Result(item.call_id, parts, name=item.name, listed=not is_text, custom=custom, extras=extras)
    return (observe_message(Message(TOOL, (result,), index)),)


def _parse_message(
    item: schema.ResponsesMessage | schema.ResponsesShortMessage, index: int
) -> Sequence[ObservedMessage] | None:
    """Texts, refusals and pictures."""
    role = _ROLES[item.role]
    extras = _gather_marks(item, "phase", item.phase)
    if memoryview(item.content)[0] == parsed_messages.QUOTE:
        text = bytes(item.content)
        message = Message(role, (Text(text),), index, inline=role is SYSTEM)
        seen = (traits.BLANK_TEXT if parsed_messages.is_blank(text) else 0) | (
            traits.INLINE_SYSTEM if role is SYSTEM else 0
        )
        if extras is None:
            return (ObservedMessage(message, seen, CODES[role]),)
        return (_place_marks(message, extras),)
    wire = schema.decode_output(item.content) if role is ASSISTANT else schema.decode_input(item.content)
    parts: list[Part] = []
    for one in wire:
        part = PARSERS[type(one)](one, "", None)
        if part is None or (type(one) is schema.ResponsesImage and one.detail is None):
            return None
        if type(one) is schema.ResponsesOutputText and (one.annotations not in _NO_NOTES or one.logprobs == _NULL):
            return None
        parts.append(part)
    if not parts and role is ASSISTANT and extras is not None:
        return None
    message = Message(role, tuple(parts), index, listed=role is not ASSISTANT, inline=role is SYSTEM)
    return (observe_message(message) if extras is None else _place_marks(message, extras),)


def _place_marks(message: Message, extras: Extras) -> ObservedMessage:
    """The message with the other fields of its item. The first part of an assistant's holds them."""
    if message.role is not ASSISTANT:
        return observe_message(replace(message, extras=extras))
    first = message.parts[0]
    fields = dict(first.extras.fields) if first.extras is not None else {}
    fields |= {ITEM + key: value for key, value in extras.fields.items()}
    part = replace(first, extras=Extras(NAME, fields))
    return observe_message(replace(message, parts=(part, *message.parts[1:])))


def _parse_reasoning_item(item: schema.ResponsesReasoning, index: int) -> Sequence[ObservedMessage] | None:
    summary, content = bytes(item.summary), bytes(item.content)
    if summary[:1] != b"[" or content == b"null":
        return None
    part = _parse_reasoning(summary, content, bytes(item.encrypted_content), _gather_marks(item))
    return None if part is None else (observe_message(Message(ASSISTANT, (part,), index)),)


_ITEM_PARSERS: Mapping[type[Any], Callable[[Any, int], Sequence[ObservedMessage] | None]] = {
    schema.ResponsesMessage: _parse_message,
    schema.ResponsesShortMessage: _parse_message,
    schema.ResponsesFunctionCall: _parse_function_call,
    schema.ResponsesCustomCall: _parse_custom_call,
    schema.ResponsesFunctionOutput: _parse_output,
    schema.ResponsesCustomOutput: _parse_output,
    schema.ResponsesReasoning: _parse_reasoning_item,
}


def _gather_marks(item: schema.ResponsesItem, name: str = "", word: str | UnsetType = UNSET) -> Extras | None:
    """What an item has beside its content. A status of null says nothing."""
    if item.id is UNSET and item.status is UNSET and word is UNSET:
        return None
    given = (("id", item.id), ("status", item.status), (name, word))
    return parsing.extras_of(NAME, {name: quote(value) for name, value in given if type(value) is str})


def _parse_reasoning(summary: Json, content: Json, encrypted: Json, beside: Extras | None) -> Reasoning | None:
    """A reasoning item. None if its summary or its content has a form that we do not know.

    Several texts are one to us, so the lists that held them are kept beside it.
    """
    summarised, thought = _parse_texts(summary, schema.decode_summary), _parse_texts(content, schema.decode_thoughts)
    if summarised is None or thought is None:
        return None
    held = parsing.parse_state(StateKind.ENCRYPTED, encrypted, ORIGIN) if encrypted[:1] == b'"' else None
    more = dict(beside.fields) if beside is not None else {}
    if len(summarised) > 1 or (summarised and thought):
        more["summary"] = summary
    if thought and (len(thought) > 1 or summarised):
        more["content"] = content
    texts = summarised or thought
    return Reasoning(
        text=Text(join_texts("\n\n", texts)) if texts else None,
        state=held,
        redacted=held is not None and held.kind == StateKind.REDACTED,
        field="content" if thought and not summarised else "summary",
        extras=parsing.extras_of(NAME, more),
    )


def _parse_texts(
    raw: Json, decode: Callable[[Json], Sequence[schema.ResponsesSummary | schema.ResponsesThought]]
) -> list[bytes] | None:
    """The texts of a reasoning item's list, or None if it holds anything else."""
    if raw in NOTHING:
        return []
    try:
        found = [bytes(entry.text) for entry in decode(raw)]
    except msgspec.DecodeError:
        return None
    return None if any(literal[:1] != b'"' for literal in found) else found


# What fits


OLD_COMPACTION = "compaction_summary"
"""What a compaction was called at first. Codex reads both names."""
_OTHERS = frozenset(
    {
        *("text", "image_url", "image", "input_text", "output_text", "input_image", "tool_use", "tool_result"),
        *("human", "ai", "system", "user", "assistant"),
        OLD_COMPACTION,
    }
)
"""Types of parts and messages that are no items of Responses."""


class _ItemKind(msgspec.Struct, gc=False):
    type: str | None = None
    role: str | None = None


_decode_kind = msgspec.json.Decoder(_ItemKind).decode


def fits_item(raw: Json) -> bool:
    """Whether an item has what its type needs. Types that are not known here may be newer."""
    try:
        head = _decode_kind(raw)
        kind = head.type or ""
        if kind == "message" or (head.type is None and head.role is not None):
            message = schema.open_message(raw)
            (schema.open_output if message.role == "assistant" else schema.open_input)(message.content)
            return True
        item = schema.OPEN_ITEMS.get(kind, schema.open_item)(raw)
        if kind not in schema.OPEN_ITEMS:
            return bool(kind) and kind not in _OTHERS
        return kind not in _OUTPUTS or fits_output(bytes(item.output))
    except UNREADABLE:
        return False


_OUTPUTS = ("function_call_output", "custom_tool_call_output")


def fits_output(raw: Json) -> bool:
    """Whether the output of a call fits the schema."""
    return fits(schema.open_input, raw) or fits_items(raw, lambda part: fits(schema.open_input_part, part))


# The second pass


def settle(listed: parsed_messages.ParsedList) -> parsed_messages.ParsedList:
    """Make one message of the items of an assistant's turn, and one of the outputs that answer it."""
    items = listed.messages
    done: list[ObservedMessage] = []
    settled = 0
    for run in _RUNS.finditer("".join([one.code for one in items])):
        done += items[settled : run.start()]
        done += _join_turns(items[run.start() : run.end()])
        settled = run.end()
    done += items[settled:]
    return listed.settled(parsed_messages.share_places(done) if listed.misses else done)


_RUNS = re.compile("[ac]{2,}|t{2,}")
"""Items of one side that follow each other, by the letters of their roles."""


def _join_turns(items: list[ObservedMessage]) -> list[ObservedMessage]:
    """The turns of one side. A second text without a call before it begins a new one.

    So does an item of an unknown kind, which stands alone, unless it stands among calls.
    """
    done: list[ObservedMessage] = []
    turn: list[ObservedMessage] = []
    called = spoke = False
    for one in items:
        kind = type(one.message.parts[0]) if one.message.parts else None
        alone = one.code == "a" and (kind is None or (kind is Opaque and not called))
        speaks = one.code == "a" and kind is not Reasoning and kind is not Opaque
        if turn and (alone or (speaks and spoke and not called)):
            done.append(_join(turn))
            turn, called, spoke = [], False, False
        if alone:
            done.append(one)
            continue
        turn.append(one)
        called = called or one.code == CALLING
        spoke = spoke or speaks
    return [*done, _join(turn)] if turn else done


def _join(run: list[ObservedMessage]) -> ObservedMessage:
    """One message of several items."""
    first, last = run[0], run[-1].message
    if len(run) == 1:
        return first
    seen, signed = 0, False
    ids: list[str] = []
    parts: list[Part] = []
    for one in run:
        if one.code == CALLING and parts and _signs_call(parts[-1]):
            parts[-1] = replace(one.message.parts[0], signature=parts[-1].state)  # type: ignore[attr-defined]
            signed = True
        else:
            parts += one.message.parts
        seen |= one.traits | (traits.MIXED_PARTS if ids and one.code == "a" else 0)
        ids += one.ids
    message = Message(first.message.role, tuple(parts), first.message.at, last.at - first.message.at + 1)
    if signed:
        return observe_message(message)
    code = first.code if first.code == "t" else CALLING if ids else "a"
    if type(parts[-1]) is not Reasoning or any(type(part) is not Reasoning for part in parts):
        seen &= ~traits.NO_PARTS
    return ObservedMessage(message, seen, code, ids)


def _signs_call(part: Part) -> bool:
    """Whether it is reasoning that holds nothing but the state of the call after it, which was handed out so."""
    if type(part) is not Reasoning or part.text is not None:
        return False
    return part.state is not None and part.state.kind == StateKind.THOUGHT


@remembered
def parse_system(raw: Json) -> tuple[ObservedMessage, ...]:
    """The `instructions`: a text, or a list of texts and items, each of them a system message of its own."""
    if raw[:1] != b"[":
        return _parse_instruction(raw) if raw[:1] == b'"' else ()
    return tuple([one for item in split_items(raw, "/instructions") for one in _parse_instruction(bytes(item))])


def _parse_instruction(raw: Json) -> tuple[ObservedMessage, ...]:
    if raw[:1] == b'"':
        return (observe_message(Message(SYSTEM, (Text(raw),), FIELD)),)
    if b'"role"' not in raw:  # a part needs a message around it
        raw = b'{"role":"system","content":[%b]}' % raw
    found = parse_item(raw, 0) or parse_odd_item(raw, 0)
    return tuple([observe_message(replace(one.message, role=SYSTEM, at=FIELD)) for one in found])


# Items with more than that


def parse_odd_item(raw: Json, index: int) -> Sequence[ObservedMessage]:
    """An item with members that the schema does not name, or of an unknown type, which is kept as it is."""
    at = f"/input/{index}"
    if raw[:1] != b"{":
        raise MalformedRequest("an item that is not an object", at=at)
    head = decode_value(_decode_kind, raw, at)
    kind = head.type
    if kind == "message" or (kind is None and head.role is not None):
        kind = "message"
    elif kind not in schema.OPEN_ITEMS:
        return (_keep_item(raw, index, kind or REFERENCE),)
    wire = {key: bytes(value) for key, value in split_members(raw, at).items() if key != "type"}
    return (_ODD_PARSERS[kind](_OddItem(raw, index, at, kind, wire)),)


class _OddItem(msgspec.Struct):
    raw: Json
    index: int
    at: str
    kind: str
    wire: dict[str, Json]
    """Its members. Each is taken out as it is parsed: what remains are extra fields."""

    def take(self, name: str) -> Json:
        return self.wire.pop(name, b"")

    def take_word(self, name: str) -> str | None:
        word: str | None = decode_value(_decode_word, self.take(name) or b"null", f"{self.at}/{name}")
        return word

    def extras(self) -> Extras | None:
        """Extra fields, first those that an item of any kind may have. Null is absence for what the schema names."""
        found: dict[str, Json] = {}
        for name in sorted(self.wire, key=lambda name: _MARKS.index(name) if name in _MARKS else len(_MARKS)):
            raw = self.wire[name]
            if raw != b"null" or name not in schema.MEMBERS:
                found[name] = msgspec.json.encode(msgspec.json.decode(raw))
        return parsing.extras_of(NAME, found)


_MARKS = ("id", "status", "phase", "namespace")
_decode_word = msgspec.json.Decoder(str | None).decode


def _keep_item(raw: Json, index: int, kind: str) -> ObservedMessage:
    if kind == AGENT_MESSAGE:
        message = Opaque(kind=kind, json=raw, origin=ORIGIN, holds=_parse_agent_content(raw))
        return observe_message(Message(USER, (message,), index))
    parse = CLIENT_ITEMS.get(kind)
    item = Opaque(kind=kind, json=raw, origin=ORIGIN) if parse is None else parse(kind, raw, index)
    return observe_message(Message(USER if kind in USER_ITEMS else ASSISTANT, (item,), index))


def _parse_agent_content(raw: Json) -> tuple[Part, ...]:
    """What another agent tells this one; empty if that cannot be read."""
    content = bytes(split_members(raw).get("content", b""))
    if content[:1] == b'"':
        return (Text(content),)
    try:
        return tuple([_parse_payload(part) for part in parse_content(content, "")]) if content[:1] == b"[" else ()
    except MalformedRequest:
        return ()


def _parse_payload(part: Part) -> Part:
    """A task is called encrypted even if nobody encrypted it, since the agent that gave it asks another provider."""
    if type(part) is not Opaque or part.kind != StateKind.ENCRYPTED:
        return part
    literal = bytes(split_members(part.json).get(StateKind.ENCRYPTED, b""))
    return Text(literal) if literal[:1] == b'"' and not literal.startswith(_CIPHER) else part


_CIPHER = b'"gAAAA'
"""How a Fernet token begins."""


def _parse_odd_message(item: _OddItem) -> ObservedMessage:
    content, named = item.take("content"), item.take_word("role") or ""
    parts = (Text(content),) if content[:1] == b'"' else parse_content(content, f"{item.at}/content")
    extras = item.extras()
    role = _ROLES.get(named)
    if role is ASSISTANT:
        if any(type(part) is Opaque for part in parts):
            return _keep_item(item.raw, item.index, "message")
        message = Message(ASSISTANT, parts, item.index, extras=None if parts else extras)
        return observe_message(message) if extras is None or not parts else _place_marks(message, extras)
    role_text = "" if role is not None else named
    message = Message(role or USER, parts, item.index, extras=extras, listed=content[:1] == b"[", role_text=role_text)
    return observe_message(replace(message, inline=role is SYSTEM))


def _parse_odd_call(item: _OddItem) -> ObservedMessage:
    custom = item.kind == "custom_tool_call"
    name, identity = item.take_word("name"), item.take_word("call_id")
    if custom and (identity or "").startswith(SERVED):
        return _keep_item(item.raw, item.index, item.kind)
    if name is None:
        raise MalformedRequest("a call without the name of its tool", at=f"{item.at}/name")
    raw = item.take("input" if custom else "arguments")
    arguments = _parse_arguments(raw) if not custom else EMPTY if raw in NOTHING else raw
    call = Call(identity or parsing.make_id(item.index + 1, name), name, arguments, custom=custom, extras=item.extras())
    return observe_message(Message(ASSISTANT, (call,), item.index))


def _parse_arguments(raw: Json) -> Json:
    """The JSON object in an argument string; the string as it is if it holds none."""
    if raw[:1] != b'"':
        return b"{}" if raw in NOTHING else raw
    text = unquote(raw).strip().encode()
    try:
        split_members(text)
    except (MalformedRequest, RecursionError):
        return raw if text else b"{}"
    return text


def _parse_odd_output(item: _OddItem) -> ObservedMessage:
    identity, name, output = item.take_word("call_id"), item.take_word("name"), item.take("output")
    if identity is None:
        raise MalformedRequest(
            "an output without the id of its call", at=f"{item.at}/call_id", hint="repeat the call_id of the call"
        )
    parts = (Text(output),) if output[:1] == b'"' else parse_content(output, f"{item.at}/output")
    custom, listed = item.kind == "custom_tool_call_output", output[:1] == b"["
    result = Result(identity, parts, name=name, listed=listed, custom=custom, extras=item.extras())
    return observe_message(Message(TOOL, (result,), item.index))


def _parse_odd_reasoning(item: _OddItem) -> ObservedMessage:
    summary, content, encrypted = item.take("summary"), item.take("content"), item.take("encrypted_content")
    part = _parse_reasoning(summary, content, encrypted, item.extras())
    if part is None:
        return _keep_item(item.raw, item.index, "reasoning")
    return observe_message(Message(ASSISTANT, (part,), item.index))


_ODD_PARSERS: Mapping[str, Callable[[_OddItem], ObservedMessage]] = {
    "message": _parse_odd_message,
    "function_call": _parse_odd_call,
    "custom_tool_call": _parse_odd_call,
    "function_call_output": _parse_odd_output,
    "custom_tool_call_output": _parse_odd_output,
    "reasoning": _parse_odd_reasoning,
}


# Parts


def parse_content(raw: Json, at: str) -> tuple[Part, ...]:
    """A list of parts of any kind."""
    return tuple(parsing.parse_listed(raw, at, parse_part))


def parse_part(raw: Json, at: str) -> Part:
    """A part. Members that its type does not name become extra fields; one of an unknown type is kept as it is."""
    found = parsing.decode_known(raw, at, schema.decode_part, schema.PARTS)
    part = PARSERS[type(found[0])](found[0], at, parsing.extras_of(NAME, found[1])) if found is not None else None
    return _keep_part(raw, at) if part is None else part


def _keep_part(raw: Json, at: str) -> Opaque:
    """A part that is kept verbatim. Raises MalformedRequest if it is a text that is none."""
    fields = msgspec.json.decode(raw)
    kind = str(fields.get("type"))
    if kind in ("input_text", "output_text") and not isinstance(fields.get("text"), str):
        raise MalformedRequest("the text is not a string", at=f"{at}/text")
    return Opaque(kind=kind, json=raw, origin=ORIGIN)


def _parse_text(
    part: schema.ResponsesInputText | schema.ResponsesBareText, at: str, extras: Extras | None
) -> Part | None:
    literal = bytes(part.text)
    return Text(literal, extras=extras) if literal[0] == parsed_messages.QUOTE else None


def _parse_output_text(part: schema.ResponsesOutputText, at: str, extras: Extras | None) -> Part | None:
    literal = bytes(part.text)
    if literal[0] != parsed_messages.QUOTE:
        return None
    if part.annotations is ABSENT and part.logprobs is ABSENT:
        return Text(literal, extras=extras)
    given = {"annotations": bytes(part.annotations), "logprobs": bytes(part.logprobs)}
    fields = {name: raw for name, raw in given.items() if raw not in _EMPTY}
    if fields:
        fields = (dict(extras.fields) if extras is not None else {}) | fields
        return Text(literal, extras=Extras(NAME, fields))
    return Text(literal, extras=extras)


_EMPTY = (b"", b"null", b"[]")
_NULL = Raw(b"null")
_NO_NOTES = (ABSENT, Raw(b"[]"))


def _parse_refusal(part: schema.ResponsesRefusalPart, at: str, extras: Extras | None) -> Part | None:
    literal = bytes(part.refusal)
    return Refusal(literal, extras=extras) if literal[0] == parsed_messages.QUOTE else None


def _parse_image(part: schema.ResponsesImage, at: str, extras: Extras | None) -> Part | None:
    url = memoryview(part.image_url)
    linked = bytes(url[:4]) not in NOTHING
    if linked is (part.file_id is not None):
        return None
    source: Inline | Remote | Stored
    form = ""
    if not linked:
        source = Stored(part.file_id or "", parsing.OPENAI_FILES)
    elif url[0] == parsed_messages.QUOTE:
        headless = parsing.parse_headless_picture(part.image_url)
        source = parsing.link_literal(part.image_url) if headless is None else headless
        form = "" if headless is None else parsing.HEADLESS
    else:
        raise MalformedRequest("the URL is not a string", at=f"{at}/image_url")
    detail = parsing.parse_detail(part.detail or None)
    return Media(MediaKind.IMAGE, source, part.filename, detail, wire_form=form, extras=extras)


def _parse_file(part: schema.ResponsesFile, at: str, extras: Extras | None) -> Part | None:
    source: Inline | Remote | Stored
    form = ""
    if [part.file_data, part.file_url, part.file_id].count(None) != 2:
        return None
    if part.file_data is not None:
        headless = parsing.parse_headless(quote(part.file_data), part.filename)
        source = parsing.parse_link(part.file_data) if headless is None else headless
        if not isinstance(source, Inline):
            return None
        form = "" if headless is None else parsing.HEADLESS
    elif part.file_url is not None:
        source = Remote(part.file_url)
    else:
        source = Stored(part.file_id or "", parsing.OPENAI_FILES)
    return Media(MediaKind.DOCUMENT, source, part.filename, part.detail, wire_form=form, extras=extras)


def _parse_audio(part: schema.ResponsesAudio, at: str, extras: Extras | None) -> Part | None:
    content: Any = msgspec.json.decode(part.input_audio)
    if not isinstance(content, dict) or content.keys() != {"data", "format"}:
        return None
    form, encoded = content["format"], content["data"]
    if not isinstance(form, str) or not isinstance(encoded, str):
        return None
    source = parsing.parse_link(encoded)
    data = source.data if isinstance(source, Inline) else quote(encoded)
    return Media(MediaKind.AUDIO, Inline("audio/" + _AUDIO_TYPES.get(form, form), data), extras=extras)


_AUDIO_TYPES = {"mp3": "mpeg"}

PARSERS: dict[type[Any], Callable[[Any, str, Extras | None], Part | None]] = {
    schema.ResponsesInputText: _parse_text,
    schema.ResponsesBareText: _parse_text,
    schema.ResponsesOutputText: _parse_output_text,
    schema.ResponsesRefusalPart: _parse_refusal,
    schema.ResponsesImage: _parse_image,
    schema.ResponsesFile: _parse_file,
    schema.ResponsesAudio: _parse_audio,
}
