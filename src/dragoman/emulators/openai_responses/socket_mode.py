"""Responses over a WebSocket, as OpenAI serves it: what clients may send, what is remembered, events as messages.

Facts are of the guide "WebSocket mode" and of the types of OpenAI's SDK, 2026. What is not documented is strict here: a
connection remembers one answer that was not stored, the most recent, and a frame of an unknown kind is an error.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import orjson

from dragoman.emulators.wire import make_id, render_json

Body = dict[str, Any]
CREATE_ONLY = ("type", "stream_id", "generate", "stream", "background")  # `stream` and `background` mean nothing here
MAX_PENDING_STEERS = 8
_STEER_MEMBERS = {"type", "previous_response_id", "input"}
_STEER_PARTS = {"input_text", "input_image", "input_file"}
_AWAITED = {
    "function_call": ("function_call_output", ("call_id", "name")),
    "custom_tool_call": ("custom_tool_call_output", ("call_id",)),
    "computer_call": ("computer_call_output", ("call_id",)),
    "shell_call": ("shell_call_output", ("call_id",)),
    "apply_patch_call": ("apply_patch_call_output", ("call_id",)),
}
OLD_CONNECTION = (
    "Responses websocket connection limit reached (60 minutes). Create a new websocket connection to continue."
)


@dataclass(slots=True)
class EmulatedTurn:
    """One `response.create`, and what became of it."""

    body: Body  # as it would be posted, before the turns that it continues are put in front
    lane: str | None
    generates: bool
    previous: str
    items: list[Any] = field(default_factory=list)  # the input with the turns before it
    id: str = ""
    output: list[Any] = field(default_factory=list)
    ended: str = ""  # the type of the last event
    steers: list[tuple[str, Any]] = field(default_factory=list)


class SocketRefusal(Exception):
    """An error for one message."""

    def __init__(
        self, message: str, code: str | None = None, param: str | None = None, lane: str | None = None
    ) -> None:
        super().__init__(message)
        error = {"type": "invalid_request_error", "code": code, "message": message, "param": param}
        self.message = error_message(400, error, lane)


def error_message(status: int, error: Any, lane: str | None) -> bytes:
    named = {} if lane is None else {"stream_id": lane}
    return render_json({"type": "error", "status": status, "error": error, **named})


class SocketMode:
    """One connection."""

    def __init__(self, lanes: bool = True) -> None:
        self._lanes = lanes
        self.running: dict[str | None, EmulatedTurn] = {}  # by lane
        self._recent: EmulatedTurn | None = None
        self._stored: dict[str, EmulatedTurn] = {}
        self._pending: dict[str, list[tuple[str, Any]]] = {}  # input that waits for results, by the answer it is for
        self._steers = 0

    def parse(self, message: str | bytes) -> EmulatedTurn | Body:
        """A turn, or a steering message. Raises `SocketRefusal`."""
        try:
            given = orjson.loads(message) if isinstance(message, str) else None
        except orjson.JSONDecodeError as error:
            raise SocketRefusal(f"We could not parse the JSON body of your request. ({error})") from None
        if not isinstance(given, dict):
            raise SocketRefusal("A message must be a JSON object, sent as text.")
        if given.get("type") == "response.steer" and self._lanes:
            return given
        if given.get("type") != "response.create":
            raise SocketRefusal(f"Invalid value: {given.get('type')!r}.", "invalid_value", "type")
        lane = given.get("stream_id")
        if lane is not None and not self._lanes:
            raise SocketRefusal("Unknown parameter: 'stream_id'.", "unknown_parameter", "stream_id")
        if lane is not None and not (isinstance(lane, str) and lane):
            raise SocketRefusal("Invalid type for 'stream_id': expected a string.", "invalid_type", "stream_id")
        if not isinstance(given.get("generate", True), bool):
            raise SocketRefusal("Invalid type for 'generate': expected a boolean.", "invalid_type", "generate", lane)
        warms = (given.get("prompt_cache_options") or {}).get("prewarm") is True
        body = {name: value for name, value in given.items() if name not in CREATE_ONLY}
        previous = body.pop("previous_response_id", None)
        if not isinstance(previous, str | None):
            raise SocketRefusal(
                "Invalid type for 'previous_response_id'.", "invalid_type", "previous_response_id", lane
            )
        return EmulatedTurn(body, lane, given.get("generate", True) and not warms, previous or "")

    def begin(self, turn: EmulatedTurn) -> bytes:
        """The request of a turn as it would be posted, with the turns before it. Raises `SocketRefusal`."""
        own = turn.body.get("input")
        given = [{"role": "user", "content": own}] if isinstance(own, str) else own
        body = {**turn.body, "stream": True}
        if turn.previous:
            parent = self._find(turn.previous)
            if parent is None:
                what = f"Previous response with id '{turn.previous}' not found."
                raise SocketRefusal(what, "previous_response_not_found", "previous_response_id", turn.lane)
            steers = [item for _, items in self._pending.pop(turn.previous, ()) for item in items]
            if isinstance(given, list | None):
                given = [*parent.items, *parent.output, *steers, *(given or [])]
                body["input"] = given
        turn.items = given if isinstance(given, list) else []
        self.running[turn.lane] = turn
        return render_json(body)

    def event(self, turn: EmulatedTurn, event: Body) -> bytes:
        """An event of the answer as a message."""
        if "response" in event:
            response = event["response"] = {**event["response"], "previous_response_id": turn.previous or None}
            turn.id = response["id"]
            if event["type"] in ("response.completed", "response.incomplete", "response.failed"):
                turn.ended, turn.output = event["type"], response["output"]
                self._remember(turn)
        return render_json(event if turn.lane is None else {**event, "stream_id": turn.lane})

    def _remember(self, turn: EmulatedTurn) -> None:
        if turn.ended == "response.failed":
            self.fail(turn)
            return
        self._recent = turn
        if turn.body.get("store") is not False:
            self._stored[turn.id] = turn

    def fail(self, turn: EmulatedTurn) -> None:
        """A turn that fails throws the answer that it continued out of the memory of the connection."""
        if self._recent is not None and self._recent.id == turn.previous:
            self._recent = None

    def _find(self, id: str) -> EmulatedTurn | None:
        if self._recent is not None and self._recent.id == id:
            return self._recent
        return self._stored.get(id)

    # Steering

    def steer(self, given: Body) -> bytes:
        """What becomes of input for a running answer."""
        target = given.get("previous_response_id")
        turn = next((one for one in self.running.values() if one.id == target and one.id), None)
        code = self._steer_fault(given, turn)
        if code or turn is None:
            return _steer_failed(given, code, turn)
        self._steers += 1
        id = make_id("steer_", 24, turn.id, self._steers)
        turn.steers.append((id, _messages(given["input"])))
        return _steer_event("accepted", {"steer": {"id": id, "previous_response_id": turn.id}}, turn)

    def _steer_fault(self, given: Body, turn: EmulatedTurn | None) -> str:
        if not given.keys() <= _STEER_MEMBERS or not _is_steerable(given.get("input")):
            return "invalid_input"
        if turn is None:
            known = self._find(str(given.get("previous_response_id")))
            return "response_already_completed" if known is not None else "response_not_found"
        if turn.ended:
            return "response_already_completed"
        if turn.body.get("conversation") or turn.body.get("context_management"):
            return "steering_not_supported"
        return "too_many_pending_steers" if len(turn.steers) >= MAX_PENDING_STEERS else ""

    def end(self, turn: EmulatedTurn) -> tuple[list[bytes], EmulatedTurn | None]:
        """The last messages of a turn, and the successor that begins unasked, if there is one."""
        self.running.pop(turn.lane, None)
        if not turn.steers:
            return [], None
        if turn.ended not in ("response.completed", "response.incomplete"):
            failed = [{"previous_response_id": turn.id, "input": items} for _, items in turn.steers]
            return [_steer_failed(one, "successor_creation_failed", turn) for one in failed], None
        required = [stub for item in turn.output if (stub := _stub(item)) is not None]
        if required:
            self._pending[turn.id] = turn.steers
            waits = {"reason": "waiting_for_required_input", "required_input": required}
            steers = [{"steer": {"id": id, "previous_response_id": turn.id}} for id, _ in turn.steers]
            return [_steer_event("pending", {**waits, **one}, turn) for one in steers], None
        given = [item for _, items in turn.steers for item in items]
        return [], EmulatedTurn({**turn.body, "input": given}, turn.lane, True, turn.id)


def _is_steerable(given: Any) -> bool:
    if isinstance(given, str):
        return True
    return isinstance(given, list) and bool(given) and all(map(_is_user_message, given))


def _is_user_message(item: Any) -> bool:
    if not isinstance(item, dict) or not item.keys() <= {"type", "role", "content"}:
        return False
    content = item.get("content")
    parts = content if isinstance(content, list) else []
    right = all(isinstance(part, dict) and part.get("type") in _STEER_PARTS for part in parts)
    return item.get("role") == "user" and item.get("type", "message") == "message" and bool(content) and right


def _messages(given: Any) -> list[Any]:
    return [{"role": "user", "content": given}] if isinstance(given, str) else given


def _stub(item: Body) -> Body | None:
    if item["type"] not in _AWAITED:
        return None
    kind, names = _AWAITED[item["type"]]
    return {"type": kind, **{name: item.get(name) for name in names}}


def _steer_event(kind: str, members: Body, turn: EmulatedTurn | None) -> bytes:
    lane = {} if turn is None or turn.lane is None else {"stream_id": turn.lane}
    return render_json({"type": f"response.steer.{kind}", "sequence_number": 0, **members, **lane})


def _steer_failed(given: Body, code: str, turn: EmulatedTurn | None) -> bytes:
    error = {"type": "invalid_request_error", "code": code, "message": f"The input was not used: {code}."}
    steer = {"previous_response_id": given.get("previous_response_id"), "input": given.get("input")}
    return _steer_event("failed", {"error": error, "steer": steer}, turn)
