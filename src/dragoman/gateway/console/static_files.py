"""The console's page: plain files of this package, served with a policy that allows nothing else."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files

import msgspec

from dragoman.gateway.inbound import Inbound
from dragoman.gateway.outbound import Headers, Outbound

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


async def send_static(inbound: Inbound, outbound: Outbound, name: str) -> bool:
    """Send a file, or say that the browser's copy is good. False where there is no such file."""
    file = static_files().get(name)
    if file is None:
        return False
    if inbound.headers.get("if-none-match") == file.tag:
        await outbound.whole(304, b"", file.headers, file.content_type)
    else:
        await outbound.whole(200, file.content, file.headers, file.content_type)
    return True
