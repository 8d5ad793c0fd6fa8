"""Dragoman: any conversation works on any model, and nothing is changed behind your back.

    adapted = dragoman.adapt(request, source="openai-chat", target="anthropic/claude-sonnet-4-6")
    adapted.body, adapted.path, adapted.changes        # send it as you like, then:
    adapted.answer(response.content, response.status_code).json

    dragoman.lint(request, source="openai-chat", targets=["gemini/gemini-2.5-flash"])

Everything is loaded when it is first used: importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dragoman import errors
    from dragoman.conversation.changes import Change, LossName
    from dragoman.conversation.dialect_names import DialectName, SourceName
    from dragoman.engine.adapt import Adapted, adapt
    from dragoman.engine.answer import Answer, AnswerStream
    from dragoman.engine.history.policy import TrimPolicy
    from dragoman.engine.lint import Finding, lint
    from dragoman.profiles.profile import Profiles

__version__ = "0.1.0"

__all__ = [
    "Adapted",
    "Answer",
    "AnswerStream",
    "Change",
    "DialectName",
    "Finding",
    "LossName",
    "Profiles",
    "SourceName",
    "TrimPolicy",
    "__version__",
    "adapt",
    "errors",
    "lint",
]

_HOMES = {
    "Adapted": "dragoman.engine.adapted",
    "Answer": "dragoman.engine.answer",
    "AnswerStream": "dragoman.engine.answer",
    "Change": "dragoman.conversation.changes",
    "DialectName": "dragoman.conversation.dialect_names",
    "Finding": "dragoman.engine.lint",
    "LossName": "dragoman.conversation.changes",
    "Profiles": "dragoman.profiles.profile",
    "SourceName": "dragoman.conversation.dialect_names",
    "TrimPolicy": "dragoman.engine.history.policy",
    "adapt": "dragoman.engine.adapt",
    "lint": "dragoman.engine.lint",
}


def __getattr__(name: str) -> Any:
    if name == "errors":
        return import_module("dragoman.errors")
    if name not in _HOMES:
        raise AttributeError(f"module 'dragoman' has no attribute {name!r}")
    found = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
