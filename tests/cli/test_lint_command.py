"""`dragoman lint` as a user meets it: three formats, and the repair of files in place."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dragoman.cli import cli

LATE = {"model": "m", "messages": [{"role": "user", "content": "Hi"}, {"role": "system", "content": "Be brief."}]}
PLAIN = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
GEMINI = "gemini/gemini-2.5-flash"


def run(*args: str, stdin: str = "") -> Result:
    return CliRunner().invoke(cli, ["lint", *args], input=stdin, prog_name="dragoman")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "late.json"
    path.write_text(json.dumps(LATE))
    return path


def test_text_names_the_defect_the_words_and_the_cure(file: Path) -> None:
    done = run(str(file), "--to", GEMINI)
    assert done.exit_code == 1
    assert done.stdout.splitlines() == [
        f"{file} → {GEMINI}",
        "  error late-system at /messages/1",
        "    Please use a valid role: user, model.",
        "    → turned into a user turn (loses authority)",
    ]
    assert done.stderr == "1 finding (1 error, 0 warnings) in 1 request\n"


def test_nothing_found_is_status_0(file: Path) -> None:
    done = run(str(file), "--to", "openai/gpt-4o")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "nothing found in 1 request\n")


def test_several_targets_and_those_that_take_it(file: Path) -> None:
    done = run(str(file), "--to", f"{GEMINI},openai/gpt-4o")
    assert f"{file}: accepted unchanged by openai/gpt-4o" in done.stdout


def test_all_targets(file: Path) -> None:
    done = run(str(file), "--to", "all", "--format", "json")
    targets = {finding["target"] for finding in json.loads(done.stdout)}
    assert {"gemini/latest", "strict-template/latest"} <= targets


def test_json_is_one_list(tmp_path: Path) -> None:
    file = tmp_path / "many.jsonl"
    file.write_text("\n".join(map(json.dumps, (PLAIN, LATE, LATE))))
    found = json.loads(run(str(file), "--to", GEMINI, "--format", "json").stdout)
    assert [(one["file"], one["line"], one["rule"], one["severity"]) for one in found] == [
        (str(file), 2, "late-system", "error"),
        (str(file), 3, "late-system", "error"),
    ]
    assert json.loads(run(str(file), "--to", "openai/gpt-4o", "--format", "json").stdout) == []


def test_sarif(file: Path) -> None:
    report = json.loads(run(str(file), "--to", GEMINI, "--format", "sarif").stdout)
    [ran] = report["runs"]
    [result] = ran["results"]
    assert report["version"] == "2.1.0"
    assert result["ruleId"] in {rule["id"] for rule in ran["tool"]["driver"]["rules"]}
    assert result["level"] == "error"
    assert ".." not in result["message"]["text"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == str(file)


def test_standard_input() -> None:
    assert run("-", "--to", GEMINI, stdin=json.dumps(LATE)).exit_code == 1


def test_it_goes_on_past_bad_lines_and_bad_files(tmp_path: Path, file: Path) -> None:
    lines = tmp_path / "many.jsonl"
    lines.write_text("\n".join((json.dumps(PLAIN), "{", json.dumps(LATE))))
    done = run(str(tmp_path / "none.json"), str(lines), str(file), "--to", GEMINI)
    assert done.exit_code == 1
    assert f"dragoman: {tmp_path / 'none.json'}: cannot be read: No such file or directory" in done.stderr
    assert f"dragoman: {lines}:2: not JSON" in done.stderr
    assert done.stdout.count("late-system") == 2


# --fix


def test_fix_rewrites_in_the_files_own_dialect(file: Path) -> None:
    file.chmod(0o640)
    done = run(str(file), "--to", GEMINI, "--fix")
    assert done.exit_code == 0, done.stderr
    assert json.loads(file.read_text())["messages"][1] == {"role": "user", "content": "[System] Be brief."}
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert f"{file}: 1 request repaired" in done.stderr
    assert sorted(os.listdir(file.parent)) == ["late.json", "late.json.bak"]
    assert run(str(file), "--to", GEMINI).exit_code == 0


def test_fix_keeps_the_layout(file: Path) -> None:
    file.write_text(json.dumps(LATE, indent=4) + "\n")
    run(str(file), "--to", GEMINI, "--fix")
    text = file.read_text()
    assert text.startswith('{\n    "model": "m"')
    assert text.endswith("}\n")


def test_fix_leaves_alone_what_is_fine(tmp_path: Path) -> None:
    file = tmp_path / "fine.json"
    file.write_text(json.dumps(PLAIN, indent=3))
    before = file.stat().st_mtime_ns, file.read_bytes()
    assert run(str(file), "--to", GEMINI, "--fix").exit_code == 0
    assert (file.stat().st_mtime_ns, file.read_bytes()) == before


def test_fix_keeps_bad_lines_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "many.jsonl"
    file.write_text("\n".join((json.dumps(PLAIN), "{oops", json.dumps(LATE))) + "\n")
    done = run(str(file), "--to", GEMINI, "--fix")
    assert done.exit_code == 1
    first, bad, last = file.read_text().splitlines()
    assert (first, bad) == (json.dumps(PLAIN), "{oops")
    assert json.loads(last)["messages"][1]["role"] == "user"


def test_fix_follows_a_link(tmp_path: Path, file: Path) -> None:
    link = tmp_path / "link.json"
    link.symlink_to(file)
    run(str(link), "--to", GEMINI, "--fix")
    assert link.is_symlink()
    assert "[System]" in file.read_text()


@pytest.mark.parametrize(
    "args", [("--to", "all"), ("--to", f"{GEMINI},openai/gpt-4o"), ("--to", GEMINI, "-")], ids=["all", "two", "stdin"]
)
def test_fix_takes_files_and_one_target(file: Path, args: tuple[str, ...]) -> None:
    """Q28."""
    before = file.read_bytes()
    assert run(str(file), "--fix", *args).exit_code == 2
    assert file.read_bytes() == before
