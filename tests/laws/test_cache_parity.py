"""A prompt that the provider has in its cache stays there: agents' loops, directly and through Dragoman.

The best possible is computed by the emulator of the client's own dialect, from what the client sent: every token of the
turn before is read again. Through Dragoman the share of the prompt that is read must come near to it. If nothing
is changed it must be equal to what the client reads directly.

Not counted are the first two turns (a first prompt is not marked, because writing costs more), the turn after the first
image (it changes how Claude reads all messages) and a turn whose report says that a system message was moved.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import orjson
import pytest
from tests.corpus import FULL
from tests.judges import JUDGES, served_path
from tests.shapes.agent_loops import IMAGE_TURN, LOOPS, Wire

from dragoman.conversation.conversation import Ask
from dragoman.dialects.dialect import AnswerContext
from dragoman.emulators.catalogue import provider
from dragoman.emulators.prompt_cache import PromptCache, best_read, measure
from dragoman.emulators.provider import CachePlan, CacheUse, EmulatedProvider, ReceivedRequest
from dragoman.engine.exchange.destination import CacheHints, Destination, TargetRoute
from dragoman.engine.exchange.exchange import Exchange
from dragoman.engine.exchange.steps import Choose, Recall, Recalled, Send, Step
from dragoman.engine.history.sent_prompts import SentBefore, SentPrompts
from dragoman.engine.library.adapt import BUILTIN, AdaptedRequest, read

TURNS = 100 if FULL else 20
NEAR = 0.95
HEADERS = {"anthropic-version": "2023-06-01"}
OTHERS = [
    "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "anthropic/claude-opus-4-8",
    "openai-responses/gpt-5.6-terra",
    "openai/gpt-5.6-terra",
    "deepseek/deepseek-chat",
    "mistral/mistral-large-latest",
    "xai/grok-4",
    "cohere/command-a-03-2025",
    "openrouter/anthropic/claude-sonnet-4.5",
]


class Turn(NamedTuple):
    """What one request found in the cache."""

    read: int
    total: int
    moved: bool = False
    """Whether the report says that a system message was moved to the opening."""
    changed: bool = False
    """Whether it says anything."""


class CachedProvider:
    """An emulated provider's prompt cache, at one moment."""

    def __init__(self, target: str) -> None:
        profile, _, self._model = target.partition("/")
        name, options = JUDGES[profile]
        self._judge: EmulatedProvider = provider(name, **options)
        self._cache = PromptCache(lambda: 0.0)

    def receive(self, path: str, body: bytes) -> tuple[ReceivedRequest, CachePlan]:
        owned, fields = served_path(self._judge, path, self._model)
        received = self._judge.parse_request("POST", owned, fields, HEADERS, body)
        assert isinstance(received, ReceivedRequest), received
        refused = self._judge.judge(received)
        assert refused is None, refused
        plan = self._judge.plan_cache(received)
        assert plan is not None
        return received, plan

    def use(self, path: str, body: bytes) -> tuple[CacheUse, int]:
        """What a request reads and writes, and all its tokens."""
        received, plan = self.receive(path, body)
        return self._cache.use(received, plan), measure(plan)[0][-1].tokens

    def read(self, path: str, body: bytes) -> Turn:
        used, total = self.use(path, body)
        return Turn(used.read, total)


class Caller:
    """A client of the gateway: its requests are compiled with what it has sent before."""

    def __init__(self, target: str, hints: CacheHints) -> None:
        self._route = TargetRoute((Destination(name=target, provider="p", target=BUILTIN.target(target), cache=hints),))
        self._sent = SentPrompts(lambda: 0.0)

    def compile(self, ask: Ask) -> AdaptedRequest:
        exchange = Exchange(ask, self._route, AnswerContext())
        step: Step[Destination] = exchange.start()
        while not isinstance(step, Send):
            match step:
                case Choose(candidates):
                    step = exchange.chosen(candidates[0])
                case Recall(prompt=prompt):
                    found = self._sent.note("me", prompt) if prompt is not None else SentBefore.UNKNOWN
                    step = exchange.recalled(Recalled(sent_before=found))
                case _:
                    raise AssertionError(step)
        return step.request


def read_through(client: str, target: str, hints: CacheHints = CacheHints.ACROSS) -> list[Turn]:
    """What is read at the target through Dragoman, turn by turn."""
    judge, caller = CachedProvider(target), Caller(target, hints)
    found: list[Turn] = []
    for ask in asks(client):
        request = caller.compile(ask)
        moved = any(change.did == "moved to the opening" for change in request.changes)
        found.append(judge.read(request.path, request.body)._replace(moved=moved, changed=bool(request.changes)))
    return [one._replace(moved=one.moved and not before.moved) for before, one in pairwise([Turn(0, 0), *found])]


def read_directly(client: str, target: str) -> list[int]:
    """What is read if the client asks the target itself."""
    judge, path = CachedProvider(target), path_of(client, target)
    return [judge.read(path, orjson.dumps({**body, **model_of(body, target)})).read for body in bodies(client)]


def model_of(body: Wire, target: str) -> Wire:
    return {"model": target.partition("/")[2]} if "model" in body else {}


def path_of(client: str, target: str) -> str:
    return Caller(target, CacheHints.CLIENT).compile(next(asks(client))).path


def asks(client: str) -> Iterator[Ask]:
    for body in bodies(client):
        yield read(body, source=client)


@cache
def bodies(client: str) -> list[Wire]:
    return LOOPS[client][1](TURNS)


@cache
def best(client: str) -> list[Turn]:
    """What the client could have read at best, by the provider of its own dialect."""
    target = LOOPS[client][0]
    own, path = CachedProvider(target), path_of(client, target)
    plans = [own.receive(path, orjson.dumps(body))[1] for body in bodies(client)]
    shared = [0, *(best_read(before, after) for before, after in pairwise(plans))]
    return [Turn(one, measure(plan)[0][-1].tokens) for one, plan in zip(shared, plans, strict=True)]


def share(turns: list[Turn]) -> float:
    """The share of the prompts that was read, of the turns that count."""
    counted = [one for at, one in enumerate(turns) if at > 1 and at != IMAGE_TURN + 1 and not one.moved]
    return sum(one.read for one in counted) / sum(one.total for one in counted)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("client", LOOPS)
@pytest.mark.parametrize("target", [*(target for target, _ in LOOPS.values()), *OTHERS])
def test_a_loop_reads_nearly_all_that_it_could(client: str, target: str) -> None:
    through = read_through(client, target)
    if BUILTIN.target(target).profile.dialect == client and not any(one.changed for one in through):
        assert [one.read for one in through] == read_directly(client, target)
    else:
        assert share(through) >= NEAR * share(best(client))


def test_without_hints_nothing_is_read_across_dialects() -> None:
    """The law can fail: Claude caches nothing without a marker."""
    assert share(read_through("openai-chat", "anthropic/claude-sonnet-4-6", CacheHints.CLIENT)) == 0
