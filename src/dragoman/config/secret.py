"""A text that must not be shown.

A provider's key is a `Secret` everywhere in the program. Printed, formatted or logged it shows at most its last four
characters; only `reveal()` returns the text. So a forgotten `reveal()` is a request that fails, not a leak.
"""

from __future__ import annotations

import re

SHOWN = 4
LONG_ENOUGH = 12  # four characters of a shorter text would reveal too much

SECRET_NAMES = frozenset(
    {
        *("api_key", "api_keys", "apikey", "authorization", "authorization_token", "proxy_authorization"),
        *("x_api_key", "x_goog_api_key", "x_dragoman_key", "access_token", "refresh_token"),
        *("auth_token", "client_secret", "secret", "password", "passwd", "cookie"),
        *("set_cookie", "master_key", "private_key", "aws_secret_access_key", "aws_session_token"),
    }
)

_WORD_BREAK = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class Secret:
    """A secret text. Two are equal if their texts are."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return mask(self._text)

    __str__ = __repr__

    def __bool__(self) -> bool:
        return bool(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash(("secret", self._text))


PLACEHOLDERS = frozenset(
    {"local", "none", "any", "empty", "dummy", "unused", "lm-studio", "no-key", "not-needed", "x", "xxx"}
)
"""What people write for a server that wants no key."""


def mask(text: str) -> str:
    """`****wxyz`: only the last four characters, or none of a short text. A word that is no secret stays."""
    if text.lower() in PLACEHOLDERS:
        return text
    return "****" + text[-SHOWN:] if len(text) >= LONG_ENOUGH else "****"


def is_secret_name(name: str) -> bool:
    """Whether a field or header of this name is a secret. `X-Api-Key`, `apiKey` and `api_key` are one name."""
    snake = _WORD_BREAK.sub("_", name).lower().replace("-", "_")
    return snake in SECRET_NAMES or snake.endswith(("_api_key", "_secret", "_password"))


EMULATOR_KEY = Secret("no-key-is-needed")
"""The key of a provider that an emulator stands in for."""
