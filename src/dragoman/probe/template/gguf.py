"""The metadata of a GGUF file: its key-value section alone, and of that only what a profile needs.

The reader trusts nothing: every count and length is checked before anything is read, arrays are skipped, and the
tensors are never touched. Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, versions 2 and 3.
"""

from __future__ import annotations

import struct
from typing import BinaryIO

import msgspec

from dragoman.errors import TemplateError

MAGIC = b"GGUF"

_MOST_PAIRS = 65_536
_LONGEST_KEY = 65_535
_LONGEST_TEXT = 1 << 20
_MOST_TEXT = 1 << 26
_MOST_SKIPPED = 1 << 30
_DEEPEST = 3
_MOST_TOKENS = 1_000_000
_LONGEST_TOKEN = 4096

_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TEXT, _ARRAY = 8, 9
_TEMPLATE = "tokenizer.chat_template"
_TOKENS = "tokenizer.ggml.tokens"


class GgufMetadata(msgspec.Struct, frozen=True):
    """What a file says of its model. What it does not say is empty or 0."""

    templates: dict[str, str]
    """By their names; the unnamed one is `default`."""
    bos: str = ""
    eos: str = ""
    context_window: int = 0
    name: str = ""


class _GgufReader:
    """Reads values of the little-endian format, never more than it is asked for."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._skipped = 0
        self._taken = 0

    def number(self, form: str) -> int | float:
        size = struct.calcsize("<" + form)
        value: int | float = struct.unpack("<" + form, self.take(size))[0]
        return value

    def count(self) -> int:
        return int(self.number("Q"))

    def take(self, size: int) -> bytes:
        found = self._file.read(size)
        if len(found) != size:
            raise TemplateError("the GGUF file ends in the middle of its metadata")
        return found

    def text(self, longest: int) -> str:
        length = self.count()
        if length > longest:
            raise TemplateError(f"the GGUF file has a text of {length} bytes where at most {longest} are read")
        self._taken += length
        if self._taken > _MOST_TEXT:
            raise TemplateError("the texts of the GGUF file are too large")
        return self.take(length).decode("utf-8", "replace")

    def skip(self, size: int) -> None:
        self._skipped += size
        if self._skipped > _MOST_SKIPPED:
            raise TemplateError("the metadata of the GGUF file is too large")
        while size > 0:
            step = min(size, 1 << 20)
            self.take(step)
            size -= step

    def skip_value(self, kind: int, depth: int = 0) -> None:
        if kind in _NUMBERS:
            self.skip(struct.calcsize("<" + _NUMBERS[kind]))
        elif kind == _TEXT:
            self.skip(self.count())
        elif kind == _ARRAY and depth < _DEEPEST:
            self._skip_items(int(self.number("I")), self.count(), depth)
        else:
            raise TemplateError(f"the GGUF file has a value of an unknown kind, {kind}")

    def _skip_items(self, kind: int, count: int, depth: int) -> None:
        if kind in _NUMBERS:
            self.skip(struct.calcsize("<" + _NUMBERS[kind]) * count)
            return
        if count > _MOST_SKIPPED // 8:
            raise TemplateError("the metadata of the GGUF file is too large")
        for _ in range(count):
            self.skip_value(kind, depth + 1)

    def token_texts(self) -> list[str]:
        """A list of texts. Tokens are some hundred thousand at most, and short."""
        kind, count = int(self.number("I")), self.count()
        if kind != _TEXT or count > _MOST_TOKENS:
            raise TemplateError("the tokens of the GGUF file are no list of texts, or too many")
        return [self.text(_LONGEST_TOKEN) for _ in range(count)]


def read_gguf(file: BinaryIO) -> GgufMetadata:
    """The metadata of a file. Raises TemplateError if it is none, is cut off, or is too large."""
    reader = _GgufReader(file)
    if reader.take(4) != MAGIC:
        raise TemplateError("this is no GGUF file")
    version = int(reader.number("I"))
    if version not in (2, 3):
        raise TemplateError(f"the GGUF file has version {version}; known: 2, 3")
    reader.count()  # tensors
    pairs = reader.count()
    if pairs > _MOST_PAIRS:
        raise TemplateError(f"the GGUF file has {pairs} entries of metadata; at most {_MOST_PAIRS} are read")
    return _collect(reader, pairs)


def _collect(reader: _GgufReader, pairs: int) -> GgufMetadata:
    templates: dict[str, str] = {}
    tokens: list[str] = []
    known: dict[str, int | float | str] = {}
    for _ in range(pairs):
        key = reader.text(_LONGEST_KEY)
        kind = int(reader.number("I"))
        if key.startswith(_TEMPLATE) and kind == _TEXT:
            templates[key[len(_TEMPLATE) + 1 :] or "default"] = reader.text(_LONGEST_TEXT)
        elif key == _TOKENS and kind == _ARRAY:
            tokens = reader.token_texts()
        elif kind in _NUMBERS and key.endswith((".context_length", ".bos_token_id", ".eos_token_id")):
            known[key.rpartition(".")[2]] = reader.number(_NUMBERS[kind])
        elif kind == _TEXT and key == "general.name":
            known["name"] = reader.text(_LONGEST_KEY)
        else:
            reader.skip_value(kind)
    return GgufMetadata(
        templates,
        _token(tokens, known.get("bos_token_id")),
        _token(tokens, known.get("eos_token_id")),
        int(known.get("context_length", 0)),
        str(known.get("name", "")),
    )


def _token(tokens: list[str], index: int | float | str | None) -> str:
    number = int(index) if isinstance(index, (int, float)) else -1
    return tokens[number] if 0 <= number < len(tokens) else ""
