"""Notes of rules to entries of the report: with the rule's name, a pointer into the client's request, and digests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dragoman.conversation.canonical import digest
from dragoman.conversation.changes import Change, Loss, Note
from dragoman.conversation.conversation import Ask
from dragoman.conversation.messages import MADE, Message
from dragoman.conversation.parts import Part, Result
from dragoman.dialects.registry import dialect
from dragoman.rules.rule import Rule

UNREADABLE = "unreadable-text"
"""The entry for what had to be mended before the request could be read."""
USAGE = "stream-usage"
"""The entry for a stream that was asked for its usage on behalf of the ledger."""


def told(rule: Rule, notes: Sequence[Note], same_dialect: bool) -> Sequence[Note]:
    """The notes that are news. From another dialect, what only changes a spelling is translation and no change."""
    if same_dialect or not rule.spelling:
        return notes
    return [note for note in notes if digest(note.before) != digest(_only(note.after))]


def _only(after: Any) -> Any:
    return after[0] if isinstance(after, tuple) and len(after) == 1 else after


def entries(rule: Rule, notes: Sequence[Note], ask: Ask) -> list[Change]:
    places = _places(ask)
    return [_entry(rule, note, ask, places) for note in notes]


def _places(ask: Ask) -> Places:
    found: dict[int, list[Message]] = {}
    for message in ask.conversation.messages:
        found.setdefault(message.at, []).append(message)
    return found


def mended(ask: Ask) -> list[Change]:
    return [Change(UNREADABLE, "", sentence, str(Loss.CONTENT), False, None, None) for sentence in ask.repairs]


def usage_asked() -> Change:
    """A stream was asked for its usage on behalf of the ledger."""
    did = "asked the stream to tell its usage; the client does not see it"
    return Change(USAGE, "/stream_options", did, str(Loss.NOTHING), True, None, None)


def loss(rule: Rule, note: Note) -> Loss:
    return rule.loses if note.loses is None else note.loses


Places = Mapping[int, Sequence[Message]]
"""The client's messages by their place on its wire."""


def _entry(rule: Rule, note: Note, ask: Ask, places: Places) -> Change:
    return Change(
        rule.name,
        pointer(note, ask, places),
        note.did,
        str(loss(rule, note)),
        note.adds,
        digest(note.before),
        digest(note.after),
    )


def pointer(note: Note, ask: Ask, places: Places | None = None) -> str:
    """Where it happened, in the client's own request. Whoever asks for many gives the places."""
    if note.message is None:
        return f"/{note.key}" if note.key else ""
    original = _original(note.message, places or _places(ask))
    if original is None:
        return ""
    locate = dialect(ask.dialect).requests.locate
    return locate(original, _index(original, note.part, note.message))


def _original(message: Message, places: Places) -> Message | None:
    """The message as the client sent it. One that a rule made up has none."""
    if message.at == MADE:
        return None
    found: Message | None = None
    for candidate in places.get(message.at, ()):
        if candidate is message:
            return candidate
        if found is None or candidate.role is message.role:
            found = candidate
    return found


def _index(message: Message, part: Part | None, now: Message) -> int | None:
    """The part's place: by identity, or that of the result which holds it, or of the call it answers; where rules
    before gave it another id, by its place among its like in the message as it is `now`."""
    if part is None:
        return None
    for index, candidate in enumerate(message.parts):
        if candidate is part or (isinstance(candidate, Result) and any(inner is part for inner in candidate.parts)):
            return index
    for index, candidate in enumerate(message.parts):
        if type(candidate) is type(part) and _identity(candidate) == _identity(part) is not None:
            return index
    then = [index for index, candidate in enumerate(message.parts) if type(candidate) is type(part)]
    like = [candidate for candidate in now.parts if type(candidate) is type(part)]
    place = next((place for place, candidate in enumerate(like) if candidate is part), None)
    return then[place] if place is not None and len(then) == len(like) else None


def _identity(part: Part) -> str | None:
    return getattr(part, "id", None) or getattr(part, "call_id", None)
