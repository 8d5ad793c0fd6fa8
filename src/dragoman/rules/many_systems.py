r"""Several system messages at the opening, for a target that takes one.

`auto` joins them where the target takes one: into one text with a blank line between, or into one message of several
parts where a part carries a cache hint. `separate` leaves them as they are. `join` joins them for every target, with
the separator `\n\n---\n\n`, or with one of your own: `{"join": "…"}`.

Loses nothing.

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

from typing import Any

from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import joined
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import Part, Text
from dragoman.conversation.traits import Trait
from dragoman.profiles.facts import Facts, Stance, SystemCount
from dragoman.rules.context import Context
from dragoman.rules.rewriting import plain_text
from dragoman.rules.rule import FAIL, rule

AUTO_SEPARATOR = "\n\n"
JOIN_SEPARATOR = "\n\n---\n\n"


@rule(
    "many-systems",
    when=lambda facts: facts.system_count is SystemCount.ONE,
    looks_for=Trait.MANY_SYSTEMS,
    loses=Loss.NOTHING,
    options=("auto", "separate", "join"),
    idle=("separate",),
    demands=lambda choice: choice not in ("auto", FAIL),
    free=True,
)
def many_systems(conversation: Conversation, context: Context) -> Rewrite:
    opening = conversation.opening
    if opening < 2:
        return Rewrite(conversation)
    leading = conversation.messages[:opening]
    one = _joined(leading, separator(context.choice("many-systems")), context.facts)
    notes = tuple(
        Note("joined with the system message before it", message, before=message, after=one) for message in leading[1:]
    )
    return Rewrite(conversation.but(messages=(one, *conversation.messages[opening:])), notes)


def separator(choice: Any) -> str:
    """`join` has its own separator; any other text is a separator itself."""
    if choice in (None, "auto", FAIL):
        return AUTO_SEPARATOR
    if choice == "join":
        return JOIN_SEPARATOR
    return str(choice["join"] if isinstance(choice, dict) else choice)


def _joined(leading: tuple[Message, ...], between: str, facts: Facts) -> Message:
    first = leading[0]
    parts: tuple[Part, ...] = tuple(part for message in leading for part in message.parts)
    if not plain_text(parts) and facts.system_parts is Stance.ACCEPTS:
        return first.but(parts=parts, listed=True)
    if all(type(part) is Text for part in parts):
        texts = [_one_text(message) for message in leading]
        return first.but(parts=(Text(joined(between, [text for text in texts if text != b'""'])),), listed=False)
    return first.but(parts=parts, listed=True)


def _one_text(message: Message) -> bytes:
    return joined("\n", [part.literal for part in message.parts if type(part) is Text])
