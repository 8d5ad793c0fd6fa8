"""A setting outside the range that the target takes.

The value moves to the nearest one in range. A token limit above what the model can answer becomes that number where the
request is translated. Stop sequences beyond the number that the target takes are left out. A name of the user or of a
cache that is too long becomes a digest of it, always the same one.

Loses metadata.

For `anthropic/claude-sonnet-4-5`, from `openai-chat`:

    {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 100, "temperature": 1.5}
becomes
    {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 100, "temperature": 1}
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.traits import Trait
from dragoman.profiles.facts import ANY_SETTING, Facts, Setting, Stance
from dragoman.rules.context import Context
from dragoman.rules.rewriting import rewrite_settings
from dragoman.rules.rule import rule

_NUMBERS = (
    "max_tokens",
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "seed",
    "frequency_penalty",
    "presence_penalty",
    "n",
    "top_logprobs",
)

_NAMES = ("user", "prompt_cache_key")


@rule(
    "setting-range",
    spelling=True,
    when=lambda facts: True,
    looks_for=Trait.SETTINGS,
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
        near = _nearest(value, fact)
        if name == "max_tokens":
            near = _below_limit(near, facts)
        if near == value and type(near) is type(value):
            continue
        changes[name] = near
        before = near if near == value else value  # 40.0 and 40 are two spellings of one number
        notes.append(Note(f"changed {name} from {value} to {near}", key=name, before=before, after=near))
    if facts.stop_max and len(settings.stop) > facts.stop_max:
        changes["stop"] = settings.stop[: facts.stop_max]
        notes.append(Note(f"kept the first {facts.stop_max} stop sequences", key="stop", before=settings.stop))
    for name in _NAMES:
        value, length = getattr(settings, name), facts.setting(name).length
        if value is not None and length and len(value) > length:
            changes[name] = _digest(value, length)
            notes.append(
                Note(f"wrote {name} as a digest: it is longer than {length} characters", key=name, before=value)
            )
    return rewrite_settings(conversation, notes, **changes)


def _digest(value: str, length: int) -> str:
    """A name for a name, the same each time."""
    return blake2b(value.encode("utf-8", "replace"), digest_size=16).hexdigest()[:length]


def _below_limit(tokens: float, facts: Facts) -> float:
    """A token limit that the model can reach."""
    bounded = facts.output_limit > 0 and facts.above_output_limit is Stance.REFUSES
    return min(tokens, facts.output_limit) if bounded else tokens


def _nearest(value: float, fact: Setting) -> float:
    if fact.min is not None and value < fact.min:
        return _like(fact.min)
    if fact.max is not None and value > fact.max:
        return _like(fact.max)
    return round(value) if fact.whole else value


def _like(bound: float) -> float:
    """A whole bound stays whole."""
    return int(bound) if bound == int(bound) else bound
