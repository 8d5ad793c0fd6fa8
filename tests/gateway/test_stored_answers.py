"""`store` and `previous_response_id` of the Responses API on any model, with OpenAI's SDK."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest
from tests.gateway.running import gateway, provider, wait_for
from tests.gateway.stage import HOMES, Stage

from dragoman.config.client_keys import sha256_of
from dragoman.testing import emulator

TOOL: Any = {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}, "strict": False}


@pytest.fixture(scope="module")
def on_stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with ExitStack() as stack:
        emulators = {name: stack.enter_context(emulator(home)) for name, (home, _) in HOMES.items()}
        providers = {name: provider(home, emulators[name].base_url) for name, (home, _) in HOMES.items()}
        models = {name: {"target": f"{name}/{model}"} for name, (_, model) in HOMES.items()}
        folder = tmp_path_factory.mktemp("stored")
        running = stack.enter_context(gateway({"providers": providers, "models": models}, folder))
        yield Stage(running, emulators)


OTHERS = ("claude", "gemini", "gpt", "deepseek")


@pytest.mark.parametrize("model", OTHERS)
@pytest.mark.parametrize("streamed", [False, True])
def test_a_conversation_goes_on_by_its_id(on_stage: Stage, model: str, streamed: bool) -> None:
    client = on_stage.gateway.openai()
    on_stage.script(model, "Hello Anna.", "You are Anna.", "Anna, still.")
    first = ask(client, streamed, model=model, input="I am Anna.", instructions="Be brief.")
    assert (first.output_text, first.store, first.previous_response_id) == ("Hello Anna.", True, None)
    second = ask(client, streamed, model=model, input="Who am I?", previous_response_id=first.id)
    assert (second.output_text, second.previous_response_id) == ("You are Anna.", first.id)
    third = ask(
        client, streamed, model=model, input=[{"role": "user", "content": "Sure?"}], previous_response_id=second.id
    )
    assert third.output_text == "Anna, still."
    asked = on_stage.check(model, 3)
    sent = str(asked[-1].body)
    for words in ("I am Anna.", "Hello Anna.", "Who am I?", "You are Anna.", "Sure?"):
        assert sent.count(words) == 1, words
    assert "Be brief." not in sent, "instructions are of one request"
    assert sent.index("I am Anna.") < sent.index("Hello Anna.") < sent.index("Who am I?") < sent.index("Sure?")


def ask(client: openai.OpenAI, streamed: bool, **request: Any) -> Any:
    if not streamed:
        return client.responses.create(**request)
    with client.responses.create(stream=True, **request) as stream:
        events = list(stream)
    shown = [event.response for event in events if event.type in ("response.created", "response.in_progress")]
    assert all(one.previous_response_id == request.get("previous_response_id") for one in shown)
    return events[-1].response


@pytest.mark.parametrize("model", ["claude", "gemini"])
def test_results_of_tools_follow_their_calls(on_stage: Stage, model: str) -> None:
    client = on_stage.gateway.openai()
    on_stage.script(model, {"calls": [{"name": "look", "arguments": {}}]}, "It is there.")
    first = client.responses.create(model=model, input="Look!", tools=[TOOL])
    call = next(item for item in first.output if item.type == "function_call")
    result: Any = {"type": "function_call_output", "call_id": call.call_id, "output": "a fox"}
    second = client.responses.create(model=model, input=[result], tools=[TOOL], previous_response_id=first.id)
    assert second.output_text == "It is there."
    on_stage.check(model, 2)


def test_a_conversation_may_go_on_with_another_model(on_stage: Stage) -> None:
    client = on_stage.gateway.openai()
    on_stage.script("claude", "Hello Anna.")
    first = client.responses.create(model="claude", input="I am Anna.")
    for model in ("gemini", "thinker"):
        on_stage.script(model, "You are Anna.")
        second = client.responses.create(model=model, input="Who am I?", previous_response_id=first.id)
        assert second.output_text == "You are Anna."
        assert "I am Anna." in str(on_stage.check(model)[-1].body)


def test_the_provider_that_stores_itself_is_asked_as_the_client_asks(on_stage: Stage) -> None:
    """Identity: in its own dialect nothing is put in that the provider has."""
    client = on_stage.gateway.openai()
    on_stage.script("thinker", "Hello Anna.")
    first = client.responses.create(model="thinker", input="I am Anna.")
    assert on_stage.check("thinker")[-1].body == {"model": HOMES["thinker"][1], "input": "I am Anna."}
    on_stage.script("thinker", "You are Anna.")
    request = {"model": "thinker", "input": "Who am I?", "previous_response_id": first.id}
    on_stage.gateway.post("/v1/responses", request)
    assert on_stage.asked("thinker")[0].body == {**request, "model": HOMES["thinker"][1]}


def test_a_response_is_shown_listed_and_removed(on_stage: Stage) -> None:
    client = on_stage.gateway.openai()
    on_stage.script("claude", "Hello.")
    items: Any = [
        {"role": "user", "content": "One"},
        {"role": "user", "content": [{"type": "input_text", "text": "Two"}]},
    ]
    made = client.responses.create(model="claude", input=items)
    again = client.responses.retrieve(made.id)
    assert (again.id, again.output_text, again.usage) == (made.id, "Hello.", made.usage)
    listed = client.responses.input_items.list(made.id, order="asc")
    assert [item.content[0].text for item in listed.data] == ["One", "Two"]  # type: ignore[union-attr]
    newest = client.responses.input_items.list(made.id, limit=1)
    assert newest.data[0].content[0].text == "Two"  # type: ignore[union-attr]
    assert [item.content[0].text for item in newest] == ["Two", "One"]  # type: ignore[union-attr]
    client.responses.delete(made.id)
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(made.id)
    with pytest.raises(openai.BadRequestError, match="not found"):
        client.responses.create(model="claude", input="x", previous_response_id=made.id)


def test_what_is_not_to_be_stored_is_not(on_stage: Stage) -> None:
    client = on_stage.gateway.openai()
    on_stage.script("claude", "Hello.", "Hello.", "Hello.")
    made = client.responses.create(model="claude", input="x", store=False)
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(made.id)
    kept = client.responses.create(model="claude", input="another")
    last = client.responses.create(model="claude", input="y", previous_response_id=kept.id, store=False)
    assert (last.previous_response_id, last.store) == (kept.id, False)
    with pytest.raises(openai.BadRequestError) as refused:
        client.responses.create(model="claude", input="x", previous_response_id=made.id)
    assert refused.value.code == "previous_response_not_found"


def test_an_answer_that_broke_off_is_not_stored(on_stage: Stage) -> None:
    client = on_stage.gateway.openai()
    on_stage.script("claude", {"text": "word " * 400, "fault": "cut;after=40"})
    seen: list[str] = []
    try:
        for event in client.responses.create(model="claude", input="x", stream=True):
            if event.type == "response.created":
                seen.append(event.response.id)
    except openai.APIError:
        pass
    for id in seen:
        try:
            assert client.responses.retrieve(id).status == "failed"
        except openai.NotFoundError:
            continue


def test_the_responses_of_another_key_are_not_there(tmp_path: Path) -> None:
    keys = {name: {"sha256": sha256_of(f"dm-{name}")} for name in ("anna", "bert")}
    keys["root"] = {"sha256": sha256_of("dm-root"), "admin": True}  # type: ignore[dict-item]
    with emulator("anthropic") as behind:
        config = {"providers": {"anthropic": provider("anthropic", behind.base_url)}, "keys": keys}
        with gateway(config, tmp_path) as running:
            made = running.openai("dm-anna").responses.create(model="claude-sonnet-4-5", input="x")
            assert running.openai("dm-anna").responses.retrieve(made.id).id == made.id
            for other in ("dm-bert", "dm-root"):
                with pytest.raises(openai.NotFoundError):
                    running.openai(other).responses.retrieve(made.id)
                create = running.openai(other).responses.create
                with pytest.raises(openai.BadRequestError):
                    create(model="claude-sonnet-4-5", input="x", previous_response_id=made.id)


def test_it_can_be_switched_off(tmp_path: Path) -> None:
    with emulator("anthropic") as behind:
        config = {"providers": {"anthropic": provider("anthropic", behind.base_url)}, "state": False}
        with gateway(config, tmp_path) as running:
            made = running.openai().responses.create(model="claude-sonnet-4-5", input="x")
            assert running.get(f"/v1/responses/{made.id}").status_code == 501
            with pytest.raises(openai.BadRequestError) as refused:
                running.openai().responses.create(model="claude-sonnet-4-5", input="x", previous_response_id=made.id)
            assert refused.value.code == "previous_response_not_found"


def test_an_id_that_is_not_known_goes_to_no_provider(on_stage: Stage) -> None:
    """The account at the provider may be that of several keys: its ids are nobody's proof."""
    client = on_stage.gateway.openai()
    on_stage.script("thinker", "Hello.")
    reference: Any = {"type": "item_reference", "id": "msg_1"}
    unknown: list[Any] = [{"previous_response_id": "resp_1"}, {"input": [reference]}, {"conversation": "conv_1"}]
    for more in unknown:
        with pytest.raises(openai.APIStatusError, match="not found"):
            client.responses.create(**{"model": "thinker", "input": "x", **more})
    with pytest.raises(openai.BadRequestError, match="not found"):
        client.responses.compact(model="thinker", previous_response_id="resp_1")
    assert on_stage.asked("thinker") == []


def test_a_gateway_of_one_tenant_may_pass_ids_on(tmp_path: Path) -> None:
    with emulator("openai-responses") as behind:
        providers = {"own": provider("openai-responses", behind.base_url)}
        with gateway({"providers": providers, "state": {"foreign_ids": "pass"}}, tmp_path) as running:
            running.openai().responses.create(model="own/gpt-5.6", input="x", previous_response_id="resp_1")
            assert behind.requests[-1].body["previous_response_id"] == "resp_1"


def test_an_id_of_another_account_is_put_into_words(tmp_path: Path) -> None:
    with emulator("openai-responses", signatures="strict") as behind:
        providers = {"own": provider("openai-responses", behind.base_url)}
        with gateway({"providers": providers}, tmp_path) as running:
            first = running.openai().responses.create(model="own/gpt-5.6", input="I am Anna.")
            running.openai().responses.create(model="own/gpt-5.6", input="x", previous_response_id=first.id)
            assert behind.requests[-1].body["previous_response_id"] == first.id
            running.write({"providers": {"own": {**providers["own"], "api_key": "another-key-of-ours"}}})
            running.services.live.reload()
            running.openai().responses.create(model="own/gpt-5.6", input="x", previous_response_id=first.id)
            sent = behind.requests[-1].body
            assert "previous_response_id" not in sent
            assert "I am Anna." in str(sent["input"])


@pytest.mark.parametrize("model", ["claude", "thinker"])
def test_an_item_is_found_by_its_id(on_stage: Stage, model: str) -> None:
    client = on_stage.gateway.openai()
    on_stage.script("thinker", "Hello Anna.")
    first = client.responses.create(model="thinker", input="I am Anna.")
    id = next(item.id for item in first.output if item.type == "message")
    on_stage.script(model, "You are Anna.")
    asked: Any = [{"role": "user", "content": "I am Anna."}, {"id": id}, {"role": "user", "content": "Who am I?"}]
    assert client.responses.create(model=model, input=asked).output_text == "You are Anna."
    sent = str(on_stage.check(model)[-1].body)
    assert ("Hello Anna." in sent) is (model != "thinker"), "its maker has it"


@pytest.mark.parametrize("streamed", [False, True])
def test_an_answer_that_could_not_be_stored_says_so(
    on_stage: Stage, monkeypatch: pytest.MonkeyPatch, streamed: bool
) -> None:
    async def fails(*given: Any) -> bool:
        return False

    monkeypatch.setattr(on_stage.gateway.services.store.responses, "put", fails)
    on_stage.script("claude", "Hello.")
    made = ask(on_stage.gateway.openai(), streamed, model="claude", input="x")
    assert (made.output_text, made.store) == ("Hello.", False)
    wait_for(lambda: "the answer was not stored" in on_stage.gateway.log.getvalue())


def test_what_could_not_be_removed_is_not_told_to_be(on_stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fails(*given: Any) -> bool:
        return False

    client = on_stage.gateway.openai()
    on_stage.script("claude", "Hello.")
    answer = client.responses.create(model="claude", input="x")
    talk = client.conversations.create()
    with monkeypatch.context() as patched:
        patched.setattr(on_stage.gateway.services.store.responses, "forget", fails)
        for remove, id in ((client.responses.delete, answer.id), (client.conversations.delete, talk.id)):
            with pytest.raises(openai.InternalServerError, match="could not be removed"):
                remove(id)
    client.responses.delete(answer.id)
    client.conversations.delete(talk.id)


def test_an_item_is_removed_from_its_conversation_alone(on_stage: Stage) -> None:
    client = on_stage.gateway.openai()
    made = client.conversations.create(items=[{"role": "user", "content": "I am Anna."}])
    on_stage.script("claude", "Hello Anna.", "Yes.")
    first = client.responses.create(model="claude", input="Greet me.", conversation=made.id)
    listed = client.conversations.items.list(made.id, order="asc").data
    for gone in (listed[0].id, listed[1].id):
        assert client.conversations.items.delete(str(gone), conversation_id=made.id).id == made.id
    with pytest.raises(openai.NotFoundError):
        client.conversations.items.delete(str(listed[0].id), conversation_id=made.id)
    assert [item.id for item in client.conversations.items.list(made.id).data] == [listed[2].id]
    client.responses.create(model="claude", input="Who am I?", conversation=made.id)
    sent = str(on_stage.check("claude")[-1].body)
    assert [sent.count(one) for one in ("I am Anna.", "Greet me.", "Hello Anna.", "Who am I?")] == [0, 0, 1, 1]
    assert client.responses.retrieve(first.id).output_text == "Hello Anna."
    assert "Greet me." in str(client.responses.input_items.list(first.id).data), "the answer itself stays as it is"


@pytest.mark.parametrize("streamed", [False, True])
def test_a_conversation_has_a_name_of_its_own(on_stage: Stage, streamed: bool) -> None:
    client = on_stage.gateway.openai()
    made = client.conversations.create(metadata={"of": "anna"}, items=[{"role": "user", "content": "I am Anna."}])
    on_stage.script("claude", "Hello Anna.")
    first = ask(client, streamed, model="claude", input="Greet me.", conversation=made.id)
    assert (first.output_text, first.conversation.id) == ("Hello Anna.", made.id)
    client.conversations.items.create(made.id, items=[{"role": "user", "content": "I like foxes."}])
    for model in ("gemini", "thinker"):
        on_stage.script(model, "You are Anna.")
        ask(client, streamed, model=model, input="Who am I?", conversation={"id": made.id})
        sent = str(on_stage.check(model)[-1].body)
        assert [sent.count(one) for one in ("I am Anna.", "Greet me.", "Hello Anna.", "I like foxes.")] == [1] * 4
    listed = client.conversations.items.list(made.id, order="asc").data
    assert [item.role for item in listed[:4]] == ["user", "user", "assistant", "user"]  # type: ignore[union-attr]
    assert client.conversations.items.retrieve(listed[0].id, conversation_id=made.id).id == listed[0].id  # type: ignore[arg-type]
    assert client.conversations.update(made.id, metadata={"of": "bert"}).metadata == {"of": "bert"}
    assert client.conversations.retrieve(made.id).metadata == {"of": "bert"}
    empty = client.conversations.create()
    on_stage.script("thinker", "Hello.")
    assert ask(client, streamed, model="thinker", input="Hi", conversation=empty.id).conversation.id == empty.id
    assert "conversation" not in on_stage.check("thinker")[-1].body, "no provider knows it"
    client.conversations.delete(made.id)
    with pytest.raises(openai.NotFoundError):
        client.responses.create(model="claude", input="Hi", conversation=made.id)
    with pytest.raises(openai.BadRequestError, match="exclude"):
        client.responses.create(model="claude", input="Hi", conversation="conv_1", previous_response_id="resp_1")


def thread(stage: Stage, streamed: bool, model: str, messages: list[Any], thread: Any, **more: Any) -> Any:
    ask: Any = {"model": model, "max_tokens": 100, "messages": messages, "thread": thread, **more}
    beta = stage.gateway.anthropic().beta.messages
    if not streamed:
        return beta.create(**ask, betas=["message-threads-2026-08-12"])
    with beta.stream(**ask, betas=["message-threads-2026-08-12"]) as stream:
        return stream.get_final_message()


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("model", ["claude", "gpt"])
def test_a_thread_goes_on_by_the_id_of_its_last_answer(on_stage: Stage, model: str, streamed: bool) -> None:
    on_stage.script(model, "Hello Anna.", "You are Anna.", "Still.")
    begun = [{"role": "user", "content": "I am Anna."}]
    first = thread(on_stage, streamed, model, begun, {"type": "create"}, system="Be brief.")
    last = first
    for question in ("Who am I?", "Sure?"):
        answer = {"type": "continue", "previous_message_id": last.id}
        last = thread(on_stage, streamed, model, [{"role": "user", "content": question}], answer)
    asked = on_stage.check(model, 3)
    sent = str(asked[-1].body)
    words = ("Be brief.", "I am Anna.", "Hello Anna.", "Who am I?", "You are Anna.", "Sure?")
    assert [sent.count(one) for one in words] == [1] * len(words)
    assert "'thread'" not in sent


def test_a_thread_that_is_not_known_or_not_kept(on_stage: Stage, tmp_path: Path) -> None:
    answer = {"type": "continue", "previous_message_id": "msg_1"}
    with pytest.raises(anthropic.NotFoundError) as refused:
        thread(on_stage, False, "claude", [{"role": "user", "content": "Hi"}], answer)
    assert refused.value.body["error"]["details"] == {"error_code": "thread_not_found"}  # type: ignore[index]
    with emulator("anthropic") as behind:
        config = {"providers": {"anthropic": provider("anthropic", behind.base_url)}, "state": False}
        with gateway(config, tmp_path) as running:
            off = Stage(running, {})
            with pytest.raises(anthropic.BadRequestError) as unsupported:
                thread(off, False, "claude-sonnet-4-5", [{"role": "user", "content": "Hi"}], {"type": "create"})
    details = unsupported.value.body["error"]["details"]  # type: ignore[index]
    assert details == {"error_code": "thread_unsupported_request"}


@pytest.mark.parametrize(
    ("path", "more"),
    [
        ("responses", {"store": True}),
        ("responses", {"background": True}),
        ("responses", {"input": [{"type": "compaction_trigger"}]}),
        ("responses/compact", {}),
        ("messages", {"thread": {"type": "create"}, "messages": [], "max_tokens": 1}),
    ],
)
def test_a_key_that_stands_twice_stays_refused(on_stage: Stage, path: str, more: dict[str, Any]) -> None:
    """A body that is rewritten here must not lose one of the two."""
    body = json.dumps({"model": "claude", "input": "x", **more})
    twice = body[:-1] + ', "model": "gpt"}'
    answer = on_stage.gateway.http.post(f"{on_stage.url}/v1/{path}", content=twice)
    assert answer.status_code == 400, answer.text
    assert "twice" in answer.text or "model" in answer.text


def test_what_is_not_known_is_named_by_its_code(on_stage: Stage) -> None:
    """Clients take `model_not_found` for a wrong model."""
    for path, code in (("responses/resp_x", "response_not_found"), ("conversations/conv_x", "conversation_not_found")):
        answer = on_stage.gateway.get(f"/v1/{path}")
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, code)
