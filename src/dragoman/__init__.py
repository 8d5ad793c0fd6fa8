"""Dragoman: any conversation works on any model, and nothing is changed behind your back.

    adapted = dragoman.adapt(request, target="anthropic/claude-sonnet-4-6")
    adapted.body, adapted.path, adapted.changes        # send it as you like, then:
    adapted.answer(response.content, response.status_code).json

    dragoman.lint(request, targets=["gemini/gemini-2.5-flash"])

What is listed here in `__all__` is the public API, with the modules `dragoman.errors`, `dragoman.events`,
`dragoman.parts`, `dragoman.asgi`, `dragoman.integrations.asgi` and `dragoman.testing`. All other modules are internal
and may change at any time.

Everything is loaded when it is first used: importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dragoman import errors, events, parts
    from dragoman.conversation.changes import Change, ChangeKind, LossName, Undo
    from dragoman.conversation.dialect_names import DialectName, SourceName
    from dragoman.conversation.failures import Failure, FailureKind
    from dragoman.conversation.replies import Choice, Reply, Stop, Usage
    from dragoman.engine.compile.request_limits import RequestLimits
    from dragoman.engine.history.cuts import Cut
    from dragoman.engine.history.trim_policy import TrimPolicy
    from dragoman.engine.history.trimming import TrimStatistics
    from dragoman.engine.library.adapt import Request, adapt
    from dragoman.engine.library.adapted import AdaptedRequest
    from dragoman.engine.library.answer import Answer, AnswerStream
    from dragoman.engine.library.lint import Finding, Severity, lint
    from dragoman.engine.library.policy import Policy, State
    from dragoman.engine.library.report_summary import ReportCounts
    from dragoman.integrations.sdk_transport import AsyncDragomanTransport, DragomanTransport
    from dragoman.profiles.doubts import DoubtName
    from dragoman.profiles.profile import Profiles

__version__ = "0.1.0"

__all__ = [
    "AdaptedRequest",
    "Answer",
    "AnswerStream",
    "AsyncDragomanTransport",
    "Change",
    "ChangeKind",
    "Choice",
    "Cut",
    "DialectName",
    "DoubtName",
    "DragomanTransport",
    "Failure",
    "FailureKind",
    "Finding",
    "LossName",
    "Policy",
    "Profiles",
    "Reply",
    "ReportCounts",
    "Request",
    "RequestLimits",
    "Severity",
    "SourceName",
    "State",
    "Stop",
    "TrimPolicy",
    "TrimStatistics",
    "Undo",
    "Usage",
    "__version__",
    "adapt",
    "errors",
    "events",
    "lint",
    "parts",
]

_HOMES = {
    "dragoman.conversation.changes": ("Change", "ChangeKind", "LossName", "Undo"),
    "dragoman.conversation.dialect_names": ("DialectName", "SourceName"),
    "dragoman.conversation.failures": ("Failure", "FailureKind"),
    "dragoman.conversation.replies": ("Choice", "Reply", "Stop", "Usage"),
    "dragoman.engine.library.adapt": ("Request", "adapt"),
    "dragoman.engine.library.adapted": ("AdaptedRequest",),
    "dragoman.engine.library.answer": ("Answer", "AnswerStream"),
    "dragoman.engine.history.cuts": ("Cut",),
    "dragoman.engine.history.trim_policy": ("TrimPolicy",),
    "dragoman.engine.history.trimming": ("TrimStatistics",),
    "dragoman.engine.library.lint": ("Finding", "Severity", "lint"),
    "dragoman.engine.library.policy": ("Policy", "State"),
    "dragoman.engine.library.report_summary": ("ReportCounts",),
    "dragoman.engine.compile.request_limits": ("RequestLimits",),
    "dragoman.integrations.sdk_transport": ("AsyncDragomanTransport", "DragomanTransport"),
    "dragoman.profiles.doubts": ("DoubtName",),
    "dragoman.profiles.profile": ("Profiles",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in ("errors", "events", "parts"):
        return import_module(f"dragoman.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'dragoman' has no attribute {name!r}")
    found = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
