r"""Calls and results in the history, for a proxy that only takes text.

Some proxies in front of Gemini refuse tool turns. Each call becomes text of the assistant and its result becomes text
of the user: never one without the other. The parts of an assistant or system message become one text, and thinking is
left out.

Loses metadata, or content if a part cannot be said as text.

For `gemini-compatible/gemini-2.5-flash`:

    user: Hi
    assistant: One moment.
    call look(c1) {"where": "outside"}
    result c1: 12 degrees
becomes
    user: Hi
    assistant: One moment.\n[tool_call name=look id=c1]\n{"where":"outside"\u007d
    user: [tool_result name=look id=c1]\n12 degrees
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import SYSTEM_ROLES, Conversation
from dragoman.conversation.literals import join_texts
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.parts import Call, Part, Reasoning, Result, Text
from dragoman.rules.context import Context
from dragoman.rules.flattening import call_text, result_text
from dragoman.rules.naming import new_names
from dragoman.rules.rewriting import rewrite
from dragoman.rules.rule import rule


@rule("flat-tools", when=lambda facts: facts.flat_tools, looks_for=traits.ALWAYS, loses=Loss.CONTENT)
def flat_tools(conversation: Conversation, context: Context) -> Rewrite:
    # In the text a tool has the name under which it will be declared.
    declared = new_names(conversation, context.facts) if context.facts.tool_name_pattern else {}
    names = {
        part.id: declared.get(part.name, part.name)
        for message in conversation.messages
        for part in message.parts
        if type(part) is Call
    }
    notes: list[Note] = []
    messages: list[Message] = []
    for message in conversation.messages:
        messages += _flatten(message, names, notes, context.translated)
    return rewrite(conversation, notes, messages=tuple(messages))


def _flatten(message: Message, names: dict[str, str], notes: list[Note], translated: bool) -> list[Message]:
    if message.role is Role.TOOL:
        return [_results_as_text(message, names, notes)]
    if message.role is Role.USER or _is_flat(message, translated):
        return [message]
    texts: list[bytes] = []
    for part in message.parts:
        texts += _words(message, part, names, notes)
    if message.listed and not any(type(part) is Call for part in message.parts):
        notes.append(Note("joined its parts into one text", message, loses=Loss.METADATA, before=message))
    if not texts:
        return []
    return [replace(message, parts=(Text(join_texts("\n", texts)),), listed=False, hint=None)]


def _is_flat(message: Message, translated: bool) -> bool:
    """Is it one text already? A list that holds one is a spelling of the client's dialect, and is not written anew."""
    only = message.parts[0] if len(message.parts) == 1 else None
    return type(only) is Text and only.hint is None and (translated or not message.listed)


def _words(message: Message, part: Part, names: dict[str, str], notes: list[Note]) -> list[bytes]:
    if type(part) is Text:
        return [part.literal]
    if type(part) is Call:
        notes.append(Note("wrote a call as text", message, part, loses=Loss.METADATA, before=part))
        return [call_text(replace(part, name=names.get(part.id, part.name))).literal]
    loses = Loss.METADATA if type(part) is Reasoning or message.role in SYSTEM_ROLES else Loss.CONTENT
    notes.append(
        Note(f"left out a part of kind {type(part).__name__.lower()}", message, part, loses=loses, before=part)
    )
    return []


def _results_as_text(message: Message, names: dict[str, str], notes: list[Note]) -> Message:
    parts: list[Part] = []
    for part in message.parts:
        if isinstance(part, Result):
            parts += result_text(part, names.get(part.call_id))
            notes.append(Note("wrote a result as text", message, part, loses=Loss.METADATA, before=part))
    return Message(Role.USER, tuple(parts), message.at, message.span, listed=len(parts) > 1)
