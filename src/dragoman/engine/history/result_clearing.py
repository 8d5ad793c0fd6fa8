"""Old results of tools, replaced by a short text. Their calls stay, so the model knows what it did.

Which results are cleared follows from the beginning of the conversation alone, and a step at a time: the next turn
finds the same, and the sent prefix stays the same until the next step.
"""

from __future__ import annotations

from collections import deque

import msgspec
from msgspec.structs import replace

from dragoman.conversation.changes import Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import ASSISTANT, Message
from dragoman.conversation.parts import Call, Part, Result, Text
from dragoman.engine.history.sizes import count_fixed_bytes, result_size, size_of

CLEARED = Text(b'"[Old tool result cleared]"')
_STEP = 0.1
"""The share of the limit that clearing sets free at least, so that the provider's cache is of use for some turns."""


class ClearPolicy(msgspec.Struct, frozen=True):
    """When old results of tools are cleared."""

    above_tokens: int | None = 100_000
    """If a request has more tokens than this,"""
    above_uses: int | None = None
    """or more results than this."""
    keep: int = 3
    """So many of the last results stay."""
    at_least: int = 0
    """Nothing is done for fewer tokens than this."""
    spared: frozenset[str] = frozenset()
    """The results of these tools stay."""


class _OldResult(msgspec.Struct, frozen=True, gc=False):
    at: int
    part: int
    size: int
    tool: str


class _ClearingWalk:
    """The requests of a conversation, one after another, and what each of them cleared."""

    def __init__(self, conversation: Conversation, policy: ClearPolicy, bytes_per_token: float) -> None:
        self._policy = policy
        self._limit = (policy.above_tokens or 0) * bytes_per_token
        self._least = max(policy.at_least * bytes_per_token, self._limit * _STEP)
        self._total = count_fixed_bytes(conversation)
        self._uses = 0
        self._recent: deque[_OldResult] = deque()
        self._old: list[_OldResult] = []
        self._old_size = 0
        self._tools: dict[str, str] = {}
        self.cleared: dict[int, list[_OldResult]] = {}

    def add(self, at: int, message: Message) -> None:
        self._total += size_of(message).total
        for place, part in enumerate(message.parts):
            if type(part) is Call:
                self._tools[part.id] = part.name
            elif type(part) is Result:
                self._uses += 1
                self._recent.append(
                    _OldResult(at, place, result_size(part), part.name or self._tools.get(part.call_id, ""))
                )
                if len(self._recent) > self._policy.keep:
                    self._grow_old(self._recent.popleft())

    def _grow_old(self, result: _OldResult) -> None:
        if result.tool not in self._policy.spared and result.size > len(CLEARED.literal):
            self._old.append(result)
            self._old_size += result.size - len(CLEARED.literal)

    def send(self) -> None:
        """A request is sent here: clear what is old, if it is time."""
        if not self._old or not self._is_over() or self._old_size < self._least:
            return
        for result in self._old:
            self.cleared.setdefault(result.at, []).append(result)
        self._total -= self._old_size
        self._uses -= len(self._old)
        self._old, self._old_size = [], 0

    def _is_over(self) -> bool:
        if self._policy.above_uses is not None:
            return self._uses > self._policy.above_uses
        return self._total > self._limit


def clear_results(conversation: Conversation, policy: ClearPolicy, bytes_per_token: float) -> Rewrite:
    """The conversation with its old results cleared; the same object if there is nothing to clear."""
    messages = conversation.messages
    walk = _ClearingWalk(conversation, policy, bytes_per_token)
    for at, message in enumerate(messages):
        walk.add(at, message)
        if at + 1 == len(messages) or messages[at + 1].role is ASSISTANT:
            walk.send()
    if not walk.cleared:
        return Rewrite(conversation)
    notes: list[Note] = []
    made = list(messages)
    for at, results in walk.cleared.items():
        made[at] = _without(messages[at], results, bytes_per_token, notes)
    return Rewrite(replace(conversation, messages=tuple(made)), tuple(notes))


def _without(message: Message, results: list[_OldResult], bytes_per_token: float, notes: list[Note]) -> Message:
    parts: list[Part] = list(message.parts)
    for one in results:
        old = parts[one.part]
        assert isinstance(old, Result)
        new = parts[one.part] = replace(old, parts=(CLEARED,))
        whose = f"an old result of {one.tool}" if one.tool else "an old result"
        did = f"cleared {whose}, about {round(one.size / bytes_per_token)} tokens"
        notes.append(Note(did, message, old, before=old, after=new))
    return replace(message, parts=tuple(parts))
