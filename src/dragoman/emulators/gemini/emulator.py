"""The emulated service in both manners: paths, framing, and errors in Google's shape."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from dragoman.emulators.gemini import answer, judge
from dragoman.emulators.gemini.flavour import AI_STUDIO, ON_VERTEX, Fault, Manner
from dragoman.emulators.provider import FaultKind, Operation, Options, Provider, Received, Refused, Turn
from dragoman.emulators.wire import compact, sse

_VERBS = {
    "generateContent": Operation.GENERATE,
    "streamGenerateContent": Operation.STREAM,
    "countTokens": Operation.COUNT,
}
_KNOWN_MODELS = (
    "gemini-3.5-flash",
    "gemini-3.1-pro-preview",
    "gemini-3-pro-preview",
    "gemini-3-flash-preview",
    "gemini-2.5-pro",
    "gemini-2.5-flash",
    "gemini-2.5-flash-lite",
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
_FAULTS: dict[FaultKind, tuple[int, str, str]] = {
    FaultKind.SERVER: (
        500,
        "INTERNAL",
        "An internal error has occurred. Please retry or report in "
        "https://developers.generativeai.google/guide/troubleshooting",
    ),
    FaultKind.OVERLOADED: (503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
    FaultKind.CONTEXT: (
        400,
        "INVALID_ARGUMENT",
        "The input token count (1250074) exceeds the maximum number of tokens allowed (1048576).",
    ),
    FaultKind.TOO_LARGE: (400, "INVALID_ARGUMENT", "Request payload size exceeds the limit: 20971520 bytes."),
    FaultKind.TIMEOUT: (408, "DEADLINE_EXCEEDED", "The request was not received in time."),
    FaultKind.NOT_FOUND: (404, "NOT_FOUND", "Requested entity was not found."),
    FaultKind.METHOD: (405, "UNIMPLEMENTED", "The HTTP method is not supported for this URL."),
}
_VERTEX_AUTH = (
    "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid "
    "authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project."
)


class Gemini:
    """Google AI Studio."""

    name = "gemini"
    stream_type = "text/event-stream"
    manner: Manner = AI_STUDIO
    paths = re.compile(r"/(?:v1beta|v1alpha|v1)/(?:models|tunedModels)/(?P<model>[^/:]+):(?P<verb>\w+)$")
    lists = re.compile(r"/(?:v1beta|v1alpha|v1)/models$")
    example: tuple[str, Any] = (
        "/v1beta/models/gemini-2.5-flash:generateContent",
        {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]},
    )

    def __init__(self, options: Options) -> None:
        self.options = options

    def owns(self, method: str, path: str) -> Operation | None:
        if method == "GET" and self.lists.match(path):
            return Operation.MODELS
        found = self.paths.match(path)
        return _VERBS.get(found["verb"]) if found else None

    def read(
        self, method: str, path: str, query: dict[str, str], headers: dict[str, str], raw: bytes
    ) -> Received | Refused:
        operation = self.owns(method, path) or Operation.GENERATE
        if operation is Operation.MODELS:
            return Received(method, path, query, headers, raw, None, "", False, operation)
        if method != "POST":
            return self.fault(FaultKind.METHOD, None)
        try:
            body = orjson.loads(raw) if raw.strip() else {}
        except orjson.JSONDecodeError as broken:
            return refusal(Fault(f"Invalid JSON payload received. Unexpected token.\n{broken}"))
        if not isinstance(body, dict):
            return refusal(Fault("Invalid JSON payload received. Root element must be a message."))
        found = self.paths.match(path)
        model = found["model"] if found else ""
        return Received(method, path, query, headers, raw, body, model, operation is Operation.STREAM, operation)

    def judge(self, call: Received) -> Refused | None:
        if call.body is None:
            return None
        try:
            if self.options.strict:
                judge.check(call, self.manner, self.options)
            elif not self.options.knows(call.model):
                return refusal(judge.unknown_model(call, self.manner))
        except Fault as fault:
            return refusal(fault)
        except RecursionError:
            return refusal(Fault("Invalid JSON payload received. Message too deep. Max recursion depth reached."))
        return None

    def whole(self, call: Received, turn: Turn) -> Any:
        return answer.whole(call, turn, self.manner)

    def stream(self, call: Received, turn: Turn) -> Iterable[bytes]:
        chunks = answer.chunks(call, turn, self.manner)
        if call.query.get("alt") == "sse":
            return (sse(chunk, newline="\r\n") for chunk in chunks)
        return _as_array(chunks)

    def stream_error(self, kind: FaultKind, call: Received) -> bytes:
        body = self.fault(kind, call).body
        if call.query.get("alt") == "sse":
            return sse(body, newline="\r\n")
        return b",\r\n" + compact(body) + b"]"

    def fault(self, kind: FaultKind, call: Received | None) -> Refused:
        return refusal(self._fault(kind, call))

    def _fault(self, kind: FaultKind, call: Received | None) -> Fault:
        if kind is FaultKind.AUTH:
            return self._bad_key()
        if kind is FaultKind.RATE:
            return Fault(_RATE, 429, "RESOURCE_EXHAUSTED", _RATE_DETAILS)
        if kind is FaultKind.MODEL and call is not None:
            return judge.unknown_model(call, self.manner)
        status, word, sentence = _FAULTS.get(kind, _FAULTS[FaultKind.NOT_FOUND])
        return Fault(sentence, status, word)

    def _bad_key(self) -> Fault:
        return Fault(_BAD_KEY, 400, "INVALID_ARGUMENT", _BAD_KEY_DETAILS)

    def models(self) -> Any:
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
                for model in self.options.models or _KNOWN_MODELS
            ]
        }

    def count(self, call: Received) -> Any:
        return answer.count(call, self.manner)

    def headers(self, call: Received) -> dict[str, str]:
        timing = {"server-timing": "gfet4t7; dur=1"}
        array = call.stream and call.query.get("alt") != "sse"
        return timing | {"content-type": "application/json; charset=UTF-8"} if array else timing


class Vertex(Gemini):
    """Vertex AI."""

    name = "vertex"
    manner = ON_VERTEX
    paths = re.compile(
        r"/(?:v1beta1|v1)/(?:projects/[^/]+/locations/[^/]+/)?publishers/google/models/(?P<model>[^/:]+):(?P<verb>\w+)$"
    )
    lists = re.compile(r"/(?:v1beta1|v1)/(?:projects/[^/]+/locations/[^/]+/)?publishers/google/models$")
    example = (
        "/v1beta1/projects/demo/locations/global/publishers/google/models/gemini-2.5-flash:generateContent",
        {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]},
    )

    def _bad_key(self) -> Fault:
        return Fault(_VERTEX_AUTH, 401, "UNAUTHENTICATED")

    def models(self) -> Any:
        names = self.options.models or _KNOWN_MODELS
        return {
            "publisherModels": [{"name": f"publishers/google/models/{name}", "versionId": "default"} for name in names]
        }


def _as_array(chunks: Iterator[dict[str, Any]]) -> Iterator[bytes]:
    """Without `alt=sse` a stream is one JSON array that grows."""
    for index, chunk in enumerate(chunks):
        yield (b",\r\n" if index else b"[") + compact(chunk)
    yield b"]"


def refusal(fault: Fault) -> Refused:
    """A fault as the service sends it."""
    error: dict[str, Any] = {"code": fault.status, "message": fault.message, "status": fault.word}
    if fault.details:
        error["details"] = fault.details
    return Refused(fault.status, {"error": error}, content_type="application/json; charset=UTF-8")


def provider(options: Options) -> Provider:
    """AI Studio, set up."""
    return Gemini(options)


def vertex(options: Options) -> Provider:
    """Vertex AI, set up."""
    return Vertex(options)
