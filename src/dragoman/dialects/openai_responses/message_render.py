"""Our messages to Responses items.

It renders exactly what the value says and knows no facts. If Responses has no form for a value, it raises
Unrepresentable, and a rule is missing for that target.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from msgspec.structs import replace

from dragoman.conversation.literals import EMPTY, quote
from dragoman.conversation.messages import ASSISTANT, DEVELOPER, SYSTEM, TOOL, USER, Message
from dragoman.conversation.parts import (
    BREAKPOINT_FIELD,
    Call,
    Inline,
    Json,
    Media,
    MediaKind,
    Opaque,
    Part,
    Plain,
    Reasoning,
    Refusal,
    Remote,
    Result,
    StateKind,
    Stored,
    Text,
)
from dragoman.dialects.families.plain_messages import PlainForms, render_plain
from dragoman.dialects.openai_responses import NAME
from dragoman.dialects.openai_responses.message_parse import ITEM, USER_ITEMS
from dragoman.dialects.shared.ownership import end_object, own_block, own_or_sealed
from dragoman.dialects.shared.parsing import OPENAI_FILES, data_url
from dragoman.dialects.shared.rendering import Pieces
from dragoman.errors import Unrepresentable

_HEADS = {
    SYSTEM: b',{"type":"message","role":"system","content":',
    DEVELOPER: b',{"type":"message","role":"developer","content":',
    USER: b',{"type":"message","role":"user","content":',
    ASSISTANT: b',{"type":"message","role":"assistant","content":',
}
_ASSISTANT_HEAD = _HEADS[ASSISTANT]
_BREAKPOINT = f',"{BREAKPOINT_FIELD}":'.encode()
_FORMS = PlainForms(
    texts=_HEADS,
    lists={role: head + b'[{"type":"input_text","text":' for role, head in _HEADS.items() if role is not ASSISTANT},
    call=b',{"type":"function_call","call_id":',
    call_name=b',"name":',
    call_arguments=b',"arguments":',
    call_end=b"}",
    result=b',{"type":"function_call_output","call_id":',
    result_text=b',"output":',
    result_end=b"}",
)


def render_messages(messages: Sequence[Message], start: int, stop: int, out: Pieces) -> None:
    """messages[start:stop] as items, each with a comma before it. The first one may belong to `instructions`."""
    if start == 0 and in_field(messages):
        start = 1
    custom = _find_custom(messages, start, stop)
    while start < stop:
        if not custom and (start := render_plain(messages, start, stop, _FORMS, out)) == stop:
            break
        message = messages[start]
        start += 1
        if message.name is not None or message.hint is not None:
            what = "a cache hint" if message.name is None else f'the name "{message.name}"'
            raise Unrepresentable(f"{what} on a message in a Responses request", item=message.at)
        if message.role is ASSISTANT:
            _render_turn(message, out)
            follows = start > 1 and messages[start - 2].role is ASSISTANT
            custom = custom | _custom_calls(message) if follows else _custom_calls(message)
        elif message.role is TOOL:
            for part in message.parts:
                _render_result(part, custom, out)
        else:
            _render_plain(message, out)


def _find_custom(messages: Sequence[Message], start: int, stop: int) -> set[str]:
    """The calls of custom tools in the model's last turn before `start`, if results follow that may answer them. Only
    here do results say which kind of tool they are of."""
    for at in range(start, stop):
        if messages[at].role is TOOL:
            break
        if messages[at].role is ASSISTANT:
            return set()
    else:
        return set()
    while start and messages[start - 1].role is not ASSISTANT:
        start -= 1
    custom: set[str] = set()
    while start and messages[start - 1].role is ASSISTANT:
        start -= 1
        custom |= _custom_calls(messages[start])
    return custom


def _custom_calls(message: Message) -> set[str]:
    return {part.id for part in message.parts if type(part) is Call and part.custom}


def in_field(messages: Sequence[Message]) -> bool:
    """Whether the first message belongs to `instructions`: a plain system text that was not an item."""
    if not messages or messages[0].role is not SYSTEM or messages[0].inline:
        return False
    message = messages[0]
    bare = message.name is None and message.hint is None and message.extras is None
    return bare and len(message.parts) == 1 and _is_bare(message.parts[0])


def render_instructions(messages: Sequence[Message]) -> Json | None:
    if not in_field(messages):
        return None
    part = messages[0].parts[0]
    return part.literal if isinstance(part, Text) else None


def _is_bare(part: Part) -> bool:
    return type(part) is Text and part.hint is None and part.extras is None and part.signature is None


def _render_plain(message: Message, out: Pieces) -> None:
    first = message.parts[0] if message.parts else None
    if type(first) is Opaque and first.kind in USER_ITEMS:
        out += (b",", own_block(first, NAME))
        if len(message.parts) > 1:
            _render_plain(replace(message, parts=message.parts[1:]), out)
        return
    head = _HEADS[message.role]
    if message.role_text:
        head = b',{"type":"message","role":%b,"content":' % quote(message.role_text)
    out.append(head)
    _render_texts(message.parts, message.listed, False, out)
    end_object(message.extras, NAME, out, "")


def _render_texts(parts: Sequence[Part], listed: bool, by_assistant: bool, out: Pieces) -> None:
    """A string for one plain text, else a list."""
    only = parts[0] if parts else None
    if len(parts) == 1 and not listed and isinstance(only, Text) and _is_bare(only):
        out.append(only.literal)
    else:
        render_content(parts, by_assistant, out)


def turn_items(parts: Sequence[Part]) -> Iterator[list[Part]]:
    """The parts of an assistant's turn, item by item. Texts that follow each other are one message."""
    texts: list[Part] = []
    for part in parts:
        by_assistant = type(part) is Text or type(part) is Refusal
        if texts and (not by_assistant or _opens_item(part)):
            yield texts
            texts = []
        if by_assistant:
            texts.append(part)
        else:
            yield [part]
    if texts:
        yield texts


def _opens_item(part: Part) -> bool:
    return part.extras is not None and any(key.startswith(ITEM) for key in part.extras.fields)


def _render_turn(message: Message, out: Pieces) -> None:
    if message.extras is not None:
        raise Unrepresentable(f"fields of {message.extras.dialect} on an assistant's turn in a Responses request")
    if not message.parts:
        out += (_ASSISTANT_HEAD, b"[]}")
    for parts in turn_items(message.parts):
        first = parts[0]
        match first:
            case Text() | Refusal():
                _render_assistant(parts, out)
            case Call():
                _render_call(first, out)
            case Reasoning():
                _render_reasoning(first, out)
            case Opaque():
                out += (b",", own_block(first, NAME))
            case _:
                raise Unrepresentable(f"a part of kind {type(first).__name__} in an assistant's turn")


def _render_assistant(parts: list[Part], out: Pieces) -> None:
    """A message item of the assistant's texts, with the extra fields that the item came with."""
    out.append(_ASSISTANT_HEAD)
    _render_texts(parts, False, True, out)
    end_object(parts[0].extras, NAME, out, ITEM)


def _render_call(part: Call, out: Pieces) -> None:
    if part.hint is not None or part.signature is not None:
        what = "a signature" if part.signature is not None else "a cache hint"
        raise Unrepresentable(f"{what} on the call of {part.name} in a Responses request")
    if part.custom:
        out += (b',{"type":"custom_tool_call","call_id":', quote(part.id), b',"name":', quote(part.name))
        out += (b',"input":', part.arguments)
    else:
        arguments = part.arguments
        out += (b',{"type":"function_call","call_id":', quote(part.id), b',"name":', quote(part.name))
        out += (b',"arguments":', arguments if arguments[:1] == b'"' else quote(arguments.decode()))
    end_object(part.extras, NAME, out, "")


def _render_result(part: Part, custom: Container[str], out: Pieces) -> None:
    if not isinstance(part, Result):
        raise Unrepresentable(f"{type(part).__name__} among the results of a tool turn")
    if part.hint is not None or part.is_error:
        what = "an error flag" if part.is_error else "a cache hint"
        raise Unrepresentable(f"{what} on the result of {part.call_id} in a Responses request")
    of_custom = part.custom or part.call_id in custom
    kind = b"custom_tool_call_output" if of_custom else b"function_call_output"
    out += (b',{"type":"', kind, b'","call_id":', quote(part.call_id), b',"output":')
    if part.parts or part.listed:
        _render_texts(part.parts, part.listed, False, out)
    else:
        out.append(EMPTY)
    end_object(part.extras, NAME, out, "")


def _render_reasoning(part: Reasoning, out: Pieces) -> None:
    own = part.extras.fields if part.extras is not None else {}
    out.append(b',{"type":"reasoning"')
    text = part.text.literal if part.text is not None else None
    if "summary" not in own:
        is_summary = text is not None and part.field != "content"
        out.append(
            b',"summary":[{"type":"summary_text","text":%b}]' % text if is_summary and text else b',"summary":[]'
        )
    if text is not None and part.field == "content" and "content" not in own:
        out.append(b',"content":[{"type":"reasoning_text","text":%b}]' % text)
    held = part.state
    if held is not None:
        out += (b',"encrypted_content":', own_or_sealed(held, StateKind.ENCRYPTED, NAME))
    end_object(part.extras, NAME, out, "")


# Parts


def render_content(parts: Sequence[Part], by_assistant: bool, out: Pieces) -> None:
    """A list of parts. `by_assistant`: they are output, not input."""
    mark = b"["
    for part in parts:
        out.append(mark)
        render_part(part, by_assistant, out)
        mark = b","
    out.append(b"]" if parts else b"[]")


def render_part(part: Part, by_assistant: bool, out: Pieces) -> None:
    if part.hint is not None and (by_assistant or not part.hint.is_breakpoint):
        raise Unrepresentable("a cache hint in a Responses part")
    match part:
        case Text():
            if part.signature is not None:
                raise Unrepresentable("a signature on a text in a Responses request")
            out += (b'{"type":"output_text","text":' if by_assistant else b'{"type":"input_text","text":', part.literal)
        case Refusal():
            out += (b'{"type":"refusal","refusal":', part.literal)
        case Media() if not by_assistant:
            _render_media(part, out)
        case Opaque() if not by_assistant:
            out.append(own_block(part, NAME))
            return
        case _:
            raise Unrepresentable(f"a part of kind {type(part).__name__} in a Responses message")
    if part.hint is not None:
        out += (_BREAKPOINT, part.hint.json)
    end_object(part.extras, NAME, out, "")


def _render_media(part: Media, out: Pieces) -> None:
    source, kind = part.source, part.kind
    if part.transcript is not None:
        raise Unrepresentable("the transcript of a sound in a Responses request")
    if isinstance(source, Stored) and source.provider not in ("", OPENAI_FILES):
        raise Unrepresentable(f"a file stored at {source.provider} in a Responses request")
    if kind is MediaKind.AUDIO and isinstance(source, Inline):
        form = source.media_type.partition("/")[2]
        out += (b'{"type":"input_audio","input_audio":{"data":', source.data)
        out += (b',"format":', quote(_AUDIO_FORMATS.get(form, form)), b"}")
    elif kind not in _ADDRESSED or isinstance(source, Plain):
        raise Unrepresentable(f"{kind.value} as {type(source).__name__.lower()} in a Responses request")
    else:
        out.append(b'{"type":"input_%b",' % _ADDRESSED[kind])
        out += _address(kind, source)
    if part.title is not None and kind is MediaKind.DOCUMENT:
        out += (b',"filename":', quote(part.title))
    if part.detail is not None or kind is MediaKind.IMAGE:
        out += (b',"detail":', quote(part.detail or "auto"))  # the published types demand it of images


_ADDRESSED = {MediaKind.IMAGE: b"image", MediaKind.DOCUMENT: b"file"}


def _address(kind: MediaKind, source: Inline | Remote | Stored) -> tuple[bytes | memoryview, ...]:
    image = kind is MediaKind.IMAGE
    match source:
        case Stored(file_id):
            return b'"file_id":', quote(file_id)
        case Inline():
            return b'"image_url":' if image else b'"file_data":', *data_url(source)
        case Remote(url):
            return b'"image_url":' if image else b'"file_url":', quote(url)


_AUDIO_FORMATS = {"mpeg": "mp3", "x-wav": "wav", "wave": "wav"}
