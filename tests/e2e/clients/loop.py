"""What the Python clients share. Arguments: BASE CASES (JSON: [{tag, model, question, way}]) KIND"""

import asyncio
import json
import sys
import traceback
from collections.abc import Awaitable, Callable
from typing import Any

BASE, _CASES, KIND = sys.argv[1:]
SCHEMAS: dict[str, Any] = {
    "weather": {"city": {"type": "string"}},
    "wind": {"place": {"type": "string"}, "days": {"type": "integer"}},
}


def schema(name: str) -> dict[str, Any]:
    properties = SCHEMAS[name]
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


class ClientReport:
    """What the client ended up with."""

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self.text = ""
        self.calls: list[tuple[str, Any]] = []
        self.thoughts: list[str] = []
        self.usage = [0, 0]

    def run(self, name: str, arguments: Any) -> str:
        """The tool itself."""
        self.calls.append((name, arguments))
        return f"Report on {arguments.get('city') or arguments.get('place')}"

    def think(self, thought: str | None) -> None:
        if thought:
            self.thoughts.append(thought)

    def spend(self, read: int, written: int) -> None:
        self.usage = [self.usage[0] + read, self.usage[1] + written]


def each(loop: Callable[[dict[str, Any], ClientReport], Awaitable[None]]) -> None:
    """One loop after the other; each tells on a line of its own what the client ended up with."""
    for one in json.loads(_CASES):
        heard = ClientReport(one["tag"])
        try:
            asyncio.run(_run(loop, {**one, "streamed": one["way"] == "streamed"}, heard))
            print(json.dumps(vars(heard)))
        except Exception:
            print(json.dumps({"tag": one["tag"], "error": traceback.format_exc()}))


async def _run(
    loop: Callable[[dict[str, Any], ClientReport], Awaitable[None]], one: dict[str, Any], heard: ClientReport
) -> None:
    await loop(one, heard)
