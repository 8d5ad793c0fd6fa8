"""The dialect `cohere`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dragoman.conversation.conversation import Conversation
from dragoman.dialects import dialect
from dragoman.dialects.cohere import NAME
from dragoman.dialects.request_glance import RequestGlance
from dragoman.dialects.shared.raw_json import encode
from dragoman.wire.sse import DONE_FRAME


def _show_model(model: dialect.ListedModel) -> dict[str, Any]:
    shown: dict[str, Any] = {"name": model.name, "endpoints": ["chat"], "finetuned": False, "is_deprecated": False}
    if model.context_window is not None:
        shown["context_length"] = model.context_window
    return shown


def _render_models(models: Sequence[dialect.ListedModel], more: bool | None) -> bytes:
    token = {"next_page_token": models[-1].name} if more and models else {}
    return encode({"models": [_show_model(model) for model in models], **token})


COHERE_MODELS = dialect.ModelListing(_show_model, _render_models, shows_abilities=True)


_MEMBERS = frozenset({"citation_options", "safety_mode", "strict_tools", "chat_history", "preamble"})
_CHOICES = ("REQUIRED", "NONE")


def _recognise(seen: RequestGlance) -> dialect.Likeness:
    """By members, words or plans that Chat does not have. The list of messages has the same name in both."""
    hinted = seen.has(_MEMBERS) or seen.decoded("tool_choice") in _CHOICES or _has_plan(seen)
    return dialect.Likeness.HINTED if hinted else dialect.Likeness.NONE


def _has_plan(seen: RequestGlance) -> bool:
    messages = seen.decoded("messages") if seen.mentions("messages", b'"tool_plan"') else None
    return isinstance(messages, list) and any(isinstance(turn, dict) and "tool_plan" in turn for turn in messages)


def _asks_for_reasoning(conversation: Conversation) -> bool:
    thinking = conversation.settings.thinking
    return thinking is not None and thinking.on is not False


_REQUIRED = {"model": dialect.TEXT, "messages": dialect.turns("system", "user", "assistant", "tool")}

_NEWER = "send POST /v2/chat, which the vendor's SDKs call ClientV2.chat"
_ELSEWHERE = "ask the provider at its own address"
_UNSERVED = (
    dialect.UnservedPath("/v1/chat", _NEWER, ("POST",)),
    dialect.UnservedPath("/v1/generate", _NEWER, ("POST",)),
    dialect.UnservedPath("/v1/rerank", _ELSEWHERE, ("POST",)),
    dialect.UnservedPath("/v2/rerank", _ELSEWHERE, ("POST",)),
    dialect.UnservedPath("/v1/embed", _ELSEWHERE, ("POST",)),
    dialect.UnservedPath("/v2/embed", _ELSEWHERE, ("POST",)),
    dialect.UnservedPath("/v1/tokenize", _ELSEWHERE, ("POST",)),
    dialect.UnservedPath("/v1/detokenize", _ELSEWHERE, ("POST",)),
)

DIALECT = dialect.Dialect(
    name=NAME,
    title="Cohere Chat",
    # The whole path: `/chat` alone is the end of other vendors' paths too.
    endpoints=(dialect.Endpoint(dialect.Job.GENERATE, "/v2/chat", "Cohere Chat, version 2", required=_REQUIRED),),
    prefixes=("",),
    unserved=_UNSERVED,
    caller_headers=("x-fern-sdk-name",),
    request_path=dialect.fixed_path("/v2/chat"),
    recognise=_recognise,
    asks_for_reasoning=_asks_for_reasoning,
    stream_end=DONE_FRAME,
    model_listing=COHERE_MODELS,
    models_path="/v1/models",
)
