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


DIFFER = facts(document_title_pattern=PATTERN, duplicate_titles="refuses")
"""Of the names in a request, and what is written."""
REPEATED = [
    (["a", "b", "a", "a"], [None, "a", "b", "a-2", "a-3"]),
    (["a", "a", "a-2", "a-2"], [None, "a", "a-2", "a-2-2", "a-2-3"]),
    (["a-2", "a", "a"], [None, "a-2", "a", "a-3"]),
    ([None, None, "document"], [None, None, "document-2", "document-3"]),
    (["a.b", "a-b"], [None, "a-b", "a-b-2"]),
    (["x" * 200, "x" * 200], [None, "x" * 200, "x" * 198 + "-2"]),
]


@pytest.mark.parametrize(("given", "written"), REPEATED)
def test_a_repeated_name_gets_a_number(given: list[str | None], written: list[str | None]) -> None:
    text, *_ = asked(None)["messages"][0]["content"]
    files = [asked(name)["messages"][0]["content"][1] for name in given]
    body = {"messages": [{"role": "user", "content": [text, *files]}]}
    done = run(document_title, body, DIFFER)
    assert [getattr(part, "title", None) for message in done.conversation.messages for part in message.parts] == written
    again = run(document_title, body, facts(document_title_pattern=PATTERN))
    assert len(again.changes) == len([name for name in given if name and "." in name])


def test_a_name_of_an_earlier_turn_and_of_a_result() -> None:
    named = {"document": {"name": "report", "format": "pdf", "source": {"bytes": "JVBERi0="}}}
    result = {"toolResult": {"toolUseId": "t1", "content": [named]}}
    call = {"toolUse": {"toolUseId": "t1", "name": "look", "input": {}}}
    turns = [("user", [{"text": "See."}, named]), ("assistant", [call]), ("user", [result, {"text": "And?"}, named])]
    tools = [{"toolSpec": {"name": "look", "inputSchema": {"json": {"type": "object"}}}}]
    body = {
        "messages": [{"role": role, "content": content} for role, content in turns],
        "toolConfig": {"tools": tools},
    }
    done = adapt(body, source="bedrock", target="bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0")
    first, _, last = done.json["messages"]
    assert first == body["messages"][0]
    assert last["content"][0]["toolResult"]["content"][0]["document"]["name"] == "report-2"
    assert last["content"][2]["document"]["name"] == "report-3"


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


def test_mistral_has_a_member_for_the_name_of_a_document_that_is_given_by_url() -> None:
    done = adapt(NAMED["anthropic"], source="anthropic", target="mistral/mistral-large-latest")
    (part,) = done.json["messages"][0]["content"]
    assert part == {"type": "document_url", "document_url": "https://a.example/b.pdf", "document_name": "Q3"}
    assert [(one.at, one.loses) for one in done.changes if one.rule == "document-title"] == [
        ("/messages/0/content/0", "nothing")
    ]
    again = adapt(done.body, source="openai-chat", target="mistral/mistral-large-latest")
    assert (again.body, again.changes) == (done.body, ())
