"""A parsed URL: where to connect, and the request target there."""

import re
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

import msgspec

from dragoman.upstream.transport.failures import Unsendable

PORTS = {"http": 80, "https": 443}
_VISIBLE = re.compile(r"[!-~]+")
_NAME = re.compile(r"[A-Za-z0-9._~-]+|[0-9A-Fa-f:.]+")


class HttpOrigin(NamedTuple):
    """Scheme, host and port. Requests to one origin can share connections."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}"

    @property
    def authority(self) -> str:
        """The value of the `host` header. The default port of the scheme is left out."""
        return self.bracketed if self.port == PORTS[self.scheme] else f"{self.bracketed}:{self.port}"

    @property
    def bracketed(self) -> str:
        """The host as in a URL."""
        return f"[{self.host}]" if ":" in self.host else self.host

    @property
    def secure(self) -> bool:
        return self.scheme == "https"


class Address(msgspec.Struct, frozen=True):
    """An origin and the request target on it."""

    origin: HttpOrigin
    target: str
    host: str


@lru_cache(maxsize=1024)
def parse_address(url: str) -> Address:
    """Parse an absolute http or https URL. Refuses what could break the request line."""
    # urlsplit drops tabs and line ends silently, so they must be found before.
    if _VISIBLE.fullmatch(url) is None:
        raise _refusal("the URL contains a space, a control character or a non-ASCII character", "Percent-encode it")
    try:
        split = urlsplit(url)
        port = split.port
    except ValueError as error:
        raise _refusal(f"the URL cannot be parsed ({error})", "Correct it") from None
    origin = _origin(split, port)
    path = split.path or "/"
    return Address(origin, f"{path}?{split.query}" if split.query else path, origin.authority)


def _origin(split: SplitResult, port: int | None) -> HttpOrigin:
    if not split.scheme and not split.netloc:
        raise _refusal("the provider has no address", "Set its base_url")
    if split.scheme not in PORTS:
        raise _refusal(f"the URL's scheme is {split.scheme!r}", "Use an absolute http:// or https:// URL")
    if "@" in split.netloc:
        raise _refusal("the URL contains a user name or password", "Send credentials as a header")
    host = split.hostname or ""
    if _NAME.fullmatch(host) is None or port == 0:
        raise _refusal(
            "the URL's host or port is missing or malformed", "Correct it; write international names in punycode"
        )
    return HttpOrigin(split.scheme, host, port or PORTS[split.scheme])


def _refusal(what: str, advice: str) -> Unsendable:
    return Unsendable("request", what, advice)
