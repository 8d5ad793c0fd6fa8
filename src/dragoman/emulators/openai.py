"""OpenAI, Chat Completions.

The order of the checks is measured on gpt-5.6: model, messages, unknown keys, each field in turn, what the model
supports, missing content, pairs of calls and results.
"""

from __future__ import annotations

from dragoman.emulators import openai_messages as messages
from dragoman.emulators import openai_settings as settings
from dragoman.emulators import openai_tools as tools
from dragoman.emulators.chat_answers import AnswerStyle, detailed_usage
from dragoman.emulators.chat_service import NOT_JSON, ChatRefusal, ChatService, Check
from dragoman.emulators.openai_types import missing
from dragoman.emulators.provider import EmulatedProvider, EmulatorOptions, ReceivedRequest

ANSWER_STYLE = AnswerStyle(
    render_usage=detailed_usage,
    top_fields={"service_tier": "default", "system_fingerprint": "fp_emulated"},
    message_fields={"refusal": None, "annotations": []},
)


def check_model(request: ReceivedRequest) -> ChatRefusal | None:
    if request.model:
        return None
    return ChatRefusal(400, "you must provide a model parameter")


def check_messages_given(request: ReceivedRequest) -> ChatRefusal | None:
    return missing("messages") if request.body.get("messages") is None else None


CHECKS: tuple[Check, ...] = (
    check_model,
    check_messages_given,
    settings.check_known,
    messages.check_shape,
    tools.check_tools,
    tools.check_tool_choice,
    settings.check_types,
    tools.check_response_format,
    messages.check_capabilities,
    settings.check_supported,
    messages.check_content,
    settings.check_json_mentioned,
    messages.check_pairs,
)


def provider(options: EmulatorOptions) -> EmulatedProvider:
    """The emulator of `api.openai.com`."""
    hint = (
        " (HINT: This likely means you aren't using your HTTP library correctly. The OpenAI API expects a JSON payload,"
        " but what was sent was not valid JSON.)"
    )
    return ChatService(
        name="openai",
        options=options,
        checks=CHECKS,
        style=ANSWER_STYLE,
        not_json=ChatRefusal(400, NOT_JSON.message + hint),
        listed_models=("gpt-4o", "gpt-4o-mini", "gpt-4.1", "gpt-5-mini", "gpt-5.4", "gpt-5.6", "o4-mini"),
    )
