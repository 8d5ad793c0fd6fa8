"""The manual page and the completions of shells."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from dragoman.cli import COMMANDS, cli

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def manual() -> str:
    spec = importlib.util.spec_from_file_location("manpage", ROOT / "docs" / "manpage.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text: str = module.manual_page()
    return text


def test_the_manual_has_every_command_and_option(manual: str) -> None:
    for name in COMMANDS:
        assert f".SS dragoman {name} " in manual, name
    assert "\\fB\\-\\-max\\-loss LOSS\\fR" in manual
    assert ".SS dragoman keys create " in manual


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_groff_takes_the_manual_without_a_warning(manual: str) -> None:
    done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z"], input=manual, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_there_is_a_completion_for_every_shell(shell: str) -> None:
    done = CliRunner().invoke(cli, ["completion", shell], prog_name="dragoman")
    assert done.exit_code == 0, done.output
    assert f"_DRAGOMAN_COMPLETE={shell}_complete" in done.stdout


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes_commands_options_and_values(tmp_path: Path) -> None:
    program = tmp_path / "dragoman"
    program.write_text(f"#!{sys.executable}\nfrom dragoman.cli import main\nmain()\n")
    program.chmod(0o755)
    script = CliRunner().invoke(cli, ["completion", "bash"], prog_name="dragoman").stdout
    asked = "\n".join(
        f"COMP_WORDS=({words}); COMP_CWORD={words.count(' ')}; COMPREPLY=(); _dragoman_completion {program}\n"
        'echo "${COMPREPLY[*]}"'
        for words in ("dragoman le", "dragoman adapt --max", "dragoman adapt --doubt c")
    )
    done = subprocess.run(["bash", "-c", f"{script}\n{asked}"], capture_output=True, text=True, check=False)
    assert done.stdout.split("\n")[:3] == ["lessons", "--max-loss", "careful"], done.stderr
