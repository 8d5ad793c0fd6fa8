"""A Cohere request, both ways."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Raw

from dragoman.conversation.messages import FIELD, Message
from dragoman.conversation.parts import Call, Citation, Part, Text
from dragoman.dialects.cohere import NAME, ORIGIN
from dragoman.dialects.cohere.message_parse import parse_documents, parse_odd_item, parse_turn, settle
from dragoman.dialects.cohere.message_render import is_documents, render_messages, render_new
from dragoman.dialects.cohere.schema import decode_message, decode_messages, open_message, open_part
from dragoman.dialects.cohere.settings import PLACES, parse_top_level, render_top_level
from dragoman.dialects.dialect import RequestCodec, locate_in_members, locate_message
from dragoman.dialects.near_misses.members import MeantMembers, MemberForm
from dragoman.dialects.near_misses.turns import WireForm, render_items, types_by_members
from dragoman.dialects.shared.parsed_messages import ListParser, ParsedList, item_parser
from dragoman.dialects.shared.read_lists import ListReading
from dragoman.dialects.shared.rendering import BodyLayout
from dragoman.dialects.shared.request_reader import RequestReader, no_messages
from dragoman.dialects.shared.wire_schema import fits
from dragoman.errors import MalformedRequest


def _parse_list(raw: Raw | None, meant: MeantMembers, reading: ListReading | None) -> ParsedList:
    """The documents of a request are messages too."""
    if raw is None:
        raise _explain_missing(meant.found)
    return settle(LIST.parse(raw, meant.list_name, reading), parse_documents(bytes(meant.found.get("documents", b""))))


def _explain_missing(found: Mapping[str, Raw]) -> MalformedRequest:
    """Version 1 of the API has tools, documents and search of other kinds: half of such a request would be lost."""
    older = next((name for name in _VERSION_1 if name in found), None)
    if older is None:
        return no_messages("messages", CALLED)
    return MalformedRequest(
        f'"{older}" belongs to version 1 of Cohere\'s API, which is not served',
        at=f"/{older}",
        hint='send "messages", as ClientV2.chat does: the preamble as a system message, chat_history with its roles '
        "CHATBOT as assistant and USER as user, and message as the last user message",
    )


CALLED = "a Cohere request"
_VERSION_1 = ("message", "chat_history", "preamble")


def locate(message: Message) -> str:
    """The pointer to a message of a parsed request."""
    return "/documents" if is_documents(message) else locate_message(message)


def locate_parts(message: Message) -> list[str]:
    """The pointers to all parts of a message."""
    if message.at == FIELD:
        at = locate(message)
        return [f"{at}/{part}" if is_documents(message) else at for part in range(len(message.parts))]
    calls = any(type(part) is Call for part in message.parts)
    # Beside calls a text may be the plan or the content: the message holds it in any case.
    text = "/content/" if message.listed else "" if calls else "/content"
    members: dict[type[Part], str] = {Call: "/tool_calls/", Citation: "/citations/", Text: text}
    return locate_in_members(message, lambda part: members.get(type(part), "/content/"))


LAYOUT = BodyLayout("messages", True, render_top_level, render_messages, render_new)


# How what does not fit is written

MEMBERS = MemberForm("messages")
FORM = WireForm(
    name=NAME,
    list_name="messages",
    content_name="content",
    roles=frozenset({"system", "user", "assistant", "tool"}),
    fits=lambda raw: fits(open_message, raw),
    fits_part=lambda raw, role: fits(open_part[role], raw),
    render=lambda turn: render_items(turn.messages(ORIGIN), render_messages),
    has_calls=True,
    decode_part=lambda raw, role: open_part[role](raw),
    part_types=types_by_members(text="text", image_url="image_url", thinking="thinking", document="document"),
    optional={"tool_plan": b'"n', "citations": b"[n"},
)
LIST = ListParser(FORM, item_parser(decode_message, parse_turn), parse_odd_item, decode_messages, parse_turn)
READER = RequestReader(CALLED, MEMBERS, LIST, parse_top_level, parse_list=_parse_list)
REQUESTS = RequestCodec(READER.parse, LAYOUT.render, locate_parts, PLACES, locate=locate)
