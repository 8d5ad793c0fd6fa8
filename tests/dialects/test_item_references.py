"""Items of a Responses request that are nothing but the id of another one."""

from __future__ import annotations

import pytest

from dragoman.dialects.openai_responses.endpoints.stored_answers import STORED_ANSWERS


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        (b'[{"type":"item_reference","id":"a"},{"id":"b"},{"id":"c","role":"user","content":"Hi"}]', ("a", "b")),
        (b'[{"\\u0069d":"a"},{"i\\u0064":"b"},{"\\u0069\\u0064":"c"}]', ("a", "b", "c")),
        (b'[{"role":"user","content":"Hi"}]', ()),
        (b'"id"', ()),
    ],
)
def test_items_that_refer_to_others_are_found(items: bytes, expected: tuple[str, ...]) -> None:
    question = STORED_ANSWERS.parse_question(b'{"model":"m","input":%b}' % items, None)
    assert question is not None
    assert question.references == expected


def test_a_request_without_references_that_is_not_stored_has_no_question() -> None:
    body = b'{"model":"m","store":false,"input":[{"role":"user","content":"Hi"}]}'
    assert STORED_ANSWERS.parse_question(body, None) is None
