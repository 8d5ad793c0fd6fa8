"""A request as a command, as a program and as a test, to copy."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from pprint import pformat
from urllib.parse import quote

import msgspec

from dragoman.dialects.dialect import MODEL, Job
from dragoman.dialects.registry import dialect, list_served_paths
from dragoman.emulation.emulator_verdict import emulator_for
from dragoman.emulation.reproducing_test import reproducing_test
from dragoman.store.ledger_entry import Entry
from dragoman.upstream.destinations import HttpDestination

LARGEST = 256 * 1024
"""Bytes of a request that is made a sample of. A larger one fits into no command line."""
_PYTHON = """import httpx

answer = httpx.post(
    {url!r},
    headers={{"authorization": "Bearer KEY"}},
    json={request},
    timeout=120,
)
print(answer.headers.get("x-dragoman-changes"))
print(answer.text)
"""


class CodeSamples(msgspec.Struct, frozen=True):
    curl: str
    python: str
    test: str


def code_samples(entry: Entry, request: bytes, destination: HttpDestination, root: str) -> CodeSamples | None:
    """The samples; None if there are none for such a request."""
    if len(request) > LARGEST:
        return None
    try:
        decoded = msgspec.json.decode(request)
        text = msgspec.json.encode(decoded).decode()
        literal = pformat(decoded, width=100, sort_dicts=False)
    except (msgspec.DecodeError, RecursionError):
        return None
    url = root + request_path(entry.client_dialect, quote(entry.asked, safe=":@"), entry.stream)
    headers = "-H 'content-type: application/json' -H 'authorization: Bearer KEY'"
    target = destination.target
    return CodeSamples(
        curl=f"curl {shlex.quote(url)} {headers} -d {shlex.quote(text)}",
        python=_PYTHON.format(url=url, request=literal.replace("\n", "\n    ")),
        test=reproducing_test(
            request=msgspec.json.encode(decoded),
            dialect=entry.client_dialect,
            target=f"{target.profile.name}/{target.model}",
            emulator=emulator_for(target.profile),
            stream=entry.stream,
            error=entry.error or "",
            when=datetime.fromtimestamp(entry.time, UTC).date().isoformat(),
        ),
    )


class ResendForm(msgspec.Struct, frozen=True):
    """How a page sends a request of a dialect: `{model}` in the path stands for the model, or the body names it."""

    path: str
    model_in_body: bool


def resend_form(name: str, stream: bool) -> ResendForm:
    return ResendForm(request_path(name, MODEL, stream), not dialect(name).model_in_path)


def request_path(name: str, model: str, stream: bool) -> str:
    """Where clients of a dialect send their requests."""
    usual = [
        one
        for one in list_served_paths(Job.GENERATE)
        if one.dialect.name == name and one.is_usual and one.endpoint.stream in (None, stream)
    ]
    path = usual[0].path.replace(MODEL, model) if usual else ""
    return f"{path}?alt=sse" if stream and dialect(name).model_in_path and usual[0].endpoint.stream else path
