"""`dragoman route`: a decision explained offline."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dragoman.cli import cli

CONFIG = """
providers: {openai: {api_key: k}, anthropic: {api_key: k}}
models:
  small: {target: openai/gpt-4o-mini, description: quick, ratings: {coding: 1000}}
  large: {target: anthropic/claude-sonnet-4-5, description: deep, ratings: {coding: 1400}}
routes:
  coding: {models: [small, large], strategy: rating}
  smart: {strategy: model}
router: {model: small}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "dragoman.yaml").write_text(CONFIG)
    (tmp_path / "request.json").write_text('{"model": "coding", "messages": [{"role": "user", "content": "Hi"}]}')
    return tmp_path


def run(folder: Path, *more: str) -> Result:
    command = ["route", str(folder / "request.json"), "--config", str(folder / "dragoman.yaml"), *more]
    return CliRunner().invoke(cli, command, prog_name="dragoman")


def test_models_of_a_provider_with_an_own_profile(folder: Path) -> None:
    (folder / "house.toml").write_text('[house]\ntitle = "House"\nlike = "openai"\n')
    own = "profiles: [house.toml]\n" + CONFIG.replace("openai: {api_key: k}", "openai: {api_key: k, profile: house}")
    (folder / "dragoman.yaml").write_text(own)
    shown = run(folder)
    assert shown.exit_code == 0, shown.output
    assert shown.output.startswith("large: the highest rating, 1400\n  then small\n")


@pytest.mark.parametrize("held", ["hello", "[]", '{"model": "coding", "messages": 5}'])
def test_a_file_that_is_no_request_is_named(folder: Path, held: str) -> None:
    (folder / "request.json").write_text(held)
    shown = run(folder)
    assert shown.exit_code == 1
    assert shown.stderr.startswith(f"dragoman: {folder / 'request.json'}: ")


def test_a_decision_and_its_reason(folder: Path) -> None:
    shown = run(folder)
    assert shown.exit_code == 0, shown.output
    assert shown.output.startswith("large: the highest rating, 1400\n  then small\n")
    found = json.loads(run(folder, "--json").output)
    assert (found["models"], found["session"][:5]) == (["large", "small"], "auto:")


def test_the_question_for_a_router_model_and_what_follows_from_its_answer(folder: Path) -> None:
    assert "user: Hi" in run(folder, "--route", "smart").output
    assert run(folder, "--route", "auto", "--answer", '{"model": "small"}').output.startswith("small: ")


def test_an_unknown_route_is_named_with_what_there_is(folder: Path) -> None:
    refused = run(folder, "--route", "codding")
    assert refused.exit_code == 2
    assert 'Did you mean "coding"?' in refused.output


def test_without_models_there_is_no_route_to_suggest(folder: Path) -> None:
    (folder / "dragoman.yaml").write_text("providers: {openai: {api_key: k}}")
    refused = run(folder, "--route", "auto")
    assert refused.exit_code == 2
    assert "there is no model to choose from (add models to the configuration" in refused.output
    assert "Did you mean" not in refused.output


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("models: [small, large]", "models: [small, lage]"), 'Did you mean "large"?'),
        (("router: {model: small}", ""), "there is no router"),
        (("coding: {", "small: {"), "is also the name of a model"),
        (("router: {model: small}", "router: {model: small, prompt: no places}"), "has no place for"),
        (("strategy: rating", "strategy: rating, default: other"), "no model of the route"),
    ],
)
def test_mistakes_in_routes_are_named(folder: Path, change: tuple[str, str], message: str) -> None:
    (folder / "dragoman.yaml").write_text(CONFIG.replace(*change))
    refused = run(folder)
    assert refused.exit_code != 0
    assert message in refused.output
    assert "dragoman.yaml:" in refused.output
