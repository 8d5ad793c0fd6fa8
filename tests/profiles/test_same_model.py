"""Names of one model on several platforms."""

from __future__ import annotations

import pytest

from dragoman.profiles.model_patterns import same_model

SONNET = "claude-sonnet-4-5"


@pytest.mark.parametrize(
    "name",
    [
        SONNET,
        "claude-sonnet-4-5-20250929",
        "claude-sonnet-4-5@20250929",
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "arn:aws:bedrock:us-east-1:1:inference-profile/global.anthropic.claude-sonnet-4-5-v1:0",
        "anthropic/claude-sonnet-4.5",
    ],
)
def test_one_model(name: str) -> None:
    assert same_model(name, SONNET)


@pytest.mark.parametrize(
    "name", ["claude-sonnet-4", "claude-opus-4-5", "claude-sonnet-4-6", "", "my-claude-sonnet-4-5"]
)
def test_another_model(name: str) -> None:
    assert not same_model(name, SONNET)
