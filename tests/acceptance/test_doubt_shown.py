"""What a caller may ask for, what was learnt, and what it cost: K19, K20, X3, B12, B14."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.acceptance.through_gateway import DONE, PATH, SAYS, STOP, ask, frame, served
from tests.gateway.asking import PLAIN
from tests.gateway.running import Running, gateway, provider
from tests.gateway.upstream import GOOD, Answer, Seen, refusal, upstream

from dragoman.cli import cli
from dragoman.config.client_keys import sha256_of
from dragoman.conversation.failures import FailureKind
from dragoman.conversation.replies import Stop
from dragoman.engine.library.adapt import adapt
from dragoman.engine.library.policy import Policy
from dragoman.wire.structured_fields import parse_dictionary

LATE = [*PLAIN, {"role": "system", "content": "Be brief."}, {"role": "user", "content": "So?"}]
KEYS = {"boss": {"sha256": sha256_of("boss"), "admin": True}, "anna": {"sha256": sha256_of("anna")}}
STRICT = "strict-template"


@pytest.mark.parametrize(
    ("text", "members"),
    [
        ("late-system=user", {"late-system": "user"}),
        ('a=x, b="y, \\"z\\"" ,c, d=?0', {"a": "x", "b": 'y, "z"', "c": True, "d": False}),
        ("", {}),
    ],
)
def test_a_dictionary_of_a_header(text: str, members: dict[str, Any]) -> None:
    """K20."""
    assert parse_dictionary(text) == members


@pytest.mark.parametrize("text", ["=x", "a=", "a=x;", 'a="', "A=x", "a=x b=y", "a" * 9000])
def test_what_is_no_dictionary(text: str) -> None:
    """K20."""
    with pytest.raises(ValueError, match=r"read|longer"):
        parse_dictionary(text)


def test_rules_of_one_request(tmp_path: Path) -> None:
    """X3."""
    asked = {"model": "m", "messages": LATE}
    with served(tmp_path, profile=STRICT) as (running, behind):
        running.post(PATH, asked)
        assert "[System] Be brief." in json.dumps(behind.seen[-1].body)
        opening = running.post(PATH, asked, x_dragoman_rules="late-system=opening")
        assert opening.status_code == 200
        assert behind.seen[-1].body["messages"][0] == {"role": "system", "content": "Be brief."}
        refused = running.post(PATH, asked, x_dragoman_rules="late-system=fail")
        assert refused.status_code == 422
        assert "late-system" in refused.json()["error"]["message"]
        for wrong in ("late-system=nowhere", "no-such-rule=x", "late-system=", "late-system=user;q=1"):
            assert running.post(PATH, asked, x_dragoman_rules=wrong).status_code == 400


def test_an_ordinary_key_may_only_tighten(tmp_path: Path) -> None:
    """K20."""
    asked = {"model": "m", "messages": LATE}
    with served(tmp_path, profile=STRICT, keys=KEYS) as (running, behind):
        assert running.post(PATH, asked, "anna", x_dragoman_rules="late-system=fail").status_code == 422
        refused = running.post(PATH, asked, "anna", x_dragoman_rules="late-system=opening")
        assert refused.status_code == 400
        assert "admin" in refused.json()["error"]["message"]
        assert running.post(PATH, asked, "anna", x_dragoman_max_loss="nothing").status_code == 422
        assert running.post(PATH, asked, "boss", x_dragoman_rules="late-system=opening").status_code == 200
        assert behind.seen[-1].body["messages"][0]["role"] == "system"


def test_a_dry_run_takes_the_same(tmp_path: Path) -> None:
    """X3."""
    asked = {"request": {"model": "m", "messages": LATE}, "to": "m"}
    with served(tmp_path, profile=STRICT) as (running, behind):
        shown = running.post("/dragoman/adapt", {**asked, "rules": {"late-system": "opening"}}).json()
        assert shown["body"]["messages"][0] == {"role": "system", "content": "Be brief."}
        assert running.post("/dragoman/adapt", {**asked, "max_loss": "nothing"}).status_code == 422
        assert running.post("/dragoman/adapt", {**asked, "rules": {"late-system": "fail"}}).status_code == 422
        assert running.post("/dragoman/adapt", {**asked, "rules": {"late-system": "x"}}).status_code == 400
        assert running.post("/dragoman/adapt", {**asked, "doubt": "careful"}).status_code == 200
        assert behind.seen == []
    ours = adapt(asked["request"], target=f"{STRICT}/x", policy=Policy(rules={"late-system": "opening"}))  # type: ignore[arg-type]
    assert ours.json["messages"] == shown["body"]["messages"]


FLAWED = [{"role": "user", "content": "Hi", "name": "anna"}]


def no_names(seen: Seen) -> Answer | None:
    """Refuses a name in words of its own."""
    return (400, refusal("the gnomes dislike this")) if "name" in seen.body["messages"][0] else None


def taught(running: Running) -> Any:
    assert ask(running, messages=FLAWED).status_code == 200
    return ask(running, messages=FLAWED)


def lessons(*more: str) -> Any:
    return CliRunner().invoke(cli, ["lessons", *more])


def test_lessons_are_shown_and_forgotten(tmp_path: Path) -> None:
    """K19, K36."""
    with upstream(no_names) as behind:
        config = {
            "providers": {"p": provider("openai-compatible-lenient", behind.url, facts={"message_name": "unknown"})}
        }
        with gateway({**config, "models": {"m": {"target": "p/x"}}}, tmp_path) as running:
            second = taught(running)
            assert len(behind.seen) == 3, "refused, careful, and at once from then on"
            entry = running.entry(second)
            assert entry.lessons == ()
            assert entry.known_lessons == ("careful message_name",)
            metrics = running.get("/metrics").text
            assert "dragoman_lessons 1" in metrics
            assert 'dragoman_lessons_learnt_total{target="p/x",lesson="careful"}' in metrics
            shown = lessons("--url", running.url).output
            assert ("p/x" in shown, "message_name" in shown, "23 h" in shown) == (True, True, True)
            assert "message_name" in lessons("--config", str(running.file)).output
            assert lessons("--url", running.url, "--target", "p/other", "--forget").output == "0 forgotten\n"
            assert lessons("--url", running.url, "--forget").output == "1 forgotten\n"
            assert lessons("--url", running.url).output == "nothing has been learnt\n"
            taught(running)
        assert lessons("--config", str(running.file), "--forget").stdout == "1 forgotten\n"
        assert lessons("--config", str(running.file), "--json").stdout == ""


def test_lessons_are_for_admins(tmp_path: Path) -> None:
    """K36."""
    with served(tmp_path, keys=KEYS) as (running, _):
        assert lessons("--url", running.url, "--key", "boss").exit_code == 0
        assert "admin keys" in lessons("--url", running.url, "--key", "anna").stderr
        assert running.http.delete(f"{running.url}/dragoman/lessons").status_code == 401


@pytest.mark.parametrize(
    ("status", "kind", "reduced", "retryable"),
    [
        (401, FailureKind.AUTH, "auth", False),
        (429, FailureKind.RATE_LIMIT, "rate_limit", True),
        (504, FailureKind.TIMEOUT, "timeout", True),
        (500, FailureKind.SERVER, "api_error", True),
        (400, FailureKind.BAD_REQUEST, "api_error", False),
    ],
)
def test_B12_errors_are_reduced_and_say_whether_to_try_again(
    status: int, kind: FailureKind, reduced: str, retryable: bool
) -> None:
    answer = adapt({"model": "m", "messages": PLAIN}, target="openai/gpt-4o").answer(b'{"error":{}}', status)
    assert answer.failure is not None
    assert (answer.failure.kind, answer.failure.kind.reduced, answer.failure.retryable) == (kind, reduced, retryable)


def test_B12_stop_reasons_are_reduced() -> None:
    words = {stop: stop.reduced for stop in Stop}
    assert set(words.values()) == {"end_turn", "tool_use", "max_tokens", "stop_sequence"}
    assert (words[Stop.CALLS], words[Stop.LENGTH], words[Stop.STOP_SEQUENCE]) == (
        "tool_use",
        "max_tokens",
        "stop_sequence",
    )
    answered = adapt({"model": "m", "messages": PLAIN}, target="openai/gpt-4o").answer(json.dumps(GOOD).encode())
    assert answered.stop is not None
    assert answered.stop.reduced == "end_turn"


COSTLY = {**GOOD, "usage": {**GOOD["usage"], "cost": 0.0125}}  # type: ignore[dict-item]
PAID = frame(delta={}).replace(
    b'"choices"', b'"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5,"cost":0.0125},"choices"'
)


@pytest.mark.parametrize("stream", [False, True])
def test_B14_the_cost_beside_the_tokens_is_in_the_ledger(tmp_path: Path, stream: bool) -> None:
    answer = (200, SAYS + STOP + PAID + DONE) if stream else (200, COSTLY)
    with served(tmp_path, lambda seen: answer, profile="openrouter") as (running, _):
        answered = ask(running, stream=stream)
        assert running.entry(answered).cost == 0.0125
        report = running.get(f"/dragoman/requests/{answered.headers['x-dragoman-request-id']}").json()
        assert report["cost"] == 0.0125


@pytest.mark.parametrize(("said", "cost"), [("0.5", 0.5), ("-1", None), ("nan", None), ("a lot", None)])
def test_B14_the_cost_in_a_header_is_in_the_ledger(tmp_path: Path, said: str, cost: float | None) -> None:
    with served(tmp_path, profile="openrouter") as (running, behind):
        behind.headers["x-openrouter-cost"] = said
        assert running.entry(ask(running)).cost == cost
