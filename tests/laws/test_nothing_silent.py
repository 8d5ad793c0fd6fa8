"""Law 5, nothing silent: a report exactly when the conversation changed, and nothing lost without a word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from tests.strategies import SHAPES, request
from tests.targets import SWEEPS, signer

from dragoman.conversation.canonical import canonical, digest
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import unquote
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.parts import Call, Media, Part, Reasoning, Refusal, Result, Text
from dragoman.dialects.registry import dialect
from dragoman.engine.library.adapt import BUILTIN, AdaptedRequest, adapt, read


@pytest.mark.parametrize(("target", "seeds"), SWEEPS)
def test_a_change_is_reported_exactly_when_there_is_one(target: str, seeds: range) -> None:
    """What does not fit its dialect's schema is a change, too: it is written otherwise than the client wrote it. So is
    a whole answer that is asked for in place of a stream."""
    dialect = BUILTIN.target(target).dialect
    for source in SHAPES:
        for seed in seeds:
            body = request(source, seed, signer(target)).body
            before = read(body, source=source).conversation
            adapted = adapt(body, source=source, target=target)
            after = adapted.conversation
            changed = canonical(before) != canonical(after) or before.near_misses != after.near_misses
            if changed or adapted.undo.whole:
                assert adapted.changes, (source, seed)
            elif source != dialect:
                assert not adapted.changes, (source, seed, adapted.changes)


@pytest.mark.parametrize(("target", "seeds"), SWEEPS)
def test_a_dialect_reads_back_what_it_wrote(target: str, seeds: range) -> None:
    for source in SHAPES:
        for seed in seeds:
            adapted = adapt(request(source, seed, signer(target)).body, source=source, target=target)
            again = read(_without_additions(adapted.body, target), source=adapted.dialect).conversation
            in_pieces = adapted.dialect == "gemini"
            wanted = meaning(adapted.conversation, in_pieces)
            assert meaning(again, in_pieces) == wanted, (source, seed)


def _without_additions(body: bytes, target: str) -> bytes:
    """The body without members that a cloud wants besides, whatever the conversation."""
    form = BUILTIN.target(target).profile.body
    if form is None:
        return body
    return orjson.dumps({key: value for key, value in orjson.loads(body).items() if key not in form.add})


def meaning(conversation: Conversation, in_pieces: bool = False) -> Any:
    """Ids by their order, since some wires have none; the model's messages in a row as one: Responses tells items.

    Thoughts come first and sorted: Chat has a field for each kind of them, and no order among these. A tool that does
    not say whether it is strict is written as not strict if silence would make it so, and an answer that nobody
    asked to store as not to be stored. State that travels between platforms of one model is that of the platform whose
    dialect it is written in. A breakpoint of the prompt cache is read as a field of its part, and a rule makes a hint
    of it for other dialects. Thinking that is a part of Chat's content is read as that part. `in_pieces`: texts of the
    model in a row are pieces of one text, as Gemini streams them.
    """
    plain = canonical(conversation)
    settings = {key: value for key, value in plain.pop("settings", {}).items() if (key, value) != ("store", False)}
    if settings.keys() > {"_"}:
        plain["settings"] = settings
    for tool in plain.get("tools", ()):
        if tool.get("strict") is False:
            del tool["strict"]
    turns: list[dict[str, Any]] = []
    ids: dict[str, int] = {}
    for message in plain["messages"]:
        message["parts"] = [_read_thought(part) for part in message["parts"]]
        for part in message["parts"]:
            for key in {"id", "call_id"} & part.keys():
                part[key] = ids.setdefault(part[key], len(ids))
            for key in {"state", "signature"} & part.keys():
                part[key].pop("origin", None)
            fields = part.get("extras", {}).get("fields", {})
            if "prompt_cache_breakpoint" in fields:
                part["hint"] = {"_": "CacheHint", "json": fields.pop("prompt_cache_breakpoint")}
            if "extras" in part and not fields:
                del part["extras"]
        if turns and message["role"] == turns[-1]["role"] == Role.ASSISTANT:
            turns[-1] = {**turns[-1], "parts": turns[-1]["parts"] + message["parts"]}
        else:
            turns.append(message)
    for turn in turns:
        if in_pieces and turn["role"] == Role.ASSISTANT:
            turn["parts"] = _join_texts(turn["parts"])
    return {**plain, "messages": [{**turn, "parts": sorted(turn["parts"], key=_thoughts_first)} for turn in turns]}


def _join_texts(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Texts in a row that have nothing beside their words, as one."""
    joined: list[dict[str, Any]] = []
    for part in parts:
        if joined and part["_"] == joined[-1]["_"] == "Text" and part.keys() == joined[-1].keys() == {"_", "literal"}:
            joined[-1] = {**part, "literal": joined[-1]["literal"] + part["literal"]}
        else:
            joined.append(part)
    return joined


def _read_thought(part: dict[str, Any]) -> dict[str, Any]:
    if part["_"] != "Opaque" or part["kind"] != "thinking":
        return part
    texts = [{"_": "Text", "literal": piece["text"]} for piece in part["json"]["thinking"]]
    return {"_": "Reasoning", "text": texts[0]} if texts else {"_": "Reasoning"}


def _thoughts_first(part: dict[str, Any]) -> tuple[bool, str]:
    thought = part["_"] == "Reasoning"
    return not thought, str(part) if thought else ""


@pytest.mark.parametrize(("target", "seeds"), SWEEPS)
def test_everything_said_is_in_the_output_or_in_the_report(target: str, seeds: range) -> None:
    for source in SHAPES:
        for seed in seeds:
            body = request(source, seed, signer(target)).body
            assert unreported(body, source, adapt(body, source=source, target=target)) == [], (source, seed)


def unreported(body: bytes, source: str, adapted: AdaptedRequest) -> list[tuple[str, str]]:
    """Where something was said that is neither in what is sent nor in the report, and what it was."""
    written = Counter(value for _, _, value in pieces(adapted.conversation))
    words = "\0".join(value for value in written if not value.startswith(_MARKS))
    codec = dialect(source).requests
    places = [change.at for change in adapted.changes]
    lost = []
    for message, index, value in pieces(read(body, source=source).conversation):
        if written[value]:
            written[value] -= 1
        elif value.startswith(_MARKS) or value not in words:
            at = codec.locate(message) if index is None else codec.locate_parts(message)[index]
            if not any(_names(place, at, codec.locate(message)) for place in places):
                lost.append((at, value))
    return lost


def _names(place: str, at: str, whole: str) -> bool:
    """Does an entry speak of this place, of something inside it, or of all that it is in?"""
    return place in (whole, at) or place.startswith(at + "/") or (place != "" and at.startswith(place + "/"))


_MARKS = ("call ", "media ")


def pieces(conversation: Conversation) -> Iterator[tuple[Message, int, str]]:
    """Every text, call, result and attachment, with the message and the index of the part that holds it."""
    for message in conversation.messages:
        for index, part in enumerate(message.parts):
            for value in _said(part):
                yield message, index, value


def _said(part: Part) -> Iterator[str]:
    match part:
        case Text() if part.text.strip():
            yield part.text
        case Refusal():
            yield unquote(part.literal)
        case Reasoning(text=Text() as text) if text.text.strip():
            yield text.text
        case Call():
            yield f"call {canonical(part.arguments)}"
        case Media():
            yield f"media {digest(part.source)}"
        case Result():
            for inner in part.parts:
                yield from _said(inner)
