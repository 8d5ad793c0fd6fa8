"""Calls of tools that a client was asked about, and what it answered.

The question ended an answer. The client brings it back with its own answer, and only then is the tool run: before the
model is asked again, so that the model sees its call and what came of it.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from operator import is_

import msgspec
from msgspec.structs import replace

from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import ASSISTANT, Message
from dragoman.conversation.parts import Call, Opaque, Part
from dragoman.conversation.provider_tools import Approval, ProviderTool, ProviderToolCodec, ToolRun
from dragoman.dialects.registry import dialect
from dragoman.engine.compile.reasoning_restore import KeptParts
from dragoman.engine.tool_runs.kept_runs import restore_run, run_block
from dragoman.engine.tool_runs.run_functions import server_function_name

NOT_APPROVED = "not_approved"
_DENIED = "The user did not approve this call."
_IGNORED = "The user did not say whether this call may be made. It was not made."
_LOST = "Nobody knows what came of this call."


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
    for part in [part for message in conversation.messages for part in _parts_about_calls(message)]:
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


def with_settled(
    conversation: Conversation, client: str, kept: Mapping[str, KeptParts], functions: Container[str]
) -> Conversation:
    """The conversation with the questions of earlier turns as the calls that they were about, each with what came of
    it, as the model saw them after the client's answer. `functions`: those that are declared now."""
    codec = dialect(client).provider_tools
    if codec is None or codec.render_approval is None:
        return conversation
    settled = _SettledCalls(codec, kept)
    for message in conversation.messages:
        for part in _parts_about_calls(message):
            settled.note(part, functions)
    if not settled.asked:
        return conversation
    turns = [(message, settled.replace_in(message)) for message in conversation.messages]
    return replace(conversation, messages=tuple([new for old, new in turns if new.parts or not old.parts]))


class _SettledCalls:
    """What is known of calls that the client was asked about."""

    def __init__(self, codec: ProviderToolCodec, kept: Mapping[str, KeptParts]) -> None:
        self.asked: dict[str, ToolRun] = {}
        """The calls, by the ids of the questions."""
        self._answers: dict[str, Approval] = {}
        self._came: dict[str, ToolRun] = {}
        """What came of those that were made."""
        self._rounds: dict[str, list[str]] = {}
        """The questions of one round, by the first of them."""
        self._round: list[str] | None = None
        self._codec = codec
        self._kept = kept

    def note(self, part: Part, functions: Container[str]) -> None:
        found = self._codec.parse_approval(part) if type(part) is Opaque else None
        run = found.run if found is not None else None
        if found is None or run is None or server_call(run).name not in functions:
            self._round = None
        else:
            self.asked[found.id] = run
            self._round = self._rounds.setdefault(found.id, []) if self._round is None else self._round
            self._round.append(found.id)
        if found is not None and run is None:
            self._answers[found.id] = found
        elif found is None and (done := self._find_made(part)) is not None:
            self._came[done.approval] = done

    def _find_made(self, part: Part) -> ToolRun | None:
        run = self._codec.parse_run(part) if type(part) is Opaque else None
        return run if run is not None and run.approval in self.asked else None

    def replace_in(self, message: Message) -> Message:
        if not any(type(part) is Opaque for part in message.parts):
            return message
        parts: list[Part] = []
        for part in message.parts:
            found = self._codec.parse_approval(part) if type(part) is Opaque else None
            if found is not None and found.id in self._rounds:
                parts += [run_block([self._pair(id) for id in self._rounds[found.id]])] if found.run is not None else []
            elif (found is None or found.id not in self.asked) and self._find_made(part) is None:
                parts.append(part)
        return (
            message
            if len(parts) == len(message.parts) and all(map(is_, parts, message.parts))
            else replace(message, parts=tuple(parts))
        )

    def _pair(self, id: str) -> tuple[Call, ToolRun]:
        asked, answer, came = self.asked[id], self._answers.get(id), self._came.get(id)
        if came is not None:
            return server_call(asked), restore_run(came, self._kept.get(came.id, ()))
        if answer is not None and not answer.is_given:
            return server_call(asked), AnsweredCall(asked, answer).denied()
        return server_call(asked), replace(asked, output=_IGNORED if answer is None else _LOST, error=NOT_APPROVED)


def _parts_about_calls(message: Message) -> tuple[Part, ...]:
    """What may ask about a call, or answer: the answer is an item of the user's."""
    return message.parts if message.role is ASSISTANT else tuple([one for one in message.parts if type(one) is Opaque])


def _is_about(part: object, codec: ProviderToolCodec, ids: set[str]) -> bool:
    found = codec.parse_approval(part) if type(part) is Opaque else None
    return found is not None and found.id in ids
