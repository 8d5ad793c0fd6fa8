"""No secret reaches a file; a request without its words still has its shape."""

from __future__ import annotations

import json
import multiprocessing
from pathlib import Path
from typing import Any

import pytest

from dragoman.config.schema.config_file import Config
from dragoman.config.schema.log import ProviderErrors
from dragoman.config.schema.providers import Provider
from dragoman.config.secret import Secret
from dragoman.store.journals.redaction import REDACTED, Redactor, secrets_of, without_content
from dragoman.store.journals.refusal_log import RefusalLine, RefusalLog, parse_refusal, parse_refusals, timestamp

CONFIG = Config(
    providers={
        "a": Provider(api_key=Secret("configured-key-one"), headers={"X-Api-Key": "header-secret-1"}),
        "b": Provider(api_keys=(Secret("pool-key-number-two"), Secret("tiny"))),
    }
)

TEXTS = {
    "bearer": ("Authorization: Bearer abc.def-ghi_123", "abc.def"),
    "basic": ("proxy said Basic dXNlcjpwYXNz==", "dXNlcjpwYXNz"),
    "openai": ("Incorrect API key provided: sk-proj-abcdEFGH1234_-x. You can", "abcdEFGH"),
    "anthropic": ("x-api-key sk-ant-api03-AAAABBBB", "AAAABBBB"),
    "google": ("key AIzaSyA1234567890abcdefghijklmnop", "SyA12345"),
    "groq": ("gsk_abcdefghijklmnop1234", "abcdefghijklmnop"),
    "xai": ("xai-abcdefgh12345678", "abcdefgh"),
    "ours": ("dm-" + "a1B2" * 10, "a1B2"),
    "nnp": ("nnp-v1-0123456789abcdef", "01234567"),
    "aws": ("AKIAIOSFODNN7EXAMPLE used", "IOSFODNN"),
    "jwt": ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl", "eyJzdWIi"),
    "query": ("POST https://h/v1beta/models/x:generateContent?key=abc123&alt=sse", "abc123"),
    "later in the query": ("https://h/?alt=sse&api_key=abc123", "abc123"),
    "assignment": ("api_key=abc123 refused", "abc123"),
    "header": ("X-Goog-Api-Key: abc123", "abc123"),
    "json in text": ('body was {"api_key": "abc123", "x": 1}', "abc123"),
    "escaped json in text": ('{\\"authorization\\": \\"abc123\\"}', "abc123"),
    "python dict in text": ("{'api-key': 'abc123'}", "abc123"),
    "configured": ("upstream echoed configured-key-one!", "configured-key-one"),
    "pool": ("upstream echoed pool-key-number-two", "pool-key"),
    "configured header": ("echo header-secret-1", "header-secret"),
}


@pytest.mark.parametrize(("text", "secret"), TEXTS.values(), ids=TEXTS.keys())
def test_C39_E17_secrets_leave_texts(text: str, secret: str) -> None:
    redacted = Redactor.of(CONFIG).text(text)
    assert secret not in redacted
    assert REDACTED in redacted
    assert Redactor.of(CONFIG).text(redacted) == redacted


def test_secrets_of_a_file_that_was_read_again_are_known_and_the_old_ones_stay() -> None:
    redactor = Redactor.of(CONFIG)
    redactor.know(secrets_of(Config(providers={"c": Provider(api_key=Secret("brand-new-key"))})))
    assert redactor.text("brand-new-key configured-key-one") == f"{REDACTED} {REDACTED}"


HARMLESS = [
    "Please use a valid role: user, model",
    "max_tokens: 100, key takeaways: three; the keyword is basic auth",
    "tiny things, task-management, a risk-free disk-like day",
    "tools[0].tool_type: required one_of 'tool_type' must have one initialized field",
    "The bearer of this letter. Basic French. Bearer authentication required; Bearer tokens only.",
    "call_abc123 toolu_01AbC msg_013Zva2CMHLNnXjNJJKqJ2EF",
    "the profile xai-responses, and the target xai-responses/grok-4.3",
]


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_stays(text: str) -> None:
    assert Redactor.of(CONFIG).text(text) == text


def test_C39_secrets_leave_data_at_any_depth() -> None:
    value = {
        "headers": {"Authorization": "x", "X-Api-Key": ["y"], "accept": "json"},
        "extra": [{"apiKey": "z", "deep": {"client_secret": "w", "text": "Bearer abcdefgh"}}],
        "max_tokens": 5,
        "api_key": None,
    }
    assert Redactor().value(value) == {
        "headers": {"Authorization": REDACTED, "X-Api-Key": REDACTED, "accept": "json"},
        "extra": [{"apiKey": REDACTED, "deep": {"client_secret": REDACTED, "text": f"Bearer {REDACTED}"}}],
        "max_tokens": 5,
        "api_key": None,
    }


def test_deep_data_ends() -> None:
    deep: Any = "x"
    for _ in range(5000):
        deep = [deep]
    assert "TOO DEEP" in json.dumps(Redactor().value(deep))
    assert "TOO DEEP" in json.dumps(without_content(deep))


def test_C41_words_go_and_the_shape_stays() -> None:
    request = {
        "model": "m",
        "messages": [
            {"role": "system", "content": "secret plan"},
            {"role": "user", "content": [{"type": "text", "text": "hé"}, {"type": "image", "source": {"url": "u"}}]},
            {"role": "assistant", "content": None, "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"name":"Anna"}'}}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "2", "name": "f", "input": {"name": "Anna"}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "12"},
        ],
        "tools": [{"type": "function", "function": {"name": "f", "description": "kept", "parameters": {}}}],
        "temperature": 1,
    }  # fmt: skip
    shape = without_content(request)
    assert shape["messages"][0] == {"role": "system", "content": "x" * 11}
    assert shape["messages"][1]["content"][0] == {"type": "text", "text": "xx"}
    assert shape["messages"][2]["tool_calls"][0]["function"] == {"name": "f", "arguments": "{}"}
    assert shape["messages"][3]["content"][0]["input"] == {"name": "xxxx"}
    assert shape["tools"] == request["tools"]
    assert "Anna" not in json.dumps(shape)


def failure(**fields: Any) -> RefusalLine:
    return RefusalLine(
        timestamp=timestamp(1_800_000_000.5), provider="google", stage="send", **{"status_code": 400, **fields}
    )


def test_C39_a_line_has_the_known_fields_and_can_be_read_back(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "provider_errors.jsonl"
    failures = RefusalLog(ProviderErrors(path=str(path), content=True), Redactor.of(CONFIG))
    body = b'{"model":"m","api_key":"k","messages":[{"role":"user","content":"line\\nbreak"}]}'
    said = "said configured-key-one\nFAKE LINE"
    failures.write(failure(error_type="bad_request", error=said, input_request=body, params={"x-api-key": "k"}))
    failures.write(failure(input_request=b"no json sk-1234567890"))
    failures.close()
    first, second = (found for _, found in parse_refusals(path))
    assert first.timestamp == "2027-01-15T08:00:00.500Z"
    assert first.input_request == {
        "model": "m",
        "api_key": REDACTED,
        "messages": [{"role": "user", "content": "line\nbreak"}],
    }
    assert first.params == {"x-api-key": REDACTED}
    assert first.error == f"said {REDACTED}\nFAKE LINE"
    assert second.input_request == f"no json {REDACTED}"
    assert len(path.read_text().splitlines()) == 2
    assert path.stat().st_mode & 0o777 == 0o600
    fields = set(json.loads(path.read_text().splitlines()[0]))
    assert {"timestamp", "provider", "stage", "status_code", "error_type", "error", "params", "input_request"} <= fields


def test_without_being_asked_no_words_are_written(tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    failures = RefusalLog(ProviderErrors(path=str(path)), Redactor())
    failures.write(failure(input_request={"messages": [{"role": "user", "content": "private"}]}))
    failures.close()
    assert "private" not in path.read_text()
    assert "xxxxxxx" in path.read_text()


def test_no_path_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    failures = RefusalLog(ProviderErrors(path=None), Redactor())
    failures.write(failure())
    assert failures.flush()
    failures.close()
    assert list(tmp_path.iterdir()) == []


def test_a_line_that_cannot_be_written_does_not_take_the_others_with_it(tmp_path: Path) -> None:
    path = tmp_path / "errors.jsonl"
    log = RefusalLog(ProviderErrors(path=str(path)), Redactor())
    for name in ("first", "\ud800", "last"):
        log.write(failure(request_id=name))
    assert log.flush()
    log.close()
    assert [found.request_id for _, found in parse_refusals(path)] == ["first", "last"]
    assert (log.health().written, log.health().failed) == (2, 1)


def test_the_file_is_turned_over_and_the_oldest_goes(tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    failures = RefusalLog(ProviderErrors(path=str(path), max_bytes=2000, backups=2), Redactor())
    for number in range(60):
        failures.write(failure(request_id=f"r{number}"))
    failures.close()
    files = sorted(found.name for found in tmp_path.iterdir())
    assert files == ["e.jsonl", "e.jsonl.1", "e.jsonl.2"]
    assert all(found.stat().st_size <= 2000 for found in tmp_path.iterdir())
    last = [found.request_id for name in reversed(files) for _, found in parse_refusals(tmp_path / name)]
    assert last == [f"r{number}" for number in range(60 - len(last), 60)]


def test_a_line_too_long_for_the_file_leaves_the_bodies_out(tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    failures = RefusalLog(ProviderErrors(path=str(path), max_bytes=2000), Redactor())
    failures.write(failure(input_request={"content": "y" * 5000}))
    failures.close()
    ((_, found),) = parse_refusals(path)
    assert found.input_request.startswith("[LEFT OUT")


def _write_many(path: str, name: str) -> None:
    failures = RefusalLog(ProviderErrors(path=path, max_bytes=20_000, backups=50), Redactor())
    for number in range(200):
        failures.write(failure(request_id=f"{name}{number}"))
    failures.close()


@pytest.mark.slow
def test_several_workers_write_one_file(tmp_path: Path) -> None:
    path = str(tmp_path / "e.jsonl")
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_write_many, args=(path, name)) for name in "ab"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    found = [item.request_id for file in tmp_path.iterdir() for _, item in parse_refusals(file)]
    assert sorted(found) == sorted(f"{name}{number}" for name in "ab" for number in range(200))


@pytest.mark.parametrize("line", ["", "{", "[]", '{"timestamp": 1}'])
def test_a_line_that_is_none_is_refused(line: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no line of provider_errors\.jsonl"):
        parse_refusal(line)
    path = tmp_path / "e.jsonl"
    path.write_text('{"timestamp":"t","provider":"p","stage":"s"}\n\n{bad\n')
    with pytest.raises(ValueError, match=r"e\.jsonl:3: "):
        list(parse_refusals(path))
