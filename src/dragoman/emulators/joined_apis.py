"""Two APIs of one vendor behind one address."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dragoman.emulators.provider import (
    CachePlan,
    EmulatedProvider,
    ErrorResponse,
    FaultKind,
    ModelTurn,
    Operation,
    ReceivedRequest,
)


class JoinedApis:
    """Two APIs of one vendor behind one address: the second serves what the first does not. The first names both."""

    def __init__(self, first: EmulatedProvider, second: EmulatedProvider) -> None:
        self._first = first
        self._second = second
        self.name = first.name
        self.stream_type = first.stream_type
        self.example = first.example
        self.limit_form = first.limit_form

    def _serving(self, method: str, path: str) -> EmulatedProvider:
        return self._first if self._first.operation_of(method, path) is not None else self._second

    def _of(self, request: ReceivedRequest) -> EmulatedProvider:
        return self._serving(request.method, request.path)

    def operation_of(self, method: str, path: str) -> Operation | None:
        return self._serving(method, path).operation_of(method, path)

    def parse_request(
        self, method: str, path: str, query: dict[str, str], headers: dict[str, str], raw: bytes
    ) -> ReceivedRequest | ErrorResponse:
        return self._serving(method, path).parse_request(method, path, query, headers, raw)

    def judge(self, request: ReceivedRequest) -> ErrorResponse | None:
        return self._of(request).judge(request)

    def count_prompt(self, request: ReceivedRequest) -> int:
        return self._of(request).count_prompt(request)

    def thinks(self, request: ReceivedRequest) -> bool:
        return self._of(request).thinks(request)

    def render_answer(self, request: ReceivedRequest, turn: ModelTurn) -> Any:
        return self._of(request).render_answer(request, turn)

    def render_stream(self, request: ReceivedRequest, turn: ModelTurn) -> Iterable[bytes]:
        return self._of(request).render_stream(request, turn)

    def render_stream_error(self, kind: FaultKind, request: ReceivedRequest) -> bytes:
        return self._of(request).render_stream_error(kind, request)

    def render_fault(self, kind: FaultKind, request: ReceivedRequest | None) -> ErrorResponse:
        is_second = request is not None and self._second.operation_of(request.method, request.path) is not None
        return (self._second if is_second else self._first).render_fault(kind, request)

    def plan_cache(self, request: ReceivedRequest) -> CachePlan | None:
        return self._of(request).plan_cache(request)

    def list_models(self) -> Any:
        return self._first.list_models()

    def count_tokens(self, request: ReceivedRequest) -> Any:
        return self._of(request).count_tokens(request)

    def answer_headers(self, request: ReceivedRequest) -> dict[str, str]:
        return self._of(request).answer_headers(request)
