"""Small manners of the emulators: odd schemas, the JSON-array stream, and a stop that says nothing."""

from __future__ import annotations

import http.client
import subprocess
import sys
from typing import Any

import pytest

from dragoman.emulators.catalogue import provider
from dragoman.emulators.emulator_core import EmulatorCore
from dragoman.emulators.schema_sample import sample
from dragoman.testing import emulator

ODD = [
    ({"type": "string", "minLength": "3"}, "text"),
    ({"type": "string", "minLength": {}}, "text"),
    ({"type": "string", "minLength": 1e400}, "text"),
    ({"type": "array", "minItems": "two", "items": {"type": "boolean"}}, [True]),
    ({"type": "array", "minItems": -1, "items": {"type": "null"}}, [None]),
    ({"type": "integer", "minimum": "7"}, 1),
    ({"type": "number", "minimum": 2.5}, 2.5),
    ({"type": ["object", 3], "properties": [1]}, {}),
]


@pytest.mark.parametrize(("schema", "value"), ODD)
def test_odd_schemas_have_a_value(schema: Any, value: Any) -> None:
    assert sample(schema) == value


def test_a_huge_minimum_stays_small() -> None:
    assert len(sample({"type": "string", "minLength": 10**12})) == 1000


@pytest.mark.parametrize(("query", "sort"), [({"alt": "sse"}, "text/event-stream"), ({}, "application/json")])
def test_a_gemini_stream_names_its_framing(query: dict[str, str], sort: str) -> None:
    core = EmulatorCore(provider("gemini"))
    path = "/v1beta/models/gemini-2.5-flash:streamGenerateContent"
    reply = core.respond("POST", path, query, {}, b'{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}')
    assert reply.content_type.startswith(sort)
    assert "content-type" not in reply.headers


QUIET = """
import http.client
from dragoman.testing import emulator
with emulator("openai") as one:
    idle = http.client.HTTPConnection(one.url.removeprefix("http://"))
    idle.request("GET", "/v1/models")
    idle.getresponse().read()
"""


@pytest.mark.slow
def test_a_stop_with_idle_connections_is_quiet() -> None:
    done = subprocess.run([sys.executable, "-c", QUIET], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_stopped_emulator_refuses_connections() -> None:
    with emulator("openai") as one:
        address = one.url.removeprefix("http://")
    with pytest.raises(OSError):
        http.client.HTTPConnection(address, timeout=2).request("GET", "/v1/models")
