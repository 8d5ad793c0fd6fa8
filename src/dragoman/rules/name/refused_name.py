"""A name on a message, for a target that has no place for it.

Anthropic, Gemini and others refuse the field. With `drop` the name is taken off; with `text` it stands before the words
instead. Others take names of some form only (fact `message_name_pattern`): there `_` stands in place of other letters.
If the result of a tool has no place for its tool's name (fact `result_name`), or its name is empty and names have a
form, it goes: the call has it.

Loses metadata; the name on a result loses nothing.

    user (bob): Hi
becomes
    user: Hi

With `refused-name: text`:

    user (bob): Hi
becomes
    user: bob: Hi
"""

from __future__ import annotations

import re

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.parts import Part, Result
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.rewriting import Edit, edit, reuse_unchanged, rewrite_messages
from dragoman.rules.rule import rule
from dragoman.rules.tagging import tag_first_text


@rule(
    "refused-name",
    when=lambda facts: Stance.REFUSES in (facts.message_name, facts.result_name) or bool(facts.message_name_pattern),
    looks_for=traits.NAMED | traits.CALLS | traits.UNPAIRED,
    narrows=lambda facts: None if facts.result_name is Stance.REFUSES else traits.NAMED,
    loses=Loss.METADATA,
    options=("drop", "text"),
    spelling=True,
)
def refused_name(conversation: Conversation, context: Context) -> Rewrite:
    in_text = context.choice("refused-name") == "text"
    facts = context.facts
    form = re.compile(facts.message_name_pattern)

    def remove_names(message: Message) -> Edit | None:
        if message.role is Role.TOOL and facts.result_name is Stance.REFUSES:
            return _without_tool_names(message)
        if message.role is Role.TOOL and facts.message_name_pattern:
            return _without_tool_names(message, empty=True)
        if message.name is None:
            return None
        if not message.name and (facts.message_name is Stance.REFUSES or facts.message_name_pattern):
            return edit(replace(message, name=None), "took off its empty name", loses=Loss.NOTHING)
        if facts.message_name is not Stance.REFUSES:
            return _fit(message, form) if facts.message_name_pattern else None
        if in_text:
            return edit(
                replace(message, name=None, parts=tag_first_text(message.parts, f"{message.name}: ")),
                "put its name into the text",
            )
        return edit(replace(message, name=None), "took off its name")

    return rewrite_messages(conversation, remove_names)


def _without_tool_names(message: Message, empty: bool = False) -> Edit | None:
    """`empty`: only those that are nothing."""
    parts = reuse_unchanged(message.parts, [_remove_name(part, empty) for part in message.parts])
    if parts is message.parts:
        return None
    return edit(replace(message, parts=parts), "took the name of its tool off a result", loses=Loss.NOTHING)


def _remove_name(part: Part, empty: bool) -> Part:
    refused = isinstance(part, Result) and part.name is not None and not (empty and part.name)
    return replace(part, name=None) if refused else part


def _fit(message: Message, form: re.Pattern[str]) -> Edit | None:
    """The message with a name of the form that the target takes."""
    if message.name is None or form.fullmatch(message.name):
        return None
    name = "".join([letter if form.fullmatch(letter) else "_" for letter in message.name])
    return edit(replace(message, name=name), f"wrote its name as {name}")
