"""Thought signatures on Gemini's compatible endpoint: those of the native one, in `extra_content` of a call."""

from __future__ import annotations

from typing import Any

from dragoman.emulators.chat.pairs import role
from dragoman.emulators.chat.service import ChatRefusal
from dragoman.emulators.gemini.flavour import AI_STUDIO, model_of
from dragoman.emulators.gemini.thoughts import describe_missing, is_good, issuer, sign
from dragoman.emulators.provider import ModelCall, ReceivedRequest


def sign_call(request: ReceivedRequest, tool_call: ModelCall, index: int) -> dict[str, Any]:
    """The further field of a call: Gemini 3 signs the first one of a turn."""
    if index or not model_of(request.model).needs_signatures:
        return {}
    signature = sign(AI_STUDIO, request.model, tool_call.name + tool_call.arguments_text)
    return {"extra_content": {"google": {"thought_signature": signature}}}


def check_signed_calls(request: ReceivedRequest, strict: bool) -> None:
    """Since the last user turn the first call of each turn is signed, and every signature is Google's own."""
    messages = request.body["messages"]
    since = max((at for at, message in enumerate(messages) if role(message) == "user"), default=-1)
    needed = model_of(request.model).needs_signatures
    for at, message in enumerate(messages):
        for index, tool_call in enumerate(message.get("tool_calls") or ()):
            signature = _signature(tool_call)
            if not signature and index == 0 and at > since and needed:
                raise ChatRefusal(400, describe_missing(tool_call["function"]["name"], at + 1, AI_STUDIO))
            if not is_good(signature, issuer(AI_STUDIO, request.model), strict):
                raise ChatRefusal(400, "Corrupted thought signature.")


def _signature(tool_call: dict[str, Any]) -> str:
    held: Any = tool_call
    for key in ("extra_content", "google", "thought_signature"):
        held = held.get(key) if isinstance(held, dict) else None
    return held if isinstance(held, str) else ""
