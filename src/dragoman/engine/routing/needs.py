"""What a conversation needs of a model: room, eyes and ears, tools."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from dragoman.conversation.conversation import Conversation
from dragoman.conversation.parts import Media, Part, Result
from dragoman.engine.history.sizes import BYTES_PER_TOKEN, count_bytes, count_fixed_bytes
from dragoman.engine.routing.candidates import Candidate, LeftOut


class Needs(msgspec.Struct, frozen=True):
    """What a model must be able to take for a request."""

    tokens: int = 0
    """Of the whole request by estimate, with room for the answer."""
    media: frozenset[str] = frozenset()
    tools: bool = False


def needs_of(conversation: Conversation) -> Needs:
    size = count_bytes(conversation.messages) + count_fixed_bytes(conversation)
    limit = conversation.settings.max_tokens or 0
    media = frozenset(kind for message in conversation.messages for kind in _media(message.parts))
    return Needs(size // BYTES_PER_TOKEN + limit, media, bool(conversation.tools))


def _media(parts: Iterable[Part]) -> Iterable[str]:
    for part in parts:
        if type(part) is Media:
            yield str(part.kind)
        elif type(part) is Result:
            yield from _media(part.parts)


def capable(candidates: Sequence[Candidate], needs: Needs) -> tuple[tuple[Candidate, ...], tuple[LeftOut, ...]]:
    """Who can answer at all, and who not. If nobody can, all are asked: a repair may help."""
    lacks = [(one, _lack(one, needs)) for one in candidates]
    able = tuple(one for one, lack in lacks if not lack)
    if not able:
        return tuple(candidates), ()
    return able, tuple(LeftOut(one.name, lack) for one, lack in lacks if lack)


def _lack(candidate: Candidate, needs: Needs) -> str:
    if candidate.context_window and needs.tokens > candidate.context_window:
        return f"holds {candidate.context_window} tokens, about {needs.tokens} are needed"
    missing = needs.media - candidate.inputs if candidate.inputs else frozenset()
    if missing:
        return f"takes no {', '.join(sorted(missing))}"
    return "takes no tools" if needs.tools and not candidate.tools else ""
