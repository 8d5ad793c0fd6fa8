"""Why a response stopped, both ways."""

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
"""Stops that leave a response incomplete. A refusal does too where the response does not hold its text."""


def parse_stop(status: str, reason: str, called: bool, refused: bool) -> Stop:
    """Our reason. Calls and refusals show in the items and not in the status."""
    if status == "incomplete":
        return REASONS.get(reason, Stop.LENGTH)
    return Stop.CALLS if called else Stop.REFUSAL if refused else Stop.END


def render_incomplete(reason: Stop | None, refused: bool) -> Json | None:
    """`incomplete_details`, or None where the response is complete."""
    if reason is Stop.REFUSAL and not refused:
        return INCOMPLETE[Stop.FILTER]
    return INCOMPLETE.get(reason) if reason is not None else None
