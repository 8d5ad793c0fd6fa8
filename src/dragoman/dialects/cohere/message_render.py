"""Our messages to Cohere's.

It renders exactly what the value says and knows no facts. If the dialect has no form for a value, it raises
Unrepresentable, and a rule is missing for that target.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dragoman.conversation.collect import text_of_arguments
from dragoman.conversation.literals import EMPTY, quote, unquote
from dragoman.conversation.messages import ASSISTANT, DEVELOPER, FIELD, TOOL, USER, Message, Role
from dragoman.conversation.parts import (
    Call,
    Citation,
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
    Text,
)
from dragoman.dialects.cohere import NAME
from dragoman.dialects.cohere.message_parse import BARE, INSIDE, OBJECT, TEXT
from dragoman.dialects.shared.ownership import end_object, own_block
from dragoman.dialects.shared.parsing import data_url
from dragoman.dialects.shared.rendering import Pieces, render_each
from dragoman.errors import Unrepresentable
from dragoman.wire.json_reader import render_object

_HEADS = {role: b',{"role":"%b","content":' % role.encode() for role in Role}


def render_messages(messages: Sequence[Message], start: int, stop: int, out: Pieces, new: bool = False) -> None:
    """messages[start:stop] as items of the list, each with a comma before it. Documents of the request are no items.

    `new`: the client speaks another dialect, so that a list says nothing about how it wants its words written.
    """
    for index in range(start, stop):
        message = messages[index]
        if is_documents(message):
            continue
        if message.role is TOOL:
            for part in message.parts:
                _render_result(part, out)
        elif message.role is ASSISTANT:
            _render_assistant(message, out, message.listed and not new)
        else:
            _render_plain(message, out)


def render_new(messages: Sequence[Message], start: int, stop: int, out: Pieces) -> None:
    """What `render_messages` does, for a client of another dialect."""
    render_messages(messages, start, stop, out, new=True)


def _render_plain(message: Message, out: Pieces) -> None:
    if message.role is DEVELOPER:
        raise Unrepresentable("a developer message in a Cohere request", item=message.at)
    head = b',{"role":%b,"content":' % quote(message.role_text) if message.role_text else _HEADS[message.role]
    out.append(head)
    _render_parts(message.parts, message.listed, out)
    end_object(message.extras, NAME, out)


def _render_assistant(message: Message, out: Pieces, listed: bool) -> None:
    """Text beside calls is the plan, unless the client wrote it as a list of parts."""
    calls = [part for part in message.parts if type(part) is Call]
    citations = [part for part in message.parts if type(part) is Citation]
    content = [part for part in message.parts if type(part) is not Call and type(part) is not Citation]
    plan = _find_plan(content) if calls and not listed else None
    if plan is not None:
        content.remove(plan)
    out.append(b',{"role":"assistant"')
    if content or not (calls or plan):
        out.append(b',"content":')
        _render_parts(content, listed, out)
    if plan is not None:
        out += (b',"tool_plan":', plan.literal)
    if citations:
        out += (b',"citations":[', b",".join([_render_citation(part) for part in citations]), b"]")
    _render_calls(calls, out)
    end_object(message.extras, NAME, out)


def _find_plan(content: list[Part]) -> Text | None:
    """The text before calls, if it is one plain text after the thinking."""
    texts = [part for part in content if type(part) is not Reasoning]
    only = texts[0] if len(texts) == 1 else None
    if type(only) is not Text or only.extras is not None or only.literal == EMPTY or content[-1] is not only:
        return None
    return only


def _render_citation(part: Citation) -> bytes:
    if part.origin.dialect != NAME:
        raise Unrepresentable(f"a citation of {part.origin.dialect} in a Cohere request")
    return part.json


def _render_calls(calls: list[Call], out: Pieces) -> None:
    mark = b',"tool_calls":['
    for call in calls:
        if call.custom:
            raise Unrepresentable(f"a call of the custom tool {call.name} in a Cohere request")
        out += (mark, b'{"id":', quote(call.id), b',"type":"function","function":{"name":', quote(call.name))
        out += (b',"arguments":', text_of_arguments(call), b"}")
        end_object(call.extras, NAME, out)
        mark = b","
    if calls:
        out.append(b"]")


def _render_result(part: Part, out: Pieces) -> None:
    if not isinstance(part, Result):
        raise Unrepresentable(f"{type(part).__name__} among the results of a tool turn")
    out += (b',{"role":"tool","tool_call_id":', quote(part.call_id), b',"content":')
    if part.parts:
        _render_parts(part.parts, part.listed, out)
    else:
        out.append(b"[]" if part.listed else EMPTY)
    end_object(part.extras, NAME, out)


def _render_parts(parts: Sequence[Part], listed: bool, out: Pieces) -> None:
    """A string for one plain text, else a list."""
    only = parts[0] if len(parts) == 1 and not listed else None
    if type(only) is Text and only.extras is None:
        out.append(only.literal)
        return
    render_each(parts, render_part, out)


def render_part(part: Part, out: Pieces) -> None:
    """One part of a list content."""
    renderer = PART_RENDERERS.get(type(part))
    if renderer is None:
        raise Unrepresentable(f"a part of kind {type(part).__name__} in Cohere content")
    renderer(part, out)


def _render_text(part: Text, out: Pieces) -> None:
    out += (b'{"type":"text","text":', part.literal)
    end_object(part.extras, NAME, out)


def _render_thinking(part: Reasoning, out: Pieces) -> None:
    if part.state is not None or part.text is None:
        raise Unrepresentable("the opaque state of thinking in a Cohere request")
    out += (b'{"type":"thinking","thinking":', part.text.literal)
    end_object(part.extras, NAME, out)


def _render_media(part: Media, out: Pieces) -> None:
    if part.kind is MediaKind.DOCUMENT and isinstance(part.source, Plain):
        out.append(b'{"type":"document","document":')
        render_document(part, out)
        out.append(b"}")
    elif part.kind is MediaKind.IMAGE and isinstance(part.source, (Inline, Remote)):
        _render_image(part, part.source, out)
    else:
        raise Unrepresentable(f"{part.kind.value} as {type(part.source).__name__.lower()} in Cohere content")


def _render_image(part: Media, source: Inline | Remote, out: Pieces) -> None:
    url = data_url(source) if isinstance(source, Inline) else (quote(source.url),)
    out += (b'{"type":"image_url","image_url":{"url":', *url)
    if part.detail is not None:
        out += (b',"detail":', quote(part.detail))
    out.append(b"}")
    end_object(part.extras, NAME, out)


def _render_opaque(part: Opaque, out: Pieces) -> None:
    out.append(own_block(part, NAME))


PART_RENDERERS: dict[type[Part], Callable[..., None]] = {
    Text: _render_text,
    Reasoning: _render_thinking,
    Media: _render_media,
    Opaque: _render_opaque,
}


# Documents


def is_documents(message: Message) -> bool:
    """Whether a message stands for the documents of the request, and not in the list of messages."""
    return message.at == FIELD and message.role is USER


def render_documents(messages: Sequence[Message]) -> Json | None:
    """The documents of a request, or None."""
    found = [part for message in messages if is_documents(message) for part in message.parts]
    return b"[" + b",".join([_render_listed_document(part) for part in found]) + b"]" if found else None


def _render_listed_document(part: Part) -> Json:
    out: Pieces = []
    render_document(part, out)
    return b"".join(out)


def render_document(part: Part, out: Pieces) -> None:
    """One document. Raises Unrepresentable if it is not given as its text."""
    if not isinstance(part, Media) or not isinstance(part.source, Plain):
        raise Unrepresentable(f"{type(part).__name__} among the documents of a Cohere request")
    literal = part.source.literal
    if part.wire_form == BARE and part.extras is None:
        out.append(literal)
        return
    out += (b'{"data":', _render_content(part, literal))
    end_object(part.extras, NAME, out, INSIDE)


def _render_content(part: Media, literal: Json) -> Json:
    if part.wire_form == OBJECT:
        return unquote(literal).encode()
    if part.wire_form == TEXT and part.title is None:
        return literal
    head: dict[str, Json] = {} if part.title is None else {"title": quote(part.title)}
    return render_object({**head, "text": literal})
