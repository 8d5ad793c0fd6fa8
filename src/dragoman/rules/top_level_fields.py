"""Top-level fields that only the client's dialect has: which of them go to a target, and what is lost with others."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from dragoman.conversation.changes import Loss, Note
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.parts import Extras, Json
from dragoman.conversation.settings import EFFORT_FIELD, SPELLINGS, THINKING_FIELDS, UNSAID_EFFORT, Settings
from dragoman.errors import Unrepresentable
from dragoman.profiles.facts import Facts, Stance
from dragoman.profiles.profile import dialect_layer
from dragoman.rules.reasoning import can_be_asked
from dragoman.wire.json_reader import render_object, split_members

STATEFUL = {
    "previous_response_id": "send the earlier turns themselves",
    "conversation": "send the earlier turns themselves",
    "prompt": "send the prompt's text",
    "cachedContent": "send the cached content itself",
    "cached_content": "send the cached content itself",
    "thread": "send the earlier turns themselves",
}
"""Fields that stand for a part of the conversation which only their provider stores, with what to send instead."""
_THREAD, _CONTINUED = "thread", b'"previous_message_id"'
_LOSSES = {
    **dict.fromkeys(STATEFUL.keys() - {_THREAD}, Loss.CONTENT),
    "n": Loss.CONTENT,
    "logprobs": Loss.CONTENT,
    "top_logprobs": Loss.CONTENT,
    "reasoning_state": Loss.NOTHING,
    "max_tokens": Loss.AUTHORITY,
    "stop": Loss.AUTHORITY,
    "logit_bias": Loss.AUTHORITY,
    "response_format": Loss.AUTHORITY,
}
"""What the client does not get, or the model is not told, if that is not metadata. The state of thinking comes back
to the target by itself."""
_FORMS = frozenset({"thinking", "tool_choice", "response_format", *SPELLINGS})
SETTING_NAMES = tuple(field for field in Settings.__struct_fields__ if field not in _FORMS)
_LIMITS = {"max_completion_tokens": "max_tokens"}
"""The other name of the token limit, if a client gives both."""


def relies_on_stored_state(conversation: Conversation) -> bool:
    """Does a part of the conversation exist only at its provider?"""
    extras = conversation.extras
    return extras is not None and any(_stands_for_turns(name, extras) for name in extras.fields)


def is_sent(name: str, value: Json, dialect: str, facts: Facts) -> bool:
    """Does a field of a dialect that is not ours to understand go to this target?"""
    if dialect != facts.dialect or not {name, f"{name}={value.decode()}"}.isdisjoint(facts.refused_settings):
        return False
    if name.partition(".")[0] in THINKING_FIELDS and not can_be_asked(facts):
        return False
    if name == EFFORT_FIELD and value == UNSAID_EFFORT and facts.efforts:
        return f"{name}={value.decode()}" in facts.known_settings
    if _LIMITS.get(name, name) in SETTING_NAMES and facts.setting(_LIMITS.get(name, name)).support is Stance.REFUSES:
        return False  # a setting in a form that was not read: an empty list, a second value
    if name in facts.known_settings:
        return True
    return facts.unknown_settings is not Stance.REFUSES


def is_foreign(name: str, facts: Facts) -> bool:
    """Another vendor's field, whatever it holds."""
    return name in facts.vendor_settings and name not in facts.known_settings


def stays_home(name: str, value: Json, facts: Facts) -> bool:
    """Does a field of the target's own dialect not go to it?"""
    checks = Stance.REFUSES in (facts.foreign_settings, facts.unknown_settings)
    return (checks and is_foreign(name, facts)) or not is_sent(name, value, facts.dialect, facts)


def leave_out_refused(
    extras: Extras | None, facts: Facts, notes: list[Note], limit: int | None = None
) -> Extras | None:
    """The fields that go to this target. Raises Unrepresentable for one that stands for turns of the conversation.
    `limit`: the token limit, which a client may give under both of its names."""
    if extras is None:
        return None
    shared = facts.shared_settings.get(extras.dialect)
    if shared is not None and extras.dialect != facts.dialect:
        extras, kept = _split_shared(extras, shared, facts, notes)
        if extras is None:
            return kept
        leave_out_refused(extras, replace(facts, shared_settings={}), notes, limit)
        return kept
    fields = {name: value for name, value in extras.fields.items() if is_sent(name, value, extras.dialect, facts)}
    for name in extras.fields.keys() - fields.keys():
        if _stands_for_turns(name, extras):
            raise Unrepresentable(
                f"{name} stands for turns that only its provider holds", key=name, hint=STATEFUL[name]
            )
    notes += [
        Note(f"left out {name}", key=name.replace(".", "/"), loses=_lost(name, value, limit), before=value)
        for name, value in extras.fields.items()
        if name not in fields
    ]
    return extras.only(fields)


def _lost(name: str, value: Json, limit: int | None) -> Loss:
    return Loss.NOTHING if name in _LIMITS and value == str(limit).encode() else lost_with(name, value)


def _split_shared(
    extras: Extras, shared: tuple[str, ...], facts: Facts, notes: list[Note]
) -> tuple[Extras | None, Extras | None]:
    """The fields that only the client's dialect has, and those that the target's has under the same name."""
    kept: dict[str, Json] = {}
    for name, value in extras.fields.items():
        members = [one.removeprefix(f"{name}.") for one in shared if one.startswith(f"{name}.")]
        if name in shared and f"{name}={value.decode()}" not in facts.refused_settings:
            kept[name] = value
        elif members and value[:1] == b"{":
            found = {key: bytes(one) for key, one in split_members(value).items()}
            own = {key: one for key, one in found.items() if not {key, f"{key}={one.decode()}"}.isdisjoint(members)}
            kept |= {name: render_object(own)} if own else {}
            notes += [
                Note(f"left out {key} of {name}", key=f"{name}/{key}", loses=Loss.METADATA, before=value)
                for key, value in found.items()
                if own and key not in own
            ]
    return extras.without(kept), Extras(facts.dialect, kept) if kept else None


def lost_with(name: str, value: Any) -> Loss:
    """What is lost with a setting that is left out, by whatever rule. One answer, and no log probabilities, are what
    the client gets anyway."""
    usual = value is False or value == b"false" or (name == "n" and value in (1, b"1"))
    return Loss.METADATA if usual else _LOSSES.get(name, Loss.METADATA)


def _stands_for_turns(name: str, extras: Extras) -> bool:
    """In a dialect whose requests hold all turns, such a field is an application's own, and stands for none. A thread
    that begins has no earlier turns."""
    if name not in STATEFUL or name in dialect_layer(extras.dialect).facts.get("vendor_settings", ()):
        return False
    return name != _THREAD or _CONTINUED in extras.fields[name]
