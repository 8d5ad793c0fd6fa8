"""Four laws for every rule: if nothing calls for it, it changes nothing; a second run changes nothing; a change is
reported exactly when there is one; and no call is parted from its result.

Each rule gets its own examples and generated conversations, for the targets that call for it. A law that found no
conversation which its rule changes has proven nothing, and fails.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path

import msgspec
import pytest
from tests.rules.examples import accepting, examples, refusing
from tests.strategies import SHAPES, request
from tests.targets import TARGETS
from tests.trait_names import named_traits

from dragoman.conversation.canonical import canonical
from dragoman.conversation.changes import Rewrite
from dragoman.conversation.conversation import Ask, Conversation
from dragoman.conversation.pairs import pair
from dragoman.conversation.traits import observe, observe_messages
from dragoman.dialects import registry
from dragoman.dialects.dialect import RenderOptions
from dragoman.engine.library.adapt import BUILTIN, read
from dragoman.errors import RequestError, Unrepresentable
from dragoman.profiles.doubts import Care, settle_doubts
from dragoman.profiles.facts import Facts
from dragoman.rules import BY_NAME, GROUPS, ORDER
from dragoman.rules import __file__ as rules_package
from dragoman.rules.context import Context
from dragoman.rules.rule import FAIL, Rule

SEEDS = 300
ENOUGH = 16
NAMES = [rule.name for rule in ORDER]
FLATTENING = {"flat-tools", "orphan-result", "repeated-result"}
"""Rules whose repair is to say calls or results as text."""
ONLY_EXAMPLES = {
    *(
        "client-tool",
        "duplicate-tool",
        "empty-description",
        "endless-loop",
        "lost-reference",
        "misnamed-result",
        "mixed-system",
        "provider-run",
        "refused-prefill",
        "remote-media",
        "several-answers",
        "volatile-ids",
    ),
    "tool-choice-form",
    *("user-alias", "vendor-header"),
}
"""Rules whose defect the generated conversations do not have."""


UNCONDITIONAL = {"foreign-reasoning"}
"""Rules with a defect for every target: a signature that another provider made is nobody else's."""


class Repaired(msgspec.Struct, frozen=True):
    """A conversation that a rule changed."""

    dialect: str
    before: Conversation
    context: Context
    done: Rewrite


@cache
def repaired(name: str) -> list[Repaired]:
    """What the rule makes of its examples and of generated conversations, if it changes them."""
    return [*from_examples(name), *from_generated(name)]


@cache
def from_examples(name: str) -> list[Repaired]:
    rule = BY_NAME[name]
    found = [repair(rule, one.dialect, one.conversation, one.context) for one in examples(rule)]
    return [one for one in found if one is not None]


@cache
def from_generated(name: str) -> list[Repaired]:
    """The first few of very many."""
    rule = BY_NAME[name]
    known = {dialect: list(contexts(rule, dialect)) for dialect in SHAPES}
    tried = (
        repair(rule, dialect, conversation, context)
        for dialect, conversation, traits in generated()
        for context in known[dialect]
        if rule.traits_sought(context.facts) & traits
    )
    return list(islice((one for one in tried if one is not None), ENOUGH))


@cache
def generated() -> list[tuple[str, Conversation, int]]:
    """Conversations of every dialect, with the defects that real histories have, and their traits."""
    asked = [request(dialect, seed) for seed in range(SEEDS) for dialect in SHAPES]
    read_ = [(one.dialect, read(one.body, source=one.dialect).conversation) for one in asked]
    return [(dialect, conversation, observe(conversation)) for dialect, conversation in read_]


def repair(rule: Rule, dialect: str, conversation: Conversation, context: Context) -> Repaired | None:
    try:
        done = rule.repair(conversation, context)
    except Unrepresentable:
        return None
    check_report(rule, conversation, done)
    return None if done.conversation is conversation else Repaired(dialect, conversation, context, done)


def contexts(rule: Rule, dialect: str) -> Iterator[Context]:
    """With every option: two real targets that call for the rule, those of its examples, and one that refuses all."""
    for choice in [option for option in rule.options if option not in rule.idle] or [None]:
        choices = {} if choice is None else {rule.name: choice}
        known = [*wanting(rule.name, dialect)[:2], *(example.context.facts for example in examples(rule)), refusing()]
        for facts in known:
            context = Context(facts, choices, translated=True, expects_reasoning=True)
            if rule.is_called_for(context):
                yield context


@cache
def wanting(name: str, dialect: str) -> list[Facts]:
    """The facts of real targets that call for a rule, or would if somebody asked for it."""
    return [facts for facts in facts_of_targets(dialect) if BY_NAME[name].when(facts)]


@cache
def facts_of_targets(dialect: str) -> list[Facts]:
    """The facts of every real target, as they count for clients of a dialect."""
    known = [BUILTIN.target(target) for target in TARGETS]
    return [
        settle_doubts(target.facts, Care.FORM if target.dialect == dialect else Care.TRANSLATION) for target in known
    ]


def check_report(rule: Rule, before: Conversation, done: Rewrite) -> None:
    """What differs in meaning is reported, with its place. What is the same object is not."""
    if done.conversation is before:
        assert not done.notes, f"{rule.name} changed nothing and reported {done.notes[0].did}"
    elif canonical(done.conversation) != canonical(before):
        assert done.notes, f"{rule.name} changed something and reported nothing"
    assert all(note.did and (note.message is not None or note.key) for note in done.notes)


def test_no_rule_fails_unless_somebody_chose_that() -> None:
    """The compiler asks for a choice only if there is one for the rule."""
    assert [rule.name for rule in ORDER if rule.default == FAIL] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_rule_changes_something_and_reports_it(name: str) -> None:
    assert any(one.done.notes for one in from_examples(name))
    drawn = name in ONLY_EXAMPLES or any(one.done.notes for one in from_generated(name))
    assert drawn, "tests/shapes draws no request with this defect: teach it to, or name the rule in ONLY_EXAMPLES"


@pytest.mark.parametrize("name", NAMES)
def test_every_dialect_sees_the_traits_of_its_examples(name: str) -> None:
    """A parser notes those of plain messages itself, `observe_messages` those of any."""
    for example in examples(BY_NAME[name]):
        for client in SHAPES:
            ask = reread(example.conversation, client)
            if ask is not None and ask.traits is not None:
                seen = observe_messages(ask.conversation.messages)
                assert named_traits(ask.traits ^ seen) == [], f"traits.py or message_parse.py of {client} lacks it"


def reread(conversation: Conversation, client: str) -> Ask | None:
    """The conversation as a client of a dialect would send it; None if it cannot."""
    codec = registry.dialect(client).requests
    try:
        return codec.parse(codec.render(conversation, RenderOptions("m", False), None))
    except (Unrepresentable, RequestError):
        return None


def test_no_exception_is_left_over() -> None:
    drawn = {name for name in ONLY_EXAMPLES if from_generated(name)}
    assert drawn == set(), "tests/shapes draws requests with these defects: take the rules out of ONLY_EXAMPLES"


@pytest.mark.parametrize("name", NAMES)
def test_a_second_run_changes_nothing(name: str) -> None:
    rule, found = BY_NAME[name], repaired(name)
    assert found
    for one in found:
        after = one.done.conversation
        if rule.traits_sought(one.context.facts) & observe(after):
            again = rule.repair(after, one.context)
            assert again.notes == ()
            assert canonical(again.conversation) == canonical(after)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in UNCONDITIONAL])
def test_where_nothing_calls_for_it_it_changes_nothing(name: str) -> None:
    rule, found = BY_NAME[name], repaired(name)
    assert found
    for one in found:
        context = Context(accepting(one.dialect))
        if rule.is_called_for(context) and rule.traits_sought(context.facts) & observe(one.before):
            assert rule.repair(one.before, context).notes == ()


@pytest.mark.parametrize("name", [name for name in NAMES if name not in FLATTENING])
def test_no_call_is_parted_from_its_result(name: str) -> None:
    found = repaired(name)
    assert found
    for one in found:
        before, after = pair(one.before.messages), pair(one.done.conversation.messages)
        assert len(after.answers) >= len(before.answers)
        assert len(after.orphans) <= len(before.orphans)


@pytest.mark.parametrize("name", sorted(FLATTENING))
def test_rules_that_say_results_as_text_leave_no_result_alone(name: str) -> None:
    found = repaired(name)
    assert found
    for one in found:
        before, after = pair(one.before.messages), pair(one.done.conversation.messages)
        assert len(after.orphans) + len(after.repeats) <= len(before.orphans) + len(before.repeats)
        assert len(after.answers) == (0 if name == "flat-tools" else len(before.answers))
        assert len(after.unanswered) == (0 if name == "flat-tools" else len(before.unanswered))


def test_every_rule_is_named_after_its_file_and_has_a_page() -> None:
    assert len(BY_NAME) == len(ORDER)
    for group, members in GROUPS.items():
        for rule in members:
            assert rule.repair.__module__ == f"dragoman.rules.{group}.{rule.name.replace('-', '_')}"
            assert "\n\n" in rule.text, rule.name


def test_the_groups_run_in_the_order_that_was_decided() -> None:
    page = (Path(__file__).parents[2] / "docs" / "decisions" / "order-of-rules.md").read_text("utf-8")
    assert list(GROUPS) == page.split("\n\n")[1].split(" → ")
    assert list(GROUPS) == re.findall(r"^- \*\*(\w+)\*\*:", page, re.MULTILINE)


def test_every_file_of_a_rule_is_in_a_group_and_has_its_own_tests() -> None:
    folder = Path(__file__).parent
    rules = {path.stem for path in (Path(rules_package).parent).rglob("*.py") if "\n@rule(" in path.read_text("utf-8")}
    assert rules == {name.replace("-", "_") for name in NAMES}, "put it into its group in rules/__init__.py"
    untested = [name for name in sorted(rules) if not (folder / f"test_{name}.py").exists()]
    assert untested == [], "write tests/rules/test_NAME.py"
