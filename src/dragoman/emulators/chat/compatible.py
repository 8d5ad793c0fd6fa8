"""Chat Completions servers: a strict one, a lenient one, and a dozen providers by their `ProviderSpec`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from dragoman.emulators.chat import request_types as chat_types
from dragoman.emulators.chat.openai.request_types import mismatch_refusal, missing, not_among, unknown
from dragoman.emulators.chat.pairs import after_opening, orphan_results, role, unanswered_calls
from dragoman.emulators.chat.providers import COMPATIBLE, ERROR_RENDERERS, PROVIDER_SPECS, UNNAMED, ProviderSpec
from dragoman.emulators.chat.service import ChatRefusal, ChatService, Check, fits, sounds
from dragoman.emulators.chat.thought_signatures import check_signed_calls
from dragoman.emulators.provider import EmulatorOptions, ReceivedRequest

SpecCheck = Callable[[ProviderSpec, ReceivedRequest], None]


def check_required(spec: ProviderSpec, request: ReceivedRequest) -> None:
    """The model, and what is needed to look at messages at all."""
    if spec.needs_model and not request.model:
        raise missing("model")
    fits(chat_types.BARE, mismatch_refusal, nulls=False)(request)


def check_top_fields(spec: ProviderSpec, request: ReceivedRequest) -> None:
    for key in request.body:
        if key in spec.refused_fields or (spec.top_fields is not None and key not in spec.top_fields):
            raise unknown(key)


def check_message_fields(spec: ProviderSpec, request: ReceivedRequest) -> None:
    for at, message in enumerate(request.body["messages"]):
        if spec.roles is not None and message.get("role") not in spec.roles:
            raise not_among(f"messages[{at}].role", message.get("role"), spec.roles)
        unknown_field = _unknown_field(spec, message)
        if unknown_field is not None:
            sentence = spec.unknown_field_sentence.format(at=at, key=unknown_field, role=message["role"])
            raise ChatRefusal(400, sentence, param=f"messages[{at}].{unknown_field}", code=spec.unknown_field_code)


def _unknown_field(spec: ProviderSpec, message: dict[str, Any]) -> str | None:
    if spec.message_fields is None:
        return None
    return next((key for key in message if key not in spec.message_fields[message["role"]]), None)


def check_contents(spec: ProviderSpec, request: ReceivedRequest) -> None:
    if spec.sound_refusal is not None and any(":" not in sound for sound in sounds(request)):
        raise replace(spec.sound_refusal)
    for at, message in enumerate(request.body["messages"]):
        is_empty = not message.get("content") and not message.get("tool_calls")
        if role(message) == "assistant" and is_empty and spec.empty_assistant_refusal is not None:
            raise replace(spec.empty_assistant_refusal)
        is_needed = role(message) != "assistant" or is_empty
        if message.get("content") is None and is_needed and not spec.null_content:
            raise missing(f"messages[{at}].content")


def check_order(spec: ProviderSpec, request: ReceivedRequest) -> None:
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


def check_pairs(spec: ProviderSpec, request: ReceivedRequest) -> None:
    messages = request.body["messages"]
    unanswered = next(unanswered_calls(messages), None)
    if unanswered is not None and spec.unanswered_sentence is not None:
        sentence = spec.unanswered_sentence.format(ids=", ".join(unanswered.missing), at=unanswered.until)
        raise ChatRefusal(400, sentence, param=f"messages.[{unanswered.until}].role")
    orphan = next(orphan_results(messages), None)
    if orphan is not None and spec.orphan_sentence is not None:
        sentence = spec.orphan_sentence.format(id=messages[orphan].get("tool_call_id"), at=orphan)
        raise ChatRefusal(400, sentence, param=f"messages.[{orphan}].role")


def check_reasoning(spec: ProviderSpec, request: ReceivedRequest) -> None:
    """Thinking models require the reasoning that led to a tool call."""
    if spec.reasoning_required_sentence is None or _is_not_thinking(spec, request):
        return
    for at, message in enumerate(request.body["messages"]):
        if message.get("tool_calls") and message.get("reasoning_content") is None:
            raise ChatRefusal(400, spec.reasoning_required_sentence.format(at=at))


def _is_not_thinking(spec: ProviderSpec, request: ReceivedRequest) -> bool:
    thinking = request.body.get("thinking")
    if isinstance(thinking, dict) and "type" in thinking:
        return bool(thinking["type"] == "disabled")
    return spec.thinking_models is not None and re.search(spec.thinking_models, request.model) is None


def check_ranges(spec: ProviderSpec, request: ReceivedRequest) -> None:
    """Ranges, if the provider is known to check them."""
    for name, (least, most) in spec.ranges.items():
        value = request.body.get(name)
        if isinstance(value, int | float) and not least <= value <= most and spec.range_refusal is not None:
            raise spec.range_refusal(name)


def check_published(spec: ProviderSpec, request: ReceivedRequest) -> None:
    """The published types. Null for a known top-level key counts as absent."""
    fits(spec.published, spec.mismatch, nulls=False)(request)


SPEC_CHECKS: tuple[SpecCheck, ...] = (
    check_required,
    check_top_fields,
    check_message_fields,
    check_contents,
    check_ranges,
    check_published,
    check_order,
    check_pairs,
    check_reasoning,
)


def _bound(check: SpecCheck, spec: ProviderSpec) -> Check:
    return lambda request: check(spec, request)


def with_options(spec: ProviderSpec, options: EmulatorOptions) -> ProviderSpec:
    """The spec with the caller's options applied."""
    more = options.more
    if more.get("extra_fields") is not None and spec.top_fields is not None:
        spec = replace(spec, top_fields=spec.top_fields | set(more["extra_fields"]))
    if more.get("extra_message_fields") is not None and spec.message_fields is not None:
        extra = frozenset(more["extra_message_fields"])
        message_fields = {role: known | extra for role, known in spec.message_fields.items()}
        spec = replace(spec, message_fields=message_fields)
    return _with_format_options(replace(spec, **_switched_fields(more)), more)


def _switched_fields(more: Mapping[str, Any]) -> Any:
    return {field: value if more[option] else None for option, (field, value) in _SWITCHES.items() if option in more}


def _with_format_options(spec: ProviderSpec, more: Mapping[str, Any]) -> ProviderSpec:
    if "pairing" in more:
        unanswered, orphan = COMPATIBLE.unanswered_sentence, COMPATIBLE.orphan_sentence
        checked = bool(more["pairing"])
        spec = replace(
            spec, unanswered_sentence=unanswered if checked else None, orphan_sentence=orphan if checked else None
        )
    if "roles" in more:
        spec = replace(spec, roles=tuple(more["roles"]))
    if "error_shape" in more:
        spec = replace(spec, render_error=ERROR_RENDERERS[more["error_shape"]])
    if "done" in more:
        spec = replace(spec, style=replace(spec.style, done="[DONE]" if more["done"] else None))
    return spec


# option: the field of the spec that it sets, and the value of the field if the option is on
_SWITCHES: dict[str, tuple[str, Any]] = {
    "alternation": ("alternation_sentence", PROVIDER_SPECS["perplexity"].alternation_sentence),
    "system_first": ("system_first_sentence", "System message must be at the beginning."),
    "reasoning_required": ("reasoning_required_sentence", PROVIDER_SPECS["moonshot"].reasoning_required_sentence),
    "empty_assistant": ("empty_assistant_refusal", COMPATIBLE.empty_assistant_refusal),
}


def _signature_checks(spec: ProviderSpec, options: EmulatorOptions) -> tuple[Check, ...]:
    return (partial(check_signed_calls, strict=options.strict_signatures),) if spec.signed_calls else ()


def provider(options: EmulatorOptions) -> ChatService:
    """The emulator of the provider that the options name."""
    name = options.more.get("provider", "compatible")
    spec = with_options(PROVIDER_SPECS[name], options)
    return ChatService(
        name=name if name != "lenient" else "compatible-lenient",
        options=options,
        checks=spec.checks or (*(_bound(check, spec) for check in SPEC_CHECKS), *_signature_checks(spec, options)),
        style=spec.style,
        root=spec.root,
        further_paths=spec.further_paths,
        render_error=spec.render_error,
        faults=spec.faults,
        example_model=spec.model,
        listed_models=(spec.model,) if spec.model != UNNAMED and spec.needs_model else (),
    )
