"""Compaction: a summary in place of a conversation, for every client that has it and on every model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest
from tests.gateway.running import gateway, provider
from tests.gateway.stage import HOMES, Stage

from dragoman.config.client_keys import sha256_of
from dragoman.engine.history.carried_summary import HEADINGS
from dragoman.testing import emulator

SUMMARY = "\n".join(f"{heading}\nAnna builds a boat, number 4711." for heading in HEADINGS)
TURNS: Any = [
    {"role": "user", "content": "I am Anna. I build a boat."},
    {"role": "assistant", "content": "What number has it?"},
    {"role": "user", "content": "4711."},
]
TRIGGER: Any = {"type": "compaction_trigger"}
KEYS = {name: {"sha256": sha256_of(f"sk-{name}")} for name in ("ann", "bob")}


@contextmanager
def stage(folder: Path, **more: Any) -> Iterator[Stage]:
    with ExitStack() as stack:
        emulators = {name: stack.enter_context(emulator(home)) for name, (home, _) in HOMES.items()}
        providers = {name: provider(home, emulators[name].base_url) for name, (home, _) in HOMES.items()}
        models = {name: {"target": f"{name}/{model}"} for name, (_, model) in HOMES.items()}
        models["opus"] = {"target": "claude/claude-opus-5"}
        config = {"providers": providers, "models": models, "keys": KEYS, **more}
        yield Stage(stack.enter_context(gateway(config, folder)), emulators)


@pytest.fixture(scope="module")
def on_stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with stage(tmp_path_factory.mktemp("compaction")) as made:
        yield made


def of_openai(stage: Stage, key: str = "ann") -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{stage.gateway.url}/v1", api_key=f"sk-{key}", max_retries=0)


def of_anthropic(stage: Stage, key: str = "ann") -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=stage.gateway.url, api_key=f"sk-{key}", max_retries=0)


def goes_on(stage: Stage, items: list[Any], model: str) -> str:
    """What a model is sent with the items and a question after them."""
    stage.script(model, "4711 it is.")
    question = {"role": "user", "content": "Which number?"}
    answer = of_openai(stage).responses.create(model=model, input=[*items, question], store=False)
    assert answer.output_text == "4711 it is."
    return json.dumps(stage.check(model)[-1].body)


@pytest.mark.parametrize("model", ["claude", "gemini", "gpt"])
def test_the_path_gives_the_users_messages_and_one_item(on_stage: Stage, model: str) -> None:
    on_stage.script(model, SUMMARY)
    compacted = of_openai(on_stage).responses.compact(model=model, input=TURNS)
    assert [item.type for item in compacted.output] == ["message", "message", "compaction"]
    assert compacted.usage.total_tokens > 0
    assert "4711" not in compacted.output[-1].encrypted_content  # type: ignore[union-attr]
    items = [item.model_dump(exclude_none=True) for item in compacted.output]
    for other in ("claude", "gemini", "thinker"):
        sent = goes_on(on_stage, items, other)
        assert "number 4711" in sent
        assert "What number has it?" not in sent


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("model", ["claude", "gpt"])
def test_a_trigger_gives_exactly_one_item(on_stage: Stage, model: str, streamed: bool) -> None:
    on_stage.script(model, SUMMARY)
    client = of_openai(on_stage)
    if streamed:
        with client.responses.create(model=model, input=[*TURNS, TRIGGER], stream=True) as stream:
            events = list(stream)
        done = [event.item for event in events if event.type == "response.output_item.done"]
        assert [item.type for item in done] == ["compaction"]
        answer = events[-1].response  # type: ignore[union-attr]
        assert events[-1].type == "response.completed"
    else:
        answer = client.responses.create(model=model, input=[*TURNS, TRIGGER])
    assert [item.type for item in answer.output] == ["compaction"]
    assert (answer.status, answer.usage.output_tokens > 0) == ("completed", True)  # type: ignore[union-attr]
    sent = goes_on(on_stage, [*TURNS, answer.output[0].model_dump(exclude_none=True)], "claude")
    assert "number 4711" in sent
    assert "I build a boat" in sent, "the messages of the user stay"
    assert "What number has it?" not in sent


@pytest.mark.parametrize("streamed", [False, True])
def test_a_threshold_puts_the_item_before_the_answer(on_stage: Stage, streamed: bool) -> None:
    long = [{**turn, "content": turn["content"] * 200} for turn in TURNS]
    on_stage.script("claude", SUMMARY, "A fine boat.")
    ask: Any = {"model": "claude", "context_management": [{"type": "compaction", "compact_threshold": 500}]}
    client = of_openai(on_stage)
    if streamed:
        with client.responses.create(**ask, input=long, stream=True) as stream:
            answer = list(stream)[-1].response  # type: ignore[union-attr]
    else:
        answer = client.responses.create(**ask, input=long)
    assert [item.type for item in answer.output] == ["compaction", "message"]
    assert answer.output_text == "A fine boat."
    sent = json.dumps(on_stage.check("claude", 2)[-1].body)
    assert "number 4711" in sent
    assert "What number has it?" not in sent
    assert "4711.4711." in sent, "the last turn is there as it was"
    later = goes_on(on_stage, [*long, *[item.model_dump(exclude_none=True) for item in answer.output]], "gemini")
    assert "number 4711" in later
    assert "4711.4711." not in later, "the summary stands for all before it"
    on_stage.script("claude", "A fine boat.")
    assert [item.type for item in client.responses.create(**ask, input=TURNS).output] == ["message"]


def test_a_provider_that_compacts_by_itself_is_left_to_it(on_stage: Stage) -> None:
    model = "thinker"
    on_stage.script(model, "Never said.", "Nor this.")
    client = of_openai(on_stage)
    compacted = client.responses.compact(model=model, input=TURNS)
    triggered = client.responses.create(model=model, input=[*TURNS, TRIGGER])
    assert [item.type for item in triggered.output] == ["compaction"]
    paths = [one.path for one in on_stage.check(model, 2)]
    assert [path.rpartition("/")[2] for path in paths] == ["compact", "responses"]
    assert compacted.object == "response.compaction"


def test_a_kept_conversation_is_compacted_by_its_id(on_stage: Stage) -> None:
    client = of_openai(on_stage)
    on_stage.script("claude", "A fine boat.", SUMMARY)
    first = client.responses.create(model="claude", input=TURNS)
    compacted = client.responses.compact(model="claude", previous_response_id=first.id)
    assert [item.type for item in compacted.output] == ["message", "message", "compaction"]
    assert "A fine boat." in str(on_stage.check("claude", 2)[-1].body)


def test_what_is_sealed_for_one_key_is_of_no_use_to_another(on_stage: Stage) -> None:
    on_stage.script("claude", SUMMARY)
    made = of_openai(on_stage).responses.create(model="claude", input=[*TURNS, TRIGGER])
    item: Any = made.output[0].model_dump(exclude_none=True)
    sealed = item["encrypted_content"]
    changed = {**item, "encrypted_content": sealed[:-6] + ("A" if sealed[-6] != "A" else "B") + sealed[-5:]}
    for client, one in ((of_openai(on_stage, "bob"), item), (of_openai(on_stage), changed)):
        with pytest.raises(openai.BadRequestError) as refused:
            client.responses.create(model="claude", input=[one, *TURNS])
        assert refused.value.code == "invalid_encrypted_content"
    on_stage.check("claude", 1)


@pytest.mark.parametrize("said", ["A boat.", {"text": SUMMARY, "stop": "length"}])
def test_a_summary_that_is_not_whole_is_an_error(on_stage: Stage, said: Any) -> None:
    on_stage.script("claude", *[said] * 2)
    with pytest.raises(openai.InternalServerError) as refused:
        of_openai(on_stage).responses.create(model="claude", input=[*TURNS, TRIGGER])
    assert refused.value.status_code == 502
    with pytest.raises(anthropic.InternalServerError) as told:
        _summarise(on_stage, "claude")
    assert told.value.status_code == 502
    on_stage.asked("claude")


def _summarise(stage: Stage, model: str) -> Any:
    ask: Any = {"model": model, "max_tokens": 100, "messages": TURNS, "betas": ["compact-2026-09-04"]}
    return of_anthropic(stage).beta.messages.create(**ask, compaction={"type": "summarize"})


@pytest.mark.parametrize("model", ["claude", "gpt", "bedrock"])
def test_the_parameter_gives_one_signed_block(on_stage: Stage, model: str) -> None:
    on_stage.script(model, SUMMARY)
    made = _summarise(on_stage, model)
    assert made.stop_reason == "compaction"
    (block,) = made.content
    assert (block.type, block.content, block.tool_changes) == ("compaction", SUMMARY, [])
    client = of_anthropic(on_stage)
    begun = {"role": "assistant", "content": [block.model_dump(exclude_none=True)]}
    for other in ("gemini", "opus"):
        home = "claude" if other == "opus" else other
        on_stage.script(home, "4711 it is.")
        messages: Any = [begun, {"role": "user", "content": "Which number?"}]
        answer = client.beta.messages.create(model=other, max_tokens=100, messages=messages)
        assert answer.content[-1].text == "4711 it is."
        assert "number 4711" in json.dumps(on_stage.check(home)[-1].body)
    changed: Any = {"role": "assistant", "content": [{**block.model_dump(exclude_none=True), "content": "Bob's."}]}
    with pytest.raises(anthropic.BadRequestError) as refused:
        client.beta.messages.create(model="gemini", max_tokens=100, messages=[changed, TURNS[-1]])
    assert refused.value.body["error"]["details"] == {"error_code": "compaction_content_mismatch"}  # type: ignore[index]


@pytest.mark.parametrize("pauses", [False, True])
@pytest.mark.parametrize("streamed", [False, True])
def test_the_edit_compacts_at_its_trigger(on_stage: Stage, streamed: bool, pauses: bool) -> None:
    long: Any = [{**turn, "content": turn["content"] * 200} for turn in TURNS]
    on_stage.script("gpt", SUMMARY, "A fine boat.")
    edit = {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 500}}
    if pauses:
        edit["pause_after_compaction"] = True
    ask: Any = {"model": "gpt", "max_tokens": 100, "messages": long, "betas": ["compact-2026-01-12"]}
    ask["context_management"] = {"edits": [edit]}
    messages = of_anthropic(on_stage).beta.messages
    if streamed:
        with messages.stream(**ask) as stream:
            made = stream.get_final_message()
    else:
        made = messages.create(**ask)
    assert [block.type for block in made.content] == (["compaction"] if pauses else ["compaction", "text"])
    assert made.stop_reason == ("compaction" if pauses else "end_turn")
    block = made.content[0].model_dump(exclude_none=True)
    assert block["content"] == SUMMARY
    on_stage.script("gemini", "4711 it is.")
    answered: Any = {"role": "assistant", "content": [block, {"type": "text", "text": "A fine boat."}]}
    messages.create(model="gemini", max_tokens=100, messages=[*long, answered, TURNS[-1]])
    sent = json.dumps(on_stage.check("gemini")[-1].body)
    assert "number 4711" in sent
    assert "A fine boat." in sent
    assert "I build a boat." not in sent


def test_anthropic_is_left_to_compact_by_itself(on_stage: Stage) -> None:
    on_stage.script("claude", "Never said.")
    (block,) = _summarise(on_stage, "opus").content
    assert block.content.startswith("A summary of")
    assert on_stage.check("claude")[0].body["compaction"] == {"type": "summarize"}


def test_nothing_to_compact(on_stage: Stage) -> None:
    with pytest.raises(openai.BadRequestError, match="nothing to compact"):
        of_openai(on_stage).responses.create(model="claude", input=[TRIGGER])
    with pytest.raises(openai.BadRequestError, match="must be the last item"):
        of_openai(on_stage).responses.create(model="claude", input=[TRIGGER, *TURNS])


def test_a_configured_model_writes_the_summary_and_instructions_reach_it(tmp_path: Path) -> None:
    with stage(tmp_path, history={"compact": {"model": "gpt"}}, secret="a secret of the file") as own:
        own.script("gpt", SUMMARY)
        ask: Any = {"model": "claude", "max_tokens": 100, "messages": TURNS, "betas": ["compact-2026-09-04"]}
        of_anthropic(own).beta.messages.create(**ask, compaction={"type": "summarize", "instructions": "In Latin."})
        (asked,) = own.check("gpt")
        assert "In Latin." in str(asked.body)
        assert "What number has it?" in str(asked.body)
