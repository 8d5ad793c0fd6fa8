"""An answer with a tool call stops for the call, also if a server says that it just ended."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from dragoman.conversation.events import Stopped
from dragoman.conversation.replies import Stop
from dragoman.dialects.registry import dialect

OLLAMA_CALL = {"function": {"name": "look", "arguments": {}}}
CONVERSE_CALL = {"toolUse": {"toolUseId": "c1", "name": "look", "input": {}}}
ANSWERS: dict[str, dict[str, Any]] = {
    "anthropic": {
        "content": [{"type": "tool_use", "id": "c1", "name": "look", "input": {}}],
        "stop_reason": "end_turn",
    },
    "bedrock": {"output": {"message": {"content": [CONVERSE_CALL]}}, "stopReason": "end_turn"},
    "ollama": {"message": {"content": "", "tool_calls": [OLLAMA_CALL]}, "done": True, "done_reason": "stop"},
}


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_with_a_call_stops_for_it(name: str) -> None:
    events = dialect(name).answers.parse(orjson.dumps(ANSWERS[name]))
    assert [event.reason for event in events if isinstance(event, Stopped)] == [Stop.CALLS]


@pytest.mark.parametrize(("word", "stop"), [("max_tokens", Stop.LENGTH), ("refusal", Stop.REFUSAL)])
def test_a_call_hides_no_other_reason(word: str, stop: Stop) -> None:
    events = dialect("anthropic").answers.parse(orjson.dumps({**ANSWERS["anthropic"], "stop_reason": word}))
    assert [event.reason for event in events if isinstance(event, Stopped)] == [stop]
