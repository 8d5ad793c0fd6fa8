"""What is to be seen in a conversation, as one number from one walk.

A rule says which traits it looks for and is not even called if none of them is there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import IntFlag, auto
from functools import lru_cache
from string import ascii_letters, digits

from dragoman.conversation.bounded_cache import remembered
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import EMPTY
from dragoman.conversation.messages import ASSISTANT, DEVELOPER, SYSTEM, TOOL, USER, Message
from dragoman.conversation.parts import Call, Citation, Media, Opaque, Part, Reasoning, Refusal, Result, Text
from dragoman.conversation.settings import Settings
from dragoman.conversation.tools import NativeTool, Tool

STREAM_MARKS = frozenset({"done", "__stream_end__", "__internal__", "stream_end"})
"""What servers and clients put on pieces of a stream."""
LEFTOVERS = STREAM_MARKS | {"delta", "index", "finish_reason"}
"""Fields of a stream that clients store with a message by mistake; no provider wants them."""


class Trait(IntFlag):
    ALWAYS = auto()
    MESSAGE_EXTRAS = auto()
    PART_EXTRAS = auto()
    TOP_EXTRAS = auto()
    UNKNOWN_ROLE = auto()
    NO_PARTS = auto()
    BLANK_TEXT = auto()
    BAD_ARGUMENTS = auto()
    NAMED = auto()
    CALLS = auto()
    ODD_IDS = auto()
    ODD_NAMES = auto()
    CUSTOM_CALLS = auto()
    UNPAIRED = auto()
    DUPLICATE_ID = auto()
    REASONING = auto()
    SIGNED = auto()
    SYSTEM = auto()
    DEVELOPER = auto()
    LATE_SYSTEM = auto()
    MANY_SYSTEMS = auto()
    INLINE_SYSTEM = auto()
    MIXED_SYSTEM = auto()
    SYSTEM_PARTS = auto()
    LEADING_ASSISTANT = auto()
    TRAILING_ASSISTANT = auto()
    REPEATED_ROLE = auto()
    USER_AFTER_TOOL = auto()
    NO_USER_TURN = auto()
    MIXED_PARTS = auto()
    MEDIA = auto()
    RESULT_PARTS = auto()
    RESULT_ERROR = auto()
    REFUSAL = auto()
    CITATION = auto()
    OPAQUE = auto()
    LISTED = auto()
    HINTS = auto()
    TOOLS = auto()
    TOOL_EXTRAS = auto()
    CUSTOM_TOOLS = auto()
    LEGACY = auto()
    NATIVE_TOOLS = auto()
    EMPTY_TOOLS = auto()
    SETTINGS = auto()
    CHOICE = auto()
    FORMAT = auto()
    THINKING = auto()
    SEVERAL_ANSWERS = auto()
    SINGLE_CALL = auto()
    NULLS = auto()
    NEAR_MISSES = auto()


# Plain numbers for the walk: an IntFlag's own arithmetic costs a microsecond each time.
_ALWAYS = int(Trait.ALWAYS)
_MESSAGE_EXTRAS = int(Trait.MESSAGE_EXTRAS)
_PART_EXTRAS = int(Trait.PART_EXTRAS)
_TOP_EXTRAS = int(Trait.TOP_EXTRAS)
_UNKNOWN_ROLE = int(Trait.UNKNOWN_ROLE)
_NO_PARTS = int(Trait.NO_PARTS)
_BLANK_TEXT = int(Trait.BLANK_TEXT)
_BAD_ARGUMENTS = int(Trait.BAD_ARGUMENTS)
_NAMED = int(Trait.NAMED)
_CALLS = int(Trait.CALLS)
_ODD_IDS = int(Trait.ODD_IDS)
_ODD_NAMES = int(Trait.ODD_NAMES)
_CUSTOM_CALLS = int(Trait.CUSTOM_CALLS)
_UNPAIRED = int(Trait.UNPAIRED)
_DUPLICATE_ID = int(Trait.DUPLICATE_ID)
_REASONING = int(Trait.REASONING)
_SIGNED = int(Trait.SIGNED)
_SYSTEM = int(Trait.SYSTEM)
_DEVELOPER = int(Trait.DEVELOPER)
_LATE_SYSTEM = int(Trait.LATE_SYSTEM)
_MANY_SYSTEMS = int(Trait.MANY_SYSTEMS)
_INLINE_SYSTEM = int(Trait.INLINE_SYSTEM)
_MIXED_SYSTEM = int(Trait.MIXED_SYSTEM)
_SYSTEM_PARTS = int(Trait.SYSTEM_PARTS)
_LEADING_ASSISTANT = int(Trait.LEADING_ASSISTANT)
_TRAILING_ASSISTANT = int(Trait.TRAILING_ASSISTANT)
_REPEATED_ROLE = int(Trait.REPEATED_ROLE)
_USER_AFTER_TOOL = int(Trait.USER_AFTER_TOOL)
_NO_USER_TURN = int(Trait.NO_USER_TURN)
_MIXED_PARTS = int(Trait.MIXED_PARTS)
_MEDIA = int(Trait.MEDIA)
_RESULT_PARTS = int(Trait.RESULT_PARTS)
_RESULT_ERROR = int(Trait.RESULT_ERROR)
_REFUSAL = int(Trait.REFUSAL)
_CITATION = int(Trait.CITATION)
_OPAQUE = int(Trait.OPAQUE)
_LISTED = int(Trait.LISTED)
_HINTS = int(Trait.HINTS)
_TOOLS = int(Trait.TOOLS)
_TOOL_EXTRAS = int(Trait.TOOL_EXTRAS)
_CUSTOM_TOOLS = int(Trait.CUSTOM_TOOLS)
_LEGACY = int(Trait.LEGACY)
_NATIVE_TOOLS = int(Trait.NATIVE_TOOLS)
_EMPTY_TOOLS = int(Trait.EMPTY_TOOLS)
_SETTINGS = int(Trait.SETTINGS)
_CHOICE = int(Trait.CHOICE)
_FORMAT = int(Trait.FORMAT)
_THINKING = int(Trait.THINKING)
_SEVERAL_ANSWERS = int(Trait.SEVERAL_ANSWERS)
_SINGLE_CALL = int(Trait.SINGLE_CALL)
_NULLS = int(Trait.NULLS)
_NEAR_MISSES = int(Trait.NEAR_MISSES)

_BLANK_HEADS = b' "\\'
_NO_SETTINGS = Settings()
_SIMPLE = {Media: _MEDIA, Refusal: _REFUSAL, Citation: _CITATION, Opaque: _OPAQUE, Reasoning: _REASONING}


def observe(conversation: Conversation) -> int:
    """The traits of a conversation."""
    return observe_messages(conversation.messages) | observe_rest(conversation)


def observe_messages(messages: tuple[Message, ...]) -> int:
    """What is to be seen in the messages alone.

    One long loop on purpose: it runs over every message of every request, and a call a message would double its cost.
    """
    found = _ALWAYS
    codes: list[str] = []
    ids: list[str] = []
    called: list[str] = []
    for message in messages:
        role = message.role
        code = CODES[role]
        if message.extras is not None or message.name is not None or message.listed or message.hint is not None:
            found |= _message_traits(message)
        if message.role_text or message.inline:
            found |= _message_traits(message)
        parts = message.parts
        if not parts:
            found |= _NO_PARTS
        calls: list[str] = []
        results: list[str] = []
        for part in parts:
            kind = type(part)
            if kind is Text:
                if part.literal[1] in _BLANK_HEADS and part.blank:  # type: ignore[attr-defined]
                    found |= _BLANK_TEXT
                if part.signature is not None:  # type: ignore[attr-defined]
                    found |= _SIGNED
                if calls:
                    found |= _MIXED_PARTS
            elif kind is Call:
                calls.append(part.id)  # type: ignore[attr-defined]
                found |= _call_traits(part)  # type: ignore[arg-type]
            elif kind is Result:
                results.append(part.call_id)  # type: ignore[attr-defined]
                found |= observe_result(part)  # type: ignore[arg-type]
            else:
                found |= _SIMPLE[kind]
                if calls:
                    found |= _MIXED_PARTS
                if kind is Reasoning:
                    if part.state is not None:  # type: ignore[attr-defined]
                        found |= _SIGNED
                    if part is parts[-1] and all(type(one) is Reasoning for one in parts):
                        found |= _NO_PARTS
            if part.hint is not None or part.extras is not None:
                found |= _aside_traits(part)
        if code in _INSTRUCTIONS:
            found |= _SYSTEM_PARTS if len(parts) > 1 else 0
            found |= 0 if all(type(part) is Text for part in parts) else _MIXED_SYSTEM
        if calls:
            called = calls
            ids += calls
            code = CALLING
        elif role is TOOL and results != called:
            found |= _UNPAIRED
        codes.append(code)
    return found | observe_ids(ids) | observe_roles("".join(codes))


_ORDER = (
    _SYSTEM
    | _DEVELOPER
    | _LATE_SYSTEM
    | _MANY_SYSTEMS
    | _LEADING_ASSISTANT
    | _TRAILING_ASSISTANT
    | _REPEATED_ROLE
    | _USER_AFTER_TOOL
    | _NO_USER_TURN
    | _UNPAIRED
)
"""What depends on the messages before and after."""


def observe_message(message: Message) -> int:
    """What is to be seen in one message by itself."""
    return observe_messages((message,)) & ~_ORDER


ORDER_AND_IDS = _ORDER | int(Trait.DUPLICATE_ID | Trait.ODD_IDS)
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
            seen |= _message_traits(new)
        else:
            changed.append((old, new))
    if any(_ids_of(old) != _ids_of(new) for old, new in changed):
        return None
    return seen | (observe_messages(tuple([new for _, new in changed])) & ~ORDER_AND_IDS)


def _ids_of(message: Message) -> list[str]:
    calls = [part.id for part in message.parts if type(part) is Call]
    return calls + [part.call_id for part in message.parts if type(part) is Result]


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
    found = 0 if len(several) == len(ids) else _DUPLICATE_ID
    letters = "".join(ids)
    common = letters.isascii() and not letters.encode().translate(None, _ID_LETTERS) and THOUGHT_MARK not in letters
    return found if common and "" not in several and max(map(len, ids)) <= 40 else found | _ODD_IDS


class _NameTraits(dict[str, int]):
    """What the names of tools tell. They are few and called often: those that are not too long are remembered."""

    __slots__ = ()

    def __missing__(self, name: str) -> int:
        if len(name) > LONGEST_NAME:
            return _ODD_NAMES
        if len(self) >= _MOST_NAMES:
            self.clear()
        found = self[name] = 0 if _is_common_name(name) is not None else _ODD_NAMES
        return found


_MOST_NAMES = 1024
observe_name = _NameTraits().__getitem__
"""Whether a tool's name is one that most targets take."""


CODES = {SYSTEM: "s", DEVELOPER: "d", USER: "u", ASSISTANT: "a", TOOL: "t"}
_INSTRUCTIONS = frozenset("sd")
CALLING = "c"
"""One letter a message; an assistant that calls has its own."""


def codes_of(messages: Sequence[Message]) -> str:
    """The letters of messages."""
    return "".join([CALLING if any(type(part) is Call for part in one.parts) else CODES[one.role] for one in messages])


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
        found |= _SYSTEM if len(codes) - len(turns) == 1 else _SYSTEM | _MANY_SYSTEMS
    if "s" in turns or "d" in turns:
        found |= _SYSTEM | _LATE_SYSTEM
    if "d" in codes:
        found |= _DEVELOPER
    if not turns:
        return found | _NO_USER_TURN
    if turns[0] != "u":
        found |= _LEADING_ASSISTANT
    if turns[-1] in "ac":
        found |= _TRAILING_ASSISTANT
    for pair in _REPEATED:
        if pair in turns:
            found |= _REPEATED_ROLE
            break
    if "tu" in turns:
        found |= _USER_AFTER_TOOL
    answered = turns.count("ct")
    if turns.count("c") != answered or turns.count("t") != answered:
        found |= _UNPAIRED
    return found


_observe_few_roles = remembered(_observe_roles)


def _message_traits(message: Message) -> int:
    found = 0
    if message.extras is not None:
        found |= _MESSAGE_EXTRAS
    if message.name is not None:
        found |= _NAMED
    if message.listed:
        found |= _LISTED
    if message.hint is not None:
        found |= _HINTS
    if message.role_text:
        found |= _UNKNOWN_ROLE
    elif message.inline:
        found |= _INLINE_SYSTEM
    return found


def _aside_traits(part: Part) -> int:
    return (_HINTS if part.hint is not None else 0) | (_PART_EXTRAS if part.extras is not None else 0)


def _call_traits(call: Call) -> int:
    found = _CALLS | observe_name(call.name)
    if call.custom:
        found |= _CUSTOM_CALLS
    elif call.arguments[:1] != b"{":
        found |= _BAD_ARGUMENTS
    if call.signature is not None:
        found |= _SIGNED
    if call.wire_form:
        found |= _LEGACY
    return found


def observe_result(result: Result) -> int:
    """What is to be seen in a result."""
    found = 0
    parts: tuple[Part, ...] = result.parts
    if len(parts) != 1 or type(parts[0]) is not Text:
        found |= _RESULT_PARTS
    if result.listed:
        found |= _LISTED
    if result.is_error:
        found |= _RESULT_ERROR
    if result.custom:
        found |= _CUSTOM_CALLS
    if result.wire_form:
        found |= _LEGACY
    if result.name == "":
        found |= _NAMED
    for part in parts:
        found |= _aside_traits(part)
        if type(part) is Text and part.literal == EMPTY and result.listed:
            found |= _BLANK_TEXT
    return found


def _tool_traits(tool: Tool) -> int:
    found = _TOOLS | observe_name(tool.name)
    if tool.hint is not None:
        found |= _HINTS
    if tool.extras is not None:
        found |= _TOOL_EXTRAS
    if tool.custom:
        found |= _CUSTOM_TOOLS
    if tool.wrapper == "functions":
        found |= _LEGACY
    return found


def observe_rest(conversation: Conversation) -> int:
    """What is to be seen in tools, settings and extras."""
    found = 0
    if conversation.extras is not None:
        found |= _TOP_EXTRAS
    if conversation.hint is not None:
        found |= _HINTS
    if conversation.empty_tools:
        found |= _EMPTY_TOOLS
    if conversation.near_misses:
        found |= _NEAR_MISSES
    for tool in conversation.tools:
        found |= _NATIVE_TOOLS if isinstance(tool, NativeTool) else _tool_traits(tool)
    settings = conversation.settings
    if settings != _NO_SETTINGS:
        found |= _SETTINGS
        if settings.tool_choice is not None or settings.parallel_tool_calls is not None:
            found |= _CHOICE
        if settings.response_format is not None:
            found |= _FORMAT
        if settings.thinking is not None:
            found |= _THINKING
        if settings.n is not None and settings.n > 1:
            found |= _SEVERAL_ANSWERS
        if settings.parallel_tool_calls is False:
            found |= _SINGLE_CALL
        if settings.tool_choice is not None and settings.tool_choice.wire_form:
            found |= _LEGACY
        if settings.nulls:
            found |= _NULLS
    return found
