"""`media-apart`: media among texts, for a target whose messages hold media apart from one text."""

from __future__ import annotations

from typing import Any

import pytest
from tests.rules.runs import facts, leaves_alone, run
from tests.shapes.words import PIXEL, SOUND

from dragoman.conversation.parts import Media, Result, Text
from dragoman.engine.library.adapt import adapt
from dragoman.rules.shape.media_apart import media_apart

APART = facts(media_apart=True)
IMAGE: dict[str, Any] = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
SOUNDS: dict[str, Any] = {"type": "input_audio", "input_audio": {"data": SOUND, "format": "wav"}}


def said(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def asked(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": list(parts)}]}


REPAIRS = {
    "text first": ([said("A"), IMAGE], "A", 1),
    "between texts": ([said("A"), IMAGE, said("B")], "A\nB", 1),
    "two texts after it": ([IMAGE, said("A"), said("B")], "A\nB", 1),
    "several media": ([IMAGE, said("A"), SOUNDS, said("B")], "A\nB", 2),
}


@pytest.mark.parametrize("name", REPAIRS)
def test_media_come_first_and_one_text_follows(name: str) -> None:
    parts, words, media = REPAIRS[name]
    done = run(media_apart, asked(*parts), APART)
    *first, last = done.conversation.messages[0].parts
    assert [type(part) for part in first] == [Media] * media
    assert isinstance(last, Text)
    assert last.text == words
    assert done.changes == [("/messages/0", "order", False)]


def test_media_of_a_result_come_before_its_text() -> None:
    result = {"type": "tool_result", "tool_use_id": "a", "content": [said("A"), CLAUDE_IMAGE]}
    use = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    body = {
        "max_tokens": 9,
        "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": [use]},
            {"role": "user", "content": [result]},
        ],
    }
    done = run(media_apart, body, APART, source="anthropic")
    (found,) = done.conversation.messages[-1].parts
    assert isinstance(found, Result)
    assert [type(part) for part in found.parts] == [Media, Text]


CLAUDE_IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}

UNTOUCHED = {
    "media before one text": (asked(IMAGE, said("A")), APART),
    "media alone": (asked(IMAGE, IMAGE), APART),
    "texts alone": (asked(said("A"), said("B")), APART),
    "a target that takes any order": (asked(said("A"), IMAGE), facts(media_apart=False)),
}


test_untouched = leaves_alone(media_apart, UNTOUCHED)


def test_adapt_for_a_real_provider() -> None:
    done = adapt(asked(said("A"), IMAGE, said("B")), target="ollama/gemma3")
    assert done.json["messages"] == [{"role": "user", "content": "A\nB", "images": [PIXEL]}]
    assert [change.rule for change in done.changes] == ["media-apart"]
    assert adapt(asked(said("A"), IMAGE), target="openai/gpt-4o").changes == ()


TEXTS_FIRST = facts("gemini", result_text_first=True)


def shown(*content: dict[str, Any]) -> dict[str, Any]:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    turns = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": list(content)},
    ]
    return {"messages": turns}


def test_texts_of_a_result_come_first_if_media_follow_in_a_list() -> None:
    done = run(media_apart, shown(IMAGE, said("A"), IMAGE, said("B")), TEXTS_FIRST)
    (found,) = done.conversation.messages[-1].parts
    assert isinstance(found, Result)
    assert [type(part) for part in found.parts] == [Text, Text, Media, Media]
    assert done.changes == [("/messages/2", "order", False)]
    assert run(media_apart, shown(said("A"), IMAGE), TEXTS_FIRST).untouched
    assert run(media_apart, asked(IMAGE, said("A")), TEXTS_FIRST).untouched


def test_c9_a_picture_before_the_text_of_a_result_reaches_gemini_3() -> None:
    done = adapt(shown(IMAGE, said("A screenshot")), target="gemini/gemini-3-pro-preview")
    answer = done.json["contents"][-1]["parts"][0]["functionResponse"]
    assert "A screenshot" in str(answer["response"])
    assert [part["inlineData"]["data"] for part in answer["parts"]] == [PIXEL]
