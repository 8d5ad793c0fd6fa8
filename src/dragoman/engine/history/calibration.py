"""Token estimates, corrected for each model by what its provider reports.

What a provider counts is nearly a line over our estimate: so many tokens for each that we estimate, and some that every
request has, such as a hidden text about tools. The line is fitted to the reported counts of recent requests. A few sums
are all that is kept of them.
"""

from __future__ import annotations

import msgspec

from dragoman.conversation.conversation import Conversation
from dragoman.conversation.parts import Media, Opaque, Part, Result
from dragoman.conversation.tools import NativeTool
from dragoman.rules.top_level_fields import relies_on_stored_state

ENOUGH = 16
"""After so many requests the line is known well; then not every request is looked at."""
_KEPT = 0.97
"""What a request still weighs after the next one: about the last thirty count."""
_SMALLEST = 20.0
_PRIOR = 0.1
"""How much more than one request it takes to believe that the slope is not 1, in shares of the mean squared."""
_LEAST_SLOPE, _MOST_SLOPE = 0.5, 2.5
_MOST_HIDDEN = 4_000
"""Tokens that a provider may add to a request; more than that is something else, such as pages that it has read."""


class TokenScale(msgspec.Struct, frozen=True, gc=False):
    """How a model counts."""

    per_estimate: float = 1.0
    """Its tokens for each that we estimate."""
    fixed: float = 0.0
    """Its tokens for every request."""


AS_ESTIMATED = TokenScale()


class CountedTokens(msgspec.Struct, frozen=True, gc=False):
    """The tokens of one request, as we estimate them and as its provider counts them."""

    estimated: float
    reported: int


class Calibration(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What is known of one model's counts. The sums fade. A request weighs less the larger it is, so that errors count
    by their share."""

    count: int = 0
    """Requests that were counted."""
    weight: float = 0.0
    estimated: float = 0.0
    reported: float = 0.0
    squares: float = 0.0
    products: float = 0.0

    def scale(self) -> TokenScale:
        """The line through what was reported."""
        if self.weight <= 0 or self.estimated <= 0:
            return AS_ESTIMATED
        x, y = self.estimated / self.weight, self.reported / self.weight
        spread = max(0.0, self.squares / self.weight - x * x)
        prior = _PRIOR * x * x
        slope = _bound((self.products / self.weight - x * y + prior) / (spread + prior))
        if y < slope * x:
            return TokenScale(_bound(y / x))
        return TokenScale(slope, y - slope * x)


def observe_count(known: Calibration | None, counted: CountedTokens) -> Calibration:
    """What is known after one more request. A count that no line explains is taken as the nearest that one does."""
    known = known or Calibration()
    x = max(1.0, counted.estimated)
    y = min(max(counted.reported, x / 4), 4 * x + _MOST_HIDDEN)
    weight = 1 / max(x, _SMALLEST)
    return Calibration(
        known.count + 1,
        known.weight * _KEPT + weight,
        known.estimated * _KEPT + weight * x,
        known.reported * _KEPT + weight * y,
        known.squares * _KEPT + weight * x * x,
        known.products * _KEPT + weight * x * y,
    )


def _bound(slope: float) -> float:
    return min(max(slope, _LEAST_SLOPE), _MOST_SLOPE)


def calibration_key(target: str, conversation: Conversation) -> str:
    """What counts alike: a target, with tools or without. Many providers add a text of their own to tools."""
    return f"{target} +tools" if conversation.tools else target


def can_be_estimated(conversation: Conversation) -> bool:
    """Does a request hold all that its provider counts?

    No, if there are pictures, tools of the provider's own, or turns that only the provider has.
    """
    if relies_on_stored_state(conversation) or any(type(tool) is NativeTool for tool in conversation.tools):
        return False
    return not any(_is_hidden(part) for message in conversation.messages for part in message.parts)


def _is_hidden(part: Part) -> bool:
    if type(part) is Result:
        return any(map(_is_hidden, part.parts))
    return isinstance(part, (Media, Opaque))
