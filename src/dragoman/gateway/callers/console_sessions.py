"""Signing in to the console: a cookie that a browser gets for an admin key, or for the token of the setup.

A session is signed with a secret of this process, and names the key that it was made with. It ends when its browser
signs out, with that key, with the process, or after twelve hours. Only signed-out sessions are remembered.
"""

from __future__ import annotations

import hashlib
import hmac
import mmap
import secrets
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from urllib.parse import urlsplit

from dragoman.config.clients import Client
from dragoman.config.schema.keys import ClientKey
from dragoman.conversation.failures import Failure, FailureKind

COOKIE = "dragoman_session"
SECONDS = 12 * 3600
SETUP = ""
"""Stands for the name of a key in a session that was made with the token of the setup."""
_SECRET = secrets.token_bytes(32)
"""Made before workers are forked, so that all of them know it."""
_LONGEST = 2048
_MARK = 16
"""Bytes that a signed-out session is known by."""
_MOST_ENDED = 4096
_ENDED = mmap.mmap(-1, _MARK * (_MOST_ENDED + 1))
"""The sessions that were signed out, and in the first place their number: memory that all workers share. The oldest are
forgotten. Each was made with a good key."""

FOREIGN = Failure(
    FailureKind.PERMISSION, "only the console's own page may do this from a browser", 403, "foreign_origin"
)


def make_session(name: str, key: ClientKey | None, now: float) -> str:
    """The value of the cookie."""
    content = f"{urlsafe_b64encode(name.encode()).decode()}.{int(now) + SECONDS}.{secrets.token_hex(8)}"
    return f"{content}.{_signature(content, key)}"


def session_name(value: str, keys: dict[str, ClientKey], now: float) -> str | None:
    """The name of the key that a session was made with, `SETUP` for the setup's; None if it is no good."""
    try:
        content, _, signature = value[:_LONGEST].rpartition(".")
        encoded, until, _ = content.split(".")
        name, ends = urlsafe_b64decode(encoded).decode(), int(until)
    except ValueError:
        return None
    key = keys.get(name)
    if (key is None) is not (name == SETUP) or now >= ends:
        return None
    is_ours = hmac.compare_digest(signature.encode(), _signature(content, key).encode())
    return name if is_ours and _ENDED.find(_mark(signature), _MARK) < 0 else None


def end_session(cookies: str, keys: dict[str, ClientKey]) -> None:
    """Sign out: the session of these cookies is no good any more, in whatever browser it is."""
    value = cookie_value(cookies)
    if session_name(value, keys, time.time()) is None:
        return
    number = int.from_bytes(_ENDED[:_MARK], "big")
    _ENDED[:_MARK] = (number + 1).to_bytes(_MARK, "big")
    place = _MARK * (1 + number % _MOST_ENDED)
    _ENDED[place : place + _MARK] = _mark(value.rpartition(".")[2])


def _mark(signature: str) -> bytes:
    return hashlib.sha256(signature.encode()).digest()[:_MARK]


def session_client(cookies: str, keys: dict[str, ClientKey]) -> Client | None:
    """The client whose key the browser signed in with."""
    name = session_name(cookie_value(cookies), keys, time.time())
    return Client(name, keys[name]) if name else None


def is_setup_session(cookies: str, keys: dict[str, ClientKey]) -> bool:
    return session_name(cookie_value(cookies), keys, time.time()) == SETUP


def cookie_value(cookies: str) -> str:
    """Our cookie among those of a request."""
    for one in cookies[: 4 * _LONGEST].split(";"):
        name, _, value = one.strip().partition("=")
        if name == COOKIE:
            return value
    return ""


def set_cookie(value: str, secure: bool) -> tuple[bytes, bytes]:
    """The header that gives the browser its session, or takes it away."""
    age = SECONDS if value else 0
    flags = "; Secure" if secure else ""
    return b"set-cookie", f"{COOKIE}={value}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict{flags}".encode()


def is_own_page(headers: dict[str, str]) -> bool:
    """Whether a request comes from no page at all, or from a page of this very address.

    A cookie is sent by pages of other ports of this machine too. A browser says where a request comes from, and behind
    a proxy that changes the name of the host it is the one who knows. Only an old browser does not say it.
    """
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none")
    origin = headers.get("origin")
    if origin is None:
        return True
    try:
        return urlsplit(origin).netloc.lower() == headers.get("host", "").lower()
    except ValueError:
        return False


def _signature(content: str, key: ClientKey | None) -> str:
    made_with = key.sha256 if key is not None else ""
    return hmac.new(_SECRET, f"{made_with}.{content}".encode(), hashlib.sha256).hexdigest()
