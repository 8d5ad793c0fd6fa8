"""How the model is asked to answer: one value per meaning, whatever the dialects call it."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from dragoman.conversation.parts import Json
from dragoman.conversation.tools import ToolChoice

Number = int | float


class Effort(StrEnum):
    """How hard to think, in rising order."""

    NONE = "none"
    MINIMAL = "minimal"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    XHIGH = "xhigh"
    ULTRA = "ultra"
    MAX = "max"


BUDGETS: dict[Effort, int] = {
    Effort.NONE: 0,
    Effort.MINIMAL: 1_024,
    Effort.LOW: 2_048,
    Effort.MEDIUM: 8_192,
    Effort.HIGH: 16_384,
    Effort.XHIGH: 32_768,
    Effort.ULTRA: 49_152,
    Effort.MAX: 65_536,
}
"""What an effort is worth in tokens, if a target counts. MAX is cut to the token limit less one."""


def effort_of(budget: int) -> Effort:
    """The nearest effort that does not cost more than the budget."""
    fitting = [effort for effort, cost in BUDGETS.items() if cost <= budget]
    return fitting[-1] if fitting else Effort.NONE


EFFORT_ALONE = "effort"
"""The form of an effort that is no wish to think (Claude's `output_config`)."""
EFFORT_INSIDE = "effort-inside"
"""The form of an effort among the fields for the model, next to Claude's thinking (Bedrock's `reasoning_effort`)."""

EFFORT_CONFIG = "reasoningConfig"
"""The form of an effort that is an object of its own among the fields for the model (Nova's, on Bedrock)."""


SUMMARY = "auto"
"""The kind of summary to ask for if a client does not say which: the most detailed one that the model has."""


class Thinking(msgspec.Struct, frozen=True, gc=False):
    """One reasoning intent."""

    on: bool | None = None
    """None if the client only named an effort or a budget."""
    adaptive: bool = False
    """Whether the model decides how much."""
    effort: Effort | None = None
    budget: int | None = None
    """In tokens; -1: the provider decides."""
    visible: bool | None = None
    """Show the thoughts."""
    summary: str | None = None
    """The kind of summary asked for."""
    wire_form: str = ""
    """Which of its dialect's ways it was written in."""


class FormatKind(StrEnum):
    TEXT = "text"
    JSON = "json"
    SCHEMA = "schema"


EARLY_FORMAT = "output_format"
"""The member of a beta of Anthropic's for what `output_config` says by now; also the `wire_form` of such a format."""
UNNAMED = "response"
"""The name of an answer's schema if the client gave none and the target demands one."""


class ResponseFormat(msgspec.Struct, frozen=True, gc=False):
    """The form of the answer: text, any JSON, or JSON by a schema."""

    kind: FormatKind
    schema: Json | None = None
    name: str = ""
    description: bytes | None = None
    strict: bool | None = None
    wire_form: str = ""
    """Which of its dialect's ways it was written in."""


class Settings(msgspec.Struct, frozen=True, gc=False):
    """What a request asks for beside its messages and tools."""

    max_tokens: int | None = None
    temperature: Number | None = None
    top_p: Number | None = None
    top_k: Number | None = None
    min_p: Number | None = None
    stop: tuple[bytes, ...] = ()
    seed: int | None = None
    frequency_penalty: Number | None = None
    presence_penalty: Number | None = None
    n: int | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    thinking: Thinking | None = None
    tool_choice: ToolChoice | None = None
    parallel_tool_calls: bool | None = None
    response_format: ResponseFormat | None = None
    verbosity: str | None = None
    user: str | None = None
    metadata: Json | None = None
    service_tier: str | None = None
    store: bool | None = None
    reasoning_state: bool | None = None
    """Whether the answer should carry the encrypted state of its thinking."""
    prompt_cache_key: str | None = None
    limit_as: str = ""
    """What the client called the token limit."""
    seed_as: str = ""
    stop_listed: bool = True
    nulls: tuple[str, ...] = ()
    """Top-level keys that it wrote as null, which means their absence."""


EFFORT_FIELD = "reasoning_effort"
"""The top-level field that holds an effort and nothing else."""
UNSAID_EFFORT = b'"default"'
"""An effort that leaves it to the model. Targets with a list of efforts take it if their profile says so."""
SWITCH_FIELD = "enable_thinking"
"""The top-level field that switches thinking on or off, beside that of its budget."""
THINKING_FIELDS = (EFFORT_FIELD, "reasoning", "thinking", SWITCH_FIELD, "thinking_budget")
"""Top-level fields in which one dialect or another tells the wish to think."""

SPELLINGS = frozenset({"limit_as", "nulls", "seed_as", "stop_listed"})
"""Fields of Settings that are spelling, not meaning."""
