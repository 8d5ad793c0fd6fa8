"""What trimming a long history costs, compared with reading it: from scratch, and with the cut of the last turn.

CPU time, the best of several runs, so that other programs on the machine matter little.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

import msgspec

from dragoman.engine.history.trim_policy import TrimPolicy
from dragoman.engine.history.trimming import TrimRequest, trim
from dragoman.engine.library.adapt import read

RUNS = 15
SIZES = (1_000, 2_000, 4_000)
POLICIES = {
    "a budget of 16,000 tokens": TrimPolicy(),
    "a window of 128,000 tokens": TrimPolicy(max_history_tokens=0, window=128_000),
}


def request(count: int) -> bytes:
    """Questions with a call each, results and answers."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You are an agent."}]
    for turn in range(count // 4):
        function = {"name": "look", "arguments": '{"at": 1}'}
        messages += [
            {"role": "user", "content": f"question {turn} " * 30},
            {"role": "assistant", "tool_calls": [{"id": f"c{turn}", "type": "function", "function": function}]},
            {"role": "tool", "tool_call_id": f"c{turn}", "content": f"result {turn} " * 90},
            {"role": "assistant", "content": f"answer {turn} " * 30},
        ]
    return msgspec.json.encode({"model": "m", "messages": [*messages, {"role": "user", "content": "And now?"}]})


def milliseconds(run: Callable[[], Any]) -> float:
    best = float("inf")
    for _ in range(RUNS):
        gc.collect()
        gc.disable()
        began = time.process_time()
        run()
        best = min(best, time.process_time() - began)
        gc.enable()
    return best * 1_000


def main() -> None:
    for count in SIZES:
        body = request(count)
        conversation = read(body, source="openai-chat").conversation
        reading = milliseconds(lambda body=body: read(body, source="openai-chat"))  # type: ignore[misc]
        print(f"{count} messages, {len(body) / 1e6:.1f} MB: reading {reading:.1f} ms")
        for name, policy in POLICIES.items():
            cut = trim(conversation, TrimRequest(policy)).cut
            for how, cuts in (("from scratch", ()), ("with the last cut", (cut,) if cut else ())):
                asked = TrimRequest(policy, cuts)
                took = milliseconds(lambda asked=asked, made=conversation: trim(made, asked))  # type: ignore[misc]
                print(f"  {name}, {how}: {took:.1f} ms, {took / reading:.2f} times reading")


if __name__ == "__main__":
    main()
