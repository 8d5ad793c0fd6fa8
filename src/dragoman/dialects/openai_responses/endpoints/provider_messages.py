"""Responses over a WebSocket of a provider: requests as messages, and its messages as the stream of an answer.

A provider keeps the newest answer of a socket. A request that goes on from it leaves out what the provider has: the
input of the request before, and the answer. It has them only if they are the same, item by item; otherwise all is sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import Raw

from dragoman.conversation.literals import quote, unquote
from dragoman.dialects.contracts.sockets import KeptAnswer, ProviderTurn
from dragoman.dialects.families.openai_answers import KINDS
from dragoman.dialects.openai_responses.endpoints.stored_answers import own_items
from dragoman.wire.json_reader import render_list, render_object, split_members

_NOT_SENT = frozenset({"stream", "background"})
_NULL, _INSTRUCTIONS = b"null", "instructions"
_OF_THE_SERVER = frozenset({"id", "status"})
_COMPLETE = frozenset({"response.completed", "response.incomplete"})
_ENDS = _COMPLETE | {"response.failed", "error"}
_GONE = frozenset({"previous_response_not_found", "websocket_connection_limit_reached"})
"""Codes of a socket that cannot answer this request. Nothing was generated, and another one can."""
_INVALID = "invalid_request_error"
_BY_CODE = {code: (kind.status, name) for kind, (name, code) in KINDS.items() if code is not None}
"""Status and type of an error, by its code."""
_ABOUT_BODY = ("content-", "transfer-")
"""Beginnings of headers that say how a body was sent."""


class _Message(msgspec.Struct, frozen=True):
    """What is read of every message."""

    type: str


_decode = msgspec.json.Decoder(_Message).decode


def render_turn(body: bytes, kept: KeptAnswer | None, takes_instructions: bool = True) -> ProviderTurn:
    """A request as a message, without what the provider has. `takes_instructions`: also beside the id of an answer.
    Otherwise they are the first item, which the provider keeps with the others."""
    members = split_members(body)
    items = [bytes(one) for one in own_items(members)]
    if not takes_instructions and bytes(members.get(_INSTRUCTIONS, _NULL))[:1] == b'"':
        items.insert(0, render_object({"role": b'"system"', "content": members.pop(_INSTRUCTIONS)}))
        members["input"] = Raw(render_list(items))
    is_whole = not any(has_member(members, name) for name in ("previous_response_id", "conversation"))
    digests = tuple(map(_digest, items)) if is_whole else ()
    sent: dict[str, bytes | Raw] = {"type": b'"response.create"'}
    sent |= {name: value for name, value in members.items() if name not in _NOT_SENT}
    if kept is not None and is_whole and (count := _count_kept(kept, items, digests)):
        sent |= {"input": render_list(items[count:]), "previous_response_id": quote(kept.id)}
    return ProviderTurn(render_object(sent), digests)


def _count_kept(kept: KeptAnswer, items: Sequence[bytes], digests: tuple[bytes, ...]) -> int:
    """How many items the provider has; none if one of them is not the same."""
    inputs, count = len(kept.inputs), len(kept.inputs) + len(kept.outputs)
    if len(items) < count or digests[:inputs] != kept.inputs:
        return 0
    return count if tuple(map(_digest_output, items[inputs:count])) == kept.outputs else 0


def _digest(item: bytes) -> bytes:
    return blake2b(item, digest_size=16).digest()


def _digest_output(item: bytes) -> bytes:
    """Of what the model wrote. Names of the server's own do not count."""
    members = split_members(item)
    own = {name: members[name] for name in sorted(members) if name not in _OF_THE_SERVER and has_member(members, name)}
    return _digest(render_object(own))


def has_member(members: Mapping[str, Raw], name: str) -> bool:
    """Whether it is there, and not null."""
    return bytes(members.get(name, _NULL)) != _NULL


class ResponseEvents:
    """Reads the messages of one answer."""

    def __init__(self) -> None:
        self.status = 200
        self.headers: dict[str, str] = {}
        self.is_over = False
        self.is_gone = False
        self._begun = False
        self._id = ""
        self._outputs: dict[int, bytes] = {}
        self._complete = False

    def read(self, message: bytes) -> bytes:
        """A message as a piece of a stream; as the body of an error, if nothing came before it. Raises DragomanError or
        a DecodeError."""
        head = _decode(message)
        self.is_over = head.type in _ENDS
        if head.type == "error" and not self._begun:
            return self._refuse(msgspec.json.decode(message))
        self._begun = True
        if head.type == "response.output_item.done":
            members = split_members(message)
            self._outputs[int(bytes(members["output_index"]))] = _digest_output(bytes(members["item"]))
        elif head.type in _COMPLETE:
            response = split_members(split_members(message)["response"])
            self._id = unquote(bytes(response["id"]))
            self._complete = True
        line = message.replace(b"\r", b" ").replace(b"\n", b" ")  # between its members: inside a text they are escaped
        return b"event: %b\ndata: %b\n\n" % (head.type.encode(), line)

    def _refuse(self, message: dict[str, Any]) -> bytes:
        self.status, error = find_error(message)
        self.headers = _find_headers(message.get("headers"), error.get("headers"))
        self.is_gone = str(error.get("code")) in _GONE
        return msgspec.json.encode({"error": error})

    def keep(self, turn: ProviderTurn) -> KeptAnswer | None:
        """What the provider keeps of an answer that is over; None if a request cannot go on from it."""
        if not self._complete or not turn.inputs:
            return None
        return KeptAnswer(self._id, turn.inputs, tuple(self._outputs[at] for at in sorted(self._outputs)))


def find_error(message: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
    """The status of an error and the error itself. Some servers write it flat, as in a stream, or without a status."""
    error = message.get("error")
    if not isinstance(error, dict):
        error = {"message": error or message.get("message"), "code": message.get("code"), "param": message.get("param")}
    known, kind = _BY_CODE.get(str(error.get("code")), (400 if error.get("type") == _INVALID else 500, ""))
    written = [one for one in (message.get("status"), message.get("status_code")) if isinstance(one, int)]
    status = next((one for one in written if 400 <= one < 600), known)
    return status, {**error, "type": error.get("type") or kind or (_INVALID if status < 500 else "server_error")}


def _find_headers(*given: Any) -> dict[str, str]:
    """The headers of an error, which stand in it or beside it."""
    named = [(name.lower(), value) for one in given if isinstance(one, dict) for name, value in one.items()]
    known = [(name, str(value)) for name, value in named if isinstance(value, str | int | float)]
    return {name: value for name, value in known if not name.startswith(_ABOUT_BODY)}
