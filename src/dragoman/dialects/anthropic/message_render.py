"""Our messages to Anthropic messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dragoman.conversation.literals import EMPTY, quote
from dragoman.conversation.messages import ASSISTANT, DEVELOPER, SYSTEM, TOOL, USER, Message
from dragoman.conversation.parts import (
    Call,
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
from dragoman.dialects.anthropic import NAME
from dragoman.dialects.anthropic.schema import with_hint
from dragoman.dialects.families.plain_messages import PlainForms, render_plain
from dragoman.dialects.shared.ownership import end_object, own_block, plain_or_sealed
from dragoman.dialects.shared.rendering import Pieces, leading_systems, render_each, system_message
from dragoman.errors import Unrepresentable

_HEADS = {
    USER: b',{"role":"user","content":',
    ASSISTANT: b',{"role":"assistant","content":',
    SYSTEM: b',{"role":"system","content":',
    TOOL: b',{"role":"user","content":',
}
_TALK = {role: _HEADS[role] for role in (USER, ASSISTANT)}
_FORMS = PlainForms(
    texts=_TALK,
    lists={role: head + b'[{"type":"text","text":' for role, head in _TALK.items()},
    call=_HEADS[ASSISTANT] + b'[{"type":"tool_use","id":',
    call_name=b',"name":',
    call_arguments=b',"input":',
    call_end=b"}]}",
    result=_HEADS[TOOL] + b'[{"type":"tool_result","tool_use_id":',
    result_text=b',"content":',
    result_end=b"}]}",
    quotes_arguments=False,
    joins_user=True,
)


def render_messages(messages: Sequence[Message], start: int, stop: int, out: Pieces) -> None:
    """messages[start:stop] as items. Results and the user's text after them are one turn.

    Leading system messages belong to the member `system` (`render_system`), unless they were inline.
    """
    index = max(start, leading_systems(messages))
    while (index := render_plain(messages, index, stop, _FORMS, out)) < stop:
        message = messages[index]
        index += 1
        parts = message.parts
        if message.role is DEVELOPER:
            raise Unrepresentable("a developer message in an Anthropic request", item=message.at)
        if message.role is TOOL and index < stop and messages[index].role is USER:
            parts += messages[index].parts
            index += 1
        _render_message(message, parts, out)


def _render_message(message: Message, parts: Sequence[Part], out: Pieces) -> None:
    head = b',{"role":%b,"content":' % quote(message.role_text) if message.role_text else _HEADS[message.role]
    only = parts[0] if len(parts) == 1 and not message.listed else None
    out.append(head)
    if type(only) is Text and only.hint is None and only.extras is None and not message.role_text:
        out.append(only.literal)
    else:
        render_each(parts, render_block, out)
    extras = message.extras
    end_object(extras if extras is not None and extras.dialect == NAME else None, NAME, out)


def render_system(messages: Sequence[Message]) -> Json | None:
    """The `system` field: one string if it can be, else blocks."""
    message = system_message(messages)
    if message is None:
        return None
    parts = message.parts
    if len(parts) == 1 and type(parts[0]) is Text and not message.listed and parts[0].hint is None:
        return parts[0].literal
    return render_blocks(parts)


def render_blocks(parts: Sequence[Part]) -> bytes:
    out: Pieces = []
    render_each(parts, render_block, out)
    return b"".join(out)


def render_block(part: Part, out: Pieces) -> None:
    kind = type(part)
    if kind is Text and part.hint is None and part.extras is None:
        out += (b'{"type":"text","text":', part.literal, b"}")  # type: ignore[attr-defined]
        return
    if kind is Opaque:
        _render_opaque(part, out)  # type: ignore[arg-type]
        return
    writer = RENDERERS.get(kind)
    if writer is None:
        raise Unrepresentable(f"a part of kind {kind.__name__} in Anthropic content")
    writer(part, out)
    if part.hint is not None:
        out += (b',"cache_control":', part.hint.json)
    end_object(part.extras, NAME, out)


def _render_text(part: Text, out: Pieces) -> None:
    out += (b'{"type":"text","text":', part.literal)


def _render_call(part: Call, out: Pieces) -> None:
    if part.arguments[:1] != b"{":
        raise Unrepresentable(f"arguments of {part.name} that are no object")
    out += (b'{"type":"tool_use","id":', quote(part.id), b',"name":', quote(part.name), b',"input":', part.arguments)


def _render_result(part: Result, out: Pieces) -> None:
    out += (b'{"type":"tool_result","tool_use_id":', quote(part.call_id))
    parts = part.parts
    if len(parts) == 1 and type(parts[0]) is Text and not part.listed and parts[0].hint is None:
        out += (b',"content":', parts[0].literal)
    elif parts:
        out += (b',"content":', render_blocks(parts))
    if part.is_error:
        out.append(b',"is_error":true')


def _render_reasoning(part: Reasoning, out: Pieces) -> None:
    held = part.state
    if held is not None and held.kind == StateKind.REDACTED and held.origin.dialect == NAME:
        out += (b'{"type":"redacted_thinking","data":', held.json)
        return
    out += (b'{"type":"thinking","thinking":', part.text.literal if part.text is not None else EMPTY)
    if held is not None:
        out += (b',"signature":', plain_or_sealed(held, StateKind.SIGNATURE))


def _render_opaque(part: Opaque, out: Pieces) -> None:
    out.append(with_hint(own_block(part, NAME), part.hint))


def _render_media(part: Media, out: Pieces) -> None:
    if part.kind not in _BLOCKS:
        raise Unrepresentable(f"{part.kind.value} in Anthropic content")
    out += (b'{"type":', _BLOCKS[part.kind], b',"source":')
    out += _render_source(part)
    if part.title is not None and part.kind is MediaKind.DOCUMENT:
        out += (b',"title":', quote(part.title))


_BLOCKS = {MediaKind.IMAGE: b'"image"', MediaKind.DOCUMENT: b'"document"'}


def _render_source(part: Media) -> tuple[bytes, bytes, bytes]:
    """In pieces: pictures are long, and each time that one is put into a larger text it is copied."""
    match part.source:
        case Inline(media_type, data):
            return b'{"type":"base64","media_type":%b,"data":' % quote(media_type), data, b"}"
        case Remote(url):
            return b'{"type":"url","url":', quote(url), b"}"
        case Stored(file_id):
            return b'{"type":"file","file_id":', quote(file_id), b"}"
        case Plain(literal):
            return b'{"type":"text","media_type":"text/plain","data":', literal, b"}"


RENDERERS: dict[type[Part], Callable[..., None]] = {
    Text: _render_text,
    Call: _render_call,
    Result: _render_result,
    Reasoning: _render_reasoning,
    Media: _render_media,
}
