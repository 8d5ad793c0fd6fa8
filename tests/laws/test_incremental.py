"""The law of the memory: a request that continues a remembered conversation becomes what it becomes without a memory.

Body, path, headers, report, undo, wants, digests and what is reserved are compared, or the error, for sequences of
requests as clients send them: turns are appended, markers move, histories are edited, branched, cut and reordered, and
model, settings, target, policy and facts change between the turns.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest
from tests.corpus import FULL, recorded_in
from tests.shapes.agent_loops import LOOPS
from tests.shapes.wellformed import SAMPLES
from tests.strategies import SHAPES, request
from tests.targets import ONE_OF_EACH, TARGETS

from dragoman.dialects import registry
from dragoman.dialects.shared import parsed_messages, rendering
from dragoman.engine.compile import continued_repairs, request_limits
from dragoman.engine.compile.compiler import Options, compile_ask
from dragoman.engine.compile.continued_repairs import ContinuedRepairs
from dragoman.engine.history import session_turns
from dragoman.engine.history.prompt_digests import DigestedMessages, digest_prompt
from dragoman.engine.history.sent_prompts import SentBefore
from dragoman.engine.history.session_turns import digest_turn
from dragoman.engine.history.sizes import estimate_reserve
from dragoman.engine.library.adapt import choose, read
from dragoman.engine.memory import continued_requests, conversation_memory
from dragoman.engine.memory.conversation_memory import CallerMemory, ConversationMemory, find_ends
from dragoman.errors import DragomanError, MalformedRequest
from dragoman.profiles.doubts import Doubt
from dragoman.profiles.profile import Layer, Target, patch_target

Wire = dict[str, Any]
LISTS = {name: registry.dialect(name).list_name for name in SHAPES}
TURNS = 12
SEQUENCES = 10_000 if FULL else 70
CROSSED = (*ONE_OF_EACH, "mistral/mistral-large-latest", "gemini/gemini-2.5-flash", "anthropic/claude-sonnet-4-5")
FACTS: tuple[Wire, ...] = (
    {"call_id_pattern": "[a-zA-Z0-9]{9}"},
    {"call_signature": "refuses"},
    {"system_place": "top-level"},
    {"repeated_roles": "refuses"},
    {"list_content": "refuses"},
    {"duplicate_ids": "refuses", "mixed_parts": "refuses"},
    {},
)
"""What a provider may turn out to want between two turns."""


@pytest.fixture(autouse=True)
def _short_requests_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_limits, "SHORTEST", 1)
    monkeypatch.setattr(continued_requests, "SHORTEST_LIST", 1)


class Sequence:
    """A client's requests, one after the other, by the number of the sequence."""

    def __init__(self, number: int) -> None:
        self.random, self.marks = Random(number), Random(-1 - number)
        self.dialect = sorted(SHAPES)[number % len(SHAPES)]
        self.name = LISTS[self.dialect]
        self.calm = self.random.choice((0.0, 0.9, 1.0))
        self.body = self._drawn()
        self.target: Target = choose(self.random.choice(CROSSED))
        self.options = Options()
        self.spaced = False
        for _ in range(self.random.randrange(4)):
            self._append()

    def turns(self) -> Iterator[tuple[bytes, Target, Options]]:
        for _ in range(TURNS):
            yield self._written(), self.target, self.options
            self._append()
            if self.random.random() < 0.5:
                self.random.choice(self._moves())()

    def _moves(self) -> list[Callable[[], None]]:
        moves = [self._edit, self._cut, self._swap, self._repeat, self._mark, self._mark, self._set, self._retarget]
        return [*moves, self._learn, self._allow, self._respace, self._replace_top]

    def _drawn(self) -> Wire:
        if self.random.random() < self.calm:
            body: Wire = copy.deepcopy(self.random.choice(SAMPLES[self.dialect]))
        else:
            body = json.loads(request(self.dialect, self.random.randrange(5000)).body)
        if isinstance(body.get(self.name), str):
            body[self.name] = [{"role": "user", "content": body[self.name]}]
        return body

    def _written(self) -> bytes:
        return json.dumps(self.body, separators=None if self.spaced else (",", ":")).encode()

    @property
    def items(self) -> list[Any]:
        found: list[Any] = self.body.setdefault(self.name, [])
        return found

    def _append(self) -> None:
        self.items.extend(self._drawn()[self.name])

    def _place(self) -> int:
        return self.random.randrange(max(len(self.items), 1))

    def _edit(self) -> None:
        self.items[self._place() :][:1] = []
        drawn = self._drawn()[self.name]
        place = self._place()
        self.items[place : place + 1] = drawn[:1]

    def _cut(self) -> None:
        del self.items[self._place() :]

    def _swap(self) -> None:
        one, other = self._place(), self._place()
        if self.items:
            self.items[one], self.items[other] = self.items[other], self.items[one]

    def _repeat(self) -> None:
        self.items.extend(self.items[self._place() :][:3])

    def _mark(self) -> None:
        for item in self.items[-3:]:
            content = item.get("content") if isinstance(item, dict) else None
            if isinstance(content, list) and content and isinstance(content[-1], dict):
                content[-1]["cache_control"] = {"type": "ephemeral"}
        for item in self.items[:-3]:
            for part in item.get("content") or () if isinstance(item, dict) else ():
                if isinstance(part, dict):
                    part.pop("cache_control", None)

    def _set(self) -> None:
        self.body["temperature"] = self.random.choice((0.1, 0.5, 1))

    def _replace_top(self) -> None:
        self.body = {**self._drawn(), self.name: self.items}

    def _retarget(self) -> None:
        self.target = choose(self.random.choice(TARGETS if FULL else CROSSED))

    def _learn(self) -> None:
        self.target = patch_target(self.target, Layer("lesson", self.random.choice(FACTS), {}))

    def _allow(self) -> None:
        doubt = self.random.choice((Doubt.FAITHFUL, Doubt.CAREFUL))
        stop = self.random.choice(("", "", "late-system", "repeated-role"))
        sent = self.marks.choice((SentBefore.UNKNOWN, SentBefore.OPENING, SentBefore.TURNS))
        self.options = Options(doubt=doubt, stream=self.random.choice((None, True)), stop_after=stop, sent_before=sent)

    def _respace(self) -> None:
        self.spaced = not self.spaced


def outcome(
    dialect: str, body: bytes, target: Target, options: Options, memory: CallerMemory | None = None
) -> tuple[Any, ...]:
    """All that a request becomes, or its error."""
    try:
        ask = read(body, source=dialect, memory=memory)
        adapted = compile_ask(ask, target, options)
    except DragomanError as fault:
        return type(fault), str(fault), getattr(fault, "at", "")
    changes = [(one.rule, one.at, one.did, one.loses, one.kind, one.before, one.after) for one in adapted.changes]
    wire = {name: bytes(value) for name, value in ask.members.items()}
    read_as = (ask.model, ask.stream, ask.source, list(wire.items()), ask.traits, ask.repairs, repr(ask.conversation))
    undo, written = adapted.undo, repr(adapted.conversation)
    turn = digest_turn(adapted)
    digests = turn.messages, turn.shape, turn.changes, digest_prompt(ask.conversation, target.name, ask.known)
    reserved = estimate_reserve(ask.conversation, ask.known)
    sent = adapted.body, adapted.path, adapted.headers, changes, undo, adapted.media_to_fetch, written
    return *sent, read_as, digests, reserved


def compare(dialect: str, turns: Iterator[tuple[bytes, Target, Options]], what: object) -> None:
    memory = ConversationMemory().of("caller")
    for number, (body, target, options) in enumerate(turns):
        expected = outcome(dialect, body, target, options)
        found = outcome(dialect, body, target, options, memory)
        assert found == expected, (what, number, target.name)


@pytest.mark.parametrize("part", range(70))
def test_generated_sequences_become_the_same(part: int) -> None:
    for number in range(part, SEQUENCES, 70):
        sequence = Sequence(number)
        compare(sequence.dialect, sequence.turns(), number)


@pytest.mark.parametrize("spaced", [False, True])
@pytest.mark.parametrize("target", ["own", "anthropic/claude-opus-4-8", "gemini/gemini-3-pro-preview"])
@pytest.mark.parametrize("client", LOOPS)
def test_loops_of_agents_become_the_same(client: str, target: str, spaced: bool) -> None:
    own, loop = LOOPS[client]
    separators = None if spaced else (",", ":")
    bodies = [json.dumps(body, separators=separators).encode() for body in loop(16)]
    found = choose(own if target == "own" else target)
    compare(client, iter([(body, found, Options()) for body in bodies]), client)


@pytest.mark.parametrize("target", ["vertex/gemini-3-pro-preview", "anthropic/claude-opus-4-8", "openai/gpt-5.6"])
def test_pieces_of_streams_become_the_same(target: str) -> None:
    """Google's SDKs keep every piece of a stream, the calls of it too, as a content of its own."""
    pieces: list[Wire] = [
        {"text": "Hm", "thought": True},
        {"text": ".", "thought": True},
        {"text": "I "},
        {"text": "l"},
    ]
    contents: list[Wire] = []
    bodies = []
    for number in range(12):
        contents.append({"role": "user", "parts": [{"text": f"Question {number}"}]})
        bodies.append(json.dumps({"contents": contents}).encode())
        calls: list[Wire] = [{"functionCall": {"name": name, "args": {"n": number}}} for name in "fg"]
        contents += [{"role": "model", "parts": [part]} for part in (*pieces, *calls)]
        answers = [{"functionResponse": {"name": name, "response": {"output": "x"}}} for name in "fg"]
        contents.append({"role": "user", "parts": answers})
        bodies.append(json.dumps({"contents": contents}).encode())
        contents += [{"role": "model", "parts": [{"text": word}]} for word in ("Don", "e.", "")]
    compare("gemini", iter([(body, choose(target), Options()) for body in bodies]), target)


@pytest.mark.parametrize("dialect", SHAPES)
def test_recorded_conversations_become_the_same(dialect: str) -> None:
    """Every recorded conversation, sent turn by turn."""
    name = LISTS[dialect]
    targets = [choose(target) for target in ONE_OF_EACH]
    recorded = [one["request"]["body"] for one in recorded_in(dialect) if one["request"] is not None]
    lists = [body for body in recorded if isinstance(body, dict) and isinstance(body.get(name), list)]
    long = [body for body in lists if len(body[name]) > 4]
    for number, body in enumerate(long if FULL else long[:12]):
        items = body[name]
        target = targets[number % len(targets)]
        turns = [json.dumps({**body, name: items[:end]}).encode() for end in range(1, len(items) + 1)][-20:]
        compare(dialect, iter([(turn, target, Options()) for turn in turns]), number)


def test_a_known_message_that_goes_leaves_new_ones_as_they_are() -> None:
    """A new message then stands where a known one stood on the turn before, and may say the same."""
    calls = [{"type": "tool_use", "id": "c1", "name": "f", "input": {}} for _ in range(2)]
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "Done."}
    messages: list[Wire] = [
        {"role": "user", "content": "One."},
        {"role": "assistant", "content": []},
        {"role": "user", "content": "Two."},
        {"role": "assistant", "content": [{"type": "text", "text": "Wait."}, *calls]},
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": "Three."},
        {"role": "user", "content": "Four."},
    ]
    bodies = [{"model": "m", "max_tokens": 9, "messages": messages[:end]} for end in (5, 6, 7, 7)]
    for target in map(choose, ("openai/gpt-4o", "anthropic/claude-sonnet-4-5")):
        turns = [(json.dumps(body).encode(), target, Options()) for body in bodies]
        compare("anthropic", iter(turns), target.name)


def test_a_change_that_is_gone_leaves_the_messages_as_they_came() -> None:
    """On the second turn the rule has nothing to do: what it changed on the first was replaced."""
    target = patch_target(choose("openai/gpt-4o"), Layer("lesson", {"list_content": "refuses"}, {}))
    text, image = (
        {"type": "text", "text": "Two."},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
    )
    begin: list[Wire] = [{"role": "user", "content": "One."}, {"role": "assistant", "content": "Yes."}]
    bodies = [
        {"model": "gpt-4o", "messages": [*begin, {"role": "user", "content": content}]}
        for content in ([text], [text, image], [text])
    ]
    compare("openai-chat", iter([(json.dumps(body).encode(), target, Options()) for body in bodies]), "gone")


def test_a_first_cache_hint_takes_no_text_away() -> None:
    """The system text moves from a field of its own to the input, of which the rest was written before."""
    hint = {"cache_control": {"type": "ephemeral"}}
    begin: list[Wire] = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "One."}]
    turn: list[Wire] = [{"role": "assistant", "content": "Yes."}, {"role": "user", "content": "Two."}]
    marked = {"role": "user", "content": [{"type": "text", "text": "Three.", **hint}]}
    lists = [begin, begin + turn, begin + turn + turn, [*begin, *turn, *turn, turn[0], marked]]
    bodies = [json.dumps({"model": "m", "messages": messages, "tools": [_TOOL]}).encode() for messages in lists]
    for target in map(choose, ("openai/gpt-5.6", "anthropic/claude-opus-4-8")):
        compare("openai-chat", iter([(body, target, Options()) for body in bodies]), target.name)


_TOOL: Wire = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}


def test_sequences_that_once_differed_become_the_same() -> None:
    """A trait of what is gone called a rule that had nothing to do, and wrote it into the report."""
    for number in (1674, 2589):
        sequence = Sequence(number)
        compare(sequence.dialect, sequence.turns(), number)


def _loops() -> Iterator[tuple[str, Iterator[tuple[bytes, Target, Options]]]]:
    for client, (own, loop) in LOOPS.items():
        bodies = [json.dumps(body).encode() for body in loop(16)]
        for target in map(choose, (own, "anthropic/claude-opus-4-8", "gemini/gemini-3-pro-preview")):
            yield client, iter([(body, target, Options()) for body in bodies])


MUTANTS: dict[str, tuple[Any, str, Any]] = {
    "takes the last checkpoint for a common one": (conversation_memory, "count_common", lambda one, other: len(one)),
    "takes the wrong item for a checkpoint": (
        conversation_memory,
        "find_ends",
        lambda text, numbers, *where: find_ends(text, [max(number - 1, 1) for number in numbers], *where),
    ),
    "overlooks a repeated id": (parsed_messages, "_observe_more_ids", lambda ids, known, before: 0),
    "takes every record for one that fits": (
        ContinuedRepairs,
        "_fits",
        lambda self, record, conversation, mirror, is_called: True,
    ),
    "loses entries of the report": (ContinuedRepairs, "_carry", lambda self, record, end: None),
    "takes the entries of other settings": (
        ContinuedRepairs,
        "find_entries",
        lambda self, notes: next(iter(self._entries.values()), (0, None))[1],
    ),
    "takes other messages for known ones": (
        continued_repairs,
        "_with_known",
        lambda messages, known, count, item, compared=None: known[:count] + messages[count:],
    ),
    "overlooks the order of roles": (continued_repairs, "observe_roles", lambda codes: 0),
    "writes what was written before": (
        rendering,
        "_count_marks",
        lambda written, messages, originals: len(written.marks),
    ),
    "takes every message for one that was sent": (
        session_turns,
        "_find_same",
        lambda before, asked, sent, known: (0, min(len(sent), len(before.sent))),
    ),
    "takes the digests of other messages": (
        DigestedMessages,
        "holds",
        lambda self, messages, opening, count: opening < count <= len(self.messages),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_memory_that_errs_is_found(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*MUTANTS[mutant])
    with pytest.raises((AssertionError, IndexError, ValueError, MalformedRequest)):
        _compare_all(mutant)


def _compare_all(what: str) -> None:
    for dialect, turns in _loops():
        compare(dialect, turns, what)
    for number in range(700):
        sequence = Sequence(number)
        compare(sequence.dialect, sequence.turns(), what)
