"""A part without its type is read by what its other members leave; if that is more than one type, it is refused."""

from __future__ import annotations

import copy
from typing import Any

import orjson
import pytest
from tests.shapes.words import PAPER, PIXEL

from dragoman.conversation.canonical import canonical
from dragoman.engine.library.adapt import adapt, read
from dragoman.errors import MalformedRequest

SOURCE = {"type": "base64", "media_type": "image/png", "data": PIXEL}
PARTS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "anthropic": [
        ("user", {"type": "text", "text": "So?", "cache_control": {"type": "ephemeral"}}),
        ("user", {"type": "image", "source": SOURCE}),
        ("user", {"type": "image", "source": {"type": "url", "url": "https://example.com/cat.PNG?size=2"}}),
        ("user", {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": PAPER}}),
        ("user", {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Words."}}),
        ("user", {"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": "x"}]}),
        ("user", {"type": "tool_result", "tool_use_id": "toolu_1", "content": "12 degrees", "is_error": True}),
        ("assistant", {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Paris"}}),
        ("assistant", {"type": "thinking", "thinking": "Hm.", "signature": "RXFRQkNrWUlCeGdDS2tBMQ=="}),
        ("assistant", {"type": "redacted_thinking", "data": "RXFRQkNrWUlCeGdDS2tBMQ=="}),
    ],
    "openai-chat": [
        ("user", {"type": "text", "text": "So?"}),
        ("user", {"type": "image_url", "image_url": {"url": "https://example.com/cat.png", "detail": "low"}}),
        ("user", {"type": "input_audio", "input_audio": {"data": "UklGRiQ=", "format": "wav"}}),
        ("user", {"type": "file", "file": {"file_id": "file_1"}}),
        ("assistant", {"type": "refusal", "refusal": "No."}),
    ],
    "openai-responses": [
        ("user", {"type": "input_text", "text": "So?"}),
        ("user", {"type": "input_image", "image_url": "https://example.com/cat.png", "detail": "low"}),
        ("user", {"type": "input_file", "file_data": f"data:application/pdf;base64,{PAPER}", "filename": "a.pdf"}),
        ("assistant", {"type": "output_text", "text": "So!", "annotations": []}),
    ],
    "cohere": [
        ("user", {"type": "text", "text": "So?"}),
        ("user", {"type": "image_url", "image_url": {"url": "https://example.com/cat.png"}}),
        ("assistant", {"type": "thinking", "thinking": "Hm."}),
    ],
}
CASES = [(dialect, role, part) for dialect, parts in PARTS.items() for role, part in parts]
LISTS = {"openai-responses": "input"}


def request(dialect: str, role: str, part: dict[str, Any]) -> dict[str, Any]:
    messages = [{"role": "user", "content": "Hi"}, {"role": role, "content": [part]}]
    limit = {"max_tokens": 4000} if dialect == "anthropic" else {}
    return {"model": "m", LISTS.get(dialect, "messages"): messages, **limit}


def without_type(part: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in copy.deepcopy(part).items() if key != "type"}


@pytest.mark.parametrize(("dialect", "role", "part"), CASES)
def test_it_is_what_its_members_tell(dialect: str, role: str, part: dict[str, Any]) -> None:
    meant = read(request(dialect, role, without_type(part)), source=dialect)
    assert canonical(meant.conversation) == canonical(read(request(dialect, role, part), source=dialect).conversation)
    assert [miss.at for miss in meant.conversation.near_misses] == [f"/{LISTS.get(dialect, 'messages')}/1/content/0"]


@pytest.mark.parametrize(
    ("dialect", "part", "readings"),
    [
        ("anthropic", {"source": {"type": "url", "url": "https://example.com/files/7"}}, "image or document"),
        ("openai-responses", {"file_id": "file_1"}, "input_image or input_file"),
    ],
)
def test_of_two_readings_none_is_taken(dialect: str, part: dict[str, Any], readings: str) -> None:
    with pytest.raises(MalformedRequest, match=readings) as refused:
        adapt(orjson.dumps(request(dialect, "user", part)), source=dialect, target="openai/gpt-4o")
    assert refused.value.at == f"/{LISTS.get(dialect, 'messages')}/1/content/0"


def test_a_picture_in_a_result_stays_a_picture() -> None:
    use = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"text": "See:"}, {"source": SOURCE}]}
    turns = [("user", "Hi"), ("assistant", [use]), ("user", [result])]
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": role, "content": said} for role, said in turns]}
    done = adapt(body, source="anthropic", target="anthropic/claude-sonnet-4-5")
    content = done.json["messages"][2]["content"][0]["content"]
    assert content == [{"type": "text", "text": "See:"}, {"type": "image", "source": SOURCE}]


def test_a_system_text_keeps_its_hint() -> None:
    block = {"text": "Be brief.", "cache_control": {"type": "ephemeral"}}
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}], "system": [block]}
    done = adapt(body, source="anthropic", target="anthropic/claude-sonnet-4-5")
    assert done.json["system"] == [{"type": "text", **block}]
    assert [(change.rule, change.at) for change in done.changes] == [("off-schema", "/system/0")]


def test_a_summary_is_of_reasoning() -> None:
    items = [
        {"role": "user", "content": "Hi"},
        {"id": "rs_1", "summary": []},
        {"role": "assistant", "content": "Hello"},
    ]
    typed = [items[0], {"type": "reasoning", **items[1]}, items[2]]
    found, meant = (read({"model": "m", "input": one}, source="openai-responses") for one in (items, typed))
    assert canonical(found.conversation) == canonical(meant.conversation)
