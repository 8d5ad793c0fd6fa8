"""A whole Ollama answer from our reply, by the builder that streams use."""

from __future__ import annotations

from dragoman.conversation.collect import tell
from dragoman.conversation.literals import joined
from dragoman.conversation.parts import Json
from dragoman.conversation.replies import Reply
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.ollama.message_builder import MessageBuilder
from dragoman.wire.json_reader import render_list, render_object


def render_answer(reply: Reply, context: AnswerContext) -> bytes:
    """The reply as one object."""
    whole = _OllamaAnswerRenderer(context)
    for event in tell(reply):
        whole.take(event)
    return whole.body


class _OllamaAnswerRenderer(MessageBuilder):
    """Collects the pieces of one message."""

    __slots__ = ("_called", "_logprobs", "_texts", "_thoughts", "body")

    def __init__(self, context: AnswerContext) -> None:
        super().__init__(context)
        self._texts: list[Json] = []
        self._thoughts: list[Json] = []
        self._called: list[Json] = []
        self._logprobs: list[Json] = []
        self.body = b""

    def content(self, literal: Json, logprobs: Json | None) -> None:
        self._texts.append(literal)
        if logprobs is not None:
            self._logprobs.append(logprobs)

    def thinking(self, literal: Json) -> None:
        self._thoughts.append(literal)

    def call(self, json: Json) -> None:
        self._called.append(json)

    def finish(self) -> None:
        message: dict[str, Json] = {"role": b'"assistant"', "content": joined("", self._texts)}
        if self._thoughts:
            message["thinking"] = joined("", self._thoughts)
        if self._called:
            message["tool_calls"] = render_list(self._called)
        fields: dict[str, Json] = {**self.head(), "message": render_object(message), **self.tail()}
        if self._logprobs:
            fields["logprobs"] = b"[" + b",".join([tokens[1:-1] for tokens in self._logprobs]) + b"]"
        self.body = render_object(fields)
