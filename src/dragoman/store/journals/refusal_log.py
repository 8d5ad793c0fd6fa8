"""`provider_errors.jsonl`: one line per refusal of a provider, which can be sent again.

Lines are made and written by a thread of their own. Secrets never reach the file, and texts only if asked for: a
request whose words are replaced by as many `x` is refused for the same reasons.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from dragoman.config.schema.log import ProviderErrors
from dragoman.store.journals.queued_lines import QueuedLines, append_line, open_lines
from dragoman.store.journals.redaction import Redactor, parse_body, without_content
from dragoman.wire.error_bodies import provider_error

if sys.platform == "win32":  # there is one worker

    def _lock(handle: int) -> None:
        return None

else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX)


FIELDS_IN_FULL = ("input_request", "sent_request")
CONVERSATION = frozenset({"messages", "input", "contents", "system", "systemInstruction", "instructions", "tools"})
"""Members of a request that are no settings, in any dialect."""


class RefusalLine(Struct, frozen=True, kw_only=True):
    """One refusal."""

    timestamp: str
    provider: str
    stage: str
    """`stream` or `request`: how the client asked."""
    status_code: int | None = None
    error_type: str = ""
    """The kind of failure."""
    error: str = ""
    """The provider's own words."""
    error_object: Any = None
    """The provider's own body."""
    request_id: str = ""
    target: str = ""
    client_dialect: str = ""
    upstream_dialect: str = ""
    params: Any = None
    input_request: Any = None
    """What the client asked."""
    sent_request: Any = None
    """What was sent to the provider."""


def timestamp(now: float) -> str:
    """A time in the form of the file."""
    return datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class RefusalLog(QueuedLines[RefusalLine]):
    """Writes the file and rotates it when it is full. Several workers may write the same one.

    The bodies of a line, and the error, may be bytes.
    """

    def __init__(self, config: ProviderErrors, redactor: Redactor) -> None:
        self.config = config
        self._redactor = redactor
        self.path = Path(config.path or "")
        super().__init__(None if config.path is None else self.path.parent, thread="dragoman-failures")

    def line(self, refusal: RefusalLine) -> bytes:
        """A refusal as a line of the file."""
        fields = {name: getattr(refusal, name) for name in refusal.__struct_fields__}
        for name in FIELDS_IN_FULL:
            fields[name] = self._request(fields[name])
        if isinstance(refusal.error_object, bytes):
            fields["error_object"] = provider_error(refusal.error_object)
        fields["params"] = fields["params"] or _params(fields["sent_request"])
        line = msgspec.json.encode(self._redactor.value(fields))
        if len(line) > self.config.max_bytes:
            fields |= {name: f"[LEFT OUT: the line had {len(line)} bytes]" for name in FIELDS_IN_FULL}
            line = msgspec.json.encode(self._redactor.value(fields))
        return line

    def weigh(self, line: RefusalLine) -> int:
        bodies = (line.input_request, line.sent_request, line.error_object)
        return sum(len(body) for body in bodies if isinstance(body, bytes))

    def append(self, line: RefusalLine) -> None:
        data = self.line(line)
        while True:
            handle = open_lines(self.path)
            try:
                _lock(handle)
                if not self._is_current(handle):
                    continue  # another worker rotated the file while this one waited
                size = os.fstat(handle).st_size
                if size and size + len(data) >= self.config.max_bytes:
                    self._rotate()
                    continue
                append_line(handle, data)
                return
            finally:
                os.close(handle)

    def _request(self, request: Any) -> Any:
        parsed = parse_body(request) if isinstance(request, bytes) else request
        return parsed if self.config.content else without_content(parsed)

    def _is_current(self, handle: int) -> bool:
        try:
            return os.path.samestat(os.fstat(handle), self.path.stat())
        except FileNotFoundError:
            return False

    def _rotate(self) -> None:
        """`x.jsonl` becomes `x.jsonl.1`, that becomes `.2`; the oldest goes."""
        if not self.config.backups:
            self.path.unlink()
            return
        for number in range(self.config.backups - 1, 0, -1):
            older = self.path.with_name(f"{self.path.name}.{number}")
            if older.exists():
                older.replace(self.path.with_name(f"{self.path.name}.{number + 1}"))
        self.path.replace(self.path.with_name(f"{self.path.name}.1"))


def _params(sent: Any) -> dict[str, Any] | None:
    """The settings of the request that was sent: all of it but the conversation."""
    if not isinstance(sent, dict):
        return None
    return {name: value for name, value in sent.items() if name not in CONVERSATION}


def parse_refusal(line: str | bytes) -> RefusalLine:
    """Read a line of the file, for replay. Raises `ValueError` if it is not one."""
    try:
        return msgspec.json.decode(line, type=RefusalLine)
    except msgspec.DecodeError as error:
        raise ValueError(f"is no line of provider_errors.jsonl: {error}") from None


def parse_refusals(path: Path) -> Iterator[tuple[int, RefusalLine]]:
    """The refusals of a file with their line numbers; a line that is not one raises `ValueError` with its place."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                yield number, parse_refusal(line)
            except ValueError as error:
                raise ValueError(f"{path.name}:{number}: {error}") from None
