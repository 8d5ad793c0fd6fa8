"""A reply as the parts of a Gemini answer, whole or in chunks, and errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from dragoman.conversation import events
from dragoman.conversation.collect import arguments_of, collect, merge_usage, tell
from dragoman.conversation.failures import EXACT_STATUSES, Failure, FailureKind
from dragoman.conversation.literals import EMPTY, join_texts, quote, unquote
from dragoman.conversation.parts import Inline, Json, Media, Remote, StateKind
from dragoman.conversation.replies import Reply, Stop, Usage
from dragoman.dialects.dialect import AnswerContext, Framing
from dragoman.dialects.families.stop_reasons import StopReasons
from dragoman.dialects.gemini import NAME
from dragoman.dialects.gemini.answer_parse import FINISHES, TOOL_USE
from dragoman.dialects.shared import call_order
from dragoman.dialects.shared.call_order import HeldEvents
from dragoman.dialects.shared.ownership import own_fields, own_or_sealed
from dragoman.dialects.shared.raw_json import UNREADABLE, encode
from dragoman.wire.json_reader import render_list, render_object
from dragoman.wire.retry_after import format_seconds, render_wait, tell_wait
from dragoman.wire.sse import one_line

_WORDS = StopReasons({"STOP": Stop.END, **FINISHES}).words
"""A tool call shows in its part. Its finish reason is the ordinary one."""


def render_stop(reason: Stop, word: str) -> str:
    """The word for our reason: the provider's own word if this dialect has it and it means the same."""
    known = FINISHES.get(word)
    same = known is reason or (known is Stop.BROKEN_CALL and reason is Stop.ERROR)
    return word if same else _WORDS[reason]


class _CandidateBuilder(msgspec.Struct, eq=False):
    """What is unfinished in one candidate."""

    part: int = -1
    written: int = -1
    kind: type[events.Event] | None = None
    call: events.CallStarted | None = None
    fragments: list[bytes] = []
    signature: bytes = b""
    media: list[events.MediaDelta] = []
    held: HeldEvents = msgspec.field(default_factory=HeldEvents)
    releasing: bool = False
    size: int = 0
    citations: list[Json] = []
    carriers: list[Json] = []
    stop: events.Stopped | None = None


class PartBuilder:
    """Puts events into the order of parts. A subclass decides how they are framed."""

    __slots__ = ("_candidates", "context", "over", "started", "usage")

    def __init__(self, context: AnswerContext) -> None:
        self.context = context
        self.started = events.Started()
        self.usage: Usage | None = None
        self.over = False
        self._candidates: dict[int, _CandidateBuilder] = {}

    def take(self, event: events.Event) -> None:
        if not self.over:
            _TAKE[type(event)](self, event)

    # What a subclass writes.

    def begin(self) -> None: ...

    def part(self, choice: int, json: Json) -> None: ...

    def sign(self, choice: int, signature: bytes, thought: bool, fresh: bool) -> None: ...

    def logprobs(self, choice: int, tokens: Json) -> None: ...

    def finish(self) -> None: ...

    def fail(self, failure: Failure) -> None: ...

    # Events.

    def _started(self, event: events.Started) -> None:
        self.started = event
        self.begin()

    def _text(self, event: events.TextDelta | events.RefusalDelta) -> None:
        candidate = self._at(event)
        if candidate is None:
            return
        candidate.part, candidate.kind = event.part, events.TextDelta
        if event.literal != EMPTY:
            candidate.written = event.part
            self._part(event.choice, candidate, b'{"text":' + event.literal + b"}")
        if type(event) is events.TextDelta and event.logprobs is not None:
            self.logprobs(event.choice, event.logprobs)

    _refusal = _text

    def _reasoning(self, event: events.ReasoningDelta) -> None:
        candidate = self._at(event)
        if candidate is None or event.literal == EMPTY or self.context.hides_reasoning:
            return
        candidate.part = candidate.written = event.part
        candidate.kind = events.ReasoningDelta
        self._part(event.choice, candidate, b'{"text":' + event.literal + b',"thought":true}')

    def _signed(self, event: events.Signed) -> None:
        candidate = self._at(event)
        if candidate is None:
            return
        signature = own_or_sealed(event.state, StateKind.THOUGHT, NAME)
        if candidate.call is not None:
            candidate.signature = signature
            return
        if candidate.part != event.part:
            if self.context.hides_reasoning:
                return
            candidate.part, candidate.kind = event.part, events.ReasoningDelta
        if candidate.written != event.part and event.state.origin.dialect != NAME:
            candidate.carriers.append(b'{"text":"","thought":true,"thoughtSignature":%b}' % signature)
            return
        self.sign(event.choice, signature, candidate.kind is not events.TextDelta, candidate.written != event.part)
        candidate.written = -1

    def _part(self, choice: int, candidate: _CandidateBuilder, json: Json) -> None:
        """A part, after the state that stands before it."""
        carriers, candidate.carriers = candidate.carriers, []
        for carrier in carriers:
            self.part(choice, carrier)
        self.part(choice, json)

    def _call_started(self, event: events.CallStarted) -> None:
        candidate = self._at(event)
        if candidate is None:
            return
        candidate.call, candidate.part, candidate.kind = event, event.part, events.CallStarted
        candidate.fragments, candidate.signature = [], b""

    def _call_delta(self, event: events.CallDelta) -> None:
        candidate = self._at(event)
        if candidate is not None and candidate.call is not None:
            candidate.fragments.append(event.literal)
            self._weigh(candidate, len(event.literal))

    def _call_ended(self, event: events.CallEnded) -> None:
        candidate = self._at(event)
        if candidate is not None:
            self._end_call(event.choice, candidate)
            self._release(candidate)

    def _cited(self, event: events.Cited) -> None:
        """Citations of other dialects. Those of this dialect are in the metadata of the stop."""
        if event.origin.dialect != NAME:
            source = _render_source(event.json)
            if source is not None:
                self._candidate(event.choice).citations.append(source)

    def _media(self, event: events.MediaDelta) -> None:
        candidate = self._at(event)
        if candidate is None:
            return
        candidate.media.append(event)
        candidate.part, candidate.kind = event.part, events.MediaDelta
        self._weigh(candidate, len(event.data))

    def _kept(self, event: events.OpaqueBlock) -> None:
        candidate = self._at(event)
        if candidate is None or event.opaque.origin.dialect != NAME:
            return
        candidate.part, candidate.kind = event.part, events.OpaqueBlock
        self._part(event.choice, candidate, event.opaque.json)

    def _stopped(self, event: events.Stopped) -> None:
        self._complete(event.choice, self._candidate(event.choice))
        self._candidate(event.choice).stop = event

    def _used(self, event: events.Used) -> None:
        self.usage = merge_usage(self.usage, event.usage)

    def _ended(self, event: events.Ended) -> None:
        for choice, candidate in list(self._candidates.items()):
            self._complete(choice, candidate)
        self.over = True
        self.finish()

    def _failed(self, event: events.Failed) -> None:
        self._fail(event.failure)

    # The order.

    def _fail(self, failure: Failure) -> None:
        self.over = True
        self._candidates.clear()
        self.fail(failure)

    def _candidate(self, choice: int) -> _CandidateBuilder:
        found = self._candidates.get(choice)
        if found is None:
            found = self._candidates[choice] = _CandidateBuilder()
        return found

    def _at(self, event: Any) -> _CandidateBuilder | None:
        """The candidate, or None if the event waits for an open call of it. It is then held."""
        candidate = self._candidates.get(event.choice) or self._candidate(event.choice)
        if candidate.part == event.part:
            return candidate
        if candidate.call is not None:
            candidate.held.add(event.part, event)
            self._weigh(candidate, 0)
            return None
        if candidate.media:
            self._end_media(event.choice, candidate)
        return candidate

    def _weigh(self, candidate: _CandidateBuilder, size: int) -> None:
        candidate.size += size
        if candidate.size + candidate.held.size > call_order.LIMIT * 2:
            self._fail(Failure(FailureKind.ANSWER_TOO_LARGE, "A tool call or a picture of the answer is too long."))

    def _release(self, candidate: _CandidateBuilder) -> None:
        """Take the held events part by part, until a call is open that has not ended. Each is taken once."""
        candidate.size = 0
        if candidate.releasing:
            return
        candidate.releasing = True
        while candidate.held and candidate.call is None and not self.over:
            for event in candidate.held.pop_part():
                self.take(event)
        candidate.releasing = False

    def _complete(self, choice: int, candidate: _CandidateBuilder) -> None:
        """At the end every part is complete, even one that was never ended."""
        while (candidate.call is not None or candidate.held or candidate.media) and not self.over:
            self._end_media(choice, candidate)
            self._end_call(choice, candidate)
            self._release(candidate)

    def _end_call(self, choice: int, candidate: _CandidateBuilder) -> None:
        call, candidate.call = candidate.call, None
        if call is None:
            return
        arguments: Json = arguments_of(unquote(join_texts("", candidate.fragments)), call.custom)
        if arguments[:1] != b"{":
            arguments = b'{"arguments":' + arguments + b"}"
        fields = {"name": quote(call.name), "args": one_line(arguments)}
        if call.id:
            fields["id"] = quote(call.id)
        members: dict[str, Json] = {"functionCall": render_object(fields)}
        if candidate.signature:
            members["thoughtSignature"] = candidate.signature
        self._part(choice, candidate, render_object(members))

    def _end_media(self, choice: int, candidate: _CandidateBuilder) -> None:
        pieces, candidate.media = candidate.media, []
        if not pieces:
            return
        reply = collect([*pieces, events.Ended()])
        for media in reply.choices[-1].parts if isinstance(reply, Reply) else ():
            if isinstance(media, Media):
                for json in _render_media(media):
                    self._part(choice, candidate, json)

    # What every framing needs.

    def head(self) -> dict[str, bytes]:
        """The members that every chunk ends with."""
        started = self.started
        fields: dict[str, Json] = {
            "modelVersion": quote(self.context.model or started.model),
            "responseId": quote(started.id or self.context.id),
        }
        if started.created is not None:
            fields["createTime"] = quote(datetime.fromtimestamp(started.created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
        return fields

    def stops(self) -> list[tuple[int, dict[str, bytes]]]:
        """The last members of each candidate. There is none if the prompt was blocked."""
        stops = []
        for choice in sorted(self._candidates):
            candidate = self._candidates[choice]
            fields = {"index": b"%d" % choice}
            if candidate.stop is not None:
                fields["finishReason"] = quote(render_stop(candidate.stop.reason, candidate.stop.word))
                fields.update(own_fields(candidate.stop.extras, NAME))
            if candidate.citations:
                fields["citationMetadata"] = b'{"citations":[' + b",".join(candidate.citations) + b"]}"
            stops.append((choice, fields))
        return stops


def _render_media(media: Media) -> list[Json]:
    """The bytes or the URL, and the transcript."""
    parts: list[Json] = []
    source = media.source
    extras = own_fields(media.extras, NAME)
    if isinstance(source, Inline) and source.data != EMPTY:
        inline = render_object({"mimeType": quote(source.media_type), "data": source.data})
        parts.append(render_object({"inlineData": inline, **extras}))
    elif isinstance(source, Remote):
        named = {"mimeType": quote(source.media_type)} if source.media_type else {}
        parts.append(render_object({"fileData": render_object({**named, "fileUri": quote(source.url)}), **extras}))
    if media.transcript is not None and media.transcript != EMPTY:
        parts.append(b'{"text":' + media.transcript + b"}")
    return parts


def _render_source(json: Json) -> Json | None:
    """Another dialect's citation as a web source, if it names one."""
    found = msgspec.json.decode(json)
    if isinstance(found, dict) and isinstance(found.get("url_citation"), dict):
        found = found["url_citation"]
    if not isinstance(found, dict) or not isinstance(found.get("url"), str):
        return None
    fields = {"uri": found["url"]}
    if isinstance(found.get("title"), str):
        fields["title"] = found["title"]
    return encode(fields)


_TAKE = events.methods_by_event(PartBuilder)


def logprobs_result(tokens: Json) -> Json:
    """Log probabilities in the form of OpenAI Chat as Gemini's `logprobsResult`."""
    try:
        items = _objects(msgspec.json.decode(tokens))
    except UNREADABLE:  # a number that is none
        items = []
    result: dict[str, Any] = {"chosenCandidates": [_render_token(item) for item in items]}
    tops = [_objects(item.get("top_logprobs")) for item in items]
    if any(tops):
        result["topCandidates"] = [{"candidates": [_render_token(top) for top in found]} for found in tops]
    return encode(result)


def _objects(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _render_token(item: dict[str, Any]) -> dict[str, Any]:
    return {"token": item.get("token"), "logProbability": item.get("logprob")}


def render_answer(reply: Reply, context: AnswerContext) -> bytes:
    """The reply as one response object, or as an array of one."""
    whole = _GeminiAnswerRenderer(context)
    for event in tell(reply):
        whole.take(event)
    return b"[" + whole.body + b"]" if context.framing is Framing.JSON_ARRAY else whole.body


class _GeminiAnswerRenderer(PartBuilder):
    """Collects parts as the contents of one response."""

    __slots__ = ("_logprobs", "_parts", "body")

    def __init__(self, context: AnswerContext) -> None:
        super().__init__(context)
        self._parts: dict[int, list[bytes]] = {}
        self._logprobs: dict[int, bytes] = {}
        self.body = b""

    def part(self, choice: int, json: Json) -> None:
        self._parts.setdefault(choice, []).append(json)

    def sign(self, choice: int, signature: bytes, thought: bool, fresh: bool) -> None:
        parts = self._parts.setdefault(choice, [])
        if fresh or not parts:
            mark = b',"thought":true' if thought else b""
            parts.append(b'{"text":""%b,"thoughtSignature":%b}' % (mark, signature))
        else:
            parts[-1] = parts[-1][:-1] + b',"thoughtSignature":%b}' % signature

    def logprobs(self, choice: int, tokens: Json) -> None:
        self._logprobs[choice] = logprobs_result(tokens)

    def finish(self) -> None:
        body: dict[str, bytes] = {}
        candidates = []
        for choice, fields in self.stops():
            feedback = fields.pop("promptFeedback", None)
            if feedback is not None:
                body["promptFeedback"] = feedback
            if feedback is not None and choice not in self._parts:
                continue
            parts = self._parts.get(choice)
            content = b'{"parts":%b,"role":"model"}' % render_list(parts) if parts else b'{"role":"model"}'
            if choice in self._logprobs:
                fields["logprobsResult"] = self._logprobs[choice]
            candidates.append(render_object({"content": content, **fields}))
        if candidates:
            body["candidates"] = render_list(candidates)
        if self.usage is not None:
            body["usageMetadata"] = render_usage(self.usage)
        self.body = render_object({**body, **self.head()})


# Usage


def render_usage(usage: Usage) -> Json:
    """This dialect counts thoughts apart from the answer, and results of provider tools apart from the prompt.

    They add up to the total, even if a server reports more thoughts than output or more cached tokens than input.
    """
    extras = own_fields(usage.extras, NAME)
    prompt = usage.input - (int(extras[TOOL_USE]) if TOOL_USE in extras else 0)
    thoughts, cached = min(usage.reasoning, usage.output), min(usage.cached, usage.input)
    fields = {
        "promptTokenCount": b"%d" % max(prompt, 0),
        "candidatesTokenCount": b"%d" % (usage.output - thoughts),
        "totalTokenCount": b"%d" % usage.total,
    }
    if thoughts:
        fields["thoughtsTokenCount"] = b"%d" % thoughts
    if cached:
        fields["cachedContentTokenCount"] = b"%d" % cached
    return render_object({**fields, **extras})


# Errors: code, status and details as the SDK reads them

_ERRORS: Mapping[FailureKind, str] = {
    FailureKind.AUTH: "UNAUTHENTICATED",
    FailureKind.PERMISSION: "PERMISSION_DENIED",
    FailureKind.NOT_FOUND: "NOT_FOUND",
    FailureKind.QUOTA: "RESOURCE_EXHAUSTED",
    FailureKind.RATE_LIMIT: "RESOURCE_EXHAUSTED",
    FailureKind.OVERLOADED: "UNAVAILABLE",
    FailureKind.CONTEXT_LENGTH: "INVALID_ARGUMENT",
    FailureKind.CONTENT_FILTER: "INVALID_ARGUMENT",
    FailureKind.BAD_REQUEST: "INVALID_ARGUMENT",
    FailureKind.TOO_LARGE: "INVALID_ARGUMENT",
    FailureKind.TIMEOUT: "DEADLINE_EXCEEDED",
    FailureKind.NETWORK: "UNAVAILABLE",
    FailureKind.BROKEN_STREAM: "UNAVAILABLE",
    FailureKind.ANSWER_TOO_LARGE: "INTERNAL",
    FailureKind.SERVER: "INTERNAL",
    FailureKind.NOT_SERVED: "UNIMPLEMENTED",
}
_TYPES = "type.googleapis.com/google.rpc."
_TOO_LONG = "The input token count"


def render_error(failure: Failure, context: AnswerContext) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of the answer."""
    status, body = error_body(failure)
    headers = {"content-type": "application/json; charset=UTF-8"}
    headers |= render_wait(failure)
    return status, headers, b"[" + body + b"]" if context.framing is Framing.JSON_ARRAY else body


def error_body(failure: Failure) -> tuple[int, bytes]:
    """The body alone, which is also the last object of a stream that failed."""
    status, word = failure.status_for(*EXACT_STATUSES), _ERRORS[failure.kind]
    message = tell_wait(failure, _word_error(failure), "Please retry in")
    error: dict[str, Any] = {"code": status, "message": message, "status": word}
    if details := list(_render_error_details(failure)):
        error["details"] = details
    return status, encode({"error": error})


def _render_error_details(failure: Failure) -> Iterator[dict[str, Any]]:
    """What Gemini CLI acts on: it waits for the delay, and takes a quota of the day for final."""
    if failure.kind is FailureKind.QUOTA or (failure.is_final and failure.kind.retryable):
        yield {"@type": f"{_TYPES}QuotaFailure", "violations": [{"quotaId": "SpendPerDay"}]}
    if failure.retry_after is not None:
        yield {"@type": f"{_TYPES}RetryInfo", "retryDelay": f"{format_seconds(failure.retry_after)}s"}


def _word_error(failure: Failure) -> str:
    """For a conversation that is too long: Google's sentence with the known numbers, then the provider's own."""
    if failure.kind is not FailureKind.CONTEXT_LENGTH or failure.message.startswith(_TOO_LONG):
        return failure.message
    tokens = f" ({failure.tokens})" if failure.tokens is not None else ""
    limit = f" ({failure.limit})" if failure.limit is not None else ""
    sentence = f"{_TOO_LONG}{tokens} exceeds the maximum number of tokens allowed{limit}. {failure.message}"
    return sentence.rstrip()
