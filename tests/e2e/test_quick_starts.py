"""The quick starts of clients that are not in the development environment, run as they stand on their pages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.docs.markdown_pages import Block, blocks, written_pages
from tests.e2e.installed import asked_for, frameworks, npm, run
from tests.gateway.serving import clean_environment, serving

ADDRESS = "127.0.0.1:8642"
BLOCKS = [
    block for page in written_pages() for block in blocks(page) if block.in_e2e and block.kind in ("js", "python")
]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("gateway"), env=clean_environment()) as served:
        yield served.url.removeprefix("http://")


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
    assert said.count("received:") >= text.count("console.log") + text.count("print("), said
