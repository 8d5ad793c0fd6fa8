"""Conversations that agents really hold, sent to strict emulators: how many sends they take, and what arrives."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from msgspec import Struct
from tests.engine.test_exchange import Driver
from tests.judges import JUDGES, served_path
from tests.targets import split

from dragoman.dialects.dialect import AnswerContext
from dragoman.emulators.catalogue import provider
from dragoman.emulators.emulator_core import EmulatorCore
from dragoman.engine.exchange.destination import Destination, TargetRoute
from dragoman.engine.exchange.exchange import Exchange
from dragoman.engine.exchange.steps import Answered, Send
from dragoman.engine.library.adapt import choose, read

Wire = dict[str, Any]
HI: Wire = {"role": "user", "content": "Hi"}
SEALED = "c2VhbGVkIGJ5IGFub3RoZXIgcHJvdmlkZXI="
CODE: Wire = {"type": "code_execution_20250825", "name": "code_execution"}

SEARCH: Wire = {"type": "web_search_20260209", "name": "web_search"}


class Awkward(Struct, frozen=True):
    """A conversation, the targets that it is sent to, and what becomes of it."""

    dialect: str
    body: Wire
    targets: tuple[str, ...]
    sends: int = 1
    arrives: tuple[str, ...] = ()
    """Words that are in the last body."""
    gone: tuple[str, ...] = ()
    """Words that are not."""
    rules: tuple[str, ...] = ()
    """The rules that report a change."""


def asked(*messages: Wire, **more: Any) -> Wire:
    return {"model": "m", "messages": list(messages), **more}


def items(*given: Wire, **more: Any) -> Wire:
    return {"model": "m", "input": list(given), **more}


CLAUDE = ("anthropic/claude-sonnet-4-5", "anthropic-compatible/claude-sonnet-4-5", "azure-anthropic/claude-opus-4-8")
RESPONSES = ("openai-responses/gpt-5", "azure-openai-responses/gpt-5", "xai-responses/grok-4.3")

CASES: dict[str, Awkward] = {
    "a container that no tool uses": Awkward(
        "anthropic", asked(HI, max_tokens=9, container="c_1"), CLAUDE, gone=("c_1",), rules=("refused-setting",)
    ),
    "a container of its tool": Awkward(
        "anthropic", asked(HI, max_tokens=9, container="c_1", tools=[CODE]), CLAUDE, arrives=("c_1",)
    ),
    "a container of a search that filters by code": Awkward(
        "anthropic", asked(HI, max_tokens=9, container="c_1", tools=[SEARCH]), CLAUDE[:1], arrives=("c_1",)
    ),
    "skills that somebody chose": Awkward(
        "anthropic",
        asked(HI, max_tokens=9, container={"skills": [{"type": "anthropic", "skill_id": "pptx"}]}),
        CLAUDE,
        arrives=("pptx",),
    ),
    "a late system message of null": Awkward(
        "openai-chat",
        asked(HI, {"role": "assistant", "content": "Hello"}, {"role": "system", "content": None}, HI),
        ("cerebras/gpt-oss-120b", "groq/llama-3.3-70b-versatile", "openai/gpt-4o"),
        gone=("null",),
        rules=("null-content",),
    ),
    "a summary that another provider sealed": Awkward(
        "openai-responses",
        items({"type": "compaction", "id": "cmp_1", "encrypted_content": SEALED}, HI),
        RESPONSES,
        sends=2,
        gone=(SEALED,),
        rules=("refused-part",),
    ),
    "a thought that another provider sealed": Awkward(
        "openai-responses",
        items(
            HI,
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": SEALED},
            {
                "type": "message",
                "role": "assistant",
                "id": "msg_1",
                "content": [{"type": "output_text", "text": "Hello"}],
            },
            HI,
        ),
        RESPONSES,
        sends=2,
        gone=(SEALED,),
        rules=("foreign-reasoning",),
    ),
    "an item that the provider does not have": Awkward(
        "openai-responses",
        items(
            HI, {"type": "agent_message", "author": "planner", "content": [{"type": "input_text", "text": "Go"}]}, HI
        ),
        RESPONSES[:2],
        sends=2,
        arrives=("planner", "Go"),
        rules=("refused-part",),
    ),
}


class Sent(Struct, frozen=True):
    end: Any
    bodies: list[str]
    rules: tuple[str, ...]


def send(dialect: str, body: Wire, target: str) -> Sent:
    """One request to the strict emulator of a target, as far as its end."""
    name, model = split(target)
    destination = Destination(name=target, provider=name, target=choose(target))
    ask = read(orjson.dumps(body), source=dialect)
    exchange = Exchange(ask, TargetRoute((destination,)), AnswerContext(model="m", id="req_1"))
    emulator, options = JUDGES[name]
    core = EmulatorCore(provider(emulator, signatures="strict", **options))

    def answer(step: Send[Destination]) -> tuple[int, bytes]:
        path, query = served_path(core.provider, step.request.path, model)
        planned = core.respond("POST", path, query, dict(step.request.headers), step.request.body)
        return planned.status, planned.body

    driver = Driver(exchange, answer)
    end = driver.run()
    bodies = [step.request.body.decode() for step in driver.steps if isinstance(step, Send)]
    return Sent(
        end, bodies, tuple(dict.fromkeys(change.rule for change in exchange.changes if change.kind == "repair"))
    )


@pytest.mark.parametrize(
    ("case", "target"),
    [pytest.param(case, target, id=f"{name}, {target}") for name, case in CASES.items() for target in case.targets],
)
def test_it_is_accepted_and_whole(case: Awkward, target: str) -> None:
    sent = send(case.dialect, case.body, target)
    assert (type(sent.end), len(sent.bodies)) == (Answered, case.sends), sent.end
    last = sent.bodies[-1]
    assert [word for word in case.arrives if word not in last] == []
    assert [word for word in case.gone if word in last] == []
    assert sent.rules == case.rules
