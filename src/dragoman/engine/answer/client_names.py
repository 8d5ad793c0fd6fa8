"""Names and ids in an answer as the client knows them, and new ids as its vendor writes them."""

from __future__ import annotations

import re

from msgspec.structs import replace

from dragoman.conversation.changes import Undo
from dragoman.conversation.events import CallStarted, Cited, Started
from dragoman.conversation.literals import quote
from dragoman.dialects.dialect import Dialect
from dragoman.dialects.shared.parsing import answer_call_id, vendor_call_id, vendor_id
from dragoman.engine.answer.client_calls import ClientCalls

_MADE_ID = re.compile(rb'"([0-9A-Za-z]+)(?=[":])')
"""An id that may be ours, in a citation: by itself, or with the number of a result after it."""


class ClientNames:
    """Puts them back into the events of one answer. `calls` writes calls that have a form of their own."""

    __slots__ = ("_client", "_ids", "_request", "_undo", "_upstream", "calls")

    def __init__(self, upstream: Dialect, client: Dialect, undo: Undo, request: str) -> None:
        """`request`: the id of the request."""
        self._upstream, self._client, self._undo = upstream, client, undo
        self._request = request if client.stored_answers is not None else ""
        self._ids: set[tuple[int, str]] = set()
        self.calls = ClientCalls(client.name, client.answers.render_client_call) if undo.calls else None

    def name_answer(self, event: Started) -> Started:
        """The answer's id, as one of the client's vendor. Other members of the answer are made from it.

        Some servers repeat their ids. If clients go on from answers by these, the request's own is part of them.
        """
        if self._upstream is self._client or not event.id:
            return event
        return replace(event, id=vendor_id(self._client.id_prefix, event.id, self._request))

    def name_call(self, event: CallStarted) -> CallStarted:
        """The call by the client's name for the tool, with an id that no other call has."""
        undo = self._undo
        while (event.choice, event.id) in self._ids:  # the results of two could not be told apart
            event = replace(event, id=answer_call_id(event.id, len(self._ids)), made=True)
        self._ids.add((event.choice, event.id))
        if event.made:
            event = replace(event, id=vendor_call_id(self._client.call_id_prefix, event.id))
        name, identity = undo.names.get(event.name, event.name), undo.ids.get(event.id, event.id)
        form = undo.calls.get(event.name)
        if name is event.name and identity is event.id and form is None:
            return event
        event = replace(event, name=name, id=identity)
        return event if form is None or self.calls is None else self.calls.begin(event, form)

    def name_cited(self, event: Cited) -> Cited:
        """The citation with the client's ids of what it speaks of."""
        return replace(event, json=_MADE_ID.sub(self._find_own, event.json)) if self._undo.ids else event

    def _find_own(self, found: re.Match[bytes]) -> bytes:
        own = self._undo.ids.get(found[1].decode())
        return found[0] if own is None else quote(own)[:-1]
