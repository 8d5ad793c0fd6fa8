"""A setting under a name that the target does not know.

Vendors of one dialect call the same setting by different names: `max_tokens` and `max_completion_tokens`, `seed` and
`random_seed`, `reasoning_effort` and `reasoning`, `output_format` and `output_config`. It gets the name that the target
reads. A setting that was given under two names keeps one.

Loses nothing. A second name that says something else is lost, which is metadata.

For `openai/gpt-5`:

    {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 100}
becomes
    {"messages": [{"role": "user", "content": "Hi"}], "max_completion_tokens": 100}
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.parts import Extras
from dragoman.conversation.settings import EARLY_FORMAT, THINKING_FIELDS, Settings, Thinking
from dragoman.profiles.facts import Facts, Stance
from dragoman.rules.context import Context
from dragoman.rules.rule import rule

_LIMITS = ("max_tokens", "max_completion_tokens")
_SEEDS = ("seed", "random_seed")
SWITCH_FIELD = "thinking"
"""The field that says whether to think, and not how much."""
ALIASES = {name: names for names in (_LIMITS, _SEEDS, THINKING_FIELDS) for name in names}
"""Names that one setting goes by."""


@rule(
    "setting-name",
    when=lambda facts: (
        bool(facts.limit_name or facts.seed_name or facts.thinking_as)
        or facts.two_limits is Stance.REFUSES
        or EARLY_FORMAT in facts.refused_settings
    ),
    looks_for=traits.SETTINGS | traits.TOP_EXTRAS,
    loses=Loss.NOTHING,
    top_level=True,
)
def setting_name(conversation: Conversation, context: Context) -> Rewrite:
    facts = context.facts
    settings = conversation.settings
    notes: list[Note] = []
    changes: dict[str, Any] = {}
    if settings.max_tokens is not None and facts.limit_name not in ("", settings.limit_as):
        changes["limit_as"] = facts.limit_name
        _report(settings.limit_as, facts.limit_name, notes)
    if settings.seed is not None and facts.seed_name not in ("", settings.seed_as):
        changes["seed_as"] = facts.seed_name
        _report(settings.seed_as, facts.seed_name, notes)
    thinking = settings.thinking
    if thinking is not None and _is_misnamed(thinking.wire_form, facts):
        changes["thinking"] = _respell(thinking, facts.thinking_as, notes)
        _report(thinking.wire_form, facts.thinking_as, notes)
    form = settings.response_format
    if form is not None and form.wire_form and form.wire_form in facts.refused_settings:
        changes["response_format"] = replace(form, wire_form="")
        _report(form.wire_form, "output_config", notes)
    extras = _without_doubles(conversation.extras, settings, facts, notes)
    if not changes and extras is conversation.extras:
        return Rewrite(conversation)
    return Rewrite(replace(conversation, settings=replace(settings, **changes), extras=extras), tuple(notes))


def _respell(thinking: Thinking, fields: str, notes: list[Note]) -> Thinking:
    """In other fields. An effort has no room in a mere switch, so it goes."""
    if thinking.effort is not None and fields == SWITCH_FIELD:
        note = f"left out the effort: the target knows only `{fields}`"
        notes.append(Note(note, key="reasoning_effort", loses=Loss.METADATA, before=thinking.effort))
        thinking = replace(thinking, effort=None)
    return replace(thinking, wire_form=fields)


def _is_misnamed(wire_form: str, facts: Facts) -> bool:
    """Without a name yet, or under one that the target refuses."""
    if not wire_form or not facts.thinking_as:
        return bool(facts.thinking_as)
    further = set(wire_form.split()).difference(facts.thinking_as.split())
    odd = any(one.partition(".")[0] not in facts.known_settings for one in further)
    return odd and facts.odd_thinking_field is Stance.REFUSES


def _without_doubles(extras: Extras | None, settings: Settings, facts: Facts, notes: list[Note]) -> Extras | None:
    """A setting that the client gave under two names keeps one."""
    if extras is None:
        return None
    limit = settings.limit_as if facts.two_limits is Stance.REFUSES else ""
    names = [facts.limit_name or limit] if settings.max_tokens is not None else []
    names += [facts.seed_name] if settings.seed is not None else []
    names += facts.thinking_as.split() if settings.thinking is not None else []
    doubles = {other for name in names for other in ALIASES.get(name, ()) if other in extras.fields}
    for name in sorted(doubles):
        note = f"left out `{name}`, which says again what another setting says"
        value = extras.fields[name]
        again = name in _LIMITS and value == str(settings.max_tokens).encode()
        notes.append(Note(note, key=name, loses=Loss.NOTHING if again else Loss.METADATA, before=value))
    return extras.without(doubles)


def _report(old: str, new: str, notes: list[Note]) -> None:
    """A name that came from another dialect is translated, not changed."""
    if old:
        notes.append(Note(f"renamed `{old}` to `{new}`", key=old.split()[0].replace(".", "/"), before=old, after=new))
