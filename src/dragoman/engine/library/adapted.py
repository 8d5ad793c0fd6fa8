"""A compiled request with the way back: what `adapt` returns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec.structs import astuple

from dragoman.engine.compile.compiled_request import CompiledRequest

if TYPE_CHECKING:
    from dragoman.engine.library.answer import Answer, AnswerStream
    from dragoman.engine.library.report_summary import ReportCounts


class AdaptedRequest(CompiledRequest, frozen=True, dict=True):
    """What to send, where, and what was changed on the way. `answer` and `stream` translate what comes back.

    What they need is loaded with the first answer: to compile a request takes nothing of it.
    """

    def summary(self) -> str:
        """The report for people: the heaviest losses first, repetitions folded. `changes` has every entry."""
        from dragoman.engine.library.report_summary import render_summary

        return render_summary(self.changes)

    def counts(self) -> ReportCounts:
        """The report in numbers: the profile, the messages before and after, and how often each rule did something."""
        from dragoman.engine.library.report_summary import count_report

        return count_report(self, self.target.partition("/")[0])

    def answer(
        self,
        body: bytes,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        *,
        id: str = "",
        created: int = 0,
    ) -> Answer:
        """The provider's whole answer, or its refusal, in the dialect of the request.

        `id` and `created` (seconds since 1970) stand in if the provider gives none.
        """
        from dragoman.engine.library.answer import answer_to

        return answer_to(self, body, status, headers or {}, id=id, created=created)

    def stream(self, *, id: str = "", created: int = 0) -> AnswerStream:
        """The provider's stream in the dialect of the request; one for each answer.

        If the provider answers with an error status, there is no stream: give its body to `answer`.
        """
        from dragoman.engine.library.answer import stream_of

        return stream_of(self, id, created)


def make_adapted(compiled: CompiledRequest) -> AdaptedRequest:
    """A compiled request with what translates its answer."""
    return AdaptedRequest(*astuple(compiled))
