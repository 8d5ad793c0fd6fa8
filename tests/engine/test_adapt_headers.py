"""Headers of a request that belong to its dialect."""

from __future__ import annotations

import pytest
from tests.judges import judge

from dragoman.engine.library.adapt import adapt
from dragoman.engine.library.policy import Policy
from dragoman.errors import RepairRefused
from dragoman.profiles.profile import Layer, Profiles

GIVEN = {"anthropic-beta": "a", "anthropic-version": "2024-01-01", "openai-beta": "o", "x-custom": "x"}
CHAT = {"messages": [{"role": "user", "content": "Hi"}]}
MESSAGES = {**CHAT, "max_tokens": 9}


@pytest.mark.parametrize(
    ("source", "body", "target", "passed"),
    [
        ("openai-chat", CHAT, "openai/gpt-4o", {"openai-beta": "o"}),
        ("openai-responses", {"input": "Hi"}, "openai-responses/gpt-5.4", {"openai-beta": "o"}),
        (
            "anthropic",
            MESSAGES,
            "anthropic/claude-sonnet-4-5",
            {"anthropic-beta": "a", "anthropic-version": "2024-01-01"},
        ),
        ("openai-chat", CHAT, "anthropic/claude-sonnet-4-5", {"anthropic-version": "2023-06-01"}),
        ("anthropic", MESSAGES, "openai/gpt-4o", {}),
    ],
)
def test_headers_of_the_dialect_are_passed_on_within_it(
    source: str, body: dict[str, object], target: str, passed: dict[str, str]
) -> None:
    sent = adapt(body, source=source, target=target, headers=GIVEN).headers
    assert sent == {"content-type": "application/json", **passed}


SERVERS = {"mcp_servers": [{"type": "url", "url": "https://m.example/sse", "name": "m"}]}
TOOLSET = {"tools": [{"type": "mcp_toolset", "mcp_server_name": "m"}]}
SCREEN = {"type": "computer_20250124", "name": "computer", "display_width_px": 100, "display_height_px": 100}
SCOPED = {
    "system": [{"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral", "scope": "global", "ttl": "1h"}}]
}
EDITS = {"context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}}


@pytest.mark.parametrize(
    ("more", "given", "said"),
    [
        (SERVERS, "", "mcp-client-2025-04-04"),
        ({**SERVERS, **TOOLSET}, "", "mcp-client-2025-11-20"),
        ({**SERVERS, **TOOLSET}, "mcp-client-2026-09-15", "mcp-client-2026-09-15"),
        (EDITS, "files-api-2025-04-14, x", "files-api-2025-04-14,x,context-management-2025-06-27"),
        ({"tools": [SCREEN]}, "", "computer-use-2025-01-24"),
        (SCOPED, "", "prompt-caching-scope-2026-01-05"),
        (SCOPED, "prompt-caching-scope-2026-09-01", "prompt-caching-scope-2026-09-01"),
        ({}, "x", "x"),
    ],
)
def test_a_field_that_needs_a_beta_brings_its_name(more: dict[str, object], given: str, said: str) -> None:
    """Anthropic refuses the field otherwise: Extra inputs are not permitted."""
    headers = {"anthropic-beta": given} if given else {}
    body = {**MESSAGES, **more}
    sent = adapt(body, source="anthropic", target="anthropic/claude-sonnet-4-5", headers=headers)
    assert sent.headers["anthropic-beta"] == said
    assert judge("anthropic", "claude-sonnet-4-5", sent.path, sent.headers, sent.body) is None
    assert sent.changes == ()


def test_no_beta_is_named_elsewhere() -> None:
    sent = adapt({**MESSAGES, **EDITS}, source="anthropic", target="openai/gpt-4o")
    assert "anthropic-beta" not in sent.headers


def test_a_scope_without_its_beta_is_refused_as_anthropic_does() -> None:
    sent = adapt({**MESSAGES, **SCOPED}, source="anthropic", target="anthropic/claude-sonnet-4-5")
    headers = {name: value for name, value in sent.headers.items() if name != "anthropic-beta"}
    refused = judge("anthropic", "claude-sonnet-4-5", sent.path, headers, sent.body)
    assert refused is not None
    assert "system.0.cache_control.ephemeral.scope: Extra inputs are not permitted" in str(refused.body)


VERTEX, BEDROCK = "vertex-anthropic/claude-sonnet-4-5@20250929", "bedrock-anthropic/us.anthropic.claude-sonnet-4-5-v1:0"
OPUS = "bedrock-anthropic/us.anthropic.claude-opus-4-7-v1:0"
LONG, THOUGHTS = "context-1m-2025-08-07", "interleaved-thinking-2025-05-14"


@pytest.mark.parametrize(
    ("target", "given", "sent", "left_out"),
    [
        (VERTEX, f"{LONG}, effort-2025-11-24", LONG, ["effort-2025-11-24"]),
        (VERTEX, "prompt-caching-scope-2026-01-05", None, ["prompt-caching-scope-2026-01-05"]),
        (VERTEX, f"{LONG},x-2030-01-01", f"{LONG},x-2030-01-01", []),
        (BEDROCK, f"{LONG},structured-outputs-2025-11-13", [LONG], ["structured-outputs-2025-11-13"]),
        (BEDROCK, f"effort-2025-11-24,{LONG}", ["effort-2025-11-24", LONG], []),
        (OPUS, f"claude-code-20250219,{THOUGHTS}", [THOUGHTS], ["claude-code-20250219"]),
        ("anthropic/claude-sonnet-4-5", "effort-2025-11-24", "effort-2025-11-24", []),
    ],
)
def test_a_beta_that_a_cloud_refuses_is_left_out_and_reported(
    target: str, given: str, sent: str | list[str] | None, left_out: list[str]
) -> None:
    done = adapt(MESSAGES, source="anthropic", target=target, headers={"anthropic-beta": given})
    assert done.json.get("anthropic_beta", done.headers.get("anthropic-beta")) == sent
    told = [(change.rule, change.at, change.did, change.loses) for change in done.changes]
    says = "left out {} of the header anthropic-beta"
    assert told == [("refused-setting", "", says.format(name), "metadata") for name in left_out]
    profile, _, model = target.partition("/")
    assert judge(profile, model, done.path, done.headers, done.body) is None


def test_a_refused_beta_may_not_be_left_out_if_nothing_may_be_lost() -> None:
    headers = {"anthropic-beta": "effort-2025-11-24"}
    with pytest.raises(RepairRefused, match="left out effort-2025-11-24"):
        adapt(MESSAGES, source="anthropic", target=VERTEX, headers=headers, policy=Policy(max_loss="nothing"))


def test_ten_thousand_refused_words_are_told_in_a_short_report() -> None:
    words = ",".join(f"mcp-client-{number}" for number in range(10_000))
    done = adapt(MESSAGES, source="anthropic", target=BEDROCK, headers={"anthropic-beta": words})
    assert (len(done.changes), "anthropic_beta" in done.json) == (20, False)


def test_the_profile_of_a_user_reaches_anthropic_alone() -> None:
    headers = {"anthropic-user-profile-id": "uprof_1"}
    own = adapt(MESSAGES, source="anthropic", target="anthropic/claude-opus-4-8", headers=headers)
    assert own.headers["anthropic-user-profile-id"] == "uprof_1"
    other = adapt(MESSAGES, source="anthropic", target="openai/gpt-5.6", headers=headers)
    assert "anthropic-user-profile-id" not in other.headers


CLOUDS = {
    "vertex-anthropic": "claude-sonnet-4-6",
    "bedrock-anthropic": "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
}


@pytest.mark.parametrize(
    ("more", "beta"),
    [
        ({"speed": "fast"}, "fast-mode-2026-02-01"),
        ({"tags": ["a"]}, "request-tags-2026-08-21"),
        (
            {"billing_policy": {"type": "billing_policy", "bill_to": "user_profile"}},
            "user-profiles-billing-2026-10-01",
        ),
        ({"compaction": {"type": "summarize"}}, "compact-2026-09-04"),
        ({"thread": {"type": "new"}}, "message-threads-2026-08-12"),
        ({"diagnostics": {"previous_message_id": "msg_1"}}, "cache-diagnosis-2026-04-07"),
        ({"output_config": {"task_budget": {"type": "tokens", "total": 20000}}}, "task-budgets-2026-03-13"),
        ({"context_management": {"edits": [{"type": "compact_20260112"}]}}, "compact-2026-01-12"),
    ],
)
def test_a_field_names_its_beta(more: dict[str, object], beta: str) -> None:
    for given in ("", beta):
        headers = {"anthropic-beta": given} if given else {}
        sent = adapt({**MESSAGES, **more}, source="anthropic", target="anthropic/claude-opus-4-8", headers=headers)
        assert (sent.headers["anthropic-beta"], sent.json | more == sent.json) == (beta, True)


@pytest.mark.parametrize("cloud", CLOUDS)
def test_betas_are_chosen_again_for_each_cloud_and_their_fields_with_them(cloud: str) -> None:
    """A beta that the cloud does not have goes, and so does what is an error without it. One that it calls otherwise is
    called so."""
    given = "fast-mode-2026-02-01,advanced-tool-use-2025-11-20,context-1m-2025-08-07,request-tags-2026-08-21"
    body = {**MESSAGES, "model": CLOUDS[cloud], "speed": "fast", "tags": ["a"]}
    sent = adapt(body, source="anthropic", target=f"{cloud}/{CLOUDS[cloud]}", headers={"anthropic-beta": given})
    named = sent.json.get("anthropic_beta") or sent.headers["anthropic-beta"].split(",")
    assert named == ["tool-search-tool-2025-10-19", "context-1m-2025-08-07"]
    assert not {"speed", "tags"} & sent.json.keys()
    assert {one.at for one in sent.changes} == {"/speed", "/tags", ""}
    assert judge(cloud, CLOUDS[cloud], sent.path, sent.headers, sent.body) is None


def test_a_member_is_left_out_of_its_field_alone() -> None:
    """As after a lesson: the target has told that it does not have the beta."""
    facts = {"refused_words": {"anthropic-beta": ["task-budgets-2026-03-13"]}}
    profiles = Profiles(layers=[Layer("lesson", facts)])
    config = {"effort": "low", "task_budget": {"type": "tokens", "total": 20000}}
    sent = adapt(
        {**MESSAGES, "output_config": config}, source="anthropic", target="anthropic/claude-opus-4-8", profiles=profiles
    )
    assert sent.json["output_config"] == {"effort": "low"}
    assert next((one.rule, one.at) for one in sent.changes) == ("refused-setting", "/output_config")


@pytest.mark.parametrize(
    ("target", "stays"), [("openai-responses/gpt-5.6", True), ("azure-openai-responses/gpt-5.6", False)]
)
def test_what_codex_tells_of_its_session_is_for_openai(target: str, stays: bool) -> None:
    """No public type has it. The service takes it from Codex, over HTTP and over sockets."""
    sent = adapt({"input": "Hi", "client_metadata": {"session_id": "s"}}, source="openai-responses", target=target)
    assert ("client_metadata" in sent.json) is stays
    profile, _, model = target.partition("/")
    assert judge(profile, model, sent.path, sent.headers, sent.body) is None
