"""What does not fit its dialect's published schema, though it is clear what is meant.

A parser builds the value that is meant and notes the near miss beside it. In the client's own dialect the value is
still written as it came, unless a rule clears the note: then it is written as the schema has it.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from dragoman.conversation.messages import ASSISTANT, DEVELOPER, SYSTEM, TOOL, USER
from dragoman.conversation.parts import Json

NO_ITEM = -2
"""The `item` of a near miss that is not in the list of messages."""

LISTS = ("messages", "input", "contents", "prompt")
SYSTEMS = ("system", "instructions", "systemInstruction", "system_instruction", "system_prompt")
"""What dialects and clients call the messages and the system text."""
CONTENTS = ("content", "parts", "text", "message", "blocks")
"""What they call the content of a message."""
ROLES = {
    "user": USER,
    "human": USER,
    "assistant": ASSISTANT,
    "model": ASSISTANT,
    "ai": ASSISTANT,
    "bot": ASSISTANT,
    "system": SYSTEM,
    "developer": DEVELOPER,
    "tool": TOOL,
    "function": TOOL,
}
"""What each role means, in whichever dialect or library it is called so."""
ROLE_TYPES = {
    "human": "user",
    "ai": "assistant",
    "system": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}
"""What libraries write as the type of a message in place of its role."""


class Miss(StrEnum):
    """The kinds of near misses, each with what the repair does about it, in the words of the report."""

    did: str

    def __new__(cls, name: str, did: str) -> Miss:
        made = str.__new__(cls, name)
        made._value_ = name
        made.did = did
        return made

    ARGUMENTS = "argument-form", "wrote the arguments of a call as its dialect does"
    CALL = "call-form", "wrote a call as its dialect does"
    ID = "missing-id", "gave the id that the order of calls and results tells"
    ROLE = "role-name", "gave the role that is meant"
    JOINED_ROLE = "joined-role", "gave the role that a client joined out of the pieces of a stream"
    PART = "part-form", "wrote a part as its dialect does"
    CONTENT = "content-form", "wrote the content as its dialect does"
    RESULT = "result-form", "wrote the result of a call as its dialect does"
    TURN = "turn-form", "wrote a message of another dialect as its own does"
    LIST = "list-form", "wrote the messages as a list, under the name that its dialect has"
    SYSTEM = "system-form", "wrote the system text as its dialect does"
    SYSTEM_PART = "system-part", "left out what is no text from the system text"
    UNKNOWN_KEY = "unknown-key", "left out keys that a part does not have"
    TOOL = "tool-form", "wrote a tool as its dialect does"
    SCHEMA = "tool-schema", "completed the schema of a tool"
    NAMELESS = "nameless-tool", "left out a tool without a name"
    NULL_TOOL = "null-tool", "left out nothing in place of a tool"
    NULL_TOOLS = "null-tools", "left out a null in place of the tools"
    CHOICE = "choice-form", "wrote the tool choice as its dialect does"
    SETTING = "setting-form", "wrote a setting in the type that it has"
    SETTING_NAME = "setting-name", "wrote a setting under the name that its dialect has"
    NO_LIMIT = "no-limit", "left out a limit of -1, which means no limit"
    NULL = "null-value", "left out a null in place of a value"
    NULLABLE = "nullable-value", "left out a null that not every server takes"
    TYPE = "member-type", "left out a member of another type than it has"
    NO_STREAM = "no-stream", "left out the options of a stream, since none is asked for"


class NearMiss(msgspec.Struct, frozen=True, gc=False):
    """One place in which a request does not fit its schema, though its meaning is clear."""

    kind: Miss
    at: str
    """A pointer into the client's request."""
    item: int = NO_ITEM
    """The place of the message that it belongs to."""
    members: tuple[str, ...] = ()
    """The top-level members that it touches: where the client wrote the value and where it belongs."""
    lost: Json | None = None
    """What the meant value has no place for."""
