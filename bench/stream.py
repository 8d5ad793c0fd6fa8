"""CPU microseconds per streamed event: relayed between equal dialects, and translated between all others.

    python bench/stream.py [EVENTS] [ROUNDS]

All pairs run in one process, interleaved round by round, and the median counts: machines change their speed for minutes
at a time, and only ratios within one run mean anything. Every event arrives as a chunk of its own, the way a model
speaks. If `litellm` can be imported, its own stream path (Anthropic's events to OpenAI's chunks and to bytes) runs
beside ours.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from statistics import median
from time import process_time

from dragoman.conversation.changes import Undo
from dragoman.conversation.dialect_names import DIALECT_NAMES
from dragoman.conversation.events import (
    CallDelta,
    CallEnded,
    CallStarted,
    Ended,
    Event,
    Started,
    Stopped,
    TextDelta,
    Used,
)
from dragoman.conversation.literals import quote
from dragoman.conversation.replies import Stop, Usage
from dragoman.dialects import registry
from dragoman.dialects.dialect import AnswerContext
from dragoman.engine.answer.translation import Translation

ANSWERING = AnswerContext(model="some-model", created=1_700_000_000, id="answer-1", include_usage=True)
# Something to undo that never occurs, so that equal dialects are translated too.
FORCED = Undo(ids={"\0": ""})


def answer(count: int) -> list[Event]:
    """A long text and one call, in `count` deltas."""
    words = [quote(f" word{number}" if number % 7 else ' "quoted"\n') for number in range(count * 4 // 5)]
    pieces = [quote(f'"key{number}": {number}, ') for number in range(count - len(words))]
    return [
        Started("answer-1", "some-model", 1_700_000_000),
        *[TextDelta(0, 0, literal) for literal in words],
        CallStarted(0, 1, "call_1", "look_up"),
        CallDelta(0, 1, quote("{")),
        *[CallDelta(0, 1, literal) for literal in pieces],
        CallDelta(0, 1, quote('"end": 0}')),
        CallEnded(0, 1),
        Stopped(0, Stop.CALLS),
        Used(Usage(100, count)),
        Ended(),
    ]


def frames(dialect: str, count: int) -> list[bytes]:
    """The answer as that dialect's stream, one chunk a frame."""
    renderer = registry.dialect(dialect).answers.stream_renderer(ANSWERING)
    wire = b"".join(renderer.render([event]) for event in answer(count)) + renderer.close()
    end = b"\r\n\r\n" if dialect == "gemini" else b"\n\n"
    return [frame + end for frame in wire.split(end) if frame]


def translate(upstream: str, client: str, undo: Undo, chunks: list[bytes]) -> float:
    """Seconds of CPU for the whole stream."""
    begun = process_time()
    translation = Translation(upstream, client, undo, ANSWERING)
    feed = translation.feed
    for chunk in chunks:
        feed(chunk)
    translation.close()
    return process_time() - begun


def litellm_path(chunks: list[bytes]) -> Callable[[], float] | None:
    """LiteLLM's reader of Anthropic's events and its OpenAI chunks as bytes; None where it is not installed."""
    try:
        import json

        from litellm.llms.anthropic.chat.handler import ModelResponseIterator
    except ImportError:
        return None
    lines = [line.decode() for chunk in chunks for line in chunk.split(b"\n") if line.startswith(b"data:")]

    def run() -> float:
        begun = process_time()
        reader = ModelResponseIterator(streaming_response=iter(()), sync_stream=True)
        for line in lines:
            chunk = reader.convert_str_chunk_to_generic_chunk(line)
            f"data: {json.dumps(chunk.model_dump(exclude_none=True))}\n\n".encode()
        return process_time() - begun

    return run


def main(count: int, rounds: int) -> None:
    streams = {dialect: frames(dialect, count) for dialect in DIALECT_NAMES}
    runs: dict[str, Callable[[], float]] = {}
    for upstream in DIALECT_NAMES:
        chunks = streams[upstream]
        runs[f"{upstream}, relayed"] = lambda u=upstream, c=chunks: translate(u, u, Undo(), c)  # type: ignore[misc]
        for client in DIALECT_NAMES:
            runs[f"{upstream} to {client}"] = lambda u=upstream, t=client, c=chunks: translate(u, t, FORCED, c)  # type: ignore[misc]
    beside = litellm_path(streams["anthropic"])
    if beside is not None:
        runs["LiteLLM, anthropic to openai-chat"] = beside
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            times[name].append(run())
    for name, seconds in times.items():
        events = len(streams[name.split(" to ")[0].split(",")[0]]) if not name.startswith("LiteLLM") else count
        print(f"{name:45} {median(seconds) / events * 1e6:8.2f} µs an event")
    if beside is None:
        print("litellm is not installed: nothing to set beside")


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    main(*(given + [1000, 15][len(given) :]))
