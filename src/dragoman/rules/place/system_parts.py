r"""A system message of several parts, for a target that wants one text.

The parts are joined with a line break; empty ones are left out. If the target has a field for the system text, so are
the parts of a message that moves there; a text that stood in such a field keeps its parts. Parts that carry a cache
hint which the target takes stay apart.

Loses nothing.

    system: Be brief.
    + Answer in French.
    user: Hi
becomes
    system: Be brief.\nAnswer in French.
    user: Hi
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import SYSTEM_ROLES, Conversation
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import Text
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.rewriting import Edit, edit, join_lines, plain_text, rewrite_messages
from dragoman.rules.rule import rule
from dragoman.rules.system_separators import SEPARATE, parse_choice


@rule(
    "system-parts",
    when=lambda facts: Stance.REFUSES in (facts.system_parts, facts.inline_system),
    looks_for=traits.SYSTEM_PARTS,
    loses=Loss.NOTHING,
)
def system_parts(conversation: Conversation, context: Context) -> Rewrite:
    if context.facts.system_parts is Stance.REFUSES:
        return rewrite_messages(conversation, _join_parts)
    first = conversation.messages[0]
    if first.at < 0:
        return Rewrite(conversation)
    choice = context.choice("many-systems")
    apart = choice is not None and parse_choice(choice) == SEPARATE  # each part is an instruction of its own
    done = None if apart else _join_parts(first)
    if done is None:
        return Rewrite(conversation)
    note = Note(done.did, first, before=first, after=done.messages)
    return Rewrite(replace(conversation, messages=done.messages + conversation.messages[1:]), (note,))


def _join_parts(message: Message) -> Edit | None:
    if message.role not in SYSTEM_ROLES or not plain_text(message.parts) or len(message.parts) < 2:
        return None
    return edit(replace(message, parts=(Text(join_lines(message.parts)),), listed=False), "joined its parts")
