"""A Converse request, both ways. Its path, and not its body, names the model and asks for a stream."""

from __future__ import annotations

from base64 import b64decode

import msgspec

from dragoman.conversation.conversation import Ask, Conversation
from dragoman.conversation.literals import quote
from dragoman.conversation.messages import ASSISTANT, DEVELOPER, FIELD, SYSTEM, TOOL, USER, Message, Role
from dragoman.conversation.near_misses import Miss
from dragoman.conversation.parts import Inline, Json, MediaKind
from dragoman.dialects.bedrock import NAME
from dragoman.dialects.bedrock.message_parse import FORMATS, parse_odd_item, parse_system, parse_turn
from dragoman.dialects.bedrock.message_render import format_of, render_block, render_messages
from dragoman.dialects.bedrock.schema import decode_turn, decode_turns, open_block, open_system, open_turn
from dragoman.dialects.bedrock.settings import PLACES, parse_top_level, render_top_level
from dragoman.dialects.dialect import RenderOptions, RequestCodec, locate_message
from dragoman.dialects.near_misses.members import MemberForm
from dragoman.dialects.near_misses.parts import parse_picture
from dragoman.dialects.near_misses.turns import MeantTurn, MissLog, WireForm
from dragoman.dialects.shared.parsed_messages import ListParser, item_parser, mark_inline
from dragoman.dialects.shared.parsing import link_literal
from dragoman.dialects.shared.raw_json import Fields, fields_of, items_of, text_of
from dragoman.dialects.shared.rendering import BodyLayout, amend_body, render_body
from dragoman.dialects.shared.request_reader import RequestReader
from dragoman.dialects.shared.wire_schema import fits
from dragoman.wire.json_reader import render_list, render_object


def locate_parts(message: Message) -> list[str]:
    """The pointers to all parts of a message. Cache points stand between the parts."""
    at, place = locate_message(message), 0
    if message.at != FIELD:
        at += "/content"
    found: list[str] = []
    for part in message.parts:
        found.append(f"{at}/{place}")
        place += 1 if part.hint is None else 2
    return found


LAYOUT = BodyLayout("messages", False, render_top_level, render_messages)


def render_request(conversation: Conversation, options: RenderOptions, ask: Ask | None = None) -> bytes:
    """The body: amended if `ask` is the client's own request in this dialect, else a new one."""
    if ask is None:
        return render_body(LAYOUT, conversation, options)
    if conversation is ask.conversation and not options.without:
        return ask.source
    return amend_body(LAYOUT, ask, conversation, options)


# How what does not fit is written


def _fits_item(item: Json) -> bool:
    content = (fields_of(item) or {}).get("content", b"[]")
    blocks = items_of(content) or ()
    if not fits(open_turn, item) or ((b'"bytes"' in item or b'"json"' in item) and any(map(_repair_block, blocks))):
        return False
    return all(map(_has_one_key, blocks))


def _fits_part(item: Json) -> bool:
    return fits(open_block, item) and _has_one_key(item) and _repair_block(item) is None


def _open_part(item: Json, role: Role) -> None:
    open_block(item)
    if not _fits_part(item):
        raise msgspec.DecodeError("a block of several kinds")


def _has_one_key(block: Json) -> bool:
    """Whether a block has one key, its kind; and each block of a result that it is."""
    fields = fields_of(block) or {}
    given = fields_of(fields.get("toolResult")) or {}
    return len(fields) == 1 and all(len(fields_of(one) or ()) == 1 for one in items_of(given.get("content")) or ())


def _fits_system(raw: Json) -> bool:
    return fits(open_system, raw) and all(map(_has_one_key, items_of(raw) or ()))


_DATA_URL = b'"data:'


def _repair_block(block: Json) -> tuple[Json, str] | None:
    """A block as Converse has it, and the place of what changed. None if there is nothing to do.

    Media whose bytes are a data URL, a picture without one of Converse's formats, and a JSON value that is no object,
    which is given as text.
    """
    for kind, value in (fields_of(block) or {}).items():
        fields = fields_of(value)
        if kind == "json" and fields is None:
            return b'{"text":%b}' % quote(value.decode()), kind
        if kind == "toolResult" and fields:
            return _repair_result(fields)
        repaired = _repair_medium(kind, fields or {})
        if repaired is not None:
            medium, member = repaired
            return render_object({kind: render_object(medium)}), f"{kind}/{member}"
    return None


def _repair_result(result: Fields) -> tuple[Json, str] | None:
    outputs = items_of(result.get("content")) or []
    places = []
    for index, output in enumerate(outputs):
        repaired = _repair_block(output)
        if repaired is not None:
            outputs[index], below = repaired
            places.append(f"toolResult/content/{index}/{below}")
    if not places:
        return None
    return render_object({"toolResult": render_object({**result, "content": render_list(outputs)})}), places[0]


def _repair_medium(kind: str, medium: Fields) -> tuple[Fields, str] | None:
    source = fields_of(medium.get("source")) or {}
    if source.keys() != {"bytes"}:
        return None
    linked = link_literal(source["bytes"]) if source["bytes"].startswith(_DATA_URL) else None
    if isinstance(linked, Inline):
        return {**medium, "source": b'{"bytes":%b}' % linked.data}, "source/bytes"
    if kind == MediaKind.DOCUMENT:
        text = _find_cited_text(medium, source["bytes"])
        return None if text is None else ({**medium, "source": b'{"text":%b}' % text}, "source/bytes")
    form = _find_picture_format(medium, source["bytes"]) if kind == MediaKind.IMAGE else ""
    return ({**medium, "format": quote(form)}, "format") if form else None


def _find_cited_text(medium: Fields, literal: Json) -> Json | None:
    """The text of a document that is to be cited. Converse takes the bytes of one for a PDF (boto3#4726)."""
    if text_of(medium.get("format")) != "txt" or (fields_of(medium.get("citations")) or {}).get("enabled") != b"true":
        return None
    try:
        return quote(b64decode(text_of(literal), validate=True).decode())
    except ValueError:
        return None


def _find_picture_format(medium: Fields, literal: Json) -> str:
    """The format that is meant if another name stands there, such as `jpg`, or none; else empty."""
    name = text_of(medium.get("format"))
    if name:
        return format_of(MediaKind.IMAGE, f"image/{name}") if name not in FORMATS[MediaKind.IMAGE] else ""
    picture = parse_picture(literal)
    return format_of(MediaKind.IMAGE, picture.source.media_type) if picture and type(picture.source) is Inline else ""


def _repair_part(block: Json, below: str, log: MissLog) -> Json | None:
    repaired = _repair_block(block)
    if repaired is None:
        return None
    log.note(Miss.PART, f"{below}/{repaired[1]}")
    return repaired[0]


_ROLES = {USER: "user", TOOL: "user", ASSISTANT: "assistant", SYSTEM: "system", DEVELOPER: "system"}


def _render_turn(turn: MeantTurn) -> list[Json]:
    content = render_list([piece.render(render_block) for piece in turn.pieces])
    return [render_object({"role": quote(turn.role_name(_ROLES)), "content": content})]


def _render_system(texts: list[Json]) -> Json:
    return render_list([b'{"text":%b}' % text for text in texts])


MEMBERS = MemberForm("messages", "system", _fits_system, _render_system)
FORM = WireForm(
    name=NAME,
    list_name="messages",
    content_name="content",
    roles=frozenset({"user", "assistant", "system"}),
    fits=_fits_item,
    fits_part=lambda raw, role: _fits_part(raw),
    render=_render_turn,
    repair_part=_repair_part,
    decode_part=_open_part,
    takes_text=False,
)
LIST = ListParser(FORM, item_parser(decode_turn, parse_turn), parse_odd_item, decode_turns, parse_turn)
READER = RequestReader(
    "a Converse request",
    MEMBERS,
    LIST,
    parse_top_level,
    settle=mark_inline,
    parse_system=parse_system,
    parse_model=lambda found: None,
    asks_for_stream=lambda found: False,
)
REQUESTS = RequestCodec(READER.parse, render_request, locate_parts, PLACES)
