"""Our messages to Chat messages.

It renders exactly what the value says and knows no facts. If Chat has no form for a value, it raises Unrepresentable,
and a rule is missing for that target.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from dragoman.conversation.collect import text_of_arguments
from dragoman.conversation.envelope import seal
from dragoman.conversation.literals import EMPTY, join_texts, quote
from dragoman.conversation.messages import ASSISTANT, TOOL, Message, Role
from dragoman.conversation.parts import (
    BESIDE,
    BREAKPOINT_FIELD,
    CONTENT_FIELD,
    LEGACY,
    Call,
    Citation,
    Extras,
    Inline,
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
from dragoman.dialects.families.plain_messages import PlainForms, render_plain
from dragoman.dialects.openai_chat import NAME
from dragoman.dialects.openai_chat.message_parse import BARE, DOCUMENT_URL, LINKED_SOUND, UNTITLED
from dragoman.dialects.shared.ownership import end_object, own_block, plain_or_sealed, require_own
from dragoman.dialects.shared.parsing import HEADLESS, data_url
from dragoman.dialects.shared.rendering import Pieces, render_each
from dragoman.errors import Unrepresentable
from dragoman.wire.json_reader import render_object, split_members

_HEADS = {role: b',{"role":"%b","content":' % role.encode() for role in Role}
_TEXT_HEADS = {role: head for role, head in _HEADS.items() if role is not TOOL}
_CALLS = b'"tool_calls":[{"id":'
_UNNAMED = PlainForms(
    texts=_TEXT_HEADS,
    lists={role: head + b'[{"type":"text","text":' for role, head in _TEXT_HEADS.items()},
    call=b',{"role":"assistant",' + _CALLS,
    call_name=b',"type":"function","function":{"name":',
    call_arguments=b',"arguments":',
    call_end=b"}}]}",
    result=b',{"role":"tool","tool_call_id":',
    result_text=b',"content":',
    result_end=b"}",
    blank_calls={blank: _HEADS[ASSISTANT] + blank + b"," + _CALLS for blank in (b"null", EMPTY)},
)
_NAMED = replace(_UNNAMED, names_results=True)
_BREAKPOINT = f',"{BREAKPOINT_FIELD}":'.encode()
_PLAIN_THOUGHTS = ("reasoning_content", "reasoning")
_FORMATS = {"mpeg": "mp3", "x-wav": "wav", "wave": "wav"}


def render_messages(messages: Sequence[Message], start: int, stop: int, out: Pieces, named: bool = True) -> None:
    """messages[start:stop] as items of the list, each with a comma before it. `named`: results name their tools."""
    forms = _NAMED if named else _UNNAMED
    while (start := render_plain(messages, start, stop, forms, out)) < stop:
        message = messages[start]
        start += 1
        if message.role is ASSISTANT:
            _render_assistant(message, out)
        elif message.role is TOOL:
            for result in message.parts:
                _render_result(result, out, named)
        else:
            _render_plain(message, out)


def render_unnamed(messages: Sequence[Message], start: int, stop: int, out: Pieces) -> None:
    """What `render_messages` does, for a client of another dialect.

    Chat's schema has no name on a result: its call names the tool. And a cache hint stands on a part of the result.
    """
    render_messages(messages, start, stop, out, False)


def _render_plain(message: Message, out: Pieces) -> None:
    role_text = message.role_text
    out.append(b',{"role":%b,"content":' % quote(role_text) if role_text else _HEADS[message.role])
    _render_any_content(message.parts, message.listed, message.role, out)
    _render_tail(message, out)


def _render_assistant(message: Message, out: Pieces) -> None:
    parts = message.parts
    content: list[Part] = []
    calls: list[Call] = []
    thoughts: list[Reasoning] = []
    others: list[Part] = []
    pictures: list[Media] = []
    for part in parts:
        kind = type(part)
        if kind is Call:
            calls.append(part)  # type: ignore[arg-type]
        elif type(part) is Reasoning and (part.field != CONTENT_FIELD or part.state is not None):
            thoughts.append(part)
        elif kind is Citation or (kind is Opaque and part.kind == "audio"):  # type: ignore[attr-defined]
            others.append(part)
        elif type(part) is Media and part.wire_form == BESIDE:
            pictures.append(part)
        else:
            content.append(part)
    refusals = [part for part in content if type(part) is Refusal]
    if refusals and not message.listed:
        content = [part for part in content if type(part) is not Refusal]
    out.append(b',{"role":"assistant"')
    if content or not (calls or others or pictures or (refusals and not message.listed)):
        out.append(b',"content":')
        _render_any_content(tuple(content), message.listed, ASSISTANT, out)
    elif message.blank:
        out += (b',"content":', message.blank)
    elif not calls:
        out.append(b',"content":null')
    if refusals and not message.listed:
        out += (b',"refusal":', join_texts("\n", [part.literal for part in refusals]))
    _render_reasoning(thoughts, out)
    _others(others, out)
    if pictures:
        out.append(b',"images":')
        _render_any_content(pictures, True, ASSISTANT, out)
    signatures = [part.signature for part in content if type(part) is Text and part.signature is not None]
    extras = message.extras
    if signatures:
        extras = _signature(signatures[-1], extras, out)
    _render_calls(calls, out)
    if message.prefill:
        out.append(b',"%b":true' % message.prefill.encode())
    if extras is not None:
        written = {_member_of(part) for part in parts} | ({message.prefill} if message.prefill else set())
        fields = {key: value for key, value in extras.fields.items() if key not in written}
        message = replace(message, extras=replace(extras, fields=fields))
    _render_tail(message, out)


def _member_of(part: Part) -> str:
    """The member that an assistant's part is written as. An empty one of the client's is not written a second time."""
    if type(part) is Reasoning:
        return part.field if part.field in _PLAIN_THOUGHTS else "reasoning_details"
    if type(part) is Call:
        return "function_call" if part.wire_form == LEGACY else "tool_calls"
    if type(part) is Opaque and part.kind == "audio":
        return "audio"
    if type(part) is Media and part.wire_form == BESIDE:
        return "images"
    return "annotations" if type(part) is Citation else "refusal" if type(part) is Refusal else "content"


def _render_any_content(parts: Sequence[Part], listed: bool, role: Role, out: Pieces) -> None:
    """A string for one plain text, else a list."""
    if not parts:
        out.append(b"[]" if listed else EMPTY if role is TOOL else b"null")
        return
    only = parts[0]
    if not listed and len(parts) == 1 and type(only) is Text and only.hint is None and only.extras is None:
        out.append(only.literal)
        return
    render_each(parts, render_part, out)


def _render_tail(message: Message, out: Pieces) -> None:
    if message.name is not None:
        out += (b',"name":', quote(message.name))
    if message.hint is not None:
        out += (b',"cache_control":', message.hint.json)
    end_object(message.extras, NAME, out)


def _render_reasoning(thoughts: list[Reasoning], out: Pieces) -> None:
    for field in _PLAIN_THOUGHTS:
        texts = [part.text.literal for part in thoughts if part.field == field and part.text is not None]
        if texts:
            out += (b',"%b":' % field.encode(), join_texts("\n", texts))
    details = [part for part in thoughts if part.field not in _PLAIN_THOUGHTS]
    if details:
        out += (b',"reasoning_details":[', b",".join([_render_detail(part) for part in details]), b"]")


def _render_detail(part: Reasoning) -> bytes:
    """An entry as it came, or one made for reasoning of another dialect."""
    held = part.state
    if held is not None and held.kind == StateKind.DETAIL:
        return held.json
    if held is None:
        return b'{"type":"reasoning.text","text":' + (part.text.literal if part.text else EMPTY) + b"}"
    sealed = quote(seal(held))
    if part.text is None:
        return b'{"type":"reasoning.encrypted","data":' + sealed + b"}"
    return b'{"type":"reasoning.text","text":' + part.text.literal + b',"signature":' + sealed + b"}"


def _others(others: list[Part], out: Pieces) -> None:
    notes = [part.json for part in others if type(part) is Citation]
    for part in others:
        if type(part) is Opaque:
            out += (b',"audio":', render_object(split_members(part.json) | dict(require_own(part.extras, NAME))))
    if notes:
        out += (b',"annotations":[', b",".join(notes), b"]")


def _render_calls(calls: list[Call], out: Pieces) -> None:
    mark = b',"tool_calls":['
    for call in calls:
        if call.wire_form == LEGACY:
            out += (b',"function_call":{"name":', quote(call.name), b',"arguments":', text_of_arguments(call))
            end_object(call.extras, NAME, out)
    for call in calls:
        if call.wire_form == LEGACY:
            continue
        out += (mark, b'{"id":', quote(call.id))
        if call.custom:
            out += (b',"type":"custom","custom":{"name":', quote(call.name), b',"input":', call.arguments, b"}")
        else:
            out += (
                b',"type":"function","function":{"name":',
                quote(call.name),
                b',"arguments":',
                text_of_arguments(call),
                b"}",
            )
        extras = call.extras
        if call.signature is not None:
            extras = _signature(call.signature, extras, out)
        if call.hint is not None:
            out += (b',"cache_control":', call.hint.json)
        end_object(extras, NAME, out)
        mark = b","
    if mark == b",":
        out.append(b"]")


def _signature(state: Opaque, extras: Extras | None, out: Pieces) -> Extras | None:
    """Of a call, or of a message's last text, with what the client has beside it. The fields that are left."""
    fields = dict(extras.fields) if extras is not None else {}
    given = fields.pop("extra_content", b"")
    beside = split_members(given) if given[:1] == b"{" else {}
    google = split_members(beside["google"]) if bytes(beside.get("google", b""))[:1] == b"{" else {}
    signed = render_object({**google, "thought_signature": plain_or_sealed(state, StateKind.THOUGHT)})
    out += (b',"extra_content":', render_object({**beside, "google": signed}))
    return None if extras is None else replace(extras, fields=fields)


def _render_result(part: Part, out: Pieces, named: bool) -> None:
    if not isinstance(part, Result):
        raise Unrepresentable(f"{type(part).__name__} among the results of a tool turn")
    if part.hint is not None and part.parts and not named:
        part = _with_hint_inside(part)
    if part.wire_form == LEGACY and part.name is not None:
        out += (b',{"role":"function","name":', quote(part.name), b',"content":')
    else:
        out += (b',{"role":"tool","tool_call_id":', quote(part.call_id), b',"content":')
    parts = part.parts
    if (
        len(parts) == 1
        and type(parts[0]) is Text
        and not part.listed
        and parts[0].hint is None
        and parts[0].extras is None
    ):
        out.append(parts[0].literal)
    else:
        _render_any_content(parts, part.listed, TOOL, out)
    if named and part.name is not None and part.wire_form != LEGACY:
        out += (b',"name":', quote(part.name))
    if part.hint is not None:
        out += (b',"cache_control":', part.hint.json)
    end_object(part.extras, NAME, out)


def _with_hint_inside(result: Result) -> Result:
    """The hint of a result on its last part: there Chat's servers document it."""
    *parts, last = result.parts
    return replace(result, hint=None, parts=(*parts, replace(last, hint=last.hint or result.hint)))


def render_part(part: Part, out: Pieces) -> None:
    """One part of a list content."""
    writer = PART_RENDERERS.get(type(part))
    if writer is None:
        raise Unrepresentable(f"a part of kind {type(part).__name__} in Chat content")
    writer(part, out)
    if type(part) is Opaque:
        return
    if part.hint is not None:
        out += (_BREAKPOINT if part.hint.is_breakpoint else b',"cache_control":', part.hint.json)
    end_object(part.extras, NAME, out)


def _render_text(part: Text, out: Pieces) -> None:
    out += (b'{"type":"text","text":', part.literal)


def _render_refusal(part: Refusal, out: Pieces) -> None:
    out += (b'{"type":"refusal","refusal":', part.literal)


def _render_opaque(part: Opaque, out: Pieces) -> None:
    out.append(own_block(part, NAME))


def _render_media(part: Media, out: Pieces) -> None:
    source, kind = part.source, part.kind
    if kind is MediaKind.AUDIO and (isinstance(source, Inline) or part.wire_form == LINKED_SOUND):
        _render_sound(part, out)
    elif kind is MediaKind.DOCUMENT and isinstance(source, (Inline, Stored)) and part.wire_form != DOCUMENT_URL:
        _render_file(part, source, out)
    elif kind in _LINKED and isinstance(source, (Inline, Remote)):
        _render_link(part, _render_url(part, source), out)
    else:
        raise Unrepresentable(f"{kind.value} as {type(source).__name__.lower()} in Chat content")


def _render_sound(part: Media, out: Pieces) -> None:
    source = part.source
    if isinstance(source, Inline):
        data = data_url(source) if part.wire_form == LINKED_SOUND else (source.data,)
    elif isinstance(source, Remote):
        data = (quote(source.url),)
    else:
        raise Unrepresentable("a stored sound in Chat content")
    out += (b'{"type":"input_audio","input_audio":{"data":', *data)
    form = source.media_type.partition("/")[2]
    if form:
        out += (b',"format":', quote(_FORMATS.get(form, form)))
    out.append(b"}")


def _render_url(part: Media, source: Inline | Remote) -> tuple[bytes | memoryview, ...]:
    if isinstance(source, Inline):
        return (source.data,) if part.wire_form == HEADLESS else data_url(source)
    return (quote(source.url),)


def _render_link(part: Media, url: tuple[bytes | memoryview, ...], out: Pieces) -> None:
    """By its URL: in an object, or bare for documents and if the client sent it bare."""
    field = _LINKED[part.kind]
    if part.kind is MediaKind.DOCUMENT or part.wire_form == BARE:
        out += (b'{"type":"%b","%b":' % (field, field), *url)
        return
    out += (b'{"type":"%b","%b":{"url":' % (field, field), *url)
    if part.detail is not None:
        out += (b',"detail":', quote(part.detail))
    out.append(b"}")


def _render_file(part: Media, source: Inline | Stored, out: Pieces) -> None:
    if isinstance(source, Stored):
        out += (b'{"type":"file","file":{"file_id":', quote(source.id))
    else:
        data = (source.data,) if part.wire_form == HEADLESS else data_url(source)
        out += (b'{"type":"file","file":{"file_data":', *data)
    if part.title is not None or (isinstance(source, Inline) and part.wire_form != UNTITLED):
        out += (b',"filename":', quote(part.title or UNTITLED))
    out.append(b"}")


_LINKED = {MediaKind.IMAGE: b"image_url", MediaKind.VIDEO: b"video_url", MediaKind.DOCUMENT: b"document_url"}


def _render_thought(part: Reasoning, out: Pieces) -> None:
    """As Mistral has it. One without words is an empty list."""
    texts = b"" if part.text is None else b'{"type":"text","text":%b}' % part.text.literal
    out += (b'{"type":"thinking","thinking":[', texts, b"]")


PART_RENDERERS: dict[type[Part], Callable[..., None]] = {
    Text: _render_text,
    Reasoning: _render_thought,
    Refusal: _render_refusal,
    Media: _render_media,
    Opaque: _render_opaque,
}
