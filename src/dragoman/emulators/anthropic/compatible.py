"""Another vendor's server with the Messages API: it ignores fields that it does not know."""

from __future__ import annotations

from dragoman.emulators.anthropic.emulator import Anthropic
from dragoman.emulators.anthropic.fields import FIELDS
from dragoman.emulators.emulated_api import without_unknown_fields
from dragoman.emulators.provider import ReceivedRequest
from dragoman.emulators.rate_limits import ANTHROPIC_COMPATIBLE

_TURN_FIELDS = frozenset({"role", "content"})


class CompatibleAnthropic(Anthropic):
    """The judge of Claude's own API behind a server that is not as strict about names."""

    name = "anthropic-compatible"
    has_free_names = True
    limit_form = ANTHROPIC_COMPATIBLE

    def check(self, request: ReceivedRequest) -> None:
        super().check(without_unknown_fields(request, "messages", FIELDS.__contains__, _TURN_FIELDS.__contains__))
