"""The quick starts of clients that are not in the development environment, run as they stand on their pages."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.docs.markdown_pages import Block, blocks, written_pages
from tests.e2e.installed import asked_for, frameworks, npm, run
from tests.gateway.serving import clean_environment, serving

ADDRESS = "127.0.0.1:8642"


def is_agent(block: Block) -> bool:
    return block.in_e2e and block.kind == "sh"


AGENTS = [page for page in written_pages() if page.parent.name == "start" and any(map(is_agent, blocks(page)))]
BLOCKS = [
    block for page in written_pages() for block in blocks(page) if block.in_e2e and block.kind in ("js", "python")
]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("gateway"), env=clean_environment()) as served:
        yield served.url.removeprefix("http://")


@asked_for
@pytest.mark.parametrize("page", AGENTS, ids=lambda page: page.stem)
def test_quick_start_of_an_agent(page: Path, gateway: str, tmp_path: Path) -> None:
    """Its files are written as the page says, below a home of its own, and its one question is asked."""
    for block in blocks(page):
        if block.file is not None:
            (tmp_path / block.file).parent.mkdir(exist_ok=True)
            (tmp_path / block.file).write_text(block.text.replace(ADDRESS, gateway))
    [asked] = filter(is_agent, blocks(page))
    programs = f"{npm() / 'node_modules' / '.bin'}:{os.environ['PATH']}"
    more = {"PATH": programs, "DISABLE_AUTOUPDATER": "1", "GEMINI_CLI_TRUST_WORKSPACE": "true"}
    said = run(["bash", "-euc", asked.text.replace(ADDRESS, gateway)], tmp_path, **more)
    assert 'You say: "What is a dragoman?"' in said, said


@asked_for
@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.place)
def test_quick_start(block: Block, gateway: str, tmp_path: Path) -> None:
    text = block.text.replace(ADDRESS, gateway)
    if block.kind == "python":
        (tmp_path / "start.py").write_text(text)
        said = run([str(frameworks()), "start.py"], tmp_path)
    else:
        (tmp_path / "node_modules").symlink_to(npm() / "node_modules")
        (tmp_path / "start.mjs").write_text(text)
        said = run([shutil.which("node") or "node", "start.mjs"], tmp_path)
    answers = re.findall(r"You say: |says: ", said)
    assert len(answers) >= text.count("console.log") + text.count("print("), said
