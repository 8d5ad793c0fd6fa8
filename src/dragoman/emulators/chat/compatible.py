"""Chat Completions servers that differ from one another in a few rules, which the fields of a service say.

What is not known to be refused is accepted: `None` for a list of fields means that unknown ones are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dragoman.emulators.chat import request_types as chat_types
from dragoman.emulators.chat.answers import AnswerStyle, detailed_usage
from dragoman.emulators.chat.openai.request_types import mismatch_refusal, missing, not_among, unknown
from dragoman.emulators.chat.pairs import after_opening, find_unanswered_calls, orphan_results, role
from dragoman.emulators.chat.reported import thinks_unless_disabled
from dragoman.emulators.chat.service import ChatRefusal, ChatService, Check, MismatchWords, fits, sounds
from dragoman.emulators.chat.thought_signatures import check_signed_calls
from dragoman.emulators.provider import ReceivedRequest
from dragoman.emulators.request_shape import Shape

UNNAMED = "some-model"
ROLES = ("system", "user", "assistant", "tool")
WIDE_ROLES = (*ROLES, "developer", "function")


@dataclass(frozen=True)
class CompatibleService(ChatService):
    """A Chat service whose checks are switched on by its fields, in the order of `COMPATIBLE_CHECKS`."""

    roles: tuple[str, ...] | None = WIDE_ROLES  # None: they are not known to be checked
    message_fields: Mapping[str, frozenset[str]] | None = None  # allowed fields by role; None ignores unknown ones
    unknown_field_sentence: str = "Unknown parameter: 'messages[{at}].{key}'."
    unknown_field_code: str | None = "unknown_parameter"
    top_fields: frozenset[str] | None = None  # allowed top-level fields; None ignores unknown ones
    refused_fields: frozenset[str] = frozenset()  # top-level fields that it refuses although it ignores unknown ones
    alternation_sentence: str | None = None  # refuses two turns of one side in a row
    system_first_sentence: str | None = None  # refuses a system message after the first turn
    reasoning_required_sentence: str | None = None  # refuses a turn with calls and no `reasoning_content`
    signed_calls: bool = False  # Gemini 3 signs calls and wants its signatures back
    thinking_models: str | None = None  # a pattern for the models that think; None: all
    empty_assistant_refusal: ChatRefusal | None = None  # refuses an assistant turn without content and calls
    unanswered_sentence: str | None = None  # refuses a call without its result
    orphan_sentence: str | None = None  # refuses a result without its call
    sound_refusal: ChatRefusal | None = None  # refuses the base64 of a sound without the head of a data URL
    null_content: bool = True  # whether content may be null without calls
    published: Shape = chat_types.TYPED  # the types of the whole request
    mismatch: MismatchWords = mismatch_refusal  # how it refuses what does not fit these types
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # of settings, beside those of the dialect
    range_refusal: Callable[[str], ChatRefusal] | None = None  # how it refuses a value outside of them
    reported: tuple[Check, ...] = ()  # what else it is reported to refuse
    style: AnswerStyle = field(default_factory=lambda: AnswerStyle(render_usage=detailed_usage))
    example_model: str = UNNAMED

    def check(self, request: ReceivedRequest) -> None:
        super().check(request)
        for check in () if self.checks else COMPATIBLE_CHECKS:
            check(self, request)
        for refuse_reported in self.reported:
            refuse_reported(request)


def check_required(spec: CompatibleService, request: ReceivedRequest) -> None:
    """The model, and what is needed to look at messages at all."""
    if not request.model:
        raise missing("model")
    fits(chat_types.BARE, mismatch_refusal, nulls=False)(request)


def check_top_fields(spec: CompatibleService, request: ReceivedRequest) -> None:
    for key in request.body:
        if key in spec.refused_fields or (spec.top_fields is not None and key not in spec.top_fields):
            raise unknown(key)


def check_message_fields(spec: CompatibleService, request: ReceivedRequest) -> None:
    for at, message in enumerate(request.body["messages"]):
        if spec.roles is not None and message.get("role") not in spec.roles:
            raise not_among(f"messages[{at}].role", message.get("role"), spec.roles)
        unknown_field = _unknown_field(spec, message)
        if unknown_field is not None:
            sentence = spec.unknown_field_sentence.format(at=at, key=unknown_field, role=message["role"])
            raise ChatRefusal(400, sentence, param=f"messages[{at}].{unknown_field}", code=spec.unknown_field_code)


def _unknown_field(spec: CompatibleService, message: dict[str, Any]) -> str | None:
    if spec.message_fields is None:
        return None
    return next((key for key in message if key not in spec.message_fields[message["role"]]), None)


def check_contents(spec: CompatibleService, request: ReceivedRequest) -> None:
    if spec.sound_refusal is not None and any(":" not in sound for sound in sounds(request)):
        raise replace(spec.sound_refusal)
    for at, message in enumerate(request.body["messages"]):
        is_empty = not message.get("content") and not message.get("tool_calls")
        if role(message) == "assistant" and is_empty and spec.empty_assistant_refusal is not None:
            raise replace(spec.empty_assistant_refusal)
        is_needed = role(message) != "assistant" or is_empty
        if message.get("content") is None and is_needed and not spec.null_content:
            raise missing(f"messages[{at}].content")


def check_order(spec: CompatibleService, request: ReceivedRequest) -> None:
    """System messages come first, then both sides alternate."""
    turns = after_opening(request.body["messages"])
    late = any(role(message) in ("system", "developer") for message in turns)
    if late and spec.system_first_sentence is not None:
        raise ChatRefusal(400, spec.system_first_sentence, "invalid_message")
    if spec.alternation_sentence is not None and not _alternates(turns):
        raise ChatRefusal(400, spec.alternation_sentence, "invalid_message")


def _alternates(turns: list[Any]) -> bool:
    """Whether user or tool turns alternate with assistant turns. Several results in a row count as one turn."""
    last = "assistant"
    for turn in turns:
        side = "assistant" if role(turn) == "assistant" else role(turn)
        if (side == "assistant") == (last == "assistant") and not side == last == "tool":
            return False
        last = side
    return True


def check_pairs(spec: CompatibleService, request: ReceivedRequest) -> None:
    messages = request.body["messages"]
    unanswered = next(find_unanswered_calls(messages), None)
    if unanswered is not None and spec.unanswered_sentence is not None:
        sentence = spec.unanswered_sentence.format(ids=", ".join(unanswered.missing), at=unanswered.until)
        raise ChatRefusal(400, sentence, param=f"messages.[{unanswered.until}].role")
    orphan = next(orphan_results(messages), None)
    if orphan is not None and spec.orphan_sentence is not None:
        sentence = spec.orphan_sentence.format(id=messages[orphan].get("tool_call_id"), at=orphan)
        raise ChatRefusal(400, sentence, param=f"messages.[{orphan}].role")


def check_reasoning(spec: CompatibleService, request: ReceivedRequest) -> None:
    """Thinking models require the reasoning that led to a tool call."""
    if spec.reasoning_required_sentence is None or _is_not_thinking(spec, request):
        return
    for at, message in enumerate(request.body["messages"]):
        if message.get("tool_calls") and message.get("reasoning_content") is None:
            raise ChatRefusal(400, spec.reasoning_required_sentence.format(at=at))


def _is_not_thinking(spec: CompatibleService, request: ReceivedRequest) -> bool:
    return not thinks_unless_disabled(request, spec.thinking_models or "")


def check_ranges(spec: CompatibleService, request: ReceivedRequest) -> None:
    """Ranges, if the provider is known to check them."""
    for name, (least, most) in spec.ranges.items():
        value = request.body.get(name)
        if isinstance(value, int | float) and not least <= value <= most and spec.range_refusal is not None:
            raise spec.range_refusal(name)


def check_published(spec: CompatibleService, request: ReceivedRequest) -> None:
    """The published types. Null for a known top-level key counts as absent."""
    fits(spec.published, spec.mismatch, nulls=False)(request)


def check_signatures(spec: CompatibleService, request: ReceivedRequest) -> None:
    """The signatures of calls, of a service that gives them."""
    if spec.signed_calls:
        check_signed_calls(request, spec.options.strict_signatures)


COMPATIBLE_CHECKS: tuple[Callable[[CompatibleService, ReceivedRequest], None], ...] = (
    check_required,
    check_top_fields,
    check_message_fields,
    check_contents,
    check_ranges,
    check_published,
    check_order,
    check_pairs,
    check_reasoning,
    check_signatures,
)
