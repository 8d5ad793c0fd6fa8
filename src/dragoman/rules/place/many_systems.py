r"""Several system messages at the opening, for a target that takes one.

`auto` joins them if the target takes one: into one text with a blank line between, or into one message of several
parts if a part carries a cache hint. Empty and blank texts leave no separator. `separate` (or `false`) leaves them as
they are; if the target has one field for them, they become separate parts of it. `join` (or `true`) joins them for
every target, with the separator `\n\n---\n\n`. For a separator of your own write `{"join": "…"}`, or `join:…` where
only text can stand; `\n` in the latter is a line break. A text that is no word, such as `" | "`, is a separator too.

Loses nothing, except a name that not all of them have, and a field for which another one has another value. These are
metadata.

    system: Be brief.
    system: Answer in French.
    user: Hi
becomes
    system: Be brief.\n\nAnswer in French.
    user: Hi

With `many-systems: {"join": " "}`:

    system: Be brief.
    system: Answer in French.
    user: Hi
becomes
    system: Be brief. Answer in French.
    user: Hi
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import blank, join_texts
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import Text
from dragoman.conversation.traits import observe_message
from dragoman.profiles.facts import Facts, Stance, SystemCount
from dragoman.rules.context import Context
from dragoman.rules.fitted_hints import hint_last_part
from dragoman.rules.rewriting import join_lines, keeps_members, plain_text, with_members
from dragoman.rules.rule import FAIL, rule
from dragoman.rules.system_separators import OPTIONS, SEPARATE, parse_choice, separator


@rule(
    "many-systems",
    when=lambda facts: facts.system_count is SystemCount.ONE,
    looks_for=traits.MANY_SYSTEMS,
    loses=Loss.METADATA,
    options=OPTIONS,
    demands=lambda choice: choice not in ("auto", FAIL),
    free=True,
    parse=parse_choice,
)
def many_systems(conversation: Conversation, context: Context) -> Rewrite:
    opening = conversation.opening
    if opening < 2:
        return Rewrite(conversation)
    leading, choice = conversation.messages[:opening], context.choice("many-systems")
    if choice is not None and parse_choice(choice) == SEPARATE:
        if context.facts.inline_system is not Stance.REFUSES:
            return Rewrite(conversation)
        one, did = _of_parts(leading), "made a part of the system field"
    else:
        one, did = _join(leading, separator(choice), context.facts), "joined with the system message before it"
    loses = Loss.NOTHING if keeps_members(one, leading) else Loss.METADATA
    notes = tuple([Note(did, message, loses=loses, before=message, after=one) for message in leading[1:]])
    messages = (one, *conversation.messages[opening:])
    adds, ends = observe_message(one).traits, traits.MANY_SYSTEMS
    return Rewrite(replace(conversation, messages=messages), notes, adds=adds, ends=ends)


def _of_parts(leading: tuple[Message, ...]) -> Message:
    hinted = [hint_last_part(message, message.hint) or message for message in leading]
    parts = tuple(part for message in hinted for part in message.parts)
    return replace(with_members(leading), parts=parts, hint=None, listed=True)


def _join(leading: tuple[Message, ...], between: str, facts: Facts) -> Message:
    apart = _of_parts(leading)
    if not plain_text(apart.parts) and facts.system_parts is Stance.ACCEPTS:
        return apart
    if all(type(part) is Text for part in apart.parts):
        texts = [join_lines(message.parts) for message in leading]
        one = Text(join_texts(between, [text for text in texts if not blank(text)]))
        return replace(with_members(leading), parts=(one,), listed=False)
    return apart
