"""A whole Cohere answer to events."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import Raw

from dragoman.conversation.events import Event, Failed
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.parts import Json, Origin
from dragoman.dialects.cohere import ORIGIN
from dragoman.dialects.cohere.answer_events import CohereAnswerParser, whole_arguments
from dragoman.dialects.cohere.errors import parse_error
from dragoman.dialects.raw_json import ABSENT, UNREADABLE, decode_items, decode_members, text_in, valid_utf8
from dragoman.wire.json_reader import replace_lone_surrogates

_KNOWN = frozenset({"id", "message", "finish_reason", "usage", "meta", "logprobs"})


def parse_answer(body: bytes, origin: Origin | None = None, *, seed: str = "", think_tags: bool = False) -> list[Event]:
    """The events of a whole answer. A body that is no answer gives one event, the failure."""
    answer = CohereAnswerParser(origin or ORIGIN, seed)
    out: list[Event] = []
    try:
        members = _readable(body)
        if bytes(members.get("message", b""))[:1] != b"{":
            return [Failed(parse_error(200, {}, body))]
        _parse(members, answer, out)
    except (*UNREADABLE, KeyError):
        return [Failed(Failure(FailureKind.BROKEN_STREAM, "The answer is not a message that can be read.", raw=body))]
    return [out[-1]] if type(out[-1]) is Failed else out


def _parse(members: Mapping[str, Raw], answer: CohereAnswerParser, out: list[Event]) -> None:
    others = {key: bytes(raw) for key, raw in members.items() if key not in _KNOWN and bytes(raw) != b"null"}
    answer.start(text_in(members.get("id")), others, out)
    message = decode_members(members["message"])
    logprobs = answer.logprobs(members.get("logprobs", ABSENT))
    for index, block in enumerate(_items(message.get("content"))):
        fields = decode_members(block)
        if text_in(fields.get("type")) == "thinking":
            answer.thinking(index, bytes(fields.get("thinking", b"")), out)
        else:
            answer.text(index, bytes(fields.get("text", b"")), out, logprobs)
            logprobs = None
    answer.plan(bytes(message.get("tool_plan", b"")), out)
    for index, call in enumerate(_items(message.get("tool_calls"))):
        _parse_call(index, decode_members(call), answer, out)
    for citation in _items(message.get("citations")):
        answer.cite(citation, out)
    usage = members.get("usage") or members.get("meta") or ABSENT
    answer.end(text_in(members.get("finish_reason")), bytes(usage), b"", out)


def _parse_call(index: int, call: Mapping[str, Raw], answer: CohereAnswerParser, out: list[Event]) -> None:
    function = decode_members(call["function"])
    answer.call(index, text_in(call.get("id")), text_in(function.get("name")), out)
    answer.arguments(index, whole_arguments(bytes(function.get("arguments", b""))), out)
    answer.end_call(index, out)


def _items(raw: Raw | None) -> list[Json]:
    text = bytes(raw) if raw is not None else b""
    return [bytes(item) for item in decode_items(text)] if text[:1] == b"[" else []


def _readable(body: bytes) -> dict[str, Raw]:
    body = body if body.isascii() else valid_utf8(body)
    try:
        return decode_members(body)
    except msgspec.DecodeError:
        return decode_members(replace_lone_surrogates(body))
