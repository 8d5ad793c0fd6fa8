"""What a caller of `adapt` allows, and what it brings along from earlier turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from dragoman.conversation.changes import Loss, LossName
from dragoman.engine.compile.reasoning_restore import KeptParts
from dragoman.engine.compile.request_limits import DEFAULT_LIMITS, RequestLimits
from dragoman.engine.history.cuts import Cut
from dragoman.engine.history.trim_policy import TrimPolicy
from dragoman.engine.memory.conversation_memory import ConversationMemory
from dragoman.errors import OptionError, near_match
from dragoman.profiles.doubts import Doubt, DoubtName
from dragoman.rules import BY_NAME
from dragoman.rules.rule import FAIL, KEEP

if TYPE_CHECKING:
    from dragoman.engine.library.answer import Answer, AnswerStream


class Policy(msgspec.Struct, frozen=True, kw_only=True, repr_omit_defaults=True):
    """What may be done to a request. Raises OptionError if a name in it is not known."""

    rules: Mapping[str, Any] = {}
    """What rules do, by their names: one of the rule's options, `keep` or `fail`."""
    max_loss: LossName = "content"
    """The heaviest loss that is allowed. A request that needs a heavier one raises RepairRefused."""
    synthetic: bool = True
    """Whether turns may be made up if the target cannot do without them."""
    doubt: DoubtName = "faithful"
    """Whether what a target may refuse, but nobody knows, is left alone (`faithful`) or repaired (`careful`)."""
    history: TrimPolicy | None = None
    """How a long conversation is trimmed; None: not at all."""
    limits: RequestLimits = DEFAULT_LIMITS
    """How much a request may hold. Beyond it, LimitExceeded is raised."""

    def __post_init__(self) -> None:
        for name, choice in self.rules.items():
            check_choice(name, choice)
        parse_loss(self.max_loss)
        parse_doubt(self.doubt)


class State(msgspec.Struct, frozen=True, kw_only=True):
    """What you bring to a request from earlier turns, and what you have fetched for it."""

    reasoning_state: Mapping[str, KeptParts] = {}
    """What models signed or sealed, if the dialect of your request cannot carry it; by the call or answer it is of."""
    cuts: Sequence[Cut] = ()
    """Where the history was cut on earlier turns, so that the same beginning is cut in the same way."""
    media: Mapping[str, bytes] = {}
    """The bytes of media that the target does not fetch itself, by URL (`AdaptedRequest.media_to_fetch`)."""
    memory: ConversationMemory | None = None
    """What was read and compiled of the same conversations on earlier turns. It changes nothing but the time."""

    def after(self, answer: Answer | AnswerStream) -> State:
        """The state for the next turn. A stream must be finished."""
        cut = answer.request.cut
        return State(
            reasoning_state={**self.reasoning_state, **answer.reasoning_state},
            cuts=self.cuts if cut is None or cut in self.cuts else (*self.cuts, cut),
            media=self.media,
            memory=self.memory,
        )

    def __repr__(self) -> str:
        return f"<State: {len(self.reasoning_state)} of reasoning, {len(self.cuts)} cuts, {len(self.media)} media>"


def check_kind(name: str, given: object, kind: type[Policy | State]) -> None:
    """Raise TypeError if an argument is something else, such as a dict."""
    if not isinstance(given, kind):
        wanted = f"dragoman.{kind.__name__}"
        raise TypeError(f"{name} must be a {wanted}, not a {type(given).__name__}; write {name}={wanted}(…)")


def check_choice(name: str, choice: Any) -> None:
    """Raise OptionError if a rule or its option is not known."""
    if name not in BY_NAME:
        raise OptionError(f'no rule is called "{name}". {near_match(name, BY_NAME)}', hint="see `dragoman rules`")
    rule = BY_NAME[name]
    if rule.parse is not None:
        rule.parse(choice)
        return
    options = (*rule.options, KEEP, FAIL)
    if choice not in options and not rule.free:
        raise OptionError(f'{name} cannot be "{choice}". {near_match(str(choice), options)}')


def parse_loss(name: str) -> Loss:
    try:
        return Loss[name.upper()]
    except KeyError:
        raise OptionError(f'max_loss cannot be "{name}". {near_match(name, [str(one) for one in Loss])}') from None


def parse_doubt(name: str) -> Doubt:
    try:
        return Doubt(name)
    except ValueError:
        raise OptionError(f'doubt cannot be "{name}". {near_match(name, list(Doubt))}') from None
