"""Strict provider emulators for your own tests: an agent tested against five providers, without a key.

    from dragoman.testing import emulator

    def test_my_agent():
        with emulator("anthropic") as anthropic:
            anthropic.script({"calls": [{"name": "weather", "arguments": {"city": "Paris"}}]}, "It rains.")
            run_my_agent(base_url=anthropic.base_url)
        assert [request.verdict for request in anthropic.requests] == ["accepted", "accepted"]

Pytest finds the fixture `dragoman_emulators` by itself: call it with a provider's name, and it is stopped for you.
This module is imported by every pytest run in an environment with Dragoman, so it loads nothing until it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dragoman.emulators.answer_script import Said
    from dragoman.emulators.background_server import Running

__all__ = ["emulator"]


@contextmanager
def emulator(
    name: str,
    *,
    script: Iterable[Said] = (),
    fault: str | None = None,
    cut: int = 0,
    max_body: int = 32 << 20,
    request_seconds: float = 30.0,
    **options: Any,
) -> Iterator[Running]:
    """The provider of that name, running on a free port while the block lasts.

    `script` lists the turns to answer with, `fault` is a standing fault, `cut` the bytes per write of a stream; the
    rest are options of the emulator: `strict`, `models` (a closed list), `signatures="strict"`, and its own.
    """
    from dragoman.emulators.background_server import Running
    from dragoman.emulators.catalogue import provider
    from dragoman.emulators.http_server import Limits

    running = Running(provider(name, **options), Limits(body=max_body, cut=cut, request_seconds=request_seconds))
    running.script(*script)
    running.fault(fault)
    running.start()
    try:
        yield running
    finally:
        running.stop()


def _emulators() -> Iterator[Callable[..., Running]]:
    """Start emulators by name; they stop when the test ends."""
    with ExitStack() as stack:
        yield lambda name, **options: stack.enter_context(emulator(name, **options))


try:
    import pytest
except ImportError:  # the context manager needs no pytest
    pass
else:
    dragoman_emulators = pytest.fixture(name="dragoman_emulators")(_emulators)
