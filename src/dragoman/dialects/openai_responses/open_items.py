"""Items of a stream that are not complete yet, and what their last events repeat."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dragoman.conversation.events import CallStarted
from dragoman.conversation.literals import EMPTY, quote
from dragoman.conversation.parts import Json
from dragoman.dialects.openai_responses import output_items
from dragoman.dialects.openai_responses.answer_events import THOUGHT

EventMembers = tuple[bytes, bytes]
"""An event's name and its members."""


def _joined(literals: list[bytes]) -> bytes:
    return b'"' + b"".join([literal[1:-1] for literal in literals]) + b'"' if literals else EMPTY


class OpenMessage:
    """A message: texts and refusals, one open at a time."""

    __slots__ = (
        "annotations",
        "content",
        "delta_head",
        "delta_place",
        "fields",
        "identity",
        "literals",
        "logprobs",
        "part",
        "place",
        "refusal",
        "where",
    )

    def __init__(self, place: int, identity: Json, fields: Mapping[str, Json]) -> None:
        self.place = place
        self.identity = identity
        self.fields = fields
        self.content: list[bytes] = []
        self.part = -1
        self.refusal = False
        self.literals: list[bytes] = []
        self.annotations: list[Json] = []
        self.logprobs: list[Json] = []
        self.where = b""
        self.delta_head = b""
        self.delta_place = b""

    def item(self, status: bytes) -> Json:
        return output_items.render_message(self.identity, self.fields, status, self.content)

    def begin(self, part: int, refusal: bool) -> Iterator[EventMembers]:
        """Close the open content and open the next one."""
        yield from self.closing()
        self.part = part
        self.refusal = refusal
        self.where = b'"item_id":%b,"output_index":%d,"content_index":%d' % (
            *(self.identity, self.place, len(self.content)),
        )
        name = b"response.output_text.delta"
        self.delta_head = b'event: %b\ndata: {"type":"%b","sequence_number":' % (name, name)
        self.delta_place = b"," + self.where + b',"delta":'
        empty = output_items.render_refusal(EMPTY) if refusal else output_items.render_output_text(EMPTY, [], None)
        yield b"response.content_part.added", self.where + b',"part":' + empty

    def closing(self) -> Iterator[EventMembers]:
        if self.part < 0:
            return
        literal, content = _joined(self.literals), self._content()
        if self.refusal:
            yield b"response.refusal.done", self.where + b',"refusal":' + literal
        else:
            tokens = self._tokens() or b"[]"
            yield b"response.output_text.done", self.where + b',"text":' + literal + b',"logprobs":' + tokens
        yield b"response.content_part.done", self.where + b',"part":' + content
        self.content.append(content)
        self.part = -1
        self.literals, self.annotations, self.logprobs = [], [], []

    def _content(self) -> Json:
        literal = _joined(self.literals)
        if self.refusal:
            return output_items.render_refusal(literal)
        return output_items.render_output_text(literal, self.annotations, self._tokens())

    def _tokens(self) -> Json | None:
        if not self.logprobs:
            return None
        return b"[" + b",".join([tokens.strip()[1:-1] for tokens in self.logprobs]) + b"]"


class OpenReasoning:
    """A reasoning item: a summary, or the reasoning itself."""

    __slots__ = ("encrypted", "field", "fields", "identity", "literals", "part", "place", "where")

    def __init__(self, place: int, identity: Json, fields: Mapping[str, Json], part: int, field: str) -> None:
        self.place = place
        self.identity = identity
        self.fields = fields
        self.part = part
        self.field = field
        self.literals: list[bytes] = []
        self.encrypted: Json | None = None
        index = b"content_index" if field == THOUGHT else b"summary_index"
        self.where = b'"item_id":%b,"output_index":%d,"%b":0' % (identity, place, index)

    @property
    def delta_name(self) -> bytes:
        return b"response.reasoning_text.delta" if self.field == THOUGHT else b"response.reasoning_summary_text.delta"

    def item(self, status: bytes) -> Json:
        return output_items.render_reasoning(
            self.identity, self.fields, _joined(self.literals), self.field, self.encrypted
        )

    def begin(self) -> Iterator[EventMembers]:
        if self.field == THOUGHT:
            yield b"response.content_part.added", self.where + b',"part":{"type":"reasoning_text","text":""}'
        else:
            yield b"response.reasoning_summary_part.added", self.where + b',"part":{"type":"summary_text","text":""}'

    def closing(self) -> Iterator[EventMembers]:
        if not self.literals:
            return
        literal = _joined(self.literals)
        if self.field == THOUGHT:
            yield b"response.reasoning_text.done", self.where + b',"text":' + literal
            part = b',"part":{"type":"reasoning_text","text":%b}' % literal
            yield b"response.content_part.done", self.where + part
            return
        yield b"response.reasoning_summary_text.done", self.where + b',"text":' + literal
        part = b',"part":{"type":"summary_text","text":%b}' % literal
        yield b"response.reasoning_summary_part.done", self.where + part


class OpenFunctionCall:
    """A call of a function, or of a custom tool, which takes plain text."""

    __slots__ = ("ended", "fields", "identity", "literals", "place", "started", "where")

    def __init__(self, place: int, identity: Json, fields: Mapping[str, Json], started: CallStarted) -> None:
        self.place = place
        self.identity = identity
        self.fields = fields
        self.started = started
        self.literals: list[bytes] = []
        self.ended = False
        self.where = b'"item_id":%b,"output_index":%d' % (identity, place)

    @property
    def delta_name(self) -> bytes:
        custom = self.started.custom
        return b"response.custom_tool_call_input.delta" if custom else b"response.function_call_arguments.delta"

    @property
    def done_name(self) -> bytes:
        custom = self.started.custom
        return b"response.custom_tool_call_input.done" if custom else b"response.function_call_arguments.done"

    def item(self, status: bytes) -> Json:
        started = self.started
        words = self._argument_text() if status == b"completed" else EMPTY
        return output_items.render_call(
            self.identity, self.fields, started.id, started.name, started.custom, words, status
        )

    def closing(self) -> bytes:
        if self.started.custom:
            return self.where + b',"input":' + self._argument_text()
        return self.where + b',"name":%b,"arguments":%b' % (quote(self.started.name), self._argument_text())

    def _argument_text(self) -> bytes:
        """The arguments; an empty object for a call without any."""
        if not self.literals and not self.started.custom:
            return b'"{}"'
        return _joined(self.literals)
