"""Why a response ended: its status and its reason, and our word."""

from __future__ import annotations

from collections.abc import Mapping

from dragoman.conversation.parts import Json
from dragoman.conversation.replies import Stop

REASONS: Mapping[str, Stop] = {"max_output_tokens": Stop.LENGTH, "content_filter": Stop.FILTER}
"""Reasons of a response that is incomplete."""

INCOMPLETE: Mapping[Stop, bytes] = {
    Stop.LENGTH: b'{"reason":"max_output_tokens"}',
    Stop.CONTEXT: b'{"reason":"max_output_tokens"}',
    Stop.FILTER: b'{"reason":"content_filter"}',
}
"""Stops that leave an answer incomplete. So does a refusal that the answer itself does not hold."""


def parse_stop(status: str, reason: str, called: bool, refused: bool) -> Stop:
    """A response does not say that it called a tool or refused: its items show it."""
    if status == "incomplete":
        return REASONS.get(reason, Stop.LENGTH)
    return Stop.CALLS if called else Stop.REFUSAL if refused else Stop.END


def render_incomplete(reason: Stop | None, refused: bool) -> Json | None:
    """Why the answer is incomplete, or None where it is not."""
    if reason is Stop.REFUSAL and not refused:
        return INCOMPLETE[Stop.FILTER]
    return INCOMPLETE.get(reason) if reason is not None else None
