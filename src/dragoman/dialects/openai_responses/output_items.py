"""Output items that a stream and a whole answer share."""

from __future__ import annotations

from collections.abc import Mapping

from dragoman.conversation.literals import EMPTY, quote
from dragoman.conversation.parts import Json, Origin
from dragoman.dialects.citations import page_of
from dragoman.dialects.openai_responses import NAME
from dragoman.dialects.openai_responses.answer_events import THOUGHT
from dragoman.dialects.parsing import base62
from dragoman.dialects.raw_json import encode
from dragoman.wire.json_reader import render_list, render_object


def item_id(prefix: str, fields: Mapping[str, Json], response: str, place: int) -> Json:
    """The item's own id, or one made from the answer's id and the item's index."""
    return fields.get("id") or quote(f"{prefix}_{base62(response, place, length=32)}")


def render_message(identity: Json, fields: Mapping[str, Json], status: bytes, content: list[bytes]) -> Json:
    others = b"".join([b",%b:%b" % (quote(key), value) for key, value in fields.items() if key != "id"])
    return b'{"type":"message","id":%b,"status":"%b","role":"assistant","content":%b%b}' % (
        *(identity, status, render_list(content), others),
    )


def render_output_text(literal: bytes, annotations: list[Json], logprobs: Json | None) -> Json:
    return b'{"type":"output_text","text":%b,"annotations":%b,"logprobs":%b}' % (
        *(literal, render_list(annotations), logprobs or b"[]"),
    )


def render_refusal(literal: bytes) -> Json:
    return b'{"type":"refusal","refusal":' + literal + b"}"


def render_reasoning(
    identity: Json, fields: Mapping[str, Json], literal: bytes | None, field: str, encrypted: Json | None
) -> Json:
    """A reasoning item. Reasoning that is not a summary is its content."""
    item = {"type": b'"reasoning"', "id": identity, **{key: value for key, value in fields.items() if key != "id"}}
    item["summary"] = b"[]"
    if literal is not None and literal != EMPTY:
        if field == THOUGHT:
            item["content"] = b'[{"type":"reasoning_text","text":%b}]' % literal
        else:
            item["summary"] = b'[{"type":"summary_text","text":%b}]' % literal
    if encrypted is not None:
        item["encrypted_content"] = encrypted
    return render_object(item)


def render_call(
    identity: Json, fields: Mapping[str, Json], call_id: str, name: str, custom: bool, words: Json, status: bytes
) -> Json:
    others = b"".join([b",%b:%b" % (quote(key), value) for key, value in fields.items() if key != "id"])
    kind, member = (b"custom_tool_call", b"input") if custom else (b"function_call", b"arguments")
    return b'{"type":"%b","id":%b,"status":"%b","call_id":%b,"name":%b,"%b":%b%b}' % (
        *(kind, identity, status, quote(call_id), quote(name), member, words, others),
    )


def render_picture(identity: Json, fields: Mapping[str, Json], media_type: str, data: bytes) -> Json:
    """A picture, as if the provider's own tool had made it, since Responses has no other place for one."""
    made = {
        "type": b'"image_generation_call"',
        "id": identity,
        "status": b'"completed"',
        "output_format": quote(media_type.removeprefix("image/") or "png"),
    }
    return render_object({**(fields or made), "result": data})


def render_annotation(citation: Json, origin: Origin) -> Json | None:
    """A citation as an annotation, or None where Responses has no form for it."""
    if origin.dialect == NAME:
        return citation
    page = page_of(citation)
    if page is None:
        return None
    place = {"start_index": page.start, "end_index": page.end}
    return encode({"type": "url_citation", "url": page.url, "title": page.title, **place})
