"""The emulated Cohere API: its paths and errors, the judge and the answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dragoman.emulators.cohere import answer, judge
from dragoman.emulators.cohere.judge import CohereRefusal
from dragoman.emulators.emulated_api import EmulatedApi
from dragoman.emulators.provider import CachePlan, ErrorResponse, FaultKind, ModelTurn, Operation, ReceivedRequest
from dragoman.emulators.rate_limits import COHERE
from dragoman.emulators.usage import answer_seed, count_tokens
from dragoman.emulators.wire import make_id, render_sse_event

_KNOWN_MODELS = ("command-a-plus-05-2026", "command-a-reasoning-08-2025", "command-a-03-2025", "command-r7b-12-2024")
_FAULTS: Mapping[FaultKind, CohereRefusal] = {
    FaultKind.AUTH: CohereRefusal(
        "Incorrect API key provided: ***. You can find your API key at https://dashboard.cohere.com/api-keys.", 401
    ),
    FaultKind.MODEL: CohereRefusal(
        "model '{model}' not found, make sure the correct model ID was used and that you have access to the model.", 404
    ),
    FaultKind.RATE: CohereRefusal(
        "You are using a Trial key, which is limited to 40 API calls / minute. You can continue to use the Trial key"
        " for free or upgrade to a Production key with higher rate limits at 'https://dashboard.cohere.com/api-keys'.",
        429,
    ),
    FaultKind.SERVER: CohereRefusal("internal server error", 500),
    FaultKind.OVERLOADED: CohereRefusal("the service is temporarily unavailable", 503),
    FaultKind.CONTEXT: CohereRefusal(
        "too many tokens: size limit exceeded by {excess[12000]} tokens. Try using shorter or fewer inputs. The limit"
        " for this model is {limit[288000]} tokens.",
        400,
    ),
    FaultKind.TOO_LARGE: CohereRefusal("request body too large", 413),
    FaultKind.TIMEOUT: CohereRefusal("request timeout", 408),
    FaultKind.NOT_FOUND: CohereRefusal("endpoint not found", 404),
    FaultKind.METHOD: CohereRefusal("method not allowed", 405),
}


class CohereApi(EmulatedApi):
    """Cohere's Chat API, version 2."""

    name = "cohere"
    refusal = CohereRefusal
    faults = _FAULTS
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
            raise self.fault(FaultKind.MODEL, request)

    def count_prompt(self, request: ReceivedRequest) -> int:
        return count_tokens(answer.prompt(request))

    def plan_cache(self, request: ReceivedRequest) -> CachePlan:
        return answer.plan_cache(request)

    def thinks(self, request: ReceivedRequest) -> bool:
        return answer.thinks(request)

    def render_answer(self, request: ReceivedRequest, turn: ModelTurn) -> Any:
        return answer.render_answer(request, turn)

    def render_stream(self, request: ReceivedRequest, turn: ModelTurn) -> Iterable[bytes]:
        return answer.render_stream(request, turn)

    def render_stream_error(self, kind: FaultKind, request: ReceivedRequest) -> bytes:
        delta = {"finish_reason": "ERROR", "error": self.fault(kind, request).message}
        return render_sse_event({"type": "message-end", "delta": delta}, event="message-end")

    def render_fault(self, kind: FaultKind, request: ReceivedRequest | None) -> ErrorResponse:
        refused = super().render_fault(kind, request)
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
