"""A configuration that changes under a running gateway: as a whole or not at all, and never under a request."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.gateway.running import Running, gateway, provider, wait_for
from tests.gateway.upstream import GOOD, Answer, Seen, Upstream, refusal, upstream

from dragoman.config.load import Loaded
from dragoman.config.schema.config_file import Config
from dragoman.config.schema.store import PostgresOptions, StoreConfig
from dragoman.gateway.http.restart_required import keep_running_values

SECRET = "first-secret-0123456789"
RENEWED = "second-secret-987654321"


@pytest.fixture
def behind() -> Iterator[Upstream]:
    with upstream() as one:
        yield one


def config(behind: Upstream, model: str, key: str = SECRET, **more: Any) -> dict[str, Any]:
    served = provider("openai-compatible-lenient", behind.url, api_key=key)
    return {"providers": {"p": served}, "models": {"m": {"target": f"p/{model}"}}, **more}


def test_what_is_read_at_the_start_stays_and_is_told() -> None:
    running, queue = Config(), StoreConfig(queue=7, postgres=PostgresOptions(connections=9), keep_requests=5)
    kept = keep_running_values(Loaded(config=replace(running, store=queue)), running)
    assert kept.config.store == StoreConfig(keep_requests=5)
    assert [warning.split(" stays ")[0] for warning in kept.warnings] == ["store.postgres", "store.queue"]


@pytest.fixture
def running(behind: Upstream, tmp_path: Path) -> Iterator[Running]:
    with gateway(config(behind, "old"), tmp_path) as one:
        yield one


def asked(running: Running, model: str = "m") -> Any:
    return running.post("/v1/chat/completions", {"model": model, "messages": [{"role": "user", "content": "Hi"}]})


def logged(running: Running, event: str) -> str:
    running.services.records.lines.flush()
    return "\n".join(line for line in running.log.getvalue().splitlines() if f'"event":"{event}"' in line)


@pytest.mark.slow
def test_a_changed_file_is_seen_and_taken_as_a_whole(running: Running, behind: Upstream) -> None:
    assert asked(running).headers["x-dragoman-model"] == "p/old"
    running.write(config(behind, "new", RENEWED, keys={"k": {"sha256": "0" * 64}}))
    wait_for(lambda: bool(logged(running, "config-reloaded")))
    assert asked(running).status_code == 401
    key = {"k": {"sha256": hashlib.sha256(b"any").hexdigest()}}
    running.write(config(behind, "new", RENEWED, keys=key))
    wait_for(lambda: asked(running).status_code == 200)
    assert asked(running).headers["x-dragoman-model"] == "p/new"
    assert behind.seen[-1].headers["authorization"] == f"Bearer {RENEWED}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ("providers: [", "dragoman.yaml"),
        ("modles: {}", 'Did you mean "models"'),
        ("models: {m: {target: nowhere/x}}", "nowhere"),
        (
            "providers: {p: {profile: openai, facts: {system_place: nowhere}}}\nmodels: {m: {target: p/x}}",
            "system_place",
        ),
    ],
    ids=["no yaml", "unknown key", "unknown provider", "bad fact"],
)
def test_E15_a_bad_file_is_refused_and_the_old_stays(running: Running, bad: str, says: str) -> None:
    running.write(bad)
    wait_for(lambda: bool(logged(running, "config-refused")))
    assert says in logged(running, "config-refused").replace('\\"', '"')
    assert asked(running).headers["x-dragoman-model"] == "p/old"
    assert running.get("/ready").status_code == 200


KEYED = {"k": {"sha256": hashlib.sha256(b"dm-other").hexdigest()}}


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty"),
        ("# nothing yet\n", "is empty"),
        ("{}", "is empty"),
        ("---\n...\n", "is empty"),
        ("keys:\nproviders: {}\n", "is empty"),
        ("providers: {p: {profile: openai, api_key: k}}", "has no keys any more"),
        (f"keys: {{k: {{sha256: '{'0' * 64}'}}}}", "has no providers any more"),
    ],
)
def test_a_reload_fails_closed(behind: Upstream, tmp_path: Path, text: str, says: str) -> None:
    """K27."""
    with gateway(config(behind, "old", keys=KEYED), tmp_path) as running:
        assert asked(running).status_code == 401
        running.write(text)
        wait_for(lambda: bool(logged(running, "config-refused")))
        assert says in logged(running, "config-refused")
        assert asked(running).status_code == 401, "the doors are open"
        running.write("# touched again\n" + text)
        wait_for(lambda: logged(running, "config-refused").count("\n") == 1)
        assert asked(running).status_code == 401


@pytest.mark.slow
def test_E15_a_missing_file_is_refused_and_the_old_stays(running: Running) -> None:
    running.file.unlink()
    wait_for(lambda: bool(logged(running, "config-refused")))
    assert asked(running).status_code == 200


def test_requests_under_way_are_untouched(running: Running, behind: Upstream) -> None:
    reloaded, arrived = threading.Event(), threading.Event()

    def slow(seen: Seen) -> Answer | None:
        arrived.set()
        reloaded.wait(60)
        return 200, GOOD

    behind.answer = slow
    with ThreadPoolExecutor(1) as pool:
        pending = pool.submit(asked, running)
        assert arrived.wait(60), "a request is under way once its provider has it"
        running.write(config(behind, "new"))
        running.services.live.reload()
        behind.answer = lambda seen: None
        assert asked(running).headers["x-dragoman-model"] == "p/new"
        reloaded.set()
        assert pending.result().headers["x-dragoman-model"] == "p/old"
        assert pending.result().status_code == 200


@pytest.mark.slow
def test_nobody_waits_while_a_large_file_is_read(
    running: Running, behind: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = running.services.live.file
    assert file is not None
    load, begun, done = file.load, threading.Event(), threading.Event()

    def slowly() -> Loaded:
        begun.set()
        done.wait(60)
        return load()

    monkeypatch.setattr(file, "load", slowly)
    running.write(config(behind, "new"))
    assert begun.wait(60)
    assert asked(running).headers["x-dragoman-model"] == "p/old"
    done.set()
    wait_for(lambda: asked(running).headers["x-dragoman-model"] == "p/new")


def test_secrets_of_every_configuration_are_known(running: Running, behind: Upstream) -> None:
    running.write(config(behind, "new", RENEWED))
    running.services.live.reload()
    behind.answer = lambda seen: (400, refusal(f"odd keys {SECRET} and {RENEWED}"))
    told = asked(running).text
    assert "odd keys [REDACTED] and [REDACTED]" in told


def test_errors_after_a_reload_are_told_as_before(running: Running, behind: Upstream) -> None:
    running.write(config(behind, "new"))
    running.services.live.reload()
    assert asked(running, "gone").status_code == 404
    behind.answer = lambda seen: (500, refusal("oh no"))
    assert asked(running).status_code == 500
    running.services.records.failures.flush()
    assert "oh no" in running.errors.read_text()
