"""One emulated provider without its HTTP server: it judges requests, applies faults, follows the script, records."""

from __future__ import annotations

import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dragoman.emulators.answer_script import Script
from dragoman.emulators.echo_answer import echo
from dragoman.emulators.faults import BAD_GATEWAY, HEADER, BadFaultError, Fault, parse_fault
from dragoman.emulators.prompt_cache import PromptCache, account_of
from dragoman.emulators.provider import (
    EmulatedProvider,
    ErrorResponse,
    Excess,
    FaultKind,
    KeepsContents,
    Model,
    ModelTurn,
    Operation,
    ReceivedRequest,
    ServesSockets,
    ShowsModels,
)
from dragoman.emulators.rate_limits import RateMeter
from dragoman.emulators.usage import count_usage
from dragoman.emulators.wire import render_json

_MADE_UP_LIMIT = 60  # requests per minute, in the words of a fault, if the vendor has no usual limit
_SECRETS = ("authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie")


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """One request and its result."""

    method: str
    path: str
    headers: dict[str, str]  # keys are masked
    verdict: str  # "accepted" | "refused" | "fault" | "unknown-path" | "crashed"
    status: int
    error_body: Any = None
    body: Any = None
    model: str = ""
    stream: bool = False


@dataclass(frozen=True, slots=True)
class PlannedResponse:
    """The response to send, and the fault to cause while sending it."""

    status: int
    content_type: str
    body: bytes = b""
    frames: Iterable[bytes] | None = None  # of a stream; None: `body` is the whole response
    headers: dict[str, str] = field(default_factory=dict)
    fault: Fault | None = None
    error_frame: bytes = b""  # the last frame of a stream with the fault `stream-error`


class EmulatorCore:
    """One emulated provider with its script, its standing fault and the requests it has received."""

    def __init__(
        self,
        provider: EmulatedProvider,
        script: Script | None = None,
        on_record: Callable[[RecordedRequest], None] | None = None,
        *,
        keep: int = 10_000,
        model: Model = echo,
        clock: Callable[[], float] = time.time,
        limits: Mapping[str, int] | None = None,
    ) -> None:
        self.provider = provider
        self.script = script or Script()
        self.model = model
        self.standing_fault: Fault | None = None
        self.prompt_cache = PromptCache(clock)
        self._meter = RateMeter(limits or {}, clock)
        self._clock = clock
        self._limit_form = provider.limit_form
        self.records: deque[RecordedRequest] = deque(maxlen=keep)  # bounded: a server may run for days
        self._on_record = on_record
        self._fault_counts: dict[str, int] = {}

    def respond(
        self,
        method: str,
        path: str,
        query: dict[str, str],
        headers: dict[str, str],
        raw: bytes,
        *,
        generates: bool = True,
    ) -> PlannedResponse:
        """The response to one request. A crash of the emulator itself is marked by a header and its verdict.

        `generates`: False for a turn on a WebSocket that only prepares a conversation."""
        try:
            return self._respond(method, path, query, headers, raw, generates=generates)
        except Exception as error:  # one bad request must not stop the server
            traceback.print_exc(file=sys.stderr)
            body = {"error": {"message": f"the emulator crashed: {error!r}", "type": "emulator_error"}}
            self._record_unparsed(method, path, headers, ErrorResponse(500, body), "crashed")
            return PlannedResponse(500, "application/json", render_json(body), headers={"x-emulator-crashed": "1"})

    def refuse_incomplete(self, kind: FaultKind) -> PlannedResponse:
        """The response to a client whose request never arrived completely."""
        error = self.provider.render_fault(kind, None)
        self._record_unparsed("", "", {}, error)
        return _plan(error)

    def _respond(
        self, method: str, path: str, query: dict[str, str], headers: dict[str, str], raw: bytes, *, generates: bool
    ) -> PlannedResponse:
        if self.provider.operation_of(method, path) is None:
            unserved = ReceivedRequest(method, path, query, headers, raw, Operation.GENERATE)
            error = self.provider.render_fault(self._find_unserved(method, path), unserved)
            return self._refuse(error, unserved, "unknown-path")
        try:
            fault = self._due_fault(headers)
        except BadFaultError as error:
            body = {"error": {"message": f"{HEADER}: {error}", "type": "emulator_error"}}
            refused = ErrorResponse(400, body)
            self._record_unparsed(method, path, headers, refused)
            return _plan(refused)
        request = self.provider.parse_request(method, path, query, headers, raw)
        if isinstance(request, ErrorResponse):
            self._record_unparsed(method, path, headers, request)
            return _plan(request)
        return self._judge(request, fault, generates)

    def _judge(self, request: ReceivedRequest, fault: Fault | None, generates: bool) -> PlannedResponse:
        if fault is not None and fault.replaces_answer:
            return self._apply_fault(fault, request)
        refusal = self.provider.judge(request)
        if refusal is not None:
            return self._refuse(refusal, request, "refused")
        if not generates and isinstance(self.provider, ServesSockets):
            self._record(request, "accepted", 200, None)
            return PlannedResponse(200, self.provider.stream_type, frames=self.provider.render_prepared(request))
        return self._accept(request, fault)

    def _find_unserved(self, method: str, path: str) -> FaultKind:
        others = [other for other in ("GET", "POST") if other != method]
        known = any(self.provider.operation_of(other, path) is not None for other in others)
        return FaultKind.METHOD if known else FaultKind.NOT_FOUND

    def _due_fault(self, headers: dict[str, str]) -> Fault | None:
        """The fault of the header or the standing one, until it has happened as often as its `times` allows."""
        text = headers.get(HEADER)
        fault = parse_fault(text) if text else self.standing_fault
        if fault is None or fault.times is None:
            return fault
        key = text or f"standing {fault}"
        self._fault_counts[key] = self._fault_counts.get(key, 0) + 1
        return fault if self._fault_counts[key] <= fault.times else None

    def _accept(self, request: ReceivedRequest, fault: Fault | None) -> PlannedResponse:
        match request.operation:
            case Operation.MODELS:
                return self._whole(request, self.provider.list_models(), fault)
            case Operation.COUNT:
                return self._whole(request, self.provider.count_tokens(request), fault)
            case Operation.SHOW if isinstance(self.provider, ShowsModels):
                return self._whole(request, self.provider.show_model(request), fault)
            case Operation.CONTENTS if isinstance(self.provider, KeepsContents):
                served = self.provider.serve_contents(request, account_of(request), self._clock())
                if isinstance(served, ErrorResponse):
                    return self._refuse(served, request, "refused")
                return self._whole(request, served, fault)
        stored = 0
        if isinstance(self.provider, KeepsContents):
            used = self.provider.use_content(request, account_of(request), self._clock())
            if isinstance(used, ErrorResponse):
                return self._refuse(used, request, "refused")
            request, stored = used
        excess = self._find_excess(request)
        if excess is not None:
            refused = self.provider.render_fault(FaultKind.RATE, request)
            return self._refuse(self._limit_form.refuse(refused, excess), request, "refused")
        step = self.script.next(request)
        fault = fault or step.fault
        if fault is not None and fault.replaces_answer:
            return self._apply_fault(fault, request)
        request = replace(request, thinks=self.provider.thinks(request))
        turn = step.turn_for(request, self.model)
        turn = self._with_cache(request, turn if request.thinks else replace(turn, reasoning=None))
        turn = replace(turn, cached=stored) if stored and not turn.cached else turn
        limit_headers = self._count_use(request, turn)
        if not request.stream:
            return self._whole(request, self.provider.render_answer(request, turn), fault, limit_headers)
        self._record(request, "fault" if fault else "accepted", 200, None)
        headers = {**self.provider.answer_headers(request), **limit_headers}
        return PlannedResponse(
            200,
            headers.pop("content-type", self.provider.stream_type),
            frames=self.provider.render_stream(request, turn),
            headers=headers,
            fault=fault,
            error_frame=self._error_frame(fault, request),
        )

    def _with_cache(self, request: ReceivedRequest, turn: ModelTurn) -> ModelTurn:
        """The turn with what its prompt reads from the cache and writes."""
        plan = self.provider.plan_cache(request)
        return turn if plan is None else replace(turn, cache=self.prompt_cache.use(request, plan))

    def _error_frame(self, fault: Fault | None, request: ReceivedRequest) -> bytes:
        if fault is None or fault.name != "stream-error":
            return b""
        return self.provider.render_stream_error(fault.kind or FaultKind.SERVER, request)

    def _find_excess(self, request: ReceivedRequest) -> Excess | None:
        """The limit that the request would exceed, without what it would read from the prompt cache if that is free."""
        account, prompt = account_of(request), self.provider.count_prompt(request)
        excess = self._meter.find_excess(account, request.model, prompt)
        plan = self.provider.plan_cache(request) if excess and not self._limit_form.counts_cached else None
        if plan is None:
            return excess
        return self._meter.find_excess(account, request.model, prompt - self.prompt_cache.look(request, plan))

    def _count_use(self, request: ReceivedRequest, turn: ModelTurn) -> dict[str, str]:
        """Count what the request uses, and tell how much is left."""
        form = self._limit_form
        usage = count_usage(None, turn)
        prompt = self.provider.count_prompt(request) - (0 if form.counts_cached else turn.cached or turn.cache.read)
        standing = self._meter.count(account_of(request), request.model, max(0, prompt), usage.output, form.usual)
        return form.headers(standing)

    def _whole(
        self, request: ReceivedRequest, body: Any, fault: Fault | None, limit_headers: Mapping[str, str] | None = None
    ) -> PlannedResponse:
        if fault is not None and fault.name == "stream-error":  # there is no stream: the fault becomes a status
            return self._apply_fault(fault, request)
        self._record(request, "fault" if fault else "accepted", 200, None)
        headers = {**self.provider.answer_headers(request), **(limit_headers or {})}
        return PlannedResponse(200, "application/json", render_json(body), headers=headers, fault=fault)

    def _apply_fault(self, fault: Fault, request: ReceivedRequest) -> PlannedResponse:
        if fault.name == "502":
            page = ErrorResponse(502, BAD_GATEWAY, content_type="text/html")
            return self._refuse(page, request, "fault")
        error = self.provider.render_fault(fault.kind or FaultKind.SERVER, request)
        if fault.kind is FaultKind.RATE and fault.retry_after is not None:
            limit = self._limit_form.usual.get("requests", _MADE_UP_LIMIT)
            made_up = Excess("requests", limit, limit, 1, fault.retry_after, model=request.model, now=self._clock())
            error = self._limit_form.refuse(error, made_up)
        headers = dict(error.headers)
        if fault.retry_after is not None:
            headers["retry-after"] = f"{fault.retry_after:g}"
        return self._refuse(replace(error, status=fault.status or error.status, headers=headers), request, "fault")

    def _refuse(self, error: ErrorResponse, request: ReceivedRequest, verdict: str) -> PlannedResponse:
        self._record(request, verdict, error.status, error.body)
        return _plan(error)

    def _record(self, request: ReceivedRequest, verdict: str, status: int, error_body: Any) -> None:
        self._add(
            RecordedRequest(
                request.method,
                request.path,
                _mask(request.headers),
                verdict,
                status,
                error_body,
                body=request.body,
                model=request.model,
                stream=request.stream,
            )
        )

    def _record_unparsed(
        self, method: str, path: str, headers: dict[str, str], error: ErrorResponse, verdict: str = "refused"
    ) -> None:
        self._add(RecordedRequest(method, path, _mask(headers), verdict, error.status, error.body))

    def _add(self, record: RecordedRequest) -> None:
        self.records.append(record)
        if self._on_record is not None:
            self._on_record(record)


def _mask(headers: dict[str, str]) -> dict[str, str]:
    return {name: "***" if name in _SECRETS else value for name, value in headers.items()}


def _plan(error: ErrorResponse) -> PlannedResponse:
    body = error.body.encode() if isinstance(error.body, str) else render_json(error.body)
    return PlannedResponse(error.status, error.content_type, body, headers=error.headers)
