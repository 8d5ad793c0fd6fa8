"""The prompt cache of an emulated provider: what it remembers of a prompt, for how long, and for whom.

A dialect declares a `CachePlan` of each request: the prompt as blocks in the order in which the model reads them, and
the policy of the model. All else is here. There are two kinds of caches:

- **by marker** (Claude, gpt-5.6): a prefix is kept if a marker stands at its end, and found from a later marker if that
  is not too many blocks away;
- **by step** (most others): every prefix of so many tokens is kept and found by itself.

The cache keeps digests and no text, and not more than `MOST_PREFIXES` of them. A digest covers the prompt as the
provider would render it: the order of keys counts in schemas and arguments, and nowhere else; markers never count.
"""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, NamedTuple

from dragoman.emulators.provider import (
    CacheMiss,
    CachePlan,
    CachePolicy,
    CacheQuestion,
    CacheUse,
    PromptBlock,
    ReceivedRequest,
)
from dragoman.emulators.usage import MARKERS, TOKEN_BYTES, UnseenTokens, count_text_tokens
from dragoman.emulators.wire import render_json

MOST_PREFIXES = 65_536
_MOST_ANSWERS = 4_096
_KEYS = ("authorization", "x-api-key", "api-key", "x-goog-api-key")
_SIGNER = re.compile(r"Credential=([^/,\s]+)")
_AS_WRITTEN = frozenset(
    {"input", "input_schema", "inputSchema", "parameters", "parametersJsonSchema", "arguments", "args", "response"}
)
_SECONDS = {"5m": 300.0, "30m": 1_800.0, "1h": 3_600.0, "12h": 43_200.0}


MARKED, AUTOMATIC = CachePolicy(), CachePolicy(step=128)


class Prefix(NamedTuple):
    """A place in the prompt."""

    tokens: int
    """All up to there."""
    digest: bytes
    """Of the text up to there."""
    lifetime: str = ""
    """For how long it is kept, if a marker stands there."""
    is_end: bool = False
    """Whether an earlier request may have ended there."""


@dataclass(slots=True)
class _Kept:
    until: float
    seconds: float
    is_ready: bool = True


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is kept of an answer, to compare a later request with."""

    parts: tuple[tuple[str, bytes], ...]
    blocks: int
    digest: bytes


class PromptCache:
    """All that one emulator remembers of prompts."""

    def __init__(self, clock: Callable[[], float] = time.time, most: int = MOST_PREFIXES) -> None:
        self._clock = clock
        self._most = most
        self._kept: OrderedDict[bytes, _Kept] = OrderedDict()
        self._answers: OrderedDict[tuple[str, str], _Asked] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def use(self, request: ReceivedRequest, plan: CachePlan) -> CacheUse:
        """What this request reads and writes. From now on others with the same key may read it."""
        account = account_of(request)
        ends, steps = measure(plan, account)
        total = ends[-1].tokens if ends else 0
        now = self._clock()
        if plan.policy.step:
            use = CacheUse(self._use_steps(_usable(ends, steps, plan.policy), plan.policy, now))
        else:
            use = self._use_markers(ends, plan.policy, now)
        miss = self._compare(plan.question, account, ends, total - use.read) if plan.question else None
        return CacheUse(use.read, use.written, miss)

    def look(self, request: ReceivedRequest, plan: CachePlan) -> int:
        """What the request would read, without reading it."""
        ends, steps = measure(plan, account_of(request))
        if not plan.policy.step:
            hit = self._find_marked(ends, _marked(ends, plan.policy), plan.policy, self._clock())
            return hit.tokens if hit else 0
        return self._find_step([one for one in _usable(ends, steps, plan.policy) if self._find(one, self._clock())])

    def _find_step(self, seen: list[Prefix]) -> int:
        return next((one.tokens for one in reversed(seen) if self._kept[one.digest].is_ready), 0)

    def _use_steps(self, found: list[Prefix], policy: CachePolicy, now: float) -> int:
        seen = [one for one in found if self._find(one, now)]
        read = self._find_step(seen)
        units = (*found[-1:], *seen[-1:])  # the end of the prompt, and what it has in common with an earlier one
        for one in found:
            kept = self._keep(one, policy.seconds, now)
            kept.is_ready = kept.is_ready or not policy.learns or one in units
        return read

    def _use_markers(self, ends: list[Prefix], policy: CachePolicy, now: float) -> CacheUse:
        marked = _marked(ends, policy)
        hit = self._find_marked(ends, marked, policy, now)
        read = hit.tokens if hit else 0
        if hit:
            self._keep(hit, self._kept[hit.digest].seconds, now)
        written: dict[str, int] = {}
        done = read
        for at in marked:
            one = ends[at]
            self._keep(one, _SECONDS[one.lifetime], now)
            if one.tokens > done:
                written[one.lifetime] = written.get(one.lifetime, 0) + one.tokens - done
                done = one.tokens
        return CacheUse(read, written)

    def _find_marked(self, ends: list[Prefix], marked: list[int], policy: CachePolicy, now: float) -> Prefix | None:
        """The longest prefix that an earlier request wrote, near enough to a marker."""
        if policy.by_marks:
            places = [at for at, one in enumerate(ends) if one.is_end or one.lifetime] if marked else []
            near = places[-policy.look_back :][::-1]
        else:
            near = sorted({at for end in marked for at in range(max(0, end - policy.look_back), end + 1)}, reverse=True)
        return next((ends[at] for at in near if ends[at].tokens >= policy.minimum and self._find(ends[at], now)), None)

    def _find(self, prefix: Prefix, now: float) -> bool:
        kept = self._kept.get(prefix.digest)
        return kept is not None and kept.until > now

    def _keep(self, prefix: Prefix, seconds: float, now: float) -> _Kept:
        kept = self._kept.get(prefix.digest)
        if kept is None or kept.until <= now:
            kept = self._kept[prefix.digest] = _Kept(now + seconds, seconds, is_ready=False)
        kept.seconds = max(kept.seconds, seconds)
        kept.until = now + kept.seconds
        self._kept.move_to_end(prefix.digest)
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return kept

    def _compare(self, question: CacheQuestion, account: str, ends: list[Prefix], missed: int) -> CacheMiss | None:
        parts = tuple((reason, _digest(value)) for reason, value in question.parts)
        last = ends[-1].digest if ends else b""
        earlier = self._answers.get((account, question.previous or ""))
        self._answers[account, question.answer] = _Asked(parts, len(ends), last)
        if len(self._answers) > _MOST_ANSWERS:
            self._answers.popitem(last=False)
        if question.previous is None or not question.is_asked:
            return None
        if earlier is None:
            return CacheMiss("not_found")
        changed = next((one[0] for one, other in zip(parts, earlier.parts, strict=False) if one != other), None)
        if changed is None and [one.digest for one in ends[earlier.blocks - 1 : earlier.blocks]] == [earlier.digest]:
            return CacheMiss("")
        return CacheMiss(changed or question.otherwise, missed)


def _marked(ends: list[Prefix], policy: CachePolicy) -> list[int]:
    return [at for at, one in enumerate(ends) if one.lifetime and one.tokens >= policy.minimum]


def _usable(ends: list[Prefix], steps: list[Prefix], policy: CachePolicy) -> list[Prefix]:
    """The steps that are long enough. At least one token of a prompt is always read anew."""
    return [one for one in steps if policy.minimum <= one.tokens < ends[-1].tokens]


def best_read(previous: CachePlan, present: CachePlan) -> int:
    """The tokens that the present request could read at best, if the previous one was just answered.

    That is what both have in common at their beginning: in whole blocks, or in whole steps. Markers, the look-back and
    the time do not count: a better client could have set them better.
    """
    known = {one.digest for one in _places(previous)}
    return max((one.tokens for one in _places(present) if one.digest in known), default=0)


def _places(plan: CachePlan) -> list[Prefix]:
    ends, steps = measure(plan)
    if plan.policy.step:
        return _usable(ends, steps, plan.policy)
    return [one for one in ends if one.tokens >= plan.policy.minimum]


def measure(plan: CachePlan, account: str = "") -> tuple[list[Prefix], list[Prefix]]:
    """The end of every block, and every step of tokens."""
    chain = blake2b(f"{account}\0{plan.scope}\0".encode("utf-8", "replace"), digest_size=12)
    ends: list[Prefix] = []
    steps: list[Prefix] = []
    position, step = 0, plan.policy.step
    for block in plan.blocks:
        chain.update(block.salt.encode("utf-8", "replace"))
        for raw, tokens in _leaves(block.value):
            rest = raw
            while step and position + tokens >= (boundary := (len(steps) + 1) * step):
                taken = boundary - position
                chain.update(rest[: taken * TOKEN_BYTES])
                steps.append(Prefix(boundary, chain.digest()))
                rest, tokens, position = rest[taken * TOKEN_BYTES :], tokens - taken, boundary
            chain.update(rest + b"\0")
            position += tokens
        ends.append(Prefix(position, chain.digest(), block.lifetime, block.is_end))
    return ends, steps


def _leaves(value: Any) -> Iterator[tuple[bytes, int]]:
    """The names and values of a JSON value with their tokens, in the order in which a provider would render them."""
    waiting: list[tuple[Any, bool]] = [(value, False)]
    while waiting:
        one, as_written = waiting.pop()
        match one:
            case str():
                yield one.encode("utf-8", "replace"), count_text_tokens(one)
            case dict():
                names = [name for name in one if one[name] is not None and name not in MARKERS]
                for name in reversed(names if as_written else sorted(names)):
                    waiting.append((one[name], as_written or name in _AS_WRITTEN))
                    waiting.append((_Name(f"{name}:".encode("utf-8", "replace")), False))
            case list():
                waiting.extend((item, as_written) for item in reversed(one))
            case _Name():
                yield one.text, 0
            case UnseenTokens():
                yield b"", one.tokens
            case None | bool():
                yield str(one).encode(), 0
            case _:
                yield repr(one).encode(), 1


class _Name(NamedTuple):
    text: bytes


def account_of(request: ReceivedRequest) -> str:
    """Who asks: a digest of the key. The signature of a signed request is another each time, its signer is not."""
    key = next((request.headers[name] for name in _KEYS if name in request.headers), request.query.get("key", ""))
    signer = _SIGNER.search(key)
    return _digest(signer[1] if signer else key).hex()


def _digest(value: Any) -> bytes:
    return blake2b(render_json(value), digest_size=12).digest()


@dataclass(slots=True)
class BlockList:
    """Collects the blocks of a prompt. A salt stands before the next block."""

    blocks: list[PromptBlock] = field(default_factory=list)
    _salt: str = ""

    def salt(self, value: Any) -> None:
        self._salt += render_json(value).decode()

    def add(self, value: Any, lifetime: str = "") -> None:
        self.blocks.append(PromptBlock(value, lifetime, self._salt))
        self._salt = ""

    def end_message(self) -> None:
        """An earlier request may have ended with the last block."""
        if self.blocks:
            self.blocks[-1] = replace(self.blocks[-1], is_end=True)

    def mark_last(self, lifetime: str) -> None:
        """A marker that covers all that was added."""
        if self.blocks:
            last = self.blocks[-1]
            self.blocks[-1] = replace(last, lifetime=last.lifetime or lifetime)

    def keep_marks(self, most: int, lifetime: str | None) -> None:
        """Only the latest markers count; `lifetime` is that of all of them, if it is one."""
        marked = [at for at, one in enumerate(self.blocks) if one.lifetime]
        for at in marked:
            one = self.blocks[at]
            kept = lifetime if lifetime in _SECONDS else one.lifetime
            self.blocks[at] = replace(one, lifetime=(kept or "") if at in marked[-most:] else "", is_end=True)


def lifetime_of(value: Any, name: str = "cache_control", usual: str = "5m") -> str:
    """The lifetime that the marker on this value asks for. Empty if there is no marker."""
    mark: Any = value.get(name) if isinstance(value, Mapping) else None
    if not isinstance(mark, Mapping):
        return ""
    asked = mark.get("ttl") or usual
    return asked if asked in _SECONDS else usual
