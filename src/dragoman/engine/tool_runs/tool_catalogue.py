"""Tools that a client wants found by searching: which they are, finding some by words, and holding the others back.

Only tools that the client itself deferred are held back, and only beside its vendor's search tool. What was found is
declared after all other tools, in the order in which it was found, so that the prompt before it stays the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import unquote
from dragoman.conversation.parts import OURS, Call, Opaque
from dragoman.conversation.tools import NativeTool, Tool
from dragoman.rules.native_kinds import DEFERRED, is_deferred

MOST_FOUND = 5
_FOUND = "found"
_LONGEST_QUERY = 1000
_WORD = re.compile(r"[^\W_]{2,64}")
_WORDS_OF_TOOL = 512
_LETTERS_OF_TOOL = 4096
"""What is read of a description, or of all arguments: the catalogue is read for each search."""
_NAMED = 4
"""A word in a tool's name counts as much as so many words elsewhere."""


def find_deferred(tools: Iterable[Tool | NativeTool]) -> tuple[Tool, ...]:
    """The functions that are to be found by searching, those of namespaces too."""
    functions = [one for tool in tools for one in ((tool,) if isinstance(tool, Tool) else tool.meant or ())]
    return tuple([_show(one) for one in functions if is_deferred(one)])


def _show(tool: Tool) -> Tool:
    """The tool as one that is not deferred."""
    assert tool.extras is not None
    return replace(tool, extras=tool.extras.without({DEFERRED}), at=-1)


def without_deferred(conversation: Conversation, catalogue: Sequence[Tool]) -> Conversation:
    """The conversation without the tools of the catalogue, but for those that were called before."""
    names = {tool.name for tool in catalogue}
    called = {part.name for message in conversation.messages for part in message.parts if type(part) is Call}
    found = [part for message in conversation.messages for part in message.parts if type(part) is Opaque]
    known = {tool.name for part in found for tool in _functions(part.declares)}
    missed = [tool for tool in catalogue if tool.name in called - known]
    kept: list[Tool | NativeTool] = []
    for tool in conversation.tools:
        if isinstance(tool, NativeTool) and tool.meant:
            meant = tuple([one for one in tool.meant if one.name not in names])
            kept += [tool if len(meant) == len(tool.meant) else replace(tool, meant=meant)]
        elif isinstance(tool, NativeTool) or tool.name not in names:
            kept.append(tool)
    return replace(conversation, tools=(*kept, *declare_found(missed)))


def _functions(tools: Iterable[Tool | NativeTool]) -> list[Tool]:
    return [one for tool in tools for one in ((tool,) if isinstance(tool, Tool) else tool.meant or ())]


def declare_found(tools: Sequence[Tool]) -> tuple[Tool | NativeTool, ...]:
    """Tools as they are declared once they are found. One whose calls have a form of their own stands for its tool."""
    return tuple([tool if tool.called is None else NativeTool(_FOUND, b"{}", OURS, meant=(tool,)) for tool in tools])


def search_tools(catalogue: Sequence[Tool], query: str) -> tuple[Tool, ...]:
    """The tools that fit the words best, the best first. A tool whose name is given is among them."""
    wanted = set(_WORD.findall(query[:_LONGEST_QUERY].lower()))
    scored = [(-_score(tool, wanted, query), number) for number, tool in enumerate(catalogue)]
    return tuple([catalogue[number] for score, number in sorted(scored) if score < 0][:MOST_FOUND])


def _score(tool: Tool, wanted: set[str], query: str) -> int:
    named = set(_WORD.findall(tool.name.lower()))
    described = unquote(tool.description)[:_LETTERS_OF_TOOL] if tool.description else ""
    about = {*named, *_WORD.findall(described.lower())[:_WORDS_OF_TOOL]}
    about.update(_argument_words(tool))
    exact = 1000 if tool.name.lower() in query[:_LONGEST_QUERY].lower() else 0
    return exact + _NAMED * len(wanted & named) + len(wanted & about)


class _Argument(msgspec.Struct):
    description: str = ""


class _Schema(msgspec.Struct):
    properties: dict[str, _Argument] = {}


def _argument_words(tool: Tool) -> list[str]:
    """The words of the arguments' names and descriptions."""
    try:
        found = msgspec.json.decode(tool.schema or b"{}", type=_Schema).properties
    except (msgspec.MsgspecError, RecursionError):
        return []
    texts = [text for name, argument in found.items() for text in (name, argument.description)]
    return _WORD.findall(" ".join(texts)[:_LETTERS_OF_TOOL].lower())[:_WORDS_OF_TOOL]


def describe_found(tools: Sequence[Tool]) -> str:
    """What the model reads of a search."""
    if not tools:
        return "No tool fits these words. Try others."
    lines = [f"- {tool.name}: {unquote(tool.description) if tool.description else ''}" for tool in tools]
    return "\n".join(["These tools can be called from now on:", *lines])
