"""Whether a client expects to be shown the model's thinking."""

from __future__ import annotations

from dragoman.conversation.conversation import Ask, Conversation
from dragoman.conversation.parts import Reasoning
from dragoman.conversation.settings import Effort
from dragoman.conversation.traits import Trait
from dragoman.dialects.registry import dialect

_REASONING = int(Trait.REASONING)


def expects_reasoning(ask: Ask) -> bool:
    """It asks for thinking, or returns thinking that it was shown, unless it says that it wants none."""
    conversation = ask.conversation
    if dialect(ask.dialect).asks_for_reasoning(conversation):
        return True
    if ask.traits is not None and not ask.traits & _REASONING:
        return False
    return not _declined(conversation) and _returned(conversation)


def _declined(conversation: Conversation) -> bool:
    thinking = conversation.settings.thinking
    if thinking is None:
        return False
    return thinking.on is False or thinking.visible is False or thinking.effort is Effort.NONE


def _returned(conversation: Conversation) -> bool:
    """Words that the client was shown. State alone is no sign: clients carry it without knowing what it is."""
    return any(
        type(part) is Reasoning and part.text is not None for message in conversation.messages for part in message.parts
    )
