"""Stored responses: answers that clients refer to by their ids, with what was asked."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from dragoman.store.contracts.expiring_table import ONLY, ExpiringTable
from dragoman.store.settings import StoreSettings, state_of

MOST_BYTES = 4 * 1024 * 1024
_ITEMS = "items"


class StoredResponse(Struct, frozen=True):
    """One answer."""

    items: bytes
    """A JSON list of what the client sent with its request; with a `base`, of what it sent after the items of that."""
    response: bytes
    """The answer as it was shown."""
    previous: str = ""
    """The id of the answer that the request continued, or empty."""
    provider: str = ""
    """Who answered; empty if that is not known."""
    account: str = ""
    """With which of the provider's keys; empty if that is not known."""
    base: str = ""
    """The id of the response whose request sent the same items and no more, or empty."""
    is_named: bool = False
    """Another names it as its `previous` or `base`."""
    is_removed: bool = False
    """It was removed, and is there only for those that name it."""

    @property
    def size(self) -> int:
        return len(self.items) + len(self.response)


class StoredResponses:
    """Responses by caller and id. Nothing is stored while `state` is off.

    Isolation: the caller is part of every key. An id of another caller is not there.

    Atomicity: a response is written whole or not at all. The last `put` wins. `swap` writes over what its caller has
    seen and over nothing else: what another worker has changed or removed since then stays so.

    Consistency: when `put` or `forget` returns, this process sees it at once. Other workers see a new response when
    `put` returns, and that one was forgotten within two seconds.

    Expiry and bounds: a response is forgotten `state.lifetime` after its last use. The bytes of a caller and of all
    are bounded; the least recently used goes first. One larger than
    `MOST_BYTES` is not kept.

    Links: a response that others name as `previous` or `base` is hidden when it is removed, and stays for them until it
    expires. One that nobody names is gone at once.

    What may be lost: everything; a restart keeps responses if the backend has a file or a server.

    What a failure means: a `find` that fails finds nothing, and is counted. A request that continues the response is
    then refused: the rest of its conversation is not known.
    """

    def __init__(self, table: ExpiringTable[StoredResponse], settings: StoreSettings) -> None:
        self._table = table
        self._settings = settings

    async def put(self, caller: str, id: str, response: StoredResponse, items: Iterable[str] = ()) -> bool:
        """Keep a response, and where these items of its output are found. False: it was not kept."""
        if not state_of(self._settings.config).enabled or response.size > MOST_BYTES:
            return False
        named = [self._note_name(caller, link) for link in (response.previous, response.base) if link not in ("", id)]
        if not (await asyncio.gather(self._table.put(caller, id, {ONLY: response}), *named))[0]:
            return False
        places = {item: StoredResponse(b"", b"", id) for item in items}
        return not places or await self._table.put(caller, _ITEMS, places)

    async def swap(self, caller: str, id: str, old: StoredResponse, new: StoredResponse) -> StoredResponse | None:
        """Keep `new` in the place of `old`, if that is what is there; what is there then, `new` if the store fails. A
        `new` that is too large to be kept changes nothing."""
        if not state_of(self._settings.config).enabled or new.size > MOST_BYTES:
            return old
        return await self._table.swap(caller, id, ONLY, old, new)

    async def _note_name(self, caller: str, id: str) -> bool:
        """Note in a response that another names it."""
        found = await self.find_link(caller, id)
        if found is None or found.is_named:
            return found is not None
        return await self._table.put(caller, id, {ONLY: replace(found, is_named=True)})

    async def find(self, caller: str, id: str) -> StoredResponse | None:
        """A response of this caller."""
        found = await self.find_link(caller, id)
        return None if found is None or found.is_removed else found

    async def find_latest(self, caller: str, id: str) -> StoredResponse | None:
        """A response of this caller as it is now, whichever worker wrote or removed it."""
        found = await self.find_link(caller, id, latest=True)
        return None if found is None or found.is_removed else found

    async def find_link(self, caller: str, id: str, *, latest: bool = False) -> StoredResponse | None:
        """A response that another one names: also if it was removed."""
        if not state_of(self._settings.config).enabled:
            return None
        return (await self._table.find(caller, id, (ONLY,), latest=latest)).get(ONLY)

    async def find_holders(self, caller: str, items: Iterable[str]) -> Mapping[str, str]:
        """In which response of this caller each item is, by the item's id. Those that are not known are missing."""
        if not state_of(self._settings.config).enabled:
            return {}
        return {item: one.previous for item, one in (await self._table.find(caller, _ITEMS, items)).items()}

    async def forget(self, caller: str, id: str) -> bool:
        """Remove a response; see above for one that others name. False: it could not be removed."""
        found = await self.find_link(caller, id)
        if found is None or not found.is_named:
            return await self._table.forget(caller, id)
        return found.is_removed or await self._table.put(caller, id, {ONLY: replace(found, is_removed=True)})
