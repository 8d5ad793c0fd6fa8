"""The dialect `openai-chat`."""

from __future__ import annotations

from dragoman.conversation.conversation import Conversation
from dragoman.conversation.settings import Effort
from dragoman.conversation.traits import STREAM_MARKS
from dragoman.dialects import dialect
from dragoman.dialects.families.openai_endpoints import LIMIT_HEADER, OPENAI_MODELS, RELAYED_PATHS
from dragoman.dialects.openai_chat import ID_PREFIX, IN_ANSWER, IN_CHOICE, NAME
from dragoman.dialects.request_glance import RequestGlance
from dragoman.wire.sse import DONE_FRAME

MARKS = IN_ANSWER | IN_CHOICE


def _recognise(seen: RequestGlance) -> dialect.Likeness:
    """Messages alone are no proof: other dialects have them too, with more beside them."""
    return dialect.Likeness.NONE


def _asks_for_reasoning(conversation: Conversation) -> bool:
    """By any of the fields that ask a model to think, unless the thinking is to be kept out of the answer."""
    extras = conversation.extras
    if extras is not None and extras.dialect == NAME and extras.fields.get("include_reasoning") == b"true":
        return True
    thinking = conversation.settings.thinking
    if thinking is None or thinking.on is False or thinking.visible is False:
        return False
    return thinking.effort is not Effort.NONE


_TURNS = {"messages": dialect.turns("system", "developer", "user", "assistant", "tool")}
_REQUIRED = {"model": dialect.TEXT, **_TURNS}

_INLINE = "put the file into the request as a data URL, or ask the provider at its own address"
_UNSERVED = (
    dialect.UnservedPath(
        "/chat/completions/{id}", "keep the answers yourself, nothing is stored here", ("GET", "DELETE")
    ),
    dialect.UnservedPath("/batches", dialect.SEND_NOW, ("GET", "POST")),
    dialect.UnservedPath("/batches/{id}", dialect.SEND_NOW, ("GET",)),
    dialect.UnservedPath("/batches/{id}/cancel", dialect.SEND_NOW, ("POST",)),
    dialect.UnservedPath("/files", _INLINE, ("GET", "POST")),
    dialect.UnservedPath("/files/{id}", _INLINE, ("GET", "DELETE")),
    dialect.UnservedPath("/files/{id}/content", _INLINE, ("GET",)),
    dialect.UnservedPath("/uploads", _INLINE, ("POST",)),
    dialect.UnservedPath("/vector_stores", dialect.AT_PROVIDER, ("GET", "POST")),
    dialect.UnservedPath("/vector_stores/{id}", dialect.AT_PROVIDER, ("GET", "POST", "DELETE")),
    dialect.UnservedPath("/containers", dialect.AT_PROVIDER, ("GET", "POST")),
    dialect.UnservedPath("/containers/{id}", dialect.AT_PROVIDER, ("GET", "DELETE")),
)

DIALECT = dialect.Dialect(
    name=NAME,
    id_prefix=ID_PREFIX,
    title="OpenAI Chat Completions",
    endpoints=(
        dialect.Endpoint(dialect.Job.GENERATE, "/chat/completions", "OpenAI Chat Completions", required=_REQUIRED),
        dialect.Endpoint(
            dialect.Job.GENERATE,
            "/deployments/{model}/chat/completions",
            "Chat Completions, as on Azure",
            required=_TURNS,
        ),
        *dialect.MODEL_ENDPOINTS,
    ),
    unserved=_UNSERVED,
    prefixes=("/v1", "", "/openai/v1", "/openai"),
    request_path=dialect.fixed_path("/chat/completions"),
    passed_headers=("openai-beta",),
    relayed_paths=RELAYED_PATHS,
    limit_header=LIMIT_HEADER,
    limit_prefixes=("x-ratelimit-", "x-codex-"),
    id_header=b"x-request-id",
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
    runs_last=True,
    parts=("provider_tools",),
)
