"""Strict provider emulators for your own tests. They need no key and no network.

    from dragoman.testing import emulator

    def test_my_agent():
        with emulator("anthropic") as anthropic:
            anthropic.script({"calls": [{"name": "weather", "arguments": {"city": "Paris"}}]}, "It rains.")
            run_my_agent(base_url=anthropic.base_url)
        assert [request.verdict for request in anthropic.requests] == ["accepted", "accepted"]

`pytest_plugins = ["dragoman.testing"]` in your `conftest.py` gives the fixture `dragoman_emulators`: call it with the
name of a provider. The emulator stops when the test ends. The emulators are the extra `emulators`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

from dragoman.extras import naming_extra

with naming_extra("emulators"):
    from dragoman.emulators.answer_script import ScriptPlace, StepSource, parse_step
    from dragoman.emulators.catalogue import answering, provider
    from dragoman.emulators.rate_limits import parse_limits
    from dragoman.emulators.serving.background_server import RunningEmulator
    from dragoman.emulators.serving.http_server import ServerLimits

__all__ = ["emulator", "when"]


def when(
    answer: StepSource,
    *,
    tool: str | None = None,
    results: int | None = None,
    turn: int | None = None,
    matches: str | None = None,
    model: str | None = None,
    repeat: bool = False,
) -> StepSource:
    """A step that waits for a request which fulfils all conditions; with `repeat` it answers every such request.

        provider.script(when("A title", matches="title", repeat=True), when("It rains.", results=1))

    `tool` is declared, the conversation holds so many `results`, the model is asked for its n-th `turn`, the system
    text or the last user text `matches` a pattern, the `model` fits a glob.
    """
    place = ScriptPlace("when()", 1)
    wanted = {"tool": tool, "results": results, "turn": turn, "matches": matches, "model": model}
    given = {name: value for name, value in wanted.items() if value is not None}
    condition = parse_step({"when": given or None}, place).when
    return replace(parse_step(answer, place), when=condition, repeat=repeat)


@contextmanager
def emulator(
    name: str,
    *,
    script: Iterable[StepSource] = (),
    fault: str | None = None,
    answers: str = "plausible",
    write_size: int = 0,
    max_body: int = 32 << 20,
    request_seconds: float = 30.0,
    clock: Callable[[], float] = time.time,
    limits: str | Mapping[str, int] | None = None,
    **options: Any,
) -> Iterator[RunningEmulator]:
    """Run the emulator of that name on a free port while the block lasts.

    `script` lists the turns to answer with. After them, a plausible model answers, or with `answers="echo"` a
    description of the request. `fault` is a standing fault. `write_size` is the number of bytes per write
    of a stream. `limits` is what a key may use in a minute: `{"requests": 50, "tokens": 30_000}`. `clock` tells the
    prompt cache and the limits the time in seconds. The other options are the emulator's: `strict`, `models` (a closed
    list), `signatures="strict"`, `window` (the most tokens of a prompt), `refuses` (patterns of bodies to refuse) and
    its own.
    """
    bounds = ServerLimits(body=max_body, write_size=write_size, request_seconds=request_seconds)
    running = RunningEmulator(provider(name, **options), bounds, answering(answers), clock, parse_limits(limits))
    running.script(*script)
    running.fault(fault)
    running.start()
    try:
        yield running
    finally:
        running.stop()


def _emulators() -> Iterator[Callable[..., RunningEmulator]]:
    """Start emulators by name. They stop when the test ends."""
    with ExitStack() as stack:
        yield lambda name, **options: stack.enter_context(emulator(name, **options))


try:
    import pytest
except ImportError:  # the context manager works without pytest
    pass
else:
    dragoman_emulators = pytest.fixture(name="dragoman_emulators")(_emulators)
