"""A schema with keywords that the target's schema dialect does not have.

This is about the schema of a tool's arguments and of a structured answer. References are inlined, unions and constants
are rewritten, and a constraint that cannot be said becomes words of the description. A strict schema that cannot stay
strict is sent without the mark, and so are all if the target takes none beside others (fact `mixed_strict`). A tool
without a schema takes no arguments, and says so if a schema is required. Arguments that had to be renamed are renamed
in the history too, and mapped back in the answer.

Loses metadata, or content if the schema now allows other values.

For `gemini-compatible/gemini-2.5-flash`:

    {"messages": [{"role": "user", "content": "Hi"}],
     "tools": [{"type": "function", "function": {"name": "look", "parameters": {"type": "object",
       "properties": {"where": {"const": "outside"}}}}}]}
becomes
    {"messages": [{"role": "user", "content": "Hi"}],
     "tools": [{"type": "function", "function": {"name": "look", "parameters": {"type": "object",
       "properties": {"where": {"type": "string", "enum": ["outside"]}}}}}]}
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite, Undo
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.parts import Call, Part
from dragoman.conversation.settings import ResponseFormat
from dragoman.conversation.tools import NativeTool, Tool
from dragoman.profiles.facts import Facts, Stance
from dragoman.rules.context import Context
from dragoman.rules.rewriting import Swap, reuse_unchanged, rewrite_parts
from dragoman.rules.rule import rule
from dragoman.rules.schema import FORMS, Compiled, SchemaForm, Strictness, compile_schema, rename_arguments
from dragoman.rules.schema.weight import weight

NO_ARGUMENTS = b'{"type":"object","properties":{}}'
"""The schema of a tool that takes none."""
_NO_SCHEMA = (None, b"{}")
_STRICT = "-strict"
_SPARE = {
    name: form if form.strict is Strictness.ALL else replace(form, empty_required=False) for name, form in FORMS.items()
}
"""The forms for a target that may refuse `required: []`."""
MAX_TOTAL_GROWTH = 128 * 1024
"""Bytes that copies of definitions may have added to the schemas of a request before the next one grows too."""
_LOSSES = {"nothing": Loss.NOTHING, "order": Loss.ORDER, "metadata": Loss.METADATA, "content": Loss.CONTENT}


@rule(
    "schema-keyword",
    when=lambda facts: True,
    looks_for=traits.TOOLS | traits.SETTINGS,
    loses=Loss.CONTENT,
    top_level=True,
)
def schema_keyword(conversation: Conversation, context: Context) -> Rewrite:
    facts = context.facts
    notes: list[Note] = []
    renamed: dict[str, dict[str, str]] = {}
    made = _compile_tools(conversation.tools, facts, notes, renamed)
    if facts.mixed_strict is Stance.REFUSES and len({bool(tool.strict) for tool in made if isinstance(tool, Tool)}) > 1:
        notes.clear()
        renamed.clear()
        made = _compile_tools(_unmark_all(conversation.tools, notes), facts, notes, renamed)
    tools = reuse_unchanged(conversation.tools, made)
    form = _format(conversation.settings.response_format, facts, notes)
    if not notes:
        return Rewrite(conversation)
    settings = conversation.settings
    if form is not settings.response_format:
        settings = replace(settings, response_format=form)
    changed = replace(conversation, tools=tools, settings=settings)
    if not renamed:
        return Rewrite(changed, tuple(notes))
    history = rewrite_parts(changed, lambda message, part: _rename_call(part, renamed))
    undo = Undo(keys={new: own for names in renamed.values() for new, own in names.items()})
    return Rewrite(history.conversation, (*notes, *history.notes), undo)


def _compile_tools(
    tools: Iterable[Tool | NativeTool], facts: Facts, notes: list[Note], renamed: dict[str, dict[str, str]]
) -> list[Tool | NativeTool]:
    room = _Room()
    return [_compile_tool(tool, facts, notes, renamed, room) for tool in tools]


def _unmark_all(tools: tuple[Tool | NativeTool, ...], notes: list[Note]) -> list[Tool | NativeTool]:
    why = "the target has all tools strict, or none"
    return [_unmark(tool, notes, why) if isinstance(tool, Tool) and tool.strict else tool for tool in tools]


class _Room:
    """What the schemas of one request may still grow by, all together. Beyond it definitions are not copied."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = MAX_TOTAL_GROWTH


def _compile_tool(
    tool: Tool | NativeTool, facts: Facts, notes: list[Note], renamed: dict[str, dict[str, str]], room: _Room
) -> Tool | NativeTool:
    if isinstance(tool, NativeTool) or tool.custom:
        return tool
    if tool.schema in _NO_SCHEMA and facts.tools_without_schema is Stance.REFUSES:
        did = f"{tool.name}: said that it takes no arguments"
        notes.append(Note(did, key=tool.place, loses=Loss.NOTHING, after=NO_ARGUMENTS))
        tool = replace(tool, schema=NO_ARGUMENTS)
    if tool.strict is not None and facts.strict_tools is Stance.REFUSES:
        tool = _unmark(tool, notes, "the target has no strict mode")
    if tool.strict and facts.strict_optional is Stance.REFUSES and tool.schema and weight(tool.schema).optional:
        tool = _unmark(tool, notes, "the target's strict mode has no optional fields")
    form = facts.schema_form if facts.schema_as else facts.schema_form_in.get(tool.schema_as, facts.schema_form)
    compiled = _compile(tool.schema, facts, form, bool(tool.strict), room.left > 0)
    if compiled is None:
        return tool
    if facts.schema_moves and tool.schema_as and compiled.loses == "content":
        general = _compile(tool.schema, facts, facts.schema_form, bool(tool.strict), room.left > 0)
        if general is None or general.loses == "nothing":
            notes.append(Note(f"gave the schema of {tool.name} as JSON Schema", key=tool.place, loses=Loss.NOTHING))
            tool, compiled = replace(tool, schema_as=""), general
    if compiled is None:
        return tool
    if tool.strict and compiled.loses == "content":
        tool = _unmark(tool, notes, "its schema cannot be made strict")
        compiled = _compile(tool.schema, facts, form, False, room.left > 0)
    if compiled is None or tool.schema is None or compiled.json == tool.schema:
        return tool
    room.left -= max(len(compiled.json) - len(tool.schema), 0)
    for note in compiled.notes:
        did = f"{tool.name}{note.at}: {note.did}"
        notes.append(Note(did, key=tool.place, loses=_LOSSES[note.loses], before=tool.schema))
    if compiled.names:
        renamed[tool.name] = dict(compiled.names)
    return replace(tool, schema=compiled.json)


def _compile(schema: bytes | None, facts: Facts, form: str, strict: bool, grows: bool = True) -> Compiled | None:
    """The compiled schema, or None if nothing had to change."""
    if schema is None:
        return None
    compiled = compile_schema(schema, _form(facts, form, strict), grows)
    return compiled if compiled.notes else None


def _form(facts: Facts, name: str, strict: bool) -> SchemaForm:
    own = name + _STRICT if strict and name + _STRICT in FORMS else name
    return (_SPARE if facts.empty_required is Stance.REFUSES else FORMS)[own]


def _unmark(tool: Tool, notes: list[Note], why: str) -> Tool:
    notes.append(
        Note(f"sent {tool.name} without `strict`: {why}", key=tool.place, loses=Loss.METADATA, before=tool.strict)
    )
    return replace(tool, strict=None)


def _format(form: ResponseFormat | None, facts: Facts, notes: list[Note]) -> ResponseFormat | None:
    if form is None or form.schema is None:
        return form
    schema_form = facts.schema_form_in.get(form.wire_form, facts.format_schema_form)
    compiled = _compile(form.schema, facts, schema_form, bool(form.strict))
    if compiled is None:
        return form
    if form.strict and compiled.loses == "content":
        notes.append(Note("sent the answer's schema without `strict`", key="response_format", loses=Loss.METADATA))
        form = replace(form, strict=None)
        compiled = _compile(form.schema, facts, schema_form, False)
        if compiled is None:
            return form
    notes += [
        Note(
            f"the answer's schema{note.at}: {note.did}",
            key="response_format",
            loses=_LOSSES[note.loses],
            before=form.schema,
        )
        for note in compiled.notes
    ]
    return replace(form, schema=compiled.json)


def _rename_call(part: Part, renamed: dict[str, dict[str, str]]) -> Swap | None:
    """Calls of the history use the names of the schema that the target gets."""
    if type(part) is not Call or part.name not in renamed:
        return None
    arguments = rename_arguments(part.arguments, {own: new for new, own in renamed[part.name].items()})
    if arguments == part.arguments:
        return None
    return Swap((replace(part, arguments=arguments),), "renamed arguments as in the schema", Loss.NOTHING)
