"""What is known of a conversation's top level: its tools, settings and extras.

Agents send dozens of tools with every turn, and the readers hand out the same objects for the same bytes. Rules that
look at nothing else are asked once for each such top, not on every turn: of the 10 µs that the rules took for a request
of 20 messages and one tool, 7 are saved here, and more with every tool.
"""

from __future__ import annotations

from dragoman.conversation.bounded_cache import BoundedCache, Entry, size_of
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.traits import observe_rest

_Key = tuple[int, int, int, int, int, bool]


class Top:
    """One top level, with its traits. `idle`: the rules that found nothing to do here, a bit each."""

    __slots__ = ("_conversation", "_owner", "idle", "traits")

    def __init__(self, owner: TopLevelCache, conversation: Conversation) -> None:
        # Kept for their ids only, which nothing else can get while they are here. The messages are not kept.
        self._owner = owner
        self._conversation = conversation.but(messages=())
        self.traits = observe_rest(conversation)
        self.idle = 0

    def size(self) -> int:
        return size_of(self._conversation)


class TopLevelCache:
    """The tops that a plan has seen, by identity. Those of all plans share their room."""

    __slots__ = ()

    def of(self, conversation: Conversation) -> Top:
        key = (
            id(self),
            id(conversation.tools),
            id(conversation.settings),
            id(conversation.extras),
            id(conversation.hint),
            conversation.empty_tools,
        )
        entry = _TOPS.get(key)
        if entry is not None:
            known: Top = entry.made
            return known
        top = Top(self, conversation)
        _TOPS.put(key, Entry(top, top.size()))
        return top


_TOPS: BoundedCache[_Key] = BoundedCache("dragoman.engine.top_level_cache")
