"""A setting that the target does not have, or refuses for this model.

It is left out. So is a top-level field that only the client's own dialect has, or a member of it. A field that stands
for a part of the conversation (`previous_response_id`, `cachedContent`) is different: without it the request would mean
something else, so it is an error if the target has another dialect. Requests of a dialect that does not have such a
field hold all their turns, so there it is left out. A field that both dialects have under one name goes on (fact
`shared_settings`). The id of what a tool uses (fact `tool_settings`) says nothing without that tool.

Loses metadata. An id that no tool uses loses nothing. Several answers, log probabilities and a field that may stand for
words lose content. What binds the model to words or a form (a token limit, stop sequences, biases, a response format)
loses authority.

For `openai/gpt-5`:

    {"messages": [{"role": "user", "content": "Hi"}], "temperature": 0.5}
becomes
    {"messages": [{"role": "user", "content": "Hi"}]}
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.parts import Extras
from dragoman.conversation.settings import Settings
from dragoman.conversation.tools import NativeTool, Tool
from dragoman.profiles.facts import Facts, Setting, Stance
from dragoman.rules.context import Context
from dragoman.rules.reasoning import thinks
from dragoman.rules.rule import rule
from dragoman.rules.top_level_fields import SETTING_NAMES, leave_out_refused, lost_with

_EMPTY = Settings()


@rule(
    "refused-setting",
    when=lambda facts: True,
    looks_for=traits.SETTINGS | traits.TOP_EXTRAS,
    loses=Loss.CONTENT,
    top_level=True,
)
def refused_setting(conversation: Conversation, context: Context) -> Rewrite:
    facts = context.facts
    notes: list[Note] = []
    settings = conversation.settings
    sent = leave_out_refused(conversation.extras, facts, notes, settings.max_tokens)
    extras = _leave_out_unused(sent, conversation.tools, facts, notes)
    changes: dict[str, Any] = {}
    thinking = thinks(settings, facts, context.translated)
    for name in SETTING_NAMES:
        value = getattr(settings, name)
        if value == getattr(_EMPTY, name):
            continue
        fact = facts.setting(name)
        if not _is_refused(fact, value, thinking) and not _has_rival(fact, settings, changes):
            continue
        changes[name] = getattr(_EMPTY, name)
        notes.append(Note(f"left out {name}", key=_key(name, settings), loses=lost_with(name, value), before=value))
    form = settings.response_format
    if form is not None and form.kind.value not in facts.response_formats:
        changes["response_format"] = None
        did = f"left out the response format {form.kind.value}"
        notes.append(Note(did, key="response_format", loses=lost_with("response_format", form), before=form))
    if "max_tokens" in changes:
        changes["limit_as"] = ""
    if not notes and extras is conversation.extras:
        return Rewrite(conversation)
    return Rewrite(replace(conversation, settings=replace(settings, **changes), extras=extras), tuple(notes))


def _key(name: str, settings: Settings) -> str:
    if name == "reasoning_state":
        return "include"
    return settings.limit_as or name if name == "max_tokens" else name


def _is_refused(fact: Setting, value: Any, thinking: bool) -> bool:
    if fact.support is Stance.REFUSES:
        return value not in (fact.only, fact.default)
    if thinking and fact.thinking is Stance.REFUSES:
        return value not in (fact.only, fact.default) and (fact.thinking_min is None or value < fact.thinking_min)
    if fact.only is not None:
        return bool(value != fact.only)
    return bool(fact.values) and isinstance(value, str) and value not in fact.values


def _has_rival(fact: Setting, settings: Settings, changes: dict[str, Any]) -> bool:
    """Is the other setting given too, of two that may not stand together?"""
    other = fact.without
    return bool(other) and changes.get(other, getattr(settings, other)) != getattr(_EMPTY, other)


def _leave_out_unused(
    extras: Extras | None, tools: tuple[Tool | NativeTool, ...], facts: Facts, notes: list[Note]
) -> Extras | None:
    """The fields without the ids of what belongs to a tool which the request does not declare."""
    if extras is None or extras.dialect != facts.dialect or facts.tool_settings.keys().isdisjoint(extras.fields):
        return extras
    kinds = [tool.kind for tool in tools if isinstance(tool, NativeTool)]
    unused = {
        name: extras.fields[name]
        for name, globs in facts.tool_settings.items()
        if extras.fields.get(name, b"")[:1] == b'"'
        and not any(fnmatchcase(kind, glob) for kind in kinds for glob in globs)
    }
    notes += [
        Note(f"left out {name}: no tool of the request uses it", key=name, loses=Loss.NOTHING, before=value)
        for name, value in unused.items()
    ]
    return extras.without(unused)
