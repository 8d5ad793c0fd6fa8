"""Stored turns hold what is new in them, whichever way a conversation goes on: their bytes grow with its length."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.running import Hands, Running, gateway, provider

from dragoman.emulators.serving.background_server import RunningEmulator
from dragoman.gateway.state import stored_chains
from dragoman.store.clock import REAL_CLOCKS, Clocks
from dragoman.store.contracts.stored_responses import StoredResponse, StoredResponses
from dragoman.testing import emulator

PATH = "/v1/responses"
WORDS = "So it goes on and on. " * 20
TURNS = 100


MODEL = "claude/claude-opus-5"
BEHIND: dict[Running, RunningEmulator] = {}
"""The provider behind each gateway."""


@contextmanager
def world(folder: Path, clocks: Clocks = REAL_CLOCKS, **more: Any) -> Iterator[Running]:
    with emulator("anthropic") as claude:
        config = {"providers": {"claude": provider("anthropic", claude.base_url)}, **more}
        with gateway(config, folder, clocks) as found:
            BEHIND[found] = claude
            yield found
            del BEHIND[found]


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    with world(tmp_path) as found:
        yield found


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The bytes of all that is stored, in the order in which it was."""
    sizes: list[int] = []
    plain = StoredResponses.put

    async def put(self: StoredResponses, caller: str, id: str, response: StoredResponse, items: Any = ()) -> bool:
        sizes.append(response.size)
        return await plain(self, caller, id, response, items)

    monkeypatch.setattr(StoredResponses, "put", put)
    return sizes


def ask(running: Running, given: Any, **more: Any) -> dict[str, Any]:
    answer = running.post(PATH, {"model": MODEL, "input": given, **more})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    assert found["store"] is True
    return found


def user_turn(turn: int) -> dict[str, Any]:
    return {"role": "user", "content": f"{turn}: {WORDS}"}


def by_id(running: Running) -> str:
    last = ""
    for turn in range(TURNS):
        last = ask(running, [user_turn(turn)], **({"previous_response_id": last} if last else {}))["id"]
    return last


def by_name(running: Running) -> str:
    name = running.post("/v1/conversations", {}).json()["id"]
    for turn in range(TURNS):
        last: str = ask(running, [user_turn(turn)], conversation=name)["id"]
    return last


def whole(running: Running) -> str:
    """As most frameworks do: the client sends everything again, and the answers with it."""
    items: list[Any] = []
    for turn in range(TURNS):
        items.append(user_turn(turn))
        answer = ask(running, items)
        items += answer["output"]
    found: str = answer["id"]
    return found


@pytest.mark.parametrize("way", [by_id, *(pytest.param(way, marks=pytest.mark.slow) for way in (by_name, whole))])
def test_a_conversation_costs_bytes_in_proportion_to_its_length(
    running: Running, written: list[int], way: Callable[[Running], str]
) -> None:
    """A turn of the first half costs what one of the second does. (Before, the whole ones cost 4.8 MB in all.)"""
    last = way(running)
    half = len(written) // 2
    assert sum(written[half:]) < 1.1 * sum(written[:half])
    assert sum(written) < TURNS * 2500
    after = running.post(PATH, {"model": MODEL, "input": "And now?", "previous_response_id": last})
    assert after.status_code == 200
    assert sent_words(running) == [*range(TURNS), "And now?"]


def sent_words(running: Running) -> list[Any]:
    """What the provider got last of what the user wrote: the numbers of the turns, and other words."""
    asked = BEHIND[running].requests[-1].body["messages"]
    contents = [one["content"] for one in asked if one["role"] == "user"]
    words = [part["text"] for one in contents for part in ([{"text": one}] if isinstance(one, str) else one)]
    return [int(text.partition(":")[0]) if WORDS in text else text for text in words]


def test_every_turn_shows_all_that_was_sent_for_it(running: Running) -> None:
    items: list[Any] = []
    ids = []
    for turn in range(30):
        items += [user_turn(turn)]
        ids.append((ask(running, items)["id"], len(items)))
        items += [{"role": "assistant", "content": f"Yes, {turn}."}]
    for id, count in ids:
        listed = running.get(f"{PATH}/{id}/input_items?limit=100&order=asc").json()["data"]
        assert len(listed) == count
        assert listed[-1]["content"][0]["text"].startswith(f"{(count - 1) // 2}:")


def test_the_same_request_again_and_one_with_another_end_are_turns_of_their_own(running: Running) -> None:
    items = [user_turn(turn) for turn in range(20)]
    first, same = ask(running, items)["id"], ask(running, items)["id"]
    other = ask(running, [*items[:-1], {"role": "user", "content": "Something else."}])["id"]
    near = ask(running, [*items[:-1], {"role": "user", "content": items[-1]["content"] + "!"}, user_turn(20)])["id"]
    for id, count, last in ((first, 20, "19:"), (same, 20, "19:"), (other, 20, "Some"), (near, 21, "20:")):
        listed = running.get(f"{PATH}/{id}/input_items?limit=100&order=asc").json()["data"]
        assert len(listed) == count
        assert listed[-1]["content"][0]["text"].startswith(last)


@pytest.mark.parametrize("removed", ["first", "middle"])
@pytest.mark.parametrize("way", [by_id, by_name, whole])
def test_an_earlier_turn_that_is_removed_is_gone_and_later_ones_go_on(
    running: Running, way: Callable[..., str], removed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{__name__}.TURNS", 12)
    ids = note_ids(monkeypatch)
    last = way(running)
    gone = ids[{"first": 0, "middle": 6}[removed]]
    assert running.http.delete(f"{running.url}{PATH}/{gone}").json()["deleted"] is True
    assert running.get(f"{PATH}/{gone}").status_code == 404
    assert running.get(f"{PATH}/{gone}/input_items").status_code == 404
    assert running.http.delete(f"{running.url}{PATH}/{gone}").status_code == 404
    refused = running.post(PATH, {"model": MODEL, "input": "And?", "previous_response_id": gone})
    assert refused.json()["error"]["code"] == "previous_response_not_found"
    assert running.get(f"{PATH}/{last}").status_code == 200
    ask(running, "And now?", previous_response_id=last)
    assert sent_words(running) == [*range(12), "And now?"]


def note_ids(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of the answers as they come."""
    ids: list[str] = []
    plain = ask

    def noted(*given: Any, **more: Any) -> dict[str, Any]:
        answer = plain(*given, **more)
        ids.append(answer["id"])
        return answer

    monkeypatch.setattr(f"{__name__}.ask", noted)
    return ids


@pytest.mark.parametrize("way", [by_id, whole])
def test_a_turn_in_use_keeps_those_before_it(
    tmp_path: Path, way: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the last turn is asked for, again and again, longer than the lifetime of those before it."""
    monkeypatch.setattr(f"{__name__}.TURNS", 12)
    hands = Hands()
    clocks = Clocks(wall=hands, steady=hands)
    with world(tmp_path, clocks, state={"lifetime": "1h"}) as running:
        last = way(running)
        for _ in range(4):
            hands.now += 2000
            assert running.get(f"{PATH}/{last}").status_code == 200
            running.do(lambda: running.services.store.flush())
        ask(running, "And now?", previous_response_id=last)
        assert sent_words(running) == [*range(12), "And now?"]
        hands.now += 3700
        assert running.get(f"{PATH}/{last}").status_code == 404


def test_a_long_pause_between_turns_does_not_cut_the_chain(tmp_path: Path) -> None:
    """Each turn comes just before the one before it would expire."""
    hands = Hands()
    with world(tmp_path, Clocks(wall=hands, steady=hands), state={"lifetime": "1h"}) as running:
        items: list[Any] = []
        for turn in range(12):
            items.append(user_turn(turn))
            last = ask(running, items)
            items += last["output"]
            running.do(lambda: running.services.store.flush())
            hands.now += 3500
        ask(running, "And now?", previous_response_id=last["id"])
        assert sent_words(running) == [*range(12), "And now?"]


@pytest.mark.parametrize("way", [by_id, whole])
def test_a_chain_is_whole_after_a_restart_and_for_another_process(
    tmp_path: Path, way: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{__name__}.TURNS", 12)
    with world(tmp_path) as one:
        last = way(one)
        with world(tmp_path) as another:
            ask(another, "And now?", previous_response_id=last)
            assert sent_words(another) == [*range(12), "And now?"]
    with world(tmp_path) as later:
        ask(later, "And then?", previous_response_id=last)
        assert sent_words(later) == [*range(12), "And then?"]


@pytest.mark.slow
def test_two_processes_that_share_a_store_cost_no_more_than_twice(tmp_path: Path, written: list[int]) -> None:
    """Each of them knows the turns that it has stored itself."""
    with world(tmp_path) as one, world(tmp_path) as two:
        items: list[Any] = []
        for turn in range(TURNS):
            items.append(user_turn(turn))
            items += ask((one, two)[turn % 2], items)["output"]
    assert sum(written) < 2 * TURNS * 2500


def test_what_a_base_has_lost_is_stored_again(running: Running, written: list[int]) -> None:
    """The next turn does not build on a turn that was forgotten."""
    items = [user_turn(turn) for turn in range(20)]
    ask(running, items)
    running.do(lambda: running.services.store.forget(""))
    last = ask(running, [*items, user_turn(20)])["id"]
    assert written[-1] > 20 * len(WORDS)
    ask(running, "And now?", previous_response_id=last)
    assert sent_words(running) == [*range(21), "And now?"]


def test_a_chain_that_has_lost_a_turn_is_not_known(running: Running) -> None:
    """It is never told in part."""
    items = [user_turn(turn) for turn in range(20)]
    first = ask(running, items)["id"]
    last = ask(running, [*items, user_turn(20)])["id"]
    tables: Any = running.services.store.responses
    running.do(lambda: tables._table.forget("", first))
    assert running.get(f"{PATH}/{last}/input_items").status_code == 404
    refused = running.post(PATH, {"model": MODEL, "input": "And?", "previous_response_id": last})
    assert refused.json()["error"]["code"] == "previous_response_not_found"


@pytest.mark.slow
def test_a_chain_is_no_deeper_than_its_bound(
    running: Running, written: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_chains, "MOST_BASES", 10)
    last = whole(running)
    assert len([size for size in written if size > 4096 + 2500]) == 8, "every eleventh, of those that are long enough"
    ask(running, "And now?", previous_response_id=last)
    assert sent_words(running) == [*range(TURNS), "And now?"]


def test_a_chain_that_is_longer_than_a_request_may_be_is_refused(tmp_path: Path) -> None:
    with world(tmp_path, server={"max_body": 40_000}) as running:
        items: list[Any] = []
        for turn in range(60):
            items.append(user_turn(turn))
            answer = running.post(PATH, {"model": MODEL, "input": items})
            if answer.status_code != 200:
                break
            last = answer.json()["id"]
            items += answer.json()["output"]
        assert answer.status_code == 413
        more = {"model": MODEL, "input": [user_turn(0)] * 10, "previous_response_id": last}
        assert running.post(PATH, more).status_code == 413
