"""`media`: fetching what a client gives by URL."""

from typing import Annotated

from msgspec import Meta, Struct


class MediaConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Fetching media that a client gives by URL, for targets that take it only inline."""

    fetch: Annotated[bool, Meta(description="Fetch media. Otherwise the URL is sent as text, and reported.")] = True
    allow: Annotated[
        tuple[str, ...],
        Meta(
            description="Private or link-local hosts, `*.suffix` or networks that may be reached.",
            examples=[["media.internal", "10.1.0.0/16"]],
        ),
    ] = ()
    max_bytes: Annotated[int, Meta(ge=1, description="The largest file in bytes.")] = 20_971_520
    max_request_bytes: Annotated[
        int, Meta(ge=1, description="Bytes of all files of one request together. Beyond it: 413.")
    ] = 20_971_520
    max_total_bytes: Annotated[
        int,
        Meta(
            ge=1,
            description="Bytes of the files of all requests under way together. Beyond it: 503. Each takes about five "
            "times its size in memory while it is encoded and sent.",
        ),
    ] = 41_943_040
    timeout: Annotated[float, Meta(gt=0, description="Seconds for one file.")] = 15.0
