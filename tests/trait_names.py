"""The names of traits, for messages of tests."""

from __future__ import annotations

from dragoman.conversation import traits

_NAMES = {number: name for name, number in reversed(vars(traits).items()) if name.isupper() and type(number) is int}


def named_traits(found: int) -> list[str]:
    return [_NAMES[1 << place] for place in range(found.bit_length()) if found >> place & 1]
