"""A reply as a Cohere answer, what its streams share with it, and errors."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.conversation.collect import text_of_arguments
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.literals import EMPTY, join_texts, quote, unquote
from dragoman.conversation.parts import (
    Call,
    Citation,
    Inline,
    Json,
    Media,
    MediaKind,
    Origin,
    Part,
    Reasoning,
    Refusal,
    Remote,
    Text,
)
from dragoman.conversation.replies import Choice, Reply, Stop, Usage
from dragoman.dialects.cohere import NAME
from dragoman.dialects.cohere.answer_parse import BILLED, CACHED, INPUT, OUTPUT, REASONING, STOPS, TOKENS
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.shared.citations import page_of
from dragoman.dialects.shared.media_links import LINK_END, link_head
from dragoman.dialects.shared.ownership import own_fields
from dragoman.dialects.shared.raw_json import UNREADABLE, decode_object, encode
from dragoman.wire.json_reader import render_list, render_object
from dragoman.wire.retry_after import render_wait


def render_logprobs(tokens: Json) -> Json | None:
    """A list of items. The numbers of tokens are not known here, and the SDK's types demand the list of them."""
    try:
        found = msgspec.json.decode(tokens)
    except UNREADABLE:
        return None
    items = [
        {"token_ids": [], "text": token.get("token"), "logprobs": [token.get("logprob")]}
        for token in found
        if isinstance(token, dict)
    ]
    return encode(items) if items else None


class CitedText(msgspec.Struct, eq=False):
    """A text that citations are about. It is decoded once, however many there are."""

    _decoded: str = ""
    _literals: list[bytes] = []

    def add(self, literal: bytes) -> None:
        self._literals.append(literal)

    def part(self, start: int, end: int) -> str:
        if self._literals:
            self._decoded += unquote(join_texts("", self._literals))
            self._literals = []
        return self._decoded[start:end]


def render_citation(citation: Json, origin: Origin, text: CitedText, content_index: int) -> Json | None:
    """A citation of this text; None if the dialect has no form for it."""
    if origin.dialect == NAME:
        return citation
    page = page_of(citation)
    if page is None:
        return None
    source = {"type": "document", "id": page.url, "document": {"id": page.url, "title": page.title, "url": page.url}}
    cited: dict[str, Any] = {"start": page.start, "end": page.end, "type": "TEXT_CONTENT", "sources": [source]}
    cited["text"] = text.part(page.start, page.end)
    cited["content_index"] = content_index
    return encode(cited)


def media_link(kind: MediaKind, media_type: str, content: bytes, url: str) -> list[bytes]:
    """The link as a literal, or nothing if there are neither bytes nor an address."""
    if url:
        return [quote(f"[{kind.value}]({url})")]
    if content == EMPTY:
        return []
    return [join_texts("", [link_head(kind, media_type), content, LINK_END])]


def render_answer(reply: Reply, context: AnswerContext) -> bytes:
    """The reply as one object. This dialect has one choice: the first."""
    choice = reply.choices[0] if reply.choices else Choice(())
    body: dict[str, Json] = {
        "id": quote(reply.id or context.id),
        "message": _render_message(choice),
        "finish_reason": quote(STOPS.render(choice.stop or Stop.END, choice.word)),
        "usage": render_usage(reply.usage),
    }
    logprobs = render_logprobs(choice.logprobs) if choice.logprobs is not None else None
    if logprobs is not None:
        body["logprobs"] = logprobs
    return render_object({**body, **own_fields(reply.extras, NAME)})


def _render_message(choice: Choice) -> Json:
    content: list[Json] = []
    plans: list[Json] = []
    calls: list[Json] = []
    citations: list[Json] = []
    text = CitedText()
    for part in choice.parts:
        if isinstance(part, Call):
            calls.append(_render_call(part))
        elif isinstance(part, Citation):
            cited = render_citation(part.json, part.origin, text, max(len(content) - 1, 0))
            citations += [cited] if cited is not None else []
        elif is_plan(part):
            plans.append(_render_text(part))
        else:
            text = CitedText()
            text.add(_render_text(part))
            content += _render_block(part)
    message: dict[str, Json] = {"role": b'"assistant"'}
    if content or not (calls or plans):
        message["content"] = render_list(content)
    if plans:
        message["tool_plan"] = join_texts("", plans)
    if calls:
        message["tool_calls"] = render_list(calls)
    if citations:
        message["citations"] = render_list(citations)
    return render_object(message)


def is_plan(part: Part) -> bool:
    """Whether a text is Cohere's plan before its calls."""
    return type(part) is Text and "tool_plan" in own_fields(part.extras, NAME)


def _render_text(part: Part) -> Json:
    return part.literal if isinstance(part, (Text, Refusal)) else EMPTY


def _render_call(call: Call) -> Json:
    function = render_object({"name": quote(call.name), "arguments": text_of_arguments(call)})
    return render_object({"id": quote(call.id), "type": b'"function"', "function": function})


def _render_block(part: Part) -> list[Json]:
    """A part as content. Opaque state has no place in this dialect; the store keeps it."""
    if isinstance(part, Reasoning):
        return [b'{"type":"thinking","thinking":' + part.text.literal + b"}"] if part.text is not None else []
    literal = _render_media(part) if isinstance(part, Media) else _render_text(part)
    return [b'{"type":"text","text":' + literal + b"}"] if literal != EMPTY else []


def _render_media(part: Media) -> Json:
    source = part.source
    url = source.url if isinstance(source, Remote) else ""
    content = source.data if isinstance(source, Inline) else EMPTY
    media_type = source.media_type if isinstance(source, (Inline, Remote)) else ""
    words = [part.transcript] if part.transcript not in (None, EMPTY) else []
    return join_texts("\n\n", [*media_link(part.kind, media_type, content, url), *[word for word in words if word]])


# Usage


def render_usage(usage: Usage | None) -> Json:
    """The usage object. What another provider bills is not known here: its tokens stand in."""
    usage = usage or Usage()
    tokens = {INPUT: usage.input, OUTPUT: usage.output}
    fields: dict[str, Any] = {BILLED: dict(tokens)}
    fields |= {key: decode_value(value) for key, value in own_fields(usage.extras, NAME).items()}
    if usage.reasoning:
        tokens[REASONING] = usage.reasoning
    fields[TOKENS] = tokens
    fields[CACHED] = min(usage.cached, usage.input)
    return encode(fields)


def decode_value(value: Json) -> Any:
    return decode_object(b'{"value":' + value + b"}")["value"]


# Errors: the status and the sentence that the SDK and its users look for

_TOO_LONG = "too many tokens"


def render_error(failure: Failure, context: AnswerContext) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of the answer."""
    headers = {"content-type": "application/json"}
    headers |= render_wait(failure)
    return _find_status(failure), headers, error_body(failure, context)


def _find_status(failure: Failure) -> int:
    return 402 if failure.kind is FailureKind.QUOTA else failure.status_for(422)


def error_body(failure: Failure, context: AnswerContext) -> bytes:
    body: dict[str, Any] = {"id": context.id} if context.id else {}
    body["message"] = message_of(failure)
    if failure.kind is FailureKind.CONTEXT_LENGTH:
        body["error_type"] = "TOO_MANY_TOKENS"
    return encode(body)


def message_of(failure: Failure) -> str:
    """The provider's message. For a conversation that is too long, with the sentence that clients look for."""
    if failure.kind is not FailureKind.CONTEXT_LENGTH or failure.message.startswith(_TOO_LONG):
        return failure.message
    if failure.tokens is None or failure.limit is None:
        return f"{_TOO_LONG}: {failure.message}"
    over = max(1, failure.tokens - failure.limit)
    return (
        f"{_TOO_LONG}: size limit exceeded by {over} tokens. Try using shorter or fewer inputs. "
        f"The limit for this model is {failure.limit} tokens. ({failure.message})"
    )
