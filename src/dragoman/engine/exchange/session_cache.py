"""What a request has to do with the provider's prompt cache: which change breaks what the session has in it, and what
the provider says of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from dragoman.conversation.conversation import Ask
from dragoman.engine.answer.provider_changes import CacheDiagnosis, find_diagnosis
from dragoman.engine.compile.compiled_request import CompiledRequest
from dragoman.engine.exchange.destination import Destination
from dragoman.engine.exchange.target_attempt import TargetAttempt
from dragoman.engine.history.session_turns import SentTurn, blame, find_break, find_question, is_sent_as_it_came


class SessionCache:
    """The prompt cache, as the sends of an exchange find it."""

    diagnosis: CacheDiagnosis | None = None
    """What the provider says of it; None if it is not asked."""

    def __init__(self, turn_before: Callable[[Ask], SentTurn | None]) -> None:
        """`turn_before` finds what the session sent last. It is asked only if messages or tools are sent otherwise than
        they came, or if the provider is asked."""
        self._turn_before = turn_before

    def ask_provider(self, ask: Ask, visit: TargetAttempt[Any]) -> None:
        """Have the provider say why it finds nothing in its cache, if the hints for it are ours."""
        if visit.sets_hints(ask):
            self.diagnosis = CacheDiagnosis()
            visit.question = find_question(self._turn_before(ask), ask, visit.target, visit.destination.name)

    def blame_change(self, ask: Ask, request: CompiledRequest, destination: Destination) -> CompiledRequest:
        """The request; the change says so that breaks the cache of what the session sent before."""
        if is_sent_as_it_came(request):
            return request
        before = self._turn_before(ask)
        broken = None if before is None else find_break(before, request, destination)
        if before is None or broken is None:
            return request
        return replace(request, changes=blame(before, broken, request))

    def find_miss(self, data: bytes) -> str:
        """Why the cache was missed, if this piece of an answer is the first to say so."""
        known = self.diagnosis
        if known is None:
            return ""
        self.diagnosis = find_diagnosis(data, known)
        return self.diagnosis.why if not known.why else ""
