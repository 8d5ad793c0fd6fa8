"""What the official SDKs make of an answer: served to them over loopback, and brought to one form to be compared."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import anthropic
import boto3
import cohere
import ollama
import openai
from botocore.config import Config as BotoConfig
from google import genai
from google.genai import types as gemini_types
from msgspec import Struct
from tests.by_dialect import ByDialect

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
    set_off: str = ""
    """The text with a blank line in the place of each run of the provider's own tools that stands between two texts."""
    set_off_but_for_code: str = ""
    """The same, but for runs of code."""


class ReportedFailure(Exception):
    """A failure that an SDK gives as the last event of a stream, while others raise."""


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
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        url = f"http://127.0.0.1:{self._server.server_address[1]}/now"
        self.anthropic = anthropic.Anthropic(base_url=url, api_key="none", max_retries=0)
        self.anthropic_bedrock = anthropic.AnthropicBedrock(
            base_url=url, api_key="none", aws_region="us-east-1", max_retries=0
        )
        self.openai = openai.OpenAI(base_url=url, api_key="none", max_retries=0)
        self.cohere = cohere.ClientV2(api_key="none", base_url=url)
        options = gemini_types.HttpOptions(base_url=url, retry_options=gemini_types.HttpRetryOptions(attempts=1))
        self.gemini = genai.Client(api_key="none", http_options=options)
        self.ollama = ollama.Client(host=url)
        self.bedrock = boto3.client(
            "bedrock-runtime",
            region_name="us-east-1",
            endpoint_url=url,
            aws_access_key_id="none",
            aws_secret_access_key="none",
            config=BotoConfig(retries={"total_max_attempts": 1}),
        )

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


def _texts_apart(pieces: Sequence[tuple[str | None, str]]) -> tuple[str, str]:
    """What stands in `set_off` and `set_off_but_for_code`, of the texts and the kinds of all pieces of an answer."""
    told = [(text, kind) for text, kind in pieces if kind not in _NO_RUN]
    return _set_off([text for text, _ in told]), _set_off([text for text, kind in told if "code" not in kind])


def _set_off(texts: Iterable[str | None]) -> str:
    """The texts in their order; None: a run of a tool."""
    whole, is_after_run = "", False
    for text in texts:
        if not text:
            is_after_run = is_after_run or text is None
            continue
        is_glued = is_after_run and whole and not whole.endswith("\n") and not text.startswith("\n")
        whole += ("\n\n" if is_glued else "") + text
        is_after_run = False
    return whole


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _arguments(text: str | None) -> str:
    """Arguments that came as text, as dialects that want an object take them: what is none has a name of its own."""
    if (text or "").strip() in ("", "null"):
        return "{}"
    try:
        found = json.loads(text or "")
    except ValueError:
        found = None
    return _canonical(found if isinstance(found, dict) else {"arguments": text})


def _read_anthropic(server: Loopback, stream: bool) -> Seen:
    return _read_messages(server.anthropic, stream)


def read_invoked(server: Loopback, body: bytes, stream: bool) -> Seen:
    """An answer of InvokeModel as Anthropic's SDK for Bedrock reads it."""
    server.serve(body, stream)
    return _read_messages(server.anthropic_bedrock, stream)


def _read_messages(client: anthropic.Anthropic | anthropic.AnthropicBedrock, stream: bool) -> Seen:
    asked: dict[str, Any] = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}
    if stream:
        with client.messages.stream(**asked) as told:
            message = told.get_final_message()
    else:
        message = client.messages.create(**asked)
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
        *_texts_apart([(block.text if block.type == "text" else None, _kind(block)) for block in message.content]),
    )


def _kind(block: Any) -> str:
    """Of Claude's block; of a call of its own tools, the tool."""
    return str(block.name if block.type == "server_tool_use" else block.type)


_NO_RUN = ("thinking", "redacted_thinking", "tool_use", "reasoning", "function_call", "custom_tool_call")
"""Blocks of Claude and items of Responses that are neither a text nor a run of the provider's own tools."""


def _read_chat(server: Loopback, stream: bool) -> Seen:
    asked: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    if stream:
        return _read_chunks(list(server.openai.chat.completions.create(stream=True, **asked)))
    completion = server.openai.chat.completions.create(**asked)
    choice = completion.choices[0]
    message = choice.message
    calls = _chat_calls(message)
    return Seen(
        _chat_text(message.content) + (message.refusal or "") + _spoken(message),
        tuple((name, _arguments(text)) for _, name, text in calls),
        _stop(choice.finish_reason, bool(calls), bool(message.refusal)),
        _chat_usage(completion.usage),
        tuple(identity for identity, _, _ in calls),
        getattr(message, "reasoning_content", None) or "",
    )


def _chat_calls(message: Any) -> list[tuple[str, str, str]]:
    """Calls of functions, of custom tools, and of the old kind, which has no id."""
    calls = []
    for call in message.tool_calls or []:
        function = getattr(call, "function", None)
        calls.append((call.id or "", *(_named(function) if function else (call.custom.name, call.custom.input))))
    old = message.function_call
    return [*calls, *([("", old.name, old.arguments)] if old and old.name else [])]


def _named(function: Any) -> tuple[str, str]:
    """Name and arguments. Arguments that are an object and not its text leave the SDK with a plain dict."""
    if not isinstance(function, dict):
        return function.name, function.arguments
    arguments = function["arguments"]
    return function["name"], arguments if isinstance(arguments, str) else json.dumps(arguments)


def _chat_text(content: Any) -> str:
    """Some servers write the content as a list of parts."""
    if isinstance(content, list):
        return "".join(part.get("text") or "" for part in content if part.get("type") == "text")
    return content or ""


def _read_chunks(chunks: list[Any]) -> Seen:
    """A stream put together the way agents do it: calls by their index."""
    choices = [choice for chunk in chunks for choice in chunk.choices or [] if not choice.index and choice.delta]
    calls: dict[int, list[str]] = {}
    for choice in choices:
        for piece in choice.delta.tool_calls or []:
            custom = getattr(piece, "custom", None) or {}
            _grow(calls, piece.index, piece.id, piece.function, custom)
        if choice.delta.function_call:
            _grow(calls, -1, None, choice.delta.function_call, {})
    ordered = [calls[index] for index in sorted(calls)]
    ends = [choice.finish_reason for choice in choices if choice.finish_reason]
    return Seen(
        "".join(_chat_text(one.delta.content) + (one.delta.refusal or "") + _spoken(one.delta) for one in choices),
        tuple((name, _arguments(arguments)) for _, name, arguments in ordered),
        _stop(ends[-1] if ends else "", bool(calls), any(choice.delta.refusal for choice in choices)),
        _chat_usage(next((chunk.usage for chunk in reversed(chunks) if chunk.usage), None)),
        tuple(identity for identity, _, _ in ordered),
        "".join(getattr(choice.delta, "reasoning_content", None) or "" for choice in choices),
    )


def _spoken(delta: Any) -> str:
    """The words of a sound."""
    sound = getattr(delta, "audio", None)
    return (sound.transcript if sound else "") or ""


def _grow(calls: dict[int, list[str]], index: int, identity: str | None, function: Any, custom: Any) -> None:
    held = calls.setdefault(index, ["", "", ""])
    held[0] = held[0] or identity or ""
    # A few servers repeat the name with every fragment.
    held[1] = held[1] or (function and function.name) or custom.get("name") or ""
    held[2] += (function and function.arguments) or custom.get("input") or ""


def _chat_usage(usage: Any) -> tuple[int, int, int]:
    if usage is None:
        return (0, 0, 0)
    details, more = usage.prompt_tokens_details, usage.model_extra or {}
    cached = (details.cached_tokens if details else 0) or next((more[key] for key in _CACHED if more.get(key)), 0)
    output = usage.completion_tokens or 0
    heard = (details.audio_tokens or 0) if details else 0
    untold = (usage.total_tokens or 0) - usage.prompt_tokens - output
    if untold > 0 and untold == heard:
        return (usage.prompt_tokens + untold, output, cached)
    return (usage.prompt_tokens, output + max(untold, 0), min(cached, usage.prompt_tokens))


_CACHED = ("prompt_cache_hit_tokens", "num_cached_tokens", "cached_tokens", "cache_read_input_tokens")


def _read_responses(server: Loopback, stream: bool) -> Seen:
    response: Any = None
    done: list[Any] = []
    if not stream:
        response = server.openai.responses.create(model="m", input="hi")
    else:
        for event in server.openai.responses.create(model="m", input="hi", stream=True):
            if event.type == "response.output_item.done":
                done.append(event.item)
            elif event.type in ("response.completed", "response.incomplete"):
                response = event.response
    # Who asks that nothing be stored gets an empty output at the end: the items were told before.
    output = response.output or done
    calls = [item for item in output if item.type in ("function_call", "custom_tool_call")]
    refused = any(part.type == "refusal" for item in output if item.type == "message" for part in item.content)
    texts = [part for item in output if item.type == "message" for part in item.content]
    why = response.incomplete_details.reason if response.incomplete_details else response.status
    return Seen(
        "".join(map(_words, texts)),
        tuple((one.name, _arguments(one.arguments if one.type == "function_call" else one.input)) for one in calls),
        _stop(why, bool(calls), refused),
        _responses_usage(response.usage),
        tuple(call.call_id for call in calls),
        "".join(s.text for item in output if item.type == "reasoning" for s in item.summary or []),
        *_texts_apart(
            [("".join(map(_words, item.content)) if item.type == "message" else None, item.type) for item in output]
        ),
    )


def _words(part: Any) -> str:
    return part.text if part.type == "output_text" else part.refusal


def _responses_usage(usage: Any) -> tuple[int, int, int]:
    if usage is None:
        return (0, 0, 0)
    cached = (usage.input_tokens_details.cached_tokens if usage.input_tokens_details else 0) or 0
    return (usage.input_tokens, usage.output_tokens, min(cached, usage.input_tokens))


def _read_gemini(server: Loopback, stream: bool) -> Seen:
    models = server.gemini.models
    if stream:
        chunks = list(models.generate_content_stream(model="m", contents="hi"))
    else:
        chunks = [models.generate_content(model="m", contents="hi")]
    firsts = [one for chunk in chunks for one in chunk.candidates or [] if not one.index]
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


_COHERE_ONCE: Any = {"max_retries": 0}


def _read_cohere(server: Loopback, stream: bool) -> Seen:
    asked: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    if stream:
        return _read_cohere_events(list(server.cohere.chat_stream(**asked, request_options=_COHERE_ONCE)))
    answer = server.cohere.chat(**asked, request_options=_COHERE_ONCE)
    message = answer.message
    calls = message.tool_calls or []
    blocks = message.content or []
    return Seen(
        "".join(block.text for block in blocks if block.type == "text") + (message.tool_plan or ""),
        tuple((call.function.name or "", _arguments(call.function.arguments)) for call in calls if call.function),
        _stop(str(answer.finish_reason), bool(calls)),
        _cohere_usage(answer.usage),
        tuple(call.id for call in calls),
        "".join(block.thinking for block in blocks if block.type == "thinking"),
    )


def _read_cohere_events(events: list[Any]) -> Seen:
    """A stream put together as Cohere's guides do it: content and calls by their index, the plan apart."""
    blocks: dict[int, list[str]] = {}
    calls: dict[int, list[str]] = {}
    plan, end = "", None
    for event in events:
        message = getattr(event.delta, "message", None) if getattr(event, "delta", None) is not None else None
        if event.type == "content-start":
            blocks[event.index] = [message.content.type, getattr(message.content, message.content.type) or ""]
        elif event.type == "content-delta":
            content = message.content
            blocks[event.index][1] += getattr(content, blocks[event.index][0]) or ""
        elif event.type == "tool-plan-delta":
            plan += message.tool_plan
        elif event.type == "tool-call-start":
            call = message.tool_calls
            calls[event.index] = [call.id, call.function.name, call.function.arguments or ""]
        elif event.type == "tool-call-delta":
            calls[event.index][2] += message.tool_calls.function.arguments
        elif event.type == "message-end":
            end = event.delta
    assert end is not None, "a stream without its end"
    if getattr(end, "error", None) is not None:
        raise ReportedFailure(end.error)
    ordered = [calls[index] for index in sorted(calls)]
    said = [blocks[index] for index in sorted(blocks)]
    return Seen(
        "".join(text for kind, text in said if kind == "text") + plan,
        tuple((name, _arguments(arguments)) for _, name, arguments in ordered),
        _stop(str(end.finish_reason), bool(calls)),
        _cohere_usage(end.usage),
        tuple(identity for identity, _, _ in ordered),
        "".join(text for kind, text in said if kind == "thinking"),
    )


def _cohere_usage(usage: Any) -> tuple[int, int, int]:
    if usage is None or usage.tokens is None:
        return (0, 0, 0)
    tokens = usage.tokens
    return (int(tokens.input_tokens or 0), int(tokens.output_tokens or 0), int(usage.cached_tokens or 0))


def _read_bedrock(server: Loopback, stream: bool) -> Seen:
    asked: dict[str, Any] = {"modelId": "m", "messages": [{"role": "user", "content": [{"text": "hi"}]}]}
    if stream:
        blocks, stop, usage = _joined_blocks(list(server.bedrock.converse_stream(**asked)["stream"]))
    else:
        answer = server.bedrock.converse(**asked)
        blocks, stop, usage = answer["output"]["message"]["content"], answer["stopReason"], answer.get("usage", {})
    calls = [block["toolUse"] for block in blocks if "toolUse" in block and block["toolUse"].get("type") in _OWN]
    thoughts = [block["reasoningContent"].get("reasoningText", {}) for block in blocks if "reasoningContent" in block]
    cached = usage.get("cacheReadInputTokens", 0)
    taken = usage.get("inputTokens", 0) + usage.get("cacheWriteInputTokens", 0) + cached
    return Seen(
        "".join(map(_block_text, blocks)),
        tuple((call["name"], _canonical(call["input"])) for call in calls),
        _stop(stop, bool(calls)),
        (taken, usage.get("outputTokens", 0), cached),
        tuple(call["toolUseId"] for call in calls),
        "".join(thought.get("text", "") for thought in thoughts),
    )


_OWN = (None, "tool_use")


def _block_text(block: Any) -> str:
    cited = block.get("citationsContent", {}).get("content", [])
    return block.get("text", "") + "".join(one["text"] for one in cited)


def _joined_blocks(events: list[Any]) -> tuple[list[Any], str, Any]:
    """The blocks of a stream, as boto3's users put them together."""
    blocks: dict[int, Any] = {}
    stop, usage = "", {}
    for event in events:
        if "contentBlockStart" in event:
            head = event["contentBlockStart"]
            blocks[head["contentBlockIndex"]] = {key: {**value, "input": ""} for key, value in head["start"].items()}
        elif "contentBlockDelta" in event:
            piece = event["contentBlockDelta"]
            _grow_block(blocks.setdefault(piece["contentBlockIndex"], {}), piece["delta"])
        stop = event["messageStop"]["stopReason"] if "messageStop" in event else stop
        usage = event["metadata"].get("usage", {}) if "metadata" in event else usage
    joined = [blocks[index] for index in sorted(blocks)]
    for block in joined:
        if "toolUse" in block:
            block["toolUse"]["input"] = json.loads(_arguments(block["toolUse"]["input"]))
    return joined, stop, usage


def _grow_block(block: Any, delta: Any) -> None:
    if "text" in delta:
        block["text"] = block.get("text", "") + delta["text"]
    elif "toolUse" in delta:
        block["toolUse"]["input"] += delta["toolUse"]["input"]
    elif "reasoningContent" in delta:
        text = block.setdefault("reasoningContent", {}).setdefault("reasoningText", {})
        text["text"] = text.get("text", "") + delta["reasoningContent"].get("text", "")


_STOPS = {
    "end": "end_turn stop_sequence stop eos completed complete STOP COMPLETE STOP_SEQUENCE",
    "calls": "tool_use tool_calls function_call TOOL_CALL",
    "length": "max_tokens length max_output_tokens MAX_TOKENS model_context_window_exceeded",
    "filter": "refusal content_filter content_filtered guardrail_intervened ERROR SAFETY RECITATION BLOCKLIST "
    "PROHIBITED_CONTENT SPII MODEL_ARMOR",
}
_COARSE = {word: stop for stop, words in _STOPS.items() for word in words.split()}


def _stop(said: str, called: bool, refused: bool = False) -> str:
    """What the answer itself shows counts more than the word that ends it."""
    stop = _COARSE.get(said, said)
    if stop not in ("", "end", "calls"):
        return stop
    return "calls" if called else "filter" if refused else "end"


def _read_ollama(server: Loopback, stream: bool) -> Seen:
    """Its types have no ids of calls, and it counts no cached tokens."""
    asked: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    whole = [] if stream else [server.ollama.chat(stream=False, **asked)]
    answers = [*whole, *(server.ollama.chat(stream=True, **asked) if stream else ())]
    calls = [call.function for answer in answers for call in answer.message.tool_calls or ()]
    last = answers[-1]
    assert last.done
    return Seen(
        "".join(answer.message.content or "" for answer in answers),
        tuple((call.name, _canonical(dict(call.arguments))) for call in calls),
        _stop(last.done_reason or "", bool(calls)),
        (last.prompt_eval_count or 0, last.eval_count or 0, 0),
        ("",) * len(calls),
        "".join(answer.message.thinking or "" for answer in answers),
    )


WITHOUT_IDS = ("ollama",)
"""Dialects whose SDKs do not show the ids of calls."""
_READERS = ByDialect(
    "tests/sdk_readers.py, who reads its answers",
    {
        "anthropic": _read_anthropic,
        "openai-chat": _read_chat,
        "openai-responses": _read_responses,
        "gemini": _read_gemini,
        "ollama": _read_ollama,
        "cohere": _read_cohere,
        "bedrock": _read_bedrock,
    },
)
