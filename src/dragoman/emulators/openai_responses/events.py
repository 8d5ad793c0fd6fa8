"""The response as a stream of numbered events. Each item is added, filled and done; the last event holds them all."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from dragoman.emulators.openai_responses.answer import render_answer, render_frame
from dragoman.emulators.openai_responses.hosted_items import item_events
from dragoman.emulators.provider import ModelTurn, ReceivedRequest
from dragoman.emulators.wire import fragments, render_sse_event

Event = dict[str, Any]
Item = dict[str, Any]
_UNFILLED: dict[str, Item] = {
    "message": {"status": "in_progress", "content": []},
    "reasoning": {"summary": []},
    "compaction": {},
}
"""What differs in an item when it begins, by its type."""


def render_stream(request: ReceivedRequest, turn: ModelTurn) -> Iterator[bytes]:
    """The frames, with event names and sequence numbers."""
    return render_events(render_frame(request), render_answer(request, turn), turn.interleave)


def render_events(frame: Item, finished: Item, interleave: bool) -> Iterator[bytes]:
    """The frames of a finished answer. `frame`: what it is when it begins."""
    for number, event in enumerate(_events(frame, finished, interleave)):
        yield render_sse_event({**event, "sequence_number": number}, event=event["type"])


def render_prepared(request: ReceivedRequest) -> Iterator[bytes]:
    """The frames of a turn that only prepares a conversation: it has no output."""
    statuses = {
        "response.created": "in_progress",
        "response.in_progress": "in_progress",
        "response.completed": "completed",
    }
    for number, (name, status) in enumerate(statuses.items()):
        event = {"type": name, "response": render_frame(request, status), "sequence_number": number}
        yield render_sse_event(event, event=name)


def _events(frame: Item, finished: Item, interleave: bool) -> Iterator[Event]:
    yield {"type": "response.created", "response": frame}
    yield {"type": "response.in_progress", "response": frame}
    output = list(enumerate(finished["output"]))
    calls = [(index, item) for index, item in output if item["type"] == "function_call"]
    for index, item in output:
        if item["type"] in _UNFILLED:
            yield from _item_events(index, item)
        elif item["type"] != "function_call":
            yield from item_events(index, item)
    if interleave:
        yield from _call_events(calls)
    else:
        for index, item in calls:
            yield from _call_events([(index, item)])
    yield {"type": f"response.{finished['status']}", "response": finished}


def _item_events(index: int, item: Item) -> Iterator[Event]:
    empty = {**item, **_UNFILLED[item["type"]]}
    yield {"type": "response.output_item.added", "output_index": index, "item": empty}
    place = {"item_id": item["id"], "output_index": index}
    if item["type"] == "compaction":
        yield {"type": "response.compaction.compacting", **place}
    elif item["type"] == "reasoning":
        for number, part in enumerate(item["summary"]):
            yield from _summary_events({**place, "summary_index": number}, part)
    else:
        for number, part in enumerate(item["content"]):
            yield from _part_events({**place, "content_index": number}, part)
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _summary_events(place: Event, part: Item) -> Iterator[Event]:
    yield {"type": "response.reasoning_summary_part.added", **place, "part": {**part, "text": ""}}
    for piece in fragments(part["text"]):
        yield {"type": "response.reasoning_summary_text.delta", **place, "delta": piece}
    yield {"type": "response.reasoning_summary_text.done", **place, "text": part["text"]}
    yield {"type": "response.reasoning_summary_part.done", **place, "part": part}


def _part_events(place: Event, part: Item) -> Iterator[Event]:
    key, name = ("refusal", "refusal") if part["type"] == "refusal" else ("text", "output_text")
    more: Event = {"logprobs": []} if key == "text" else {}
    notes = part.get("annotations") or []
    empty = {**part, key: "", **({"annotations": []} if notes else {})}
    yield {"type": "response.content_part.added", **place, "part": empty}
    for piece in fragments(part[key]):
        yield {"type": f"response.{name}.delta", **place, "delta": piece, **more}
    for number, note in enumerate(notes):
        added = {"annotation_index": number, "annotation": note}
        yield {"type": "response.output_text.annotation.added", **place, **added}
    if part.get("logprobs"):
        more = {"logprobs": part["logprobs"]}
    yield {"type": f"response.{name}.done", **place, key: part[key], **more}
    yield {"type": "response.content_part.done", **place, "part": part}


def _call_events(calls: list[tuple[int, Item]]) -> Iterator[Event]:
    """Events of these calls. The arguments of several calls stream alternately."""
    for index, item in calls:
        empty = {**item, "status": "in_progress", "arguments": ""}
        yield {"type": "response.output_item.added", "output_index": index, "item": empty}
    for row in zip_longest(*(fragments(item["arguments"]) for _, item in calls)):
        for (index, item), piece in zip(calls, row, strict=True):
            if piece is not None:
                place = {"item_id": item["id"], "output_index": index}
                yield {"type": "response.function_call_arguments.delta", **place, "delta": piece}
    for index, item in calls:
        place = {"item_id": item["id"], "output_index": index}
        call = {"name": item["name"], "arguments": item["arguments"]}
        yield {"type": "response.function_call_arguments.done", **place, **call}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
