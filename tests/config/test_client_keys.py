"""Client keys come and go; the rest of the file stays as its author wrote it."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from test_config_file import HASH
from tests.offenders import offenders

from dragoman.cli.commands.gateway.keys import keys
from dragoman.config.client_keys import make_key, sha256_of
from dragoman.config.errors import InvalidConfig
from dragoman.config.key_editing import add_key, remove_key, write_file

ENTRY = {"sha256": HASH, "allowed_models": ["cheap"], "requests_per_minute": 5}

LAYOUTS = {
    "empty file": "",
    "no newline at the end": "server: {port: 1}",
    "no keys": "# head\nserver:\n  port: 1 # one\n\n# tail\n",
    "empty keys": "keys:\nserver: {port: 1}\n",
    "keys with a comment": "keys: # none yet\n\nserver: {port: 1}\n",
    "empty flow": "keys: {}\nserver: {port: 1}\n",
    "null": "keys: null\nserver: {port: 1}\n",
    "flow": f"keys: {{old: {{sha256: '{HASH}'}}}} # all\nserver: {{port: 1}}\n",
    "block": f"keys:\n  old: {{sha256: '{HASH}'}} # mine\n\n# about the server\nserver: {{port: 1}}\n",
    "deep block": f"keys:\n    old:\n        sha256: '{HASH}'\n        allowed_models:\n"
    "            - a\n            - b # b\n    # later\nserver: {}\n",
    "at the end": f"server: {{port: 1}}\nkeys:\n  old:\n    sha256: '{HASH}'",
    "windows": f"server: {{port: 1}}\r\nkeys:\r\n  old: {{sha256: '{HASH}'}}\r\n",
    "several lines of flow": f"keys: {{\n  old: {{sha256: '{HASH}'}},\n}}\n",
    "commented example": "server: {port: 1}\n# keys:\n#   ci: {}\n",
}  # fmt: skip


@pytest.mark.slow
def test_a_key_is_added_and_removed_in_any_layout() -> None:
    assert not offenders(check_layout, product(LAYOUTS, ("ci", "on", "12", "a b", 'q"uote', "ключ")))


def check_layout(layout: str, name: str) -> None:
    text = LAYOUTS[layout]
    before = yaml.safe_load(text) or {}
    added = add_key(text, name, ENTRY, "dragoman.yaml")
    assert yaml.safe_load(added) == {**before, "keys": {**(before.get("keys") or {}), name: ENTRY}}
    for line in text.splitlines():  # every comment is still there
        assert ("#" not in line) or (line.split("#", 1)[1] in added)
    removed = yaml.safe_load(remove_key(added, name, "dragoman.yaml")) or {}
    assert (removed.get("keys") or {}) == (before.get("keys") or {})
    assert removed.get("server") == before.get("server")


def test_a_name_is_given_once() -> None:
    with pytest.raises(InvalidConfig, match='keys already has "old"'):
        add_key(LAYOUTS["block"], "old", ENTRY, "dragoman.yaml")
    with pytest.raises(InvalidConfig, match=r'keys has no "new"\. Known: old'):
        remove_key(LAYOUTS["block"], "new", "dragoman.yaml")


def test_a_layout_that_cannot_be_edited_is_left_alone() -> None:
    text = f"x: &keys\n  old: {{sha256: '{HASH}'}}\nkeys: *keys\n"
    with pytest.raises(InvalidConfig, match="add this under keys: by hand"):
        add_key(text, "new", ENTRY, "dragoman.yaml")


def test_keys_are_long_and_never_the_same() -> None:
    made = {make_key() for _ in range(200)}
    assert len(made) == 200
    assert all(re.fullmatch(r"dm-[0-9A-Za-z]{40}", key) for key in made)


def test_a_key_is_created_listed_and_revoked(tmp_path: Path) -> None:
    path = tmp_path / "dragoman.yaml"
    path.write_text("# mine\nmodels: {cheap: {target: groq/x}}\n")
    path.chmod(0o640)
    run = CliRunner().invoke
    options = ["--models", "cheap,other/*", "--rpm", "5", "--expires", "2030-01-01", "--admin"]
    created = run(keys, ["create", "ci", "-c", str(path), *options])
    assert created.exit_code == 0, created.output
    key = created.stdout.strip()
    entry = yaml.safe_load(path.read_text())["keys"]["ci"]
    assert entry["sha256"] == sha256_of(key)
    assert entry["allowed_models"] == ["cheap", "other/*"]
    assert key not in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o640
    listed = run(keys, ["list", "-c", str(path)]).stdout
    assert "models: cheap, other/*; 5 requests/min; until 2030-01-01T00:00:00+00:00; admin" in listed
    assert key not in listed
    assert run(keys, ["create", "ci", "-c", str(path)]).exit_code == 1
    assert run(keys, ["revoke", "ci", "-c", str(path)]).exit_code == 0
    assert run(keys, ["revoke", "ci", "-c", str(path)]).exit_code == 1
    assert path.read_text().startswith("# mine\n")


def test_a_key_is_created_with_a_budget(tmp_path: Path) -> None:
    path = tmp_path / "dragoman.yaml"
    path.write_text("server: {}\n")
    options = ["--budget-day", "5", "--budget-month", "50.5", "--budget-total", "0", "--warn", "0.5"]
    created = CliRunner().invoke(keys, ["create", "ci", "-c", str(path), *options, "--unpriced", "allow"])
    assert created.exit_code == 0, created.output
    entry = yaml.safe_load(path.read_text())["keys"]["ci"]
    assert entry["budget"] == {"day": 5, "month": 50.5, "total": 0, "warn": 0.5}
    assert entry["unpriced"] == "allow"
    listed = CliRunner().invoke(keys, ["list", "-c", str(path)]).stdout
    assert "budget: 5 a day, 50.5 a month, 0 in total, models without a price too" in listed


def test_a_tiny_budget_is_written_as_a_number(tmp_path: Path) -> None:
    path = tmp_path / "dragoman.yaml"
    created = CliRunner().invoke(keys, ["create", "ci", "-c", str(path), "--budget-day", "0.000001"])
    assert created.exit_code == 0, created.output
    assert "budget: 1e-06 a day" in CliRunner().invoke(keys, ["list", "-c", str(path)]).stdout


def test_a_key_that_is_added_by_hand_is_shown_with_its_hash(tmp_path: Path) -> None:
    path = tmp_path / "dragoman.yaml"
    path.write_text(f"x: &keys\n  old: {{sha256: '{HASH}'}}\nkeys: *keys\n")
    created = CliRunner().invoke(keys, ["create", "ci", "-c", str(path)])
    assert created.exit_code == 1
    assert sha256_of(created.stdout.strip()) in created.stderr
    taken = CliRunner().invoke(keys, ["create", "old", "-c", str(path)])
    assert (taken.exit_code, taken.stdout) == (1, "")


BAD_LIMITS = [
    ["--expires", "soon"],
    ["--rpm", "0"],
    ["--budget-day", "-1"],
    ["--budget-day", "nan"],
    ["--budget-month", "inf"],
    ["--budget-day", "5", "--warn", "1.5"],
    ["--warn", "0.5"],
    ["--unpriced", "allow"],
    ["--budget-day", "5", "--unpriced", "maybe"],
]


@pytest.mark.parametrize("options", BAD_LIMITS)
def test_a_bad_limit_changes_nothing(tmp_path: Path, options: list[str]) -> None:
    path = tmp_path / "dragoman.yaml"
    path.write_text("server: {}\n")
    assert CliRunner().invoke(keys, ["create", "ci", "-c", str(path), *options]).exit_code != 0
    assert path.read_text() == "server: {}\n"


def test_a_file_is_replaced_in_one_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "dragoman.yaml"
    link = tmp_path / "link.yaml"
    path.write_text("old")
    link.symlink_to(path)
    write_file(link, "new")
    assert (path.read_text(), link.is_symlink()) == ("new", True)

    def broken(self: Path, target: Path) -> Path:
        raise OSError("no space")

    monkeypatch.setattr(Path, "replace", broken)
    with pytest.raises(InvalidConfig, match="cannot be written: no space"):
        write_file(path, "half")
    assert path.read_text() == "new"
    assert sorted(found.name for found in tmp_path.iterdir()) == ["dragoman.yaml", "link.yaml"]
