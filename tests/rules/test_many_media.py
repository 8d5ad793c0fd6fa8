"""`many-media`: more media than the target takes."""

from __future__ import annotations

from typing import Any

import pytest
from tests.judges import judge
from tests.rules.runs import CHAT, facts, run

from dragoman.engine.library.adapt import adapt
from dragoman.rules.media.many_media import many_media

TWO = facts(media={"image": {"most": 2, "result": "accepts"}})


def picture(number: int) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"https://e.test/{number}.png"}}


def told(number: int) -> dict[str, Any]:
    return {"type": "text", "text": f"[image: https://e.test/{number}.png]"}


CALL = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
SEEN: list[dict[str, Any]] = [
    {"role": "user", "content": [picture(1), {"type": "text", "text": "So?"}]},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c", "content": [picture(2), picture(3)]},
    {"role": "user", "content": [picture(4)]},
]


def test_the_newest_stay_and_the_others_become_a_line() -> None:
    done = run(many_media, {"messages": SEEN}, TWO)
    assert done.json["messages"][0]["content"][0] == told(1)
    assert done.json["messages"][2]["content"] == [told(2), picture(3)]
    assert done.json["messages"][3]["content"] == [picture(4)]
    assert done.changes == [("/messages/0/content/0", "content", False), ("/messages/2", "content", False)]


def test_as_many_as_it_takes_stay() -> None:
    assert run(many_media, {"messages": SEEN[2:]}, facts(media={"image": {"most": 3}})).untouched
    assert run(many_media, {"messages": SEEN}, facts(media={"image": {}})).untouched
    assert run(many_media, {"messages": SEEN}, facts(media={"image": {}, "document": {"most": 1}})).untouched


PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
IMAGE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
FILE = {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0="}}
NOTE = {"type": "file", "file": {"filename": "a.txt", "file_data": "data:text/plain;base64,SGVsbG8="}}
CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"


@pytest.mark.parametrize(
    ("model", "parts", "losses"),
    [
        ("us.amazon.nova-lite-v1:0", [IMAGE] * 25, ["content"] * 5),
        (CLAUDE, [IMAGE] * 25, []),
        (CLAUDE, [FILE] * 6, ["content"]),
        (CLAUDE, [NOTE] + [FILE] * 5, ["nothing"]),
    ],
)
def test_adapt_for_a_real_provider(model: str, parts: list[Any], losses: list[str]) -> None:
    body = {"messages": [{"role": "user", "content": [*parts, {"type": "text", "text": "So?"}]}]}
    done = adapt(body, source=CHAT, target=f"bedrock/{model}")
    assert judge("bedrock", model, done.path, done.headers, done.body) is None
    assert [one.loses for one in done.changes if one.rule == "many-media"] == losses
