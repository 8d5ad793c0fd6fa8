"""A gateway before a small server of our own, for the tests by id."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.gateway.asking import PLAIN
from tests.gateway.running import Running, gateway, provider
from tests.gateway.upstream import upstream

PATH = "/v1/chat/completions"
LENIENT = "openai-compatible-lenient"
TOP = ("models", "store", "rules", "log", "keys", "overrides", "profiles", "server")
"""Keys of the file itself; all others are the provider's."""


@contextmanager
def served(folder: Path, answer: Any = lambda seen: None, profile: str = LENIENT, **more: Any) -> Iterator[Any]:
    """A gateway with the model `m` on a server of our own."""
    top = {name: more.pop(name) for name in TOP if name in more}
    with upstream(answer) as behind:
        config = {"providers": {"p": provider(profile, behind.url, **more)}, "models": {"m": {"target": "p/x"}}, **top}
        with gateway(config, folder) as running:
            yield running, behind


def ask(running: Running, **fields: Any) -> Any:
    return running.post(PATH, {"model": "m", "messages": PLAIN, **fields})


def frame(**choice: Any) -> bytes:
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "x"}
    return (
        b"data: " + json.dumps({**chunk, "choices": [{"index": 0, "finish_reason": None, **choice}]}).encode() + b"\n\n"
    )


SAYS = frame(delta={"role": "assistant", "content": "Hello"})
STOP = frame(delta={}, finish_reason="stop")
DONE = b"data: [DONE]\n\n"


def streamed(*frames: bytes) -> Any:
    return lambda seen: (200, b"".join(frames))
