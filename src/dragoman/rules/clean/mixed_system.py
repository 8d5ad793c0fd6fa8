"""A system message that holds more than text: a picture, a document, a call, a result, a thought.

Instructions are text. Most providers refuse anything else among them, and some dialects have no form for it. What is no
text is left out, wherever the message stands. A refusal and the words of an unknown block become text. Media of the
client's own dialect stays if the target takes it in a system message. So does a block of a provider's own that may
stand there (fact `system_blocks`), such as Anthropic's `tool_addition`. For other targets the rule `client-tool` does
what such a block asks for.

Loses content. A refusal and an unknown block that is a text lose metadata.

For `openai/gpt-4o`:

    {"messages": [{"role": "system", "content": [{"type": "text", "text": "Be brief."},
      {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]}, {"role": "user", "content": "Hi"}]}
becomes
    {"messages": [{"role": "system", "content": [{"type": "text", "text": "Be brief."}]},
      {"role": "user", "content": "Hi"}]}
"""

from __future__ import annotations

import msgspec

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss
from dragoman.conversation.conversation import SYSTEM_ROLES
from dragoman.conversation.literals import quote
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import Call, Media, Opaque, Part, Reasoning, Refusal, Result, Text
from dragoman.profiles.facts import Facts, Stance
from dragoman.profiles.profile import dialect_layer
from dragoman.rules.context import Context
from dragoman.rules.native_kinds import is_given_as_meant, takes_block
from dragoman.rules.part_words import MARKS, block_words
from dragoman.rules.rewriting import Swap, each_part
from dragoman.rules.rule import rule


@rule("mixed-system", when=lambda facts: True, looks_for=traits.MIXED_SYSTEM, loses=Loss.CONTENT)
@each_part
def mixed_system(message: Message, part: Part, context: Context) -> Swap | None:
    if message.role not in SYSTEM_ROLES:
        return None
    facts = context.facts
    match part:
        case Refusal():
            return Swap((Text(part.literal),), "turned a refusal into text", Loss.METADATA)
        case Media() if context.translated or facts.medium(part.kind.value).system is not Stance.ACCEPTS:
            return _leave_out(part.kind.value)
        case Opaque() if not _may_stand(part, facts) and not is_given_as_meant(part, facts):
            return _read_text(part)
        case Call() | Result() | Reasoning():
            return _leave_out(_NAMES[type(part)])
    return None


def _may_stand(part: Opaque, facts: Facts) -> bool:
    """Whether a block of the target's own dialect may stand in a system message."""
    own = part.origin.dialect == facts.dialect and part.kind in facts.system_blocks
    return own and takes_block(part, facts)


def _read_text(part: Opaque) -> Swap:
    """The text of a block that the target does not know, or all words of one that its dialect has there."""
    try:
        text = _decode_worded(part.json).text
    except msgspec.DecodeError:
        at_home = part.kind in dialect_layer(part.origin.dialect).facts.get("system_blocks", ())
        words = block_words(part) if at_home else None
        if words is None:
            return _leave_out(f"{part.kind} block", Loss.METADATA if part.kind in MARKS else None)
        loses = Loss.METADATA if words.whole else Loss.CONTENT
        return Swap((Text(words.literal),), f"put the words of a {part.kind} block in its place", loses)
    return Swap((Text(quote(text)),), f"put the text of a {part.kind} block in its place", Loss.METADATA)


class _WordedBlock(msgspec.Struct):
    text: str


_decode_worded = msgspec.json.Decoder(_WordedBlock).decode


def _leave_out(name: str, loses: Loss | None = None) -> Swap:
    return Swap((), f"left out what is no text: {name}", loses)


_NAMES = {Call: "call", Result: "result", Reasoning: "thought"}
