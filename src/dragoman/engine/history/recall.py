"""Finding the cut of an earlier turn again: its keys, and how a request is trimmed with what was found."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b

import msgspec
from msgspec.structs import replace

from dragoman.conversation.conversation import Ask, Conversation
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.engine.history.cuts import PrefixDigests
from dragoman.engine.history.trim_policy import MOST_TOKENS, TrimPolicy
from dragoman.engine.history.trimming import TrimRequest, measure
from dragoman.engine.history.units import UnitKind

_MOST_KEYS = 256
_ROOM_FOR_ANSWER = 0.9
"""The share of the provider's own limit that a request is trimmed to after a refusal."""
_SHRINK = 0.6
"""The share of the refused request that is sent if the provider names no limit."""


def may_need_cut(ask: Ask, policy: TrimPolicy) -> bool:
    """Is the request so large that a cut is possible? Its text holds more than its words, so no cut is missed."""
    return 0 < policy.smallest_budget < len(ask.source)


def cut_keys(conversation: Conversation, target: str, policy: TrimPolicy) -> Iterator[str]:
    """The keys under which a cut of an earlier turn may be kept, the longest prefix first."""
    seen = measure(conversation)
    digests = PrefixDigests(seen)
    sent = [place for place, unit in enumerate(seen.units, 1) if unit.continues or unit.kind is not UnitKind.ASSISTANT]
    found = [digests.of(units) for units in sent[-_MOST_KEYS:]]
    for digest in reversed(found):
        yield cut_key(digest, target, policy)


def cut_key(digest: str, target: str, policy: TrimPolicy) -> str:
    """A cut holds for one target and one policy."""
    return blake2b(msgspec.json.encode((digest, target, policy)), digest_size=16).hexdigest()


def shorter(request: TrimRequest, failure: Failure, estimate: float) -> TrimRequest | None:
    """How to trim a request that the provider found too long; None if that is not wanted.

    `estimate`: the tokens of the refused request, as we count. The provider's numbers say how many it counts in it.
    """
    policy = request.policy
    if failure.kind is not FailureKind.CONTEXT_LENGTH or not policy.on_refusal:
        return None
    estimate = max(1.0, estimate)
    counted = failure.tokens or estimate * request.tokens_per_estimate + request.fixed_tokens
    limit = int(failure.limit * _ROOM_FOR_ANSWER) if failure.limit else int(counted * _SHRINK)
    exact = replace(policy, max_history_tokens=0, window=min(limit, MOST_TOKENS), context_budget=1.0)
    return TrimRequest(exact, (), max(request.tokens_per_estimate, counted / estimate))
