"""`make package-test`: each extra brings what its part needs, and without any there is msgspec alone.

A fresh environment gets the wheel and copies of what the wheel itself requires, so that no server is asked.
"""

from __future__ import annotations

import os
import shutil
import sys
import venv
from collections.abc import Callable, Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tests.release.conftest import run

from dragoman.testing import emulator

pytestmark = pytest.mark.skipif(not os.environ.get("DRAGOMAN_PACKAGE"), reason="make package-test builds the package")

Install = Callable[..., Path]


def wanted(requirements: list[str] | None, extra: str) -> Iterator[str]:
    """The names of all packages that the requirements lead to."""
    for requirement in map(Requirement, requirements or []):
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
            continue
        yield canonicalize_name(requirement.name)
        for inner in requirement.extras or {""}:
            yield from wanted(distribution(requirement.name).requires, inner)


def copy(package: Distribution, site: Path) -> None:
    for file in package.files or []:
        if ".." not in file.parts:
            (site / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(package.locate_file(file), site / file)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def install(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Install:
    """Make an environment with the wheel, an extra of it, and other packages; returns its folder of programs."""

    def make(extra: str = "", *others: str) -> Path:
        home = tmp_path_factory.mktemp(extra or "bare")
        venv.create(home, with_pip=False, symlinks=True)
        [wheel] = built.glob("*.whl")
        python = home / "bin" / "python"
        run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", wheel)
        site = next((home / "lib").glob("python*")) / "site-packages"
        [folder] = site.glob("dragoman-*.dist-info")
        requires = [*(Distribution.at(folder).requires or []), *others]
        for name in set(wanted(requires, extra)):
            copy(distribution(name), site)
        return home / "bin"

    return make


def test_without_an_extra_there_is_msgspec_alone(install: Install, tmp_path: Path) -> None:
    bare = install()
    listed = "from importlib.metadata import distributions; print(*sorted(d.name for d in distributions()))"
    assert run(bare / "python", "-I", "-c", listed).split() == ["dragoman", "msgspec"]
    assert run(bare / "python", "-c", ADAPT, cwd=tmp_path) == "late-system\n"
    advice = "dragoman: this needs click, which is not installed (pip install 'dragoman[cli]')\n"
    assert run(bare / "dragoman", "serve", cwd=tmp_path, fails=True) == advice


ADAPT = """
import dragoman
request = {"messages": [{"role": "user", "content": "Hi"}, {"role": "system", "content": "Be brief."}]}
print(*(change.rule for change in dragoman.adapt(request, target="gemini/gemini-2.5-flash").changes))
"""


@pytest.mark.parametrize("library", ["httpx", "httpx2"])
def test_the_transport_needs_the_library_of_the_sdk_alone(install: Install, tmp_path: Path, library: str) -> None:
    with emulator("anthropic") as provider:
        said = run(install("", library) / "python", "-c", SEND, library, provider.base_url, cwd=tmp_path)
    assert said == "chat.completion 200\n"
    assert [request.verdict for request in provider.requests] == ["accepted"]


SEND = """
import importlib, sys
from dragoman.integrations.sdk_transport import DragomanTransport
library = importlib.import_module(sys.argv[1])
transport = DragomanTransport("anthropic/claude-sonnet-4-6", api_key="k", base_url=sys.argv[2])
with library.Client(transport=transport) as client:
    body = {"model": "any", "messages": [{"role": "user", "content": "Hi"}], "seed": 7}
    answer = client.post("https://api.openai.com/v1/chat/completions", json=body)
print(answer.json()["object"], answer.status_code)
"""


def test_the_command_says_which_extra_is_missing(install: Install, tmp_path: Path) -> None:
    program = install("cli") / "dragoman"
    (tmp_path / "a.json").write_text('{"messages": [{"role": "user", "content": "Hi"}]}')
    assert run(program, "adapt", "a.json", "--to", "groq/llama-3.3-70b-versatile", cwd=tmp_path)
    for command, extra in {"serve": "gateway", "chat": "gateway", "emulate": "emulators"}.items():
        assert f"pip install 'dragoman[{extra}]'" in run(program, command, cwd=tmp_path, fails=True), command
    page = " ".join(run(program, "doctor", "--offline", cwd=tmp_path).split())
    assert "extras cli" in page
    assert "gateway (needs cryptography, httptools, jinja2, uvicorn, uvloop, websockets)" in page


def test_a_gateway_without_provider_and_emulators_says_what_to_do(install: Install, tmp_path: Path) -> None:
    program = install("gateway") / "dragoman"
    refused = run(program, "serve", "--port", "0", cwd=tmp_path, fails=True)
    assert "there is no provider" in refused
    assert "pip install 'dragoman[emulators]'" in refused


def test_the_fixture_of_the_emulators(install: Install, tmp_path: Path) -> None:
    python = install("emulators", "pytest") / "python"
    (tmp_path / "test_one.py").write_text(
        "def test_one(dragoman_emulators):\n    assert dragoman_emulators('openai').base_url\n"
    )
    (tmp_path / "test_none.py").write_text(
        "import sys\n\ndef test_none():\n    assert not [name for name in sys.modules if name.startswith('dragoman')]\n"
    )
    assert "1 passed" in run(python, "-m", "pytest", "-q", "test_none.py", cwd=tmp_path)
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["dragoman.testing"]\n')
    assert "1 passed" in run(python, "-m", "pytest", "-q", "test_one.py", cwd=tmp_path)
