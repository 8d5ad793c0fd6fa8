"""A small model chooses: what it is asked, and how its answer is read.

The answer is JSON by a schema. A model that writes prose around it, or only a name, is understood too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.parts import Call, Media, Part, Result, Text
from dragoman.engine.routing.candidates import Candidate

PLACES = ("{model_descriptions}", "{context}", "{current_request}")
"""What a prompt must have a place for."""

PROMPT = """You choose the model that answers the user's request. These models are available:

{model_descriptions}

The conversation so far:
{context}

The request:
{current_request}

Choose the model that answers it well at the lowest cost. If the user asks for a certain model, choose that one.
Answer with JSON: {"reasoning": "one sentence", "model": "the name of the model"}"""

_LONGEST_WORDS = 2_000
_LONGEST_ANSWER = 20_000
_MOST_REASONING = 500


class RouterAnswer(msgspec.Struct, frozen=True):
    """What the router model said, as far as it can be used."""

    model: str
    reasoning: str = ""


def question(
    conversation: Conversation, candidates: Sequence[Candidate], prompt: str, context_messages: int
) -> dict[str, Any]:
    """The request to the router model, as a Chat request without its model."""
    turns = [message for message in conversation.messages if message.role not in (Role.SYSTEM, Role.DEVELOPER)]
    asked = next((at for at in range(len(turns) - 1, -1, -1) if turns[at].role is Role.USER), len(turns))
    before = turns[max(0, asked - context_messages) : asked] if context_messages > 0 else []
    places = {
        "{model_descriptions}": "\n".join(map(_describe, candidates)),
        "{context}": "\n".join(map(_line, before)) or "(nothing yet)",
        "{current_request}": "\n".join(map(_line, turns[asked:])) or "(nothing)",
    }
    names = [one.name for one in candidates]
    return {
        "messages": [{"role": "user", "content": _fill(prompt, places)}],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "choice", "strict": True, "schema": _schema(names)},
        },
    }


def _fill(prompt: str, places: Mapping[str, str]) -> str:
    """The prompt with its places filled, in one pass: what a user wrote is not searched for places."""
    pieces = [prompt]
    for place, words in places.items():
        pieces = [piece for whole in pieces for piece in _split(whole, place, words)]
    return "".join(pieces)


class _Filled(str):
    """A piece that is filled in already."""

    __slots__ = ()


def _split(piece: str, place: str, words: str) -> Iterable[str]:
    if isinstance(piece, _Filled):
        return [piece]
    parts: list[str] = []
    for text in piece.split(place):
        parts += [_Filled(words), text] if parts else [text]
    return parts


def _schema(names: Sequence[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"reasoning": {"type": "string"}, "model": {"type": "string", "enum": list(names)}},
        "required": ["reasoning", "model"],
        "additionalProperties": False,
    }


def _describe(candidate: Candidate) -> str:
    ratings = [f"{name} {score:g}" for name, score in candidate.scores.items()]
    price = [] if candidate.price is None else [f"{candidate.price:g} per million tokens"]
    figures = ", ".join(ratings + price)
    return f"- {candidate.name}: {candidate.description}" + (f" ({figures})" if figures else "")


def _line(message: Message) -> str:
    words = " ".join(filter(None, map(_words, message.parts)))
    return f"{message.role}: {words[:_LONGEST_WORDS]}"


def _words(part: Part) -> str:
    match part:
        case Text():
            return part.text[:_LONGEST_WORDS]
        case Call():
            return f"[calls {part.name}]"
        case Result():
            return "[result] " + " ".join(map(_words, part.parts[:4]))
        case Media():
            return f"[{part.kind}]"
        case _:
            return ""


def parse_choice(text: str, candidates: Sequence[Candidate]) -> RouterAnswer | None:
    """The model that an answer names; None if it names none of them."""
    text = text[:_LONGEST_ANSWER]
    names = {one.name: one.name for one in candidates} | {one.target: one.name for one in candidates if one.target}
    answer = _json_in(text)
    if answer is not None:
        name, reasoning = answer.get("model"), answer.get("reasoning")
        if isinstance(name, str) and name in names:
            return RouterAnswer(names[name], str(reasoning or "")[:_MOST_REASONING])
        return None
    return RouterAnswer(names[text.strip()]) if text.strip() in names else None


def _json_in(text: str) -> dict[str, Any] | None:
    """The object that an answer is, or holds between its first and last brace."""
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        return None
    try:
        found = msgspec.json.decode(text[start : end + 1])
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
