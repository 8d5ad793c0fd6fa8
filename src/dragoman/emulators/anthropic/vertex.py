"""Claude on Vertex AI: Google's addresses and errors around Anthropic's messages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from dragoman.emulators.anthropic.emulator import Anthropic
from dragoman.emulators.anthropic.refusals import AnthropicRefusal
from dragoman.emulators.provider import ErrorResponse, FaultKind, ModelTurn, Operation, ReceivedRequest
from dragoman.emulators.rate_limits import EXHAUSTED_ON_VERTEX, UNTOLD

_PATH = re.compile(
    r"/v1(?:/projects/[^/]+/locations/[^/]+)?/publishers/anthropic/models/(?P<model>[^/:]+)"
    r":(?P<verb>rawPredict|streamRawPredict)"
)
_NOT_SERVED = ("container", "context_management", "mcp_servers", "service_tier")
_NO_BETAS = (
    *("adaptive-thinking-2026-01-28", "effort-2025-11-24", "prompt-caching-scope-2026-01-05"),
    *("structured-outputs-2025-11-13", "structured-outputs-2025-12-15", "mcp-servers-2025-12-04"),
    *("advisor-tool-2026-03-01", "code-execution-2025-08-25", "fast-mode-2026-02-01", "files-api-2025-04-14"),
    *("fine-grained-tool-streaming-2025-05-14", "output-128k-2025-02-19", "request-tags-2026-08-21"),
    *("skills-2025-10-02", "token-efficient-tools-2025-02-19", "web-fetch-2025-09-10"),
)
"""The first five are refused in public reports, the others are not passed on by LiteLLM's table of betas."""
_UNEXPECTED = (
    "Unexpected value(s) {} for the `anthropic-beta` header. Please consult our documentation at docs.anthropic.com or "
    "try again without the header."
)
_COUNTING = "count-tokens"
"""Stands in the path where the model's name would."""
_DATED = re.compile(r"claude-.*-\d{8}")
_AUTH = (
    "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid "
    "authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project."
)


class VertexClaude(Anthropic):
    """Claude by `rawPredict`. The path names the model, and the body the version of the API."""

    name = "vertex-anthropic"
    limit_form = UNTOLD
    example: tuple[str, Any] = (
        "/v1/projects/p/locations/global/publishers/anthropic/models/claude-sonnet-4-6:rawPredict",
        {
            "anthropic_version": "vertex-2023-10-16",
            "max_tokens": 256,
            "messages": [{"role": "user", "content": "Hello"}],
        },
    )

    def operation_of(self, method: str, path: str) -> Operation | None:
        found = _PATH.fullmatch(path)
        if found is None:
            return None
        if found["model"] == _COUNTING:
            return Operation.COUNT if found["verb"] == "rawPredict" else None
        return Operation.STREAM if found["verb"] == "streamRawPredict" else Operation.GENERATE

    def model_of(self, path: str, body: dict[str, Any]) -> Any:
        """A question for tokens names the model in its body."""
        found = _PATH.fullmatch(path)
        return body.get("model") if found is None or found["model"] == _COUNTING else found["model"]

    def judge(self, request: ReceivedRequest) -> ErrorResponse | None:
        if _DATED.fullmatch(request.model) or request.body.get("anthropic_version") == "2023-06-01":
            return self.render_fault(FaultKind.MODEL, request)
        for name in _NOT_SERVED:
            if name in request.body:
                return self.render_refusal(AnthropicRefusal(f"{name}: Extra inputs are not permitted"))
        unknown = [one for one in _betas(request) if one in _NO_BETAS]
        if unknown:
            return self.render_refusal(AnthropicRefusal(_UNEXPECTED.format(", ".join(f"`{one}`" for one in unknown))))
        return super().judge(request)

    def render_answer(self, request: ReceivedRequest, turn: ModelTurn) -> Any:
        answer = super().render_answer(request, turn)
        return {**answer, "id": answer["id"].replace("msg_01", "msg_vrtx_01", 1)}

    def render_stream(self, request: ReceivedRequest, turn: ModelTurn) -> Iterable[bytes]:
        for frame in super().render_stream(request, turn):
            yield frame.replace(b'"id":"msg_01', b'"id":"msg_vrtx_01', 1)

    def render_fault(self, kind: FaultKind, request: ReceivedRequest | None) -> ErrorResponse:
        """What Google's front says in its own form; all else is Anthropic's."""
        if kind is FaultKind.AUTH:
            return _google_error(401, "UNAUTHENTICATED", _AUTH)
        if kind is FaultKind.RATE:
            return _google_error(429, "RESOURCE_EXHAUSTED", EXHAUSTED_ON_VERTEX)
        if kind is FaultKind.MODEL and request is not None:
            name = request.path.removeprefix("/v1/").partition(":")[0]
            return _google_error(404, "NOT_FOUND", f"Publisher Model `{name}` not found.")
        return super().render_fault(kind, request)


def _betas(request: ReceivedRequest) -> list[str]:
    return [one.strip() for one in request.headers.get("anthropic-beta", "").split(",") if one.strip()]


def _google_error(status: int, name: str, sentence: str) -> ErrorResponse:
    error = {"code": status, "message": sentence, "status": name}
    return ErrorResponse(status, {"error": error}, content_type="application/json; charset=UTF-8")
