"""A service that speaks Chat Completions, put together from its parts: paths, checks, words and voice.

The checks say what is wrong as a `Complaint`; the provider's shape turns it into that provider's error body. So one
check can serve several services, each in its own form of words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from dragoman.emulators import chat_answers as speaking
from dragoman.emulators.chat_answers import CREATED, Voice
from dragoman.emulators.provider import FaultKind, Operation, Options, Received, Refused, Turn
from dragoman.emulators.usage import digest, weight
from dragoman.emulators.wire import sse, token


@dataclass(frozen=True, slots=True)
class Complaint:
    """What is wrong, before it has the form of one provider's error body."""

    status: int
    message: str
    type: str | None = "invalid_request_error"
    param: str | None = None
    code: str | int | None = None
    more: Mapping[str, Any] = field(default_factory=dict)


Check = Callable[[Received], Complaint | None]
Shape = Callable[[Complaint], Any]


def openai_shape(complaint: Complaint) -> Any:
    """`{"error": {message, type, param, code}}`."""
    return {
        "error": {
            "message": complaint.message,
            "type": complaint.type,
            "param": complaint.param,
            "code": complaint.code,
            **complaint.more,
        }
    }


def first(call: Received, checks: Iterable[Check]) -> Complaint | None:
    """The first complaint, checks taken in order."""
    for check in checks:
        complaint = check(call)
        if complaint is not None:
            return complaint
    return None


def well_formed(call: Received) -> Complaint | None:
    """All that a lenient server asks for: a list of messages with roles."""
    messages = call.body.get("messages")
    if isinstance(messages, list) and all(
        isinstance(one, dict) and isinstance(one.get("role"), str) for one in messages
    ):
        return None
    return Complaint(400, "'messages' must be an array of objects with a role.", param="messages")


NOT_JSON = Complaint(400, "We could not parse the JSON body of your request.")

FAULTS: Mapping[FaultKind, Complaint] = {
    FaultKind.AUTH: Complaint(
        401,
        "Incorrect API key provided: sk-****. You can find your API key at https://platform.openai.com/account/api-keys.",
        code="invalid_api_key",
    ),
    FaultKind.MODEL: Complaint(
        404, "The model `{model}` does not exist or you do not have access to it.", code="model_not_found"
    ),
    FaultKind.RATE: Complaint(
        429,
        "Rate limit reached for {model} on requests per min (RPM): Limit 3, Used 3, Requested 1.",
        "requests",
        code="rate_limit_exceeded",
    ),
    FaultKind.SERVER: Complaint(
        500, "The server had an error while processing your request. Sorry about that!", "server_error"
    ),
    FaultKind.OVERLOADED: Complaint(
        503, "The engine is currently overloaded, please try again later.", "server_error", code="overloaded"
    ),
    FaultKind.CONTEXT: Complaint(
        400,
        "This model's maximum context length is 128000 tokens. However, your messages resulted in {tokens} tokens."
        " Please reduce the length of the messages.",
        param="messages",
        code="context_length_exceeded",
    ),
    FaultKind.TOO_LARGE: Complaint(413, "The request body is larger than this server takes."),
    FaultKind.TIMEOUT: Complaint(408, "The request took too long to arrive."),
    FaultKind.NOT_FOUND: Complaint(404, "Invalid URL ({method} {path})"),
    FaultKind.METHOD: Complaint(405, "Not allowed to {method} on {path}.", code="method_not_supported"),
}


@dataclass(frozen=True)
class Chat:
    """A `Provider` of the Chat family."""

    name: str
    options: Options
    checks: tuple[Check, ...]
    voice: Voice
    root: str = "/v1"
    further_paths: tuple[str, ...] = ()  # patterns of other paths that generate; may name a `model` group
    shape: Shape = openai_shape
    faults: Mapping[FaultKind, Complaint] = field(default_factory=dict)  # over `FAULTS`
    not_json: Complaint = NOT_JSON
    refusal_shapes: Mapping[FaultKind, Shape] = field(default_factory=dict)  # faults with a body of their own form
    error_event: str | None = None  # the event name of an error inside a stream
    error_frame: Callable[[Complaint, Received], Any] | None = None  # its payload; the shape's, if None
    stream_type: str = "text/event-stream; charset=utf-8"
    example_model: str = "gpt-4o-mini"
    offers: tuple[str, ...] = ()  # the models it lists where no closed list is given

    @property
    def example(self) -> tuple[str, Any]:
        model = self.options.models[0] if self.options.models else self.example_model
        return f"{self.root}/chat/completions", {"model": model, "messages": [{"role": "user", "content": "Hi"}]}

    def owns(self, method: str, path: str) -> Operation | None:
        if method == "POST" and self._generates(path) is not None:
            return Operation.GENERATE
        if method == "GET" and path == f"{self.root}/models":
            return Operation.MODELS
        return None

    def _generates(self, path: str) -> re.Match[str] | None:
        for pattern in (re.escape(f"{self.root}/chat/completions"), *self.further_paths):
            found = re.fullmatch(pattern, path)
            if found is not None:
                return found
        return None

    def read(
        self, method: str, path: str, query: dict[str, str], headers: dict[str, str], raw: bytes
    ) -> Received | Refused:
        operation = self.owns(method, path) or Operation.GENERATE
        if operation is Operation.MODELS:
            return Received(method, path, query, headers, raw, None, "", False, operation)
        try:
            body = orjson.loads(raw)
        except orjson.JSONDecodeError:
            return self._refused(self.not_json)
        if not isinstance(body, dict):
            return self._refused(self.not_json)
        named = body.get("model")
        model = named if isinstance(named, str) else self._model_in(path)
        return Received(method, path, query, headers, raw, body, model, body.get("stream") is True, operation)

    def _model_in(self, path: str) -> str:
        found = self._generates(path)
        return (found.groupdict().get("model") or "") if found else ""

    def judge(self, call: Received) -> Refused | None:
        if call.operation is Operation.MODELS:
            return None
        if call.model and not self.options.knows(call.model):
            return self.fault(FaultKind.MODEL, call)
        complaint = first(call, self.checks if self.options.strict else (well_formed,))
        return None if complaint is None else self._refused(complaint)

    def whole(self, call: Received, turn: Turn) -> Any:
        return speaking.whole(call, turn, self.voice)

    def stream(self, call: Received, turn: Turn) -> Iterable[bytes]:
        return speaking.stream(call, turn, self.voice)

    def fault(self, kind: FaultKind, call: Received | None) -> Refused:
        complaint = self._worded(kind, call)
        shape = self.refusal_shapes.get(kind, self.shape)
        return Refused(complaint.status, shape(complaint))

    def stream_error(self, kind: FaultKind, call: Received) -> bytes:
        complaint = self._worded(kind, call)
        payload = self.error_frame(complaint, call) if self.error_frame else self.shape(complaint)
        return sse(payload, self.error_event)

    def models(self) -> Any:
        listed = self.options.models or self.offers or (self.example_model,)
        entries = [{"id": one, "object": "model", "created": CREATED, "owned_by": self.name} for one in listed]
        return {"object": "list", "data": entries}

    def count(self, call: Received) -> Any:
        return {"total_tokens": weight(call.body)}

    def headers(self, call: Received) -> dict[str, str]:
        return {"x-request-id": token("req_", 24, digest(call)) if call.body else "req_models"}

    def _refused(self, complaint: Complaint) -> Refused:
        return Refused(complaint.status, self.shape(complaint))

    def _worded(self, kind: FaultKind, call: Received | None) -> Complaint:
        complaint = self.faults.get(kind, FAULTS[kind])
        words = {
            "model": call.model if call else "",
            "tokens": weight(call.body) if call else 0,
            "method": call.method if call else "POST",
            "path": call.path if call else "",
        }
        return replace(complaint, message=complaint.message.format_map(words))
