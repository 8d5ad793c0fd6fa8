"""`user-alias`: `safety_identifier` as the user's name of another dialect."""

from __future__ import annotations

from typing import Any

import pytest
from tests.rules.runs import sent

ASKED: dict[str, dict[str, Any]] = {
    "openai-chat": {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 9},
    "openai-responses": {"input": "Hi", "max_output_tokens": 19},
}
CLAUDE = "anthropic/claude-sonnet-4-5"


@pytest.mark.parametrize("source", ASKED)
def test_it_becomes_the_users_name(source: str) -> None:
    done = sent({**ASKED[source], "safety_identifier": "user-7"}, CLAUDE, source=source)
    assert done.json["metadata"] == {"user_id": "user-7"}
    assert ("user-alias", "/safety_identifier", "nothing", False) in done.changes


def test_it_crosses_between_chat_and_responses() -> None:
    asked = {**ASKED["openai-chat"], "safety_identifier": "user-7"}
    done = sent(asked, "openai-responses/gpt-5.6", source="openai-chat")
    assert done.json["user"] == "user-7"


def test_a_name_that_is_too_long_becomes_a_digest_there() -> None:
    asked = {**ASKED["openai-chat"], "safety_identifier": "u" * 300}
    done = sent(asked, CLAUDE, source="openai-chat")
    assert len(done.json["metadata"]["user_id"]) == 32
    assert ("setting-range", "/safety_identifier", "metadata", False) in done.changes


def test_a_name_of_an_agent_becomes_a_digest_for_others() -> None:
    name = '{"device_id":"' + "d" * 64 + '","account_uuid":"","session_id":"aaaa1111-1111-2222-3333-444444444444"}'
    asked = {"max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}], "metadata": {"user_id": name}}
    for target in ("openai/gpt-4o", "openrouter/openai/gpt-4o"):
        done = sent(asked, target, source="anthropic")
        assert len(done.json["user"]) == 32
        assert done.json["user"] == sent(asked, target, source="anthropic").json["user"]
        assert ("setting-range", "/metadata/user_id", "metadata", False) in done.changes


@pytest.mark.parametrize(
    ("more", "user"),
    [
        ({"user": "a", "safety_identifier": "b"}, "a"),
        ({"safety_identifier": 7}, None),
        ({"safety_identifier": None}, None),
    ],
)
def test_another_name_wins_and_what_is_no_name_stays_home(more: dict[str, Any], user: str | None) -> None:
    done = sent({**ASKED["openai-chat"], **more}, CLAUDE, source="openai-chat")
    assert done.json.get("metadata") == (None if user is None else {"user_id": user})
    assert not [change for change in done.changes if change[0] == "user-alias"]


def test_in_its_own_dialect_it_stays_as_it_is() -> None:
    asked = {**ASKED["openai-chat"], "safety_identifier": "user-7"}
    done = sent(asked, "openai/gpt-4o", source="openai-chat")
    assert done.json["safety_identifier"] == "user-7"
    assert done.changes == []


def test_a_target_without_such_a_setting_is_not_told() -> None:
    done = sent({**ASKED["openai-chat"], "safety_identifier": "u"}, "gemini/gemini-2.5-flash", source="openai-chat")
    assert ("refused-setting", "/safety_identifier", "metadata", False) in done.changes
