"""OpenAI's legacy `/v1/completions` on any model, and what is passed on to providers of the same dialect."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
from openai.types.completion_create_params import CompletionCreateParamsBase
from tests.corpus import exchanges
from tests.gateway.running import Running, gateway, provider
from tests.gateway.stage import Stage, stage
from tests.gateway.upstream import Seen, Upstream, upstream


@pytest.fixture(scope="module")
def on_stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with stage(tmp_path_factory.mktemp("stage")) as raised:
        yield raised


MODELS = ("claude", "gemini", "gpt", "thinker", "mistral")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("streamed", [False, True])
def test_any_model_completes_a_prompt(on_stage: Stage, model: str, streamed: bool) -> None:
    on_stage.script(model, "Paris, of course.")
    create = on_stage.gateway.openai().completions.create
    if streamed:
        chunks = list(create(model=model, prompt="The capital of France is", max_tokens=64, stream=True))
        text = "".join(chunk.choices[0].text for chunk in chunks if chunk.choices)
        stops = [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices]
        assert (stops[-1], set(stops[:-1])) == ("stop", {None})
        assert {chunk.object for chunk in chunks} == {"text_completion"}
        assert all(chunk.id.startswith("cmpl-") for chunk in chunks)
    else:
        made = create(model=model, prompt="The capital of France is", max_tokens=64)
        text, usage = made.choices[0].text, made.usage
        assert (made.object, made.choices[0].finish_reason) == ("text_completion", "stop")
        assert usage is not None
        assert usage.total_tokens > 0
    assert text == "Paris, of course."
    on_stage.check(model)


def test_a_list_of_one_and_nulls_are_taken_and_the_prompt_can_be_echoed(on_stage: Stage) -> None:
    asked = {"model": "gpt", "prompt": ["2+2="], "echo": True, "suffix": None, "best_of": 1, "stop": None, "n": 2}
    on_stage.script("gpt", "4")
    answered = on_stage.gateway.post("/v1/completions", asked)
    assert [one["text"] for one in answered.json()["choices"]] == ["2+2=4", "2+2=4"]
    sent = on_stage.check("gpt")[0].body
    assert sent["messages"] == [{"role": "user", "content": "2+2="}]
    assert not {"prompt", "echo", "suffix", "best_of", "stop"} & set(sent)
    on_stage.script("claude", "4")
    chunks = on_stage.gateway.openai().completions.create(model="claude", prompt="2+2=", echo=True, stream=True)
    assert "".join(chunk.choices[0].text for chunk in chunks) == "2+2=4"


@pytest.mark.parametrize(
    ("member", "told"),
    [
        ({"prompt": None}, "there is no prompt"),
        ({"prompt": ["a", "b"]}, "a list of 2"),
        ({"prompt": [1, 2, 3]}, "a list of 3"),
        ({"prompt": [[1, 2]]}, "tokens are not taken"),
        ({"prompt": {"a": 1}}, "not a text"),
        ({"suffix": "end"}, "suffix is not taken"),
        ({"best_of": 3}, "best_of is not taken"),
        ({"logprobs": "many"}, "not a whole number"),
    ],
)
def test_what_a_chat_model_cannot_do_is_refused_with_its_place(
    on_stage: Stage, member: dict[str, Any], told: str
) -> None:
    on_stage.script("gpt")
    answered = on_stage.gateway.post("/v1/completions", {"model": "gpt", "prompt": "x", **member})
    assert answered.status_code == 400
    error = answered.json()["error"]
    assert told in error["message"]
    assert next(iter(member)) in error["message"]
    assert not on_stage.asked("gpt")


def test_an_error_comes_as_openai_tells_it(on_stage: Stage) -> None:
    with pytest.raises(openai.NotFoundError):
        on_stage.gateway.openai().completions.create(model="no-such", prompt="x")
    on_stage.script("mistral", {"fault": "401"})
    with pytest.raises(openai.AuthenticationError):
        on_stage.gateway.openai().completions.create(model="mistral", prompt="x")
    broken = {"text": "word " * 400, "fault": "cut;after=40"}
    on_stage.script("claude", *[broken] * 4)  # what breaks before anything was seen is tried again
    with pytest.raises(openai.APIError):
        list(on_stage.gateway.openai().completions.create(model="claude", prompt="x", stream=True))


def test_log_probabilities_in_the_legacy_form(tmp_path: Path) -> None:
    token = {
        "token": "4",
        "logprob": -0.1,
        "bytes": None,
        "top_logprobs": [{"token": "4", "logprob": -0.1, "bytes": None}],
    }
    message = {"role": "assistant", "content": "4!"}
    choice = {
        "index": 0,
        "message": message,
        "finish_reason": "stop",
        "logprobs": {"content": [token, {**token, "token": "!"}]},
    }
    whole = {"id": "chatcmpl-7", "object": "chat.completion", "created": 7, "model": "m", "choices": [choice]}
    with (
        upstream(lambda seen: (200, whole)) as behind,
        gateway(_one("openai-compatible-strict", behind), tmp_path) as running,
    ):
        made = running.openai().completions.create(model="p/m", prompt="2+2=", logprobs=1, echo=True)
        assert (behind.bodies()[0]["logprobs"], behind.bodies()[0]["top_logprobs"]) == (True, 1)
    told = made.choices[0].logprobs
    assert told is not None
    assert (made.id, made.choices[0].text) == ("cmpl-7", "2+2=4!")
    assert (told.tokens, told.text_offset, told.top_logprobs) == (["4", "!"], [4, 5], [{"4": -0.1}, {"4": -0.1}])


# --- passed on


def _one(profile: str, behind: Upstream) -> dict[str, Any]:
    return {"providers": {"p": provider(profile, behind.url)}}


PROFILES = {"openai": "openai", "together": "together", "local": "vllm"}
KNOWN = frozenset(CompletionCreateParamsBase.__annotations__) | {"stream"}
RETIRED = "curie"


def test_recorded_completions_are_passed_on_and_read_by_the_sdk(tmp_path: Path) -> None:
    """Byte for byte, if the provider has the endpoint for the model."""
    recorded = [one for one in exchanges("*.openai-completions.jsonl") if one["provider"] in PROFILES]
    recorded = [one for one in recorded if one["request"]["body"]["model"] != RETIRED]
    assert len(recorded) > 20
    with upstream() as behind:
        providers = {name: provider(profile, behind.url) for name, profile in PROFILES.items()}
        with gateway({"providers": providers}, tmp_path) as running:
            for one in recorded:
                _pass_on(running, behind, one)


def _pass_on(running: Running, behind: Upstream, one: dict[str, Any]) -> None:
    body, said = one["request"]["body"], one["response"]["body"]
    streamed = one["response"]["kind"] == "sse"
    whole = said.encode() if streamed else json.dumps(said).encode()
    behind.answer = lambda seen: (200, (whole,) if streamed else whole)
    asked = {**body, "model": f"{one['provider']}/{body['model']}"}
    got = running.post("/v1/completions", asked)
    assert (got.status_code, got.content) == (200, whole)
    seen = behind.seen[-1]
    assert (seen.path, seen.body) == ("/v1/completions", body)
    read = running.openai().completions.create(**{name: value for name, value in asked.items() if name in KNOWN})
    choices = [choice for chunk in read for choice in chunk.choices] if streamed else read.choices
    assert choices
    assert all(isinstance(choice.text, str) for choice in choices)


def test_a_chat_model_of_the_same_provider_is_asked_as_it_chats(tmp_path: Path) -> None:
    with upstream() as behind, gateway(_one("openai", behind), tmp_path) as running:
        assert running.openai().completions.create(model="p/gpt-4o", prompt="x").choices[0].text == "Good."
        assert behind.seen[0].path == "/v1/chat/completions"


def test_speech_and_images_are_passed_on(tmp_path: Path) -> None:
    def answer(seen: Seen) -> Any:
        return (
            (200, b"\x00\x01ID3") if "speech" in seen.path else (200, {"created": 1, "data": [{"url": "http://x/y"}]})
        )

    with upstream(answer) as behind, gateway(_one("openai", behind), tmp_path) as running:
        client = running.openai()
        assert client.audio.speech.create(model="tts-1", voice="alloy", input="Hi").content == b"\x00\x01ID3"
        made = client.images.generate(model="dall-e-3", prompt="a fox").data
        assert made is not None
        assert made[0].url == "http://x/y"
        assert [seen.path for seen in behind.seen] == ["/v1/audio/speech", "/v1/images/generations"]


PATHS = ("/v1/embeddings", "/v1/audio/speech", "/v1/images/generations", "/v1/moderations")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("model", ["claude", "gemini"])
def test_a_provider_of_another_dialect_is_a_clear_501(on_stage: Stage, path: str, model: str) -> None:
    answered = on_stage.gateway.post(path, {"model": model, "input": "x", "prompt": "x", "voice": "alloy"})
    assert answered.status_code == 501
    assert answered.headers["x-should-retry"] == "false"
    told = answered.json()["error"]
    assert told["code"] == "not_implemented"
    assert "OpenAI" in told["message"]
