"""The examples that stand in the docstrings of rules, and how each of them is run.

An example is two indented blocks with `becomes` between them. A line before it may name the target, the client's
dialect, a choice and a fetched URL: "For `anthropic/claude-opus-4-8`, from `gemini`, with `late-system: opening`:", or
"For `anthropic/claude-opus-4-8`, with `http://example.com/a.gif` fetched as `GIF89a`:". It may also state facts: "For a
target with `strict_max = 1`, `strict_optional_max = 24`:". A request is then compiled for a lenient Chat server of
which these facts are known.

A block in script notation is a conversation: the rule alone repairs it. Without a target it runs for one that refuses
whatever can be refused. A block in JSON is a request: it is compiled for its target, and nothing but this rule may
change it. Of the compiled body the example shows the members that matter: one that it had and no longer shows is gone.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from dragoman.conversation.conversation import Conversation
from dragoman.conversation.dialect_names import DEFAULT_DIALECT
from dragoman.conversation.notation.script import parse
from dragoman.conversation.traits import LEFTOVERS
from dragoman.engine.compile.plan import EXPECTING_CLIENT, FAITHFUL_CLIENT, context_for
from dragoman.engine.library.adapt import BUILTIN, choose, read
from dragoman.profiles.facts import Facts, Medium, Stance, SystemCount, SystemPlace, ThinkingForm, Turn
from dragoman.profiles.profile import Profile, Profiles
from dragoman.rules.context import Context
from dragoman.rules.rule import Rule

_EXAMPLE = re.compile(r"((?:^ {4}.*\n)+)becomes\n((?:^ {4}.*\n?)+)", re.MULTILINE)
_CONDITIONS = re.compile(
    r"(?:^|\n)"
    r"(?:For (?:`(?P<target>[^`]+)`|a target with (?P<stated>`\w+ = [^`]+`(?:, `\w+ = [^`]+`)*)))?"
    r"(?:, from `(?P<source>[^`]+)`)?"
    r"(?:(?:, w|W)ith `[\w-]+: (?P<choice>[^`]+)`)?"
    r"(?:, with `(?P<url>http[^`]+)` fetched as `(?P<fetched>[^`]+)`)?"
    r":\n\n$"
)


_LENIENT = "openai-compatible-lenient"
_STATED = "stated"


class Example(msgspec.Struct, frozen=True):
    """One example of a rule's page. What it does not name is empty."""

    rule: str
    before: str
    after: str
    target: str = ""
    stated: str = ""
    source: str = ""
    choice: str = ""
    url: str = ""
    fetched: str = ""

    @property
    def media(self) -> dict[str, bytes]:
        return {self.url: self.fetched.encode()} if self.url else {}

    @property
    def is_request(self) -> bool:
        return self.before.startswith("{")

    @property
    def choices(self) -> dict[str, Any]:
        if not self.choice:
            return {}
        value = msgspec.json.decode(self.choice) if self.choice.startswith("{") else self.choice
        return {self.rule: value}

    @property
    def facts(self) -> dict[str, Any]:
        return {name: msgspec.json.decode(value) for name, value in re.findall(r"`(\w+) = ([^`]+)`", self.stated)}

    @property
    def profiles(self) -> Profiles:
        """The built-in ones, and one that is like the lenient Chat server and states the example's facts."""
        return BUILTIN.extended({_STATED: Profile(like=_LENIENT, name=_STATED, facts=self.facts)})

    @property
    def compiled_for(self) -> str:
        """The target of a request."""
        return self.target or f"{_STATED}/some-model"

    @property
    def dialect(self) -> str:
        """The client's: that of the target, unless the example says otherwise."""
        if not self.is_request:
            return DEFAULT_DIALECT
        return self.source or self.profiles.target(self.compiled_for).dialect

    @property
    def conversation(self) -> Conversation:
        return read(self.before, source=self.dialect).conversation if self.is_request else parse(self.before)

    @property
    def context(self) -> Context:
        if not self.target and not self.is_request:
            return Context(refusing(**self.facts), self.choices)
        target = choose(self.compiled_for, self.profiles, self.choices)
        own = self.is_request and self.dialect == target.dialect
        known = context_for(target, FAITHFUL_CLIENT if own else EXPECTING_CLIENT)
        return replace(known, media=self.media)


def examples(rule: Rule) -> Iterator[Example]:
    """The examples of a rule's page, in order."""
    for found in _EXAMPLE.finditer(rule.text + "\n"):
        conditions = _CONDITIONS.search(rule.text, 0, found.start())
        named = {name: text for name, text in conditions.groupdict().items() if text} if conditions else {}
        yield Example(rule.name, _block(found[1]), _block(found[2]), **named)


def _block(text: str) -> str:
    return textwrap.dedent(text).strip("\n")


def refusing(**stated: Any) -> Facts:
    """A target that refuses whatever can be refused, with some facts stated."""
    plain = Facts()
    stances = {name: Stance.REFUSES for name in Facts.__struct_fields__ if isinstance(getattr(plain, name), Stance)}
    places = {"system_place": SystemPlace.OPENING, "system_count": SystemCount.ONE}
    turns = {"first_turn": Turn.USER, "last_turn": Turn.USER}
    return msgspec.convert(
        {"dialect": DEFAULT_DIALECT, "thinking_form": "effort", **stances, **places, **turns, **stated}, Facts
    )


def accepting(dialect: str) -> Facts:
    """A target that takes whatever a client of its own dialect sends."""
    plain = Facts()
    stances = {name: Stance.ACCEPTS for name in Facts.__struct_fields__ if isinstance(getattr(plain, name), Stance)}
    medium = Medium(
        **dict.fromkeys(("inline", "url", "stored", "plain", "assistant", "system", "result"), Stance.ACCEPTS)
    )
    return Facts(
        **stances,
        dialect=dialect,
        thinking_form=ThinkingForm.ANY if dialect == "anthropic" else ThinkingForm.OPEN,
        media=dict.fromkeys(("image", "audio", "document", "video"), medium),
        message_fields={"*": tuple(LEFTOVERS)},
        reasoning_states=(
            "signature",
            "redacted_thinking",
            "encrypted_content",
            "thought_signature",
            "reasoning_details",
        ),
        tool_wrappers=("function_declarations", "functionDeclarations", "function", "bare"),
    )
