"""Chat behind Azure's addresses, with the marks of its content filter in every answer."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import orjson

from dragoman.emulators.chat.compatible import CompatibleService
from dragoman.emulators.chat.service import ChatRefusal
from dragoman.emulators.provider import ErrorResponse, FaultKind, ModelTurn, Operation, ReceivedRequest
from dragoman.emulators.wire import render_sse_event

UNVERSIONED = ErrorResponse(404, {"error": {"code": "404", "message": "Resource not found"}})
_VERSION = re.compile(r"\d{4}-\d{2}-\d{2}(-preview)?|preview|latest|v1")
_SAFE = {"filtered": False, "severity": "safe"}
HARMS = dict.fromkeys(("hate", "self_harm", "sexual", "violence"), _SAFE)
_PROMPT = [
    {"prompt_index": 0, "content_filter_results": {**HARMS, "jailbreak": {"filtered": False, "detected": False}}}
]


AZURE_FAULTS = {
    FaultKind.AUTH: ChatRefusal(
        401,
        "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key"
        " for an active subscription and use a correct regional API endpoint for your resource.",
    ),
    FaultKind.MODEL: ChatRefusal(
        404, "The API deployment for this resource does not exist.", code="DeploymentNotFound"
    ),
    FaultKind.RATE: ChatRefusal(429, "Requests have exceeded the call rate limit.", code="RateLimitReached"),
}


def render_azure_error(refusal: ChatRefusal) -> Any:
    """Azure: a code in words or digits, and a message."""
    error = {"code": str(refusal.code or refusal.status), "message": refusal.message}
    return {"error": error if refusal.param is None else error | {"param": refusal.param, "type": refusal.kind}}


def needs_version(request: ReceivedRequest) -> bool:
    """Only the v1 API goes without a version."""
    versioned = _VERSION.fullmatch(request.query.get("api-version", "")) is not None
    return "/openai/v1/" not in request.path and not versioned


class _VersionedChat(CompatibleService):
    """Chat that wants a version of the API."""

    def judge(self, request: ReceivedRequest) -> ErrorResponse | None:
        if request.operation is Operation.GENERATE and needs_version(request):
            return UNVERSIONED
        return super().judge(request)


@dataclass(frozen=True)
class AzureChat(_VersionedChat):
    """Chat by deployment, by the v1 API, or by Foundry's `/models`. A model is a deployment there."""

    has_free_names = True

    def render_answer(self, request: ReceivedRequest, turn: ModelTurn) -> Any:
        answer = super().render_answer(request, turn)
        choices = [{**choice, "content_filter_results": HARMS} for choice in answer["choices"]]
        return {**answer, "choices": choices, "prompt_filter_results": _PROMPT}

    def render_stream(self, request: ReceivedRequest, turn: ModelTurn) -> Iterable[bytes]:
        """The prompt's marks come first, in a chunk that is nearly empty; then every choice has its own."""
        first = {"choices": [], "created": 0, "id": "", "model": "", "object": "", "prompt_filter_results": _PROMPT}
        yield render_sse_event(first)
        for frame in super().render_stream(request, turn):
            yield _mark_choices(frame)


@dataclass(frozen=True)
class FoundryModels(_VersionedChat):
    """Chat by Foundry's `/models`: models of many makers, without marks of the filter in their streams."""

    @property
    def example(self) -> tuple[str, Any]:
        path, body = super().example
        return f"{path}?api-version=2024-05-01-preview", body

    def render_answer(self, request: ReceivedRequest, turn: ModelTurn) -> Any:
        return {**super().render_answer(request, turn), "prompt_filter_results": None}


def _mark_choices(frame: bytes) -> bytes:
    data = frame.removeprefix(b"data: ").strip()
    if not data.startswith(b"{"):
        return frame
    chunk = orjson.loads(data)
    for choice in chunk.get("choices", ()):
        choice["content_filter_results"] = HARMS
    return render_sse_event(chunk)
