"""An exchange under way, as its recovery and its parts see it: what is known of it, and the verbs that they call."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Container
from typing import Generic, Self

from dragoman.conversation.changes import Change
from dragoman.conversation.conversation import Ask
from dragoman.conversation.failures import Failure
from dragoman.conversation.provider_tools import Family, McpServer
from dragoman.dialects.dialect import AnswerContext
from dragoman.engine.answer.joined_answers import ChoiceWriter, RoundWriter
from dragoman.engine.compile.compiled_request import CompiledRequest
from dragoman.engine.exchange.destination import D, TargetRoute
from dragoman.engine.exchange.named_prompt import NamedPrompt
from dragoman.engine.exchange.steps import Send, Step
from dragoman.engine.exchange.target_attempt import Attempts, TargetAttempt
from dragoman.engine.history.compaction import UsedSummary
from dragoman.engine.tool_runs.tool_rounds import FinishedRun


class OpenExchange(ABC, Generic[D]):
    """What the parts of an exchange read and change."""

    ask: Ask
    context: AnswerContext
    attempts: Attempts
    route: TargetRoute[D]
    left: tuple[D, ...]
    """The destinations that were not asked yet."""
    visit: TargetAttempt[D]
    """The destination that is being asked, and how far that has come."""
    destination: D | None = None
    """The one that was asked last."""
    request: CompiledRequest | None = None
    """What it was sent."""
    changes: tuple[Change, ...] = ()
    """What was changed in that."""
    failure: Failure | None = None
    lessons: tuple[str, ...] = ()
    """The corrections that were tried."""
    parts: tuple[OpenExchange[D], ...] = ()
    """The exchanges that ask for one answer each, if the client wants several and the target gives one; or for one
    round each, if tools are run for the answer."""
    runs: tuple[FinishedRun, ...] = ()
    """The tools that were run after this round."""
    offered: tuple[McpServer, ...] = ()
    """Servers whose tools the model is given, though the client does not name them."""
    runnable: Container[Family] = ()
    """What the gateway runs for the caller, if the target lacks it."""
    prompt: NamedPrompt[D] | None = None
    """What the request has to do with prompts that are stored; set if the first choice may have any."""
    given_summary: UsedSummary | None = None
    """A summary that takes the place of the beginning for every destination, because the client asked for one."""

    @abstractmethod
    def prepare(self) -> Step[D]:
        """The next send, or what is needed for it."""

    @abstractmethod
    def send(self, request: CompiledRequest) -> Send[D]:
        """Have this sent to the destination that is being asked."""

    @abstractmethod
    def open_part(
        self,
        context: AnswerContext,
        write: Callable[[AnswerContext], ChoiceWriter | RoundWriter],
        ask: Ask | None = None,
        *,
        answer: int | None = None,
    ) -> Self:
        """The exchange for a part of the answer."""
