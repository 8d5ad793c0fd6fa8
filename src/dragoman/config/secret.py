"""A text that must not be seen.

A provider's key travels through the program as a `Secret`: printing, formatting or logging it shows at most its
last four characters, and only `reveal()` gives the text. A key that was forgotten in an f-string is a request that
fails at once, not a leak that is found a year later.
"""

from __future__ import annotations

import re

SHOWN = 4
LONG_ENOUGH = 12  # of a shorter text, four characters would be a good part of the secret

SECRET_NAMES = frozenset(
    {
        "api_key",
        "api_keys",
        "apikey",
        "authorization",
        "proxy_authorization",
        "x_api_key",
        "x_goog_api_key",
        "access_token",
        "refresh_token",
        "auth_token",
        "client_secret",
        "secret",
        "password",
        "passwd",
        "cookie",
        "set_cookie",
        "master_key",
        "private_key",
        "aws_secret_access_key",
        "aws_session_token",
    }
)

_WORD_BREAK = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class Secret:
    """A secret text; two are equal when their texts are."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return masked(self._text)

    __str__ = __repr__

    def __bool__(self) -> bool:
        return bool(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash(("secret", self._text))


def masked(text: str) -> str:
    """`****wxyz`: the last four characters, or none of a short text."""
    return "****" + text[-SHOWN:] if len(text) >= LONG_ENOUGH else "****"


def is_secret_name(name: str) -> bool:
    """Whether a field or header of this name holds a secret: `X-Api-Key`, `apiKey` and `api_key` are one name."""
    snake = _WORD_BREAK.sub("_", name).lower().replace("-", "_")
    return snake in SECRET_NAMES or snake.endswith(("_api_key", "_secret", "_password"))
