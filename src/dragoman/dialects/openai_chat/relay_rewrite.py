"""Chunks of a relayed stream: which are plainly fine, and how those are written that clients misread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from dragoman.dialects.families.begun_calls import OBJECT, BegunCall
from dragoman.dialects.families.openai_answers import error_object
from dragoman.dialects.openai_chat.answer_parse import FAILURES, failure_of, is_error
from dragoman.dialects.openai_chat.answer_render import provider_words
from dragoman.dialects.shared.parsing import answer_call_id
from dragoman.wire.error_bodies import parse_failure

Scalar = str | int | float | None


Nothing = Annotated[str, Meta(max_length=0)] | None


class PlainDelta(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    role: Literal["assistant"] | None = None
    content: str | None = None
    refusal: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None
    tool_calls: None = None


class PlainChoice(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    delta: PlainDelta
    index: int
    finish_reason: Literal["stop", ""] | None = None
    native_finish_reason: str | None = None
    logprobs: None = None


class PlainChunk(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    choices: list[PlainChoice]
    object: Literal["chat.completion.chunk"]
    id: Scalar = None
    created: Scalar = None
    model: Scalar = None
    system_fingerprint: Scalar = None
    service_tier: Scalar = None
    obfuscation: Scalar = None
    provider: Scalar = None
    usage: None = None


check_plain_chunk = msgspec.json.Decoder(PlainChunk).decode
"""Raises DecodeError for any other chunk."""


_CHUNK = "chat.completion.chunk"
"""The `object` of every chunk; the helper `stream()` of OpenAI's SDK fails without it."""


_WORDS_IN = frozenset({"delta", "message", "text"})
"""Where servers write what a choice says."""


class _OpenDelta(msgspec.Struct, gc=False):
    role: Literal["assistant"] | None = None
    annotations: Annotated[list[msgspec.Raw], Meta(max_length=0)] | None = None


class _OpenChoice(msgspec.Struct, gc=False):
    delta: _OpenDelta
    index: int
    finish_reason: Nothing = None


class _OpenChunk(msgspec.Struct, gc=False):
    choices: list[_OpenChoice]
    object: Literal["chat.completion.chunk"]
    error: Nothing = None


class _Function(msgspec.Struct, gc=False):
    arguments: str | None = None
    name: Nothing = None


class _CallPiece(msgspec.Struct, gc=False):
    """A piece of a call that has begun."""

    function: _Function
    index: int
    id: Nothing = None


class _PieceDelta(msgspec.Struct, gc=False):
    tool_calls: Annotated[list[_CallPiece], Meta(min_length=1, max_length=1)]


class _PieceChoice(msgspec.Struct, gc=False):
    delta: _PieceDelta
    index: int


class _PieceChunk(msgspec.Struct, gc=False):
    choices: Annotated[list[_PieceChoice], Meta(min_length=1, max_length=1)]


_decode_piece = msgspec.json.Decoder(_PieceChunk).decode
"""Raises DecodeError unless all that a chunk tells of calls is a piece of one."""


_check_open_chunk = msgspec.json.Decoder(_OpenChunk).decode
"""Raises DecodeError for a chunk that ends a choice, is an error or lacks members that every chunk of OpenAI's has."""


def _with_members(chunk: dict[str, Any]) -> dict[str, Any]:
    """A chunk with the members that every chunk of OpenAI's has, and that its SDKs read without a look."""
    chunk, choices = {**chunk, "object": _CHUNK}, chunk.get("choices")
    listed = choices if isinstance(choices, list) else ()
    if not chunk.get("usage"):
        counted = next((one["usage"] for one in listed if isinstance(one, dict) and one.get("usage")), None)
        chunk |= {"usage": counted} if counted is not None else {}
    return {**chunk, "choices": [_with_delta(one) for one in listed if isinstance(one, dict) and _says_something(one)]}


def _says_something(choice: dict[str, Any]) -> bool:
    return not _WORDS_IN.isdisjoint(choice) or bool(choice.get("finish_reason"))


def _with_delta(choice: dict[str, Any]) -> dict[str, Any]:
    choice = {**choice, "index": choice["index"] if isinstance(choice.get("index"), int) else 0}
    delta = choice.get("delta")
    if isinstance(delta, dict):
        unsaid = delta.get("role") == ""  # MiniMax; SDKs that check it fail
        return {**choice, "delta": {name: delta[name] for name in delta if name != "role"}} if unsaid else choice
    message, text = choice.pop("message", None), choice.pop("text", None)
    return {**choice, "delta": message if isinstance(message, dict) else {"content": text} if text else {}}


def _split_calls(chunk: dict[str, Any]) -> list[Any]:
    """A chunk for each call, as OpenAI sends them: some clients read one call of a chunk. What ends the choice or the
    answer stands in the last one."""
    choices = chunk.get("choices")
    choice: Any = choices[0] if isinstance(choices, list) and len(choices) == 1 else None
    delta: Any = choice.get("delta") if isinstance(choice, dict) else None
    calls: Any = delta.get("tool_calls") if isinstance(delta, dict) else None
    if not isinstance(calls, list) or len(calls) < 2 or not all(isinstance(call, dict) for call in calls):
        return [chunk]
    shared = {name: value for name, value in chunk.items() if name != "usage"}
    pieces = []
    for place, call in enumerate(calls):
        numbered = call if call.get("index") is not None else {**call, "index": place}
        piece = {**delta, "tool_calls": [numbered]} if not place else {"tool_calls": [numbered]}
        pieces.append({**shared, "choices": [{**choice, "delta": piece, "finish_reason": None}]})
    pieces[-1] = {**chunk, "choices": [{**pieces[-1]["choices"][0], "finish_reason": choice.get("finish_reason")}]}
    return pieces


_ROOM, _OF_CALL = 1 << 18, 100
"""Letters of ids and names of calls that are held of one stream, and what each call or choice costs beside them."""


class _BegunCalls(msgspec.Struct):
    """The calls of one choice that have begun, and where those are that have a number or an id."""

    calls: list[BegunCall] = []
    by_index: dict[int, int] = {}
    by_id: dict[str, int] = {}

    def find(self, index: int | None, id: str) -> int | None:
        """Where the call is that a piece belongs to; one with neither number nor id belongs to the last one."""
        if index is not None:
            return self.by_index.get(index)
        return self.by_id.get(id) if id else len(self.calls) - 1 if self.calls else None

    def begin(self, index: int | None, id: str, name: str) -> int:
        place = len(self.calls)
        self.calls.append(BegunCall(given="" if id in self.by_id else id, name=name))
        self.by_id.setdefault(id, place)
        if index is not None:
            self.by_index[index] = place
        return place


class MisreadChunks(msgspec.Struct):
    """Writes chunks that clients misread: one with several calls is split, and one that is an error, or ends in
    one, has it as a member, where clients look for one. An error names the provider. Calls are numbered in their order,
    since some servers give all of them the same number or none; each has an id, and has it and its name once. Once they
    are too many, the rest stays as it is. A choice that ends without a delta has an empty one. What says nothing is
    left out, such as the rest of a filter's verdict. Annotations that come in several lists have numbers from the
    second list on: the helper of OpenAI's SDK raises without. A choice that has stopped does not stop again: clients
    take the last reason, and leave the calls of a turn that seems to end with its text."""

    seed: str = ""
    provider: str = ""
    renumbers: bool = False
    follow: Callable[[bytes], bool] | None = None
    calls: dict[int, _BegunCalls] = {}
    stopped: dict[int, str] = {}
    notes: dict[int, int] = {}
    room: int = _ROOM

    def may_be_misread(self, payload: bytes) -> bool:
        self.follow = None
        if b'"tool_calls"' in payload and (self.renumbers or not self._goes_on(payload)):
            return True
        try:
            _check_open_chunk(payload)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            return True
        return False

    def _goes_on(self, payload: bytes) -> bool:
        """Whether a chunk is the next piece of a call, and nothing that may have been told before."""
        try:
            (choice,) = _decode_piece(payload).choices
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            return False
        (piece,), calls = choice.delta.tool_calls, self.calls.get(choice.index)
        place = calls.by_index.get(piece.index) if calls is not None else None
        if calls is None or place is None:
            return False
        self.follow = calls.calls[place].goes_on
        return self.follow(msgspec.json.encode(piece.function.arguments or ""))

    def pieces(self, chunk: dict[str, Any]) -> list[Any]:
        if chunk.get("error"):
            return [self._name_provider(chunk, msgspec.json.encode(chunk["error"]))]
        if chunk.get("choices") is None and "usage" not in chunk and is_error(chunk):
            failure = parse_failure(200, {}, msgspec.json.encode(chunk))
            return [self._name_provider({"error": error_object(failure, failure.message)}, failure.raw)]
        chunk = _with_members(chunk)
        if not chunk["choices"] and not chunk.get("usage"):
            return []
        for choice in chunk["choices"]:
            word = choice.get("finish_reason")
            if isinstance(word, str) and word.lower() in FAILURES:
                failure = failure_of(word, msgspec.json.encode(choice["error"]) if choice.get("error") else None)
                return [self._name_provider({**chunk, "error": error_object(failure, failure.message)}, failure.raw)]
        split = _split_calls(chunk)
        return [{**piece, "choices": [self._show(choice) for choice in piece["choices"]]} for piece in split]

    def _name_provider(self, chunk: dict[str, Any], raw: bytes) -> dict[str, Any]:
        """A chunk that holds an error, with what all errors tell of the provider."""
        error = {"message": chunk["error"]} if isinstance(chunk["error"], str) else chunk["error"]
        if not self.provider or not isinstance(error, dict):
            return chunk
        metadata: dict[str, Any] = provider_words(self.provider, raw)
        metadata |= own if isinstance(own := error.get("metadata"), dict) else {}
        return {**chunk, "error": {**error, "metadata": metadata}}

    def _show(self, choice: dict[str, Any]) -> dict[str, Any]:
        place, word = choice["index"], choice.get("finish_reason")
        if isinstance(word, str) and word:
            if place in self.stopped and word in (self.stopped[place], "stop"):
                choice = {**choice, "finish_reason": None}
            elif word != "stop" and self._has_room(word):
                self.stopped[place], self.renumbers = word, True
        delta = choice["delta"]
        if isinstance(notes := delta.get("annotations"), list) and notes:
            delta = {**delta, "annotations": self._number_notes(notes, place)}
            choice = {**choice, "delta": delta}
        calls = delta.get("tool_calls")
        if not isinstance(calls, list) or not calls:
            return choice
        begun = self.calls.get(place)
        if begun is None:
            begun = _BegunCalls()
            if self._has_room(""):
                self.calls[place] = begun
        numbered = [self._number(call, begun, place) if isinstance(call, dict) else call for call in calls]
        return {**choice, "delta": {**delta, "tool_calls": numbered}}

    def _number_notes(self, notes: list[Any], choice: int) -> list[Any]:
        before = self.notes.get(choice, 0)
        if before or self._has_room(""):
            self.notes[choice] = before + len(notes)
        are_objects = before and all(isinstance(note, dict) for note in notes)
        return [{"index": at, **note} for at, note in enumerate(notes, before)] if are_objects else notes

    def _has_room(self, words: str) -> bool:
        self.room -= len(words) + _OF_CALL
        return self.room > 0

    def _number(self, call: dict[str, Any], begun: _BegunCalls, choice: int) -> dict[str, Any]:
        call = _with_fitting_ids(call)
        index, id, words = call.get("index"), call.get("id") or "", call.get("function")
        if not isinstance(words, dict) or not isinstance(id, str) or not isinstance(index, int | None):
            return call
        if isinstance(words.get("arguments"), dict):
            words = {**words, "arguments": msgspec.json.encode(words["arguments"]).decode()}
        name, literal = words.get("name") or "", msgspec.json.encode(words.get("arguments") or "")
        place = begun.find(index, id)
        known = begun.calls[place] if place is not None else None
        if known is not None and known.is_another(id, name):
            place = None
        elif known is not None and id in ("", known.given) and literal.startswith(OBJECT):
            rest = known.rest_of(name, literal)
            if rest is None:
                place = None
            elif rest != literal:
                literal, words = rest, {**words, "arguments": msgspec.json.decode(rest)}
        if place is None:
            if not self._has_room(id + name):
                return call
            place = begun.begin(index, id, name)
            if not begun.calls[place].given:
                call = {**call, "id": answer_call_id(self.seed, choice, place)}
        else:
            call = {key: value for key, value in call.items() if key != "id" or not id}
            words = {key: value for key, value in words.items() if key != "name" or name != begun.calls[place].name}
        begun.calls[place].grow(literal)
        self.renumbers = self.renumbers or place != index
        return {**call, "index": place, "function": words}


def _with_fitting_ids(call: dict[str, Any]) -> dict[str, Any]:
    """A call whose id is a text and whose number is one, as clients check: some servers swap the two."""
    id, index = call.get("id"), call.get("index")
    if isinstance(id, int | float) and not isinstance(id, bool):
        call = {**call, "id": str(id)}
    if isinstance(index, str) and index.isdecimal() and len(index) < 10:
        call = {**call, "index": int(index)}
    return call
