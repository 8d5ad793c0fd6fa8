"""The names of members are found in the text of their object without a search through their values."""

from __future__ import annotations

import pytest
from msgspec import Raw

from dragoman.wire.json_reader import names_of, split_members


@pytest.mark.parametrize(
    "body",
    [
        b'{"contents":[{"text":"\\"tools\\":"}],"system_instruction":{"parts":[]},"n":1}',
        b' {\n "a\\u0062" : [1, 2] ,\t"c":null }\n',
        b"{}",
    ],
)
def test_names_are_those_of_the_text(body: bytes) -> None:
    members = split_members(body)
    renamed = {name.upper(): value for name, value in members.items()}
    assert list(names_of(body, renamed.values())) == list(members)


def test_other_values_than_those_of_the_text_lead_to_the_same_names() -> None:
    body = b'{"a":[1,{"b":2}],"c":3}'
    assert list(names_of(body, [Raw(b"[1]"), Raw(b"3")])) == ["a", "c"]
