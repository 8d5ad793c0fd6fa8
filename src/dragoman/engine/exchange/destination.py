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
from dragoman.engine.history.trim_policy import TrimPolicy
from dragoman.profiles.doubts import Doubt
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
    """One provider and model, and how they are to be asked. Known by identity."""

    name: str
    provider: str
    target: Target
    policy: RetryPolicy = RetryPolicy()
    options: Mapping[str, Any] = {}
    """Members that are merged into every body."""
    omit: tuple[str, ...] = ()
    """Members that are left out of every body."""
    max_loss: Loss = Loss.CONTENT
    """The most that repairs may lose."""
    synthetic: bool = True
    """Repairs may make up turns."""
    doubt: Doubt = Doubt.FAITHFUL
    """How a fact that nobody knows is taken."""
    ask_usage: bool = False
    """A Chat stream is asked for its usage."""
    key_count: int = 1
    """How many keys there are to try."""
    renews_credentials: bool = False
    """The sender fetches credentials, and gets newer ones after a refusal."""
    as_caller: bool = False
    """It is asked with the caller's own credential, which only the caller can renew."""
    answer_model: AnswerModel | None = None
    """The name that answers carry. None: the provider's if they are relayed, else the client's."""
    answers: AnswerMembers = AnswerMembers.WHOLE
    """Whether streams are completed too, like whole answers."""
    shows_model: bool = False
    """Each answer begins with the name of the destination."""
    reasoning: ShownReasoning = ShownReasoning.ASKED
    """Whether thinking is shown to clients whose dialect shows it on request only, and that did not ask."""
    history: TrimPolicy | None = None
    """How long histories are trimmed."""
    compact: CompactPolicy | None = None
    """How old turns are summarised."""
    tool_servers: tuple[str, ...] = ()
    """The configured servers whose tools each request is given."""
    cache: CacheHints = CacheHints.CLIENT
    """Who sets cache hints."""
    price: TokenPrice | None = None
    """What tokens cost, if that is known."""
    stores_prompts: bool = False
    """Whether prompts may be stored at the provider, because it can and somebody knows what that costs."""


D = TypeVar("D", bound=Destination)


class TargetRoute(msgspec.Struct, Generic[D], frozen=True):
    """The destinations of one model name, the first choice first."""

    destinations: tuple[D, ...]
    reserved: Mapping[FailureKind, tuple[D, ...]] = {}
    """Those for one kind of failure of the first choice; they go before the others."""

    @property
    def first(self) -> D:
        return self.destinations[0]
