"""Responses over a WebSocket: what clients send there, and the events of answers as messages.

A message is one JSON object. Those of an answer are the events that a stream would have, without names and end marker.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Raw

from dragoman.conversation.literals import quote, unquote
from dragoman.conversation.parts import Json
from dragoman.dialects.contracts.sockets import SocketFrames, SocketTurn, Steering
from dragoman.dialects.contracts.stored_answers import StoredTurn
from dragoman.dialects.openai_responses.endpoints import stored_answers
from dragoman.dialects.openai_responses.endpoints.provider_messages import (
    ResponseEvents,
    find_error,
    has_member,
    render_turn,
)
from dragoman.errors import MalformedRequest
from dragoman.wire.json_reader import (
    open_object,
    refuse_duplicates,
    render_list,
    render_object,
    split_items,
    split_members,
)

_CREATE, _STEER = "response.create", "response.steer"
_PREVIOUS, _INPUT, _LANE = "previous_response_id", "input", "stream_id"
_NULL, _TRUE, _FALSE = b"null", b"true", b"false"
_NOT_POSTED = ("type", _LANE, "generate", "stream", "background")
"""Members that mean something on a socket alone, or nothing there."""
_STEER_MEMBERS = frozenset({"type", _PREVIOUS, _INPUT})
_STEER_PARTS = frozenset({"input_text", "input_image", "input_file"})
_STEER_MESSAGE = frozenset({"type", "role", "content"})
_LONGEST_NAME = 256
_HOPS = frozenset({"upgrade", "connection"})
_SOCKET_BETA = "responses_websockets="
_COMPLETE = frozenset({b"response.completed", b"response.incomplete"})
_WITH_RESPONSE = _COMPLETE | {b"response.created", b"response.in_progress", b"response.queued", b"response.failed"}
_AWAITED = {
    "function_call": ("function_call_output", ("call_id", "name")),
    "custom_tool_call": ("custom_tool_call_output", ("call_id",)),
    "computer_call": ("computer_call_output", ("call_id",)),
    "shell_call": ("shell_call_output", ("call_id",)),
    "local_shell_call": ("local_shell_call_output", ("call_id",)),
    "apply_patch_call": ("apply_patch_call_output", ("call_id",)),
    "mcp_approval_request": ("mcp_approval_response", ("id",)),
}
"""Items that wait for the client, with what they wait for and what names it."""


def _parse(message: bytes) -> SocketTurn | Steering:
    source, members, _ = open_object(message)
    refuse_duplicates(source, members)
    kind = _plain_text(members, "type")
    if kind == _STEER:
        return _parse_steering(members)
    if kind != _CREATE:
        given = f'"{kind[:100]}"' if kind else "none"
        raise MalformedRequest(f'the message\'s type must be "{_CREATE}" or "{_STEER}"; it has {given}', at="/type")
    return _parse_turn(members)


class _Addressed(msgspec.Struct, frozen=True):
    stream_id: str | None = None


_decode_address = msgspec.json.Decoder(_Addressed).decode


def _find_lane(message: bytes) -> str | None:
    with suppress(*stored_answers.UNREADABLE_ANSWER):
        return (_decode_address(message).stream_id or "")[:_LONGEST_NAME] or None
    return None


def _parse_turn(members: Mapping[str, Raw]) -> SocketTurn:
    lane = _plain_text(members, _LANE) if has_member(members, _LANE) else None
    if lane is not None and not 0 < len(lane) <= _LONGEST_NAME:
        raise MalformedRequest(f"a stream_id has 1 to {_LONGEST_NAME} characters", at=f"/{_LANE}")
    previous = _plain_text(members, _PREVIOUS) if has_member(members, _PREVIOUS) else ""
    generate = bytes(members.get("generate", _TRUE))
    if generate not in (_TRUE, _FALSE, _NULL):
        raise MalformedRequest("generate must be true or false", at="/generate")
    body: dict[str, bytes | Raw] = {name: value for name, value in members.items() if name not in _NOT_POSTED}
    return SocketTurn(
        body=render_object(body | {"stream": _TRUE}),
        lane=lane,
        previous=previous,
        items=render_list(stored_answers.own_items(members)),
        generates=generate != _FALSE and not _prewarms(members),
        steerable=not has_member(members, "conversation") and not has_member(members, "context_management"),
    )


def _prewarms(members: Mapping[str, Raw]) -> bool:
    options = bytes(members.get("prompt_cache_options", b"{}"))
    return options[:1] == b"{" and bytes(split_members(options).get("prewarm", _FALSE)) == _TRUE


def _parse_steering(members: Mapping[str, Raw]) -> Steering:
    previous, given = _plain_text(members, _PREVIOUS), bytes(members.get(_INPUT, _NULL))
    fault = _steering_fault(members, given)
    return Steering(previous, given, b"[]" if fault else render_list(stored_answers.own_items(members)), fault)


def _steering_fault(members: Mapping[str, Raw], given: bytes) -> str:
    if unknown := [name for name in members if name not in _STEER_MEMBERS]:
        return f"{_STEER} has no member {unknown[0][:100]!r}"
    if given[:1] == b'"':
        return ""
    items = split_items(given, f"/{_INPUT}") if given[:1] == b"[" else []
    if not items:
        return "input must be a text, or a list of messages that is not empty"
    return (
        "" if all(map(_is_user_message, items)) else "input may hold messages of the user alone, of text, images, files"
    )


def _is_user_message(item: Raw) -> bool:
    found = split_members(item) if bytes(item)[:1] == b"{" else {}
    if _text(bytes(found.get("role", _NULL))) != "user" or not found.keys() <= _STEER_MESSAGE:
        return False
    if _text(bytes(found.get("type", b'"message"'))) != "message":
        return False
    content = bytes(found.get("content", _NULL))
    if content[:1] != b"[":
        return content[:1] == b'"'
    parts = [split_members(part) if bytes(part)[:1] == b"{" else {} for part in split_items(content)]
    return all(_text(bytes(part.get("type", _NULL))) in _STEER_PARTS for part in parts)


def _text(literal: bytes) -> str:
    return unquote(literal) if literal[:1] == b'"' else ""


def _plain_text(members: Mapping[str, Raw], name: str) -> str:
    literal = bytes(members.get(name, _NULL))
    if literal != _NULL and literal[:1] != b'"':
        raise MalformedRequest(f"{name} must be a text", at=f"/{name}")
    return _text(literal)


def _gather_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Without those of the upgrade, and without the beta that only asks for a socket."""
    kept = {
        name: value for name, value in headers.items() if not name.startswith("sec-websocket") and name not in _HOPS
    }
    betas = [one.strip() for one in kept.pop("openai-beta", "").split(",")]
    others = ",".join(one for one in betas if one and not one.startswith(_SOCKET_BETA))
    return kept | ({"openai-beta": others} if others else {})


def _continue(turn: SocketTurn, turns: Sequence[StoredTurn], before: str) -> Json:
    body = stored_answers.STORED_ANSWERS.render_whole(turn.body, turns, True)
    return render_object({**split_members(body), _PREVIOUS: quote(before)}) if before else body


def _successor(turn: SocketTurn, parent: str, inputs: Sequence[Steering]) -> SocketTurn:
    own = split_items(turn.items) if turn.previous == parent else []
    items = render_list(
        [bytes(item) for one in inputs for item in split_items(one.items)] + [bytes(item) for item in own]
    )
    body = render_object({**split_members(turn.body), _INPUT: items, _PREVIOUS: quote(parent)})
    return msgspec.structs.replace(turn, body=body, previous=parent, items=items)


def _require_input(output: bytes) -> Json:
    stubs: list[dict[str, Any]] = []
    for item in msgspec.json.decode(output, type=list[dict[str, Any]]):
        kind = item.get("type", "")
        if kind == "tool_search_call" and item.get("execution") == "client":
            stubs.append({"type": "tool_search_output", "call_id": item.get("call_id"), "execution": "client"})
        elif kind in _AWAITED:
            wanted, names = _AWAITED[kind]
            shown = {"id": "approval_request_id"}
            stubs.append({"type": wanted, **{shown.get(name, name): item.get(name) for name in names}})
    return msgspec.json.encode(stubs)


class ResponseMessages:
    """The events of one answer as messages.

    An `error` event waits for the next one: if that is `response.failed`, which says the same and more, it is left out,
    because clients take the first of the two for the end. Without it the error gets its status.
    """

    def __init__(self, turn: SocketTurn) -> None:
        self.id = ""
        self.complete = False
        self.output: Json = b"[]"
        self.is_stored = False
        self._lane = b',"stream_id":' + quote(turn.lane) if turn.lane is not None else b""
        self._previous = quote(turn.previous) if turn.previous else _NULL
        self._passed = stored_answers.PassedItems()
        self._error = b""

    def event(self, name: bytes, data: bytes) -> list[bytes]:
        name = name or stored_answers.event_kind(data)
        held, self._error = self._error, b""
        if name == b"error":
            self._error = data
            return []
        with suppress(*stored_answers.UNREADABLE_ANSWER):
            if name in _WITH_RESPONSE:
                data = self._with_response(name, data)
            elif name == stored_answers.ITEM_DONE:
                self._passed.take(data)
        message = data[:-1] + self._lane + b"}" if self._lane and data[-1:] == b"}" else data
        return [message] if not held or name == b"response.failed" else [self._with_status(held), message]

    def close(self) -> list[bytes]:
        held, self._error = self._error, b""
        return [self._with_status(held)] if held else []

    def _with_response(self, name: bytes, data: bytes) -> bytes:
        """The event, in which the response names what its request did; it may have been sent upstream as a whole."""
        members: dict[str, bytes | Raw] = dict(split_members(data))
        response: dict[str, bytes | Raw] = dict(split_members(bytes(members.get("response", b"{}"))))
        self.id = _text(bytes(response.get("id", _NULL)))
        if name in _COMPLETE:
            self.complete = self._passed.fit
            self.is_stored = bytes(response.get("store", _FALSE)) == _TRUE
            self.output = self._passed.output(bytes(response.get("output", b"[]")))
        if bytes(response.get(_PREVIOUS, _NULL)) == self._previous:
            return data
        return render_object(members | {"response": render_object(response | {_PREVIOUS: self._previous})})

    def _with_status(self, data: bytes) -> bytes:
        message: dict[str, Any] = {}
        with suppress(*stored_answers.UNREADABLE_ANSWER):
            message = msgspec.json.decode(data, type=dict[str, Any])
        status, error = find_error(message)
        made = msgspec.json.encode({"type": "error", **message, "status": status, "error": error})
        return made[:-1] + self._lane + b"}"


def _render_error(status: int, headers: Mapping[str, str], body: bytes, lane: str | None) -> bytes:
    """OpenAI's types have the headers in the error, and Codex reads them beside it."""
    error = {**split_members(split_members(body).get("error", Raw(b"{}"))), "headers": dict(headers)}
    event: dict[str, Any] = {"type": "error", "status": status, "error": error, "headers": dict(headers)}
    return msgspec.json.encode(event | ({_LANE: lane} if lane is not None else {}))


def _render_steering(what: str, members: Mapping[str, Any], lane: str | None) -> bytes:
    event = {"type": f"{_STEER}.{what}", "sequence_number": 0, **members}
    return msgspec.json.encode(event | ({_LANE: lane} if lane is not None else {}))


SOCKET_FRAMES = SocketFrames(
    parse=_parse,
    find_lane=_find_lane,
    posted_headers=_gather_headers,
    answer=ResponseMessages,
    continued=_continue,
    successor=_successor,
    required_input=_require_input,
    render_error=_render_error,
    render_steering=_render_steering,
    render_turn=render_turn,
    provider_messages=ResponseEvents,
)
