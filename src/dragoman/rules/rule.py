"""A rule: one named defect and its repair.

`when` is asked once per target and `looks_for` once per conversation. The repair is called only if both hold. It
returns the same conversation object if it found nothing to repair.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from dragoman.conversation.changes import Loss, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.profiles.facts import Facts
from dragoman.rules.context import Context

Repair = Callable[[Conversation, Context], Rewrite]

KEEP = "keep"
"""A choice that every rule takes: leave the defect alone."""
FAIL = "fail"
"""A choice that every rule takes: refuse the request."""


def _leave(conversation: Conversation, context: Context) -> Rewrite:
    return Rewrite(conversation)


class Rule(msgspec.Struct, frozen=True):
    """One named defect and its repair. As a decorator it makes a function the repair; the docstring of its module is
    the rule's page in the docs."""

    name: str
    when: Callable[[Facts], bool]
    looks_for: int
    loses: Loss
    """The most that a repair may lose; a note may say less."""
    options: tuple[str, ...] = ()
    """The choices of this rule, the default first."""
    repair: Repair = _leave
    text: str = ""
    idle: tuple[str, ...] = ()
    """Options with which it does nothing. A rule whose default is idle is off unless somebody asks for it."""
    demands: Callable[[Any], bool] | None = None
    """Does a choice ask for the repair whatever the facts are?"""
    free: bool = False
    """Whether a choice may be any text, not only an option."""
    spelling: bool = False
    """Whether the repair may change how something is written and not what it says. For a client of another dialect that
    is translation and no change."""
    narrows: Callable[[Facts], int | None] | None = None
    """Rarer traits to look for, if the facts allow it."""
    top_level: bool = False
    """Whether it looks at tools, settings and extras alone, so that it need not look at the same ones again."""
    parse: Callable[[Any], Any] | None = None
    """Turns a choice as people write it into one of the options; raises OptionError."""
    never_kept: Callable[[Facts], bool] | None = None
    """Whether the target has no place for the defect, so that `keep` is an error that the repair raises."""
    translated: bool = False
    """Whether only a client of another dialect can have this defect."""
    reading: bool = False
    """Whether a request of another dialect had this defect when it was read, whatever the target takes. Then the rule
    always runs."""
    turnwise: Callable[[Context], bool] | None = None
    """Does it take each turn by itself for this target? A conversation that is cut before a turn of the model is
    repaired piece by piece then, with notes in the order of the messages, and the tools are left alone."""
    sparse: bool = False
    """Whether messages without the traits that it looks for do not matter to it, and stay as they are. It adds and
    takes away no message."""

    def __call__(self, repair: Repair) -> Rule:
        module = inspect.getmodule(repair)
        text = inspect.cleandoc(module.__doc__ or "") if module else ""
        return replace(self, repair=repair, text=text)

    @property
    def default(self) -> str:
        return self.options[0] if self.options else ""

    @property
    def optional(self) -> bool:
        """Does the rule run only if somebody asks for it?"""
        return self.default in self.idle

    def traits_sought(self, facts: Facts) -> int:
        """The traits of a conversation without which there is nothing to repair for this target."""
        narrow = self.narrows(facts) if self.narrows is not None else None
        return self.looks_for if narrow is None else narrow

    def chosen(self, choices: Mapping[str, Any]) -> Any:
        """The choice for this rule, or its default."""
        choice = choices.get(self.name)
        if choice is None:
            return self.default
        return self.parse(choice) if self.parse is not None else choice

    def is_called_for(self, context: Context) -> bool:
        """Do the target's facts, or somebody's choice, call for this rule?"""
        if self.reading and context.translated:
            return True
        choice = self.chosen(context.choices)
        if choice == KEEP:
            return self.never_kept is not None and self.never_kept(context.facts)
        if choice in self.idle or (self.translated and not context.translated):
            return False
        return self.when(context.facts) or (self.demands is not None and self.demands(choice))


rule = Rule


def report_only(name: str, loses: Loss, about: str) -> Rule:
    """The name and the loss under which the engine reports what it does itself. No target calls for it."""
    return Rule(name, lambda facts: False, 0, loses, text=about)
