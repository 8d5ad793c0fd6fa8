"""The strictest reader of Bedrock's answers: botocore's own service model, and the order of events by heart."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from botocore.eventstream import EventStreamBuffer
from botocore.loaders import Loader
from botocore.model import ServiceModel, Shape

Wire = dict[str, Any]


class Misread(AssertionError):
    """The answer does not have the form that AWS publishes."""


@cache
def service() -> ServiceModel:
    return ServiceModel(Loader().load_service_model("bedrock-runtime", "service-2"), "bedrock-runtime")


def check(value: Any, shape: Shape, at: str) -> None:
    """Every required member is there, each has its type, and of a union exactly one is."""
    if shape.type_name == "structure" and not getattr(shape, "is_document_type", False):
        _refuse(not isinstance(value, dict), f"{at} is no object")
        for name in shape.required_members:
            _refuse(value.get(name) is None, f"{at} has no {name}")
        known = {name: found for name, found in value.items() if name in shape.members}
        _refuse(getattr(shape, "is_tagged_union", False) and len(known) != 1, f"{at} has {sorted(value)}")
        for name, found in known.items():
            check(found, shape.members[name], f"{at}.{name}")
    elif shape.type_name == "list":
        _refuse(not isinstance(value, list), f"{at} is no list")
        for index, item in enumerate(value):
            check(item, shape.member, f"{at}.{index}")
    elif shape.type_name == "string":
        _refuse(not isinstance(value, str), f"{at} is no text")
        _refuse(bool(shape.enum) and value not in shape.enum, f"{at} is {value!r}")
    elif shape.type_name in ("integer", "long"):
        _refuse(not isinstance(value, int) or isinstance(value, bool) or value < 0, f"{at} is no count: {value!r}")


def _refuse(condition: object, why: str) -> None:
    if condition:
        raise Misread(why)


def events(body: bytes) -> list[tuple[str, Wire]]:
    """The events of a stream, as botocore's parser reads them. Raises its ParserError if a frame is damaged."""
    buffer = EventStreamBuffer()
    buffer.add_data(body)
    found = []
    for message in buffer:
        _refuse(message.headers.get(":message-type") != "event", f"no event: {message.headers} {message.payload!r}")
        found.append((message.headers[":event-type"], json.loads(message.payload)))
    return found


def whole(body: Wire) -> list[Wire]:
    """The blocks of a whole answer."""
    check(body, service().operation_model("Converse").output_shape, "answer")
    _check_total(body["usage"])
    content: list[Wire] = body["output"]["message"]["content"]
    return content


def _check_total(usage: Wire) -> None:
    parts = (usage[key] for key in ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheWriteInputTokens"))
    _refuse(sum(parts) != usage["totalTokens"], f"the tokens do not add up: {usage}")


class StreamReader:
    """Puts the blocks of a stream together, one after the other."""

    def __init__(self) -> None:
        self.blocks: list[Wire] = []
        self.stop = ""
        self.usage: Wire | None = None
        self._open: Wire | None = None
        self._kind = ""
        self._begun = False

    def read(self, body: bytes) -> StreamReader:
        shapes = service().operation_model("ConverseStream").output_shape.members["stream"].members
        for kind, payload in events(body):
            _refuse(kind not in shapes, f"an event called {kind}")
            check(payload, shapes[kind], kind)
            _refuse(self.usage is not None, f"{kind} after the end")
            _refuse(self._begun is (kind == "messageStart"), f"{kind} before or after the start")
            getattr(self, f"_{kind}")(payload)
        _refuse(self.usage is None, "no metadata at the end")
        return self

    def _messageStart(self, payload: Wire) -> None:
        self._begun = True

    def _contentBlockStart(self, payload: Wire) -> None:
        _refuse(self.stop or self._open is not None, "a block begins inside another")
        self._begin(
            payload,
            {"toolUse": {**payload["start"]["toolUse"], "input": ""}}
            if "toolUse" in payload["start"]
            else dict(payload["start"]),
        )

    def _begin(self, payload: Wire, block: Wire) -> None:
        _refuse(payload["contentBlockIndex"] != len(self.blocks), f"block {payload['contentBlockIndex']} out of order")
        self._open = block
        self.blocks.append(block)

    def _contentBlockDelta(self, payload: Wire) -> None:
        kind, delta = next(iter(payload["delta"].items()))
        _refuse(self.stop, "a piece after the stop")
        if self._open is None:
            _refuse(kind in ("toolUse", "toolResult"), f"a piece of {kind} without a start")
            self._begin(payload, {})
        _refuse(payload["contentBlockIndex"] != len(self.blocks) - 1, "a piece for another block")
        assert self._open is not None
        if kind == "toolUse":
            self._open["toolUse"]["input"] += delta["input"]
        elif kind == "text":
            self._open["text"] = self._open.get("text", "") + delta
        elif kind == "reasoningContent":
            inner = self._open.setdefault("reasoningContent", {})
            for name, found in delta.items():
                inner[name] = inner.get(name, "") + found
        else:
            self._open.setdefault(f"pieces of {kind}", []).append(delta)

    def _contentBlockStop(self, payload: Wire) -> None:
        _refuse(
            self._open is None or payload["contentBlockIndex"] != len(self.blocks) - 1, "a block ends that is not open"
        )
        self._open = None

    def _messageStop(self, payload: Wire) -> None:
        _refuse(self._open is not None or self.stop, "a stop inside a block, or twice")
        self.stop = payload["stopReason"]

    def _metadata(self, payload: Wire) -> None:
        _refuse(not self.stop, "metadata before the stop")
        _check_total(payload["usage"])
        self.usage = payload["usage"]
