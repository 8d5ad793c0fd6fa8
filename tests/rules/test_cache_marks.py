"""`cache-marks`: a cache hint if one would save money."""

from __future__ import annotations

from typing import Any

import pytest
from tests.rules.runs import Run, facts, leaves_alone, run, sent

from dragoman.conversation.tools import Tool
from dragoman.engine.library.adapt import read
from dragoman.rules.settings.cache_marks import cache_marks, mark_prompt

TAKES = facts(cache_hints="accepts", cache_place="opening")


def hinted(done: Run) -> list[tuple[int, int]]:
    messages = done.conversation.messages
    return [
        (at, index)
        for at, message in enumerate(messages)
        for index, part in enumerate(message.parts)
        if part.hint is not None
    ]


PLACES: dict[str, tuple[str, tuple[int, int], str]] = {
    "the last part of the opening": ("system: A\nsystem: B\n+ C\nuser: Hi\nuser: There", (1, 1), "/messages/1"),
    "the first user turn if there is no opening": (
        "assistant: A\nuser: Hi\n+ there\nuser: More",
        (1, 1),
        "/messages/1",
    ),
    "the first user turn if the opening is empty": ("system: []\nuser: Hi", (1, 0), "/messages/1"),
    "the first user turn that says something": ("user: []\nuser: Hi", (1, 0), "/messages/1"),
}


@pytest.mark.parametrize("name", PLACES)
def test_one_hint_is_put_where_it_covers_most(name: str) -> None:
    said, place, at = PLACES[name]
    done = run(cache_marks, said, TAKES, choice="add")
    assert hinted(done) == [place]
    assert done.changes == [(at, "nothing", True)]
    assert done.conversation.messages[place[0]].listed


HINT = '[part {"is":"Text","literal":"A","hint":{"is":"CacheHint"}}]'
UNTOUCHED = {
    "off unless asked for": ("system: A\nuser: Hi", TAKES, None),
    "off": ("system: A\nuser: Hi", TAKES, "off"),
    "a hint that is there already": (f"user: {HINT}\nuser: Hi", TAKES, "add"),
    "nothing to put it on": ("assistant: A", TAKES, "add"),
    "a target without a cache": ("system: A\nuser: Hi", facts(cache_hints="accepts"), "add"),
    "a target that refuses hints": ("system: A\nuser: Hi", facts(cache_hints="refuses"), "add"),
}


test_untouched = leaves_alone(cache_marks, UNTOUCHED)


def test_A18_adapt_with_the_choice() -> None:
    body: dict[str, Any] = {"system": "S", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 9}
    done = sent(body, "anthropic/claude-opus-4-8", rules={"cache-marks": "add"})
    assert done.json["system"] == [{"type": "text", "text": "S", "cache_control": {"type": "ephemeral"}}]
    assert done.json["messages"] == body["messages"]
    assert done.changes == [("cache-marks", "/system", "nothing", True)]
    assert sent(body, "anthropic/claude-opus-4-8").json["system"] == "S"
    assert sent(body, "openai/gpt-4o", source="anthropic", rules={"cache-marks": "add"}).changes == []


def test_the_last_tool_that_is_in_the_prompt_is_marked() -> None:
    plain, later = {"name": "f", "input_schema": {"type": "object"}}, {"name": "g", "defer_loading": True}
    body = {"max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}], "tools": [plain, {**plain, **later}]}
    done = mark_prompt(read(body, source="anthropic").conversation, facts("anthropic"), False)
    assert [isinstance(tool, Tool) and tool.hint is not None for tool in done.conversation.tools] == [True, False]
    alone = mark_prompt(read({**body, "tools": [{**plain, **later}]}).conversation, facts("anthropic"), False)
    assert [isinstance(tool, Tool) and tool.hint is not None for tool in alone.conversation.tools] == [False]


def test_no_hint_is_put_on_a_document_that_takes_none() -> None:
    """Bedrock reads documents as text, but for PDFs, and takes no cache point behind them."""
    source = {"type": "text", "media_type": "text/plain", "data": "Hi"}
    content = [{"type": "text", "text": "Sum up."}, {"type": "document", "source": source}]
    body = {"max_tokens": 9, "messages": [{"role": "user", "content": content}]}
    conversation = read(body, source="anthropic").conversation
    for places, at in (((), 1), (("document",), 0)):
        known = facts("anthropic", cache_hints="accepts", unhinted_places=places)
        marked = mark_prompt(conversation, known, True).conversation.messages[0].parts
        assert [part.hint is not None for part in marked] == [at == 0, at == 1]
