"""What a process remembers of conversations: whose it is, how much, and how long."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from dragoman.conversation.messages import Message
from dragoman.dialects.shared.read_lists import ReadList
from dragoman.engine.compile import request_limits
from dragoman.engine.history import sizes
from dragoman.engine.history.sizes import estimate_reserve
from dragoman.engine.library.adapt import adapt, read
from dragoman.engine.library.policy import State
from dragoman.engine.memory import continued_requests
from dragoman.engine.memory.continued_requests import SHORTEST, recognise
from dragoman.engine.memory.conversation_memory import (
    LARGEST_SHARE,
    CallerMemory,
    ConversationMemory,
    KnownTop,
    ReadConversation,
    SentList,
    count_common,
    find_ends,
)
from dragoman.errors import DragomanError

WORDS = "So it goes on and on. " * 40


def body(turns: int, head: str = "", **more: Any) -> bytes:
    """A Chat request of so many turns of the user, each answered but the last."""
    messages = [{"role": "system", "content": "Be brief. " * 1000 + head}]
    for turn in range(turns):
        messages.append({"role": "user", "content": f"{turn}: {WORDS}"})
        messages.append({"role": "assistant", "content": f"Yes, {turn}."})
    return json.dumps({"model": "m", "messages": messages[:-1], **more}).encode()


def messages_of(request: bytes, caller: CallerMemory) -> tuple[Any, ...]:
    return read(request, source="openai-chat", memory=caller).conversation.messages


def shared(one: tuple[Any, ...], other: tuple[Any, ...]) -> int:
    """How many messages are the same objects."""
    return sum(first is second for first, second in zip(one, other, strict=False))


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_next_turn_reads_only_what_is_new() -> None:
    caller = ConversationMemory().of("a")
    first, second = (messages_of(body(turns), caller) for turns in (20, 21))
    assert shared(first, second) == 40  # all that were sent before
    assert len(caller.memory) == 1, "the next turn takes the place of the one before"


def test_other_settings_before_the_messages_find_it_too() -> None:
    caller = ConversationMemory().of("a")
    first = messages_of(body(20), caller)
    longer = json.loads(body(21))
    moved = json.dumps({"temperature": 0.5, "metadata": {"messages": "none"}, **longer}).encode()
    assert shared(first, messages_of(moved, caller)) == 40


def test_two_keys_never_share_an_entry() -> None:
    memory = ConversationMemory()
    mine = messages_of(body(20), memory.of("mine"))
    theirs = messages_of(body(20), memory.of("theirs"))
    assert shared(mine, theirs) == 0
    assert len(memory) == 2
    assert shared(theirs, messages_of(body(21), memory.of("mine"))) == 0
    assert memory.of("nobody").find("openai-chat", json.dumps(json.loads(body(20))["messages"]).encode()) == (None, 0)


def test_two_dialects_never_share_an_entry() -> None:
    memory = ConversationMemory()
    chat = messages_of(body(20), memory.of("a"))
    ollama = read(body(20), source="ollama", memory=memory.of("a")).conversation.messages
    assert shared(chat, ollama) == 0


def test_short_requests_are_not_kept() -> None:
    caller = ConversationMemory().of("a")
    short = b'{"model":"m","messages":[{"role":"user","content":"Hi"}]}'
    assert len(short) < SHORTEST
    messages_of(short, caller)
    assert len(caller.memory) == 0


def test_branches_are_kept_apart_and_the_newest_turn_replaces_the_last() -> None:
    caller = ConversationMemory().of("a")
    for turns in (20, 21, 22):
        messages_of(body(turns), caller)
    branch = json.loads(body(9))
    branch["messages"].append({"role": "assistant", "content": "No."})
    messages_of(json.dumps(branch).encode(), caller)
    assert len(caller.memory) == 2


def test_it_is_forgotten_after_its_time() -> None:
    clock = Clock()
    caller = ConversationMemory(lifetime=600, clock=clock).of("a")
    first = messages_of(body(20), caller)
    clock.now = 599
    second = messages_of(body(21), caller)
    assert shared(first, second) > 0
    clock.now = 599 + 601
    assert shared(second, messages_of(body(22), caller)) == 0


def test_it_is_bounded_and_what_was_used_longest_ago_goes_first() -> None:
    memory = ConversationMemory()
    messages_of(body(20), memory.of("a"))
    one = memory.held
    assert one > 2 * len(body(20)) * 0.9
    memory = ConversationMemory(budget=int(5.5 * one))
    kept = [messages_of(body(20, head=f"{number:02}"), memory.of("a")) for number in range(12)]
    assert len(memory) == 5
    assert memory.held <= 5.5 * one
    assert shared(kept[11], messages_of(body(21, head="11"), memory.of("a"))) > 0
    assert shared(kept[0], messages_of(body(21, head="00"), memory.of("a"))) == 0


def test_one_conversation_takes_a_share_of_it_at_most() -> None:
    memory = ConversationMemory()
    messages_of(body(20), memory.of("a"))
    small = ConversationMemory(budget=LARGEST_SHARE * memory.held - 1)
    messages_of(body(20), small.of("a"))
    assert (len(small), small.held) == (0, 0)


def test_what_others_hold_of_the_budget_goes_first() -> None:
    beside = [0]
    memory = ConversationMemory(budget=10_000_000, beside=lambda: beside[0])
    messages_of(body(20), memory.of("a"))
    beside[0] = 10_000_000
    messages_of(body(20, head="b"), memory.of("a"))
    assert (len(memory), memory.held) == (0, 0)


def test_a_caller_is_forgotten_alone_and_all_are_forgotten_together() -> None:
    memory = ConversationMemory()
    for owner in ("a", "b"):
        messages_of(body(20), memory.of(owner))
    assert memory.forget("a") == 1
    assert len(memory) == 1
    assert memory.forget() == 1
    assert memory.held == 0


def test_a_request_under_way_keeps_nothing_after_it_was_to_be_forgotten() -> None:
    memory = ConversationMemory()
    before = memory.of("a")
    memory.forget("a")
    messages_of(body(20), before)
    assert len(memory) == 0


def test_a_request_that_had_to_be_mended_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_limits, "SHORTEST", 1)
    monkeypatch.setattr(continued_requests, "SHORTEST_LIST", 1)
    caller = ConversationMemory().of("a")
    messages_of(rb'{"model":"m","messages":[{"role":"user","content":"\ud800"}]}', caller)
    messages_of(b'{"model":"m","messages":[{"role":"user","content":7}]}', caller)
    assert len(caller.memory) == 0


def test_a_list_of_the_same_name_elsewhere_is_not_taken_for_the_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    """The list inside is what was read before, and the messages are its end."""
    monkeypatch.setattr(request_limits, "SHORTEST", 1)
    monkeypatch.setattr(continued_requests, "SHORTEST_LIST", 1)
    caller = ConversationMemory().of("a")
    known = [{"role": "user", "content": "One."}, {"role": "assistant", "content": "Two."}]
    more = [*known, {"role": "user", "content": "Three."}]
    messages_of(json.dumps({"model": "m", "messages": more}).encode(), caller)
    nested = json.dumps({"metadata": {"messages": more}, "model": "m", "messages": more[1:]}).encode()
    assert len(messages_of(nested, caller)) == 2


def test_adapt_takes_it_from_its_state() -> None:
    memory = ConversationMemory()
    state = State(memory=memory)
    for turns in (20, 21):
        adapted = adapt(body(turns), source="openai-chat", target="anthropic/claude-opus-4-8", state=state)
        assert adapted.body == adapt(body(turns), source="openai-chat", target="anthropic/claude-opus-4-8").body
    assert len(memory) == 1


@pytest.mark.parametrize(
    ("one", "other", "common"),
    [
        (b"", b"", 0),
        (b"abc", b"abd", 2),
        (b"abc", b"abc", 3),
        (b"ab", b"abc", 2),
        (b"x" * 200_000, b"x" * 150_001 + b"y" * 9, 150_001),
        (b"x" * 65_536, b"x" * 65_536 + b"y", 65_536),
        (b"y", b"x", 0),
    ],
)
def test_texts_are_compared_byte_by_byte(one: bytes, other: bytes, common: int) -> None:
    assert count_common(one, other) == count_common(other, one) == common


@pytest.mark.parametrize("between", [b",", b" , ", b",\n  "])
def test_ends_of_items_are_found_from_any_of_them(between: bytes) -> None:
    items = [b'{"a":1}', b'{"a":1}', b"[1,2]", b'"x"', b'{"b":[]}']
    text = b"[ " + between.join(items) + b" ]"
    ends = find_ends(text, [1, 2, 3, 4])
    assert [text[:end].endswith(item) for end, item in zip(ends, items, strict=False)] == [True] * 4
    assert find_ends(text, [1, 2], ends[1], inside=True) == ends[2:]


def test_an_empty_list_is_kept_without_checkpoints() -> None:
    memory = ConversationMemory()
    kept = memory.of("a").keep("openai-chat", ReadConversation(KnownTop(), SentList(b"[]", 0, 2), ReadList(())))
    assert kept is not None
    assert kept.checkpoint_within(2) == -1


def test_a_turn_of_the_model_that_became_another_is_read_with_what_stands_before_it() -> None:
    """The result belongs to the turn before: it is joined with the results there."""
    caller = ConversationMemory().of("a")
    calls = [{"id": f"c{at}", "type": "function", "function": {"name": "f", "arguments": "{}"}} for at in range(2)]
    asked = [{"role": "user", "content": WORDS * 30}, {"role": "assistant", "content": None, "tool_calls": calls}]
    first, second = ({"role": "tool", "tool_call_id": f"c{at}", "content": "Done."} for at in range(2))
    after = [{"role": "assistant", "content": "All done."}, {"role": "user", "content": "Thanks."}]
    messages_of(json.dumps({"model": "m", "messages": [*asked, first, *after]}).encode(), caller)
    found = messages_of(json.dumps({"model": "m", "messages": [*asked, first, second, *after]}).encode(), caller)
    assert [len(message.parts) for message in found] == [1, 2, 2, 1, 1]


def test_a_request_reserves_the_same_with_a_memory() -> None:
    caller = ConversationMemory().of("a")
    for turns, system in ((20, "Be kind."), (21, "Be kind."), (22, "Be brief and kind."), (21, "Be kind."), (9, "")):
        request = body(turns, system=system)
        remembered, plain = (read(request, source="openai-chat", memory=one) for one in (caller, None))
        assert estimate_reserve(remembered.conversation, remembered.known) == estimate_reserve(plain.conversation)


def test_the_messages_of_a_request_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limits want to know its tokens, and so does the beginning of a streamed answer."""
    caller, counted = ConversationMemory().of("a"), list[Message]()
    count = sizes.count_bytes

    def note(messages: Sequence[Message]) -> int:
        counted.extend(messages)
        return count(messages)

    monkeypatch.setattr(sizes, "count_bytes", note)
    for turns in (20, 21):
        ask = read(body(turns), source="openai-chat", memory=caller)
        first = estimate_reserve(ask.conversation, ask.known)
        counted.clear()
        assert (estimate_reserve(ask.conversation, ask.known), counted) == (first, [])


def test_what_is_known_of_a_body_counts_from_its_third_turn() -> None:
    caller = ConversationMemory().of("a")
    found = []
    for turns in (120, 121, 122, 123):
        compact = json.dumps(json.loads(body(turns)), separators=(",", ":")).encode()
        found.append(recognise("openai-chat", compact, caller).size)
        messages_of(compact, caller)
    assert found[:2] == [0, 0]
    assert found[2] == found[3] > 100_000
    others = [recognise("openai-chat", compact, one) for one in (caller.memory.of("b"), None)]
    assert [one.size for one in others] == [0, 0]


def test_what_stands_around_the_messages_is_read_once_while_it_stays_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    caller = ConversationMemory().of("a")
    tools = [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}]
    opened: list[int] = []
    plain = continued_requests.open_body
    monkeypatch.setattr(continued_requests, "open_body", lambda text: opened.append(len(text)) or plain(text))
    for turns, tier in ((20, "auto"), (21, "auto"), (22, "auto"), (23, "flex"), (24, "flex")):
        request = body(turns, tools=tools, service_tier=tier)
        assert read(request, source="openai-chat", memory=caller) is not None
        expected = read(request, source="openai-chat")
        found = read(request, source="openai-chat", memory=caller)
        assert found.conversation == expected.conversation
        assert [(name, bytes(value)) for name, value in found.members.items()] == [
            (name, bytes(value)) for name, value in expected.members.items()
        ]
    assert len(opened) == 2, "on the first turn, and when the settings changed"


def test_a_body_with_a_byte_order_mark_is_read_as_without_one() -> None:
    caller = ConversationMemory().of("a")
    for turns in (20, 21, 22):
        found = messages_of(b"\xef\xbb\xbf" + body(turns), caller)
        assert repr(found) == repr(read(body(turns), source="openai-chat").conversation.messages)


@pytest.mark.parametrize(
    "middle",
    [
        b'[],"messages":[%b]',
        b'[%b]],"tools":[]',
        b'[%b],"n":[1]',
        b"[%b] ",
        b"[%b,]",
        b'[%b,{"role":"user","content":"\xff"}]',
        b'[%b,{"role":"user","content":"\\ud800"}]',
    ],
)
def test_a_body_that_only_begins_and_ends_alike_is_read_as_without_a_memory(middle: bytes) -> None:
    caller = ConversationMemory().of("a")
    known = json.dumps(json.loads(body(20))["messages"]).encode()
    frame = b'{"model":"m","messages":%b,"stream":true}'
    messages_of(frame % known, caller)
    request = frame % (middle % known[1:-1])
    found = []
    for memory in (None, caller):
        try:
            ask = read(request, source="openai-chat", memory=memory)
            found.append((repr(ask.conversation), ask.stream, ask.repairs))
        except DragomanError as fault:
            found.append((type(fault), str(fault)))  # type: ignore[arg-type]
    assert found[0] == found[1]


def test_turns_that_are_sent_again_leave_nothing_behind() -> None:
    """A turn may take the place of the one that it goes back from, and of the one that it repeats."""
    beside = [0]
    memory = ConversationMemory(beside=lambda: beside[0])
    for turns in (31, 26, 31, 30, 25, 25):
        messages_of(body(turns), memory.of("a"))
    assert len(memory) > 1
    beside[0] = memory.budget
    messages_of(body(25), memory.of("a"))
    assert (len(memory), memory.held) == (0, 0)


CALL = {"name": "f", "arguments": "{}"}
ODD_TURNS: dict[str, tuple[str, Any, Any]] = {
    "openai-chat": (
        "messages",
        {"role": "assistant", "tool_calls": [{"index": 0, "id": "c%d", "type": "function", "function": CALL}]},
        {"role": "tool", "tool_call_id": "c%d", "content": "Done."},
    ),
    "openai-chat, ids of another form": (
        "messages",
        {"role": "assistant", "tool_calls": [{"id": "functions.f:%d", "type": "function", "function": CALL}]},
        {"role": "tool", "tool_call_id": "functions.f:%d", "content": "Done."},
    ),
    "openai-responses": (
        "input",
        {"type": "function_call", "call_id": "c%d", **CALL, "from_agent": "a"},
        {"type": "function_call_output", "call_id": "c%d", "output": "Done.", "from_agent": "a"},
    ),
    "anthropic": (
        "messages",
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c%d", "name": "f", "input": {}, "odd": 1}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c%d", "content": "Done.", "odd": 1}]},
    ),
    "gemini": (
        "contents",
        {"role": "model", "parts": [{"function_call": {"id": "c%d", "name": "f", "args": {}}}]},
        {"role": "user", "parts": [{"function_response": {"id": "c%d", "name": "f", "response": {"a": "Done."}}}]},
    ),
}


@pytest.mark.parametrize("kind", ODD_TURNS)
def test_turns_that_hold_more_than_the_schema_names_are_known_too(kind: str) -> None:
    """Each turn of the model has a field that nobody knows, or an id or a spelling that few use."""
    dialect, caller = kind.partition(",")[0], ConversationMemory().of("a")
    name, called, answered = ODD_TURNS[kind]
    words = {"parts": [{"text": WORDS * 20}]} if dialect == "gemini" else {"content": WORDS * 20}
    found = []
    for turns in (20, 21, 22):
        items = [{"role": "user", **words}]
        for turn in range(turns):
            items += [json.loads(json.dumps(one).replace("%d", str(turn))) for one in (called, answered)]
        more = {"max_tokens": 9} if dialect == "anthropic" else {}
        request = json.dumps({"model": "m", name: items, **more}).encode()
        remembered, plain = (read(request, source=dialect, memory=one) for one in (caller, None))
        assert repr(remembered.conversation) == repr(plain.conversation)
        assert remembered.traits == plain.traits
        assert remembered.known is not None
        found.append(remembered.known.item)
    assert found[0] == 0
    assert found[1:] == [41, 43], "all that were sent before"
