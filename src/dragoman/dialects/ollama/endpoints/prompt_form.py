"""`/api/generate`: a prompt becomes one turn of the user, and a chat answer becomes one of this path."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Raw

from dragoman.conversation.literals import EMPTY
from dragoman.dialects.dialect import RequestAdapter
from dragoman.dialects.shared.raw_json import UNREADABLE, decode_members
from dragoman.errors import MalformedRequest
from dragoman.wire.json_reader import open_object, refuse_duplicates, render_object
from dragoman.wire.ndjson import NdjsonDecoder, line

_OWN = frozenset({"prompt", "system", "images", "suffix", "template", "context", "raw"})
_REFUSED = {
    "suffix": "a model that chats cannot fill a gap",
    "template": "the provider of the model has its own",
    "context": "it holds tokens of one model; send a conversation to /api/chat",
    "raw": "the provider of the model writes the prompt",
}
_NOTHING = (b"", b"null", b'""', b"false", b"[]")


def parse_prompt(body: bytes) -> bytes:
    """The chat request that is meant. Raises MalformedRequest for what no conversation can say, with its pointer."""
    source, members, _ = open_object(body)
    refuse_duplicates(source, members)
    for name, why in _REFUSED.items():
        if bytes(members.get(name, b"")) not in _NOTHING:
            raise MalformedRequest(f"{name} is not taken: {why}", at=f"/{name}")
    rest: dict[str, bytes | Raw] = {name: value for name, value in members.items() if name not in _OWN}
    return render_object(rest | {"messages": b"[" + b",".join(_turns(members)) + b"]"})


def _turns(members: Mapping[str, Raw]) -> list[bytes]:
    turns = []
    system = bytes(members.get("system", b""))
    if system not in _NOTHING:
        turns.append(render_object({"role": b'"system"', "content": system}))
    prompt, images = bytes(members.get("prompt", b"")), bytes(members.get("images", b""))
    if prompt in (b"", b"null"):
        prompt = EMPTY
    if prompt[:1] != b'"':
        raise MalformedRequest("prompt is not a text", at="/prompt")
    if prompt == EMPTY and images in _NOTHING:
        raise MalformedRequest("there is no prompt", at="/prompt", hint="models are loaded by their providers")
    user: dict[str, bytes | Raw] = {"role": b'"user"', "content": prompt}
    return [*turns, render_object(user if images in _NOTHING else user | {"images": images})]


class PromptAnswers:
    """Chat answers as those of this path, whole or line by line. Errors pass as they are."""

    def __init__(self) -> None:
        self._lines = NdjsonDecoder()

    def whole(self, body: bytes) -> bytes:
        return _rewrite(body)

    def piece(self, data: bytes) -> bytes:
        return b"".join([line(_rewrite(one)) for one in self._lines.feed(data)])

    def close(self) -> bytes:
        return b"".join([line(_rewrite(one)) for one in self._lines.close()])


def _rewrite(body: bytes) -> bytes:
    """The members of the message beside the others. A call has no place here: no tools were declared."""
    try:
        members = decode_members(body)
        message = decode_members(members.pop("message"))
    except (*UNREADABLE, KeyError):
        return body
    out: dict[str, bytes | Raw] = {name: members.pop(name) for name in ("model", "created_at") if name in members}
    out["response"] = message.get("content", EMPTY)
    if "thinking" in message:
        out["thinking"] = message["thinking"]
    out.update(members)
    return render_object(out)


PROMPT_FORM = RequestAdapter(parse_prompt, PromptAnswers)
