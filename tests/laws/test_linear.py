"""Law 10, linear: ten times the conversation costs ten times the work and the memory.

Work is counted in calls, or in CPU time if a loop needs no call. Then only the ratio of two sizes is looked at, with
a margin of three: what grows with the square is above it on any machine, and noise is measured again.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import msgspec
import pytest
from tests.corpus import FULL
from tests.counted_work import count_calls, measure_growth
from tests.shapes.defects import BURDENS, CROWDS, ONCE, Crowd
from tests.targets import ONE_OF_EACH

from dragoman.conversation.conversation import Conversation
from dragoman.conversation.events import CallDelta, CallEnded, CallStarted, Ended, Event, Started, Stopped
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.parts import Call, Result, Text
from dragoman.conversation.replies import Stop
from dragoman.dialects import registry
from dragoman.dialects.dialect import AnswerContext, Dialect, RenderOptions
from dragoman.dialects.registry import list_dialects
from dragoman.engine.answer.translation import Translation
from dragoman.engine.compile.request_limits import RequestLimits
from dragoman.engine.library.adapt import adapt
from dragoman.engine.library.policy import Policy, State
from dragoman.errors import Unrepresentable
from dragoman.profiles.profile import Layer, Profiles
from dragoman.rules import ORDER

HI = Text(b'"Hi"')
UNLIMITED = RequestLimits(values=1 << 40, messages=1 << 40, parts=1 << 40, calls=1 << 40, tools=1 << 40)
TARGETS = (
    *ONE_OF_EACH,
    "mistral/mistral-large-latest",
    "strict-template/some-model",
    "openrouter/google/gemini-3-pro-preview",
)


def clean(count: int) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "system", "content": "Be brief."}]
    for number in range(count // 4):
        call = {"id": f"call_{number}", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        messages += [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"call_{number}", "content": "ok"},
            {"role": "assistant", "content": "Done."},
        ]
    return [*messages, {"role": "user", "content": "And?"}]


def broken(count: int) -> list[dict[str, Any]]:
    """Every third message has something that has to be repaired."""
    messages: list[dict[str, Any]] = []
    for number in range(count // 4):
        call = {"id": f"odd id {number}!", "type": "function", "function": {"name": "a.b", "arguments": "nonsense"}}
        messages += [
            {"role": "assistant", "content": "", "tool_calls": [call], "done": True},
            {"role": "system", "content": "Hm."},
            {"role": "tool", "tool_call_id": "nobody", "content": "ok"},
            {"role": "user", "content": [{"type": "text", "text": " "}]},
        ]
    return messages


@pytest.mark.sampled(5)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("made", [clean, broken])
def test_the_work_grows_with_the_messages(made: Callable[[int], list[dict[str, Any]]], target: str) -> None:
    small, large = (msgspec.json.encode({"model": "m", "messages": made(count)}) for count in (100, 1000))
    adapt(small, target=target, policy=Policy(limits=UNLIMITED))
    few, many = (
        count_calls(lambda body=body: adapt(body, target=target, policy=Policy(limits=UNLIMITED)))
        for body in (small, large)
    )  # type: ignore[misc]
    assert many < 12 * few, (few, many)


class Counted(tuple[Message, ...]):
    """Messages that count how often one of them is looked at, in a slice too."""

    looked: int = 0

    def __getitem__(self, key: Any) -> Any:
        type(self).looked += len(range(*key.indices(len(self)))) if isinstance(key, slice) else 1
        return super().__getitem__(key)


def late_systems(count: int) -> list[Message]:
    """System messages all over the conversation, which stand where they are."""
    turn = [Message(Role.USER, (HI,)), Message(Role.SYSTEM, (HI,), inline=True)]
    return [message for _ in range(count // 2) for message in turn]


def far_results(count: int) -> list[Message]:
    """Results whose calls stand far before them."""
    calls = [Message(Role.ASSISTANT, (Call(f"c{number}", "f", b"{}"),)) for number in range(count // 2)]
    results = [Message(Role.TOOL, (Result(f"c{number}", (HI,)),)) for number in range(count // 2)]
    return [*calls, Message(Role.USER, (HI,)), *results]


@pytest.mark.parametrize("made", [late_systems, far_results])
@pytest.mark.parametrize("dialect", list_dialects(), ids=lambda dialect: dialect.name)
def test_rendering_looks_at_every_message_a_few_times(dialect: Dialect, made: Callable[[int], list[Message]]) -> None:
    for count in (100, 1000):
        messages = Counted(made(count))
        Counted.looked = 0
        with suppress(Unrepresentable):  # a dialect may have no late system messages
            dialect.requests.render(Conversation(messages), RenderOptions("m", False))
        assert Counted.looked <= 5 * count


def many_calls(dialect: Dialect, count: int) -> bytes:
    """One turn with many calls."""
    calls = tuple([Call(f"c{number}", "f", b"{}") for number in range(count)])
    results = tuple([Result(f"c{number}", (HI,)) for number in range(count)])
    turns = (Message(Role.USER, (HI,)), Message(Role.ASSISTANT, calls), Message(Role.TOOL, results))
    return dialect.requests.render(Conversation(turns), RenderOptions("m", False))


@pytest.mark.parametrize("dialect", list_dialects(), ids=lambda dialect: dialect.name)
def test_a_turn_of_many_calls_is_parsed_and_located_in_linear_work(dialect: Dialect) -> None:
    def parse_and_locate(body: bytes) -> None:
        turn = max(dialect.requests.parse(body).conversation.messages, key=lambda message: len(message.parts))
        assert len(dialect.requests.locate_parts(turn)) == len(turn.parts)

    small, large = (many_calls(dialect, count) for count in (100, 1000))
    parse_and_locate(large)  # made ids are remembered: both are counted with the ids known
    few, many = (count_calls(partial(parse_and_locate, body)) for body in (small, large))
    assert many < 12 * few, (few, many)


def test_many_system_messages_of_an_anthropic_request_are_parsed_in_linear_work() -> None:
    def body(count: int) -> bytes:
        systems = [{"role": "system", "content": "Be brief."}] * count
        return msgspec.json.encode({"model": "m", "messages": [*systems, {"role": "user", "content": "Hi"}]})

    parse = registry.dialect("anthropic").requests.parse
    few, many = (count_calls(partial(parse, body(count))) for count in (100, 1000))
    assert many < 12 * few, (few, many)


def interleaved_calls(count: int) -> list[Event]:
    """Calls that begin and end while the first one is still open."""
    events: list[Event] = [Started("a", "m"), CallStarted(0, 0, "c0", "f")]
    for number in range(1, count):
        events += [CallStarted(0, number, f"c{number}", "f"), CallDelta(0, number, b'"{}"')]
    events += [CallEnded(0, number) for number in range(1, count)]
    return [*events, CallDelta(0, 0, b'"{}"'), CallEnded(0, 0), Stopped(0, Stop.CALLS), Ended()]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dialect", list_dialects(), ids=lambda dialect: dialect.name)
def test_events_that_wait_for_a_call_are_rendered_in_linear_work(dialect: Dialect) -> None:
    def render(events: list[Event]) -> None:
        renderer = dialect.answers.stream_renderer(AnswerContext(model="m", id="a"))
        for event in events:
            renderer.render([event])
        assert renderer.close() == b"", "every call was rendered and the stream has its end"

    few, many = (count_calls(partial(render, interleaved_calls(count))) for count in (100, 1000))
    assert many < 12 * few, (few, many)


def answer_of_choices(count: int) -> bytes:
    """A Chat answer with many choices, each with a member that is only kept."""
    message = {"role": "assistant", "content": "Hi"}
    choices = [{"index": n, "message": message, "finish_reason": "stop", "odd": n} for n in range(count)]
    return msgspec.json.encode({"id": "1", "model": "m", "choices": choices})


@pytest.mark.parametrize("client", list_dialects(), ids=lambda dialect: dialect.name)
def test_an_answer_of_many_choices_is_read_in_linear_work(client: Dialect) -> None:
    def read(body: bytes, stream: bool) -> None:
        translation = Translation("openai-chat", client.name)
        out = translation.whole(body)
        if stream:
            translation = Translation("openai-chat", client.name)
            frame = body.replace(b'"message"', b'"delta"')
            out = translation.feed(b"data: " + frame + b"\n\ndata: [DONE]\n\n") + translation.close()
        assert out
        assert translation.failure is None

    for stream in (False, True):
        few, many = (count_calls(partial(read, answer_of_choices(count), stream)) for count in (100, 1000))
        assert many < 12 * few, (few, many)


SIZES = (2_000, 20_000) if FULL else (100, 1_000)
"""How many changes the smaller and the larger request need."""
MARGIN = 3.0


def repaired(crowd: Crowd, count: int) -> Callable[[], int]:
    """Compiles a crowd's request and writes the report down, so that the digests are computed too."""
    body = msgspec.json.encode(crowd.build(count))
    media = {f"https://pictures.test/{number}.png": b"\x89PNG" for number in range(count)}
    fetched = media if crowd.rule == "remote-media" else None
    profiles = Profiles(layers=(Layer("crowd", crowd.facts),)) if crowd.facts else None

    def run() -> int:
        done = adapt(
            body,
            source=crowd.dialect,
            target=crowd.target,
            profiles=profiles,
            policy=Policy(rules=crowd.options, limits=UNLIMITED),
            state=State(media=fetched),
        )
        msgspec.json.encode(done.changes)
        return sum(change.rule == crowd.rule for change in done.changes)

    return run


@pytest.fixture(autouse=True, scope="module")
def own_objects_alone() -> Iterator[None]:
    """What earlier tests of this process hold is not looked through by every collection below."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def growth(small: Callable[[], Any], large: Callable[[], Any]) -> float:
    return measure_growth(small, large, times=SIZES[1] / SIZES[0], most=MARGIN)


def test_every_rule_that_repairs_in_numbers_is_tried_in_numbers() -> None:
    tried = {crowd.rule for crowd in CROWDS} | ONCE
    assert tried == {rule.name for rule in ORDER}, "tests/shapes/defects.py has a Crowd of each, or names it in ONCE"


@pytest.mark.sampled(8)
@pytest.mark.parametrize("crowd", CROWDS, ids=lambda crowd: crowd.id)
def test_repairs_in_numbers_cost_in_proportion(crowd: Crowd) -> None:
    small, large = (repaired(crowd, count) for count in SIZES)
    assert small() >= crowd.share * SIZES[0]
    assert growth(small, large) < MARGIN


@pytest.mark.parametrize("name", BURDENS)
def test_reading_and_writing_cost_in_proportion(name: str) -> None:
    dialect, target, build = BURDENS[name]
    small, large = (msgspec.json.encode(build(count)) for count in SIZES)
    assert (
        growth(
            *(
                lambda body=body: adapt(body, source=dialect, target=target, policy=Policy(limits=UNLIMITED))
                for body in (small, large)
            )
        )
        < MARGIN
    )  # type: ignore[misc]


def peak(run: Callable[[], Any]) -> int:
    """Bytes held at most while it runs."""
    run()
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "crowd",
    [crowd for crowd in CROWDS if crowd.name in ("in a row", "leading", "users", "in one turn")],
    ids=lambda crowd: crowd.id,
)
def test_repairs_in_numbers_take_memory_in_proportion(crowd: Crowd) -> None:
    small, large = (repaired(crowd, count) for count in (200, 2_000))
    assert peak(large) < MARGIN * 10 * peak(small)
