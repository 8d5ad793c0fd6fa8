"""What is to be seen in a conversation, as one number from one walk.

A rule says which traits it looks for and is not even called if none of them is there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import count
from string import ascii_letters, digits
from typing import Any

import msgspec

from dragoman.conversation.bounded_cache import remembered
from dragoman.conversation.conversation import SYSTEM_ROLES, Conversation
from dragoman.conversation.messages import TOOL, Message, Role
from dragoman.conversation.parts import Call, Citation, Media, Opaque, Part, Reasoning, Refusal, Result, Text
from dragoman.conversation.settings import Settings
from dragoman.conversation.tools import NativeTool, Tool

STREAM_MARKS = frozenset({"done", "__stream_end__", "__internal__", "stream_end"})
"""What servers and clients put on pieces of a stream."""
LEFTOVERS = STREAM_MARKS | {"delta", "index", "finish_reason"}
"""Fields of a stream that clients store with a message by mistake; no provider wants them."""


_next_bit = map((1).__lshift__, count()).__next__

# The traits. They are plain numbers: an IntFlag's own arithmetic costs a microsecond each time.
ALWAYS = _next_bit()
MESSAGE_EXTRAS = _next_bit()
PART_EXTRAS = _next_bit()
TOP_EXTRAS = _next_bit()
UNKNOWN_ROLE = _next_bit()
NO_PARTS = _next_bit()
BLANK_TEXT = _next_bit()
BAD_ARGUMENTS = _next_bit()
NAMED = _next_bit()
CALLS = _next_bit()
SEVERAL_CALLS = _next_bit()
ODD_IDS = _next_bit()
ODD_NAMES = _next_bit()
CUSTOM_CALLS = _next_bit()
UNPAIRED = _next_bit()
DUPLICATE_ID = _next_bit()
REASONING = _next_bit()
SIGNED = _next_bit()
SYSTEM = _next_bit()
DEVELOPER = _next_bit()
LATE_SYSTEM = _next_bit()
MANY_SYSTEMS = _next_bit()
INLINE_SYSTEM = _next_bit()
MIXED_SYSTEM = _next_bit()
SYSTEM_PARTS = _next_bit()
LEADING_ASSISTANT = _next_bit()
TRAILING_ASSISTANT = _next_bit()
REPEATED_ROLE = _next_bit()
USER_AFTER_TOOL = _next_bit()
NO_USER_TURN = _next_bit()
MIXED_PARTS = _next_bit()
MEDIA = _next_bit()
RESULT_PARTS = _next_bit()
RESULT_ERROR = _next_bit()
REFUSAL = _next_bit()
CITATION = _next_bit()
OPAQUE = _next_bit()
LISTED = _next_bit()
HINTS = _next_bit()
TOOLS = _next_bit()
TOOL_EXTRAS = _next_bit()
CUSTOM_TOOLS = _next_bit()
LEGACY = _next_bit()
NATIVE_TOOLS = _next_bit()
EMPTY_TOOLS = _next_bit()
SETTINGS = _next_bit()
CHOICE = _next_bit()
FORMAT = _next_bit()
THINKING = _next_bit()
SEVERAL_ANSWERS = _next_bit()
SINGLE_CALL = _next_bit()
NULLS = _next_bit()
NEAR_MISSES = _next_bit()

_BLANK_HEADS = b' "\\'
_NO_SETTINGS = Settings()
_SIMPLE = {Media: MEDIA, Refusal: REFUSAL, Citation: CITATION, Opaque: OPAQUE, Reasoning: REASONING}


def observe(conversation: Conversation) -> int:
    """The traits of a conversation."""
    return observe_messages(conversation.messages) | observe_rest(conversation)


class ObservedMessage(msgspec.Struct, gc=False):
    """One message, and what has to be known of it to look at it among others."""

    message: Message
    traits: int
    """What is to be seen in the message by itself."""
    code: str
    """The letter of its role, as `observe_roles` has it."""
    ids: Sequence[str] = ()
    """The ids of its calls; in a tool's turn, those of the calls that it answers."""


def observe_message(message: Message) -> ObservedMessage:
    """The message with what is to be seen in it, from one walk over its parts. Each line reads attributes of one class
    only, which the interpreter caches."""
    parts, role = message.parts, message.role
    found = 0 if parts else NO_PARTS
    beside = message.extras is not None or message.name is not None or message.hint is not None
    if beside or message.listed or message.inline or message.role_text:
        found |= _observe_message(message)
    calls: list[str] = []
    answered: list[str] = []
    for part in parts:
        kind = type(part)
        if kind is Text:
            text: Any = part
            if text.literal[1] in _BLANK_HEADS and text.blank:
                found |= BLANK_TEXT
            if text.signature is not None:
                found |= SIGNED
            if calls:
                found |= MIXED_PARTS
            if text.hint is not None or text.extras is not None:
                found |= _observe_aside(part)
        elif kind is Call:
            call: Any = part
            calls.append(call.id)
            found |= CALLS | observe_name(call.name)
            if call.custom:
                found |= CUSTOM_CALLS
            elif call.arguments[:1] != b"{":
                found |= BAD_ARGUMENTS
            if call.signature is not None:
                found |= SIGNED
            if call.wire_form:
                found |= LEGACY
            if call.hint is not None or call.extras is not None:
                found |= _observe_aside(part)
        elif kind is Result:
            result: Any = part
            answered.append(result.call_id)
            found |= observe_result(result)
            if result.hint is not None or result.extras is not None:
                found |= _observe_aside(part)
        else:
            found |= _SIMPLE[kind]
            if calls:
                found |= MIXED_PARTS
            if kind is Media and part.signature is not None:  # type: ignore[attr-defined]
                found |= SIGNED
            if kind is Reasoning:
                if part.state is not None:  # type: ignore[attr-defined]
                    found |= SIGNED
                if part is parts[-1] and all(type(one) is Reasoning for one in parts):
                    found |= NO_PARTS
            if part.hint is not None or part.extras is not None:
                found |= _observe_aside(part)
    if role in SYSTEM_ROLES:
        found |= SYSTEM_PARTS if len(parts) > 1 else 0
        found |= 0 if all(type(part) is Text for part in parts) else MIXED_SYSTEM
    if calls:
        return ObservedMessage(message, found, CALLING, calls)
    return ObservedMessage(message, found, CODES[role], answered if role is TOOL else ())


def observe_messages(messages: tuple[Message, ...]) -> int:
    """What is to be seen in the messages alone."""
    found = ALWAYS
    codes: list[str] = []
    ids: list[str] = []
    called: Sequence[str] = []
    for message in messages:
        one = observe_message(message)
        found |= one.traits
        codes.append(one.code)
        if one.code == CALLING:
            called = one.ids
            ids += called
        elif one.code == "t" and one.ids != called:
            found |= UNPAIRED
    if len(ids) > codes.count(CALLING):
        found |= SEVERAL_CALLS
    return found | observe_ids(ids) | observe_roles("".join(codes))


ORDER_AND_IDS = (
    SYSTEM
    | DEVELOPER
    | LATE_SYSTEM
    | MANY_SYSTEMS
    | LEADING_ASSISTANT
    | TRAILING_ASSISTANT
    | REPEATED_ROLE
    | USER_AFTER_TOOL
    | NO_USER_TURN
    | UNPAIRED
    | DUPLICATE_ID
    | ODD_IDS
)
"""What depends on the order of messages and on their ids, not on a message alone."""


_SHARE = 0.25
"""A few messages are at most this part of all."""


def observe_change(before: tuple[Message, ...], after: tuple[Message, ...], seen: int) -> int:
    """The traits after a repair; `seen` were those before it.

    If a few messages changed, and none of them its role or its ids, only these are looked at; and if only what stands
    beside the parts changed, only that. A trait of messages that went with the repair may then remain: the rule that
    looks for it finds nothing.
    """
    found = observe_few(before, after, seen, int(_SHARE * len(after)))
    return observe_messages(after) if found is None else found


def observe_few(
    before: tuple[Message, ...], after: tuple[Message, ...], seen: int, most: int | None = None
) -> int | None:
    """The same if these are only some of the messages; None if roles or ids changed, so that all must be looked at, or
    if more than `most` messages hold other parts than before."""
    if len(before) != len(after):
        return None
    changed: list[tuple[Message, Message]] = []
    for old, new in zip(before, after, strict=True):
        if old is new:
            continue
        if old.role is not new.role or len(changed) == most:
            return None
        if old.parts is new.parts:
            seen |= _observe_message(new)
        else:
            changed.append((old, new))
    if any(_ids_of(old) != _ids_of(new) for old, new in changed):
        return None
    return seen | (observe_messages(tuple([new for _, new in changed])) & ~ORDER_AND_IDS)


def _ids_of(message: Message) -> list[str]:
    found: list[str] = []
    for part in message.parts:
        if type(part) is Call:
            found.append(part.id)
        elif type(part) is Result:
            found.append(part.call_id)
    return found


COMMON_ID = "[a-zA-Z0-9_-]{1,40}"
COMMON_NAME = "[a-zA-Z_][a-zA-Z0-9_-]{0,63}"
"""Ids and names that every target takes but those with a form of their own."""
LONGEST_NAME = 64
THOUGHT_MARK = "__thought__"
"""What some proxies put between a call's id and a thought signature that they hang on it."""
_ID_LETTERS = (ascii_letters + digits + "_-").encode()
_is_common_name = re.compile(COMMON_NAME).fullmatch


def observe_ids(ids: list[str]) -> int:
    """What the ids of calls tell, all at once: are they `COMMON_ID`? A regular expression takes as long again."""
    if not ids:
        return 0
    several = set(ids)
    found = 0 if len(several) == len(ids) else DUPLICATE_ID
    letters = "".join(ids)
    common = letters.isascii() and not letters.encode().translate(None, _ID_LETTERS) and THOUGHT_MARK not in letters
    return found if common and "" not in several and max(map(len, ids)) <= 40 else found | ODD_IDS


class _NameTraits(dict[str, int]):
    """What the names of tools tell. They are few and called often: those that are not too long are remembered."""

    __slots__ = ()

    def __missing__(self, name: str) -> int:
        if len(name) > LONGEST_NAME:
            return ODD_NAMES
        if len(self) >= _MOST_NAMES:
            self.clear()
        found = self[name] = 0 if _is_common_name(name) is not None else ODD_NAMES
        return found


_MOST_NAMES = 1024
observe_name = _NameTraits().__getitem__
"""Whether a tool's name is one that most targets take."""


CODES = {Role.SYSTEM: "s", Role.DEVELOPER: "d", Role.USER: "u", Role.ASSISTANT: "a", Role.TOOL: "t"}
CALLING = "c"
"""One letter a message; an assistant that calls has its own."""


def codes_of(messages: Sequence[Message]) -> str:
    """The letters of messages."""
    return "".join([CALLING if Call in map(type, one.parts) else CODES[one.role] for one in messages])


_REPEATED = ("uu", "aa", "ac", "ca", "cc", "tt", "ss", "dd")


_ROUNDS = re.compile("(?:ct){2,}"), re.compile(r"(ucta|ua)\1+")


@lru_cache(maxsize=1024)
def without_rounds(codes: str) -> str:
    """The letters of the first messages without rounds that are repeated. `observe_roles` finds the same in both,
    whatever follows: a round holds as many calls as results, and no pair of letters stands only between two rounds that
    it looks for."""
    calls, rounds = _ROUNDS
    return rounds.sub(r"\1", calls.sub("ct", codes))


_SHORT = 64
"""Messages of a conversation whose order of roles is likely to come again."""


def observe_roles(codes: str) -> int:
    """What the order of roles tells, from a text of one letter a message: the searches run at the speed of C."""
    return _observe_few_roles(codes) if len(codes) <= _SHORT else _observe_roles(codes)


def _observe_roles(codes: str) -> int:
    found = 0
    turns = codes.lstrip("sd")
    if len(turns) < len(codes):
        found |= SYSTEM if len(codes) - len(turns) == 1 else SYSTEM | MANY_SYSTEMS
    if "s" in turns or "d" in turns:
        found |= SYSTEM | LATE_SYSTEM
    if "d" in codes:
        found |= DEVELOPER
    if "u" not in turns:
        found |= NO_USER_TURN
    if not turns:
        return found
    if turns[0] != "u":
        found |= LEADING_ASSISTANT
    if turns[-1] in "ac":
        found |= TRAILING_ASSISTANT
    for pair in _REPEATED:
        if pair in turns:
            found |= REPEATED_ROLE
            break
    if "tu" in turns:
        found |= USER_AFTER_TOOL
    answered = turns.count("ct")
    if turns.count("c") != answered or turns.count("t") != answered:
        found |= UNPAIRED
    return found


_observe_few_roles = remembered(_observe_roles)


def _observe_message(message: Message) -> int:
    found = 0
    if message.extras is not None:
        found |= MESSAGE_EXTRAS
    if message.name is not None:
        found |= NAMED
    if message.listed:
        found |= LISTED
    if message.hint is not None:
        found |= HINTS
    if message.role_text:
        found |= UNKNOWN_ROLE
    elif message.inline:
        found |= INLINE_SYSTEM
    return found


def _observe_aside(part: Part) -> int:
    return (HINTS if part.hint is not None else 0) | (PART_EXTRAS if part.extras is not None else 0)


def observe_result(result: Result) -> int:
    """What is to be seen in a result."""
    found = 0
    parts: tuple[Part, ...] = result.parts
    if len(parts) != 1 or type(parts[0]) is not Text:
        found |= RESULT_PARTS
    if result.listed:
        found |= LISTED
    if result.is_error:
        found |= RESULT_ERROR
    if result.custom:
        found |= CUSTOM_CALLS
    if result.wire_form:
        found |= LEGACY
    if result.name == "":
        found |= NAMED
    for part in parts:
        if part.hint is not None or part.extras is not None:
            found |= _observe_aside(part)
        if type(part) is Text and part.literal[1] in _BLANK_HEADS and part.blank:
            found |= BLANK_TEXT
    return found


def _observe_tools(tool: Tool) -> int:
    found = TOOLS | observe_name(tool.name)
    if tool.extras is not None:
        found |= TOOL_EXTRAS
    if tool.custom:
        found |= CUSTOM_TOOLS
    if tool.wrapper == "functions":
        found |= LEGACY
    return found


def observe_rest(conversation: Conversation) -> int:
    """What is to be seen in tools, settings and extras."""
    found = 0
    if conversation.extras is not None:
        found |= TOP_EXTRAS
    if conversation.hint is not None:
        found |= HINTS
    if conversation.empty_tools:
        found |= EMPTY_TOOLS
    if conversation.near_misses:
        found |= NEAR_MISSES
    for tool in conversation.tools:
        found |= NATIVE_TOOLS if isinstance(tool, NativeTool) else _observe_tools(tool)
        if tool.hint is not None:
            found |= HINTS
    settings = conversation.settings
    if settings != _NO_SETTINGS:
        found |= SETTINGS
        if settings.tool_choice is not None or settings.parallel_tool_calls is not None:
            found |= CHOICE
        if settings.response_format is not None:
            found |= FORMAT
        if settings.thinking is not None:
            found |= THINKING
        if settings.n is not None and settings.n > 1:
            found |= SEVERAL_ANSWERS
        if settings.parallel_tool_calls is False:
            found |= SINGLE_CALL
        if settings.tool_choice is not None and settings.tool_choice.wire_form:
            found |= LEGACY
        if settings.nulls:
            found |= NULLS
    return found
