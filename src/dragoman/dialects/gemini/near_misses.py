"""What fits Gemini's schema, and how a content is written that did not.

Each key may be spelled in camelCase or in snake_case. Calls and responses need no ids.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from dragoman.conversation.literals import EMPTY, quote
from dragoman.conversation.messages import ASSISTANT, DEVELOPER, SYSTEM, TOOL, USER
from dragoman.conversation.near_misses import Miss
from dragoman.conversation.parts import NO_ID, Call, Inline, Json, Media, Result
from dragoman.dialects.gemini import NAME
from dragoman.dialects.gemini.message_render import render_part, render_result
from dragoman.dialects.gemini.proto_schema import camel
from dragoman.dialects.near_misses.fitting import BareBytes, fits
from dragoman.dialects.near_misses.loose_json import NULL, Fields, as_text, embedded_object, fields_of, items_of
from dragoman.dialects.near_misses.members import MemberForm
from dragoman.dialects.near_misses.misfits import Trimmed, items_without_misfits
from dragoman.dialects.near_misses.parts import odd_text
from dragoman.dialects.near_misses.tools import MeantTool, ToolForm
from dragoman.dialects.near_misses.turns import MeantPart, MeantTurn, MissLog, WireForm
from dragoman.dialects.parsing import link_literal
from dragoman.dialects.rendering import Pieces
from dragoman.errors import MalformedRequest
from dragoman.wire.json_reader import render_list, render_object

_Name = Annotated[str, Meta(min_length=1)]


class _GeminiSchemaCall(msgspec.Struct, gc=False):
    name: _Name
    args: dict[str, Raw] | None = None


class _GeminiSchemaResponse(msgspec.Struct, gc=False):
    name: _Name
    response: dict[str, Raw] | None = None


class _GeminiSchemaBlob(msgspec.Struct, gc=False):
    data: BareBytes | UnsetType = UNSET
    fileUri: str | UnsetType = UNSET  # noqa: N815
    file_uri: str | UnsetType = UNSET
    mimeType: str | None = None  # noqa: N815
    mime_type: str | None = None


class _GeminiSchemaPart(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """The members of a part in both spellings. Each has one that says what it is."""

    text: str | UnsetType = UNSET
    thought: bool | None = None
    thought_signature: Raw | None = None
    thoughtSignature: Raw | None = None  # noqa: N815
    function_call: _GeminiSchemaCall | UnsetType = UNSET
    functionCall: _GeminiSchemaCall | UnsetType = UNSET  # noqa: N815
    function_response: _GeminiSchemaResponse | UnsetType = UNSET
    functionResponse: _GeminiSchemaResponse | UnsetType = UNSET  # noqa: N815
    inline_data: _GeminiSchemaBlob | UnsetType = UNSET
    inlineData: _GeminiSchemaBlob | UnsetType = UNSET  # noqa: N815
    file_data: _GeminiSchemaBlob | UnsetType = UNSET
    fileData: _GeminiSchemaBlob | UnsetType = UNSET  # noqa: N815
    executable_code: Raw | None = None
    executableCode: Raw | None = None  # noqa: N815
    code_execution_result: Raw | None = None
    codeExecutionResult: Raw | None = None  # noqa: N815
    video_metadata: Raw | None = None
    videoMetadata: Raw | None = None  # noqa: N815
    media_resolution: Raw | None = None
    mediaResolution: Raw | None = None  # noqa: N815
    part_metadata: Raw | None = None
    partMetadata: Raw | None = None  # noqa: N815


class _GeminiSchemaContent(msgspec.Struct, gc=False):
    parts: list[_GeminiSchemaPart] | _GeminiSchemaPart
    role: Literal["user", "model", "system"] | None = None


_decode_content = msgspec.json.Decoder(_GeminiSchemaContent).decode
_decode_contents = msgspec.json.Decoder(list[_GeminiSchemaContent]).decode
_decode_part = msgspec.json.Decoder(_GeminiSchemaPart).decode
_KNOWN = frozenset(_GeminiSchemaPart.__struct_fields__)
_HOLDING = frozenset({"text", "functionCall", "functionResponse", "inlineData", "fileData"})


_NO_PART = _GeminiSchemaPart()


def _check_contents(contents: list[_GeminiSchemaContent]) -> None:
    """Raise ValidationError where a part has no member at all."""
    for content in contents:
        for part in content.parts if isinstance(content.parts, list) else (content.parts,):
            if part == _NO_PART:
                raise msgspec.ValidationError("a part without a member")


def _fits_contents(raw: Json) -> bool:
    return fits(lambda text: _check_contents(_decode_contents(text)), raw)


def _fits_content(raw: Json) -> bool:
    return fits(lambda text: _check_contents([_decode_content(text)]), raw)


def _fits_part(raw: Json) -> bool:
    return fits(_decode_part, raw) and _decode_part(raw) != _NO_PART


def _repair_part(item: Json, below: str, log: MissLog) -> Json | None:
    """A part of Gemini's own without keys that it does not have, and with arguments and responses that are objects."""
    fields = fields_of(item)
    if fields is not None and all(value == NULL for value in fields.values()):
        log.note(Miss.NULL, below, item)
        return b'{"text":""}'
    if fields is None or not any(camel(key) in _HOLDING for key in fields):
        return None
    if "type" in fields and "text" in fields:
        return None  # a part of another dialect
    fields = _meant_members(fields, below, log)
    for key, value in fields.items():
        if camel(key) in _BLOBS:
            _check_media_type(fields_of(value) or {}, f"{log.at}{below}/{key}")
    lost = {key: value for key, value in fields.items() if key not in _KNOWN}
    if any(value[:1] in b"{[" for value in lost.values()):
        return None  # a newer kind of part
    kept = {key: _repaired(key, value, below, log) for key, value in fields.items() if key in _KNOWN}
    if lost:
        log.note(Miss.UNKNOWN_KEY, below, render_object(lost))
    return render_object(kept)


def _meant_members(fields: Fields, below: str, log: MissLog) -> Fields:
    """The members that say what a part is, as texts and objects. Raises MalformedRequest where one is neither."""
    meant: Fields = {}
    for key, value in fields.items():
        if camel(key) not in _HOLDING:
            meant[key] = value
        elif value == NULL:
            log.note(Miss.NULL, f"{below}/{key}", value)
        else:
            meant[key] = _meant_member(key, value, f"{below}/{key}", log)
    return meant or {"text": EMPTY}


def _meant_member(key: str, value: Json, below: str, log: MissLog) -> Json:
    found: Json | None = value
    if key == "text" and value[:1] != b'"':
        found = odd_text(value)
    elif key != "text" and value[:1] != b"{":
        items = items_of(value) or []
        found = embedded_object(value) if value[:1] == b'"' else items[0] if len(items) == 1 else None
    if found is None or found[:1] not in b'"{':
        raise MalformedRequest(f"{key} has another type than it takes", at=log.at + below)
    if found is not value:
        log.note(Miss.PART, below)
    if camel(key) in _BLOBS:
        _check_source(fields_of(found) or {}, log.at + below)
        found = _without_data_url(found, below, log)
    return found


def _without_data_url(blob: Json, below: str, log: MissLog) -> Json:
    """The bytes alone where a data URL stands in their place."""
    fields = fields_of(blob) or {}
    linked = link_literal(fields["data"]) if fields.get("data", b"").startswith(b'"data:') else None
    if not isinstance(linked, Inline):
        return blob
    log.note(Miss.PART, f"{below}/data")
    return render_object({"mimeType": quote(linked.media_type), **fields, "data": linked.data})


def _check_source(blob: Fields, at: str) -> None:
    """Raise MalformedRequest where the bytes or the address of a file are no text."""
    for key in ("data", "fileUri", "file_uri"):
        if blob.get(key, NULL)[:1] not in (b'"', b"n"):
            raise MalformedRequest(f"{key} is not a string", at=f"{at}/{key}")


def _check_media_type(blob: Fields, at: str) -> None:
    """Raise MalformedRequest where the media type of bytes or of a file is no text."""
    for key in ("mimeType", "mime_type"):
        if blob.get(key, NULL)[:1] not in (b'"', b"n"):
            raise MalformedRequest("the media type is not a string", at=f"{at}/{key}", hint='such as "image/png"')


_BLOBS = frozenset({"inlineData", "fileData"})


def _repaired(key: str, value: Json, below: str, log: MissLog) -> Json:
    fields = fields_of(value)
    if fields is None:
        return value
    if camel(key) == "functionCall":
        return _repaired_call(fields, f"{below}/{key}", log)
    return _repaired_response(fields, f"{below}/{key}", log) if camel(key) == "functionResponse" else value


def _repaired_call(fields: Fields, below: str, log: MissLog) -> Json:
    if fields.get("args", b"{")[:1] not in (b"{", b"n"):
        log.note(Miss.ARGUMENTS, f"{below}/args")
        literal = as_text(fields["args"])
        fields["args"] = embedded_object(literal) or b'{"arguments":' + literal + b"}"
    return render_object(fields)


def _repaired_response(fields: Fields, below: str, log: MissLog) -> Json:
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
    called = any(type(piece.meant) is Call for piece in turn.pieces)
    role = turn.role_text or ("model" if called else _ROLES[turn.role])
    parts = render_list([_part(piece) for piece in turn.pieces])
    return [render_object({"role": quote(role), "parts": parts})]


def _part(piece: MeantPart) -> Json:
    part = piece.meant
    if type(part) is Result and piece.kept is not None:
        return _named(piece.kept, part)
    if piece.kept is not None or part is None:
        return piece.kept or b"{}"
    out: Pieces = []
    if type(part) is Result:
        render_result(msgspec.structs.replace(part, hint=None), part.name or "tool", out)
        return b"".join(out)
    if type(part) is Call and part.arguments[:1] != b"{":
        part = msgspec.structs.replace(part, arguments=b'{"arguments":' + as_text(part.arguments) + b"}")
    if type(part) is Media:
        part = msgspec.structs.replace(part, detail=None)
    render_part(part, out)
    return b"".join(out)


def _named(kept: Json, result: Result) -> Json:
    """A response with the name of the tool that it comes from."""
    fields = fields_of(kept) or {}
    key = next((key for key in fields if camel(key) == "functionResponse"), "")
    inner = fields_of(fields.get(key)) or {}
    if not key or inner.get("name", NULL) not in (NULL, b'""'):
        return kept
    return render_object({**fields, key: render_object({**inner, "name": quote(result.name or "tool")})})


class _GeminiSchemaTool(msgspec.Struct, gc=False):
    """A declaration of another dialect has one of these members; Gemini's own entries have none."""

    type: UnsetType = UNSET
    function: UnsetType = UNSET
    name: UnsetType = UNSET
    input_schema: UnsetType = UNSET
    inputSchema: UnsetType = UNSET  # noqa: N815
    parameters: UnsetType = UNSET
    toolSpec: UnsetType = UNSET  # noqa: N815
    functionDeclarations: list[_GeminiSchemaDeclaration] | _GeminiSchemaDeclaration | None = None  # noqa: N815
    function_declarations: list[_GeminiSchemaDeclaration] | _GeminiSchemaDeclaration | None = None


class _GeminiSchemaDeclaration(msgspec.Struct, gc=False):
    name: _Name
    description: str | UnsetType = UNSET
    input_schema: UnsetType = UNSET
    inputSchema: UnsetType = UNSET  # noqa: N815


_decode_tool = msgspec.json.Decoder(_GeminiSchemaTool).decode


_FOREIGN = frozenset({"type", "function", "name", "input_schema", "inputSchema", "parameters", "toolSpec"})
"""Members of a declaration in another dialect."""
_DECLARATIONS = frozenset({"functionDeclarations", "function_declarations"})


def _check_tool(entry: Json) -> None:
    """Raise ValidationError where a tool of Gemini's own has a member that is neither an object nor a list.

    Every tool of Gemini's is one of the two, so such a member is no tool that is newer than this list.
    """
    fields = fields_of(entry) or {}
    if _FOREIGN.isdisjoint(fields):
        for key, value in fields.items():
            if key not in _DECLARATIONS and value != NULL and value[:1] not in (b"{", b"["):
                raise msgspec.ValidationError(f"Object contains unknown field `{key}`")


def _fits_tool(entry: Json) -> bool:
    return fits(_decode_tool, entry) and fits(_check_tool, entry) and not _is_empty_tool(entry)


def _is_empty_tool(entry: Json) -> bool:
    """Whether an entry has no member that is set."""
    fields = fields_of(entry)
    return fields is not None and all(value == NULL for value in fields.values())


def _render_tool(tool: MeantTool) -> Json:
    declared: dict[str, Json] = {"name": quote(tool.name)}
    if tool.description is not None:
        declared["description"] = tool.description
    if tool.schema is not None:
        declared["parametersJsonSchema"] = tool.schema
    return b'{"functionDeclarations":[' + render_object(declared) + b"]}"


def _fits_system(raw: Json) -> bool:
    """Whether a system instruction is a content. Its role has no meaning."""
    fields = fields_of(raw)
    if raw == NULL or fields is None or fields.get("parts", NULL)[:1] not in (b"[", b"{"):
        return raw == NULL
    parts = items_of(fields["parts"]) or [fields["parts"]]
    return all(fits(_decode_part, part) or _is_newer(part) for part in parts)


def _is_newer(part: Json) -> bool:
    """Whether a part may be of a kind that is not known here: then it is left alone."""
    return any(value[:1] in (b"{", b"[") for key, value in (fields_of(part) or {}).items() if key not in _KNOWN)


def _trim_system(raw: Json) -> Trimmed | None:
    fields = fields_of(raw) or {}
    trimmed = items_without_misfits(fields.get("parts", NULL), _decode_part)
    if trimmed is None:
        return None
    misfits = [msgspec.structs.replace(one, below=f"/parts{one.below}") for one in trimmed.misfits]
    return Trimmed(render_object({**fields, "parts": trimmed.raw}), tuple(misfits))


def _render_system(texts: list[Json]) -> Json:
    return b'{"parts":' + render_list([b'{"text":%b}' % text for text in texts]) + b"}"


TOOLS = ToolForm(_fits_tool, _render_tool, takes_one=True, decode=_check_tool, is_empty=_is_empty_tool)
MEMBERS = MemberForm("contents", "systemInstruction", _fits_system, _render_system, _trim_system)
FORM = WireForm(
    name=NAME,
    list_name="contents",
    content_name="parts",
    roles=frozenset({"user", "model", "system"}),
    fits_list=_fits_contents,
    fits=_fits_content,
    fits_part=lambda item, role: _fits_part(item),
    render=_render_turn,
    repair_part=_repair_part,
    takes_text=False,
    needs_ids=False,
    no_id=NO_ID,
)
