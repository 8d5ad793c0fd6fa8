"""A reply as a whole Anthropic message, what its streams share with it, and errors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec

from dragoman.conversation.collect import tell
from dragoman.conversation.envelope import seal
from dragoman.conversation.events import CallStarted, Started
from dragoman.conversation.failures import ExhaustedBudget, Failure, FailureKind
from dragoman.conversation.literals import EMPTY, join_texts, quote, unquote
from dragoman.conversation.parts import Json, Opaque, Origin, StateKind
from dragoman.conversation.replies import Reply, Stop, Usage
from dragoman.dialects.anthropic import ID_PREFIX, NAME, ORIGIN
from dragoman.dialects.anthropic.answer_parse import LONG, ROUNDS, SHORT, STOPS, count_with_compactions
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.families.block_builder import TEXT, THINKING, TOOL, BlockBuilder, BlockCollector, BlockForm
from dragoman.dialects.families.call_input import call_input
from dragoman.dialects.families.missing_members import CompleteObject, complete
from dragoman.dialects.shared.citations import PLACES, Page, Passage
from dragoman.dialects.shared.ownership import own_fields
from dragoman.dialects.shared.parsing import vendor_id
from dragoman.dialects.shared.raw_json import decode_members, encode
from dragoman.wire.json_reader import render_list, render_object
from dragoman.wire.retry_after import render_wait

_BREAKDOWNS = frozenset({Stop.BROKEN_CALL, Stop.ERROR})


def render_stop_details(reason: Stop, word: str) -> Json | None:
    """`stop_details` for a failure of the model, with the word of the provider that reported it."""
    if reason not in _BREAKDOWNS:
        return None
    explanation = f"The model broke off: {word or reason.value}."
    return encode({"type": "refusal", "category": None, "explanation": explanation})


CALL_FIELDS: Mapping[str, Json] = {"caller": b'{"type":"direct"}'}
_UNSIGNED = quote(seal(Opaque(StateKind.UNSIGNED, EMPTY, Origin(""))))
"""The signature of thinking that nobody signed. Some clients turn thinking with an empty one into visible text."""


def _render_open_call(call: CallStarted) -> Json:
    fields = {**CALL_FIELDS, **own_fields(call.extras, NAME)}
    head = {"type": b'"tool_use"', "id": quote(call.id), "name": quote(call.name), "input": b"{}"}
    return render_object({**head, **fields})


def _render_redacted(data: Json) -> Json:
    return b'{"type":"redacted_thinking","data":' + data + b"}"


_UNREAD = seal(Opaque(kind="index", json=b"", origin=ORIGIN))
"""Stands for the place in a page that only Anthropic could find, if another vendor's model cites the page."""


def _render_citation(page: Page) -> Json:
    cited = {"cited_text": "", "url": page.url, "title": page.title or None, "encrypted_index": _UNREAD}
    return encode({"type": "web_search_result_location", **cited})


def _render_passage(passage: Passage) -> Json:
    kind, start, end = PLACES[passage.unit]
    cited = {"cited_text": passage.words, "document_index": passage.document, "document_title": passage.title}
    return encode({"type": kind, **cited, start: passage.start, end: passage.end, "file_id": None})


BLOCKS = BlockForm(
    NAME,
    b'{"type":"text","text":""}',
    b'{"type":"thinking","thinking":"","signature":""}',
    call=_render_open_call,
    redacted=_render_redacted,
    unsigned=_UNSIGNED,
    citation=_render_citation,
    passage=_render_passage,
)


LATE_FIELDS: Mapping[str, Json] = {
    "container": b"null",
    "stop_details": b"null",
    "stop_reason": b"null",
    "stop_sequence": b"null",
}
"""Members that are not known before a message is complete. The SDK's types require all of them."""


def late_fields(blocks: BlockBuilder) -> dict[str, bytes]:
    """The last members of a message: why it stopped, and what came with the stop."""
    stop = blocks.stop
    if stop is None:
        return {**LATE_FIELDS, "stop_reason": b'"end_turn"'}
    fields = {
        **LATE_FIELDS,
        "stop_reason": quote(STOPS.render(stop.reason, stop.word)),
        "stop_sequence": quote(stop.sequence) if stop.sequence and stop.reason is Stop.STOP_SEQUENCE else b"null",
        **own_fields(stop.extras, NAME),
    }
    details = render_stop_details(stop.reason, stop.word)
    if details is not None:
        fields["stop_details"] = details
    return fields


def render_answer(reply: Reply, context: AnswerContext) -> bytes:
    """The reply as one message object."""
    whole = _AnthropicAnswerRenderer(context)
    for event in tell(reply):
        whole.take(event)
    return whole.body


class _AnthropicAnswerRenderer(BlockCollector):
    """One message."""

    __slots__ = ("_context", "_start")

    def __init__(self, context: AnswerContext) -> None:
        super().__init__(BLOCKS, context.hides_reasoning)
        self._context = context
        self._start = Started()

    def begin(self, event: Started) -> None:
        self._start = event

    def closed_block(self) -> bytes:
        text = join_texts("", self._literals)
        if self._kind_open is TEXT:
            # The types have `citations: null`, but Anthropic sends no such member, and Vercel's AI SDK refuses one.
            cited = b'"citations":%b,' % render_list(self._citations) if self._citations else b""
            return b'{%b"type":"text","text":%b}' % (cited, text)
        if self._kind_open is THINKING:
            return b'{"type":"thinking","thinking":%b,"signature":%b}' % (text, self._signature or EMPTY)
        if self._kind_open is TOOL:
            fields = decode_members(self._opened)
            return render_object({**fields, "input": call_input(unquote(text))})
        return self._opened

    def finish(self) -> None:
        self.body = render_object(
            {
                "id": quote(self._start.id or vendor_id(ID_PREFIX, self._context.id)),
                "type": b'"message"',
                "role": b'"assistant"',
                "model": quote(self._context.model or self._start.model),
                "content": render_list(self._blocks),
                "diagnostics": b"null",
                **late_fields(self),
                "usage": render_usage(self.usage),
                **own_fields(self._start.extras, NAME),
            }
        )


_COMPLETE_BLOCK = CompleteObject(
    kinds={
        "thinking": CompleteObject(added={"signature": b'""'}),
        "tool_use": CompleteObject(added=CALL_FIELDS),
    }
)
_NO_USAGE: dict[str, Json] = dict.fromkeys(
    ("cache_creation", "inference_geo", "output_tokens_details", "server_tool_use", "service_tier", "speed"), b"null"
)
_NO_DELTA_USAGE: dict[str, Json] = dict.fromkeys(("output_tokens_details", "server_tool_use"), b"null")
_COMPLETE_USAGE = CompleteObject(
    added={
        **_NO_USAGE,
        "cache_creation_input_tokens": b"null",
        "cache_read_input_tokens": b"null",
        "input_tokens": b"0",
        "output_tokens": b"0",
    }
)


def complete_answer(body: bytes, context: AnswerContext) -> bytes:
    """The answer with the members that Anthropic's types require."""
    added = {
        "id": quote(vendor_id(ID_PREFIX, context.id)),
        "type": b'"message"',
        "role": b'"assistant"',
        "model": quote(context.model),
        "diagnostics": b"null",
        **LATE_FIELDS,
    }
    return complete(body, CompleteObject(added=added, inside={"content": _COMPLETE_BLOCK, "usage": _COMPLETE_USAGE}))


# Usage


def render_usage(usage: Usage | None) -> Json:
    """The usage of a message, with every count that the SDK's types require."""
    lifetimes: dict[str, Json] = {}
    if usage is not None and (usage.kept_long or usage.kept_short):
        lifetimes["cache_creation"] = encode({SHORT: usage.kept_short, LONG: usage.kept_long})
    return render_object(_NO_USAGE | lifetimes | _render_counts(usage))


def render_delta_usage(usage: Usage | None) -> Json:
    """The usage at the end of a stream, which has fewer counts."""
    return render_object(_NO_DELTA_USAGE | _render_counts(usage))


def _render_counts(usage: Usage | None) -> dict[str, Json]:
    """This dialect counts new input, cache writes and cache reads apart.

    The three add up to the whole input, even if a server reports more cached tokens than input.
    """
    usage = usage or Usage()
    cached = min(usage.cached, usage.input)
    written = min(usage.cache_written, usage.input - cached)
    counts = {
        "input_tokens": usage.input - cached - written,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": cached,
        "output_tokens": usage.output,
    }
    own = own_fields(usage.extras, NAME)
    if ROUNDS in own:
        counts |= count_with_compactions(counts, msgspec.json.decode(own[ROUNDS]), -1)
    fields = {key: b"%d" % count for key, count in counts.items()}
    if usage.reasoning:
        fields["output_tokens_details"] = b'{"thinking_tokens":%d}' % usage.reasoning
    return fields | own


# Errors: the status, type and wording that the SDK and agents look for

_ERRORS: Mapping[FailureKind, tuple[int, str]] = {
    FailureKind.AUTH: (401, "authentication_error"),
    FailureKind.PERMISSION: (403, "permission_error"),
    FailureKind.NOT_FOUND: (404, "not_found_error"),
    FailureKind.QUOTA: (402, "billing_error"),
    FailureKind.RATE_LIMIT: (429, "rate_limit_error"),
    FailureKind.OVERLOADED: (529, "overloaded_error"),
    FailureKind.CONTEXT_LENGTH: (400, "invalid_request_error"),
    FailureKind.CONTENT_FILTER: (400, "invalid_request_error"),
    FailureKind.BAD_REQUEST: (400, "invalid_request_error"),
    FailureKind.TOO_LARGE: (413, "request_too_large"),
    FailureKind.TIMEOUT: (504, "timeout_error"),
    FailureKind.NETWORK: (502, "api_error"),
    FailureKind.BROKEN_STREAM: (502, "api_error"),
    FailureKind.ANSWER_TOO_LARGE: (502, "api_error"),
    FailureKind.SERVER: (500, "api_error"),
    FailureKind.NOT_SERVED: (501, "not_supported"),
}
_FINAL = (400, 401, 402)
"""Statuses that another try does not change. Claude Code repeats a 401 for minutes unless it is told."""
_PERIODS = {"day": "daily", "month": "monthly"}
_TOO_LONG = "prompt is too long"
_NO_ROOM = "input length and `max_tokens` exceed context limit"
_DETAILED = ("compaction_", "thread_")
"""How codes begin that clients look for in the details of an error."""


def render_error(failure: Failure, context: AnswerContext) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of the answer."""
    status, body = error_body(failure, context)
    headers = {"content-type": "application/json"}
    if context.id:
        headers["request-id"] = context.id
    headers |= render_wait(failure)
    if status in _FINAL or failure.kind in (FailureKind.QUOTA, FailureKind.ANSWER_TOO_LARGE):
        headers["x-should-retry"] = "false"
    if failure.budget is not None:
        headers |= _render_spent_headers(failure.budget)
    return status, headers, body


def _render_spent_headers(budget: ExhaustedBudget) -> dict[str, str]:
    """What tells Claude Code a spent budget from a limit for which it waits. With `representative-claim` it would show
    a sentence of its own."""
    spent = {
        "status": "rejected",
        "overage-utilization": "1",
        "overage-surpassed-threshold": "1",
        "overage-disabled-reason": "org_spend_cap_reached",
    }
    if budget.period in _PERIODS:
        spent["overage-period"] = _PERIODS[budget.period]
    if budget.ends is not None:
        spent |= dict.fromkeys(("reset", "overage-reset"), str(math.ceil(budget.ends)))
    return {f"anthropic-ratelimit-unified-{name}": value for name, value in spent.items()}


def error_body(failure: Failure, context: AnswerContext) -> tuple[int, bytes]:
    """The body alone, which is also the last event of a stream that failed."""
    status, kind = _ERRORS[failure.kind]
    if failure.budget is not None:
        status = 429
    error: dict[str, Any] = {"type": kind, "message": _word_error(failure)}
    if failure.code.startswith(_DETAILED):
        error["details"] = {"error_code": failure.code}
    body = {
        "type": "error",
        "error": error,
        "request_id": context.id or None,
    }
    return status, encode(body)


def _word_error(failure: Failure) -> str:
    """The provider's message. For a conversation that is too long, with the sentence after which agents shorten it; if
    only the answer has no room, with the one after which they ask for a shorter answer."""
    if failure.kind is not FailureKind.CONTEXT_LENGTH or failure.message.startswith((_TOO_LONG, _NO_ROOM)):
        return failure.message
    if (over := failure.overflow) is not None:
        return f"{_NO_ROOM}: {over.input} + {over.answer} > {over.limit} ({failure.message})"
    if failure.tokens is None or failure.limit is None:
        return f"{_TOO_LONG}: {failure.message or 'the provider gave no numbers.'}"
    return f"{_TOO_LONG}: {failure.tokens} tokens > {failure.limit} maximum ({failure.message})"
