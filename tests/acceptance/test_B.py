"""Constellation: the system role among the messages."""

from __future__ import annotations

import pytest
from tests.acceptance.asking import CLAUDE, OPENAI, ask, says, sent

from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import Message, Role
from dragoman.dialects.anthropic.request import REQUESTS
from dragoman.dialects.dialect import RenderOptions
from dragoman.engine.library.adapt import adapt
from dragoman.errors import Unrepresentable


def test_B1_roles_and_lists_are_read() -> None:
    assert sent(ask(says("system", [{"type": "text", "text": "S"}]), says("user", "a")), CLAUDE).json["system"]


def test_B3_the_field_comes_first() -> None:
    request = {
        "model": "m",
        "max_tokens": 9,
        "system": "field",
        "messages": [says("user", "a"), says("system", "late")],
    }
    assert adapt(request, source="anthropic", target=CLAUDE).json["system"] == "field\n\nlate"


def test_B5_nothing_left_is_no_field() -> None:
    assert "system" not in sent(ask(says("system", ""), says("user", "a")), CLAUDE).json


def test_B6_an_unplaceable_system_message_is_a_programming_error() -> None:
    with pytest.raises(Unrepresentable):
        REQUESTS.render(Conversation((Message(Role.DEVELOPER, ()),)), RenderOptions("m", False))


def test_B7_openai_keeps_each_at_its_place() -> None:
    request = {
        "model": "m",
        "max_tokens": 9,
        "system": "field",
        "messages": [says("user", "a"), says("system", "late")],
    }
    messages = adapt(request, source="anthropic", target=OPENAI).json["messages"]
    assert messages == [says("system", "field"), says("user", "a"), says("system", "late")]


def test_B8_the_field_alone_is_untouched() -> None:
    request = {"model": "claude-sonnet-4-5", "max_tokens": 9, "system": "S", "messages": [says("user", "a")]}
    assert adapt(request, source="anthropic", target=CLAUDE).changes == ()


def test_B9_streams_are_the_same() -> None:
    request = ask(says("user", "a"), says("system", "late"))
    whole, stream = sent(request, CLAUDE).json, sent({**request, "stream": True}, CLAUDE).json
    assert stream == {**whole, "stream": True}


def test_B10_the_transformation_is_pure() -> None:
    request = ask(says("user", "a"), says("system", "late"))
    assert sent(request, CLAUDE).body == sent(request, CLAUDE).body
