"""The examples of the guide are run as they stand there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from dragoman.emulators.answer_script import Script
from dragoman.emulators.catalogue import names

_GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "emulators.md"
_BLOCKS = re.findall(r"```(\w+)\n(.*?)```", _GUIDE.read_text(), re.DOTALL)


@pytest.mark.parametrize(
    "source", [text for kind, text in _BLOCKS if kind == "python"], ids=["openai", "claude", "gemini", "agent"]
)
def test_the_examples_of_the_guide(source: str, dragoman_emulators: Any) -> None:
    space: dict[str, Any] = {}
    exec(compile(source, str(_GUIDE), "exec"), space)  # our own text
    tests = [value for name, value in space.items() if name.startswith("test_")]
    assert len(tests) == 1
    tests[0](dragoman_emulators) if tests[0].__code__.co_argcount else tests[0]()


def test_the_script_of_the_guide_can_be_read() -> None:
    plain, conditional = [text for kind, text in _BLOCKS if kind == "yaml"]
    assert Script(yaml.safe_load(plain)).left == 5
    assert Script(yaml.safe_load(conditional)).left == 2


def test_the_guide_names_every_emulator() -> None:
    table = _GUIDE.read_text().partition("| emulator | imitates |")[2].partition("\n\n")[0]
    firsts = [row.split("|")[1] for row in table.splitlines() if row]
    assert {*names()} == {*re.findall(r"`([^`]+)`", "".join(firsts))}, (
        "put it into the table of docs/guide/emulators.md"
    )
