"""About how many tokens a message holds, in one pass and without a tokenizer.

Texts count by their bytes. How many bytes a token has is found in the beginning of the conversation, where pieces are
counted as `engine/tokens/token_estimate.py` counts them: code, prose and other scripts differ. What a provider reports
later corrects the estimate for its model (`calibration.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from dragoman.conversation.bounded_cache import IdentityCache, remembered
from dragoman.conversation.conversation import SYSTEM_ROLES, Conversation, KnownBeginning
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import Call, Media, Opaque, Part, Plain, Reasoning, Refusal, Result, Text
from dragoman.conversation.tools import NativeTool, Tool
from dragoman.engine.tokens.token_estimate import count_literal, texts_of
from dragoman.profiles.tokenizers import TokenWeights, find_token_weights

BYTES_PER_TOKEN = 4
MARKER = " [...truncated]"
"""What ends a text that was shortened."""
_MARKER_SIZE = len(MARKER)
SAMPLE = 8_192
"""Bytes at the beginning of a conversation in which pieces are counted."""
_FEWEST_BYTES, _MOST_BYTES = 1.0, 8.0
_OVERHEAD = 16
"""What a message or a call costs beside its words, in bytes."""
_MEDIA = 1_000 * BYTES_PER_TOKEN
"""An image or a sound, whose bytes say little about its price."""


class Size(msgspec.Struct, frozen=True, gc=False):
    """The bytes of a message."""

    total: int
    fixed: int
    """Those that cannot be shortened, because they are no plain text."""


def size_of(message: Message) -> Size:
    total, plain = _sizes(message.parts)
    total += _OVERHEAD
    return Size(total, total - plain)


def count_fixed_bytes(conversation: Conversation) -> int:
    """The bytes of the tools and of the answer's schema. They are sent with every turn and never cut."""
    form, tools = conversation.settings.response_format, conversation.tools
    schema = len(form.schema) if form is not None and form.schema is not None else 0
    return measure_tools(tools).total + schema if tools else schema


def estimate_bytes_per_token(messages: Iterable[Message], model: str, most: int = SAMPLE) -> float:
    """How many bytes of this conversation a token has, by its first texts; `most`: bytes that are looked at.

    A beginning that is as long as that is the same on every turn, and so is what was found in it. Of system texts only
    a little is looked at: they are seldom like the turns.
    """
    texts: list[bytes] = []
    left, left_of_system = most, most // 8
    for message in messages:
        if left <= 0:
            break
        if message.role in SYSTEM_ROLES:
            taken = _first_texts(message, left_of_system)
            left_of_system -= sum(map(len, taken))
        else:
            taken = _first_texts(message, left)
            left -= count_bytes((message,))
        texts += taken
    return _density(b" ".join(texts), find_token_weights(model)) if texts else BYTES_PER_TOKEN


def _first_texts(message: Message, left: int) -> list[bytes]:
    taken: list[bytes] = []
    for part in message.parts:
        for text in texts_of(part):
            if left <= 0:
                return taken
            if text:
                taken.append(text[:left])
                left -= len(text)
    return taken


@remembered
def _density(sample: bytes, weights: TokenWeights) -> float:
    return min(max(len(sample) / max(1.0, count_literal(sample, weights)), _FEWEST_BYTES), _MOST_BYTES)


def estimate_tokens(conversation: Conversation, model: str) -> float:
    """About how many tokens a request holds, before anything is known of how its model counts."""
    messages = conversation.messages
    return (count_bytes(messages) + count_fixed_bytes(conversation)) / estimate_bytes_per_token(messages, model)


def estimate_reserve(conversation: Conversation, known: KnownBeginning | None = None) -> int:
    """What a request reserves when it comes in, by its bytes alone; never zero. What is booked in the end replaces it,
    so nothing is counted for it. `known`: what is remembered of the conversation."""
    messages = conversation.messages
    size = count_fixed_bytes(conversation)
    if known is None:
        return (size + count_bytes(messages)) // BYTES_PER_TOKEN or 1
    return (size + count_bytes(messages[: known.opening]) + _sum_up(messages, known)) // BYTES_PER_TOKEN or 1


def _sum_up(messages: tuple[Message, ...], known: KnownBeginning) -> int:
    """The bytes of all messages of the list. They are counted once in a request, and only those that are new in it."""
    opening, count = known.opening, known.count
    before: _ReservedSizes | None = known.made.get(_ReservedSizes)
    if before is not None and before.messages is messages:
        return before.sums[-1]
    if before is not None and before.holds(messages, opening, count):
        sums = before.sums[: count - opening + 1]
    else:
        count, sums = opening, [0]
    for message in messages[count:]:
        sums.append(sums[-1] + count_bytes((message,)))
    known.keep(_ReservedSizes, _ReservedSizes(messages, sums), 40 * len(sums))
    return sums[-1]


class _ReservedSizes(msgspec.Struct, frozen=True):
    """What was counted on the turn before. If one message is the same object, so are all before it."""

    messages: tuple[Message, ...]
    sums: list[int]
    """The bytes of the first messages of the list, for every number of them."""

    def holds(self, messages: tuple[Message, ...], opening: int, count: int) -> bool:
        """Whether the first messages were counted."""
        return opening < count <= len(self.messages) and self.messages[count - 1] is messages[count - 1]


def count_bytes(messages: Sequence[Message]) -> int:
    """The bytes of all of them."""
    size = len(messages) * _OVERHEAD
    for message in messages:
        part: Any
        for part in message.parts:
            kind = type(part)
            if kind is Text:
                size += len(part.literal) - 2
            elif kind is Call:
                size += len(part.name) + len(part.arguments) + _OVERHEAD
            elif kind is Result and len(part.parts) == 1 and type(part.parts[0]) is Text:
                size += len(part.parts[0].literal) - 2 + _OVERHEAD
            else:
                size += _sizes((part,))[0]
    return size


def result_size(result: Result) -> int:
    """The bytes that a result holds, without what any result costs."""
    return _sizes(result.parts)[0]


def sizes_of(messages: Sequence[Message]) -> list[Size]:
    return list(map(size_of, messages))


def is_plain(text: Text) -> bool:
    """May this text be shortened? Neither JSON, of which a half is nothing, nor a text that carries a signature."""
    literal = text.literal
    return text.signature is None and len(literal) > 2 and not (literal[1] in b"{[" and literal[-2] in b"}]")


def plain_size(part: Part) -> int:
    """The bytes of a part that may go: its plain texts, beside the markers that they would get."""
    return _sizes((part,))[1]


def _sizes(parts: Iterable[Part]) -> tuple[int, int]:
    total = plain = 0
    for part in parts:
        if type(part) is Text:
            length = len(part.literal) - 2
            total += length
            if length > _MARKER_SIZE and is_plain(part):
                plain += length - _MARKER_SIZE
        elif type(part) is Result:
            inner, shortened = _sizes(part.parts)
            total += inner + _OVERHEAD
            plain += shortened
        else:
            total += _fixed_size(part)
    return total, plain


def _fixed_size(part: Part) -> int:
    match part:
        case Call():
            return len(part.name) + len(part.arguments) + _OVERHEAD
        case Reasoning():
            return len(part.text.literal) if part.text is not None else 0
        case Media(source=Plain(literal=literal)) | Refusal(literal=literal):
            return len(literal)
        case Media():
            return _MEDIA
        case Opaque():
            return len(part.json)
        case _:
            return 0


class ToolSizes(msgspec.Struct, frozen=True):
    """How large the tools of a request are."""

    total: int
    """Their bytes."""
    longest_named: Tool | None
    """The one with the longest name."""


def _measure_tools(tools: tuple[Tool | NativeTool, ...]) -> ToolSizes:
    total, longest = 0, None
    for tool in tools:
        if isinstance(tool, NativeTool):
            total += len(tool.json)
            continue
        total += len(tool.name) + len(tool.description or b"") + len(tool.schema or b"") + _OVERHEAD
        if longest is None or len(tool.name) > len(longest.name):
            longest = tool
    return ToolSizes(total, longest)


measure_tools: Callable[[tuple[Tool | NativeTool, ...]], ToolSizes] = IdentityCache(_measure_tools)
"""Measures tools. An agent sends the same ones on every turn."""
