"""Our messages to Ollama's.

It renders exactly what the value says and knows no facts. If Ollama has no form for a value, it raises
Unrepresentable, and a rule is missing for that target.
"""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.conversation.literals import EMPTY, quote
from dragoman.conversation.messages import ASSISTANT, TOOL, Message
from dragoman.conversation.parts import NO_ID, Call, Inline, Media, MediaKind, Part, Reasoning, Result, Text
from dragoman.dialects.families.tool_names import ToolNames
from dragoman.dialects.ollama import NAME
from dragoman.dialects.shared.ownership import end_object
from dragoman.dialects.shared.rendering import Pieces, render_each
from dragoman.errors import Unrepresentable

_TAKEN = (MediaKind.IMAGE, MediaKind.AUDIO)


def render_messages(messages: Sequence[Message], start: int, stop: int, out: Pieces) -> None:
    """messages[start:stop] as items of the list, each with a comma before it."""
    names = ToolNames(messages)
    for index in range(start, stop):
        message = messages[index]
        if message.name is not None or message.hint is not None:
            raise Unrepresentable("a name or a cache hint on a message in a request of ollama", item=message.at)
        if message.role is TOOL:
            for part in message.parts:
                _render_result(part, names, index, out)
        elif message.role is ASSISTANT:
            _render_assistant(message, out)
        else:
            _render_plain(message, out)


def _render_plain(message: Message, out: Pieces) -> None:
    role = quote(message.role_text) if message.role_text else quote(message.role.value)
    out += (b',{"role":', role)
    _render_content(message.parts, out)
    end_object(message.extras, NAME, out)


def _render_assistant(message: Message, out: Pieces) -> None:
    thoughts = [part for part in message.parts if type(part) is Reasoning]
    calls = [part for part in message.parts if type(part) is Call]
    content = [part for part in message.parts if type(part) is not Reasoning and type(part) is not Call]
    out.append(b',{"role":"assistant"')
    _render_thinking(thoughts, out)
    _render_content(content, out)
    if calls and not content:
        out += (b',"content":', EMPTY)
    _render_calls(calls, out)
    end_object(message.extras, NAME, out)


def _render_thinking(thoughts: Sequence[Reasoning], out: Pieces) -> None:
    if not thoughts:
        return
    only = thoughts[0]
    if len(thoughts) > 1 or only.text is None or only.state is not None or only.extras is not None:
        raise Unrepresentable("thinking of several parts, or with a proof, in a request of ollama")
    out += (b',"thinking":', only.text.literal)


def _render_content(parts: Sequence[Part], out: Pieces) -> None:
    """Media, then one text."""
    text = _find_only_text(parts)
    if text is not None:
        out += (b',"content":', text.literal)
    media = [_render_medium(part) for part in parts if type(part) is not Text]
    if media:
        out += (b"" if text is not None else b',"content":""', b',"images":[')
        for place, literal in enumerate(media):
            out += (b"," if place else b"", literal)
        out.append(b"]")


def _find_only_text(parts: Sequence[Part]) -> Text | None:
    texts = [part for part in parts if type(part) is Text]
    if len(texts) > 1:
        raise Unrepresentable("several texts in one message of ollama")
    if not texts:
        return None
    only = texts[0]
    if parts[-1] is not only or only.hint is not None or only.extras is not None or only.signature is not None:
        raise Unrepresentable("a text before media, or with marks of its own, in a message of ollama")
    return only


def _render_medium(part: Part) -> bytes:
    if not isinstance(part, Media) or part.kind not in _TAKEN or not isinstance(part.source, Inline):
        raise Unrepresentable(f"a part of kind {type(part).__name__} in a message of ollama")
    if part.hint is not None or part.extras is not None:
        raise Unrepresentable("media with marks of its own in a message of ollama")
    return part.source.data


def _render_calls(calls: Sequence[Call], out: Pieces) -> None:
    if calls:
        out.append(b',"tool_calls":')
        render_each(calls, _render_call, out)


def _render_call(call: Call, out: Pieces) -> None:
    if call.custom or call.arguments[:1] != b"{" or call.signature is not None or call.hint is not None:
        raise Unrepresentable(f"the call of {call.name} in a request of ollama: its arguments must be an object")
    out.append(b"{" if call.wire_form == NO_ID else b'{"id":%b,' % quote(call.id))
    out += (b'"function":{"name":', quote(call.name), b',"arguments":', call.arguments, b"}")
    end_object(call.extras, NAME, out)


def _render_result(part: Part, names: ToolNames, here: int, out: Pieces) -> None:
    if not isinstance(part, Result):
        raise Unrepresentable(f"{type(part).__name__} among the results of a tool turn")
    if part.is_error or part.custom or part.hint is not None:
        raise Unrepresentable("a result that is marked in a way that ollama does not have")
    out.append(b',{"role":"tool"')
    name = names.find(part, here)
    if name is not None:
        out += (b',"tool_name":', quote(name))
    if part.wire_form != NO_ID:
        out += (b',"tool_call_id":', quote(part.call_id))
    _render_content(part.parts, out)
    if not part.parts:
        out += (b',"content":', EMPTY)
    end_object(part.extras, NAME, out)
