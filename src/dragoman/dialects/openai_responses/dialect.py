"""The dialect `openai-responses`."""

from __future__ import annotations

import msgspec

from dragoman.conversation.conversation import Conversation
from dragoman.conversation.provider_tools import ProviderToolCodec
from dragoman.dialects.contracts.background import BackgroundForm
from dragoman.dialects.contracts.compaction import Compactions
from dragoman.dialects.contracts.sockets import SocketFrames
from dragoman.dialects.contracts.stored_answers import ConversationForm, StoredAnswers
from dragoman.dialects.dialect import (
    TEXT,
    AnswerCodec,
    Dialect,
    Endpoint,
    Job,
    Likeness,
    RequestCodec,
    TokenCount,
    UnservedPath,
    fixed_path,
)
from dragoman.dialects.families.openai_endpoints import LIMIT_HEADER, OPENAI_MODELS, RELAYED_PATHS
from dragoman.dialects.openai_responses import ID_PREFIX, NAME
from dragoman.dialects.request_glance import RequestGlance

_COUNTED = frozenset(
    {"conversation", "input", "instructions", "model", "parallel_tool_calls", "personality", "previous_response_id"}
    | {"reasoning", "text", "tool_choice", "tools", "truncation"}
)


def _parse_question(body: bytes) -> bytes:
    """The request that a client wants counted, which is the question itself."""
    return body


def _render_question(body: bytes, model: str) -> bytes:
    """A request without what the counting endpoint does not take."""
    fields = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    return msgspec.json.encode({key: value for key, value in fields.items() if key in _COUNTED})


TOKEN_COUNT = TokenCount(
    "/responses/input_tokens",
    "input_tokens",
    _parse_question,
    _render_question,
    members={"object": "response.input_tokens"},
)


def _recognise(seen: RequestGlance) -> Likeness:
    return Likeness.CERTAIN if "input" in seen.members else Likeness.NONE


def _asks_for_reasoning(conversation: Conversation) -> bool:
    thinking = conversation.settings.thinking
    return thinking is not None and thinking.summary is not None


def _load_requests() -> RequestCodec:
    from dragoman.dialects.openai_responses.request import locate, locate_parts, parse_request, render_request
    from dragoman.dialects.openai_responses.settings import PLACES

    return RequestCodec(parse_request, render_request, locate_parts, PLACES, "input", locate)


def _load_conversations() -> ConversationForm:
    from dragoman.dialects.openai_responses.endpoints.conversations import CONVERSATIONS

    return CONVERSATIONS


def _load_background() -> BackgroundForm:
    from dragoman.dialects.openai_responses.endpoints.background import BACKGROUND

    return BACKGROUND


def _load_compactions() -> Compactions:
    from dragoman.dialects.openai_responses.endpoints.compaction import COMPACTIONS

    return COMPACTIONS


def _load_provider_tools() -> ProviderToolCodec:
    from dragoman.dialects.openai_responses.provider_tools import CODEC

    return CODEC


def _load_answers() -> AnswerCodec:
    from dragoman.dialects.openai_responses.answer_parse import parse_answer
    from dragoman.dialects.openai_responses.answer_render import complete_answer, render_answer, render_error
    from dragoman.dialects.openai_responses.client_items import render_client_call
    from dragoman.dialects.openai_responses.stream import WORDS, ResponsesStreamParser, ResponsesStreamRenderer

    return AnswerCodec(
        parse_answer,
        render_answer,
        ResponsesStreamParser,
        ResponsesStreamRenderer,
        render_error,
        complete=complete_answer,
        streamed_text=WORDS,
        render_client_call=render_client_call,
    )


def _load_stored_answers() -> StoredAnswers:
    from dragoman.dialects.openai_responses.endpoints.stored_answers import STORED_ANSWERS

    return STORED_ANSWERS


def _load_socket_frames() -> SocketFrames:
    from dragoman.dialects.openai_responses.endpoints.socket_frames import SOCKET_FRAMES

    return SOCKET_FRAMES


_WHOLE_HISTORY = "send the whole conversation as `input` with `store: false`, nothing is stored here"
_UNSERVED = (
    UnservedPath("/responses/{id}", _WHOLE_HISTORY, ("GET", "DELETE")),
    UnservedPath("/responses/{id}/cancel", "send the request without `background`, and close the stream", ("POST",)),
    UnservedPath("/responses/{id}/input_items", _WHOLE_HISTORY, ("GET",)),
    UnservedPath("/conversations", _WHOLE_HISTORY, ("POST",)),
    UnservedPath("/conversations/{id}", _WHOLE_HISTORY),
    UnservedPath("/conversations/{id}/items", _WHOLE_HISTORY, ("GET", "POST")),
    UnservedPath("/conversations/{id}/items/{id}", _WHOLE_HISTORY, ("GET", "DELETE")),
)

DIALECT = Dialect(
    name=NAME,
    id_prefix=ID_PREFIX,
    title="OpenAI Responses",
    endpoints=(
        Endpoint(Job.GENERATE, "/responses", "OpenAI Responses", required={"model": TEXT, "input": TEXT}),
        Endpoint(Job.COMPACT, "/responses/compact", "A summary in place of a conversation", required={"model": TEXT}),
        Endpoint(Job.COUNT_TOKENS, "/responses/input_tokens", "Tokens of OpenAI Responses", required={"input": TEXT}),
        Endpoint(Job.SOCKET, "/responses", "OpenAI Responses over a WebSocket", method="GET"),
    ),
    unserved=_UNSERVED,
    lists_items=True,
    prefixes=("/v1", "", "/openai/v1", "/openai"),
    chunk_leftovers=frozenset({"content_filters"}),
    request_path=fixed_path("/responses"),
    passed_headers=("openai-beta",),
    limit_header=LIMIT_HEADER,
    limit_prefixes=("x-ratelimit-", "x-codex-"),
    ping=b": ping\n\n",
    account_headers=("chatgpt-account-id", "openai-organization", "openai-project"),
    relayed_paths=RELAYED_PATHS | {"/responses/compact"},
    recognise=_recognise,
    load_stored_answers=_load_stored_answers,
    load_socket_frames=_load_socket_frames,
    asks_for_reasoning=_asks_for_reasoning,
    token_count=TOKEN_COUNT,
    model_listing=OPENAI_MODELS,
    load_requests=_load_requests,
    load_answers=_load_answers,
    load_provider_tools=_load_provider_tools,
    load_compactions=_load_compactions,
    load_background=_load_background,
    load_conversations=_load_conversations,
)
