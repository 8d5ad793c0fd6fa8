"""Responses behind Azure's addresses, with the marks of its content filter in every answer."""

from __future__ import annotations

from typing import Any

from dragoman.emulators.chat.azure import AZURE_FAULTS, HARMS, UNVERSIONED, needs_version, render_azure_error
from dragoman.emulators.openai_responses.emulator import Responses
from dragoman.emulators.provider import ErrorResponse, FaultKind, ModelTurn, Operation, ReceivedRequest
from dragoman.emulators.rate_limits import AZURE


def _is_older(request: ReceivedRequest) -> bool:
    """Versions that have no Responses yet: those before 2025-03-01-preview."""
    version = request.query.get("api-version", "")
    return "/openai/v1/" not in request.path and version[:2] == "20" and version[:10] < "2025-03-01"


class AzureResponses(Responses):
    """Responses by Azure's addresses. The body names the deployment."""

    name = "azure-openai-responses"
    has_free_names = True
    limit_form = AZURE
    example: tuple[str, Any] = ("/openai/v1/responses", {"model": "gpt-4o-mini", "input": "Hello"})

    def operation_of(self, method: str, path: str) -> Operation | None:
        if not path.startswith("/openai/"):
            return None
        return super().operation_of(method, "/v1/" + path.removeprefix("/openai/").removeprefix("v1/"))

    def judge(self, request: ReceivedRequest) -> ErrorResponse | None:
        if request.body is not None and (needs_version(request) or _is_older(request)):
            return UNVERSIONED
        return super().judge(request)

    def render_answer(self, request: ReceivedRequest, turn: ModelTurn) -> Any:
        answer = super().render_answer(request, turn)
        marks = {"blocked": False, "content_filter_raw": [], "content_filter_results": HARMS}
        sources = [{**marks, "source_type": source} for source in ("prompt", "completion")]
        return {**answer, "content_filters": sources, "moderation": None}

    def render_fault(self, kind: FaultKind, request: ReceivedRequest | None) -> ErrorResponse:
        refusal = AZURE_FAULTS.get(kind)
        if refusal is None:
            return super().render_fault(kind, request)
        return ErrorResponse(refusal.status, render_azure_error(refusal))
