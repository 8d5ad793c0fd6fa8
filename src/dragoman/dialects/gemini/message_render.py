"""Our messages to Gemini's contents.

It renders exactly what the value says and knows no facts. If Gemini has no form for a value, it raises
Unrepresentable, and a rule is missing for that target.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from dragoman.conversation.literals import quote
from dragoman.conversation.messages import ASSISTANT, DEVELOPER, SYSTEM, TOOL, USER, Message
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
    Plain,
    Reasoning,
    Remote,
    Result,
    StateKind,
    Stored,
    Text,
)
from dragoman.dialects.families.tool_names import ToolNames
from dragoman.dialects.gemini import NAME
from dragoman.dialects.gemini.message_parse import parse_response
from dragoman.dialects.shared.ownership import end_object, own_block, plain_or_sealed
from dragoman.dialects.shared.rendering import Pieces, leading_systems, system_message
from dragoman.errors import Unrepresentable
from dragoman.wire.media_types import type_of_url

_ROLES = {
    USER: b'"user"',
    TOOL: b'"user"',
    ASSISTANT: b'"model"',
    SYSTEM: b'"system"',
}


def render_messages(messages: Sequence[Message], start: int, stop: int, out: Pieces) -> None:
    """messages[start:stop] as contents. Responses and the user's text after them are one content.

    Leading system messages belong to `systemInstruction` (`render_system`), unless they were inline.
    """
    index = max(start, leading_systems(messages))
    names = ToolNames(messages)
    while index < stop:
        message = messages[index]
        parts = message.parts
        role = message.role
        marked = message.extras is not None or message.hint is not None or message.name is not None or message.role_text
        if len(parts) == 1 and not marked:
            # Most messages are one plain text, call or result. Rendering them here, without a function call, halves
            # the cost. Each line reads attributes of one class only, which the interpreter caches.
            only = parts[0]
            kind = type(only)
            if kind is Text and (role is USER or role is ASSISTANT):
                text: Any = only
                if text.signature is None and text.extras is None and text.hint is None:
                    out += (_TEXT_HEADS[role], text.literal, b"}]}")
                    index += 1
                    continue
            elif kind is Call and role is ASSISTANT:
                call: Any = only
                if _is_bare_call(call):
                    out += (
                        _CALL_HEAD,
                        quote(call.name),
                        b',"args":',
                        call.arguments,
                        b',"id":',
                        quote(call.id),
                        b"}",
                    )
                    if call.signature is not None:
                        _render_signature(call.signature, out)
                    out.append(b"}]}")
                    index += 1
                    continue
            elif kind is Result and index and (index + 1 == stop or messages[index + 1].role is not USER):
                result: Any = only
                before = messages[index - 1].parts
                answered: Any = before[-1] if before else None
                if type(answered) is Call and answered.id == result.call_id and _is_bare_result(result):
                    out += (
                        _RESULT_HEAD,
                        quote(answered.name),
                        b',"id":',
                        quote(answered.id),
                        b',"response":{"output":',
                    )
                    out += (result.parts[0].literal, b"}}}]}")
                    index += 1
                    continue
        here = index
        index += 1
        if role is TOOL and index < stop and _continues(message, messages[index]):
            parts += messages[index].parts
            index += 1
        _render_content(message, parts, names, here, out)


_TEXT_HEADS = {USER: b',{"role":"user","parts":[{"text":', ASSISTANT: b',{"role":"model","parts":[{"text":'}
_CALL_HEAD = b',{"role":"model","parts":[{"functionCall":{"name":'
_RESULT_HEAD = b',{"role":"user","parts":[{"functionResponse":{"name":'
_BRACE = ord("{")


def _is_bare_call(call: Call) -> bool:
    """Whether it has an object for its arguments, and beside it at most a signature."""
    if call.extras is not None or call.hint is not None:
        return False
    return call.arguments[0] == _BRACE and not call.custom and call.wire_form != NO_ID


def _is_bare_result(result: Result) -> bool:
    """Whether it holds one plain text that is no JSON object, and nothing else."""
    parts = result.parts
    if len(parts) != 1 or type(parts[0]) is not Text or result.is_error or result.custom or result.wire_form == NO_ID:
        return False
    if result.extras is not None or result.hint is not None:
        return False
    only = parts[0]
    return only.literal[1] != _BRACE and only.hint is None and only.extras is None and only.signature is None


def _continues(message: Message, after: Message) -> bool:
    plain = not after.role_text and _is_bare(after.extras) and _is_bare(message.extras) and after.name is None
    return after.role is USER and plain and bool(after.parts)


def _is_bare(extras: Extras | None) -> bool:
    """Whether there are no extra fields, or only the mark of a missing role."""
    return extras is None or extras.fields.keys() == {"role"}


def _render_content(message: Message, parts: Sequence[Part], names: ToolNames, here: int, out: Pieces) -> None:
    if message.name is not None or message.hint is not None or message.role is DEVELOPER:
        _refuse(message)
    role = quote(message.role_text) if message.role_text else _ROLES[message.role]
    out += (b',{"role":', role, b',"parts":')
    _render_list(parts, names, here, out)
    _end_object(message.extras, "", out)


def _refuse(message: Message) -> None:
    if message.role is DEVELOPER:
        raise Unrepresentable("a developer message in a Gemini request", item=message.at)
    if message.name is not None:
        raise Unrepresentable(f'the name "{message.name}" on a message in a Gemini request', item=message.at)
    if message.hint is not None:
        raise Unrepresentable("a cache hint in a Gemini request", item=message.at)


def render_system(messages: Sequence[Message]) -> Json | None:
    """The `systemInstruction`, or None if there is no system message."""
    message = system_message(messages)
    if message is None:
        return None
    _refuse(message)
    out: Pieces = [b'{"parts":']
    _render_list(message.parts, ToolNames(messages), 0, out)
    _end_object(message.extras, "", out)
    return b"".join(out)


def _render_list(parts: Sequence[Part], names: ToolNames, here: int, out: Pieces) -> None:
    mark = b"["
    for part in parts:
        out.append(mark)
        if type(part) is Result:
            render_result(part, names.of(part, here), out)
        else:
            render_part(part, out)
        mark = b","
    out.append(b"]" if parts else b"[]")


def render_part(part: Part, out: Pieces) -> None:
    """Any part except a result."""
    kind = type(part)
    if part.hint is not None:
        raise Unrepresentable("a cache hint in a Gemini part")
    if kind is Text and part.extras is None and part.signature is None:  # type: ignore[attr-defined]
        out += (b'{"text":', part.literal, b"}")  # type: ignore[attr-defined]
        return
    writer = RENDERERS.get(kind)
    if writer is None:
        raise Unrepresentable(f"a part of kind {kind.__name__} in a Gemini content")
    writer(part, out)


def _end_object(extras: Extras | None, head: str, out: Pieces) -> None:
    """The closing brace, after the extra fields below a head (`functionCall.`), or beside it."""
    if extras is not None and "role" in extras.fields:  # the mark of a missing role: every content is rendered with one
        extras = extras.without({"role"})
    end_object(extras, NAME, out, head)


def _render_text(part: Text, out: Pieces) -> None:
    out += (b'{"text":', part.literal)
    _render_signature(part.signature, out)
    _end_object(part.extras, "", out)


def _render_signature(held: Opaque | None, out: Pieces) -> None:
    if held is not None:
        out += (b',"thoughtSignature":', plain_or_sealed(held, StateKind.THOUGHT))


def _render_call(part: Call, out: Pieces) -> None:
    if part.custom:
        raise Unrepresentable(f"a call of the custom tool {part.name} in a Gemini content")
    if part.arguments[:1] != b"{":
        raise Unrepresentable(f"arguments of {part.name} that are no object")
    out += (b'{"functionCall":{"name":', quote(part.name), b',"args":', part.arguments)
    if part.wire_form != NO_ID:
        out += (b',"id":', quote(part.id))
    if part.extras is None and part.signature is None:
        out.append(b"}}")
        return
    _end_object(part.extras, "functionCall.", out)
    _render_signature(part.signature, out)
    _end_object(part.extras, "", out)


def render_result(part: Result, name: str, out: Pieces) -> None:
    """A result, with the name of its tool."""
    if part.hint is not None:
        raise Unrepresentable("a cache hint in a Gemini part")
    if part.custom:
        raise Unrepresentable(f"a result of the custom tool {name} in a Gemini content")
    out += (b'{"functionResponse":{"name":', quote(name))
    if part.wire_form != NO_ID:
        out += (b',"id":', quote(part.call_id))
    _render_response(part, out)
    if part.extras is None:
        out.append(b"}}")
        return
    _end_object(part.extras, "functionResponse.", out)
    _end_object(part.extras, "", out)


def _render_response(part: Result, out: Pieces) -> None:
    """The texts become the response, and media after them its parts."""
    texts: list[bytes] = []
    rest: list[Part] = []
    for piece in part.parts:
        if type(piece) is not Text:
            rest.append(piece)
            continue
        if rest:
            raise Unrepresentable("a text after media in a result", hint="put the text first")
        if piece.hint is not None or piece.extras is not None or piece.signature is not None:
            raise Unrepresentable("a text with a cache hint or fields of its own in a result")
        texts.append(piece.literal)
    out += (b',"response":', render_texts(texts, part.is_error))
    mark = b',"parts":['
    for piece in rest:
        out.append(mark)
        if type(piece) not in (Media, Opaque):
            raise Unrepresentable(f"a part of kind {type(piece).__name__} in a result")
        render_part(piece, out)
        mark = b","
    if rest:
        out.append(b"]")


def render_texts(texts: Sequence[bytes], is_error: bool) -> Json:
    """The response object of these texts, from which `parse_response` gives them back."""
    if not texts:
        return b'{"errors":[]}' if is_error else b"{}"
    if len(texts) > 1:
        return (b'{"errors":[' if is_error else b'{"outputs":[') + b",".join(texts) + b"]}"
    literal = texts[0]
    if is_error:
        return b'{"error":' + literal + b"}"
    whole = _object(literal) if literal[1:2] == b"{" else None
    return b'{"output":' + literal + b"}" if whole is None else whole


def _object(literal: bytes) -> Json | None:
    """The JSON object that a text holds, if parsing it gives just that text."""
    try:
        raw = msgspec.json.decode(literal).encode()
        msgspec.json.decode(raw, type=dict)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return None
    parts, is_error = parse_response(raw)
    same = not is_error and len(parts) == 1 and isinstance(parts[0], Text) and raw[-1:] == b"}"
    return raw if same and parts[0].text.encode() == raw else None  # type: ignore[attr-defined]


def _render_reasoning(part: Reasoning, out: Pieces) -> None:
    if part.text is None and part.state is None:
        raise Unrepresentable("reasoning without text and state in a Gemini content")
    out.append(b'{"thought":true')
    if part.text is not None:
        out += (b',"text":', part.text.literal)
    _render_signature(part.state, out)
    _end_object(part.extras, "", out)


def _render_opaque(part: Opaque, out: Pieces) -> None:
    out.append(own_block(part, NAME))


def _render_media(part: Media, out: Pieces) -> None:
    source = part.source
    if isinstance(source, Plain):
        raise Unrepresentable("a document given as its text in a Gemini content")
    if part.detail is not None:
        raise Unrepresentable("the detail of an image in a Gemini content")
    if part.transcript is not None:
        raise Unrepresentable("the transcript of a sound in a Gemini content")
    if isinstance(source, Inline):
        out += (b'{"inlineData":{"mimeType":', quote(source.media_type), b',"data":', source.data)
        head = "inlineData."
    else:
        _render_address(part.kind, source, part.wire_form == UNTYPED, out)
        head = "fileData."
    if part.title is not None:
        out += (b',"displayName":', quote(part.title))
    _end_object(part.extras, head, out)
    _render_signature(part.signature, out)
    _end_object(part.extras, "", out)


def _render_address(kind: MediaKind, source: Remote | Stored, untyped: bool, out: Pieces) -> None:
    """A file by its URI. A kind that neither media type nor URI shows is rendered as `image/*`.

    `untyped`: the client gave no type, and none is written.
    """
    if isinstance(source, Stored):
        if source.provider != NAME:
            raise Unrepresentable(f"a file stored at {source.provider or 'another provider'} in a Gemini content")
        uri = source.id
    else:
        uri = source.url
    out += (b'{"fileData":{"fileUri":', quote(uri))
    if untyped:
        return
    shown = type_of_url(uri)
    media_type = source.media_type or (shown if MediaKind.of(shown) is kind else "")
    if not media_type:
        media_type = "application/*" if kind is MediaKind.DOCUMENT else f"{kind.value}/*"
    out += (b',"mimeType":', quote(media_type))


RENDERERS: dict[type[Part], Callable[..., None]] = {
    Text: _render_text,
    Call: _render_call,
    Reasoning: _render_reasoning,
    Media: _render_media,
    Opaque: _render_opaque,
}
