"""What a provider says that it changed itself is part of the report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.event_streams import stream_message, write_events
from tests.gateway.asking import body
from tests.gateway.running import gateway, provider
from tests.gateway.upstream import Seen, upstream

from dragoman.engine.answer.provider_changes import MOST_REPORTED, CacheDiagnosis, find_diagnosis, find_provider_changes

MEMBER = "input_transformations"
REPORTED = [{"type": "thinking_dropped", "path": "messages.1.content.0", "reason": "other model"}]
ANSWER = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "c",
    "content": [{"type": "text", "text": "Good."}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 3, "output_tokens": 2},
    MEMBER: REPORTED,
}
EVENTS = list(stream_message(ANSWER))
STREAM = write_events(EVENTS)


def answer(seen: Seen) -> tuple[int, Any]:
    return 200, STREAM if seen.body.get("stream") else ANSWER


@pytest.mark.parametrize("client", ["anthropic", "openai-chat"])
@pytest.mark.parametrize("stream", [False, True])
def test_the_providers_own_report_is_part_of_ours(tmp_path: Path, client: str, stream: bool) -> None:
    path = "/v1/messages" if client == "anthropic" else "/v1/chat/completions"
    with upstream(answer) as claude:
        providers = {"claude": provider("anthropic", claude.url.removesuffix("/v1"))}
        with gateway({"providers": providers, "models": {"m": {"target": "claude/claude-opus-4-8"}}}, tmp_path) as one:
            told = one.post(path, body(client, "m", stream=stream))
            assert told.status_code == 200
            assert "provider-change" in told.headers["x-dragoman-changes"]
            (change,) = [
                change for change in json.loads(one.entry(told).changes) if change["rule"] == "provider-change"
            ]
    assert (change["at"], change["loses"]) == ("/messages/1/content/0", "metadata")
    assert change["did"] == "the provider reports thinking_dropped: other model"


def test_a_stream_that_reports_in_every_event_is_believed_fifty_times(tmp_path: Path) -> None:
    again = [
        STREAM[0].replace(b"message_start", b"ping").replace(b"messages.1.", b"messages.%d." % at) for at in range(200)
    ]
    with upstream(lambda seen: (200, (STREAM[0], b"".join(again), *STREAM[1:]))) as claude:
        providers = {"claude": provider("anthropic", claude.url.removesuffix("/v1"))}
        with gateway({"providers": providers, "models": {"m": {"target": "claude/claude-opus-4-8"}}}, tmp_path) as one:
            told = one.post("/v1/messages", body("anthropic", "m", stream=True))
            rules = [change["rule"] for change in json.loads(one.entry(told).changes)]
    assert rules.count("provider-change") == MOST_REPORTED


@pytest.mark.parametrize(
    "said",
    [
        {"content": [{"type": "text", "text": f'{{"{MEMBER}": [{{"type": "x"}}]}}'}]},
        {"content": [{"type": "tool_use", "id": "t", "name": "a", "input": {MEMBER: [{"type": "x"}]}}]},
        {MEMBER: {"type": "x"}},
        {MEMBER: None},
        {MEMBER: []},
        {MEMBER: [1]},
    ],
)
def test_words_of_the_model_and_other_forms_report_nothing(said: dict[str, Any]) -> None:
    assert find_provider_changes(json.dumps({"type": "message", **said}).encode(), MEMBER) == ()


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_piece_that_ends_within_a_frame_reports_nothing_and_breaks_nothing(cut: int) -> None:
    piece = STREAM[0].rstrip()[:-cut]
    assert find_provider_changes(piece, MEMBER) == ()
    assert find_diagnosis(piece, CacheDiagnosis()) == CacheDiagnosis()


def test_a_long_report_is_cut() -> None:
    reported = [{"type": "x" * 1000, "path": "a" * 1000, "reason": "r"}] * 1000
    found = find_provider_changes(json.dumps({MEMBER: reported}).encode(), MEMBER)
    assert (len(found), len(found[0].did), len(found[0].at)) == (50, 300, 301)


@pytest.mark.parametrize("place", ["event", "delta"])
def test_a_report_that_comes_late_in_a_stream_is_in_the_ledger(tmp_path: Path, place: str) -> None:
    reported = {MEMBER: REPORTED}
    late = EVENTS[4] | (reported if place == "event" else {"delta": {"stop_reason": "end_turn", **reported}})
    start = {"type": "message_start", "message": {**ANSWER, "content": [], "stop_reason": None, MEMBER: []}}
    events = [start, *EVENTS[1:4], late, EVENTS[5]]
    stream = write_events(events)
    with upstream(lambda seen: (200, stream)) as claude:
        providers = {"claude": provider("anthropic", claude.url.removesuffix("/v1"))}
        with gateway({"providers": providers, "models": {"m": {"target": "claude/claude-opus-4-8"}}}, tmp_path) as one:
            told = one.post("/v1/messages", body("anthropic", "m", stream=True))
            changes = json.loads(one.entry(told).changes)
    assert [change["did"] for change in changes if change["rule"] == "provider-change"] == [
        "the provider reports thinking_dropped: other model"
    ]


WITHHELD = {"type": "reasoning", "id": "rs_1", "action": "removed", "reason": "model_mismatch"}


@pytest.mark.parametrize("stream", [False, True])
def test_thoughts_that_openai_withheld_from_its_model_are_told_once(tmp_path: Path, stream: bool) -> None:
    said = {"type": "output_text", "text": "Good.", "annotations": []}
    message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [said]}
    told = {"id": "resp_1", "object": "response", "created_at": 1, "model": "gpt-5.6", MEMBER: [WITHHELD]}
    begun, whole = (
        {**told, "status": status, "output": output}
        for status, output in (("in_progress", []), ("completed", [message]))
    )
    events = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
        {"type": "response.output_item.done", "output_index": 0, "item": message},
        {"type": "response.completed", "response": whole},
    ]
    with upstream(lambda seen: (200, write_events(events) if stream else whole)) as openai:
        providers = {"openai": provider("openai-responses", openai.url)}
        with gateway({"providers": providers, "models": {"m": {"target": "openai/gpt-5.6"}}}, tmp_path) as one:
            answered = one.post("/v1/responses", body("openai-responses", "m", stream=stream))
            assert answered.status_code == 200
            changes = json.loads(one.entry(answered).changes)
    assert [change["did"] for change in changes if change["rule"] == "provider-change"] == [
        "the provider reports reasoning rs_1 removed: model_mismatch"
    ]
