"""Law 8: folding the translated stream gives the same reply as translating the folded reply, for any cut."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.corpus import FULL
from tests.strategies_replies import REPLY_FORMS, fragments, interleaved, replies

from dragoman.conversation.canonical import canonical
from dragoman.conversation.changes import Undo
from dragoman.conversation.collect import collect, text_of_arguments
from dragoman.conversation.dialect_names import DIALECT_NAMES
from dragoman.conversation.events import Ended, Event, Started, Stopped, TextDelta, Used
from dragoman.conversation.failures import Failure
from dragoman.conversation.literals import unquote
from dragoman.conversation.parts import Call, Reasoning, Text
from dragoman.conversation.replies import Reply, Stop, Usage
from dragoman.dialects import registry
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.families.call_input import call_input
from dragoman.engine.answer.translation import Translation

PAIRS = [(upstream, client) for upstream in DIALECT_NAMES for client in DIALECT_NAMES]
# An id that never occurs: with something to undo, equal dialects are translated and not relayed.
FORCED = Undo(ids={"\0": "\0"})
ANSWERING = AnswerContext(model="shown", created=1_700_000_000, id="made-up-id", include_usage=True)


def streamed(upstream: str, client: str, wire: bytes, size: int) -> object:
    translation = Translation(upstream, client, FORCED, ANSWERING)
    out = b"".join(translation.feed(wire[at : at + size]) for at in range(0, len(wire), size)) + translation.close()
    parser = registry.dialect(client).answers.stream_parser()
    return collect([*parser.feed(out), *parser.close()])


def whole(upstream: str, client: str, body: bytes) -> object:
    return collect(registry.dialect(client).answers.parse(Translation(upstream, client, FORCED, ANSWERING).whole(body)))


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("upstream", "client"), PAIRS)
@settings(
    max_examples=200 if FULL else 8,
    derandomize=not FULL,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.generate],
)
@given(data=st.data(), size=st.sampled_from([1, 7, 64, 100_000]), piece=st.integers(1, 9), braided=st.booleans())
def test_stream_equals_whole(
    upstream: str, client: str, data: st.DataObject, size: int, piece: int, braided: bool
) -> None:
    reply = data.draw(replies(upstream))
    told = fragments(reply, piece)
    renderer = registry.dialect(upstream).answers.stream_renderer(ANSWERING)
    wire = renderer.render(interleaved(told) if braided else told) + renderer.close()
    body = registry.dialect(upstream).answers.render(reply, ANSWERING)
    assert told_at_once(collect(registry.dialect(upstream).answers.parse(body))) == told_at_once(folded(upstream, wire))
    one, other = streamed(upstream, client, wire, size), whole(upstream, client, body)
    # Cohere's only word for an answer that was withheld is ERROR. If nothing else is seen, that is a failure.
    withheld = client == "cohere" and reply.choices[0].stop in (Stop.FILTER, Stop.REFUSAL)
    assert isinstance(one, Reply) or withheld or reply.choices[0].stop in (Stop.ERROR, Stop.BROKEN_CALL)
    assert seen(client, one) == seen(client, other)


def seen(client: str, reply: object) -> object:
    """What the client holds in the end. A message of Chat or Ollama has one text, one thought and one list of calls,
    whose order among each other is nowhere to be seen."""
    if isinstance(reply, Failure):
        return reply.kind
    if client in ("anthropic", "bedrock"):  # input is an object, and fragments of a broken one have gone out
        return canonical(with_inputs(reply))
    if client == "cohere":
        return canonical(content_first(reply))
    if not REPLY_FORMS[client].one_message or not isinstance(reply, Reply):
        return told_at_once(reply)
    choice = reply.choices[0]
    thoughts = [part for part in choice.parts if isinstance(part, Reasoning)]
    words = [part for part in choice.parts if isinstance(part, Text)]
    calls = [canonical(part) for part in choice.parts if isinstance(part, Call)]
    states = [part.state.json for part in thoughts if part.state] + [
        part.signature.json for part in words if part.signature
    ]
    texts = "".join(part.text for part in words), "".join(part.text.text for part in thoughts if part.text)
    return texts, calls, sorted(states), choice.stop, reply.usage, reply.id, reply.model


def told_at_once(reply: object) -> object:
    """A reply but for the moment of its completion: a stream tells it at its end, and its reply has what was told at
    the beginning. `test_stream_and_whole_are_completed_at_one_moment` compares it on the wire."""
    if not isinstance(reply, Reply) or reply.extras is None:
        return canonical(reply)
    fields = {key: value for key, value in reply.extras.fields.items() if key != "completed_at"}
    return canonical(replace(reply, extras=replace(reply.extras, fields=fields)))


def content_first(reply: object) -> object:
    """A Cohere message has its calls beside its content: which of them came first is nowhere to be seen."""
    assert isinstance(reply, Reply)
    choice = reply.choices[0]
    parts = sorted(choice.parts, key=lambda part: isinstance(part, Call))
    return replace(reply, choices=(replace(choice, parts=tuple(parts)),))


def with_inputs(reply: object) -> object:
    """Arguments as objects. If they break off, they are text in a stream, and the client keeps what is complete."""
    assert isinstance(reply, Reply)
    choice = reply.choices[0]
    parts = [
        replace(part, arguments=call_input(unquote(text_of_arguments(part)))) if isinstance(part, Call) else part
        for part in choice.parts
    ]
    return replace(reply, choices=(replace(choice, parts=tuple(parts)),))


def folded(dialect: str, wire: bytes) -> object:
    parser = registry.dialect(dialect).answers.stream_parser()
    return collect([*parser.feed(wire), *parser.close()])


@pytest.mark.parametrize("upstream", DIALECT_NAMES)
@pytest.mark.parametrize("stop", [Stop.END, Stop.LENGTH])
def test_stream_and_whole_are_completed_at_one_moment(upstream: str, stop: Stop) -> None:
    """By one clock. Only an answer that came to its end has such a moment."""
    ticking = replace(ANSWERING, clock=lambda: 1_700_000_007.9)
    events: list[Event] = [Started("r", "m", ANSWERING.created), TextDelta(0, 0, b'"Hi"'), Stopped(0, stop), Ended()]
    reply = collect(events)
    assert isinstance(reply, Reply)
    answers = registry.dialect(upstream).answers
    renderer = answers.stream_renderer(ticking)
    wire = renderer.render(events) + renderer.close()
    one, other = (Translation(upstream, "openai-responses", FORCED, ticking) for _ in range(2))
    last = orjson.loads((one.feed(wire) + one.close()).split(b"data: ")[-1])["response"]
    body = orjson.loads(other.whole(answers.render(reply, ticking)))
    assert last["completed_at"] == body["completed_at"] == (1_700_000_007 if stop is Stop.END else None)


@pytest.mark.parametrize("client", DIALECT_NAMES)
def test_a_count_that_from_others_holds_though_a_later_one_is_silent(client: str) -> None:
    events: list[Event] = [
        Started("m", "c"),
        Used(Usage(input=231, cached=5)),
        TextDelta(0, 0, b'"Hi"'),
        Stopped(0, Stop.END),
    ]
    events += [Used(Usage(output=7)), Ended()]
    answers, told = registry.dialect(client).answers, collect(events)
    assert isinstance(told, Reply)
    renderer = answers.stream_renderer(ANSWERING)
    reply = folded(client, b"".join(renderer.render([event]) for event in events))
    whole = collect(answers.parse(answers.render(told, ANSWERING)))
    assert isinstance(reply, Reply)
    assert isinstance(whole, Reply)
    assert reply.usage is not None
    assert (reply.usage.input, reply.usage.output) == (231, 7)
    assert reply.usage == whole.usage, "those that are cached too, if the dialect counts them"
