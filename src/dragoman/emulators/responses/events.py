"""The same response as a stream of numbered events. Every item is added, filled and done; the last event is whole."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from dragoman.emulators.provider import Received, Turn
from dragoman.emulators.responses.answer import frame, whole
from dragoman.emulators.wire import fragments, sse

Event = dict[str, Any]
Item = dict[str, Any]


def stream(call: Received, turn: Turn) -> Iterator[bytes]:
    """Frames with names and sequence numbers."""
    for number, event in enumerate(_events(call, turn)):
        yield sse({**event, "sequence_number": number}, event=event["type"])


def _events(call: Received, turn: Turn) -> Iterator[Event]:
    yield {"type": "response.created", "response": frame(call)}
    yield {"type": "response.in_progress", "response": frame(call)}
    finished = whole(call, turn)
    output = list(enumerate(finished["output"]))
    calls = [(index, item) for index, item in output if item["type"] == "function_call"]
    for index, item in output:
        if item["type"] != "function_call":
            yield from _spoken(index, item)
    if turn.interleave:
        yield from _interleaved(calls)
    else:
        for index, item in calls:
            yield from _interleaved([(index, item)])
    yield {"type": f"response.{finished['status']}", "response": finished}


def _spoken(index: int, item: Item) -> Iterator[Event]:
    hollow = {**item, "status": "in_progress", "content": []} if item["type"] == "message" else {**item, "summary": []}
    yield {"type": "response.output_item.added", "output_index": index, "item": hollow}
    place = {"item_id": item["id"], "output_index": index}
    if item["type"] == "reasoning":
        for number, part in enumerate(item["summary"]):
            yield from _summary({**place, "summary_index": number}, part)
    else:
        for number, part in enumerate(item["content"]):
            yield from _part({**place, "content_index": number}, part)
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _summary(place: Event, part: Item) -> Iterator[Event]:
    yield {"type": "response.reasoning_summary_part.added", **place, "part": {**part, "text": ""}}
    for piece in fragments(part["text"]):
        yield {"type": "response.reasoning_summary_text.delta", **place, "delta": piece}
    yield {"type": "response.reasoning_summary_text.done", **place, "text": part["text"]}
    yield {"type": "response.reasoning_summary_part.done", **place, "part": part}


def _part(place: Event, part: Item) -> Iterator[Event]:
    key, name = ("refusal", "refusal") if part["type"] == "refusal" else ("text", "output_text")
    more: Event = {"logprobs": []} if key == "text" else {}
    yield {"type": "response.content_part.added", **place, "part": {**part, key: ""}}
    for piece in fragments(part[key]):
        yield {"type": f"response.{name}.delta", **place, "delta": piece, **more}
    yield {"type": f"response.{name}.done", **place, key: part[key], **more}
    yield {"type": "response.content_part.done", **place, "part": part}


def _interleaved(calls: list[tuple[int, Item]]) -> Iterator[Event]:
    """Calls whose arguments stream by turns; a single one streams alone."""
    for index, item in calls:
        hollow = {**item, "status": "in_progress", "arguments": ""}
        yield {"type": "response.output_item.added", "output_index": index, "item": hollow}
    for row in zip_longest(*(fragments(item["arguments"]) for _, item in calls)):
        for (index, item), piece in zip(calls, row, strict=True):
            if piece is not None:
                place = {"item_id": item["id"], "output_index": index}
                yield {"type": "response.function_call_arguments.delta", **place, "delta": piece}
    for index, item in calls:
        place = {"item_id": item["id"], "output_index": index}
        spelled = {"name": item["name"], "arguments": item["arguments"]}
        yield {"type": "response.function_call_arguments.done", **place, **spelled}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
