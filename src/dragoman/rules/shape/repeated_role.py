r"""Two turns of one role in a row, for a target that demands alternation.

They become one turn: plain texts are joined with a blank line, anything else stays as parts of the turn. Some targets
demand it only of assistant turns at the end.

Loses nothing, except a name that not all of the turns have, a field of its own for which another turn has another
value, and all but the last of several cache hints. These are metadata.

    user: Hi
    user: Are you there?
becomes
    user: Hi\n\nAre you there?
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import SYSTEM_ROLES, Conversation
from dragoman.conversation.literals import EMPTY, join_texts
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.parts import Call, Reasoning, Text
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.rewriting import keeps_members, plain_text, rewrite, with_members
from dragoman.rules.rule import rule

_ASIDE = (Call, Reasoning)
_SILENT = Text(EMPTY)


@rule(
    "repeated-role",
    when=lambda facts: Stance.REFUSES in (facts.repeated_roles, facts.repeated_last),
    looks_for=traits.REPEATED_ROLE,
    loses=Loss.METADATA,
)
def repeated_role(conversation: Conversation, context: Context) -> Rewrite:
    facts = context.facts
    since = 0 if facts.repeated_roles is Stance.REFUSES else _find_last_run(conversation.messages)
    messages: list[Message] = list(conversation.messages[:since])
    notes: list[Note] = []
    run: list[Message] = []
    flat = Stance.REFUSES in (facts.list_content, facts.several_texts)
    for message in conversation.messages[since:]:
        if run and run[0].role is message.role and message.role not in SYSTEM_ROLES:
            run.append(message)
            continue
        _close(run, messages, notes, flat)
        run = [message]
    _close(run, messages, notes, flat)
    return rewrite(conversation, notes, messages=tuple(messages))


def _find_last_run(messages: tuple[Message, ...]) -> int:
    """Where the assistant's turns at the end begin."""
    since = len(messages)
    while since and messages[since - 1].role is Role.ASSISTANT:
        since -= 1
    return since


def _close(run: list[Message], messages: list[Message], notes: list[Note], flat: bool) -> None:
    if len(run) < 2:
        messages.extend(run)
        return
    one = merge_run(run, flat)
    messages.append(one)
    loses = Loss.NOTHING if keeps_members(one, run) else Loss.METADATA
    notes += [
        Note("merged with the turn before it", message, loses=loses, before=message, after=one) for message in run[1:]
    ]


def merge_run(run: list[Message], flat: bool = False) -> Message:
    """One turn of several. A name that not all of them have goes. `flat`: the target takes no list of texts."""
    first = with_members(run)
    parts = tuple(part for message in run for part in message.parts)
    if first.role is Role.TOOL:
        return replace(first, parts=parts, span=len(parts))
    if all(len(message.parts) == 1 for message in run) and plain_text(parts):
        return replace(
            first,
            parts=(Text(join_texts("\n\n", [part.literal for part in parts if type(part) is Text])),),
            listed=False,
        )
    contents = [[part for part in message.parts if type(part) not in _ASIDE] for message in run]
    if flat and any(contents) and all(plain_text(texts) for texts in contents):
        words = [
            join_texts("\n", [part.literal for part in texts if type(part) is Text]) for texts in contents if texts
        ]
        thoughts = [part for part in parts if type(part) is Reasoning]
        calls = [part for part in parts if type(part) is Call]
        return replace(first, parts=(*thoughts, Text(join_texts("\n\n", words)), *calls), listed=False)
    listed = sum(map(len, contents)) > 1
    if not listed and len(parts) > 1:
        parts = tuple(part for part in parts if part != _SILENT)  # beside calls it is no content
    return replace(first, parts=parts, listed=listed)
