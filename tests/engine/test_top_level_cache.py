"""Rules that look at the top level alone: what they find must not depend on the messages, nor on being asked before."""

from __future__ import annotations

import pytest
from tests.strategies import SHAPES, request
from tests.targets import TARGETS, signer

from dragoman.conversation.messages import USER, Message
from dragoman.conversation.parts import Text
from dragoman.engine.adapt import adapt, choose, read
from dragoman.engine.plan import plan
from dragoman.errors import DragomanError

SEEDS = 12
HI = (Message(USER, (Text(b'"Hi"'),)),)


@pytest.mark.parametrize("target", TARGETS)
def test_what_they_find_is_told_by_the_top_alone(target: str) -> None:
    steps = plan(choose(target), False)
    for source in SHAPES:
        for seed in range(SEEDS):
            conversation = read(request(source, seed, signer(target)).body, source=source).conversation
            other = conversation.but(messages=HI)
            for rule in (rule for rule in steps.rules if rule.top_level):
                try:
                    found = rule.repair(conversation, steps.context).conversation is conversation
                except DragomanError:
                    continue
                assert found == (rule.repair(other, steps.context).conversation is other), (rule.name, source, seed)


def test_a_known_top_is_repaired_again_where_it_has_to_be() -> None:
    body = b'{"model":"m","messages":[{"role":"user","content":"Hi"}],"temperature":5,"max_tokens":9}'
    told = [[change.did for change in adapt(body, target="anthropic/claude-3-5-haiku-latest").changes] for _ in "12"]
    assert told[0] == told[1] != []


def test_tools_are_read_once_for_the_same_bytes() -> None:
    body = (
        b'{"messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"function","function":{"name":"f"}}],"seed":1}'
    )
    first, again = (read(body, source="openai-chat").conversation for _ in "12")
    assert first.tools is again.tools
    assert first.settings is again.settings
