"""A Chat request, both ways."""

from __future__ import annotations

from functools import partial

from dragoman.conversation.literals import quote
from dragoman.conversation.messages import Message
from dragoman.conversation.near_misses import Miss
from dragoman.conversation.parts import BESIDE, Call, Citation, Json, Media, Opaque, Part, Reasoning, Refusal
from dragoman.dialects.dialect import RequestCodec, locate_in_members
from dragoman.dialects.near_misses.members import MemberForm
from dragoman.dialects.near_misses.turns import MissLog, WireForm, render_items, types_by_members
from dragoman.dialects.openai_chat import NAME, ORIGIN
from dragoman.dialects.openai_chat.message_parse import parse_odd_item, parse_turn, settle
from dragoman.dialects.openai_chat.message_render import render_messages, render_unnamed
from dragoman.dialects.openai_chat.schema import decode_message, decode_messages, open_message, open_part
from dragoman.dialects.openai_chat.settings import PLACES, parse_top_level, render_top_level
from dragoman.dialects.shared.parsed_messages import ListParser, item_parser
from dragoman.dialects.shared.raw_json import fields_of
from dragoman.dialects.shared.rendering import BodyLayout
from dragoman.dialects.shared.request_reader import RequestReader
from dragoman.dialects.shared.wire_schema import fits
from dragoman.wire.json_reader import render_object


def locate_parts(message: Message) -> list[str]:
    """The pointers to all parts of a message."""
    return locate_in_members(message, partial(_member_of, message.listed))


def _member_of(listed: bool, part: Part) -> str:
    match part:
        case Media() if part.wire_form == BESIDE:
            return "/images/"
        case Call():
            return "/function_call" if part.wire_form else "/tool_calls/"
        case Citation():
            return "/annotations/"
        case Reasoning():
            return f"/{part.field}"
        case Refusal() if not listed:
            return "/refusal"
        case Opaque(kind="audio"):
            return "/audio"
    return "/content/" if listed else "/content"


LAYOUT = BodyLayout("messages", True, render_top_level, render_messages, render_unnamed)


# How what does not fit is written


def _repair_item(item: Json, log: MissLog) -> Json | None:
    """A message whose older `function_call` has its arguments as an object, or none."""
    fields = fields_of(item) or {}
    call = fields_of(fields.get("function_call"))
    if call is None or call.get("arguments", b"")[:1] == b'"':
        return None
    given = call.get("arguments", b"null")
    call["arguments"] = quote("{}" if given == b"null" else given.decode())
    repaired = render_object({**fields, "function_call": render_object(call)})
    if not FORM.fits(repaired):
        return None
    log.note(Miss.ARGUMENTS, "/function_call/arguments")
    return repaired


MEMBERS = MemberForm("messages")
FORM = WireForm(
    name=NAME,
    list_name="messages",
    content_name="content",
    roles=frozenset({"system", "developer", "user", "assistant", "tool", "function"}),
    fits=lambda raw: fits(open_message, raw),
    fits_part=lambda raw, role: fits(open_part, raw),
    render=lambda turn: render_items(turn.messages(ORIGIN, inline=True), render_messages),
    takes_hints=True,
    has_calls=True,
    repair_item=_repair_item,
    decode_part=lambda raw, role: open_part(raw),
    part_types=types_by_members(
        text="text", image_url="image_url", input_audio="input_audio", file="file", refusal="refusal"
    ),
    optional={"refusal": b'"n', "reasoning_content": b'"n', "reasoning": b'"n', "reasoning_details": b"[n"},
    pictures_apart=True,
)
LIST = ListParser(FORM, item_parser(decode_message, parse_turn), parse_odd_item, decode_messages, parse_turn)
READER = RequestReader("a Chat request", MEMBERS, LIST, parse_top_level, settle)
REQUESTS = RequestCodec(READER.parse, LAYOUT.render, locate_parts, PLACES)
