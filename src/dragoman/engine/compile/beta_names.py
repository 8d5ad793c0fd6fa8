"""The betas of a request: some fields and tools are taken only if a header names their beta, and clouds lack some."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note
from dragoman.conversation.conversation import Ask, Conversation
from dragoman.conversation.tools import NativeTool
from dragoman.profiles.profile import BetaUse
from dragoman.rules.cache_hints import hints_of, names_scope
from dragoman.wire.json_reader import render_object, split_members

Globs = Mapping[str, tuple[str, ...]]
MOST_NOTES = 20
"""How many words are named one by one. A header may hold thousands."""
_DATE = len("-2025-04-04")


def with_betas(
    headers: Mapping[str, str], conversation: Conversation, use: BetaUse, ask: Ask | None
) -> Mapping[str, str]:
    """The headers, and in one of them the betas that the request needs and the client did not name, as the target calls
    them.

    The client's own date of a beta is kept. `ask` is the client's request if it is of the same dialect.
    """
    written = [one.strip() for one in headers.get(use.header, "").split(",") if one.strip()]
    given = list(dict.fromkeys([use.names.get(name, name) for name in written]))
    named = {name[:-_DATE]: name for name in given}
    missing: dict[str, str] = {}
    for name in _find_needed(conversation, use, ask):
        if name[:-_DATE] not in named:
            missing.setdefault(name[:-_DATE], name)
    if not missing and given == written:
        return headers
    return {**headers, use.header: ",".join([*given, *missing.values()])}


def _find_needed(conversation: Conversation, use: BetaUse, ask: Ask | None) -> Iterator[str]:
    """Tools come first: of two dates of one beta the tool's is meant."""
    for tool in conversation.tools:
        if isinstance(tool, NativeTool) and tool.kind in use.tools:
            yield use.tools[tool.kind]
    extras = conversation.extras.fields if conversation.extras is not None else {}
    for field, value in extras.items():
        if field in use.marks:
            yield from _find_marked(value, use.marks[field])
    form = conversation.settings.response_format
    if form is not None and form.wire_form in use.fields:
        yield use.fields[form.wire_form]
    if ask is None:
        return
    for field in use.read_fields:
        if field in ask.members and field not in extras:
            yield from _find_marked(bytes(ask.members[field]), use.marks[field])
    if use.cache_scope and any(map(names_scope, hints_of(_without_bare(conversation, ask)))):
        yield use.cache_scope


def _without_bare(conversation: Conversation, ask: Ask) -> Conversation:
    """The conversation without messages that are known to have no hints of the client's."""
    known = ask.known
    if known is None or known.traits & traits.HINTS:
        return conversation
    if conversation.messages is ask.conversation.messages:
        return replace(
            conversation, messages=conversation.messages[: known.opening] + conversation.messages[known.count :]
        )
    end = known.item
    return replace(conversation, messages=tuple([one for one in conversation.messages if not 0 <= one.at < end]))


def _find_marked(value: bytes, marks: tuple[tuple[bytes, str], ...]) -> Iterator[str]:
    """The betas of what a field holds. The field's own is not needed if all that it holds has another: one edit."""
    found = [name for mark, name in marks if mark and mark in value]
    yield from found
    if not found or value.count(b'"type"') > 1:
        yield from [name for mark, name in marks if not mark]


def without_refused(
    body: bytes, headers: Mapping[str, str], use: BetaUse, refused: tuple[str, ...]
) -> tuple[bytes, list[Note]]:
    """The body without the fields whose beta the target does not have: without it each of them is an error."""
    words = [one.strip() for one in headers.get(use.header, "").split(",") if one.strip()]
    absent = {name[:-_DATE] for name in words if any(fnmatchcase(name, glob) for glob in refused)}
    pairs = [key.partition(":") for key, name in use.fields.items() if name[:-_DATE] in absent]
    if not pairs:
        return body, []
    members, notes = dict(split_members(body)), list[Note]()
    for field, _, text in pairs:
        value = members.get(field)
        if value is None or (text and f'"{text}"'.encode() not in bytes(value)):
            continue
        inner = split_members(bytes(value)) if text and bytes(value)[:1] == b"{" else {}
        if text and text not in inner:
            continue  # it is the name of something deeper, which is not taken apart
        members.pop(field)
        if text and len(inner) > 1:
            members[field] = render_object({key: one for key, one in inner.items() if key != text})  # type: ignore[assignment]
        left_out = f"{field}.{text}" if text else field
        notes.append(Note(f"left out {left_out}, whose beta the target does not have", key=field, loses=Loss.METADATA))
    return (render_object(members), notes) if notes else (body, notes)


def without_words(headers: Mapping[str, str], refused: Globs) -> tuple[Mapping[str, str], list[Note]]:
    """The headers without refused words, and what was left out. The same headers if nothing was."""
    kept, notes = dict(headers), list[Note]()
    for header, globs in refused.items():
        words = [word.strip() for word in headers.get(header, "").split(",") if word.strip()]
        taken = [word for word in words if not any(fnmatchcase(word, glob) for glob in globs)]
        if len(taken) == len(words):
            continue
        left_out = sorted({*words} - {*taken})
        notes += [
            Note(f"left out {word} of the header {header}", loses=Loss.METADATA, before=word)
            for word in left_out[:MOST_NOTES]
        ]
        kept[header] = ",".join(taken)
        if not taken:
            del kept[header]
    return (kept, notes) if notes else (headers, notes)
