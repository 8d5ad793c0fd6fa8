"""An Anthropic request, both ways."""

from __future__ import annotations

from dragoman.conversation.literals import EMPTY, quote
from dragoman.conversation.messages import ASSISTANT, DEVELOPER, FIELD, SYSTEM, TOOL, USER, Message
from dragoman.conversation.near_misses import Miss
from dragoman.conversation.parts import Json, Text
from dragoman.dialects.anthropic import NAME
from dragoman.dialects.anthropic.message_parse import (
    fits_block,
    parse_block_turn,
    parse_item,
    parse_odd_item,
    parse_system,
)
from dragoman.dialects.anthropic.message_render import render_block, render_messages
from dragoman.dialects.anthropic.schema import decode_block_turns, open_block, open_system, open_text, open_turn
from dragoman.dialects.anthropic.settings import PLACES, parse_top_level, render_top_level
from dragoman.dialects.dialect import RequestCodec, locate_message
from dragoman.dialects.near_misses.members import MemberForm
from dragoman.dialects.near_misses.misfits import Misfit, Trimmed, items_without_misfits
from dragoman.dialects.near_misses.turns import MeantTurn, MissLog, WireForm, types_by_members
from dragoman.dialects.shared.parsed_messages import ListParser, mark_inline
from dragoman.dialects.shared.raw_json import NULL, fields_of, items_of, text_of
from dragoman.dialects.shared.rendering import BodyLayout
from dragoman.dialects.shared.request_reader import RequestReader
from dragoman.dialects.shared.wire_schema import fits
from dragoman.wire.json_reader import render_list, render_object


def locate_parts(message: Message) -> list[str]:
    """The pointers to all parts of a message."""
    at = locate_message(message) if message.at == FIELD else f"{locate_message(message)}/content"
    return [f"{at}/{part}" if message.listed else at for part in range(len(message.parts))]


LAYOUT = BodyLayout("messages", True, render_top_level, render_messages)


# How what does not fit is written

_ROLES = {USER: "user", TOOL: "user", ASSISTANT: "assistant", SYSTEM: "system", DEVELOPER: "system"}


def _render_turn(turn: MeantTurn) -> list[Json]:
    """One message of blocks, or of a text alone."""
    only = turn.pieces[0].meant if len(turn.pieces) == 1 and not turn.listed else None
    if type(only) is Text and only.hint is None:
        content: Json = only.literal
    else:
        content = render_list([piece.render(render_block) for piece in turn.pieces])
    return [render_object({"role": quote(turn.role_name(_ROLES)), "content": content})]


def _repair_part(block: Json, below: str, log: MissLog) -> Json | None:
    """A thought whose words are null, as of a model that shows none: it has a signature all the same."""
    fields = fields_of(block) or {}
    if text_of(fields.get("type")) != "thinking" or fields.get("thinking") != NULL:
        return None
    filled = render_object({**fields, "thinking": EMPTY})
    if fits_block(filled):
        log.note(Miss.PART, below)
        return filled
    return None


def _render_system(texts: list[Json]) -> Json:
    return texts[0] if len(texts) == 1 else render_list([b'{"type":"text","text":%b}' % text for text in texts])


def _trim_system(raw: Json) -> Trimmed | None:
    """The system text with types if clients left them out, and without optional members that do not fit."""
    items, found = items_of(raw) or [], list[int]()
    for place, item in enumerate(items):
        fields = fields_of(item)
        if fields is not None and "text" in fields and "type" not in fields:
            items[place] = render_object({"type": b'"text"', **fields})
            found.append(place)
    trimmed = items_without_misfits(render_list(items), open_text)
    if trimmed is None:
        return None
    return Trimmed(trimmed.raw, (*[Misfit(Miss.PART, f"/{place}", None) for place in found], *trimmed.misfits))


MEMBERS = MemberForm(
    "messages",
    "system",
    lambda raw: raw[:1] == b'"' or fits(open_system, raw),
    _render_system,
    _trim_system,
)
FORM = WireForm(
    name=NAME,
    list_name="messages",
    content_name="content",
    roles=frozenset({"user", "assistant", "system"}),
    fits=lambda raw: fits(open_turn, raw),
    fits_part=lambda raw, role: fits_block(raw),
    render=_render_turn,
    takes_hints=True,
    repair_part=_repair_part,
    decode_part=lambda raw, role: open_block(raw),
    part_types=types_by_members(
        text="text",
        image="source",
        document="source",
        search_result="source title content",
        thinking="thinking",
        redacted_thinking="data",
        tool_use="name input",
        tool_result="tool_use_id",
    ),
)
LIST = ListParser(FORM, parse_item, parse_odd_item, decode_block_turns, parse_block_turn)
READER = RequestReader(
    "a Messages request",
    MEMBERS,
    LIST,
    parse_top_level,
    settle=mark_inline,
    parse_system=parse_system,
)
REQUESTS = RequestCodec(READER.parse, LAYOUT.render, locate_parts, PLACES)
