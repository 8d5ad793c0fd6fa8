"""The two manners of one API: AI Studio counts faults in bullet points, Vertex is unable to submit the request."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from dragoman.emulators.gemini.messages import STUDIO, VERTEX
from dragoman.emulators.gemini.proto import Table

_VERSION = re.compile(r"gemini-(\d+)(?:\.(\d+))?")


class Fault(Exception):
    """The first fault of a request, in Google's words."""

    def __init__(
        self, message: str, status: int = 400, word: str = "INVALID_ARGUMENT", details: list[Any] | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.word = word
        self.details = details or []


@dataclass(frozen=True, slots=True)
class Manner:
    """How one of the two services differs from the other."""

    name: str
    package: str
    table: Table
    is_vertex: bool

    def field_fault(self, path: str, sentence: str, vertex: str | None = None) -> Fault:
        """A fault of a field: by its path, or as a sentence that begins as Vertex begins."""
        if self.is_vertex:
            return Fault(f"Unable to submit request because {vertex or f'`{path}` is not valid: {sentence}'}")
        return Fault(f"* GenerateContentRequest.{path}: {sentence}\n")


AI_STUDIO = Manner("gemini", "google.ai.generativelanguage.v1beta", STUDIO, is_vertex=False)
ON_VERTEX = Manner("vertex", "google.cloud.aiplatform.v1beta1", VERTEX, is_vertex=True)


@dataclass(frozen=True, slots=True)
class Model:
    """A Gemini model by its version; a name without one (`gemini-flash-latest`) is given the benefit of the doubt."""

    name: str
    version: tuple[int, int] | None

    def since(self, major: int, minor: int = 0) -> bool:
        return self.version is not None and self.version >= (major, minor)

    def before(self, major: int, minor: int = 0) -> bool:
        return self.version is not None and self.version < (major, minor)

    @property
    def needs_signatures(self) -> bool:
        """Gemini 3 insists on thought signatures; its image models do not."""
        return self.since(3) and "image" not in self.name

    @property
    def thinks(self) -> bool:
        return not self.before(2, 5) or "thinking" in self.name


def model_of(name: str) -> Model:
    """The model behind a name."""
    found = _VERSION.search(name)
    return Model(name, (int(found[1]), int(found[2] or 0)) if found else None)
