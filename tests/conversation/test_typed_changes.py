"""What `but` may replace is what the value has, by name and by type; JSON text is told from other bytes."""

from __future__ import annotations

from typing import Any, get_type_hints

import msgspec
import pytest

from dragoman.conversation.conversation import Conversation, ConversationChanges
from dragoman.conversation.literals import EMPTY, JsonText, StringLiteral, joined, prefixed, quote
from dragoman.conversation.messages import Message, MessageChanges, Role
from dragoman.conversation.plain_json import from_plain
from dragoman.conversation.settings import Settings, SettingsChanges


@pytest.mark.parametrize(
    ("value", "changes"),
    [(Message, MessageChanges), (Settings, SettingsChanges), (Conversation, ConversationChanges)],
)
def test_every_field_can_be_replaced_and_nothing_else(value: type[msgspec.Struct], changes: Any) -> None:
    assert get_type_hints(changes) == get_type_hints(value)


def test_the_rest_stays() -> None:
    message = Message(Role.USER, (), at=3, name="Ann")
    assert msgspec.structs.asdict(message.but(name=None)) == msgspec.structs.asdict(message) | {"name": None}


def test_functions_that_make_literals_give_json() -> None:
    for literal in (EMPTY, quote('a"b'), prefixed("a\n", b'"b"'), joined(", ", [b'"a"', b'"b"'])):
        assert isinstance(msgspec.json.decode(literal), str)


@pytest.mark.parametrize("expected", [JsonText, StringLiteral, JsonText | None])
def test_json_under_a_name_of_its_own_is_read_back_as_text(expected: Any) -> None:
    assert from_plain("é", expected) == '"é"'.encode()
