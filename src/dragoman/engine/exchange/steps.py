"""What an exchange asks its driver to do, and how it ends: one small value for each, and the table of what follows.

A driver answers a step with one of the verbs that `STEPS` has for it, and gets the next step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any, Generic

import msgspec

from dragoman.conversation.failures import Failure
from dragoman.conversation.provider_tools import ProviderTool
from dragoman.engine.answer.translation import Translation
from dragoman.engine.compile.compiled_request import CompiledRequest
from dragoman.engine.compile.reasoning_restore import KeptParts
from dragoman.engine.exchange.destination import D
from dragoman.engine.history.calibration import AS_ESTIMATED, CountedTokens, TokenScale
from dragoman.engine.history.compaction import PrefixSummary
from dragoman.engine.history.cuts import Cut
from dragoman.engine.history.prompt_digests import PromptDigests
from dragoman.engine.history.sent_prompts import SentBefore
from dragoman.engine.tool_runs.approvals import WantedRun
from dragoman.errors import RequestError

FoundSummary = tuple[str, PrefixSummary]
"""A summary, and the key under which it was kept."""


class Choose(msgspec.Struct, Generic[D], frozen=True, gc=False):
    """Say which of these is asked next: the driver knows their health, keys and lessons."""

    candidates: tuple[D, ...]


class Recall(msgspec.Struct, frozen=True, gc=False):
    """Look up all that was kept for this caller and that the request may need.

    Keys are made as they are read: a driver that keeps nothing does not pay for them.
    """

    provider: str = ""
    """Whose state is wanted; empty if none is."""
    scope: str = ""
    """How far that state may travel."""
    keys: Iterable[str] = ()
    """The keys of the state, the latest first."""
    summaries: Iterable[str] = ()
    """The keys of summaries; the first one that has any is wanted."""
    cuts: Callable[[FoundSummary | None], Iterable[str]] | None = None
    """The keys of cuts of a history that begins with this summary; the first one that has any is wanted."""
    calibration: str = ""
    """Under which it is kept, for all callers, how the model counts; empty if that is not wanted."""
    prompt: PromptDigests | None = None
    """What is sent now; how much of it was sent before is wanted."""
    runs: Iterable[str] = ()
    """The ids of blocks that may tell of tools that the gateway ran."""
    session: str = ""
    """The client's name for the session, if a name that tells nothing is wanted for it."""


class Recalled(msgspec.Struct, frozen=True, gc=False):
    """What a `Recall` has found."""

    kept: Mapping[str, KeptParts] = {}
    """State, by its key."""
    summary: FoundSummary | None = None
    cut: Cut | None = None
    scale: TokenScale = AS_ESTIMATED
    """How the model counts."""
    sent_before: SentBefore = SentBefore.UNKNOWN
    """How much of the prompt was sent before."""
    runs: Mapping[str, KeptParts] = {}
    """What the model saw of tools that the gateway ran, by the ids of blocks."""
    session: str = ""
    """The name for the session, always the same one."""


NOTHING_RECALLED = Recalled()


class FetchMedia(msgspec.Struct, frozen=True, gc=False):
    """Fetch these: the target does not take them by URL. What cannot be had is left out."""

    urls: tuple[str, ...]


class ListTools(msgspec.Struct, frozen=True, gc=False):
    """Say which of these tools can be run here for the caller: the target lacks them. Of a server, its tools are
    wanted."""

    tools: tuple[ProviderTool, ...]
    approved: tuple[WantedRun, ...] = ()
    """Calls of an earlier answer that the client has approved since: run them, too."""


class Send(msgspec.Struct, Generic[D], frozen=True, gc=False):
    """POST `request.body` to `request.path` of the destination, signed with its n-th key."""

    destination: D
    key: int
    request: CompiledRequest


class SendAll(msgspec.Struct, Generic[D], frozen=True, gc=False):
    """Carry out the `parts` of the exchange side by side: each gets one of the answers that the client wants."""

    destination: D
    """The one that was chosen, and has room for none of them yet."""


class SendRounds(msgspec.Struct, Generic[D], frozen=True, gc=False):
    """Carry out the first part, ask the exchange's `split` by `round_ended` which tools it calls, run them and tell
    `ran`: that gives the exchange of the next round. A provider that runs tools itself may have paused: then there are
    none to run."""

    destination: D
    """The one that was chosen, and has room for no round yet."""


class AttemptFailed(msgspec.Struct, Generic[D]):
    """Note what became of this send; nothing has reached the client."""

    destination: D
    key: int
    request: CompiledRequest
    failure: Failure
    at: float = 0.0
    """When it failed, by the driver's clock."""
    waited: float = 0.0
    """The seconds of waiting after it."""


class Wait(msgspec.Struct, frozen=True, gc=False):
    """Wait so many seconds."""

    seconds: float


class Answered(msgspec.Struct, frozen=True, gc=False):
    """The end: the client's whole answer."""

    body: bytes


class Streaming(msgspec.Struct, frozen=True, gc=False):
    """The client's answer begins; nothing can be tried again."""

    first: bytes
    """Its first bytes."""
    translation: Translation
    """Gets the rest, and is closed."""
    over: bool
    """Whether the upstream's stream has ended already."""


class StreamingAll(msgspec.Struct, frozen=True, gc=False):
    """The client's answer begins with `first`, of whichever exchange of a `SendAll` or a `SendRounds`; pass on what
    comes of all."""

    first: bytes


class GaveUp(msgspec.Struct, frozen=True, gc=False):
    """The end: the failure that the client gets."""

    failure: Failure
    fault: RequestError | None = None
    """Set if no target could be asked at all."""


class Reading(Enum):
    """How the body of an answer is read: `WHOLE` or as an `ERROR` (`body`), or piece by piece (`piece`)."""

    WHOLE = "whole"
    ERROR = "error"
    PIECES = "pieces"


class StateToKeep(msgspec.Struct, frozen=True, gc=False):
    """What the next turn of the conversation needs and the client cannot carry; found again by a `Recall`."""

    provider: str
    scope: str
    states: Mapping[str, KeptParts] = {}
    """State, by its key."""
    cut: tuple[str, Cut] | None = None
    """The cut that was made, and its key."""
    calibration: str = ""
    """The key of how the model counts; empty if the provider has not counted."""
    count: Callable[[], CountedTokens | None] | None = None
    """Estimates the tokens beside the provider's count. It takes time."""
    runs: Mapping[str, KeptParts] = {}
    """What the model saw of tools that the gateway ran, by the ids that the client was shown. It belongs to no
    provider."""


End = Answered | Streaming | StreamingAll | GaveUp
Step = (
    Choose[D] | Recall | FetchMedia | ListTools | Send[D] | SendAll[D] | SendRounds[D] | AttemptFailed[D] | Wait | End
)
ENDS = (Answered, Streaming, StreamingAll, GaveUp)


class StepRow(msgspec.Struct, frozen=True):
    """One row of the table of steps."""

    step: type[Any] | None
    """None: nothing has been asked yet."""
    driver: str
    """What the driver does."""
    verbs: Mapping[str, tuple[type[Any] | None, ...]]
    """What it tells the exchange, and the steps that may follow; None: there is nothing more to do."""


_NEXT_SEND = (FetchMedia, ListTools, Send, SendAll, SendRounds, Choose, GaveUp)
"""What follows once all that is remembered is known: the request is compiled, or cannot be."""

STEPS: tuple[StepRow, ...] = (
    StepRow(None, "has a request and where it may go", {"start": (Choose,)}),
    StepRow(Choose, "picks a destination by its health, and a key", {"chosen": (Recall, *_NEXT_SEND)}),
    StepRow(Recall, "looks up state, summary, cut and calibration", {"recalled": _NEXT_SEND}),
    StepRow(
        FetchMedia,
        "fetches what the target does not take by URL",
        {"fetched": (ListTools, Send, SendAll, SendRounds, Choose, GaveUp)},
    ),
    StepRow(
        ListTools,
        "says which tools it can run, and lists those of servers",
        {"listed": (Send, SendRounds, Choose, GaveUp)},
    ),
    StepRow(
        SendAll,
        "carries out exchanges side by side",
        {"joined": (Answered, StreamingAll, GaveUp), "unsent": (Choose, GaveUp)},
    ),
    StepRow(
        SendRounds,
        "carries out an exchange, runs the tools that it calls, and goes on, also if the provider has paused",
        {"joined": (Answered, StreamingAll, GaveUp)},
    ),
    StepRow(
        Send,
        "sends the body, and reads as `head` says",
        {
            "body": (Answered, AttemptFailed, Send),
            "piece": (Streaming, AttemptFailed),
            "failed": (AttemptFailed,),
            "unsent": (Choose, GaveUp),
        },
    ),
    StepRow(
        AttemptFailed,
        "notes the failure, draws a number",
        {"resume": (Wait, *[one for one in _NEXT_SEND if one not in (ListTools, SendRounds)])},
    ),
    StepRow(Wait, "waits", {"resume": (Send,)}),
    StepRow(Streaming, "passes the stream on", {"stream_ended": (None, AttemptFailed)}),
    StepRow(StreamingAll, "passes the streams on as they come", {}),
    StepRow(Answered, "gives the client its answer", {}),
    StepRow(GaveUp, "gives the client the failure", {}),
)
"""All steps: what the driver does, and what may follow. `docs/theory/exchange.md` shows it."""
