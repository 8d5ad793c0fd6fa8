"""A request whose beginning may be stored at its provider: it is sent by the name of that, or whole."""

from __future__ import annotations

from typing import Generic

from dragoman.conversation.conversation import Ask
from dragoman.engine.compile.compiled_request import CompiledRequest
from dragoman.engine.exchange.destination import D
from dragoman.engine.exchange.target_attempt import TargetAttempt
from dragoman.engine.history.stored_prompts import PromptUse, StoredPromptBook, with_stored

_MAY_BE_GONE = (400, 403, 404)
"""Statuses of refusals: the provider does not have the stored prompt, or not for this key."""


class NamedPrompt(Generic[D]):
    """What the sends of an exchange have to do with stored prompts."""

    use: PromptUse | None = None
    """What the last request has to do with them; None if nothing."""
    _whole: CompiledRequest
    _lost = ""
    """The name that is not used again."""

    def __init__(self, book: StoredPromptBook, caller: str) -> None:
        self._book = book
        self._caller = caller

    def shorten(self, ask: Ask, request: CompiledRequest, visit: TargetAttempt[D]) -> CompiledRequest:
        """The request with the name of what is stored of it; the same one if nothing is."""
        destination, self.use, self._whole = visit.destination, None, request
        if destination.stores_prompts and visit.sets_hints(ask):
            self.use = self._book.look_up(self._caller, ask, request, destination.name, visit.key)
        if self.use is None or self.use.stored is None:
            return request
        if self.use.stored.name == self._lost:
            self.use.lose()
            return request
        return with_stored(request, self.use.form, self.use.stored)

    def may_be_gone(self, status: int) -> bool:
        """Whether a refusal with this status may be one of the name that was sent."""
        return status in _MAY_BE_GONE and self.use is not None and self.use.stored is not None

    def belongs_to(self, key: int) -> bool:
        """Whether what was sent may be sent with this key, too."""
        return self.use is None or self.use.stored is None or self.use.stored.key == key

    def take_whole(self) -> CompiledRequest:
        """What is stored may be gone, or belongs to another key: the request with all of it."""
        assert self.use is not None
        assert self.use.stored is not None
        self._lost = self.use.stored.name
        self.use.lose()
        return self._whole
