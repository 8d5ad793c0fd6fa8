"""Members of Anthropic's betas that stand for something which other targets know under another name, or not at all."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.judges import judge

from dragoman.engine.library.adapt import adapt
from dragoman.errors import Unrepresentable

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}
FORMAT = {"type": "json_schema", "schema": SCHEMA}
STRUCTURED = {"anthropic-beta": "structured-outputs-2025-11-13"}
THREADS = {"anthropic-beta": "message-threads-2026-08-12"}
CLOUDS = ("bedrock-anthropic/us.anthropic.claude-sonnet-4-5-20250929-v1:0", "vertex-anthropic/claude-sonnet-4-6")


def body(**members: Any) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 99, "messages": [{"role": "user", "content": "Hi"}], **members}


def test_the_early_member_for_the_format_stays_if_its_beta_is_there() -> None:
    adapted = adapt(
        body(output_format=FORMAT), source="anthropic", target="anthropic/claude-sonnet-4-5", headers=STRUCTURED
    )
    assert json.loads(adapted.body)["output_format"] == FORMAT
    assert not adapted.changes


@pytest.mark.parametrize("profile", ["anthropic", "azure-anthropic", "anthropic-compatible-strict"])
def test_the_early_member_for_the_format_needs_no_header_of_the_client(profile: str) -> None:
    adapted = adapt(body(output_format=FORMAT), source="anthropic", target=f"{profile}/claude-sonnet-4-5")
    assert SCHEMA in [form["schema"] for form in _formats(json.loads(adapted.body))]
    assert judge(profile, "claude-sonnet-4-5", adapted.path, adapted.headers, adapted.body) is None


def _formats(sent: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in (sent.get("output_format"), sent.get("output_config", {}).get("format")) if one]


@pytest.mark.parametrize("target", CLOUDS)
def test_the_early_member_for_the_format_gets_its_later_name(target: str) -> None:
    adapted = adapt(body(output_format=FORMAT), source="anthropic", target=target, headers=STRUCTURED)
    assert json.loads(adapted.body)["output_config"] == {"format": FORMAT}
    assert ("setting-name", "/output_format") in [(change.rule, change.at) for change in adapted.changes]
    profile, _, model = target.partition("/")
    assert judge(profile, model, adapted.path, adapted.headers, adapted.body) is None


def test_the_early_member_for_the_format_is_understood_by_other_dialects() -> None:
    written = adapt(body(output_format=FORMAT), source="anthropic", target="openai/gpt-4o", headers=STRUCTURED)
    assert json.loads(written.body)["response_format"]["json_schema"]["schema"] == SCHEMA


@pytest.mark.parametrize("target", [*CLOUDS, "openai/gpt-4o"])
def test_a_thread_that_goes_on_is_not_sent_without_its_turns(target: str) -> None:
    thread = {"type": "continue", "previous_message_id": "msg_1"}
    with pytest.raises(Unrepresentable) as refusal:
        adapt(body(thread=thread), source="anthropic", target=target, headers=THREADS)
    assert refusal.value.at == "/thread"


@pytest.mark.parametrize("target", [*CLOUDS, "openai/gpt-4o"])
def test_a_thread_that_begins_has_all_its_turns(target: str) -> None:
    adapted = adapt(body(thread={"type": "create"}), source="anthropic", target=target, headers=THREADS)
    assert "thread" not in json.loads(adapted.body)
    assert ("/thread", "metadata") in [(change.at, change.loses) for change in adapted.changes]


def test_a_body_with_its_betas_is_written_again_as_it_is() -> None:
    target = CLOUDS[0]
    headers = {"anthropic-beta": "interleaved-thinking-2025-05-14"}
    once = adapt(body(), source="anthropic", target=target, headers=headers)
    again = adapt(once.body, source="anthropic", target=target, headers=once.headers)
    assert again.body == once.body
    assert not again.changes
