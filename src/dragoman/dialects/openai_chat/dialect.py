"""The dialect `openai-chat`."""

from __future__ import annotations

from typing import Any

from dragoman.conversation.conversation import Conversation
from dragoman.conversation.provider_tools import ProviderToolCodec
from dragoman.conversation.settings import Effort
from dragoman.conversation.traits import STREAM_MARKS
from dragoman.dialects.dialect import (
    AT_PROVIDER,
    MODEL_ENDPOINTS,
    SEND_NOW,
    TEXT,
    AnswerCodec,
    Dialect,
    Endpoint,
    Job,
    Likeness,
    RequestCodec,
    UnservedPath,
    fixed_path,
    turns,
)
from dragoman.dialects.families.openai_endpoints import LIMIT_HEADER, OPENAI_MODELS, RELAYED_PATHS
from dragoman.dialects.openai_chat import ID_PREFIX, IN_ANSWER, IN_CHOICE, NAME
from dragoman.dialects.request_glance import RequestGlance
from dragoman.wire.sse import DONE_FRAME

MARKS = IN_ANSWER | IN_CHOICE


def finish_stripped_chunk(chunk: Any) -> Any | None:
    """A chunk from which marks were taken, as clients read it; None if nothing is left of it."""
    choices = chunk.get("choices") if isinstance(chunk, dict) else None
    if not isinstance(choices, list):
        return chunk
    kept = [_with_delta(choice) for choice in choices if _says_something(choice)]
    if not kept and not chunk.get("usage"):
        return None
    return {**chunk, "choices": kept}


def _says_something(choice: Any) -> bool:
    return not isinstance(choice, dict) or "delta" in choice or bool(choice.get("finish_reason"))


def _with_delta(choice: Any) -> Any:
    return {**choice, "delta": {}} if isinstance(choice, dict) and "delta" not in choice else choice


def _recognise(seen: RequestGlance) -> Likeness:
    """Messages alone are no proof: other dialects have them too, with more beside them."""
    return Likeness.NONE


def _asks_for_reasoning(conversation: Conversation) -> bool:
    """By any of the fields that ask a model to think, unless the thinking is to be kept out of the answer."""
    extras = conversation.extras
    if extras is not None and extras.dialect == NAME and extras.fields.get("include_reasoning") == b"true":
        return True
    thinking = conversation.settings.thinking
    if thinking is None or thinking.on is False or thinking.visible is False:
        return False
    return thinking.effort is not Effort.NONE


def _load_requests() -> RequestCodec:
    from dragoman.dialects.openai_chat.request import locate_parts, parse_request, render_request
    from dragoman.dialects.openai_chat.settings import PLACES

    return RequestCodec(parse_request, render_request, locate_parts, PLACES)


def _load_provider_tools() -> ProviderToolCodec:
    from dragoman.dialects.openai_chat.provider_tools import CODEC

    return CODEC


def _load_answers() -> AnswerCodec:
    from dragoman.dialects.openai_chat.answer_parse import parse_answer, peek_usage
    from dragoman.dialects.openai_chat.answer_render import complete_answer, render_answer, render_error
    from dragoman.dialects.openai_chat.stream import (
        WORDS,
        ChatStreamParser,
        ChatStreamRenderer,
        MisreadChunks,
        check_plain_chunk,
        find_choice,
    )

    return AnswerCodec(
        parse_answer,
        render_answer,
        ChatStreamParser,
        stream_renderer=ChatStreamRenderer,
        render_error=render_error,
        peek_usage=peek_usage,
        check_chunk=check_plain_chunk,
        complete=complete_answer,
        streamed_text=WORDS,
        finish_stripped_chunk=finish_stripped_chunk,
        chunk_rewrite=MisreadChunks,
        find_beginning=find_choice,
    )


_TURNS = {"messages": turns("system", "developer", "user", "assistant", "tool")}
_REQUIRED = {"model": TEXT, **_TURNS}

_INLINE = "put the file into the request as a data URL, or ask the provider at its own address"
_UNSERVED = (
    UnservedPath("/chat/completions/{id}", "keep the answers yourself, nothing is stored here", ("GET", "DELETE")),
    UnservedPath("/batches", SEND_NOW, ("GET", "POST")),
    UnservedPath("/batches/{id}", SEND_NOW, ("GET",)),
    UnservedPath("/batches/{id}/cancel", SEND_NOW, ("POST",)),
    UnservedPath("/files", _INLINE, ("GET", "POST")),
    UnservedPath("/files/{id}", _INLINE, ("GET", "DELETE")),
    UnservedPath("/files/{id}/content", _INLINE, ("GET",)),
    UnservedPath("/uploads", _INLINE, ("POST",)),
    UnservedPath("/vector_stores", AT_PROVIDER, ("GET", "POST")),
    UnservedPath("/vector_stores/{id}", AT_PROVIDER, ("GET", "POST", "DELETE")),
    UnservedPath("/containers", AT_PROVIDER, ("GET", "POST")),
    UnservedPath("/containers/{id}", AT_PROVIDER, ("GET", "DELETE")),
)

DIALECT = Dialect(
    name=NAME,
    id_prefix=ID_PREFIX,
    title="OpenAI Chat Completions",
    endpoints=(
        Endpoint(Job.GENERATE, "/chat/completions", "OpenAI Chat Completions", required=_REQUIRED),
        Endpoint(
            Job.GENERATE, "/deployments/{model}/chat/completions", "Chat Completions, as on Azure", required=_TURNS
        ),
        *MODEL_ENDPOINTS,
    ),
    unserved=_UNSERVED,
    prefixes=("/v1", "", "/openai/v1", "/openai"),
    request_path=fixed_path("/chat/completions"),
    passed_headers=("openai-beta",),
    relayed_paths=RELAYED_PATHS,
    limit_header=LIMIT_HEADER,
    limit_prefixes=("x-ratelimit-", "x-codex-"),
    ping=b": ping\n\n",
    account_headers=("chatgpt-account-id", "openai-organization", "openai-project"),
    recognise=_recognise,
    asks_for_reasoning=_asks_for_reasoning,
    usage_members=frozenset({"usage"}),
    stream_end=DONE_FRAME,
    thinking_mark=b'"reasoning',
    chunk_leftovers=STREAM_MARKS | MARKS,
    answer_leftovers=STREAM_MARKS,
    model_listing=OPENAI_MODELS,
    load_requests=_load_requests,
    load_answers=_load_answers,
    load_provider_tools=_load_provider_tools,
    runs_last=True,
)
