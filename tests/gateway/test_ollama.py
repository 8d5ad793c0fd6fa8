"""Ollama's own API on both sides: its official SDK as a client of every model, an Ollama server behind every client.

The SDK keeps no ids of calls, so nothing here can rest on them.
"""

from __future__ import annotations

import json
from base64 import b64decode
from typing import Any

import httpx
import ollama
import pytest
from tests.gateway.running import Running, gateway, provider
from tests.gateway.speakers import SPEAKERS, AskedFor
from tests.gateway.stage import Stage
from tests.gateway.upstream import Seen, upstream
from tests.shapes.words import PIXEL

from dragoman.dialects.registry import list_dialects
from dragoman.integrations.sdk_transport import DragomanTransport
from dragoman.testing import emulator

MODELS = ("claude", "gemini", "gpt", "thinker", "deepseek", "qwen")
LOOK = {"calls": [{"name": "weather", "arguments": {"city": "Köln"}}]}
AGAIN = {"calls": [{"name": "weather", "arguments": {"city": "Bonn"}}]}
TOOL = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}
SCHEMA = {"type": "object", "properties": {"rain": {"type": "boolean"}}, "required": ["rain"]}
each_way = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


def client(world: Stage) -> ollama.Client:
    return ollama.Client(host=world.url)


PROOFS = {
    "claude": lambda body: "signature" in json.dumps(body["messages"][1]) and body["thinking"]["type"] == "enabled",
    "gemini": lambda body: "thoughtSignature" in json.dumps(body["contents"][1]),
    "thinker": lambda body: any(item.get("encrypted_content") for item in body["input"]),
    "deepseek": lambda body: body["messages"][1]["reasoning_content"] == "Clouds.",
    "qwen": lambda body: body["messages"][1]["thinking"] == "Clouds." and body["think"] is True,
    "gpt": lambda body: body["messages"][1]["tool_calls"],
    "command": lambda body: "Clouds." in json.dumps(body["messages"][1]) and body["messages"][1]["tool_calls"],
}
"""How the second request shows that the model got its thinking back, in the form that it demands."""


@pytest.mark.parametrize("model", [*MODELS, "command"])
@each_way
async def test_B15_three_turns_of_tools_with_thinking_from_ollamas_sdk(world: Stage, model: str, stream: bool) -> None:
    world.script(
        model,
        {"reasoning": "Clouds.", **LOOK},
        {"reasoning": "And Bonn?", **AGAIN},
        {"reasoning": "Wet.", "text": "It rains in both."},
    )
    speaker = SPEAKERS["ollama"](world.url, model, AskedFor(stream=stream, tools=True, thinking=model != "gpt"))
    first = await speaker.say("Rain?")
    assert [(call.name, call.arguments) for call in first.calls] == [("weather", {"city": "Köln"})]
    second = await speaker.answer({"#0": "rain"}, first.calls)
    assert [(call.name, call.arguments) for call in second.calls] == [("weather", {"city": "Bonn"})]
    last = await speaker.answer({"#0": "more rain"}, second.calls)
    assert last.text == "It rains in both."
    assert model == "gpt" or (first.reasoning, second.reasoning, last.reasoning) == ("Clouds.", "And Bonn?", "Wet.")
    asked = world.check(model, at_least=3)
    assert PROOFS[model](asked[1].body), asked[1].body


@pytest.mark.sampled(5)
@pytest.mark.parametrize("dialect", [one.name for one in list_dialects() if one.name in SPEAKERS])
@each_way
async def test_B15_three_turns_of_tools_with_thinking_at_an_ollama_server(
    world: Stage, dialect: str, stream: bool
) -> None:
    world.script(
        "qwen",
        {"reasoning": "Clouds.", **LOOK},
        {"reasoning": "And Bonn?", **AGAIN},
        {"reasoning": "Wet.", "text": "It rains in both."},
    )
    speaker = SPEAKERS[dialect](world.url, "qwen", AskedFor(stream=stream, tools=True, thinking=True))
    first = await speaker.say("Rain?")
    second = await speaker.answer({call.id: "rain" for call in first.calls}, first.calls)
    last = await speaker.answer({call.id: "more rain" for call in second.calls}, second.calls)
    assert (first.reasoning, second.reasoning) == ("Clouds.", "And Bonn?")
    assert last.text == "It rains in both."
    sent = world.check("qwen", at_least=3)[2].body
    assert sent["stream"] is stream
    assert sent["think"] is not False
    called = [message for message in sent["messages"] if message.get("tool_calls")]
    assert [message["thinking"] for message in called] == ["Clouds.", "And Bonn?"]
    assert all(isinstance(message["tool_calls"][0]["function"]["arguments"], dict) for message in called)
    assert [one["tool_name"] for one in sent["messages"] if one["role"] == "tool"] == ["weather", "weather"]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("model", MODELS)
@each_way
def test_two_calls_of_one_tool_keep_their_results(world: Stage, model: str, stream: bool) -> None:
    both = [{"name": "weather", "arguments": {"city": city}} for city in ("Rome", "Oslo")]
    world.script(model, {"calls": both}, "Done.")
    asked: dict[str, Any] = {"model": model, "tools": [TOOL]}
    messages: list[Any] = [{"role": "user", "content": "Where?"}]
    told = client(world).chat(messages=messages, stream=False, **asked)
    messages += [told.message, *({"role": "tool", "tool_name": "weather", "content": city} for city in ("sun", "snow"))]
    done = client(world).chat(messages=messages, stream=stream, **asked)
    text = "".join(one.message.content or "" for one in done) if stream else done.message.content
    assert text == "Done."
    sent = json.dumps(world.check(model, at_least=2)[1].body)
    assert 0 < sent.index("Rome") < sent.index("Oslo") < sent.index("sun") < sent.index("snow")


@pytest.mark.parametrize("model", ["claude", "gemini", "gpt", "thinker"])
def test_images_of_the_sdk_reach_every_model(world: Stage, model: str) -> None:
    world.script(model, "A pixel.")
    message = ollama.Message(role="user", content="What?", images=[ollama.Image(value=b64decode(PIXEL))])
    assert client(world).chat(model=model, messages=[message]).message.content == "A pixel."
    (asked,) = world.check(model)
    assert PIXEL in json.dumps(asked.body)
    assert "image/png" in json.dumps(asked.body)


@pytest.mark.parametrize("model", MODELS)
def test_an_answer_by_a_schema_and_in_json(world: Stage, model: str) -> None:
    world.script(model, {"json": {"rain": True}}, {"json": {"rain": False}})
    ask: Any = [{"role": "user", "content": "Rain? In JSON."}]
    by_schema = client(world).chat(model=model, messages=ask, format=SCHEMA)
    assert json.loads(by_schema.message.content or "") == {"rain": True}
    plain = client(world).chat(model=model, messages=ask, format="json")
    assert json.loads(plain.message.content or "") == {"rain": False}
    world.check(model, at_least=2)


def test_E16_options_are_settings_of_every_model(world: Stage) -> None:
    options = {"num_predict": 50, "temperature": 0.5, "top_p": 0.9, "num_ctx": 8192, "stop": ["END"]}
    for model, limit in (("claude", "max_tokens"), ("gpt", "max_tokens"), ("gemini", "maxOutputTokens")):
        world.script(model, "Yes.")
        client(world).chat(model=model, messages=[{"role": "user", "content": "Hi"}], options=options)
        body = world.check(model)[0].body
        settings = body.get("generationConfig", body)
        assert (settings[limit], settings["temperature"]) == (50, 0.5)
    world.script("qwen", "Yes.")
    client(world).chat(model="qwen", messages=[{"role": "user", "content": "Hi"}], options=options, keep_alive="5m")
    body = world.check("qwen")[0].body
    assert body["options"] == options
    assert body["keep_alive"] == "5m"


def test_E16_limits_of_other_clients_are_options_of_ollama(world: Stage) -> None:
    world.script("qwen", "Yes.")
    asked = {"max_tokens": 50, "temperature": 0, "stop": "END", "seed": 7}
    body = {"model": "qwen", "messages": [{"role": "user", "content": "Hi"}], **asked}
    assert world.gateway.post("/v1/chat/completions", body).status_code == 200
    sent = world.check("qwen")[0].body
    assert sent["options"] == {"num_predict": 50, "temperature": 0, "seed": 7, "stop": ["END"]}


def test_a_stream_is_what_a_client_gets_unasked(world: Stage) -> None:
    body: dict[str, Any] = {"model": "claude", "messages": [{"role": "user", "content": "Hi"}]}
    world.script("claude", "Yes.", "No.")
    told = httpx.post(f"{world.url}/api/chat", json=body)
    assert told.headers["content-type"] == "application/x-ndjson"
    lines = [json.loads(line) for line in told.text.splitlines()]
    assert "".join(line["message"]["content"] for line in lines) == "Yes."
    assert [line["done"] for line in lines][-1] is True
    assert httpx.post(f"{world.url}/api/chat", json={**body, "stream": False}).json()["message"]["content"] == "No."


# One prompt.


@pytest.mark.parametrize("model", MODELS)
@each_way
def test_a_prompt_reaches_every_model(world: Stage, model: str, stream: bool) -> None:
    world.script(model, {"reasoning": "Hm.", "text": "Blue."})
    think = model != "gpt"
    told = client(world).generate(
        model=model,
        prompt="Which colour?",
        system="Be brief.",
        think=think,
        stream=stream,
        options={"num_predict": 9000},
    )
    answers = list(told) if stream else [told]
    assert "".join(one.response or "" for one in answers) == "Blue."
    assert not think or "".join(one.thinking or "" for one in answers) == "Hm."
    assert answers[-1].done
    assert answers[-1].eval_count
    assert answers[-1].eval_duration
    assert answers[-1].total_duration
    sent = json.dumps(world.check(model)[0].body)
    assert "Which colour?" in sent
    assert "Be brief." in sent


@pytest.mark.parametrize(
    ("asked", "status", "says"),
    [
        ({"prompt": "a", "suffix": "b"}, 400, "fill a gap"),
        ({"prompt": "a", "context": [1, 2]}, 400, "/api/chat"),
        ({"prompt": "a", "raw": True}, 400, "raw is not taken"),
        ({}, 400, "there is no prompt"),
        ({"prompt": 7}, 400, "not a text"),
    ],
)
def test_what_no_conversation_can_say_is_refused(world: Stage, asked: dict[str, Any], status: int, says: str) -> None:
    answered = httpx.post(f"{world.url}/api/generate", json={"model": "claude", **asked})
    assert answered.status_code == status
    assert says in answered.json()["error"]


# Models.


def test_E16_models_with_what_they_can_do(world: Stage) -> None:
    listed = {one.model: one for one in client(world).list().models}
    assert {*MODELS} <= listed.keys()
    shown = client(world).show("claude")
    assert {"completion", "tools", "vision", "thinking"} <= {*(shown.capabilities or ())}
    assert "tools" in (client(world).show("qwen").capabilities or ())
    with pytest.raises(ollama.ResponseError) as refused:
        client(world).show("nobody")
    assert refused.value.status_code == 404


def test_E16_an_ollama_server_describes_its_models_live(world: Stage) -> None:
    """Its list has no windows: they come from the description of each model."""
    shown = world.gateway.get("/v1/models/qwen?live=true").json()
    assert shown["context_length"] == 40960
    assert shown["metadata"]["capabilities"] == ["completion", "tools", "thinking"]
    assert shown["metadata"]["details"]["quantization_level"] == "Q4_K_M"
    asked = [one.path for one in world.emulators["qwen"].requests]
    assert "/api/tags" in asked
    assert "/api/show" in asked
    own = httpx.post(f"{world.url}/api/show?live=true", json={"model": "qwen"}).json()
    assert own["model_info"]["dragoman.context_length"] == 40960


def test_the_root_greets_as_the_server_that_clients_expect(world: Stage) -> None:
    own = {"accept": "*/*", "user-agent": "ollama/0.12.6 (amd64 linux) Go/go1.24.1"}
    assert httpx.get(world.url, headers=own).text == "Ollama is running"
    assert httpx.get(world.url, headers={"user-agent": "curl/8.5.0"}).text.startswith("Dragoman is running")
    assert httpx.head(world.url).status_code == 200
    page = httpx.get(world.url, headers={"accept": "text/html,application/xhtml+xml"})
    assert page.headers["content-type"].startswith("text/html")
    asked = httpx.get(world.url, headers={"accept": "application/json"})
    assert asked.json()["name"] == "dragoman"
    assert "version" in httpx.get(f"{world.url}/api/version").json()


@pytest.mark.parametrize("path", ["/api/pull", "/api/push", "/api/create", "/api/copy"])
def test_what_needs_a_server_of_ones_own_is_refused_with_what_to_do(world: Stage, path: str) -> None:
    answered = httpx.post(world.url + path, json={"model": "qwen3"})
    assert answered.status_code == 501
    assert "GET /api/tags" in answered.json()["error"]


# Errors.


def read(world: Stage, **asked: Any) -> list[Any]:
    """All that the SDK reads: of a stream only then does it look at the status."""
    told = client(world).chat(**asked)
    return list(told) if asked["stream"] else [told]


@pytest.mark.slow
@each_way
def test_errors_are_raised_by_the_sdk_with_their_words(world: Stage, stream: bool) -> None:
    ask: Any = {"messages": [{"role": "user", "content": "Hi"}], "stream": stream}
    for model, fault, status in (("claude", "529", 503), ("gpt", "429", 429), ("qwen", "context", 400)):
        world.script(model)
        world.emulators[model].fault(fault)
        try:
            with pytest.raises(ollama.ResponseError) as refused:
                read(world, model=model, **ask)
        finally:
            world.emulators[model].fault(None)
        assert refused.value.status_code == status
        assert isinstance(refused.value.error, str)
    with pytest.raises(ollama.ResponseError, match="nobody") as unknown:
        read(world, model="nobody", **ask)
    assert unknown.value.status_code == 404


def test_a_stream_that_breaks_off_ends_with_an_error_line(world: Stage) -> None:
    for model in ("claude", "qwen"):
        world.script(model, "A long answer that is cut in its middle.")
        world.emulators[model].fault("cut;after=3")
        try:
            with pytest.raises(ollama.ResponseError):
                list(client(world).chat(model=model, messages=[{"role": "user", "content": "Hi"}], stream=True))
        finally:
            world.emulators[model].fault(None)


# Embeddings.


def _embedded(seen: Seen) -> tuple[int, Any]:
    vectors = [{"object": "embedding", "index": at, "embedding": [0.5, at]} for at in range(2)]
    usage = {"prompt_tokens": 4, "total_tokens": 4}
    return 200, {"object": "list", "data": vectors[::-1], "model": "text-embedding-9", "usage": usage}


@pytest.mark.parametrize(
    ("profile", "root", "path"), [("openai", "/v1", "/v1/embeddings"), ("ollama", "", "/v1/embeddings")]
)
def test_E16_embeddings_of_ollamas_sdk_are_asked_of_any_provider(
    tmp_path_factory: pytest.TempPathFactory, profile: str, root: str, path: str
) -> None:
    with upstream(_embedded) as behind:
        place = provider(profile, behind.url.removesuffix("/v1") + root)
        config = {"providers": {"p": place}, "models": {"vectors": {"target": "p/text-embedding-9"}}}
        with gateway(config, tmp_path_factory.mktemp("embedding")) as running:
            assert isinstance(running, Running)
            made = ollama.Client(host=running.url).embed(model="vectors", input=["a", "b"])
            assert [list(one) for one in made.embeddings] == [[0.5, 0.0], [0.5, 1.0]]
            older = ollama.Client(host=running.url).embeddings(model="vectors", prompt="a")
            assert list(older.embedding) == [0.5, 1.0]
            refused = running.post("/api/embeddings", {"model": "vectors"})
            assert (refused.status_code, "no prompt" in refused.json()["error"]) == (400, True)
            assert ollama.Client(host=running.url).ps().models == []
            assert made.prompt_eval_count == 4
            assert made.total_duration
            seen, _ = behind.seen
            assert seen.path == "/v1/embeddings"
            assert seen.body == {"model": "text-embedding-9", "input": ["a", "b"], "encoding_format": "float"}


# The judge and the SDK agree.


@each_way
def test_the_emulator_takes_what_the_sdk_sends(stream: bool) -> None:
    def weather(city: str) -> str:
        """Tell the weather.

        Args:
            city: Where.
        """
        return city

    with emulator("ollama") as server:
        server.script({"reasoning": "Hm.", **LOOK}, "It rains.", {"json": {"rain": True}})
        own = ollama.Client(host=server.url)
        messages: list[Any] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Rain?"}]
        first = own.chat(model="qwen3:8b", messages=messages, tools=[weather], think=True)
        assert first.message.thinking == "Hm."
        messages += [first.message, {"role": "tool", "tool_name": "weather", "content": "rain"}]
        told = own.chat(model="qwen3:8b", messages=messages, tools=[weather], stream=stream, keep_alive=60)
        text = "".join(one.message.content or "" for one in told) if stream else told.message.content
        assert text == "It rains."
        seeing = ollama.Message(role="user", content="What?", images=[ollama.Image(value=b64decode(PIXEL))])
        assert own.chat(model="gemma3", messages=[seeing], format=SCHEMA, options={"seed": 1}).message.content
        assert [one.verdict for one in server.requests] == ["accepted"] * 3
        assert own.show("qwen3:8b").capabilities == ["completion", "tools", "thinking"]
        assert own.list().models[0].model


@pytest.mark.parametrize(
    ("asked", "status", "says"),
    [
        ({"model": "llama3.1", "think": True}, 400, '"llama3.1" does not support thinking'),
        (
            {"model": "gemma3", "tools": [{"type": "function", "function": {"name": "f"}}]},
            400,
            "does not support tools",
        ),
        ({"model": "nomic-embed-text"}, 400, "does not support chat"),
        ({"think": "huge"}, 400, "invalid think value"),
        ({"format": "yaml"}, 500, "invalid format"),
        ({"options": {"temperature": "hot"}}, 500, "must be of type float32"),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]}, 400, "cannot unmarshal array"),
        ({"messages": [{"role": "user", "content": "Hi", "images": ["data:image/png;base64,AA"]}]}, 400, "base64"),
        ({"keep_alive": "soon"}, 400, "invalid duration"),
        ({"top_logprobs": 21}, 400, "between 0 and 20"),
        ({"model": ""}, 400, "model is required"),
    ],
)
def test_the_emulator_refuses_what_the_server_refuses(asked: dict[str, Any], status: int, says: str) -> None:
    with emulator("ollama") as server:
        body = {"model": "qwen3:8b", "messages": [{"role": "user", "content": "Hi"}], "stream": False, **asked}
        answered = httpx.post(f"{server.url}/api/chat", json=body)
        assert answered.status_code == status
        assert says in answered.json()["error"]
        assert httpx.get(f"{server.url}/api/tags").json()["models"]


# Inside the SDK, without a server.


@pytest.mark.parametrize("home", ["anthropic", "gemini", "ollama"])
@each_way
def test_the_transport_carries_ollamas_sdk_to_any_provider(home: str, stream: bool) -> None:
    model = {"anthropic": "claude-sonnet-4-5", "gemini": "gemini-2.5-flash", "ollama": "qwen3:8b"}[home]
    with emulator(home) as server:
        server.script(LOOK, "It rains.")
        carried = DragomanTransport(f"{home}/{model}", api_key="k-123456", base_url=server.base_url)
        inside = ollama.Client(host="http://dragoman.invalid", transport=carried)
        messages: list[Any] = [{"role": "user", "content": "Rain?"}]
        called = inside.chat(model="any", messages=messages, tools=[TOOL]).message
        assert [call.function.name for call in called.tool_calls or ()] == ["weather"]
        messages += [called, {"role": "tool", "tool_name": "weather", "content": "rain"}]
        told = inside.chat(model="any", messages=messages, tools=[TOOL], stream=stream)
        text = "".join(one.message.content or "" for one in told) if stream else told.message.content
        assert text == "It rains."
        assert [one.verdict for one in server.requests] == ["accepted"] * 2
        with pytest.raises(ollama.ResponseError):
            inside.embed(model="any", input="Hi")
