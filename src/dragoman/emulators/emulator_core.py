"""The desk where a request is heard and an answer decided: judge, faults, script, record. Still no socket."""

from __future__ import annotations

import sys
import traceback
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from dragoman.emulators.answer_script import Script
from dragoman.emulators.faults import BAD_GATEWAY, HEADER, BadFaultError, Fault, fault
from dragoman.emulators.provider import FaultKind, Operation, Provider, Received, Refused
from dragoman.emulators.wire import compact

_SECRETS = ("authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie")


@dataclass(frozen=True, slots=True)
class Record:
    """One request and what became of it."""

    method: str
    path: str
    headers: dict[str, str]  # keys are masked
    body: Any
    model: str
    stream: bool
    verdict: str  # "accepted" | "refused" | "fault" | "lost" | "crashed"
    status: int
    says: Any = None  # the body of a refusal


@dataclass(frozen=True, slots=True)
class Reply:
    """What to send, and what is to go wrong while sending."""

    status: int
    content_type: str
    body: bytes = b""
    frames: Iterable[bytes] | None = None  # a stream; None: `body` is all
    headers: dict[str, str] = field(default_factory=dict)
    fault: Fault | None = None
    error_frame: bytes = b""  # what a stream with the fault `stream-error` ends with


class EmulatorCore:
    """One emulated provider with its script, its standing fault and its memory of requests."""

    def __init__(
        self,
        provider: Provider,
        script: Script | None = None,
        on_record: Callable[[Record], None] | None = None,
        keep: int = 10_000,
    ) -> None:
        self.provider = provider
        self.script = script or Script()
        self.standing: Fault | None = None
        self.records: deque[Record] = deque(maxlen=keep)  # the newest; a server that runs for days stays small
        self._on_record = on_record
        self._struck: dict[str, int] = {}

    def reply(self, method: str, path: str, query: dict[str, str], headers: dict[str, str], raw: bytes) -> Reply:
        """The answer to one request. A fault of our own is told apart from the provider's: header and verdict."""
        try:
            return self._reply(method, path, query, headers, raw)
        except Exception as error:  # the server goes on, whatever a request does to us
            traceback.print_exc(file=sys.stderr)
            body = {"error": {"message": f"the emulator itself failed: {error!r}", "type": "emulator_error"}}
            self._record(None, method, path, headers, "crashed", 500, body)
            return Reply(500, "application/json", compact(body), headers={"x-emulator-crashed": "1"})

    def turn_away(self, kind: FaultKind) -> Reply:
        """The answer to a client whose request never came to be whole."""
        refused = self.provider.fault(kind, None)
        self._record(None, "", "", {}, "refused", refused.status, refused.body)
        return _sent(refused)

    def _reply(self, method: str, path: str, query: dict[str, str], headers: dict[str, str], raw: bytes) -> Reply:
        if self.provider.owns(method, path) is None:
            kind = self._why_not(method, path)
            lost = Received(method, path, query, headers, raw, None, "", False, Operation.GENERATE)
            return self._refuse(self.provider.fault(kind, lost), lost, "lost")
        try:
            ordered = self._ordered(headers)
        except BadFaultError as error:
            body = {"error": {"message": f"{HEADER}: {error}", "type": "emulator_error"}}
            self._record(None, method, path, headers, "refused", 400, body)
            return Reply(400, "application/json", compact(body))
        call = self.provider.read(method, path, query, headers, raw)
        if isinstance(call, Refused):
            self._record(None, method, path, headers, "refused", call.status, call.body)
            return _sent(call)
        if ordered is not None and (ordered.is_early or ordered.name == "502"):
            return self._strike(ordered, call)
        refused = self.provider.judge(call)
        if refused is not None:
            return self._refuse(refused, call, "refused")
        return self._accept(call, ordered)

    def _why_not(self, method: str, path: str) -> FaultKind:
        others = [other for other in ("GET", "POST") if other != method]
        known = any(self.provider.owns(other, path) is not None for other in others)
        return FaultKind.METHOD if known else FaultKind.NOT_FOUND

    def _ordered(self, headers: dict[str, str]) -> Fault | None:
        """The fault that is due now, by header or standing order, counted down where it has a number of times."""
        written = headers.get(HEADER)
        due = fault(written) if written else self.standing
        if due is None or due.times is None:
            return due
        key = written or f"standing {due}"
        self._struck[key] = self._struck.get(key, 0) + 1
        return due if self._struck[key] <= due.times else None

    def _accept(self, call: Received, ordered: Fault | None) -> Reply:
        match call.operation:
            case Operation.MODELS:
                return self._whole(call, self.provider.models(), ordered)
            case Operation.COUNT:
                return self._whole(call, self.provider.count(call), ordered)
        step = self.script.next()
        due = ordered or step.fault
        if due is not None and (due.is_early or due.name == "502"):
            return self._strike(due, call)
        turn = step.say(call)
        if not call.stream:
            return self._whole(call, self.provider.whole(call, turn), due)
        self._keep(call, "fault" if due else "accepted", 200, None)
        headers = dict(self.provider.headers(call))
        return Reply(
            200,
            headers.pop("content-type", self.provider.stream_type),
            frames=self.provider.stream(call, turn),
            headers=headers,
            fault=due,
            error_frame=self._error_frame(due, call),
        )

    def _error_frame(self, due: Fault | None, call: Received) -> bytes:
        if due is None or due.name != "stream-error":
            return b""
        return self.provider.stream_error(due.kind or FaultKind.SERVER, call)

    def _whole(self, call: Received, body: Any, due: Fault | None) -> Reply:
        if due is not None and due.name == "stream-error":  # nothing streams: the fault comes as a status
            return self._strike(due, call)
        self._keep(call, "fault" if due else "accepted", 200, None)
        return Reply(200, "application/json", compact(body), headers=self.provider.headers(call), fault=due)

    def _strike(self, due: Fault, call: Received) -> Reply:
        if due.name == "502":
            page = Refused(502, BAD_GATEWAY, content_type="text/html")
            return self._refuse(page, call, "fault")
        refused = self.provider.fault(due.kind or FaultKind.SERVER, call)
        headers = dict(refused.headers)
        if due.retry_after is not None:
            headers["retry-after"] = f"{due.retry_after:g}"
        return self._refuse(replace(refused, status=due.status or refused.status, headers=headers), call, "fault")

    def _refuse(self, refused: Refused, call: Received, verdict: str) -> Reply:
        self._keep(call, verdict, refused.status, refused.body)
        return _sent(refused)

    def _keep(self, call: Received, verdict: str, status: int, says: Any) -> None:
        self._remember(
            Record(
                call.method,
                call.path,
                _masked(call.headers),
                call.body,
                call.model,
                call.stream,
                verdict,
                status,
                says,
            )
        )

    def _record(
        self, body: Any, method: str, path: str, headers: dict[str, str], verdict: str, status: int, says: Any
    ) -> None:
        self._remember(Record(method, path, _masked(headers), body, "", False, verdict, status, says))

    def _remember(self, record: Record) -> None:
        self.records.append(record)
        if self._on_record is not None:
            self._on_record(record)


def _masked(headers: dict[str, str]) -> dict[str, str]:
    return {name: "***" if name in _SECRETS else value for name, value in headers.items()}


def _sent(refused: Refused) -> Reply:
    body = refused.body.encode() if isinstance(refused.body, str) else compact(refused.body)
    return Reply(refused.status, refused.content_type, body, headers=refused.headers)
