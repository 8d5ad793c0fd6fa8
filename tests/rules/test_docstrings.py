"""A rule's docstring is its page: it names the defect, says what the repair loses, and holds examples that are true."""

from __future__ import annotations

import msgspec
import pytest
from tests.rules.examples import Example, examples

from dragoman.conversation.notation.script import parse, show
from dragoman.conversation.traits import observe
from dragoman.engine.library.adapt import adapt
from dragoman.engine.library.policy import Policy, State
from dragoman.rules import BY_NAME, ORDER

EXAMPLES = [example for rule in ORDER for example in examples(rule)]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: f"{example.rule} {example.target} {example.choice}")
def test_the_example_is_what_the_rule_does(example: Example) -> None:
    if example.is_request:
        check_request(example)
    else:
        check_script(example)


def check_script(example: Example) -> None:
    rule, context, conversation = BY_NAME[example.rule], example.context, example.conversation
    assert rule.is_called_for(context)
    assert rule.traits_sought(context.facts) & observe(conversation)
    done = rule.repair(conversation, context)
    assert done.notes
    assert show(done.conversation) == show(parse(example.after))


def check_request(example: Example) -> None:
    before, after = msgspec.json.decode(example.before), msgspec.json.decode(example.after)
    done = adapt(
        before,
        source=example.dialect,
        target=example.compiled_for,
        profiles=example.profiles,
        policy=Policy(rules=example.choices),
        state=State(media=example.media),
    )
    assert {change.rule for change in done.changes} == {example.rule}
    assert {name: done.json.get(name) for name in {**before, **after}} == {
        name: after.get(name) for name in before
    } | after


def test_every_rule_has_an_example() -> None:
    assert [rule.name for rule in ORDER if not list(examples(rule))] == []


def test_every_page_begins_with_one_sentence_that_names_the_defect() -> None:
    heads = {rule.name: " ".join(rule.text.split("\n\n")[0].split()) for rule in ORDER}
    assert [name for name, head in heads.items() if not head.endswith(".") or ". " in head or len(head) > 160] == []


def test_every_page_says_what_the_repair_loses() -> None:
    assert [rule.name for rule in ORDER if "\nLoses " not in rule.text] == []


def test_every_page_names_the_options() -> None:
    named = {rule.name: [option for option in rule.options if f"`{option}`" not in rule.text] for rule in ORDER}
    assert {name: missing for name, missing in named.items() if missing} == {}
