"""One rule alone over one conversation, as the engine would run it, and a request compiled for a real target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from dragoman.conversation.changes import Undo
from dragoman.conversation.conversation import Ask, Conversation
from dragoman.conversation.notation.script import parse, show
from dragoman.conversation.traits import observe
from dragoman.dialects.registry import dialect
from dragoman.dialects.shared.rendering import RenderOptions
from dragoman.engine.compile.report import ReportBuilder
from dragoman.engine.library.adapt import BUILTIN, adapt, read
from dragoman.engine.library.policy import Policy, State
from dragoman.profiles.facts import Facts
from dragoman.profiles.profile import Profiles
from dragoman.rules.context import Context
from dragoman.rules.rule import Rule

CHAT = "openai-chat"
Told = tuple[str, str, bool]
"""Of an entry of the report: where, what it loses, whether something is made up or added."""


class Run(msgspec.Struct, frozen=True):
    """What a rule made of a conversation. `changes` are the entries of the report as (at, loses, adds)."""

    ask: Ask
    conversation: Conversation
    changes: list[Told]
    did: list[str]
    undo: Undo

    @property
    def untouched(self) -> bool:
        """Is it the same object, and nothing reported?"""
        return self.conversation is self.ask.conversation and not self.changes

    @property
    def script(self) -> str:
        return show(self.conversation)

    @property
    def json(self) -> Any:
        """The conversation written in the client's own dialect."""
        write = dialect(self.ask.dialect).requests.render
        return msgspec.json.decode(write(self.conversation, RenderOptions(self.ask.model or "m", False), self.ask))


def facts(dialect: str = CHAT, /, **stated: Any) -> Facts:
    """Facts as a profile states them, the others at their default."""
    return msgspec.convert({"dialect": dialect, **stated}, Facts)


def run(
    rule: Rule,
    said: str | Mapping[str, Any] | Conversation,
    known: Facts,
    *,
    choice: Any = None,
    texts: Mapping[str, str] | None = None,
    media: Mapping[str, bytes] | None = None,
    source: str = CHAT,
) -> Run:
    """A script, a request or a conversation through one rule, if the facts and the conversation call for it."""
    ask = _ask(said, source)
    context = Context(
        known,
        {} if choice is None else {rule.name: choice},
        texts or {},
        media or {},
        tool_codec=lambda name: dialect(name).provider_tools,
    )
    wanted = rule.is_called_for(context) and rule.traits_sought(known) & observe(ask.conversation)
    if not wanted:
        return Run(ask, ask.conversation, [], [], Undo())
    done = rule.repair(ask.conversation, context)
    report = ReportBuilder(ask).entries(rule, done.notes)
    told = [(change.at, change.loses, change.kind != "repair") for change in report]
    return Run(ask, done.conversation, told, [change.did for change in report], done.undo)


def leaves_alone(rule: Rule, cases: Mapping[str, tuple[Any, ...]], source: str = CHAT) -> Callable[[str], None]:
    """The test that a rule leaves a conversation as it is: what is said, for which facts, with which choice if any."""

    @pytest.mark.parametrize("name", cases)
    def test(name: str) -> None:
        said, known, choice = (*cases[name], None)[:3]
        done = run(rule, said, known, choice=choice, source=source)
        assert done.untouched, (done.changes, done.conversation)

    return test


def _ask(said: str | Mapping[str, Any] | Conversation, source: str) -> Ask:
    if isinstance(said, Mapping):
        return read(said, source=source)
    return Ask(source, "m", False, parse(said) if isinstance(said, str) else said, b"")


class Sent(msgspec.Struct, frozen=True):
    """A compiled request. `changes` are the entries of the report as (rule, at, loses, adds)."""

    json: Any
    changes: list[tuple[str, str, str, bool]]
    media_to_fetch: tuple[str, ...]
    undo: Undo


def sent(
    body: Mapping[str, Any],
    target: str,
    *,
    source: str = "",
    media: Mapping[str, bytes] | None = None,
    profiles: Profiles | None = None,
    **allowed: Any,
) -> Sent:
    """A request compiled for a target, by default in the target's own dialect. What is `allowed` is the policy."""
    done = adapt(
        body,
        source=source or BUILTIN.target(target).dialect,
        target=target,
        policy=Policy(**allowed),
        state=State(media=media or {}),
        profiles=profiles,
    )
    report = [(change.rule, change.at, change.loses, change.kind != "repair") for change in done.changes]
    return Sent(done.json, report, done.media_to_fetch, done.undo)
