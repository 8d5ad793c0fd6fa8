"""A compiled request: what to send, where, what was changed, and the way back for its answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from dragoman.conversation.changes import Change, Undo
from dragoman.conversation.conversation import Ask, Conversation
from dragoman.engine.compile.run_functions import WantedTool
from dragoman.engine.history.cuts import Cut
from dragoman.engine.history.trimming import TrimStatistics
from dragoman.profiles.facts import Facts
from dragoman.profiles.profile import NO_ENVELOPE, Envelope

if TYPE_CHECKING:
    from dragoman.engine.library.answer import Answer, AnswerStream


class AdaptedRequest(msgspec.Struct, frozen=True, dict=True):
    """What to send, where, and what was changed on the way. `answer` and `stream` translate what comes back."""

    body: bytes
    """The body to send."""
    path: str
    """The path to send it to, after the base URL of the provider."""
    headers: Mapping[str, str]
    """The headers to send with it. The key is yours to add."""
    changes: tuple[Change, ...]
    """What was changed, entry by entry."""
    undo: Undo
    """The names and ids that `answer` and `stream` map back."""
    media_to_fetch: tuple[str, ...]
    """URLs of media that the target cannot fetch: fetch them and adapt again with `State(media=…)`."""
    target: str
    """The target, as `PROFILE/MODEL`."""
    dialect: str
    """The dialect of the body."""
    conversation: Conversation
    """The conversation as it is sent (internal)."""
    ask: Ask
    """The request that was read (internal)."""
    facts: Facts
    """What the target is known to accept (internal)."""
    trimmed: TrimStatistics | None = None
    """How much was cut from a long history; None: nothing."""
    cut: Cut | None = None
    """Where the history was cut. `State.after` keeps it for the next turn."""
    envelope: Envelope = NO_ENVELOPE
    """What a gateway in between wraps around the body (internal)."""
    tools_to_run: tuple[WantedTool, ...] = ()
    """Tools of a provider that the target lacks, and that a gateway could run (internal)."""

    def __repr__(self) -> str:
        way = f"{self.ask.dialect} to {self.target}"
        return f"<AdaptedRequest: {way}, {len(self.body)} bytes, {len(self.changes)} changes>"

    @property
    def json(self) -> Any:
        """The body decoded, once."""
        if "_json" not in self.__dict__:
            self.__dict__["_json"] = msgspec.json.decode(self.body)
        return self.__dict__["_json"]

    def summary(self) -> str:
        """The report for people: the heaviest losses first, repetitions folded. `changes` has every entry."""
        from dragoman.engine.library.report_summary import render_summary

        return render_summary(self.changes)

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
        from dragoman.engine.library.answer import (
            answer_to,  # to compile a request, nothing of an answer need be loaded
        )

        return answer_to(self, body, status, headers or {}, id=id, created=created)

    def stream(self, *, id: str = "", created: int = 0) -> AnswerStream:
        """The provider's stream in the dialect of the request; one for each answer.

        If the provider answers with an error status, there is no stream: give its body to `answer`.
        """
        from dragoman.engine.library.answer import stream_of

        return stream_of(self, id, created)
