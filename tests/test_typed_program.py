"""A program that uses the library runs, and passes a strict type checker."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from tests import typed_program


@pytest.mark.slow
def test_a_program_that_uses_the_library_passes_pyright_in_strict_mode(tmp_path: Path) -> None:
    pytest.importorskip("pyright", reason="pyright is not installed (pip install -e '.[dev]')")
    (tmp_path / "program.py").write_bytes((Path(__file__).parent / "typed_program.py").read_bytes())
    environment = {"venvPath": str(Path(sys.prefix).parent), "venv": Path(sys.prefix).name}
    config = {"include": ["program.py"], "typeCheckingMode": "strict", "pythonVersion": "3.11", **environment}
    (tmp_path / "pyrightconfig.json").write_bytes(msgspec.json.encode(config))
    done = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    if not done.stdout.startswith("{"):
        pytest.skip(f"pyright does not run here: it fetches itself when it is first run ({done.stderr[-200:]})")
    report = msgspec.json.decode(done.stdout)
    assert report["generalDiagnostics"] == []
    assert report["summary"]["filesAnalyzed"] == 1


def test_the_typed_program_runs(capsys: pytest.CaptureFixture[str]) -> None:
    typed_program.main()
    assert capsys.readouterr().out.startswith("Hello. ")
