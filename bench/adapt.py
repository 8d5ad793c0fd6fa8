"""Compiling a request: beside LiteLLM's transformation, from every client dialect, and with defects to repair.

Client bytes in, upstream bytes out, in one process and interleaved. Only ratios mean something: machines change their
speed. Where LiteLLM is not installed its columns are left out.

    python bench/adapt.py [--rounds 60]
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import agent
import defects
import msgspec
import questions

import conversation
from dragoman.engine.compile.report import ReportBuilder
from dragoman.engine.library.adapt import adapt

TARGETS = {"anthropic": "anthropic/claude-sonnet-4-5", "gemini": "gemini/gemini-2.5-flash"}
OWN = {
    "openai-chat": "openai/gpt-4o",
    "openai-responses": "openai-responses/gpt-5.1",
    **TARGETS,
    "cohere": "cohere/command-a-03-2025",
    "ollama": "ollama/qwen3",
    "bedrock": "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0",
}
"""One target of each dialect."""
STRICTEST = "gemini/gemini-3-pro-preview"
"""Wants a signature on every call: each one without is a change."""
GOALS = {20: 10.0, 400: 5.0}
EQUAL = 1.3
"""What a client of any dialect may cost of a Chat client."""
CHANGE_GOAL = 5.0
"""Microseconds that reporting a change may take."""


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


Work = Callable[[], object]


def compiling(body: bytes, source: str, target: str) -> Work:
    return lambda: adapt(body, source=source, target=target)


def timed(work: Work, repeat: int) -> float:
    start = time.process_time()
    for _ in range(repeat):
        work()
    return (time.process_time() - start) / repeat


def medians(works: dict[str, Work], rounds: int, repeat: int) -> dict[str, float]:
    """Median seconds of each, all measured in every round."""
    for work in works.values():
        work()
    found = [{name: timed(work, repeat) for name, work in works.items()} for _ in range(rounds)]
    return {name: statistics.median(one[name] for one in found) for name in works}


def compare(provider: str, body: bytes, repeat: int, rounds: int) -> tuple[float, float, float]:
    """Median seconds of ours, of theirs, and the median of the ratios of each round."""
    transform = litellm_transformation(provider)
    mine, theirs = compiling(body, "openai-chat", TARGETS[provider]), lambda: transform(body)
    mine(), theirs()
    pairs = [(timed(mine, repeat), timed(theirs, repeat)) for _ in range(rounds)]
    ratios = [their / my for my, their in pairs]
    return (
        statistics.median(my for my, _ in pairs),
        statistics.median(their for _, their in pairs),
        statistics.median(ratios),
    )


def linearity(provider: str) -> float:
    """Time per message at 4,000 messages over that at 400, best of several."""
    costs = {}
    for count in (400, 4000):
        work = compiling(conversation.body(count), "openai-chat", TARGETS[provider])
        costs[count] = min(timed(work, max(1, 4000 // count)) for _ in range(7)) / count
    return costs[4000] / costs[400]


def beside_litellm(rounds: int) -> None:
    print(f"Beside LiteLLM {_version('litellm')}, {rounds} interleaved rounds, CPU time")
    print(f"{'to':10} {'messages':>18} {'ours µs':>9} {'LiteLLM µs':>11} {'times faster':>13} {'wanted':>7}")
    for provider in TARGETS:
        for count, goal in GOALS.items():
            mine, theirs, ratio = compare(provider, conversation.body(count), max(1, 400 // count), rounds)
            print(f"{provider:10} {count:18} {mine * 1e6:9.1f} {theirs * 1e6:11.1f} {ratio:13.1f} {goal:7.0f}")
        for name, body in {"an agent's 200": agent.body("openai-chat"), "with 50 defects": defects.body(50)}.items():
            mine, theirs, ratio = compare(provider, body, 2, max(rounds // 3, 5))
            print(f"{provider:10} {name:>18} {mine * 1e6:9.1f} {theirs * 1e6:11.1f} {ratio:13.1f} {'':>7}")
        print(
            f"{provider:10} time per message, 4,000 over 400 messages: {linearity(provider):.2f} (wanted: at most 1.5)"
        )


def from_every_client(title: str, bodies: dict[str, bytes], rounds: int, repeat: int) -> None:
    """A table of clients and targets in microseconds. `of Chat` is the mean of a row over that of the Chat client."""
    print(f"\n{title}, µs of CPU")
    print(f"{'client':18}" + "".join(f"{name:>18}" for name in OWN) + f"{'of Chat':>10}  wanted: at most {EQUAL}")
    works = {
        f"{source} {target}": compiling(body, source, OWN[target]) for source, body in bodies.items() for target in OWN
    }
    found = medians(works, rounds, repeat)
    rows = {source: [found[f"{source} {target}"] for target in OWN] for source in bodies}
    for source, costs in rows.items():
        ratio = statistics.mean(costs) / statistics.mean(rows["openai-chat"])
        print(f"{source:18}" + "".join(f"{cost * 1e6:18,.0f}" for cost in costs) + f"{ratio:10.2f}")


def with_defects(rounds: int) -> None:
    """What repairs cost: `reporting` is what the entries of the report take, `written` that and their digests."""
    print("\nAn agent's request with defects, from a Chat client, µs of CPU")
    print(f"{'to':30}{'changes':>9}{'clean':>9}{'repaired':>10}{'reporting a change':>20}{'written down':>14}")
    for target in (*OWN.values(), STRICTEST):
        for count in (50, 500):
            _with_defects(target, count, rounds)
    print(f"wanted: at most {CHANGE_GOAL:g} for reporting a change")


def _with_defects(target: str, count: int, rounds: int) -> None:
    asked = defects.request(count)
    body, clean = defects.body(count), agent.body("openai-chat", len(asked["messages"]))
    changes = len(adapt(body, target=target).changes)
    works: dict[str, Work] = {
        "clean": compiling(clean, "openai-chat", target),
        "repaired": compiling(body, "openai-chat", target),
        "unreported": lambda: _unreported(body, target),
        "written": lambda: msgspec.json.encode(adapt(body, target=target).changes),
    }
    found = medians(works, rounds, 1)
    reporting = (found["repaired"] - found["unreported"]) / changes
    written = (found["written"] - found["unreported"]) / changes
    print(
        f"{target:30}{changes:9}{found['clean'] * 1e6:9,.0f}{found['repaired'] * 1e6:10,.0f}"
        f"{reporting * 1e6:20.1f}{written * 1e6:14.1f}"
    )


def _unreported(body: bytes, target: str) -> None:
    """The same repairs without their entries."""
    entries = ReportBuilder.entries
    ReportBuilder.entries = lambda self, rule, notes: []  # type: ignore[method-assign]
    try:
        adapt(body, target=target)
    finally:
        ReportBuilder.entries = entries  # type: ignore[method-assign]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=60)
    rounds = parser.parse_args().rounds
    try:
        import litellm  # noqa: F401  its import takes seconds: not in the measurement
    except ImportError:
        print("LiteLLM is not installed: see bench/environment.sh")
    else:
        beside_litellm(rounds)
    tools = {source: questions.question(source, "tools", OWN[source].partition("/")[2], False) for source in OWN}
    from_every_client("20 messages with a tool", tools, rounds, 4)
    from_every_client(
        "An agent's request: 25 tools, 200 messages, 80 kB", {source: agent.body(source) for source in OWN}, rounds, 1
    )
    with_defects(max(rounds // 3, 5))


def _version(name: str) -> str:
    from importlib.metadata import version

    return version(name)


if __name__ == "__main__":
    main()
