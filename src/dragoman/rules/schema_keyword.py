"""A tool's schema, or the schema of a structured answer, with words that the target's schema dialect does not have.

References are inlined, unions and constants rewritten, and a constraint that cannot be said becomes words of the
description. A strict schema that cannot be kept strict is sent without the mark.

Loses metadata, or content where the schema now allows other values.
"""

from __future__ import annotations

from dragoman.conversation.changes import Loss, Note, Rewrite, Undo
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import Call, Part
from dragoman.conversation.settings import ResponseFormat
from dragoman.conversation.tools import NativeTool, Tool
from dragoman.conversation.traits import Trait
from dragoman.profiles.facts import Facts, Stance
from dragoman.rules.context import Context
from dragoman.rules.rewriting import Swap, but, rewrite_parts
from dragoman.rules.rule import rule
from dragoman.rules.schema import FORMS, Compiled, compile_schema, renamed_arguments

_STRICT = "-strict"
_LOSSES = {"nothing": Loss.NOTHING, "order": Loss.ORDER, "metadata": Loss.METADATA, "content": Loss.CONTENT}
_EMPTY = b'{"type":"object","properties":{}}'


@rule(
    "schema-keyword",
    when=lambda facts: True,
    looks_for=Trait.TOOLS | Trait.SETTINGS,
    loses=Loss.CONTENT,
    top_level=True,
)
def schema_keyword(conversation: Conversation, context: Context) -> Rewrite:
    facts = context.facts
    notes: list[Note] = []
    renamed: dict[str, dict[str, str]] = {}
    tools = tuple([_compiled(tool, facts, notes, renamed) for tool in conversation.tools])
    form = _format(conversation.settings.response_format, facts, notes)
    if not notes:
        return Rewrite(conversation)
    settings = conversation.settings
    if form is not settings.response_format:
        settings = settings.but(response_format=form)
    changed = conversation.but(tools=tools, settings=settings)
    if not renamed:
        return Rewrite(changed, tuple(notes))
    told = rewrite_parts(changed, lambda message, part: _history(message, part, renamed))
    undo = Undo(keys={new: own for names in renamed.values() for new, own in names.items()})
    return Rewrite(told.conversation, (*notes, *told.notes), undo)


def _compiled(
    tool: Tool | NativeTool, facts: Facts, notes: list[Note], renamed: dict[str, dict[str, str]]
) -> Tool | NativeTool:
    if isinstance(tool, NativeTool) or tool.custom:
        return tool
    if tool.strict is not None and facts.strict_tools is Stance.REFUSES:
        tool = _unmarked(tool, notes, "the target has no strict mode")
    compiled = _compile(tool.schema, facts.schema_form, bool(tool.strict))
    if compiled is None:
        return tool
    if tool.strict and compiled.loses == "content":
        tool = _unmarked(tool, notes, "its schema cannot be made strict")
        compiled = _compile(tool.schema, facts.schema_form, False) or compiled
    if compiled.json == tool.schema:
        return tool
    at = f"tools/{tool.at}"
    for note in compiled.notes:
        notes.append(Note(f"{tool.name}: {note.did}", key=at + note.at, loses=_LOSSES[note.loses], before=tool.schema))
    if compiled.names:
        renamed[tool.name] = dict(compiled.names)
    return but(tool, schema=compiled.json)  # type: ignore[no-any-return]


def _compile(schema: bytes | None, form: str, strict: bool) -> Compiled | None:
    """None where nothing is to be done."""
    name = form + _STRICT if strict and form + _STRICT in FORMS else form
    if schema is None:
        return None
    compiled = compile_schema(schema, FORMS[name])
    return compiled if compiled.notes else None


def _unmarked(tool: Tool, notes: list[Note], why: str) -> Tool:
    notes.append(
        Note(
            f"sent {tool.name} without `strict`: {why}", key=f"tools/{tool.at}", loses=Loss.METADATA, before=tool.strict
        )
    )
    return but(tool, strict=None)  # type: ignore[no-any-return]


def _format(form: ResponseFormat | None, facts: Facts, notes: list[Note]) -> ResponseFormat | None:
    if form is None or form.schema is None:
        return form
    compiled = _compile(form.schema, facts.format_schema_form, bool(form.strict))
    if compiled is None:
        return form
    if form.strict and compiled.loses == "content":
        notes.append(Note("sent the answer's schema without `strict`", key="response_format", loses=Loss.METADATA))
        form = but(form, strict=None)
        compiled = _compile(form.schema, facts.format_schema_form, False)
        if compiled is None:
            return form
    notes += [
        Note(f"the answer's schema: {note.did}", key="response_format", loses=_LOSSES[note.loses], before=form.schema)
        for note in compiled.notes
    ]
    return but(form, schema=compiled.json)  # type: ignore[no-any-return]


def _history(message: Message, part: Part, renamed: dict[str, dict[str, str]]) -> Swap | None:
    """Calls of the history speak the names that the target was told."""
    if type(part) is not Call or part.name not in renamed:
        return None
    arguments = renamed_arguments(part.arguments, {own: new for new, own in renamed[part.name].items()})
    if arguments == part.arguments:
        return None
    return Swap((but(part, arguments=arguments),), "renamed arguments as in the schema", Loss.NOTHING)
