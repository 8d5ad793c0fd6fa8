"""Run LangChain's standard tests for chat models against a gateway on emulated providers.

Each integration of a vendor's SDK talks to every model. A test that is wrong, or that the integration itself cannot
pass, stands in `langchain_excused.toml` with the reason. Everything else that fails ends this with status 1.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import venv
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from tests.e2e.installed import CACHE, environment
from tests.suites.judged_page import table, write_section
from tests.suites.suite_gateway import running_gateway

HERE = Path(__file__).parent
SUITE = HERE / "langchain_models.py"
MODELS = {
    "gpt-4o": "gpt-4o-mini",
    "claude-sonnet-4-6": "claude-opus-4-8",
    "gemini-2.5-flash": "gemini-2.5-pro",
    "mistral-large-latest": "mistral-small-latest",
    "deepseek-chat": "deepseek-v4-pro",
    "qwen3:8b": "gpt-4o-mini",
}
"""One model of each provider that is judged, and another one to ask for in its place."""
SECONDS = 1200
OPTIONS = (
    *("-q", "-W", "ignore", "--tb=line", "-p", "no:cacheprovider", "--asyncio-mode=auto", "-o", "python_files=*.py"),
    *("-o", "asyncio_default_test_loop_scope=session", "-o", "asyncio_default_fixture_loop_scope=session"),
)


@dataclass(frozen=True)
class Outcome:
    """How one test ended."""

    client: str
    test: str
    failed: str  # why, or nothing
    skipped: bool = False

    @property
    def name(self) -> str:
        return f"{self.client}::{self.test}"


def install() -> Path:
    """The Python that has the suite."""
    folder = CACHE / "langchain"
    python = folder / "bin" / "python"
    wanted = (HERE / "langchain.txt").read_text()
    mark = folder / "installed"
    if not mark.exists() or mark.read_text() != wanted:
        venv.create(folder, with_pip=True)
        command = [str(python), "-m", "pip", "install", "--quiet", "-r", str(HERE / "langchain.txt")]
        subprocess.run(command, check=True, timeout=SECONDS)
        mark.write_text(wanted)
    return python


def judge(python: Path, url: str, model: str, folder: Path) -> list[Outcome]:
    """How all tests of all integrations ended with one model."""
    found = folder / "langchain.xml"
    found.unlink(missing_ok=True)
    more = {"DRAGOMAN_URL": url, "DRAGOMAN_MODEL": model, "DRAGOMAN_OVERRIDE": MODELS[model]}
    command = [str(python), "-m", "pytest", str(SUITE), "--rootdir", str(folder), f"--junitxml={found}", *OPTIONS]
    with (folder / "langchain.log").open("w") as log:
        subprocess.run(
            command, cwd=folder, env=environment(folder, **more), stdout=log, stderr=log, timeout=SECONDS, check=False
        )
    if not found.exists():
        raise SystemExit(f"{model}: the suite did not run; see {folder / 'langchain.log'}")
    return [_outcome(one) for one in ElementTree.parse(found).getroot().iter("testcase")]


def _outcome(case: ElementTree.Element) -> Outcome:
    client = case.get("classname", "").rpartition(".")[2].removeprefix("Test")
    ended = next((one for one in case if one.tag in ("failure", "error")), None)
    why = "" if ended is None else (ended.get("message") or "failed").strip().partition("\n")[0][:200]
    return Outcome(client, case.get("name", ""), why, case.find("skipped") is not None)


def excuse_of(excuses: list[dict[str, str]], model: str, outcome: Outcome) -> str:
    """Why this test may fail with this model. Empty if it may not."""
    for one in excuses:
        if fnmatchcase(outcome.name, one["test"]) and fnmatchcase(model, one.get("model", "*")):
            return one["why"]
    return ""


def main() -> int:
    folder = Path(os.environ.get("DRAGOMAN_JUDGES_FOLDER") or CACHE / "judges-run")
    folder.mkdir(parents=True, exist_ok=True)
    excuses = tomllib.loads((HERE / "langchain_excused.toml").read_text())["excuse"]
    python = install()
    outcomes: dict[str, list[Outcome]] = {}
    with running_gateway(folder) as url:
        for model in MODELS:
            outcomes[model] = judge(python, url, model, folder)
            open_ones = [one for one in outcomes[model] if one.failed and not excuse_of(excuses, model, one)]
            print(f"{model}: {len(open_ones)} of {len(outcomes[model])} failed without an excuse", flush=True)
            for one in open_ones:
                print(f"  FAILED {one.name}: {one.failed}", flush=True)
    write_page(outcomes, excuses)
    return 1 if any(_failed(model, some, excuses) for model, some in outcomes.items()) else 0


def _failed(model: str, outcomes: list[Outcome], excuses: list[dict[str, str]]) -> list[Outcome]:
    return [one for one in outcomes if one.failed and not excuse_of(excuses, model, one)]


def write_page(outcomes: dict[str, list[Outcome]], excuses: list[dict[str, str]]) -> None:
    clients = list(dict.fromkeys(one.client for some in outcomes.values() for one in some))
    rows = [
        [f"`{model}`", *(_cell(model, some, excuses, client) for client in clients)] for model, some in outcomes.items()
    ]
    failing = [
        [f"`{one.name}`", f"`{model}`", one.failed.replace("|", "\\|")]
        for model, some in outcomes.items()
        for one in _failed(model, some, excuses)
    ]
    write_section(
        "LangChain's standard tests",
        [
            "The Python package `langchain-tests` judges the chat models of seven integrations on the gateway.",
            "Each cell: tests passed of those that apply, and in brackets those that may fail.",
            "",
            *table(["model", *clients], rows),
            "",
            "Tests that may fail, and why:",
            "",
            *table(
                ["test", "model", "why"],
                [[f"`{one['test']}`", f"`{one.get('model', '*')}`", one["why"]] for one in excuses],
            ),
            *(
                ["", "Tests that fail and are not cured yet:", "", *table(["test", "model", "why"], failing)]
                if failing
                else []
            ),
        ],
    )


def _cell(model: str, outcomes: list[Outcome], excuses: list[dict[str, str]], client: str) -> str:
    tried = [one for one in outcomes if one.client == client and not one.skipped]
    excused = [one for one in tried if one.failed and excuse_of(excuses, model, one)]
    passed = sum(not one.failed for one in tried)
    return f"{passed} of {len(tried) - len(excused)}" + (f" ({len(excused)})" if excused else "")


if __name__ == "__main__":
    sys.exit(main())
