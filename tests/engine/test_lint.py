"""Lint: findings with the provider's own words, duplicate keys, and repair in the client's own dialect."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dragoman.conversation.notation.script import parse
from dragoman.dialects.dialect import RenderOptions
from dragoman.dialects.registry import dialect
from dragoman.engine.library.adapt import Request, choose
from dragoman.engine.library.explain import explain
from dragoman.engine.library.lint import Finding, Fixed, Severity, every_target, fix, headline, lint
from dragoman.errors import MalformedRequest, TargetError
from dragoman.profiles.doubts import Doubt
from dragoman.profiles.profile import Profiles, read_profiles_file
from dragoman.rules import ORDER

OWN = """
[picky]
dialect = "openai-chat"
[picky.facts]
system_place = "opening"
system_count = "one"
unknown_fields = "refuses"
empty_user = "unknown"
repeated_roles = "accepts"
developer_role = "accepts"
call_id_pattern = "[a-zA-Z0-9]{9}"
call_id_length = 9
missing_result = "accepts"
[picky.facts.settings]
top_k = { support = "refuses" }
temperature = { min = 0, max = 1 }
[[picky.models]]
match = "old-*"
facts = { system_place = "anywhere" }
[[picky.evidence]]
fact = "system_place"
seen = 2026-02-13
says = "system must come first"
[[picky.evidence]]
fact = "settings.top_k"
seen = 2026-02-13
says = "top_k? no"
[[picky.evidence]]
fact = "call_id_pattern"
seen = 2026-02-13
says = "nine characters, please"
model = "new-1"

[careful]
dialect = "anthropic"
[careful.facts]
empty_assistant = "unknown"
"""


@pytest.fixture(scope="module")
def profiles(tmp_path_factory: pytest.TempPathFactory) -> Profiles:
    path: Path = tmp_path_factory.mktemp("profiles") / "own.toml"
    path.write_text(OWN)
    return Profiles(read_profiles_file(path))


def chat(script: str, **more: Any) -> bytes:
    """A Chat request told as a script."""
    body = dialect("openai-chat").requests.render(parse(script), RenderOptions("m", False))
    return json.dumps({**json.loads(body), **more}).encode()


def brief(found: list[Finding]) -> list[tuple[str, str, str, str]]:
    return [(one.rule, one.at, one.severity, one.says) for one in found]


TABLE: list[tuple[str, dict[str, Any], str, list[tuple[str, str, str, str]]]] = [
    ("user: Hi", {}, "picky/new", []),
    (
        "user: Hi\nsystem: Be brief.",
        {},
        "picky/new",
        [("late-system", "/messages/1", "error", "system must come first")],
    ),
    ("user: Hi\nsystem: Be brief.", {}, "picky/old-1", []),
    ("user: Hi", {"top_k": 4}, "picky/new", [("refused-setting", "/top_k", "error", "top_k? no")]),
    (
        "user: Hi",
        {"temperature": 1.5},
        "picky/new",
        [("setting-range", "/temperature", "error", "A setting outside the range that the target takes")],
    ),
    (
        "user: Hi\ncall look(a) {}\nresult a: 12",
        {},
        "picky/new",
        [("call-id-form", "/messages/1/tool_calls/0", "error", "nine characters, please")],
    ),
]


@pytest.mark.parametrize(("script", "more", "target", "expected"), TABLE)
def test_findings(
    script: str, more: dict[str, Any], target: str, expected: list[tuple[str, str, str, str]], profiles: Profiles
) -> None:
    assert brief(lint(chat(script, **more), targets=[target], profiles=profiles)) == expected


def _say(target: str, **more: Any) -> list[tuple[str, str]]:
    return [(one.says, one.loses) for one in lint(chat("user: Hi", **more), targets=target)]


_TOO_LONG = (
    "Invalid 'tools[11].function.name': string too long. Expected a string with maximum length 64, but got a string"
)
_PATTERN = "Invalid 'tools[0].function.name': string does not match pattern."


@pytest.mark.parametrize(("name", "words"), [("fs.read", _PATTERN), ("f" * 70, _TOO_LONG)])
def test_words_belong_to_the_fact_that_called_for_the_repair(name: str, words: str) -> None:
    [found] = _say("openai/gpt-5", tools=[{"type": "function", "function": {"name": name, "parameters": {}}}])[:1]
    assert found[0].startswith(words)


def test_a_field_that_a_dialect_lacks_is_not_explained_by_what_was_said_of_thinking() -> None:
    headline = "A setting that the target does not have, or refuses for this model"
    assert _say("gemini/gemini-2.5-pro", logit_bias={"1": 2}) == [(headline, "authority")]


def test_words_that_name_one_field_are_not_quoted_for_another() -> None:
    assert "'store'" in _say("groq/llama-3.3-70b-versatile", store=True)[0][0]
    assert "'store'" not in _say("groq/llama-3.3-70b-versatile", clear_thinking=True)[0][0]


@pytest.mark.parametrize(
    "target", ["mistral/mistral-large-latest", "gemini/gemini-2.5-pro", "anthropic/claude-sonnet-4-5"]
)
@pytest.mark.parametrize(
    ("field", "loses"), [({"logit_bias": {"1": 2}}, "authority"), ({"prompt_cache_retention": "24h"}, "metadata")]
)
def test_a_field_that_is_left_out_loses_the_same_on_every_target(field: Any, target: str, loses: str) -> None:
    assert _say(target, max_tokens=9, **field)[0][1] == loses


def test_a_finding_has_all_that_a_reader_wants(profiles: Profiles) -> None:
    """Q27."""
    found = lint(chat("user: Hi\nsystem: Be brief."), targets="picky/new", profiles=profiles)
    assert found == [
        Finding(
            "picky/new",
            "late-system",
            "/messages/1",
            "system must come first",
            "authority",
            Severity.ERROR,
            "turned into a user turn",
        )
    ]


def test_what_nobody_knows_is_a_warning_and_only_across_dialects(profiles: Profiles) -> None:
    request = chat("user: Hi\nassistant:\nuser: There?")
    [found] = [one for one in lint(request, targets="careful/x", profiles=profiles) if one.rule == "empty-content"]
    assert found.severity is Severity.WARNING
    assert lint(request, targets="picky/x", profiles=profiles) == []


def test_a_leftover_of_a_stream_is_a_warning_if_it_is_ignored() -> None:
    request = {"model": "m", "messages": [{"role": "user", "content": "Hi", "done": True}]}
    assert [(one.rule, one.severity) for one in lint(request, targets=["together/x"])] == [
        ("stray-field", Severity.WARNING)
    ]


def test_several_targets_are_held_apart(profiles: Profiles) -> None:
    request = chat("user: Hi\nsystem: Be brief.")
    found = lint(request, targets=["picky/new", "picky/old-1", "gemini/gemini-2.5-flash"], profiles=profiles)
    assert {one.target for one in found} == {"picky/new", "gemini/gemini-2.5-flash"}


def test_what_has_no_words_in_the_target_is_an_error() -> None:
    request = {"model": "m", "input": "Hi", "previous_response_id": "resp_1"}
    found = lint(request, source="openai-responses", targets="anthropic/claude-sonnet-4-5")
    assert [(one.rule, one.severity) for one in found][-1] == ("unrepresentable", Severity.ERROR)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"model":"a","model":"b","messages":[]}', [("/model", Severity.ERROR)]),
        (b'{"messages":[{"role":"user","content":"a","content":"b"}]}', [("/messages/0/content", Severity.WARNING)]),
        (b'{"messages":[],"metadata":{"a/b":1,"a/b":2}}', [("/metadata/a~1b", Severity.WARNING)]),
        (b'{"messages":[]}', []),
    ],
)
def test_duplicate_keys_are_found_at_any_depth(body: bytes, expected: list[tuple[str, Severity]]) -> None:
    """Q30."""
    found = lint(body, targets=["openai/gpt-4o"])
    assert [(one.at, one.severity) for one in found if one.rule == "duplicate-key"] == expected


def test_every_profile_is_a_target() -> None:
    request = chat("system: Be brief.\nuser: Hi")
    targets = every_target()
    assert len(targets) > 20
    lint(request, targets=targets)


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"null", b"[" * 5000, b'{"messages":' + b"[" * 5000])
def test_no_request_is_an_error(body: bytes) -> None:
    with pytest.raises(MalformedRequest):
        lint(body, targets=["openai/gpt-4o"])


def test_an_unknown_target_is_an_error() -> None:
    with pytest.raises(TargetError, match="Did you mean"):
        lint(chat("user: Hi"), targets=["opnai/gpt-4o"])


STORED = "system: A\nuser: Hi\nsystem: Be brief.\ncall look(some.odd.id) {}\nuser: Never mind"
FIXED_FOR = ["picky/new", "mistral/mistral-large", "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash"]


def fixed_for(target: str, request: Request, profiles: Profiles | None = None) -> Fixed:
    return fix(request, source="auto", target=choose(target, profiles), doubt=Doubt.FAITHFUL)


@pytest.mark.parametrize("target", FIXED_FOR)
def test_what_is_fixed_is_in_its_own_dialect_and_has_no_findings(target: str, profiles: Profiles) -> None:
    """Q28."""
    done = fixed_for(target, chat(STORED, temperature=1.5), profiles)
    assert done.changes
    assert "messages" in json.loads(done.body)
    assert json.loads(done.body)["model"] == "m"
    assert lint(done.body, targets=[target], profiles=profiles) == []


def test_a_setting_that_the_dialect_cannot_say_is_left_and_the_rest_is_fixed() -> None:
    request = {
        "contents": [{"role": "user", "parts": [{"text": "Hi"}]}, {"role": "model", "parts": [{"text": "One"}]}],
        "generationConfig": {"thinkingConfig": {"thinkingBudget": 0}},
    }
    done = json.loads(fixed_for("strict-template/gpt-oss-20b", request).body)
    assert done["generationConfig"] == request["generationConfig"]
    assert [turn["role"] for turn in done["contents"]] == ["user", "model", "user"]


def test_what_needs_no_fixing_keeps_its_bytes() -> None:
    body = b'{ "model": "m",  "messages": [{"role":"user","content":"Hi"}] }'
    assert fixed_for("openai/gpt-4o", body).body == body


def test_rules_are_explained_with_their_reasons(profiles: Profiles) -> None:
    found = {one.rule: one for one in explain("picky/new", profiles=profiles)}
    late = found["late-system"]
    assert (late.does, late.loses, late.careful) == ("user", "authority", False)
    assert [(one.fact, one.value, one.says) for one in late.because] == [
        ("system_place", "opening", "system must come first")
    ]
    assert found["empty-content"].careful
    assert "late-system" not in {one.rule for one in explain("picky/old-1", profiles=profiles)}
    assert "late-system" not in {
        one.rule for one in explain("picky/new", profiles=profiles, rules={"late-system": "keep"})
    }


def test_every_rule_has_a_headline() -> None:
    for rule in ORDER:
        assert 5 < len(headline(rule)) < 200
        assert "\n" not in headline(rule)


@pytest.mark.parametrize(("words", "found"), [(3000, []), (12_000, ["context-length"])])
def test_a_conversation_that_is_too_long_for_its_model(words: int, found: list[str]) -> None:
    """The window comes from the catalogue if the host states none."""
    request = {"model": "m", "messages": [{"role": "user", "content": "word " * words}]}
    findings = lint(request, targets="openai-compatible-strict/gpt-4")
    assert [one.rule for one in findings] == found
    assert all(one.severity == "warning" and "holds 8,192" in one.says for one in findings)
