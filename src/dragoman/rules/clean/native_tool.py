"""A tool that another provider runs: web search, fetching pages, code, a server of tools, searching tools.

The target's provider may run a tool of its own that does the same, and take it beside the other tools of the request.
Then that tool is declared, in the provider's other API if only that has it. Settings that it has too go along, the
others are named in the report. A server of tools goes to another provider only with everything that it asks for: the
tools that may be called, and those for which the client wants to be asked. Tools that are to be found by a search stay
so. A tool in the words of another vendor than the dialect's own (`google_search` in Chat) is read as that vendor's.

A member of the target's own tool that the target refuses (fact `refused_tool_fields`) is taken out.

If there is no such tool, it is left out, unless the gateway runs it. So is a choice of a tool that is left out, and a
choice that only its own dialect has.

Loses content if a tool is left out: the model can no longer do what it did. A limit that the other tool does not have
loses authority, any other setting metadata, and so does a choice that is left out.

For `deepseek/deepseek-chat`, from `anthropic`:

    {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 100,
     "tools": [{"type": "web_search_20250305", "name": "web_search"}]}
becomes
    {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 100}

For `openai-responses/gpt-4.1`, from `anthropic`:

    {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 100,
     "tools": [{"type": "web_search_20250305", "name": "web_search", "allowed_domains": ["example.com"]}]}
becomes
    {"input": [{"type": "message", "role": "user", "content": "Hi"}], "max_output_tokens": 100, "store": false,
     "tools": [{"type": "web_search", "filters": {"allowed_domains": ["example.com"]}}]}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.parts import Extras, Json
from dragoman.conversation.settings import Settings
from dragoman.conversation.tools import ChoiceMode, NativeTool, Tool, ToolChoice
from dragoman.profiles.facts import Facts, Stance
from dragoman.rules.context import Context
from dragoman.rules.native_kinds import (
    DEFERRED,
    SEARCHED,
    StrangeTool,
    declare_as_own,
    find_strange_tools,
    has_functions,
    mixes_tools,
    stays,
    takes_tool,
)
from dragoman.rules.part_words import MARKS
from dragoman.rules.rule import rule
from dragoman.rules.top_level_fields import leave_out_refused
from dragoman.wire.json_reader import render_object, split_members

Tools = Sequence[Tool | NativeTool]


@rule(
    "native-tool",
    when=lambda facts: True,
    looks_for=traits.NATIVE_TOOLS | traits.SETTINGS | traits.TOP_EXTRAS,
    loses=Loss.CONTENT,
    top_level=True,
)
def native_tool(conversation: Conversation, context: Context) -> Rewrite:
    facts = context.facts
    notes: list[Note] = []
    found = find_strange_tools(conversation, context)
    tools = _declare(conversation, found, facts, notes)
    extras = _declare_members(conversation, found, facts, notes)
    settings = _choose(conversation.settings, tools, found, context, notes)
    if not notes:
        return Rewrite(conversation)
    changed = replace(conversation, tools=tuple(tools), settings=settings, extras=extras, empty_tools=False)
    return Rewrite(changed, tuple(notes))


# Tools


def _declare(conversation: Conversation, found: list[StrangeTool], facts: Facts, notes: list[Note]) -> Tools:
    """The tools, with the target's own in place of those that it does not take."""
    by_entry = {id(one.native): one for one in found if one.native is not None}
    tools: list[Tool | NativeTool] = []
    entries: set[Json] = set()
    mixes = mixes_tools(conversation, facts)
    for tool in conversation.tools:
        strange = by_entry.get(id(tool))
        if strange is not None and strange.written is not None:
            tools += _declare_own(strange, facts, entries, notes)
        elif not isinstance(tool, NativeTool) or tool.meant is not None or (not strange and stays(tool, facts, mixes)):
            tools.append(tool)
        else:
            did = f"left out the {tool.kind or 'unnamed'} tool of {tool.origin.dialect}"
            did = f"{did}: not beside functions" if takes_tool(tool, facts) else did
            loses = Loss.METADATA if tool.kind in MARKS else None
            notes.append(Note(did, key=tool.place, loses=loses, before=tool.json))
    for strange in found:
        if strange.native is None and strange.written is not None:
            tools += [replace(own, member=strange.place) for own in _declare_own(strange, facts, entries, notes)]
    if facts.refused_tool_fields:
        tools = [_without_refused(tool, facts, notes) for tool in tools]
    if any(one.tool.family is SEARCHED and one.written is not None for one in found):
        return [_defer(tool, facts) for tool in tools]
    return tools


def _without_refused(tool: Tool | NativeTool, facts: Facts, notes: list[Note]) -> Tool | NativeTool:
    """The target's own tool without the members of it that the target refuses, although its dialect has them."""
    if not isinstance(tool, NativeTool) or tool.meant is not None:
        return tool
    members = split_members(tool.json)
    gone = [name for name in members if f"{tool.kind}.{name}" in facts.refused_tool_fields]
    if not gone:
        return tool
    made = replace(tool, json=render_object({name: members[name] for name in members if name not in gone}))
    did = f"took {', '.join(f'`{name}`' for name in gone)} out of the {tool.kind} tool"
    notes.append(Note(did, key=tool.place, loses=Loss.METADATA, before=tool.json, after=made.json))
    return made


def _declare_own(strange: StrangeTool, facts: Facts, entries: set[Json], notes: list[Note]) -> list[NativeTool]:
    """The target's own tool, declared once, although two of the client's may become the same one."""
    if strange.written is None:
        return []
    own, did, loses = declare_as_own(strange, strange.written, facts)
    before = strange.native.json if strange.native is not None else None
    notes.append(Note(did, key=strange.place, loses=loses, before=before, after=own.json))
    if not own.json or own.json in entries:
        return []
    entries.add(own.json)
    return [own]


def _defer(tool: Tool | NativeTool, facts: Facts) -> Tool | NativeTool:
    """The tool in the target's words, if it is shown only once it is found."""
    if isinstance(tool, NativeTool):
        functions = tuple([_defer_function(one, facts) for one in tool.meant or ()])
        return replace(tool, meant=functions) if functions else tool
    return _defer_function(tool, facts)


def _defer_function(tool: Tool, facts: Facts) -> Tool:
    if tool.extras is None or tool.extras.fields.get(DEFERRED) != b"true" or tool.extras.dialect == facts.dialect:
        return tool
    return replace(tool, extras=Extras(facts.dialect, {DEFERRED: b"true"}))


# Members


def _declare_members(
    conversation: Conversation, found: list[StrangeTool], facts: Facts, notes: list[Note]
) -> Extras | None:
    """The members at the top level, with those that declare the target's own tools."""
    extras = conversation.extras
    written = [one for one in found if one.written is not None]
    gone = {one.member for one in written}
    added: dict[str, Json] = {}
    for one in written:
        for name, value in one.written.members.items() if one.written is not None else ():
            added[name] = _join(added.get(name), value)
    if _needs_flag(conversation, found, facts):
        added[facts.mixed_tools_flag] = b"true"
        if not written:
            notes.append(Note("asked for tools of both kinds", key=facts.mixed_tools_flag, loses=Loss.NOTHING))
    if extras is not None:
        extras = extras.without(gone)
    if not added:
        return extras
    if extras is not None and extras.dialect != facts.dialect:
        extras = leave_out_refused(extras, facts, notes)
    kept: Mapping[str, Json] = extras.fields if extras is not None else {}
    return Extras(facts.dialect, {**kept, **added})


def _needs_flag(conversation: Conversation, found: list[StrangeTool], facts: Facts) -> bool:
    """Whether the target wants a setting for its own tools beside functions, and the client has not given it."""
    name, extras = facts.mixed_tools_flag, conversation.extras
    if facts.mixed_tools is Stance.REFUSES:
        return False
    if not name or not has_functions(conversation) or (extras is not None and extras.fields.get(name) == b"true"):
        return False
    strange = {id(one.native) for one in found}
    own = [
        tool.kind
        for tool in conversation.tools
        if isinstance(tool, NativeTool) and not tool.meant and id(tool) not in strange and takes_tool(tool, facts)
    ]
    own += [facts.provider_tools[one.tool.family] for one in found if one.written is not None]
    return not set(facts.mixed_kinds).issuperset(own)


def _join(before: Json | None, value: Json) -> Json:
    """Both lists as one, or the later value."""
    if before is None or value[:1] != b"[":
        return value
    return before[:-1] + b"," + value[1:]


# The choice


def _choose(
    settings: Settings, tools: Tools, found: list[StrangeTool], context: Context, notes: list[Note]
) -> Settings:
    facts, choice = context.facts, settings.tool_choice
    if choice is None:
        return settings
    if choice.vendor:
        return replace(settings, tool_choice=_allow(choice, tools, found, facts, notes))
    named = _find_chosen(choice, tools, found, context)
    if named is not None:
        return _force(settings, named, tools, facts, notes)
    if choice.mode is ChoiceMode.REQUIRED and found and not any(isinstance(tool, Tool) or tool.meant for tool in tools):
        return settings if _can_force(facts) else _leave_out(settings, "no function is declared", notes)
    if choice.mode is not ChoiceMode.NATIVE or (choice.origin is not None and choice.origin.dialect == facts.dialect):
        return settings
    if any(isinstance(tool, NativeTool) and tool.meant and tool.kind == _find_kind(choice, context) for tool in tools):
        return settings  # it names a tool that functions stand for: `client-tool` names those
    return _leave_out(settings, "", notes)


def _allow(choice: ToolChoice, tools: Tools, found: list[StrangeTool], facts: Facts, notes: list[Note]) -> ToolChoice:
    """The choice among tools, with the target's own in place of those that it does not take, and without those that
    are not there. If nothing else may be called, nothing may."""
    kinds = {tool.kind: tool.kind for tool in tools if isinstance(tool, NativeTool)}
    for one in found:
        if one.native is not None and one.written is not None:
            kinds[one.native.kind] = one.written.kind or facts.provider_tools[one.tool.family]
    kept = tuple([(kinds[kind], json) for kind, json in choice.vendor if kind in kinds])
    if kept == choice.vendor:
        return choice
    made = replace(choice, vendor=kept, origin=choice.origin if kept else None)
    if not kept and not choice.names:
        made = ToolChoice(ChoiceMode.NONE)
    loses = Loss.METADATA if len(kept) < len(choice.vendor) else Loss.NOTHING
    did = "named the tools that the target has in the tool choice"
    notes.append(Note(did, key="tool_choice", loses=loses, before=choice, after=made))
    return made


def _find_chosen(choice: ToolChoice, tools: Tools, found: list[StrangeTool], context: Context) -> StrangeTool | None:
    """The tool of another provider that must be called."""
    name = choice.names[0] if choice.mode is ChoiceMode.NAMED and len(choice.names) == 1 else ""
    name = name or _find_kind(choice, context)
    if not name or any(isinstance(tool, Tool) and tool.name == name for tool in tools):
        return None
    return next((one for one in found if one.tool.name == name), None)


def _find_kind(choice: ToolChoice, context: Context) -> str:
    """The tool that a choice names which only its own dialect has; empty if it is no such choice."""
    if choice.mode is not ChoiceMode.NATIVE or choice.origin is None or choice.json is None:
        return ""
    codec = context.tool_codec(choice.origin.dialect)
    return codec.parse_choice(choice.json) if codec is not None else ""


def _force(settings: Settings, named: StrangeTool, tools: Tools, facts: Facts, notes: list[Note]) -> Settings:
    """A tool that a provider runs cannot be named elsewhere. If it is the only one, some tool is this tool."""
    if named.written is None or len(tools) != 1 or not _can_force(facts):
        return _leave_out(settings, "", notes)
    made = ToolChoice(ChoiceMode.REQUIRED)
    did, before = "asked for a call of some tool", settings.tool_choice
    notes.append(Note(did, key="tool_choice", loses=Loss.NOTHING, before=before, after=made))
    return replace(settings, tool_choice=made)


def _can_force(facts: Facts) -> bool:
    return facts.forced_provider_tool is Stance.ACCEPTS


def _leave_out(settings: Settings, why: str, notes: list[Note]) -> Settings:
    did = f"left out the tool choice: {why}" if why else "left out a tool choice that only its own dialect has"
    notes.append(Note(did, key="tool_choice", loses=Loss.METADATA))
    return replace(settings, tool_choice=None)
