"""Compiling a request, beside LiteLLM's transformation of the same one, interleaved in one process.

Client bytes in, upstream bytes out, for both. Only the ratio means something: machines change their speed.

    python bench/adapt.py [--rounds 60]
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import conversation
from dragoman.engine.adapt import adapt

TARGETS = {"anthropic": "anthropic/claude-sonnet-4-5", "gemini": "gemini/gemini-2.5-flash"}
GOALS = {20: 10.0, 400: 5.0}


def litellm_transformation(provider: str) -> Callable[[bytes], bytes]:
    """LiteLLM's own path for a provider: parameters mapped, messages transformed, JSON on both ends."""
    import litellm

    litellm.suppress_debug_info = True
    return _to_anthropic() if provider == "anthropic" else _to_gemini()


def _split(body: bytes) -> tuple[list[Any], dict[str, Any]]:
    request = json.loads(body)
    messages = request.pop("messages")
    request.pop("model")
    return messages, request


def _mapped(params: dict[str, Any], model: str, provider: str) -> dict[str, Any]:
    """The mapping of parameters that every LiteLLM completion goes through."""
    from litellm.utils import get_optional_params

    return get_optional_params(model=model, custom_llm_provider=provider, **params)  # type: ignore[no-any-return]


def _to_anthropic() -> Callable[[bytes], bytes]:
    from litellm.llms.anthropic.chat.transformation import AnthropicConfig

    config, model = AnthropicConfig(), "claude-sonnet-4-5"

    def transform(body: bytes) -> bytes:
        messages, params = _split(body)
        mapped = _mapped(params, model, "anthropic")
        out = config.transform_request(model, messages, mapped, {}, {})
        return json.dumps(out).encode()

    return transform


def _to_gemini() -> Callable[[bytes], bytes]:
    from litellm.llms.vertex_ai.gemini.transformation import _transform_request_body

    model = "gemini-2.5-flash"

    def transform(body: bytes) -> bytes:
        messages, params = _split(body)
        mapped = _mapped(params, model, "gemini")
        mapped.pop("stream", None)
        out = _transform_request_body(
            messages=messages,
            model=model,
            optional_params=mapped,
            custom_llm_provider="gemini",
            litellm_params={},
            cached_content=None,
        )
        return json.dumps(out).encode()

    return transform


def ours(provider: str) -> Callable[[bytes], bytes]:
    target = TARGETS[provider]
    return lambda body: adapt(body, source="openai-chat", target=target).body


def timed(work: Callable[[bytes], bytes], body: bytes, repeat: int) -> float:
    start = time.process_time()
    for _ in range(repeat):
        work(body)
    return (time.process_time() - start) / repeat


def compare(provider: str, count: int, rounds: int) -> tuple[float, float, float]:
    """Median seconds of ours, of theirs, and the median of the ratios of each round."""
    body = conversation.body(count)
    mine, theirs = ours(provider), litellm_transformation(provider)
    repeat = max(1, 400 // count)
    mine(body), theirs(body)
    pairs = [(timed(mine, body, repeat), timed(theirs, body, repeat)) for _ in range(rounds)]
    ratios = [their / my for my, their in pairs]
    return (
        statistics.median(my for my, _ in pairs),
        statistics.median(their for _, their in pairs),
        statistics.median(ratios),
    )


def linearity(provider: str) -> float:
    """Time per message at 4,000 messages over that at 400, best of several."""
    work = ours(provider)
    costs = {}
    for count in (400, 4000):
        body = conversation.body(count)
        costs[count] = min(timed(work, body, max(1, 4000 // count)) for _ in range(7)) / count
    return costs[4000] / costs[400]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=60)
    rounds = parser.parse_args().rounds
    import litellm  # its import takes seconds: not in the measurement

    print(
        f"LiteLLM {getattr(litellm, '__version__', '') or _version('litellm')}, {rounds} interleaved rounds, CPU time"
    )
    print(f"{'to':10} {'messages':>8} {'ours µs':>9} {'LiteLLM µs':>11} {'times faster':>13} {'wanted':>7}")
    for provider in TARGETS:
        for count, goal in GOALS.items():
            mine, theirs, ratio = compare(provider, count, rounds)
            print(f"{provider:10} {count:8} {mine * 1e6:9.1f} {theirs * 1e6:11.1f} {ratio:13.1f} {goal:7.0f}")
        print(
            f"{provider:10} time per message, 4,000 over 400 messages: {linearity(provider):.2f} (wanted: at most 1.5)"
        )


def _version(name: str) -> str:
    from importlib.metadata import version

    return version(name)


if __name__ == "__main__":
    main()
