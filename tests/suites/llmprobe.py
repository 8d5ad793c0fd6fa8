"""Run the published suite `llmprobe` against a gateway on emulated providers, and write what it found into a page.

The suite has its own idea of what an API must do. A line of it that is wrong, or that asks for what the provider behind
the gateway does not have, stands in `excused.toml` with the reason. Everything else that fails ends this with status 1.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from tests.e2e.installed import CACHE, environment
from tests.suites.judged_page import table, write_section
from tests.suites.suite_gateway import running_gateway

HERE = Path(__file__).parent
MODELS = ("claude-sonnet-4-6", "gpt-4o", "gemini-2.5-flash", "mistral-large-latest", "deepseek-chat", "qwen3:8b")
"""One model of each provider that is judged, by the name that a gateway without keys has for it."""
SECONDS = 600
MOST_EXCUSED = 0.01


@dataclass(frozen=True)
class Failure:
    """One line of the suite that failed."""

    line: str
    says: str


@dataclass(frozen=True)
class Verdict:
    """What the suite found on one model."""

    model: str
    passed: int
    total: int
    failures: tuple[Failure, ...]


def install() -> Path:
    """The suite's own command, installed once."""
    folder = CACHE / "judges"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text((HERE / "package.json").read_text())
    subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent"], cwd=folder, check=True, timeout=SECONDS)
    return folder / "node_modules" / ".bin" / "llmprobe"


def judge(command: Path, url: str, model: str, folder: Path) -> Verdict:
    """What the suite says of one model. It uploads nothing and records nothing."""
    asked = [str(command), f"{url}/v1", "-m", model, "--no-bench", "--no-save", "--json"]
    ran = subprocess.run(
        asked, cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=SECONDS, check=False
    )
    try:
        found = json.loads(ran.stdout)["conformance"]
    except (ValueError, KeyError):
        raise SystemExit(
            f"{model}: the suite said nothing that can be read:\n{ran.stdout[-500:]}{ran.stderr[-500:]}"
        ) from None
    return Verdict(model, found["passed"], found["total"], tuple(_failures(found["results"])))


def _failures(results: list[dict[str, Any]]) -> Iterator[Failure]:
    for result in results:
        for failure in result["failures"]:
            if failure["severity"] == "MUST":
                yield Failure(failure["id"], failure["message"].split("\n")[0][:200])


def excuse_of(excuses: list[dict[str, str]], model: str, line: str) -> str:
    """Why this line may fail on this model. Empty if it may not."""
    return next((one["why"] for one in excuses if _is_about(one, model, line)), "")


def _is_about(excuse: dict[str, str], model: str, line: str) -> bool:
    return excuse["line"] == line and fnmatchcase(model, excuse.get("model", "*"))


def write_page(verdicts: list[Verdict], excuses: list[dict[str, str]]) -> None:
    rows = [[f"`{one.model}`", f"{one.passed} of {one.total}", str(len(one.failures))] for one in verdicts]
    lines = [[f"`{one['line']}`", f"`{one.get('model', '*')}`", one["why"]] for one in excuses]
    open_lines: dict[str, list[str]] = {}
    for verdict in verdicts:
        for failure in verdict.failures:
            if not excuse_of(excuses, verdict.model, failure.line):
                open_lines.setdefault(failure.line, []).append(f"`{verdict.model}`")
    failing = [[f"`{line}`", ", ".join(models)] for line, models in open_lines.items()]
    write_section(
        "llmprobe",
        [
            "The npm package `llmprobe` judges all surfaces. Its MUST lines:",
            "",
            *table(["model", "MUST lines passed", "failed"], rows),
            "",
            "Lines that may fail, and why:",
            "",
            *table(["line", "model", "why"], lines),
            *(
                ["", "Lines that fail and are not cured yet:", "", *table(["line", "models"], failing)]
                if failing
                else []
            ),
        ],
    )


def main() -> int:
    folder = Path(os.environ.get("DRAGOMAN_JUDGES_FOLDER") or CACHE / "judges-run")
    folder.mkdir(parents=True, exist_ok=True)
    excuses = tomllib.loads((HERE / "excused.toml").read_text())["excuse"]
    command = install()
    verdicts, unexcused, excused = [], 0, 0
    with running_gateway(folder) as url:
        for model in MODELS:
            verdict = judge(command, url, model, folder)
            verdicts.append(verdict)
            print(f"{model}: {verdict.passed} of {verdict.total}", flush=True)
            for failure in verdict.failures:
                why = excuse_of(excuses, model, failure.line)
                print(f"  {'excused' if why else 'FAILED '} {failure.line}: {why or failure.says}", flush=True)
                unexcused, excused = unexcused + (not why), excused + bool(why)
    write_page(verdicts, excuses)
    total = sum(one.total for one in verdicts)
    print(f"{unexcused} of {total} lines failed without an excuse, {excused} with one (at most 1 % may)")
    return 1 if unexcused or excused > MOST_EXCUSED * total else 0


if __name__ == "__main__":
    sys.exit(main())
