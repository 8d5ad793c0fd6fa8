"""A reply as a whole Chat answer, what its streams share with it, and errors."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import Any

import msgspec

from dragoman.conversation.collect import text_of_arguments
from dragoman.conversation.events import MediaDelta
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.literals import EMPTY, join_texts, quote
from dragoman.conversation.parts import (
    CONTENT_FIELD,
    Call,
    Citation,
    Extras,
    Inline,
    Json,
    Media,
    MediaKind,
    Opaque,
    Origin,
    Part,
    Reasoning,
    Refusal,
    Remote,
    StateKind,
    Text,
)
from dragoman.conversation.replies import Choice, Reply, Stop, Usage
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.families.missing_members import CompleteObject, complete
from dragoman.dialects.families.openai_answers import error_object, headers_of, status_of
from dragoman.dialects.families.reasoning_forms import entry_type, render_piece, render_state
from dragoman.dialects.openai_chat import ID_PREFIX, IN_ANSWER, IN_CHOICE, NAME
from dragoman.dialects.openai_chat.schema import decode_whole
from dragoman.dialects.shared.citations import page_of, render_url_citation
from dragoman.dialects.shared.ownership import own_fields, own_members, own_or_sealed
from dragoman.dialects.shared.parsing import answer_call_id, vendor_id
from dragoman.dialects.shared.raw_json import UNREADABLE, encode
from dragoman.wire.error_bodies import readable

WORDS: Mapping[Stop, bytes] = {
    Stop.END: b"stop",
    Stop.STOP_SEQUENCE: b"stop",
    Stop.LENGTH: b"length",
    Stop.CONTEXT: b"length",
    Stop.CALLS: b"tool_calls",
    Stop.FILTER: b"content_filter",
    Stop.REFUSAL: b"content_filter",
    Stop.BROKEN_CALL: b"stop",
    Stop.PAUSE: b"stop",
    Stop.ERROR: b"error",
}


def render_stop(reason: Stop, legacy: bool, refused: bool) -> bytes:
    """The word for our reason. A refusal that the message itself holds is a normal stop."""
    if reason is Stop.REFUSAL and refused:
        return b"stop"
    if reason is Stop.CALLS and legacy:
        return b"function_call"
    return WORDS[reason]


def render_signature(held: Opaque) -> Json:
    """The member `extra_content` that holds this state."""
    return b'{"google":{"thought_signature":' + own_or_sealed(held, StateKind.THOUGHT, NAME) + b"}}"


_PLAIN_REASONING = frozenset({"reasoning_content", "reasoning", "think", CONTENT_FIELD})


def render_annotation(citation: Json, origin: Origin) -> Json | None:
    """A citation as an annotation, or None if Chat has no form for it."""
    if origin.dialect == NAME:
        return citation
    page = page_of(citation)
    return render_url_citation(page) if page is not None else None


def render_media(event: MediaDelta, pictures: int) -> bytes:
    """The member of a delta that holds a sound or a picture; empty for media that Chat has no member for. `pictures`:
    how many came before."""
    if event.kind is MediaKind.AUDIO:
        words = b"" if event.transcript is None else b',"transcript":' + event.transcript
        return b'"audio":{"data":' + event.data + words + own_members(event.extras, NAME) + b"}"
    if event.kind is MediaKind.IMAGE:
        picture = render_image(event.media_type, event.data, event.url)
        return b'"images":[%b,"index":%d}]' % (picture[:-1], pictures)
    return b""


def render_image(media_type: str, data: bytes, url: str) -> bytes:
    literal = quote(url) if data == EMPTY else b'"data:' + media_type.encode() + b";base64," + data[1:]
    return b'{"type":"image_url","image_url":{"url":' + literal + b"}}"


def render_logprobs(tokens: Json | None) -> bytes:
    return b"null" if tokens is None else b'{"content":' + tokens + b',"refusal":null}'


def is_detailed(field: str) -> bool:
    """Whether reasoning is in `reasoning_details` too, so that it can come back: all but the plain spellings."""
    return field not in _PLAIN_REASONING


def reasoning_field(field: str) -> bytes:
    """The member that shows reasoning: `reasoning` beside details, else `reasoning_content`."""
    return b'"reasoning":' if field == "reasoning" or field.startswith("reasoning.") else b'"reasoning_content":'


def render_answer(reply: Reply, context: AnswerContext) -> bytes:
    """The reply as one object."""
    out = [
        b'{"id":%b,"object":"chat.completion","created":%d,"model":%b,"choices":['
        % (
            quote(reply.id or vendor_id(ID_PREFIX, context.id)),
            reply.created or context.created,
            quote(context.model or reply.model),
        ),
        b",".join([_render_choice(index, choice, context) for index, choice in enumerate(reply.choices)]),
        b"]",
    ]
    if reply.usage is not None:
        out += (b',"usage":', render_usage(reply.usage))
    if reply.service_tier is not None:
        out += (b',"service_tier":', quote(reply.service_tier))
    if reply.fingerprint is not None:
        out += (b',"system_fingerprint":', quote(reply.fingerprint))
    out += (own_members(reply.extras, NAME), b"}")
    return b"".join(out)


def _render_choice(index: int, choice: Choice, context: AnswerContext) -> bytes:
    parts = _SortedParts(choice.parts, "functions" in context.request)
    reason = choice.stop or (Stop.CALLS if parts.calls else Stop.END)
    word = render_stop(reason, parts.legacy, bool(parts.refusals))
    return b'{"index":%d,"message":%b,"logprobs":%b,"finish_reason":"%b"%b}' % (
        *(index, parts.message(), render_logprobs(choice.logprobs), word, own_members(choice.extras, NAME)),
    )


class _SortedParts:
    """The parts of a choice, sorted by the member of the message that holds them."""

    __slots__ = ("calls", "content", "legacy", "media", "notes", "refusals", "texts", "thoughts")

    def __init__(self, parts: tuple[Part, ...], legacy: bool) -> None:
        self.texts: list[Text] = []
        self.refusals: list[bytes] = []
        self.calls: list[Call] = []
        self.thoughts: list[Reasoning] = []
        self.media: list[Media] = []
        self.notes: list[Citation] = []
        self.content: list[Part] = []
        for part in parts:
            match part:
                case Text():
                    self.texts.append(part)
                    self.content.append(part)
                case Call():
                    self.calls.append(part)
                case Reasoning():
                    self.thoughts.append(part)
                case Refusal():
                    self.refusals.append(part.literal)
                case Media():
                    self.media.append(part)
                case Citation():
                    self.notes.append(part)
                case Opaque() if part.origin.dialect == NAME:
                    self.content.append(part)
        self.legacy = legacy or any(own_members(call.extras, NAME) == b',"function_call":true' for call in self.calls)

    def message(self) -> bytes:
        out = [b'{"role":"assistant","content":', self._content()]
        signatures = [part.signature for part in self.texts if part.signature is not None]
        # A message has one place for the signature of a text. Further ones go into the reasoning details.
        thoughts = self.thoughts + [Reasoning(text=None, state=state) for state in signatures[1:]]
        if thoughts:
            out.append(_render_reasoning(thoughts))
        out += (b',"refusal":', join_texts("", self.refusals) if self.refusals else b"null")
        notes = [note for part in self.notes if (note := render_annotation(part.json, part.origin)) is not None]
        if notes:
            out += (b',"annotations":[', b",".join(notes), b"]")
        if signatures:
            out += (b',"extra_content":', render_signature(signatures[0]))
        if self.media:
            out += _render_all_media(self.media)
        if self.calls:
            out.append(_render_legacy_call(self.calls[0]) if self.legacy else _render_calls(self.calls))
        out.append(b"}")
        return b"".join(out)

    def _content(self) -> bytes:
        if len(self.content) > len(self.texts):
            return b"[" + b",".join([_render_content_part(part) for part in self.content]) + b"]"
        if len(self.texts) == 1:
            return self.texts[0].literal
        if self.texts:
            return join_texts("", [part.literal for part in self.texts])
        return b"null" if self.calls or self.refusals or self.media else EMPTY


def _render_content_part(part: Part) -> bytes:
    if isinstance(part, Opaque):
        return part.json
    return b'{"type":"text","text":' + part.literal + b"}" if isinstance(part, Text) else b"null"


def _render_reasoning(thoughts: list[Reasoning]) -> bytes:
    """The text where clients show it, and once more with its state as details if there is any."""
    texts = [part for part in thoughts if part.text is not None]
    out = b""
    if texts:
        literal = join_texts("", [part.text.literal for part in texts if part.text is not None])
        out = b"," + reasoning_field(texts[0].field) + literal
    if any(part.state is not None or is_detailed(part.field) for part in thoughts):
        entries = [_render_entry(part, number) for number, part in enumerate(thoughts)]
        out += b',"reasoning_details":[' + b",".join(entries) + b"]"
    return out


def _render_entry(part: Reasoning, number: int) -> bytes:
    kind = entry_type(part.field)
    literal = part.text.literal if part.text is not None else None
    if part.state is None:
        return render_piece(kind, literal or EMPTY, number)[1:-1]
    return render_state(part.state, literal, kind, number, dialect=NAME, streamed=False)


def _render_calls(calls: list[Call]) -> bytes:
    return b',"tool_calls":[' + b",".join([_render_call(call) for call in calls]) + b"]"


def _render_call(call: Call) -> bytes:
    kind, words = (b"custom", b"input") if call.custom else (b"function", b"arguments")
    signed = b"" if call.signature is None else b',"extra_content":' + render_signature(call.signature)
    return b'{"id":%b,"type":"%b","%b":{"name":%b,"%b":%b}%b}' % (
        *(quote(call.id), kind, kind, quote(call.name), words, text_of_arguments(call), signed),
    )


def _render_legacy_call(call: Call) -> bytes:
    return b',"function_call":{"name":%b,"arguments":%b}' % (quote(call.name), text_of_arguments(call))


def _render_all_media(media: list[Media]) -> list[bytes]:
    sounds = [part for part in media if part.kind is MediaKind.AUDIO and isinstance(part.source, Inline)]
    pictures = [_render_image(part) for part in media if part.kind is MediaKind.IMAGE]
    out = [_render_sound(part) for part in sounds[:1]]
    if pictures:
        out.append(b',"images":[' + b",".join(pictures) + b"]")
    return out


def _render_image(part: Media) -> bytes:
    source = part.source
    data = source.data if isinstance(source, Inline) else EMPTY
    return render_image(source.media_type, data, source.url if isinstance(source, Remote) else "")


def _render_sound(part: Media) -> bytes:
    """The first sound. The SDK's type requires an id and an expiry date."""
    data = part.source.data if isinstance(part.source, Inline) else EMPTY
    fields: dict[str, bytes] = {"id": EMPTY, "expires_at": b"0"}
    fields |= own_fields(part.extras, NAME)
    more = own_members(Extras(NAME, fields), NAME)
    return b',"audio":{"data":%b,"transcript":%b%b}' % (data, part.transcript or EMPTY, more)


_CALL = CompleteObject(added={"type": b'"function"'})
_MESSAGE = CompleteObject(
    added={"role": b'"assistant"', "content": b"null", "refusal": b"null"},
    never_null=frozenset({"annotations", "tool_calls"}),
    inside={"tool_calls": _CALL},
)
_LOGPROBS = CompleteObject(added={"content": b"null", "refusal": b"null"})
_CHOICE = CompleteObject(
    added={"logprobs": b"null"}, never=IN_CHOICE, inside={"message": _MESSAGE, "logprobs": _LOGPROBS}
)
_MARK = b"_filter_results"


def complete_answer(body: bytes, context: AnswerContext) -> bytes:
    """The answer with the members that OpenAI's types require, and without a null that they do not allow. Each call has
    an id of its own, and its arguments are a text."""
    if _is_whole(body):
        return body
    if b'"function"' in body or b'"custom"' in body:
        body = _with_distinct_calls(body, context.id)
    head = {
        "id": quote(vendor_id(ID_PREFIX, context.id)),
        "object": b'"chat.completion"',
        "created": b"%d" % context.created,
        "model": quote(context.model),
    }
    return complete(body, CompleteObject(added=head, never=IN_ANSWER, inside={"choices": _CHOICE}))


def _is_whole(body: bytes) -> bool:
    """A quick look: most answers of most vendors need nothing."""
    if body.find(_MARK) >= 0:
        return False
    try:
        answer = decode_whole(body)
    except UNREADABLE:
        return False
    for choice in answer.choices:
        calls = choice.message.tool_calls
        if len(calls) > 1 and len(set(map(_call_id, calls))) < len(calls):
            return False
    return True


_call_id = attrgetter("id")


def _with_distinct_calls(body: bytes, seed: str) -> bytes:
    """Calls without an id, or with that of another one, get one. Arguments that are an object become its text, and
    missing ones that of an empty object."""
    changed = False
    try:
        answer = _decode(body)
        for choice in answer["choices"]:
            ids: set[str] = set()
            for place, call in enumerate(choice["message"].get("tool_calls") or ()):
                if not call.get("id") or call["id"] in ids:
                    call["id"], changed = answer_call_id(seed, choice.get("index") or 0, place), True
                ids.add(call["id"])
                function = call.get("function")
                if isinstance(function, dict) and isinstance(given := function.get("arguments"), dict | None):
                    function["arguments"], changed = encode(given or {}).decode(), True
    except (*UNREADABLE, LookupError, TypeError, ValueError, AttributeError):
        return body
    return encode(answer) if changed else body


# Usage

_decode = msgspec.json.decode


def render_usage(usage: Usage) -> Json:
    """The usage object, with further fields if the usage came from this dialect."""
    fields: dict[str, Any] = {key: _decode(value) for key, value in own_fields(usage.extras, NAME).items()}
    inputs: dict[str, Any] = fields.pop("prompt_tokens_details", {})
    outputs: dict[str, Any] = fields.pop("completion_tokens_details", {})
    inputs["cached_tokens"] = usage.cached
    if usage.cache_written or "cache_write_tokens" in inputs:
        inputs["cache_write_tokens"] = usage.cache_written
    outputs["reasoning_tokens"] = usage.reasoning
    counts = {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.total,
        "prompt_tokens_details": inputs,
        "completion_tokens_details": outputs,
    }
    return encode(counts | fields)


# Errors: the status, type and code that the OpenAI SDKs and their users look for

_MAX_RAW = 8192
_TOO_LONG = "maximum context length"


def render_error(failure: Failure, context: AnswerContext) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of the answer."""
    return status_of(failure), headers_of(failure, context), error_body(failure)


def error_body(failure: Failure) -> bytes:
    """The body alone, which is also the last chunk of a stream that failed. `metadata`, as OpenRouter has it, names the
    provider and holds its own words in full."""
    error: dict[str, Any] = error_object(failure, message_of(failure))
    if failure.raw or failure.provider:
        error["metadata"] = provider_words(failure.provider, failure.raw)
    return encode({"error": error})


def provider_words(provider: str, raw: bytes) -> dict[str, str]:
    return {"provider_name": provider, "raw": readable(raw)[:_MAX_RAW]}


def message_of(failure: Failure) -> str:
    """The provider's message. For a conversation that is too long, with the sentence that agents look for."""
    if failure.kind is not FailureKind.CONTEXT_LENGTH or _TOO_LONG in failure.message:
        return failure.message
    if failure.tokens is None or failure.limit is None:
        return failure.message
    return (
        f"This model's maximum context length is {failure.limit} tokens. However, your messages resulted in "
        f"{failure.tokens} tokens. ({failure.message})"
    )
