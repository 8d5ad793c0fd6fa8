"""Headers of a request that belong to its dialect."""

from __future__ import annotations

import pytest
from tests.judges import judge

from dragoman.engine.adapt import adapt

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
