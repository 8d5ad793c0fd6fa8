"""The emulated service: paths, errors in OpenAI's shape, judge and answers put together."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import orjson

from dragoman.emulators.provider import FaultKind, Operation, Options, Provider, Received, Refused, Turn
from dragoman.emulators.responses import answer, events, judge
from dragoman.emulators.responses.shape import Fault
from dragoman.emulators.usage import digest, weight
from dragoman.emulators.wire import sse, token

_PATH = re.compile(r"(?:/openai)?(?:/v1)?(?:/backend-api/codex)?/responses(?P<more>/input_tokens|/compact)?$")
_KNOWN_MODELS = (
    "gpt-5.6",
    "gpt-5.4",
    "gpt-5.4-mini",
    "gpt-5",
    "gpt-5-mini",
    "o4-mini",
    "gpt-4.1",
    "gpt-4o",
    "gpt-4o-mini",
)
_FAULTS: dict[FaultKind, Fault] = {
    FaultKind.AUTH: Fault(
        "Incorrect API key provided: sk-*****. You can find your API key at "
        "https://platform.openai.com/account/api-keys.",
        None,
        "invalid_api_key",
        401,
    ),
    FaultKind.RATE: Fault(
        "Rate limit reached for requests. Please try again in 1s. Visit "
        "https://platform.openai.com/account/rate-limits to learn more.",
        None,
        "rate_limit_exceeded",
        429,
        "requests",
    ),
    FaultKind.SERVER: Fault(
        "The server had an error while processing your request. Sorry about that!",
        None,
        "server_error",
        500,
        "server_error",
    ),
    FaultKind.OVERLOADED: Fault(
        "The server is overloaded or not ready yet.", None, "server_is_overloaded", 503, "service_unavailable_error"
    ),
    FaultKind.CONTEXT: Fault(
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        "input",
        "context_length_exceeded",
    ),
    FaultKind.TOO_LARGE: Fault("The request body is too large.", None, "request_too_large", 413),
    FaultKind.TIMEOUT: Fault("The request was not received in time.", None, "timeout", 408),
    FaultKind.NOT_FOUND: Fault("Invalid URL.", None, None, 404),
    FaultKind.METHOD: Fault("Not allowed to use this method on this URL.", None, "method_not_supported", 405),
}


class Responses:
    """OpenAI's Responses API."""

    name = "openai-responses"
    stream_type = "text/event-stream; charset=utf-8"
    example: tuple[str, Any] = ("/v1/responses", {"model": "gpt-4o-mini", "input": "Hello"})

    def __init__(self, options: Options) -> None:
        self.options = options

    def owns(self, method: str, path: str) -> Operation | None:
        if method == "GET" and path == "/v1/models":
            return Operation.MODELS
        found = _PATH.match(path)
        if found is None:
            return None
        return Operation.COUNT if found["more"] == "/input_tokens" else Operation.GENERATE

    def read(
        self, method: str, path: str, query: dict[str, str], headers: dict[str, str], raw: bytes
    ) -> Received | Refused:
        operation = self.owns(method, path) or Operation.GENERATE
        if operation is Operation.MODELS:
            return Received(method, path, query, headers, raw, None, "", False, operation)
        if method != "POST":
            return self.fault(FaultKind.METHOD, None)
        try:
            body = orjson.loads(raw)
        except orjson.JSONDecodeError as broken:
            return refusal(Fault(f"We could not parse the JSON body of your request. ({broken})"))
        if not isinstance(body, dict):
            return refusal(Fault("The JSON body of your request must be an object."))
        model = body.get("model")
        return Received(
            method,
            path,
            query,
            headers,
            raw,
            body,
            model if isinstance(model, str) else "",
            operation is Operation.GENERATE and body.get("stream") is True,
            operation,
        )

    def judge(self, call: Received) -> Refused | None:
        if call.body is None:
            return None
        try:
            if self.options.strict:
                judge.check(call, self.options)
            elif not self.options.knows(call.model):
                return self.fault(FaultKind.MODEL, call)
        except Fault as fault:
            return refusal(fault, digest(call))
        return None

    def whole(self, call: Received, turn: Turn) -> Any:
        return answer.compacted(call) if call.path.endswith("/compact") else answer.whole(call, turn)

    def stream(self, call: Received, turn: Turn) -> Iterable[bytes]:
        return events.stream(call, turn)

    def stream_error(self, kind: FaultKind, call: Received) -> bytes:
        error = self.fault(kind, call).body["error"]
        failed = {**answer.frame(call, "failed"), "error": {"code": error["code"], "message": error["message"]}}
        said = sse({"type": "error", "sequence_number": 2, "error": error}, event="error")
        last = {"type": "response.failed", "sequence_number": 3, "response": failed}
        return said + sse(last, event="response.failed")

    def fault(self, kind: FaultKind, call: Received | None) -> Refused:
        if kind is FaultKind.MODEL:
            name = call.model if call else "unknown"
            return refusal(Fault(f"The requested model '{name}' does not exist.", "model", "model_not_found"))
        refused = refusal(_FAULTS[kind], digest(call) if call else "")
        if kind is FaultKind.RATE:
            refused.headers.update({"retry-after": "1", "x-ratelimit-remaining-requests": "0"})
        return refused

    def models(self) -> Any:
        names = self.options.models or _KNOWN_MODELS
        entries = [{"id": name, "object": "model", "created": 1767225600, "owned_by": "openai"} for name in names]
        return {"object": "list", "data": entries}

    def count(self, call: Received) -> Any:
        return {"object": "response.input_tokens", "input_tokens": max(1, weight(answer.prompt(call)))}

    def headers(self, call: Received) -> dict[str, str]:
        return {"x-request-id": token("req_", 32, digest(call)), "openai-version": "2020-10-01"}


def refusal(fault: Fault, seed: str = "") -> Refused:
    """A fault as the service sends it."""
    error = {"message": fault.message, "type": fault.kind, "param": fault.param, "code": fault.code}
    return Refused(fault.status, {"error": error}, {"x-request-id": token("req_", 32, seed, fault.message)})


def provider(options: Options) -> Provider:
    """OpenAI's Responses API, set up."""
    return Responses(options)
