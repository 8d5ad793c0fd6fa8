"""What happens in a loop of the matrix: the question, three answers of the model, and what the tools give.

Every loop has a tag that stands in its question. The model reads it there, so one emulator serves many loops at once,
and a request that belongs to no loop (a title, a summary) takes nothing away from one that does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.e2e.upstreams import CHAT, RESPONSES, Reader, Upstream

from dragoman.emulators.provider import ModelCall, ModelTurn

_TAG = re.compile(r"\[case ([a-z0-9.-]+)\]")


@dataclass(frozen=True)
class Case:
    """One loop: a client, a provider, and the way the answers come."""

    client: str
    upstream: Upstream
    way: str = "streamed"

    @property
    def tag(self) -> str:
        return f"{self.client}.{self.upstream.name}.{self.way}"

    @property
    def question(self) -> str:
        return f"[case {self.tag}] Where does it rain?"

    @property
    def answer(self) -> str:
        return f"Rain in Köln, sun in Rom: {self.tag}."


def thought(tag: str, number: int) -> str:
    return f"Thought {number} of {tag}: clouds über Köln."


def place(tag: str, number: int) -> str:
    """What the call of that number is about. It has what is easily broken on the way: a quote, an escape, no ASCII."""
    return f'Ort {number} "{tag}" \\ ü€'


def weather(tag: str, number: int) -> ModelCall:
    """The calls of clients whose tools are ours. Odd ones and even ones are for different tools."""
    if number % 2:
        return ModelCall("weather", {"city": place(tag, number)})
    return ModelCall("wind", {"place": place(tag, number), "days": number})


def trace(tag: str, number: int) -> str:
    """What only the command of this number writes."""
    return f"call {number} of {tag} ü"


def shell(name: str, key: str, **more: str) -> Callable[[str, int], ModelCall]:
    """The calls of agents: a command that leaves a trace of its own, and prints it."""

    def call(tag: str, number: int) -> ModelCall:
        return ModelCall(name, {key: f"echo '{trace(tag, number)}' | tee -a ran.txt", **more})

    return call


CALLS: Mapping[str, Callable[[str, int], ModelCall]] = {
    "claude-code": shell("Bash", "command", description="Look"),
    "codex": shell("exec_command", "cmd"),
    "gemini-cli": shell("run_shell_command", "command", description="Look"),
}


def is_agent(tag: str) -> bool:
    return tag.split(".")[0] in CALLS


def calls_of(tag: str, *numbers: int) -> tuple[ModelCall, ...]:
    make = CALLS.get(tag.split(".")[0], weather)
    return tuple(make(tag, number) for number in numbers)


def turn(tag: str, reader: Reader, thinks: bool, number: int) -> ModelTurn:
    """The model's turns: two calls with words before them, two calls without, and the answer."""
    reasoning = thought(tag, number) if thinks else None
    mixed = not is_relayed(tag, reader)
    if number == 1:
        return ModelTurn("Let me look.", reasoning, calls_of(tag, 1, 2), interleave=mixed)
    if number == 2:
        return ModelTurn(None, reasoning, calls_of(tag, 3, 4), interleave=mixed)
    return ModelTurn(f"Rain in Köln, sun in Rom: {tag}.", reasoning)


def is_relayed(tag: str, reader: Reader) -> bool:
    """Whether an OpenAI client hears a provider of its own dialect word for word.

    The pieces of parallel calls then come one call after the other, as all these providers send them: the clients
    themselves fail if they are mixed.
    """
    client = tag.split(".")[0]
    if reader is RESPONSES:
        return client.endswith("-responses") or client == "codex"
    return reader is CHAT and client.endswith("-chat")


def turn_for(upstream: Upstream, body: Any) -> ModelTurn:
    """What the model says to a request. It looks at nothing else."""
    tag = tag_of(body)
    if tag is None or not is_main(upstream, body, tag):
        return ModelTurn("A side question.")
    reader = upstream.reader_of(body)
    number = {0: 1, 2: 2, 4: 3}.get(len(reader.ran(body)))
    return turn(tag, reader, upstream.thinks, number) if number else ModelTurn("Results are missing.")


def tag_of(body: Any) -> str | None:
    found = _TAG.search(json.dumps(body, ensure_ascii=False))
    return found[1] if found else None


def is_main(upstream: Upstream, body: Any, tag: str) -> bool:
    """Whether this is a request of the loop itself: those declare the tool that the loop is about."""
    return calls_of(tag, 1)[0].name in upstream.reader_of(body).tools(body)
