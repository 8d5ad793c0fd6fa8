"""The conversations of `dragoman verify`. They are the same for everybody, so that two pages can be compared."""

from __future__ import annotations

from typing import Any

import msgspec

LIMIT = 1024
"""Tokens of output that most trials ask for at most."""
_CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
_WEATHER = {"name": "weather", "description": "The weather in a city.", "parameters": _CITY}
_TOOL = '@tool weather {"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}'
_CALL = 'call weather(call_8Xk2_weather-Paris) {"city":"Paris"}'
_RESULT = "result call_8Xk2_weather-Paris: Sunny, 24 degrees."
DRAWERS = " ".join(f"Item {number} belongs into drawer {number * 7 % 40}." for number in range(1, 541))
"""A prefix longer than what any provider wants before it caches (4,096 tokens), in which nothing repeats."""
RESULT = "Sunny, 24 degrees."
"""What each tool call of a loop is answered with."""


class FixedConversation(msgspec.Struct, frozen=True):
    """One fixed conversation."""

    id: str
    """Its name on the page and in the file of a run that goes on later."""
    title: str
    """What it shows."""
    script: str = ""
    """An awkward conversation in script notation. It is sent both ways as a program would that knows nothing of the
    provider: written in the provider's dialect without any repair."""
    chat: dict[str, Any] = {}
    """A well-formed one, as a Chat request. The gateway gets it as it is; the provider gets it in its own form."""
    stream: bool = False
    turns: int = 1
    """Requests in a row. The answer, and results of its calls, are part of the next request."""
    repeats: bool = False
    """Whether the second request is the first one again, so that the provider's cache shows."""
    limit: int = LIMIT
    """Tokens of output at most."""
    misspells: bool = False
    """Whether the model's name has a letter too many, so that an error is the right answer."""


def _awkward(id: str, title: str, *lines: str) -> FixedConversation:
    return FixedConversation(id, title, script="\n".join((f"@max_tokens {LIMIT}", *lines)))


def _chat(text: str, **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}], "max_tokens": LIMIT, **more}


TRIALS: tuple[FixedConversation, ...] = (
    FixedConversation("plain", "one question", chat=_chat("Say hello in one word.")),
    FixedConversation(
        "stream",
        "one question, streamed",
        chat=_chat("Count from one to ten in words."),
        stream=True,
    ),
    _awkward(
        "late-system",
        "a system message in the middle",
        "system: You are brief.",
        "user: Say a number.",
        "assistant: Two.",
        "system: Answer in French.",
        "user: Say another number.",
    ),
    _awkward(
        "leading-assistant",
        "a first turn that is not the user's, and a tool's name with a dot",
        "system: You look after a mailbox.",
        "call mail.list(call_1) {}",
        "result call_1: 2 new messages",
    ),
    _awkward(
        "interrupted-call",
        "a call that was never answered",
        _TOOL,
        "user: What is the weather in Paris?",
        "assistant: I look it up.",
        _CALL,
        "user: Never mind. Say a colour.",
    ),
    _awkward(
        "cut-history",
        "a tool result whose call was cut away",
        "user: What is the weather in Paris?",
        _RESULT,
        "user: And what should I wear?",
    ),
    _awkward(
        "foreign-history",
        "thinking, call ids and an empty turn of another model",
        _TOOL,
        "user: What is the weather in Paris?",
        "~ I should look it up.",
        _CALL,
        _RESULT,
        "assistant: ",
        "user: And what should I wear?",
    ),
    _awkward(
        "no-tools",
        "calls in the history, and no tools in the request",
        "user: What is the weather in Paris?",
        _CALL,
        _RESULT,
    ),
    _awkward(
        "json-schema",
        "a tool's schema with all of JSON Schema",
        '@tool weather {"$schema":"http://json-schema.org/draft-07/schema#","type":"object","additionalProperties":'
        'false,"properties":{"city":{"type":"string","minLength":1},"unit":{"const":"celsius"},"day":{"anyOf":'
        '[{"type":"integer","exclusiveMinimum":0},{"type":"null"}]}},"required":["city"]}',
        "user: What is the weather in Paris?",
    ),
    FixedConversation(
        "tool-loop",
        "a call, its result and the answer, with thinking",
        chat=_chat(
            "What is the weather in Paris? Call the tool, then answer in one sentence.",
            tools=[{"type": "function", "function": _WEATHER}],
            reasoning_effort="low",
        )
        | {"max_tokens": 2 * LIMIT},
        turns=2,
        limit=2 * LIMIT,
    ),
    FixedConversation(
        "cache",
        "the same long prompt twice",
        chat={
            "messages": [
                {
                    "role": "system",
                    "content": [{"type": "text", "text": DRAWERS, "cache_control": {"type": "ephemeral"}}],
                },
                {"role": "user", "content": "Into which drawer does item 3 belong? Answer with its number."},
            ],
            "max_tokens": LIMIT,
        },
        turns=2,
        repeats=True,
    ),
    FixedConversation("error", "a model that does not exist", chat=_chat("Hello."), misspells=True),
)
"""In the order in which they are sent."""
