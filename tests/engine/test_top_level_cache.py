"""Rules that look at the top level alone: what they find must not depend on the messages, nor on being asked before."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from tests.strategies import SHAPES, request
from tests.targets import SWEEPS, signer

from dragoman.conversation.changes import Rewrite
from dragoman.conversation.messages import USER, Message
from dragoman.conversation.parts import Text
from dragoman.engine.compile.plan import FOREIGN_CLIENT, plan
from dragoman.engine.library.adapt import adapt, choose, read
from dragoman.errors import DragomanError

HI = (Message(USER, (Text(b'"Hi"'),)),)


@pytest.mark.parametrize(("target", "seeds"), SWEEPS)
def test_what_they_find_is_told_by_the_top_alone(target: str, seeds: range) -> None:
    steps = plan(choose(target), FOREIGN_CLIENT)
    for source in SHAPES:
        for seed in range(2 * seeds.start, 2 * seeds.stop):
            conversation = read(request(source, seed, signer(target)).body, source=source).conversation
            other = replace(conversation, messages=HI)
            for rule in (rule for rule in steps.rules if rule.top_level):
                try:
                    done = rule.repair(conversation, steps.context)
                except DragomanError:
                    continue
                again = rule.repair(other, steps.context)
                idle = done.conversation is conversation
                assert idle == (again.conversation is other), (rule.name, source, seed)
                if not idle and not done.undo:
                    assert top_of(done) == top_of(again), (rule.name, source, seed)


def top_of(done: Rewrite) -> Any:
    """All that a rule made of the top, spelling included."""
    made = done.conversation
    notes = [(note.did, note.key, note.loses, note.kind, note.before, note.after) for note in done.notes]
    return made.tools, made.settings, made.extras, made.hint, made.empty_tools, notes


def test_a_known_top_is_repaired_again_if_it_has_to_be() -> None:
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


SCHEMA = {"type": "object", "properties": {"a": {"type": "string", "format": "zip", "const": "x"}}}
TOOL = {"type": "function", "function": {"name": "f", "parameters": SCHEMA}}


def turn(text: str) -> bytes:
    messages = [{"role": "user", "content": text, "done": True}]
    return msgspec.json.encode({"messages": messages, "tools": [TOOL], "logit_bias": {"1": 1}})


def test_tools_that_are_changed_become_the_same_tools_again() -> None:
    first, again = (adapt(turn(text), target="gemini-compatible/gemini-2.5-flash") for text in ("Hi", "And now?"))
    assert [change.rule for change in first.changes].count("schema-keyword") >= 1
    assert first.changes == again.changes
    assert again.conversation.tools is first.conversation.tools
    assert first.body.replace(b"Hi", b"And now?") == again.body


def test_tools_that_are_left_stay_the_same_object() -> None:
    first, again = (adapt(turn(text), target="anthropic/claude-sonnet-4-5") for text in ("Hi", "And now?"))
    assert "stray-field" in {change.rule for change in first.changes}
    assert again.conversation.tools is first.conversation.tools
