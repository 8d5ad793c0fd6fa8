"""Requests that are written anew as they were read."""

from __future__ import annotations

from typing import Any

import orjson

from dragoman.conversation.conversation import Ask
from dragoman.conversation.literals import quote
from dragoman.conversation.parts import Text
from dragoman.dialects.dialect import RenderOptions
from dragoman.dialects.registry import dialect

WANTED = RenderOptions("m", False)


def text(words: str, **more: Any) -> Text:
    return Text(quote(words), **more)


def read_back(name: str, body: Any) -> Ask:
    """The request, which must also read back equal when it is written anew."""
    requests = dialect(name).requests
    ask = requests.parse(orjson.dumps(body))
    again = requests.parse(requests.render(ask.conversation, WANTED))
    assert again.conversation == ask.conversation
    return ask
