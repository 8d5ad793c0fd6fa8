"""Commands on files that are not what they seem: one clear line, never a traceback, and nothing half written."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from dragoman.cli import cli

FILES = {
    "bad.yaml": b"a: [",
    "binary.yaml": b"\xff\xfe\x00",
    "list.yaml": b"[]",
    "keys.yaml": b"keys: hello\n",
    "good.yaml": b"server: {port: 1}\n",
    "models.yaml": b"model_list: 3\n",
    "lazy.yaml": b"providers: {one: {api_key: k}}\n",
    "bytes.env": b"\xff",
}
CALLS = {
    "keys create ci -c bad.yaml": "bad.yaml:1: is not YAML",
    "keys create ci -c binary.yaml": "binary.yaml: cannot be read: it is not UTF-8",
    "keys create ci -c list.yaml": "list.yaml: must be a mapping",
    "keys create ci -c keys.yaml": "keys.yaml: keys must be a mapping",
    "keys create ci -c no/such/folder.yaml": "folder.yaml: cannot be written: No such file or directory",
    "keys create EMPTY -c good.yaml": "a key needs a printable name",
    "keys create ci -c good.yaml --expires soon": "must be a date",
    "keys list -c binary.yaml": "cannot be read: it is not UTF-8",
    "keys list -c nothing.yaml": "nothing.yaml: cannot be read: No such file or directory",
    "keys revoke ci -c binary.yaml": "cannot be read: it is not UTF-8",
    "keys revoke ci -c list.yaml": "list.yaml: must be a mapping",
    "keys revoke ci -c good.yaml": 'keys has no "ci". Known: none',
    "import litellm binary.yaml": "binary.yaml: cannot be read: it is not UTF-8",
    "import litellm list.yaml": "must be a mapping",
    "import litellm models.yaml": "models.yaml: model_list must be a list",
    "import lazyrouter lazy.yaml -o no/such/folder.yaml": "cannot be written",
    "init no/such/folder.yaml": "folder.yaml: cannot be written: No such file or directory",
    "init good.yaml": "good.yaml exists already",
    "config check -c binary.yaml": "cannot be read: it is not UTF-8",
    "config check -c good.yaml --env-file bytes.env": "bytes.env: cannot be read: it is not UTF-8",
    "config show -c bad.yaml": "bad.yaml:1: is not YAML",
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


@pytest.mark.parametrize("call", CALLS)
def test_it_is_said_what_is_wrong(here: Path, call: str) -> None:
    words = ["" if word == "EMPTY" else word for word in call.split()]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 1
    assert isinstance(done.exception, SystemExit), done.exception
    assert CALLS[call] in done.stderr
    assert done.stdout == "" or call.startswith("import")
    left = {path.name: path.read_bytes() for path in here.iterdir()}
    assert left == FILES


def test_a_key_that_has_expired_already_is_told(here: Path) -> None:
    done = CliRunner().invoke(cli, ["keys", "create", "old", "-c", "good.yaml", "--expires", "2020-01-01"])
    assert done.exit_code == 0
    assert "note: it has already expired (2020-01-01" in done.stderr


def test_a_command_alone_tells_what_it_has() -> None:
    done = CliRunner().invoke(cli, ["keys"])
    assert done.exit_code == 2
    assert "\n  revoke " in done.stderr


def test_an_unreadable_env_file_beside_the_config(here: Path) -> None:
    (here / ".env").write_bytes(b"\xff")
    done = CliRunner().invoke(cli, ["keys", "list", "-c", "good.yaml"])
    assert done.exit_code == 1
    assert ".env: cannot be read: it is not UTF-8" in done.stderr


@pytest.mark.parametrize(
    ("text", "mode", "warned"),
    [
        ("providers: {groq: {api_key: sk-0123456789}}", 0o644, True),
        ("providers: {groq: {api_keys: [sk-0123456789, sk-9876543210]}}", 0o644, True),
        ("providers: {groq: {api_key: sk-0123456789}}", 0o640, False),
        ("providers: {groq: {api_key: '${SOME_KEY}'}}", 0o644, False),
        ("providers: {groq: {api_key: $SOME_KEY}}", 0o644, False),
        ("providers: {groq: {api_keys: ['${SOME_KEY', sk-0123456789]}}", 0o644, True),
        ("server: {port: 1}", 0o644, False),
    ],
)
def test_keys_that_everybody_may_read_are_told(here: Path, text: str, mode: int, warned: bool) -> None:
    path = here / "dragoman.yaml"
    path.write_text(text)
    path.chmod(mode)
    done = CliRunner().invoke(cli, ["config", "check"], env={"SOME_KEY": "sk-0123456789"})
    assert done.exit_code == 0
    assert ("all users of this machine can read it; run: chmod 600 dragoman.yaml" in done.stderr) is warned
