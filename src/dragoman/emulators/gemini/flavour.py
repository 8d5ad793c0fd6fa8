"""AI Studio and Vertex: two services with one API and different errors."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from dragoman.emulators.emulated_api import ProviderRefusal
from dragoman.emulators.gemini.messages import STUDIO, VERTEX, VERTEX_V1
from dragoman.emulators.gemini.proto import Table

_VERSION = re.compile(r"gemini-(\d+)(?:\.(\d+))?")


class GeminiRefusal(ProviderRefusal):
    """The first error of a request, in Google's words."""

    usual_kind = "INVALID_ARGUMENT"

    def __init__(self, message: str, status: int = 400, kind: str = "", details: list[Any] | None = None) -> None:
        super().__init__(message, status, kind)
        self.details = details or []


@dataclass(frozen=True, slots=True)
class Flavour:
    """One of the two services."""

    name: str
    package: str
    table: Table
    is_vertex: bool

    def field_refusal(self, path: str, sentence: str, vertex: str | None = None) -> GeminiRefusal:
        """A refusal of the field at a path. Vertex has its own sentence."""
        if self.is_vertex:
            return GeminiRefusal(f"Unable to submit request because {vertex or f'`{path}` is not valid: {sentence}'}")
        return GeminiRefusal(f"* GenerateContentRequest.{path}: {sentence}\n")


AI_STUDIO = Flavour("gemini", "google.ai.generativelanguage.v1beta", STUDIO, is_vertex=False)
ON_VERTEX = Flavour("vertex", "google.cloud.aiplatform.v1beta1", VERTEX, is_vertex=True)
ON_VERTEX_V1 = Flavour("vertex", "google.cloud.aiplatform.v1", VERTEX_V1, is_vertex=True)


@dataclass(frozen=True, slots=True)
class GeminiModel:
    """A Gemini model and its version. A name without one (`gemini-flash-latest`) accepts everything."""

    name: str
    version: tuple[int, int] | None

    def since(self, major: int, minor: int = 0) -> bool:
        return self.version is not None and self.version >= (major, minor)

    def before(self, major: int, minor: int = 0) -> bool:
        return self.version is not None and self.version < (major, minor)

    @property
    def needs_signatures(self) -> bool:
        """Gemini 3 requires thought signatures; its image models do not."""
        return self.since(3) and "image" not in self.name

    @property
    def signs_turns(self) -> bool:
        """The image models of Gemini 3 require a signature on the first part of a turn, and on each image."""
        return self.since(3) and "image" in self.name

    @property
    def thinks(self) -> bool:
        return not self.before(2, 5) or "thinking" in self.name

    @property
    def budgets(self) -> tuple[int, int, bool] | None:
        """The smallest and largest budget for thinking, and whether 0 turns it off; None if nobody knows."""
        if self.version == (3, 5) and "lite" in self.name:
            return (1, 1 << 30, False)  # its range is not known, only that it refuses 0
        if self.version != (2, 5) or "image" in self.name or "preview" in self.name:
            return None
        if "pro" in self.name:
            return (128, 32768, False)
        return (512, 24576, True) if "lite" in self.name else (1, 24576, True)

    @property
    def refused_levels(self) -> tuple[str, ...]:
        """The levels of thinking it refuses. XHIGH came with Gemini 4."""
        newest = ("XHIGH",) if self.before(4) else ()
        return ("MINIMAL", "MEDIUM", *newest) if self.version == (3, 0) and "pro" in self.name else newest


def model_of(name: str) -> GeminiModel:
    """The model of that name."""
    found = _VERSION.search(name)
    return GeminiModel(name, (int(found[1]), int(found[2] or 0)) if found else None)
