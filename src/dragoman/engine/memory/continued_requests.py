"""Requests that continue a conversation: the messages that were read on the turn before are not read again.

The known items are cut out of the body before it is parsed. Whatever is unusual about the rest is left to the parser of
whole requests: the result is the same as without a memory, and so is every error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial

import msgspec
from msgspec.structs import replace

from dragoman.conversation.conversation import Ask, KnownBeginning
from dragoman.conversation.traits import codes_of
from dragoman.dialects import registry
from dragoman.dialects.shared.parsing import OpenBody, OpenedBytes, open_body
from dragoman.dialects.shared.read_lists import ListReading
from dragoman.engine.memory.conversation_memory import CallerMemory, KeptConversation
from dragoman.errors import RequestError
from dragoman.wire.json_reader import find_member

SHORTEST = 16 * 1024
"""Bytes of a body that is worth remembering. A shorter one is read as fast as it is found."""
SHORTEST_LIST = 8 * 1024
"""Bytes of a list of messages that is worth remembering."""
_LISTS = {name: re.compile(rb'"%b"\s{0,8}:\s{0,8}\[' % name.encode()) for name in ("messages", "input", "contents")}
_HEADS = {name: b'"%b":[' % name.encode() for name in _LISTS}
_NEXT = re.compile(rb"[ \t\r\n]{0,1000}([,\]])")


def parse_remembered(dialect: str, body: bytes, headers: Mapping[str, str] | None, caller: CallerMemory) -> Ask:
    """A request as an Ask. Raises MalformedRequest or DuplicateKey."""
    codec = registry.dialect(dialect).requests
    likely = caller.memory.find_begin(caller.owner, dialect)
    begin = -1 if likely is None else _find_list(body, codec.list_name, likely)
    kept, common = (None, 0) if begin < 0 else caller.find(dialect, body, begin)
    if kept is not None:
        last = kept.checkpoint_within(common) if common >= SHORTEST_LIST else -1
        for place in range(last, max(last - 2, -1), -1):  # one before, if no turn of the model follows any more
            ask = _parse_rest(dialect, body, headers, caller, kept, begin, place)
            if ask is not None:
                return ask
    opened = open_body(body)
    if len(opened.members.get(codec.list_name, b"")) < SHORTEST_LIST:
        return codec.parse(_opened(opened), headers=headers)
    reading = ListReading()
    ask = codec.parse(_opened(replace(opened, reading=reading)), headers=headers)
    if reading.done is None or ask.repairs:
        return ask
    kept = caller.keep(dialect, bytes(opened.members[codec.list_name]), reading.done)
    return replace(ask, known=_known(caller, ask, kept, reading))


def count_known(dialect: str, body: bytes, caller: CallerMemory | None) -> int:
    """At least how many bytes of a body need not be read, if it continues the conversation that was sent last."""
    last = None if caller is None else caller.memory.find_last(caller.owner, dialect)
    if last is None or last.begin < 0 or not body.startswith(last.head, last.begin):
        return 0
    return len(last.head)


def _known(
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
        made=kept.made,
    )


def _opened(opened: OpenBody) -> OpenedBytes:
    body = OpenedBytes()
    body.opened = opened
    return body


def _find_list(body: bytes, name: str, likely: int) -> int:
    """Where the list of messages seems to begin. Whether it does is seen when the body is opened. `likely`: where it
    began on the turn before."""
    head = _HEADS[name]
    if likely >= len(head) and body.startswith(head, likely + 1 - len(head)):
        return likely
    found = _LISTS[name].search(body, max(body.find(head[:-2]), 0))
    return -1 if found is None else found.end() - 1


def _parse_rest(
    dialect: str,
    body: bytes,
    headers: Mapping[str, str] | None,
    caller: CallerMemory,
    kept: KeptConversation,
    begin: int,
    place: int,
) -> Ask | None:
    """The request, parsed from a checkpoint of what is kept. None if that cannot be done."""
    codec = registry.dialect(dialect).requests
    following = _NEXT.match(body, begin + kept.ends[place])
    if following is None:
        return None
    rest = following.end() if following[1] == b"," else following.start(1)
    cut = b"".join((body[: begin + 1], memoryview(body)[rest:]))
    reading = ListReading(kept.read, kept.read.checkpoints[place], place)
    try:
        opened = open_body(cut)
        raw = opened.members.get(codec.list_name)
        if raw is None or opened.repairs or find_member(cut, opened.members, codec.list_name) != begin:
            return None
        ask = codec.parse(_opened(replace(opened, reading=reading)), headers=headers)
    except RequestError:
        return None
    if reading.done is None:
        return None
    text = body[begin : begin + len(raw) + len(body) - len(cut)]
    members: dict[str, bytes | msgspec.Raw] = dict(ask.members)
    members[codec.list_name] = text
    new = caller.keep(dialect, text, reading.done, kept, place)
    if new is not None:
        new.begin = begin
    known = _known(caller, ask, new, reading, kept.ends[place])
    return replace(ask, source=body, members=members, known=known)
