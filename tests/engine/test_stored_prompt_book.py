"""Whether a prompt is stored at its provider: by arithmetic, from what its session really read."""

from __future__ import annotations

from typing import Any

import pytest
from tests.gateway.running import Hands
from tests.gateway.test_stored_prompts import chat

from dragoman import adapt
from dragoman.conversation.replies import Usage
from dragoman.engine.exchange.destination import Destination
from dragoman.engine.history import stored_prompts
from dragoman.engine.history.stored_prompts import (
    DeleteOrder,
    Order,
    PromptUse,
    RenewOrder,
    StoredPrompt,
    StoredPromptBook,
    StoreOrder,
    digest_prompt,
    pays,
)
from dragoman.engine.library.adapt import BUILTIN
from dragoman.profiles.prices import TokenPrice

PRICE = TokenPrice(1.0, 1.0, 0.1, stored=1.0)
TARGET = "gemini/gemini-2.5-flash"
WHOLE = 7_000


class Session:
    """A conversation, turn by turn, as the book sees it."""

    def __init__(self, price: TokenPrice = PRICE, book: StoredPromptBook | None = None, caller: str = "ann") -> None:
        self.clock = Hands()
        self.book = StoredPromptBook(self.clock) if book is None else book
        self.caller = caller
        self.destination = Destination(name=TARGET, provider="gemini", target=BUILTIN.target(TARGET), price=price)
        self.made = 0

    def turn(self, body: dict[str, Any], read: int = 0, seconds: float = 10.0, key: int = 0) -> list[Order]:
        """What follows an answered request; what is to be stored is."""
        self.clock.now += seconds
        use = self.look_up(body, key)
        cached, whole = use.stored.tokens if use.stored is not None else read, sum(use.sizes) // 4
        orders = self.book.note(use, Usage(whole, 10, cached), self.destination)
        for order in [one for one in orders if isinstance(one, StoreOrder)]:
            self.made += 1
            digest = digest_prompt(order.use.pieces, order.count)
            name = f"{self.caller}/{self.made}"
            stored = StoredPrompt(name, self.destination, "", key, digest, order.count, whole - 100, order.seconds)
            assert self.destination.price is not None
            orders += self.book.made(order, stored, self.destination.price)
        return orders

    def look_up(self, body: dict[str, Any], key: int = 0) -> PromptUse:
        request = adapt(body, target=TARGET)
        use = self.book.look_up(self.caller, request.ask, request, TARGET, key)
        assert use is not None
        return use

    def kinds(self, bodies: list[dict[str, Any]], **how: Any) -> list[str]:
        return [type(order).__name__ for body in bodies for order in self.turn(body, **how)]


@pytest.mark.parametrize(
    ("read", "gap", "storage", "expected"),
    [
        (0, 10, 1.0, True),  # nothing is found unaided: 9.0 saved for 1.1
        (10_000, 10, 0.0, False),  # all is found: nothing to save, even if storage is free
        (8_900, 10, 1.0, False),  # 0.99 saved for 1.1
        (8_700, 10, 1.0, True),  # 1.17
        (0, 1_200, 1.0, True),  # ten turns in three hours and a half: 9.0 for 4.4
        (0, 1_200, 3.0, False),  # 9.0 for 11.25
    ],
)
def test_the_arithmetic(read: int, gap: float, storage: float, expected: bool) -> None:
    assert pays(10_000, read, gap, 300.0, TokenPrice(1.0, 1.0, 0.1, stored=storage)) is expected


def test_a_price_that_is_not_known_pays_for_nothing() -> None:
    assert not pays(10_000, 0, 10.0, 300.0, TokenPrice(1.0, 1.0, 0.1))
    assert not pays(10_000, 0, 10.0, 300.0, TokenPrice(1.0, 1.0, stored=0.0))


def test_one_miss_is_no_habit() -> None:
    session = Session()
    assert session.kinds(chat(2)) == []
    assert session.kinds(chat(3)[2:], read=WHOLE) == []  # and then it was found
    assert session.kinds(chat(9)[3:], read=WHOLE) == []


def test_it_is_renewed_while_it_is_used_and_forgotten_when_its_time_is_over() -> None:
    session = Session()
    bodies = chat(10)
    assert session.kinds(bodies[:4], seconds=100.0) == ["StoreOrder"]
    assert session.kinds(bodies[4:6], seconds=100.0) == ["RenewOrder"]
    assert session.look_up(bodies[6]).stored is not None
    session.clock.now += 1_000
    assert session.look_up(bodies[6]).stored is None
    assert session.kinds(bodies[6:7]) == []


def test_it_is_for_one_key_of_the_pool() -> None:
    session = Session()
    session.kinds(chat(3), key=1)
    use = session.look_up(chat(4)[3], key=0)
    assert use.stored is None
    assert not use.has_left
    assert session.kinds(chat(4)[3:], key=0) == []
    assert session.look_up(chat(5)[4], key=1).stored is not None


def test_a_session_that_lost_by_it_once_is_left_alone() -> None:
    session = Session()
    assert session.kinds(chat(3)) == ["StoreOrder"]
    other = {"role": "system", "content": "Now something else. " * 1_500}
    assert session.kinds(chat(9, other)[3:]) == ["DeleteOrder"]


def test_a_longer_prompt_takes_the_place_of_a_shorter_one() -> None:
    session = Session()
    bodies = chat(12)
    for message in bodies[-1]["messages"][9:]:
        message["content"] = f"{message['content']} {'More to read. ' * 2_000}"  # in all that have it
    for at, body in enumerate(bodies):
        orders = session.turn(body)
        if at == 2:
            assert [type(one) for one in orders] == [StoreOrder]
        if any(isinstance(one, DeleteOrder) for one in orders):
            break
    else:
        pytest.fail("the first prompt is still stored")
    stored = session.look_up(bodies[at + 1]).stored
    assert stored is not None
    assert stored.name == "ann/2"


def test_so_many_are_stored_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_prompts, "MOST_STORED", 2)
    book = StoredPromptBook(Hands())
    deleted: list[str] = []
    for caller in ("ann", "bob", "cleo"):
        session = Session(book=book, caller=caller)
        for body in chat(3):
            deleted += [one.stored.name for one in session.turn(body) if isinstance(one, (DeleteOrder, RenewOrder))]
    assert deleted == ["ann/1"]
    assert len(book) == 2
    assert [stored.name for stored in book.drop("bob")] == ["bob/1"]
    assert len(book) == 1
