"""A profile as a file, with evidence: what was asked, what the server said, and when."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from dragoman.conversation.dialect_names import DEFAULT_DIALECT, DialectName
from dragoman.probe.findings import ProbeFinding, ProbeLoss, evidence_of
from dragoman.probe.question import Question, Verdict
from dragoman.profiles.fact_names import entry_names
from dragoman.profiles.profile import Key

MARK = "# Found on "
"""How the file begins as long as it may be written anew."""
MEASURED = "MEAS"
"""The kind of evidence: seen on the server itself."""


class FoundProfile(msgspec.Struct, frozen=True, kw_only=True):
    """All that a file says."""

    name: str
    facts: Mapping[str, Any]
    findings: tuple[ProbeFinding, ...]
    questions: tuple[Question, ...]
    seen: datetime.date
    source: str
    """By whom and how it was found."""
    url: str = ""
    model: str = ""
    key: Key | None = None
    """Where it is and how it is sent."""
    title: str = ""
    remarks: tuple[str, ...] = ()
    losses: tuple[ProbeLoss, ...] = ()
    """What the server takes and the model never reads."""
    like: str = ""
    """A profile that it corrects."""
    dialect: DialectName = DEFAULT_DIALECT


def render_profile(found: FoundProfile) -> str:
    """The text of the file."""
    return "\n".join([*_head(found), *_fact_lines(found.facts), *_evidence_lines(found)]) + "\n"


def _head(found: FoundProfile) -> Iterator[str]:
    yield f"{MARK}{found.seen} by {found.source}. Read it, correct it, and take out this line to keep it."
    yield from (f"# {_one_line(remark)}" for remark in found.remarks)
    yield from (f"# Never read by the model: {_one_line(loss.what)}" for loss in found.losses)
    if found.like:
        yield f"like = {toml_value(found.like)}"
    yield f"dialect = {toml_value(found.dialect)}"
    yield f"title = {toml_value(found.title or found.name)}"
    if found.url:
        yield f"url = {toml_value(found.url)}"
    if found.key is not None:
        usual = msgspec.to_builtins(Key())
        stated = {name: value for name, value in msgspec.to_builtins(found.key).items() if value != usual[name]}
        yield f"key = {toml_value(stated)}"


def _fact_lines(facts: Mapping[str, Any]) -> Iterator[str]:
    tables = {name: value for name, value in facts.items() if isinstance(value, Mapping)}
    yield from ("", "[facts]")
    yield from (f"{name} = {toml_value(value)}" for name, value in facts.items() if name not in tables)
    for name, table in tables.items():
        yield from ("", f"[facts.{name}]")
        yield from (f"{entry} = {toml_value(value)}" for entry, value in table.items())


def _evidence_lines(found: FoundProfile) -> Iterator[str]:
    """For each fact that rests on a refusal, the refusal; for the others nothing, since nothing was said."""
    asked = {question.id: question for question in found.questions}
    for fact in entry_names(found.facts):
        for finding in evidence_of(fact, found.findings, found.questions):
            if finding.verdict is not Verdict.REFUSED or not finding.says:
                continue
            yield from ("", "[[evidence]]", f"fact = {toml_value(fact)}", f"seen = {found.seen}")
            yield from (f"kind = {toml_value(MEASURED)}", f"says = {toml_value(finding.says)}")
            yield f"source = {toml_value(f'{found.source}: {asked[finding.question].asks}')}"
            if found.model:
                yield f"model = {toml_value(found.model)}"


def toml_value(value: Any) -> str:
    """A value as TOML. Texts, numbers and lists are written as in JSON."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {toml_value(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    if isinstance(value, str):
        return _text(value)
    return msgspec.json.encode(value).decode()


def _text(text: str) -> str:
    """A TOML string. JSON writes the character 127 as it is, which TOML forbids."""
    return msgspec.json.encode(text.encode("utf-8", "replace").decode()).decode().replace("\x7f", "\\u007f")


def _one_line(text: str) -> str:
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
