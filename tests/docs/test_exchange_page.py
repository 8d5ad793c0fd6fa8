"""The drawing of an exchange's steps is the table of the code."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

from dragoman.engine.exchange.steps import STEPS

DOCS = Path(__file__).parents[2] / "docs"


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_shows_the_steps_as_they_are() -> None:
    made = generator()
    assert (DOCS / "theory" / "exchange.md").read_text("utf-8") == made.drawn_page()


def test_the_drawing_has_every_way() -> None:
    drawn = generator().drawn_steps().splitlines()
    ways = [(verb, steps) for row in STEPS for verb, steps in row.verbs.items()]
    assert len(drawn) == len(STEPS) + len(ways)
    for (verb, steps), line in zip(ways, [line for line in drawn if "─►" in line], strict=True):
        shown, _, following = line.partition("─► ")
        assert shown.strip(" ─") == verb
        assert following == ", ".join("(end)" if step is None else step.__name__ for step in steps)
