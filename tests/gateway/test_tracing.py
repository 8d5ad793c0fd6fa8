"""OpenTelemetry spans: off by default, conventional names, below the client's own span, no words of a conversation."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from dragoman.gateway.tracing import Spans, SpansError, attributes, open_spans
from dragoman.store import Entry

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


def exported(entry: Entry, headers: dict[str, str]) -> Any:
    export = pytest.importorskip("opentelemetry.sdk.trace.export", reason="the extra otel is not installed")
    memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
    from opentelemetry.sdk.trace import TracerProvider

    kept = memory.InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(export.SimpleSpanProcessor(kept))
    Spans(provider).add(entry, headers)
    [span] = kept.get_finished_spans()
    return span


def test_a_span_has_the_times_and_the_parent_of_its_request() -> None:
    span = exported(ENTRY, {"traceparent": PARENT})
    assert span.name == "chat smart"
    assert span.end_time - span.start_time == 500_000_000
    assert format(span.parent.span_id, "016x") == "b7ad6b7169203331"
    assert span.status.is_unset


def test_a_failure_is_one() -> None:
    import msgspec

    span = exported(msgspec.structs.replace(ENTRY, error_kind="rate_limit", status=429), {})
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
