"""Which of several questions a refusal is about: by the place that it names, by its words, or by a known lesson."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from dragoman.conversation.conversation import Conversation
from dragoman.conversation.failures import Failure
from dragoman.engine.lessons import learn
from dragoman.probe.questions import Question, Verdict, placed_messages, placed_tools
from dragoman.profiles.facts import Facts
from dragoman.wire.error_wording import matched_part

_PLACE = re.compile(
    r"\b(?P<list>messages|tools)(?:['\"]?[\[.,/ >()-]{1,4})(?P<at>\d{1,4})\b|\bat index (?P<index>\d{1,4})\b"
)
"""`messages[3]`, `messages.[3]`, `messages.3`, `('body', 'messages', 3)`, `messages -> 3`."""
_WORD = re.compile(r"[\w.]+")
_QUOTED = re.compile(r"['\"`]([^'\"`]{1,200})['\"`]|\b(\w{1,40}(?:\.\w{1,40}){1,12})\b")
"""What stands in quotes, and paths such as `body.seed`."""
_MOST_WORDS = 2000
NOTHING_KNOWN = Facts()
NO_CONVERSATION = Conversation(())
"""What lessons are asked with: they may use neither what is known nor what was sent."""


class Blame(msgspec.Struct, frozen=True):
    """The questions that a refusal may be about. `sure`: it names them, so a single one need not be asked alone."""

    questions: tuple[Question, ...]
    sure: bool


def blame(failure: Failure, asked: Sequence[Question]) -> Blame:
    """The questions that a refusal may be about, all of them if it does not say."""
    if len(asked) < 2:
        return Blame(tuple(asked), sure=True)
    text = f"{failure.param} {matched_part(failure.message)}"
    named = _by_place(text, asked) or _by_quote(text, failure.param, asked)
    if named:
        return Blame(named, sure=True)
    return Blame(_by_lesson(failure, asked) or _by_word(text, asked) or tuple(asked), sure=False)


def _by_place(text: str, asked: Sequence[Question]) -> tuple[Question, ...]:
    """The question whose message or tool stands at the place that the refusal names."""
    found = _PLACE.search(text)
    if found is None:
        return ()
    placed = placed_tools(asked) if found["list"] == "tools" else placed_messages(asked)
    at = int(found["at"] or found["index"])
    owner = placed[at][0] if at < len(placed) else None
    return () if owner is None else (owner,)


def _by_quote(text: str, param: str, asked: Sequence[Question]) -> tuple[Question, ...]:
    """The one question whose word the refusal quotes."""
    quoted = {param, *(one or path for one, path in _QUOTED.findall(text))}
    names = {piece for one in quoted for piece in re.split(r"[.\[\]\d]+", one)} | quoted
    return _only(question for question in asked if not names.isdisjoint(question.words))


def _by_word(text: str, asked: Sequence[Question]) -> tuple[Question, ...]:
    """The one question whose word the refusal uses. Short words stand in too many sentences."""
    words = {word.strip(".") for word in _WORD.findall(text.lower())[:_MOST_WORDS]}
    pieces = words | {piece for word in words for piece in word.split(".")}
    return _only(
        question for question in asked if any(len(word) > 4 and word.lower() in pieces for word in question.words)
    )


def _by_lesson(failure: Failure, asked: Sequence[Question]) -> tuple[Question, ...]:
    """The questions about the facts that a known refusal corrects."""
    learnt = learn(failure, NOTHING_KNOWN, NO_CONVERSATION)
    if learnt is None:
        return ()
    names = _fact_names(learnt.facts)
    return tuple(question for question in asked if not names.isdisjoint(question.outcome(Verdict.REFUSED).names))


def _fact_names(patch: Mapping[str, Any]) -> set[str]:
    names: set[str] = set()
    for name, value in patch.items():
        names |= {f"{name}.{key}" for key in value} if isinstance(value, Mapping) else {name}
    return names


def _only(questions: Any) -> tuple[Question, ...]:
    found = tuple(questions)
    return found if len(found) == 1 else ()
