"""A rule may look for odd ids and names only if its target takes all common ones."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman.conversation.traits import COMMON_ID, COMMON_NAME
from dragoman.rules.naming import COMMON_IDS, COMMON_NAMES

unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""A busy machine is slow at making texts from a pattern."""


@pytest.mark.parametrize("pattern", sorted(COMMON_IDS))
@unhurried
@given(identity=st.from_regex(COMMON_ID, fullmatch=True))
def test_forms_that_take_every_common_id(pattern: str, identity: str) -> None:
    assert re.fullmatch(pattern, identity, re.DOTALL)


@pytest.mark.parametrize("pattern", sorted(COMMON_NAMES))
@unhurried
@given(name=st.from_regex(COMMON_NAME, fullmatch=True))
def test_forms_that_take_every_common_name(pattern: str, name: str) -> None:
    assert re.fullmatch(pattern, name, re.DOTALL)
    assert len(name) <= 64
