r"""A second result for a call that already has one.

Providers refuse a result that answers no open call. The first result answers the call. A later one becomes a user turn
where it stands, with a header that says what it was.

Loses metadata: the text is no longer tied to its call.

    user: Hi
    call look(c1) {}
    result c1: 12 degrees
    result c1: 13 degrees
becomes
    user: Hi
    call look(c1) {}
    result c1: 12 degrees
    user: [tool_result id=c1]\n13 degrees
"""

from __future__ import annotations

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.pairs import pair
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.flattening import results_to_text
from dragoman.rules.rule import rule


@rule(
    "repeated-result",
    when=lambda facts: facts.repeated_result is Stance.REFUSES,
    looks_for=traits.UNPAIRED,
    loses=Loss.METADATA,
)
def repeated_result(conversation: Conversation, context: Context) -> Rewrite:
    repeats = frozenset(pair(conversation.messages).repeats)
    return results_to_text(conversation, repeats, "turned a second result of one call into a user turn")
