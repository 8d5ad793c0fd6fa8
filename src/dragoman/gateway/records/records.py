"""Where it is written down what becomes of requests: the log, the last requests, metrics, files and traces."""

from __future__ import annotations

import time
from typing import Any

from dragoman.config.schema.config_file import Config
from dragoman.config.schema.log import LogLevel
from dragoman.conversation.conversation import Ask
from dragoman.conversation.failures import Failure
from dragoman.engine.exchange.exchange import Exchange
from dragoman.engine.exchange.lessons import Learnt
from dragoman.engine.exchange.steps import AttemptFailed
from dragoman.gateway.records.metrics import Metrics
from dragoman.gateway.records.recent_exchanges import RecentExchanges, keeps_bodies
from dragoman.gateway.records.request_log import RequestLog
from dragoman.gateway.records.tracing import Spans, open_spans
from dragoman.store.journals.exchange_log import ExchangeFiles
from dragoman.store.journals.redaction import Redactor, secrets_of
from dragoman.store.journals.refusal_log import RefusalLine, RefusalLog, timestamp
from dragoman.upstream.destinations import HttpDestination
from dragoman.wire.error_bodies import provider_error

_LOGGED_ERROR = 8 * 1024
"""The body of an error that is in the log as it came; of a longer one its message is."""

_SHOWN_ERROR = 300
"""Of an error message this much is shown beside a model."""


class Records:
    """What one gateway writes down. Nothing in it makes a request wait."""

    def __init__(self, config: Config) -> None:
        self.lines = RequestLog(config.log)
        """The log."""
        self.recent = RecentExchanges(keeps_bodies(config))
        """The last requests, for the console."""
        self.redactor = Redactor.of(config)
        """Takes our own secrets out of what is written down."""
        self.spans: Spans | None = open_spans()
        """Traces, if somebody collects them."""
        self.failures = RefusalLog(config.log.provider_errors, self.redactor)
        """The file of refusals."""
        self.exchanges = ExchangeFiles(config.log.exchanges, self.redactor)
        """The files of whole exchanges."""
        self.metrics = Metrics()
        self._log = config.log
        self._choose(config)

    def _choose(self, config: Config) -> None:
        self.keeps_bodies = config.store.keep_bodies
        """The ledger keeps bodies."""
        self.keeps_answers = config.log.exchanges.answers
        """The files of exchanges hold answers."""
        self.logs_content = config.log.content
        """The log holds conversations."""

    def reconfigure(self, config: Config) -> None:
        """From now on, write down what this configuration wants."""
        self.redactor.know(secrets_of(config))
        before, self._log = self._log, config.log
        if config.log != before:
            self.lines.flush()
            self.lines = RequestLog(config.log, self.lines.stream)
        if config.log.provider_errors != before.provider_errors:
            self.failures.close()
            self.failures = RefusalLog(config.log.provider_errors, self.redactor)
        if config.log.exchanges != before.exchanges:
            self.exchanges.close()
            self.exchanges = ExchangeFiles(config.log.exchanges, self.redactor)
        self.recent.keep(keeps_bodies(config))
        self._choose(config)

    def close(self) -> None:
        self.lines.flush()
        self.failures.close()
        self.exchanges.close()

    def log(self, level: LogLevel, line: dict[str, Any]) -> None:
        """Write a line, as the log is configured now."""
        self.lines.add(level, line)

    def note_failure(self, exchange: Exchange[HttpDestination], failed: AttemptFailed[HttpDestination]) -> None:
        """Count a failed send, and write it down with what was asked and what was sent."""
        failure = failed.failure
        target = failed.destination.name
        self.metrics.failed(target, failure.kind.value)
        self.recent.note_failure(target, failure, self.redactor.text(failure.message[:_SHOWN_ERROR]))
        self.failures.write(_refusal_line(exchange.context.id, exchange.ask, failed))
        if self.lines.takes(LogLevel.WARNING):
            short = 0 < len(failure.raw) <= _LOGGED_ERROR
            error = (
                self.redactor.value(provider_error(failure.raw))
                if short
                else self.redactor.text(_with_place(failure)[:_LOGGED_ERROR])
            )
            line = {"event": "provider-error", "id": exchange.context.id, "target": target}
            self.lines.add(LogLevel.WARNING, {**line, "status": failure.status, "error": error})

    def note_lesson(self, destination: HttpDestination, learnt: Learnt, request_id: str) -> None:
        self.metrics.learnt(destination.name, learnt.lesson)
        line = {"event": "lesson", "id": request_id, "target": destination.name, "lesson": learnt.lesson}
        self.lines.add(LogLevel.WARNING, {**line, "facts": learnt.facts, "tentative": learnt.tentative})


def _with_place(failure: Failure) -> str:
    """What went wrong, as the operator is told it."""
    return f"{failure.message} [{failure.place}]" if failure.place else failure.message


def _refusal_line(request_id: str, ask: Ask, failed: AttemptFailed[HttpDestination]) -> RefusalLine:
    destination, failure = failed.destination, failed.failure
    return RefusalLine(
        timestamp=timestamp(time.time()),
        provider=destination.provider,
        stage="stream" if ask.stream else "request",
        status_code=failure.status or None,
        error_type=failure.kind.value,
        error=_with_place(failure),
        error_object=failure.raw or None,
        request_id=request_id,
        target=destination.name,
        client_dialect=ask.dialect,
        upstream_dialect=failed.request.dialect,
        input_request=ask.source,
        sent_request=failed.request.body,
    )
