"""What keys have spent, booked in Redis for all replicas, each booking once.

A booking has a number. It is sent again after a lost connection, and Redis books it only if it has not seen its number.
While Redis is away a replica admits its share of what was left, and books it when Redis is back; for a few seconds from
then on it keeps to that share, because others may not have told yet. If Redis has lost its data, replicas tell it
what they knew to be spent.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from msgspec import Struct

from dragoman.store.clock import Clocks
from dragoman.store.contracts.budgets import Exhausted, Periods, Spending
from dragoman.store.memory.budgets import MOST_PERIODS
from dragoman.store.redis_store.connection import RedisAway, RedisRefused, evalsha, pack
from dragoman.store.redis_store.keys import RedisKeys, digest
from dragoman.store.redis_store.link import RedisLink
from dragoman.store.redis_store.replicas import SETTLING_SECONDS, Replicas
from dragoman.store.redis_store.scripts import Scripts
from dragoman.store.redis_store.slow_answers import FirstAnswers

KEPT_SECONDS = 40 * 86_400
"""After the end of a day or a month."""
MOST_UNSENT = 10_000


class Booking(Struct, frozen=True):
    """An amount that Redis does not have for sure."""

    key: str
    periods: Periods
    amount: float
    about: int = 0
    """The reservation whose outcome it settles, and how."""
    admitted: bool = False


class _Reservation(Struct, eq=False):
    """What this replica decided alone, and what Redis did: True, False, or None if that is unknown."""

    booking: Booking
    number: int
    admitted: bool | None = None
    answered: bool = False
    booked: bool | None = None
    late: asyncio.Future[Any] | None = None


Amounts = dict[str, dict[str, float]]
"""By key and period."""


class _SpendingOutage(Struct, frozen=True):
    """What was known to be spent, and what was admitted alone, while Redis was away."""

    known: Amounts
    own: Amounts
    until: float

    def concerns(self, key: str) -> bool:
        return key in self.known or key in self.own


class RedisBudgets:
    """`Budgets` in Redis."""

    def __init__(self, link: RedisLink, scripts: Scripts, keys: RedisKeys, replicas: Replicas, clocks: Clocks) -> None:
        self._link = link
        self._scripts = scripts
        self._keys = keys
        self._replicas = replicas
        self._wall, self._steady = clocks.wall, clocks.steady
        self._known: Amounts = {}
        self._own: Amounts = {}
        self._outage: _SpendingOutage | None = None
        self._first_answers = FirstAnswers()
        self._bookings: dict[int, Booking] = {}
        self._refused: list[Booking] = []
        self._ends: dict[str, float | None] = {}
        self._number = 0
        link.back.append(self._push)

    @property
    def waiting(self) -> int:
        return len(self._bookings) + len(self._refused)

    async def reserve(self, key: str, periods: Periods, amount: float) -> Spending | Exhausted:
        is_sent, number = self._link.ready, self._next_number()
        reservation = _Reservation(Booking(key, periods, amount), number)
        if self._outage is not None and (full := self._find_exhausted_while_settling(reservation.booking)) is not None:
            return full
        command = self._command("reserve", number, reservation.booking)
        try:
            reply = await self._link.ask(command, partial(self._late, reservation))
        except RedisAway:
            reservation.answered = reservation.answered or not is_sent
            reservation.booked = reservation.booked if is_sent else False
            reply = await self._late_reply(reservation, command)
            if not reply:
                return self._alone(reservation)
        except RedisRefused:
            reservation.answered, reservation.booked = True, False
            return self._alone(reservation)
        except BaseException:
            self._give_up(reservation)
            raise
        self._first_answers.came()
        return self._verdict(reservation.booking, reply)

    def settle(self, key: str, periods: Periods, amount: float) -> None:
        self._book(Booking(key, periods, amount))

    async def forget(self, key: str) -> int:
        """Remove what a key has spent; in how many periods. Raises RedisAway or RedisRefused."""
        known = self._known.pop(key, {})
        self._own.pop(key, None)
        names = [self._name(key, period) for period in known]
        cursor, pattern = b"0", self._keys.named("spent", digest(key, 16), "*")
        while True:
            cursor, found = await self._link.ask(pack(("SCAN", cursor, "MATCH", pattern, "COUNT", "1000")))
            names += [name.decode() for name in found]
            if cursor == b"0":
                break
        if names:
            await self._link.ask(pack(("DEL", *names)))
        return len(set(names))

    async def take(self, key: str, period: str, amount: float) -> None:
        """What another store has counted was spent at least. Raises RedisAway or RedisRefused."""
        seconds = 0 if period == "total" else KEPT_SECONDS
        names, run = [self._name(key, period)], self._replicas.run
        await self._link.ask(evalsha(self._scripts.raise_, names, run, repr(amount), seconds))

    def _verdict(self, booking: Booking, reply: list[Any]) -> Spending | Exhausted:
        spending = self._know(booking.key, booking.periods, reply)
        if reply[0] > 0:
            return Exhausted(booking.periods[reply[0] - 1], spending[reply[0] - 1])
        if self._outage is not None and self._outage.concerns(booking.key):
            _add(self._outage.own, booking, booking.amount)
        return spending

    # Alone.

    def _alone(self, reservation: _Reservation) -> Spending | Exhausted:
        """Decide by what was last known: of what was left then, this replica may spend its share."""
        booking = reservation.booking
        full = self._find_exhausted(booking, self._known, self._own)
        reservation.admitted = full is None
        if full is None:
            _add(self._own, booking, booking.amount)
        self._correct(reservation)
        return full if full is not None else self._spending(booking.key, booking.periods)

    def _find_exhausted(self, booking: Booking, of_all: Amounts, of_this: Amounts) -> Exhausted | None:
        known, own = of_all.get(booking.key, {}), of_this.get(booking.key, {})
        for one in booking.periods:
            if one.limit is None:
                continue
            before, mine = known.get(one.name, 0.0), own.get(one.name, 0.0)
            room = (one.limit - before) / self._replicas.sharers
            if before >= one.limit or mine >= room or mine + booking.amount > room:
                return Exhausted(one, before + mine)
        return None

    def _find_exhausted_while_settling(self, booking: Booking) -> Exhausted | None:
        """A refusal by what was known before Redis was away: others may have spent as much, and not told yet."""
        outage = self._outage
        if outage is None or not self._steady() < outage.until:
            self._outage = None
            return None
        if not outage.concerns(booking.key):
            return None
        return self._find_exhausted(booking, outage.known, outage.own)

    async def _late_reply(self, reservation: _Reservation, command: bytes) -> Any:
        """What a slow Redis says after all, if this replica does not know what was spent. None: it decides alone."""
        known = self._known.get(reservation.booking.key, {})
        is_known = all(one.name in known for one in reservation.booking.periods if one.limit is not None)
        if is_known or not self._first_answers.may_come:
            return None
        if reservation.booked is False:  # not asked, because Redis is slow
            if not self._link.post(command, partial(self._late, reservation)):
                return None
            reservation.answered, reservation.booked = False, None
        reservation.late = asyncio.get_running_loop().create_future()
        try:
            return await self._first_answers.wait(reservation.late)
        except BaseException:
            self._give_up(reservation)
            raise

    def _give_up(self, reservation: _Reservation) -> None:
        """Cancelled: nobody is left who would settle it."""
        reservation.admitted = False
        self._correct(reservation)

    def _late(self, reservation: _Reservation, reply: Any) -> None:
        """Redis has answered after all; or the connection was lost, and nobody knows."""
        reservation.answered = True
        if reply is not None:
            reservation.booked = reply is not False and reply[0] == 0
        if reply:
            self._first_answers.came()
        if reservation.late is not None and not reservation.late.done():
            reservation.late.set_result(reply)
        self._correct(reservation)

    def _correct(self, reservation: _Reservation) -> None:
        """When both are known: have Redis book what was admitted, and nothing else."""
        admitted, booked, booking = reservation.admitted, reservation.booked, reservation.booking
        if admitted is None or not reservation.answered:
            return
        if admitted:
            _add(self._own, booking, -booking.amount)
        reservation.admitted = None
        if booked is None:
            self._book(
                Booking(booking.key, booking.periods, booking.amount, reservation.number, admitted),
                booking.amount if admitted else 0.0,
            )
        elif admitted is not booked:
            self._book(Booking(booking.key, booking.periods, booking.amount if admitted else -booking.amount))

    # Bookings that must arrive, once.

    def _book(self, booking: Booking, own: float | None = None) -> None:
        """Send a booking, and keep it until Redis has it."""
        _add(self._own, booking, booking.amount if own is None else own)
        if len(self._bookings) >= MOST_UNSENT:
            self._merge()
        number = self._next_number()
        self._bookings[number] = booking
        self._send(number, booking)

    def _send(self, number: int, booking: Booking) -> None:
        command = self._command("resolve" if booking.about else "add", number, booking)
        self._link.post(command, partial(self._note_booked, number))

    def _note_booked(self, number: int, reply: Any) -> None:
        """Redis has it; if the connection was lost, it is sent again when there is a new one."""
        if reply is None:
            return
        booking = self._bookings.pop(number, None)
        if booking is None:
            return
        if reply is False:  # later ones may have been seen already: it gets its new number when it is sent again
            self._refused.append(booking)
            return
        own = 0.0 if booking.about and not booking.admitted else booking.amount
        _add(self._own, booking, -own)
        self._know(booking.key, booking.periods, reply)
        self._send_refused()

    def _send_refused(self) -> None:
        """Redis takes bookings again: send what it has refused before."""
        refused, self._refused = self._refused, []
        for booking in refused:
            number = self._next_number()
            self._bookings[number] = booking
            self._send(number, booking)

    def _push(self, lost_since: float | None) -> None:
        """Redis is back: first what it has lost, then what it has never had, in the order of the numbers."""
        if lost_since is not None:
            for key, known in self._known.items():
                self._raise(key, known)
        before, own = ({key: dict(amounts) for key, amounts in all_.items()} for all_ in (self._known, self._own))
        self._outage = _SpendingOutage(before, own, self._steady() + SETTLING_SECONDS)
        for number, booking in list(self._bookings.items()):
            self._send(number, booking)
        self._send_refused()

    def _raise(self, key: str, known: dict[str, float]) -> None:
        names = [self._name(key, period) for period in known]
        values: list[str | int] = []
        for period, amount in known.items():
            values += [repr(amount), self._seconds(self._ends.get(period))]
        self._link.post(evalsha(self._scripts.raise_, names, self._replicas.run, *values), again=True)

    def _merge(self) -> None:
        """Too many wait: those that settle no reservation become one of each key."""
        merged: dict[tuple[str, Periods], float] = {}
        for number, booking in list(self._bookings.items()):
            if not booking.about and not self._link.connected:
                del self._bookings[number]
                place = (booking.key, booking.periods)
                merged[place] = merged.get(place, 0.0) + booking.amount
        for (key, periods), amount in merged.items():
            self._bookings[self._next_number()] = Booking(key, periods, amount)

    def _next_number(self) -> int:
        self._number += 1
        return self._number

    # What is known.

    def _know(self, key: str, periods: Periods, reply: list[Any]) -> Spending:
        amounts = [float(amount) for amount in reply[1:]]
        known = self._known.setdefault(key, {})
        known.update(zip((one.name for one in periods), amounts, strict=True))
        for one in periods:
            self._ends[one.name] = None if one.ends is None else one.ends.timestamp()
        if len(known) > MOST_PERIODS:
            current = {one.name for one in periods}
            self._known[key] = {name: amount for name, amount in known.items() if name in current}
            self._ends = {name: end for name, end in self._ends.items() if name in current}
        return tuple(amounts)

    def _spending(self, key: str, periods: Periods) -> Spending:
        known, own = self._known.get(key, {}), self._own.get(key, {})
        return tuple(known.get(one.name, 0.0) + own.get(one.name, 0.0) for one in periods)

    def _command(self, mode: str, number: int, booking: Booking) -> bytes:
        keys, values = [self._keys.named("booked", self._replicas.id), self._keys.named("seen", self._replicas.id)], []
        for one in booking.periods:
            keys.append(self._name(booking.key, one.name))
            ends = None if one.ends is None else one.ends.timestamp()
            values += ["" if one.limit is None else repr(one.limit), str(self._seconds(ends))]
        head = (mode, number, repr(booking.amount), booking.about)
        return evalsha(self._scripts.book, keys, *head, *values, int(booking.admitted), self._replicas.run)

    def _seconds(self, ends: float | None) -> int:
        """How long a period is kept; 0 for ever."""
        return 0 if ends is None else int(max(ends - self._wall(), 0.0)) + KEPT_SECONDS

    def _name(self, key: str, period: str) -> str:
        return self._keys.named("spent", digest(key, 16), period.replace(" ", "-"))


def _add(amounts: Amounts, booking: Booking, amount: float) -> None:
    own = amounts.setdefault(booking.key, {})
    for one in booking.periods:
        own[one.name] = own.get(one.name, 0.0) + amount
    if not any(abs(value) > 1e-12 for value in own.values()):
        amounts.pop(booking.key, None)
