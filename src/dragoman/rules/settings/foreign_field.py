"""A top-level field that another vendor of the same dialect added to it.

Vendors extend a dialect by fields of their own: `provider` and `usage`, `safe_prompt`, `chat_template_kwargs`. The
fact `vendor_settings` lists all of them; a profile names those that its vendor has (`known_settings`). A foreign one
stays home if the target refuses what it does not know. A field that is on nobody's list goes through, because the
client may know a newer API than we do.

Loses what `refused-setting` says of the same field: metadata, authority (`logit_bias`) or content (`logprobs`). A field
that is null loses nothing.

For `xai/grok-4`:

    {"messages": [{"role": "user", "content": "Hi"}], "usage": {"include": true}, "newest": 1}
becomes
    {"messages": [{"role": "user", "content": "Hi"}], "newest": 1}
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.parts import Extras
from dragoman.profiles.facts import Facts, Stance
from dragoman.rules.context import Context
from dragoman.rules.rule import rule
from dragoman.rules.top_level_fields import is_foreign, lost_with


@rule(
    "foreign-field",
    when=lambda facts: Stance.REFUSES in (facts.foreign_settings, facts.unknown_settings),
    looks_for=traits.SETTINGS | traits.TOP_EXTRAS,
    loses=Loss.CONTENT,
    top_level=True,
)
def foreign_field(conversation: Conversation, context: Context) -> Rewrite:
    facts, settings, extras = context.facts, conversation.settings, conversation.extras
    notes: list[Note] = []
    if extras is not None and extras.dialect == facts.dialect:
        extras = _keep_own(extras, facts, notes)
    nulls = tuple(name for name in settings.nulls if context.translated or not is_foreign(name, facts))
    if len(nulls) < len(settings.nulls):
        gone = [name for name in settings.nulls if name not in nulls]
        notes += [Note(f"left out {name}, which was null", key=name, loses=Loss.NOTHING) for name in gone]
        settings = replace(settings, nulls=nulls)
    return (
        Rewrite(replace(conversation, settings=settings, extras=extras), tuple(notes))
        if notes
        else Rewrite(conversation)
    )


def _keep_own(extras: Extras, facts: Facts, notes: list[Note]) -> Extras | None:
    fields = {name: value for name, value in extras.fields.items() if not is_foreign(name, facts)}
    for name, value in extras.fields.items():
        if name not in fields:
            did, lost = f"left out {name}, another vendor's field", lost_with(name, value)
            notes.append(Note(did, key=name.replace(".", "/"), loses=lost, before=value))
    return extras.only(fields)
