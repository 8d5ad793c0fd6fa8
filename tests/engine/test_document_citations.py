"""Claude cites the documents of a request in one form on its maker's API, and in another one on Bedrock."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.event_streams import read_events, stream_message, write_events
from tests.judges import judge

from dragoman import adapt

Wire = dict[str, Any]
CLAUDE, CONVERSE = "anthropic/claude-sonnet-4-5", "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0"
ON = {"enabled": True}
ASKED: Wire = {"type": "text", "text": "What colour is it?"}
FROM_CLAUDE: Wire = {
    "type": "document",
    "source": {"type": "text", "media_type": "text/plain", "data": "The grass is green."},
    "title": "Doc A",
    "context": "A poem",
    "citations": ON,
}
FROM_BEDROCK: Wire = {
    "document": {
        "format": "txt",
        "name": "Doc A",
        "source": {"text": "The grass is green."},
        "context": "A poem",
        "citations": ON,
    }
}
PLACES = [
    ("char_location", "start_char_index", "end_char_index", "documentChar"),
    ("page_location", "start_page_number", "end_page_number", "documentPage"),
    ("content_block_location", "start_block_index", "end_block_index", "documentChunk"),
]


def claude_asks(*turns: Wire) -> Wire:
    return {"model": "m", "max_tokens": 500, "messages": [{"role": "user", "content": [FROM_CLAUDE, ASKED]}, *turns]}


def bedrock_asks() -> Wire:
    return {"messages": [{"role": "user", "content": [FROM_BEDROCK, {"text": "What colour is it?"}]}]}


def test_a_document_is_to_be_cited_on_either_host() -> None:
    made = adapt(claude_asks(), source="anthropic", target=CONVERSE)
    assert made.json["messages"] == bedrock_asks()["messages"]
    assert made.changes == ()
    assert judge("bedrock", CONVERSE.partition("/")[2], made.path, made.headers, made.body) is None
    back = adapt(bedrock_asks(), source="bedrock", target=CLAUDE)
    assert back.json["messages"] == claude_asks()["messages"]
    assert [change.rule for change in back.changes] == ["required-setting"]


@pytest.mark.parametrize(
    "target", ["openai-responses/gpt-5", "gemini/gemini-2.5-flash", "bedrock/amazon.nova-lite-v1:0"]
)
def test_no_other_model_is_asked_to_cite_and_the_report_says_so(target: str) -> None:
    made = adapt(claude_asks(), source="anthropic", target=target)
    assert b"enabled" not in made.body
    assert any("`citations`" in change.did for change in made.changes)


def claudes(kind: str, start: str, end: str) -> Wire:
    cited = {"cited_text": "The grass is green.", "document_index": 0, "document_title": "Doc A", "file_id": None}
    blocks = [
        {"type": "text", "text": "It is "},
        {"type": "text", "text": "green", "citations": [{"type": kind, **cited, start: 1, end: 2}]},
    ]
    answer = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": blocks}
    return answer | {"stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 5, "output_tokens": 5}}


def bedrocks(place: str) -> Wire:
    at = {place: {"documentIndex": 0, "start": 1, "end": 2}}
    cited = {"title": "Doc A", "sourceContent": [{"text": "The grass is green."}], "location": at}
    content = [{"text": "It is "}, {"citationsContent": {"content": [{"text": "green"}], "citations": [cited]}}]
    answer = {"output": {"message": {"role": "assistant", "content": content}}, "stopReason": "end_turn"}
    return answer | {"usage": {"inputTokens": 5, "outputTokens": 5, "totalTokens": 10}, "metrics": {"latencyMs": 5}}


@pytest.mark.parametrize(("kind", "start", "end", "place"), PLACES)
def test_citations_arrive_in_the_clients_form(kind: str, start: str, end: str, place: str) -> None:
    asked = adapt(claude_asks(), source="anthropic", target=CONVERSE)
    got = asked.answer(json.dumps(bedrocks(place)).encode()).json["content"]
    assert got == claudes(kind, start, end)["content"]
    other = adapt(bedrock_asks(), source="bedrock", target=CLAUDE)
    answer = other.answer(json.dumps(claudes(kind, start, end)).encode()).json
    assert answer["output"] == bedrocks(place)["output"]


@pytest.mark.parametrize(("kind", "start", "end", "place"), PLACES)
def test_streamed_citations_arrive_in_the_clients_form(kind: str, start: str, end: str, place: str) -> None:
    """What a client of Bedrock is sent is what its own service sends, which a client of Anthropic gets back."""
    message = claudes(kind, start, end)
    bedrock = adapt(bedrock_asks(), source="bedrock", target=CLAUDE, stream=True).stream()
    frames = b"".join(map(bedrock.feed, write_events(stream_message(message)))) + bedrock.finish()
    assert json.dumps({place: {"documentIndex": 0, "start": 1, "end": 2}}, separators=(",", ":")).encode() in frames
    claude = adapt(claude_asks() | {"stream": True}, source="anthropic", target=CONVERSE).stream()
    deltas = [one["delta"] for one in read_events(claude.feed(frames) + claude.finish()) if "delta" in one]
    assert [one["citation"] for one in deltas if "citation" in one] == message["content"][1]["citations"]


def test_an_odd_place_is_no_citation() -> None:
    asked = adapt(claude_asks(), source="anthropic", target=CONVERSE)
    for location in ({"documentChar": {"start": "x"}}, {"documentPage": 7}, "x", None):
        odd = bedrocks("documentChar")
        odd["output"]["message"]["content"][1]["citationsContent"]["citations"][0]["location"] = location
        assert "citations" not in asked.answer(json.dumps(odd).encode()).json["content"][1]


def test_what_was_cited_goes_back_as_text() -> None:
    turn = {"role": "assistant", "content": claudes(*PLACES[0][:3])["content"]}
    made = adapt(claude_asks(turn, {"role": "user", "content": "Sure?"}), source="anthropic", target=CONVERSE)
    assert made.json["messages"][1]["content"] == [{"text": "It is "}, {"text": "green"}]
    assert [(change.at, change.did) for change in made.changes] == [("/messages/1/content/1", "took out `citations`")]
