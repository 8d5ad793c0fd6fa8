"""The dialects in which questions can be asked. Their questions are loaded when they are first used."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec

import msgspec

from dragoman.conversation.dialect_names import DEFAULT_DIALECT, DIALECT_NAMES, DialectName
from dragoman.dialects.dialect import Dialect
from dragoman.dialects.registry import dialect
from dragoman.probe.question import Question
from dragoman.probe.request_form import RequestForm


class AskedDialect(msgspec.Struct, frozen=True):
    """What a server is asked in one dialect."""

    name: DialectName
    """Of the dialect."""
    form: RequestForm
    """How its requests are written."""
    questions: tuple[Question, ...]
    """In the order in which they are asked."""

    @property
    def dialect(self) -> Dialect:
        return dialect(self.name)


@cache
def find_asked_dialect(name: str = DEFAULT_DIALECT) -> AskedDialect:
    """What is asked in this dialect. Raises KeyError if nothing is; see `list_asked`."""
    known = next((one for one in list_asked() if one == name), None)
    if known is None:
        raise KeyError(name)
    module = import_module(_module(known))
    questions: Sequence[Question] = module.QUESTIONS
    form: RequestForm = module.FORM
    return AskedDialect(known, form, tuple(questions))


@cache
def list_asked() -> tuple[DialectName, ...]:
    """The dialects that have questions, the one that most servers speak first."""
    found = [name for name in DIALECT_NAMES if find_spec(_module(name)) is not None]
    return tuple(sorted(found, key=lambda name: name != DEFAULT_DIALECT))


def _module(name: str) -> str:
    return f"dragoman.probe.questions_by_dialect.{name.replace('-', '_')}_questions"
