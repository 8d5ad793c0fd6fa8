"""Every example of README and docs is run, or read by what would read it. One that cannot be says why, on its page.

Python and shell are run in a folder of the page, beside a gateway on the strict emulators. Configurations are loaded,
JSON and TOML are parsed, JavaScript is parsed by node, and commands in transcripts are parsed by the program itself.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from tests.docs.markdown_pages import ROOT, Block, blocks, written_pages
from tests.gateway.serving import clean_environment, serving

from dragoman.cli import cli
from dragoman.config.load import parse
from dragoman.config.variables import Environment
from dragoman.emulators.answer_script import Script
from dragoman.gateway.config_names import collect_names
from dragoman.profiles.profile import read_profiles_file

ADDRESS = "127.0.0.1:8642"
"""Where the gateway of every example listens."""
ELSEWHERE = {
    "docs/guide/emulators.md": "tests/emulators/test_guide.py",
    "docs/guide/gateway.md": "tests/gateway/test_gateway_guide.py",
}
"""Pages whose code another test runs, because it looks at what the examples print."""
COOKBOOK = "docs/cookbook/"
"""Recipes have a gateway of their own: test_cookbook.py runs them."""
LONG = 120
"""Seconds that a block may take on a machine that does other things."""
RUN = ("python", "sh")
KINDS = {*RUN, "console", "yaml", "json", "toml", "js", "text", "diff"}
PAGES = written_pages()
BLOCKS = [block for page in PAGES for block in blocks(page)]


def of(*kinds: str) -> list[Any]:
    return [pytest.param(block, id=block.place) for block in BLOCKS if block.kind in kinds and not block.skipped]


def pages_to_run() -> list[str]:
    found = {block.page for block in BLOCKS if block.kind in RUN and not block.skipped}
    return sorted(page for page in found if page not in ELSEWHERE and not page.startswith(COOKBOOK))


def test_every_block_says_what_it_is() -> None:
    assert [block.place for block in BLOCKS if block.kind not in KINDS] == []
    assert len(BLOCKS) > 60


def test_pages_that_are_run_elsewhere_are() -> None:
    for page, test in ELSEWHERE.items():
        assert Path(page).name in (ROOT / test).read_text()


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """`dragoman serve` as a newcomer starts it: no file, no keys, strict emulators."""
    folder = tmp_path_factory.mktemp("gateway")
    with serving(folder, env=clean_environment()) as served:
        yield served.url.removeprefix("http://")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for PATH in which `dragoman` is this checkout's."""
    folder = tmp_path_factory.mktemp("programs")
    (folder / "dragoman").write_text(f"#!{sys.executable}\nfrom dragoman.cli import main\nmain()\n")
    (folder / "dragoman").chmod(0o755)
    return folder


@pytest.mark.sampled(5)
@pytest.mark.parametrize("page", pages_to_run())
def test_a_page_can_be_followed(page: str, gateway: str, programs: Path, tmp_path: Path) -> None:
    for block in blocks(ROOT / page):
        if block.skipped or block.in_e2e:
            continue
        if block.file is not None:
            (tmp_path / block.file).parent.mkdir(exist_ok=True)
            (tmp_path / block.file).write_text(block.text.replace(ADDRESS, gateway))
        elif block.kind in RUN and not starts_a_server(block):
            follow(block, gateway, programs, tmp_path)


def starts_a_server(block: Block) -> bool:
    """`dragoman serve` and nothing else: it runs already."""
    return block.kind == "sh" and all(
        line.startswith(("dragoman serve", "export ")) for line in block.text.splitlines() if line.strip()
    )


def follow(block: Block, gateway: str, programs: Path, folder: Path) -> None:
    text = block.text.replace(ADDRESS, gateway)
    if block.kind == "python":
        run_python(text, block.place, folder)
    else:
        run_shell(text, block.place, programs, folder)


def run_python(text: str, place: str, folder: Path) -> dict[str, Any]:
    """As a script in the folder; functions that are tests are called too."""
    space: dict[str, Any] = {"__name__": "example"}
    before = Path.cwd()
    os.chdir(folder)
    try:
        exec(compile(text, place, "exec", dont_inherit=True), space)  # our own text
        for name, value in list(space.items()):
            if name.startswith("test_") and callable(value):
                value()
    finally:
        os.chdir(before)
    return space


def run_shell(text: str, place: str, programs: Path, folder: Path, **more: str) -> str:
    env = clean_environment(**more)
    env["PATH"] = f"{programs}:{env['PATH']}"
    command = ["bash", "-euo", "pipefail", "-c", text]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=LONG, check=False)
    assert done.returncode == 0, (place, done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout


@pytest.mark.parametrize("block", of("yaml"))
def test_yaml_is_read_by_what_it_is_for(block: Block) -> None:
    value = yaml.safe_load(block.text)
    if isinstance(value, list):
        assert Script(value).left
        return
    values = {name: hashlib.sha256(name.encode()).hexdigest() for name in re.findall(r"\$\{(\w+)", block.text)}
    without_files = re.sub(r"^profiles: .*\n", "", block.text, flags=re.MULTILINE)  # a file that is not here
    parse(without_files, known=collect_names(), variables=Environment(values))


@pytest.mark.parametrize("block", of("json"))
def test_json_is_json(block: Block) -> None:
    json.loads(block.text)


@pytest.mark.parametrize("block", of("toml"))
def test_toml_is_read_by_what_it_is_for(block: Block, tmp_path: Path) -> None:
    """Profiles of the user's are read as such; the rest is for other programs."""
    table = tomllib.loads(block.text)
    if "model_providers" not in table:
        (tmp_path / "mine.toml").write_text(block.text)
        assert read_profiles_file(tmp_path / "mine.toml")


@pytest.mark.parametrize("block", of("python"))
def test_python_is_python(block: Block) -> None:
    compile(block.text, block.place, "exec")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_javascript_is_javascript(tmp_path: Path) -> None:
    files = []
    for number, block in enumerate(param.values[0] for param in of("js")):
        files.append(tmp_path / f"block{number}.mjs")
        files[-1].write_text(block.text)
    for file in files:
        done = subprocess.run(["node", "--check", file], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def commands_in(block: Block) -> Iterator[str]:
    """What follows `dragoman` in a block, without comments, pipes and what stands around it."""
    text = re.sub(r"\\\n", " ", block.text)
    for line in text.splitlines():
        shown = line if block.kind != "console" else line[2:] if line.startswith(("$ ", "# ")) else ""
        for found in re.finditer(r"(?:^|&& |\$\(|\| |[A-Z_]+=\S+ )dragoman ((?:[^#|&)>]|(?<! )#)*)", shown):
            yield found[1].strip()


COMMANDS = [
    pytest.param(command, id=f"{block.place} {command[:40]}")
    for block in BLOCKS
    if block.kind in ("console", "sh")
    for command in commands_in(block)
]


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_exist_with_their_options(command: str) -> None:
    words = ["example.json" if re.fullmatch(r"[*\w]+\.json", word) else word for word in shlex.split(command)]
    understood(cli, words)


def understood(command: click.Command, words: list[str], parent: click.Context | None = None) -> None:
    """The words are parsed as the program would, but no file needs to exist and nothing runs."""
    context = click.Context(command, info_name=command.name, parent=parent)
    if isinstance(command, click.Group):
        inner = command.get_command(context, words[0]) if words else None
        assert inner is not None, f"no command {words[:1]} in {command.name}"
        understood(inner, words[1:], context)
        return
    options, _, _ = command.make_parser(context).parse_args(list(words))
    for parameter in command.get_params(context):
        given = options.get(parameter.name or "")
        if isinstance(parameter.type, click.Choice) and isinstance(given, str):
            parameter.type.convert(given, parameter, context)


def test_a_command_that_does_not_exist_is_seen() -> None:
    for words in (["adept"], ["adapt", "--too", "x"], ["adapt", "--doubt", "maybe", "--to", "x"]):
        with pytest.raises((AssertionError, click.UsageError)):
            understood(cli, words)
