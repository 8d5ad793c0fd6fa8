"""The examples of the pages in docs/theory are what really happens."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dragoman.engine.library.adapt import adapt

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "theory" / "identity.md").read_text("utf-8")
EXAMPLES = dict(re.findall(r"```json (\S+)\n(.*?)\n```", PAGE, re.DOTALL))
REQUEST = EXAMPLES.pop("request")


@pytest.mark.parametrize("target", EXAMPLES)
def test_an_amended_request_is_as_the_page_shows(target: str) -> None:
    assert adapt(REQUEST, source="openai-chat", target=target).body.decode() == EXAMPLES[target]


def test_an_untouched_request_goes_out_as_its_own_bytes() -> None:
    assert adapt(REQUEST, source="openai-chat", target="openai/gpt-4o").body.decode() == REQUEST
    assert len(EXAMPLES) == 2
