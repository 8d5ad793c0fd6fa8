"""How a dialect writes conversations, and the questions that facts declare, in its words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from dragoman.probe.question import JsonObject, Outcome, Question, Topic
from dragoman.probe.questions_by_dialect import message_turns
from dragoman.probe.questions_by_dialect.question_kinds import SCHEMA
from dragoman.profiles.fact_questions import Asked
from dragoman.profiles.facts import declarations, list_questions

Turns = tuple[JsonObject, ...]
_USUAL = {"user": "Hi", "assistant": "Hello.", "system": "Be brief."}
_CALLS = re.compile(r"call (?P<ids>[a-z ]+)(?P<bad>!?)(?:: (?P<before>.+)| > (?P<after>.+))?")
_FIELD = re.compile(r"(?P<rest>.*?) ?@(?P<name>\w+)=(?P<value>\w+)", re.DOTALL)
STANCES = Asked().values
_FIRST_NUMBER = 20
"""Ids of calls that scripts make begin with it. Those of hand-made questions are lower."""


class Phrases(msgspec.Struct, frozen=True, kw_only=True):
    """How a dialect writes what is asked; as Chat does, if it does not say."""

    user: Callable[[Any], JsonObject] = message_turns.user
    assistant: Callable[[Any], JsonObject] = message_turns.assistant
    """A turn of a text or of parts."""
    system: Callable[[Any], JsonObject] = message_turns.system
    """A system turn among the others."""
    text: Callable[[str], JsonObject] = message_turns.text
    """A part of a user turn."""
    call: Callable[[str, Any], JsonObject] = message_turns.called
    """One call, by its id and arguments."""
    calling: Callable[[tuple[JsonObject, ...], str, str], Turns]
    """The turns that make calls, with words before and after them."""
    results: Callable[[tuple[str, ...]], Turns] = message_turns.results
    """The turns that answer calls; two of one id are two results of one call."""
    tool: Callable[[str, str, JsonObject | None], JsonObject] = message_turns.described_function
    """A tool by its name, its description and its schema; None: it has none."""
    nothing: Any = ()
    """The content of a turn that has none."""
    lacks: frozenset[str] = frozenset()
    """Facts that are not asked for by their script: the dialect cannot say it, or has a question of its own."""
    words: Mapping[str, tuple[str, ...]] = {}
    """By fact, further words that a refusal uses in this dialect."""
    marked: Callable[[str], str] = str
    """Words of a script as they are written."""

    @property
    def lookup(self) -> JsonObject:
        return self.tool("lookup", "Look up.", SCHEMA)

    @property
    def hello(self) -> JsonObject:
        return self.assistant("Hello.")

    @property
    def hi(self) -> JsonObject:
        return self.user("Hi")

    def calls(self, *ids: str, before: str = "", after: str = "") -> Turns:
        return self.calling(tuple(self.call(id, {"word": "sun"}) for id in ids), before, after)

    def answered(self, *ids: str, results: tuple[str, ...] = (), before: str = "", after: str = "") -> Turns:
        """A user turn, calls, their results and an answer."""
        return (self.hi, *self.calls(*ids, before=before, after=after), *self.results(results or ids), self.hello)

    def written(self, script: str, number: int = 0) -> Turns:
        """The turns of a script. `number`: that of the ids of its calls."""
        return tuple(turn for line in script.split("; ") for turn in self._turns(line, number))

    def _turns(self, line: str, number: int) -> Turns:
        if line.startswith("result "):
            return self.results(tuple(_id(letter, number) for letter in line.split()[1:]))
        made = _CALLS.fullmatch(line)
        if made is None:
            return (self._turn(line),)
        arguments = "word: sun" if made["bad"] else {"word": "sun"}
        calls = tuple(self.call(_id(letter, number), arguments) for letter in made["ids"].split())
        return self.calling(calls, *(self.marked(made[at]) if made[at] else "" for at in ("before", "after")))

    def _turn(self, line: str) -> JsonObject:
        line, fields = _without_field(line) if "[" not in line else (line, {})
        role, _, words = line.partition(" ")
        content = self._content(words) if words else _USUAL[role]
        if role in _USUAL:
            return {**getattr(self, role)(content), **fields}
        return {**self.user(content), "role": role}

    def _content(self, words: str) -> Any:
        if words == "-":
            return None if self.nothing is None else list(self.nothing)
        if words[0] != "[":
            return self._words(words)
        parts = [_without_field(one) for one in words[1:-1].split("|") if one]
        return [{**self.text(self._words(text)), **fields} for text, fields in parts]

    def _words(self, words: str) -> str:
        return words[1:-1] if words[0] == '"' else self.marked(words)


def words_of(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _without_field(words: str) -> tuple[str, JsonObject]:
    found = _FIELD.fullmatch(words)
    return (words, {}) if found is None else (found["rest"], {found["name"]: found["value"]})


def _id(letter: str, number: int) -> str:
    """Nine letters and digits, which every known server takes, and others in every question."""
    return f"abcdef{_FIRST_NUMBER + number}{'abc'.index(letter)}"


_ORDER = (
    *(Topic.LIMITS, Topic.OPENING, Topic.TURNS, Topic.CALLS, Topic.TOOLS, Topic.ENDINGS),
    *(Topic.SETTINGS, Topic.EFFORTS, Topic.FORMS),
)
"""What agents meet most often comes first, so that a small budget finds it."""


def arrange(say: Phrases, first: Iterable[Question], own: Iterable[Question]) -> tuple[Question, ...]:
    """All questions of a dialect in the order in which they are asked: those on which all others build, then those
    that facts declare and its own, by topic."""
    declared, others = questions_of_facts(say), tuple(own)
    made = [*first]
    for topic in _ORDER:
        sides = [declared[topic], tuple(one for one in others if one.topic is topic)]
        made += [one for side in (reversed(sides) if topic is Topic.OPENING else sides) for one in side]
    return tuple(made)


def questions_of_facts(say: Phrases) -> dict[Topic, tuple[Question, ...]]:
    """The questions that facts declare, by topic."""
    about = declarations()
    made = [
        _question(say, fact, str(about[fact].description), how, number)
        for number, (fact, how) in enumerate(list_questions().items())
        if fact not in say.lacks
    ]
    return {topic: tuple(one for one in made if one.topic is topic) for topic in Topic}


def _question(say: Phrases, fact: str, asks: str, how: Asked, number: int) -> Question:
    topic, id = topic_of(how), fact.replace("_", "-")
    turns = say.written(how.script.removesuffix("; end"), number) if how.script else ()
    opens = not how.script.startswith("user") and not how.script.endswith("; end")
    return Question(
        id=id,
        asks=asks,
        topic=topic,
        opening=turns if opens else (),
        turns=turns if topic in (Topic.TURNS, Topic.CALLS) else (),
        closing=turns if how.script.endswith("; end") else (),
        tools=tuple(_tool(say, line) for line in how.tools.split("; ")) if how.tools else (),
        settles=fact if how.values == STANCES else "",
        accepted=Outcome({fact: how.values[0]}),
        refused=Outcome({fact: how.values[1]}),
        words=(*how.words, *_find_names(how), *say.words.get(fact, ())),
        after=tuple(name for name in (*_find_needed(say, fact, how, topic), *how.after) if name != id),
        often_refused=how.often,
    )


def topic_of(how: Asked) -> Topic:
    if how.tools:
        return Topic.TOOLS
    if how.script.endswith("; end"):
        return Topic.ENDINGS
    if not how.script.startswith("user"):
        return Topic.ENDINGS if how.script.startswith("assistant") else Topic.OPENING
    return Topic.CALLS if re.search(r"\b(call|result) ", how.script) else Topic.TURNS


def _tool(say: Phrases, line: str) -> JsonObject:
    name, _, odd = line.partition(" ")
    return say.tool(name, "" if odd == '""' else "Look up.", None if odd == "-" else SCHEMA)


def _find_names(how: Asked) -> Iterator[str]:
    """The names in a script: of roles that are unusual, of fields and of tools."""
    for line in how.script.split("; "):
        role = line.partition(" ")[0]
        if role and role not in (*_USUAL, "call", "result", "end"):
            yield from (role, "role")
    yield from re.findall(r"@(\w+)=", how.script)
    yield from dict.fromkeys(re.findall(r"[\w.]+", how.tools))


def _find_needed(say: Phrases, fact: str, how: Asked, topic: Topic) -> Iterator[str]:
    """The questions on which one builds: whether there may be what its script has beside the odd thing."""
    if topic is Topic.TOOLS:
        yield "tools"
    if topic is Topic.CALLS:
        yield "calls"
    if re.search(r"call [a-z] [a-z]", how.script):
        yield "parallel-calls"
    if "system" in how.script and fact != "inline_system":
        yield "system"
    if topic is Topic.TURNS and "[" in how.script and "list_content" not in say.lacks:
        yield "list-content"
