"""Law 7 on the way back: the client sees its own names and ids; opaque state reaches it or the store unchanged."""

from __future__ import annotations

import base64

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from tests.corpus import FULL
from tests.strategies_replies import fragments, replies

from dragoman.conversation.changes import Undo
from dragoman.conversation.collect import collect
from dragoman.conversation.dialect_names import DIALECT_NAMES
from dragoman.conversation.envelope import unseal
from dragoman.conversation.parts import Call, Opaque, Part, Reasoning, Text
from dragoman.conversation.replies import Reply, Stop
from dragoman.dialects import registry
from dragoman.dialects.dialect import AnswerContext
from dragoman.engine.answer.reasoning_capture import text_key
from dragoman.engine.answer.translation import Translation

PAIRS = [(upstream, client) for upstream in DIALECT_NAMES for client in DIALECT_NAMES]
ANSWERING = AnswerContext(model="shown", created=1_700_000_000, id="made-up-id", include_usage=True)
QUICK = settings(
    max_examples=100 if FULL else 4,
    derandomize=not FULL,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.generate],
)


def wire_of(dialect: str, reply: Reply) -> bytes:
    renderer = registry.dialect(dialect).answers.stream_renderer(ANSWERING)
    return renderer.render(fragments(reply, 5)) + renderer.close()


def read(dialect: str, wire: bytes) -> Reply:
    parser = registry.dialect(dialect).answers.stream_parser()
    reply = collect([*parser.feed(wire), *parser.close()])
    assert isinstance(reply, Reply), reply
    return reply


def calls_of(reply: Reply) -> list[Call]:
    return [part for part in reply.choices[0].parts if isinstance(part, Call)]


def states_of(parts: tuple[Part, ...]) -> list[Opaque]:
    found: list[Opaque | None] = []
    for part in parts:
        if isinstance(part, Reasoning):
            found.append(part.state)
        elif isinstance(part, Call | Text):
            found.append(part.signature)
    return [state for state in found if state is not None]


def complete(reply: Reply) -> bool:
    """A breakdown is an error in most dialects, and an error has no parts."""
    return reply.choices[0].stop not in ("error", "broken-call")


def is_withheld(client: str, reply: Reply) -> bool:
    """Cohere's only word for an answer that was withheld is ERROR."""
    return client == "cohere" and reply.choices[0].stop in (Stop.FILTER, Stop.REFUSAL)


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("upstream", "client"), PAIRS)
@QUICK
@given(data=st.data())
def test_names_and_ids_are_the_clients_own(upstream: str, client: str, data: st.DataObject) -> None:
    reply = data.draw(replies(upstream).filter(complete))
    assume(not is_withheld(client, reply))
    sent = calls_of(read(upstream, wire_of(upstream, reply)))
    undo = Undo(
        names={call.name: f"client.{call.name}" for call in sent}, ids={call.id: f"own:{call.id}" for call in sent}
    )
    streaming = Translation(upstream, client, undo, ANSWERING)
    seen = calls_of(read(client, streaming.feed(wire_of(upstream, reply)) + streaming.close()))
    answer = registry.dialect(upstream).answers.render(reply, ANSWERING)
    body = Translation(upstream, client, undo, ANSWERING).whole(answer)
    whole = collect(registry.dialect(client).answers.parse(body))
    assert isinstance(whole, Reply)
    wanted = [(f"client.{call.name}", f"own:{call.id}") for call in sent]
    assert [(call.name, call.id) for call in seen] == wanted
    assert [(call.name, call.id) for call in calls_of(whole)] == wanted


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("upstream", "client"), PAIRS)
@QUICK
@given(data=st.data())
def test_state_reaches_the_client_or_the_store(upstream: str, client: str, data: st.DataObject) -> None:
    reply = data.draw(replies(upstream).filter(complete))
    assume(
        client != "cohere" or reply.choices[0].stop not in (Stop.FILTER, Stop.REFUSAL)
    )  # withheld: its only word for it is ERROR
    wire = wire_of(upstream, reply)
    made = {state.json for state in states_of(read(upstream, wire).choices[0].parts)}
    translation = Translation(upstream, client, Undo(ids={"\0": ""}), ANSWERING, keep=True)
    out = translation.feed(wire) + translation.close()
    shown = {state.json for state in states_of(read(client, out).choices[0].parts)}
    stored = {state.json for parts in translation.kept.values() for state in (*states_of(parts), *opaque(parts))}
    assert made <= shown | stored
    if upstream != client:
        assert stored == made


def opaque(parts: tuple[Part, ...]) -> list[Opaque]:
    return [part for part in parts if isinstance(part, Opaque)]


def test_the_store_finds_state_by_the_call_or_by_the_words() -> None:
    thinking = b"""event: message_start
data: {"type":"message_start","message":{"id":"m","model":"c","usage":{"input_tokens":1,"output_tokens":1}}}

data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"Hm.","signature":"c2ln"}}

data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":"Caf\\u00e9"}}

"""
    block = b'{"type":"tool_use","id":"toolu_01Xk","name":"f","input":{}}'
    call = b'data: {"type":"content_block_start","index":2,"content_block":%b}\n\n' % block
    end = b"""data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}

data: {"type":"message_stop"}

"""
    for wire, key in ((thinking + end, text_key("Café")), (thinking + call + end, "toolu_01Xk")):
        translation = Translation("anthropic", "openai-chat", keep=True)
        translation.feed(wire)
        translation.close()
        (found,) = translation.kept[key]
        assert isinstance(found, Reasoning)
        assert found.state is not None
        assert (found.text.text if found.text else "", found.state.json) == ("Hm.", b'"c2ln"')


def test_foreign_state_is_an_envelope_that_survives_re_encoding() -> None:
    """A client may decode a signature and encode it again in another alphabet: the bytes inside are the same."""
    body = b'{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{}},"thoughtSignature":"A+/="}]}}]}'
    reply = collect(registry.dialect("anthropic").answers.parse(Translation("gemini", "anthropic").whole(body)))
    assert isinstance(reply, Reply)
    thought, call = reply.choices[0].parts
    assert isinstance(thought, Reasoning)
    assert isinstance(call, Call)
    assert thought.state is not None
    assert (thought.state.json, thought.state.origin.dialect) == (b'"A+/="', "gemini")
    text = Translation("gemini", "anthropic").whole(body).split(b'"signature":"')[1].split(b'"')[0].decode()
    again = base64.urlsafe_b64encode(base64.b64decode(text)).decode().rstrip("=")
    opened = unseal(again)
    assert opened is not None
    assert opened.json == b'"A+/="'
