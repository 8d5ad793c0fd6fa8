"""A top-level field that is null, for a target that wants it left out.

Some targets take null nowhere, others not for single fields, and a field that a target does not know is refused with
any value. The field is left out.

Loses nothing: null means absent.

For `anthropic/claude-sonnet-4-6`:

    {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 100, "temperature": null}
becomes
    {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 100}
"""

from __future__ import annotations

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.profiles.facts import Facts, Stance
from dragoman.rules.context import Context
from dragoman.rules.rewriting import rewrite_settings
from dragoman.rules.rule import rule


@rule(
    "null-setting",
    spelling=True,
    when=lambda facts: True,
    looks_for=traits.NULLS,
    loses=Loss.NOTHING,
)
def null_setting(conversation: Conversation, context: Context) -> Rewrite:
    refused = [name for name in conversation.settings.nulls if _is_refused(name, context.facts)]
    notes = [Note(f"left out {name}, which was null", key=name) for name in refused]
    kept = tuple([name for name in conversation.settings.nulls if name not in refused])
    return rewrite_settings(conversation, notes, nulls=kept)


def _is_refused(name: str, facts: Facts) -> bool:
    """Is null refused there? A field that it does not take at all is refused with any value."""
    if facts.null_settings is Stance.REFUSES or not {name, f"{name}=null"}.isdisjoint(facts.refused_settings):
        return True
    if facts.unknown_settings is not Stance.REFUSES or name in facts.known_settings:
        return False
    if name == "max_completion_tokens":
        return facts.limit_name == "max_tokens"
    if name in ("function_call", "functions"):
        return facts.legacy_calls is Stance.REFUSES
    return facts.setting(name).support is Stance.REFUSES or (name == "seed" and facts.seed_name not in ("", name))
