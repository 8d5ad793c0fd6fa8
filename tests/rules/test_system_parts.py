"""`system-parts`: a system message of several parts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.rules.runs import facts, leaves_alone, run, sent

from dragoman.rules.place.system_parts import system_parts

REFUSES = facts(system_parts="refuses")


def test_the_parts_become_one_text() -> None:
    done = run(system_parts, "system: A\n+ B\nuser: Hi\n+ there\ndeveloper: C\n+ D", REFUSES)
    assert done.script == "system: A\\nB\nuser: Hi\n+ there\ndeveloper: C\\nD"
    assert done.changes == [("/messages/0", "nothing", False), ("/messages/2", "nothing", False)]
    assert done.conversation.messages[1] is done.ask.conversation.messages[1]


HINTED = '[part {"is":"Text","literal":"B","hint":{"is":"CacheHint"}}]'
UNTOUCHED = {
    "one part": ("system: A\nuser: Hi", REFUSES),
    "a part with a cache hint": (f"system: A\n+ {HINTED}\nuser: Hi", REFUSES),
    "a part that is no text": ("system: A\n[image https://a/b.png]\nuser: Hi", REFUSES),
    "a target that takes parts": ("system: A\n+ B\nuser: Hi", facts(system_parts="accepts")),
}


test_untouched = leaves_alone(system_parts, UNTOUCHED)


def test_adapt_for_real_providers() -> None:
    listed: list[dict[str, Any]] = [{"type": "text", "text": "A"}, {"type": "text", "text": "B"}]
    messages = [{"role": "system", "content": listed}, {"role": "user", "content": "Hi"}]
    done = sent({"messages": messages}, "strict-template/m")
    assert done.json["messages"] == [{"role": "system", "content": "A\nB"}, messages[1]]
    assert done.changes == [("system-parts", "/messages/0", "nothing", False)]
    assert sent({"messages": messages}, "openai/gpt-4o").json["messages"] == messages


def test_B4_the_parts_of_a_message_that_moves_to_a_field_become_one_text() -> None:
    listed: list[dict[str, Any]] = [{"type": "text", "text": "A"}, {"type": "text", "text": "B"}]
    body = {"messages": [{"role": "system", "content": listed}, {"role": "user", "content": "Hi"}], "max_tokens": 9}
    done = sent(body, "anthropic/claude-opus-4-8", source="openai-chat")
    assert done.json["system"] == "A\nB"
    assert done.changes == [("system-parts", "/messages/0", "nothing", False)]
    own = {"system": listed, "messages": body["messages"][1:], "max_tokens": 9}
    assert sent(own, "bedrock/us.anthropic.claude-opus-4-8", source="anthropic").json["system"] == [
        {"text": "A"},
        {"text": "B"},
    ]


EMPTY_BETWEEN: list[dict[str, Any]] = [{"type": "text", "text": text} for text in ("A", "", "B")]


@pytest.mark.parametrize(
    "target", ["openai/gpt-4o", "openai-compatible/m", "lmstudio/m", "anthropic/claude-sonnet-4-5"]
)
def test_B4_an_empty_text_among_the_blocks_of_a_message_leaves_no_line(target: str) -> None:
    late = {"role": "system", "content": EMPTY_BETWEEN}
    turns = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]
    done = sent({"messages": [*turns, late, turns[0]], "max_tokens": 9}, target, source="anthropic")
    assert "A\\nB" in json.dumps(done.json)
    opening = sent({"messages": [late, turns[0]], "max_tokens": 9}, "strict-template/m", source="anthropic")
    assert opening.json["messages"][0] == {"role": "system", "content": "A\nB"}
