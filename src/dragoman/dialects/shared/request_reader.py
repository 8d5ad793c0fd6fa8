"""A client's body to an `Ask`: one reader for all dialects. A `RequestReader` declares what differs between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec import Raw

from dragoman.conversation import traits
from dragoman.conversation.conversation import Ask
from dragoman.conversation.messages import FIELD, SYSTEM, Message
from dragoman.conversation.near_misses import LISTS
from dragoman.conversation.parts import Json, Text
from dragoman.conversation.tools import Tool, ToolChoice
from dragoman.conversation.traits import ObservedMessage, observe_message
from dragoman.dialects.near_misses.members import MeantMembers, MemberForm, parse_members_meant
from dragoman.dialects.near_misses.two_readings import refuse_two_turns
from dragoman.dialects.shared.parsed_messages import ListParser, ParsedList
from dragoman.dialects.shared.parsing import OpenedBytes, asks_for_stream, open_body, parse_model
from dragoman.dialects.shared.read_lists import ListReading
from dragoman.dialects.shared.top_level import TopLevel
from dragoman.errors import MalformedRequest
from dragoman.wire.json_reader import make_malformed, too_deep

Members = Mapping[str, Raw]
_CHOICE_MEMBERS = ("tool_choice", "toolChoice", "toolConfig", "function_call")


class RequestReader(msgspec.Struct, frozen=True):
    """How requests of one dialect are read."""

    called: str
    """What the dialect's own vendor calls a request, for errors."""
    members: MemberForm
    parser: ListParser
    parse_top_level: Callable[[Members], TopLevel]
    """All but the messages and the system text."""
    settle: Callable[[ParsedList], ParsedList] | None = None
    """The second pass over the messages: what one of them means may depend on its neighbours."""
    parse_system: Callable[[Json], Sequence[ObservedMessage]] | None = None
    """What stands in the field for the system text; None if the dialect has no such field."""
    rename: Callable[[Members], Members] | None = None
    """The members under the names that the dialect prefers."""
    find_members: Callable[[Members, MemberForm], MeantMembers] = parse_members_meant
    parse_list: Callable[[Raw | None, MeantMembers, ListReading | None], ParsedList] | None = None
    """In place of `parser` and `settle`, for a dialect whose messages are more than its list, or need not be one."""
    parse_model: Callable[[Members], str | None] = parse_model
    asks_for_stream: Callable[[Members], bool] = asks_for_stream

    def parse(self, body: bytes, *, headers: Mapping[str, str] | None = None) -> Ask:
        """A client's request. Raises MalformedRequest or DuplicateKey, with a pointer: a value of the wrong type
        anywhere is a malformed request."""
        try:
            ask = self._parse(body, headers or {})
        except msgspec.DecodeError as fault:
            raise make_malformed(fault) from None
        except RecursionError:
            raise too_deep() from None
        choice = ask.conversation.settings.tool_choice
        if choice is not None and choice.names:
            _check_choice(ask, choice)
        if ask.traits is not None and ask.traits & traits.MESSAGE_EXTRAS:
            refuse_two_turns(_find_new_messages(ask, body), next((name for name in LISTS if name in ask.members), ""))
        return ask

    def _parse(self, body: bytes, headers: Mapping[str, str]) -> Ask:
        opened = open_body(body)
        found: Members = opened.members if self.rename is None else self.rename(opened.members)
        meant = self.find_members(found, self.members)
        raw = meant.found.get(self.members.messages)
        if self.parse_list is not None:
            listed = self.parse_list(raw, meant, opened.reading)
        elif raw is not None:
            listed = self.parser.parse(raw, meant.list_name, opened.reading)
            listed = listed if self.settle is None else self.settle(listed)
        else:
            raise no_messages(self.members.messages, self.called)
        if self.parse_system is not None:
            opening = self.parse_system(bytes(meant.found.get(self.members.system, b"")))
        else:
            opening = _open_with(meant.system) if meant.system else ()
        messages, traits = listed.finish(opening)
        top = self.parse_top_level(meant.found)
        return Ask(
            dialect=self.parser.form.name,
            model=self.parse_model(found),
            stream=self.asks_for_stream(found),
            conversation=top.conversation(messages, (*meant.misses, *listed.misses)),
            source=opened.source,
            members=found,
            headers=headers,
            include_usage=top.include_usage,
            repairs=opened.repairs,
            traits=traits,
        )


def _open_with(texts: tuple[Json, ...]) -> Sequence[ObservedMessage]:
    """A system text in a field that the dialect does not have opens the messages."""
    return (observe_message(Message(SYSTEM, tuple([Text(literal) for literal in texts]), FIELD)),)


def no_messages(name: str, called: str) -> MalformedRequest:
    return MalformedRequest(f"there are no {name}", at=f"/{name}", hint=f'{called} has "{name}"')


def _find_new_messages(ask: Ask, body: bytes) -> Sequence[Message]:
    """The messages without those that were read on the turn before: what a reader has to say of them, it said."""
    messages = ask.conversation.messages
    reading = body.opened.reading if isinstance(body, OpenedBytes) else None
    if reading is None or reading.done is None:
        return messages
    opening = len(messages) - len(reading.done.messages)
    return messages[:opening] + messages[opening + reading.start.count :]


def _check_choice(ask: Ask, choice: ToolChoice) -> None:
    """Raise MalformedRequest if a tool choice names a tool that is not there. Without tools it means nothing."""
    tools = ask.conversation.tools
    declared = [tool.name for tool in tools if isinstance(tool, Tool)]
    missing = [name for name in choice.names if name not in declared]
    if not missing or len(declared) < len(tools) or not declared:
        return
    member = next((key for key in _CHOICE_MEMBERS if key in ask.members), "tool_choice")
    raise MalformedRequest(
        f'the tool choice names "{missing[0]}", which is not among the tools',
        at=f"/{member}",
        hint=f"declare it, or choose one of: {', '.join(sorted(declared)[:10])}",
    )
