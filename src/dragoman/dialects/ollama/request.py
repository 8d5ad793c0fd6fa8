"""An Ollama request, both ways. One of `/api/generate` has a prompt in place of its messages."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Raw
from msgspec.structs import replace

from dragoman.conversation.literals import join_texts
from dragoman.conversation.messages import ASSISTANT, TOOL, USER, Message, Role
from dragoman.conversation.near_misses import Miss
from dragoman.conversation.parts import NO_ID, Call, Inline, Json, Media, Part, Reasoning, Result, Text
from dragoman.dialects.dialect import RequestCodec, locate_in_members
from dragoman.dialects.near_misses.members import MemberForm
from dragoman.dialects.near_misses.turns import MeantTurn, MissLog, WireForm, render_items, whole_call
from dragoman.dialects.ollama import NAME
from dragoman.dialects.ollama.message_parse import DATA_URL, parse_odd_item, parse_turn, settle
from dragoman.dialects.ollama.message_render import render_messages
from dragoman.dialects.ollama.schema import decode_messages, message_decoder, open_message
from dragoman.dialects.ollama.settings import PLACES, parse_top_level, render_top_level
from dragoman.dialects.shared.parsed_messages import ListParser, item_parser
from dragoman.dialects.shared.parsing import asks_for_stream, link_literal
from dragoman.dialects.shared.raw_json import fields_of, items_of
from dragoman.dialects.shared.rendering import BodyLayout
from dragoman.dialects.shared.request_reader import RequestReader
from dragoman.dialects.shared.wire_schema import fits
from dragoman.errors import Unrepresentable
from dragoman.wire.json_reader import render_list, render_object


def _streams(members: Mapping[str, Raw]) -> bool:
    """Whether the answer is a stream: it is, if the request does not say otherwise."""
    return bytes(members.get("stream", b"null")) == b"null" or asks_for_stream(members)


def locate_parts(message: Message) -> list[str]:
    """The pointers to all parts of a message."""
    return locate_in_members(message, lambda part: _MEMBERS.get(type(part), "/content"))


_MEMBERS: Mapping[type[Part], str] = {Call: "/tool_calls/", Media: "/images/", Reasoning: "/thinking"}


LAYOUT = BodyLayout("messages", True, render_top_level, render_messages)


# How what does not fit is written


def _fits_item(item: Json) -> bool:
    return fits(open_message, item) and (DATA_URL not in item or not any(map(_is_data_url, _pictures(item))))


def _pictures(item: Json) -> list[Json]:
    return items_of((fields_of(item) or {}).get("images")) or []


def _is_data_url(picture: Json) -> bool:
    return picture.startswith(DATA_URL)


def _repair_item(item: Json, log: MissLog) -> Json | None:
    """A message whose pictures are data URLs: their bytes alone."""
    pictures = _pictures(item) if DATA_URL in item else []
    found = [link_literal(one) if _is_data_url(one) else None for one in pictures]
    if not any(found):
        return None
    for place, source in enumerate(found):
        if isinstance(source, Inline):
            pictures[place] = source.data
            log.note(Miss.PART, f"/images/{place}")
    repaired = render_object({**(fields_of(item) or {}), "images": render_list(pictures)})
    return repaired if _fits_item(repaired) else None


def _render_turn(turn: MeantTurn) -> list[Json]:
    """The results of a turn as messages of their own, then what else it says."""
    results = [_flatten_result(part) for part in turn.parts(Result)]
    others = [part for piece in turn.pieces if (part := piece.meant) is not None and type(part) is not Result]
    if any(piece.meant is None for piece in turn.pieces):
        raise Unrepresentable("a part that ollama does not have")
    messages = [Message(TOOL, tuple(results))] if results else []
    if others or not results:
        messages.append(Message(_find_role(turn, others), _put_in_order(others), role_text=turn.role_text))
    return render_items(messages, render_messages)


def _find_role(turn: MeantTurn, parts: list[Part]) -> Role:
    called = any(type(part) is Call for part in parts)
    return ASSISTANT if called else USER if turn.role is TOOL else turn.role


def _put_in_order(parts: list[Part]) -> tuple[Part, ...]:
    """Thinking, media, one text, calls."""
    thoughts = [part for part in parts if type(part) is Reasoning]
    calls = [whole_call(part) for part in parts if type(part) is Call]
    return (*thoughts, *_join_texts([part for part in parts if type(part) in (Media, Text)]), *calls)


def _join_texts(parts: list[Part]) -> tuple[Part, ...]:
    texts = [part.literal for part in parts if type(part) is Text]
    media = [part for part in parts if type(part) is not Text]
    return (*media, Text(join_texts("\n", texts))) if texts else tuple(media)


def _flatten_result(part: Part) -> Part:
    assert type(part) is Result
    return replace(part, parts=_join_texts(list(part.parts)))


MEMBERS = MemberForm("messages")
FORM = WireForm(
    name=NAME,
    list_name="messages",
    content_name="content",
    roles=frozenset({"user", "assistant", "system", "developer", "tool"}),
    fits=_fits_item,
    fits_part=lambda raw, role: False,
    render=_render_turn,
    repair_item=_repair_item,
    has_calls=True,
    needs_ids=False,
    no_id=NO_ID,
    string_content=True,
    argument_objects=True,
)
LIST = ListParser(FORM, item_parser(message_decoder.decode, parse_turn), parse_odd_item, decode_messages, parse_turn)
READER = RequestReader("a chat request", MEMBERS, LIST, parse_top_level, settle=settle, asks_for_stream=_streams)
REQUESTS = RequestCodec(READER.parse, LAYOUT.render, locate_parts, PLACES)
