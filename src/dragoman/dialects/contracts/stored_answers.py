"""Answers that a vendor keeps: how a dialect names, asks for and shows them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import msgspec

from dragoman.conversation.failures import Failure
from dragoman.conversation.parts import Json


class StoredTurn(msgspec.Struct, frozen=True):
    """A turn that was stored: a JSON list of what the client sent, and the answer."""

    items: Json
    response: Json


class StoreQuestion(msgspec.Struct, frozen=True):
    """What a request says about stored answers."""

    model: str
    previous: str
    """The id of the answer that it continues, or empty."""
    keeps: bool
    """Whether its own answer is to be stored."""
    items: Json
    """A JSON list of what it sends itself."""
    references: tuple[str, ...] = ()
    """Ids of items of earlier answers that it refers to."""
    conversation: str = ""
    """The id of the conversation that it belongs to, or empty."""
    is_bare: bool = False
    """Whether it has no member that is about stored answers: it may go to any provider as it came."""
    instructs: bool = False
    """It has instructions of its own."""


class AnswerKeeper(Protocol):
    """Watches the answer to a request that is stored, and shows in it what the client asked for."""

    kept: tuple[str, Json] | None
    """The answer once it is complete, with its id."""

    def unstored(self, made: bytes) -> bytes:
        """What was just made with the complete answer in it, if that could not be stored after all."""

    def whole(self, body: bytes) -> bytes: ...

    def piece(self, data: bytes) -> bytes: ...

    def close(self) -> bytes: ...


class StoredAnswers(msgspec.Struct, frozen=True):
    """How a dialect refers to stored answers."""

    path: str
    """Shows or removes one."""
    items_path: str
    """Lists what was sent for one."""
    parse_question: Callable[[bytes, tuple[str, ...] | None], StoreQuestion | None]
    """Of a body, and of the ids that its items refer to, if they are known. None for a request that has nothing to do
    with stored answers."""
    render_whole: Callable[[bytes, Sequence[StoredTurn], bool], bytes]
    """Makes a request of one that continues turns, with all of them in it."""
    put_items: Callable[[bytes, Mapping[str, Json]], bytes]
    """The request with items in place of references to them."""
    output_items: Callable[[Json], Mapping[str, Json]]
    """The items of an answer by their ids."""
    unknown_answer: Callable[[str], Failure]
    """The vendor's words for an id that is not known."""
    unknown_item: Callable[[str], Failure]
    unknown_conversation: Callable[[str], Failure]
    keeper: Callable[[StoreQuestion], AnswerKeeper]
    find_references: Callable[[Json], tuple[str, ...]]
    """The ids that the items of a JSON list refer to."""
    render_deleted: Callable[[str], bytes]
    render_items: Callable[[Json, Mapping[str, str]], bytes]
    mark: bytes = b""
    """Stands in every body that has to do with them."""
    is_kept_by_vendor: bool = True
    """A provider of this dialect knows the ids of its own answers."""
    unsupported: Failure | None = None
    """The vendor's words if nothing is kept here; None: whoever asks for an id is told that it is not known."""


class ConversationForm(msgspec.Struct, frozen=True):
    """How a dialect shows conversations that clients make by themselves, and at which paths."""

    new_path: str
    path: str
    items_path: str
    item_path: str
    create: Callable[[bytes, str, int], tuple[str, Json, Json]]
    """Of a body, a word that is used once, and the time: the id, the conversation as it is shown, and a JSON list of
    its first items."""
    update: Callable[[Json, bytes], Json]
    parse_items: Callable[[bytes, str], Json]
    """A JSON list of what a body adds, with ids that are made of a word that is used once."""
    all_items: Callable[[Sequence[StoredTurn]], Json]
    """A JSON list of all that stands in turns."""
    without: Callable[[Sequence[StoredTurn], frozenset[str]], tuple[StoredTurn, ...]]
    """The turns without the items of these ids."""
    find_item: Callable[[Json, str], Json | None]
    render_items: Callable[[Json, Mapping[str, str]], bytes]
    render_deleted: Callable[[str], bytes]
