"""Each renderer takes every kind of event, but for those that its dialect has no place for."""

from __future__ import annotations

import pytest

from dragoman.conversation.collect import Folding
from dragoman.conversation.events import CallEnded, Cited, Event, OpaqueBlock, Signed, methods_by_event
from dragoman.dialects.cohere.stream import CohereStreamRenderer
from dragoman.dialects.families.block_builder import BlockBuilder
from dragoman.dialects.gemini.answer_render import PartBuilder
from dragoman.dialects.ollama.answer_render import MessageBuilder
from dragoman.dialects.openai_chat.stream import ChatStreamRenderer
from dragoman.dialects.openai_responses.stream import ResponsesStreamRenderer


@pytest.mark.parametrize(
    ("taker", "left_out"),
    [
        (Folding, {CallEnded}),
        (BlockBuilder, set()),
        (ChatStreamRenderer, {CallEnded}),
        (CohereStreamRenderer, {Signed, OpaqueBlock}),
        (MessageBuilder, {Signed, Cited, OpaqueBlock}),
        (PartBuilder, set()),
        (ResponsesStreamRenderer, set()),
    ],
)
def test_no_event_is_left_out_by_mistake(taker: type, left_out: set[type[Event]]) -> None:
    methods = methods_by_event(taker)
    own = list(vars(taker).values())

    assert {kind for kind, method in methods.items() if method not in own} == left_out


def test_every_kind_of_event_has_a_method() -> None:
    kinds = set(Event.__subclasses__()) | {kind for base in Event.__subclasses__() for kind in base.__subclasses__()}

    assert {kind for kind in kinds if not kind.__subclasses__()} == set(methods_by_event(object))
