"""The table of hostile inputs. Add yours with one line: it is sent to a running gateway by `make hostile`, in small by
`make test`, and among other traffic by `make soak`.

A line has a name, what makes the bytes from a number, and the statuses that are a good answer to it. `count` is the
number for `make hostile`; the tests use small ones. `REQUESTS` are bodies by dialect, `RAW` whole HTTP requests,
`ANSWERS`, `STREAMS` and `ERRORS` what a provider answers, `CONFIGS` configuration files.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.hostile.bodies import DIALECTS, PATHS, body, calls, dump, results, texts, tool, user

REFUSED = frozenset({400, 413, 415, 422})
SERVED = frozenset({200})
EITHER = REFUSED | SERVED
FAILED = frozenset({200, 400, 401, 403, 404, 413, 422, 429, 500, 502, 503, 504, 529})
"""What a client may be told of a provider that answers nonsense."""


class Request(NamedTuple):
    """A body that a client of any dialect sends."""

    name: str
    make: Callable[[str, int], bytes]
    count: int
    good: frozenset[int] = EITHER
    dialects: tuple[str, ...] = DIALECTS


class Raw(NamedTuple):
    """A whole HTTP request."""

    name: str
    make: Callable[[int], bytes]
    count: int
    good: frozenset[int] = EITHER
    is_heavy: bool = False
    """One request that holds many values."""


class Answer(NamedTuple):
    """What a provider answers: the whole HTTP response."""

    name: str
    dialect: str
    make: Callable[[int], bytes]
    count: int
    stream: bool = False
    good: frozenset[int] = FAILED


class Config(NamedTuple):
    """A configuration file: loaded, or refused with its reason."""

    name: str
    make: Callable[[int], str]
    count: int


# Requests.


def nested(depth: int, opening: str = "[", closing: str = "]") -> str:
    return opening * depth + closing * depth


def _ids(count: int) -> list[str]:
    return [f"call_{number}" for number in range(count)]


def _schema(dialect: str, schema: Any) -> bytes:
    return dump(body(dialect, [user(dialect)], [tool(dialect, schema=schema)]))


def _raw_schema(dialect: str, schema: str) -> bytes:
    return _schema(dialect, "SCHEMA").replace(b'"SCHEMA"', schema.encode())


def _text(dialect: str, raw: str | bytes) -> bytes:
    """A user's text, as it stands between the quotes of the JSON."""
    return dump(body(dialect, [user(dialect, "TEXT")])).replace(
        b"TEXT", raw if isinstance(raw, bytes) else raw.encode()
    )


def _extra(dialect: str, raw: str) -> bytes:
    return dump(body(dialect, [user(dialect)], None, extra="EXTRA")).replace(b'"EXTRA"', raw.encode())


def _image(dialect: str, url: str) -> bytes:
    if dialect == "openai-chat":
        part: Any = {"type": "image_url", "image_url": {"url": url}}
    elif dialect == "openai-responses":
        part = {"type": "input_image", "image_url": url}
    elif dialect == "anthropic":
        source = {"type": "base64", "media_type": "image/png", "data": url.partition("base64,")[2] or url}
        part = {"type": "image", "source": source}
    else:
        part = {"inlineData": {"mimeType": "image/png", "data": url.partition("base64,")[2] or url}}
    turn = texts(dialect, "user", ["x"])
    turn["parts" if dialect == "gemini" else "content"].append(part)
    return dump(body(dialect, [turn]))


def _odd_parts(dialect: str, part: Any, count: int) -> dict[str, Any]:
    return {"role": "user", "parts" if dialect == "gemini" else "content": [part] * count}


def _doubling(count: int) -> dict[str, Any]:
    """Each definition uses the one below twice: two to the power of count."""
    levels = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(count)}
    return {"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": {**levels, f"d{count}": {}}}


def _chain(count: int) -> dict[str, Any]:
    links = {f"d{n}": {"$ref": f"#/$defs/d{(n + 1) % count}"} for n in range(count)}
    return {"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": links}


REQUESTS: tuple[Request, ...] = (
    Request("many messages", lambda d, n: dump(body(d, [user(d)] * n)), 60_000),
    Request("as many messages as allowed", lambda d, n: dump(body(d, [user(d)] * n)), 10_000),
    Request("turns that alternate", lambda d, n: dump(body(d, [user(d), texts(d, "assistant", ["a"])] * n)), 5_000),
    Request("many parts", lambda d, n: dump(body(d, [texts(d, "user", ["a"] * n)])), 60_000),
    Request(
        "a million parts",
        lambda d, n: dump(body(d, [texts(d, "user", [""])])).replace(b"]", b"," + b"{}," * n + b"{}]", 1),
        1_000_000,
    ),
    Request("empty parts", lambda d, n: dump(body(d, [texts(d, "user", [""] * n)])), 20_000),
    Request(
        "late system messages", lambda d, n: dump(body(d, [user(d), {"role": "system", "content": "s"}] * n)), 4_000
    ),
    Request("unknown roles", lambda d, n: dump(body(d, [{"role": f"r{k}", "content": "s"} for k in range(n)])), 8_000),
    Request("calls with one id", lambda d, n: dump(body(d, [user(d), *calls(d, ["c"] * n)])), 9_000),
    Request(
        "calls and results with one id",
        lambda d, n: dump(body(d, [user(d), *calls(d, ["c"] * n), *results(d, ["c"] * n)])),
        4_000,
    ),
    Request(
        "calls and results", lambda d, n: dump(body(d, [user(d), *calls(d, _ids(n)), *results(d, _ids(n))])), 4_000
    ),
    Request(
        "results in reverse",
        lambda d, n: dump(body(d, [user(d), *calls(d, _ids(n)), *results(d, _ids(n)[::-1])])),
        4_000,
    ),
    Request("results without calls", lambda d, n: dump(body(d, [user(d), *results(d, _ids(n))])), 8_000),
    Request(
        "calls without ids", lambda d, n: dump(body(d, [user(d), *calls(d, [""] * n), *results(d, [""] * n)])), 4_000
    ),
    Request(
        "a long id", lambda d, n: dump(body(d, [user(d), *calls(d, ["c" * n]), *results(d, ["c" * n])])), 4_000_000
    ),
    Request("a long name of a call", lambda d, n: dump(body(d, [user(d), *calls(d, ["c"], "{}", "f" * n)])), 4_000_000),
    Request(
        "a long name of a tool", lambda d, n: dump(body(d, [user(d)], [tool(d, "f" * (n + 2_000))])), 4_000_000, REFUSED
    ),
    Request("many tools", lambda d, n: dump(body(d, [user(d)], [tool(d, f"f{k}") for k in range(n)])), 1_900),
    Request("too many tools", lambda d, n: dump(body(d, [user(d)], [tool(d, f"f{k}") for k in range(n)])), 9_000),
    Request("tools with one name", lambda d, n: dump(body(d, [user(d)], [tool(d)] * n)), 1_900),
    Request(
        "odd names of tools", lambda d, n: dump(body(d, [user(d)], [tool(d, f"a.b/{k} é") for k in range(n)])), 1_900
    ),
    Request("a deep schema", lambda d, n: _raw_schema(d, nested(n, '{"type":"object","properties":{"a":', "}}")), 400),
    Request("a bottomless schema", lambda d, n: _raw_schema(d, nested(n, '{"items":', "}")), 90_000),
    Request(
        "a wide schema",
        lambda d, n: _schema(d, {"type": "object", "properties": {f"p{k}": {"type": "string"} for k in range(n)}}),
        30_000,
    ),
    Request("a schema that doubles", lambda d, n: _schema(d, _doubling(n)), 60),
    Request("a schema that refers in a circle", lambda d, n: _schema(d, _chain(n)), 5_000),
    Request(
        "a schema of alternatives",
        lambda d, n: _schema(d, {"anyOf": [{"type": "string", "const": f"{k}"} for k in range(n)]}),
        30_000,
    ),
    Request(
        "a long enumeration", lambda d, n: _schema(d, {"type": "string", "enum": [f"{k}" for k in range(n)]}), 90_000
    ),
    Request("a long pattern in a schema", lambda d, n: _schema(d, {"type": "string", "pattern": "(a+)+" * n}), 100_000),
    Request(
        "a schema of required names",
        lambda d, n: _schema(d, {"type": "object", "properties": {}, "required": [f"r{k}" for k in range(n)]}),
        90_000,
    ),
    Request(
        "deep arguments",
        lambda d, n: dump(body(d, [user(d), *calls(d, ["c"], "{}")])).replace(
            b'{}"', b'{\\"a\\":' + nested(n).encode() + b'}"', 1
        ),
        5_000,
    ),
    Request(
        "arguments that are cut off",
        lambda d, n: dump(body(d, [user(d), *calls(d, ["c"], "{}")])).replace(
            b'"{}"', b'"{\\"a\\": [' + b"1," * n + b'"', 1
        ),
        90_000,
    ),
    Request(
        "arguments that are no JSON",
        lambda d, n: dump(body(d, [user(d), *calls(d, ["c"], "{}")])).replace(b'"{}"', b'"' + b'\\"' * n + b'"', 1),
        1_000_000,
    ),
    Request("a deep unknown field", lambda d, n: _extra(d, nested(n)), 900),
    Request("a bottomless unknown field", lambda d, n: _extra(d, nested(n)), 90_000),
    Request("a bottomless object", lambda d, n: _extra(d, nested(n, '{"a":', "}")), 90_000),
    Request("many unknown fields", lambda d, n: dump({**body(d, [user(d)]), **{f"x{k}": k for k in range(n)}}), 90_000),
    Request(
        "many unknown fields in a message",
        lambda d, n: dump(body(d, [{**user(d), **{f"x{k}": k for k in range(n)}}])),
        90_000,
    ),
    Request("a list of numbers", lambda d, n: _extra(d, "[" + "0," * n + "0]"), 5_000_000),
    Request("an object of names", lambda d, n: _extra(d, "{" + ",".join(f'"{k}":0' for k in range(n)) + "}"), 99_000),
    Request("a long text", lambda d, n: _text(d, "a" * n), 15_000_000, SERVED),
    Request("a text of newlines", lambda d, n: _text(d, "\\n" * n), 1_900_000, SERVED),
    Request("a text of too many newlines", lambda d, n: _text(d, "\\n" * n), 8_000_000, REFUSED),
    Request("a text of escapes", lambda d, n: _text(d, "\\u00e9" * n), 1_900_000, SERVED),
    Request("one lone surrogate among escapes", lambda d, n: _text(d, "\\ud800" + "\\n" * n), 1_900_000, SERVED),
    Request("lone surrogates", lambda d, n: _text(d, "\\ud800" * n), 1_900_000, SERVED),
    Request("pairs in the wrong order", lambda d, n: _text(d, "\\ude00\\ud83d" * n), 900_000, SERVED),
    Request("backslashes before a surrogate", lambda d, n: _text(d, "\\\\" * n + "\\ud800"), 900_000, SERVED),
    Request("a text of keys", lambda d, n: _text(d, "eyJ-" * n), 1_000_000, SERVED),
    Request(
        "a text of words that look like secrets", lambda d, n: _text(d, "Bearer sk- api_key= " * n), 200_000, SERVED
    ),
    Request("a text of braces", lambda d, n: _text(d, "{[,]}" * n), 3_000_000, SERVED),
    Request("a text of combining marks", lambda d, n: _text(d, "a" + "\u0301" * n), 4_000_000, SERVED),
    Request("a text of message ids", lambda d, n: _text(d, "[message_id:" * n), 400_000, SERVED),
    Request("a text of spaces", lambda d, n: _text(d, " " * n), 8_000_000),
    Request("a byte that is not UTF-8", lambda d, n: _text(d, b"a" * n + b"\xff"), 8_000_000, REFUSED),
    Request("a NUL in a text", lambda d, n: _text(d, b"a" * n + b"\0"), 8_000_000, REFUSED),
    Request("a body that ends early", lambda d, n: _text(d, "a" * n)[:-3], 8_000_000, REFUSED),
    Request(
        "an ocean of blanks", lambda d, n: dump(body(d, [user(d)])).replace(b":", b":" + b" " * n, 1), 8_000_000, SERVED
    ),
    Request(
        "a key that is there twice",
        lambda d, n: dump(body(d, [user(d)]))[:-1] + b', "x": "' + b"a" * n + b'", "x": 2}',
        4_000_000,
        REFUSED,
    ),
    Request("a long key", lambda d, n: dump(body(d, [user(d)], None, **{"k" * n: 1})), 4_000_000),
    Request("a number of many digits", lambda d, n: _extra(d, "1" * n), 100_000),
    Request(
        "a setting of many digits",
        lambda d, n: dump(body(d, [user(d)], None, temperature="T")).replace(b'"T"', b"1" * n),
        100_000,
    ),
    Request("a number beyond all numbers", lambda d, n: _extra(d, "1e" + "9" * n), 100_000),
    Request("many stop sequences", lambda d, n: dump(body(d, [user(d)], None, stop=["x"] * n)), 90_000),
    Request(
        "metadata without end",
        lambda d, n: dump(body(d, [user(d)], None, metadata={f"{k}": "v" for k in range(n)})),
        90_000,
    ),
    Request("a data URL", lambda d, n: _image(d, "data:image/png;base64," + "A" * n), 8_000_000),
    Request("a data URL that is no base64", lambda d, n: _image(d, "data:image/png;base64," + "?" * n), 8_000_000),
    Request("a data URL of parameters", lambda d, n: _image(d, "data:" + ";a" * n + ",x"), 2_000_000),
    Request("a list instead of an object", lambda d, n: b"[" + dump(body(d, [user(d)])) + b"]" * n, 1_000, REFUSED),
    Request("only opening brackets", lambda d, n: b"[" * n, 150_000, REFUSED),
    Request("only quotes", lambda d, n: b'"' * n, 8_000_000, REFUSED),
    Request("a text instead of an object", lambda d, n: dump(body(d, ["x"] * n)), 9_000),  # type: ignore[list-item]
    Request("numbers instead of messages", lambda d, n: dump(body(d, [1] * n)), 90_000),  # type: ignore[list-item]
    Request("objects of nothing instead of messages", lambda d, n: dump(body(d, [{}] * n)), 60_000),
    Request("lists instead of messages", lambda d, n: dump(body(d, [[]] * n)), 60_000),  # type: ignore[list-item]
    Request("numbers instead of parts", lambda d, n: dump(body(d, [_odd_parts(d, 1, n)])), 90_000),
    Request("objects of nothing instead of parts", lambda d, n: dump(body(d, [_odd_parts(d, {}, n)])), 60_000),
    Request("parts of a part", lambda d, n: dump(body(d, [_odd_parts(d, ["x"] * n, 1)])), 90_000),
    Request("numbers instead of tools", lambda d, n: dump(body(d, [user(d)], [1] * n)), 90_000),  # type: ignore[list-item]
    Request("objects of nothing instead of tools", lambda d, n: dump(body(d, [user(d)], [{}] * n)), 60_000),
)


# Whole HTTP requests.


def post(path: str, content: bytes, *headers: bytes, kind: bytes = b"application/json") -> bytes:
    lines = [b"POST %b HTTP/1.1" % path.encode(), b"host: 127.0.0.1", b"authorization: Bearer any"]
    lines += [b"content-type: %b" % kind, b"content-length: %d" % len(content), b"connection: close", *headers]
    return b"\r\n".join(lines) + b"\r\n\r\n" + content


_CHAT = PATHS["openai-chat"]
_HELLO = dump(body("openai-chat", [user("openai-chat")])).replace(b"MODEL", b"chat/hello")


def _hello(*headers: bytes) -> bytes:
    return post(_CHAT, _HELLO, *headers)


def _layers(count: int) -> bytes:
    packed = _HELLO
    for _ in range(min(count, 50)):
        packed = gzip.compress(packed)
    return post(_CHAT, packed, b"content-encoding: " + b",".join([b"gzip"] * count))


def _bomb(size: int) -> bytes:
    return post(_CHAT, gzip.compress(b" " * size), b"content-encoding: gzip")


def _chunked(chunks: list[bytes], end: bytes = b"0\r\n\r\n") -> bytes:
    head = (
        b"POST %b HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\nconnection: close\r\n"
        % _CHAT.encode()
    )
    sent = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks)
    return head + b"transfer-encoding: chunked\r\n\r\n" + sent + end


_FORM = b"multipart/form-data; boundary=B"
_FIELD = b'--B\r\ncontent-disposition: form-data; name="%b"\r\n\r\n%b\r\n'


def form(content: bytes, kind: bytes = _FORM) -> bytes:
    return post("/v1/audio/transcriptions", content, kind=kind)


_OPENED = (
    b"GET /v1/responses HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer any\r\nupgrade: websocket\r\nconnection: Upgrade\r\n"
    b"sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
UPGRADED = frozenset({101})


def _responses(path: str, count: int, **members: Any) -> bytes:
    """A request of Responses with so many texts instead of items."""
    return post("/v1" + path, dump({"model": "anthropic/hello", "input": ["x"] * count, **members}))


def _frame(opcode: int, data: bytes, fin: bool = True, length: int | None = None) -> bytes:
    """A frame of a WebSocket, with a mask of zeros."""
    size = len(data) if length is None else length
    sized = bytes([0x80 | size]) if size < 126 else b"\xff" + size.to_bytes(8, "big")
    return bytes([opcode | (0x80 if fin else 0)]) + sized + bytes(4) + data


def _socket(*frames: bytes) -> bytes:
    """A socket that says these frames, and that it is done."""
    return _OPENED + b"".join(frames) + _frame(8, (1000).to_bytes(2, "big"))


def _create(**members: Any) -> bytes:
    return _frame(1, dump({"type": "response.create", "model": "anthropic/hello", "input": "Hi", **members}))


ANY = EITHER | frozenset({401, 403, 404, 405, 408, 411, 414, 417, 429, 431, 500, 501, 502, 505, 0})
"""Any answer, or a closed connection (0), as long as everybody else is served."""

RAW: tuple[Raw, ...] = (
    Raw("layers of gzip", _layers, 2_000, REFUSED),
    Raw("two layers of gzip", lambda n: _layers(2), 1, SERVED),
    Raw("a bomb of gzip", _bomb, 1_000_000_000, REFUSED),
    Raw("a small bomb of gzip", _bomb, 15_000_000, REFUSED),
    Raw("an encoding that nobody knows", lambda n: _hello(b"content-encoding: " + b"x" * n), 30_000, REFUSED),
    Raw("gzip that is none", lambda n: post(_CHAT, b"x" * n, b"content-encoding: gzip"), 4_000_000, REFUSED),
    Raw("deflate that ends early", lambda n: post(_CHAT, zlib.compress(b" " * n)[:-4], b"content-encoding: deflate"), 4_000_000, REFUSED),
    Raw("gzip in pieces", lambda n: post(_CHAT, gzip.compress(b"") * n, b"content-encoding: gzip"), 100_000, REFUSED),
    Raw("many headers", lambda n: _hello(*(b"x-%d: y" % k for k in range(n))), 20_000, ANY),
    Raw("a long header", lambda n: _hello(b"x-long: " + b"y" * n), 4_000_000, ANY),
    Raw("a long header that is allowed", lambda n: _hello(b"x-long: " + b"y" * n), 30_000, SERVED),
    Raw("a long path", lambda n: post("/v1/" + "x" * n, _HELLO), 4_000_000, ANY),
    Raw("a long query", lambda n: post(_CHAT + "?" + "a=b&" * n, _HELLO), 10_000, ANY),
    Raw("a long key", lambda n: _hello(b"x-api-key: " + b"k" * n), 30_000, ANY),
    Raw("rules that cannot be read", lambda n: _hello(b"x-dragoman-rules: " + b" " * n + b"?"), 30_000, ANY),
    Raw("rules without an end", lambda n: _hello(b"x-dragoman-rules: " + b'a="\\"' * n), 6_000, ANY),
    Raw("many rules", lambda n: _hello(b"x-dragoman-rules: " + b"a=b, " * n), 6_000, ANY),
    Raw("betas without end", lambda n: _hello(b"anthropic-beta: " + b"a," * n), 15_000, ANY),
    Raw("commas as an encoding", lambda n: _hello(b"content-encoding: " + b"," * n), 30_000, REFUSED),
    Raw("a length that lies", lambda n: _hello().replace(b"content-length: ", b"content-length: 9" + b"9" * min(n, 12)), 12, REFUSED),
    Raw("a length without end", lambda n: _hello().replace(b"content-length: ", b"content-length: " + b"9" * n), 5_000, ANY),
    Raw("a length that is no number", lambda n: _hello().replace(b"content-length: ", b"content-length: x"), 1, ANY),
    Raw("chunks of one byte", lambda n: _chunked([b" "] * n + [_HELLO]), 200_000, EITHER | {0}),
    Raw("chunks beyond the limit", lambda n: _chunked([b" " * 65_536] * n), 640, ANY),
    Raw("a chunk with extensions", lambda n: _chunked([_HELLO]).replace(b"\r\n{", b";" + b"x" * n + b"\r\n{", 1), 100_000, ANY),
    Raw("trailers without end", lambda n: _chunked([_HELLO], b"0\r\n" + b"x: y\r\n" * n + b"\r\n"), 200_000, ANY),
    Raw("a key in a trailer", lambda n: _chunked([_HELLO], b"0\r\ncontent-encoding: gzip\r\n\r\n"), 1, ANY),
    Raw("an upgrade", lambda n: _hello(b"upgrade: h2c"), 1, ANY),
    Raw("a socket of pings", lambda n: _socket(*[_frame(9, b"x" * 125)] * n), 100_000, UPGRADED),
    Raw("a socket of fragments", lambda n: _socket(_frame(1, b"{", False), *[_frame(0, b"x", False)] * n), 100_000, UPGRADED),
    Raw("a socket of frames of nothing", lambda n: _socket(*[_frame(1, b"")] * n), 20_000, UPGRADED),
    Raw("a socket of messages that are no JSON", lambda n: _socket(*[_frame(1, b"{" * 100)] * n), 20_000, UPGRADED),
    Raw("a socket of binary messages", lambda n: _socket(*[_frame(2, b"{}")] * n), 20_000, UPGRADED),
    Raw("a socket with a frame that lies", lambda n: _socket(_frame(1, b"x", length=1 << 60)), 1, UPGRADED),
    Raw("a socket with a message of lists", lambda n: _socket(_frame(1, b'{"type":"response.create","input":' + b"[" * n)), 8_000_000, UPGRADED),
    Raw("a socket with a long message", lambda n: _socket(_frame(1, b'{"type":"' + b"x" * n + b'"}')), 15_000_000, UPGRADED),
    Raw("a socket of many turns", lambda n: _socket(*[_create()] * n), 2_000, UPGRADED),
    Raw("a socket of many lanes", lambda n: _socket(*[_create(stream_id=f"s{at}") for at in range(n)]), 2_000, UPGRADED),
    Raw("a socket of prepared turns", lambda n: _socket(*[_create(generate=False, stream_id=f"s{at}") for at in range(n)]), 2_000, UPGRADED),
    Raw("a socket of unknown answers", lambda n: _socket(*[_create(previous_response_id="r" * 1000)] * n), 2_000, UPGRADED),
    Raw("a socket with a turn of texts", lambda n: _socket(_create(input=["x"] * n)), 15_000, UPGRADED, True),
    Raw("a socket with a prepared turn of texts", lambda n: _socket(_create(generate=False, input=["x"] * n)), 15_000, UPGRADED, True),
    Raw("a socket of steering", lambda n: _socket(*[_frame(1, dump({"type": "response.steer", "previous_response_id": "r", "input": "x"}))] * n), 20_000, UPGRADED),
    Raw("bytes that are no HTTP", lambda n: b"\x16\x03\x01" * n + b"\r\n\r\n", 100_000, ANY),
    Raw("a form of one field", lambda n: form(_FIELD % (b"model", b"chat/hello") * n + b"--B--\r\n"), 100_000, ANY),
    Raw("a form of heads", lambda n: form(b'--B\r\ncontent-disposition: form-data; name="model"\r\n' * n), 100_000, REFUSED),
    Raw("a form of boundaries", lambda n: form(b"--B\r\n" * n), 1_000_000, REFUSED),
    Raw("a form of dashes", lambda n: form(b"-" * n), 8_000_000, REFUSED),
    Raw("a form with a long name", lambda n: form(_FIELD % (b"n" * n, b"x") + b"--B--\r\n"), 4_000_000, ANY),
    Raw("a form with a long head", lambda n: form(b"--B\r\n" + b"x: y\r\n" * n + b"\r\n\r\n--B--\r\n"), 500_000, ANY),
    Raw("a form with a long value", lambda n: form(_FIELD % (b"model", b"m" * n) + b"--B--\r\n"), 8_000_000, ANY),
    Raw("a form without its boundary", lambda n: form(b"x" * n), 8_000_000, REFUSED),
    Raw("a boundary without end", lambda n: form(b"--B--", b"multipart/form-data; boundary=" + b"b" * n), 30_000, ANY),
    Raw("a type of parameters", lambda n: form(b"--B--", b"multipart/form-data" + b"; a=b" * n), 6_000, ANY),
    Raw("a form that opens quotes", lambda n: form(_FIELD % (b'a"; x="' * n, b"x") + b"--B--\r\n"), 100_000, ANY),
    Raw("embeddings of numbers", lambda n: post("/v1/embeddings", b'{"model":"chat/hello","input":[' + b"1," * n + b"1]}"), 5_000_000, ANY),
    Raw("a dry run of nothing", lambda n: post("/dragoman/adapt", b'{"request":' + b"[" * n), 150_000, ANY),
    Raw("a dry run of texts", lambda n: post("/dragoman/adapt", dump({"request": body("openai-chat", ["x"] * n), "from": "openai-chat", "to": "anthropic/hello"})), 15_000, ANY, True),  # type: ignore[list-item]
    Raw("an answer in the background of texts", lambda n: _responses("/responses", n, background=True), 15_000, ANY, True),
    Raw("an answer that is stored of texts", lambda n: _responses("/responses", n, previous_response_id="resp_x"), 15_000, ANY, True),
    Raw("a compaction of texts", lambda n: _responses("/responses/compact", n), 15_000, ANY, True),
    Raw("a conversation that is to be compacted of texts", lambda n: _responses("/responses", n, context_management=[{"type": "compaction", "compact_threshold": 1}]), 15_000, ANY, True),
    Raw("a conversation of texts", lambda n: post("/v1/conversations", dump({"items": ["x"] * n})), 15_000, ANY, True),
    Raw("a completion of numbers", lambda n: post("/v1/completions", dump({"model": "chat/hello", "prompt": [1] * n})), 90_000, ANY, True),
    Raw("a prompt of pictures", lambda n: post("/api/generate", dump({"model": "chat/hello", "prompt": "x", "images": ["x"] * n})), 15_000, ANY, True),
    Raw("embeddings of texts", lambda n: post("/api/embed", dump({"model": "chat/hello", "input": ["x"] * n})), 15_000, ANY, True),
    Raw("counting texts", lambda n: post("/v1/messages/count_tokens", dump(body("anthropic", ["x"] * n)).replace(b"MODEL", b"anthropic/hello")), 15_000, ANY, True),  # type: ignore[list-item]
    Raw("a dry run of many messages", lambda n: post("/dragoman/adapt", dump({"request": body("openai-chat", [user("openai-chat")] * n), "from": "openai-chat", "to": "anthropic/hello"})), 9_000, ANY),
    Raw("counting many messages", lambda n: post("/v1/messages/count_tokens", dump(body("anthropic", [user("anthropic")] * n)).replace(b"MODEL", b"anthropic/hello")), 9_000, ANY),
    Raw("a long name of a model", lambda n: post(_CHAT, _HELLO.replace(b"hello", b"m" * n)), 4_000_000, ANY),
)  # fmt: skip


# What a provider answers.


def http(content: bytes, status: int = 200, *headers: bytes, kind: bytes = b"application/json") -> bytes:
    head = [b"HTTP/1.1 %d Said" % status, b"content-type: %b" % kind, b"content-length: %d" % len(content)]
    return b"\r\n".join([*head, b"connection: close", *headers]) + b"\r\n\r\n" + content


def whole(dialect: str, text: str | None = "Hi", called: int = 0, **more: Any) -> bytes:
    """An answer with a text, or with calls of one id."""
    made = {
        "openai-chat": lambda: {"id": "a", "object": "chat.completion", "created": 1, "model": "m", "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text, **({"tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}] * called} if called else {})}}]},
        "openai-responses": lambda: {"id": "a", "object": "response", "created_at": 1, "status": "completed", "model": "m", "output": [{"type": "message", "id": "i", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": text or "", "annotations": []}]}, *[{"type": "function_call", "id": "i", "call_id": "c", "name": "f", "arguments": "{}"}] * called]},
        "anthropic": lambda: {"id": "a", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn", "content": [{"type": "text", "text": text or "x"}, *[{"type": "tool_use", "id": "c", "name": "f", "input": {}}] * called], "usage": {"input_tokens": 1, "output_tokens": 1}},
        "gemini": lambda: {"candidates": [{"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": [{"text": text or "x"}, *[{"functionCall": {"name": "f", "args": {}, "id": "c"}}] * called]}}], "modelVersion": "m"},
    }[dialect]()  # fmt: skip
    return dump({**made, **more})


def sse(*frames: bytes, event: bytes = b"") -> bytes:
    named = b"event: " + event + b"\n" if event else b""
    return b"".join(named + b"data: " + frame + b"\n\n" for frame in frames)


def delta(dialect: str, text: str) -> bytes:
    if dialect == "openai-chat":
        return sse(dump({"id": "a", "model": "m", "choices": [{"index": 0, "delta": {"content": text}}]}))
    if dialect == "openai-responses":
        made = {
            "type": "response.output_text.delta",
            "item_id": "i",
            "output_index": 0,
            "content_index": 0,
            "delta": text,
        }
        return sse(dump(made), event=b"response.output_text.delta")
    if dialect == "anthropic":
        made = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}
        return sse(dump(made), event=b"content_block_delta")
    return sse(dump({"candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": text}]}}]}))


def streamed(content: bytes) -> bytes:
    return http(content, kind=b"text/event-stream")


def _answers(dialect: str) -> list[Answer]:
    def line(name: str, make: Callable[[int], bytes], count: int, *headers: bytes) -> Answer:
        return Answer(name, dialect, lambda n: http(make(n), 200, *headers), count)

    return [
        line("an answer of calls with one id", lambda n: whole(dialect, called=n), 3_000),
        line("an answer of very many calls", lambda n: whole(dialect, called=n), 60_000),
        line("a long answer", lambda n: whole(dialect, "a" * n), 15_000_000),
        line("an answer beyond the limit", lambda n: whole(dialect, "a" * n), 40_000_000),
        line("an answer of escapes", lambda n: whole(dialect, "T").replace(b'"T"', b'"' + b"\\n" * n + b'"'), 8_000_000),
        line("an answer with a lone surrogate", lambda n: whole(dialect, "T").replace(b'"T"', b'"\\ud800' + b"\\n" * n + b'"'), 8_000_000),
        line("an answer with a deep field", lambda n: whole(dialect, extra="E").replace(b'"E"', nested(n).encode()), 90_000),
        line("an answer of numbers", lambda n: whole(dialect, extra="E").replace(b'"E"', b"[" + b"0," * n + b"0]"), 5_000_000),
        line("an answer that ends early", lambda n: whole(dialect, "a" * n)[:-4], 4_000_000),
        line("an answer of brackets", lambda n: b"[" * n, 4_000_000),
        line("an answer that is a page", lambda n: b"<html><title>" + b"<b>" * n, 1_000_000),
        line("an answer of many choices", lambda n: whole(dialect).replace(b'"index":0', b'"index":0,"x":[' + b"{}," * n + b"{}]"), 40_000),
        line("an answer with usage beyond numbers", lambda n: whole(dialect, usage={"prompt_tokens": 10**n, "input_tokens": 10**n, "output_tokens": 10**n, "completion_tokens": 1, "total_tokens": 10**n}), 40),
        line("a bomb of gzip as an answer", lambda n: gzip.compress(b" " * n, 1), 250_000_000, b"content-encoding: gzip"),
        line("a gzip answer that is none", lambda n: b"x" * n, 1_000_000, b"content-encoding: gzip"),
        line("an answer with layers of gzip", lambda n: b"x" * n, 1_000, b"content-encoding: gzip, gzip, gzip"),
        Answer("an answer with many headers", dialect, lambda n: http(whole(dialect), 200, *(b"x-%d: y" % k for k in range(n))), 20_000),
    ]  # fmt: skip


def _streams(dialect: str) -> list[Answer]:
    def line(name: str, make: Callable[[int], bytes], count: int) -> Answer:
        return Answer(name, dialect, lambda n: streamed(make(n)), count, stream=True)

    return [
        line("a stream of small events", lambda n: delta(dialect, "a") * n, 30_000),
        line("a stream of one long event", lambda n: delta(dialect, "a" * n), 15_000_000),
        line("a line without an end", lambda n: b"data: " + b"a" * n, 40_000_000),
        line("a stream of blank lines", lambda n: b"\n" * n, 2_000_000),
        line("a stream of carriage returns", lambda n: b"data: x\r" * n, 200_000),
        line("a stream of comments", lambda n: b": ping\n\n" * n, 200_000),
        line("a stream of names", lambda n: b"event: x\n" * n, 200_000),
        line("lines of one event", lambda n: b"data: x\n" * n, 200_000),
        line("events that are no JSON", lambda n: sse(b"{]") * n, 50_000),
        line("events with lone surrogates", lambda n: delta(dialect, "T").replace(b'"T"', b'"\\ud83d"') * n, 10_000),
        line(
            "an event of escapes and a surrogate",
            lambda n: delta(dialect, "T").replace(b'"T"', b'"' + b"\\n" * n + b'\\ud83d"'),
            4_000_000,
        ),
        line("a deep event", lambda n: sse(b'{"a":' + b"[" * n + b"]" * n + b"}"), 90_000),
        line("a stream that is a page", lambda n: b"<title>" * n, 500_000),
        line("a stream of errors", lambda n: sse(b'{"error":{"message":"no","type":"x"}}', event=b"error") * n, 20_000),
        line("a stream of ends", lambda n: sse(b"[DONE]") * n, 100_000),
        line("a stream without any event", lambda n: b"", 1),
    ]


def _calls_in_stream(count: int) -> bytes:
    frames = [
        dump({"id": "a", "model": "m", "choices": [{"index": 0, "delta": {"tool_calls": [{"index": k, "id": "c", "type": "function", "function": {"name": "f", "arguments": "{"}}]}}]})
        for k in range(count)
    ]  # fmt: skip
    return streamed(sse(*frames, b"[DONE]"))


ANSWERS: tuple[Answer, ...] = tuple(answer for dialect in DIALECTS for answer in _answers(dialect))
STREAMS: tuple[Answer, ...] = (
    *(answer for dialect in DIALECTS for answer in _streams(dialect)),
    Answer("a stream of calls with one id", "openai-chat", _calls_in_stream, 5_000, stream=True),
)


def _error(name: str, make: Callable[[int], bytes], count: int, status: int = 400) -> Answer:
    return Answer(name, "openai-chat", lambda n: http(make(n), status), count)


def _said(message: str) -> bytes:
    return dump({"error": {"message": message, "type": "invalid_request_error", "code": None, "param": None}})


ERRORS: tuple[Answer, ...] = (
    _error("a refusal of letters", lambda n: _said("a" * n), 1_000_000),
    _error("a refusal of words of a lesson", lambda n: _said("tools[0] tool_type " * n), 50_000),
    _error("a refusal of refusals", lambda n: b'{"error":' * n, 100_000),
    _error("a refusal in refusals", lambda n: b'{"error":' * n + b"1" + b"}" * n, 900),
    _error(
        "a refusal as text in texts", lambda n: _said(_said(_said(_said("x" * n).decode()).decode()).decode()), 100_000
    ),
    _error("a refusal of reasons", lambda n: _said("reasoning_content " * n), 50_000),
    _error("a refusal of extra inputs", lambda n: _said("a." * n + ": Extra inputs"), 400_000),
    _error("a refusal of unknown names", lambda n: _said('Unknown name "a" at ' * n), 50_000),
    _error(
        "a refusal of properties",
        lambda n: _said("additional properties are not allowed ('a' was unexpected) " * n),
        20_000,
    ),
    _error("a refusal of models", lambda n: _said("model " * n), 100_000),
    _error("a refusal of digits", lambda n: _said("maximum context length is " + "9" * n + " tokens"), 100_000),
    _error("a wait of digits", lambda n: _said("try again in " + "9" * n + "s"), 5_000, 429),
    _error("a page of titles", lambda n: b"<title>" * n, 140_000, 500),
    _error("a page of scripts", lambda n: b"<script" * n, 140_000, 500),
    _error("a page of styles", lambda n: b"<style></s" * n, 100_000, 502),
    _error("a page of entities", lambda n: b"<p>" + b"&amp;" * n, 200_000, 503),
    _error("a list of lists", lambda n: b"[" * n + b"]" * n, 900),
    _error(
        "a list of details",
        lambda n: dump({"error": {"message": "x", "details": [{"reason": f"r{k}"} for k in range(n)]}}),
        30_000,
    ),
    _error(
        "a list of sentences", lambda n: dump({"detail": [{"loc": ["a"] * 50, "msg": "m"} for _ in range(n)]}), 15_000
    ),
    _error("an error of nothing", lambda n: b"", 1, 500),
    _error("an error of NULs", lambda n: b"\0" * n, 1_000_000, 500),
    _error("an error that is not UTF-8", lambda n: b"\xff" * n, 1_000_000, 500),
    _error("an error beyond its limit", lambda n: b"x" * n, 30_000_000, 500),
    _error("an error as an event", lambda n: b"data: x\n" * n, 100_000),
    _error("an error of keys", lambda n: _said("eyJ-" * n), 200_000),
    Answer(
        "an error with a long wait", "openai-chat", lambda n: http(_said("x"), 429, b"retry-after: " + b"9" * n), 5_000
    ),
    Answer(
        "an error without an end", "openai-chat", lambda n: b"HTTP/1.1 500 X\r\ncontent-length: 9999999\r\n\r\nx", 1
    ),
    Answer("an answer that is no HTTP", "openai-chat", lambda n: b"\0" * n, 100_000),
    Answer("a status without end", "openai-chat", lambda n: b"HTTP/1.1 200 " + b"x" * n, 1_000_000),
)


# Configuration files.

_PROVIDER = "providers:\n  chat: {profile: openai-compatible-strict, base_url: 'http://127.0.0.1:1', api_key: k}\n"


def _aliases(count: int) -> str:
    lines = ["a0: &a0 [x, x]"] + [f"a{k}: &a{k} [*a{k - 1}, *a{k - 1}]" for k in range(1, count)]
    return "\n".join(lines)


CONFIGS: tuple[Config, ...] = (
    Config("aliases that double", _aliases, 200),
    Config("merges that double", lambda n: "\n".join(["a0: &a0 {k: v}"] + [f"a{k}: &a{k} {{<<: [*a{k - 1}, *a{k - 1}]}}" for k in range(1, n)]), 200),
    Config("a deep list", lambda n: "a: " + nested(n), 20_000),
    Config("a deep mapping", lambda n: "".join(" " * k + f"a{k}:\n" for k in range(n)), 1_000),
    Config("variables in variables", lambda n: _PROVIDER + "default_model: '" + "${A:-" * n + "}" * n + "'", 5_000),
    Config("variables without an end", lambda n: _PROVIDER + "default_model: '" + "${A" * n + "'", 100_000),
    Config("many models", lambda n: _PROVIDER + "models:\n" + "".join(f"  m{k}: {{target: chat/x}}\n" for k in range(n)), 5_000),
    Config("fallbacks in a circle", lambda n: _PROVIDER + "models:\n" + "".join(f"  m{k}: {{target: chat/x, fallbacks: [m{(k + 1) % n}]}}\n" for k in range(n)), 1_000),
    Config("a long text", lambda n: _PROVIDER + f"default_model: {'x' * n}", 1_500_000),
    Config("a file beyond its limit", lambda n: _PROVIDER + "#" * n, 3_000_000),
    Config("a number of many digits", lambda n: _PROVIDER + "server: {port: " + "9" * n + "}", 10_000),
    Config("a date that is none", lambda n: _PROVIDER + "default_model: 2026-13-45", 1),
    Config("tags that create", lambda n: "a: !!python/object/apply:os.system [x]\n" * n, 100),
    Config("tabs and NULs", lambda n: "\t\0" * n, 10_000),
    Config("a key that is there twice", lambda n: _PROVIDER * max(2, n), 1_000),
    Config("a hostile URL", lambda n: f"providers:\n  a: {{base_url: 'http://{'a.' * n}/', api_key: k}}\n", 10_000),
)  # fmt: skip


def all_names() -> list[str]:
    """Every input once, with the dialect that it is sent in."""
    return [
        *(f"{line.name}, {dialect}" for line in REQUESTS for dialect in line.dialects),
        *(line.name for line in RAW),
        *(f"{line.name}, {line.dialect}" for line in (*ANSWERS, *STREAMS, *ERRORS)),
        *(f"{line.name}, configuration" for line in CONFIGS),
    ]
