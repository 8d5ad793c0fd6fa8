"""OpenAI, Chat Completions.

Faults come in the order measured on gpt-5.6: model, messages, unknown keys, the walk through the fields, what the model
supports, missing content, pairing.
"""

from __future__ import annotations

from dragoman.emulators import openai_messages as messages
from dragoman.emulators import openai_settings as settings
from dragoman.emulators import openai_tools as tools
from dragoman.emulators.chat_answers import Voice, detailed_usage
from dragoman.emulators.chat_service import NOT_JSON, Chat, Check, Complaint
from dragoman.emulators.openai_types import missing
from dragoman.emulators.provider import Options, Provider, Received

VOICE = Voice(
    usage_shape=detailed_usage,
    top={"service_tier": "default", "system_fingerprint": "fp_emulated"},
    message={"refusal": None, "annotations": []},
)


def names_model(call: Received) -> Complaint | None:
    if call.model:
        return None
    return Complaint(400, "you must provide a model parameter")


def has_messages(call: Received) -> Complaint | None:
    return missing("messages") if call.body.get("messages") is None else None


CHECKS: tuple[Check, ...] = (
    names_model,
    has_messages,
    settings.known,
    messages.shape,
    tools.tools,
    tools.tool_choice,
    settings.typed,
    tools.response_format,
    messages.capable,
    settings.supported,
    messages.present,
    settings.says_json,
    messages.paired,
)


def provider(options: Options) -> Provider:
    """The emulator of `api.openai.com`."""
    hint = (
        " (HINT: This likely means you aren't using your HTTP library correctly. The OpenAI API expects a JSON payload,"
        " but what was sent was not valid JSON.)"
    )
    return Chat(
        name="openai",
        options=options,
        checks=CHECKS,
        voice=VOICE,
        not_json=Complaint(400, NOT_JSON.message + hint),
        offers=("gpt-4o", "gpt-4o-mini", "gpt-4.1", "gpt-5-mini", "gpt-5.4", "gpt-5.6", "o4-mini"),
    )
