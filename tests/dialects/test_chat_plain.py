"""The short loop and the full reader must agree: in what they read and in what they see."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.conversation.traits import observe_messages
from dragoman.dialects.openai_chat.message_parse import parse_messages
from dragoman.dialects.openai_chat.plain_messages import parse_plain

_TEXTS = st.sampled_from(["Hi", "", " ", "a\nb", "é"])
_IDS = st.sampled_from(["c1", "c2", "c3"])
_ARGUMENTS = st.sampled_from(["{}", '{"a":1}', "", "null", "[1]", "not json", ' {"a": 1} '])


def _call(identity: str, arguments: str) -> dict[str, Any]:
    return {"id": identity, "type": "function", "function": {"name": "f", "arguments": arguments}}


_MESSAGES = st.one_of(
    st.builds(
        lambda role, text: {"role": role, "content": text}, st.sampled_from(["user", "system", "developer"]), _TEXTS
    ),
    st.builds(lambda text: {"role": "assistant", "content": text}, _TEXTS),
    st.builds(
        lambda text, calls: {"role": "assistant", "content": text, "tool_calls": calls},
        st.one_of(st.none(), _TEXTS),
        st.lists(st.builds(_call, _IDS, _ARGUMENTS), max_size=2),
    ),
    st.builds(lambda identity, text: {"role": "tool", "tool_call_id": identity, "content": text}, _IDS, _TEXTS),
    st.just({"role": "user", "content": [{"type": "text", "text": "listed"}]}),
    st.just({"role": "user", "content": "named", "name": "bob"}),
)


@given(st.lists(_MESSAGES, max_size=8))
def test_both_readers_agree(messages: list[dict[str, Any]]) -> None:
    raw = json.dumps(messages).encode()
    plain = parse_plain(raw)
    full = parse_messages(raw)
    if plain is None:
        return
    assert plain.messages == full
    assert [message.at for message in plain.messages] == [message.at for message in full]
    assert [message.span for message in plain.messages] == [message.span for message in full]
    assert plain.traits == observe_messages(full)


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": "Hi", "name": "bob"},
        {"role": "user", "content": None},
        {"role": "user", "content": " "},
        {"role": "assistant", "content": "Hi", "tool_calls": []},
        {"role": "bot", "content": "Hi"},
        {"role": "assistant", "content": "Hi", "done": True},
    ],
)
def test_what_is_not_plain_is_left_to_the_full_reader(message: dict[str, Any]) -> None:
    assert parse_plain(json.dumps([message]).encode()) is None


def test_a_tool_conversation_is_plain() -> None:
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "", "tool_calls": [_call("c1", "{}"), _call("c2", "{}")]},
        {"role": "tool", "tool_call_id": "c1", "content": "1"},
        {"role": "tool", "tool_call_id": "c2", "content": "2"},
    ]
    assert parse_plain(json.dumps(messages).encode()) is not None
