"""OpenAI's legacy `/completions`: a prompt becomes one turn of the user, and a Chat answer becomes a completion.

Requests are turned into Chat requests and answers back, so that all that is known of Chat holds here too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Raw

from dragoman.errors import MalformedRequest
from dragoman.wire.json_reader import open_object, refuse_duplicates, render_object, split_items
from dragoman.wire.sse import SseDecoder, render_data_frame

COMPLETIONS_PATH = "/completions"
_ID, _CHAT_ID = "cmpl-", "chatcmpl-"
_OBJECT = "text_completion"
_OWN = frozenset({"prompt", "echo", "suffix", "best_of", "logprobs"})
_NULL = b"null"


class CompletionRequest(msgspec.Struct, frozen=True):
    """A legacy request."""

    model: str
    chat: bytes
    """The same as a Chat request."""
    prompt: str = ""
    """What an answer repeats if asked to."""


def parse_completion(body: bytes) -> CompletionRequest:
    """Raises MalformedRequest for what a Chat model cannot do, with its pointer."""
    source, members, _ = open_object(body)
    refuse_duplicates(source, members)
    given = {name: value for name, value in members.items() if bytes(value) != _NULL}
    prompt = _prompt(given.get("prompt"))
    _refuse_unknown_work(given)
    turns: dict[str, bytes | Raw] = {"messages": b'[{"role":"user","content":' + bytes(prompt) + b"}]"}
    settings: dict[str, bytes | Raw] = {name: value for name, value in given.items() if name not in _OWN}
    chat = render_object(settings | turns | _render_probabilities(given.get("logprobs")))
    raw = bytes(given.get("model", b'""'))
    model = msgspec.json.decode(raw, type=str) if raw[:1] == b'"' else ""
    return CompletionRequest(model, chat, msgspec.json.decode(prompt, type=str) if _is_true(given, "echo") else "")


def _prompt(given: Raw | None) -> Raw:
    """The one prompt, as a JSON text."""
    if given is None:
        raise MalformedRequest("there is no prompt", at="/prompt")
    if bytes(given)[:1] == b"[":
        items = split_items(given, "/prompt")
        if len(items) != 1:
            hint = "send one request for each of them"
            raise MalformedRequest(f"prompt is a list of {len(items)}; one text is taken", at="/prompt", hint=hint)
        given = items[0]
    if bytes(given)[:1] != b'"':
        raise MalformedRequest("prompt is not a text; tokens are not taken", at="/prompt", hint="send the text itself")
    return given


def _refuse_unknown_work(given: Mapping[str, Raw]) -> None:
    if "suffix" in given and bytes(given["suffix"]) != b'""':
        raise MalformedRequest("suffix is not taken: a model that chats cannot fill a gap", at="/suffix")
    if "best_of" in given and bytes(given["best_of"]) not in (b"1", b"0"):
        hint = "ask for `n` answers and choose one"
        raise MalformedRequest(
            "best_of is not taken: a model that chats does not rank its answers", at="/best_of", hint=hint
        )


def _is_true(given: Mapping[str, Raw], name: str) -> bool:
    return bytes(given.get(name, b"false")) == b"true"


def _render_probabilities(wanted: Raw | None) -> dict[str, bytes | Raw]:
    if wanted is None or bytes(wanted) == b"false":
        return {}
    if not bytes(wanted).isdigit():
        raise MalformedRequest("logprobs is not a whole number", at="/logprobs")
    return {"logprobs": b"true", "top_logprobs": wanted}


class _TopToken(msgspec.Struct, frozen=True):
    token: str
    logprob: float


class _LoggedToken(msgspec.Struct, frozen=True):
    token: str
    logprob: float | None = None
    top_logprobs: list[_TopToken] | None = None


class _Probabilities(msgspec.Struct, frozen=True):
    content: list[_LoggedToken] | None = None


class _AnswerText(msgspec.Struct, frozen=True):
    content: str | None = None
    refusal: str | None = None

    @property
    def text(self) -> str:
        return self.content or self.refusal or ""


_NOTHING = _AnswerText()


class _ChatChoice(msgspec.Struct, frozen=True):
    index: int = 0
    message: _AnswerText | None = None
    delta: _AnswerText | None = None
    logprobs: _Probabilities | None = None
    finish_reason: str | None = None

    @property
    def text(self) -> str:
        return (self.message or self.delta or _NOTHING).text

    @property
    def tokens(self) -> list[_LoggedToken]:
        return (self.logprobs.content if self.logprobs is not None else None) or []


class _ChatAnswer(msgspec.Struct, frozen=True):
    """A Chat answer, or a chunk of one: what a completion has too."""

    choices: list[_ChatChoice]
    id: str = ""
    created: int = 0
    model: str = ""
    system_fingerprint: str | None = None
    usage: Raw = Raw(b"null")


_decode = msgspec.json.Decoder(_ChatAnswer).decode


class CompletionAnswers:
    """Chat answers to one request as completions, whole or streamed. A stream's errors and its end pass as they are."""

    def __init__(self, echo: str) -> None:
        self._decoder = SseDecoder()
        self._echo = echo
        self._begun: dict[int, int] = {}

    def whole(self, body: bytes) -> bytes:
        answer = _read(body)
        return body if answer is None else self._render(answer, answer.choices)

    def piece(self, data: bytes) -> bytes:
        return b"".join(self._frame(frame.data) for frame in self._decoder.feed(data))

    def close(self) -> bytes:
        return b"".join(self._frame(frame.data) for frame in self._decoder.close())

    async def settle(self, made: bytes) -> bytes:
        """There is nothing to wait for."""
        return made

    def _frame(self, data: bytes) -> bytes:
        chunk = _read(data)
        if chunk is None:
            return render_data_frame(data)
        visible = [choice for choice in chunk.choices if choice.text or choice.finish_reason]
        if chunk.choices and not visible:
            return b""
        return render_data_frame(self._render(chunk, visible))

    def _render(self, answer: _ChatAnswer, choices: list[_ChatChoice]) -> bytes:
        made: dict[str, Any] = {"id": _ID + answer.id.removeprefix(_CHAT_ID).removeprefix(_ID), "object": _OBJECT}
        made |= {"created": answer.created, "model": answer.model, "choices": [self._choice(one) for one in choices]}
        if answer.system_fingerprint is not None:
            made["system_fingerprint"] = answer.system_fingerprint
        if bytes(answer.usage) != _NULL:
            made["usage"] = answer.usage
        return msgspec.json.encode(made)

    def _choice(self, choice: _ChatChoice) -> dict[str, Any]:
        text, begun = choice.text, self._begun.get(choice.index)
        if begun is None:
            text, begun = self._echo + text, len(self._echo)
        lists = _render_older_probabilities(choice.tokens, begun) if choice.tokens else None
        self._begun[choice.index] = begun + sum(len(one.token) for one in choice.tokens)
        return {"text": text, "index": choice.index, "logprobs": lists, "finish_reason": choice.finish_reason}


def _read(data: bytes) -> _ChatAnswer | None:
    """A Chat answer; None for what is none, such as an error or the end of a stream."""
    try:
        return _decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None


def _render_older_probabilities(tokens: Iterable[_LoggedToken], begun: int) -> dict[str, Any]:
    """Log probabilities as lists side by side. `begun`: where the first token stands in the text."""
    lists: dict[str, Any] = {"tokens": [], "token_logprobs": [], "top_logprobs": [], "text_offset": []}
    for one in tokens:
        lists["tokens"].append(one.token)
        lists["token_logprobs"].append(one.logprob)
        lists["top_logprobs"].append({top.token: top.logprob for top in one.top_logprobs or ()})
        lists["text_offset"].append(begun)
        begun += len(one.token)
    return lists
