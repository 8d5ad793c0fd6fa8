"""OpenTelemetry spans: off by default, conventional names, below the client's own span, no words of a conversation."""

from __future__ import annotations

import json
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.gateway.running import Running, wait_for

from dragoman.engine.tool_runs.tool_rounds import FinishedRun
from dragoman.gateway.records.tracing import Spans, SpansError, attributes, open_spans
from dragoman.store.ledger_entry import Entry
from dragoman.testing import emulator

ENTRY = Entry(
    id="req_1",
    time=1_700_000_001.0,
    client_dialect="openai-chat",
    upstream_dialect="anthropic",
    asked="smart",
    target="claude/claude-sonnet-4-5",
    upstream_model="claude-sonnet-4-5",
    changes=json.dumps([{"rule": "late-system"}, {"rule": "late-system"}, {"rule": "call-id-form"}]).encode(),
    input_tokens=7,
    output_tokens=3,
    duration=0.5,
    request=b'{"messages": "secret words"}',
)
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.parametrize("switch", ["", "0", "no"])
def test_off_unless_asked_for(switch: str) -> None:
    assert open_spans({"DRAGOMAN_OTEL": switch}) is None
    assert open_spans({}) is None


def test_what_a_span_tells() -> None:
    told = attributes(ENTRY)
    assert told["gen_ai.operation.name"] == "chat"
    assert told["gen_ai.provider.name"] == "claude"
    assert told["gen_ai.request.model"] == "smart"
    assert told["gen_ai.response.model"] == "claude-sonnet-4-5"
    assert (told["gen_ai.usage.input_tokens"], told["gen_ai.usage.output_tokens"]) == (7, 3)
    assert told["dragoman.changes"] == ("late-system", "call-id-form")
    assert "secret" not in repr(told)


def exported(entry: Entry, headers: dict[str, str], *runs: FinishedRun) -> Any:
    export = pytest.importorskip("opentelemetry.sdk.trace.export", reason="the extra otel is not installed")
    memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
    from opentelemetry.sdk.trace import TracerProvider

    kept = memory.InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(export.SimpleSpanProcessor(kept))
    Spans(provider).add(entry, headers, (), runs)
    *below, span = kept.get_finished_spans()
    return (span, *below) if runs else span


def test_a_span_has_the_times_and_the_parent_of_its_request() -> None:
    span = exported(ENTRY, {"traceparent": PARENT})
    assert span.name == "chat smart"
    assert span.end_time - span.start_time == 500_000_000
    assert format(span.parent.span_id, "016x") == "b7ad6b7169203331"
    assert span.status.is_unset


def test_a_tool_that_the_gateway_ran_is_below_the_span_of_its_round() -> None:
    run = FinishedRun("mcp", "docs/search", 0, 0.25, 400, 0.01, "unavailable", began=1_700_000_000.5)
    span, below = exported(ENTRY, {}, run)
    assert below.name == "execute_tool docs/search"
    assert below.parent.span_id == span.context.span_id
    assert below.end_time - below.start_time == pytest.approx(250_000_000, abs=1000)
    assert below.attributes["dragoman.tool.bytes"] == 400
    assert not below.status.is_ok


def test_a_failure_is_one() -> None:

    span = exported(replace(ENTRY, error_kind="rate_limit", status=429), {})
    assert span.parent is None
    assert not span.status.is_ok
    assert span.attributes["error.type"] == "rate_limit"


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(SpansError, match=r"dragoman\[otel\]"):
        open_spans({"DRAGOMAN_OTEL": "1"})


def test_the_console_exporter_needs_nothing_more() -> None:
    pytest.importorskip("opentelemetry.sdk.trace", reason="the extra otel is not installed")
    spans = open_spans({"DRAGOMAN_OTEL": "1", "OTEL_TRACES_EXPORTER": "console"})
    assert spans is not None
    spans.close()


def test_what_a_request_asked_of_the_store_is_below_its_span(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real gateway with a key of limits and a budget; the next request begins with no calls of the one before."""
    export = pytest.importorskip("opentelemetry.sdk.trace.export", reason="the extra otel is not installed")
    memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
    from opentelemetry.sdk.trace import TracerProvider

    kept = memory.InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(export.SimpleSpanProcessor(kept))
    monkeypatch.setattr("dragoman.gateway.records.records.open_spans", lambda: Spans(provider))
    key = {"sha256": sha256(b"sk-drgm-test").hexdigest(), "requests_per_minute": 10, "budget": {"total": 5}}
    with emulator("openai") as openai:
        providers = {"openai": {"base_url": f"{openai.url}/v1", "api_key": "k"}}
        gateway = Running({"providers": providers, "keys": {"anna": key}}, tmp_path).start()
        for _ in range(2):
            body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "secret words"}]}
            headers = {"authorization": "Bearer sk-drgm-test"}
            assert (
                gateway.http.post(f"{gateway.url}/v1/chat/completions", json=body, headers=headers).status_code == 200
            )
        wait_for(lambda: sum(span.name.startswith("chat") for span in kept.get_finished_spans()) == 2)
        gateway.stop()
    spans = kept.get_finished_spans()
    for request in (span for span in spans if span.name.startswith("chat")):
        below = [span for span in spans if span.parent is not None and span.parent.span_id == request.context.span_id]
        told = {span.name: span.attributes["dragoman.store.outcome"] for span in below}
        assert (told["store limits reserve"], told["store budgets reserve"]) == ("allowed", "allowed")
        assert sum(span.name == "store limits reserve" for span in below) == 1
        assert all("sqlite" in span.attributes["dragoman.store.place"] for span in below)
    assert "secret" not in repr([(span.name, span.attributes) for span in spans])
    assert "anna" not in repr([span.attributes for span in spans])
