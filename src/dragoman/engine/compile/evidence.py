"""Why a rule runs: the facts that it read, and what the provider itself said about them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, cast

from msgspec.structs import replace

from dragoman.conversation.changes import Note
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.parts import Media
from dragoman.errors import DragomanError
from dragoman.profiles.facts import Facts, Medium, Setting, Stance
from dragoman.profiles.profile import Evidence, Profile, Profiles, Target
from dragoman.rules.context import Context
from dragoman.rules.rule import Rule

NO_REASONS = frozenset({"dialect", "provider", "family", "model", "message_fields", "known_settings", "near_misses"})
"""Facts that say who or how, never that something is refused."""


_FACTS = frozenset(Facts.__struct_fields__)
_WORD = re.compile(r"[\w.-]+")


class Watched:
    """Facts that remember which of them were asked for. A rule cannot tell them from the real ones."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self.read: dict[str, None] = {}

    def __getattr__(self, name: str) -> Any:
        if name in _FACTS:
            self.read[name] = None
        value = getattr(self._facts, name)
        self.__dict__[name] = value  # the next question about it costs nothing
        return value

    def medium(self, kind: str) -> Medium:
        self.read[f"media.{kind}"] = None
        return self._facts.medium(kind)

    def setting(self, name: str) -> Setting:
        self.read[f"settings.{name}"] = None
        return self._facts.setting(name)


def watch_facts(context: Context) -> tuple[Context, Watched]:
    """The same context for a rule, and the list of the facts that it reads."""
    watching = Watched(context.facts)
    return replace(context, facts=cast(Facts, watching)), watching


def reasons(read: Iterable[str], facts: Facts) -> tuple[str, ...]:
    """Those of the facts read that speak against something."""
    return tuple(name for name in read if name not in NO_REASONS and _speaks_against(value_of(name, facts)))


def _speaks_against(value: Any) -> bool:
    return bool(value) and value is not Stance.ACCEPTS


class RuleRun:
    """One run of a rule that repaired something, with the facts that it read. It can tell which of them called for a
    repair: those without which the rule would have left that place alone."""

    def __init__(self, rule: Rule, conversation: Conversation, context: Context, read: Iterable[str]) -> None:
        self.rule = rule
        self.against = reasons(read, context.facts)
        self._conversation = conversation
        self._context = context
        self._runs: dict[tuple[str, ...], set[tuple[str, int, int, str]]] = {}

    def suspects(self, note: Note) -> list[str]:
        """The facts that may have called for the repair. Of a table of facts only the entry that it is about."""
        about = {"settings": note.key, "media": str(note.part.kind) if isinstance(note.part, Media) else ""}
        tables = {name.partition(".")[0] for name in self.against}
        entries = [f"{table}.{entry}" for table, entry in about.items() if entry and table in tables]
        return entries + [name for name in self.against if name.partition(".")[0] not in about]

    def behind(self, note: Note, suspects: Iterable[str]) -> list[str]:
        """Of these facts those that called for the repair."""
        entries: list[str] = []
        facts: list[str] = []
        for name in suspects:
            (entries if "." in name else facts).append(name)
        alone = [name for name in facts if not self._repairs(note, (name,))]
        if not alone and len(facts) > 1 and not self._repairs(note, tuple(facts)):
            alone = facts[:1]
        return entries + alone

    def _repairs(self, note: Note, pardoned: tuple[str, ...]) -> bool:
        """Would the rule repair this, too, if the target were lenient in these facts?"""
        if pardoned not in self._runs:
            lenient = {name: _lenient(name, self._context.facts) for name in pardoned}
            facts = replace(self._context.facts, **lenient)
            again = replace(self._context, facts=facts)
            done = self.rule.repair(self._conversation, again).notes if self.rule.when(facts) else ()
            self._runs[pardoned] = {_place(one) for one in done}
        return _place(note) in self._runs[pardoned]


def _place(note: Note) -> tuple[str, int, int, str]:
    return note.key, id(note.message), id(note.part), note.did


_DEFAULTS = Facts()
_NO_LIMIT = 1_000_000
_ANYTHING = "(?s:.*)"


def _lenient(name: str, facts: Facts) -> Any:
    """What a server would state that refuses nothing for this fact's sake."""
    value, usual = getattr(facts, name), getattr(_DEFAULTS, name)
    if isinstance(value, Stance):
        return Stance.ACCEPTS
    if name.endswith("_pattern"):
        return _ANYTHING
    return _NO_LIMIT if type(usual) is int and usual else usual


def value_of(name: str, facts: Facts) -> Any:
    """The value of a fact by its name; `settings.top_k` and `media.image` are entries of a table."""
    table, _, entry = name.partition(".")
    if table == "settings" and entry:
        return facts.setting(entry)
    if table == "media" and entry:
        return facts.medium(entry)
    return getattr(facts, name, None)


def words(entries: Iterable[Evidence], note: Note) -> str:
    """The first sentence that a provider said about this very thing, or without naming one."""
    named = {note.key, note.before if isinstance(note.before, str) else ""}
    named.update(word.rstrip(".-") for word in _WORD.findall(note.did))
    return next((entry.says for entry in entries if entry.says and (not entry.about or entry.about in named)), "")


def evidence(target: Target, names: Iterable[str], profiles: Profiles) -> Iterator[Evidence]:
    """What is known to be behind these facts of a target: the first named first, what was said in words before the
    rest."""
    known = [entry for profile in lineage(target.profile, profiles) for entry in profile.evidence]
    for name in names:
        fitting = [entry for entry in known if _speaks_of(entry, name) and _holds(entry, name, target, profiles)]
        yield from sorted(fitting, key=lambda entry: (not entry.says, entry.model != target.model))


def lineage(profile: Profile, profiles: Profiles) -> Iterator[Profile]:
    """A profile and those that it is like, the nearest first."""
    yield profile
    if profile.like and profile.like != profile.name:
        yield from lineage(profiles.profile(profile.like), profiles)


def _speaks_of(entry: Evidence, name: str) -> bool:
    return entry.fact == name or entry.fact.startswith(f"{name}.")


def _holds(entry: Evidence, name: str, target: Target, profiles: Profiles) -> bool:
    """Evidence seen on one model holds for those of the same family of which the same fact is stated."""
    if not entry.model or entry.model == target.model:
        return True
    try:
        specimen = profiles.target(f"{target.profile.name}/{entry.model}")
    except DragomanError:
        return False
    if specimen.facts.family != target.facts.family:
        return False  # behind a router stand several providers, each with words of its own
    return bool(value_of(name, specimen.facts) == value_of(name, target.facts))
