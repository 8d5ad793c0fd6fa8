"""The console's page: plain files of this package, served with a policy that allows nothing else."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files

import msgspec

from dragoman.dialects.registry import list_dialects
from dragoman.gateway.callers.caller import nothing_at
from dragoman.gateway.http.outbound import Headers
from dragoman.gateway.served_request import ServedRequest

PAGE = "index.html"
_TYPES = {
    "html": b"text/html; charset=utf-8",
    "js": b"text/javascript; charset=utf-8",
    "css": b"text/css; charset=utf-8",
    "svg": b"image/svg+xml",
}
_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SAFE: Headers = [
    (b"content-security-policy", _POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]


class StaticFile(msgspec.Struct, frozen=True):
    """One file, read once."""

    content: bytes
    content_type: bytes
    tag: str

    @property
    def headers(self) -> Headers:
        """A browser asks each time whether its copy is still good: a gateway is updated under an open page."""
        return [*SAFE, (b"etag", self.tag.encode()), (b"cache-control", b"no-cache")]


@cache
def static_files() -> dict[str, StaticFile]:
    """All files by their names."""
    folder = files("dragoman.gateway.console") / "static"
    found = {one.name: one.read_bytes() for one in folder.iterdir() if one.name.rpartition(".")[2] in _TYPES}
    return {name: _static(name, content) for name, content in found.items()}


def _static(name: str, content: bytes) -> StaticFile:
    tag = f'"{hashlib.blake2b(content, digest_size=12).hexdigest()}"'
    return StaticFile(content, _TYPES[name.rpartition(".")[2]], tag)


_HTML = "text/html"
_PLAIN = b"text/plain; charset=utf-8"
_VIEWS = {"/dragoman": "", "/admin/config": "#/config"}
"""Other addresses of the page, and the view that they mean."""


_HELP = b"""Dragoman is running: any conversation works on any model.

In a browser this address is the console. Clients use it as their base URL, with /v1 for OpenAI's.
What can be asked for:  GET /v1/models
All paths:              GET /openapi.json
"""


async def hello(request: ServedRequest) -> None:
    """Who answers: to a browser, the console. Clients of a vendor's server get the greeting that they know from there,
    and a terminal what there is."""
    inbound = request.inbound
    accepted, agent = inbound.headers.get("accept", ""), inbound.headers.get("user-agent", "")
    if inbound.path != "/" or (_HTML not in accepted and "application/json" in accepted):
        await request.outbound.whole(200, b'{"name":"dragoman","status":"ok"}')
    elif _HTML in accepted:
        await show_file(request, PAGE)
    else:
        greetings = [one.greeting for one in list_dialects() if one.greeting and agent.startswith(one.client_agents)]
        await request.outbound.whole(200, greetings[0] if greetings else _HELP, None, _PLAIN)


async def open_page(request: ServedRequest) -> None:
    """Lead a browser to the page, wherever the gateway is mounted."""
    up = "../" * request.inbound.path[1:].count("/") or "./"
    await request.outbound.whole(303, b"", [(b"location", (up + _VIEWS[request.inbound.path.rstrip("/")]).encode())])


async def show_file(request: ServedRequest, file: str) -> None:
    """Send a file, or say that the browser's copy is good."""
    found = static_files().get(file)
    if found is None:
        raise nothing_at(request.inbound.path)
    if request.inbound.headers.get("if-none-match") == found.tag:
        await request.outbound.whole(304, b"", found.headers, found.content_type)
    else:
        await request.outbound.whole(200, found.content, found.headers, found.content_type)
