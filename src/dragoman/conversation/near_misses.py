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
    """The kinds of near misses. `SENTENCES` says what is done about each."""

    ARGUMENTS = "argument-form"
    CALL = "call-form"
    ID = "missing-id"
    ROLE = "role-name"
    PART = "part-form"
    CONTENT = "content-form"
    RESULT = "result-form"
    TURN = "turn-form"
    LIST = "list-form"
    SYSTEM = "system-form"
    SYSTEM_PART = "system-part"
    UNKNOWN_KEY = "unknown-key"
    TOOL = "tool-form"
    SCHEMA = "tool-schema"
    NAMELESS = "nameless-tool"
    NULL_TOOL = "null-tool"
    NULL_TOOLS = "null-tools"
    CHOICE = "choice-form"
    SETTING = "setting-form"
    SETTING_NAME = "setting-name"
    NO_LIMIT = "no-limit"
    NULL = "null-value"
    NULLABLE = "nullable-value"
    TYPE = "member-type"
    NO_STREAM = "no-stream"


SENTENCES: dict[Miss, str] = {
    Miss.ARGUMENTS: "wrote the arguments of a call as its dialect does",
    Miss.CALL: "wrote a call as its dialect does",
    Miss.ID: "gave the id that the order of calls and results tells",
    Miss.ROLE: "gave the role that is meant",
    Miss.PART: "wrote a part as its dialect does",
    Miss.CONTENT: "wrote the content as its dialect does",
    Miss.RESULT: "wrote the result of a call as its dialect does",
    Miss.TURN: "wrote a message of another dialect as its own does",
    Miss.LIST: "wrote the messages as a list, under the name that its dialect has",
    Miss.SYSTEM: "wrote the system text as its dialect does",
    Miss.SYSTEM_PART: "left out what is no text from the system text",
    Miss.UNKNOWN_KEY: "left out keys that a part does not have",
    Miss.TOOL: "wrote a tool as its dialect does",
    Miss.SCHEMA: "completed the schema of a tool",
    Miss.NAMELESS: "left out a tool without a name",
    Miss.NULL_TOOL: "left out nothing in place of a tool",
    Miss.NULL_TOOLS: "left out a null in place of the tools",
    Miss.CHOICE: "wrote the tool choice as its dialect does",
    Miss.SETTING: "wrote a setting in the type that it has",
    Miss.SETTING_NAME: "wrote a setting under the name that its dialect has",
    Miss.TYPE: "left out a member of another type than it has",
    Miss.NULL: "left out a null in place of a value",
    Miss.NULLABLE: "left out a null that not every server takes",
    Miss.NO_STREAM: "left out the options of a stream, since none is asked for",
    Miss.NO_LIMIT: "left out a limit of -1, which means no limit",
}
"""What the repair does, in the words of the report."""


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
