"""An emulator that refuses more than its provider is known to, in words that nobody has heard before.

It is for the facts that nobody knows: does your client get through if this provider refuses `top_k` after all, and
does not say so? Each pattern is a regular expression, searched for in the request's body as compact JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from dragoman.emulators.prompt_cache import CachePlan
from dragoman.emulators.provider import (
    EmulatedProvider,
    ErrorResponse,
    FaultKind,
    ModelTurn,
    Operation,
    ReceivedRequest,
)
from dragoman.emulators.rate_limits import LimitForm
from dragoman.emulators.wire import render_json

WORDS = "Flumox 71: the grondle of this request does not quib."


class FurtherRefusals:
    """The emulated provider, which also refuses bodies that match one of the patterns."""

    def __init__(self, inner: EmulatedProvider, patterns: Iterable[str]) -> None:
        self._inner = inner
        self._patterns = tuple(re.compile(pattern, re.DOTALL) for pattern in patterns)

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def stream_type(self) -> str:
        return self._inner.stream_type

    @property
    def limit_form(self) -> LimitForm:
        return self._inner.limit_form

    @property
    def example(self) -> tuple[str, Any]:
        return self._inner.example

    def operation_of(self, method: str, path: str) -> Operation | None:
        return self._inner.operation_of(method, path)

    def parse_request(
        self, method: str, path: str, query: dict[str, str], headers: dict[str, str], raw: bytes
    ) -> ReceivedRequest | ErrorResponse:
        return self._inner.parse_request(method, path, query, headers, raw)

    def judge(self, request: ReceivedRequest) -> ErrorResponse | None:
        refused = self._inner.judge(request)
        if refused is not None or request.body is None:
            return refused
        text = render_json(request.body).decode()
        return made_up_refusal() if any(pattern.search(text) for pattern in self._patterns) else None

    def count_prompt(self, request: ReceivedRequest) -> int:
        return self._inner.count_prompt(request)

    def render_answer(self, request: ReceivedRequest, turn: ModelTurn) -> Any:
        return self._inner.render_answer(request, turn)

    def render_stream(self, request: ReceivedRequest, turn: ModelTurn) -> Iterable[bytes]:
        return self._inner.render_stream(request, turn)

    def render_stream_error(self, kind: FaultKind, request: ReceivedRequest) -> bytes:
        return self._inner.render_stream_error(kind, request)

    def render_fault(self, kind: FaultKind, request: ReceivedRequest | None) -> ErrorResponse:
        return self._inner.render_fault(kind, request)

    def plan_cache(self, request: ReceivedRequest) -> CachePlan | None:
        return self._inner.plan_cache(request)

    def list_models(self) -> Any:
        return self._inner.list_models()

    def count_tokens(self, request: ReceivedRequest) -> Any:
        return self._inner.count_tokens(request)

    def answer_headers(self, request: ReceivedRequest) -> dict[str, str]:
        return self._inner.answer_headers(request)


def made_up_refusal() -> ErrorResponse:
    """A refusal that names nothing, with the members that the four dialects read."""
    error = {"message": WORDS, "type": "invalid_request_error", "code": 400, "status": "INVALID_ARGUMENT"}
    return ErrorResponse(400, {"type": "error", "error": error})
