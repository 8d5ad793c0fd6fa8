"""What `import dragoman` offers, and how little it costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

import dragoman


def test_all_that_is_promised_is_there() -> None:
    for name in dragoman.__all__:
        assert getattr(dragoman, name) is not None
    assert set(dragoman.__all__) <= set(dir(dragoman))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing_like_it"):
        dragoman.nothing_like_it  # noqa: B018


def test_adapt_and_lint_work_from_the_package() -> None:
    request = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    adapted = dragoman.adapt(request, source="openai-chat", target="anthropic/claude-sonnet-4-5")
    assert isinstance(adapted, dragoman.Adapted)
    assert adapted.json["messages"] == [{"role": "user", "content": "Hi"}]
    assert all(isinstance(change, dragoman.Change) for change in adapted.changes)
    found = dragoman.lint(request, source="openai-chat", targets=["anthropic/claude-sonnet-4-5"])
    assert all(isinstance(finding, dragoman.Finding) for finding in found)
    with pytest.raises(dragoman.errors.DragomanError):
        dragoman.adapt(b"", target="openai/gpt-4o")


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import dragoman", ("click", "rich", "uvicorn", "msgspec", "yaml")),
        ("import dragoman; dragoman.adapt; dragoman.lint", ("click", "rich", "uvicorn", "yaml", "starlette")),
        ("import dragoman.cli", ("rich", "uvicorn", "yaml", "starlette", "jinja2")),
    ],
)
def test_imports_are_lazy(code: str, absent: tuple[str, ...]) -> None:
    check = f"{code}\nimport sys\nprint([name for name in {absent!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
