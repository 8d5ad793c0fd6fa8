"""A Chat answer, whole or in chunks, as events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Raw

from dragoman.conversation.events import (
    CallDelta,
    CallEnded,
    CallStarted,
    Cited,
    Ended,
    Event,
    Failed,
    MediaDelta,
    OpaqueBlock,
    ReasoningDelta,
    RefusalDelta,
    Signed,
    Started,
    Stopped,
    TextDelta,
    Used,
)
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.literals import EMPTY, quote, unquote
from dragoman.conversation.parts import CONTENT_FIELD, Extras, Inline, Json, MediaKind, Opaque, Origin, StateKind
from dragoman.conversation.replies import Stop, Usage
from dragoman.dialects.families.begun_calls import OBJECT, BegunCall
from dragoman.dialects.families.openai_usage import count_chat_usage, parse_chat_usage
from dragoman.dialects.families.reasoning_forms import (
    ENCRYPTED,
    ReasoningEntry,
    ThinkTags,
    parse_entries,
    parse_signature,
)
from dragoman.dialects.openai_chat import NAME, ORIGIN, schema
from dragoman.dialects.shared.citations import cite_pages_beside
from dragoman.dialects.shared.parsing import answer_call_id, extras_of, moment_of, parse_link
from dragoman.dialects.shared.raw_json import (
    ABSENT,
    UNREADABLE,
    decode_broken,
    decode_items,
    decode_members,
    decode_object,
    fields_of,
    says_nothing,
    valid_utf8,
)
from dragoman.dialects.shared.split_surrogates import SurrogateMender
from dragoman.wire.error_bodies import parse_failure, parse_no_answer
from dragoman.wire.json_reader import render_object

# The words of the API itself, and those that compatible servers are seen or documented to use.
REASONS: Mapping[str, Stop] = {
    "stop": Stop.END,
    "eos": Stop.END,
    "stop_sequence": Stop.STOP_SEQUENCE,
    "length": Stop.LENGTH,
    "max_tokens": Stop.LENGTH,
    "max_output_tokens": Stop.LENGTH,
    "model_length": Stop.CONTEXT,
    "model_context_window_exceeded": Stop.CONTEXT,
    "tool_calls": Stop.CALLS,
    "function_call": Stop.CALLS,
    "tool_use": Stop.CALLS,
    "content_filter": Stop.FILTER,
    "sensitive": Stop.FILTER,
    "safety": Stop.FILTER,
    "recitation": Stop.FILTER,
    "prohibited_content": Stop.FILTER,
    "refusal": Stop.FILTER,
    "error": Stop.ERROR,
    "abort": Stop.ERROR,
    "network_error": Stop.ERROR,
    "insufficient_system_resource": Stop.ERROR,
    "malformed_function_call": Stop.ERROR,
}

FAILURES = frozenset(word for word, reason in REASONS.items() if reason is Stop.ERROR)
"""Words of an answer that failed."""


_END, _CALLED = Stop.END, Stop.CALLS


def parse_stop(word: str, calls: bool, refused: bool) -> Stop:
    """Our reason for a word, corrected by the answer: one with calls stops for them, whatever word the server sent."""
    reason = REASONS.get(word) or REASONS.get(word.lower(), _END)
    if calls:
        return _CALLED if reason is _END else reason
    if reason is _CALLED:
        reason = _END
    return Stop.REFUSAL if refused and reason is _END else reason


TEXT, REASONING, REFUSAL, OTHER = "text", "reasoning", "refusal", ""

LEGACY = Extras(NAME, {"function_call": b"true"})
"""Marks a call that came as the old `function_call`, which has no id."""

_QUOTE = 34
_NULL = b"null"
_NO_WORDS = (b"n", b"t", b"f")
"""Null, true and false begin so."""


class OpenCall(BegunCall, kw_only=True):
    """A call that may still grow. Its name may come after its id."""

    part: int
    ordinal: int
    custom: bool
    legacy: bool
    started: bool = False
    held: list[Event] = msgspec.field(default_factory=list)


def _arguments_in(function: schema.ChatFunctionDelta, custom: bool) -> bytes:
    """The arguments of a piece, as the literal of their text."""
    literal = bytes(function.input if custom else function.arguments)
    if literal in (b"", _NULL):
        return EMPTY
    return literal if literal[0] == _QUOTE else quote(literal.decode())


class OpenChoice(msgspec.Struct):
    """What is unfinished in one choice."""

    index: int
    origin: Origin
    seed: str
    tags: ThinkTags | None
    parts: int = 0
    part: int = -1
    open: str = OTHER
    text_part: int = -1
    audio: int = -1
    entry: ReasoningEntry | None = None
    calls: dict[int | str, OpenCall] = {}
    given: set[str] = set()
    last: int | str = 0
    finish_reason: str | None = None
    refused: bool = False
    cited: bool = False
    runs: dict[bytes, Json] = {}
    """What the provider's tools did, as the service lists it in the message, by its numbers."""
    extras: dict[str, Json] = {}

    def enter(self, kind: str, out: list[Event]) -> int:
        """The index of the open part of this kind. A new part begins if another kind was open."""
        if self.open != kind:
            self.begin(kind, out)
        return self.part

    def begin(self, kind: str, out: list[Event]) -> int:
        self.leave(out)
        self.open = kind
        self.part = self.parts
        self.parts += 1
        return self.part

    def leave(self, out: list[Event]) -> None:
        """The end of a reasoning entry, whose state is complete only now."""
        self.open = OTHER
        if self.entry is None:
            return
        state = self.entry.state(self.origin)
        if state is not None:
            out.append(Signed(self.index, self.part, state, redacted=state.kind == StateKind.REDACTED))
        elif not self.entry.literals and self.entry.kind == ENCRYPTED:
            out.append(ReasoningDelta(self.index, self.part, EMPTY, ENCRYPTED))
        self.entry = None

    def take_tagged(self, pieces: list[tuple[bool, str]], out: list[Event]) -> None:
        for thinking, text in pieces:
            part = self.enter(REASONING if thinking else TEXT, out)
            if thinking:
                out.append(ReasoningDelta(self.index, part, quote(text), "think"))
            else:
                self.text_part = part
                out.append(TextDelta(self.index, part, quote(text)))

    def take_entries(self, entries: list[ReasoningEntry], out: list[Event]) -> None:
        for entry in entries:
            self._take_entry(entry, out)
            for literal in entry.literals:
                out.append(ReasoningDelta(self.index, self.part, literal, entry.kind))

    def _take_entry(self, entry: ReasoningEntry, out: list[Event]) -> None:
        held = self.entry
        if self.open == REASONING and held is not None and held.key == entry.key and entry.kind != ENCRYPTED:
            held.grow(entry)
            return
        bare = not entry.literals and entry.kind != ENCRYPTED
        if not (bare and self.open == REASONING and held is None):
            self.begin(REASONING, out)
        self.entry = ReasoningEntry(entry.kind, entry.index, dict(entry.fields), list(entry.literals))

    def take_call(self, call: schema.ChatCallDelta, position: int | None, out: list[Event]) -> None:
        """A call or a piece of one. `position` is its place in a whole message, where every entry is a call."""
        function = call.function or call.custom or schema.ChatFunctionDelta()
        key = position if position is not None else self._key(call)
        found = None if position is not None else self.calls.get(key)
        custom = call.custom is not None and call.function is None
        literal = _arguments_in(function, custom)
        if found is not None and found.is_another(call.id, function.name):
            found = None
        elif found is not None and literal.startswith(OBJECT):
            rest = found.rest_of(function.name or "", literal)
            found, literal = (found, rest) if rest is not None else (None, literal)
        if found is None:
            found = self._open_call(key, call.id or "", custom, False, out)
        self.last = key
        self._grow_call(found, function.name, literal, out, call.extra_content)

    def take_legacy(self, function: schema.ChatFunctionDelta, out: list[Event]) -> None:
        found = self.calls.get("legacy")
        if found is None and not function.name:
            return
        if found is None:
            found = self._open_call("legacy", "", False, True, out)
        self._grow_call(found, function.name, _arguments_in(function, False), out)

    def _key(self, call: schema.ChatCallDelta) -> int | str:
        return call.index if call.index is not None else call.id or self.last

    def _open_call(self, key: int | str, given: str, custom: bool, legacy: bool, out: list[Event]) -> OpenCall:
        if key in self.calls:
            # Some servers give all calls the same index. The earlier call stays open under another key.
            self.calls[f"{key}/{len(self.calls)}"] = self.calls.pop(key)
        given = "" if given in self.given else given  # the results of two could not be told apart
        self.given.add(given)
        part, ordinal = self.begin(OTHER, out), len(self.calls)
        call = OpenCall(given=given, part=part, ordinal=ordinal, custom=custom, legacy=legacy)
        self.calls[key] = call
        return call

    def _grow_call(
        self, call: OpenCall, name: str | None, literal: bytes, out: list[Event], extra_content: Raw | None = None
    ) -> None:
        if not call.started and name:
            self._start_call(call, name, out)
        if extra_content:  # before its arguments: clients that have the state in a part of its own get it first
            self._sign_call(call, extra_content, out)
        if literal == EMPTY:
            return
        call.grow(literal)
        (out if call.started else call.held).append(CallDelta(self.index, call.part, literal))

    def _start_call(self, call: OpenCall, name: str, out: list[Event]) -> None:
        call.started, call.name = True, name
        identity = call.given or answer_call_id(self.seed, self.index, call.ordinal)
        extras = LEGACY if call.legacy else None
        out.append(CallStarted(self.index, call.part, identity, name, call.custom, extras, made=not call.given))
        out += call.held
        call.held.clear()

    def _sign_call(self, call: OpenCall, extra_content: Raw, out: list[Event]) -> None:
        found = parse_signature(bytes(extra_content), self.origin)
        if found is not None:
            (out if call.started else call.held).append(Signed(self.index, call.part, found))

    def finish(self, out: list[Event]) -> None:
        """Everything that waited for the end of the choice, without the stop itself."""
        if self.tags is not None:
            self.take_tagged(self.tags.close(), out)
        self.leave(out)
        for call in sorted(self.calls.values(), key=_place):
            if not call.started:
                self._start_call(call, "", out)
            out.append(CallEnded(self.index, call.part))

    def stop_extras(self) -> Extras | None:
        runs = {"executed_tools": b"[" + b",".join(self.runs.values()) + b"]"} if self.runs else {}
        return extras_of(NAME, self.extras | runs)


def _place(call: OpenCall) -> int:
    return call.part


_LIST = 91
_ERROR_MEMBERS = frozenset({"message", "msg", "detail", "errors", "error_message", "error_msg", "error_code"})
MOST_CHOICES = 1024
"""OpenAI takes `n` up to 128; servers of one's own take more."""
_TOO_MANY_CHOICES = Failure(
    FailureKind.ANSWER_TOO_LARGE, f"The provider's answer has more than {MOST_CHOICES} choices.", 502
)
_STOPPED_WITH_ERROR = Failure(FailureKind.SERVER, "The provider stopped with an error and gave no reason.", 502)


class ChatAnswerParser(msgspec.Struct):
    """An answer on its way in: the open choices, the head until it is complete, and the latest usage."""

    origin: Origin
    _seed: str = ""
    _tags: bool = False
    begun: bool = False
    over: bool = False
    _id: str = ""
    _head: Started = msgspec.field(default_factory=Started)
    _extras: dict[str, Json] = {}
    _usage: bytes = b""
    _choices: dict[int, OpenChoice] = {}
    _running: int = 0
    _surrogates: SurrogateMender = msgspec.field(default_factory=SurrogateMender)

    @property
    def stopped(self) -> bool:
        """Whether every choice has a finish reason."""
        return bool(self._choices) and not self._running

    def take(self, frame: bytes, out: list[Event], whole: bool = False) -> bool:
        """Take one chunk or one whole answer. False if it cannot be decoded."""
        try:
            chunk = schema.decode_chunk(frame)
        except UNREADABLE:
            salvaged, frame = decode_broken(schema.decode_chunk, frame, self._surrogates.mark)
            if salvaged is None and frame[:1] == b"[" and b'"error"' in frame:
                self.fail(frame, out)
                return True
            if salvaged is None:
                return False
            chunk = salvaged
        if chunk.error is not ABSENT and not says_nothing(chunk.error):
            self.fail(frame, out)
            return True
        if chunk.choices is None and chunk.usage is ABSENT and (b'"error"' in frame or is_error(decode_members(frame))):
            self.fail(frame, out)
            return True
        start = len(out)
        if not self.begun:
            self._begin(frame, chunk, out)
        if len(chunk.usage) > 4 or chunk.x_groq is not ABSENT:  # it is neither absent nor null
            self._take_usage(chunk)
        elif chunk.choices and len(chunk.choices[-1].usage) > 4:
            self._usage = bytes(chunk.choices[-1].usage)
        extras: Mapping[bytes, dict[str, Json]] | None = None
        for wire in chunk.choices or ():
            index = wire.index or 0
            choice = self._choices.get(index) or self._choice(index)
            if choice is None:
                self.over = True
                out.append(Failed(_TOO_MANY_CHOICES))
                return True
            if self._take_choice(choice, wire, out, whole):
                extras = _gather_choice_extras(frame) if extras is None else extras
                choice.extras = extras.get(b"%d" % index, choice.extras)
        if self._surrogates.found:
            self._surrogates.mend(out, start)
        return True

    def fail(self, frame: bytes, out: list[Event]) -> None:
        self.over = True
        out.append(Failed(parse_failure(200, {}, frame)))

    def finish(self, out: list[Event]) -> None:
        """The proper end, with everything that waited for it."""
        self.over = True
        if not self.begun:
            self._emit_head(out)
        choices = [self._choices[index] for index in sorted(self._choices)]
        failed = next(((choice, word) for choice in choices if (word := _find_failure(choice))), None)
        if failed is not None:
            out.append(Failed(failure_of(failed[1], failed[0].extras.get("error"))))
            return
        self._surrogates.flush(out)
        for choice in choices:
            if choice.index == 0 and choice.text_part >= 0 and not choice.cited:
                out += [Cited(0, choice.text_part, page, self.origin) for page in cite_pages_beside(self._extras)]
            choice.finish(out)
        for choice in choices:
            reason = parse_stop(choice.finish_reason or "", bool(choice.calls), choice.refused)
            out.append(Stopped(choice.index, reason, choice.finish_reason or "", None, choice.stop_extras()))
        usage = parse_chat_usage(self._usage, NAME) if self._usage else None
        if usage is not None:
            out.append(Used(usage))
        out.append(Ended())

    def _begin(self, frame: bytes, chunk: schema.ChatChunk, out: list[Event]) -> None:
        """Put the head together. It goes out with the first choice: a chunk before that may not name the model."""
        try:
            head = schema.decode_head(frame)
            fields = decode_members(frame)
        except UNREADABLE:
            head, fields = schema.decode_head(b"{}"), {}
        if not fields.keys() <= schema.READ_KEYS:
            unread = {key: bytes(raw) for key, raw in fields.items() if key not in schema.READ_KEYS}
            self._extras |= {key: raw for key, raw in unread.items() if raw != _NULL}
        before = self._head
        self._id = str(chunk.id or "") or self._id
        self._head = Started(
            id=self._id,
            model=head.model or before.model,
            created=moment_of(head.created) or before.created,
            fingerprint=head.system_fingerprint or before.fingerprint,
            service_tier=head.service_tier or before.service_tier,
        )
        if chunk.choices:
            self._emit_head(out, chunk.choices[0].index or 0)

    def _emit_head(self, out: list[Event], choice: int | None = None) -> None:
        self.begun = True
        head = self._head
        if head.model and not self.origin.model:
            self.origin = Origin(self.origin.dialect, self.origin.provider, head.model, self.origin.account)
        extras = extras_of(NAME, self._extras)
        out.append(
            Started(
                head.id, head.model, head.created, head.fingerprint, head.service_tier, extras=extras, choice=choice
            )
        )

    def _take_usage(self, chunk: schema.ChatChunk) -> None:
        usage = bytes(chunk.usage)
        if len(usage) > 4:
            self._usage = usage
        elif chunk.x_groq is not ABSENT and b'"usage"' in bytes(chunk.x_groq):
            usage = bytes(decode_members(chunk.x_groq).get("usage", b""))
            self._usage = usage if usage[:1] == b"{" else self._usage

    def _choice(self, index: int) -> OpenChoice | None:
        """A new choice; None if there are too many."""
        if len(self._choices) >= MOST_CHOICES:
            return None
        self._running += 1
        tags = ThinkTags() if self._tags else None
        self._choices[index] = new = OpenChoice(index, self.origin, self._seed or self._id, tags)
        return new

    def _take_choice(self, choice: OpenChoice, wire: schema.ChatChoiceDelta, out: list[Event], whole: bool) -> bool:
        """Take what came of a choice. True if its other members are to be kept: it ends here, or came whole."""
        delta = wire.message if whole else wire.delta
        if delta is None:
            delta, whole = wire.message, delta is None and wire.message is not None
        if delta is not None:
            logprobs = None
            if len(wire.logprobs) > 4:  # neither absent nor null
                logprobs = _find_token_logprobs(wire.logprobs)
            self._take_delta(choice, delta, logprobs, out, whole)
        elif wire.text is not ABSENT:
            # A server of the old completions API: the answer is plain text.
            self._take_content(choice, bytes(wire.text), None, out)
        if wire.finish_reason and choice.finish_reason is None:
            choice.finish_reason = wire.finish_reason
            self._running -= 1
            return True
        return whole and choice.finish_reason is None

    def _take_delta(
        self, choice: OpenChoice, delta: schema.ChatDelta, logprobs: Json | None, out: list[Event], whole: bool
    ) -> None:
        """Take a delta in the order in which a model works: reasoning, text, calls."""
        if (
            delta.reasoning_details is not ABSENT
            or delta.reasoning_content is not ABSENT
            or delta.reasoning is not ABSENT
            or delta.reasoning_text is not ABSENT
        ):
            self._take_reasoning(choice, delta, out)
        if delta.content is not ABSENT:
            literal = bytes(delta.content)
            if choice.open is TEXT and literal[0] == _QUOTE and literal != EMPTY and choice.tags is None:
                out.append(TextDelta(choice.index, choice.part, literal, logprobs))
            else:
                self._take_content(choice, literal, logprobs, out)
        if delta.refusal is not ABSENT:
            self._take_refusal(choice, bytes(delta.refusal), out)
        if delta.annotations is not ABSENT:
            self._take_citations(choice, delta.annotations, out, whole)
        if delta.extra_content is not ABSENT:
            self._take_text_signature(choice, delta.extra_content, out)
        if delta.audio is not ABSENT:
            self._take_audio(choice, delta.audio, out)
        if delta.images is not ABSENT:
            self._take_images(choice, delta.images, out)
        if delta.executed_tools is not ABSENT:
            for run in _objects(delta.executed_tools):
                if len(choice.runs) < _MOST_RUNS:
                    choice.runs[bytes(decode_members(run).get("index", b""))] = run
        if delta.tool_calls is not None:
            for place, call in enumerate(delta.tool_calls):
                choice.take_call(call, place if whole else None, out)
        if delta.function_call is not None:
            choice.take_legacy(delta.function_call, out)

    def _take_content(self, choice: OpenChoice, literal: bytes, logprobs: Json | None, out: list[Event]) -> None:
        if literal[0] == _QUOTE:
            if literal != EMPTY:
                self._take_text(choice, literal, logprobs, out)
            elif logprobs is not None and choice.open == TEXT:
                out.append(TextDelta(choice.index, choice.part, EMPTY, logprobs))
        elif literal[0] == _LIST:
            for part in decode_items(literal):
                self._take_content_part(choice, bytes(part), out)
        elif literal[:1] not in _NO_WORDS and not says_nothing(literal):
            # Some servers write what is JSON as JSON, not as its text.
            self._take_text(choice, quote(literal.decode()), logprobs, out)

    def _take_text(self, choice: OpenChoice, literal: bytes, logprobs: Json | None, out: list[Event]) -> None:
        if choice.tags is not None:
            choice.take_tagged(choice.tags.feed(unquote(literal)), out)
            return
        if choice.open != TEXT:
            choice.text_part = choice.begin(TEXT, out)
        out.append(TextDelta(choice.index, choice.part, literal, logprobs))

    def _take_content_part(self, choice: OpenChoice, raw: bytes, out: list[Event]) -> None:
        """Content as a list: Mistral's thinking, Databricks' summaries, and types that are kept verbatim."""
        if raw[:1] == b'"' and raw != EMPTY:
            self._take_text(choice, raw, None, out)
        if raw[:1] != b"{":
            return
        fields = decode_members(raw)
        kind = unquote(bytes(fields["type"])) if bytes(fields.get("type", b""))[:1] == b'"' else ""
        text = bytes(fields.get("text", b""))
        if kind == "text" and text[:1] == b'"':
            if text != EMPTY:
                self._take_text(choice, text, None, out)
        elif kind == "thinking":
            self._take_thinking(choice, fields.get("thinking", ABSENT), CONTENT_FIELD, out)
        elif kind == "reasoning" and bytes(fields.get("summary", b""))[:1] == b"[":
            self._take_thinking(choice, fields["summary"], "summary", out)
        else:
            opaque = Opaque(kind=kind, json=raw, origin=self.origin)
            out.append(OpaqueBlock(choice.index, choice.begin(OTHER, out), opaque))

    def _take_thinking(self, choice: OpenChoice, raw: Raw, field: str, out: list[Event]) -> None:
        if bytes(raw)[:1] == b'"':
            self._take_reasoning_text(choice, bytes(raw), field, out)
        for piece in decode_items(raw) if bytes(raw)[:1] == b"[" else ():
            if bytes(piece)[:1] == b"{":
                self._take_reasoning_text(choice, bytes(decode_members(piece).get("text", b"")), field, out)

    def _take_reasoning_text(self, choice: OpenChoice, literal: bytes, field: str, out: list[Event]) -> None:
        if literal[:1] == b'"' and literal != EMPTY:
            out.append(ReasoningDelta(choice.index, choice.enter(REASONING, out), literal, field))

    def _take_reasoning(self, choice: OpenChoice, delta: schema.ChatDelta, out: list[Event]) -> None:
        """The same text may come twice, as a string and as details. The details win, since they carry the state."""
        details = delta.reasoning_details
        entries = parse_entries(bytes(details)) if details is not ABSENT and bytes(details) != _NULL else []
        if not any(entry.literals for entry in entries):
            if delta.reasoning_content is not ABSENT and len(bytes(delta.reasoning_content)) > 2:
                self._take_reasoning_text(choice, bytes(delta.reasoning_content), "reasoning_content", out)
            elif delta.reasoning is not ABSENT and len(bytes(delta.reasoning)) > 2:
                self._take_reasoning_text(choice, bytes(delta.reasoning), "reasoning", out)
            elif delta.reasoning_text is not ABSENT:  # Copilot's spelling
                self._take_reasoning_text(choice, bytes(delta.reasoning_text), "reasoning_content", out)
        choice.take_entries(entries, out)

    def _take_refusal(self, choice: OpenChoice, literal: bytes, out: list[Event]) -> None:
        if literal[0] == _QUOTE and literal != EMPTY:
            choice.refused = True
            out.append(RefusalDelta(choice.index, choice.enter(REFUSAL, out), literal))

    def _take_citations(self, choice: OpenChoice, raw: Raw, out: list[Event], whole: bool) -> None:
        for item in _objects(raw):
            if choice.text_part < 0:
                choice.text_part = choice.begin(TEXT, out)
            choice.cited = True
            note = item if whole else _without_number(item)
            out.append(Cited(choice.index, choice.text_part, note, self.origin))

    def _take_text_signature(self, choice: OpenChoice, raw: Raw, out: list[Event]) -> None:
        state = parse_signature(bytes(raw), self.origin)
        if state is not None:
            part = choice.text_part if choice.text_part >= 0 else choice.begin(REASONING, out)
            out.append(Signed(choice.index, part, state))

    def _take_audio(self, choice: OpenChoice, raw: Raw, out: list[Event]) -> None:
        if bytes(raw)[:1] != b"{":
            return
        fields = {key: bytes(value) for key, value in decode_members(raw).items() if bytes(value) != _NULL}
        data = fields.pop("data", EMPTY)
        transcript = fields.pop("transcript", None)
        if data == EMPTY and transcript in (None, EMPTY) and fields.get("id", EMPTY) == EMPTY:
            return
        if data[0] != _QUOTE or (transcript or EMPTY)[0] != _QUOTE:
            return
        if choice.audio < 0:
            choice.audio = choice.begin(OTHER, out)
        extras = extras_of(NAME, fields)
        out.append(MediaDelta(choice.index, choice.audio, MediaKind.AUDIO, "", data, transcript, extras=extras))

    def _take_images(self, choice: OpenChoice, raw: Raw, out: list[Event]) -> None:
        for item in _objects(raw):
            image = decode_object(item).get("image_url")
            url = image.get("url") if isinstance(image, dict) else image
            if not isinstance(url, str):
                continue
            part, source = choice.begin(OTHER, out), parse_link(url)
            data, address = (source.data, "") if isinstance(source, Inline) else (EMPTY, source.url)
            out.append(MediaDelta(choice.index, part, MediaKind.IMAGE, source.media_type, data, url=address))


_MOST_RUNS = 100


def _gather_choice_extras(frame: bytes) -> Mapping[bytes, dict[str, Json]]:
    """The members of each choice that are not read here, by the number of the choice."""
    found = {}
    for fields in schema.decode_choices(frame).choices:
        unread = fields.keys() - schema.CHOICE_KEYS
        found[bytes(fields.get("index", b"0"))] = {
            key: bytes(value) for key, value in fields.items() if key in unread and bytes(value) != _NULL
        }
    return found


def is_error(members: Mapping[str, object]) -> bool:
    """Whether they are those of an error without the member `error`, as some servers send in place of a chunk."""
    return not _ERROR_MEMBERS.isdisjoint(members)


def _find_failure(choice: OpenChoice) -> str:
    """The word of a choice that failed; empty if it did not. OpenRouter calls a connection that broke before the first
    word a stop, and has the truth beside it."""
    word = choice.finish_reason or ""
    if word.lower() in FAILURES or choice.parts or NATIVE_REASON not in choice.extras:
        return word if word.lower() in FAILURES else ""
    native = choice.extras[NATIVE_REASON]
    found = unquote(native) if native[:1] == b'"' else ""
    return found if found.lower() in FAILURES else ""


NATIVE_REASON = "native_finish_reason"


def failure_of(word: str, error: Json | None) -> Failure:
    """The failure of a choice that ended in an error: by its own words if it has them."""
    if error is not None:
        return parse_failure(200, {}, b'{"error":' + error + b"}")
    if word == "error":
        return _STOPPED_WITH_ERROR
    return Failure(FailureKind.SERVER, f"The provider stopped with {word}.", 502)


def _find_token_logprobs(raw: Raw) -> Json | None:
    text = bytes(raw)
    if text[:1] != b"{":
        return None
    content = bytes(decode_members(text).get("content", b""))
    return content if content[:1] == b"[" and len(content) > 2 else None


def _objects(raw: Raw) -> Sequence[bytes]:
    text = bytes(raw)
    return [bytes(item) for item in decode_items(text) if bytes(item)[:1] == b"{"] if text[:1] == b"[" else ()


def _without_number(note: Json) -> Json:
    """An annotation without the number that only its stream needs."""
    members = fields_of(note) if b'"index"' in note else None
    return note if members is None else render_object({key: members[key] for key in members if key != "index"})


def parse_answer(body: bytes, origin: Origin | None = None, *, think_tags: bool = False, seed: str = "") -> list[Event]:
    """The events of a whole answer. A body that is no answer gives one event, the failure."""
    answer = ChatAnswerParser(origin or ORIGIN, seed, think_tags)
    out: list[Event] = []
    try:
        read = answer.take(valid_utf8(body), out, whole=True)
    except UNREADABLE:
        read = False
    if not read or not (answer.begun or answer.over):
        return [Failed(parse_no_answer(body))]
    if not answer.over:
        answer.finish(out)
    return [out[-1]] if type(out[-1]) is Failed else out


def peek_usage(body: bytes) -> tuple[Usage | None, Stop] | None:
    """Usage and stop of an answer that is relayed as it is; None if only parsing can tell."""
    try:
        if not body.isascii():
            body.decode()
        glanced = schema.decode_glanced(body)
        usage = (
            None if says_nothing(glanced.usage) else count_chat_usage(glanced.usage) or _parse_odd_usage(glanced.usage)
        )
    except (*UNREADABLE, UnicodeDecodeError):
        return None
    first = None
    for choice in glanced.choices:
        if choice.finish_reason in FAILURES or (choice.native_finish_reason or "").lower() in FAILURES:
            return None
        if choice.index == 0 and first is None:
            first = choice
    if first is None or glanced.x_groq is not ABSENT or not (glanced.error is ABSENT or says_nothing(glanced.error)):
        return None
    message = first.message
    calls = bool(message.tool_calls) or not (message.function_call is ABSENT or says_nothing(message.function_call))
    return usage, parse_stop(first.finish_reason, calls, bool(message.refusal))


def check_whole(body: bytes) -> None:
    """Raises DecodeError if clients cannot read a whole answer."""
    usage = schema.decode_glanced(body).usage
    if not says_nothing(usage):
        schema.decode_glanced_usage(usage)


def _parse_odd_usage(raw: msgspec.Raw) -> Usage | None:
    """The tokens of an object with other counts. Raises DecodeError if clients cannot read it."""
    schema.decode_glanced_usage(raw)
    return parse_chat_usage(bytes(raw), NAME)
