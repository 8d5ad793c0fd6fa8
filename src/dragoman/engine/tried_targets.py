"""The targets that were asked without success, and the failure that the client gets to see in the end."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from dragoman.conversation.failures import Failure

_LONGEST_RAW, _LONGEST_MESSAGE = 1 << 20, 1 << 16
"""Bytes and characters that are kept of what a provider says went wrong."""


class TriedTarget(msgspec.Struct, frozen=True, gc=False):
    """A send that failed: to which target, and how."""

    target: str
    failed: str
    status: int


def with_targets(failure: Failure, tried: Sequence[TriedTarget]) -> Failure:
    """The failure with every target that was asked, where it was more than one: the provider's words come first."""
    last = {one.target: one for one in tried}
    if len(last) < 2:
        return failure
    asked = ", ".join(f"{one.target}: {one.status or one.failed}" for one in last.values())
    return msgspec.structs.replace(failure, message=f"{failure.message} (asked without success: {asked})")


def clipped(failure: Failure) -> Failure:
    """A failure with no more of the provider's words than anybody reads."""
    if len(failure.raw) <= _LONGEST_RAW and len(failure.message) <= _LONGEST_MESSAGE:
        return failure
    return msgspec.structs.replace(failure, raw=failure.raw[:_LONGEST_RAW], message=failure.message[:_LONGEST_MESSAGE])
