"""An emulated provider with a Chat Completions API, built from paths, checks, errors and an answer style.

A check raises a `ChatRefusal`. The provider's `render_error` turns it into that provider's error body, so several
providers can share one check.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from dragoman.emulators.chat import answers as chat_answers
from dragoman.emulators.chat.answers import CREATED, AnswerStyle
from dragoman.emulators.chat.caching import plan_chat, policy_of
from dragoman.emulators.emulated_api import EmulatedApi, Figure, ProviderRefusal
from dragoman.emulators.provider import (
    CachePlan,
    CachePolicy,
    EmulatorOptions,
    ErrorResponse,
    FaultKind,
    LimitForm,
    ModelTurn,
    Operation,
    ReceivedRequest,
)
from dragoman.emulators.rate_limits import CHAT_FORMS, UNTOLD
from dragoman.emulators.request_shape import Shape, ShapeMismatch
from dragoman.emulators.usage import answer_seed, count_tokens
from dragoman.emulators.wire import make_id, render_sse_event


@dataclass(eq=False)
class ChatRefusal(ProviderRefusal):
    """The reason for a refusal, before it is rendered as one provider's error body."""

    status: int
    message: str
    kind: str = "invalid_request_error"
    param: str | None = None
    code: str | int | None = None
    more: Mapping[str, Any] = field(default_factory=dict)


Check = Callable[[ReceivedRequest], None]
ErrorRenderer = Callable[[ChatRefusal], Any]
MismatchWords = Callable[[ShapeMismatch, ReceivedRequest], ChatRefusal]
"""How a service refuses what does not fit its types."""


def fits(shape: Shape, refuse: MismatchWords, *, nulls: bool = True) -> Check:
    """A check of the whole body. Without `nulls`, null for a top-level key counts as absent."""

    def check(request: ReceivedRequest) -> None:
        body = request.body if nulls else {key: value for key, value in request.body.items() if value is not None}
        try:
            shape(body, ())
        except ShapeMismatch as mismatch:
            raise refuse(mismatch, request) from None

    return check


def sounds(request: ReceivedRequest) -> list[str]:
    """What stands for the bytes of each sound."""
    contents = [message.get("content") for message in request.body["messages"] if isinstance(message, dict)]
    parts = [part for content in contents if isinstance(content, list) for part in content if isinstance(part, dict)]
    found = [part.get("input_audio") for part in parts]
    return [sound["data"] for sound in found if isinstance(sound, dict) and isinstance(sound.get("data"), str)]


def render_openai_error(refusal: ChatRefusal) -> Any:
    """`{"error": {message, type, param, code}}`."""
    return {
        "error": {
            "message": refusal.message,
            "type": refusal.kind,
            "param": refusal.param,
            "code": refusal.code,
            **refusal.more,
        }
    }


def check_minimal(request: ReceivedRequest) -> None:
    """The only check of a lenient server: messages are a list of objects with roles."""
    messages = request.body.get("messages")
    if not isinstance(messages, list) or not all(
        isinstance(one, dict) and isinstance(one.get("role"), str) for one in messages
    ):
        raise ChatRefusal(400, "'messages' must be an array of objects with a role.", param="messages")


NOT_JSON = ChatRefusal(400, "We could not parse the JSON body of your request.")

FAULTS: Mapping[FaultKind, ChatRefusal] = {
    FaultKind.AUTH: ChatRefusal(
        401,
        "Incorrect API key provided: sk-****. You can find your API key at https://platform.openai.com/account/api-keys.",
        code="invalid_api_key",
    ),
    FaultKind.MODEL: ChatRefusal(
        404, "The model `{model}` does not exist or you do not have access to it.", code="model_not_found"
    ),
    FaultKind.RATE: ChatRefusal(
        429,
        "Rate limit reached for {model}.",
        "requests",
        code="rate_limit_exceeded",
    ),
    FaultKind.SERVER: ChatRefusal(
        500, "The server had an error while processing your request. Sorry about that!", "server_error"
    ),
    FaultKind.OVERLOADED: ChatRefusal(
        503, "The engine is currently overloaded, please try again later.", "server_error", code="overloaded"
    ),
    FaultKind.CONTEXT: ChatRefusal(
        400,
        "This model's maximum context length is {limit[128000]} tokens. However, your messages resulted in {tokens}"
        " tokens. Please reduce the length of the messages.",
        param="messages",
        code="context_length_exceeded",
    ),
    FaultKind.TOO_LARGE: ChatRefusal(413, "The request body is larger than this server takes."),
    FaultKind.TIMEOUT: ChatRefusal(408, "The request took too long to arrive."),
    FaultKind.NOT_FOUND: ChatRefusal(404, "Invalid URL ({method} {path})"),
    FaultKind.METHOD: ChatRefusal(405, "Not allowed to {method} on {path}.", code="method_not_supported"),
}


@dataclass(frozen=True)
class ChatService(EmulatedApi):
    """An emulated provider with a Chat Completions API."""

    name: str = ""
    options: EmulatorOptions = field(default_factory=EmulatorOptions)
    checks: tuple[Check, ...] = ()
    style: AnswerStyle = field(default_factory=AnswerStyle)
    root: str = "/v1"
    further_paths: tuple[str, ...] = ()  # patterns of further paths that generate; a group `model` names the model
    render_error: ErrorRenderer = render_openai_error
    faults: Mapping[FaultKind, ChatRefusal] = field(default_factory=dict)  # these replace the ones in `FAULTS`
    unreadable: ChatRefusal = NOT_JSON
    error_event: str | None = None  # the event name of an error inside a stream
    render_error_frame: Callable[[ChatRefusal, ReceivedRequest], Any] | None = None  # its payload, if it differs
    stream_type: str = "text/event-stream; charset=utf-8"
    example_model: str = "gpt-4o-mini"
    known_models: tuple[str, ...] = ()
    cache_policy: Callable[[str], CachePolicy | None] | None = None  # by model, if the service's name does not tell it

    @property
    def limit_form(self) -> LimitForm:
        return CHAT_FORMS.get(self.name, UNTOLD)

    @property
    def example(self) -> tuple[str, Any]:
        model = self.options.models[0] if self.options.models else self.example_model
        return f"{self.root}/chat/completions", {"model": model, "messages": [{"role": "user", "content": "Hi"}]}

    def operation_of(self, method: str, path: str) -> Operation | None:
        if method == "POST" and self._match_path(path) is not None:
            return Operation.GENERATE
        if method == "GET" and path == f"{self.root}/models":
            return Operation.MODELS
        return None

    def _match_path(self, path: str) -> re.Match[str] | None:
        for pattern in (re.escape(f"{self.root}/chat/completions"), *self.further_paths):
            found = re.fullmatch(pattern, path)
            if found is not None:
                return found
        return None

    def refuse_body(self, message: str) -> ChatRefusal:
        return self.unreadable

    def model_of(self, path: str, body: dict[str, Any]) -> str:
        named, found = body.get("model"), self._match_path(path)
        return named if isinstance(named, str) else (found and found.groupdict().get("model")) or ""

    def check(self, request: ReceivedRequest) -> None:
        if not self.knows(request):
            raise self.fault(FaultKind.MODEL, request)
        for check in self.checks:
            check(request)

    def check_loosely(self, request: ReceivedRequest) -> ErrorResponse | None:
        if not self.knows(request):
            return self.render_fault(FaultKind.MODEL, request)
        check_minimal(request)
        return None

    def knows(self, request: ReceivedRequest) -> bool:
        """Whether there is such a model, as far as one is named."""
        return not request.model or replace(self.options, known=self.known_models).knows(request.model)

    def plan_cache(self, request: ReceivedRequest) -> CachePlan | None:
        policy = (self.cache_policy or partial(policy_of, self.name))(request.model)
        return plan_chat(request, policy, chat_answers.find_unseen(request, self.style)) if policy else None

    def count_prompt(self, request: ReceivedRequest) -> int:
        return chat_answers.count_prompt(request, self.style)

    def thinks(self, request: ReceivedRequest) -> bool:
        return self.style.thinks(request)

    def render_answer(self, request: ReceivedRequest, turn: ModelTurn) -> Any:
        return chat_answers.render_answer(request, turn, self.style)

    def render_stream(self, request: ReceivedRequest, turn: ModelTurn) -> Iterable[bytes]:
        return chat_answers.render_stream(request, turn, self.style)

    def render_refusal(self, refusal: ChatRefusal, request: ReceivedRequest | None = None) -> ErrorResponse:
        return ErrorResponse(refusal.status, self.render_error(refusal))

    def render_stream_error(self, kind: FaultKind, request: ReceivedRequest) -> bytes:
        refusal = self.fault(kind, request)
        payload = self.render_error_frame(refusal, request) if self.render_error_frame else self.render_error(refusal)
        return render_sse_event(payload, self.error_event)

    def list_models(self) -> Any:
        models = self.list_names() or (self.example_model,)
        entries = [{"id": one, "object": "model", "created": CREATED, "owned_by": self.name} for one in models]
        return {"object": "list", "data": entries}

    def count_tokens(self, request: ReceivedRequest) -> Any:
        return {"total_tokens": count_tokens(request.body)}

    def answer_headers(self, request: ReceivedRequest) -> dict[str, str]:
        return {"x-request-id": make_id("req_", 24, answer_seed(request)) if request.body else "req_models"}

    def fault(self, kind: FaultKind, request: ReceivedRequest | None) -> ChatRefusal:
        refusal = self.faults.get(kind, FAULTS[kind])
        window = self.options.window
        tokens = self.count_prompt(request) if request and isinstance(request.body, dict) else 0
        values = {
            "model": request.model if request else "",
            "tokens": tokens,
            "limit": Figure(window),
            "excess": tokens - window,
            "method": request.method if request else "POST",
            "path": request.path if request else "",
        }
        more = {**refusal.more, "n_ctx": window} if window and "n_ctx" in refusal.more else refusal.more
        return replace(refusal.filled(values), more=more)
