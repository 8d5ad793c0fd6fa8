"""`dragoman probe` against emulators on loopback: the file that it writes, what it compares, what it sends in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result
from tests.probe.telling_server import telling_server

from dragoman.cli import cli
from dragoman.emulators.serving.background_server import RunningEmulator
from dragoman.profiles.profile import Profiles, read_profiles_file
from dragoman.testing import emulator

FAST = ("--rate", "1000")


def run(*args: str) -> Result:
    return CliRunner().invoke(cli, ["probe", *args, *FAST], prog_name="dragoman", standalone_mode=True)


@pytest.fixture(scope="module")
def template() -> Iterator[RunningEmulator]:
    with emulator("template") as running:
        yield running


def root(running: RunningEmulator) -> str:
    return running.base_url.removesuffix("/v1")


def test_it_writes_a_profile_with_evidence(template: RunningEmulator, tmp_path: Path) -> None:
    out = tmp_path / "house.toml"
    ran = run(root(template), "--out", str(out))
    assert ran.exit_code == 0, ran.output
    assert "at most 100 requests in 120 s" in ran.stderr
    assert "System message must be at the beginning." in ran.stdout
    found = Profiles(read_profiles_file(out)).target("house/local-model")
    assert (found.facts.system_place, found.facts.system_count) == ("opening", "one")
    evidence = {one.fact: one for one in found.profile.evidence}
    assert evidence["system_place"].says == "System message must be at the beginning."
    assert "dragoman probe: " in evidence["system_place"].source
    assert not out.with_suffix(".probe.json").exists()


def test_it_goes_on_where_it_ended(template: RunningEmulator, tmp_path: Path) -> None:
    out = tmp_path / "house.toml"
    first = run(root(template), "--out", str(out), "--requests", "10")
    assert "the budget of 10 requests is spent" in first.stderr
    assert "questions are left; --resume goes on from here" in first.stderr
    state = json.loads(out.with_suffix(".probe.json").read_text())
    second = run(root(template), "--out", str(out), "--resume", "--json")
    report = json.loads(second.stdout)
    assert report["ended"] == ""
    assert {one["question"] for one in state["findings"]} <= {one["question"] for one in report["findings"]}
    whole = json.loads(run(root(template), "--json").stdout)
    assert report["facts"] == whole["facts"]
    assert report["requests"] < whole["requests"]


def test_a_place_that_cannot_be_written_is_noticed_before_anything_is_asked(
    template: RunningEmulator, tmp_path: Path
) -> None:
    ran = run(root(template), "--out", str(tmp_path / "missing" / "house.toml"), "--requests", "5")
    assert ran.exit_code == 2
    assert "house.toml cannot be written" in ran.stderr


def test_a_file_that_somebody_has_taken_over_is_kept(template: RunningEmulator, tmp_path: Path) -> None:
    out = tmp_path / "house.toml"
    assert run(root(template), "--out", str(out), "--requests", "5").exit_code == 0
    assert run(root(template), "--out", str(out), "--requests", "5").exit_code == 0
    kept = out.read_text().partition("\n")[2]
    out.write_text(kept)
    ran = run(root(template), "--out", str(out), "--requests", "5")
    assert "exists, and no probe wrote it" in ran.stderr
    assert out.read_text() == kept


def test_the_state_of_another_server_is_not_taken(template: RunningEmulator, tmp_path: Path) -> None:
    out = tmp_path / "house.toml"
    out.with_suffix(".probe.json").write_text('{"url":"http://other","model":"m","findings":[]}')
    ran = run(root(template), "--out", str(out), "--resume")
    assert ran.exit_code == 1
    assert "it is about m at http://other" in ran.stderr


def test_a_profile_is_compared_with_its_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with emulator("compatible", roles=["system", "user", "assistant", "tool", "developer"]) as running:
        monkeypatch.setenv("LLM_GATEWAY_URL", running.base_url)
        report = tmp_path / "report.json"
        ran = run("openai-compatible-strict/some-model", "--check", "--report", str(report))
    assert ran.exit_code == 1
    rows = {line.split()[0]: line.split()[1:] for line in ran.stdout.splitlines() if line}
    assert rows["developer_role"] == ["refuses", "accepts", "other"]
    assert "unknown_settings" not in rows
    sent = json.loads(report.read_text())
    assert sent["profile"] == "openai-compatible-strict"
    assert "127.0.0.1" not in report.read_text()
    assert {one["agreement"] for one in sent["compared"] if one["fact"] == "developer_role"} == {"other"}


def test_neither_key_nor_host_is_in_a_report(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MY_KEY", "sk-very-secret-key-123456")
    with emulator("compatible-lenient") as running:
        report, out = tmp_path / "report.json", tmp_path / "mine.toml"
        url = running.base_url
        ran = run(url, "--key-env", "MY_KEY", "--report", str(report), "--out", str(out), "--with-host")
        keys = {dict(request.headers)["authorization"] for request in running.requests if request.body}
    assert ran.exit_code == 0, ran.output
    assert keys == {"***"}  # as the emulator shows a key that it was sent
    assert "secret" not in report.read_text() + out.read_text() + ran.output
    assert 'key = { env = "MY_KEY" }' in out.read_text()
    assert json.loads(report.read_text())["host"].startswith("127.0.0.1:")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("bedrock/some-model",), "bedrock speaks bedrock, in which nothing is asked"),
        (("http://127.0.0.1:9", "--dialect", "antropic"), 'Did you mean "anthropic"'),
        (("http://127.0.0.1:9", "--check"), "there is no profile to compare with"),
        (("http://127.0.0.1:9", "--resume"), "give --out too"),
        (("http://127.0.0.1:9", "--key-env", "NO_SUCH_KEY"), "the environment has no NO_SUCH_KEY"),
        (("http://127.0.0.1:9",), "Check that it is running"),
        (("127.0.0.1:9/v1",), "127.0.0.1:9/v1 is no URL (write http://127.0.0.1:9/v1 or https://127.0.0.1:9/v1)"),
    ],
)
def test_what_cannot_be_asked_is_said(args: tuple[str, ...], message: str) -> None:
    ran = run(*args)
    assert ran.exit_code in (1, 2)
    assert message in ran.stderr


def test_a_server_that_hides_its_models_without_a_key_says_so() -> None:
    with emulator("compatible-lenient", fault="401") as running:
        ran = run(running.base_url)
    assert ran.exit_code == 1
    assert "give its key with --key-env, or name a model with --model" in ran.stderr


OTHER_DIALECTS = {
    "anthropic": ("claude-sonnet-4-5", {"system_place": "top-level", "orphan_result": "refuses"}),
    "openai-responses": ("gpt-5.2", {"orphan_result": "refuses", "unknown_fields": "refuses"}),
    "gemini": ("gemini-3-pro-preview", {"call_signature": "refuses", "duplicate_tools": "refuses"}),
    "ollama": ("gemma3:4b", {"tools": "refuses", "thinking": "refuses", "list_content": "refuses"}),
    "cohere": ("command-a-03-2025", {"empty_user": "refuses", "format_with_tools": "refuses"}),
}


@pytest.mark.parametrize("name", OTHER_DIALECTS)
def test_a_server_of_another_dialect_is_found_and_asked(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is found by its paths, the key goes where the dialect has it, and the file is a profile of that dialect."""
    monkeypatch.setenv("MY_KEY", "secret")
    model, expected = OTHER_DIALECTS[name]
    out = tmp_path / "house.toml"
    with emulator(name) as running:
        root = running.base_url.removesuffix("/v1").removesuffix("/v1beta")
        ran = run(root, "--model", model, "--key-env", "MY_KEY", "--out", str(out))
    assert ran.exit_code == 0, ran.output
    target = Profiles(read_profiles_file(out)).target(f"house/{model}")
    facts = msgspec.to_builtins(target.facts)
    assert {fact: facts[fact] for fact in expected} == expected
    assert (target.dialect, target.profile.key.env, target.profile.url) == (name, "MY_KEY", root_of(name, root))
    assert "secret" not in out.read_text() + ran.output


def root_of(name: str, root: str) -> str:
    return f"{root}/v1" if name == "openai-responses" else root


def test_a_dialect_can_be_chosen(template: RunningEmulator) -> None:
    ran = run(root(template), "--dialect", "gemini", "--model", "some-model")
    assert ran.exit_code == 1
    assert "the server speaks OpenAI Chat Completions (give --dialect openai-chat)" in ran.stderr


def test_a_provider_of_another_dialect_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    with emulator("anthropic") as running:
        monkeypatch.setenv("LLM_GATEWAY_URL", running.base_url.removesuffix("/v1"))
        ran = run("anthropic-compatible-strict/claude-sonnet-4-5", "--check")
    assert "facts hold" in ran.stdout
    assert "last_turn" not in ran.stdout


TEMPLATE = (
    "{%- for m in messages -%}{%- if m.role == 'system' and not loop.first -%}"
    "{{ raise_exception('System message must be at the beginning.') }}{%- endif -%}"
    "<{{ m.role }}>{{ m.content }}{%- if m.tool_calls -%}{{ m.tool_calls | tojson }}{%- endif -%}"
    "{%- endfor -%}{%- if tools -%}{{ tools | tojson }}{%- endif -%}"
)


def test_a_template_is_run_instead_of_asking(tmp_path: Path) -> None:
    out = tmp_path / "house.toml"
    with telling_server(TEMPLATE) as (url, asked):
        ran = CliRunner().invoke(cli, ["probe", "--server", url, "--out", str(out)], prog_name="dragoman")
    assert ran.exit_code == 0, ran.output
    assert asked == ["/props"]
    found = Profiles(read_profiles_file(out)).target("house/m")
    assert (found.facts.system_place, found.facts.context_window) == ("opening", 4096)
    evidence = {one.fact: one for one in found.profile.evidence}
    assert evidence["system_place"].says == "System message must be at the beginning."


def test_a_server_without_a_template_is_told_from_none() -> None:
    with emulator("openai") as server:
        ran = CliRunner().invoke(cli, ["probe", "--server", server.url], prog_name="dragoman")
    assert "the server tells no Jinja template at /props or /api/show" in ran.stderr


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "give one of URL, TARGET, --template and --server"),
        (("http://127.0.0.1:9", "--server", "http://127.0.0.1:9"), "give one of"),
        (("--server", "http://127.0.0.1:9"), "http://127.0.0.1:9: it cannot be reached"),
        (("--template", "nowhere.jinja"), "cannot be read"),
    ],
)
def test_a_template_must_be_there(args: tuple[str, ...], message: str) -> None:
    ran = CliRunner().invoke(cli, ["probe", *args], prog_name="dragoman")
    assert ran.exit_code in (1, 2)
    assert message in ran.stderr
