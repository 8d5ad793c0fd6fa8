"""DeepSeek: ignores unknown keys, checks types strictly, and requires its reasoning back.

v4 thinks by default. While it thinks, every assistant turn that called tools must return its `reasoning_content`
(empty text is accepted), and a tool cannot be forced.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from dragoman.emulators.chat.answers import AnswerStyle, UsagePlace, plain_usage
from dragoman.emulators.chat.openai.request_types import bracketed, empty_array, too_long
from dragoman.emulators.chat.openai.settings import lacks_json_word
from dragoman.emulators.chat.openai.tools import find_odd_pattern
from dragoman.emulators.chat.pairs import find_unanswered_calls, orphan_results, role
from dragoman.emulators.chat.service import ChatRefusal, ChatService, fits
from dragoman.emulators.provider import EmulatedProvider, EmulatorOptions, FaultKind, ReceivedRequest
from dragoman.emulators.request_shape import (
    MismatchKind,
    Path,
    RecordShape,
    ShapeMismatch,
    boolean,
    complete,
    either,
    integer,
    items,
    mapping,
    nullable,
    number,
    tagged,
    text,
)
from dragoman.emulators.usage import DEEPSEEK, TokenUsage
from dragoman.emulators.wire import make_id

_USER_ID = re.compile(r"[a-zA-Z0-9_-]+")
_call = complete(function=complete(name=text, arguments=text).opened()).adding({"id": text, "type": text}).opened()
_part = complete(type=text, text=text).opened()
_content = either("a string or a sequence", text=text, items=items(tagged("type", {"text": _part})))
_saying = complete(role=text, content=_content).adding({"name": nullable(text)}).opened()
_MESSAGES = {
    "system": _saying,
    "user": _saying,
    "assistant": RecordShape(
        {
            "content": nullable(_content),
            **dict.fromkeys(("name", "reasoning_content"), nullable(text)),
            "tool_calls": nullable(items(_call)),
        },
        open=True,
    ),
    "tool": _saying.adding({"tool_call_id": text}, required=("role", "tool_call_id", "content")),
}
_function = complete(name=text).adding({"description": nullable(text), "parameters": mapping}).opened()
_tool = tagged("type", {"function": complete(type=text, function=_function).opened()})
_choice = complete(type=text, function=complete(name=text).opened()).opened()
# The types of known keys: the service parses into typed values, and ignores keys that it does not know.
_REQUEST = RecordShape(
    {
        "messages": items(tagged("role", _MESSAGES)),
        **dict.fromkeys(("temperature", "top_p", "frequency_penalty", "presence_penalty"), nullable(number)),
        **dict.fromkeys(("max_tokens", "top_logprobs"), nullable(integer)),
        **dict.fromkeys(("logprobs", "stream"), nullable(boolean)),
        "tools": nullable(items(_tool, nonempty=True)),
        "tool_choice": nullable(either("a string or an object", text=text, keys=_choice)),  # other words are not known
        "response_format": nullable(complete(type=text).opened()),
        "model": text,
        "stream_options": nullable(RecordShape({"include_usage": nullable(boolean)}, open=True)),
        "stop": nullable(either("a string or a sequence", text=text, items=items(text))),
    },
    required=("messages", "model"),
    open=True,
)


def refuse(sentence: str) -> ChatRefusal:
    return ChatRefusal(400, sentence, code="invalid_request_error")


def _refuse_type(request: ReceivedRequest, sentence: str) -> ChatRefusal:
    place = f" at line 1 column {len(request.raw)}"
    return refuse(f"Failed to deserialize the JSON body into the target type: {sentence}{place}")


def _refuse_mismatch(mismatch: ShapeMismatch, request: ReceivedRequest) -> ChatRefusal:
    if mismatch.kind is MismatchKind.EMPTY_LIST:
        raise replace(empty_array(bracketed(mismatch.path)), param=None, code="invalid_request_error")
    place, words = _mismatch_words(mismatch)
    raise _refuse_type(request, f"{bracketed(place)}: {words}" if place else words)


def _mismatch_words(mismatch: ShapeMismatch) -> tuple[Path, str]:
    """Where it is told, and how. What is wrong with a part is told of its message."""
    path = mismatch.path
    match mismatch.kind:
        case MismatchKind.MISSING:
            return path[:-1], f"missing field `{path[-1]}`"
        case MismatchKind.CHOICE | MismatchKind.TAG:
            known = ", ".join(f"`{one}`" for one in mismatch.choices)
            expected = f"expected one of {known}" if len(mismatch.choices) > 1 else f"expected {known}"
            return path[:2] if "content" in path else path, f"unknown variant `{mismatch.value}`, {expected}"
        case _:
            return path, f"invalid type: expected {mismatch.expected}"


def check_number_and_user(request: ReceivedRequest) -> None:
    """How many answers, and the form of a user id."""
    if request.body.get("n") not in (None, 1):
        raise refuse("Invalid n value (currently only n = 1 is supported)")
    user_id = request.body.get("user_id")
    if user_id is None:
        return
    if not isinstance(user_id, str) or not _USER_ID.fullmatch(user_id):
        sentence = "string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
        raise refuse(f"Invalid 'user_id': {sentence}")
    if len(user_id) > 512:
        raise replace(too_long("user_id", 512, user_id), code="invalid_request_error")


def check_stops(request: ReceivedRequest) -> None:
    """https://github.com/continuedev/continue/issues/1513; how many, says DeepSeek's reference."""
    stop = request.body.get("stop")
    if isinstance(stop, list) and len(stop) > 16:
        raise refuse("Stop string array too long")


def check_response_format(request: ReceivedRequest) -> None:
    """JSON mode only: https://github.com/UKGovernmentBEIS/inspect_ai/issues/4916, August 2026."""
    response_format = request.body.get("response_format")
    if isinstance(response_format, dict) and response_format["type"] not in ("text", "json_object"):
        raise refuse("This response_format type is unavailable now")
    if lacks_json_word(request):  # https://github.com/browserbase/stagehand/issues/1204
        sentence = "Prompt must contain the word 'json' in some form to use 'response_format' of type 'json_object'."
        raise refuse(sentence)


def thinks(request: ReceivedRequest) -> bool:
    """Whether the model thinks for this request. v4 and the reasoner do by default, deepseek-chat if it is told to."""
    thinking = request.body.get("thinking")
    if isinstance(thinking, dict) and thinking.get("type") in ("enabled", "disabled"):
        return bool(thinking["type"] == "enabled")
    return "v4" in request.model or "reasoner" in request.model


def check_schemas(request: ReceivedRequest) -> None:
    """The arguments of a tool are an object (https://github.com/Kilo-Org/kilocode/issues/12237)."""
    for tool in request.body.get("tools") or ():
        schema = (tool.get("function") or {}).get("parameters")
        if schema is not None and (kind := schema.get("type")) != "object":
            name, found = tool["function"]["name"], "null" if kind is None else f'"{kind}"'
            raise refuse(
                f"Invalid schema for function '{name}': schema must be a JSON Schema of 'type: \"object\"', got "
                f"'type: {found}'."
            )
        odd = find_odd_pattern(schema)
        if odd is not None:  # https://github.com/anthropics/claude-code/issues/92964
            raise refuse(f'Invalid schema for function \'{tool["function"]["name"]}\': "{odd}" is not a "regex"')


def check_names(request: ReceivedRequest) -> None:
    names = [(tool.get("function") or {}).get("name") for tool in request.body.get("tools") or ()]
    if len(names) != len(set(names)):
        raise refuse("Tool names must be unique.")


def check_tool_choice(request: ReceivedRequest) -> None:
    choice = request.body.get("tool_choice")
    forced = choice == "required" or isinstance(choice, dict)
    if not forced or not thinks(request):
        return
    if "reasoner" in request.model:  # https://github.com/deepseek-ai/DeepSeek-R1/issues/836, April 2026
        raise refuse("deepseek-reasoner does not support this tool_choice")
    raise refuse("Thinking mode does not support this tool_choice")


def check_reasoning(request: ReceivedRequest) -> None:
    """If tools are called between two turns of the user, all turns between them must carry reasoning, be it empty.
    Models before v4 name the one that lacks it: https://github.com/deepseek-ai/DeepSeek-V3/issues/1053, December 2025.
    The last message may be the beginning of the answer."""
    if not thinks(request):
        return
    called, last = False, len(request.body["messages"]) - 1
    for at, message in enumerate(request.body["messages"]):
        called = role(message) != "user" and (called or bool(message.get("tool_calls")))
        demands = message.get("tool_calls") or (role(message) == "assistant" and at < last)
        if called and demands and message.get("reasoning_content") is None:
            if "v4" in request.model:
                raise refuse("The reasoning_content in the thinking mode must be passed back to the API.")
            raise refuse(
                f"Missing `reasoning_content` field in the assistant message at message index {at}. For more"
                " information, please refer to https://api-docs.deepseek.com/guides/thinking_mode#tool-calls"
            )


def check_pairs(request: ReceivedRequest) -> None:
    messages = request.body["messages"]
    unanswered = next(find_unanswered_calls(messages), None)
    orphan = next(orphan_results(messages), None)
    # a turn between two results: the second one is reported (Factory-AI/factory#31)
    begun = unanswered is not None and unanswered.until > unanswered.at + 1
    if orphan is not None and (unanswered is None or begun or orphan < unanswered.at):
        raise refuse("Messages with role 'tool' must be a response to a preceding message with 'tool_calls'")
    if unanswered is not None:
        raise refuse(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each"
            " 'tool_call_id'. (insufficient tool messages following tool_calls message)"
        )


def _render_usage(usage: TokenUsage) -> dict[str, Any]:
    fields = {
        **plain_usage(usage),
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        "prompt_cache_hit_tokens": usage.cached,
        "prompt_cache_miss_tokens": usage.input - usage.cached,
    }
    if usage.reasoning:
        fields["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning}
    return fields


def _gives_reasoning(request: ReceivedRequest) -> bool:
    """Recorded: never with thinking disabled (39), never from deepseek-chat unless told to think (27), else always
    (27)."""
    thinking = request.body.get("thinking")
    if isinstance(thinking, dict) and thinking.get("type") in ("enabled", "disabled"):
        return bool(thinking["type"] == "enabled")
    return "deepseek-chat" not in request.model


ANSWER_STYLE = AnswerStyle(
    overhead=DEEPSEEK,
    answer_id=lambda seed: make_id("", 32, seed, alphabet="0123456789abcdef"),
    call_id=lambda seed, index: make_id(f"call_{index:02d}_", 24, seed, index),
    reasoning_field="reasoning_content",
    thinks=_gives_reasoning,
    usage_place=UsagePlace.FINISH,
    render_usage=_render_usage,
    numbered_calls=True,
    empty_content="",
    top_fields={"system_fingerprint": "fp_emulated_deepseek"},
)

FAULTS = {
    FaultKind.AUTH: ChatRefusal(
        401,
        "Authentication Fails, Your api key: ****-key is invalid",
        "authentication_error",
        code="invalid_request_error",
    ),
    FaultKind.MODEL: ChatRefusal(
        400,
        "The supported API model names are deepseek-v4-pro or deepseek-v4-flash, but you passed {model}.",
        code="invalid_request_error",
    ),
    FaultKind.CONTEXT: ChatRefusal(
        400,
        "This model's maximum context length is {limit[1048565]} tokens. However, you requested {tokens} tokens"
        " ({tokens} in the messages, 0 in the completion). Please reduce the length of the messages or completion.",
        code="invalid_request_error",
    ),
}


def provider(options: EmulatorOptions) -> EmulatedProvider:
    """The emulator of `api.deepseek.com`, with and without `/v1`."""
    return ChatService(
        name="deepseek",
        options=options,
        checks=(
            fits(_REQUEST, _refuse_mismatch),
            check_number_and_user,
            check_stops,
            check_response_format,
            check_schemas,
            check_names,
            check_tool_choice,
            check_reasoning,
            check_pairs,
        ),
        style=ANSWER_STYLE,
        root="",
        further_paths=("/v1/chat/completions", "/beta/chat/completions", "/beta/v1/chat/completions"),
        faults=FAULTS,
        unreadable=refuse("Failed to parse the request body as JSON: expected value at line 1 column 1"),
        example_model="deepseek-v4-flash",
        known_models=("deepseek-v4-flash", "deepseek-v4-pro"),
    )
