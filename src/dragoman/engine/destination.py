"""Where a request may go, as far as decisions need to know it. Addresses, keys and timeouts are the sender's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

import msgspec

from dragoman.conversation.changes import Loss
from dragoman.conversation.failures import FailureKind
from dragoman.engine.attempts import Policy
from dragoman.profiles.facts import Doubt
from dragoman.profiles.profile import Target


class Destination(msgspec.Struct, frozen=True, eq=False, weakref=True, kw_only=True):
    """One provider and model, and how they are to be asked. Known by identity.

    `options` are merged into every body and `omit` is left out of it. `max_loss`, `synthetic` and `doubt` bound what
    repairs may do. `ask_usage`: a Chat stream is asked for its usage. `key_count`: how many keys there are to try.
    """

    name: str
    provider: str
    target: Target
    policy: Policy = Policy()
    options: Mapping[str, Any] = {}
    omit: tuple[str, ...] = ()
    max_loss: Loss = Loss.CONTENT
    synthetic: bool = True
    doubt: Doubt = Doubt.FAITHFUL
    ask_usage: bool = False
    key_count: int = 1


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
