"""A tool of a vendor's own that the client runs, for a target that does not know it: a shell, an editor, a screen.

The vendor's models know such a tool, so its declaration is little more than a name. Other models can use it all the
same: it becomes a function with the schema that the vendor has published. Its calls and results in the history become
those of the function, and a call in the answer comes back in the form that the client expects. A namespace of tools
becomes functions named `NAMESPACE__TOOL`, the first of which says what all are for. Tools that are declared among the
messages, or that a search found, go to the list of tools, and those that are taken away there leave it; what another
provider runs among them becomes the target's own tool of that kind, or is left out. If a name is taken, the function
gets another one, which the answer never shows. A call without its result, and a result without its call, are given as
those of a function also to a target that knows the tool, if it takes them in pairs alone (fact `paired_blocks`).

Loses metadata: which tools belong together, where in the conversation they were declared, and that the vendor's models
know them. Calls and results lose nothing but what functions have no place for, such as the safety checks of a click. A
tool that is left out is lost content, and so are the older words of one that is declared anew in others.

For `openai/gpt-4o`, from `openai-responses`:

    {"input": "Hi", "tools": [{"type": "namespace", "name": "files", "description": "Files.",
     "tools": [{"type": "function", "name": "read", "parameters": {"type": "object", "properties": {}}}]}]}
becomes
    {"messages": [{"role": "user", "content": "Hi"}], "tools": [{"type": "function", "function": {
     "name": "files__read", "description": "[All tools files__*: Files.]",
     "parameters": {"type": "object", "properties": {}}}}]}
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from fnmatch import fnmatchcase
from itertools import chain
from operator import is_
from typing import Any

import msgspec
from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.canonical import base62
from dragoman.conversation.changes import Loss, Note, Rewrite, Undo
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import ASSISTANT, MADE, TOOL, Message, Role
from dragoman.conversation.pairs import Spot, pair
from dragoman.conversation.parts import OURS, Call, Extras, Json, Opaque, Part, Reasoning, Result, StateKind
from dragoman.conversation.settings import Settings
from dragoman.conversation.tools import CallForm, ChoiceMode, NativeTool, Tool, ToolChoice, ToolSwitch
from dragoman.profiles.facts import Facts, Stance
from dragoman.rules.context import Context
from dragoman.rules.native_kinds import (
    DEFERRED,
    continues_stored_items,
    declare_as_own,
    find_strange_tools,
    is_given_as_meant,
    mixes_tools,
    stays,
    takes_tool,
)
from dragoman.rules.rule import rule
from dragoman.rules.top_level_fields import leave_out_refused


@rule(
    "client-tool",
    when=lambda facts: True,
    looks_for=traits.NATIVE_TOOLS | traits.OPAQUE,
    loses=Loss.METADATA,
)
def client_tool(conversation: Conversation, context: Context) -> Rewrite:
    facts = context.facts
    tools = _Tools(facts)
    parts = [part for message in conversation.messages for part in message.parts if type(part) is Opaque]
    unpaired = _find_unpaired(conversation, facts) if any(_needs_half(part, facts) for part in parts) else frozenset()
    late = [part for part in parts if id(part) in unpaired or is_given_as_meant(part, facts)]
    if not late and not any(tools.is_strange(tool) for tool in conversation.tools):
        return Rewrite(conversation)
    tools.declare(_provide(_find_declared(conversation, late), conversation, context, tools.notes))
    searches = [one.call_id for part in late if part.declares for one in part.meant or () if isinstance(one, Result)]
    history = _History(tools, frozenset(map(id, late)), unpaired, frozenset(searches))
    for message in conversation.messages:
        history.add(message)
    notes = [*tools.notes, *history.notes]
    settings = _name_choice(conversation.settings, tools, notes)
    if not notes and not late:
        return Rewrite(conversation)
    changed = replace(
        conversation,
        messages=tuple(history.messages),
        tools=tuple(tools.declared),
        settings=settings,
        extras=_with_flag(conversation.extras, tools.declared, facts, notes) if late else conversation.extras,
        empty_tools=conversation.empty_tools and not tools.declared,
    )
    return Rewrite(changed, tuple(notes), Undo(names=tools.names, calls=tools.calls))


def _with_flag(extras: Extras | None, tools: list[Tool | NativeTool], facts: Facts, notes: list[Note]) -> Extras | None:
    """The setting with which the target takes its own tools beside functions, if it needs that."""
    flag = facts.mixed_tools_flag
    run = any(isinstance(one, NativeTool) and not one.meant and one.kind not in facts.mixed_kinds for one in tools)
    if not flag or not run or not any(isinstance(one, Tool) for one in tools):
        return extras
    if extras is not None and extras.dialect != facts.dialect:
        extras = leave_out_refused(extras, facts, notes)
    fields = extras.fields if extras is not None else {}
    return extras if flag in fields else Extras(facts.dialect, {**fields, flag: b"true"})


class _Declared(msgspec.Struct, frozen=True):
    """A tool of the list, or of a block among the messages."""

    tool: Tool | NativeTool | ToolSwitch
    message: Message | None = None
    block: Opaque | None = None


def _find_declared(conversation: Conversation, late: Sequence[Opaque]) -> list[_Declared]:
    given = set(map(id, late))
    return [
        *map(_Declared, conversation.tools),
        *(
            _Declared(tool, message, part)
            for message in conversation.messages
            for part in message.parts
            if type(part) is Opaque and id(part) in given
            for tool in part.declares
        ),
    ]


def _find_unpaired(conversation: Conversation, facts: Facts) -> Set[int]:
    """The blocks that the target takes, but not without their other half, which is not there. As calls and results of
    functions they are repaired like those."""
    found = pair(conversation.messages)
    spots: list[Spot] = []
    if facts.missing_result is Stance.REFUSES:
        spots += found.unanswered
    if facts.repeated_result is Stance.REFUSES:
        spots += found.repeats
    if facts.orphan_result is Stance.REFUSES and found.orphans and not continues_stored_items(conversation, facts):
        spots += found.orphans
    parts = [conversation.messages[at].parts[index] for at, index in spots]
    return frozenset(id(part) for part in parts if type(part) is Opaque and _needs_half(part, facts))


def _needs_half(part: Opaque, facts: Facts) -> bool:
    in_pairs = any(fnmatchcase(part.kind, glob) for glob in facts.paired_blocks)
    return in_pairs and part.meant is not None and not is_given_as_meant(part, facts)


def _provide(
    declared: list[_Declared], conversation: Conversation, context: Context, notes: list[Note]
) -> list[_Declared]:
    """The target's own tools in place of those of a block that another provider runs. One of the list leaves it if it
    may not stand beside functions of a block."""
    if not any(one.block is not None for one in declared):
        return declared
    tools = tuple([one.tool for one in declared if not isinstance(one.tool, ToolSwitch)])
    whole = replace(conversation, tools=tools, extras=None)
    mixes = mixes_tools(whole, context.facts)
    strange = {id(one.native): one for one in find_strange_tools(whole, context)}
    provided: list[_Declared] = []
    for one in declared:
        tool, found = one.tool, strange.get(id(one.tool))
        if not isinstance(tool, NativeTool) or tool.meant is not None or stays(tool, context.facts, mixes):
            provided.append(one)
            continue
        own, did, loses = None, f"left out the {tool.kind or 'unnamed'} tool of {tool.origin.dialect}", Loss.CONTENT
        if found and found.written and not found.written.members:
            own, did, loses = declare_as_own(found, found.written, context.facts)
        after = own.json if own is not None else None
        notes.append(Note(did, one.message, one.block, tool.place, loses, before=tool.json, after=after))
        if own is not None and own.json and own not in [known.tool for known in provided]:
            provided.append(replace(one, tool=own))
    return provided


class _Tools(msgspec.Struct):
    """The list of tools on its way: what each vendor's tool became, and under which name."""

    facts: Facts
    declared: list[Tool | NativeTool] = []
    notes: list[Note] = []
    names: dict[str, str] = {}
    """The names that were made up, and the client's."""
    calls: dict[str, CallForm] = {}
    """How the client's dialect writes the calls, by the names that the target knows."""
    made: dict[str, str] = {}
    """The names of functions that stand for a vendor's tool, and what they became."""
    _marked: dict[str, list[tuple[CallForm, str]]] = {}
    """Functions whose calls say more than a name, by that name."""
    _kinds: dict[str, list[tuple[Json, list[Tool]]]] = {}
    """A vendor's tools and the functions that stand for them, by the kind of the tool."""
    _places: dict[str, int] = {}
    _used: set[str] = set()

    def is_strange(self, tool: Tool | NativeTool) -> bool:
        """Whether it is a tool that the target does not know, and that can be told otherwise."""
        return isinstance(tool, NativeTool) and tool.meant is not None and not takes_tool(tool, self.facts)

    def declare(self, declared: list[_Declared]) -> None:
        """Every tool once: those of the list, then those that came later. The newest of a name counts. What was taken
        away in the end is not declared."""
        on: dict[str, bool] = {}
        self._used = {one.tool.name for one in declared if isinstance(one.tool, Tool)}
        for one in declared:
            if isinstance(one.tool, ToolSwitch):
                on[one.tool.name] = one.tool.on
            elif one.block is not None and isinstance(one.tool, Tool):
                on[one.tool.name] = True
                self._put(replace(one.tool, at=-1))
            else:
                self._add(one.tool)
        if any(not made for tools in self._kinds.values() for _, made in tools):
            self.declared = [_show_at_once(tool) for tool in self.declared]
        if not all(on.values()):
            self.declared = [tool for tool in self.declared if on.get(_find_client_name(tool), True)]

    def _add(self, tool: Tool | NativeTool) -> None:
        if isinstance(tool, Tool) or not self.is_strange(tool):
            if isinstance(tool, Tool):
                self._places.setdefault(tool.name, len(self.declared))
            self.declared.append(tool)
            return
        made = [self._put(self._rename(function)) for function in tool.meant or ()]
        self._kinds.setdefault(tool.kind, []).append((tool.json, made))
        if tool.at >= 0 or tool.member:
            did = f"declared the {tool.kind} tool as {_functions(made)}"
            did = did if made else f"left out the {tool.kind} tool, since all tools are declared"
            self.notes.append(Note(did, key=tool.place, before=tool.json, after=tuple(made)))
        elif made and tool.origin == OURS:
            did = f"offered {_functions(made)} of a configured server of tools"
            self.notes.append(Note(did, key=tool.place, loses=Loss.NOTHING, kind="added", after=tuple(made)))

    def _put(self, tool: Tool) -> Tool:
        """The tool in the place of one with the same name, or at the end."""
        place = self._places.setdefault(tool.name, len(self.declared))
        if place == len(self.declared):
            self.declared.append(tool)
            return tool
        before, self.declared[place] = self.declared[place], tool
        if isinstance(before, Tool) and _describe_declaration(before) != _describe_declaration(tool):
            did = f"left out an earlier declaration of {_find_client_name(tool)}"
            self.notes.append(Note(did, key=before.place, loses=Loss.CONTENT, before=before, after=tool))
        return tool

    def _rename(self, function: Tool) -> Tool:
        form = function.called or CallForm(function.name)
        made = self.name_of(function.name)
        if made != form.name:
            self.names[made] = form.name
        if form.kind or form.fields or form.run:
            self.calls[made] = replace(form, custom=False)
        if form.fields:
            self._marked.setdefault(form.name, []).append((form, made))
        return replace(function, name=made)

    def name_of(self, name: str) -> str:
        """The name under which the target knows a function that stands for a vendor's tool."""
        made = self.made.get(name)
        if made is None:
            made = self.made[name] = f"{name}_{base62(name, length=8)}" if name in self._used else name
            self._used.add(made)
        return made

    def allow(self, choice: ToolChoice, notes: list[Note]) -> ToolChoice:
        """The choice among tools, with functions in place of the vendor's tools that they stand for."""
        names = [name for kind, entry in choice.vendor for name in self._find_named(kind, entry)]
        if not names:
            return choice
        rest = tuple([one for one in choice.vendor if one[0] not in self._kinds])
        made = replace(choice, names=(*choice.names, *names), vendor=rest, origin=choice.origin if rest else None)
        did = "named the functions that stand for tools"
        notes.append(Note(did, key="tool_choice", loses=Loss.NOTHING, before=choice, after=made))
        return made

    def force(self, choice: ToolChoice, notes: list[Note]) -> ToolChoice | None:
        """A choice of a vendor's tool, as one of the functions that stand for it."""
        entry = choice.json or b"{}"
        kind = str(_members(entry).get("type", ""))
        if kind not in self._kinds:
            return choice
        names = self._find_named(kind, entry)
        if not names:
            notes.append(Note("left out the tool choice: there is no such tool", key="tool_choice", before=choice))
            return None
        several = len(names) > 1
        made = ToolChoice(ChoiceMode.ALLOWED if several else ChoiceMode.NAMED, tuple(names), must=several)
        did = "named the functions that stand for the tool"
        notes.append(Note(did, key="tool_choice", loses=Loss.NOTHING, before=choice, after=made))
        return made

    def qualify(self, choice: ToolChoice, notes: list[Note]) -> ToolChoice:
        """The choice with the whole names of functions that it names by their last part."""
        whole = [self._whole_names(name) for name in choice.names]
        names = tuple(chain.from_iterable(whole))
        if names == choice.names:
            return choice
        several = choice.mode is ChoiceMode.NAMED and len(names) > 1
        made = ToolChoice(ChoiceMode.ALLOWED if several else choice.mode, names, must=choice.must or several)
        notes.append(
            Note("named the tool by its whole name", key="tool_choice", loses=Loss.NOTHING, before=choice, after=made)
        )
        return made

    def _whole_names(self, name: str) -> Sequence[str]:
        made = [whole for _, whole in self._marked.get(name, ())]
        return made if made and name not in self._places else (name,)

    def _find_named(self, kind: str, entry: Json) -> list[str]:
        """The functions that stand for the tools that an entry of a choice names: by what it says of them besides their
        kind, such as the label of a server, and by the name of one of its tools."""
        given = {name: value for name, value in _members(entry).items() if name != "type"}
        names: list[str] = []
        for declared, functions in self._kinds.get(kind, ()):
            known = _members(declared)
            differs = {name for name, value in given.items() if known.get(name) != value}
            if differs - {"name"}:
                continue
            single = given["name"] if differs else None
            names += [one.name for one in functions if single is None or _find_client_name(one) == single]
        return names

    def renamed_call(self, call: Call) -> Call:
        """A call that says more than a name, such as a namespace, as that of the function which stands for both."""
        extras = call.extras
        for form, made in self._marked.get(call.name, ()) if extras is not None else ():
            if extras is not None and form.fields.items() <= extras.fields.items():
                return replace(call, name=made, extras=extras.without(form.fields))
        return call


def _find_client_name(tool: Tool | NativeTool) -> str:
    if isinstance(tool, NativeTool):
        return ""
    return tool.called.name if tool.called is not None else tool.name


def _describe_declaration(tool: Tool) -> tuple[Any, ...]:
    """What the model reads of a tool."""
    schema = tool.schema and msgspec.json.decode(tool.schema)
    return tool.name, tool.description, schema, tool.strict, tool.custom


def _functions(tools: list[Tool]) -> str:
    return f"the function {tools[0].name}" if len(tools) == 1 else f"{len(tools)} functions"


class _History(msgspec.Struct):
    """The messages on their way. A call joins the turn that it belongs to, a result the results beside it."""

    tools: _Tools
    late: Set[int]
    """The blocks that are given as what they mean."""
    unpaired: Set[int]
    """Those of them that the target takes in pairs alone."""
    searches: Set[str]
    """The ids of calls that found tools."""
    messages: list[Message] = []
    notes: list[Note] = []
    _made: bool = False
    """Whether the last message ends in a call or a result that was a block."""
    _asked: set[str] = set()

    def add(self, message: Message) -> None:
        if not any(type(part) is Opaque or type(part) is Call for part in message.parts):
            self._join(message) if self._made and message.role is TOOL else self._append(message)
            return
        parts = tuple([self._rename(message, part) for part in message.parts])
        if not any(self._is_meant(part) for part in parts):
            made = message if all(map(is_, parts, message.parts)) else replace(message, parts=parts)
            calls = any(type(part) is Call for part in parts)
            self._join(made) if self._made and calls else self._append(made)
            return
        if message.role is not ASSISTANT:
            rest = tuple(self._meanings(message, parts))
            if rest:
                self._append(replace(message, parts=rest))
            return
        for role, run in _runs(self._meanings(message, parts)):
            listed = message.listed and not all(type(part) is Call for part in run)
            self._join(replace(message, role=role, parts=run, listed=listed))
            self._made = True

    def _append(self, message: Message) -> None:
        self.messages.append(message)
        self._made = False

    def _join(self, message: Message) -> None:
        """The message as one with the last of the same role."""
        last = self.messages[-1] if self.messages else None
        if last is None or last.role is not message.role or last.role_text or last.name is not None:
            self._append(message)
            return
        span = max(message.at + message.span - last.at, last.span)
        self.messages[-1] = replace(last, parts=_join_turns(last.parts, message.parts), span=span)

    def _rename(self, message: Message, part: Part) -> Part:
        made = self.tools.renamed_call(part) if type(part) is Call else part
        if made is not part:
            did = "called the tool by its whole name"
            self.notes.append(Note(did, message, part, loses=Loss.NOTHING, before=part, after=made))
        return made

    def _is_meant(self, part: Part) -> bool:
        """Whether a block is given as what it means: the target does not take the block, or not its tool."""
        if type(part) is not Opaque or part.meant is None:
            return False
        return id(part) in self.late or any(self._is_strange(one) for one in part.meant)

    def _is_strange(self, part: Part) -> bool:
        if isinstance(part, Call):
            return part.name in self.tools.made
        return isinstance(part, Result) and part.call_id in self._asked

    def _meanings(self, message: Message, parts: tuple[Part, ...]) -> Iterator[Part]:
        for part in parts:
            if not self._is_meant(part) or type(part) is not Opaque:
                yield part
                continue
            # One by one: what came of a search is needed only if its call was given before it.
            named = self._meaning if id(part) not in self.unpaired else _itself
            meant = tuple([named(one) for one in part.meant or () if not self._is_needless(one)])
            beside = [one.extras for one in meant if one.extras and one.extras.dialect == part.origin.dialect]
            unsaid = ", ".join(chain.from_iterable(extras.fields for extras in beside))
            meant = tuple([replace(one, extras=None) for one in meant]) if unsaid else meant
            did = f"wrote {part.kind} as {_words(meant)}" if meant else _list_change(part)
            did = f"{did}, without {unsaid}" if unsaid else did
            loses = Loss.NOTHING if meant and not part.declares and not unsaid else Loss.METADATA
            if message.at != MADE or part.origin != OURS:  # else it is no message of the client's
                self.notes.append(Note(did, message, part, loses=loses, before=part, after=meant or None))
            yield from meant

    def _is_needless(self, part: Part) -> bool:
        """Whether it belongs to a search that is no tool of this request: what it found is declared."""
        if isinstance(part, Call):
            return part.id in self.searches and part.name not in self.tools.made
        return isinstance(part, Result) and part.call_id in self.searches - self._asked

    def _meaning(self, part: Part) -> Part:
        if not isinstance(part, Call):
            return part
        self._asked.add(part.id)
        return replace(part, name=self.tools.name_of(part.name))


def _itself(part: Part) -> Part:
    return part


def _show_at_once(tool: Tool | NativeTool) -> Tool | NativeTool:
    """The tool as one that the model sees at once, since nothing searches for it."""
    if isinstance(tool, NativeTool) or tool.extras is None or DEFERRED not in tool.extras.fields:
        return tool
    fields = {name: value for name, value in tool.extras.fields.items() if name != DEFERRED}
    return replace(tool, extras=replace(tool.extras, fields=fields) if fields else None)


def _list_change(part: Opaque) -> str:
    """What was done to the list of tools in place of a block."""
    changes = part.declares
    if any(isinstance(change, ToolSwitch) and not change.on for change in changes):
        return f"took the tool of {part.kind} out of the list"
    if all(isinstance(change, ToolSwitch) for change in changes):
        return f"left out {part.kind}, since all tools are declared"
    return f"declared the tools of {part.kind} in the list"


def _words(meant: tuple[Part, ...]) -> str:
    return "the call of a function" if isinstance(meant[0], Call) else "the result of a function"


def _runs(parts: Iterator[Part]) -> Iterator[tuple[Role, tuple[Part, ...]]]:
    """The parts by the role that says them, in their order."""
    run: list[Part] = []
    last = ASSISTANT
    for part in parts:
        role = TOOL if type(part) is Result else ASSISTANT
        if run and role is not last:
            yield last, tuple(run)
            run = []
        run.append(part)
        last = role
    if run:
        yield last, tuple(run)


def _join_turns(before: tuple[Part, ...], after: tuple[Part, ...]) -> tuple[Part, ...]:
    """Both, as one turn. Thinking that is nothing but the state of the call after it goes to that call."""
    match before[-1:], after[:1]:
        case (Reasoning(text=None, state=Opaque(kind=StateKind.THOUGHT) as state),), (Call() as call,):
            return (*before[:-1], replace(call, signature=state), *after[1:])
    return before + after


def _members(entry: Json) -> dict[str, Any]:
    found = msgspec.json.decode(entry)
    return found if isinstance(found, dict) else {}


def _name_choice(settings: Settings, tools: _Tools, notes: list[Note]) -> Settings:
    """A choice of a vendor's tool names its function."""
    choice = settings.tool_choice
    if choice is not None and choice.vendor:
        return replace(settings, tool_choice=tools.allow(choice, notes))
    if choice is None or (choice.mode is not ChoiceMode.NATIVE and not choice.names):
        return settings
    if choice.mode is not ChoiceMode.NATIVE:
        return replace(settings, tool_choice=tools.qualify(choice, notes))
    if not choice.names:
        return replace(settings, tool_choice=tools.force(choice, notes))
    if any(name not in tools.made for name in choice.names):
        return settings
    made = replace(choice, mode=ChoiceMode.NAMED, names=tuple(tools.made[name] for name in choice.names), json=None)
    note = Note("named the function that stands for the tool", key="tool_choice", loses=Loss.NOTHING, before=choice)
    notes.append(note)
    return replace(settings, tool_choice=replace(made, origin=None))
