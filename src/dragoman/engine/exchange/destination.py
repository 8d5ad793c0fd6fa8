"""Where a request may go, as far as decisions need to know it. Addresses, keys and timeouts are the sender's."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Generic, TypeVar

import msgspec

from dragoman.conversation.changes import Loss
from dragoman.conversation.failures import FailureKind
from dragoman.engine.exchange.attempts import RetryPolicy
from dragoman.engine.history.compaction import CompactPolicy
from dragoman.engine.history.policy import TrimPolicy
from dragoman.profiles.facts import Doubt
from dragoman.profiles.prices import TokenPrice
from dragoman.profiles.profile import Target


class AnswerModel(StrEnum):
    """The name of the model in an answer."""

    ALIAS = "alias"
    UPSTREAM = "upstream"


class AnswerMembers(StrEnum):
    """Which answers in the client's own dialect get the members that another vendor leaves out."""

    WHOLE = "whole"
    COMPLETE = "complete"


class ShownReasoning(StrEnum):
    """Who is shown thinking in an answer of another dialect."""

    ASKED = "asked"
    SHOW = "show"


class CacheHints(StrEnum):
    """Who sets cache hints."""

    CLIENT = "client"
    """The client alone."""
    ACROSS = "across"
    """Dragoman too, in requests that are translated."""
    AUTO = "auto"
    """Dragoman too."""


class Destination(msgspec.Struct, frozen=True, eq=False, weakref=True, kw_only=True):
    """One provider and model, and how they are to be asked. Known by identity.

    `options` are merged into every body and `omit` is left out of it. `max_loss`, `synthetic` and `doubt` bound what
    repairs may do. `ask_usage`: a Chat stream is asked for its usage. `key_count`: how many keys there are to try.
    `renews_credentials`: the sender fetches credentials, and gets newer ones after a refusal.
    `as_caller`: it is asked with the caller's own credential, which only the caller can renew.
    `answer_model`: the name that answers carry; None: the provider's where they are relayed, else the client's.
    `answers`: whether streams are completed too, like whole answers. `shows_model`: each answer begins with the name of
    the destination. `reasoning`: whether thinking is shown to clients whose dialect shows it on request only, and that
    did not ask. `history`: how long histories are trimmed; `compact`: how old turns are summarised. `cache`: who
    sets cache hints. `tool_servers`: the configured servers whose tools each request is given. `price`: what tokens
    cost, where that is known.
    """

    name: str
    provider: str
    target: Target
    policy: RetryPolicy = RetryPolicy()
    options: Mapping[str, Any] = {}
    omit: tuple[str, ...] = ()
    max_loss: Loss = Loss.CONTENT
    synthetic: bool = True
    doubt: Doubt = Doubt.FAITHFUL
    ask_usage: bool = False
    key_count: int = 1
    renews_credentials: bool = False
    as_caller: bool = False
    answer_model: AnswerModel | None = None
    answers: AnswerMembers = AnswerMembers.WHOLE
    shows_model: bool = False
    reasoning: ShownReasoning = ShownReasoning.ASKED
    history: TrimPolicy | None = None
    compact: CompactPolicy | None = None
    tool_servers: tuple[str, ...] = ()
    cache: CacheHints = CacheHints.CLIENT
    price: TokenPrice | None = None


D = TypeVar("D", bound=Destination)


class TargetRoute(msgspec.Struct, Generic[D], frozen=True):
    """The destinations of one model name, the first choice first.

    `reserved` are those for one kind of failure of the first choice; they go before the others.
    """

    destinations: tuple[D, ...]
    reserved: Mapping[FailureKind, tuple[D, ...]] = {}

    @property
    def first(self) -> D:
        return self.destinations[0]
