"""JSON text is known from other bytes by its type."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dragoman.conversation.literals import EMPTY, JsonText, StringLiteral, join_texts, prefix_literal, quote
from dragoman.conversation.notation.plain_json import from_plain


def test_functions_that_make_literals_give_json() -> None:
    for literal in (EMPTY, quote('a"b'), prefix_literal("a\n", b'"b"'), join_texts(", ", [b'"a"', b'"b"'])):
        assert isinstance(msgspec.json.decode(literal), str)


@pytest.mark.parametrize("expected", [JsonText, StringLiteral, JsonText | None])
def test_json_under_a_name_of_its_own_is_read_back_as_text(expected: Any) -> None:
    assert from_plain("é", expected) == '"é"'.encode()
