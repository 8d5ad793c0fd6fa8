"""The prompt that a model server would make of a Chat request, by the model's own template.

Model servers do a little before the template sees a request: the arguments of calls, which are text on the wire, are
parsed if the template wants objects, and tools that are not declared are not there at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import msgspec

from dragoman.probe.template.renderer import Rendering, RenderLimits, TemplateRenderer
from dragoman.probe.template.sources import TemplateSource


class PromptMaker:
    """Makes prompts of Chat requests. `parses`: the arguments of calls are parsed first. `assumes`: the template gets
    variables too that only a few templates ask for. Use it in a `with` block."""

    def __init__(self, source: TemplateSource, limits: RenderLimits | None = None) -> None:
        marks = {"bos_token": source.bos, "eos_token": source.eos, "add_generation_prompt": True}
        engine = source.engine
        self._plain = self._tools = TemplateRenderer(source.text, marks, limits, engine)
        if source.tool_template:
            self._tools = TemplateRenderer(source.tool_template, marks, limits, engine)
        self.parses = True
        self.assumes = False

    def __enter__(self) -> Self:
        self._plain.start()
        if self._tools is not self._plain:
            self._tools.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._plain.close()
        self._tools.close()

    @property
    def made(self) -> int:
        """How many prompts were asked for."""
        return self._plain.renderings + (self._tools.renderings if self._tools is not self._plain else 0)

    @property
    def ended(self) -> bool:
        """Whether the template ran into a limit that ended its process."""
        return self._plain.ended or self._tools.ended

    def make(self, body: Mapping[str, Any]) -> Rendering:
        renderer = self._tools if body.get("tools") else self._plain
        given = template_variables(body, self.parses)
        return renderer.render(further_variables(body) | given if self.assumes else given)


def template_variables(body: Mapping[str, Any], parses: bool) -> dict[str, Any]:
    """What the template is given for a request."""
    messages = [_with_parsed_calls(message) if parses else message for message in body["messages"]]
    given: dict[str, Any] = {"messages": messages}
    if body.get("tools"):
        given["tools"] = body["tools"]
    return given


def further_variables(body: Mapping[str, Any]) -> dict[str, Any]:
    """What a few templates also want: the tools as text, and the time."""
    tools = msgspec.json.encode(body.get("tools") or []).decode()
    return {"functions": tools, "datetime": "2026-01-02 03:04:05", "date_string": "02 Jan 2026"}


def _with_parsed_calls(message: Mapping[str, Any]) -> Mapping[str, Any]:
    calls = message.get("tool_calls")
    return {**message, "tool_calls": [_parse(call) for call in calls]} if calls else message


def _parse(call: Mapping[str, Any]) -> Mapping[str, Any]:
    function = call.get("function")
    arguments = function.get("arguments") if isinstance(function, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(arguments, str):
        return call
    try:
        known = msgspec.json.decode(arguments or "{}")
    except msgspec.DecodeError:
        return call
    return {**call, "function": {**function, "arguments": known}}
