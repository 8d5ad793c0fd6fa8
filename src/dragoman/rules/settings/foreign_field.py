"""A top-level field that another vendor of the same dialect added to it, or that a stream left there.

Vendors extend a dialect by fields of their own: `provider` and `usage`, `safe_prompt`, `chat_template_kwargs`. The
fact `vendor_settings` lists all of them; a profile names those that its vendor has (`known_settings`). A foreign one
stays home if the target refuses what it does not know. A field that is on nobody's list goes through, because the
client may know a newer API than we do. A mark of a stream that was stored with the request (`done`, `stream_end`) goes
to no target.

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
from dragoman.conversation.traits import STREAM_MARKS
from dragoman.profiles.facts import Facts, Stance
from dragoman.rules.context import Context
from dragoman.rules.rule import rule
from dragoman.rules.top_level_fields import is_foreign, lost_with


def _checks(facts: Facts) -> bool:
    return Stance.REFUSES in (facts.foreign_settings, facts.unknown_settings)


@rule(
    "foreign-field",
    when=lambda facts: True,
    looks_for=traits.SETTINGS | traits.TOP_EXTRAS,
    narrows=lambda facts: None if _checks(facts) else traits.TOP_EXTRAS,
    loses=Loss.CONTENT,
    top_level=True,
)
def foreign_field(conversation: Conversation, context: Context) -> Rewrite:
    facts, settings, extras = context.facts, conversation.settings, conversation.extras
    notes: list[Note] = []
    if extras is not None and extras.dialect == facts.dialect:
        extras = _keep_own(extras, facts, notes)
    spared = context.translated or not _checks(facts)
    nulls = tuple(name for name in settings.nulls if spared or not is_foreign(name, facts))
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
    checks = _checks(facts)
    gone = {
        name: value
        for name, value in extras.fields.items()
        if name in STREAM_MARKS or (checks and is_foreign(name, facts))
    }
    for name, value in gone.items():
        whose = "a mark of a stream" if name in STREAM_MARKS else "another vendor's field"
        lost = lost_with(name, value)
        notes.append(Note(f"left out {name}, {whose}", key=name.replace(".", "/"), loses=lost, before=value))
    return extras.without(gone)
