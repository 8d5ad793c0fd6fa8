"""A compiled request: what to send, where, what was changed, and the way back for its answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from dragoman.conversation.changes import Change, Undo
from dragoman.conversation.conversation import Ask, Conversation
from dragoman.engine.history.cuts import Cut
from dragoman.engine.history.trimming import TrimStatistics
from dragoman.profiles.facts import Facts
from dragoman.profiles.profile import NO_ENVELOPE, Envelope

if TYPE_CHECKING:
    from dragoman.engine.answer import Answer, AnswerStream


class Adapted(msgspec.Struct, frozen=True, dict=True):
    """What to send, where, and what was changed on the way.

    `wants` are URLs of media that the target cannot fetch: fetch them and adapt again with `media`. `answer` and
    `stream` translate what comes back. `ask` is the request that was read, `facts` what the target was known to accept.
    `trimmed` tells what was cut from a long history, `cut` where; keep it for the next turn.
    """

    body: bytes
    path: str
    headers: Mapping[str, str]
    changes: tuple[Change, ...]
    undo: Undo
    wants: tuple[str, ...]
    target: str
    dialect: str
    conversation: Conversation
    ask: Ask
    facts: Facts
    trimmed: TrimStatistics | None = None
    cut: Cut | None = None
    envelope: Envelope = NO_ENVELOPE

    @property
    def json(self) -> Any:
        """The body decoded, once."""
        if "_json" not in self.__dict__:
            self.__dict__["_json"] = msgspec.json.decode(self.body)
        return self.__dict__["_json"]

    def summary(self) -> str:
        """The report for people: the heaviest losses first, repetitions folded. `changes` has every entry."""
        from dragoman.engine.summary import render_summary

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

        `id` and `created` (seconds since 1970) stand in where the provider gives none.
        """
        from dragoman.engine.answer import answer_to  # to compile a request, nothing of an answer need be loaded

        return answer_to(self, body, status, headers or {}, id, created)

    def stream(self, *, id: str = "", created: int = 0) -> AnswerStream:
        """The provider's stream in the dialect of the request; one for each answer.

        Where the provider answers with an error status there is no stream: give its body to `answer`.
        """
        from dragoman.engine.answer import stream_of

        return stream_of(self, id, created)
