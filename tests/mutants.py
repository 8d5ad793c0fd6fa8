"""Does a test fail when a rule or a lesson is broken?

A mutant is one rule or lesson, broken in one way: a repair that does nothing, a report without its place, a message in
the wrong role. Each one runs in a process of its own, against the test file of its rule first and then against all of
tests/rules and tests/engine. A mutant that keeps them green survives, and the run fails.

    python tests/mutants.py             breaks everything, and writes docs/reference/mutants.md
    python tests/mutants.py --check     fails if that page does not list today's mutants
    python tests/mutants.py late-system breaks the rules and lessons that are named, and writes their rows of the page
"""

from __future__ import annotations

import io
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from msgspec.structs import replace

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "src")]

import msgspec  # noqa: E402
import pytest  # noqa: E402
from tests.rules.examples import Example, accepting, examples  # noqa: E402

from dragoman.conversation.changes import Loss, Note, Rewrite, Undo  # noqa: E402
from dragoman.conversation.conversation import Conversation  # noqa: E402
from dragoman.conversation.messages import Message, Role  # noqa: E402
from dragoman.engine.exchange.lessons import LESSONS, Lesson  # noqa: E402
from dragoman.errors import DragomanError  # noqa: E402
from dragoman.rules import BY_NAME, ORDER  # noqa: E402
from dragoman.rules.context import Context  # noqa: E402
from dragoman.rules.rule import Repair, Rule  # noqa: E402

PAGE = ROOT / "docs" / "reference" / "mutants.md"
FOLDERS = ("tests/rules", "tests/engine")
SWITCHED_OFF = "does nothing"
break_ = msgspec.structs.force_setattr

# Ways to break a rule: what becomes of each repair.

Break = Callable[[Rule, Conversation, Rewrite], Rewrite]


def switched_off(rule: Rule, before: Conversation, done: Rewrite) -> Rewrite:
    return Rewrite(before)


def unreported(rule: Rule, before: Conversation, done: Rewrite) -> Rewrite:
    return replace(done, notes=())


def placeless(rule: Rule, before: Conversation, done: Rewrite) -> Rewrite:
    return _noted(done, lambda note: replace(note, message=None, part=None, key=""))


def lighter(rule: Rule, before: Conversation, done: Rewrite) -> Rewrite:
    """Every loss one step down."""

    def lowered(note: Note) -> Note:
        loses = rule.loses if note.loses is None else note.loses
        return note if loses is Loss.NOTHING else replace(note, loses=Loss(loses - 1))

    return _noted(done, lowered)


def mistaken(rule: Rule, before: Conversation, done: Rewrite) -> Rewrite:
    """What was made up counts as said, and the other way round."""
    return _noted(done, lambda note: replace(note, kind="synthetic" if note.kind == "repair" else "repair"))


def unmapped(rule: Rule, before: Conversation, done: Rewrite) -> Rewrite:
    return replace(done, undo=Undo())


def wrong_role(rule: Rule, before: Conversation, done: Rewrite) -> Rewrite:
    def turned(message: Message) -> list[Message]:
        return [replace(message, role=Role.ASSISTANT if message.role is Role.USER else Role.USER)]

    return _with_first_change(before, done, turned)


def lost_part(rule: Rule, before: Conversation, done: Rewrite) -> Rewrite:
    return _with_first_change(before, done, lambda message: [replace(message, parts=message.parts[:-1])])


def wrong_place(rule: Rule, before: Conversation, done: Rewrite) -> Rewrite:
    """The message that changed stands at the end."""
    moved = _with_first_change(before, done, lambda message: [])
    gone = [message for message in done.conversation.messages if message not in moved.conversation.messages]
    return replace(moved, conversation=replace(moved.conversation, messages=(*moved.conversation.messages, *gone[:1])))


def _noted(done: Rewrite, change: Callable[[Note], Note]) -> Rewrite:
    return replace(done, notes=tuple(change(note) for note in done.notes))


def _with_first_change(before: Conversation, done: Rewrite, change: Callable[[Message], list[Message]]) -> Rewrite:
    """The rewrite with something else in place of the first message that is new in it."""
    known = {id(message) for message in before.messages}
    messages = list(done.conversation.messages)
    for at, message in enumerate(messages):
        if id(message) not in known:
            messages[at : at + 1] = change(message)
            break
    return replace(done, conversation=replace(done.conversation, messages=tuple(messages)))


BREAKS: dict[str, Break] = {
    SWITCHED_OFF: switched_off,
    "reports nothing": unreported,
    "reports no place": placeless,
    "reports a lighter loss": lighter,
    "reports the wrong kind": mistaken,
    "maps nothing back": unmapped,
    "gives the wrong role": wrong_role,
    "loses a part": lost_part,
    "puts it at the end": wrong_place,
}
DEAF = "ignores the choice"
EAGER = "runs for every target"


class Mutant(msgspec.Struct, frozen=True):
    """A rule or lesson by name, and how it is broken."""

    kind: str
    name: str
    how: str

    @property
    def files(self) -> list[list[str]]:
        """The tests to run, one list after the other, until one fails."""
        own = (
            f"tests/rules/test_{self.name.replace('-', '_')}.py"
            if self.kind == "rule"
            else "tests/engine/test_lessons.py"
        )
        return [[own], [*FOLDERS, "--ignore=tests/rules/schema"]]

    def apply(self) -> None:
        if self.kind == "rule":
            break_rule(BY_NAME[self.name], self.how)
        else:
            break_lesson(next(lesson for lesson in LESSONS if lesson.name == self.name), self.how)


def break_rule(rule: Rule, how: str) -> None:
    if how == EAGER:
        break_(rule, "when", lambda facts: True)
    else:
        break_(rule, "repair", broken(rule, how))


def broken(rule: Rule, how: str) -> Repair:
    repair = rule.repair

    def mutated(conversation: Conversation, context: Context) -> Rewrite:
        if how == DEAF:
            return repair(conversation, replace(context, choices={}))
        done = repair(conversation, context)
        return done if done.conversation is conversation else BREAKS[how](rule, conversation, done)

    return mutated


TEACHES_NOTHING = "teaches nothing"
LESSON_BREAKS: dict[str, dict[str, Any]] = {
    TEACHES_NOTHING: {"teaches": lambda said: None},
    "is remembered wrongly": {},
    "listens to every status": {"statuses": tuple(range(200, 600))},
}


def break_lesson(lesson: Lesson, how: str) -> None:
    changes = LESSON_BREAKS[how] or {"lasting": not lesson.lasting}
    for field, value in changes.items():
        break_(lesson, field, value)


def mutants(wanted: Iterable[str]) -> Iterator[Mutant]:
    names = set(wanted)
    for rule in ORDER:
        if not names or rule.name in names:
            yield from (Mutant("rule", rule.name, how) for how in (*BREAKS, DEAF, EAGER) if matters(rule, how))
    for lesson in LESSONS:
        if not names or lesson.name in names:
            yield from (Mutant("lesson", lesson.name, how) for how in LESSON_BREAKS)


def matters(rule: Rule, how: str) -> bool:
    """Does it make a difference to an example of the rule's page? A rule for settings has no role to get wrong."""
    if how == EAGER:
        return any(_is_guarded(rule, example) for example in examples(rule))
    mutated = broken(rule, how)
    return how == SWITCHED_OFF or any(
        _outcome(rule.repair, example.conversation, example.context)
        != _outcome(mutated, example.conversation, example.context)
        for example in examples(rule)
    )


def _is_guarded(rule: Rule, example: Example) -> bool:
    """Is `when` alone what keeps the rule from a target that takes everything?"""
    lenient = replace(example.context, facts=accepting(example.dialect))
    conversation = example.conversation
    return not rule.when(lenient.facts) and rule.repair(conversation, lenient).conversation is not conversation


def _outcome(repair: Repair, conversation: Conversation, context: Context) -> str:
    try:
        return repr(repair(conversation, context))
    except DragomanError as fault:
        return repr(fault)


# Running


class Killed(msgspec.Struct, frozen=True):
    """A mutant and the first test that failed; none, if it survived."""

    mutant: Mutant
    test: str
    seconds: float


class FirstFailure:
    """A pytest plugin that remembers which test failed."""

    def __init__(self) -> None:
        self.test = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.test:
            self.test = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and not self.test:
            self.test = report.nodeid


def kill(mutant: Mutant) -> Killed:
    """Break it in this process, which ends with it, and run the tests until one fails."""
    since = time.monotonic()
    mutant.apply()
    for files in mutant.files:
        test = first_failure(files)
        if test:
            return Killed(mutant, test, time.monotonic() - since)
    return Killed(mutant, "", time.monotonic() - since)


def first_failure(arguments: list[str]) -> str:
    plugin = FirstFailure()
    unwanted = [word for name in ("cacheprovider", "xdist", "unraisableexception") for word in ("-p", f"no:{name}")]
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        pytest.main(["-x", "-q", "--tb=no", *unwanted, *arguments], plugins=[plugin])
    return plugin.test


def run(found: list[Mutant]) -> list[Killed]:
    """Two at a time, each in a fork of this process, which has imported all tests before."""
    first_failure(["--collect-only", *FOLDERS])
    with get_context("fork").Pool(min(2, os.cpu_count() or 1), maxtasksperchild=1) as pool:
        return list(pool.imap(kill, found, chunksize=1))


def failing_unbroken(found: list[Mutant]) -> str:
    """A test that fails without any break: it would count as the one that noticed."""
    with get_context("fork").Pool(1) as pool:
        return pool.apply(first_failure, (sorted({mutant.files[0][0] for mutant in found}),))


def survived(result: Killed) -> bool:
    """A rule that is switched off must fail in its own test file; any other break in any."""
    if result.mutant.how == SWITCHED_OFF:
        return not result.test.startswith(result.mutant.files[0][0])
    return not result.test


def page(results: list[Killed], before: str = "") -> str:
    """The page. What has no result keeps its row of the page before."""
    lines = [
        "<!-- Written by tests/mutants.py; `make mutants` writes it anew. -->",
        "",
        "# Mutants",
        "",
        "Each rule and each lesson, broken in several ways, and the first test that fails. `make mutants` breaks them",
        "all; one that no test of `tests/rules` and `tests/engine` notices fails the run.",
    ]
    for kind, title, off, known in (
        ("rule", "Rules", SWITCHED_OFF, [rule.name for rule in ORDER]),
        ("lesson", "Lessons", TEACHES_NOTHING, [lesson.name for lesson in LESSONS]),
    ):
        lines += ["", f"## {title}", "", f"| {kind} | fails when it {off} | fails too when it |", "| --- | --- | --- |"]
        section = before.partition(f"## {title}\n")[2].partition("\n## ")[0]
        rows = {line.split(" | ")[0].strip("| "): line for line in section.splitlines() if line.startswith("| ")}
        rows |= {name: _row(name, off, found) for name, found in _by_name(results, kind).items()}
        lines += [rows[name] for name in known if name in rows]
    return "\n".join(lines) + "\n"


def _by_name(results: list[Killed], kind: str) -> dict[str, dict[str, str]]:
    """For each rule or lesson, in order: how it was broken, and the test that failed."""
    found: dict[str, dict[str, str]] = {}
    for result in results:
        if result.mutant.kind == kind:
            found.setdefault(result.mutant.name, {})[result.mutant.how] = result.test
    return found


def _row(name: str, off: str, found: dict[str, str]) -> str:
    file, _, test = found[off].partition("::")
    words = test.partition("[")[0].removeprefix("test_").replace("_", " ")
    return f"| {name} | `{file}`: {words} | {', '.join(how for how in found if how != off)} |"


def listed(text: str) -> list[tuple[str, str]]:
    """The mutants that a page lists, without the tests."""
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return [(row[0], row[-1]) for row in rows]


def main(arguments: list[str]) -> int:
    os.chdir(ROOT)
    names = [argument for argument in arguments if not argument.startswith("--")]
    unknown = set(names) - {*BY_NAME, *(lesson.name for lesson in LESSONS)}
    if unknown:
        print(f"no rule or lesson is called {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    since = time.monotonic()
    found = list(mutants(names))
    if test := failing_unbroken(found):
        print(f"{test} fails although nothing is broken: make the tests green first", file=sys.stderr)
        return 2
    results = run(found)
    survivors = [result.mutant for result in results if survived(result)]
    for mutant in survivors:
        print(f"survived: {mutant.kind} {mutant.name} {mutant.how}")
    print(f"{len(results)} mutants, {len(survivors)} survived, {time.monotonic() - since:.0f} s")
    if survivors:
        return 1
    before = PAGE.read_text("utf-8") if PAGE.exists() else ""
    text = page(results, before if names else "")
    if "--check" not in arguments:
        PAGE.write_text(text, "utf-8")
    elif listed(before) != listed(text):
        print("docs/reference/mutants.md is stale; run: make mutants", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
