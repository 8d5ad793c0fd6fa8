"""The emulated Cohere API: its paths and errors, the judge and the answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dragoman.emulators.cohere import answer, judge
from dragoman.emulators.cohere.judge import CohereRefusal
from dragoman.emulators.native_api import NativeApi
from dragoman.emulators.provider import CachePlan, ErrorResponse, FaultKind, ModelTurn, Operation, ReceivedRequest
from dragoman.emulators.rate_limits import COHERE
from dragoman.emulators.usage import answer_seed, count_tokens
from dragoman.emulators.wire import make_id, render_sse_event

_KNOWN_MODELS = ("command-a-plus-05-2026", "command-a-reasoning-08-2025", "command-a-03-2025", "command-r7b-12-2024")
_FAULTS: dict[FaultKind, tuple[int, str]] = {
    FaultKind.AUTH: (
        401,
        "Incorrect API key provided: ***. You can find your API key at https://dashboard.cohere.com/api-keys.",
    ),
    FaultKind.MODEL: (
        404,
        "model '{model}' not found, make sure the correct model ID was used and that you have access to the model.",
    ),
    FaultKind.RATE: (
        429,
        "You are using a Trial key, which is limited to 40 API calls / minute. You can continue to use the Trial key"
        " for free or upgrade to a Production key with higher rate limits at 'https://dashboard.cohere.com/api-keys'.",
    ),
    FaultKind.SERVER: (500, "internal server error"),
    FaultKind.OVERLOADED: (503, "the service is temporarily unavailable"),
    FaultKind.CONTEXT: (
        400,
        "too many tokens: size limit exceeded by {excess} tokens. Try using shorter or fewer inputs. The limit for"
        " this model is {limit} tokens.",
    ),
    FaultKind.TOO_LARGE: (413, "request body too large"),
    FaultKind.TIMEOUT: (408, "request timeout"),
    FaultKind.NOT_FOUND: (404, "endpoint not found"),
    FaultKind.METHOD: (405, "method not allowed"),
}


class CohereApi(NativeApi):
    """Cohere's Chat API, version 2."""

    name = "cohere"
    refusal = CohereRefusal
    not_json = "invalid json syntax: {error}"
    not_object = "invalid json syntax: the body is not an object"
    known_models = _KNOWN_MODELS
    limit_form = COHERE
    stream_type = "text/event-stream"
    example: tuple[str, Any] = (
        "/v2/chat",
        {"model": "command-a-03-2025", "messages": [{"role": "user", "content": "Hello"}]},
    )

    def operation_of(self, method: str, path: str) -> Operation | None:
        if path == "/v1/models" and method == "GET":
            return Operation.MODELS
        return Operation.GENERATE if path == "/v2/chat" and method == "POST" else None

    def check(self, request: ReceivedRequest) -> None:
        judge.check(request.body)
        if not self.options.knows(request.model):
            status, words = _FAULTS[FaultKind.MODEL]
            raise CohereRefusal(words.format_map(self._values(request)), status)

    def count_prompt(self, request: ReceivedRequest) -> int:
        return count_tokens(answer.prompt(request))

    def _values(self, request: ReceivedRequest | None) -> dict[str, Any]:
        """What stands in the sentences of faults."""
        values = {"model": request.model if request else "unknown", "excess": 12000, "limit": 288000}
        if request is None or not self.options.window:
            return values
        window = self.options.window
        return values | {"excess": self.count_prompt(request) - window, "limit": window}

    def plan_cache(self, request: ReceivedRequest) -> CachePlan:
        return answer.plan_cache(request)

    def thinks(self, request: ReceivedRequest) -> bool:
        return answer.thinks(request)

    def render_answer(self, request: ReceivedRequest, turn: ModelTurn) -> Any:
        return answer.render_answer(request, turn)

    def render_stream(self, request: ReceivedRequest, turn: ModelTurn) -> Iterable[bytes]:
        return answer.render_stream(request, turn)

    def render_stream_error(self, kind: FaultKind, request: ReceivedRequest) -> bytes:
        delta = {"finish_reason": "ERROR", "error": _FAULTS[kind][1].format_map(self._values(request))}
        return render_sse_event({"type": "message-end", "delta": delta}, event="message-end")

    def render_fault(self, kind: FaultKind, request: ReceivedRequest | None) -> ErrorResponse:
        status, words = _FAULTS[kind]
        refused = self.render_refusal(CohereRefusal(words.format_map(self._values(request)), status), request)
        if kind is FaultKind.CONTEXT:
            refused.body["error_type"] = "TOO_MANY_TOKENS"
        return refused

    def list_models(self) -> Any:
        names = self.list_names()
        return {"models": [{"name": name, "endpoints": ["chat"], "context_length": 256000} for name in names]}

    def answer_headers(self, request: ReceivedRequest) -> dict[str, str]:
        return {"x-debug-trace-id": make_id("", 32, answer_seed(request), alphabet="0123456789abcdef")}

    def render_refusal(self, refusal: CohereRefusal, request: ReceivedRequest | None = None) -> ErrorResponse:
        identity = make_id("", 32, answer_seed(request), refusal.message, alphabet="0123456789abcdef")
        return ErrorResponse(refusal.status, {"id": identity, "message": refusal.message})
