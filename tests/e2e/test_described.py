"""What the OpenAPI document promises, put to the test by schemathesis: a thousand requests, good and bad."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.installed import asked_for
from tests.gateway.serving import CLIENT, clean_environment, serving

pytestmark = asked_for
MODELS = ["gpt-4o", "claude-sonnet-4-5", "gemini-2.5-flash", "gpt-5.6", "no-such-model"]
OPTIONS = {
    "checks": "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance",
    "phases": "examples,coverage,fuzzing",
    "max-examples": "60",
    "request-timeout": "20",
    "suppress-health-check": "all",
    "seed": "1",
}

SETTINGS = """
[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", 501]
"""
"""A path that is documented as not served is answered with 501, as documented."""


def test_the_document_is_kept(tmp_path: Path) -> None:
    """Against the stand-ins: every answer is of a kind that the document names, and none is a fault of ours."""
    pytest.importorskip("schemathesis", reason="pip install -r tests/e2e/requirements.txt")
    document = tmp_path / "openapi.json"
    (tmp_path / "schemathesis.toml").write_text(SETTINGS)
    with serving(tmp_path) as served:
        document.write_text(json.dumps(_narrowed(CLIENT.get(f"{served.url}/openapi.json").json())))
        options = [word for name, value in OPTIONS.items() for word in (f"--{name}", value)]
        command = [str(Path(sys.executable).with_name("schemathesis")), "run", str(document), "--url", served.url]
        done = subprocess.run(
            [*command, *options, "--no-color"],
            cwd=tmp_path,
            env=clean_environment(),
            capture_output=True,
            text=True,
            timeout=900,
        )
        served.stop()
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert [line for line in served.lines if line.get("event") == "crash"] == []
    assert served.noise == []


def _narrowed(document: Any) -> Any:
    """The document, its models narrowed to some that are there: chance would not find them."""
    if isinstance(document, list):
        return [_narrowed(one) for one in document]
    if not isinstance(document, dict):
        return document
    narrowed = {name: _narrowed(one) for name, one in document.items()}
    if isinstance(named := narrowed.get("properties"), dict):
        narrowed["properties"] = named | {name: {"enum": MODELS} for name in ("model", "to") if name in named}
    if narrowed.get("in") == "path" and narrowed.get("name") == "model":
        narrowed["schema"] = {"enum": MODELS}
    return narrowed
