"""Calls of tools that a client was asked about, and what it answered.

The question ended an answer. The client brings it back with its own answer, and only then is the tool run: before the
model is asked again, so that the model sees its call and what came of it.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import ASSISTANT, Message
from dragoman.conversation.parts import Call, Opaque
from dragoman.conversation.provider_tools import Approval, ProviderTool, ProviderToolCodec, ToolRun
from dragoman.dialects.registry import dialect
from dragoman.engine.tool_runs.kept_runs import run_block
from dragoman.engine.tool_runs.run_functions import server_function_name

NOT_APPROVED = "not_approved"
_DENIED = "The user did not approve this call."


class WantedRun(msgspec.Struct, frozen=True, gc=False):
    """A call to be carried out."""

    tool: ProviderTool
    """As the client declared it."""
    call: ToolRun


class AnsweredCall(msgspec.Struct, frozen=True, gc=False):
    """A call that the client was asked about, and has not seen the result of."""

    call: ToolRun
    approval: Approval
    """What it answered."""

    def to_run(self, tool: ProviderTool) -> WantedRun:
        """The call, as one of a server that may be called now."""
        assert tool.server is not None
        approved = (*(tool.server.approved or ()), self.call.name)
        return WantedRun(replace(tool, server=replace(tool.server, approved=approved)), self.call)

    def denied(self) -> ToolRun:
        """What the model reads if it may not be called."""
        return replace(self.call, output=f"{_DENIED} {self.approval.reason}".strip(), error=NOT_APPROVED)


def find_answered(conversation: Conversation, client: str) -> tuple[AnsweredCall, ...]:
    """The calls that the client has just answered about, in the order of the questions: the model has said nothing
    since, and nothing came of them yet."""
    codec = dialect(client).provider_tools
    if codec is None or codec.render_approval is None:
        return ()
    asked: dict[str, ToolRun] = {}
    answers: dict[str, Approval] = {}
    for part in [part for message in conversation.messages if message.role is ASSISTANT for part in message.parts]:
        found = codec.parse_approval(part) if type(part) is Opaque and part.origin.dialect == client else None
        if found is None:
            for id in answers:
                asked.pop(id, None)
            answers = {}
        elif found.run is not None:
            asked[found.id] = found.run
        else:
            answers[found.id] = found
    return tuple([AnsweredCall(run, answers[id]) for id, run in asked.items() if id in answers])


def server_call(run: ToolRun) -> Call:
    """The call of the function that stands for a tool of a server."""
    return Call(id=run.id, name=server_function_name(run.server, run.name), arguments=run.arguments or b"{}")


def with_answered(conversation: Conversation, client: str, pairs: tuple[tuple[Call, ToolRun], ...]) -> Conversation:
    """The conversation with these calls and their results in place of the questions and answers about them."""
    codec = dialect(client).provider_tools
    assert codec is not None
    ids = {run.approval for _, run in pairs}
    messages: list[Message] = []
    place = -1
    for message in conversation.messages:
        parts = tuple([part for part in message.parts if not _is_about(part, codec, ids)])
        if len(parts) < len(message.parts):
            place = len(messages) if place < 0 else place
        if parts or not message.parts:
            messages.append(message if len(parts) == len(message.parts) else replace(message, parts=parts))
    messages.insert(place, Message(ASSISTANT, (run_block(pairs),)))
    return replace(conversation, messages=tuple(messages))


def _is_about(part: object, codec: ProviderToolCodec, ids: set[str]) -> bool:
    found = codec.parse_approval(part) if type(part) is Opaque else None
    return found is not None and found.id in ids
