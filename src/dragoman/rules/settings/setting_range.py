"""A setting outside the range that the target takes.

The value moves to the nearest one in range. A token limit above what the model can answer becomes that number if the
request is translated. Stop sequences beyond the number that the target takes are left out, and so are empty ones and
those of white space if it refuses them. A name of the user or of a cache that is too long becomes a digest of it,
always the same one; so does an e-mail address that a provider does not want to know, and a further field that has not
the form which the fact `field_patterns` states. Metadata of too many pairs keeps the first ones, a key that is too long
becomes a digest, and a value is cut. A `top_k` of -1, which means no limit to servers of open models, is left out.

Loses metadata; a limit that was none loses nothing.

For `anthropic/claude-sonnet-4-6`, from `openai-chat`:

    {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 100, "temperature": 1.5}
becomes
    {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 100, "temperature": 1}
"""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import EMPTY, blank, quote
from dragoman.conversation.parts import Extras, Json
from dragoman.profiles.facts import ANY_SETTING, Facts, Setting, Stance
from dragoman.rules.context import Context
from dragoman.rules.rewriting import rewrite_settings
from dragoman.rules.rule import rule

_NUMBERS = (
    *("max_tokens", "temperature", "top_p", "top_k", "min_p", "seed"),
    *("frequency_penalty", "presence_penalty", "n", "top_logprobs"),
)

_NAMES = ("user", "prompt_cache_key")


@rule(
    "setting-range",
    spelling=True,
    when=lambda facts: True,
    looks_for=traits.SETTINGS | traits.TOP_EXTRAS,
    loses=Loss.METADATA,
    top_level=True,
)
def setting_range(conversation: Conversation, context: Context) -> Rewrite:
    facts = context.facts
    notes: list[Note] = []
    changes: dict[str, Any] = {}
    settings = conversation.settings
    for name in _NUMBERS:
        value = getattr(settings, name)
        fact = facts.settings.get(name, ANY_SETTING)
        if value is None:
            continue
        if name == "top_k" and value == -1 and fact.min is not None:
            changes[name] = None
            notes.append(Note("left out top_k, since -1 means no limit", key=name, loses=Loss.NOTHING, before=value))
            continue
        near = _find_nearest(value, fact)
        if name == "max_tokens":
            near = _cut_below_limit(near, facts)
        if near == value and type(near) is type(value):
            continue
        changes[name] = near
        before = near if near == value else value  # 40.0 and 40 are two spellings of one number
        notes.append(Note(f"changed {name} from {value} to {near}", key=name, before=before, after=near))
    if settings.stop:
        _fit_stop(settings.stop, facts, changes, notes)
    for name in _NAMES:
        value = getattr(settings, name)
        why = None if value is None else _find_fault(value, facts.setting(name))
        if why is not None:
            changes[name] = _digest(value, facts.setting(name).length or 32)
            notes.append(Note(f"wrote {name} as a digest: it is {why}", key=name, before=value))
    if settings.metadata is not None and facts.setting("metadata").pairs:
        _fit_metadata(settings.metadata, facts.setting("metadata"), changes, notes)
    extras = _in_form(conversation.extras, facts, notes) if facts.field_patterns else conversation.extras
    if extras is not conversation.extras:
        conversation = replace(conversation, extras=extras)
    return rewrite_settings(conversation, notes, **changes)


def _find_fault(name: str, fact: Setting) -> str | None:
    """Why the target does not take this name, if so."""
    if fact.length and len(name) > fact.length:
        return f"longer than {fact.length} characters"
    user, _, host = name.partition("@")
    return "an e-mail address" if fact.anonymous and user and "." in host else None


def _fit_stop(stop: tuple[bytes, ...], facts: Facts, changes: dict[str, Any], notes: list[Note]) -> None:
    """Those that the target takes, and not too many of them. An empty one says nothing."""
    words = tuple([one for one in stop if one != EMPTY]) if facts.empty_stop is Stance.REFUSES else stop
    if len(words) < len(stop):
        notes.append(Note("left out an empty stop sequence", key="stop", loses=Loss.NOTHING, before=stop))
    refused = facts.blank_stop is Stance.REFUSES
    shown = tuple([one for one in words if one == EMPTY or not (refused and blank(one))])
    if len(shown) < len(words):
        notes.append(Note("left out a stop sequence of white space", key="stop", before=stop))
    if facts.stop_max and len(shown) > facts.stop_max:
        shown = shown[: facts.stop_max]
        notes.append(Note(f"kept the first {facts.stop_max} stop sequences", key="stop", before=stop))
    if len(shown) < len(stop):
        changes["stop"] = shown


def _fit_metadata(metadata: Json, fact: Setting, changes: dict[str, Any], notes: list[Note]) -> None:
    """Within the number of pairs, and the lengths of keys and values."""
    given = msgspec.json.decode(metadata)
    if not isinstance(given, dict):
        return
    fitting = {
        key if len(key) <= fact.key_length else _digest(key, fact.key_length): _cut(value, fact.length)
        for key, value in list(given.items())[: fact.pairs]
    }
    if fitting == given:
        return
    changes["metadata"] = msgspec.json.encode(fitting)
    did = (
        f"kept {fact.pairs} pairs of metadata, keys of {fact.key_length} and values of {fact.length} characters at most"
    )
    notes.append(Note(did, key="metadata", before=metadata, after=changes["metadata"]))


def _cut(value: Any, length: int) -> Any:
    return value[:length] if isinstance(value, str) else value


def _in_form(extras: Extras | None, facts: Facts, notes: list[Note]) -> Extras | None:
    """Texts of another form than the target takes become digests."""
    if extras is None or extras.dialect != facts.dialect:
        return extras
    odd = {name: value for name, value in extras.fields.items() if _is_odd(name, value, facts)}
    if not odd:
        return extras
    for name, value in odd.items():
        notes.append(
            Note(f"wrote {name} as a digest: it has not the form that the target takes", key=name, before=value)
        )
    digests = {name: quote(_digest(value.decode(), 32)) for name, value in odd.items()}
    return Extras(extras.dialect, {**extras.fields, **digests})


def _is_odd(name: str, value: Json, facts: Facts) -> bool:
    pattern = facts.field_patterns.get(name)
    return pattern is not None and value[:1] == b'"' and re.fullmatch(pattern, msgspec.json.decode(value)) is None


def _digest(value: str, length: int) -> str:
    """A name for a name, the same each time."""
    return blake2b(value.encode("utf-8", "replace"), digest_size=16).hexdigest()[:length]


def _cut_below_limit(tokens: float, facts: Facts) -> float:
    """A token limit that the model can reach."""
    bounded = facts.output_limit > 0 and facts.above_output_limit is Stance.REFUSES
    return min(tokens, facts.output_limit) if bounded else tokens


def _find_nearest(value: float, fact: Setting) -> float:
    if fact.min is not None and value < fact.min:
        return _like(fact.min)
    if fact.max is not None and value > fact.max:
        return _like(fact.max)
    return round(value) if fact.whole else value


def _like(bound: float) -> float:
    """A whole bound stays whole."""
    return int(bound) if bound == int(bound) else bound
