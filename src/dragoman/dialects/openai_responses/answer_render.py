"""A whole response from our reply."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dragoman.conversation import reasoning_states
from dragoman.conversation.collect import text_of_arguments
from dragoman.conversation.events import Started
from dragoman.conversation.literals import EMPTY
from dragoman.conversation.parts import (
    Call,
    Citation,
    Inline,
    Json,
    Media,
    MediaKind,
    Opaque,
    Part,
    Reasoning,
    Refusal,
    Text,
)
from dragoman.conversation.replies import Choice, Reply, Stop
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.openai_responses import NAME, output_items
from dragoman.dialects.openai_responses.response_object import identity, response_for
from dragoman.dialects.openai_responses.stop_reasons import render_incomplete
from dragoman.dialects.openai_responses.usage import render_usage
from dragoman.dialects.ownership import own_fields, own_or_sealed
from dragoman.wire.json_reader import render_list


def render_answer(reply: Reply, context: AnswerContext) -> bytes:
    """The reply as one response object. This dialect has one choice."""
    started = Started(reply.id, reply.model, reply.created, None, reply.service_tier, reply.extras)
    choice = reply.choices[0] if reply.choices else Choice(())
    writing = _OutputRenderer(identity(started, context), choice)
    usage = render_usage(reply.usage) if reply.usage is not None else b"null"
    response = response_for(started, context)
    if choice.stop is Stop.ERROR:
        error = b'{"code":"server_error","message":"The provider stopped with an error."}'
        return response.object(b"failed", writing.output(), usage, error)
    incomplete = render_incomplete(choice.stop, writing.refused)
    if incomplete is not None:
        return response.object(b"incomplete", writing.output(), usage, incomplete=incomplete)
    return response.object(writing.status(reply), writing.output(), usage)


class _OutputRenderer:
    """The output while it grows. Texts and refusals that follow each other share a message."""

    def __init__(self, response: str, choice: Choice) -> None:
        self.response = response
        self.choice = choice
        self.refused = any(isinstance(part, Refusal) for part in choice.parts)
        self.items: list[bytes] = []
        self.content: list[bytes] = []
        self.fields: dict[str, Json] = {}
        self.text: tuple[Text, list[Json]] | None = None
        self.logprobs = choice.logprobs
        self.states: list[Opaque] = []

    def status(self, reply: Reply) -> bytes:
        """Completed, unless the provider has not finished the answer."""
        if self.choice.stop is None and reply.extras is not None and reply.extras.dialect == NAME:
            return reply.extras.fields.get("status", b'"completed"')[1:-1]
        return b"completed"

    def output(self) -> bytes:
        self.items.clear()
        for part in self.choice.parts:
            _RENDER[type(part)](self, part)
        self._close_message()
        return render_list(self.items)

    def _id(self, prefix: str, fields: Mapping[str, Json]) -> Json:
        return output_items.item_id(prefix, fields, self.response, len(self.items))

    def _text(self, part: Text) -> None:
        self._close_text()
        fields = own_fields(part.extras, NAME)
        if self.states or (self.content and fields.get("id") != self.fields.get("id")):
            self._close_message()
        self.fields = self.fields or fields
        self.text = (part, [])
        if part.signature is not None:
            # It follows the message, since citations of the text may follow the text.
            self.states.append(part.signature)

    def _citation(self, part: Citation) -> None:
        note = output_items.render_annotation(part.json, part.origin)
        if note is None:
            return
        if self.text is None:
            self.text = (Text(literal=EMPTY), [])
        self.text[1].append(note)

    def _refusal(self, part: Refusal) -> None:
        self._close_text()
        self.content.append(output_items.render_refusal(part.literal))

    def _reasoning(self, part: Reasoning) -> None:
        self._close_message()
        fields = own_fields(part.extras, NAME)
        encrypted = None
        if part.state is not None:
            encrypted = own_or_sealed(part.state, reasoning_states.ENCRYPTED, NAME)
            fields = fields or own_fields(part.state.extras, NAME)
        literal = part.text.literal if part.text is not None else None
        self.items.append(output_items.render_reasoning(self._id("rs", fields), fields, literal, part.field, encrypted))

    def _state(self, state: Opaque) -> None:
        """The state of a text or a call, which have no place for it, as a reasoning item of its own."""
        self._close_message()
        encrypted = own_or_sealed(state, reasoning_states.ENCRYPTED, NAME)
        self.items.append(output_items.render_reasoning(self._id("rs", {}), {}, None, "", encrypted))

    def _call(self, part: Call) -> None:
        self._close_message()
        if part.signature is not None:
            self._state(part.signature)
        fields = own_fields(part.extras, NAME)
        made = self._id("ctc" if part.custom else "fc", fields)
        words = text_of_arguments(part)
        self.items.append(output_items.render_call(made, fields, part.id, part.name, part.custom, words, b"completed"))

    def _media(self, part: Media) -> None:
        if part.transcript is not None and part.transcript != EMPTY:
            self._text(Text(literal=part.transcript))
        if part.kind is MediaKind.IMAGE and isinstance(part.source, Inline):
            self._close_message()
            fields = own_fields(part.extras, NAME)
            source = part.source
            self.items.append(
                output_items.render_picture(self._id("ig", fields), fields, source.media_type, source.data)
            )

    def _kept(self, part: Opaque) -> None:
        if part.origin.dialect == NAME:
            self._close_message()
            self.items.append(part.json)

    def _close_text(self) -> None:
        if self.text is None:
            return
        part, notes = self.text
        self.content.append(output_items.render_output_text(part.literal, notes, self.logprobs))
        self.logprobs = None
        self.text = None

    def _close_message(self) -> None:
        self._close_text()
        if self.content:
            made = self._id("msg", self.fields)
            self.items.append(output_items.render_message(made, self.fields, b"completed", self.content))
        self.content = []
        self.fields = {}
        states, self.states = self.states, []
        for state in states:
            self._state(state)


_RENDER: Mapping[type[Part], Callable[[_OutputRenderer, Any], None]] = {
    Text: _OutputRenderer._text,
    Citation: _OutputRenderer._citation,
    Refusal: _OutputRenderer._refusal,
    Reasoning: _OutputRenderer._reasoning,
    Call: _OutputRenderer._call,
    Media: _OutputRenderer._media,
    Opaque: _OutputRenderer._kept,
}
