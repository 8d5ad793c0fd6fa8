"""Several answers asked for at once (`n`, `candidateCount`), of a target that gives one.

By default (`each`) the gateway asks such a target as often as answers are wanted, at most eight times, and gives the
client all of them as the choices of one answer; their usage is the sum. Each is then a request of its own, without `n`.
A given `seed` is counted up, since the same seed would give the same answer again. The library and the transports for
SDKs send one request only, so there it is an error. With `one` the client gets one answer, and with `fail` an error.

Loses nothing; with `one` content.

For `anthropic/claude-sonnet-4-5`, from `openai-chat`, with `several-answers: one`:

    {"messages": [{"role": "user", "content": "Hi"}], "n": 2, "max_tokens": 100}
becomes
    {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 100}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.errors import Unrepresentable
from dragoman.profiles.facts import Facts, Stance
from dragoman.rules.context import Context
from dragoman.rules.rule import FAIL, rule

MOST_ANSWERS = 8
"""So many answers to one request are asked for one by one."""
EACH, ONE = "each", "one"


def gives_one_answer(facts: Facts) -> bool:
    """Does the target give one answer to a request, however many are asked for?"""
    n = facts.setting("n")
    return n.support is Stance.REFUSES or n.only == 1 or n.max == 1


def is_asked_for_each(conversation: Conversation, facts: Facts, choices: Mapping[str, Any]) -> bool:
    """Are several answers wanted, which the target has to be asked for one by one?"""
    n = conversation.settings.n
    return n is not None and n > 1 and gives_one_answer(facts) and choices.get("several-answers", EACH) == EACH


@rule(
    "several-answers",
    when=gives_one_answer,
    looks_for=traits.SEVERAL_ANSWERS,
    loses=Loss.CONTENT,
    options=(EACH, ONE),
)
def several_answers(conversation: Conversation, context: Context) -> Rewrite:
    settings, choice = conversation.settings, context.choice("several-answers")
    if choice in (ONE, FAIL):
        note = Note(f"asked for one answer, not {settings.n}", key="n", before=settings.n)
        return Rewrite(replace(conversation, settings=replace(settings, n=None)), (note,))
    if context.answer is None:
        raise Unrepresentable(
            f"{context.facts.provider}/{context.facts.model} gives one answer, and {settings.n} are asked for",
            key="n",
            hint="ask once for each answer, or through the gateway, which does so",
        )
    return _one_of_several(conversation, context, context.answer)


def _one_of_several(conversation: Conversation, context: Context, index: int) -> Rewrite:
    """The request for one answer of several, which the client gets beside the others."""
    settings = conversation.settings
    did = f"asked for answer {index + 1} of {settings.n} by itself"
    notes, seed = [Note(did, key="n", loses=Loss.NOTHING, before=settings.n)], settings.seed
    if seed is not None and index and context.facts.setting("seed").support is not Stance.REFUSES:
        did = f"counted the seed up for answer {index + 1}"
        notes.append(Note(did, key="seed", loses=Loss.NOTHING, before=seed, after=seed + index))
        seed += index
    return Rewrite(replace(conversation, settings=replace(settings, n=None, seed=seed)), tuple(notes))
