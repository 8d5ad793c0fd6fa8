"""From the client's list of messages to ours: one strict decode and one walk for each item of the list.

A dialect's `message_parse` has two functions. `parse_turn` takes what fits the schema exactly and is decoded: it walks
over it once. `parse_odd_item` takes everything else that a dialect may hold: members and parts that the schema
does not name, which it keeps for its own dialect. What fits in neither way is first written as the schema has it, by
the loose reader (`near_misses`), which notes each difference; then it is parsed like any other.

What is parsed of an item depends on its bytes and its place alone, traits included. What depends on the items around it
is found in a second, cheap pass over the results: which results answer which calls, and in which order roles come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.literals import blank
from dragoman.conversation.messages import ASSISTANT, SYSTEM, TOOL, USER, Message, Role
from dragoman.conversation.near_misses import Miss, NearMiss
from dragoman.conversation.parts import NO_ID, Call, Extras, Json, Part, Result, Text
from dragoman.conversation.traits import (
    CALLING,
    ObservedMessage,
    observe_ids,
    observe_message,
    observe_roles,
    without_rounds,
)
from dragoman.dialects.near_misses.lists import fits_loosely, interpret_items, refuse_no_turn
from dragoman.dialects.near_misses.turns import WireForm
from dragoman.dialects.shared.media_links import LONG, parse_links
from dragoman.dialects.shared.read_lists import Checkpoint, ListReading, ReadList
from dragoman.wire.json_reader import split_items

QUOTE, BACKSLASH, LIST, LIST_END, BRACE, BRACE_END = b'"\\[]{}'
"""First and last bytes of JSON values, as numbers."""

_MODEL = frozenset("ac")
"""The letters of a model's messages."""
_MODEL_OR_NONE = frozenset(("a", "c", ""))
_BEGINNINGS = (b"{", b"[", b'"', b"n")
"""Letters that messages of any form begin with, and null."""
_LATE, _EACH = 48, 16
"""Checkpoints are at all turns of the model among the last messages, and at some among those before; and at the end of
the list, if the model's turn comes next."""


class _CheckedObject(msgspec.Struct, gc=False):
    """Accepts any object and keeps nothing of it."""


check_object: Callable[[bytes | str], object] = msgspec.json.Decoder(_CheckedObject).decode
"""Raises DecodeError or RecursionError if a text is not a JSON object."""


MAYBE_BLANK = bytes([*range(QUOTE + 1), BACKSLASH])
"""The bytes with which a text that says nothing may begin."""


def is_blank(literal: Json) -> bool:
    """Whether a text says nothing. It is decoded only if it begins as a blank one may."""
    return literal[1] in MAYBE_BLANK and blank(literal)


def _is_apart(before: Message, message: Message, start: Checkpoint) -> bool:
    """Whether no item holds both messages, and this one comes after the start."""
    return message.at > start.item and before.at + before.span <= message.at


def _observe_more_ids(ids: list[str], known: int, before: ReadList) -> int:
    """What the ids tell, if the first ones are those of the list before and all of that one tell nothing."""
    new, numbers, known_ids = ids[known:], before.all_ids, before.ids
    repeated = False
    for number, identity in enumerate(new, known):
        was = numbers.get(identity)
        numbers[identity] = number
        if was is None or not known:
            continue
        if was < len(known_ids) and known_ids[was] == identity:  # it is there only once
            repeated = repeated or was < known
        else:
            repeated = repeated or identity in known_ids[:known]
    return observe_ids(new) | (traits.DUPLICATE_ID if repeated else 0)


class ParsedList(msgspec.Struct):
    """The messages of a list, item by item."""

    messages: list[ObservedMessage]
    misses: tuple[NearMiss, ...] = ()
    """What had to be read otherwise than it was written."""
    fits: bool = False
    """Whether all items were decoded at once, so that each fits the schema exactly."""
    reading: ListReading | None = None
    """What was read before of the items that come before these."""
    alone: bool = True
    """Whether each turn was read without a look at the turns before it, but for the number of calls in them."""
    end: int = 0
    """The items of the list up to its end, if all of them were read; else 0."""
    known_codes: str | None = None
    """The letters of the messages, once they were asked for."""

    def settled(self, messages: list[ObservedMessage], alone: bool = True) -> ParsedList:
        """The same list after the second pass of its dialect."""
        self.messages, self.fits, self.alone, self.known_codes = messages, False, self.alone and alone, None
        return self

    def codes(self) -> str:
        """The letters of the messages."""
        if self.known_codes is None:
            self.known_codes = "".join([one.code for one in self.messages])
        return self.known_codes

    def finish(self, opening: Sequence[ObservedMessage] = ()) -> tuple[tuple[Message, ...], int]:
        """All messages, and the traits that `observe_messages` would find in them."""
        if self.reading is not None:
            return self._finish_reading(self.reading, opening)
        parsed, codes = self.messages, self.codes()
        if opening:
            parsed, codes = [*opening, *parsed], "".join([one.code for one in opening]) + codes
        seen = traits.ALWAYS
        ids: list[str] = []
        asked: Sequence[str] = ()
        for one in parsed:
            seen |= one.traits
            code = one.code
            if code == CALLING:
                asked = one.ids
                ids += asked
            elif code == "t" and one.ids != asked:
                seen |= traits.UNPAIRED
        if len(ids) > codes.count(CALLING):
            seen |= traits.SEVERAL_CALLS
        seen |= observe_ids(ids) | observe_roles(codes)
        return tuple([one.message for one in parsed]), seen

    def _finish_reading(
        self, reading: ListReading, opening: Sequence[ObservedMessage]
    ) -> tuple[tuple[Message, ...], int]:
        """What `finish` returns, with what was read before, and with checkpoints for the next list."""
        start, known, new_codes = reading.start, reading.known, self.codes()
        count, seen, asked, parts = start.count, start.traits, start.asked, start.parts
        messages, ids = list[Message](), known.ids[: start.calls]
        last, before = (known.messages[count - 1], known.codes[count - 1]) if count else (None, "")
        checkpoints = known.checkpoints[: reading.place + 1]
        late = len(self.messages) - _LATE
        for at, one in enumerate(self.messages):
            code, message = one.code, one.message
            if code not in _MODEL or before in _MODEL_OR_NONE:
                pass
            elif (at > late or at % _EACH < 2) and last is not None and _is_apart(last, message, start):
                checkpoints.append(Checkpoint(message.at, count + at, seen, len(ids), parts, asked))
            before, last = code, message
            seen |= one.traits
            if code == CALLING:
                asked = one.ids
                ids += asked
            elif code == "t" and one.ids != asked:
                seen |= traits.UNPAIRED
            messages.append(message)
            parts += len(message.parts)
        if last is not None and before not in _MODEL_OR_NONE and start.item < self.end == last.at + last.span:
            checkpoints.append(Checkpoint(self.end, count + len(messages), seen, len(ids), parts, asked))
        codes = known.codes[:count] + new_codes
        shaped, shape = (known.shaped, known.shape) if known.shaped <= count else (0, "")
        shape = without_rounds(shape + codes[shaped:count])
        all_messages = known.messages[:count] + tuple(messages)
        id_traits = observe_ids(ids) if known.odd_ids else _observe_more_ids(ids, start.calls, known)
        if self.alone and not self.misses and (not count or new_codes[:1] in _MODEL):
            reading.done = ReadList(
                all_messages,
                codes,
                ids,
                all_ids=known.all_ids,
                checkpoints=checkpoints,
                parts=parts,
                odd_ids=id_traits != 0,
                shape=shape,
                shaped=count,
            )
        if len(ids) > codes.count(CALLING):
            seen |= traits.SEVERAL_CALLS
        seen |= traits.ALWAYS | id_traits
        if not opening:
            return all_messages, seen | observe_roles(shape + new_codes)
        for one in opening:
            seen |= one.traits
        seen |= observe_roles("".join([one.code for one in opening]) + shape + new_codes)
        return (*[one.message for one in opening], *all_messages), seen


ParseItem = Callable[[Json, int], Sequence[ObservedMessage] | None]
ParseTurn = Callable[[Any, int], Sequence[ObservedMessage] | None]
"""An item that fits the schema, and its place in the list, to messages; None if it does not fit."""
ParseOddItem = Callable[[Json, int], Sequence[ObservedMessage]]
"""An item of any form to messages. Raises MalformedRequest or DecodeError if it is no message."""


def item_parser(
    decode: Callable[[Json], Any], parse_turn: Callable[[Any, int], Sequence[ObservedMessage] | None]
) -> ParseItem:
    """Takes a message that fits the schema: decoded, then parsed."""

    def parse_item(raw: Json, index: int) -> Sequence[ObservedMessage] | None:
        try:
            return parse_turn(decode(raw), index)
        except msgspec.DecodeError:
            return None

    return parse_item


class ListParser(msgspec.Struct, frozen=True):
    """How a dialect parses its list of messages."""

    form: WireForm
    """How the loose reader writes an item that does not fit."""
    parse_item: ParseItem
    """Takes what fits the schema."""
    parse_odd_item: ParseOddItem
    """Takes what holds more than the schema names."""
    decode_list: Callable[[bytes | Raw], Sequence[Any]] | None = None
    """Decodes a list in which every item fits, at once; then `parse_turn` takes each: faster than `parse_item`."""
    parse_turn: ParseTurn = lambda turn, index: None
    """An item that is decoded to messages; None if it does not fit."""

    def parse(self, raw: bytes | Raw, member: str, reading: ListReading | None = None) -> ParsedList:
        """The messages. `member`: where the list stands. `reading`: what was read before of the items before these."""
        start = 0 if reading is None else reading.start.item
        listed = self._parse_at_once(raw, start) if member == self.form.list_name else None
        if listed is None:
            listed = self._parse_singly(raw, member, start)
        listed.reading = reading
        return listed

    def _parse_singly(self, raw: bytes | Raw, member: str, start: int) -> ParsedList:
        """The messages, item by item: the list stands elsewhere, is none, or holds an item that does not fit."""
        misses: tuple[NearMiss, ...] = ()
        own = self.form.list_name
        listed = memoryview(raw)[0] not in b'"{'
        if not listed or member != own:
            misses = (NearMiss(Miss.LIST, f"/{member}", members=(member, own)),)
            refuse_no_turn(bytes(raw), self.form, member)
        items: Sequence[bytes | Raw] = split_items(raw, f"/{own}") if listed else [bytes(raw)]
        parse_item = self.parse_item
        found = [parse_item(bytes(item), index) for index, item in enumerate(items, start)]
        if None in found and start:
            return self._parse_odd(items, found, start)
        if None in found:
            return self._parse_meant(items, found, member, misses)
        return ParsedList(list(chain.from_iterable(found)), misses, end=start + len(items))  # type: ignore[arg-type]

    def _parse_at_once(self, raw: bytes | Raw, start: int) -> ParsedList | None:
        """All messages if every item fits; None if one does not."""
        if self.decode_list is None:
            return None
        try:
            turns = self.decode_list(raw)
        except (msgspec.DecodeError, RecursionError):
            return None
        done: list[ObservedMessage] = []
        parse_turn = self.parse_turn
        for index, turn in enumerate(turns, start):
            found = parse_turn(turn, index)
            if found is None:
                return None
            done += found
        return ParsedList(done, fits=True, end=start + len(turns))

    def _parse_odd(
        self, items: Sequence[bytes | Raw], found: list[Sequence[ObservedMessage] | None], start: int
    ) -> ParsedList:
        """Items that follow known ones. Each is read by itself, if it holds more than the schema names and nothing that
        has to be written as the schema has it: that may depend on the items before."""
        done: list[ObservedMessage] = []
        for index, one in enumerate(found, start):
            item = bytes(items[index - start])
            if one is None and not fits_loosely(item, self.form):
                return ParsedList([], alone=False)
            done += self.parse_odd_item(item, index) if one is None else one
        return ParsedList(done, end=start + len(items))

    def _parse_meant(
        self,
        items: Sequence[bytes | Raw],
        found: list[Sequence[ObservedMessage] | None],
        member: str,
        misses: tuple[NearMiss, ...],
    ) -> ParsedList:
        refused = [index for index, one in enumerate(found) if one is None]
        for index in refused:
            if not bytes(items[index]).startswith(_BEGINNINGS):
                self.parse_odd_item(bytes(items[index]), index)  # it is no message in any form, and this says so
                break
        meant = interpret_items(items, refused, self.form, member)
        done: list[ObservedMessage] = []
        for index, one in enumerate(found):
            if one is not None:
                done += one
                continue
            for item in meant.items[index]:
                again = self.parse_item(item, index)
                done += again if again is not None else self.parse_odd_item(item, index)
        if meant.made:
            done = [observe_message(_mark_made(one.message, meant.made)) for one in done]
        return ParsedList(done, (*misses, *meant.misses), end=len(items))


def _mark_made(message: Message, made: frozenset[str]) -> Message:
    """The message with its made-up ids marked as such."""
    return replace(message, parts=tuple([_mark_made_part(part, made) for part in message.parts]))


def _mark_made_part(part: Part, made: frozenset[str]) -> Part:
    identity = part.id if type(part) is Call else part.call_id if type(part) is Result else ""
    return replace(part, wire_form=NO_ID) if identity in made else part


def join_results(messages: Sequence[ObservedMessage]) -> list[ObservedMessage]:
    """The messages, consecutive ones of a tool as one, for dialects in which each result is an item by itself."""
    if "tt" not in "".join([one.code for one in messages]):
        return list(messages)
    done: list[ObservedMessage] = []
    run: list[ObservedMessage] = []
    for one in messages:
        if one.code == "t":
            run.append(one)
            continue
        if run:
            done.append(run[0] if len(run) == 1 else join_run(run))
            run = []
        done.append(one)
    if run:
        done.append(run[0] if len(run) == 1 else join_run(run))
    return done


def join_run(run: list[ObservedMessage]) -> ObservedMessage:
    """One message of several results."""
    first, last = run[0].message, run[-1].message
    seen = 0
    ids: list[str] = []
    for one in run:
        seen |= one.traits
        ids += one.ids
    parts = tuple([part for one in run for part in one.message.parts])
    return ObservedMessage(Message(TOOL, parts, first.at, last.at - first.at + 1), seen, "t", ids)


def share_places(messages: Iterable[ObservedMessage]) -> list[ObservedMessage]:
    """The messages of a list whose items were written anew, in which a message may come from several items.

    Those that share an item share their place too, so that they are kept or rendered together.
    """
    groups: list[list[int]] = []
    homes: list[tuple[ObservedMessage, list[int]]] = []
    for one in messages:
        start, stop = one.message.at, one.message.at + one.message.span
        if groups and 0 <= start < groups[-1][1]:
            groups[-1][1] = max(groups[-1][1], stop)
        else:
            groups.append([start, stop])
        homes.append((one, groups[-1]))
    return [
        one if at < 0 else replace(one, message=replace(one.message, at=at, span=end - at)) for one, (at, end) in homes
    ]


# The neighbours of a message, in dialects of blocks


def compose(
    role: Role, parts: tuple[Part, ...], index: int, listed: bool, *, extras: Extras | None = None, role_text: str = ""
) -> Sequence[ObservedMessage]:
    """The messages of these parts. In a user's turn, each run of results is a message of its own."""
    if role is ASSISTANT:
        for part in parts:
            if type(part) is Text and len(part.literal) > LONG:
                parts = parse_links(parts)
                break
    if role is not USER or not listed or not any(type(part) is Result for part in parts):
        return (observe_message(Message(role, parts, index, extras=extras, listed=listed, role_text=role_text)),)
    found: list[ObservedMessage] = []
    run: list[Part] = []
    for position, part in enumerate(parts):
        run.append(part)
        last = position + 1 == len(parts)
        if last or (type(parts[position + 1]) is Result) is not (type(part) is Result):
            home = TOOL if type(part) is Result else USER
            found.append(observe_message(Message(home, tuple(run), index, extras=extras, listed=True)))
            run = []
    return found


def mark_inline(listed: ParsedList) -> ParsedList:
    """Mark the system texts that stand before all other messages: they did not stand in the field for them."""
    for place, one in enumerate(listed.messages):
        if one.message.role is not SYSTEM:
            break
        listed.messages[place] = observe_message(replace(one.message, inline=True))
    return listed
