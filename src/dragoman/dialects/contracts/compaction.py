"""Compaction: a summary takes the place of a conversation."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

import msgspec

from dragoman.conversation.parts import Json
from dragoman.conversation.replies import Usage


class CompactionWay(StrEnum):
    """How a client asks that a summary takes the place of its conversation."""

    NOW = "now"
    """By a request that asks for nothing else."""
    THRESHOLD = "threshold"
    """By a number of tokens. The answer follows the summary."""
    ENDPOINT = "endpoint"
    """At a path of its own."""


class CarriedSummary(msgspec.Struct, frozen=True):
    """A summary that a client carries."""

    text: str
    whole: bool = False
    """It stands for all turns before it. Otherwise for all but the messages of the user."""


OpenSummary = Callable[[str, str | None], CarriedSummary | None]
"""Opens what is sealed; None if somebody else sealed it. The second text is the summary as the client has it, if its
dialect shows it. Raises for what is broken or changed, or not for this caller."""


class CompactionAsk(msgspec.Struct, frozen=True):
    """What a request says about compaction, and the request with the summaries in it that are ours opened."""

    model: str
    body: bytes
    """It still says what it says about compaction."""
    bare: bytes
    """It says nothing about compaction."""
    way: CompactionWay | None = None
    above: int = 0
    """The tokens above which a summary is due."""
    instructions: str = ""
    pauses: bool = False
    """Nothing follows the summary, although it was due by tokens."""


class Compactions(msgspec.Struct, frozen=True):
    """How a dialect asks for compaction, and how its clients carry a summary."""

    mark: bytes
    """Stands in every body that has to do with it."""
    parse: Callable[[bytes, OpenSummary], CompactionAsk]
    """Raises MalformedRequest."""
    render_item: Callable[[str, CarriedSummary, str, CompactionWay], Json]
    """The item or block, of an id, the summary, the same sealed, and the way in which it was asked for."""
    broken_code: str
    """The vendor's code for a summary that cannot be opened."""
    changed_code: str = ""
    """The vendor's code for a summary whose text was changed."""
    stop_word: str = ""
    """Why an answer ends that is nothing but a summary."""
    render_answer: Callable[[str, bytes, Json, Usage, int], bytes] | None = None
    """The answer at the path of its own: of an id, the request's body, the item, the usage and the time."""
