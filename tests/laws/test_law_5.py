"""Law 5, nothing silent: a report exactly when the conversation changed, and nothing lost without a word."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.strategies import SHAPES, request
from tests.targets import SEEDS, TARGETS, signer

from dragoman.conversation.canonical import canonical
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import Role
from dragoman.conversation.parts import Call, Part, Result, Text
from dragoman.engine.adapt import BUILTIN, adapt, read


@pytest.mark.parametrize("target", TARGETS)
def test_a_change_is_reported_exactly_when_there_is_one(target: str) -> None:
    dialect = BUILTIN.target(target).dialect
    for source in SHAPES:
        for seed in range(SEEDS):
            body = request(source, seed, signer(target)).body
            before = canonical(read(body, source=source).conversation)
            adapted = adapt(body, source=source, target=target)
            changed = before != canonical(adapted.conversation)
            if changed:
                assert adapted.changes, (source, seed)
            elif source != dialect:
                assert not adapted.changes, (source, seed, adapted.changes)


@pytest.mark.parametrize("target", TARGETS)
def test_a_dialect_reads_back_what_it_wrote(target: str) -> None:
    for source in SHAPES:
        for seed in range(SEEDS):
            adapted = adapt(request(source, seed, signer(target)).body, source=source, target=target)
            again = read(adapted.body, source=adapted.dialect).conversation
            assert meaning(again) == meaning(adapted.conversation), (source, seed)


def meaning(conversation: Conversation) -> Any:
    """Ids by their order, since some wires have none; the model's messages in a row as one: Responses tells items."""
    plain = canonical(conversation)
    turns: list[dict[str, Any]] = []
    ids: dict[str, int] = {}
    for message in plain["messages"]:
        for part in message["parts"]:
            for key in {"id", "call_id"} & part.keys():
                part[key] = ids.setdefault(part[key], len(ids))
        if turns and message["role"] == turns[-1]["role"] == Role.ASSISTANT:
            turns[-1] = {**turns[-1], "parts": turns[-1]["parts"] + message["parts"]}
        else:
            turns.append(message)
    return {**plain, "messages": turns}


@pytest.mark.parametrize("target", TARGETS)
def test_every_text_and_call_is_in_the_output_or_in_the_report(target: str) -> None:
    for source in SHAPES:
        for seed in range(SEEDS):
            body = request(source, seed, signer(target)).body
            asked = read(body, source=source).conversation
            adapted = adapt(body, source=source, target=target)
            written = "\0".join(said(adapted.conversation))
            missing = [words for words in said(asked) if words.strip() and words not in written]
            assert len(missing) <= len(adapted.changes), (source, seed, missing)


def said(conversation: Conversation) -> list[str]:
    return [words for message in conversation.messages for words in _words(message.parts)]


def _words(parts: tuple[Part, ...]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, Text):
            yield part.text
        elif isinstance(part, Result):
            yield from _words(part.parts)
        elif isinstance(part, Call):
            yield part.name
