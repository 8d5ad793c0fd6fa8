"""What one process keeps of conversations between requests. The store keeps the rest."""

from __future__ import annotations

from dragoman.config.schema.server import ServerConfig
from dragoman.engine.memory.conversation_memory import CallerMemory, ConversationMemory
from dragoman.gateway.records.metrics_board import BoardPlace
from dragoman.gateway.sockets.open_sockets import OpenSockets
from dragoman.gateway.state.background_job import BackgroundJob
from dragoman.gateway.state.background_tasks import BackgroundTasks, CircuitBreaker
from dragoman.gateway.state.seals import Seals
from dragoman.gateway.state.stored_beginnings import StoredBeginnings
from dragoman.store.clock import Clock
from dragoman.upstream.stored_prompts import StoredPrompts

_SUMMARIES_AT_ONCE = 4
_SUMMARY_FAILURES, _SUMMARY_PAUSE = 3, 300.0


class KeptConversations:
    """Texts for the next turn, open sockets, and work that goes on without a client."""

    def __init__(
        self, server: ServerConfig, clock: Clock, stored: StoredPrompts, place: BoardPlace | None = None
    ) -> None:
        """`stored`: what is known of prompts that providers store. `place`: where workers tell each other."""
        self.sockets = OpenSockets(server.workers, place.sockets if place is not None else None)
        self.beginnings = StoredBeginnings(clock)
        """With what stored turns begin."""
        self.summaries = BackgroundTasks(_SUMMARIES_AT_ONCE, CircuitBreaker(_SUMMARY_FAILURES, _SUMMARY_PAUSE))
        """Summaries that are being written."""
        self.jobs: dict[str, BackgroundJob] = {}
        """Answers that this process makes in the background, by their ids."""
        self.seals: tuple[list[bytes], Seals] | None = None
        """What seals for clients to carry, and the configured secrets that it was made of."""
        self._clock = clock
        self._stored = stored
        self._place = place
        self._forgets = 0
        self.reconfigure(server)

    def reconfigure(self, server: ServerConfig) -> None:
        """Begin with an empty memory. What open sockets remember counts in it."""
        budget = server.conversation_memory // server.workers
        self.memory = ConversationMemory(budget, clock=self._clock, beside=lambda: self.sockets.memory.size)
        """The text of conversations, for their next turn."""

    def memory_of(self, caller: str) -> CallerMemory | None:
        """What is remembered of a caller's conversations; None if that is turned off."""
        if not self.memory.budget:
            return None
        self.follow_forgets()
        return self.memory.of(caller)

    def follow_forgets(self) -> None:
        """Forget what is remembered of conversations, if another worker was told to since."""
        if self._place is not None and self._place.forgets != self._forgets:
            self._forgets = self._place.forgets
            self.memory.forget()
            self.sockets.forget()
            self._stored.forget()

    def forget(self, caller: str) -> None:
        """Drop what all workers remember of a caller's conversations."""
        self.sockets.forget(caller)
        self.memory.forget(caller)
        self._stored.forget(caller)
        if self._place is not None:
            self._place.note_forget()
