"""What is made from the schema: the effective values, the reference, the JSON Schema, the example."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from test_config_file import HASH, ISSUE, KNOWN, read

from dragoman.cli.commands.gateway.config import config as config_command
from dragoman.cli.commands.gateway.init import init
from dragoman.config.effective_view import render_plain, render_yaml
from dragoman.config.errors import InvalidConfig
from dragoman.config.example import example
from dragoman.config.file_watch import ConfigFile
from dragoman.config.model_lookup import FallbackReason, find_lead, find_target
from dragoman.config.reference import json_schema, reference
from dragoman.config.schema.config_file import Config
from dragoman.config.secret import Secret, is_secret_name
from dragoman.config.validation import public_bind_refusal
from dragoman.profiles.profile import Profiles
from dragoman.rules.context import TEXTS

SECRETS = {
    "ANTHROPIC_API_KEY": "sk-ant-secret-aaaa1111",
    "OPENROUTER_API_KEY": "sk-or-secret-bbbb2222",
    "TRACKER_KEY": "tracker-secret-cccc3333",
    "TRACKER_SECRET": "tracker-secret-dddd4444",
}


def test_E17_secrets_are_shown_by_their_last_four_characters() -> None:
    text = ISSUE.replace("{X-Title: demo}", "{Authorization: Bearer-of-a-secret, X-Title: demo}")
    loaded = read(text, SECRETS)
    for shown in (render_yaml(loaded), json.dumps(render_plain(loaded)), repr(loaded), str(loaded.config)):
        assert "secret-aaaa" not in shown
        assert "secret-bbbb" not in shown
    assert '"****1111"' in render_yaml(loaded)
    assert "Bearer-of" not in render_yaml(loaded)


def test_every_value_has_its_origin() -> None:
    shown = render_plain(read(ISSUE, SECRETS))
    assert shown["providers.claude.api_key"] == {"value": "****1111", "origin": "env ANTHROPIC_API_KEY"}
    assert shown["models.cheap.options"]["origin"] == "dragoman.yaml:6"
    assert shown["providers.claude.timeouts.connect"] == {"value": 10, "origin": "default"}
    assert shown["server.port"] == {"value": 8642, "origin": "default"}


def test_what_is_shown_is_yaml_again() -> None:
    shown = yaml.safe_load(render_yaml(read(ISSUE.replace("smart:", '"on":'), SECRETS)))
    assert shown["models"]["on"]["target"] == "claude/claude-opus-4-8"
    assert shown["keys"]["ci"]["sha256"] == HASH


@pytest.mark.parametrize(("secret", "shown"), [("sk-1234567890abcd", "****abcd"), ("short", "****"), ("", "****")])
def test_E17_a_secret_never_prints_itself(secret: str, shown: str) -> None:
    assert f"{Secret(secret)} {Secret(secret)!r}" == f"{shown} {shown}"
    assert Secret(secret).reveal() == secret


@pytest.mark.parametrize(
    ("name", "secret"),
    [("X-Api-Key", True), ("apiKey", True), ("x-goog-api-key", True), ("Authorization", True), ("max_tokens", False),
     ("GROQ_API_KEY", True), ("key", False), ("monkey", False), ("client_secret", True)],
)  # fmt: skip
def test_names_of_secrets(name: str, secret: bool) -> None:
    assert is_secret_name(name) is secret


def test_every_key_says_what_it_means() -> None:
    rows = reference()
    assert [row.path for row in rows if not row.meaning] == []
    paths = [row.path for row in rows]
    assert len(paths) == len(set(paths))
    assert {"providers.NAME.timeouts.first_byte", "keys.NAME.expires", "log.provider_errors.path"} <= set(paths)
    port = next(row for row in rows if row.path == "server.port")
    assert (port.type, port.default) == ("whole number", "8642")


def test_the_reference_names_every_reason_for_a_text() -> None:
    """X14, X17."""
    (row,) = [row for row in reference() if row.path == "texts"]
    assert [reason for reason in TEXTS if f"`{reason}`" not in row.meaning] == []


def test_the_schema_and_the_defaults_agree() -> None:
    """X14."""
    shown = render_plain(read(""))
    for row in reference():
        away = any(row.path.startswith(f"{path}.") for path, entry in shown.items() if entry["value"] is None)
        if "NAME" not in row.path and "[]" not in row.path and row.default and row.type != "section" and not away:
            assert shown[row.path]["value"] == yaml.safe_load(row.default)


def _paths(schema: dict[str, Any], definition: dict[str, Any], path: str) -> Iterator[str]:
    """Every key that a definition of the JSON Schema allows, as the reference names it."""
    for choice in definition.get("anyOf", ()):
        yield from _paths(schema, choice, path)
    if "$ref" in definition:
        yield from _paths(schema, schema["$defs"][definition["$ref"].rpartition("/")[2]], path)
    if isinstance(definition.get("items"), dict):
        yield from _paths(schema, definition["items"], f"{path}[]")
    if isinstance(definition.get("additionalProperties"), dict):
        yield from _paths(schema, definition["additionalProperties"], f"{path}.NAME")
    for key, value in definition.get("properties", {}).items():
        here = f"{path}.{key}" if path else key
        yield here
        yield from _paths(schema, value, here)


def test_every_key_of_the_schema_is_in_the_reference_and_in_the_example() -> None:
    """X14."""
    schema = json_schema()
    known = set(_paths(schema, schema, ""))
    assert {"models.NAME.price.input", "overrides[].match", "history.trim.step", "router.model"} <= known
    assert known == {row.path for row in reference()}
    parts = example().split("Uncomment what you need.\n")[1].strip().split("\n\n")
    texts = ["\n".join([line.removeprefix("# ") for line in part.splitlines()[1:]]) for part in parts]
    shown = {path for text in texts for path in _keys(yaml.safe_load(text), "")}
    assert {re.sub(r"\bNAME\b", "*", path) for path in known} - shown == set()


def _keys(value: Any, path: str) -> Iterator[str]:
    """Every key of a file, with a star for the names that its user chose."""
    if isinstance(value, list):
        for item in value:
            yield from _keys(item, f"{path}[]")
    for key, inner in value.items() if isinstance(value, dict) else ():
        for name in (key, "*"):
            here = f"{path}.{name}" if path else name
            yield here
            yield from _keys(inner, here)


def test_the_json_schema_refuses_unknown_keys_and_explains_known_ones() -> None:
    schema = json_schema()
    assert schema["$defs"]["Config"]["additionalProperties"] is False
    provider = schema["$defs"]["Provider"]["properties"]
    assert all("description" in value or "$ref" in str(value) for value in provider.values())
    assert provider["api_key"]["anyOf"][0] == {"type": "string"}
    assert {"type": "string", "pattern": r"^\$\{.*\}$"} in schema["$defs"]["ServerConfig"]["properties"]["port"][
        "anyOf"
    ]


def test_the_example_is_a_good_file_and_so_is_each_part_uncommented() -> None:
    assert set(read(example(), SECRETS).config.models) == {"smart", "cheap"}
    parts = example().split("Uncomment what you need.\n")[1].strip().split("\n\n")
    keys = set()
    for part in parts:
        lines = [line.removeprefix("# ") for line in part.splitlines()[1:]]
        text = re.sub(r"^    api_keys: .*\n", "", "\n".join(lines) + "\n", flags=re.MULTILINE)
        text = text.replace('default_model: "smart"', "default_model: null")
        read(text, SECRETS)
        keys |= set(yaml.safe_load(text))
    assert keys == set(Config.__struct_fields__)


def test_init_never_overwrites_unless_forced(tmp_path: Path) -> None:
    path = tmp_path / "dragoman.yaml"
    path.write_text("mine")
    refused = CliRunner().invoke(init, [str(path)])
    assert (refused.exit_code, path.read_text()) == (1, "mine")
    assert CliRunner().invoke(init, [str(path), "--force"]).exit_code == 0
    assert path.read_text() == example()


def test_the_commands_check_show_and_print_the_schema(tmp_path: Path) -> None:
    path = tmp_path / "dragoman.yaml"
    path.write_text(ISSUE)
    run = CliRunner().invoke
    checked = run(config_command, ["check", "-c", str(path)], obj=KNOWN, env=SECRETS)
    assert (checked.exit_code, checked.stdout) == (0, "dragoman.yaml: valid (2 providers, 2 models, 1 key)\n")
    assert "****1111" in run(config_command, ["show", "-c", str(path)], obj=KNOWN, env=SECRETS).stdout
    shown = json.loads(run(config_command, ["show", "--json", "-c", str(path)], env=SECRETS).stdout)
    assert shown["keys.ci.allowed_models"]["value"] == ["cheap"]
    assert json.loads(run(config_command, ["schema"]).stdout) == json.loads(json.dumps(json_schema()))
    path.write_text("providers: {fast: {profile: gemni}}")
    refused = run(config_command, ["check", "-c", str(path)], obj=KNOWN)
    assert refused.exit_code == 1
    assert 'Did you mean "gemini"?' in refused.stderr


def test_E15_a_bad_reload_leaves_the_old_configuration(tmp_path: Path) -> None:
    path = tmp_path / "dragoman.yaml"
    path.write_text("server: {port: 1}")
    file = ConfigFile(path, known=KNOWN, process={})
    first = file.load()
    assert not file.changed()
    path.write_text("server: {prt: 2}")
    assert file.changed()
    with pytest.raises(InvalidConfig):
        file.load()
    assert file.current is first
    assert not file.changed()  # told once
    path.unlink()
    assert file.changed()
    with pytest.raises(InvalidConfig, match="cannot be read"):
        file.load()
    assert file.current is first
    path.write_text("server: {port: 3}")
    assert file.changed()
    assert file.load().config.server.port == 3


def test_a_touched_file_is_not_a_changed_one_and_env_files_count(tmp_path: Path) -> None:
    path = tmp_path / "dragoman.yaml"
    path.write_text("server: {port: 1}")
    file = ConfigFile(path, process={})
    file.load()
    path.write_text("server: {port: 1}")
    path.touch()
    assert not file.changed()
    (tmp_path / ".env").write_text("A=1")
    assert file.changed()


def test_a_name_leads_to_a_provider_and_a_model() -> None:
    config = read(ISSUE, SECRETS).config
    smart = find_target(config, "smart")
    assert smart is not None
    assert (smart.target, smart.provider.profile) == ("claude/claude-opus-4-8", "anthropic")
    direct = find_target(config, "router/google/gemini-3-pro")
    assert direct is not None
    assert (direct.provider_name, direct.model, direct.entry) == ("router", "google/gemini-3-pro", None)
    assert [find_target(config, name) for name in ("none", "none/x", "router/", "")] == [None] * 4


def test_fallbacks_for_a_reason_are_apart_and_each_target_is_there_once() -> None:
    text = """
    models:
      a:
        target: groq/x
        fallbacks: [b, groq/x, openai/y, b]
        fallbacks_on: {context_length: [openai/long, b, openai/long]}
      b: {target: anthropic/z, fallbacks: [groq/never], options: {top_p: 1}}
    """
    config = read(text).config
    lead = find_lead(config, Profiles(), "a")
    assert [found.target for found in lead.targets] == ["groq/x", "anthropic/z", "openai/y"]
    (reason, for_length), *others = lead.reserved.items()
    assert (reason, others) == (FallbackReason.CONTEXT_LENGTH, [])
    assert [found.target for found in for_length] == ["openai/long", "anthropic/z"]
    assert for_length[-1].entry == config.models["b"]
    direct = find_lead(config, Profiles(), "groq/x")
    assert ([found.target for found in direct.targets], direct.reserved) == (["groq/x"], {})


@pytest.mark.parametrize(
    ("text", "host", "refused"),
    [
        ("", "127.0.0.1", False),
        ("", "::1", False),
        ("", "localhost", False),
        ("", "0.0.0.0", True),
        ("", "::", True),
        ("", "gateway.example", True),
        ("server: {allow_public_without_keys: true}", "0.0.0.0", False),
        (f"keys: {{a: {{sha256: '{HASH}'}}}}", "0.0.0.0", False),
    ],
)
def test_without_keys_only_loopback_is_bound(text: str, host: str, refused: bool) -> None:
    assert (public_bind_refusal(read(text).config, host) is not None) is refused
