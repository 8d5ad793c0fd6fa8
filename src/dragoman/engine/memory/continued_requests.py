"""Requests that continue a conversation: the messages that were read on the turn before are not read again.

The known items are cut out of the body before it is parsed. Whatever is unusual about the rest is left to the parser of
whole requests: the result is the same as without a memory, and so is every error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import msgspec
from msgspec.structs import replace

from dragoman.conversation.conversation import Ask, KnownBeginning
from dragoman.conversation.traits import codes_of
from dragoman.dialects import registry
from dragoman.dialects.shared.parsing import OpenBody, OpenedBytes, open_body
from dragoman.dialects.shared.read_lists import ListReading
from dragoman.engine.memory.conversation_memory import (
    CallerMemory,
    KeptConversation,
    KnownTop,
    ReadConversation,
    SentList,
    list_items,
)
from dragoman.errors import RequestError
from dragoman.wire.json_reader import find_member, is_utf8, split_items
from dragoman.wire.json_size import is_heavy

SHORTEST = 16 * 1024
"""Bytes of a body that is worth remembering. A shorter one is read as fast as it is found."""
SHORTEST_LIST = 8 * 1024
"""Bytes of a list of messages that is worth remembering."""
_NEXT = re.compile(rb"[ \t\r\n]{0,1000}([,\]])")


class KnownBody(msgspec.Struct, frozen=True):
    """A body, and what is known of it before it is read."""

    body: bytes
    memory: CallerMemory | None = None
    """What is remembered of its caller."""
    begin: int = -1
    """Where its list of messages seems to begin; -1 if nothing is remembered."""
    top: KnownTop | None = None
    """What stands around the list, if it is the same as on the turn before."""
    kept: KeptConversation | None = None
    """The conversation that begins most like it."""
    common: int = 0
    """With how many equal bytes both lists begin."""

    @property
    def size(self) -> int:
        """At least how many bytes need not be read."""
        return len(self.kept.head) if self.kept is not None and self.common >= len(self.kept.head) else 0

    @property
    def new(self) -> bytes:
        """What has to be read; the body itself if nothing of it is known. What stands around the list is known if it is
        read quickly: nobody keeps what was made of it for this conversation alone."""
        size, begin, top = self.size, self.begin, self.top
        if not size:
            return self.body
        if top is None or any(top.search(is_heavy, lambda text: (is_heavy(text),))):
            return self.body[:begin] + self.body[begin + size :]
        return self.body[begin + size : len(self.body) - len(top.after)]

    def search(self, key: Any, search: Callable[[bytes], tuple[Any, ...]]) -> tuple[Any, ...]:
        """What a search finds in the body, piece by piece. Pieces end with items. `key`: by which it is known what was
        found in the known one."""
        size = self.size
        if not size or self.kept is None:
            return search(self.body)
        begin, end, top = self.begin, len(self.body), self.top
        around = search(self.body[:begin]) if top is None else top.search(key, search)
        rest = self.body[begin + size : end if top is None else end - len(top.after)]
        return around + self.kept.search_head(key, search) + search(rest)

    def holds(self, mark: bytes) -> bool:
        """Whether a mark stands anywhere in the body. No mark goes beyond the end of an item."""
        return bool(self.search(mark, lambda text: (mark,) if text.rfind(mark) >= 0 else ()))  # `in` costs twice that

    def open(self, search: Callable[[bytes], tuple[Any, ...]]) -> tuple[bytes, tuple[Any, ...] | None]:
        """The body for readers of its members, and what a search finds in the items of its list, each by itself. If it
        goes on as before with items alone, all else is known. If not, it has to be opened and searched: None."""
        size, top, kept = self.size, self.top, self.kept
        following = _NEXT.match(self.body, self.begin + size) if size and top is not None else None
        if following is None or top is None or kept is None:
            return self.body, None
        end = len(self.body) - len(top.after)
        rest = b"[" + self.body[following.end() if following[1] == b"," else following.start(1) : end]
        try:
            split_items(rest)
        except RequestError:
            return self.body, None
        if not rest.isascii() and not is_utf8(rest):
            return self.body, None
        listed = msgspec.Raw(memoryview(self.body)[self.begin : end])
        members = {name: value or listed for name, value in top.members.items()}
        found = kept.search_head(search, lambda text: search(list_items(text))) + search(rest)
        return _open(OpenBody(self.body, members, ())), found


def recognise(dialect: str, body: bytes, caller: CallerMemory | None) -> KnownBody:
    """What is known of a body."""
    shelf = None if caller is None else caller.find_shelf(dialect)
    if shelf is None or caller is None:
        return KnownBody(body, caller)
    last = shelf.last
    top = last.top if last is not None and last.top.fits(body) else None
    begin = len(top.before) if top is not None else _find_list(body, registry.dialect(dialect).list_name, last)
    kept, common = caller.find(dialect, body, begin) if begin >= 0 else (None, 0)
    return KnownBody(body, caller, begin, top, kept, common)


class NotContinued(Exception):
    """A request that is not the next turn of a remembered conversation, or is unusual: it is read as a whole."""


def parse_remembered(
    dialect: str, known: KnownBody, caller: CallerMemory, headers: Mapping[str, str] | None, continues: bool = False
) -> Ask:
    """A request as an Ask. Raises MalformedRequest or DuplicateKey, and with `continues` NotContinued."""
    one, body = registry.dialect(dialect), known.body
    if known.kept is not None and known.common >= SHORTEST_LIST:
        number = known.kept.checkpoint_within(known.common)
        for place in range(number, max(number - 3, -1), -1):  # before it, if no turn of the model follows any more
            ask = _parse_rest(dialect, known, place, headers, caller)
            if ask is not None:
                return ask
    if continues:
        raise NotContinued
    opened = open_body(body)
    raw = opened.members.get(one.list_name, b"")
    if len(raw) < SHORTEST_LIST:
        return one.requests.parse(_open(opened), headers=headers)
    reading = ListReading()
    ask = one.requests.parse(_open(replace(opened, reading=reading)), headers=headers)
    begin = find_member(body, opened.members, one.list_name)
    if reading.done is None or ask.repairs or begin < 0 or opened.source is not body:
        return ask
    top = _make_top(one.list_name, opened, body[:begin], body[begin + len(raw) :])
    sent = SentList(body, begin, begin + len(raw))
    new = caller.keep(dialect, ReadConversation(top, sent, reading.done))
    return replace(ask, known=_find_known(caller, ask, new, reading))


def _find_known(
    caller: CallerMemory, ask: Ask, kept: KeptConversation | None, reading: ListReading, end: int = 0
) -> KnownBeginning | None:
    """What is remembered of the conversation."""
    start, done, messages = reading.start, reading.done, ask.conversation.messages
    if kept is None or done is None:
        return None
    opening = len(messages) - len(done.messages)
    keep = partial(caller.memory.keep_made, kept)
    codes = codes_of(messages[:opening]) + done.codes
    return KnownBeginning(
        keep,
        item=start.item,
        end=end,
        count=opening + start.count,
        opening=opening,
        traits=start.traits,
        parts=done.parts,
        codes=codes,
        top=kept.top,
        made=kept.made,
    )


def _open(opened: OpenBody) -> OpenedBytes:
    body = OpenedBytes()
    body.opened = opened
    return body


@cache
def _list_head(name: str) -> tuple[bytes, re.Pattern[bytes]]:
    """How a list of messages begins: as most clients write it, and as anybody may."""
    quoted = b'"%b"' % name.encode()
    return quoted + b":[", re.compile(quoted + rb"\s{0,8}:\s{0,8}\[")


def _find_list(body: bytes, name: str, last: KeptConversation | None) -> int:
    """Where the list of messages seems to begin. Whether it does is seen when the body is opened. Nearly always it is
    where it was on the turn before."""
    head, pattern = _list_head(name)
    likely = -1 if last is None else len(last.top.before)
    if likely >= len(head) and body.startswith(head, likely + 1 - len(head)):
        return likely
    found = pattern.search(body, max(body.find(head[:-2]), 0))
    return -1 if found is None else found.end() - 1


def _parse_rest(
    dialect: str, known: KnownBody, place: int, headers: Mapping[str, str] | None, caller: CallerMemory
) -> Ask | None:
    """The request, parsed from a checkpoint of what is kept. None if that cannot be done. `place`: the number of the
    checkpoint up to which both are the same."""
    one, body, kept, begin = registry.dialect(dialect), known.body, known.kept, known.begin
    assert kept is not None
    following = _NEXT.match(body, begin + kept.ends[place])
    if following is None or following[1] != b",":  # with nothing behind it, its last turn is read again
        return None
    rest = following.end()
    reading = ListReading(kept.read, kept.read.checkpoints[place], place)
    try:
        opened, top = _open_rest(one.list_name, known, rest)
        if opened is None:
            return None
        ask = one.requests.parse(_open(replace(opened, source=body, reading=reading)), headers=headers)
    except RequestError:
        return None
    if reading.done is None:
        return None
    sent = SentList(body, begin, len(body) - len(top.after))
    members: dict[str, bytes | msgspec.Raw] = dict(ask.members)
    members[one.list_name] = msgspec.Raw(memoryview(body)[begin : sent.end])
    new = caller.keep(dialect, ReadConversation(top, sent, reading.done), kept, place)
    return replace(ask, members=members, known=_find_known(caller, ask, new, reading, kept.ends[place]))


def _open_rest(name: str, known: KnownBody, rest: int) -> tuple[OpenBody | None, KnownTop]:
    """The body without the items that are known, and what stands around its list. None if it cannot be cut."""
    body, begin, top = known.body, known.begin, known.top
    if top is not None:
        items = b"[" + body[rest : len(body) - len(top.after)]
        members = top.members | {name: msgspec.Raw(items)}
        return (OpenBody(body, members, ()) if items.isascii() or is_utf8(items) else None), top
    cut = b"".join((body[: begin + 1], memoryview(body)[rest:]))
    opened = open_body(cut)
    raw = opened.members.get(name)
    if raw is None or opened.repairs or find_member(cut, opened.members, name) != begin:
        return None, KnownTop()
    return opened, _make_top(name, opened, body[:begin], cut[begin + len(raw) :])


def _make_top(name: str, opened: OpenBody, before: bytes, after: bytes) -> KnownTop:
    members = {key: b"" if key == name else bytes(value) for key, value in opened.members.items()}
    return KnownTop(before, after, members)
