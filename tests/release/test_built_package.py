"""`make package-test`: wheel and sdist are built, installed and run; published schemas take compose and workflow."""

from __future__ import annotations

import os
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest
from tests.release.conftest import run

from dragoman import __version__

pytestmark = pytest.mark.skipif(not os.environ.get("DRAGOMAN_PACKAGE"), reason="make package-test builds the package")


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel in it. Dependencies are seen in this one, so that no server is asked."""
    home = tmp_path_factory.mktemp("fresh")
    venv.create(home, with_pip=False, symlinks=True)
    python = home / "bin" / "python"
    [wheel] = built.glob("*.whl")
    run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", wheel)
    site = next((home / "lib").glob("python*")) / "site-packages"
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return home / "bin"


def test_the_wheel_has_all_data_and_nothing_else(built: Path) -> None:
    [wheel] = built.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    inside = run("git", "ls-files", "src/dragoman").splitlines()
    assert {name.removeprefix("src/") for name in inside} <= names
    tops = {name.split("/")[0] for name in names}
    assert tops == {"dragoman", f"dragoman-{__version__}.dist-info"}
    assert not [name for name in names if "__pycache__" in name or name.endswith((".sqlite3", ".env"))]


def test_the_sdist_can_be_built_from(built: Path, tmp_path: Path) -> None:
    [archive] = built.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(tmp_path, filter="data")
    [source] = tmp_path.iterdir()
    assert {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "Makefile", "tests", "docs", "deploy"} <= {
        path.name for path in source.iterdir()
    }
    run(sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", tmp_path / "again", cwd=source)
    [wheel], [again] = built.glob("*.whl"), (tmp_path / "again").glob("*.whl")
    assert zipfile.ZipFile(wheel).namelist() == zipfile.ZipFile(again).namelist()


def test_the_installed_program_runs(installed: Path, tmp_path: Path) -> None:
    place = run(installed / "python", "-c", "import dragoman; print(dragoman.__file__)", cwd=tmp_path).strip()
    assert Path(place).is_relative_to(installed.parent)
    assert run(installed / "dragoman", "--version", cwd=tmp_path) == f"dragoman, version {__version__}\n"
    shown = run(installed / "dragoman", "demo", "--no-keep", "--port", "0", cwd=tmp_path)
    assert "late-system" in shown
    assert "openrouter" in run(installed / "dragoman", "profiles", cwd=tmp_path)


@pytest.mark.parametrize(
    ("schema", "file"),
    [("vendor.compose-spec", "compose.yaml"), ("vendor.github-workflows", ".github/workflows/check.yml")],
)
def test_published_schemas_take_our_files(schema: str, file: str) -> None:
    run(sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, file)


def test_the_bill_of_materials_names_what_is_locked(tmp_path: Path) -> None:
    out = tmp_path / "sbom.cdx.json"
    run(
        Path(sys.executable).parent / "cyclonedx-py",
        *("requirements", "requirements.lock", "--pyproject", "pyproject.toml", "--output-reproducible"),
        *("--output-file", out),
    )
    text = out.read_text()
    assert '"bomFormat": "CycloneDX"' in text
    assert '"purl": "pkg:pypi/msgspec@' in text
