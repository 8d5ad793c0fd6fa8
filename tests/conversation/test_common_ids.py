"""Ids and roles are looked at with the quickest means: those must agree with the plain ones."""

from __future__ import annotations

import re
from itertools import pairwise

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman.conversation import traits
from dragoman.conversation.traits import COMMON_ID, observe_ids, observe_roles

_WORDS = st.text(st.sampled_from("aZ0_-.é \n"), max_size=42) | st.sampled_from(["a" * 40, "a" * 41, "_", "-"])


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(_WORDS, min_size=1, max_size=4))
def test_odd_ids_are_those_that_are_not_common(ids: list[str]) -> None:
    odd = any(re.fullmatch(COMMON_ID, one) is None for one in ids)
    assert bool(observe_ids(ids) & traits.ODD_IDS) == odd
    assert bool(observe_ids(ids) & traits.DUPLICATE_ID) == (len(set(ids)) < len(ids))


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(st.sampled_from("uact"), min_size=1, max_size=8))
def test_a_repeated_role_is_seen(codes: str) -> None:
    spoken = codes.replace("c", "a")
    repeated = any(one == other for one, other in pairwise(spoken))
    assert bool(observe_roles(codes) & traits.REPEATED_ROLE) == repeated
