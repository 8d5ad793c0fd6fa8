"""The emulated Gemini API on AI Studio and Vertex: paths, streams and errors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dragoman.emulators.emulated_api import EmulatedApi, ProviderRefusal
from dragoman.emulators.gemini import answer, caching, judge
from dragoman.emulators.gemini.cached_contents import CachedContents, names_cache
from dragoman.emulators.gemini.flavour import AI_STUDIO, ON_VERTEX, ON_VERTEX_V1, Flavour, GeminiRefusal
from dragoman.emulators.provider import (
    CachePlan,
    EmulatorOptions,
    ErrorResponse,
    FaultKind,
    ModelTurn,
    Operation,
    ReceivedRequest,
)
from dragoman.emulators.rate_limits import EXHAUSTED_ON_VERTEX, GEMINI, UNTOLD
from dragoman.emulators.wire import render_json, render_sse_event

_VERBS = {
    "generateContent": Operation.GENERATE,
    "streamGenerateContent": Operation.STREAM,
    "countTokens": Operation.COUNT,
}
_ON_CACHES, _ON_CACHE = ("GET", "POST"), ("GET", "PATCH", "DELETE")
_KNOWN_MODELS = (
    *("gemini-3.5-flash", "gemini-3.1-pro-preview", "gemini-3-pro-preview"),
    *("gemini-3-flash-preview", "gemini-2.5-pro", "gemini-2.5-flash", "gemini-2.5-flash-lite"),
)
_RATE = (
    "You exceeded your current quota, please check your plan and billing details. For more information on this error, "
    "head to: https://ai.google.dev/gemini-api/docs/rate-limits. To monitor your current usage, head to: "
    "https://ai.dev/rate-limit. \nPlease retry in 1s."
)
_RATE_DETAILS = [
    {
        "@type": "type.googleapis.com/google.rpc.QuotaFailure",
        "violations": [{"quotaId": "GenerateRequestsPerMinutePerProjectPerModel-FreeTier"}],
    },
    {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1s"},
]
_BAD_KEY = "API key not valid. Please pass a valid API key."
_BAD_KEY_DETAILS = [
    {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": "API_KEY_INVALID",
        "domain": "googleapis.com",
        "metadata": {"service": "generativelanguage.googleapis.com"},
    },
    {"@type": "type.googleapis.com/google.rpc.LocalizedMessage", "locale": "en-US", "message": _BAD_KEY},
]
_FAULTS: Mapping[FaultKind, GeminiRefusal] = {
    FaultKind.AUTH: GeminiRefusal(_BAD_KEY, 400, "INVALID_ARGUMENT", _BAD_KEY_DETAILS),
    FaultKind.RATE: GeminiRefusal(_RATE, 429, "RESOURCE_EXHAUSTED", _RATE_DETAILS),
    FaultKind.SERVER: GeminiRefusal(
        "An internal error has occurred. Please retry or report in "
        "https://developers.generativeai.google/guide/troubleshooting",
        500,
        "INTERNAL",
    ),
    FaultKind.OVERLOADED: GeminiRefusal("The model is overloaded. Please try again later.", 503, "UNAVAILABLE"),
    FaultKind.CONTEXT: GeminiRefusal(
        "The input token count ({tokens[1250074]}) exceeds the maximum number of tokens allowed ({limit[1048576]}).",
        400,
        "INVALID_ARGUMENT",
    ),
    FaultKind.TOO_LARGE: GeminiRefusal(
        "Request payload size exceeds the limit: 20971520 bytes.", 400, "INVALID_ARGUMENT"
    ),
    FaultKind.TIMEOUT: GeminiRefusal("The request was not received in time.", 408, "DEADLINE_EXCEEDED"),
    FaultKind.MODEL: GeminiRefusal("Requested entity was not found.", 404, "NOT_FOUND"),
    FaultKind.NOT_FOUND: GeminiRefusal("Requested entity was not found.", 404, "NOT_FOUND"),
    FaultKind.METHOD: GeminiRefusal("The HTTP method is not supported for this URL.", 405, "UNIMPLEMENTED"),
}
_VERTEX_AUTH = (
    "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid "
    "authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project."
)


class Gemini(EmulatedApi):
    """Google AI Studio."""

    name = "gemini"
    refusal = GeminiRefusal
    faults = _FAULTS
    not_json = "Invalid JSON payload received. Unexpected token.\n{error}"
    not_object = "Invalid JSON payload received. Root element must be a message."
    too_deep = "Invalid JSON payload received. Message too deep. Max recursion depth reached."
    known_models = _KNOWN_MODELS
    limit_form = GEMINI
    stream_type = "text/event-stream"
    flavour: Flavour = AI_STUDIO
    paths = re.compile(r"/(?:v1beta|v1alpha|v1)/(?:models|tunedModels)/(?P<model>[^/:]+):(?P<verb>\w+)$")
    lists = re.compile(r"/(?:v1beta|v1alpha|v1)/models$")
    caches = re.compile(r"/(?:v1beta|v1alpha|v1)/cachedContents(?:/(?P<id>[^/:]+))?$")
    example: tuple[str, Any] = (
        "/v1beta/models/gemini-2.5-flash:generateContent",
        {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]},
    )

    def __init__(self, options: EmulatorOptions) -> None:
        super().__init__(options)
        self._caches = CachedContents(self.flavour)

    def operation_of(self, method: str, path: str) -> Operation | None:
        if method == "GET" and self.lists.match(path):
            return Operation.MODELS
        if (place := self.caches.match(path)) is not None:
            return Operation.CONTENTS if method in (_ON_CACHE if place["id"] else _ON_CACHES) else None
        found = self.paths.match(path)
        return _VERBS.get(found["verb"]) if found else None

    def parse_body(self, raw: bytes) -> dict[str, Any]:
        return super().parse_body(raw) if raw.strip() else {}

    def model_of(self, path: str, body: dict[str, Any]) -> Any:
        found = self.paths.match(path)
        return found["model"] if found else ""

    def streams(self, operation: Operation, body: dict[str, Any]) -> bool:
        return operation is Operation.STREAM

    def parse_request(
        self, method: str, path: str, query: dict[str, str], headers: dict[str, str], raw: bytes
    ) -> ReceivedRequest | ErrorResponse:
        if self.operation_of(method, path) is not Operation.CONTENTS:
            return super().parse_request(method, path, query, headers, raw)
        try:
            body = self.parse_body(raw) if method in ("POST", "PATCH") else None
            parsed = None if body is None else judge.parse_body(body, "CachedContent", self.flavour)
        except GeminiRefusal as refusal:
            return self.render_refusal(refusal)
        model = str((parsed or {}).get("model", "")).rpartition("/")[2]
        return ReceivedRequest(method, path, query, headers, raw, Operation.CONTENTS, body=parsed, model=model)

    def serve_contents(self, request: ReceivedRequest, account: str, now: float) -> dict[str, Any] | ErrorResponse:
        try:
            return self._caches.serve(request, request.body or {}, account, now)
        except GeminiRefusal as refusal:
            return self.render_refusal(refusal)

    def use_content(
        self, request: ReceivedRequest, account: str, now: float
    ) -> tuple[ReceivedRequest, int] | ErrorResponse:
        if not names_cache(request.body):
            return request, 0
        try:
            return self._caches.put_in(request, account, now)
        except GeminiRefusal as refusal:
            return self.render_refusal(refusal)

    def check(self, request: ReceivedRequest) -> None:
        if request.operation is Operation.CONTENTS:
            return
        judge.check(request, self.flavour, self.options)

    def count_prompt(self, request: ReceivedRequest) -> int:
        return answer.count_prompt(request)

    def plan_cache(self, request: ReceivedRequest) -> CachePlan:
        return caching.plan_cache(request)

    def thinks(self, request: ReceivedRequest) -> bool:
        return answer.thinks(request)

    def render_answer(self, request: ReceivedRequest, turn: ModelTurn) -> Any:
        return answer.render_answer(request, turn, self.flavour)

    def render_stream(self, request: ReceivedRequest, turn: ModelTurn) -> Iterable[bytes]:
        chunks = answer.render_chunks(request, turn, self.flavour)
        if request.query.get("alt") == "sse":
            return (render_sse_event(chunk, newline="\r\n") for chunk in chunks)
        return _as_array(chunks)

    def render_stream_error(self, kind: FaultKind, request: ReceivedRequest) -> bytes:
        body = self.render_fault(kind, request).body
        if request.query.get("alt") == "sse":
            return render_sse_event(body, newline="\r\n")
        return b",\r\n" + render_json(body) + b"]"

    def fault(self, kind: FaultKind, request: ReceivedRequest | None) -> ProviderRefusal:
        if kind is FaultKind.MODEL and request is not None:
            return judge.unknown_model(request, self.flavour)
        return super().fault(kind, request)

    def list_models(self) -> Any:
        methods = ["generateContent", "countTokens"]
        return {
            "models": [
                {
                    "name": f"models/{model}",
                    "version": "001",
                    "displayName": model,
                    "inputTokenLimit": 1048576,
                    "outputTokenLimit": 65536,
                    "supportedGenerationMethods": methods,
                }
                for model in self.list_names()
            ]
        }

    def count_tokens(self, request: ReceivedRequest) -> Any:
        return answer.render_count(request, self.flavour)

    def answer_headers(self, request: ReceivedRequest) -> dict[str, str]:
        timing = {"server-timing": "gfet4t7; dur=1"}
        array = request.stream and request.query.get("alt") != "sse"
        return timing | {"content-type": "application/json; charset=UTF-8"} if array else timing

    def render_refusal(self, refusal: GeminiRefusal, request: ReceivedRequest | None = None) -> ErrorResponse:
        error: dict[str, Any] = {"code": refusal.status, "message": refusal.message, "status": refusal.kind}
        if refusal.details:
            error["details"] = refusal.details
        return ErrorResponse(refusal.status, {"error": error}, content_type="application/json; charset=UTF-8")


class Vertex(Gemini):
    """Vertex AI."""

    name = "vertex"
    faults: Mapping[FaultKind, GeminiRefusal] = {
        **_FAULTS,
        FaultKind.AUTH: GeminiRefusal(_VERTEX_AUTH, 401, "UNAUTHENTICATED"),
        FaultKind.RATE: GeminiRefusal(EXHAUSTED_ON_VERTEX, 429, "RESOURCE_EXHAUSTED"),
    }
    limit_form = UNTOLD
    flavour = ON_VERTEX

    def check(self, request: ReceivedRequest) -> None:
        if request.operation is not Operation.CONTENTS:
            old = request.path.startswith("/v1/")
            judge.check(request, ON_VERTEX_V1 if old else self.flavour, self.options)

    paths = re.compile(
        r"/(?:v1beta1|v1)/(?:projects/[^/]+/locations/[^/]+/)?publishers/google/models/(?P<model>[^/:]+):(?P<verb>\w+)$"
    )
    lists = re.compile(r"/(?:v1beta1|v1)/(?:projects/[^/]+/locations/[^/]+/)?publishers/google/models$")
    caches = re.compile(r"/(?:v1beta1|v1)/projects/[^/]+/locations/[^/]+/cachedContents(?:/(?P<id>[^/:]+))?$")
    example = (
        "/v1beta1/projects/demo/locations/global/publishers/google/models/gemini-2.5-flash:generateContent",
        {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]},
    )

    def list_models(self) -> Any:
        names = [f"publishers/google/models/{name}" for name in self.list_names()]
        return {"publisherModels": [{"name": name, "versionId": "default"} for name in names]}


def _as_array(chunks: Iterator[dict[str, Any]]) -> Iterator[bytes]:
    """Without `alt=sse` a stream is one JSON array."""
    for index, chunk in enumerate(chunks):
        yield (b",\r\n" if index else b"[") + render_json(chunk)
    yield b"]"
