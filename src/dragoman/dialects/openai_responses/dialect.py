"""The dialect `openai-responses`."""

from __future__ import annotations

import msgspec

from dragoman.conversation.conversation import Conversation
from dragoman.dialects.dialect import TEXT, Dialect, Endpoint, Job, Likeness, TokenCount, UnservedPath, fixed_path
from dragoman.dialects.families.openai_endpoints import LIMIT_HEADER, OPENAI_MODELS, RELAYED_PATHS
from dragoman.dialects.openai_responses import ID_PREFIX, NAME
from dragoman.dialects.request_glance import RequestGlance

_COUNTED = frozenset(
    {"conversation", "input", "instructions", "model", "parallel_tool_calls", "personality", "previous_response_id"}
    | {"reasoning", "text", "tool_choice", "tools", "truncation"}
)


def _render_question(body: bytes, model: str) -> bytes:
    """A request without what the counting endpoint does not take."""
    fields = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    return msgspec.json.encode({key: value for key, value in fields.items() if key in _COUNTED})


TOKEN_COUNT = TokenCount(
    "/responses/input_tokens",
    "input_tokens",
    _render_question,
    members={"object": "response.input_tokens"},
)


def _recognise(seen: RequestGlance) -> Likeness:
    return Likeness.CERTAIN if "input" in seen.members else Likeness.NONE


def _asks_for_reasoning(conversation: Conversation) -> bool:
    thinking = conversation.settings.thinking
    return thinking is not None and thinking.summary is not None


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
    list_name="input",
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
    id_header=b"x-request-id",
    ping=b'event: keepalive\ndata: {"type":"keepalive"}\n\n',  # Codex counts no comment as a sign of life
    account_headers=("chatgpt-account-id", "openai-organization", "openai-project"),
    relayed_paths=RELAYED_PATHS | {"/responses/compact"},
    recognise=_recognise,
    asks_for_reasoning=_asks_for_reasoning,
    token_count=TOKEN_COUNT,
    model_listing=OPENAI_MODELS,
    parts=("background", "compactions", "conversations", "provider_tools", "socket_frames", "stored_answers"),
)
