"""A client that names a newer version of its API gets what that version takes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.judges import judge

from dragoman import adapt

OLD, NEW = "2023-06-01", "2026-10-21"
TARGET = "anthropic/claude-sonnet-4-6"


@pytest.mark.parametrize(
    ("version", "settings", "left"),
    [
        (OLD, {"temperature": 0.5}, {"temperature": 0.5}),
        (OLD, {"top_k": 5}, {"top_k": 5}),
        (NEW, {"temperature": 0.5}, {}),
        (NEW, {"temperature": 1}, {}),
        (NEW, {"top_p": 1}, {}),
        (NEW, {"top_k": 5}, {}),
        (NEW, {}, {}),
    ],
)
def test_sampling_by_version(version: str, settings: dict[str, Any], left: dict[str, Any]) -> None:
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}], **settings}
    made = adapt(body, source="anthropic", target=TARGET, headers={"anthropic-version": version})
    assert {name: made.json[name] for name in ("temperature", "top_p", "top_k") if name in made.json} == left
    assert made.headers["anthropic-version"] == version
    assert judge("anthropic", "claude-sonnet-4-6", made.path, made.headers, made.body) is None
    assert bool(made.changes) is (left != settings)


def test_the_judge_refuses_what_the_version_does() -> None:
    body = b'{"model":"claude-sonnet-4-6","max_tokens":9,"temperature":1,"messages":[{"role":"user","content":"Hi"}]}'
    refused = judge("anthropic", "claude-sonnet-4-6", "/v1/messages", {"anthropic-version": NEW}, body)
    assert refused is not None
    assert refused.body["error"]["message"] == "temperature: Extra inputs are not permitted"
    assert judge("anthropic", "claude-sonnet-4-6", "/v1/messages", {"anthropic-version": OLD}, body) is None


def test_a_translated_request_has_the_oldest_version_and_keeps_its_sampling() -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "temperature": 0.5}
    made = adapt(body, source="openai-chat", target=TARGET, headers={"anthropic-version": NEW})
    assert (made.headers["anthropic-version"], made.json["temperature"]) == (OLD, 0.5)


@pytest.mark.parametrize(
    ("target", "version"),
    [
        ("bedrock-anthropic/anthropic.claude-sonnet-4-6", "bedrock-2023-05-31"),
        ("vertex-anthropic/claude-sonnet-4-6", "vertex-2023-10-16"),
    ],
)
def test_clouds_get_the_recorded_version(target: str, version: str) -> None:
    body = {"anthropic_version": NEW, "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
    made = adapt(body, source="anthropic", target=target, headers={"anthropic-version": NEW})
    assert made.json["anthropic_version"] == version


CITED = {"type": "char_location", "cited_text": "a", "document_index": 0, "start_char_index": 0, "end_char_index": 1}
DOCUMENT = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "The file."}}
TURNS = [
    {"role": "user", "content": [{"type": "text", "text": "Hi", "citations": [{**CITED, "document_title": None}]}]},
    {"role": "assistant", "content": [DOCUMENT, {"type": "text", "text": "Read it."}]},
    {"role": "user", "content": [{"type": "text", "text": "Go on", "citations": []}]},
]


@pytest.mark.parametrize("version", [OLD, NEW])
def test_documents_of_the_assistant_and_citations_of_the_user_by_version(version: str) -> None:
    body = {"model": "claude-sonnet-4-6", "max_tokens": 9, "messages": TURNS}
    made = adapt(body, source="anthropic", target=TARGET, headers={"anthropic-version": version})
    assert judge("anthropic", "claude-sonnet-4-6", made.path, made.headers, made.body) is None
    if version == OLD:
        assert (made.json["messages"], made.changes) == (TURNS, ())
        return
    assert [(one.rule, one.at) for one in made.changes] == [
        ("stray-field", "/messages/0/content/0"),
        ("refused-part", "/messages/1/content/0"),
    ]
    assert made.json["messages"][1]["content"][0] == {"type": "text", "text": "The file."}


@pytest.mark.parametrize("turns", [TURNS[:1], [TURNS[2], TURNS[1], TURNS[2]]])
def test_the_judge_refuses_these_turns_from_that_version_on(turns: list[dict[str, Any]]) -> None:
    body = msgspec.json.encode({"model": "claude-sonnet-4-6", "max_tokens": 9, "messages": turns})
    assert judge("anthropic", "claude-sonnet-4-6", "/v1/messages", {"anthropic-version": NEW}, body) is not None
    assert judge("anthropic", "claude-sonnet-4-6", "/v1/messages", {"anthropic-version": OLD}, body) is None
