"""The dialect `openai-chat`."""

from __future__ import annotations

from dragoman.conversation.conversation import Conversation
from dragoman.conversation.settings import Effort
from dragoman.conversation.traits import STREAM_MARKS
from dragoman.dialects.dialect import (
    AT_PROVIDER,
    MODEL_ENDPOINTS,
    SEND_NOW,
    TEXT,
    Dialect,
    Endpoint,
    Job,
    Likeness,
    UnservedPath,
    fixed_path,
    turns,
)
from dragoman.dialects.families.openai_endpoints import LIMIT_HEADER, OPENAI_MODELS, RELAYED_PATHS
from dragoman.dialects.openai_chat import ID_PREFIX, IN_ANSWER, IN_CHOICE, NAME
from dragoman.dialects.request_glance import RequestGlance
from dragoman.wire.sse import DONE_FRAME

MARKS = IN_ANSWER | IN_CHOICE


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
