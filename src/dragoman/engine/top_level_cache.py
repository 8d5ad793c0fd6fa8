"""What is known of a conversation's top level: its tools, settings and extras.

Agents send dozens of tools with every turn, and the readers hand out the same objects for the same bytes. Rules that
look at nothing else are asked once for each such top, not on every turn: of the 10 µs that the rules took for a request
of 20 messages and one tool, 7 are saved here, and more with every tool.
"""

from __future__ import annotations

from dragoman.conversation.conversation import Conversation
from dragoman.conversation.traits import observe_rest

MOST = 128


class Top:
    """One top level, with its traits. `idle`: the rules that found nothing to do here, a bit each."""

    __slots__ = ("_conversation", "idle", "traits")

    def __init__(self, conversation: Conversation) -> None:
        # Kept without its messages, for its parts only: nobody else can get their ids while they are here.
        self._conversation = conversation.but(messages=())
        self.traits = observe_rest(conversation)
        self.idle = 0


class TopLevelCache:
    """The tops that a plan has seen, by identity."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[tuple[int, int, int, int, bool], Top] = {}

    def of(self, conversation: Conversation) -> Top:
        key = (
            id(conversation.tools),
            id(conversation.settings),
            id(conversation.extras),
            id(conversation.hint),
            conversation.empty_tools,
        )
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= MOST:
                self._known.clear()
            found = self._known[key] = Top(conversation)
        return found
