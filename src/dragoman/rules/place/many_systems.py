r"""Several system messages at the opening, for a target that takes one.

`auto` joins them if the target takes one: into one text with a blank line between, or into one message of several
parts if a part carries a cache hint. `separate` (or `false`) leaves them as they are; if the target has one field
for them, they become separate parts of it. `join` (or `true`) joins them
for every target, with the separator `\n\n---\n\n`. For a separator of your own write `{"join": "…"}`, or `join:…` where
only text can stand; `\n` in the latter is a line break. A text that is no word, such as `" | "`, is a separator too.

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

import re
from typing import Any

from msgspec.structs import replace

from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import joined
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import Text
from dragoman.conversation.traits import Trait
from dragoman.errors import OptionError, near_match
from dragoman.profiles.facts import Facts, Stance, SystemCount
from dragoman.rules.context import Context
from dragoman.rules.rewriting import join_lines, plain_text
from dragoman.rules.rule import FAIL, KEEP, rule

AUTO_SEPARATOR = "\n\n"
JOIN_SEPARATOR = "\n\n---\n\n"

SEPARATE = "separate"
OPTIONS = ("auto", SEPARATE, "join")
_KEYWORDS: dict[object, str] = {
    **{name: name for name in (*OPTIONS, KEEP, FAIL)},
    True: "join",
    "true": "join",
    False: "separate",
    "false": "separate",
}
_WORD = re.compile(r"[A-Za-z][A-Za-z-]*")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}


def parse_choice(choice: Any) -> str | dict[str, str]:
    """One of the options, or `{"join": SEPARATOR}`. A word that is no option is a mistake and no separator."""
    if isinstance(choice, bool | str) and choice in _KEYWORDS:
        return _KEYWORDS[choice]
    if isinstance(choice, dict) and choice.keys() == {"join"} and isinstance(choice["join"], str):
        return {"join": choice["join"]}
    if isinstance(choice, str) and choice.startswith("join:"):
        return {"join": _ESCAPE.sub(lambda found: _ESCAPED.get(found[1], found[1]), choice.removeprefix("join:"))}
    if isinstance(choice, str) and not _WORD.fullmatch(choice):
        return {"join": choice}
    raise OptionError(
        f'many-systems cannot be "{choice}"; {near_match(str(choice), (*OPTIONS, KEEP, FAIL))}',
        hint='write {"join": "…"} for a separator',
    )


@rule(
    "many-systems",
    when=lambda facts: facts.system_count is SystemCount.ONE,
    looks_for=Trait.MANY_SYSTEMS,
    loses=Loss.NOTHING,
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
        one = _of_parts(leading)
    else:
        one = _joined(leading, separator(choice), context.facts)
    notes = tuple(
        Note("joined with the system message before it", message, before=message, after=one) for message in leading[1:]
    )
    return Rewrite(replace(conversation, messages=(one, *conversation.messages[opening:])), notes)


def _of_parts(leading: tuple[Message, ...]) -> Message:
    return replace(leading[0], parts=tuple(part for message in leading for part in message.parts), listed=True)


def separator(choice: Any) -> str:
    """What stands between two texts."""
    chosen = "auto" if choice is None else parse_choice(choice)
    if isinstance(chosen, dict):
        return chosen["join"]
    return JOIN_SEPARATOR if chosen == "join" else AUTO_SEPARATOR


def _joined(leading: tuple[Message, ...], between: str, facts: Facts) -> Message:
    apart = _of_parts(leading)
    if not plain_text(apart.parts) and facts.system_parts is Stance.ACCEPTS:
        return apart
    if all(type(part) is Text for part in apart.parts):
        texts = [join_lines(message.parts) for message in leading]
        return replace(apart, parts=(Text(joined(between, [text for text in texts if text != b'""'])),), listed=False)
    return apart
