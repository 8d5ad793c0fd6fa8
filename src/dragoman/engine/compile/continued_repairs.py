"""Repairs of a conversation that goes on: a rule looks only at what is new, if it takes each turn by itself.

`Rule.turnwise` says so: what such a rule makes of a conversation that is cut before a turn of the model is what it
makes of both pieces, one after the other, and its notes are in the order of the messages. What it made of the first
piece on the turn before is kept. Every other rule looks at the whole conversation, and what it did is compared with
what it did before.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from operator import is_, is_not

import msgspec
from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import NOTHING_TO_UNDO, Change, Note, Rewrite
from dragoman.conversation.conversation import Conversation, KnownBeginning
from dragoman.conversation.messages import ASSISTANT, MADE, Message
from dragoman.conversation.parts import Media, Result
from dragoman.conversation.traits import ORDER_AND_IDS, codes_of, observe_few, observe_messages, observe_roles
from dragoman.dialects.dialect import WrittenList
from dragoman.dialects.shared.read_lists import are_same
from dragoman.rules.context import Context
from dragoman.rules.media.remote_media import media_of
from dragoman.rules.rule import Rule

Messages = tuple[Message, ...]
_OF_ROLES = ORDER_AND_IDS & ~(traits.DUPLICATE_ID | traits.ODD_IDS | traits.UNPAIRED)
"""What the letters of messages tell. Rules that take turns by themselves change no ids and part no pairs."""


class RuleRecord(msgspec.Struct, frozen=True):
    """What a rule did on the turn before."""

    before: Conversation
    after: Messages
    notes: Sequence[Note]
    """Those that were entered into the report."""
    changes: Sequence[Change]
    """The entries."""
    seen: int
    """The traits after it."""
    codes: str | None
    """The letters of the messages after it, if they are known."""


class CompiledTurn(msgspec.Struct):
    """How a conversation was compiled for a target."""

    plan: object
    """By which plan. It is held so that no other can have its id."""
    messages: Messages
    """The client's own."""
    records: dict[int, RuleRecord]
    """What rules did that changed messages, by their places in the plan."""
    written: WrittenList
    called: set[int] = set()
    """The places of the rules that were called."""
    top: object = None
    """What stood around the messages in the client's body."""
    entries: dict[int, tuple[Sequence[Note], Sequence[Change]]] = {}
    """The notes of rules that look at that alone, by their ids, and their entries in the report."""
    media: list[tuple[int, Media]] | None = None
    """The media in the messages, each with the number of its message; None if nobody asked."""

    def size(self) -> int:
        changed = sum(map(len, (record.notes for record in self.records.values())))
        changed += sum([len(notes) for notes, _ in self.entries.values()])
        return self.written.length + 8 * len(self.messages) * (len(self.records) + 2) + 1000 * changed


class ContinuedRepairs:
    """The rules on their way through a conversation that is kept."""

    __slots__ = (
        "_before",
        "_codes",
        "_count",
        "_entries",
        "_is_open",
        "_known",
        "_looks_at_turns",
        "_mirror",
        "_passed",
        "carried",
        "known_changes",
        "now",
        "seen",
    )

    def __init__(self, plan: object, messages: Messages, known: KnownBeginning, before: CompiledTurn | None) -> None:
        self._before = before
        self._known = known
        self._codes: str | None = known.codes
        """The letters of the messages at this step, if they are known."""
        self._count = 0
        self._mirror: Messages | None = None
        """The messages of the turn before at the same step: the first `_count` of both are the same."""
        self._is_open = False
        self._looks_at_turns = False
        """Whether a rule ran that takes each turn by itself."""
        self._passed: list[int] = [] if before is None else sorted(before.records, reverse=True)
        """Places of what rules did on the turn before, which are still to come."""
        written = WrittenList() if before is None else replace(before.written, same=0)
        self.now = CompiledTurn(plan, messages, {}, written, top=known.top)
        self._entries = {} if before is None or before.top is not known.top else before.entries
        self.carried: Sequence[Note] = ()
        """Notes of the last rule about what was known."""
        self.seen: int | None = None
        """Traits after the last rule, if it looked only at what is new."""
        self.known_changes: dict[int, Change] = {}
        """Entries of these notes, by the ids of the notes."""

    def _open(self) -> None:
        """Look whether the turn before began as this one does."""
        self._is_open = True
        before, messages, count = self._before, self.now.messages, self._known.count
        if before is not None and _begins_turn(messages, count) and are_same(messages, before.messages, count):
            self._count, self._mirror = count, before.messages

    def is_worth_keeping(self) -> bool:
        """Whether there is something that the next turn can use."""
        now = self.now
        return bool(now.records or now.written.texts or now.entries or now.media or self._looks_at_turns)

    def find_entries(self, notes: Sequence[Note]) -> Sequence[Change] | None:
        """The entries of notes about what stands around the messages, if it is the same as on the turn before."""
        known = self._entries.get(id(notes))
        return None if known is None else known[1]

    def keep_entries(self, notes: Sequence[Note], entries: Sequence[Change]) -> None:
        """Keep the entries of such notes for the next turn."""
        self.now.entries[id(notes)] = notes, entries

    def repair(self, place: int, rule: Rule, conversation: Conversation, context: Context, seen: int) -> Rewrite:
        """What a rule makes of the conversation."""
        self.carried, self.seen = (), None
        self.now.called.add(place)
        if not self._is_open:
            self._open()
        if self._mirror is not None:
            self._pass(place)
        is_turnwise = rule.turnwise is not None and rule.turnwise(context)
        self._looks_at_turns = self._looks_at_turns or is_turnwise
        mirror, count = self._mirror, self._count
        record = None if mirror is None or self._before is None else self._before.records.get(place)
        if rule.sparse and not self._known.traits & rule.looks_for and conversation.messages is self.now.messages:
            done = self._repair_sparse(rule, conversation, context, seen)
            return done if mirror is None else self._compare(record, conversation, done, self._known.opening)
        if mirror is None:
            return rule.repair(conversation, context)
        is_called = self._before is not None and place in self._before.called
        if not is_turnwise or not self._fits(record, conversation, mirror, is_called):
            return self._compare(record, conversation, rule.repair(conversation, context))
        messages = conversation.messages
        rest = messages[count:]
        done = rule.repair(replace(conversation, messages=rest), context)
        made = done.conversation
        if done.undo is not NOTHING_TO_UNDO or not _is_same_top(made, conversation):
            return self._compare(record, conversation, rule.repair(conversation, context))
        if record is None:
            if made.messages is rest:
                return Rewrite(conversation)
            head, codes = messages[:count], self._codes or codes_of(messages)
        else:
            seen |= record.seen & ~ORDER_AND_IDS
            head, codes = record.after[:count], record.codes or codes_of(record.after)
            self._mirror = record.after
            if made.messages is rest and all(map(is_, head, messages)):
                return Rewrite(conversation)  # what it changed on the turn before is gone
            self._carry(record, messages[count].at)
        codes = codes[:count] + codes_of(made.messages)
        others = made.messages  # what is as it was before is in `seen`
        if len(others) == len(rest):
            others = tuple(compress(others, map(is_not, others, rest)))
        seen |= observe_messages(others) & ~ORDER_AND_IDS
        if codes != self._codes:
            seen = (seen & ~_OF_ROLES) | observe_roles(codes)
        self._codes, self.seen = codes, seen
        return Rewrite(replace(conversation, messages=head + made.messages), done.notes)

    def find_media(self) -> list[Media]:
        """The media of the client's messages."""
        if not self._is_open:
            self._open()
        before, count, messages = self._before, self._count, self.now.messages
        found: list[tuple[int, Media]] = []
        if before is not None and before.media is not None and self._mirror is not None:
            found = [one for one in before.media if one[0] < count]
        else:
            count = 0
        for at, message in enumerate(messages[count:], count):
            if any(type(part) is Media or type(part) is Result for part in message.parts):
                found += [(at, medium) for medium in media_of((message,))]
        self.now.media = found
        return [medium for _, medium in found]

    def finish(self) -> None:
        """Say how much of what was written on the turn before can be written again, after the last rule."""
        if self._mirror is not None:
            self._pass(_LAST)
        written = self.now.written
        written.same = self._count if self._mirror is not None and self._mirror is written.messages else 0

    def reuse_opening(self, conversation: Conversation) -> Conversation:
        """The conversation after its prompt was marked, with the objects of the turn before if they are equal."""
        written, messages = self.now.written, conversation.messages
        written.same = 0
        opening = conversation.opening
        known = (
            _with_known(messages, written.messages, opening, self._known.item)
            if 0 < opening < len(written.messages)
            else None
        )
        return conversation if known is None or known is messages else replace(conversation, messages=known)

    def stop(self) -> None:
        """Look at everything from here on."""
        self.carried, self.seen, self._mirror, self._is_open = (), None, None, True

    def _pass(self, place: int) -> None:
        """Pass what rules did before that do nothing now: what is known must not have been changed by them."""
        assert self._before is not None
        while self._passed and self._passed[-1] <= place:
            passed = self._passed.pop()
            if passed == place or self._mirror is None:
                return
            record = self._before.records[passed]
            same = record.before.messages is self._mirror and _are_same(record.after, self._mirror, self._count)
            self._mirror = record.after if same else None

    def _fits(self, record: RuleRecord | None, conversation: Conversation, mirror: Messages, is_called: bool) -> bool:
        """Whether what is known of a rule holds for the beginning of this conversation."""
        count, messages = self._count, conversation.messages
        if not _begins_turn(messages, count) or messages[count].at == MADE:
            return False
        if record is None:
            return is_called  # on the turn before it had nothing to do, if it was called
        before, after = record.before, record.after
        if before.messages is not mirror or not _is_same_top(before, conversation):
            return False
        if count == len(mirror):  # all that was there is known
            same = count == len(after)
        else:
            same = _begins_turn(after, count) and after[count].at == mirror[count].at
        if not same or after[count - 1].at == MADE:
            return False
        orderly = all(note.message is not None and note.message.at != MADE for note in record.notes)
        return orderly and after[count - 1].at == mirror[count - 1].at

    def _carry(self, record: RuleRecord, end: int) -> None:
        """Take over the notes about messages before the one that stands at this place."""
        self.carried = [note for note in record.notes if note.message is not None and note.message.at < end]
        for note, change in zip(self.carried, record.changes, strict=False):
            self.known_changes[id(note)] = change

    def _repair_sparse(self, rule: Rule, conversation: Conversation, context: Context, seen: int) -> Rewrite:
        """What a rule does that has nothing to do with the known messages of the list."""
        messages, opening, count = conversation.messages, self._known.opening, self._known.count
        few = replace(conversation, messages=messages[:opening] + messages[count:])
        done = rule.repair(few, context)
        if done.conversation is few:
            return Rewrite(conversation)
        made = done.conversation.messages
        if made is few.messages:
            return replace(done, conversation=replace(done.conversation, messages=messages))
        self.seen = observe_few(few.messages, made, seen)
        whole = made[:opening] + messages[opening:count] + made[opening:]
        return replace(done, conversation=replace(done.conversation, messages=whole))

    def _compare(
        self, record: RuleRecord | None, conversation: Conversation, done: Rewrite, compared: int | None = None
    ) -> Rewrite:
        """See whether a rule that looked at everything did the same to what is known as on the turn before. `compared`:
        so many of the first messages may be others."""
        mirror = self._mirror
        if record is not None:
            mirror = record.after if record.before.messages is mirror else None
        messages = done.conversation.messages
        if messages is not conversation.messages:
            self._codes = self._codes if self.seen is not None else None
        elif record is None:
            return done
        count, more = self._count, len(messages) - len(conversation.messages)
        if more and 0 < count + more < len(messages) and messages[count + more] is conversation.messages[count]:
            count += more  # the opening has more messages, or fewer
        while count and (count > len(messages) or messages[count - 1].at >= self._known.item):
            count -= 1  # a known message is gone, and a new one stands in its place
        known = None if mirror is None else _with_known(messages, mirror, count, self._known.item, compared)
        self._mirror, self._count = None if known is None else mirror, count
        if known is None or known is messages:
            return done
        return replace(done, conversation=replace(done.conversation, messages=known))

    def note(
        self,
        place: int,
        before: Conversation,
        after: Messages,
        entered: tuple[Sequence[Note], Sequence[Change]],
        seen: int,
    ) -> None:
        """Keep what a rule did for the next turn."""
        if self.seen is None:
            self._codes = None
        self.now.records[place] = RuleRecord(before, after, *entered, seen, self._codes)


def _begins_turn(messages: Messages, at: int) -> bool:
    """Whether a turn of the model begins at this place, which is not the first."""
    return 0 < at < len(messages) and messages[at].role is ASSISTANT and messages[at - 1].role is not ASSISTANT


def _are_same(one: Messages, other: Messages, count: int) -> bool:
    """Whether the first messages of both are the same objects."""
    return min(len(one), len(other)) >= count and all(map(is_, one[:count], other))


_LAST = 1 << 30
"""A place behind all rules."""
_FEW = 4
"""Messages at the beginning that rules write anew on every turn, such as a system text without its hints."""
_encode = msgspec.msgpack.Encoder(enc_hook=str).encode


def _with_known(
    messages: Messages, known: Messages, count: int, item: int, compared: int | None = None
) -> Messages | None:
    """The messages, with the objects of the turn before in place of first messages that are equal to the last byte.
    None if one of the first ones is another, or comes from this item of the list or one after it: it is new."""
    if min(len(messages), len(known)) < count:
        return None
    others = list(compress(range(count if compared is None else compared), map(is_not, messages, known)))
    if not others:
        return messages
    if len(others) > _FEW or not all(messages[at].at < item and _is_equal(messages[at], known[at]) for at in others):
        return None
    made = list(messages)
    for at in others:
        made[at] = known[at]
    return tuple(made)


def _is_equal(one: Message, other: Message) -> bool:
    """Whether two messages are spelled alike in every way. `==` is about what they mean."""
    return [*map(type, one.parts)] == [*map(type, other.parts)] and _encode(one) == _encode(other)


def _is_same_top(one: Conversation, other: Conversation) -> bool:
    return (
        one.tools is other.tools
        and one.settings is other.settings
        and one.extras is other.extras
        and one.hint is other.hint
        and one.near_misses == other.near_misses == ()
    )
