"""After a repair only what changed is looked at, and no trait is missed."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from msgspec.structs import replace
from tests.strategies import SHAPES, request
from tests.targets import ONE_OF_EACH, SEEDS, signer
from tests.trait_names import named_traits

from dragoman.conversation import traits
from dragoman.conversation.changes import Rewrite
from dragoman.conversation.messages import ASSISTANT, TOOL, USER, Message
from dragoman.conversation.parts import Call, Extras, Part, Result, Text
from dragoman.conversation.traits import observe_change, observe_messages, observe_roles, without_rounds
from dragoman.engine.compile import compiler
from dragoman.engine.library.adapt import adapt

ORDER = traits.ORDER_AND_IDS


@pytest.mark.sampled(4)
@pytest.mark.parametrize("target", [*ONE_OF_EACH, "mistral/mistral-large-latest", "strict-template/some-model"])
def test_every_repair_is_seen(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a few were any number: generated conversations are short."""
    monkeypatch.setattr(traits, "_SHARE", 1)
    stale: list[int] = []

    def checked(before: tuple[Message, ...], after: tuple[Message, ...], seen: int) -> int:
        found, whole = observe_change(before, after, seen), observe_messages(after)
        assert found & whole == whole, named_traits(whole & ~found)
        assert found & ORDER == whole & ORDER, named_traits((found ^ whole) & ORDER)
        stale.append(found ^ whole)
        return found

    monkeypatch.setattr(compiler, "observe_change", checked)
    for source in SHAPES:
        for seed in range(8 * SEEDS):
            adapt(request(source, seed, signer(target)).body, source=source, target=target)
    assert any(stale), "all messages were looked at each time"


@pytest.mark.parametrize("target", ["gemini/gemini-3-pro-preview", "gemini/gemini-3-pro-image-preview"])
def test_what_a_rule_says_it_adds_is_all_that_is_new(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[int] = []
    take = compiler._Compilation._take

    def checked(self: Any, step: Any, before: Any, done: Rewrite, seen: int) -> int:
        found = take(self, step, before, done, seen)
        if done.adds is not None:
            whole = observe_messages(done.conversation.messages)
            assert found & whole == whole, named_traits(whole & ~found)
            assert found & ORDER == whole & ORDER, named_traits((found ^ whole) & ORDER)
            told.append(done.adds)
        return found

    monkeypatch.setattr(compiler._Compilation, "_take", checked)
    for source in SHAPES:
        for seed in range(8 * SEEDS):
            adapt(request(source, seed, signer(target)).body, source=source, target=target)
    assert told, "no rule said anything"


def conversation(*parts: Part) -> tuple[Message, ...]:
    """Eight messages, the last two a call and its result, with these parts in the one before."""
    words = [Message(USER if at % 2 == 0 else ASSISTANT, (Text(literal=b'"a"'),), at) for at in range(5)]
    called = Message(ASSISTANT, (Call(id="c", name="f", arguments=b"{}"),), 6)
    return (
        *words,
        Message(ASSISTANT, parts or (Text(literal=b'"b"'),), 5),
        called,
        Message(TOOL, (Result("c", ()),), 7),
    )


@pytest.mark.parametrize(
    ("at", "changes", "looked_at"),
    [
        (5, {"parts": (Text(literal=b'" "'),)}, 1),
        (5, {"extras": Extras("d", {"x": b"1"})}, 0),
        (5, {"role_text": "critic"}, 0),
        (5, {"role": USER}, 8),
        (5, {"parts": (Call(id="d", name="f", arguments=b"{}"),)}, 8),
        (6, {"parts": (Call(id="c", name="a.b", arguments=b'"x"'),)}, 1),
        (6, {"parts": (Call(id="other", name="f", arguments=b"{}"),)}, 8),
        (7, {"parts": (Result("other", ()),)}, 8),
    ],
)
def test_all_is_looked_at_if_order_or_ids_changed(
    at: int, changes: dict[str, object], looked_at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = conversation()
    after = (*before[:at], replace(before[at], **changes), *before[at + 1 :])
    whole, seen = observe_messages(after), observe_messages(before)
    sizes: list[int] = []

    def counted(messages: tuple[Message, ...]) -> int:
        sizes.append(len(messages))
        return observe_messages(messages)

    monkeypatch.setattr(traits, "observe_messages", counted)
    found = observe_change(before, after, seen)
    assert sizes == [looked_at]
    assert found & whole == whole
    assert found & ORDER == whole & ORDER


def test_all_is_looked_at_if_messages_came_or_went() -> None:
    before = conversation()
    assert observe_change(before, before[:-1], observe_messages(before)) == observe_messages(before[:-1])


def test_a_shape_of_roles_tells_the_same_whatever_follows() -> None:
    letters = "suatcd"
    random = Random(31)
    for _ in range(4000):
        rounds = ["ct", "ucta", "ua", "uctcta", *letters]
        codes = "".join(random.choices(rounds, k=random.randrange(12)))
        more = "".join(random.choices(rounds, k=random.randrange(4)))
        assert observe_roles(without_rounds(codes) + more) == observe_roles(codes + more), (codes, more)
    assert without_rounds("s" + ("u" + "ct" * 9 + "a") * 20) == "sucta"
