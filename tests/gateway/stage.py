"""A gateway with an emulated provider of every dialect behind it: where real clients are put to the test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tests.gateway.running import Running, gateway, provider

from dragoman.emulators.answer_script import StepSource
from dragoman.emulators.background_server import RunningEmulator as Emulator
from dragoman.emulators.emulator_core import RecordedRequest
from dragoman.testing import emulator

HOMES: Mapping[str, tuple[str, str]] = {
    "claude": ("anthropic", "claude-sonnet-4-5"),
    "gemini": ("gemini", "gemini-2.5-flash"),
    "gpt": ("openai", "gpt-4o"),
    "thinker": ("openai-responses", "gpt-5.6"),
    "deepseek": ("deepseek", "deepseek-v4-flash"),
    "mistral": ("mistral", "mistral-large-latest"),
    "command": ("cohere", "command-a-reasoning-08-2025"),
    "qwen": ("ollama", "qwen3:8b"),
}
"""A public model's name: the emulator that runs it, and what it is called there."""


class Stage:
    """The gateway, the emulators, and what was asked of them since the last `script`."""

    def __init__(self, running: Running, emulators: Mapping[str, Emulator]) -> None:
        self.gateway = running
        self.url = running.url
        self.emulators = emulators
        self._seen: dict[str, int] = {}

    def script(self, model: str, *said: StepSource) -> None:
        """What the model says next; forgets what was asked before."""
        self._seen = {name: len(one.requests) for name, one in self.emulators.items()}
        for name, one in self.emulators.items():
            one.script(*(said if name == model else ()))

    def asked(self, model: str) -> list[RecordedRequest]:
        """The requests that reached a model."""
        return self.emulators[model].requests[self._seen.get(model, 0) :]

    def check(self, model: str, at_least: int = 1) -> list[RecordedRequest]:
        """Every request went to this model, and none was refused; the requests."""
        told = {name: self.asked(name) for name in self.emulators}
        refused = [
            (name, one.verdict, one.error_body) for name, all_ in told.items() for one in all_ if not _taken(one)
        ]
        assert not refused, refused
        assert not [name for name, all_ in told.items() if all_ and name != model], "another model was asked"
        assert len(told[model]) >= at_least, f"{model} was asked {len(told[model])} times"
        return told[model]


def _taken(record: RecordedRequest) -> bool:
    return record.verdict == "accepted"


@contextmanager
def stage(folder: Path, *, models: Mapping[str, Mapping[str, Any]] | None = None, **options: Any) -> Iterator[Stage]:
    """Raise the stage; `models` are further entries of the configuration, `options` go to every emulator."""
    with ExitStack() as stack:
        emulators = {name: stack.enter_context(emulator(home, **options)) for name, (home, _) in HOMES.items()}
        running = stack.enter_context(gateway(_config(emulators, models or {}), folder))
        yield Stage(running, emulators)


def _config(emulators: Mapping[str, Emulator], models: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    providers = {name: provider(home, emulators[name].base_url) for name, (home, _) in HOMES.items()}
    named = {name: {"target": f"{name}/{model}"} for name, (_, model) in HOMES.items()}
    return {"providers": providers, "models": {**named, **models}}
