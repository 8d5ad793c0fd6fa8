"""The rule `lone-document`."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from tests.judges import judge

from dragoman.engine.library.adapt import adapt

TARGET = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
FILE = {"type": "file", "file": {"filename": "Q3", "file_data": "data:application/pdf;base64,JVBERi0="}}
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
HI = {"type": "text", "text": "Hi"}


def sent(*parts: dict[str, Any]) -> Any:
    asked = {"model": "m", "messages": [{"role": "user", "content": list(parts)}]}
    return adapt(asked, source="openai-chat", target=f"bedrock/{TARGET}")


@pytest.mark.parametrize(
    ("parts", "kinds"),
    [
        ((FILE,), ["document", "text"]),
        ((FILE, PICTURE), ["document", "image", "text"]),
        ((FILE, HI), ["document", "text"]),
        ((HI, FILE), ["text", "document"]),
        ((PICTURE,), ["image"]),
    ],
)
def test_a_text_stands_beside_documents(parts: tuple[dict[str, Any], ...], kinds: list[str]) -> None:
    done = sent(*parts)
    assert [next(iter(block)) for block in done.json["messages"][0]["content"]] == kinds
    added = [change for change in done.changes if change.rule == "lone-document"]
    assert [(one.at, one.kind, one.did) for one in added] == (
        [("/messages/0", "synthetic", "put a text beside a document")] if len(kinds) > len(parts) else []
    )
    assert judge("bedrock", TARGET, done.path, done.headers, done.body) is None


def test_each_turn_is_looked_at_alone() -> None:
    answered = {"role": "assistant", "content": "Yes."}
    asked = {"messages": [{"role": "user", "content": [HI]}, answered, {"role": "user", "content": [FILE]}]}
    done = adapt({"model": "m", **asked}, source="openai-chat", target=f"bedrock/{TARGET}")
    assert [change.at for change in done.changes if change.rule == "lone-document"] == ["/messages/2"]


def test_it_is_refused_as_written() -> None:
    block = {"document": {"format": "pdf", "name": "Q3", "source": {"bytes": "JVBERi0="}}}
    wire = orjson.dumps({"messages": [{"role": "user", "content": [block]}]})
    done = adapt(wire, source="bedrock", target=f"bedrock/{TARGET}")
    assert judge("bedrock", TARGET, done.path, done.headers, wire) is not None
    assert judge("bedrock", TARGET, done.path, done.headers, done.body) is None


def test_other_targets_get_the_document_alone() -> None:
    asked = {"model": "m", "messages": [{"role": "user", "content": [FILE]}]}
    done = adapt(asked, source="openai-chat", target="anthropic/claude-sonnet-4-5")
    assert [block["type"] for block in done.json["messages"][0]["content"]] == ["document"]
