"""What a caller sets for one request: it tightens what the destination allows, or replaces it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from dragoman.conversation.changes import Loss
from dragoman.engine.exchange.destination import Destination, ShownReasoning
from dragoman.engine.library.policy import check_choice, parse_doubt, parse_loss
from dragoman.errors import OptionError
from dragoman.profiles.doubts import Doubt
from dragoman.rules.rule import FAIL
from dragoman.wire.structured_fields import parse_dictionary


class CallerOptions(msgspec.Struct, frozen=True):
    """What the caller sets for one request."""

    max_loss: Loss | None = None
    """Tightens what the destination allows. Replaces it if the caller may `loosen`."""
    doubt: Doubt | None = None
    """The same for facts that nobody knows."""
    loosen: bool = False
    """The caller may allow more than the destination does."""
    stream: bool | None = None
    """As in `adapt`."""
    stop_after: str = ""
    """As in `adapt`."""
    rules: Mapping[str, Any] = {}
    """Choices for rules, on top of the destination's."""
    reasoning: ShownReasoning | None = None
    """Who is shown thinking."""
    ask_usage: bool = False
    """A Chat stream is asked for its usage."""
    answer: int | None = None
    """Which one of several answers is asked for. None: all of them."""

    def bound_loss(self, destination: Destination) -> Loss:
        """The loss that is allowed, if the caller sets one."""
        assert self.max_loss is not None
        return self.max_loss if self.loosen else min(self.max_loss, destination.max_loss)

    def bound_doubt(self, destination: Destination) -> Doubt:
        """How doubts are treated, if the caller says so."""
        assert self.doubt is not None
        return self.doubt if self.loosen or self.doubt is Doubt.CAREFUL else destination.doubt


NOTHING_SET = CallerOptions()
USAGE_ASKED = CallerOptions(ask_usage=True)
MAX_LOSS = "x-dragoman-max-loss"
DOUBT = "x-dragoman-doubt"
RULES = "x-dragoman-rules"
REASONING = "x-dragoman-reasoning"
_HEADERS = frozenset({MAX_LOSS, DOUBT, RULES, REASONING})


def caller_options(headers: Mapping[str, str], loosen: bool) -> CallerOptions:
    """What a request's headers set. Raises OptionError."""
    if _HEADERS.isdisjoint(headers):
        return NOTHING_SET
    max_loss, doubt, rules, reasoning = map(headers.get, (MAX_LOSS, DOUBT, RULES, REASONING))
    return CallerOptions(
        None if max_loss is None else parse_loss(max_loss),
        None if doubt is None else parse_doubt(doubt),
        loosen,
        rules={} if rules is None else _parse_rules(rules, loosen),
        reasoning=None if reasoning is None else _parse_reasoning(reasoning),
    )


def _parse_reasoning(header: str) -> ShownReasoning:
    try:
        return ShownReasoning(header)
    except ValueError:
        raise OptionError(f"reasoning cannot be {header!r}", at=REASONING, hint="write asked or show") from None


def _parse_rules(header: str, loosen: bool) -> dict[str, str | bool]:
    """The choices of a header. Who may only tighten may only refuse repairs."""
    try:
        chosen = parse_dictionary(header)
    except ValueError as fault:
        raise OptionError(str(fault), at=RULES, hint='write late-system=fail, many-systems="join:, "') from None
    for name, choice in chosen.items():
        check_choice(name, choice)
        if choice != FAIL and not loosen:
            raise OptionError(f"{name}={choice} is for admin keys; with this key a rule can be set to fail", at=RULES)
    return chosen
