"""A tool that only its own provider runs: web search, code execution, a namespace of tools.

Another provider cannot run it, and refuses it. The functions of a namespace become tools of their own, named
`NAMESPACE__TOOL`; calls in the answer get their own name back. Any other tool is left out. So is a tool choice that
only its own dialect has.

Loses content: the model can no longer do what the tool did. Unpacking a namespace and leaving out a choice lose
metadata.

For `openai/gpt-4o`, from `anthropic`:

    {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 100,
     "tools": [{"type": "web_search_20250305", "name": "web_search"}]}
becomes
    {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 100}
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

import msgspec

from dragoman.conversation.changes import Loss, Note, Rewrite, Undo
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import quote
from dragoman.conversation.settings import Settings
from dragoman.conversation.tools import ChoiceMode, NativeTool, Tool
from dragoman.conversation.traits import Trait
from dragoman.profiles.facts import Facts
from dragoman.rules.context import Context
from dragoman.rules.rule import rule

NAMESPACE = "namespace"


@rule(
    "native-tool",
    when=lambda facts: True,
    looks_for=Trait.NATIVE_TOOLS | Trait.SETTINGS,
    loses=Loss.CONTENT,
    top_level=True,
)
def native_tool(conversation: Conversation, context: Context) -> Rewrite:
    facts = context.facts
    notes: list[Note] = []
    tools: list[Tool | NativeTool] = []
    names: dict[str, str] = {}
    for tool in conversation.tools:
        if not isinstance(tool, NativeTool) or _taken(tool, facts):
            tools.append(tool)
        elif tool.kind == NAMESPACE:
            tools += _unpacked(tool, names, notes)
        else:
            did = f"left out the {tool.kind or 'unnamed'} tool of {tool.origin.dialect}"
            notes.append(Note(did, key=tool.place, before=tool.json))
    settings = _choice(conversation.settings, facts, notes)
    if not notes:
        return Rewrite(conversation)
    changed = conversation.but(tools=tuple(tools), settings=settings, empty_tools=False)
    return Rewrite(changed, tuple(notes), Undo(names=names))


def _taken(tool: NativeTool, facts: Facts) -> bool:
    return tool.origin.dialect == facts.dialect and any(fnmatchcase(tool.kind, glob) for glob in facts.native_tools)


def _choice(settings: Settings, facts: Facts, notes: list[Note]) -> Settings:
    choice = settings.tool_choice
    if choice is None or choice.mode is not ChoiceMode.NATIVE:
        return settings
    if choice.origin is not None and choice.origin.dialect == facts.dialect:
        return settings
    notes.append(Note("left out a tool choice that only its own dialect has", key="tool_choice", loses=Loss.METADATA))
    return settings.but(tool_choice=None)


def _unpacked(tool: NativeTool, names: dict[str, str], notes: list[Note]) -> list[Tool]:
    wire: dict[str, Any] = msgspec.json.decode(tool.json)
    space = str(wire.get("name", ""))
    found: list[Tool] = []
    for entry in wire.get("tools", ()):
        if not isinstance(entry, dict) or entry.get("type") != "function" or "name" not in entry:
            notes.append(Note(f"left out a tool of the namespace {space}", key=tool.place, before=entry))
            continue
        name = f"{space}__{entry['name']}"
        names[name] = entry["name"]
        found.append(_function(entry, name, tool.at))
    did = f"unpacked the namespace {space} into tools"
    notes.append(Note(did, key=tool.place, loses=Loss.METADATA, before=tool.json, after=tuple(found)))
    return found


def _function(entry: dict[str, Any], name: str, at: int) -> Tool:
    parameters = entry.get("parameters")
    description = entry.get("description")
    return Tool(
        name,
        quote(description) if isinstance(description, str) else None,
        msgspec.json.encode(parameters) if isinstance(parameters, dict) else None,
        entry.get("strict") if isinstance(entry.get("strict"), bool) else None,
        at=at,
    )
