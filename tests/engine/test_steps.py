"""The table of steps says what really follows what: every way that was seen is in it, and every way in it is seen."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator
from itertools import chain, islice, product
from typing import Any

import pytest
from msgspec.structs import replace
from tests.engine.test_exchange import GOOD, HI, Driver, Reply, destination, doubted, exchange, refused

from dragoman.conversation.changes import Loss
from dragoman.conversation.conversation import Ask
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.provider_tools import Family
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.gemini.endpoints.stored_prompts import FORM
from dragoman.engine.compile.compiled_request import CompiledRequest
from dragoman.engine.exchange.attempts import RetryPolicy
from dragoman.engine.exchange.destination import CacheHints, Destination, TargetRoute
from dragoman.engine.exchange.exchange import Exchange
from dragoman.engine.exchange.named_prompt import NamedPrompt
from dragoman.engine.exchange.split_answer import SplitRounds
from dragoman.engine.exchange.steps import (
    ENDS,
    STEPS,
    Answered,
    FetchMedia,
    GaveUp,
    ListTools,
    Send,
    SendAll,
    SendRounds,
    Step,
    StepRow,
    Streaming,
)
from dragoman.engine.history.stored_prompts import PromptUse, StoredPrompt, StoredPromptBook
from dragoman.engine.library.adapt import read
from dragoman.engine.tool_runs.tool_rounds import FinishedCall
from dragoman.profiles.profile import Layer, patch_target

ROWS = {row.step: row for row in STEPS}
PICTURE = {"type": "image_url", "image_url": {"url": "http://pictures.test/a.png"}}
LOST = Failure(FailureKind.NETWORK, "The connection closed.", 502)
FULL = Failure(FailureKind.OVERLOADED, "There is no room.", 503)
STREAM = b'data: {"choices":[{"index":0,"delta":{"content":"Y"}}]}\n\n'
BROKEN = b'data: {"error":{"message":"Slow down.","code":429}}\n\n'
Seen = set[tuple[str, str, str]]


def name(step: Any) -> str:
    return step.__name__ if step is not None else ""


def written() -> Seen:
    """The table as triples: a step, a verb, and what follows."""
    return {(name(row.step), verb, name(one)) for row in STEPS for verb, steps in row.verbs.items() for one in steps}


class Walker(Driver):
    """Notes every way from step to step. `refuses`: what it has no room for."""

    def __init__(self, asked: Exchange[Destination], replies: list[Any], refuses: str = "") -> None:
        super().__init__(asked, lambda send: replies.pop(0) if replies else (200, GOOD))
        self.refuses, self.replies = refuses, replies
        self.media = {"http://pictures.test/a.png": b"\x89PNG"}
        self.seen: Seen = set()
        self._verb = ""

    def run(self) -> Any:
        before, step = "", self._told("start", self.exchange.start())
        while True:
            self.seen.add((before, self._verb, type(step).__name__))
            if isinstance(step, ENDS):
                break
            before, step = type(step).__name__, self._next(step)
        if isinstance(step, Streaming):
            last = step.translation.close() if len(self.seen) % 2 else step.translation.fail(LOST)
            failed = self.exchange.stream_ended()
            self.seen.add(("Streaming", "stream_ended", type(failed).__name__ if failed is not None else ""))
            assert last is not None
        return step

    def _told(self, verb: str, step: Any) -> Any:
        self._verb = verb
        return step

    def _next(self, step: Step[Destination]) -> Any:
        if isinstance(step, FetchMedia) and self.refuses == "media":
            return self._told("fetched", self.exchange.fetched(FULL))
        if isinstance(step, Send):
            return self._send(step)
        if isinstance(step, SendAll):
            return self._send_all()
        if isinstance(step, ListTools):
            found = FULL if self.refuses == "lists" else [None if self.refuses == "runs" else () for _ in step.tools]
            return self._told("listed", self.exchange.listed(found))
        if isinstance(step, SendRounds):
            return self._send_rounds()
        (verb,) = ROWS[type(step)].verbs
        return self._told(verb, super()._next(step))

    def _send_all(self) -> Any:
        """Carries them out one after the other: the first bytes are those of the first that streams."""
        if self.refuses == "sends":
            return self._told("unsent", self.exchange.unsent(FULL))
        parts = [Walker(one, self.replies, self.refuses) for one in self.exchange.parts]
        ends = [part.run() for part in parts]
        for part in parts:
            self.seen |= part.seen
        lost = next((end for end in ends if isinstance(end, GaveUp)), None)
        assert lost is not None or all(isinstance(end, (Answered, Streaming)) for end in ends)
        return self._told("joined", self.exchange.joined(lost))

    def _send_rounds(self) -> Any:
        split = self.exchange.split
        assert isinstance(split, SplitRounds)
        following: Exchange[Destination] | None = self.exchange.parts[0]
        while following is not None:
            part = Walker(following, self.replies, self.refuses)
            end = part.run()
            self.seen |= part.seen
            if isinstance(end, GaveUp):
                return self._told("joined", self.exchange.joined(end))
            wanted = split.round_ended()
            done = [FinishedCall(replace(one.call, output="Found.")) for one in wanted.runs] if wanted else []
            following = split.ran(done, 0.1) if wanted is not None else None
        return self._told("joined", self.exchange.joined())

    def _send(self, send: Send[Destination]) -> Any:
        if self.refuses == "sends":
            return self._told("unsent", self.exchange.unsent(FULL))
        reply = self.provider(send)
        if isinstance(reply, Failure):
            return self._told("failed", self.exchange.failed(reply))
        status, body = reply
        if self.exchange.head(status).value != "pieces":
            return self._told("body", self.exchange.body(body))
        return self._told("piece", self.exchange.piece(body) or self.exchange.piece(None))


QUICK = RetryPolicy(attempts=2, base=0)
CLAUDE = "anthropic/claude-sonnet-4-5"


def gives_one_answer(target: str = "openai/gpt-4o", **more: Any) -> Destination:
    known = destination(target, **more)
    layer = Layer("test", {"settings": {"n": {"support": "refuses"}}})
    return replace(known, target=patch_target(known.target, layer))


def unsure_of_urls() -> Destination:
    """Nobody knows whether it takes pictures by URL."""
    layer = Layer("test", {"media": {"image": {"url": "unknown"}}})
    known = destination("together/x")
    return replace(known, target=patch_target(known.target, layer))


ROUTES: dict[str, tuple[Destination, ...]] = {
    "one": (destination(policy=QUICK),),
    "two": (destination(policy=QUICK), destination("mistral/mistral-large-latest")),
    "doubted": (doubted(policy=QUICK), destination()),
    "media": (destination(CLAUDE, policy=QUICK),),
    "media, then another": (destination(CLAUDE), destination(policy=QUICK)),
    "media in doubt": (unsure_of_urls(),),
    "strict": (destination(CLAUDE, max_loss=Loss.NOTHING),),
    "strict, then another": (destination(CLAUDE, max_loss=Loss.NOTHING), destination()),
    "media, then strict": (destination(policy=QUICK), destination(CLAUDE, max_loss=Loss.NOTHING)),
    "one answer": (gives_one_answer(policy=QUICK),),
    "one answer, then another": (gives_one_answer(policy=QUICK), destination()),
    "keeps, one answer": (gives_one_answer("gemini/gemini-3-pro-preview"),),
    "keeps": (destination("gemini/gemini-3-pro-preview", policy=QUICK),),
    "keeps, then another": (destination("gemini/gemini-3-pro-preview", max_loss=Loss.NOTHING), destination()),
}
REPLIES: dict[str, list[Any]] = {
    "good": [],
    "lost": [LOST],
    "lost for good": [LOST] * 9,
    "busy": [refused("busy", 503)],
    "unknown refusal": [refused("Something is wrong.")] * 3,
    "lesson": [refused("'max_tokens' is not supported. Use 'max_completion_tokens' instead.")],
    "refused": [refused("Bad key.", 401)] * 9,
    "no pictures by URL": [refused("Invalid image_url: failed to download image from URL.")] * 2,
    "one answer": [refused("Unknown parameter: 'n'.")],
    "stream": [(200, STREAM)],
    "broken stream": [(200, BROKEN), (200, STREAM)],
}
HISTORY = [HI, {"role": "assistant", "content": "Hello."}]


def walks() -> Iterator[Walker]:
    for route, replies, refuses in product(ROUTES.values(), REPLIES.values(), ("", "media", "sends")):
        for before, content, more in (
            ([], "Hi", {"max_tokens": 5}),
            ([], "Hi", {"seed": 3, "stream": True}),
            ([], [PICTURE], {}),
            (HISTORY, [PICTURE], {}),
            (HISTORY, [PICTURE], {"seed": 3}),
            (HISTORY, [PICTURE], {"seed": 3, "n": 2}),
            ([], "Hi", {"n": 2}),
            ([], "Hi", {"n": 2, "stream": True}),
        ):
            messages = [*before, {"role": "user", "content": content}]
            asked = exchange(*route, messages=messages, **more)
            yield Walker(asked, list(replies), refuses)


SEARCH = {"type": "web_search_20250305", "name": "web_search"}
CALL = {"id": "c1", "type": "function", "function": {"name": "web_search", "arguments": '{"query":"x"}'}}
CALLED = json.dumps(
    {
        "id": "c",
        "model": "m",
        "choices": [{"index": 0, "message": {"tool_calls": [CALL]}, "finish_reason": "tool_calls"}],
    }
).encode()
IMAGE = {"type": "image", "source": {"type": "url", "url": "http://pictures.test/a.png"}}
"""It is fetched for targets that take no picture by URL."""


def tool_walks() -> Iterator[Walker]:
    """Requests with a tool that their targets lack: one that is sent by no other step, and one with media."""
    routes = {name: ROUTES[name] for name in ("one", "two", "strict", "keeps", "keeps, then another")}
    routes["media"] = (destination("ollama/llava"),)
    replies = [[], [(200, CALLED)], [(200, CALLED)] * 20, REPLIES["lost for good"], REPLIES["stream"]]
    for route, reply, refuses in product(routes.values(), replies, ("", "lists", "runs", "sends")):
        for content, stream in (("Hi", False), ("Hi", True), ([IMAGE], False)):
            turns = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]
            body = {"model": "m", "max_tokens": 9, "tools": [SEARCH], "stream": stream}
            ask = read({**body, "messages": [*turns, {"role": "user", "content": content}]}, source="anthropic")
            context = AnswerContext(model="m", id="req_1")
            exchange = Exchange(ask, TargetRoute(route), context, splits=True)
            exchange.runnable = frozenset({Family.WEB_SEARCH})
            yield Walker(exchange, list(reply), refuses)


PAUSED = json.dumps(
    {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}],
        "stop_reason": "pause_turn",
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
).encode()


def paused_walks() -> Iterator[Walker]:
    """Requests for a provider that runs the tool itself and may pause, by clients that could not send it back."""
    for name, reply in product(("media", "media, then another"), ([(200, PAUSED)], REPLIES["lost for good"])):
        for before, content in (([], "Hi"), (HISTORY, "Hi"), (HISTORY, [PICTURE])):
            messages = [*before, {"role": "user", "content": content}]
            ask = read({"model": "m", "web_search_options": {}, "messages": messages})
            context = AnswerContext(model="m", id="req_1")
            yield Walker(Exchange(ask, TargetRoute(ROUTES[name]), context, splits=True), list(reply))


GONE = refused("CachedContent not found (or permission denied)", 403)


class OneStored(StoredPromptBook):
    """A prompt is stored for whatever is asked."""

    def look_up(self, caller: str, ask: Ask, request: CompiledRequest, destination: str, key: int) -> PromptUse:
        pieces = FORM.split(request.body)
        assert pieces is not None
        place = storing_destination()
        stored = StoredPrompt("cachedContents/a", place, request.path, 0, b"", 0, 9_000, 300.0)
        return PromptUse(("", "", 0, ""), FORM, request.path, pieces, (), array("q"), "", stored)


def storing_destination(keys: int = 1) -> Destination:
    further = {"cache": CacheHints.AUTO, "policy": QUICK, "key_count": keys}
    return destination("gemini/gemini-2.5-flash", stores_prompts=True, **further)


def stored_walk(*others: Destination, first: Reply = GONE, keys: int = 1) -> Walker:
    """A request that names a stored prompt, which is gone."""
    asked = exchange(storing_destination(keys), *others, messages=[HI])
    asked.prompt = NamedPrompt(OneStored(lambda: 0.0), "")
    return Walker(asked, [first])


@pytest.mark.parametrize(("first", "key"), [(GONE, 0), (refused("Slow down.", 429), 1)])
def test_a_stored_prompt_that_is_gone_or_of_another_key_is_sent_along(first: Reply, key: int) -> None:
    walker = stored_walk(first=first, keys=2)
    walker.provider = lambda send: sent.append(send) or walker.replies.pop(0)  # type: ignore[func-returns-value]
    sent: list[Any] = []
    walker.replies.append((200, b'{"candidates":[{"content":{"parts":[{"text":"Yes"}]}}]}'))
    assert isinstance(walker.run(), Answered)
    assert [("cachedContent" in json.loads(send.request.body), send.key) for send in sent] == [(True, 0), (False, key)]
    prompt = walker.exchange.prompt
    assert prompt is not None
    assert prompt.use is not None
    assert prompt.use.was_refused
    assert len(walker.exchange.attempts.failures) == key


def test_a_refusal_of_the_whole_request_stands() -> None:
    walker = stored_walk()
    walker.replies += [GONE] * 9
    assert isinstance(walker.run(), GaveUp)
    assert len(walker.replies) == 10 - 2


def test_a_stored_prompt_that_is_gone_is_nothing_to_another_target() -> None:
    walker = stored_walk(destination(policy=QUICK, key_count=2))
    sent: list[Any] = []
    walker.provider = lambda send: sent.append(send) or walker.replies.pop(0)  # type: ignore[func-returns-value]
    walker.replies += [refused("busy", 503), refused("Slow down.", 429), (200, GOOD)]
    assert isinstance(walker.run(), Answered)
    assert [(send.destination.provider, send.key) for send in sent] == [
        ("gemini", 0), ("gemini", 0), ("openai", 0), ("openai", 1),
    ]  # fmt: skip
    assert b"contents" not in sent[-1].request.body
    assert walker.exchange.prompt is not None
    assert walker.exchange.prompt.use is None


def all_walks() -> Iterator[Walker]:
    return chain(walks(), tool_walks(), paused_walks(), (stored_walk(),))


def ways(walkers: Iterable[Walker]) -> Seen:
    """The ways from step to step that they went."""
    seen: Seen = set()
    for walker in walkers:
        walker.run()
        seen |= walker.seen
    return seen


def test_what_follows_stands_in_the_table() -> None:
    seen = ways(islice(all_walks(), 0, None, 13))  # each kind of request meets every reply, on some route
    assert len(seen) > len(written()) // 2
    assert seen - written() == set()


@pytest.mark.slow
def test_what_follows_is_what_the_table_says() -> None:
    assert ways(all_walks()) == written()


@pytest.mark.parametrize("row", STEPS, ids=lambda row: name(row.step))
def test_every_verb_of_the_table_is_one_of_the_exchange(row: StepRow) -> None:
    assert all(callable(getattr(Exchange, verb)) for verb in row.verbs)
    assert row.driver


def test_the_table_has_every_step() -> None:
    steps = {one.__origin__ if hasattr(one, "__origin__") else one for one in Step.__args__}
    assert steps == {row.step for row in STEPS if row.step is not None}
    assert {row.step for row in STEPS if not row.verbs} == set(ENDS) - {Streaming}
