"""Which emulator stands in for a provider."""

from __future__ import annotations

import pytest

from dragoman.emulation.emulator_verdict import emulator_for
from dragoman.profiles.profile import Profile, builtin

CLOSEST = [
    ("mine", "groq", "openai-chat", "groq"),
    ("mine", "openai-compatible", "openai-chat", "compatible-lenient"),
    ("mine", "anthropic-compatible-strict", "anthropic", "anthropic"),
    ("mine", "another-of-mine", "openai-chat", "openai"),
    ("mine", "", "gemini", "gemini"),
    ("groq", "openai", "openai-chat", "groq"),
    ("mine", "openai", "anthropic", "anthropic"),
]


@pytest.mark.parametrize(("name", "like", "dialect", "emulator"), CLOSEST)
def test_a_profile_of_your_own_is_judged_as_the_one_it_is_like(
    name: str, like: str, dialect: str, emulator: str
) -> None:
    assert emulator_for(Profile(dialect=dialect, name=name, like=like)) == emulator


@pytest.mark.parametrize(("name", "emulator"), [("mistral", "mistral"), ("auto", "compatible-lenient")])
def test_a_built_in_profile_has_its_own(name: str, emulator: str) -> None:
    assert emulator_for(builtin(name)) == emulator
