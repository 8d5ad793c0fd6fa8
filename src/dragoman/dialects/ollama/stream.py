"""An Ollama stream, both ways: one JSON object a line."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from dragoman.conversation.events import Event
from dragoman.conversation.failures import Failure
from dragoman.conversation.parts import Json, Origin
from dragoman.dialects.dialect import AnswerCodec
from dragoman.dialects.families.call_input import call_input
from dragoman.dialects.ollama.answer_parse import OllamaAnswerParser, parse_answer
from dragoman.dialects.ollama.answer_render import MessageBuilder, error_body, render_answer, render_error
from dragoman.dialects.shared.parsing import FRAME_TOO_LONG
from dragoman.dialects.shared.stream_output import LineOutput
from dragoman.dialects.shared.streamed_text import StreamedText, string_members
from dragoman.wire.error_bodies import unreadable_answer
from dragoman.wire.json_reader import render_object
from dragoman.wire.ndjson import NdjsonDecoder, line

_FLAT = rb"\{[^{}]*+\}"
_NESTED = rb"\{(?:[^{}]++|\{(?:[^{}]++|%b)*+\})*+\}" % _FLAT

WORDS = StreamedText(
    string_members("content", "thinking", "name"),
    re.compile(rb'"function"\s*+:'),
    # Arguments are an object here. Three levels of it are found, which is nearly always all.
    arguments=re.compile(rb'"arguments"\s*+:\s*+(%b)' % _NESTED),
)


class _PlainMessage(msgspec.Struct, gc=False):
    content: str | msgspec.UnsetType = msgspec.UNSET
    tool_calls: None = None


class _PlainLine(msgspec.Struct, gc=False):
    message: _PlainMessage


_check_plain_line = msgspec.json.Decoder(_PlainLine).decode
"""Raises DecodeError for a line without a message, with a null in place of its text, or with calls."""


class MisreadLines(msgspec.Struct):
    """Writes lines that Ollama's SDKs do not read: each has a message, and the arguments of a call are an object."""

    seed: str = ""
    renumbers: bool = False
    follow: None = None

    def may_be_misread(self, payload: bytes) -> bool:
        try:
            _check_plain_line(payload)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return True
        return False

    def pieces(self, chunk: dict[str, Any]) -> list[Any]:
        if chunk.get("error"):
            return [chunk]
        message = chunk.get("message")
        message = message if isinstance(message, dict) else {"role": "assistant", "content": ""}
        if message.get("content", "") is None:
            message = {**message, "content": ""}
        calls = message.get("tool_calls")
        if isinstance(calls, list):
            message = {**message, "tool_calls": [_with_object(call) for call in calls]}
        return [{**chunk, "message": message}]


def _with_object(call: Any) -> Any:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or isinstance(function.get("arguments"), dict):
        return call
    given = function.get("arguments")
    arguments = call_input(given if isinstance(given, str) else msgspec.json.encode(given).decode())
    return {**call, "function": {**function, "arguments": msgspec.Raw(arguments)}}


class OllamaStreamParser(OllamaAnswerParser):
    """Lines of a stream. It never raises; `skipped` counts the lines that it could not decode."""

    __slots__ = ("_lines",)

    def __init__(self, origin: Origin | None = None, *, seed: str = "", think_tags: bool = False) -> None:
        super().__init__(seed)
        self._lines = NdjsonDecoder()

    def feed(self, data: bytes) -> list[Event]:
        out = [event for line in self._lines.feed(data) for event in self.take(line)]
        if self._lines.overflowed and not self.over:
            self.fail(FRAME_TOO_LONG, out)
        return out

    def close(self) -> list[Event]:
        out = [event for line in self._lines.close() for event in self.take(line)]
        if self.unread and not (self.begun or self.over):
            self.fail(unreadable_answer(self.unread), out)
        self.finish(out)
        return out


class OllamaStreamRenderer(MessageBuilder, LineOutput):
    """One line for each piece. The last line has the stop and the usage; after a failure there is no such line."""

    _out: list[bytes] = msgspec.field(default_factory=list)
    _head: bytes = b""
    _tail: bytes = b'},"done":false}\n'

    def __post_init__(self) -> None:
        super().__post_init__()
        self.begin()

    def begin(self) -> None:
        self._head = render_object(self.head())[:-1] + b',"message":{"role":"assistant","content":'

    def content(self, literal: Json, logprobs: Json | None) -> None:
        if logprobs is None:
            self._out += (self._head, literal, self._tail)
        else:
            self._out += (self._head, literal, b'},"done":false,"logprobs":', logprobs, b"}\n")

    def thinking(self, literal: Json) -> None:
        self._out += (self._head, b'"","thinking":', literal, self._tail)

    def call(self, json: Json) -> None:
        self._out += (self._head, b'"","tool_calls":[', json, b"]", self._tail)

    def finish(self) -> None:
        last = render_object(self.tail())
        self._out += (self._head, b'""},', last[1:], b"\n")

    def fail(self, failure: Failure) -> None:
        self._out.append(line(error_body(failure)))


ANSWERS = AnswerCodec(
    parse_answer,
    render_answer,
    OllamaStreamParser,
    OllamaStreamRenderer,
    render_error,
    chunk_rewrite=lambda seed, _: MisreadLines(seed),
    streamed_text=WORDS,
)
