"""Seals: every process with the secret opens them, for the key that they were made for, unchanged."""

from __future__ import annotations

import asyncio
import base64

import pytest

from dragoman.config.schema.store import StoreConfig
from dragoman.gateway.state.seals import PREFIX, BrokenSeal, Seals
from dragoman.store.memory.store import MemoryStore

OLD, NEW = b"an old secret of ours", b"a new secret of ours"


def test_what_is_sealed_is_opened_by_another_process_and_while_the_secret_changes() -> None:
    sealed = Seals([OLD]).seal("ann", b"4711")
    assert sealed.startswith(PREFIX)
    assert b"4711" not in base64.urlsafe_b64decode(sealed)
    assert Seals([OLD]).open("ann", sealed) == b"4711"
    changing = Seals([NEW, OLD])
    assert changing.open("ann", sealed) == b"4711"
    assert Seals([NEW]).open("ann", changing.seal("ann", b"4712")) == b"4712"
    assert changing.seal("ann", b"4711") != changing.seal("ann", b"4711")


def test_what_is_changed_or_not_ours_is_broken() -> None:
    seals = Seals([OLD])
    sealed = seals.seal("ann", b"4711")
    blob = bytearray(base64.urlsafe_b64decode(sealed))
    for place in range(len(base64.b64decode(PREFIX)), len(blob)):
        changed = bytes([*blob[:place], blob[place] ^ 1, *blob[place + 1 :]])
        with pytest.raises(BrokenSeal):
            seals.open("ann", base64.urlsafe_b64encode(changed).decode())
    for other in (sealed[:-4], PREFIX, PREFIX + "*", PREFIX + "é"):
        with pytest.raises(BrokenSeal):
            seals.open("ann", other)
    for opener, caller in ((seals, "bob"), (Seals([NEW]), "ann")):
        with pytest.raises(BrokenSeal):
            opener.open(caller, sealed)


def test_the_first_proposal_is_the_secret_of_all() -> None:
    async def agree() -> list[bytes]:
        store = MemoryStore(StoreConfig())
        return [await store.secrets.agree("seals", one) for one in (OLD, NEW)]

    assert asyncio.run(agree()) == [OLD, OLD]
