"""Every fault of the emulators against every client dialect, whole and streamed.

The SDK sees the right answer after another try, or its own right exception; and nothing is left behind.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from tests.gateway.asking import ERRORS, STREAMED, WHOLE, status_of
from tests.gateway.running import Running, gateway, provider, wait_for

from dragoman.testing import emulator

EMULATORS = {
    "openai": ("openai-chat", "gpt-4o"),
    "openai-responses": ("openai-responses", "gpt-5.6"),
    "anthropic": ("anthropic", "claude-sonnet-4-5"),
    "gemini": ("gemini", "gemini-2.5-flash"),
}
# Each client on its own dialect (relayed) and on another (translated).
PAIRS = [
    ("openai-chat", "openai"),
    ("openai-chat", "anthropic"),
    ("openai-responses", "openai-responses"),
    ("openai-responses", "gemini"),
    ("anthropic", "anthropic"),
    ("anthropic", "openai"),
    ("gemini", "gemini"),
    ("gemini", "openai-responses"),
]
SHORT = {"connect": 60, "first_byte": 60, "idle": 2, "total": 120}
"""Only a provider that stands still in its answer is given up."""
LONG = " ".join(f"word{number}" for number in range(60))


class Stage:
    """The gateway, and the emulators behind it."""

    def __init__(self, running: Running, emulators: dict[str, Any]) -> None:
        self.running = running
        self.emulators = emulators

    def break_it(self, name: str, fault: str | None) -> int:
        """Let an emulator fail from now on. The number of requests so far."""
        self.emulators[name].fault(fault)
        return len(self.emulators[name].requests)

    def break_once(self, name: str, fault: str) -> int:
        """Let the next request fail, and no other."""
        self.emulators[name].script({"fault": fault})
        return len(self.emulators[name].requests)

    def tries(self, name: str, before: int) -> int:
        return len(self.emulators[name].requests) - before


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with ExitStack() as stack:
        emulators = {name: stack.enter_context(emulator(name, answers="echo")) for name in EMULATORS}
        providers = {name: provider(name, one.base_url, timeouts=SHORT) for name, one in emulators.items()}
        models = {name: {"target": f"{name}/{model}"} for name, (_, model) in EMULATORS.items()}
        config = {"providers": providers, "models": models}
        yield Stage(stack.enter_context(gateway(config, tmp_path_factory.mktemp("faults"))), emulators)


@pytest.fixture(autouse=True)
def nothing_is_left(stage: Stage) -> Iterator[None]:
    """No task, no connection and no request under way stays behind; no emulator stays broken."""
    stage.running.get("/health")
    before = stage.running.tasks()
    yield
    for name in EMULATORS:
        stage.break_it(name, None)
    wait_for(lambda: stage.running.busy() == (0, 0))
    wait_for(lambda: stage.running.tasks() <= before)


# fault → statuses that are right, in any dialect
REFUSED = {
    "401": {401},
    "404": {404},
    "413": {413},
    "429;retry-after=0": {429},
    "500": {500, 502},
    "502": {500, 502},
    "503": {503, 529},
    "529": {503, 529},
    "context": {400},
    "reset": {502},
    "reset-after-headers": {502},
}
ONCE = ("401", "404", "413", "context")


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("client", "target"), PAIRS)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_standing_refusal_is_the_sdks_own_exception(stage: Stage, client: str, target: str, stream: bool) -> None:
    ask = (STREAMED if stream else WHOLE)[client]
    for fault, statuses in REFUSED.items():
        before = stage.break_it(target, fault)
        with pytest.raises(ERRORS) as raised:
            ask(stage.running, target)
        assert status_of(raised.value) in statuses, (fault, raised.value)
        tries = stage.tries(target, before)
        # A kept connection that dies before a byte of an answer is tried once more by the transport itself.
        assert tries in ((1,) if fault in ONCE else (3, 4) if fault == "reset" else (3,)), fault


PASSING = ("429;retry-after=0", "500", "502", "503", "529", "reset", "reset-after-headers", "cut", "bad-json")
BEFORE_FIRST_BYTE = (
    "429;retry-after=0",
    "500",
    "502",
    "529",
    "reset",
    "reset-after-headers",
    "cut;after=0",
    "stream-error;after=0",
    "stall;after=0;seconds=60",
)


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("client", "target"), PAIRS)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_fault_that_passes_is_never_seen(stage: Stage, client: str, target: str, stream: bool) -> None:
    ask = (STREAMED if stream else WHOLE)[client]
    for fault in BEFORE_FIRST_BYTE if stream else PASSING:
        before = stage.break_once(target, fault)
        assert ask(stage.running, target).startswith("received: "), fault
        assert stage.tries(target, before) == 2, fault


@pytest.mark.parametrize(("client", "target"), PAIRS)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_slow_bytes_and_a_wrong_type_are_no_faults(stage: Stage, client: str, target: str, stream: bool) -> None:
    ask = (STREAMED if stream else WHOLE)[client]
    for fault in ("slow;bytes=97;every=0.001", "wrong-type"):
        before = stage.break_it(target, fault)
        assert ask(stage.running, target).startswith("received: "), fault
        assert stage.tries(target, before) == 1, fault


AFTER_FIRST_BYTE = ("stream-error;after=40", "cut;after=40", "stall;after=40;seconds=60")


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("client", "target"), PAIRS)
@pytest.mark.parametrize("fault", AFTER_FIRST_BYTE)
def test_C19_E13_after_the_first_byte_a_failure_is_the_streams_end(
    stage: Stage, client: str, target: str, fault: str
) -> None:
    """X11."""
    stage.emulators[target].script({"text": LONG, "fault": fault})
    before = len(stage.emulators[target].requests)
    try:
        answered = STREAMED[client](stage.running, target)
    except ERRORS:
        assert stage.tries(target, before) == 1
    else:  # all of it came in one piece, so that nothing had left for the client: tried again
        assert answered.startswith("received: ")
        assert stage.tries(target, before) == 2
