"""Every recipe of the cookbook, followed to the letter: its configuration, its code, and what the providers were sent.

Strict emulators stand in the place of the providers. Recipes for agents with a terminal run in `make e2e`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.docs.markdown_pages import ROOT, Block, blocks
from tests.docs.test_examples import ADDRESS, RUN, run_python, run_shell
from tests.gateway.running import QUICK, Running, gateway

from dragoman.emulators.serving.background_server import RunningEmulator
from dragoman.testing import emulator

FOLDER = ROOT / "docs" / "cookbook"
CONFIG = "dragoman.yaml"
PAGES = {path.stem for path in FOLDER.glob("*.md")} - {"README"}
IN_E2E = {"claude-code-on-gemini", "codex-on-claude"}
"""tests/e2e/test_recipes.py runs these."""
WITHOUT_GATEWAY = {"test-without-keys", "lint-a-data-set", "strict-tools"}


class Kitchen:
    """A page, the providers and the gateway of its configuration, and a folder to work in."""

    def __init__(
        self, page: str, folder: Path, providers: Mapping[str, RunningEmulator], running: Running | None
    ) -> None:
        self.page = list(blocks(FOLDER / f"{page}.md"))
        self.folder = folder
        self.providers = providers
        self.running = running

    def follow(self, programs: Path) -> None:
        """Every block, in order."""
        for block in self.page:
            if block.skipped or block.in_e2e or block.file == CONFIG:
                continue
            if block.file is not None:
                self.write(block)
            elif block.kind in RUN:
                self._run(block, programs)

    def write(self, block: Block) -> None:
        path = self.folder / str(block.file)
        path.parent.mkdir(exist_ok=True)
        path.write_text(self.here(block.text))

    def _run(self, block: Block, programs: Path) -> None:
        if block.kind == "python":
            run_python(self.here(block.text), block.place, self.folder)
        else:
            run_shell(self.here(block.text), block.place, programs, self.folder, ANTHROPIC_API_KEY="k")

    def here(self, text: str) -> str:
        return text.replace(f"http://{ADDRESS}", self.running.url) if self.running is not None else text


@contextmanager
def kitchen(page: str, folder: Path, **options: Any) -> Iterator[Kitchen]:
    """The page's configuration with emulators in the place of its providers; `options` are those of all emulators."""
    [config] = [block.text for block in blocks(FOLDER / f"{page}.md") if block.file == CONFIG] or [""]
    if not config:
        yield Kitchen(page, folder, {}, None)
        return
    with ExitStack() as stack:
        providers, replaced = {}, yaml.safe_load(config)
        for name, provider in replaced["providers"].items():
            providers[name] = stack.enter_context(emulator(provider.get("profile", name), **options))
            retries = {**QUICK, **provider.get("retries", {})}
            provider.update(api_key="k" * 20, base_url=providers[name].base_url, retries=retries)
        (folder / "logs").mkdir()
        log = {"level": "debug", "provider_errors": {"path": str(folder / "logs" / "provider_errors.jsonl")}}
        running = stack.enter_context(gateway({"log": log, **replaced}, folder))
        yield Kitchen(page, folder, providers, running)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for PATH with this checkout's `dragoman`, and the Python that runs the tests."""
    folder = tmp_path_factory.mktemp("programs")
    (folder / "dragoman").write_text(f"#!{sys.executable}\nfrom dragoman.cli import main\nmain()\n")
    (folder / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    for program in folder.iterdir():
        program.chmod(0o755)
    return folder


def test_every_recipe_is_run() -> None:
    names = {
        name.removeprefix("test_recipe_").replace("_", "-") for name in globals() if name.startswith("test_recipe_")
    }
    assert names | IN_E2E | WITHOUT_GATEWAY == PAGES
    assert len(PAGES) >= 10
    index = (FOLDER / "README.md").read_text()
    assert all(f"({page}.md)" in index for page in PAGES)


def accepted(one: RunningEmulator) -> list[Any]:
    assert [request.verdict for request in one.requests] == ["accepted"] * len(one.requests)
    return [request.body for request in one.requests]


def test_recipe_keep_reasoning(tmp_path: Path, programs: Path) -> None:
    """The emulators refuse every signature that they did not make, and calls of Gemini 3 without one."""
    call = {"calls": [{"name": "weather", "arguments": {"city": "Paris"}}], "reasoning": "I should look."}
    with kitchen("keep-reasoning", tmp_path, signatures="strict") as one:
        for provider in one.providers.values():
            provider.script(call, "It rains.")
        one.follow(programs)
        first, second = (accepted(one.providers[name]) for name in ("google", "claude"))
    assert len(first) == len(second) == 2
    [signed] = [part for content in first[1]["contents"] for part in content["parts"] if "functionCall" in part]
    assert signed["thoughtSignature"]
    assert "thoughtSignature" not in str(second)


def test_recipe_fall_back(tmp_path: Path, programs: Path) -> None:
    with kitchen("fall-back", tmp_path) as one:
        one.providers["claude"].fault("529")
        one.follow(programs)
        assert [request.status for request in one.providers["claude"].requests] == [529, 529]
        [body] = accepted(one.providers["google"])
    assert body["systemInstruction"]["parts"] == [{"text": "Be brief."}]


def test_recipe_trim(tmp_path: Path, programs: Path) -> None:
    with kitchen("trim", tmp_path) as one:
        one.follow(programs)
        [body] = accepted(one.providers["claude"])
    assert len(body["messages"]) < 100
    assert body["messages"][0]["role"] == "user"
    assert "You are patient." in str(body["system"])


@pytest.mark.slow
def test_recipe_budgets(tmp_path: Path, programs: Path) -> None:
    with kitchen("budgets", tmp_path) as one:
        assert one.running is not None
        shell, python = [block for block in one.page if block.kind in RUN]
        run_shell(one.here(shell.text), shell.place, programs, tmp_path, ANTHROPIC_API_KEY="k")
        one.running.services.live.reload()
        run_python(one.here(python.text), python.place, tmp_path)
        assert 1 <= len(accepted(one.providers["claude"])) < 100


def test_recipe_structured_output(tmp_path: Path, programs: Path) -> None:
    with kitchen("structured-output", tmp_path) as one:
        one.providers["deepseek"].script({"json": {"city": "Paris"}})
        one.follow(programs)
        for name, provider in one.providers.items():
            assert len(accepted(provider)) == (2 if name == "anthropic" else 1)


@pytest.mark.slow
def test_recipe_replay(tmp_path: Path, programs: Path) -> None:
    with kitchen("replay", tmp_path, refuses=['"temperature":']) as one:
        one.follow(programs)
    assert (tmp_path / "test_refused.py").exists()


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted(WITHOUT_GATEWAY))
def test_recipes_without_a_gateway(page: str, tmp_path: Path, programs: Path) -> None:
    with kitchen(page, tmp_path) as one:
        assert [block for block in one.page if block.kind in RUN]
        one.follow(programs)
