"""What a request has used: tokens that the provider counted or that are estimated, and what it says they cost."""

from __future__ import annotations

import msgspec

from dragoman.conversation.conversation import Ask
from dragoman.conversation.replies import Usage
from dragoman.engine.token_estimate import estimate_request
from dragoman.engine.translation import Translation

_MOST_COST = 1e9


class Spent(msgspec.Struct, frozen=True, gc=False):
    """Tokens that are booked. `estimated`: the provider has not reported all of them."""

    usage: Usage = Usage()
    estimated: bool = False


NOTHING_SPENT = Spent()


def spent_on(translation: Translation, ask: Ask, model: str) -> Spent:
    """What is booked for a request: what the provider counted, or an estimate of what went by."""
    if not (translation.started or translation.ended):
        return NOTHING_SPENT
    output, estimated = translation.output_tokens()
    usage = translation.usage or Usage()
    if usage.input and not estimated and output == usage.output:
        return Spent(usage)
    if not usage.input:
        estimated = True
        usage = msgspec.structs.replace(usage, input=estimate_request(ask.conversation, model))
    return Spent(msgspec.structs.replace(usage, output=output), estimated)


def parse_amount(text: str | None) -> float | None:
    """A cost that can be one; a provider may say anything."""
    try:
        amount = float(text) if text else None
    except ValueError:
        return None
    return amount if amount is not None and 0 <= amount < _MOST_COST else None
