"""The chat template that a server itself tells: llama.cpp at `/props`, Ollama at `/api/show`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import msgspec

from dragoman.errors import TemplateError
from dragoman.probe.live.address import Headers
from dragoman.probe.template.sources import TemplateSource, from_props, from_text
from dragoman.upstream.transport.failures import ConnectFailed, TransportFailure
from dragoman.upstream.transport.limits import Timeouts
from dragoman.upstream.transport.outgoing import Outgoing
from dragoman.upstream.transport.transport import Transport

_LIMIT = 16 * 1024 * 1024
_TEMPLATE_KEY = "tokenizer.chat_template"


async def find_template(
    url: str, model: str, headers: Headers, transport: Transport, seconds: float
) -> TemplateSource | None:
    """The template of the model that runs at this address; None if the server does not tell it. Raises ConnectFailed if
    no server is there."""
    timeouts = Timeouts(connect=min(seconds, 10.0), first_byte=seconds, idle=seconds, total=seconds, queue=seconds)
    split = urlsplit(url)
    for outgoing in _requests(f"{split.scheme}://{split.netloc}", model, headers):
        answer = await _fetch(outgoing, transport, timeouts)
        source = None if answer is None else _source(answer)
        if source is not None:
            return source
    return None


def _requests(root: str, model: str, headers: Headers) -> Iterator[Outgoing]:
    yield Outgoing("GET", f"{root}/props", headers)
    body = msgspec.json.encode({"model": model})
    yield Outgoing("POST", f"{root}/api/show", (*headers, ("content-type", "application/json")), body)


async def _fetch(outgoing: Outgoing, transport: Transport, timeouts: Timeouts) -> dict[str, Any] | None:
    try:
        incoming = await transport.send(outgoing, timeouts)
        async with incoming:
            content = await incoming.read(_LIMIT)
        answer = msgspec.json.decode(content) if incoming.status == 200 else None
    except ConnectFailed:
        raise
    except (TransportFailure, msgspec.DecodeError, RecursionError):
        return None
    return answer if isinstance(answer, dict) else None


def _source(answer: dict[str, Any]) -> TemplateSource | None:
    """Ollama's own templates are Go's and cannot be run here; some models bring a Jinja one beside them."""
    try:
        if isinstance(answer.get("chat_template"), str):
            return from_props(answer)
        described = answer.get("model_info")
        text = described.get(_TEMPLATE_KEY) if isinstance(described, dict) else None
        return from_text(text, "/api/show") if isinstance(text, str) and "{%" in text else None
    except TemplateError:
        return None
