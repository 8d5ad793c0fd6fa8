"""OpenAI, Chat Completions.

The order of the checks is measured on gpt-5.6: model, messages, unknown keys, each field in turn, what the model
supports, missing content, pairs of calls and results.
"""

from __future__ import annotations

import re
from functools import cache

from dragoman.emulators.chat import request_types as chat_types
from dragoman.emulators.chat.answers import AnswerStyle, detailed_usage
from dragoman.emulators.chat.found_pages import render_citations
from dragoman.emulators.chat.openai import messages as messages
from dragoman.emulators.chat.openai import settings as settings
from dragoman.emulators.chat.openai import tools as tools
from dragoman.emulators.chat.openai.models import chat_model
from dragoman.emulators.chat.openai.request_types import mismatch_refusal, missing
from dragoman.emulators.chat.service import NOT_JSON, ChatRefusal, ChatService, Check, fits
from dragoman.emulators.provider import EmulatedProvider, EmulatorOptions, ReceivedRequest
from dragoman.emulators.request_shape import RecordShape, Shape, text_up_to

ANSWER_STYLE = AnswerStyle(
    render_usage=detailed_usage,
    top_fields={"service_tier": "default", "system_fingerprint": "fp_emulated"},
    message_fields={"refusal": None, "annotations": []},
    run_fields=render_citations,
)


def check_model(request: ReceivedRequest) -> None:
    if not request.model:
        raise ChatRefusal(400, "you must provide a model parameter")


_ELSEWHERE = re.compile(r"gpt-5.*codex|codex-mini|gpt-5(\.[2-9])?-pro|o[13]-pro|.*deep-research|computer-use-preview")


def check_served(request: ReceivedRequest) -> None:
    """Models that Responses alone has."""
    if _ELSEWHERE.match(chat_model(request.model).name):
        sentence = "This model is only supported in v1/responses and not in v1/chat/completions."
        raise ChatRefusal(404, sentence, param="model")


def check_messages_given(request: ReceivedRequest) -> None:
    if request.body.get("messages") is None:
        raise missing("messages")


@cache
def _make_published(longest_id: int, numbered_calls: bool) -> RecordShape:
    """The published types, what recorded requests show as accepted beyond them, and limits that OpenAI reports."""
    more: dict[str, Shape] = {
        "messages": messages.shape(longest_id, numbered_calls),
        "tools": tools.declared,
        "response_format": tools.RESPONSE_FORMAT,
        "stop": settings.stop,
        "metadata": settings.metadata,
        "user": text_up_to(64),
        "prompt_cache_key": text_up_to(64),
        "safety_identifier": text_up_to(128),  # 64 in the OpenAPI, 128 in the package
    }
    return chat_types.REQUEST.adding(more, required=("messages",))


def check_published(request: ReceivedRequest) -> None:
    """The published types.

    Null for a known top-level key counts as absent: recorded for `tools`, `tool_choice` and `response_format`, whose
    types do not allow it.
    """
    model = chat_model(request.model)
    on_4_1 = model.name.startswith("gpt-4.1")  # recorded once, on that family: calls with `index`
    fits(_make_published(messages.longest_id(model), on_4_1), mismatch_refusal, nulls=False)(request)


CHECKS: tuple[Check, ...] = (
    check_model,
    check_served,
    settings.check_retention,
    check_messages_given,
    settings.check_known,
    check_published,
    tools.check_choice,
    settings.check_stream_options,
    messages.check_capabilities,
    settings.check_supported,
    messages.check_content,
    settings.check_json_mentioned,
    messages.check_pairs,
)

DEPLOYED = tuple([check for check in CHECKS if check not in (check_model, settings.check_retention)])
"""Those of a deployment: the path may name the model, and a prompt may be cached in memory."""


LISTED = ("gpt-4o", "gpt-4o-mini", "gpt-4.1", "gpt-5-mini", "gpt-5.2", "gpt-5.4", "gpt-5.6", "o4-mini")


def provider(options: EmulatorOptions) -> EmulatedProvider:
    """The emulator of Chat Completions at `api.openai.com`."""
    hint = (
        " (HINT: This likely means you aren't using your HTTP library correctly. The OpenAI API expects a JSON payload,"
        " but what was sent was not valid JSON.)"
    )
    return ChatService(
        name="openai",
        options=options,
        checks=CHECKS,
        style=ANSWER_STYLE,
        unreadable=ChatRefusal(400, NOT_JSON.message + hint),
        known_models=LISTED,
    )
