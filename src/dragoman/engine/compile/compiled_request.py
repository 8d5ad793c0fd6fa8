"""A compiled request: what to send, where, and what was changed on the way."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from dragoman.conversation.changes import Change, Undo
from dragoman.conversation.conversation import Ask, Conversation
from dragoman.engine.history.cuts import Cut
from dragoman.engine.history.trimming import TrimStatistics
from dragoman.engine.tool_runs.run_functions import WantedTool
from dragoman.profiles.facts import Facts
from dragoman.profiles.profile import NO_ENVELOPE, Envelope


class CompiledRequest(msgspec.Struct, frozen=True, dict=True):
    """What to send, where, and what was changed on the way."""

    body: bytes
    """The body to send."""
    path: str
    """The path to send it to, after the base URL of the provider."""
    headers: Mapping[str, str]
    """The headers to send with it. The key is yours to add."""
    changes: tuple[Change, ...]
    """What was changed, entry by entry."""
    undo: Undo
    """The names and ids that are mapped back in the answer."""
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
    added_members: Collection[str] = ()
    """Members of the body that the profile adds (internal)."""
    changes_beside: int = 0
    """How many repairs left messages and tools as they were, but for cache hints (internal)."""
    has_native_tools: bool = False
    """Some tools are those of a provider (internal)."""

    def __repr__(self) -> str:
        way = f"{self.ask.dialect} to {self.target}"
        return f"<{type(self).__name__}: {way}, {len(self.body)} bytes, {len(self.changes)} changes>"

    @property
    def json(self) -> Any:
        """The body decoded, once."""
        if "_json" not in self.__dict__:
            self.__dict__["_json"] = msgspec.json.decode(self.body)
        return self.__dict__["_json"]
