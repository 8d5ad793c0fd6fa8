"""Fields of messages, parts and tools beside those of their dialect: which of them a target takes."""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation.literals import quote
from dragoman.conversation.messages import Role
from dragoman.conversation.parts import BESIDE, Extras, Media, MediaKind, Part, Result
from dragoman.conversation.traits import LEFTOVERS
from dragoman.profiles.facts import Facts, Stance


def have_fields(parts: tuple[Part, ...]) -> bool:
    """Whether one of them has fields other than those of its dialect. Few have, so all are checked first."""
    for part in parts:  # noqa: SIM110  a generator costs twice as much
        if part.extras is not None or (type(part) is Result and have_fields(part.parts)):
            return True
    return False


def refuses_fields(facts: Facts, inside: bool) -> bool:
    """Are unknown fields refused: in messages, calls and tools, or `inside` the parts of a message?"""
    return facts.unknown_fields is Stance.REFUSES or (inside and facts.part_fields is Stance.REFUSES)


def keep_known(
    extras: Extras | None, role: str, facts: Facts, leftovers: frozenset[str] = LEFTOVERS, inside: bool = False
) -> Extras | None:
    """The fields that may stay. The same object if all may. `leftovers`: fields that a stream may have left here,
    or in an object of the same part (`functionCall.done`). `inside`: these are fields of a content part, which does not
    have those of a message."""
    if extras is None:
        return None
    if extras.dialect != facts.dialect:
        return None
    of_role = facts.message_fields.get(f"{role}.parts" if inside else role, ())
    allowed = {*of_role, *facts.message_fields.get("*", ())}
    refuses = refuses_fields(facts, inside)
    fields = {
        name: value
        for name, value in extras.fields.items()
        if name in allowed
        or f"{name}={value.decode()}" in allowed
        or not (refuses or name.rpartition(".")[2] in leftovers or _is_foreign(name, facts))
    }
    return extras.only(fields)


def keep_shared(media: Media, facts: Facts) -> Extras | None:
    """The fields of another dialect's document that the target has under the same names."""
    if media.extras is None or media.kind is not MediaKind.DOCUMENT:
        return None
    shared = facts.shared_document_fields.get(media.extras.dialect, ())
    fields = {name: value for name, value in media.extras.fields.items() if name in shared}
    return Extras(facts.dialect, fields) if fields else None


def sees_beside(facts: Facts) -> bool:
    """Whether the target may see a picture beside the content of the model's turn, and does not only ignore it."""
    role = Role.ASSISTANT.value
    if BESIDE in facts.message_fields.get(role, ()):
        return True
    known = not {"*", BESIDE}.isdisjoint(facts.media_forms)
    return known and keep_known(Extras(facts.dialect, {BESIDE: b""}), role, facts) is not None


def _is_foreign(name: str, facts: Facts) -> bool:
    return facts.foreign_settings is Stance.REFUSES and name in facts.vendor_fields


def name_beside(part: Media, facts: Facts) -> Media:
    """The medium with its name in the member that the target has for it; the same one if there is none of either."""
    field = facts.title_fields.get(part.kind.value)
    if field is None or part.title is None:
        return part
    others = part.extras.fields if part.extras is not None else {}
    return replace(part, title=None, extras=Extras(facts.dialect, {**others, field: quote(part.title)}))
