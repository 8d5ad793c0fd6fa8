"""The emulated server: paths, streams and errors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dragoman.emulators.emulated_api import EmulatedApi
from dragoman.emulators.ollama import answer, judge
from dragoman.emulators.ollama.judge import OllamaRefusal
from dragoman.emulators.ollama.models import CONTEXT_LENGTH, LISTED, capabilities
from dragoman.emulators.provider import ErrorResponse, FaultKind, ModelTurn, Operation, ReceivedRequest
from dragoman.emulators.wire import render_json

_CHAT, _TAGS, _SHOW = "/api/chat", "/api/tags", "/api/show"
_DETAILS = {
    "parent_model": "",
    "format": "gguf",
    "family": "emulated",
    "families": ["emulated"],
    "parameter_size": "8.2B",
    "quantization_level": "Q4_K_M",
}
_FAULTS: Mapping[FaultKind, OllamaRefusal] = {
    FaultKind.AUTH: OllamaRefusal("unauthorized", 401),
    FaultKind.MODEL: OllamaRefusal(judge.UNKNOWN_MODEL, 404),
    FaultKind.RATE: OllamaRefusal("too many concurrent requests", 429),
    FaultKind.SERVER: OllamaRefusal("llama runner process has terminated: exit status 2", 500),
    FaultKind.OVERLOADED: OllamaRefusal("server busy, please try again.  maximum pending requests exceeded", 503),
    FaultKind.CONTEXT: OllamaRefusal(
        "prompt too long; exceeded max context length by {excess[1024]} tokens (ref: emulated)"
    ),
    FaultKind.TOO_LARGE: OllamaRefusal("http: request body too large", 413),
    FaultKind.TIMEOUT: OllamaRefusal("request timed out", 408),
    FaultKind.NOT_FOUND: OllamaRefusal("404 page not found", 404),
    FaultKind.METHOD: OllamaRefusal("405 method not allowed", 405),
}


class Ollama(EmulatedApi):
    """A local server with some models."""

    name = "ollama"
    refusal = OllamaRefusal
    faults = _FAULTS
    not_json = "invalid character in JSON: {error}"
    not_object = "json: cannot unmarshal the body into Go value of type api.ChatRequest"
    too_deep = "exceeded max depth"
    known_models = LISTED
    stream_type = "application/x-ndjson"
    example: tuple[str, Any] = (
        _CHAT,
        {"model": "qwen3:8b", "messages": [{"role": "user", "content": "Hello"}], "stream": False},
    )

    def operation_of(self, method: str, path: str) -> Operation | None:
        if method == "GET":
            return Operation.MODELS if path == _TAGS else None
        return {_CHAT: Operation.GENERATE, _SHOW: Operation.SHOW}.get(path)

    def parse_body(self, raw: bytes) -> dict[str, Any]:
        if not raw.strip():
            raise OllamaRefusal("missing request body")
        return super().parse_body(raw)

    def streams(self, operation: Operation, body: dict[str, Any]) -> bool:
        return operation is Operation.GENERATE and body.get("stream") is not False

    def check(self, request: ReceivedRequest) -> None:
        if request.operation is Operation.SHOW:
            judge.check_model(request.model, self.options)
        else:
            judge.check(request, self.options)

    def check_loosely(self, request: ReceivedRequest) -> None:
        judge.check_model(request.model, self.options)

    def count_prompt(self, request: ReceivedRequest) -> int:
        return answer.count_prompt(request)

    def overflows(self, request: ReceivedRequest) -> bool:
        return request.operation is Operation.GENERATE and super().overflows(request)

    def thinks(self, request: ReceivedRequest) -> bool:
        return answer.thinks(request)

    def render_answer(self, request: ReceivedRequest, turn: ModelTurn) -> Any:
        return answer.render_answer(request, turn)

    def render_stream(self, request: ReceivedRequest, turn: ModelTurn) -> Iterable[bytes]:
        return (render_json(line) + b"\n" for line in answer.render_lines(request, turn))

    def render_stream_error(self, kind: FaultKind, request: ReceivedRequest) -> bytes:
        return render_json(self.render_fault(kind, request).body) + b"\n"

    def list_models(self) -> Any:
        return {"models": [_render_listed(model) for model in self.list_names()]}

    def show_model(self, request: ReceivedRequest) -> Any:
        """The body of `/api/show`."""
        return {
            "modelfile": f"FROM {request.model}",
            "parameters": "",
            "template": "{{ .Prompt }}",
            "details": _DETAILS,
            "model_info": {"general.architecture": "emulated", "emulated.context_length": CONTEXT_LENGTH},
            "capabilities": capabilities(request.model),
            "modified_at": answer.CREATED,
        }

    def answer_headers(self, request: ReceivedRequest) -> dict[str, str]:
        return {}

    def render_refusal(self, refusal: OllamaRefusal, request: ReceivedRequest | None = None) -> ErrorResponse:
        return ErrorResponse(refusal.status, {"error": refusal.message}, content_type="application/json; charset=utf-8")


def _render_listed(model: str) -> dict[str, Any]:
    return {
        "name": model,
        "model": model,
        "modified_at": answer.CREATED,
        "size": 5_225_388_164,
        "digest": "0" * 64,
        "details": _DETAILS,
        "capabilities": capabilities(model),
    }
