"""A tool that only its own provider runs: web search, code execution.

Another provider cannot run it, and refuses it. The tool is left out. So is a tool choice that only its own dialect has.

Loses content: the model can no longer do what the tool did. Leaving out a choice loses metadata.

For `openai/gpt-4o`, from `anthropic`:

    {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 100,
     "tools": [{"type": "web_search_20250305", "name": "web_search"}]}
becomes
    {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 100}
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.settings import Settings
from dragoman.conversation.tools import ChoiceMode, NativeTool, Tool
from dragoman.conversation.traits import Trait
from dragoman.profiles.facts import Facts
from dragoman.rules.context import Context
from dragoman.rules.native_kinds import takes_tool
from dragoman.rules.rule import rule


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
    for tool in conversation.tools:
        if not isinstance(tool, NativeTool) or takes_tool(tool, facts):
            tools.append(tool)
        else:
            did = f"left out the {tool.kind or 'unnamed'} tool of {tool.origin.dialect}"
            notes.append(Note(did, key=tool.place, before=tool.json))
    settings = _choice(conversation.settings, facts, notes)
    if not notes:
        return Rewrite(conversation)
    changed = replace(conversation, tools=tuple(tools), settings=settings, empty_tools=False)
    return Rewrite(changed, tuple(notes))


def _choice(settings: Settings, facts: Facts, notes: list[Note]) -> Settings:
    choice = settings.tool_choice
    if choice is None or choice.mode is not ChoiceMode.NATIVE:
        return settings
    if choice.origin is not None and choice.origin.dialect == facts.dialect:
        return settings
    notes.append(Note("left out a tool choice that only its own dialect has", key="tool_choice", loses=Loss.METADATA))
    return replace(settings, tool_choice=None)
