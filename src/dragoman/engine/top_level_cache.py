"""What is known of a conversation's top level: its tools, settings and extras.

Agents send dozens of tools with every turn, and the readers hand out the same objects for the same bytes. Rules that
look at nothing else are asked once for each such top, not on every turn: what they found nothing to do for, and what
they made of it. So the same tools become the same tools again, and the writers know them too.
"""

from __future__ import annotations

from dragoman.conversation.bounded_cache import BoundedCache, CacheEntry, size_of
from dragoman.conversation.changes import Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.traits import observe_rest
from dragoman.rules.context import Context
from dragoman.rules.rule import Rule

_Key = tuple[int, int, int, int, int, bool, int]


class Top:
    """One top level, with its traits. `idle`: the rules that found nothing to do here, a bit each."""

    __slots__ = ("_conversation", "_done", "_key", "_owner", "idle", "traits")

    def __init__(self, key: _Key, owner: TopLevelCache, conversation: Conversation) -> None:
        # Kept for their ids only, which nothing else can get while they are here. The messages are not kept.
        self._owner = owner
        self._conversation = conversation.but(messages=())
        self._key = key
        self._done: dict[int, Rewrite] = {}
        self.traits = observe_rest(conversation)
        self.idle = 0

    def size(self) -> int:
        return size_of(self._conversation)

    def repair(self, rule: Rule, bit: int, conversation: Conversation, context: Context) -> Rewrite:
        """What a rule makes of this top, asked once. One whose answer must be undone may look at messages too."""
        known = self._done.get(bit)
        if known is not None:
            return Rewrite(known.conversation.but(messages=conversation.messages), known.notes)
        done = rule.repair(conversation, context)
        changed = done.conversation
        if changed is not conversation and changed.messages is conversation.messages and not done.undo:
            kept = changed.but(messages=())
            self._done[bit] = Rewrite(kept, done.notes)
            _TOPS.grow(self._key, size_of(kept))
        return done


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
            id(conversation.near_misses),
        )
        entry = _TOPS.get(key)
        if entry is not None:
            known: Top = entry.made
            return known
        top = Top(key, self, conversation)
        _TOPS.put(key, CacheEntry(top, top.size()))
        return top


_TOPS: BoundedCache[_Key] = BoundedCache("dragoman.engine.top_level_cache")
