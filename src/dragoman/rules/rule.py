"""A rule: one named defect and its repair.

`when` is asked once per target, `looks_for` once per conversation; only then is the repair called. It returns the same
conversation object where nothing was to be done.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import msgspec

from dragoman.conversation.changes import Loss, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.profiles.facts import Facts

Repair = Callable[[Conversation, Facts], Rewrite]

KEEP = "keep"
FAIL = "fail"
"""Two answers that every rule takes: leave the defect alone; refuse the request."""


class Rule(msgspec.Struct, frozen=True):
    """`loses` is the most that a repair may lose; a note may say less. `options` are the answers that can be chosen,
    the first one being the default."""

    name: str
    when: Callable[[Facts], bool]
    looks_for: int
    loses: Loss
    options: tuple[str, ...]
    repair: Repair
    text: str
    optional: bool = False
    free: bool = False
    spelling: bool = False
    narrows: Callable[[Facts], int | None] | None = None
    top: bool = False

    @property
    def default(self) -> str:
        return self.options[0] if self.options else ""

    def sought(self, facts: Facts) -> int:
        """The traits without which there is nothing to do for a target."""
        narrow = self.narrows(facts) if self.narrows is not None else None
        return self.looks_for if narrow is None else int(narrow)

    def chosen(self, facts: Facts) -> Any:
        """What was chosen for this target, or the default."""
        choice = facts.choice(self.name)
        return self.default if choice is None else choice


def rule(
    name: str,
    *,
    when: Callable[[Facts], bool],
    looks_for: int,
    loses: Loss,
    options: tuple[str, ...] = (),
    optional: bool = False,
    free: bool = False,
    spelling: bool = False,
    narrows: Callable[[Facts], int | None] | None = None,
    top: bool = False,
) -> Callable[[Repair], Rule]:
    """Make a function a rule. Its module's docstring is its page in the docs.

    `optional`: off unless asked for. `free`: an option may be any text, not only those listed. `spelling`: it may
    change how something is written and not what it says; from another dialect that is translation and no change.
    `narrows`: rarer traits to look for instead, where the facts allow it. `top`: whether there is something to do is
    told by tools, settings and extras alone, so that the same ones need not be looked at again.
    """

    def made(repair: Repair) -> Rule:
        module = inspect.getmodule(repair)
        text = inspect.cleandoc(module.__doc__ or "") if module else ""
        return Rule(name, when, int(looks_for), loses, options, repair, text, optional, free, spelling, narrows, top)

    return made
