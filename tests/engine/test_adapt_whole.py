"""A stream that a target does not give is asked for as a whole answer. That is told, and no setting is lost."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.engine.library.adapt import AdaptedRequest, adapt

TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}


def asked(target: str, **more: Any) -> AdaptedRequest:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "stream": True, **more}
    return adapt(body, source="openai-chat", target=target)


@pytest.mark.parametrize(
    ("target", "more", "whole"),
    [
        ("llamacpp/m", {"tools": [TOOL], "logprobs": True}, True),
        ("llamacpp/m", {"tools": [TOOL], "logprobs": False}, False),
        ("llamacpp/m", {"tools": [TOOL]}, False),
        ("llamacpp/m", {"logprobs": True}, False),
        ("vllm/m", {"tools": [TOOL], "logprobs": True}, False),
        ("bedrock/meta.llama3-3-70b-instruct-v1:0", {"tools": [TOOL]}, True),
        ("bedrock/meta.llama3-3-70b-instruct-v1:0", {}, False),
    ],
)
def test_it_is_asked_for_whole(target: str, more: dict[str, Any], whole: bool) -> None:
    done = asked(target, **more)
    assert done.undo.whole is whole
    assert ("whole-asked" in [change.rule for change in done.changes]) is whole


def test_the_log_probabilities_stay() -> None:
    done = asked("llamacpp/m", tools=[TOOL], logprobs=True)
    assert done.json["logprobs"] is True
    assert not done.json.get("stream")
    assert [(change.rule, change.at, change.kind) for change in done.changes] == [("whole-asked", "/stream", "repair")]
