"""What a rule did to a conversation, and what must be undone in the answer."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Literal

import msgspec

from dragoman.conversation.canonical import digest
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import Part
from dragoman.conversation.tools import CallForm


class Loss(IntEnum):
    """What a repair loses, in rising order of weight."""

    NOTHING = 0
    ORDER = 1
    METADATA = 2
    AUTHORITY = 3
    CONTENT = 4

    def __str__(self) -> str:
        return self.name.lower()


LossName = Literal["nothing", "order", "metadata", "authority", "content"]
"""The losses by their names, as callers give them."""

ChangeKind = Literal["repair", "synthetic", "added"]
"""What a change is. `repair`: the client's own words or settings, written otherwise or left out. `synthetic`: words
that nobody said, such as a turn or a result that was made up. `added`: Dragoman's own, such as thinking that was put
back, a cache hint, or a question to the provider."""


class Note(msgspec.Struct, frozen=True):
    """A rule's own account of one repair.

    Where it happened is said by value: by a message and a part of the conversation, or by a key. The engine turns that
    into a pointer into the client's request.
    """

    did: str
    """What was done, as the report says it."""
    message: Message | None = None
    part: Part | None = None
    key: str = ""
    """The name of a setting, or the place of a tool."""
    loses: Loss | None = None
    """What it lost; None: what the rule says."""
    kind: ChangeKind = "repair"
    before: Any = None
    """The value, or its JSON-able stand-in, from which the digest of what stood there is made."""
    after: Any = None
    """The same for what stands there now."""
    spelling_only: bool = False
    """Whether they mean the same."""


class Undo(msgspec.Struct, frozen=True):
    """What must be mapped back in the answer."""

    names: Mapping[str, str] = {}
    """The target's names of tools → the client's."""
    ids: Mapping[str, str] = {}
    """The target's ids of calls and documents → the client's."""
    keys: Mapping[str, str] = {}
    """The target's names of arguments → the client's."""
    usage: bool = False
    """Whether a stream tells what the client did not ask for."""
    answer: str = ""
    """The tool, by the client's names, whose arguments are the answer's text."""
    whole: bool = False
    """Whether the answer comes whole though the client asked for a stream."""
    calls: Mapping[str, CallForm] = {}
    """How the client's dialect writes the calls of tools that became functions, by the target's names."""

    def __bool__(self) -> bool:
        return bool(self.names or self.ids or self.keys or self.usage or self.answer or self.whole or self.calls)

    def then(self, later: Undo) -> Undo:
        """What both undo: the later one first."""
        if not later:
            return self
        names, ids = _through(self.names, later.names), _through(self.ids, later.ids)
        keys, usage = _through(self.keys, later.keys), self.usage or later.usage
        whole, calls = self.whole or later.whole, self._forms_through(later)
        return Undo(names, ids, keys, usage=usage, answer=self.answer or later.answer, whole=whole, calls=calls)

    def _forms_through(self, later: Undo) -> Mapping[str, CallForm]:
        """The forms of calls by the names that the target knows in the end."""
        if not self.calls:
            return later.calls
        renamed = {old: made for made, old in later.names.items()}
        forms = {renamed.get(name, name): form for name, form in self.calls.items()}
        for name, form in later.calls.items():
            forms[name] = forms[name].then(form) if name in forms else form
        return forms


def _through(first: Mapping[str, str], later: Mapping[str, str]) -> Mapping[str, str]:
    return {**first, **{made: first.get(old, old) for made, old in later.items()}} if later else first


NOTHING_TO_UNDO = Undo()


class Rewrite(msgspec.Struct, frozen=True):
    """What a rule returns."""

    conversation: Conversation
    """The same object if nothing changed."""
    notes: tuple[Note, ...] = ()
    """What was changed, and where."""
    undo: Undo = NOTHING_TO_UNDO
    """What the answer must be mapped back with."""
    adds: int | None = None
    """The traits that the messages get, if all others but `ends` stay as they were; one of a message that goes may
    remain. None: that has to be looked at."""
    ends: int = 0
    """The traits of their order that they lose, if `adds` is given."""


class Hashing(msgspec.Struct, frozen=True, gc=False):
    """The two values of a change whose digests nobody has asked for yet."""

    before: Any
    after: Any
    known: dict[int, tuple[Any, str | None]]
    """The digests of one report: a value that several changes made is digested once."""

    def digest(self, value: Any) -> str | None:
        if value is None:
            return None
        found = self.known.get(id(value))
        if found is None:
            # The value is kept with its digest: nothing else can get its id while it is here.
            found = self.known[id(value)] = (value, digest(value))
        return found[1]


class _Digest:
    """A digest of a change, as an attribute that is computed when it is first read."""

    __slots__ = ("_slot",)

    def __set_name__(self, owner: type, name: str) -> None:
        self._slot = f"_{name}"

    def __get__(self, change: Change | None, owner: type) -> str | None:
        if change is None:
            raise AttributeError(self._slot)  # so that it is no default of the field
        if (hashing := change._hashing) is not None:
            change._before, change._after = hashing.digest(hashing.before), hashing.digest(hashing.after)
            change._hashing = None
        found: str | None = getattr(change, self._slot)
        return found

    def __set__(self, change: Change, value: str | None) -> None:
        raise AttributeError("the digests of a change cannot be set")


@dataclass(init=False, unsafe_hash=True)
class Change:
    """One entry of the report.

    Hashing the values costs more than all else about a change, so it waits until a digest is read or the report is
    written down; until then the change holds its values. It is a dataclass and no Struct for that alone: JSON encoders
    read its fields all the same.
    """

    __slots__ = ("_after", "_before", "_hashing", "at", "did", "is_shared", "kind", "loses", "rule")

    rule: str
    """The name of the rule."""
    at: str
    """A JSON pointer into the client's request."""
    did: str
    """What was done."""
    loses: str
    """What it cost, by the name of a `Loss`."""
    kind: ChangeKind
    before: _Digest = _Digest()
    """The digest of what stood there."""
    after: _Digest = _Digest()
    """The digest of what stands there now."""

    def __init__(
        self,
        rule: str,
        at: str,
        did: str,
        loses: str,
        kind: ChangeKind = "repair",
        *,
        before: str | None = None,
        after: str | None = None,
        hashing: Hashing | None = None,
        is_shared: bool = False,
    ) -> None:
        """`is_shared`: requests that are changed alike have this very object in their reports."""
        self.rule = rule
        self.at = at
        self.did = did
        self.loses = loses
        self.kind: ChangeKind = kind
        self.is_shared = is_shared
        self._hashing = hashing
        if hashing is None:
            self._before = before
            self._after = after

    def adding(self, more: str) -> Change:
        """This change, with more to say about what was done."""
        made = copy(self)
        made.is_shared = False
        made.did = f"{self.did}; {more}"
        return made
