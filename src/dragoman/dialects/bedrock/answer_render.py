"""A reply as a Converse answer, and what its streams share with it."""

from __future__ import annotations

from dragoman.conversation.collect import tell
from dragoman.conversation.events import CallStarted
from dragoman.conversation.literals import join_texts, quote, unquote
from dragoman.conversation.parts import Json
from dragoman.conversation.replies import Reply, Usage
from dragoman.dialects.bedrock import NAME
from dragoman.dialects.bedrock.answer_parse import DETAILS, LONG, SHORT, STOPS
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.families.block_builder import TEXT, THINKING, TOOL, BlockBuilder, BlockCollector, BlockForm
from dragoman.dialects.families.call_input import call_input
from dragoman.dialects.shared.citations import LOCATIONS, Page, Passage
from dragoman.dialects.shared.ownership import own_fields
from dragoman.dialects.shared.raw_json import decode_members, encode
from dragoman.wire.json_reader import render_list, render_object

IN_STOP = ("additionalModelResponseFields",)
"""Members that a stream has beside its stop. The others come with the usage."""
_NO_METRICS: dict[str, Json] = {"metrics": b'{"latencyMs":0}'}


def _render_call(call: CallStarted) -> Json:
    head = {"toolUseId": quote(call.id), "name": quote(call.name)}
    return render_object({**head, **own_fields(call.extras, NAME)})


def _render_redacted(data: Json) -> Json:
    return b'{"reasoningContent":{"redactedContent":' + data + b"}}"


def _render_citation(page: Page) -> Json:
    return encode({"title": page.title or page.url, "location": {"web": {"url": page.url}}})


def _render_passage(passage: Passage) -> Json:
    place = {"documentIndex": passage.document, "start": passage.start, "end": passage.end}
    titled = {} if passage.title is None else {"title": passage.title}
    words = {"sourceContent": [{"text": passage.words}], "location": {LOCATIONS[passage.unit]: place}}
    return encode({**titled, **words})


BLOCKS = BlockForm(NAME, b"", b"", _render_call, _render_redacted, citation=_render_citation, passage=_render_passage)


def stop_reason(blocks: BlockBuilder) -> Json:
    stop = blocks.stop
    return quote(STOPS.render(stop.reason, stop.word)) if stop is not None else b'"end_turn"'


def late_fields(blocks: BlockBuilder) -> dict[str, Json]:
    """What came with the stop, and the time that an answer of another provider does not tell."""
    return _NO_METRICS | (own_fields(blocks.stop.extras, NAME) if blocks.stop is not None else {})


def render_answer(reply: Reply, context: AnswerContext) -> bytes:
    """The reply as one answer."""
    whole = _BedrockAnswerRenderer(BLOCKS, context.hides_reasoning)
    for event in tell(reply):
        whole.take(event)
    return whole.body


class _BedrockAnswerRenderer(BlockCollector):
    """One message."""

    __slots__ = ()

    def closed_block(self) -> bytes:
        text = join_texts("", self._literals)
        if self._kind_open is TEXT and self._citations:
            cited = render_list(self._citations)
            return b'{"citationsContent":{"content":[{"text":%b}],"citations":%b}}' % (text, cited)
        if self._kind_open is TEXT:
            return b'{"text":%b}' % text
        if self._kind_open is THINKING:
            signed = b',"signature":%b' % self._signature if self._signature else b""
            return b'{"reasoningContent":{"reasoningText":{"text":%b%b}}}' % (text, signed)
        if self._kind_open is TOOL:
            fields = decode_members(self._opened)
            return b'{"toolUse":%b}' % render_object({**fields, "input": call_input(unquote(text))})
        return self._opened

    def finish(self) -> None:
        message = b'{"message":{"role":"assistant","content":%b}}' % render_list(self._blocks)
        self.body = render_object(
            {
                "output": message,
                "stopReason": stop_reason(self),
                "usage": render_usage(self.usage),
                **late_fields(self),
            }
        )


# Usage


def render_usage(usage: Usage | None) -> Json:
    """All counts. They add up, even if a server reports more cached tokens than input."""
    usage = usage or Usage()
    read = min(usage.cached, usage.input)
    written = min(usage.cache_written, usage.input - read)
    counts = {
        "inputTokens": usage.input - read - written,
        "outputTokens": usage.output,
        "totalTokens": usage.input + usage.output,
        "cacheReadInputTokens": read,
        "cacheWriteInputTokens": written,
    }
    fields: dict[str, Json] = {key: b"%d" % value for key, value in counts.items()}
    kept = [{"ttl": LONG, "inputTokens": usage.kept_long}, {"ttl": SHORT, "inputTokens": usage.kept_short}]
    if details := [one for one in kept if one["inputTokens"]]:
        fields[DETAILS] = encode(details)
    return render_object(fields | own_fields(usage.extras, NAME))
