"""Azure OpenAI: Chat and Responses behind Azure's addresses, with the marks of its content filter in every answer."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any

import orjson

from dragoman.emulators.chat import compatible
from dragoman.emulators.chat.providers import PROVIDER_SPECS
from dragoman.emulators.chat.service import ChatRefusal, ChatService
from dragoman.emulators.forwarding import JoinedApis
from dragoman.emulators.openai_responses.emulator import Responses
from dragoman.emulators.provider import (
    EmulatedProvider,
    EmulatorOptions,
    ErrorResponse,
    FaultKind,
    ModelTurn,
    Operation,
    ReceivedRequest,
)
from dragoman.emulators.rate_limits import AZURE
from dragoman.emulators.wire import render_sse_event

_UNVERSIONED = ErrorResponse(404, {"error": {"code": "404", "message": "Resource not found"}})
_VERSION = re.compile(r"\d{4}-\d{2}-\d{2}(-preview)?|preview|latest|v1")
_SAFE = {"filtered": False, "severity": "safe"}
_HARMS = dict.fromkeys(("hate", "self_harm", "sexual", "violence"), _SAFE)
_PROMPT = [
    {"prompt_index": 0, "content_filter_results": {**_HARMS, "jailbreak": {"filtered": False, "detected": False}}}
]


def _needs_version(request: ReceivedRequest) -> bool:
    """Only the v1 API goes without a version."""
    versioned = _VERSION.fullmatch(request.query.get("api-version", "")) is not None
    return "/openai/v1/" not in request.path and not versioned


def _is_older(request: ReceivedRequest) -> bool:
    """Versions that have no Responses yet: those before 2025-03-01-preview."""
    version = request.query.get("api-version", "")
    return "/openai/v1/" not in request.path and version[:2] == "20" and version[:10] < "2025-03-01"


class AzureChat(ChatService):
    """Chat by deployment, by the v1 API, or by Foundry's `/models`."""

    def judge(self, request: ReceivedRequest) -> ErrorResponse | None:
        if request.operation is Operation.GENERATE and _needs_version(request):
            return _UNVERSIONED
        return super().judge(request)

    def render_answer(self, request: ReceivedRequest, turn: ModelTurn) -> Any:
        answer = super().render_answer(request, turn)
        choices = [{**choice, "content_filter_results": _HARMS} for choice in answer["choices"]]
        return {**answer, "choices": choices, "prompt_filter_results": _PROMPT}

    def render_stream(self, request: ReceivedRequest, turn: ModelTurn) -> Iterable[bytes]:
        """The prompt's marks come first, in a chunk that is nearly empty; then every choice has its own."""
        first = {"choices": [], "created": 0, "id": "", "model": "", "object": "", "prompt_filter_results": _PROMPT}
        yield render_sse_event(first)
        for frame in super().render_stream(request, turn):
            yield _filtered(frame)


class FoundryModels(ChatService):
    """Chat by Foundry's `/models`. It wants a version of the API, as deployments do."""

    @property
    def example(self) -> tuple[str, Any]:
        path, body = super().example
        return f"{path}?api-version=2024-05-01-preview", body

    def judge(self, request: ReceivedRequest) -> ErrorResponse | None:
        if request.operation is Operation.GENERATE and _needs_version(request):
            return _UNVERSIONED
        return super().judge(request)

    def render_answer(self, request: ReceivedRequest, turn: ModelTurn) -> Any:
        return {**super().render_answer(request, turn), "prompt_filter_results": None}


def _filtered(frame: bytes) -> bytes:
    data = frame.removeprefix(b"data: ").strip()
    if not data.startswith(b"{"):
        return frame
    chunk = orjson.loads(data)
    for choice in chunk.get("choices", ()):
        choice["content_filter_results"] = _HARMS
    return render_sse_event(chunk)


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
        if request.body is not None and (_needs_version(request) or _is_older(request)):
            return _UNVERSIONED
        return super().judge(request)

    def render_answer(self, request: ReceivedRequest, turn: ModelTurn) -> Any:
        answer = super().render_answer(request, turn)
        marks = {"blocked": False, "content_filter_raw": [], "content_filter_results": _HARMS}
        sources = [{**marks, "source_type": source} for source in ("prompt", "completion")]
        return {**answer, "content_filters": sources, "moderation": None}

    def render_fault(self, kind: FaultKind, request: ReceivedRequest | None) -> ErrorResponse:
        refusal = PROVIDER_SPECS["azure-openai"].faults.get(kind)
        return super().render_fault(kind, request) if refusal is None else _render(refusal)


def _render(refusal: ChatRefusal) -> ErrorResponse:
    return ErrorResponse(
        refusal.status, {"error": {"code": str(refusal.code or refusal.status), "message": refusal.message}}
    )


def chat(options: EmulatorOptions) -> EmulatedProvider:
    """The emulator of Chat on Azure, and beside it Responses."""
    more = {**options.more, "provider": "azure-openai"}
    plain = compatible.provider(replace(options, more=more))
    own = AzureChat(**{field.name: getattr(plain, field.name) for field in fields(plain)})
    return JoinedApis(own, AzureResponses(options))


def foundry(options: EmulatorOptions) -> EmulatedProvider:
    """The emulator of Foundry's `/models`: models of many makers, without marks of the filter in their streams."""
    plain = compatible.provider(replace(options, more={**options.more, "provider": "azure-foundry"}))
    return FoundryModels(**{field.name: getattr(plain, field.name) for field in fields(plain)})
