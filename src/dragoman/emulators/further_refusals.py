"""An emulator that refuses more than its provider is known to, in words that nobody has heard before.

It is for the facts that nobody knows: does your client get through if this provider refuses `top_k` after all, and
does not say so? Each pattern is a regular expression, searched for in the request's body as compact JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from dragoman.emulators.forwarding import ForwardingProvider
from dragoman.emulators.provider import EmulatedProvider, ErrorResponse, ReceivedRequest
from dragoman.emulators.wire import render_json

WORDS = "Flumox 71: the grondle of this request does not quib."


class FurtherRefusals(ForwardingProvider):
    """The emulated provider, which also refuses bodies that match one of the patterns."""

    def __init__(self, inner: EmulatedProvider, patterns: Iterable[str]) -> None:
        super().__init__(inner)
        self._patterns = tuple(re.compile(pattern, re.DOTALL) for pattern in patterns)

    def judge(self, request: ReceivedRequest) -> ErrorResponse | None:
        refused = super().judge(request)
        if refused is not None or request.body is None:
            return refused
        text = render_json(request.body).decode()
        return made_up_refusal() if any(pattern.search(text) for pattern in self._patterns) else None


def made_up_refusal() -> ErrorResponse:
    """A refusal that names nothing, with the members that the four dialects read."""
    error = {"message": WORDS, "type": "invalid_request_error", "code": 400, "status": "INVALID_ARGUMENT"}
    return ErrorResponse(400, {"type": "error", "error": error})
