"""What a rule knows in addition to the conversation: the target's facts, and what was chosen for this request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from dragoman.conversation.provider_tools import Family, ProviderToolCodec
from dragoman.profiles.facts import Facts

TEXTS: dict[str, str] = {
    "leading_user": "[autonomous processing]",
    "trailing_user": "Please continue.",
    "no_user_turn": "Please continue.",
    "empty_content": "(empty)",
    "missing_tool_result": "[no result was recorded for this call]",
    "bridge": "Understood.",
    "system_prefix": "[System] ",
    "json_word": "Answer in JSON.",
    "answer_json": "Answer with one JSON object and nothing else.",
    "answer_schema": "Answer with JSON that follows this JSON schema, and with nothing else: ",
    "single_call": "Call at most one tool at a time.",
}
"""The words of synthetic turns, by the reason for them. Each can be configured."""


def _no_codec(dialect: str) -> ProviderToolCodec | None:
    return None


class Context(msgspec.Struct, frozen=True):
    """What a rule may know besides the conversation."""

    facts: Facts
    """The target's facts, with every doubt decided."""
    choices: Mapping[str, Any] = {}
    """The option chosen for a rule, by its name."""
    texts: Mapping[str, str] = {}
    """The configured words of synthetic turns."""
    media: Mapping[str, bytes] = {}
    """The bytes that the caller has fetched, by URL."""
    streams: bool = False
    """The answer is asked for as a stream."""
    translated: bool = False
    """The client speaks another dialect."""
    expects_reasoning: bool = False
    """The client speaks another dialect, and expects to be shown the thinking."""
    answer: int | None = None
    """Which one of several answers is asked for, each of which is a request of its own. None: all of them."""
    runs: frozenset[Family] = frozenset()
    """Tools that the gateway runs itself, if the target cannot."""
    tool_codec: Callable[[str], ProviderToolCodec | None] = _no_codec
    """How a dialect, by its name, writes tools that its provider runs; None if it has none."""

    def choice(self, rule: str) -> Any:
        """The option chosen for a rule, or None if nobody chose."""
        return self.choices.get(rule)

    def text(self, reason: str) -> str:
        """The words of a synthetic turn."""
        return self.texts.get(reason) or TEXTS[reason]
