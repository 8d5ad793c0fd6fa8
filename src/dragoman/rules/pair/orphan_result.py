r"""A tool result whose call is not in the conversation.

This happens if a history was trimmed. Providers refuse a result without its call. It becomes a user turn where it
stands, with a header that says what it was. It is never dropped.

Loses metadata: the text is no longer a tool's result.

    user: Hi
    result c1: 12 degrees
becomes
    user: Hi
    user: [tool_result id=c1]\n12 degrees
"""

from __future__ import annotations

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.pairs import pair
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.flattening import results_to_text
from dragoman.rules.native_kinds import continues_stored_items
from dragoman.rules.rule import rule


@rule(
    "orphan-result",
    when=lambda facts: facts.orphan_result is Stance.REFUSES,
    looks_for=traits.UNPAIRED,
    loses=Loss.METADATA,
)
def orphan_result(conversation: Conversation, context: Context) -> Rewrite:
    if continues_stored_items(conversation, context.facts):
        return Rewrite(conversation)
    orphans = frozenset(pair(conversation.messages).orphans)
    return results_to_text(conversation, orphans, "turned a result without its call into a user turn")
