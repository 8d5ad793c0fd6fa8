"""The same small question, asked with each official SDK, whole and streamed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import anthropic
import openai
from google.genai import errors
from tests.gateway.running import Running

Ask = Callable[[Running, str], str]
PLAIN: Any = [{"role": "user", "content": "Hi"}]


def chat(to: Running, model: str) -> str:
    answer = to.openai().chat.completions.create(model=model, messages=PLAIN)
    return answer.choices[0].message.content or ""


def chat_stream(to: Running, model: str) -> str:
    chunks = to.openai().chat.completions.create(model=model, messages=PLAIN, stream=True)
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


def responses(to: Running, model: str) -> str:
    return to.openai().responses.create(model=model, input="Hi").output_text


def responses_stream(to: Running, model: str) -> str:
    text = ""
    for event in to.openai().responses.create(model=model, input="Hi", stream=True):
        if event.type == "response.output_text.delta":
            text += event.delta
        if event.type == "response.failed":
            raise openai.APIError(str(event.response.error), request=None, body=None)  # type: ignore[arg-type]
    return text


def messages(to: Running, model: str) -> str:
    answer = to.anthropic().messages.create(model=model, max_tokens=100, messages=PLAIN)
    return "".join(block.text for block in answer.content if block.type == "text")


def messages_stream(to: Running, model: str) -> str:
    with to.anthropic().messages.stream(model=model, max_tokens=100, messages=PLAIN) as stream:
        return "".join(stream.text_stream)


def gemini(to: Running, model: str) -> str:
    return to.gemini().models.generate_content(model=model, contents="Hi").text or ""


def gemini_stream(to: Running, model: str) -> str:
    return "".join(chunk.text or "" for chunk in to.gemini().models.generate_content_stream(model=model, contents="Hi"))


WHOLE: Mapping[str, Ask] = {"openai-chat": chat, "openai-responses": responses, "anthropic": messages, "gemini": gemini}
STREAMED: Mapping[str, Ask] = {
    "openai-chat": chat_stream,
    "openai-responses": responses_stream,
    "anthropic": messages_stream,
    "gemini": gemini_stream,
}
PATHS: Mapping[str, str] = {
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/{model}:generateContent",
}
ERRORS: tuple[type[Exception], ...] = (openai.APIError, anthropic.APIError, errors.APIError)


def body(dialect: str, model: str, **more: Any) -> dict[str, Any]:
    """The question as a raw body."""
    if dialect == "gemini":
        return {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], **more}
    if dialect == "openai-responses":
        return {"model": model, "input": "Hi", **more}
    limit = {"max_tokens": 100} if dialect == "anthropic" else {}
    return {"model": model, "messages": PLAIN, **limit, **more}


def path(dialect: str, model: str) -> str:
    return PATHS[dialect].format(model=model)


def status_of(error: Exception) -> int | None:
    """The HTTP status that the SDK saw; None if it saw none."""
    return getattr(error, "status_code", None) or getattr(error, "code", None)
