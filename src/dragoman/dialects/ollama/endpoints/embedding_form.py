"""`/api/embed` and the older `/api/embeddings` as OpenAI's embeddings, which most providers have, and answers back."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw

from dragoman.dialects.dialect import RequestAdapter
from dragoman.dialects.ollama.answer_render import render_times
from dragoman.dialects.shared.raw_json import UNREADABLE, encode
from dragoman.errors import MalformedRequest
from dragoman.wire.json_reader import open_object, refuse_duplicates, render_object

_PASSED = ("model", "input", "dimensions")
"""What both have. How long a model stays loaded, and how a long text is cut, is the server's own business."""


def parse_embed(body: bytes) -> bytes:
    """Raises MalformedRequest if nothing is to be embedded."""
    source, members, _ = open_object(body)
    refuse_duplicates(source, members)
    if bytes(members.get("input", b"null")) == b"null":
        raise MalformedRequest("there is no input", at="/input", hint="send a text, or a list of texts")
    given: dict[str, bytes | Raw] = {name: members[name] for name in _PASSED if name in members}
    return render_object({**given, "encoding_format": b'"float"'})


def parse_older_embed(body: bytes) -> bytes:
    """The older form has one `prompt`. Raises MalformedRequest if it is missing."""
    source, members, _ = open_object(body)
    refuse_duplicates(source, members)
    prompt = bytes(members.get("prompt", b"null"))
    if prompt[:1] != b'"':
        raise MalformedRequest("there is no prompt", at="/prompt", hint="send one text")
    given: dict[str, bytes | Raw] = {"model": members["model"]} if "model" in members else {}
    return render_object({**given, "input": prompt, "encoding_format": b'"float"'})


class _Embedding(msgspec.Struct, frozen=True):
    embedding: Raw
    index: int = 0


class _EmbeddingUsage(msgspec.Struct, frozen=True):
    prompt_tokens: int = 0


class _Embeddings(msgspec.Struct, frozen=True):
    data: list[_Embedding]
    model: str = ""
    usage: _EmbeddingUsage | None = None


_decode = msgspec.json.Decoder(_Embeddings).decode


class EmbedAnswers:
    """OpenAI's embeddings as Ollama writes them. There are no streams of them."""

    def whole(self, body: bytes) -> bytes:
        try:
            found = _decode(body)
        except UNREADABLE:
            return body
        ordered = sorted(found.data, key=lambda one: one.index)
        answer: dict[str, Any] = {"model": found.model, "embeddings": [one.embedding for one in ordered]}
        times = render_times()
        answer |= {name: Raw(times[name]) for name in ("total_duration", "load_duration")}
        if found.usage is not None:
            answer["prompt_eval_count"] = found.usage.prompt_tokens
        return encode(answer)

    def piece(self, data: bytes) -> bytes:
        return data

    def close(self) -> bytes:
        return b""


class OlderEmbedAnswers(EmbedAnswers):
    """The embedding of the one prompt."""

    def whole(self, body: bytes) -> bytes:
        try:
            found = _decode(body)
        except UNREADABLE:
            return body
        return encode({"embedding": found.data[0].embedding if found.data else []})


OLDER_EMBEDDING_FORM = RequestAdapter(parse_older_embed, OlderEmbedAnswers)
EMBEDDING_FORM = RequestAdapter(parse_embed, EmbedAnswers)
