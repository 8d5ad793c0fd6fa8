"""What the official SDKs make of an answer: served to them over loopback, and brought to one form to be compared."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import anthropic
import openai
from google import genai
from google.genai import types as gemini_types
from msgspec import Struct

SSE = "text/event-stream"
JSON = "application/json"


class Seen(Struct, frozen=True):
    """An answer as a client sees it. `stop` is coarse: every dialect can say these four."""

    text: str
    calls: tuple[tuple[str, str], ...]
    stop: str
    usage: tuple[int, int, int]
    ids: tuple[str, ...] = ()
    thinking: str = ""


class Served(Struct, frozen=True):
    status: int
    headers: Mapping[str, str]
    body: bytes


class _Shelf(BaseHTTPRequestHandler):
    """Answers every request below `/KEY/` with what lies there."""

    shelf: ClassVar[dict[str, Served]] = {}
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        served = self.shelf[self.path.split("/")[1]]
        self.send_response(served.status)
        for name, value in served.headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(served.body)))
        self.end_headers()
        self.wfile.write(served.body)

    def log_message(self, *_: object) -> None:
        pass


class Loopback:
    """A server for the SDKs, with one client of each."""

    def __init__(self) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Shelf)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{self._server.server_address[1]}/now"
        self.anthropic = anthropic.Anthropic(base_url=url, api_key="none", max_retries=0)
        self.openai = openai.OpenAI(base_url=url, api_key="none", max_retries=0)
        options = gemini_types.HttpOptions(base_url=url, retry_options=gemini_types.HttpRetryOptions(attempts=1))
        self.gemini = genai.Client(api_key="none", http_options=options)

    def serve(self, body: bytes, stream: bool, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        _Shelf.shelf["now"] = Served(status, headers or {"content-type": SSE if stream else JSON}, body)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def read(self, dialect: str, body: bytes, stream: bool) -> Seen:
        """The answer as the SDK of that dialect reads it."""
        self.serve(body, stream)
        return self.read_served(dialect, stream)

    def read_served(self, dialect: str, stream: bool) -> Seen:
        """Whatever is served now, as the SDK of that dialect reads it."""
        return _READERS[dialect](self, stream)


@contextmanager
def loopback() -> Iterator[Loopback]:
    server = Loopback()
    try:
        yield server
    finally:
        server.close()


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _read_anthropic(server: Loopback, stream: bool) -> Seen:
    asked: dict[str, Any] = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}
    if stream:
        with server.anthropic.messages.stream(**asked) as told:
            message = told.get_final_message()
    else:
        message = server.anthropic.messages.create(**asked)
    calls = [block for block in message.content if block.type == "tool_use"]
    usage = message.usage
    cached = usage.cache_read_input_tokens or 0
    fresh = usage.input_tokens + (usage.cache_creation_input_tokens or 0)
    return Seen(
        "".join(block.text for block in message.content if block.type == "text"),
        tuple((block.name, _canonical(block.input)) for block in calls),
        _stop(message.stop_reason or "", bool(calls)),
        (fresh + cached, usage.output_tokens, cached),
        tuple(block.id for block in calls),
        "".join(block.thinking for block in message.content if block.type == "thinking"),
    )


def _read_chat(server: Loopback, stream: bool) -> Seen:
    asked: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    if stream:
        return _read_chunks(list(server.openai.chat.completions.create(stream=True, **asked)))
    completion = server.openai.chat.completions.create(**asked)
    choice = completion.choices[0]
    calls = [call for call in choice.message.tool_calls or [] if call.type == "function"]
    return Seen(
        (choice.message.content or "") + (choice.message.refusal or ""),
        tuple((call.function.name, _canonical(json.loads(call.function.arguments))) for call in calls),
        _stop(choice.finish_reason, bool(calls)),
        _chat_usage(completion.usage),
        tuple(call.id for call in calls),
        getattr(choice.message, "reasoning_content", None) or "",
    )


def _read_chunks(chunks: list[Any]) -> Seen:
    """A stream put together the way agents do it: calls by their index."""
    choices = [choice for chunk in chunks for choice in chunk.choices if choice.index == 0]
    calls: dict[int, list[str]] = {}
    for piece in [piece for choice in choices for piece in choice.delta.tool_calls or []]:
        held = calls.setdefault(piece.index, ["", "", ""])
        held[0] += piece.id or ""
        if piece.function:
            held[1] += piece.function.name or ""
            held[2] += piece.function.arguments or ""
    ordered = [calls[index] for index in sorted(calls)]
    ends = [choice.finish_reason for choice in choices if choice.finish_reason]
    return Seen(
        "".join((choice.delta.content or "") + (choice.delta.refusal or "") for choice in choices),
        tuple((name, _canonical(json.loads(arguments))) for _, name, arguments in ordered),
        _stop(ends[-1] if ends else "", bool(calls)),
        _chat_usage(next((chunk.usage for chunk in reversed(chunks) if chunk.usage), None)),
        tuple(identity for identity, _, _ in ordered),
        "".join(getattr(choice.delta, "reasoning_content", None) or "" for choice in choices),
    )


def _chat_usage(usage: Any) -> tuple[int, int, int]:
    if usage is None:
        return (0, 0, 0)
    details = usage.prompt_tokens_details
    return (usage.prompt_tokens, usage.completion_tokens, (details.cached_tokens or 0) if details else 0)


def _read_responses(server: Loopback, stream: bool) -> Seen:
    response: Any = None
    if not stream:
        response = server.openai.responses.create(model="m", input="hi")
    else:
        for event in server.openai.responses.create(model="m", input="hi", stream=True):
            if event.type in ("response.completed", "response.incomplete"):
                response = event.response
    calls = [item for item in response.output if item.type == "function_call"]
    texts = [part for item in response.output if item.type == "message" for part in item.content]
    why = response.incomplete_details.reason if response.incomplete_details else response.status
    usage = response.usage
    return Seen(
        "".join(part.text if part.type == "output_text" else part.refusal for part in texts),
        tuple((call.name, _canonical(json.loads(call.arguments))) for call in calls),
        _stop(why, bool(calls)),
        (usage.input_tokens, usage.output_tokens, usage.input_tokens_details.cached_tokens) if usage else (0, 0, 0),
        tuple(call.call_id for call in calls),
        "".join(s.text for item in response.output if item.type == "reasoning" for s in item.summary or []),
    )


def _read_gemini(server: Loopback, stream: bool) -> Seen:
    models = server.gemini.models
    if stream:
        chunks = list(models.generate_content_stream(model="m", contents="hi"))
    else:
        chunks = [models.generate_content(model="m", contents="hi")]
    firsts = [chunk.candidates[0] for chunk in chunks if chunk.candidates]
    parts = [part for one in firsts if one.content for part in one.content.parts or []]
    calls = [part.function_call for part in parts if part.function_call]
    ends = [one.finish_reason for one in firsts if one.finish_reason]
    blocked = any(chunk.prompt_feedback and chunk.prompt_feedback.block_reason for chunk in chunks)
    usage = next((chunk.usage_metadata for chunk in reversed(chunks) if chunk.usage_metadata), None)
    return Seen(
        "".join(part.text or "" for part in parts if not part.thought),
        tuple((call.name or "", _canonical(call.args or {})) for call in calls),
        "filter" if blocked else _stop(ends[-1].value if ends else "", bool(calls)),
        _gemini_usage(usage),
        tuple(call.id or "" for call in calls),
        "".join(part.text or "" for part in parts if part.thought),
    )


def _gemini_usage(usage: Any) -> tuple[int, int, int]:
    if usage is None:
        return (0, 0, 0)
    taken = (usage.prompt_token_count or 0) + (usage.tool_use_prompt_token_count or 0)
    given = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
    return (taken, given, usage.cached_content_token_count or 0)


_STOPS = {
    "end": "end_turn stop_sequence stop completed STOP",
    "calls": "tool_use tool_calls",
    "length": "max_tokens length max_output_tokens MAX_TOKENS model_context_window_exceeded",
    "filter": "refusal content_filter SAFETY RECITATION BLOCKLIST PROHIBITED_CONTENT SPII MODEL_ARMOR",
}
_COARSE = {word: stop for stop, words in _STOPS.items() for word in words.split()}


def _stop(said: str, called: bool) -> str:
    stop = _COARSE.get(said, said)
    return "calls" if called and stop == "end" else stop


_READERS = {
    "anthropic": _read_anthropic,
    "openai-chat": _read_chat,
    "openai-responses": _read_responses,
    "gemini": _read_gemini,
}
