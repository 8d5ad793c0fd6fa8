"""`document-title`: the name of a document in letters that the target does not take, or that it has no place for."""

from __future__ import annotations

from typing import Any

import pytest
from tests.rules.runs import CHAT, facts, run, sent

from dragoman.engine.library.adapt import adapt
from dragoman.rules.media.document_title import document_title

PATTERN = r"[a-zA-Z0-9_()\[\]-]+( [a-zA-Z0-9_()\[\]-]+)*"
WANTS = facts(document_title_pattern=PATTERN)
PDF = "data:application/pdf;base64,JVBERi0="


def asked(name: str | None) -> dict[str, Any]:
    file = {"file_data": PDF} | ({"filename": name} if name is not None else {})
    return {
        "messages": [{"role": "user", "content": [{"type": "text", "text": "See."}, {"type": "file", "file": file}]}]
    }


NAMES = {
    "report.pdf": "report-pdf",
    "Q3  report (final).pdf": "Q3 report (final)-pdf",
    "état des lieux": "-tat des lieux",
    "a\tb": "a b",
    "x" * 250: "x" * 200,
    "../..": None,
    "": None,
}


@pytest.mark.parametrize(("given", "written"), NAMES.items())
def test_the_nearest_name_that_fits(given: str, written: str | None) -> None:
    done = run(document_title, asked(given), WANTS)
    titles = [getattr(part, "title", None) for message in done.conversation.messages for part in message.parts]
    assert titles == [None, written]
    assert done.changes == [("/messages/0/content/1", "metadata", False)]
    assert done.did == ["wrote the name of a document anew"]


@pytest.mark.parametrize("name", ["report", "Q3 report [2]", "a_b-c (1)", None])
def test_names_that_fit_stay(name: str | None) -> None:
    assert run(document_title, asked(name), WANTS).untouched


def test_a_target_that_takes_any() -> None:
    assert run(document_title, asked("report.pdf"), facts()).untouched


def test_adapt_for_a_real_provider() -> None:
    done = sent(asked("report.pdf"), "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", source=CHAT)
    assert done.json["messages"][0]["content"][1]["document"]["name"] == "report-pdf"
    assert done.changes == [("document-title", "/messages/0/content/1", "metadata", False)]
    unnamed = sent(asked(None), "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", source=CHAT)
    assert unnamed.json["messages"][0]["content"][1]["document"]["name"] == "document"
    assert unnamed.changes == []


PICTURE = {"inlineData": {"mimeType": "image/png", "displayName": "sky.png", "data": "aGk="}}
REPORT = {"type": "url", "url": "https://a.example/b.pdf"}
NAMED: dict[str, dict[str, Any]] = {
    "gemini": {"contents": [{"role": "user", "parts": [PICTURE]}]},
    "anthropic": {
        "max_tokens": 9,
        "messages": [{"role": "user", "content": [{"type": "document", "title": "Q3", "source": REPORT}]}],
    },
}


@pytest.mark.parametrize(
    ("source", "target", "did"),
    [
        ("gemini", "anthropic/claude-opus-4-8", "left out the name of the image"),
        ("gemini", "openai/gpt-4o", "left out the name of the image"),
        ("gemini", "ollama/gemma3:4b", "left out the name of the image"),
        ("anthropic", "mistral/mistral-large-latest", "left out the name of the document"),
    ],
)
def test_a_name_without_a_place_is_left_out_and_reported(source: str, target: str, did: str) -> None:
    done = adapt(NAMED[source], source=source, target=target)
    assert (did, "metadata") in [(one.did, one.loses) for one in done.changes if one.rule == "document-title"]


@pytest.mark.parametrize(
    ("source", "target"), [("gemini", "vertex/gemini-2.5-flash"), ("anthropic", "openai-responses/gpt-4o")]
)
def test_a_name_with_a_place_stays(source: str, target: str) -> None:
    done = adapt(NAMED[source], source=source, target=target)
    assert "document-title" not in [one.rule for one in done.changes]
    assert b"sky.png" in done.body or b"Q3" in done.body
