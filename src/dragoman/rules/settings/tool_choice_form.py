"""A tool choice that the target does not take.

A choice is refused if no tools are declared, or if the target does not know its kind. Without tools the choice is left
out, and the name of a tool that is not there for every target. A forced choice becomes `auto`. A choice among some
tools becomes `required` or `auto`. Only these tools are sent then, besides those that the history calls and the target
wants declared. A target that can be made to call some tool, and not a certain one, is sent that one tool alone. One
vendor's word (`any`) becomes the dialect's own (`required`). A target that knows no choice at all gets none. If no tool
may be called and the target has no word for that, the tools are left out, unless the history calls some and the target
wants these declared.

Loses metadata. Leaving out `auto`, leaving out a choice without tools and using the dialect's own word lose nothing.

For `openai/gpt-4o`:

    {"messages": [{"role": "user", "content": "Hi"}], "tool_choice": "auto"}
becomes
    {"messages": [{"role": "user", "content": "Hi"}]}
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.parts import Call
from dragoman.conversation.tools import ChoiceMode, NativeTool, Tool, ToolChoice
from dragoman.profiles.facts import Facts, Stance
from dragoman.rules.context import Context
from dragoman.rules.rewriting import rewrite_settings
from dragoman.rules.rule import rule

NO_PARALLEL = Note("left out parallel_tool_calls without tools", key="parallel_tool_calls", loses=Loss.NOTHING)
ODD_SPELLINGS = ("any", "typeless")
"""Spellings of a choice that are one vendor's own; they mean what the dialect says in its own words."""


@rule(
    "tool-choice-form",
    spelling=True,
    when=lambda facts: True,
    looks_for=traits.CHOICE,
    loses=Loss.METADATA,
)
def tool_choice_form(conversation: Conversation, context: Context) -> Rewrite:
    facts = context.facts
    settings = conversation.settings
    choice = settings.tool_choice
    notes: list[Note] = []
    changes: dict[str, Any] = {}
    if not conversation.tools and (
        facts.choice_without_tools is Stance.REFUSES or (choice is not None and choice.mode is ChoiceMode.NAMED)
    ):
        if choice is not None:
            changes["tool_choice"] = None
            notes.append(
                Note("left out a tool choice without tools", key="tool_choice", loses=Loss.NOTHING, before=choice)
            )
        if settings.parallel_tool_calls is not None:
            changes["parallel_tool_calls"] = None
            notes.append(NO_PARALLEL)
        return rewrite_settings(conversation, notes, **changes)
    if choice is None:
        return Rewrite(conversation)
    formed = _form(choice, facts)
    loses = Loss.METADATA
    if formed == choice:
        if not _is_odd(choice, facts):
            return Rewrite(conversation)
        formed, loses = replace(choice, wire_form=""), Loss.NOTHING
    elif formed is None and choice.mode is ChoiceMode.AUTO:
        loses = Loss.NOTHING  # it is what the model does anyway
    note = Note(
        "wrote the tool choice in a form that the target takes",
        key="tool_choice",
        loses=loses,
        before=choice,
        after=formed,
    )
    done = rewrite_settings(conversation, [note], tool_choice=formed)
    if formed is None and choice.mode is ChoiceMode.NONE and not _wants_tools(conversation, facts):
        return _without_tools(done)
    return _keep_chosen(done, choice, facts) if _stands_for_some(choice, formed) else done


def _wants_tools(conversation: Conversation, facts: Facts) -> bool:
    """Must the tools stay because of calls in the history?"""
    return not conversation.tools or bool(_find_called(conversation, facts))


def _find_called(conversation: Conversation, facts: Facts) -> set[str]:
    """The tools that must stay declared because the history calls them."""
    if facts.undeclared_tools is Stance.ACCEPTS:
        return set()
    return {part.name for message in conversation.messages for part in message.parts if type(part) is Call}


def _without_tools(done: Rewrite) -> Rewrite:
    note = Note("left out the tools, of which none may be called", key="tools", before=done.conversation.tools)
    settings = done.conversation.settings
    if settings.parallel_tool_calls is None:
        return Rewrite(replace(done.conversation, tools=()), (*done.notes, note))
    settings = replace(settings, parallel_tool_calls=None)
    return Rewrite(replace(done.conversation, tools=(), settings=settings), (*done.notes, note, NO_PARALLEL))


def _stands_for_some(choice: ToolChoice, formed: ToolChoice | None) -> bool:
    """Were certain tools chosen, and does the choice no longer say which?"""
    if choice.mode is ChoiceMode.ALLOWED:
        return formed is None or formed.mode is not ChoiceMode.ALLOWED
    return choice.mode is ChoiceMode.NAMED and formed is not None and formed.mode is ChoiceMode.REQUIRED


def _keep_chosen(done: Rewrite, choice: ToolChoice, facts: Facts) -> Rewrite:
    """The tools that may be called, if they are declared beside others."""
    tools, names = done.conversation.tools, {*choice.names, *_find_called(done.conversation, facts)}
    kinds = {kind for kind, _ in choice.vendor}
    kept = tuple([tool for tool in tools if (tool.name in names if isinstance(tool, Tool) else tool.kind in kinds)])
    if len(kept) in (0, len(tools)) or (choice.names and not any(_is_named(tool, choice) for tool in kept)):
        return done
    note = Note("sent only the tools that may be called", key="tools", before=tools, after=kept)
    return Rewrite(replace(done.conversation, tools=kept), (*done.notes, note))


def _is_named(tool: Tool | NativeTool, choice: ToolChoice) -> bool:
    return isinstance(tool, Tool) and tool.name in choice.names


def _is_odd(choice: ToolChoice, facts: Facts) -> bool:
    """Is it in another vendor's words, which the target does not take?"""
    refused = facts.odd_choice is Stance.REFUSES and choice.wire_form not in facts.odd_choices
    return refused and choice.wire_form in ODD_SPELLINGS


def _form(choice: ToolChoice, facts: Facts) -> ToolChoice | None:
    if choice.mode is ChoiceMode.NATIVE:
        return choice
    unnamed = not choice.names and choice.origin is not None and choice.origin.dialect != facts.dialect
    if choice.mode is ChoiceMode.ALLOWED and (unnamed or "allowed" not in facts.tool_choices):
        choice = ToolChoice(ChoiceMode.REQUIRED if choice.must else ChoiceMode.AUTO)
    if choice.mode.value in facts.tool_choices:
        return choice
    if choice.mode is ChoiceMode.NAMED and "required" in facts.tool_choices:
        return ToolChoice(ChoiceMode.REQUIRED)
    return ToolChoice(ChoiceMode.AUTO) if "auto" in facts.tool_choices and choice.mode is not ChoiceMode.NONE else None
