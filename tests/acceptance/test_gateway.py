"""Behaviours of the gateway that the acceptance list names, each by its id."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import openai
import pytest
from tests.acceptance.through_gateway import DONE, PATH, SAYS, STOP, ask, frame, served, streamed
from tests.gateway.asking import PLAIN, body, path
from tests.gateway.running import gateway, provider, wait_for
from tests.gateway.upstream import GOOD, Answer, Seen, refusal, upstream

from dragoman.engine.library.adapt import adapt
from dragoman.testing import emulator


@pytest.mark.parametrize("choice", ["user", "opening", "fail"])
@pytest.mark.parametrize("profile", ["openai", "openrouter"])
def test_A10_a_target_that_takes_late_messages_can_be_told_not_to(tmp_path: Path, profile: str, choice: str) -> None:
    late = [{"role": role, "content": role} for role in ("user", "system", "user")]
    with upstream(lambda seen: None) as behind:
        told = provider(profile, behind.url, facts={"late_system": "refuses"}, rules={"late-system": choice})
        with gateway(
            {"providers": {"p": told}, "models": {"m": {"target": "p/anthropic/claude-sonnet-4"}}}, tmp_path
        ) as running:
            answer = ask(running, messages=late)
        assert answer.status_code == (422 if choice == "fail" else 200)
        sent = [[one["content"] for one in seen.body["messages"]] for seen in behind.seen]
    expected = {"user": [["user", "[System] system", "user"]], "opening": [["system", "user", "user"]], "fail": []}
    assert sent == expected[choice]


@pytest.mark.parametrize("stream", [False, True])
def test_A10_B2_every_claude_gets_them_in_the_field_if_told_so(tmp_path: Path, stream: bool) -> None:
    """The configuration of `docs/moving/constellation.md`."""
    asked = {"model": "m", "max_tokens": 9, "system": "first", "stream": stream}
    turns = [{"role": role, "content": role} for role in ("user", "system")]
    with upstream(lambda seen: None) as behind:
        told = provider("anthropic", behind.url, facts={"late_system": "refuses"}, rules={"late-system": "opening"})
        models = {"m": {"target": "p/claude-opus-4-8"}}
        with gateway({"providers": {"p": told}, "models": models}, tmp_path) as running:
            running.post("/v1/messages", {**asked, "messages": turns})
        assert behind.seen[-1].body["system"] == "first\n\nsystem"
        assert behind.seen[-1].body["messages"] == [{"role": "user", "content": "user"}]


def test_A23_roles_are_models_that_fall_back_on_each_other(tmp_path: Path) -> None:
    def judge(seen: Seen) -> Answer | None:
        return None if seen.body["model"] == "large" else (503, refusal("down"))

    models = {
        "fast": {"target": "p/small", "fallbacks": ["smart"]},
        "smart": {"target": "p/large", "fallbacks": ["fast"]},
        "motor": {"target": "p/tiny", "fallbacks": ["fast", "smart"]},
    }
    with served(tmp_path, judge, models=models) as (running, _):
        answers = [running.post(PATH, {"model": name, "messages": PLAIN}) for name in models]
        assert [one.headers["x-dragoman-model"] for one in answers] == ["p/large"] * 3


def test_A24_attribution_headers(tmp_path: Path) -> None:
    who = {"title": "Demo", "url": "https://demo.example", "user_agent": "demo/1.0"}
    with served(tmp_path, attribution=who) as (running, behind):
        ask(running)
        sent = behind.seen[-1].headers
        assert (sent["x-title"], sent["http-referer"], sent["user-agent"]) == (
            "Demo",
            "https://demo.example",
            "demo/1.0",
        )


KINDS = [
    (401, "no", 401, openai.AuthenticationError),
    (429, "slow down", 429, openai.RateLimitError),
    (500, "oh", 500, openai.InternalServerError),
    (400, "bad", 400, openai.BadRequestError),
]


@pytest.mark.parametrize(("status", "says", "seen", "error"), KINDS)
def test_B12_errors_are_of_few_kinds(
    tmp_path: Path, status: int, says: str, seen: int, error: type[openai.APIStatusError]
) -> None:
    with served(tmp_path, lambda _: (status, refusal(says))) as (running, _):
        with pytest.raises(error) as raised:
            running.openai().chat.completions.create(model="m", messages=PLAIN)
        assert raised.value.status_code == seen
        assert says in str(raised.value)


def test_B14_empty_choices_are_tried_again(tmp_path: Path) -> None:
    answers = iter([{**GOOD, "choices": []}, GOOD])
    with served(tmp_path, lambda seen: (200, next(answers)), profile="openrouter") as (running, behind):
        assert ask(running).status_code == 200
        assert len(behind.seen) == 2


@pytest.mark.parametrize("path", [PATH, "/v1/messages"])
@pytest.mark.parametrize("ends", [(DONE,), ()])
def test_B14_a_stream_without_choices_is_tried_again(tmp_path: Path, path: str, ends: tuple[bytes, ...]) -> None:
    """Nothing of it was for the client: a chunk without choices is no answer, and neither is the end of a stream."""
    streams = iter(
        [streamed(b'data: {"id": "x", "choices": []}\n\n', *ends), streamed(*ends), streamed(SAYS, STOP, DONE)]
    )
    with served(tmp_path, lambda seen: next(streams)(seen), profile="openrouter") as (running, behind):
        told = running.post(path, {"model": "m", "messages": PLAIN, "max_tokens": 9, "stream": True})
        assert (told.status_code, "error" in told.text, len(behind.seen)) == (200, False, 3)


def test_B14_an_error_as_finish_reason_is_an_error(tmp_path: Path) -> None:
    broken = frame(delta={"content": ""}, finish_reason="error")
    many = [SAYS] * 200
    with served(tmp_path, streamed(*many, broken), profile="openrouter") as (running, _):
        told = ask(running, stream=True).text
        assert "The provider stopped with an error and gave no reason." in told
        assert '"finish_reason":"stop"' not in told.replace(" ", "")


ENDINGS: dict[str, tuple[dict[str, Any], str]] = {
    "without a reason": ({"finish_reason": "error"}, "gave no reason"),
    "in another server's words": ({"finish_reason": "network_error"}, "stopped with network_error"),
    "with its reason in the choice": ({"finish_reason": "error", "error": {"code": 502, "message": "Gone"}}, "Gone"),
}


@pytest.mark.parametrize("name", ENDINGS)
@pytest.mark.parametrize("end", [(), (DONE,)])
def test_B14_a_client_of_a_relayed_stream_raises_the_error(tmp_path: Path, name: str, end: tuple[bytes, ...]) -> None:
    ending, reason = ENDINGS[name]
    frames = [*[SAYS] * 200, frame(delta={}, **ending), *end]
    with (
        served(tmp_path, streamed(*frames), profile="openrouter") as (running, _),
        pytest.raises(openai.APIError, match=reason),
    ):
        list(running.openai().chat.completions.create(model="m", messages=PLAIN, stream=True))


def test_B14_a_routing_block_goes_to_the_router(tmp_path: Path) -> None:
    with served(tmp_path, profile="openrouter") as (running, behind):
        ask(running, provider={"order": ["a"], "allow_fallbacks": False})
        assert behind.seen[-1].body["provider"] == {"order": ["a"], "allow_fallbacks": False}


def test_C19_the_old_stream_is_closed_before_a_new_one_opens(tmp_path: Path) -> None:
    with emulator("openai") as one, ExitStack() as stack:
        impatient = {"connect": 60, "first_byte": 60, "idle": 2, "total": 120}
        served_by = provider("openai", one.base_url, timeouts=impatient)
        config = {"providers": {"p": served_by}, "models": {"m": {"target": "p/gpt-4o"}}}
        running = stack.enter_context(gateway(config, tmp_path))
        one.script({"fault": "stream-error;after=0"}, {"fault": "stall;after=0;seconds=60"}, "Hello")
        chunks = running.openai().chat.completions.create(model="m", messages=PLAIN, stream=True)
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == "Hello"
        assert len(one.requests) == 3
        wait_for(lambda: running.busy() == (0, 0))


CUT = {
    "openai-chat": b'"error"',
    "openai-responses": b"response.failed",
    "anthropic": b"event: error",
    "gemini": b'{"error"',
}


@pytest.mark.parametrize("dialect", CUT)
def test_C20_a_stream_that_breaks_never_looks_like_success(tmp_path: Path, dialect: str) -> None:
    """X11."""
    with served(tmp_path, streamed(*[SAYS] * 400)) as (running, _):
        where, asked = path(dialect, "m"), body(dialect, "m", stream=True)
        if dialect == "gemini":
            where = where.replace("generateContent", "streamGenerateContent") + "?alt=sse"
            asked.pop("stream")
        told = running.post(where, asked)
        if told.status_code == 200:
            assert CUT[dialect] in told.content
        for success in (b'"finish_reason":"stop"', b'"end_turn"', b'"finishReason":"STOP"', b"response.completed"):
            assert success not in told.content


def test_C21_unknown_fields_of_messages_and_settings(tmp_path: Path) -> None:
    strict = {"facts": {"unknown_fields": "refuses", "unknown_settings": "refuses"}}
    with served(tmp_path, **strict) as (running, behind):
        answered = ask(running, messages=[{"role": "user", "content": "Hi", "mood": 1}], frobnicate=1)
        sent = behind.seen[-1].body
        assert sent["messages"] == [{"role": "user", "content": "Hi"}]
        assert "frobnicate" not in sent
        assert "stray-field;n=1" in answered.headers["x-dragoman-changes"]


def test_C39_one_line_per_failure_of_a_provider(tmp_path: Path) -> None:
    with served(tmp_path, lambda seen: (400, refusal("no such thing"))) as (running, _):
        answered = running.post("/v1/messages", body("anthropic", "m", metadata={"user_id": "Bearer abcdef123456"}))
        running.services.records.failures.flush()
        line = json.loads(running.errors.read_text())
        assert {"timestamp", "provider", "stage", "status_code", "error_type", "error", "input_request"} <= set(line)
        assert (line["provider"], line["status_code"], line["error"]) == ("p", 400, "no such thing")
        assert (line["client_dialect"], line["upstream_dialect"]) == ("anthropic", "openai-chat")
        assert line["request_id"] == answered.headers["x-dragoman-request-id"]
        assert line["input_request"]["messages"] == PLAIN
        assert "abcdef123456" not in json.dumps(line)


@pytest.mark.parametrize("kept", [True, False])
def test_C41_both_requests_are_kept_if_asked_for(tmp_path: Path, kept: bool) -> None:
    with served(tmp_path, store={"keep_bodies": kept}) as (running, _):
        answered = running.post("/v1/messages", body("anthropic", "m", system="Be brief."))
        report = running.get(f"/dragoman/requests/{answered.headers['x-dragoman-request-id']}").json()
        assert ("request" in report) is ("sent" in report) is kept
        if kept:
            assert report["request"]["system"] == "Be brief."
            assert report["sent"]["messages"][0] == {"role": "system", "content": "Be brief."}
        running.services.records.lines.flush()
        assert "Be brief." not in running.log.getvalue()


def test_C46_the_answer_names_who_answered_and_what_was_changed(tmp_path: Path) -> None:
    with served(tmp_path) as (running, _):
        answered = ask(
            running,
            messages=[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "x", "done": True}, *PLAIN],
        )
        report = running.get(f"/dragoman/requests/{answered.headers['x-dragoman-request-id']}").json()
        assert report["target"] == answered.headers["x-dragoman-model"] == "p/x"
        assert [change["at"] for change in report["changes"]] == ["/messages/1"]


def test_E3_the_end_of_a_stream_is_no_message(tmp_path: Path) -> None:
    with served(tmp_path, streamed(SAYS, STOP, DONE)) as (running, _):
        told = running.post("/v1/messages", body("anthropic", "m", stream=True)).text
        assert "[DONE]" not in told
        assert "__stream_end__" not in told
        assert told.rstrip().endswith('data: {"type":"message_stop"}')


NOISE = (b": OPENROUTER PROCESSING\n\n", b"data: {not json\n\n", b"\n\n", b"event: x\n\n")


@pytest.mark.parametrize("dialect", ["openai-chat", "anthropic"])
def test_E4_comments_and_garbage_are_skipped(tmp_path: Path, dialect: str) -> None:
    with served(tmp_path, streamed(NOISE[0], SAYS, *NOISE, STOP, DONE)) as (running, _):
        told = running.post(path(dialect, "m"), body(dialect, "m", stream=True))
        assert told.status_code == 200
        assert "Hello" in told.text
        assert "error" not in told.text
        assert "not json" not in told.text


CONTAMINATED = frame(delta={"content": "Hello", "__internal__": {"x": 1}}, done=True)
END_OBJECT = frame(delta={}, finish_reason="stop", stream_end=True, __stream_end__=True)
MARKS = ("done", "__internal__", "__stream_end__", "stream_end")


@pytest.mark.parametrize("dialect", ["openai-chat", "anthropic", "openai-responses"])
def test_E3_E11_marks_of_a_stream_never_reach_the_client(tmp_path: Path, dialect: str) -> None:
    frames = (SAYS, CONTAMINATED, b'data: {"done": true}\n\n', END_OBJECT, DONE)
    with served(tmp_path, streamed(*frames)) as (running, _):
        told = running.post(path(dialect, "m"), body(dialect, "m", stream=True)).text
        assert told.count("Hello") >= 2
        assert [mark for mark in MARKS if f'"{mark}"' in told] == []
        assert "data: {}" not in told
    relayed = adapt({"model": "m", "messages": PLAIN, "stream": True}, target="openai-compatible-strict/x").stream()
    out = b"".join(relayed.feed(one) for one in frames) + relayed.finish()
    assert [mark for mark in MARKS if f'"{mark}"'.encode() in out] == []
    assert out.endswith(DONE)


@pytest.mark.parametrize("profile", ["anthropic", "gemini", "openai-responses", "cohere"])
def test_E3_E11_marks_of_a_stream_reach_no_client_in_its_own_dialect(profile: str) -> None:
    """A mark between the provider's events, and one on each. What an event holds is the model's: a call's `done`."""
    source = {"cohere": "cohere"}.get(profile, profile)
    asked = {"stream": True, **body(source, "m")} if source != "gemini" else body(source, "m")
    told = adapt(asked, source=source, target=f"{profile}/m", stream=True).stream()
    held = {"type": "response.new", "args": {"done": True}}
    name = b"event: response.new\n" if profile in ("anthropic", "openai-responses") else b""
    marked = name + b"data: " + json.dumps({**held, "done": True, "__internal__": {}}).encode() + b"\n\n"
    out = told.feed(b'data: {"done": true}\n\ndata: {"stream_end": 1, "__stream_end__": true}\n\n' + marked)
    assert [json.loads(line[6:]) for line in out.splitlines() if line.startswith(b"data:")] == [held]


def test_E12_a_clean_stream_is_relayed_byte_for_byte(tmp_path: Path) -> None:
    frames = (NOISE[0], SAYS, STOP.replace(b"\n\n", b"\r\n\r\n"), DONE)
    with served(tmp_path, streamed(*frames)) as (running, _):
        assert ask(running, stream=True).content == b"".join(frames)


@pytest.mark.parametrize("size", [pytest.param(1, marks=pytest.mark.slow), 7, 50])
def test_E12_letters_that_are_cut_between_chunks_arrive_whole(tmp_path: Path, size: int) -> None:
    said = SAYS.replace(b"Hello", "Привет 🎉".encode())
    stream = NOISE[0] + said.replace(b"\n\n", b"\r\n\r\n") + STOP + DONE
    chunks = tuple([stream[at : at + size] for at in range(0, len(stream), size)])
    with served(tmp_path, lambda seen: (200, chunks)) as (running, _):
        assert ask(running, stream=True).content == stream
        translated = running.post("/api/chat", {"model": "m", "messages": [{"role": "user", "content": "Hi"}]})
        assert "Привет 🎉" in translated.text


def test_E13_a_relayed_error_frame_is_followed_by_done(tmp_path: Path) -> None:
    error = b'data: {"error":{"message":"it broke","code":502}}\n\n'
    with served(tmp_path, lambda seen: (200, (SAYS, error))) as (running, _):
        told = ask(running, stream=True).text
        assert '"message":"it broke","code":502' in told.splitlines()[-4]
        assert told.endswith("}}\n\ndata: [DONE]\n\n")
        assert told.count("[DONE]") == 1
    with served(tmp_path, lambda seen: (200, (SAYS, error, DONE))) as (running, _):
        assert ask(running, stream=True).text.count("[DONE]") == 1


def test_E5_the_body_of_a_refusal_is_read_on_streams_too(tmp_path: Path) -> None:
    with served(tmp_path, lambda seen: (418, refusal("I am a teapot"))) as (running, _):
        assert ask(running, stream=True).json()["error"]["message"] == "I am a teapot"


def test_E5_a_refusal_without_words(tmp_path: Path) -> None:
    with served(tmp_path, lambda seen: (400, b"")) as (running, _):
        assert ask(running).json()["error"]["message"] == "Unable to read error response from provider"


def test_E13_a_stream_error_is_one_frame_and_then_done(tmp_path: Path) -> None:
    with emulator("anthropic") as claude, ExitStack() as stack:
        target = {"m": {"target": "p/claude-sonnet-4-5"}}
        config = {"providers": {"p": provider("anthropic", claude.base_url)}, "models": target}
        running = stack.enter_context(gateway(config, tmp_path))
        claude.script({"text": "word " * 600, "fault": "stream-error;after=150"})
        frames = [one for one in ask(running, stream=True).text.split("\n\n") if one]
        if frames[-2].startswith('data: {"error"'):
            assert frames[-1] == "data: [DONE]"
            assert sum('"error":' in one for one in frames) == 1
        else:  # it came in one piece and was tried again before a byte had left
            assert len(claude.requests) == 2


def test_E14_the_providers_name_and_words_are_kept(tmp_path: Path) -> None:
    raw = {
        "error": {
            "code": 400,
            "message": "Provider returned error",
            "metadata": {"provider_name": "X", "raw": json.dumps(refusal("inner words"))},
        }
    }
    for stream in (False, True):
        with served(tmp_path, lambda seen: (400, raw), profile="openrouter") as (running, _):
            error = ask(running, stream=stream).json()["error"]
            assert error["message"] == "inner words"
            assert error["metadata"]["provider_name"] == "X"
            assert json.loads(error["metadata"]["raw"]) == raw
    answer = adapt({"model": "m", "messages": PLAIN}, target="openrouter/x").answer(json.dumps(raw).encode(), 400)
    assert answer.json["error"]["metadata"] == {"provider_name": "X", "raw": json.dumps(raw)}


def test_E14_a_key_of_ours_is_in_no_part_of_an_error(tmp_path: Path) -> None:
    def judge(seen: Seen) -> Answer:
        return 400, refusal(f"bad key {seen.headers['authorization']}")

    with served(tmp_path, judge) as (running, _):
        told = ask(running).json()["error"]
        assert "bad key" in told["message"]
        assert "bad key" in told["metadata"]["raw"]
        assert told["metadata"]["provider_name"] == "p"
        assert "pk-openai" not in json.dumps(told)


@pytest.mark.parametrize("stream", [False, True])
def test_E5_the_error_object_of_the_provider_is_logged(tmp_path: Path, stream: bool) -> None:
    with served(tmp_path, lambda seen: (400, refusal("I am a teapot", code="teapot"))) as (running, _):
        answered = ask(running, stream=stream)
        running.services.records.failures.flush()
        running.services.records.lines.flush()
        lines = [json.loads(line) for line in running.log.getvalue().splitlines()]
        logged = next(line for line in lines if line["event"] == "provider-error")
        assert logged["id"] == answered.headers["x-dragoman-request-id"]
        assert (logged["error"]["message"], logged["error"]["code"]) == ("I am a teapot", "teapot")
        assert json.loads(running.errors.read_text())["error_object"] == logged["error"]


def test_C39_the_settings_that_were_sent(tmp_path: Path) -> None:
    with served(tmp_path, lambda seen: (400, refusal("no"))) as (running, _):
        ask(running, temperature=0.5, max_tokens=7)
        running.services.records.failures.flush()
        assert json.loads(running.errors.read_text())["params"] == {"model": "x", "temperature": 0.5, "max_tokens": 7}


UNTIDY = [
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "x", "done": True},
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "So?"},
]


def test_E17_every_line_about_a_request_has_its_id(tmp_path: Path) -> None:
    """Also of those that lead nowhere, and of what a refusal teaches."""

    def judge(seen: Seen) -> Answer | None:
        return (400, refusal("Unknown parameter: 'odd'.")) if "odd" in seen.body else None

    with served(tmp_path, judge) as (running, _):
        told = [ask(running, odd=1), ask(running, stream=True), ask(running, model="nobody")]
        told += [running.post("/v1/embeddings", {"model": "m", "input": "x"}), running.get("/v1/nowhere")]
        told += [running.get("/v1/files"), running.post("/v1/messages", {"model": "m"})]
        ids = {one.headers["x-dragoman-request-id"] for one in told}
        wait_for(lambda: all(id in running.log.getvalue() for id in ids))
        lines = [json.loads(line) for line in running.log.getvalue().splitlines()]
    assert {"request", "provider-error", "lesson", "relay", "not-found", "not-served"} <= {
        one["event"] for one in lines
    }
    assert [one for one in lines if one["event"] not in ("config", "listening") and one.get("id") not in ids] == []


@pytest.mark.parametrize("profile", ["openrouter", "strict-template", "openai-compatible-strict"])
def test_E18_streamed_and_whole_requests_are_repaired_alike(tmp_path: Path, profile: str) -> None:
    both = []
    with served(tmp_path, lambda seen: None, profile=profile) as (running, behind):
        for stream in (False, True):
            changes = ask(running, messages=UNTIDY, stream=stream).headers["x-dragoman-changes"]
            both.append((changes, behind.seen[-1].body["messages"]))
        bad = [ask(running, messages=5, stream=stream) for stream in (False, True)]
        assert [one.status_code for one in bad] == [400, 400]
    assert both[0] == both[1]
    for stream in (False, True):
        adapted = adapt({"model": "m", "messages": UNTIDY, "stream": stream}, target=f"{profile}/x")
        assert adapted.json["messages"] == both[0][1]


def test_a_json_error_in_place_of_a_stream_is_an_error(tmp_path: Path) -> None:
    answers = iter([(200, {"error": {"message": "busy", "code": 503}}), (200, SAYS + STOP + DONE)])
    with served(tmp_path, lambda seen: next(answers), profile="openrouter") as (running, behind):
        assert "Hello" in ask(running, stream=True).text
        assert len(behind.seen) == 2


def test_E16_num_predict_reaches_the_provider_as_its_token_limit(tmp_path: Path) -> None:
    with served(tmp_path, profile="ollama-openai") as (running, behind):
        assert ask(running, num_predict=44).status_code == 200
        assert behind.seen[-1].body["max_tokens"] == 44
        assert "num_predict" not in behind.seen[-1].body
