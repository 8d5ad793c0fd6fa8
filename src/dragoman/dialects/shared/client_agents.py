"""Which agent calls, and what it reads that others do not, or fails to read.

SDKs read the status and the headers of an error. Some agents do not: they end the turn at an HTTP error, and act on the
last event of a stream alone.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from dragoman.conversation.failures import Failure, FailureKind


class ClientAgent(msgspec.Struct, frozen=True):
    """What is known of an agent."""

    streamed_failures: frozenset[FailureKind] = frozenset()
    """Failures that it acts on only at the end of a stream."""
    longest_wait: float = 0.0
    """Seconds that it waits after such a failure. A longer wait is told as an error."""
    repeats_incomplete: bool = False
    """It sends a request again whose answer is incomplete."""
    reads_thinking_parts: bool = False
    """It reads thinking among the parts of the content of a Chat answer."""

    def acts_on_stream(self, failure: Failure) -> bool:
        """Whether a stream must tell this failure."""
        if failure.kind not in self.streamed_failures or (failure.retry_after or 0.0) > self.longest_wait:
            return False
        return failure.retryable or not failure.kind.retryable


USUAL_AGENT = ClientAgent()
_CODEX = ClientAgent(
    streamed_failures=frozenset({FailureKind.RATE_LIMIT, FailureKind.CONTEXT_LENGTH}),
    longest_wait=60.0,
    repeats_incomplete=True,
)
"""Codex ends its turn at every 429 and 400, and reads no header. After a `response.failed` it waits, if that names the
seconds, or shortens the conversation before the next turn. It repeats after `response.incomplete`
(codex-rs/codex-api/src/sse/responses.rs, 2026-08-22)."""

_MISTRAL = ClientAgent(reads_thinking_parts=True)
"""Mistral's SDKs, and its own agent: `mistral-client-python/3.7.0` (mistralai, custom_user_agent.py)."""
_AGENTS: tuple[tuple[str, str, ClientAgent], ...] = (
    ("originator", "codex", _CODEX),
    ("user-agent", "codex", _CODEX),
    ("user-agent", "mistral-client-", _MISTRAL),
    ("x-codex-window-id", "", _CODEX),  # an editor that runs Codex puts its own name into the two others
)
"""A header, how its value begins in small letters, and the agent that sends it."""


def find_agent(headers: Mapping[str, str]) -> ClientAgent:
    """The agent that sends these headers."""
    for name, beginning, agent in _AGENTS:
        if name in headers and headers[name].lower().startswith(beginning):
            return agent
    return USUAL_AGENT
