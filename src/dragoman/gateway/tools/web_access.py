"""Search the web with SearXNG, and fetch pages: what a provider's own tools do, for models of providers without them.

A URL to fetch comes from a model, and what a page says comes from anybody. So only public addresses are asked, each
redirect is checked like the first URL, and what is read is bounded and stays text.
"""

from __future__ import annotations

import asyncio
import codecs
import re
from urllib.parse import urlencode, urljoin, urlsplit

import msgspec

from dragoman.config.schema.tools import FetchConfig, SearchConfig
from dragoman.conversation.provider_tools import FoundPage, ProviderTool
from dragoman.gateway.tools.found_text import is_allowed_page
from dragoman.gateway.tools.page_text import read_text, read_title
from dragoman.upstream.transport.address_guard import is_named_host, public_only
from dragoman.upstream.transport.failures import AddressRefused, TransportFailure
from dragoman.upstream.transport.incoming import Incoming
from dragoman.upstream.transport.limits import Timeouts
from dragoman.upstream.transport.outgoing import Outgoing
from dragoman.upstream.transport.proxy import Proxies
from dragoman.upstream.transport.transport import Transport

_LONGEST_QUERY = 2_000
_LONGEST_URL = 4_096
_LONGEST_TEXT = 2_000
"""Of one page that a search finds."""
_MOST_REDIRECTS = 5
_ANSWER = 4 * 1024 * 1024
_READABLE = ("text/", "application/json", "application/xml", "application/xhtml", "application/javascript")
_CHARSETS = ("ascii", "big5", "cp", "euc", "gb", "iso", "koi8", "shift", "utf")
"""Those of pages. Python knows others that take long to read."""
_UNCLEAR = re.compile(r"[\x00-\x20\x7f\\]")
"""White space, which some programs leave out, and the backslash, which some take for a slash."""
_HEADERS = (("accept", "text/html, text/*;q=0.9, application/json;q=0.8"), ("user-agent", "dragoman"))


class WebFailed(Exception):
    """A search or a page that there is none of: a word that vendors use, and what is wrong."""

    def __init__(self, error: str, why: str) -> None:
        super().__init__(why)
        self.error = error
        self.why = why


class _SearxResult(msgspec.Struct):
    """What SearXNG documents of a result (`/search?format=json`), as far as it is shown."""

    url: str | None = ""
    title: str | None = ""
    content: str | None = ""
    publishedDate: str | None = None  # noqa: N815 (its own spelling)


class _SearxAnswer(msgspec.Struct):
    results: list[_SearxResult] = []


class WebAccess:
    """Two HTTP clients: one for public addresses, and one for those that the configuration names."""

    def __init__(self) -> None:
        self._named: Transport | None = None
        self._public: Transport | None = None

    async def search(self, config: SearchConfig, tool: ProviderTool, query: str) -> tuple[FoundPage, ...]:
        """The pages that SearXNG finds, of allowed domains. Raises WebFailed."""
        if not query.strip():
            raise WebFailed("invalid_tool_input", "The query is empty.")
        if len(query) > _LONGEST_QUERY:
            raise WebFailed("query_too_long", f"The query has more than {_LONGEST_QUERY} characters.")
        only = " OR ".join([f"site:{domain.partition('/')[0]}" for domain in tool.allowed_domains[:10]])
        asked = urlencode({"q": f"{query} {only}".strip(), "format": "json"})
        url = f"{(config.url or '').rstrip('/')}/search?{asked}"
        timeouts = Timeouts(connect=5, first_byte=config.timeout, idle=5, total=config.timeout)
        self._named = self._named or Transport()
        try:
            async with await self._named.send(Outgoing("GET", url, _HEADERS), timeouts) as answer:
                if answer.status != 200:
                    raise WebFailed(_refusal_word(answer.status), f"The search engine answered {answer.status}.")
                found = msgspec.json.decode(await answer.read(_ANSWER), type=_SearxAnswer).results
        except (TransportFailure, msgspec.DecodeError) as failure:
            raise WebFailed("unavailable", "The search engine does not answer as it should.") from failure
        pages = [_make_page(one, one.url) for one in found if one.url]  # those without are facts and figures
        shown = [page for page in pages if is_allowed_page(page.url, tool.allowed_domains, tool.blocked_domains)]
        return tuple(shown[: config.results])

    async def fetch(self, config: FetchConfig, tool: ProviderTool, url: str, most: int) -> FoundPage:
        """A page, about `most` characters of it. Raises WebFailed."""
        timeouts = Timeouts(connect=5, first_byte=config.timeout, idle=5, total=config.timeout)
        try:
            async with asyncio.timeout(config.timeout):
                for _ in range(_MOST_REDIRECTS + 1):
                    check_url(url, tool)
                    async with await self._client(config, url).send(Outgoing("GET", url, _HEADERS), timeouts) as answer:
                        target = answer.header("location") if 300 <= answer.status < 400 else None
                        if target is None:
                            return await _read_page(url, answer, config.max_bytes, most)
                    url = urljoin(url, target)
        except AddressRefused as refused:
            raise WebFailed("url_not_allowed", "The URL leads to an address that is not public.") from refused
        except (TransportFailure, TimeoutError, ValueError) as failure:
            raise WebFailed("url_not_accessible", "The URL cannot be fetched.") from failure
        raise WebFailed("url_not_accessible", f"The URL is redirected more than {_MOST_REDIRECTS} times.")

    async def close(self) -> None:
        for transport in (self._named, self._public):
            if transport is not None:
                await transport.close()

    def _client(self, config: FetchConfig, url: str) -> Transport:
        if is_named_host(urlsplit(url).hostname or "", config.allow):
            self._named = self._named or Transport()
            return self._named
        self._public = self._public or Transport(proxies=Proxies(), guard=public_only)
        return self._public


def _make_page(found: _SearxResult, url: str) -> FoundPage:
    text = " ".join((found.content or "")[:_LONGEST_TEXT].split())
    return FoundPage(url[:_LONGEST_URL], (found.title or "")[:300], text, (found.publishedDate or "")[:40])


def check_url(url: str, tool: ProviderTool) -> None:
    """Raises WebFailed if a page may not be fetched, or if two programs would read different hosts in its URL."""
    if len(url) > _LONGEST_URL:
        raise WebFailed("url_too_long", f"The URL has more than {_LONGEST_URL} characters.")
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        host = ""
    if not host.isascii() or _UNCLEAR.search(url) is not None:
        raise WebFailed("invalid_tool_input", "Percent-encode the URL, and write an international name in punycode.")
    if not host or parts.scheme not in ("http", "https") or parts.username is not None:
        raise WebFailed("invalid_tool_input", "Give a URL that begins with http:// or https://, without a password.")
    if not is_allowed_page(url, tool.allowed_domains, tool.blocked_domains):
        raise WebFailed("url_not_allowed", "The URL is not of a domain that may be fetched.")


def _refusal_word(status: int) -> str:
    return "too_many_requests" if status == 429 else "unavailable"


async def _read_page(url: str, answer: Incoming, most_bytes: int, most: int) -> FoundPage:
    if answer.status != 200:
        raise WebFailed("url_not_accessible", f"The server of the URL answered {answer.status}.")
    kind = (answer.header("content-type") or "text/plain").lower()
    if not kind.startswith(_READABLE):
        raise WebFailed("unsupported_content_type", "The URL is no text.")
    pieces, size = [], 0
    async for piece in answer:
        pieces.append(piece)
        size += len(piece)
        if size >= most_bytes:
            break
    text = _decode(b"".join(pieces)[:most_bytes], kind)
    if "html" not in kind:
        return FoundPage(url, "", text)
    return FoundPage(url, read_title(text), await asyncio.to_thread(read_text, text, most))


def _decode(body: bytes, kind: str) -> str:
    charset = kind.partition("charset=")[2].partition(";")[0].strip(" \"'") or "utf-8"
    try:
        known = codecs.lookup(charset).name.startswith(_CHARSETS)
    except (LookupError, ValueError):
        known = False
    return body.decode(charset if known else "utf-8", "replace")
