"""A Gemini request, both ways. Its path, and not its body, names the model and asks for a stream."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec
from msgspec import UNSET, Raw
from msgspec.structs import replace

from dragoman.conversation.conversation import Ask, Conversation
from dragoman.conversation.literals import EMPTY, quote
from dragoman.conversation.messages import ASSISTANT, DEVELOPER, SYSTEM, TOOL, USER, Message
from dragoman.conversation.near_misses import Miss
from dragoman.conversation.parts import NO_ID, Call, Inline, Json, Media, Result
from dragoman.dialects.dialect import RenderOptions, RequestCodec, locate_message
from dragoman.dialects.gemini import NAME, schema
from dragoman.dialects.gemini.message_parse import UNSIGNED, parse_content, parse_odd_item, parse_system, settle
from dragoman.dialects.gemini.message_render import render_messages, render_part, render_result
from dragoman.dialects.gemini.settings import PLACES, SNAKE, parse_top_level, render_top_level
from dragoman.dialects.near_misses.members import MemberForm
from dragoman.dialects.near_misses.misfits import Trimmed, items_without_misfits
from dragoman.dialects.near_misses.parts import odd_text
from dragoman.dialects.near_misses.turns import MeantPart, MeantTurn, MissLog, WireForm, whole_call
from dragoman.dialects.shared.parsed_messages import ListParser, item_parser
from dragoman.dialects.shared.parsing import link_literal, parse_model
from dragoman.dialects.shared.raw_json import NULL, Fields, as_text, fields_of, items_of, parse_embedded_object
from dragoman.dialects.shared.rendering import BodyLayout, Pieces, amend_body, render_body
from dragoman.dialects.shared.request_reader import RequestReader
from dragoman.dialects.shared.wire_schema import fits
from dragoman.errors import DuplicateKey, MalformedRequest
from dragoman.wire.json_reader import render_list, render_object


def _rename(found: Mapping[str, Raw]) -> dict[str, Raw]:
    """The members under their camelCase names."""
    if not found.keys() & SNAKE.keys():
        return dict(found)
    out: dict[str, Raw] = {}
    for key, value in found.items():
        name = SNAKE.get(key, key)
        if name in out:
            raise DuplicateKey(f'the key "{name}" stands twice, in two spellings', at=f"/{key}", hint="send it once")
        out[name] = value
    return out


def _parse_named_model(found: Mapping[str, Raw]) -> str | None:
    """A body may name the model too, as its path does."""
    return (parse_model(found) or "").removeprefix("models/") or None


locate = partial(locate_message, list_name="contents", system="systemInstruction")


def locate_parts(message: Message) -> list[str]:
    """The pointers to all parts of a message."""
    places = range(len(message.parts))
    if message.span > 1 and message.role is ASSISTANT:
        return [locate(message) for _ in places]  # of each there may be many pieces
    if message.span > 1:
        return [f"/contents/{message.at + min(part, message.span - 1)}" for part in places]
    return [f"{locate(message)}/parts/{part}" for part in places]


LAYOUT = BodyLayout("contents", False, render_top_level, render_messages)


def render_request(conversation: Conversation, options: RenderOptions, ask: Ask | None = None) -> bytes:
    """The body: amended if `ask` is the client's own request in this dialect, else a new one."""
    if ask is None:
        return render_body(LAYOUT, conversation, options)
    named = "model" in ask.members
    if conversation is ask.conversation and (options.model == ask.model or not named):
        return ask.source
    if named and options.model != ask.model:
        ask = replace(ask, members={**ask.members, "model": quote(options.model)})
    return amend_body(LAYOUT, ask, conversation, options)


# What fits, and how what does not is written

_KNOWN = frozenset(schema.GeminiAnyPart.__struct_fields__)
_HOLDING = frozenset({"text", "functionCall", "functionResponse", "inlineData", "fileData"})
"""The members that say what a part is."""
_BLOBS = frozenset({"inlineData", "fileData"})


def _check_part(part: Any) -> None:
    """Raise ValidationError if a part has no member at all."""
    unsigned = [one for one in (part.thoughtSignature, part.thought_signature) if one is not UNSET and one in UNSIGNED]
    nothing = (UNSET, None, *unsigned)
    if all(any(value is one for one in nothing) for value in msgspec.structs.astuple(part)):
        raise msgspec.ValidationError("a part without a member")


def _check_content(raw: Json) -> None:
    """Raise ValidationError if it does not fit. Without a role it is the user's, who calls nothing."""
    content = schema.open_content(raw)
    for part in content.parts if isinstance(content.parts, list) else (content.parts,):
        _check_part(part)
        if not content.role and (part.functionCall or part.function_call):
            raise msgspec.ValidationError("Object missing required field `role`")


def _repair_part(item: Json, below: str, log: MissLog) -> Json | None:
    """A part of Gemini's own without keys that it does not have, and with arguments and responses that are objects."""
    fields = fields_of(item)
    if fields is not None and all(value in (NULL, EMPTY) and key != "text" for key, value in fields.items()):
        log.note(Miss.NULL, below, item)
        return b'{"text":""}'
    if fields is None or not any(schema.camel(key) in _HOLDING for key in fields):
        return None
    if "type" in fields and "text" in fields:
        return None  # a part of another dialect
    fields = _interpret_members(fields, below, log)
    for key, value in fields.items():
        if schema.camel(key) in _BLOBS:
            _check_media_type(fields_of(value) or {}, f"{log.at}{below}/{key}")
    lost = {key: value for key, value in fields.items() if key not in _KNOWN}
    if any(value[:1] in b"{[" for value in lost.values()):
        return None  # a newer kind of part
    kept = {key: _repair(key, value, below, log) for key, value in fields.items() if key in _KNOWN}
    if lost:
        log.note(Miss.UNKNOWN_KEY, below, render_object(lost))
    return render_object(kept)


def _interpret_members(fields: Fields, below: str, log: MissLog) -> Fields:
    """The members that say what a part is, as texts and objects. Raises MalformedRequest if one is neither."""
    meant: Fields = {}
    for key, value in fields.items():
        if schema.camel(key) not in _HOLDING:
            meant[key] = value
        elif value == NULL:
            log.note(Miss.NULL, f"{below}/{key}", value)
        else:
            meant[key] = _interpret_member(key, value, f"{below}/{key}", log)
    return meant or {"text": EMPTY}


def _interpret_member(key: str, value: Json, below: str, log: MissLog) -> Json:
    found: Json | None = value
    if key == "text" and value[:1] != b'"':
        found = odd_text(value)
    elif key != "text" and value[:1] != b"{":
        items = items_of(value) or []
        found = parse_embedded_object(value) if value[:1] == b'"' else items[0] if len(items) == 1 else None
    if found is None or found[:1] not in b'"{':
        raise MalformedRequest(f"{key} has another type than it takes", at=log.at + below)
    if found is not value:
        log.note(Miss.PART, below)
    if schema.camel(key) in _BLOBS:
        _check_source(fields_of(found) or {}, log.at + below)
        found = _without_data_url(found, below, log)
    return found


def _without_data_url(blob: Json, below: str, log: MissLog) -> Json:
    """The bytes alone if a data URL stands in their place."""
    fields = fields_of(blob) or {}
    linked = link_literal(fields["data"]) if fields.get("data", b"").startswith(b'"data:') else None
    if not isinstance(linked, Inline):
        return blob
    log.note(Miss.PART, f"{below}/data")
    return render_object({"mimeType": quote(linked.media_type), **fields, "data": linked.data})


def _check_source(blob: Fields, at: str) -> None:
    """Raise MalformedRequest if the bytes or the address of a file are no text."""
    for key in ("data", "fileUri", "file_uri"):
        if blob.get(key, NULL)[:1] not in (b'"', b"n"):
            raise MalformedRequest(f"{key} is not a string", at=f"{at}/{key}")


def _check_media_type(blob: Fields, at: str) -> None:
    """Raise MalformedRequest if the media type of bytes or of a file is no text."""
    for key in ("mimeType", "mime_type"):
        if blob.get(key, NULL)[:1] not in (b'"', b"n"):
            raise MalformedRequest("the media type is not a string", at=f"{at}/{key}", hint='such as "image/png"')


def _repair(key: str, value: Json, below: str, log: MissLog) -> Json:
    fields = fields_of(value)
    if fields is None:
        return value
    if schema.camel(key) == "functionCall":
        return _repair_call(fields, f"{below}/{key}", log)
    return _repair_response(fields, f"{below}/{key}", log) if schema.camel(key) == "functionResponse" else value


def _repair_call(fields: Fields, below: str, log: MissLog) -> Json:
    if fields.get("args", b"{")[:1] not in (b"{", b"n"):
        log.note(Miss.ARGUMENTS, f"{below}/args")
        literal = as_text(fields["args"])
        fields["args"] = parse_embedded_object(literal) or b'{"arguments":' + literal + b"}"
    return render_object(fields)


def _repair_response(fields: Fields, below: str, log: MissLog) -> Json:
    if fields.get("name", NULL) in (NULL, b'""'):
        log.note(Miss.RESULT, below)
    response = fields.get("response", NULL)
    if response != NULL and response[:1] != b"{":
        log.note(Miss.RESULT, f"{below}/response")
        items = items_of(response)
        only = items[0] if items is not None and len(items) == 1 else response
        fields["response"] = b'{"output":' + (only if only[:1] == b'"' else as_text(response)) + b"}"
    return render_object(fields)


_ROLES = {USER: "user", TOOL: "user", ASSISTANT: "model", SYSTEM: "system", DEVELOPER: "system"}


def _render_turn(turn: MeantTurn) -> list[Json]:
    parts = render_list([_render_part(piece) for piece in turn.pieces])
    return [render_object({"role": quote(turn.role_name(_ROLES)), "parts": parts})]


def _render_part(piece: MeantPart) -> Json:
    part = piece.meant
    if type(part) is Result and piece.kept is not None:
        return _name_response(piece.kept, part)
    if piece.kept is not None or part is None:
        return piece.kept or b"{}"
    out: Pieces = []
    if type(part) is Result:
        render_result(replace(part, hint=None), part.name or "tool", out)
        return b"".join(out)
    if type(part) is Call:
        part = whole_call(part)
    if type(part) is Media:
        part = replace(part, detail=None)
    render_part(part, out)
    return b"".join(out)


def _name_response(kept: Json, result: Result) -> Json:
    """A response with the name of the tool that it comes from."""
    fields = fields_of(kept) or {}
    key = next((key for key in fields if schema.camel(key) == "functionResponse"), "")
    inner = fields_of(fields.get(key)) or {}
    if not key or inner.get("name", NULL) not in (NULL, b'""'):
        return kept
    return render_object({**fields, key: render_object({**inner, "name": quote(result.name or "tool")})})


def _fits_system(raw: Json) -> bool:
    """Whether a system instruction is a content. Its role has no meaning."""
    fields = fields_of(raw)
    if raw == NULL or fields is None or fields.get("parts", NULL)[:1] not in (b"[", b"{"):
        return raw == NULL
    parts = items_of(fields["parts"]) or [fields["parts"]]
    return all(fits(schema.open_part, part) or _is_newer(part) for part in parts)


def _is_newer(part: Json) -> bool:
    """Whether a part may be of a kind that is not known here: then it is left alone."""
    return any(value[:1] in (b"{", b"[") for key, value in (fields_of(part) or {}).items() if key not in _KNOWN)


def _trim_system(raw: Json) -> Trimmed | None:
    fields = fields_of(raw) or {}
    trimmed = items_without_misfits(fields.get("parts", NULL), schema.open_part)
    if trimmed is None:
        return None
    misfits = [replace(one, below=f"/parts{one.below}") for one in trimmed.misfits]
    return Trimmed(render_object({**fields, "parts": trimmed.raw}), tuple(misfits))


def _render_system(texts: list[Json]) -> Json:
    return b'{"parts":' + render_list([b'{"text":%b}' % text for text in texts]) + b"}"


MEMBERS = MemberForm("contents", "systemInstruction", _fits_system, _render_system, _trim_system)
FORM = WireForm(
    name=NAME,
    list_name="contents",
    content_name="parts",
    roles=frozenset({"user", "model", "system"}),
    fits=lambda raw: fits(_check_content, raw),
    fits_part=lambda raw, role: fits(lambda item: _check_part(schema.open_part(item)), raw),
    render=_render_turn,
    repair_part=_repair_part,
    takes_text=False,
    needs_ids=False,
    no_id=NO_ID,
)
LIST = ListParser(
    FORM, item_parser(schema.decode_content, parse_content), parse_odd_item, schema.decode_usual_contents, parse_content
)
READER = RequestReader(
    "a Gemini request",
    MEMBERS,
    LIST,
    parse_top_level,
    settle=settle,
    parse_system=parse_system,
    rename=_rename,
    parse_model=_parse_named_model,
    asks_for_stream=lambda found: False,
)
REQUESTS = RequestCodec(READER.parse, render_request, locate_parts, PLACES, locate)
