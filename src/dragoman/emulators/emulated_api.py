"""What all emulated APIs share: parsing a request, and the order of judging it."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Self

import orjson

from dragoman.emulators.provider import (
    CachePlan,
    EmulatedProvider,
    EmulatorOptions,
    ErrorResponse,
    FaultKind,
    LimitForm,
    Operation,
    ReceivedRequest,
)
from dragoman.emulators.rate_limits import UNTOLD
from dragoman.emulators.wire import render_json


class ProviderRefusal(Exception):
    """The first error of a request, in the provider's words. `kind` is the name that the provider has for it."""

    usual_kind = ""

    def __init__(self, message: str, status: int = 400, kind: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.kind = kind or self.usual_kind

    def filled(self, values: Mapping[str, Any]) -> Self:
        """The same, with the gaps of its sentence filled."""
        made = type(self).__new__(type(self))
        vars(made).update(vars(self), message=self.message.format_map(values))
        return made


class Figure:
    """A number in a sentence: `{tokens[9]}` is 9 if it is not known."""

    def __init__(self, known: int) -> None:
        self._known = known

    def __getitem__(self, usual: int) -> int:
        return self._known or usual


class EmulatedApi(EmulatedProvider, ABC):
    """One API: a subclass has its paths, its checks, its answers and its words."""

    refusal: type[ProviderRefusal]
    faults: Mapping[FaultKind, ProviderRefusal]
    """Its words for what goes wrong. `{model}` is the model; `{tokens[9]}`, `{limit[9]}` and `{excess[9]}` are figures,
    known if the options say how large the context window is."""
    not_json: str = ""
    """The sentence about a body that is no JSON; `{error}` is what the parser says."""
    not_object: str = ""
    """The sentence about a body that is JSON and no object."""
    too_deep: str = ""
    """The sentence about a body that is nested too deeply, if the provider has one."""
    known_models: tuple[str, ...] = ()
    """The list of models, if the options name none."""
    has_free_names: bool = False
    """Whether models are called as whoever runs them likes."""

    def __init__(self, options: EmulatorOptions) -> None:
        self.options = replace(options, known=() if self.has_free_names else self.known_models)

    @property
    def limit_form(self) -> LimitForm:
        return UNTOLD

    @abstractmethod
    def operation_of(self, method: str, path: str) -> Operation | None: ...

    @abstractmethod
    def check(self, request: ReceivedRequest) -> None:
        """Raise the refusal that the provider reports first."""

    @abstractmethod
    def count_prompt(self, request: ReceivedRequest) -> int:
        """The tokens of the prompt."""

    @abstractmethod
    def render_refusal(self, refusal: Any, request: ReceivedRequest | None = None) -> ErrorResponse:
        """The refusal as the provider sends it."""

    def render_fault(self, kind: FaultKind, request: ReceivedRequest | None) -> ErrorResponse:
        return self.render_refusal(self.fault(kind, request), request)

    def fault(self, kind: FaultKind, request: ReceivedRequest | None) -> ProviderRefusal:
        """A fault in the provider's words."""
        window = self.options.window if request is not None else 0
        tokens = self.count_prompt(request) if request is not None and window else 0
        figures = {"tokens": Figure(tokens), "limit": Figure(window), "excess": Figure(tokens - window)}
        return self.faults[kind].filled({"model": request.model if request is not None else "unknown", **figures})

    def parse_request(
        self, method: str, path: str, query: dict[str, str], headers: dict[str, str], raw: bytes
    ) -> ReceivedRequest | ErrorResponse:
        operation = self.operation_of(method, path) or Operation.GENERATE
        if operation is Operation.MODELS:
            return ReceivedRequest(method, path, query, headers, raw, operation)
        if method != "POST":
            return self.render_fault(FaultKind.METHOD, None)
        try:
            body = self.parse_body(raw)
        except ProviderRefusal as refusal:
            return self.render_refusal(refusal)
        model, streams = self.model_of(path, body), self.streams(operation, body)
        named = model if isinstance(model, str) else ""
        return ReceivedRequest(method, path, query, headers, raw, operation, body=body, model=named, stream=streams)

    def parse_body(self, raw: bytes) -> dict[str, Any]:
        try:
            body = orjson.loads(raw)
        except orjson.JSONDecodeError as error:
            raise self.refuse_body(self.not_json.format(error=error)) from None
        if not isinstance(body, dict):
            raise self.refuse_body(self.not_object)
        return body

    def refuse_body(self, message: str) -> ProviderRefusal:
        """The refusal of a body that cannot be judged."""
        return self.refusal(message)

    def model_of(self, path: str, body: dict[str, Any]) -> Any:
        """The name of the model, or something else that stands in its place."""
        return body.get("model")

    def streams(self, operation: Operation, body: dict[str, Any]) -> bool:
        """Whether the answer is a stream."""
        return operation is not Operation.COUNT and body.get("stream") is True

    def judge(self, request: ReceivedRequest) -> ErrorResponse | None:
        if request.body is None:
            return None
        try:
            if self.options.strict:
                self.check(request)
            elif (fault := self.check_loosely(request)) is not None:
                return fault
        except ProviderRefusal as refusal:
            return self.render_refusal(refusal, request)
        except RecursionError:
            if not self.too_deep:
                raise
            return self.render_refusal(self.refuse_body(self.too_deep))
        if self.overflows(request):
            return self.render_fault(FaultKind.CONTEXT, request)
        return refuse_further(request, self.options.refuses)

    def check_loosely(self, request: ReceivedRequest) -> ErrorResponse | None:
        """What is looked at if the options say that the emulator is not strict: the model's name."""
        return None if self.options.knows(request.model) else self.render_fault(FaultKind.MODEL, request)

    def overflows(self, request: ReceivedRequest) -> bool:
        """Whether the prompt is longer than the context window."""
        return request.operation is not Operation.COUNT and self.options.overflows(self.count_prompt(request))

    def list_names(self) -> tuple[str, ...]:
        """The models that the list shows."""
        return self.options.models or self.known_models

    def plan_cache(self, request: ReceivedRequest) -> CachePlan | None:
        return None

    @abstractmethod
    def thinks(self, request: ReceivedRequest) -> bool: ...

    def count_tokens(self, request: ReceivedRequest) -> Any:
        return {"input_tokens": max(1, self.count_prompt(request))}


FURTHER_WORDS = "Flumox 71: the grondle of this request does not quib."
"""What the refusals say that no provider is known to make: words that nobody has heard before."""


def refuse_further(request: ReceivedRequest, patterns: tuple[str, ...]) -> ErrorResponse | None:
    """A refusal that names nothing, with the members that the four dialects read, if the body as compact JSON has one
    of these patterns.

    It is for the facts that nobody knows: does your client get through if this provider refuses `top_k` after all, and
    does not say so?
    """
    if not patterns:
        return None
    text = render_json(request.body).decode()
    if not any(re.search(pattern, text, re.DOTALL) for pattern in patterns):
        return None
    error = {"message": FURTHER_WORDS, "type": "invalid_request_error", "code": 400, "status": "INVALID_ARGUMENT"}
    return ErrorResponse(400, {"type": "error", "error": error})


Known = Callable[[str], bool]


def without_unknown_fields(request: ReceivedRequest, turns: str, in_request: Known, in_turn: Known) -> ReceivedRequest:
    """What a server judges that ignores fields: the request with only those of its own and of its turns that are known.
    `store` is no such field: servers that ignore others refuse it."""
    body = request.body
    if not isinstance(body, dict):
        return request
    kept = {key: value for key, value in body.items() if in_request(key) or key == "store"}
    if isinstance(kept.get(turns), list):
        kept[turns] = [
            {key: value for key, value in turn.items() if in_turn(key)} if isinstance(turn, dict) else turn
            for turn in kept[turns]
        ]
    return replace(request, body=kept)
