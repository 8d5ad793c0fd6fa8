"""What is remembered of refusals: for whom, for how long, and when it is confirmed (K19)."""

from __future__ import annotations

from typing import Any

from dragoman.engine.exchange.lesson_book import DAY, CorrectedTargets, LessonRecord, merge_believed, remember
from dragoman.engine.exchange.lessons import Learnt
from dragoman.profiles.profile import Profiles

WORDED = Learnt("limit-name", {"limit_name": "max_completion_tokens"})
PROVED = Learnt("careful", {"unknown_fields": "refuses", "settings": {"seed": {"support": "refuses"}}}, tentative=True)
TARGET = "p/m"


class Book:
    """A book with a clock that stands where it is put."""

    def __init__(self) -> None:
        self._records: dict[tuple[str, str], LessonRecord] = {}
        self.now = 1000.0

    @property
    def records(self) -> tuple[LessonRecord, ...]:
        return tuple(self._records.values())

    def learn(self, learnt: Learnt, caller: str = "ann", request_id: str = "r1") -> None:
        for record in remember(self.records, learnt, target=TARGET, caller=caller, request_id=request_id, now=self.now):
            self._records[record.name, record.caller] = record

    def facts(self, caller: str) -> dict[str, Any]:
        return merge_believed(self.records, caller, self.now)


def test_a_lesson_in_the_providers_words_holds_for_everybody() -> None:
    book = Book()
    book.learn(WORDED)
    assert book.facts("ann") == book.facts("bob") == WORDED.facts


def test_what_care_proved_holds_for_its_caller_alone() -> None:
    book = Book()
    book.learn(PROVED)
    assert book.facts("ann") == PROVED.facts
    assert book.facts("bob") == {}


def test_another_request_confirms_it_for_all() -> None:
    book = Book()
    book.learn(PROVED)
    book.learn(PROVED, "bob", "r2")
    assert book.facts("ann") == book.facts("bob") == book.facts("eve") == PROVED.facts


def test_the_same_request_does_not_confirm_itself() -> None:
    book = Book()
    book.learn(PROVED)
    book.learn(PROVED, "bob", "r1")
    assert book.facts("eve") == {}


def test_each_fact_is_confirmed_by_itself() -> None:
    book = Book()
    book.learn(PROVED)
    book.learn(Learnt("careful", {"unknown_fields": "refuses"}, tentative=True), "bob", "r2")
    assert book.facts("eve") == {"unknown_fields": "refuses"}
    assert book.facts("ann") == PROVED.facts


def test_it_is_forgotten_after_a_day() -> None:
    book = Book()
    book.learn(PROVED)
    book.learn(WORDED)
    book.now += DAY - 1
    assert book.facts("ann") == {**WORDED.facts, **PROVED.facts}
    book.now += 1
    assert book.facts("ann") == {}


def test_what_is_forgotten_confirms_nothing() -> None:
    book = Book()
    book.learn(PROVED)
    book.now += DAY
    book.learn(PROVED, "bob", "r2")
    assert book.facts("eve") == {}


def test_what_is_confirmed_stays_so_for_another_day() -> None:
    book = Book()
    book.learn(PROVED)
    book.learn(PROVED, "bob", "r2")
    book.now += DAY / 2
    book.learn(PROVED, "eve", "r3")
    book.now += DAY / 2
    assert book.facts("anybody") == PROVED.facts


def test_steps_of_a_ladder_are_one_lesson_and_the_last_holds() -> None:
    book = Book()
    book.learn(Learnt("tool-wrapper", {"tool_wrapper": "function_declarations"}))
    book.now += 1
    book.learn(Learnt("tool-wrapper", {"tool_wrapper": "functionDeclarations"}))
    assert book.facts("ann") == {"tool_wrapper": "functionDeclarations"}
    assert len(book.records) == 1


def test_a_target_is_the_same_object_as_long_as_the_same_is_believed() -> None:
    book, targets = Book(), CorrectedTargets()
    target = Profiles().target("openai/gpt-4o")

    def corrected(caller: str) -> Any:
        return targets.correct(TARGET, target, book.records, caller, book.now)

    assert corrected("ann") is target
    book.learn(PROVED)
    assert corrected("bob") is target
    first = corrected("ann")
    assert first is corrected("ann")
    assert first is not target
    assert first.facts.unknown_fields == "refuses"
    book.learn(WORDED)
    assert corrected("ann").facts.limit_name == "max_completion_tokens"
    book.now += DAY
    assert corrected("ann") is target
