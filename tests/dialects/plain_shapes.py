"""Conversations made of the forms that the short loops take, and of near misses that they must leave alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.by_dialect import ByDialect
from tests.shapes.chooser import Chooser

from dragoman.conversation.envelope import seal
from dragoman.conversation.parts import Opaque, Origin, StateKind

Shape = Callable[[Chooser], Any]


def of(*values: Any) -> Shape:
    """One of these values, mostly one of the first two. A shape gives what it makes."""
    return lambda pick: _made(pick.one(values) if pick.seldom(5) else pick.one(values[:2]), pick)


def either(*shapes: Shape) -> Shape:
    return lambda pick: pick.one(shapes)(pick)


def some(*kinds: Shape, most: int = 3) -> Shape:
    """A list of up to so many."""
    return lambda pick: [pick.one(kinds)(pick) for _ in range(pick.below(most + 1))]


def wire(**fields: Any) -> Shape:
    """An object of these members. One whose name ends in an underscore may be missing; an unknown one may be there."""

    def shape(pick: Chooser) -> dict[str, Any]:
        named = {key.removesuffix("_"): value for key, value in fields.items() if key[-1] != "_" or pick.often()}
        made = {key: _made(value, pick) for key, value in named.items()}
        return made | {"unknown": 1} if pick.seldom(60) else made

    return shape


def _made(value: Any, pick: Chooser) -> Any:
    return value(pick) if callable(value) else value


MODEL = "m"
TEXTS: Shape = of("Hi", "Hi", "a\nb", "é", '"', "\\", "\tx", "", " ", None, 5)
IDS: Shape = of("c1", "c2", "c3", "c4", "odd id", "")
NAMES = of("f", "g", "odd.name")
ARGUMENTS: Shape = of({}, {"a": 1}, {"a": {"b": ["é"]}}, None, [1], "text")
ARGUMENT_TEXTS: Shape = of("{}", '{"a":1}', '{"a":"é"}', "", "null", "[1]", "not json", ' {"a": 1} ', '{"a":1}}', {})
DATA: Shape = of("aGVsbG8=", "aGVsbG8", "a-_8", "a\\/b=", "é", 5)
URLS: Shape = of(
    "data:image/png;base64,aGVsbG8=",
    "data:image/png;base64,a\\/b",
    "data:image/png,plain",
    "data:;base64,",
    "data:image/png;charset=utf-8;base64,aGVsbG8=",
    "data:" + "x" * 300 + ";base64,aGVsbG8=",
    "https://example.com/a,b.png",
    "",
    5,
)
DETAILS: Shape = of("low", None)
HINTS: Shape = of({"type": "ephemeral"}, {"type": "ephemeral", "ttl": "1h"}, None)
FLAGS: Shape = of(True, False, None)


def _sealed(kind: str) -> str:
    return seal(Opaque(kind=kind, json=b'"c2lnbmF0dXJl"', origin=Origin("other", "p", "m")))


SIGNATURES: Shape = of(
    "c2lnbmF0dXJl",
    "c2lnbmF0dXJlLw==",
    "",
    "a/b\\",
    _sealed(StateKind.THOUGHT),
    _sealed(StateKind.ENCRYPTED),
    _sealed(StateKind.REDACTED),
    None,
    5,
)


def _chat() -> Shape:
    call = wire(id=IDS, type_="function", function=wire(name=NAMES, arguments=ARGUMENT_TEXTS))
    text = wire(type="text", text=TEXTS, cache_control_=HINTS)
    image = wire(type="image_url", image_url=wire(url=URLS, detail_=DETAILS), cache_control_=HINTS)
    content = of(TEXTS, some(text, image))
    message = either(
        wire(role=of("user", "system", "developer", "assistant"), content=content),
        wire(role="assistant", content_=content, tool_calls=some(call)),
        wire(role="tool", tool_call_id=IDS, content=content),
        wire(role="user", content="Hi", name_="bob"),
    )
    return wire(model=MODEL, messages=some(message, most=8))


def _anthropic() -> Shape:
    text = wire(type="text", text=TEXTS, cache_control_=HINTS, citations_=None)
    source = either(wire(type="base64", media_type="image/png", data=DATA), wire(type="url", url=URLS))
    image = wire(type="image", source=source, cache_control_=HINTS)
    call = wire(type="tool_use", id=IDS, name=NAMES, input_=ARGUMENTS, cache_control_=HINTS)
    inside = of(TEXTS, some(text, image))
    result = wire(type="tool_result", tool_use_id=IDS, content_=inside, is_error_=FLAGS, cache_control_=HINTS)
    thinking = wire(type="thinking", thinking=TEXTS, signature=SIGNATURES)
    redacted = wire(type="redacted_thinking", data=SIGNATURES)
    document = wire(type="document", source=source)
    message = either(
        wire(role=of("user", "assistant", "system"), content=TEXTS),
        wire(role="user", content=some(result, text)),
        wire(role="user", content=some(text, image, document)),
        wire(role="assistant", content=some(thinking, redacted, text, call, call)),
        wire(role=of("user", "assistant"), content=some(text, call, result, thinking)),
    )
    return wire(model=MODEL, max_tokens=9, system_=of(TEXTS, some(text)), messages=some(message, most=8))


def _responses() -> Shape:
    text = wire(type=of("input_text", "output_text"), text=TEXTS, annotations_=of([], None), logprobs_=None)
    image = wire(type="input_image", image_url=URLS, detail_=DETAILS)
    content = of(TEXTS, some(text, image))
    roles = of("user", "assistant", "assistant", "system", "developer")
    kept = {"id_": of("i1", "i2", None), "status_": of("completed", None)}
    call = wire(type="function_call", call_id=IDS, name=NAMES, arguments=ARGUMENT_TEXTS, **kept)
    output = wire(type="function_call_output", call_id=IDS, output=content, **kept)
    summary = some(wire(type="summary_text", text=TEXTS), most=2)
    thoughts = of(None, some(wire(type="reasoning_text", text=TEXTS), most=2))
    reasoning = wire(type="reasoning", summary=summary, content_=thoughts, encrypted_content_=SIGNATURES, **kept)
    message = wire(type_="message", role=roles, content=content, **kept)
    kinds = (message, message, call, call, output, output, reasoning)
    return wire(model=MODEL, instructions_=TEXTS, input=some(*kinds, most=10))


def _gemini() -> Shape:
    marks = {"thought_": FLAGS, "thoughtSignature_": SIGNATURES}
    text = wire(text=TEXTS)
    signed = wire(text_=TEXTS, **marks)
    call = wire(name=NAMES, args_=ARGUMENTS)
    known = wire(name=NAMES, args_=ARGUMENTS, id=IDS)
    response = of({"output": "x"}, {"output": {"a": 1}}, {"error": "no"}, {"result": 1}, {}, [1], None)
    usual = wire(output=TEXTS)
    answer = wire(name=NAMES, response=of(usual, usual, response))
    told = wire(name=NAMES, response=of(usual, usual, response), id=IDS)
    data = wire(inlineData=wire(mimeType="image/png", data=DATA))
    calls = either(wire(functionCall=call), wire(functionCall=call, **marks))
    known_calls = either(wire(functionCall=known), wire(functionCall=known, thoughtSignature_=SIGNATURES))
    contents = [
        wire(role="user", parts=some(text, data)),
        wire(role_=of("user", "model"), parts=some(text, signed)),
    ]
    without_ids = [
        wire(role="model", parts=some(text, calls, calls)),
        wire(role="user", parts=some(wire(functionResponse=answer), text)),
    ]
    with_ids = [
        wire(role="model", parts=some(signed, known_calls, known_calls)),
        wire(role="user", parts=some(wire(functionResponse=told), wire(functionResponse=told), text)),
    ]
    mixed = either(*(some(*contents, *kind, *kind, most=8) for kind in (without_ids, with_ids, with_ids + without_ids)))
    return wire(systemInstruction_=wire(parts=some(text)), contents=mixed)


def _bedrock() -> Shape:
    text = wire(text=TEXTS)
    call = wire(toolUse=wire(toolUseId=IDS, name=NAMES, input_=ARGUMENTS, type_=of("tool_use", "server_tool_use")))
    plain_call = wire(toolUse=wire(toolUseId=IDS, name=NAMES, input=ARGUMENTS))
    inside = some(text, text, wire(json={"a": 1}), most=2)
    result = wire(toolResult=wire(toolUseId=IDS, content=inside, status_=of("success", "error", None)))
    both = wire(text=TEXTS, toolUse_=None, toolResult_=wire(toolUseId=IDS, content=inside))
    point = wire(cachePoint={"type": "default"})
    thinking = wire(reasoningContent=wire(reasoningText=wire(text=TEXTS, signature=SIGNATURES)))
    message = either(
        wire(role=of("user", "assistant", "system"), content=some(text)),
        wire(role="assistant", content=some(text, plain_call)),
        wire(role="user", content=some(result, result, text)),
        wire(role=of("user", "assistant"), content=of(some(text, call, result, thinking, point, both), TEXTS)),
    )
    return wire(system_=of(some(text), some(text, point), TEXTS), messages=some(message, most=8))


def _cohere() -> Shape:
    call = wire(id=IDS, type_="function", function=wire(name=NAMES, arguments=ARGUMENT_TEXTS))
    text = wire(type="text", text=TEXTS)
    told = of({"text": "Rain"}, {"title": "A", "text": "b"}, {"a": 1}, "Rain", None)
    document = wire(type="document", document=of(wire(data=told, id_="d1"), "Rain"))
    image = wire(type="image_url", image_url=wire(url=URLS))
    message = either(
        wire(role=of("user", "system", "assistant", "developer"), content=of(TEXTS, TEXTS, some(text, image))),
        wire(role="assistant", content_=TEXTS, tool_calls=some(call), tool_plan_=TEXTS, citations_=[]),
        wire(role="tool", tool_call_id=IDS, content=of(TEXTS, some(text, document))),
        wire(role="assistant", content_=TEXTS, tool_plan_=TEXTS, tool_calls_=None),
    )
    return wire(model=MODEL, messages=some(message, most=8), documents_=of([], ["Rain"]))


def _ollama() -> Shape:
    def calls(**ids: Any) -> Shape:
        function = wire(name=NAMES, arguments_=ARGUMENTS, index_=0)
        return some(wire(function=function, type_="function", **ids))

    plain = wire(role=of("user", "assistant", "system", "developer", "User"), content=TEXTS, images_=DATA)
    bare = wire(role=of("user", "assistant"), content=TEXTS)
    thought = {"content_": TEXTS, "thinking_": TEXTS}
    without_ids = [
        wire(role="assistant", tool_calls=calls(), **thought),
        wire(role="tool", tool_name_=NAMES, content=TEXTS),
    ]
    with_ids = [
        wire(role="assistant", tool_calls=calls(id=IDS), **thought),
        wire(role="tool", tool_call_id=IDS, tool_name_=NAMES, content=TEXTS),
    ]
    kinds = (without_ids, with_ids, with_ids + without_ids)
    return wire(model=MODEL, messages=either(*(some(plain, bare, *kind, *kind, most=8) for kind in kinds)))


SHAPES: dict[str, Shape] = ByDialect(
    "tests/dialects/plain_shapes.py, its usual requests",
    {
        "openai-chat": _chat(),
        "anthropic": _anthropic(),
        "openai-responses": _responses(),
        "gemini": _gemini(),
        "bedrock": _bedrock(),
        "cohere": _cohere(),
        "ollama": _ollama(),
    },
)

LONG = "x" * 70_000
LONG_MESSAGES = {
    "openai-chat": [
        {"role": "user", "content": LONG},
        {"role": "assistant", "content": [{"type": "text", "text": LONG}]},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{LONG}"}}]},
    ],
    "openai-responses": [
        {"role": "user", "content": LONG},
        {"role": "assistant", "content": [{"type": "output_text", "text": LONG}]},
        {"role": "user", "content": [{"type": "input_image", "image_url": f"data:image/png;base64,{LONG}"}]},
    ],
}
"""Messages as long as pictures are."""
