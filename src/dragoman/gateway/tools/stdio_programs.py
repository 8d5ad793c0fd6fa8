"""Servers of tools that are programs: started by the gateway, one JSON message a line on stdin and stdout.

The SDK has the same without a bound: its lines may be of any length, and are put together anew for each piece.
"""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from pydantic import ValidationError

from dragoman.gateway.tools.answer_bounds import AnswerBounds

_INHERITED = ("HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER")
"""Of the gateway's environment, which holds keys of providers, a program gets these alone."""
_GRACE = 2.0
"""Seconds that a program has to end, once its stdin is closed and once it is asked to."""


@asynccontextmanager
async def run_program(command: Sequence[str], env: Mapping[str, str], bounds: AnswerBounds) -> AsyncIterator[Any]:
    """Start it, and give the two streams that the SDK wants: what it says, and what it is told. A program that says
    more in a line than the bounds allow is ended. A line that is no message is left out."""
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    environment, most = {**inherited, **env}, bounds.size
    process = await asyncio.create_subprocess_exec(
        *command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=environment, limit=most, start_new_session=True
    )
    received, messages = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    requests, waiting = anyio.create_memory_object_stream[SessionMessage](0)

    async def read() -> None:
        assert process.stdout is not None
        async with received:
            with suppress(ValueError, anyio.BrokenResourceError):  # ValueError: the line is too long
                while (line := await process.stdout.readline()) and not await bounds.find_excess(line):
                    with suppress(ValidationError):
                        await received.send(SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False)))

    async def write() -> None:
        assert process.stdin is not None
        async with waiting:
            with suppress(OSError):
                async for one in waiting:
                    process.stdin.write(one.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
                    await process.stdin.drain()

    async with anyio.create_task_group() as group, messages, requests:
        group.start_soon(read)
        group.start_soon(write)
        try:
            yield messages, requests
        finally:
            with anyio.CancelScope(shield=True):
                await _end(process)
            group.cancel_scope.cancel()


async def _end(process: Process) -> None:
    """Close its stdin, then ask it to end, then end it. What it started and left behind is ended with it."""
    assert process.stdin is not None
    process.stdin.close()
    ended = asyncio.ensure_future(process.wait())
    for how in (None, signal.SIGTERM, signal.SIGKILL):
        if how is not None:
            _signal_group(process, how)
        if (await asyncio.wait({ended}, timeout=_GRACE))[0]:
            break
    _signal_group(process, signal.SIGKILL)
    ended.cancel()  # nobody waits for it any more
    await asyncio.wait({ended})


def _signal_group(process: Process, how: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, how)
