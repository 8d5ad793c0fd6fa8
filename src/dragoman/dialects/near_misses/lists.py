"""The list of messages that is meant, in the form of the client's own dialect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from dragoman.conversation.messages import USER
from dragoman.conversation.near_misses import ROLES, Miss, NearMiss
from dragoman.conversation.parts import Call, Json, Result
from dragoman.dialects.near_misses.call_ids import CallIds
from dragoman.dialects.near_misses.misfits import MOST_ODD, refuse_too_odd
from dragoman.dialects.near_misses.parts import parse_part_of_any
from dragoman.dialects.near_misses.turns import MeantPart, MeantTurn, MissLog, TurnReader, WireForm
from dragoman.dialects.shared.raw_json import Fields, fields_of, items_of, text_of
from dragoman.errors import MalformedRequest, Unrepresentable
from dragoman.wire.json_reader import render_object


class MeantItems(msgspec.Struct, frozen=True):
    """Items of a list that do not fit their schema, by their places, as their dialect has them."""

    items: Mapping[int, list[Json]]
    """For each of them the items in its place: mostly one."""
    misses: tuple[NearMiss, ...]
    """What had to be read otherwise than it was written."""
    made: frozenset[str]
    """Ids of calls that are made up."""


def interpret_items(items: Sequence[Json | Raw], refused: Sequence[int], form: WireForm, member: str) -> MeantItems:
    """The items at the places that a strict parser refused. `member`: where the list stands."""
    unfit = [index for index in refused if not fits_loosely(bytes(items[index]), form)]
    turns: dict[int, _ItemTurn] = {}
    pieces = 0
    for index in unfit:
        turns[index] = one = _parse_unfit(bytes(items[index]), index, form, f"/{member}/{index}")
        pieces += 1 if one.turn is None else len(one.turn.pieces) or 1
        if pieces > MOST_ODD:
            refuse_too_odd(f"/{member}/{index}")
    made: frozenset[str] = frozenset()
    if (turns and not form.needs_ids) or any(turn.lacks_id() for turn in turns.values()):
        # An id is told by the calls and results around it, so now all items are read.
        every = [turns.get(index) or _parse_item(bytes(item), index, form, "") for index, item in enumerate(items)]
        made = _identify(every, form)
    written = {index: turns[index].written(form) if index in turns else [bytes(items[index])] for index in refused}
    return MeantItems(written, tuple([miss for turn in turns.values() for miss in turn.log.found]), made)


_CALLS = (b'"tool_use"', b'"toolUse"', b'"functionCall"', b'"function_call"')
"""What a call is called in dialects whose calls are parts of a turn."""


def fits_loosely(item: Json, form: WireForm) -> bool:
    """Whether an item fits the schema, and is no turn of the user that calls a tool: only the assistant may."""
    return form.fits(item) and not (any(map(item.__contains__, _CALLS)) and _is_call_of_user(item, form))


def _is_call_of_user(item: Json, form: WireForm) -> bool:
    fields = fields_of(item) or {}
    parts = items_of(fields.get(form.content_name)) or ()
    role = ROLES.get(text_of(fields.get("role")), USER)
    return role is USER and any(type(parse_part_of_any(part)) is Call for part in parts)


def refuse_no_turn(raw: Json, form: WireForm, member: str) -> None:
    """Raise MalformedRequest if an object in place of the list is no turn."""
    if raw[:1] == b"{" and not form.fits(raw) and TurnReader(form, MissLog(0, f"/{member}")).read(raw) is None:
        raise MalformedRequest("an object that is no message", at=f"/{member}", hint="send a list of messages")


class _ItemTurn(msgspec.Struct):
    """An item of the client's list, what it means if that is clear, and the near misses in it."""

    item: Json
    log: MissLog
    turn: MeantTurn | None
    fits: bool

    def lacks_id(self) -> bool:
        """Whether a call or a result in it has no id."""
        parts = [piece.meant for piece in self.turn.pieces] if self.turn is not None else []
        return any(
            (type(part) is Call and not part.id) or (type(part) is Result and not part.call_id) for part in parts
        )

    def written(self, form: WireForm) -> list[Json]:
        """The items in its place. If it stays as it is, it has no near misses."""
        if self.turn is None:
            return [self.item]
        if self.log.found and not self.fits:
            try:
                return _with_rest(form.render(self.turn), self.turn.rest)
            except Unrepresentable:
                pass
        self.log.found.clear()
        return [self.item]


def _with_rest(items: list[Json], rest: Fields) -> list[Json]:
    if rest and items:
        items[-1] = render_object({**(fields_of(items[-1]) or {}), **rest})
    return items


def _parse_item(item: Json, index: int, form: WireForm, at: str) -> _ItemTurn:
    if not fits_loosely(item, form):
        return _parse_unfit(item, index, form, at)
    log = MissLog(index, at)
    return _ItemTurn(item, log, TurnReader(form, log).read(item), True)


def _parse_unfit(item: Json, index: int, form: WireForm, at: str) -> _ItemTurn:
    log = MissLog(index, at)
    repaired = form.repair_item(item, log)
    if repaired is not None:
        return _ItemTurn(repaired, log, None, False)
    return _ItemTurn(item, log, TurnReader(form, log).read(item), False)


def _identify(turns: list[_ItemTurn], form: WireForm) -> frozenset[str]:
    """Give calls and results the ids that their places tell, if they have none. These are the made-up ones."""
    pieces = [(piece, one.log) for one in turns if one.turn is not None for piece in one.turn.pieces]
    ids = CallIds([piece.meant for piece, _ in pieces])
    for piece, log in pieces:
        part = piece.meant
        if type(part) is Call:
            _identify_call(piece, part, ids, form, log)
        elif type(part) is Result:
            _identify_result(piece, part, ids, form, log)
    return frozenset(ids.made)


def _identify_call(piece: MeantPart, call: Call, ids: CallIds, form: WireForm, log: MissLog) -> None:
    identity = ids.call(call)
    if call.id:
        return
    piece.meant = replace(call, id=identity, wire_form=form.no_id)
    if form.needs_ids:
        log.note(Miss.ID, piece.below)
        piece.kept = None


def _identify_result(piece: MeantPart, result: Result, ids: CallIds, form: WireForm, log: MissLog) -> None:
    identity, name = ids.result(result)
    if not form.needs_ids:
        wire_form = "" if result.call_id else form.no_id
        piece.meant = replace(result, call_id=identity, name=result.name or name, wire_form=wire_form)
    elif not result.call_id:
        piece.meant = replace(result, call_id=identity)
        log.note(Miss.ID, piece.below)
        piece.kept = None
