"""Renders conversations with a chat template, in a process that is limited in time and memory."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from dragoman.errors import TemplateError

Variables = Mapping[str, Any]

WORKER = Path(__file__).with_name("worker.py")
START_SECONDS = 60.0
"""For a process that has not begun. A busy machine takes long to start one; that says nothing about the template."""


class TemplateEngine(StrEnum):
    """What runs a template: jinja2, as nearly all servers have it, or the engine of llama.cpp, which differs in a few
    things."""

    JINJA2 = "jinja2"
    LLAMA_CPP = "llama.cpp"


class RenderLimits(msgspec.Struct, frozen=True):
    """What a template may use."""

    seconds: float = 2.0
    """Processor time for one conversation."""
    total: float = 60.0
    """Processor time for all conversations."""
    characters: int = 4_000_000
    """The longest prompt."""
    memory: int = 512 * 1024 * 1024
    """In bytes."""


class Rendering(msgspec.Struct, frozen=True):
    """What became of a conversation."""

    prompt: str | None = None
    """What the model would read."""
    refused: str | None = None
    """The words in which the template refuses it."""
    fault: str | None = None
    """An error inside the template."""
    limit: str | None = None
    """A limit that it ran into."""

    @property
    def ok(self) -> bool:
        return self.prompt is not None

    @property
    def says(self) -> str:
        """Why there is no prompt, in the template's own words if it has some."""
        return self.refused if self.refused is not None else self.fault or self.limit or ""


class TemplateRenderer:
    """One process for one template. Use it in a `with` block. `grace`: so many seconds after its own limit a process
    that does not answer is ended."""

    def __init__(
        self,
        template: str,
        variables: Variables | None = None,
        limits: RenderLimits | None = None,
        engine: TemplateEngine = TemplateEngine.JINJA2,
        grace: float = 5.0,
    ) -> None:
        if find_spec("jinja2") is None:
            raise TemplateError("a chat template needs jinja2", hint="pip install 'dragoman[gateway]'")
        self._template = template
        self._variables = dict(variables or {})
        self._limits = limits or RenderLimits()
        self._engine = engine
        self._grace = grace
        self._process: subprocess.Popen[bytes] | None = None
        self.renderings = 0
        self.ended = False

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def start(self) -> None:
        """Start the process. Raises TemplateError if the text is no template."""
        self._process = subprocess.Popen(  # noqa: S603 (our own program and nothing of the caller's)
            [sys.executable, "-P", "-s", str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "PYTHONIOENCODING": "utf-8"},
        )
        limits = self._limits
        setup = {
            "template": self._template,
            "engine": self._engine,
            "variables": self._variables,
            "memory": limits.memory,
            "processor": int(limits.total) + 1,
            "seconds": limits.seconds,
            "characters": limits.characters,
        }
        compiled = self._exchange(self._process, setup, START_SECONDS + limits.seconds)
        if not compiled.ok:
            self.close()
            raise TemplateError(f"this is no chat template that jinja2 can read: {compiled.says}")

    def render(self, variables: Variables) -> Rendering:
        """One conversation: `messages`, and what else the template is given."""
        if self._process is None:
            return Rendering(limit="it ran into its limits before")
        self.renderings += 1
        return self._exchange(self._process, variables, self._limits.seconds + self._grace)

    def close(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.communicate()

    def _exchange(self, process: subprocess.Popen[bytes], message: Variables, seconds: float) -> Rendering:
        """One line to the process and one back. It is ended if it does not answer in time."""
        timer = threading.Timer(seconds, process.kill)
        timer.start()
        try:
            reply = self._ask(process, message)
        finally:
            timer.cancel()
        if reply is None:
            self.ended = True
            self.close()
            return Rendering(limit="it ran into a limit of time or memory, and was ended")
        return msgspec.convert(reply, Rendering)

    def _ask(self, process: subprocess.Popen[bytes], message: Variables) -> dict[str, str] | None:
        if process.stdin is None or process.stdout is None:
            return None
        try:
            process.stdin.write(msgspec.json.encode(message) + b"\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except OSError:
            return None
        if not line.endswith(b"\n"):
            return None
        reply: dict[str, str] = msgspec.json.decode(line)
        return reply
