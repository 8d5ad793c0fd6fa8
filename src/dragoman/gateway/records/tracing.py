"""OpenTelemetry spans for requests to models, by the conventions for generative AI.

Off unless `DRAGOMAN_OTEL` is set; it needs the extra `dragoman[otel]`. A span is made from the ledger entry after the
answer, so a request never waits for it. Spans do not contain the conversation.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec

from dragoman.engine.tool_runs.tool_rounds import FinishedRun
from dragoman.errors import DragomanError
from dragoman.gateway.records.store_spans import StoreCall
from dragoman.store.ledger_entry import Entry

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

SWITCH = "DRAGOMAN_OTEL"
_ON = frozenset({"1", "true", "yes", "on"})


class SpansError(DragomanError):
    """Tracing is switched on, but something is missing for it."""


class Spans:
    """Makes spans from ledger entries. `owned`: the provider was created here and is shut down here. `place`: where the
    state is that requests ask for."""

    def __init__(self, provider: TracerProvider, owned: bool = False) -> None:
        self._provider: Any = provider
        self._owned = owned
        self._tracer = provider.get_tracer("dragoman")
        self.place = ""

    def add(
        self,
        entry: Entry,
        headers: Mapping[str, str],
        calls: Sequence[StoreCall] = (),
        runs: Sequence[FinishedRun] = (),
    ) -> None:
        """Add a span, as a child of the client's if it sent a `traceparent`, and one below it for each store call and
        for each tool that was run after it."""
        from opentelemetry.trace import SpanKind, Status, StatusCode, set_span_in_context
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        span = self._tracer.start_span(
            f"chat {entry.asked}".strip(),
            context=TraceContextTextMapPropagator().extract(dict(headers)),
            kind=SpanKind.CLIENT,
            start_time=int((entry.time - entry.duration) * 1e9),
            attributes=attributes(entry),
        )
        if entry.error_kind is not None:
            span.set_status(Status(StatusCode.ERROR, entry.error_kind))
        below = set_span_in_context(span)
        for call in calls:
            child = self._tracer.start_span(
                f"store {call.need} {call.operation}",
                context=below,
                start_time=int(call.began * 1e9),
                attributes={"dragoman.store.place": self.place, "dragoman.store.outcome": call.outcome},
            )
            child.end(end_time=int((call.began + call.seconds) * 1e9))
        for run in runs:
            child = self._tracer.start_span(
                f"execute_tool {run.name}",
                context=below,
                start_time=int(run.began * 1e9),
                attributes=run_attributes(run),
            )
            if run.error:
                child.set_status(Status(StatusCode.ERROR, run.error))
            child.end(end_time=int((run.began + run.seconds) * 1e9))
        span.end(end_time=int(entry.time * 1e9))

    def close(self) -> None:
        """Send all pending spans."""
        if self._owned:
            self._provider.shutdown()


def attributes(entry: Entry) -> dict[str, Any]:
    """The attributes of a span: conventional names first, then Dragoman's own."""
    rules = dict.fromkeys(change["rule"] for change in msgspec.json.decode(entry.changes))
    values = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": entry.target.partition("/")[0],
        "gen_ai.request.model": entry.asked,
        "gen_ai.response.model": entry.upstream_model,
        "gen_ai.usage.input_tokens": entry.input_tokens,
        "gen_ai.usage.output_tokens": entry.output_tokens,
        "dragoman.usage.estimated": entry.estimated or None,
        "dragoman.cost": entry.cost,
        "error.type": entry.error_kind,
        "http.response.status_code": entry.status,
        "dragoman.request_id": entry.id,
        "dragoman.client_dialect": entry.client_dialect,
        "dragoman.upstream_dialect": entry.upstream_dialect,
        "dragoman.attempts": entry.attempts,
        "dragoman.changes": tuple(rules),
        "dragoman.lessons": entry.lessons,
        "dragoman.overhead_us": entry.overhead_us,
        "dragoman.time_to_first_byte": entry.ttfb,
    }
    return {name: value for name, value in values.items() if value not in (None, "", ())}


def run_attributes(run: FinishedRun) -> dict[str, Any]:
    """The attributes of a span for a tool that was run in a provider's place."""
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": run.name,
        "dragoman.tool.family": run.family,
        "dragoman.tool.bytes": run.size,
        "dragoman.tool.cost": run.cost,
    }


def open_spans(environment: Mapping[str, str] = os.environ) -> Spans | None:
    """Spans if tracing is switched on. Raises SpansError if something is missing for it."""
    if environment.get(SWITCH, "").lower() not in _ON:
        return None
    try:
        trace = import_module("opentelemetry.trace")
        sdk = import_module("opentelemetry.sdk.trace")
    except ImportError as error:
        raise SpansError(f"{SWITCH} is set, but {error.name} is not installed", hint="install dragoman[otel]") from None
    known = trace.get_tracer_provider()
    if isinstance(known, sdk.TracerProvider):  # set up by the application that mounts the gateway
        return Spans(known)
    return Spans(_provider(sdk, environment), owned=True)


def _provider(sdk: Any, environment: Mapping[str, str]) -> Any:
    export = import_module("opentelemetry.sdk.trace.export")
    resources = import_module("opentelemetry.sdk.resources")
    name = environment.get("OTEL_SERVICE_NAME", "dragoman")
    provider = sdk.TracerProvider(resource=resources.Resource.create({"service.name": name}))
    provider.add_span_processor(export.BatchSpanProcessor(_exporter(export, environment)))
    return provider


def _exporter(export: Any, environment: Mapping[str, str]) -> Any:
    if environment.get("OTEL_TRACES_EXPORTER") == "console":
        return export.ConsoleSpanExporter()
    try:
        otlp = import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    except ImportError:
        hint = "install opentelemetry-exporter-otlp-proto-http, or set OTEL_TRACES_EXPORTER=console"
        raise SpansError(f"{SWITCH} is set, but there is no exporter", hint=hint) from None
    return otlp.OTLPSpanExporter()
