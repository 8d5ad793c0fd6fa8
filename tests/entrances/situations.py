"""One table of situations, and where each of them applies.

`adapt` and counting send nothing to be answered. The library sends once: retries and lessons are its user's. An SDK's
transport has one target and leaves 429 and 5xx to the SDK's own retries; it only corrects. A replay remembers nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.entrances.entrances import Question
from tests.gateway.upstream import GOOD, Answer, Seen, refusal

import dragoman

ALL = ("library", "sdk", "async sdk", "gateway", "dry run", "command line")
SENDING = ("library", "sdk", "async sdk", "gateway", "replay")
CORRECTING = ("sdk", "async sdk", "gateway", "replay")
REMEMBERING = ("sdk", "async sdk", "gateway")
COUNTING = ("counting", "sdk counting")

HI = [{"role": "user", "content": "Hi"}]
DOUBTED = "xai/grok-3"
"""Nobody knows whether it refuses keys that it does not know."""
MOODY = [{"role": "user", "content": "Hi", "mood": "good"}]
"""Nobody knows whether OpenAI takes a message field of this name."""


Judge = Callable[[Seen], Answer | None]


@dataclass(frozen=True)
class Situation:
    """What is asked, what the provider says to it, and what everybody sees.

    `sends` is how often the provider is asked, `again` how often when the same is asked once more. `lessons` are those
    that the gateway's report names.
    """

    name: str
    body: Any
    where: tuple[str, ...]
    judge: Judge | type[Judge] = lambda seen: None
    status: int = 200
    says: str = ""
    changes: str = ""
    lessons: tuple[str, ...] = ()
    sends: int = 1
    again: int | None = None
    target: str = "openai/gpt-4o"
    dialect: str = "openai-chat"
    streams: tuple[bool, ...] = (False, True)
    max_loss: dragoman.LossName | None = None
    doubt: dragoman.DoubtName | None = None
    fallback: Judge | None = None

    def new_judge(self) -> Judge:
        """A judge that remembers is a new one, which has not judged yet."""
        return self.judge() if isinstance(self.judge, type) else self.judge

    def question(self, stream: bool) -> Question:
        return Question(self.body, stream, self.max_loss, self.doubt)


def chunk(text: str | None = None, **more: Any) -> bytes:
    delta = {"content": text} if text is not None else {}
    choice = {"index": 0, "delta": delta, "finish_reason": more.pop("stop", None)}
    frame = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return b"data: " + json.dumps({**frame, **more}).encode() + b"\n\n"


WORDS = (chunk("Go"), chunk("od."))
END = (chunk(stop="stop"), b"data: [DONE]\n\n")
FAILED = b'data: {"error":{"message":"The model fell asleep.","type":"server_error","code":null}}\n\n'
LATE_REFUSAL = b'data: {"error":{"message":"I do not like it.","type":"invalid_request_error","code":400}}\n\n'


def good(seen: Seen) -> Answer:
    """A good answer, in the form that was asked for."""
    return (200, (*WORDS, *END)) if seen.body.get("stream") else (200, GOOD)


def unless(bad: Callable[[Any], bool], message: str, status: int = 400) -> Callable[[Seen], Answer]:
    """A provider that refuses some bodies, in these words."""
    return lambda seen: (status, refusal(message)) if bad(seen.body) else good(seen)


def too_long(seen: Seen) -> Answer:
    return 400, refusal("This model's maximum context length is exceeded.", code="context_length_exceeded")


def moody(body: Any) -> bool:
    return any("mood" in message for message in body["messages"])


class Numbered:
    """Refuses everything, and counts."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, seen: Seen) -> Answer:
        self.count += 1
        return 400, refusal(f"Refusal {self.count}.")


class FailsOnce:
    """Fails once, and then answers."""

    def __init__(self) -> None:
        self.failed = False

    def __call__(self, seen: Seen) -> Answer:
        failed, self.failed = self.failed, True
        return good(seen) if failed else (503, refusal("Not now."))


OTHER_LIMIT = (
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
)


def limit_refused(seen: Seen) -> Answer:
    """Refuses the limit under either name; the second time in words that teach nothing."""
    return 400, refusal(OTHER_LIMIT if "max_tokens" in seen.body else "No limits here.")


def streamed(*pieces: bytes) -> Callable[[Seen], Answer]:
    return lambda seen: (200, pieces)


BODIES: dict[str, dict[str, Any]] = {
    "openai-responses": {"model": "openai/gpt-4o", "input": "Hi"},
    "anthropic": {"model": "openai/gpt-4o", "max_tokens": 9, "messages": HI},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
}
LISTS = {"openai-responses": "input", "anthropic": "messages", "gemini": "contents"}
LOSING: dict[str, dict[str, Any]] = {
    "openai-responses": {"max_tool_calls": 3},
    "anthropic": {"top_k": 3},
    "gemini": {"generationConfig": {"topK": 3}},
}
"""Settings that Chat does not have."""


def in_dialect(dialect: str) -> list[Situation]:
    """What every client meets, whatever it speaks."""
    body, always = BODIES[dialect], unless(lambda body: True, "I do not like it.")
    sending, empty = ("library", "sdk", "async sdk", "gateway"), {LISTS[dialect]: []}
    return [
        Situation(f"{dialect}: a plain question", body, sending, good, dialect=dialect),
        Situation(f"{dialect}: malformed", {**body, LISTS[dialect]: 5}, ALL[:5], status=400, sends=0, dialect=dialect),
        Situation(
            f"{dialect}: empty", {**body, **empty}, ALL, status=400, sends=0, says="send at least one", dialect=dialect
        ),
        Situation(
            f"{dialect}: more loss than is allowed",
            {**body, **LOSING[dialect]},
            ALL,
            status=422,
            sends=0,
            says="refused-setting is needed",
            max_loss="nothing",
            dialect=dialect,
        ),
        Situation(f"{dialect}: refused", body, sending, always, status=400, says="I do not like it.", dialect=dialect),
        Situation(
            f"{dialect}: a stream that is cut",
            body,
            sending,
            streamed(*WORDS),
            says="The stream ended before the answer was complete.",
            streams=(True,),
            dialect=dialect,
        ),
    ]


SITUATIONS = [
    *(situation for dialect in BODIES for situation in in_dialect(dialect)),
    Situation("a plain question", {"model": "openai/gpt-4o", "messages": HI}, SENDING, good),
    # What cannot be sent.
    Situation("not JSON", b'{"model": "m", "messages": [', ALL[:4], status=400, sends=0),
    Situation("malformed", {"model": "openai/gpt-4o", "messages": 5}, ALL, status=400, sends=0, says="/messages"),
    Situation(
        "a key twice",
        b'{"model": "openai/gpt-4o", "model": "x", "messages": [{"role": "user", "content": "Hi"}]}',
        ALL,
        status=400,
        sends=0,
        says="model",
    ),
    Situation(
        "an empty conversation",
        {"model": "openai/gpt-4o", "messages": []},
        ALL,
        status=400,
        sends=0,
        says='"messages" has no message (send at least one: "messages": [{"role":"user","content":"Hello"}])',
    ),
    Situation(
        "more loss than is allowed",
        {"model": "anthropic/claude-sonnet-4-5", "messages": HI, "seed": 3},
        ALL,
        target="anthropic/claude-sonnet-4-5",
        status=422,
        sends=0,
        says="refused-setting is needed for anthropic/claude-sonnet-4-5 and loses metadata: left out seed",
        max_loss="nothing",
    ),
    Situation(
        "a malformed request to count",
        {"model": "anthropic/claude-sonnet-4-5", "messages": 5},
        COUNTING,
        target="anthropic/claude-sonnet-4-5",
        dialect="anthropic",
        status=400,
        sends=0,
        streams=(False,),
    ),
    Situation(
        "a count that would lose more than is allowed",
        {"model": "openai/gpt-4o", "messages": HI, "top_k": 3},
        COUNTING,
        dialect="anthropic",
        status=422,
        sends=0,
        max_loss="nothing",
        streams=(False,),
    ),
    # What is refused.
    Situation(
        "refused",
        {"model": "openai/gpt-4o", "messages": HI},
        SENDING,
        unless(lambda body: True, "I do not like it."),
        status=400,
        says="I do not like it.",
        again=1,
    ),
    Situation(
        "a key that is repeated to us",
        {"model": "openai/gpt-4o", "messages": HI},
        CORRECTING,
        unless(lambda body: True, "Incorrect API key: pk-entrances-0123456789", 401),
        status=401,
        says="Incorrect API key: [REDACTED]",
    ),
    Situation(
        "too long",
        {"model": "gemini-openai/gemini-2.5-flash", "messages": HI},
        ("library", "sdk", "async sdk", "gateway"),
        too_long,
        target="gemini-openai/gemini-2.5-flash",
        status=400,
        says="[dragoman: the number of tokens is an estimate]",
    ),
    Situation(
        "a lesson learnt",
        {"model": "openai-compatible-lenient/x", "messages": HI, "max_tokens": 7},
        REMEMBERING,
        unless(lambda body: "max_tokens" in body, OTHER_LIMIT),
        target="openai-compatible-lenient/x",
        changes="setting-name;n=1",
        lessons=("limit-name",),
        sends=2,
        again=1,
    ),
    Situation(
        "a lesson refused again",
        {"model": "openai-compatible-lenient/x", "messages": HI, "max_tokens": 7},
        CORRECTING,
        limit_refused,
        target="openai-compatible-lenient/x",
        status=400,
        says="No limits here.",
        lessons=("limit-name",),
        sends=2,
        again=2,
    ),
    Situation(
        "care that helps",
        {"model": DOUBTED, "messages": MOODY},
        REMEMBERING,
        unless(moody, "I do not like it."),
        changes="stray-field;n=1",
        lessons=("careful",),
        sends=2,
        again=1,
        target=DOUBTED,
    ),
    Situation(
        "care that helps a replay",
        {"model": DOUBTED, "messages": MOODY},
        ("replay",),
        unless(moody, "I do not like it."),
        sends=2,
        again=2,
        streams=(False,),
        target=DOUBTED,
    ),
    Situation(
        "care that does not help: the first refusal is told",
        {"model": DOUBTED, "messages": MOODY},
        CORRECTING,
        Numbered,
        status=400,
        says="Refusal 1.",
        lessons=("careful",),
        sends=2,
        again=2,
        target=DOUBTED,
    ),
    Situation(
        "care that is asked for",
        {"model": DOUBTED, "messages": MOODY},
        ("library", "sdk", "async sdk", "gateway"),
        unless(moody, "I do not like it."),
        changes="stray-field;n=1",
        doubt="careful",
        target=DOUBTED,
    ),
    Situation(
        "care that may not be taken",
        {"model": DOUBTED, "messages": MOODY},
        ("sdk", "async sdk", "gateway"),
        unless(moody, "I do not like it."),
        status=400,
        says="I do not like it.",
        max_loss="nothing",
        again=1,
        target=DOUBTED,
    ),
    # What passes.
    Situation(
        "a server that fails once is tried again",
        {"model": "openai/gpt-4o", "messages": HI},
        ("gateway", "replay"),
        FailsOnce,
        sends=2,
        again=1,
    ),
    Situation(
        "a server that fails is left to the SDK",
        {"model": DOUBTED, "messages": MOODY},
        ("library", "sdk", "async sdk"),
        unless(lambda body: True, "Not now.", 500),
        status=500,
        says="Not now.",
        target=DOUBTED,
    ),
    Situation(
        "a server that always fails: care comes last",
        {"model": DOUBTED, "messages": MOODY},
        ("gateway", "replay"),
        unless(moody, "Oh no.", 500),
        changes="stray-field;n=1",
        lessons=("careful",),
        sends=4,
        target=DOUBTED,
    ),
    Situation(
        "a limit is left to the SDK",
        {"model": "openai/gpt-4o", "messages": HI},
        ("library", "sdk", "async sdk"),
        unless(lambda body: True, "Slow down.", 429),
        status=429,
        says="Slow down.",
    ),
    Situation(
        "a fallback",
        {"model": "openai/gpt-4o", "messages": HI},
        ("gateway",),
        unless(lambda body: True, "Slow down.", 429),
        sends=3,
        fallback=good,
    ),
    # Streams.
    Situation(
        "a stream that is cut",
        {"model": "openai/gpt-4o", "messages": HI},
        ("library", "sdk", "async sdk", "gateway"),
        streamed(*WORDS),
        says="The stream ended before the answer was complete.",
        streams=(True,),
    ),
    Situation(
        "an error in a stream that has begun",
        {"model": "openai/gpt-4o", "messages": HI},
        ("library", "sdk", "async sdk", "gateway"),
        streamed(*WORDS, FAILED),
        says="The model fell asleep.",
        streams=(True,),
    ),
    Situation(
        "an error in place of a stream",
        {"model": "openai/gpt-4o", "messages": HI},
        ("sdk", "async sdk", "gateway"),
        streamed(LATE_REFUSAL),
        status=400,
        says="I do not like it.",
        streams=(True,),
    ),
]
