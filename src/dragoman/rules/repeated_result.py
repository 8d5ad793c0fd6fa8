"""A second result for a call that has one.

The first answers the call; a later one becomes words of the user where it stands.

Loses metadata: it is no longer tied to its call.
"""

from __future__ import annotations

from dragoman.conversation.changes import Loss, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.pairs import pair
from dragoman.conversation.traits import Trait
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.flattening import results_to_text
from dragoman.rules.rule import rule


@rule(
    "repeated-result",
    when=lambda facts: facts.repeated_result is Stance.REFUSES,
    looks_for=Trait.UNPAIRED,
    loses=Loss.METADATA,
)
def repeated_result(conversation: Conversation, context: Context) -> Rewrite:
    repeats = frozenset(pair(conversation.messages).repeats)
    return results_to_text(conversation, repeats, "made a second result of one call the user's words")
