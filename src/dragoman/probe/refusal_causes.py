"""Which of several questions a refusal is about: by the place that it names, by its words, or by a known lesson."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from dragoman.conversation.conversation import Conversation
from dragoman.conversation.failures import Failure
from dragoman.engine.exchange.lessons import learn
from dragoman.probe.question import Question, Verdict
from dragoman.probe.request_form import RequestForm
from dragoman.profiles.fact_names import entry_names
from dragoman.profiles.facts import Facts
from dragoman.wire.error_wording import cut_matched_part

_PLACE = re.compile(
    r"\b(?P<list>[a-zA-Z_]{1,30})(?:['\"]?[\[.,/ >()-]{1,4})(?P<at>\d{1,4})\b|\bat index (?P<index>\d{1,4})\b"
)
"""`messages[3]`, `messages.[3]`, `messages.3`, `('body', 'messages', 3)`, `messages -> 3`. The dialect tells which
lists count."""
_WORD = re.compile(r"[\w.]+")
_QUOTED = re.compile(r"['\"`]([^'\"`]{1,200})['\"`]|\b(\w{1,40}(?:\.\w{1,40}){1,12})\b|(?:^|\n) ?(\w{1,60}):")
"""What stands in quotes, paths such as `body.seed`, and a name before a colon at the start."""
_CALL_ID = re.compile(r"abcdef\d{3}")
"""How the ids of calls look in questions."""
_MOST_WORDS = 2000
_SENTENCE = re.compile(r"\n|; ")
"""Between the errors of a validator that lists all that it finds."""
_MOST_SENTENCES = 50
NOTHING_KNOWN = Facts()
NO_CONVERSATION = Conversation(())
"""What lessons are asked with: they may use neither what is known nor what was sent."""


class Blame(msgspec.Struct, frozen=True):
    """The questions that a refusal may be about."""

    questions: tuple[Question, ...]
    sure: bool
    """Whether it names each of them, so that none need be asked alone."""


def blame(failure: Failure, asked: Sequence[Question], form: RequestForm) -> Blame:
    """The questions that a refusal may be about, all of them if it does not say."""
    if len(asked) < 2:
        return Blame(tuple(asked), sure=True)
    text = f"{failure.param} {cut_matched_part(failure.message)}"
    named = _find_named(text, failure.param, asked, form)
    if len(named) == 1:
        return Blame(named, sure=True)
    listed = [_find_named(one, "", asked, form) for one in _SENTENCE.split(text)[:_MOST_SENTENCES]]
    if len(listed) > 1 and all(len(one) == 1 for one in listed):
        return Blame(tuple({one[0].id: one[0] for one in listed}.values()), sure=True)
    return Blame(named or _by_lesson(failure, asked) or _by_word(text, asked) or tuple(asked), sure=False)


def _find_named(text: str, param: str, asked: Sequence[Question], form: RequestForm) -> tuple[Question, ...]:
    return _by_place(text, asked, form) or _by_call_id(text, asked) or _by_quote(text, param, asked)


def _by_place(text: str, asked: Sequence[Question], form: RequestForm) -> tuple[Question, ...]:
    """The question whose turn or tool stands at the place that the refusal names."""
    owners: dict[str, Question] = {}
    for found in _PLACE.finditer(text):
        if found["list"] in form.tool_lists:
            placed = form.place_tools(asked)
        elif found["list"] in (form.turns_at, None):
            placed = form.place_turns(asked)
        else:
            continue
        at = int(found["at"] or found["index"])
        owner = placed[at][0] if at < len(placed) else None
        if owner is not None:
            owners[owner.id] = owner
    return tuple(owners.values())


def _by_call_id(text: str, asked: Sequence[Question]) -> tuple[Question, ...]:
    """The questions whose calls the refusal names by their ids."""
    named = {*_CALL_ID.findall(text)}
    return tuple(question for question in asked if named & {*_CALL_ID.findall(str(question.turns))}) if named else ()


def _by_quote(text: str, param: str, asked: Sequence[Question]) -> tuple[Question, ...]:
    """The one question whose word the refusal quotes."""
    quoted = {param, *(one or path or name for one, path, name in _QUOTED.findall(text))}
    names = {piece for one in quoted for piece in re.split(r"[.\[\]\d]+", one)} | quoted
    return _only(question for question in asked if not names.isdisjoint(question.telling_words))


def _by_word(text: str, asked: Sequence[Question]) -> tuple[Question, ...]:
    """The questions whose words the refusal uses. Short words stand in too many sentences."""
    words = {word.strip(".") for word in _WORD.findall(text.lower())[:_MOST_WORDS]}
    pieces = words | {piece for word in words for piece in word.split(".")}
    return tuple(
        question
        for question in asked
        if any(len(word) > 3 and word.lower() in pieces for word in question.telling_words)
    )


def _by_lesson(failure: Failure, asked: Sequence[Question]) -> tuple[Question, ...]:
    """The questions about the facts that a known refusal corrects."""
    learnt = learn(failure, NOTHING_KNOWN, NO_CONVERSATION)
    if learnt is None:
        return ()
    names = {*entry_names(learnt.facts)}
    return tuple(question for question in asked if not names.isdisjoint(question.outcome(Verdict.REFUSED).names))


def _only(questions: Any) -> tuple[Question, ...]:
    found = tuple(questions)
    return found if len(found) == 1 else ()
