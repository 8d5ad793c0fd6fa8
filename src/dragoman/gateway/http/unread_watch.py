"""What every connection of the gateway has: a log, and an eye on a client that does not read."""

from __future__ import annotations

import asyncio
import logging

HTTP_LOGGER = logging.getLogger("dragoman.http")


class UnreadWatch:
    """Notices a client that does not read what waits for it."""

    transport: asyncio.Transport
    _stuck_at = -1
    _stuck_since = 0.0

    def written(self) -> int:
        """Bytes that were given to the transport."""
        raise NotImplementedError

    def stuck(self, now: float, seconds: float) -> bool:
        """Whether the client has read nothing of what waits for it for `seconds` or longer."""
        waiting = self.transport.get_write_buffer_size()
        if not waiting:
            self._stuck_at = -1
            return False
        sent = self.written() - waiting
        if sent != self._stuck_at:
            self._stuck_at, self._stuck_since = sent, now
        return now - self._stuck_since > seconds
