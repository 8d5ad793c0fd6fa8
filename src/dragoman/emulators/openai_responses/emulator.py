"""The emulated Responses API: its paths and errors, the judge and the answers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from dragoman.emulators.chat.caching import openai_policy, plan_responses
from dragoman.emulators.emulated_api import EmulatedApi
from dragoman.emulators.openai_responses import answer, events, hosted_items, judge
from dragoman.emulators.openai_responses.kept_answers import KeptAnswers
from dragoman.emulators.openai_responses.refusals import ResponsesRefusal
from dragoman.emulators.provider import (
    CachePlan,
    CachePolicy,
    EmulatorOptions,
    ErrorResponse,
    FaultKind,
    ModelTurn,
    Operation,
    ReceivedRequest,
)
from dragoman.emulators.rate_limits import OPENAI
from dragoman.emulators.usage import answer_seed, count_tokens
from dragoman.emulators.wire import make_id, render_sse_event

_PATH = re.compile(r"(?:/openai)?(?:/v1)?(?:/backend-api/codex)?/responses(?P<more>/input_tokens|/compact)?$")
_KNOWN_MODELS = (
    *("gpt-5.6", "gpt-5.4", "gpt-5.4-mini", "gpt-5.2", "gpt-5.2-pro"),
    *("gpt-5", "gpt-5-mini", "o4-mini", "gpt-4.1", "gpt-4o", "gpt-4o-mini"),
)
_FAULTS: dict[FaultKind, ResponsesRefusal] = {
    FaultKind.AUTH: ResponsesRefusal(
        "Incorrect API key provided: sk-*****. You can find your API key at "
        "https://platform.openai.com/account/api-keys.",
        None,
        "invalid_api_key",
        401,
    ),
    FaultKind.MODEL: ResponsesRefusal("The requested model '{model}' does not exist.", "model", "model_not_found"),
    FaultKind.RATE: ResponsesRefusal(
        "Rate limit reached for requests. Please try again in 1s. Visit "
        "https://platform.openai.com/account/rate-limits to learn more.",
        None,
        "rate_limit_exceeded",
        429,
        "requests",
    ),
    FaultKind.SERVER: ResponsesRefusal(
        "The server had an error while processing your request. Sorry about that!",
        None,
        "server_error",
        500,
        "server_error",
    ),
    FaultKind.OVERLOADED: ResponsesRefusal(
        "The server is overloaded or not ready yet.", None, "server_is_overloaded", 503, "service_unavailable_error"
    ),
    FaultKind.CONTEXT: ResponsesRefusal(
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        "input",
        "context_length_exceeded",
    ),
    FaultKind.TOO_LARGE: ResponsesRefusal("The request body is too large.", None, "request_too_large", 413),
    FaultKind.TIMEOUT: ResponsesRefusal("The request was not received in time.", None, "timeout", 408),
    FaultKind.NOT_FOUND: ResponsesRefusal("Invalid URL.", None, None, 404),
    FaultKind.METHOD: ResponsesRefusal(
        "Not allowed to use this method on this URL.", None, "method_not_supported", 405
    ),
}


class Responses(EmulatedApi):
    """OpenAI's Responses API."""

    name = "openai-responses"
    refusal = ResponsesRefusal
    faults = _FAULTS
    not_json = "We could not parse the JSON body of your request. ({error})"
    not_object = "The JSON body of your request must be an object."
    known_models: tuple[str, ...] = _KNOWN_MODELS
    limit_form = OPENAI
    stream_type = "text/event-stream; charset=utf-8"
    example: tuple[str, Any] = ("/v1/responses", {"model": "gpt-4o-mini", "input": "Hello"})

    def __init__(self, options: EmulatorOptions) -> None:
        super().__init__(options)
        self._kept = KeptAnswers(options.strict_signatures)

    def operation_of(self, method: str, path: str) -> Operation | None:
        if method == "GET" and path == "/v1/models":
            return Operation.MODELS
        found = _PATH.match(path)
        if found is None:
            return None
        return Operation.COUNT if found["more"] == "/input_tokens" else Operation.GENERATE

    def check(self, request: ReceivedRequest) -> None:
        judge.check(request, self.options)
        if not self.has_free_names:
            judge.check_retention(request)
        self._kept.check(request)

    def count_prompt(self, request: ReceivedRequest) -> int:
        return count_tokens(answer.prompt(request))

    def overflows(self, request: ReceivedRequest) -> bool:
        """A client may have the history cut instead (`truncation: auto`)."""
        return super().overflows(request) and request.body.get("truncation") != "auto"

    def plan_cache(self, request: ReceivedRequest) -> CachePlan:
        policy = self.cache_policy(request.model)
        return plan_responses(request, hosted_items.item_id("resp_", request), policy, answer.unseen(request))

    def cache_policy(self, model: str) -> CachePolicy:
        return openai_policy(model)

    def thinks(self, request: ReceivedRequest) -> bool:
        return answer.thinks(request)

    def render_answer(self, request: ReceivedRequest, turn: ModelTurn) -> Any:
        if request.path.endswith("/compact"):
            return answer.render_compacted(request)
        made = answer.render_answer(request, turn)
        self._kept.keep(request, made)
        return made

    def render_stream(self, request: ReceivedRequest, turn: ModelTurn) -> Iterable[bytes]:
        self._kept.keep(request, answer.render_answer(request, turn))
        return events.render_stream(request, turn)

    def has_socket(self, path: str) -> bool:
        found = _PATH.match(path)
        return found is not None and found["more"] is None

    def has_lanes(self, path: str) -> bool:
        """On Azure (July 2026) and behind Codex (September 2026) there is one turn at a time, and `stream_id` is
        refused."""
        return not path.startswith(("/openai", "/backend-api"))

    def check_continued(self, body: dict[str, Any]) -> str:
        return ""

    def render_prepared(self, request: ReceivedRequest) -> Iterable[bytes]:
        return events.render_prepared(request)

    def render_stream_error(self, kind: FaultKind, request: ReceivedRequest) -> bytes:
        error = self.stream_fault(kind, request)
        failed = {
            **answer.render_frame(request, "failed"),
            "error": {"code": error["code"], "message": error["message"]},
        }
        error_event = render_sse_event({"type": "error", "sequence_number": 2, "error": error}, event="error")
        failed_event = {"type": "response.failed", "sequence_number": 3, "response": failed}
        return error_event + render_sse_event(failed_event, event="response.failed")

    def stream_fault(self, kind: FaultKind, request: ReceivedRequest) -> dict[str, Any]:
        """A fault as a stream names it."""
        error: dict[str, Any] = self.render_fault(kind, request).body["error"]
        return error

    def render_fault(self, kind: FaultKind, request: ReceivedRequest | None) -> ErrorResponse:
        refused = super().render_fault(kind, request)
        if kind is FaultKind.RATE:
            refused.headers["retry-after"] = "1"
        return refused

    def list_models(self) -> Any:
        names = self.list_names()
        entries = [{"id": name, "object": "model", "created": 1767225600, "owned_by": "openai"} for name in names]
        return {"object": "list", "data": entries}

    def count_tokens(self, request: ReceivedRequest) -> Any:
        return {"object": "response.input_tokens", "input_tokens": max(1, self.count_prompt(request))}

    def answer_headers(self, request: ReceivedRequest) -> dict[str, str]:
        return {"x-request-id": make_id("req_", 32, answer_seed(request)), "openai-version": "2020-10-01"}

    def render_refusal(self, refusal: ResponsesRefusal, request: ReceivedRequest | None = None) -> ErrorResponse:
        error = {"message": refusal.message, "type": refusal.kind, "param": refusal.param, "code": refusal.code}
        headers = {"x-request-id": make_id("req_", 32, answer_seed(request), refusal.message)}
        return ErrorResponse(refusal.status, {"error": error}, headers)
