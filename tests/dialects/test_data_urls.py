"""A data URL, if a dialect has the bytes alone: its bytes are sent, and it is reported."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from tests.shapes.words import PIXEL

from dragoman.engine.library.adapt import adapt

URL = f"data:image/png;base64,{PIXEL}"


def ollama(picture: str) -> dict[str, Any]:
    return {
        "model": "m",
        "messages": [{"role": "user", "content": "See?", "images": [PIXEL, picture]}],
        "stream": False,
    }


def bedrock(picture: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": [{"image": {"format": "png", "source": {"bytes": picture}}}]}]}


def claude(picture: str) -> dict[str, Any]:
    source = {"type": "base64", "media_type": "image/png", "data": picture}
    return {
        "model": "m",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": [{"type": "image", "source": source}]}],
    }


def gemini(picture: str) -> dict[str, Any]:
    return {"contents": [{"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": picture}}]}]}


SOURCES = {
    "ollama": (ollama, "/messages/0/images/1"),
    "bedrock": (bedrock, "/messages/0/content/0/image/source/bytes"),
    "anthropic": (claude, "/messages/0/content/0"),
    "gemini": (gemini, "/contents/0/parts/0/inlineData/data"),
}
TARGETS = (
    "openai/gpt-4o",
    "anthropic/claude-sonnet-4-5",
    "gemini/gemini-2.5-flash",
    "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "ollama/gemma3:4b",
)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("source", SOURCES)
def test_the_bytes_are_sent(source: str, target: str) -> None:
    make, at = SOURCES[source]
    plain = adapt(orjson.dumps(make(PIXEL)), source=source, target=target)
    meant = adapt(orjson.dumps(make(URL)), source=source, target=target)
    assert meant.json == plain.json
    assert ("off-schema", at) in {(change.rule, change.at) for change in meant.changes}


def test_a_link_among_ollamas_images_stays_a_link() -> None:
    done = adapt(orjson.dumps(ollama("https://example.com/cat.png")), source="ollama", target="openai/gpt-4o")
    urls = [part["image_url"]["url"] for part in done.json["messages"][0]["content"] if part["type"] == "image_url"]
    assert urls == [URL, "https://example.com/cat.png"]
