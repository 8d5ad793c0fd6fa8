"""A form of the answer that the model does not take.

Some models answer by a JSON schema, some know only that the answer is JSON, some neither, some not beside tools or
documents of the request, and some not in a stream. The first of these ways that the target takes is used:

1. `tool`: a tool that the model must call. Its arguments are the answer: they come back as the answer's text.
2. `json`: JSON as the answer's format, and the schema as a system message.
3. `words`: the schema as a system message alone.

`auto` begins with the first. A tool cannot be used if the schema is not an object, if the model thinks and cannot be
forced then, or if the request has tools of the target's own that stand beside no others. An answer that is a list, a
text or a number is asked for in words if the target answers by schemas of objects alone. A format that says "by a
schema" and has none is any JSON, if the target's dialect needs the schema.

Loses metadata: a schema in words binds the model less.

For `groq/llama-3.3-70b-versatile`:

    {"messages": [{"role": "user", "content": "Hi"}], "response_format": {"type": "json_schema", "json_schema":
      {"name": "city", "schema": {"type": "object", "properties": {"name": {"type": "string"}}}}}}
becomes
    {"messages": [{"role": "user", "content": "Hi"}], "tools": [{"type": "function", "function": {"name": "city",
      "description": "Give the answer by calling this tool.",
      "parameters": {"type": "object", "properties": {"name": {"type": "string"}}}}}],
     "tool_choice": {"type": "function", "function": {"name": "city"}}}
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite, Undo
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import quote
from dragoman.conversation.messages import FIELD, Message, Role
from dragoman.conversation.parts import Call, Json, Text
from dragoman.conversation.settings import FormatKind, ResponseFormat
from dragoman.conversation.tools import ChoiceMode, NativeTool, Tool, ToolChoice
from dragoman.profiles.facts import Facts, Stance
from dragoman.rules.context import Context
from dragoman.rules.reasoning import forbids_forced_tool
from dragoman.rules.rule import rule
from dragoman.rules.schema import FORMS
from dragoman.rules.schema.form import Typing
from dragoman.rules.schema.labels import label_schema
from dragoman.rules.schema.vocabulary import kinds

AUTO, TOOL, JSON, WORDS = "auto", "tool", "json", "words"
_FREE = (None, ChoiceMode.AUTO, ChoiceMode.VALIDATED)
_ALL = ("json", "schema")


@rule(
    "refused-format",
    when=lambda facts: (
        not set(_ALL) <= set(facts.response_formats)
        or Stance.REFUSES in (facts.format_with_tools, facts.format_with_documents)
        or Stance.REFUSES in (facts.format_streamed, facts.format_without_schema)
        or _wants_object(facts)
    ),
    looks_for=traits.FORMAT,
    loses=Loss.METADATA,
    options=(AUTO, TOOL, JSON, WORDS),
)
def refused_format(conversation: Conversation, context: Context) -> Rewrite:
    form, facts = conversation.settings.response_format, context.facts
    if form is not None and _lacks_schema(form, facts):
        return _by_json(form, conversation, context)
    if form is None or form.kind is FormatKind.TEXT:
        return Rewrite(conversation)
    if form.kind is FormatKind.SCHEMA and _wants_object(facts) and _is_no_object(form.schema):
        return _by_words(form, conversation, context, as_json=False)
    if _takes(form.kind, conversation, context):
        return Rewrite(conversation)
    choice = context.choice("refused-format") or AUTO
    if choice in (AUTO, TOOL) and form.kind is FormatKind.SCHEMA:
        forced = _choose_call(form, conversation, context)
        if forced is not None:
            return _by_tool(form, conversation, forced)
    as_json = choice != WORDS and form.kind is FormatKind.SCHEMA and _takes(FormatKind.JSON, conversation, context)
    return _by_words(form, conversation, context, as_json)


def _takes(kind: FormatKind, conversation: Conversation, context: Context) -> bool:
    facts = context.facts
    if kind.value not in facts.response_formats:
        return False
    if kind is FormatKind.SCHEMA and context.streams and facts.format_streamed is Stance.REFUSES:
        return False
    if facts.format_with_documents is Stance.REFUSES and _has_documents(conversation):
        return False
    return facts.format_with_tools is not Stance.REFUSES or not _will_have_tools(conversation, facts)


def _has_documents(conversation: Conversation) -> bool:
    """Are there documents of the whole request, which stand in a field of their own?"""
    return any(message.at == FIELD and message.role is Role.USER for message in conversation.messages)


def _lacks_schema(form: ResponseFormat, facts: Facts) -> bool:
    absent = form.kind is FormatKind.SCHEMA and form.schema is None
    return absent and facts.format_without_schema is Stance.REFUSES


def _by_json(form: ResponseFormat, conversation: Conversation, context: Context) -> Rewrite:
    """Any JSON in place of JSON by a schema that is not given."""
    if not _takes(FormatKind.JSON, conversation, context):
        return _by_words(form, conversation, context, as_json=False)
    kept = ResponseFormat(FormatKind.JSON)
    note = Note("asked for any JSON, since no schema is given", key="response_format", before=form, after=kept)
    return Rewrite(replace(conversation, settings=replace(conversation.settings, response_format=kept)), (note,))


def _will_have_tools(conversation: Conversation, facts: Facts) -> bool:
    """Are tools declared, or will the rule `undeclared-tools` declare those that were called?"""
    if conversation.tools or facts.undeclared_tools is not Stance.REFUSES:
        return bool(conversation.tools)
    return any(type(part) is Call for message in conversation.messages for part in message.parts)


def _choose_call(form: ResponseFormat, conversation: Conversation, context: Context) -> ToolChoice | None:
    """The choice that makes the model call the answer's tool, or one of the client's; None if there is none."""
    settings, facts = conversation.settings, context.facts
    if facts.tools is Stance.REFUSES or facts.flat_tools or not _is_object(form.schema):
        return None
    if forbids_forced_tool(settings, facts, context.translated) or _refuses_functions(conversation, facts):
        return None
    mode = settings.tool_choice.mode if settings.tool_choice is not None else None
    if not conversation.tools or mode is ChoiceMode.NONE:
        named = ToolChoice(ChoiceMode.NAMED, (_name(form, conversation),))
        return named if {"named", "required"} & set(facts.tool_choices) else None
    return ToolChoice(ChoiceMode.REQUIRED) if mode in _FREE and "required" in facts.tool_choices else None


def _refuses_functions(conversation: Conversation, facts: Facts) -> bool:
    """Whether the target's own tools of the request may not stand beside the answer's tool."""
    own = [tool.kind for tool in conversation.tools if isinstance(tool, NativeTool) and not tool.meant]
    return facts.mixed_tools is Stance.REFUSES and not set(facts.mixed_kinds).issuperset(own)


def _is_object(schema: Json | None) -> bool:
    """Can the schema be that of a tool's arguments?"""
    value: Any = msgspec.json.decode(schema) if schema is not None else None
    return isinstance(value, dict) and value.get("type") == "object" and not value.keys() & {"anyOf", "oneOf", "allOf"}


def _wants_object(facts: Facts) -> bool:
    """Does the target take only objects as answers by a schema?"""
    return "schema" in facts.response_formats and FORMS[facts.format_schema_form].typing is not Typing.FREE


def _is_no_object(schema: Json | None) -> bool:
    """Does the schema ask for a list, a text or a number?"""
    value: Any = msgspec.json.decode(schema) if schema is not None else None
    named = kinds(value) if isinstance(value, dict) else ()
    return bool(named) and "object" not in named


def _name(form: ResponseFormat, conversation: Conversation) -> str:
    """The name of the schema, and one that no tool of the client has."""
    taken = {tool.name for tool in conversation.tools if isinstance(tool, Tool)}
    name = form.name or "answer"
    while name in taken:
        name += "_answer"
    return name


def _by_tool(form: ResponseFormat, conversation: Conversation, choice: ToolChoice) -> Rewrite:
    name = _name(form, conversation)
    about = form.description or quote("Give the answer by calling this tool.")
    settings = replace(conversation.settings, response_format=None, tool_choice=choice)
    note = Note(f"asked for the answer as a call of the tool {name}", key="response_format", before=form, after=choice)
    changed = replace(
        conversation, tools=(*conversation.tools, Tool(name, about, form.schema)), settings=settings, empty_tools=False
    )
    return Rewrite(changed, (note,), Undo(answer=name))


def _by_words(form: ResponseFormat, conversation: Conversation, context: Context, as_json: bool) -> Rewrite:
    """A system message that says what the answer must be."""
    text = context.text("answer_json")
    schema = label_schema(form)
    if schema is not None:
        text = context.text("answer_schema") + schema.decode()
    turn = Message(Role.SYSTEM, (Text(quote(text)),))
    at = conversation.opening
    messages = (*conversation.messages[:at], turn, *conversation.messages[at:])
    kept = ResponseFormat(FormatKind.JSON) if as_json else None
    did = "asked for JSON, and for the schema in words" if as_json else "asked for the answer's form in words"
    note = Note(did, key="response_format", kind="synthetic", before=form, after=turn)
    settings = replace(conversation.settings, response_format=kept)
    return Rewrite(replace(conversation, messages=messages, settings=settings), (note,))
