"""The page of proven clients: who was run, in which version, against which providers, and how it ended."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import version

from tests.e2e.agents import AGENTS
from tests.e2e.installed import HERE
from tests.e2e.matrix import FORGOTTEN, LEARNT, OTHER_API, is_hidden
from tests.e2e.plot import Case
from tests.e2e.sdk_clients import CLIENTS
from tests.e2e.upstreams import BY_NAME, UPSTREAMS

PAGE = HERE.parents[1] / "docs" / "proven-clients.md"
Outcomes = dict[tuple[str, str], list[str]]
"""What went wrong, by client and provider."""
_HEAD = """<!-- Written by `make e2e`. -->

# Proven clients

On {date} each client below held a loop of three turns with each model below, through the gateway. `make e2e` runs it
all again, in about ten minutes on two cores, and writes this page. The providers are Dragoman's strict emulators with
`signatures: strict`: they refuse what the real ones refuse, and every signature that they did not make.

The loop: the model thinks and calls two tools at once, with words before the calls; it gets both results, thinks and
calls two tools at once again; it gets these results, thinks and answers. SDKs and frameworks hold it twice, with whole
answers and with streams. Agents stream, and their tool is the shell.

"yes" means that all of this is true:

- The client's last text is the model's answer, and nothing else.
- Each tool was given the arguments of its own call. They hold quotes, backslashes and letters beyond ASCII.
- The client shows all three thoughts, if it can show thoughts at all (footnote a).
- The tokens that the client counts are the ones that the model named.
- No request was refused (but see c), and the model was asked three times.
- The third request holds every call with its own result and the reasoning of both turns, with valid signatures if
  the provider makes any, and thinking is still on.

"""


def write(outcomes: Outcomes) -> None:
    """Only if every client met every provider."""
    wanted = {(client, one.name) for client in (*AGENTS, *CLIENTS) for one in UPSTREAMS}
    if wanted <= outcomes.keys():
        PAGE.write_text("\n".join(_lines(outcomes)) + "\n", encoding="utf-8")


def _lines(outcomes: Outcomes) -> Iterator[str]:
    yield _HEAD.format(date=datetime.now(UTC).date().isoformat()).rstrip("\n")
    yield ""
    yield "| client | " + " | ".join(one.title for one in UPSTREAMS) + " |"
    yield "|---|" + "---|" * len(UPSTREAMS)
    for client in (*AGENTS, *CLIENTS):
        cells = [_cell(client, one.name, outcomes) for one in UPSTREAMS]
        yield f"| {_title(client)} | " + " | ".join(cells) + " |"
    yield ""
    yield "Footnotes:\n"
    yield "- a: This client does not show the thoughts of its dialect. They still go back to the model."
    for (client, upstream), reason in FORGOTTEN.items():
        yield f"- b: {_title(client)} with {_upstream(upstream)}: {reason}"
    for (client, upstream), name in LEARNT.items():
        there = f"{_title(client)} with {_upstream(upstream)}"
        yield f"- c: {there}: the first request is refused for `{name}`, and the gateway sends it again without."
    yield "- d: This model shows no thoughts in its own dialect unless `display` asks for them; the signatures go back."
    for (client, upstream), reason in OTHER_API.items():
        yield f"- e: {_title(client)} with {_upstream(upstream)}: {reason}"
    yield from _failures(outcomes)
    yield from ("", "## Versions", "", "| package | version |", "|---|---|")
    yield from (
        f"| {name} | {number} |" for name, number in sorted(_versions().items(), key=lambda one: one[0].lower())
    )
    yield from ("", "## Models", "", "| name here | model | emulator |", "|---|---|---|")
    yield from (f"| {one.title} | `{one.model}` | `{one.profile}` |" for one in UPSTREAMS)


def _cell(client: str, upstream: str, outcomes: Outcomes) -> str:
    if outcomes[client, upstream]:
        return "**no**"
    if (client, upstream) in LEARNT:
        return "yes (c)"
    if (client, upstream) in OTHER_API:
        return "yes (e)"
    if is_hidden(Case(client, BY_NAME[upstream])):
        return "yes (d)"
    return "yes (b)" if (client, upstream) in FORGOTTEN else "yes"


def _upstream(name: str) -> str:
    return next(one.title for one in UPSTREAMS if one.name == name)


def _title(client: str) -> str:
    if client in AGENTS:
        return AGENTS[client].title + (" (a)" if not AGENTS[client].shows_thoughts else "")
    return CLIENTS[client].title + (" (a)" if not CLIENTS[client].shows_thoughts else "")


def _failures(outcomes: Outcomes) -> Iterator[str]:
    failed = {key: found for key, found in outcomes.items() if found}
    if failed:
        yield from ("", "## What failed", "")
    for (client, upstream), found in failed.items():
        for reason in dict.fromkeys(found):
            yield f"- {_title(client)} with {upstream}: {reason.removeprefix('AssertionError: ')[:300]}"


def _versions() -> Mapping[str, str]:
    packages = json.loads((HERE / "package.json").read_text())["dependencies"]
    lines = (HERE / "frameworks.txt").read_text().splitlines()
    frameworks = dict(line.split("==") for line in lines if "==" in line)
    ours = {f"{name} (Python)": version(name) for name in ("openai", "anthropic", "google-genai")}
    renamed = {"openai": "openai (JavaScript)"}
    return {**{renamed.get(name, name): number for name, number in packages.items()}, **frameworks, **ours}
