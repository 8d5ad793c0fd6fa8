"""Media in a form that one vendor made.

A document as `document_url`, a URL as plain text, a file without a name, base64 without the head of a data URL, or a
sound with one is refused if only the dialect's own form is known. The part is written in that form. The other way
round, a vendor may take the bytes of a document or a sound in its own form alone (fact `vendor_forms`). A type that the
target does not list gets its usual name: `image/jpg` becomes `image/jpeg`, and `png` becomes `image/png`. Line breaks
in the bytes, as mail programs write them, are left out in a translation.

Loses nothing, or metadata if that form has no place for the document's name.

For `openai/gpt-4o`:

    {"messages": [{"role": "user", "content": [{"type": "text", "text": "See?"},
      {"type": "image_url", "image_url": "https://example.com/a.png"}]}]}
becomes
    {"messages": [{"role": "user", "content": [{"type": "text", "text": "See?"},
      {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]}]}
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import BESIDE, Inline, Media, Part
from dragoman.profiles.facts import Facts, Medium
from dragoman.rules.context import Context
from dragoman.rules.known_fields import name_beside
from dragoman.rules.rewriting import Swap, each_part_inside
from dragoman.rules.rule import rule
from dragoman.wire.media_types import usual_type

_ALL = ("*",)


@rule(
    "media-form",
    spelling=True,
    when=lambda facts: True,
    looks_for=traits.MEDIA | traits.RESULT_PARTS,
    loses=Loss.METADATA,
    turnwise=lambda context: True,
)
@each_part_inside
def media_form(message: Message, part: Part, context: Context) -> Swap | None:
    return _fit_form(part, context)


def _fit_form(part: Part, context: Context) -> Swap | None:
    facts = context.facts
    if type(part) is not Media:
        return None
    if type(part.source) is Inline:
        plain = _write_plain_bytes(part, part.source, context)
        if plain is not None:
            more = _fit_form(plain.parts[0], context)
            return plain if more is None else Swap(more.parts, f"{plain.did}, {more.did}", more.loses)
    vendors = facts.vendor_forms.get(part.kind.value)
    if vendors is not None and type(part.source) is Inline:
        return _in_vendors_form(part, vendors, facts)
    if part.wire_form in ("", BESIDE) or facts.media_forms == _ALL or part.wire_form in facts.media_forms:
        return None
    return Swap((replace(part, wire_form=""),), f"wrote the {part.kind.value} in the dialect's own shape", Loss.NOTHING)


def _write_plain_bytes(part: Media, source: Inline, context: Context) -> Swap | None:
    """The bytes under the usual name of their type, without line breaks in their base64."""
    did = []
    made = source
    usual = usual_type(source.media_type)
    if usual != source.media_type and _wants_usual(source.media_type, context.facts.medium(part.kind.value), context):
        made = replace(made, media_type=usual)
        did.append(f"wrote the type {source.media_type} as {usual}")
    if context.translated and b"\\" in source.data:
        made = replace(made, data=source.data.replace(b"\\n", b"").replace(b"\\r", b""))
        did.append(f"left out line breaks in the base64 of the {part.kind.value}")
    return None if made == source else Swap((replace(part, source=made),), ", ".join(did), Loss.NOTHING)


def _wants_usual(media_type: str, medium: Medium, context: Context) -> bool:
    if "/" not in media_type:
        return True
    return media_type not in medium.types if medium.types else context.translated


def _in_vendors_form(part: Media, form: str, facts: Facts) -> Swap | None:
    if part.wire_form == form:
        return None
    did = f"wrote the {part.kind.value} as `{form}`"
    named = name_beside(part, facts)
    loses = Loss.NOTHING if named.title is None else Loss.METADATA
    return Swap((replace(named, wire_form=form, title=None),), did, loses)
