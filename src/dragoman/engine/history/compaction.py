"""Old units become one summary, written by a small model.

A summary stands for the first units of a conversation and is kept under their digest. While it is there, those units
are not sent: the summary takes their place, as a system message before the recent history. The conversation that a
summary belongs to only grows, so the summary is used for many turns, and the prefix that is sent stays the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from math import ceil
from typing import Any

import msgspec
from msgspec.structs import replace

from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import quote
from dragoman.conversation.messages import ASSISTANT, Message, Role
from dragoman.conversation.parts import Text
from dragoman.engine.history.cuts import Measured, PrefixDigests
from dragoman.engine.history.importance import ranked, words_of
from dragoman.engine.history.sizes import BYTES_PER_TOKEN, size_of
from dragoman.engine.history.trimming import measured
from dragoman.engine.history.units import Unit, UnitKind
from dragoman.profiles.prices import TokenPrice
from dragoman.rules.rule import report_only

HEADING = "[Context Summary of {count} earlier messages]"
_MOST_KEYS = 256
_LEAST_MESSAGES, _LEAST_TOKENS = 2, 1_000
"""A part is not made smaller than this after a failure."""
MOST_PARTS = 64
"""Each is a request to the summarising model, and one client's long history must not become a thousand of them."""

PROMPT = (
    "Summarise this part of a conversation between a user and an assistant. The assistant will go on without it. Keep "
    "facts, names, numbers, decisions, open tasks, what tools found and what went wrong. Leave out greetings and "
    "repetition. Write plain sentences.\n\n"
)


class CompactPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """When and how old units are summarised; sizes in tokens, times in seconds."""

    model: str
    """Writes the summaries."""
    above_tokens: int = 12_000
    """Shorter histories are left alone."""
    keep_recent: int = 5
    """The last messages, which are never summarised."""
    chunk_size: int = 20
    """How many messages are summarised at once."""
    max_chunk_tokens: int = 8_000
    """The most tokens that are summarised at once."""
    max_summary_tokens: int = 1_024
    clip_first: int = 2
    """Of a message that does not fit, so many lines stay at its beginning."""
    clip_last: int = 2
    """And so many at its end."""
    timeout: float = 120.0
    retries: int = 2
    """How often a part that fails is halved."""


class PrefixSummary(msgspec.Struct, frozen=True):
    """The text that stands for the first units of a conversation, and how many messages these are."""

    text: str
    messages: int


class UsedSummary(msgspec.Struct, frozen=True):
    """A summary that stands for the first units of one conversation."""

    units: int
    summary: PrefixSummary


class CompactTask(msgspec.Struct, frozen=True):
    """What is to be summarised."""

    key: str
    """Where the new one is kept."""
    messages: tuple[Message, ...]
    earlier: str
    """The summary that there is already."""
    count: int


def compact_keys(conversation: Conversation, policy: CompactPolicy) -> Mapping[str, int]:
    """The keys of summaries that may stand for a prefix, and how many units each stands for; the longest first."""
    seen = measured(conversation)
    digests = PrefixDigests(seen)
    count = len(seen.units)
    found = [(compact_key(digests.of(units), policy), units) for units in range(max(1, count - _MOST_KEYS), count)]
    return dict(reversed(found))


def compact_key(digest: str, policy: CompactPolicy) -> str:
    return blake2b(msgspec.json.encode(("summary", digest, policy.model)), digest_size=16).hexdigest()


def compacted(conversation: Conversation, used: UsedSummary) -> Rewrite:
    """The conversation with a summary in place of its first units. Instructions among them stay."""
    units, summary = used.units, used.summary
    seen = measured(conversation)
    gone = [unit for unit in seen.units[:units] if unit.kind is not UnitKind.SYSTEM]
    if not gone:
        return Rewrite(conversation)
    opening = conversation.opening
    stays = [unit for place, unit in enumerate(seen.units) if place >= units or unit.kind is UnitKind.SYSTEM]
    kept = [message for unit in stays for message in _messages(seen, unit)]
    summed_up = Message(Role.SYSTEM, (Text(quote(f"{HEADING.format(count=summary.messages)}\n{summary.text}")),))
    before = tuple(message for unit in gone for message in _messages(seen, unit))
    count = len(before)
    note = Note(
        f"put a summary in place of {count} earlier messages",
        before[0],
        kind="synthetic",
        before=before,
        after=summed_up,
    )
    return Rewrite(replace(conversation, messages=(*kept[:opening], summed_up, *kept[opening:])), (note,))


def _messages(seen: Measured, unit: Unit) -> Sequence[Message]:
    return seen.messages[unit.start : unit.end]


def task_for(conversation: Conversation, policy: CompactPolicy, used: UsedSummary | None) -> CompactTask | None:
    """What is worth summarising now; None if the rest is short enough. `used` is the summary that there is."""
    seen = measured(conversation)
    since = used.units if used is not None else 0
    since_then = zip(seen.units[since:], seen.costs[since:], strict=True)
    size = sum([cost for unit, cost in since_then if unit.kind is not UnitKind.SYSTEM])
    if size / BYTES_PER_TOKEN <= policy.above_tokens:
        return None
    end = _end_of_old(seen, policy.keep_recent)
    old = [unit for unit in seen.units[since:end] if unit.kind is not UnitKind.SYSTEM]
    if not old:
        return None
    messages = tuple(message for unit in old for message in _messages(seen, unit))
    key = compact_key(PrefixDigests(seen).of(end), policy)
    if used is None:
        return CompactTask(key, messages, "", len(messages))
    return CompactTask(key, messages, used.summary.text, len(messages) + used.summary.messages)


def pays(task: CompactTask, conversation: Conversation, price: TokenPrice | None, writer: TokenPrice | None) -> bool:
    """Whether a summary saves more than it costs, in as many turns as it stands for: with it the provider's cache is
    broken, and what stays is written anew. `price` is that of the model, `writer` that of the one that summarises."""
    if price is None or price.cached is None:
        return True
    end = next(at for at, one in enumerate(conversation.messages, 1) if one is task.messages[-1])
    old, stays = (sum([size_of(one).total for one in part]) for part in (task.messages, conversation.messages[end:]))
    turns = sum([one.role is ASSISTANT for one in task.messages])
    written = old * writer.input if writer is not None else 0.0
    return old * price.cached * turns >= stays * price.resending + written


def _end_of_old(seen: Measured, keep_recent: int) -> int:
    """How many units may be summarised: the last messages stay, and the user's last turn."""
    users = [place for place, unit in enumerate(seen.units) if unit.kind is UnitKind.USER]
    spared = len(seen.messages) - keep_recent
    end = sum(unit.end <= spared for unit in seen.units)
    return min(end, users[-1]) if users else end


def parts_of(messages: Sequence[Message], policy: CompactPolicy, shrink: int = 0) -> Iterator[str]:
    """The texts to summarise, one part each. After `shrink` failures the parts are halved so often.

    There are never more than `MOST_PARTS`: of a very long history they hold more messages, clipped to the same budget.
    """
    size = max(policy.chunk_size >> shrink, _LEAST_MESSAGES, ceil(len(messages) / MOST_PARTS))
    budget = max(policy.max_chunk_tokens >> shrink, _LEAST_TOKENS) * BYTES_PER_TOKEN
    for start in range(0, len(messages), size):
        yield _part(messages[start : start + size], budget, policy)


def _part(messages: Sequence[Message], budget: int, policy: CompactPolicy) -> str:
    """A part within its budget: what matters least is clipped first."""
    lines = [f"{message.role}: {words_of(message)}" for message in messages]
    total = sum(map(len, lines))
    for at in reversed(ranked(messages)):
        if total <= budget:
            break
        clipped = _clipped(lines[at], policy, budget // len(lines))
        total -= len(lines[at]) - len(clipped)
        lines[at] = clipped
    return "\n\n".join(lines)[:budget]


def _clipped(text: str, policy: CompactPolicy, longest: int) -> str:
    lines = text.split("\n")
    if len(lines) > policy.clip_first + policy.clip_last + 1:
        last = lines[len(lines) - policy.clip_last :] if policy.clip_last else []
        text = "\n".join([*lines[: policy.clip_first], "[...]", *last])
    return text if len(text) <= longest else f"{text[:longest]} [...]"


def question(part: str, earlier: str, policy: CompactPolicy) -> dict[str, Any]:
    """The request to the summarising model, as a Chat request without its model."""
    before = f"A summary of what came before:\n{earlier}\n\n" if earlier else ""
    text = PROMPT + before + part
    return {"messages": [{"role": "user", "content": text}], "max_tokens": policy.max_summary_tokens}


history_summary = report_only("history-summary", Loss.CONTENT, "Old turns were replaced by a summary.")
