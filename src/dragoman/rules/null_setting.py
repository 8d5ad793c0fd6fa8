"""A top-level field that is null, for a target that wants it left out.

The field is left out.

Loses nothing: null means absent.

For `anthropic/claude-sonnet-4-5`:

    {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 100, "temperature": null}
becomes
    {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 100}
"""

from __future__ import annotations

from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.traits import Trait
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.rewriting import rewrite_settings
from dragoman.rules.rule import rule


@rule(
    "null-setting",
    spelling=True,
    when=lambda facts: facts.null_settings is Stance.REFUSES,
    looks_for=Trait.NULLS,
    loses=Loss.NOTHING,
)
def null_setting(conversation: Conversation, context: Context) -> Rewrite:
    notes = [Note(f"left out {name}, which was null", key=name) for name in conversation.settings.nulls]
    return rewrite_settings(conversation, notes, nulls=())
