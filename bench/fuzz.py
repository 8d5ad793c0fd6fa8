"""Random bytes and damaged structures into every parser: nothing but our own errors may come out.

    python bench/fuzz.py [--minutes 10] [--seed N]

Prints what it tried; on a fault the seed and the input that caused it, and exits with 1.
"""

from __future__ import annotations

import argparse
import copy
import gzip
import json
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import contextlib

import fuzz_http
from tests.hostile.table import ERRORS
from tests.targets import OWN

from dragoman.config.known_names import KnownNames
from dragoman.config.load import parse
from dragoman.config.variables import Environment
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.dialect_names import DIALECT_NAMES
from dragoman.dialects.dialect import AnswerContext
from dragoman.engine.answer.translation import Translation
from dragoman.engine.exchange.lessons import is_recognised, learn
from dragoman.engine.library.adapt import adapt
from dragoman.errors import DragomanError, MalformedRequest, RequestError
from dragoman.gateway.http.body_decompression import BadEncoding, TooLargeDecompressed, decompress
from dragoman.profiles.profile import Profiles
from dragoman.rules.schema import FORMS, compile_schema
from dragoman.wire.error_bodies import parse_failure
from dragoman.wire.multipart import BadForm, form_boundary, parse_form, render_form
from dragoman.wire.structured_fields import parse_dictionary

FACTS = Profiles().target("openai/gpt-5.6").facts
EMPTY = Conversation(())

TARGETS = (
    "openai/gpt-4o",
    "openai/gpt-5.6",
    "openai-responses/gpt-5.6",
    "anthropic/claude-sonnet-4-5",
    "anthropic/claude-opus-4-8",
    "gemini/gemini-2.5-flash",
    "gemini/gemini-3-pro-preview",
    "mistral/mistral-large-latest",
    "deepseek/deepseek-v4-flash",
    "strict-template/m",
    "gemini-compatible/m",
    "ollama/qwen3:8b",
    "cohere/command-a-03-2025",
    "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "bedrock/amazon.nova-lite-v1:0",
)

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": ["string", "null"], "enum": ["x", 1]}, "default": {"$ref": "#/$defs/d"}},
    "$defs": {"d": {"anyOf": [{"const": 1}, {"type": "array"}]}},
    "required": ["a"],
}
REQUESTS: dict[str, dict[str, Any]] = {
    "openai-chat": {
        "model": "m",
        "messages": [
            {"role": "system", "content": "s"},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "é"},
                    {"type": "image_url", "image_url": {"url": "http://x/y.png"}},
                ],
            },
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c.1", "type": "function", "function": {"name": "a.b", "arguments": "{}"}}],
            },
            {"role": "tool", "tool_call_id": "c.1", "content": "r"},
        ],
        "tools": [{"type": "function", "function": {"name": "a.b", "parameters": SCHEMA, "strict": True}}],
        "temperature": 1.5,
        "stop": ["x"],
        "reasoning_effort": "high",
    },
    "anthropic": {
        "model": "m",
        "max_tokens": 10,
        "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
        "thinking": {"type": "enabled", "budget_tokens": 2000},
        "messages": [
            {"role": "user", "content": "u"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "t", "signature": "QQ=="},
                    {"type": "tool_use", "id": "i", "name": "n", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "i", "content": [{"type": "text", "text": "r"}]},
                    {"type": "text", "text": "x"},
                ],
            },
        ],
        "tools": [{"name": "n", "input_schema": SCHEMA}],
    },
    "gemini": {
        "systemInstruction": {"parts": [{"text": "s"}]},
        "contents": [
            {"role": "user", "parts": [{"text": "u"}, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]},
            {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "QQ=="}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": "x"}}}]},
        ],
        "tools": [{"functionDeclarations": [{"name": "f", "parameters": {"type": "OBJECT"}}]}],
        "generationConfig": {"temperature": 0.5, "thinkingConfig": {"thinkingBudget": 100}},
    },
    "openai-responses": {
        "model": "m",
        "instructions": "i",
        "input": [
            {"role": "developer", "content": "d"},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "u"}]},
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "QQ=="},
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "x"},
        ],
        "tools": [{"type": "function", "name": "f", "parameters": SCHEMA}, {"type": "web_search"}],
        "reasoning": {"effort": "low"},
    },
}
STREAMS: dict[str, bytes] = {
    "openai-chat": b'data: {"id":"x","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"a"}}]}\n\n'
    b'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}]}}]}\n\n'
    b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}\n\ndata: [DONE]\n\n',
    "anthropic": b'event: message_start\ndata: {"type":"message_start","message":{"id":"m","role":"assistant","content":[],"usage":{"input_tokens":1}}}\n\n'
    b'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n'
    b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}\n\n'
    b'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n'
    b'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}\n\n'
    b'event: message_stop\ndata: {"type":"message_stop"}\n\n',
    "gemini": b'data: {"candidates":[{"content":{"role":"model","parts":[{"text":"a"},{"functionCall":{"name":"f","args":{}}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":2}}\r\n\r\n',
    "openai-responses": b'event: response.created\ndata: {"type":"response.created","sequence_number":0,"response":{"id":"r","model":"m","output":[]}}\n\n'
    b'event: response.output_item.added\ndata: {"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m","role":"assistant","content":[]}}\n\n'
    b'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","output_index":0,"content_index":0,"item_id":"m","delta":"a"}\n\n'
    b'event: response.completed\ndata: {"type":"response.completed","response":{"id":"r","model":"m","status":"completed","output":[],"usage":{"input_tokens":1,"output_tokens":2}}}\n\n',
}
REPLY = (
    b'{"id":"x","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"tool_calls",'
    b'"message":{"role":"assistant","content":"a","tool_calls":[{"id":"c","type":"function","function":{"name":"f",'
    b'"arguments":"{}"}}]}}],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}'
)
ANSWERING = AnswerContext(model="m", id="x", include_usage=True)


def told(dialect: str) -> bytes:
    """The stream of Chat in another dialect."""
    translation = Translation("openai-chat", dialect, context=ANSWERING)
    return translation.feed(STREAMS["openai-chat"]) + translation.close()


# The samples of the dialects that have none of their own.
_WRITERS = {dialect: OWN[dialect] for dialect in DIALECT_NAMES if dialect not in REQUESTS}
REQUESTS |= {
    dialect: json.loads(adapt(REQUESTS["openai-chat"], source="openai-chat", target=target).body)
    for dialect, target in _WRITERS.items()
}
STREAMS |= {dialect: told(dialect) for dialect in _WRITERS}
REPLIES = {
    dialect: json.loads(Translation("openai-chat", dialect, context=ANSWERING).whole(REPLY))
    for dialect in DIALECT_NAMES
}
FORM_TYPE = b"multipart/form-data; boundary=b"
FORM = (
    b'--b\r\ncontent-disposition: form-data; name="model"\r\n\r\nm\r\n'
    b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\nContent-Type: audio/wav\r\n\r\nRIFF\r\n'
    b"--b--\r\n"
)
ODD: list[Any] = [
    None,
    True,
    0,
    -1,
    1e308,
    "",
    " ",
    "\ud800",
    "x" * 70,
    [],
    {},
    [[]],
    {"": None},
    "{",
    "data:image/png;base64,",
    "\x00",
    "é\u2028",
]


class Fuzzer:
    """Draws inputs from a seed and keeps count."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.counts: Counter[str] = Counter()
        self.last: Any = None
        self.http = fuzz_http.HttpFuzz()

    def damaged(self, value: Any) -> Any:
        """The value with a few places changed, removed or doubled."""
        value = copy.deepcopy(value)
        for _ in range(self.random.randint(1, 4)):
            self._damage(value)
        return value

    def _damage(self, value: Any) -> None:
        while isinstance(value, (dict, list)) and value:
            keys = list(value) if isinstance(value, dict) else list(range(len(value)))
            key = self.random.choice(keys)
            if self.random.random() < 0.4 or not isinstance(value[key], (dict, list)):
                self._hit(value, key)
                return
            value = value[key]

    def _hit(self, holder: Any, key: Any) -> None:
        match self.random.randrange(4):
            case 0:
                del holder[key]
            case 1:
                holder[key] = copy.deepcopy(self.random.choice(ODD))
            case 2 if isinstance(holder, list):
                holder.insert(self.random.randint(0, len(holder)), copy.deepcopy(holder[key]))
            case _ if isinstance(holder, dict):
                holder[self.random.choice(["done", "name", "type", "role", "content", "x"])] = copy.deepcopy(
                    self.random.choice(ODD)
                )
            case _:
                holder[key] = {"type": self.random.choice(["text", "tool_use", "zzz"])}

    def scrambled(self, data: bytes) -> bytes:
        """Bytes flipped, cut, doubled or put in."""
        out = bytearray(data)
        for _ in range(self.random.randint(1, 8)):
            at = self.random.randrange(len(out) + 1)
            match self.random.randrange(4):
                case 0:
                    out[at : at + self.random.randint(1, 9)] = b""
                case 1:
                    out[at:at] = self.random.randbytes(self.random.randint(1, 5))
                case 2:
                    out[at : at + 1] = self.random.choice([b'"', b"{", b"]", b"\\", b"\n\n", b"\r", b":", b"\xff"])
                case _:
                    out[at:at] = out[: self.random.randint(0, 60)]
        return bytes(out)

    def damaged_body(self, sample: dict[str, Any]) -> bytes:
        """JSON with something odd inside, or bytes that may be none."""
        if self.random.random() < 0.3:
            return self.scrambled(json.dumps(sample).encode())
        return json.dumps(self.damaged(sample), ensure_ascii=self.random.random() < 0.5).encode(
            "utf-8", "surrogatepass"
        )

    def request(self) -> None:
        dialect = self.random.choice(DIALECT_NAMES)
        target = self.random.choice(TARGETS)
        body = self.damaged_body(REQUESTS[dialect])
        self.last = (dialect, target, body)
        adapt(body, source=self.random.choice([dialect, "auto"]), target=target)

    def stream(self) -> None:
        upstream, client = self.random.choice(DIALECT_NAMES), self.random.choice(DIALECT_NAMES)
        data = self.scrambled(STREAMS[upstream])
        size = self.random.choice([1, 3, 17, 4096])
        self.last = (upstream, client, size, data)
        translation = Translation(upstream, client, context=AnswerContext(model="m", id="x", include_usage=True))
        for start in range(0, len(data), size):
            translation.feed(data[start : start + size])
        translation.close()

    def reply(self) -> None:
        upstream, client = self.random.choice(DIALECT_NAMES), self.random.choice(DIALECT_NAMES)
        body = self.damaged_body(REPLIES[upstream])
        self.last = (upstream, client, body)
        Translation(upstream, client, context=AnswerContext(model="m", id="x")).whole(body)

    def failure(self) -> None:
        body = self.scrambled(
            b'{"error":{"message":"no","type":"t","code":400,"metadata":{"raw":"{\\"error\\":{\\"message\\":\\"x\\"}}"}}}'
        )
        self.last = body
        wait = self.random.choice(["1", "x", "-1", "", "inf", "nan", "9" * 500, "Fri, 31 Dec 9999 23:59:59 GMT"])
        name = self.random.choice(["retry-after", "retry-after-ms", "date", "x-amzn-errortype"])
        parse_failure(self.random.choice([0, 200, 400, 429, 500]), {name: wait, "retry-after": wait}, body)

    def form(self) -> None:
        """A form that is read is written so that it is read alike."""
        kind = self.scrambled(b"multipart/form-data; boundary=b") if self.random.random() < 0.3 else FORM_TYPE
        body = self.scrambled(FORM)
        self.last = (kind, body)
        try:
            boundary = form_boundary(kind.decode("latin-1"))
            parts = parse_form(body, boundary) if boundary is not None else []
        except BadForm as fault:
            raise RequestError(str(fault)) from None
        again = parse_form(render_form(parts)[1], form_boundary(render_form(parts)[0]) or "") if parts else []
        assert [part.content for part in again] == [part.content for part in parts]

    def error_body(self) -> None:
        """The errors of the table of hostile inputs, damaged."""
        line = self.random.choice(ERRORS)
        _, _, body = line.make(self.random.choice([1, 3, 40])).partition(b"\r\n\r\n")
        body = self.scrambled(body or b" ")
        self.last = (line.name, body)
        failure = parse_failure(self.random.choice([200, 400, 429, 500]), self.headers(), body)
        learn(failure, FACTS, EMPTY)
        is_recognised(failure)

    def headers(self) -> dict[str, str]:
        names = ["retry-after", "retry-after-ms", "date", "x-amzn-errortype", "x-dragoman-rules", "anthropic-beta"]
        return {name: self.scrambled(b"1, a=b").decode("latin-1") for name in self.random.sample(names, 3)}

    def header(self) -> None:
        text = self.scrambled(b'late-system=user, many-systems="a\\"b", x=?0').decode("latin-1")
        encoding = self.scrambled(b"gzip, deflate").decode("latin-1")
        self.last = (text, encoding)
        adapt(REQUESTS["anthropic"], source="anthropic", target="anthropic/claude-opus-4-8", headers=self.headers())
        with contextlib.suppress(BadEncoding, TooLargeDecompressed):
            decompress(self.scrambled(gzip.compress(b"{}")), encoding, 1 << 16, 2)
        try:
            parse_dictionary(text)
        except ValueError as fault:
            raise MalformedRequest(str(fault)) from None

    def http_request(self) -> None:
        """Request lines, headers, chunks and trailers to the gateway."""
        data, cuts = self.wire(fuzz_http.REQUESTS)
        self.last = (data, cuts)
        if not self.http.requests(data, cuts):
            raise MalformedRequest("nothing was read")

    def http_answer(self) -> None:
        """Status lines, headers, chunks and trailers from a provider."""
        data, cuts = self.wire(fuzz_http.ANSWERS)
        self.last = (data, cuts)
        if not self.http.answer(data, cuts):
            raise MalformedRequest("nothing was read")

    def wire(self, seeds: tuple[bytes, ...]) -> tuple[bytes, list[int]]:
        """HTTP with a few pieces changed, and where to cut it."""
        out = bytearray(self.random.choice(seeds))
        for _ in range(self.random.randint(0, 3)):
            start = self.random.randrange(len(out) + 1)
            size = self.random.choice([0, 0, 1, 2, 8])
            out[start : start + size] = self.random.choice([b"", *fuzz_http.PIECES])
        if self.random.random() < 0.2:
            out = bytearray(self.scrambled(bytes(out)))
        return bytes(out), [self.random.randrange(len(out) + 1) for _ in range(self.random.choice([1, 3, 40]))]

    def schema(self) -> None:
        schema = json.dumps(self.damaged(SCHEMA)).encode()
        form = self.random.choice(sorted(FORMS))
        self.last = (form, schema)
        compile_schema(schema, FORMS[form])

    def config(self) -> None:
        text = self.scrambled(
            b"providers:\n  a: {profile: anthropic, api_key: k}\nmodels:\n  m: {target: a/x, options: {t: 1}}\n"
        )
        self.last = text
        parse(text.decode("utf-8", "replace"), known=KnownNames(), variables=Environment({}, {}))


PARSERS: tuple[Callable[[Fuzzer], None], ...] = (
    Fuzzer.request,
    Fuzzer.request,
    Fuzzer.request,
    Fuzzer.stream,
    Fuzzer.stream,
    Fuzzer.reply,
    Fuzzer.failure,
    Fuzzer.error_body,
    Fuzzer.form,
    Fuzzer.header,
    Fuzzer.http_request,
    Fuzzer.http_request,
    Fuzzer.http_answer,
    Fuzzer.schema,
    Fuzzer.config,
)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--minutes", type=float, default=10)
    options.add_argument("--seed", type=int, default=int(time.time()))
    options.add_argument("--only", default="", help="parsers whose name contains this word")
    given = options.parse_args()
    fuzzer = Fuzzer(given.seed)
    chosen = [parser for parser in PARSERS if given.only in parser.__name__]
    ends = time.monotonic() + given.minutes * 60
    while time.monotonic() < ends:
        work = fuzzer.random.choice(chosen)
        try:
            work(fuzzer)
            fuzzer.counts[f"{work.__name__} read"] += 1
        except DragomanError:
            fuzzer.counts[f"{work.__name__} refused"] += 1
        except Exception:
            traceback.print_exc()
            print(f"seed {given.seed}, {work.__name__}: {fuzzer.last!r}")
            return 1
    print(f"seed {given.seed}: " + ", ".join(f"{name} {count}" for name, count in sorted(fuzzer.counts.items())))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
