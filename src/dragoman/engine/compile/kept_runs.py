"""What the model saw of a tool that the gateway ran: as a block of a conversation, and as what is kept of it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from dragoman.conversation.literals import quote
from dragoman.conversation.parts import OURS, Call, Opaque, Part, Reasoning, Result, Text
from dragoman.conversation.provider_tools import ToolRun
from dragoman.engine.compile.reasoning_restore import KeptParts

RUN = "run"
"""The kind of the block that stands for runs of one round."""


class KeptRun(msgspec.Struct, frozen=True, gc=False):
    """A call of a function and its result, as the model saw them."""

    round: str
    """Runs of one round belong to one turn of the model."""
    id: str
    name: str
    """The function's."""
    arguments: str
    output: str
    is_error: bool = False

    @staticmethod
    def of(round: str, call: Call, run: ToolRun) -> KeptRun:
        return KeptRun(round, call.id, call.name, call.arguments.decode(), run.output or "", bool(run.error))


def keep_run(run: KeptRun, call: Call, thoughts: Sequence[Reasoning]) -> KeptParts:
    """What is kept: the thinking before the call, the run, and the state of the call."""
    signature = () if call.signature is None else (call.signature,)
    return (*thoughts, Opaque(kind=RUN, json=msgspec.json.encode(run), origin=OURS), *signature)


def run_block(pairs: Sequence[tuple[Call, ToolRun]]) -> Opaque:
    """The runs of one round: all calls, and then all results."""
    results = [_result(call.id, run.output or "", bool(run.error)) for call, run in pairs]
    return Opaque(kind=RUN, json=b"{}", origin=OURS, meant=(*[call for call, _ in pairs], *results))


def _result(call_id: str, output: str, is_error: bool) -> Part:
    return Result(call_id=call_id, parts=(Text(quote(output)),), is_error=is_error)
