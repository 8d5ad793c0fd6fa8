"""Other targets, other keys, other treatment: what the file says is done when the first choice fails."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.asking import PATHS, STREAMED, WHOLE, body, path
from tests.gateway.running import Running, gateway, provider, wait_for
from tests.gateway.upstream import GOOD, Answer, Seen, Upstream, refusal, upstream

from dragoman.conversation.events import Ended, Started, Stopped, TextDelta
from dragoman.conversation.replies import Stop
from dragoman.dialects import registry
from dragoman.dialects.dialect import AnswerContext
from dragoman.testing import emulator
from dragoman.upstream import dispatch

LATE = [
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "Hello"},
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Go on"},
]


def says(text: str) -> Callable[[Seen], Answer | None]:
    choice = {**GOOD["choices"][0], "message": {"role": "assistant", "content": text}}  # type: ignore[index]
    return lambda seen: (200, {**GOOD, "choices": [choice]})


def fails(status: int, message: str, **more: Any) -> Callable[[Seen], Answer | None]:
    return lambda seen: (status, refusal(message, **more))


@contextmanager
def chain(folder: Path, model: dict[str, Any], *answers: Callable[[Seen], Answer | None]) -> Iterator[Any]:
    """Upstreams a, b, c … behind a gateway with the model `m`."""
    with ExitStack() as stack:
        behind = [stack.enter_context(upstream(answer)) for answer in answers]
        names = "abcdef"[: len(behind)]
        providers = {
            name: provider("openai-compatible-lenient", one.url, api_key=f"key-of-{name}-123456")
            for name, one in zip(names, behind, strict=True)
        }
        config = {"providers": providers, "models": {"m": {"target": "a/x", **model}}}
        yield stack.enter_context(gateway(config, folder)), behind


def ask(running: Running, **fields: Any) -> Any:
    return running.post(
        "/v1/chat/completions", {"model": "m", "messages": [{"role": "user", "content": "Hi"}], **fields}
    )


def text(answered: Any) -> str:
    assert answered.status_code == 200, answered.text
    return str(answered.json()["choices"][0]["message"]["content"])


TOO_LONG = "This model's maximum context length is 10 tokens. However, your messages resulted in 99 tokens."
FILTERED = "The response was filtered due to the prompt triggering content management policy."
LIMITED = "Rate limit reached"


@pytest.mark.parametrize(
    ("failing", "tries"),
    [
        (fails(500, "oh no"), 3),
        (fails(401, "Incorrect API key provided"), 1),
        (fails(404, "The model x does not exist", code="model_not_found"), 1),
        (fails(400, TOO_LONG, code="context_length_exceeded"), 1),
        (fails(429, LIMITED), 3),
        (lambda seen: (200, b"this is no JSON"), 3),
    ],
    ids=["server", "key", "model", "context", "limit", "garbage"],
)
def test_a_failed_target_falls_back(tmp_path: Path, failing: Callable[[Seen], Answer | None], tries: int) -> None:
    with chain(tmp_path, {"fallbacks": ["b/y"]}, failing, says("from b")) as (running, behind):
        answered = ask(running)
        assert text(answered) == "from b"
        assert answered.headers["x-dragoman-model"] == "b/y"
        assert [len(one.seen) for one in behind] == [tries, 1]
        assert running.entry(answered).attempts == tries + 1
        assert behind[1].seen[0].headers["authorization"] == "Bearer key-of-b-123456"


def test_a_bad_request_is_not_sent_around(tmp_path: Path) -> None:
    failing = fails(400, "messages[0].content: must be nicer")
    with chain(tmp_path, {"fallbacks": ["b/y"]}, failing, says("from b")) as (running, behind):
        refused = ask(running)
        assert refused.status_code == 400
        assert refused.json()["error"]["message"] == "messages[0].content: must be nicer"
        assert [len(one.seen) for one in behind] == [1, 0]


def test_all_failed_tells_of_the_last(tmp_path: Path) -> None:
    with chain(tmp_path, {"fallbacks": ["b/y"]}, fails(500, "a broke"), fails(503, "b broke")) as (running, _):
        refused = ask(running)
        assert refused.json()["error"]["message"] == "b broke (asked without success: a/x: 500, b/y: 503)"
        assert refused.headers["x-dragoman-model"] == "b/y"


REASONS = {
    "context_length": fails(400, TOO_LONG, code="context_length_exceeded"),
    "content_filter": fails(400, FILTERED, code="content_filter"),
    "rate_limit": fails(429, LIMITED),
}


@pytest.mark.parametrize("reason", REASONS)
@pytest.mark.parametrize("others", [[], ["c/z"]], ids=["alone", "before others"])
def test_a_reason_has_its_own_fallback(tmp_path: Path, reason: str, others: list[str]) -> None:
    model = {"fallbacks": others, "fallbacks_on": {reason: ["b/y"]}}
    with chain(tmp_path, model, REASONS[reason], says("from b"), says("from c")) as (running, behind):
        assert text(ask(running)) == "from b"
        assert [len(one.seen) for one in behind] == [1, 1, 0]


def test_another_reason_does_not_use_it(tmp_path: Path) -> None:
    model = {"fallbacks": ["c/z"], "fallbacks_on": {"context_length": ["b/y"]}}
    with chain(tmp_path, model, fails(500, "oh"), says("from b"), says("from c")) as (running, behind):
        assert text(ask(running)) == "from c"
        assert [len(one.seen) for one in behind] == [3, 0, 1]


@pytest.mark.parametrize("status", [401, 429])
def test_a_spoilt_key_gives_way_to_the_next(tmp_path: Path, status: int) -> None:
    def judge(seen: Seen) -> Answer | None:
        bad = seen.headers["authorization"] == "Bearer first-key-000"
        return (status, refusal("no more")) if bad else None

    with upstream(judge) as behind:
        keys = ["first-key-000", "second-key-00"]
        config = {
            "providers": {"a": provider("openai-compatible-lenient", behind.url, api_keys=keys)},
            "models": {"m": {"target": "a/x"}},
        }
        with gateway(config, tmp_path) as running:
            assert text(ask(running)) == "Good."
            assert text(ask(running)) == "Good."
            running.post("/v1/embeddings", {"model": "m", "input": "x"})
            used = [one.headers["authorization"].split()[1] for one in behind.seen]
            assert used == ["first-key-000", "second-key-00", "second-key-00", "second-key-00"]


@pytest.mark.slow
def test_a_target_that_keeps_failing_is_left_alone_and_tried_again(tmp_path: Path) -> None:
    broken = True

    def flaky(seen: Seen) -> Answer | None:
        return (500, refusal("oh no")) if broken else says("from a")(seen)

    with upstream(flaky) as first, upstream(says("from b")) as second:
        patient = {"cooldown": {"failures": 3, "seconds": 5}}
        config = {
            "providers": {
                "a": provider("openai-compatible-lenient", first.url, **patient),
                "b": provider("openai-compatible-lenient", second.url),
            },
            "models": {"m": {"target": "a/x", "fallbacks": ["b/y"]}},
        }
        with gateway(config, tmp_path) as running:
            assert [text(ask(running)) for _ in range(4)] == ["from b"] * 4
            assert len(first.seen) == 3
            assert list(running.get("/health").json()["resting"]) == ["a/x"]
            broken = False
            wait_for(lambda: text(ask(running)) == "from a")
            assert running.get("/health").json()["resting"] == {}


def test_refused_requests_do_not_speak_against_a_target(tmp_path: Path) -> None:
    with chain(tmp_path, {"fallbacks": ["b/y"]}, fails(400, "no"), says("from b")) as (running, _):
        assert [ask(running).status_code for _ in range(8)] == [400] * 8
        assert running.get("/health").json()["resting"] == {}


def test_options_are_set_and_omissions_left_out_and_told(tmp_path: Path) -> None:
    model = {"options": {"temperature": 0.2, "metadata": {"team": "x"}}, "omit": ["top_p"]}
    with chain(tmp_path, model, says("ok")) as (running, behind):
        answered = ask(running, temperature=1, top_p=0.5, metadata={"user": "u"})
        assert text(answered) == "ok"
        sent = behind[0].seen[0].body
        assert (sent["temperature"], sent["metadata"]) == (0.2, {"user": "u", "team": "x"})
        assert "top_p" not in sent
        assert answered.headers["x-dragoman-changes"] == "option;n=3"


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, dict[str, Any]]]:
    """Models with rules and limits of their own, on strict providers."""
    with ExitStack() as stack:
        emulators = {
            name: stack.enter_context(emulator(name, answers="echo")) for name in ("gemini", "openai", "anthropic")
        }
        models = {
            "hoist": {"target": "gemini/gemini-2.5-flash", "rules": {"late-system": "opening"}},
            "turn": {"target": "gemini/gemini-2.5-flash", "rules": {"late-system": "user"}},
            "fail": {"target": "gemini/gemini-2.5-flash", "rules": {"late-system": "fail"}},
            "careful": {"target": "gemini/gemini-2.5-flash", "max_loss": "metadata"},
            "careful-chain": {
                "target": "gemini/gemini-2.5-flash",
                "max_loss": "metadata",
                "fallbacks": ["openai/gpt-4o"],
            },
            "true": {"target": "gemini/gemini-2.5-flash", "synthetic": "refuse"},
            "claude": {"target": "anthropic/claude-sonnet-4-5"},
            "resp": {"target": "openai/gpt-4o"},
        }
        config = {
            "providers": {name: provider(name, one.base_url) for name, one in emulators.items()},
            "models": models,
        }
        yield stack.enter_context(gateway(config, tmp_path_factory.mktemp("strict"))), emulators


def test_rules_can_be_chosen_per_model(strict: tuple[Running, dict[str, Any]]) -> None:
    running, emulators = strict
    for model in ("hoist", "turn"):
        answered = running.post("/v1/chat/completions", {"model": model, "messages": LATE})
        assert answered.status_code == 200
        sent = emulators["gemini"].requests[-1].body
        hoisted = "Be brief." in str(sent.get("systemInstruction"))
        assert hoisted is (model == "hoist")


LATE_IN = {
    "openai-chat": {"messages": LATE},
    "openai-responses": {"input": LATE},
    "anthropic": {"messages": LATE},
    "gemini": {
        "contents": [{"role": "model", "parts": [{"text": "Hello"}]}, {"role": "user", "parts": [{"text": "x"}]}]
    },
}


@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses", "anthropic"])
@pytest.mark.parametrize("model", ["careful", "fail"])
def test_a_repair_that_is_not_allowed_is_a_422_that_names_it(
    strict: tuple[Running, dict[str, Any]], dialect: str, model: str
) -> None:
    running, emulators = strict
    before = len(emulators["gemini"].requests)
    refused = running.post(path(dialect, model), body(dialect, model, **LATE_IN[dialect]))
    assert refused.status_code == 422
    message = refused.json()["error"]["message"]
    assert "late-system" in message
    assert "/2" in message
    assert len(emulators["gemini"].requests) == before


@pytest.mark.parametrize("dialect", PATHS)
def test_made_up_turns_can_be_refused(strict: tuple[Running, dict[str, Any]], dialect: str) -> None:
    running, _ = strict
    opening = [{"role": "assistant", "content": "Hello"}, {"role": "user", "content": "Hi"}]
    field = "input" if dialect == "openai-responses" else "messages"
    more = LATE_IN["gemini"] if dialect == "gemini" else {field: opening}
    refused = running.post(path(dialect, "true"), body(dialect, "true", **more))
    if dialect == "gemini" and refused.status_code == 200:
        return  # in its own dialect the provider takes it as it is
    assert refused.status_code == 422
    assert "leading-assistant" in refused.text


def test_a_target_that_may_not_be_asked_gives_way_to_the_next(strict: tuple[Running, dict[str, Any]]) -> None:
    running, _ = strict
    answered = running.post("/v1/chat/completions", {"model": "careful-chain", "messages": LATE})
    assert answered.status_code == 200
    assert answered.headers["x-dragoman-model"] == "openai/gpt-4o"


@pytest.mark.parametrize("model", ["claude", "turn", "resp"])
def test_a_previous_response_that_nobody_knows_is_refused_as_its_vendor_does(
    strict: tuple[Running, dict[str, Any]], model: str
) -> None:
    running, _ = strict
    refused = running.post("/v1/responses", {"model": model, "input": "Hi", "previous_response_id": "resp_1"})
    assert refused.status_code == 400
    fault = refused.json()["error"]
    assert fault["message"] == "Previous response with id 'resp_1' not found."
    assert (fault["code"], fault["param"]) == ("previous_response_not_found", "previous_response_id")


@pytest.mark.parametrize("dialect", WHOLE)
@pytest.mark.parametrize("how", ["whole", "stream"])
def test_every_dialect_reaches_every_other(strict: tuple[Running, dict[str, Any]], dialect: str, how: str) -> None:
    running, _ = strict
    for model in ("claude", "turn", "resp"):
        assert (WHOLE if how == "whole" else STREAMED)[dialect](running, model).startswith("received: ")


def test_numbers_of_our_own_are_told_as_such(tmp_path: Path) -> None:
    """D12."""

    def too_long(seen: Seen) -> Answer | None:
        return 400, refusal("prompt is too long for this model", code="context_length_exceeded")

    behind: Upstream
    with upstream(too_long) as behind:
        config = {
            "providers": {"a": provider("openai-compatible-lenient", behind.url)},
            "models": {"m": {"target": "a/x", "context_window": 1000}},
        }
        with gateway(config, tmp_path) as running:
            refused = running.post("/v1/messages", body("anthropic", "m"))
            assert refused.status_code == 400
            message = refused.json()["error"]["message"]
            assert message.startswith("prompt is too long")
            assert "estimate" in message


LONG = [{"role": "user", "content": "Some words. " * 500}]
FIVE_THOUSAND = {"prompt_tokens": 5_000, "completion_tokens": 5, "total_tokens": 5_005}


def counted(text: str) -> tuple[int, dict[str, Any]]:
    choice = {**GOOD["choices"][0], "message": {"role": "assistant", "content": text}}  # type: ignore[index]
    return 200, {**GOOD, "choices": [choice], "usage": FIVE_THOUSAND}


@pytest.mark.parametrize(
    ("there", "messages", "then"),
    [
        ({"input": 3, "output": 15, "cached": 0.3}, LONG, "b"),
        ({"input": 30, "output": 15, "cached": 9.0}, LONG, "a"),
        ({"input": 3, "output": 15}, LONG, "a"),
        ({"input": 3, "output": 15, "cached": 0.3}, [{"role": "user", "content": "Hi"}], "a"),
    ],
    ids=["as dear", "much dearer", "no cache", "short"],
)
def test_a_session_stays_where_its_cache_is(tmp_path: Path, there: Any, messages: Any, then: str) -> None:
    """It goes back to the first choice if that is worth the prompt that is sent again."""
    down = True
    with ExitStack() as stack:
        first = stack.enter_context(upstream(lambda seen: (500, refusal("oh no")) if down else counted("a")))
        second = stack.enter_context(upstream(lambda seen: counted("b")))
        price = {"input": 3, "output": 15, "cached": 0.3}
        once = {"retries": {"attempts": 1}, "cooldown": {"failures": 100, "seconds": 1}}
        providers = {
            name: provider("openai-compatible-lenient", one.url, api_key=f"key-of-{name}-123456", **once)
            for name, one in (("a", first), ("b", second))
        }
        models = {
            "m": {"target": "a/x", "price": price, "fallbacks": ["n"]},
            "n": {"target": "b/x", "price": there},
        }
        running = stack.enter_context(gateway({"providers": providers, "models": models}, tmp_path))
        assert text(ask(running, messages=messages)) == "b"
        down = False
        said = [*messages, {"role": "assistant", "content": "b"}, {"role": "user", "content": "Go on."}]
        assert text(ask(running, messages=said)) == then
        others = [{"role": "user", "content": "Another conversation. " * 500}]
        assert text(ask(running, messages=others)) == "a"


STARTED = (
    b'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant",'
    b'"content":[],"model":"x","stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":5,"output_tokens":1}}}\n\n'
    b'event: ping\ndata: {"type":"ping"}\n\n'
)
OVERLOADED = b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'


@pytest.mark.parametrize("end", [b"", OVERLOADED, OVERLOADED[:20]])
@pytest.mark.parametrize("dialect", ["openai-chat", "anthropic", "gemini"])
def test_an_answer_of_which_only_the_start_came_is_asked_for_elsewhere(
    tmp_path: Path, dialect: str, end: bytes
) -> None:
    with ExitStack() as stack:
        broken = stack.enter_context(upstream(lambda seen: (200, (STARTED, end))))
        good = stack.enter_context(emulator("anthropic"))
        good.script("Good.")
        config = {
            "providers": {"a": provider("anthropic", broken.url), "b": provider("anthropic", good.base_url)},
            "models": {"m": {"target": "a/claude-opus-4-8", "fallbacks": ["b/claude-opus-4-8"]}},
        }
        assert STREAMED[dialect](stack.enter_context(gateway(config, tmp_path)), "m") == "Good."


HEADS = {
    "openai-compatible-lenient": "openai-chat",
    "openai-responses": "openai-responses",
    "anthropic-compatible": "anthropic",
    "cohere": "cohere",
}


HEAD_OF_CHAT = (
    b'data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"x",'
    b'"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}\n\n'
)


def head_of(dialect: str) -> bytes:
    """What a server of this dialect sends before its model has said anything."""
    renderer = registry.dialect(dialect).answers.stream_renderer(AnswerContext(model="x", id="1"))
    return renderer.render([Started("1", "x", 1)]) or HEAD_OF_CHAT


@pytest.mark.parametrize("end", [b"", b'data: {"type":"error","error":{"message":"Overloaded","code":503}}\n\n'])
@pytest.mark.parametrize("client", STREAMED)
@pytest.mark.parametrize("profile", HEADS)
def test_the_head_of_an_answer_is_held_until_the_model_says_something(
    tmp_path: Path, profile: str, client: str, end: bytes
) -> None:
    begun = upstream(lambda seen: (200, (head_of(HEADS[profile]), end)))
    with begun as broken, upstream(says("Good.")) as good:
        providers = {"a": provider(profile, broken.url), "b": provider("openai-compatible", good.url)}
        config = {"providers": providers, "models": {"m": {"target": "a/x", "fallbacks": ["b/y"]}}}
        with gateway(config, tmp_path) as running:
            assert STREAMED[client](running, "m") == "Good."
        assert len(broken.seen) == 3


@pytest.mark.parametrize("client", ["openai-responses", "anthropic"])
@pytest.mark.parametrize("profile", HEADS)
def test_the_head_of_an_answer_is_not_held_for_long(
    tmp_path: Path, profile: str, client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model may think for minutes, unseen: from then on its client is shown that the stream lives."""
    monkeypatch.setattr(dispatch, "HELD_SECONDS", 0.02)
    dialect, seen_head = registry.dialect(HEADS[profile]), threading.Event()
    renderer = dialect.answers.stream_renderer(AnswerContext(model="x", id="1"))

    def pieces() -> Iterator[bytes]:
        yield renderer.render([Started("1", "x", 1)]) or HEAD_OF_CHAT
        assert seen_head.wait(10)
        yield renderer.render([TextDelta(0, 0, b'"Good."'), Stopped(0, Stop.END), Ended()]) + renderer.close()

    with upstream(lambda seen: (200, pieces())) as slow:
        config = {"providers": {"a": provider(profile, slow.url)}}
        with gateway(config, tmp_path) as running:
            asked = body(client, "a/x", stream=True)
            with running.http.stream("POST", running.url + path(client, "a/x"), json=asked) as answer:
                chunks = answer.iter_bytes()
                begun = next(chunks)
                seen_head.set()
                rest = b"".join(chunks)
    assert b"Good." not in begun
    assert b"Good." in rest
    assert b"error" not in rest.replace(b'"error":null', b"")


@pytest.mark.parametrize("stream", [False, True])
def test_an_address_is_told_to_the_operator_alone(tmp_path: Path, stream: bool) -> None:
    done = threading.Event()

    def pieces() -> Iterator[bytes]:
        yield b'data: {"id":"1","choices":[{"index":0,"delta":{"content":"Go"}}]}\n\n'
        done.wait(5)

    with upstream(lambda seen: (200, pieces())) as slow:
        address = slow.url.removesuffix("/v1") if stream else "http://127.0.0.1:9"
        config = {"providers": {"a": provider("openai-compatible", address, timeouts={"idle": 0.2})}}
        with gateway(config, tmp_path) as running:
            told = ask(running, model="a/x", stream=stream).text
        done.set()
    assert "a/x: " in told
    assert address not in told
    assert f"[{address}]" in running.log.getvalue()
