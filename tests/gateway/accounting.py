"""Many requests of every kind through a gateway, and the emulators' own count of what each of them used.

Every request has a number in its text, by which what the emulator wrote about it is found again. The number also says
what happens to it. All texts are of words of three letters: the emulators take four bytes for a token, so that here a
word is one, as it is to the tokenizers that the estimates imitate.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
from tests.gateway.asking import PATHS

from dragoman.emulators.answer_script import Script, ScriptStep
from dragoman.emulators.faults import parse_fault
from dragoman.emulators.provider import ErrorResponse, FaultKind, ModelTurn, ReceivedRequest
from dragoman.emulators.serving.background_server import RunningEmulator
from dragoman.emulators.step_conditions import StepCondition

PRICE = {"input": 3.0, "output": 15.0, "cached": 0.3}
KEYS = ("anna", "ben", "chris")
KINDS = ("whole", "stream", "usage", "retried", "fallback", "failed", "left", "cut")
"""What becomes of a request: answered whole, as a stream, as a stream whose usage the client asks for; failed once;
failed for good on its first target, or on all; left by its client; cut by the provider in the middle."""
HOMES = {"gpt": "openai", "claude": "anthropic", "gem": "gemini", "five": "openai-responses"}
MODELS = {"gpt": "gpt-4o", "claude": "claude-sonnet-4-5", "gem": "gemini-2.5-flash", "five": "gpt-5"}
_TAG = re.compile(r"\bno(\d{6})\b")
_WORDS = ("the", "sun", "and", "sea", "are", "big", "for", "you")
_AT_ONCE = 24


def words(count: int) -> str:
    return " ".join(_WORDS[at % len(_WORDS)] for at in range(count)) + " "


@dataclass(frozen=True)
class Job:
    """One request. All that it is follows from its number."""

    number: int

    @property
    def kind(self) -> str:
        return KINDS[self.number % len(KINDS)]

    @property
    def home(self) -> str:
        return list(HOMES)[self.number // len(KINDS) % len(HOMES)]

    @property
    def dialect(self) -> str:
        return list(PATHS)[self.number // (len(KINDS) * len(HOMES)) % len(PATHS)]

    @property
    def key(self) -> str:
        return KEYS[self.number % len(KEYS)]

    @property
    def streams(self) -> bool:
        return self.kind in ("stream", "usage", "left", "cut") or (self.kind == "retried" and self.number % 16 > 8)

    @property
    def model(self) -> str:
        return f"{self.home}-{self.kind}" if self.kind in ("fallback", "left", "cut") else self.home

    @property
    def asked_words(self) -> int:
        return 40 + self.number % 90

    @property
    def said_words(self) -> int:
        return (400 if self.kind in ("left", "cut") else 20) + self.number % 70

    @property
    def path(self) -> str:
        path = PATHS[self.dialect].format(model=self.model)
        return path.replace(":generateContent", ":streamGenerateContent?alt=sse") if self.streams else path

    @property
    def body(self) -> dict[str, Any]:
        text = f"no{self.number:06d} {words(self.asked_words)}"
        stream = {"stream": True} if self.streams else {}
        if self.dialect == "gemini":
            return {"contents": [{"role": "user", "parts": [{"text": text}]}]}
        if self.dialect == "openai-responses":
            return {"model": self.model, "input": text, **stream}
        asks = (
            {"stream_options": {"include_usage": True}}
            if self.kind == "usage" and self.dialect == "openai-chat"
            else {}
        )
        limit = {"max_tokens": 2000} if self.dialect == "anthropic" else {}
        return {"model": self.model, "messages": [{"role": "user", "content": text}], **limit, **stream, **asks}


@dataclass(frozen=True)
class Used:
    """Tokens, as somebody counted them."""

    input: int
    output: int
    cached: int = 0

    @property
    def cost(self) -> float:
        plain = (self.input - self.cached) * PRICE["input"] + self.cached * PRICE["cached"]
        return (plain + self.output * PRICE["output"]) / 1e6


class CountingProvider:
    """An emulated provider that fails by the number of a request, and keeps what it says about each that it answers."""

    def __init__(self, own: Any, home: str) -> None:
        self._own = own
        self._home = home
        self.answered: dict[int, list[Used]] = {}
        self._failed: set[int] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)

    def judge(self, request: ReceivedRequest) -> ErrorResponse | None:
        job = _job(request)
        once = job.kind == "retried" and job.number not in self._failed
        first = job.kind == "fallback" and job.home == self._home
        if once or first or job.kind == "failed":
            self._failed.add(job.number)
            error: ErrorResponse = self._own.render_fault(FaultKind.SERVER, request)
            return error
        refusal: ErrorResponse | None = self._own.judge(request)
        return refusal

    def render_answer(self, request: ReceivedRequest, turn: ModelTurn) -> Any:
        body = self._own.render_answer(request, turn)
        self.answered.setdefault(_job(request).number, []).append(_used(body))
        return body

    def render_stream(self, request: ReceivedRequest, turn: ModelTurn) -> Iterable[bytes]:
        self.render_answer(request, turn)
        stream: Iterable[bytes] = self._own.render_stream(request, turn)
        return stream


def _job(request: ReceivedRequest) -> Job:
    found = _TAG.search(json.dumps(request.body))
    assert found is not None
    return Job(int(found[1]))


def _used(body: Mapping[str, Any]) -> Used:
    """The usage of an answer, in the words of whoever wrote it."""
    usage = body.get("usage") or body["usageMetadata"]
    if "promptTokenCount" in usage:
        said = usage.get("candidatesTokenCount", 0) + usage.get("thoughtsTokenCount", 0)
        return Used(usage["promptTokenCount"], said, usage.get("cachedContentTokenCount", 0))
    if "prompt_tokens" in usage:
        details = usage.get("prompt_tokens_details") or {}
        return Used(usage["prompt_tokens"], usage["completion_tokens"], details.get("cached_tokens", 0))
    if "cache_read_input_tokens" in usage:
        read, written = usage["cache_read_input_tokens"] or 0, usage.get("cache_creation_input_tokens") or 0
        return Used(usage["input_tokens"] + read + written, usage["output_tokens"], read)
    return Used(usage["input_tokens"], usage["output_tokens"], usage["input_tokens_details"]["cached_tokens"])


def count_all(one: RunningEmulator, home: str) -> CountingProvider:
    """Let an emulator count, answer with words, and cut or slow down the streams of the models that say so."""
    counting = CountingProvider(one.provider, home)
    one._core.provider = counting
    one._core.script = Script.of(
        [
            ScriptStep(_said, parse_fault("cut;after=60"), StepCondition(model="cut-*"), repeat=True),
            ScriptStep(_said, parse_fault("slow;bytes=400;every=0.004"), StepCondition(model="left-*"), repeat=True),
            ScriptStep(_said, repeat=True),
        ]
    )
    return counting


def _said(request: ReceivedRequest) -> ModelTurn:
    job = _job(request)
    return ModelTurn(text=words(job.said_words), cached=job.number % 30)


def models() -> dict[str, Any]:
    """Every name that a job asks for. A fallback goes to the next home."""
    homes = list(HOMES)
    found: dict[str, Any] = {}
    for at, home in enumerate(homes):
        target = f"{home}/{MODELS[home]}"
        found[home] = {"target": target, "price": PRICE}
        found[f"{home}-fallback"] = {"target": target, "price": PRICE, "fallbacks": [homes[(at + 1) % len(homes)]]}
        for kind in ("left", "cut"):
            found[f"{home}-{kind}"] = {"target": f"{home}/{kind}-{MODELS[home]}", "price": PRICE}
    return found


@dataclass
class Outcome:
    """What a client saw of its request: `text` is what came, as far as it read."""

    job: Job
    status: int
    id: str
    text: str = ""


@dataclass
class Played:
    outcomes: list[Outcome] = field(default_factory=list)

    def of(self, *kinds: str) -> Iterator[Outcome]:
        return (one for one in self.outcomes if one.job.kind in kinds)

    def kinds(self) -> Counter[str]:
        return Counter(one.job.kind for one in self.outcomes)


async def play(url: str, count: int) -> Played:
    """Send so many requests, some at a time."""
    played, gate = Played(), asyncio.Semaphore(_AT_ONCE)
    async with httpx.AsyncClient(base_url=url, timeout=60) as client:

        async def one(job: Job) -> None:
            async with gate:
                played.outcomes.append(await _asked(client, job))

        await asyncio.gather(*(one(Job(number)) for number in range(count)))
    return played


async def _asked(client: httpx.AsyncClient, job: Job) -> Outcome:
    headers = {"authorization": f"Bearer {job.key}"}
    async with client.stream("POST", job.path, json=job.body, headers=headers) as answer:
        outcome = Outcome(job, answer.status_code, answer.headers["x-dragoman-request-id"])
        try:
            async for piece in answer.aiter_text():
                outcome.text += piece
                if job.kind == "left" and outcome.text.count("the sun") + outcome.text.count('"sun') > 5:
                    break
        except httpx.RemoteProtocolError:
            assert job.kind == "cut"
    return outcome
