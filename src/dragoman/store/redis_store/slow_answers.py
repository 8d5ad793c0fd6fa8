"""Waiting a little longer for a slow Redis, if this replica knows nothing that could decide instead.

A replica that has just started would allow its share on top of what others, or it before, have used. If one request
has waited in vain no other does until Redis has answered again.
"""

from __future__ import annotations

import asyncio
from typing import Any

FIRST_ANSWER_SECONDS = 0.5


class FirstAnswers:
    """Whether it is worth to wait."""

    def __init__(self) -> None:
        self._is_vain = False

    @property
    def may_come(self) -> bool:
        return not self._is_vain

    def came(self) -> None:
        self._is_vain = False

    async def wait(self, answer: asyncio.Future[Any]) -> Any:
        """An answer, or None if there is none in time."""
        try:
            async with asyncio.timeout(FIRST_ANSWER_SECONDS):
                return await answer
        except TimeoutError:
            self._is_vain = True
            return None
