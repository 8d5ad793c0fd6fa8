"""A whole Gemini answer from our reply, by the part builder that streams use."""

from __future__ import annotations

from dragoman.conversation.collect import tell
from dragoman.conversation.parts import Json
from dragoman.conversation.replies import Reply
from dragoman.dialects.dialect import AnswerContext, Framing
from dragoman.dialects.gemini.part_builder import PartBuilder, logprobs_result
from dragoman.dialects.gemini.usage import render_usage
from dragoman.wire.json_reader import render_list, render_object


def render_answer(reply: Reply, context: AnswerContext) -> bytes:
    """The reply as one response object, or as an array of one."""
    whole = _GeminiAnswerRenderer(context)
    for event in tell(reply):
        whole.take(event)
    return b"[" + whole.body + b"]" if context.framing is Framing.JSON_ARRAY else whole.body


class _GeminiAnswerRenderer(PartBuilder):
    """Collects parts as the contents of one response."""

    __slots__ = ("_logprobs", "_parts", "body")

    def __init__(self, context: AnswerContext) -> None:
        super().__init__(context)
        self._parts: dict[int, list[bytes]] = {}
        self._logprobs: dict[int, bytes] = {}
        self.body = b""

    def part(self, choice: int, json: Json) -> None:
        self._parts.setdefault(choice, []).append(json)

    def sign(self, choice: int, signature: bytes, thought: bool, fresh: bool) -> None:
        parts = self._parts.setdefault(choice, [])
        if fresh or not parts:
            mark = b',"thought":true' if thought else b""
            parts.append(b'{"text":""%b,"thoughtSignature":%b}' % (mark, signature))
        else:
            parts[-1] = parts[-1][:-1] + b',"thoughtSignature":%b}' % signature

    def logprobs(self, choice: int, tokens: Json) -> None:
        self._logprobs[choice] = logprobs_result(tokens)

    def finish(self) -> None:
        body: dict[str, bytes] = {}
        candidates = []
        for choice, fields in self.stops():
            feedback = fields.pop("promptFeedback", None)
            if feedback is not None:
                body["promptFeedback"] = feedback
            if feedback is not None and choice not in self._parts:
                continue
            parts = self._parts.get(choice)
            content = b'{"parts":%b,"role":"model"}' % render_list(parts) if parts else b'{"role":"model"}'
            if choice in self._logprobs:
                fields["logprobsResult"] = self._logprobs[choice]
            candidates.append(render_object({"content": content, **fields}))
        if candidates:
            body["candidates"] = render_list(candidates)
        if self.usage is not None:
            body["usageMetadata"] = render_usage(self.usage)
        self.body = render_object({**body, **self.head()})
