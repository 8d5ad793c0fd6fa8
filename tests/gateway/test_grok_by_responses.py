"""xAI's Responses API behind the gateway: its search for every client, its sockets, its state and its compaction."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.genai import types
from tests.gateway.running import Running, gateway, provider
from tests.gateway.test_provider_sockets import TURNS, run_tool_loop, sent_over
from tests.gateway.test_sockets import talking, text

from dragoman.emulators.plausible.hosted_tools import reference_number
from dragoman.emulators.serving.background_server import RunningEmulator
from dragoman.engine.history.carried_summary import HEADINGS
from dragoman.testing import emulator

__all__ = ["sent_over"]
TOPIC = "the tallest tower of Lisbon"
ASKED = f"Search the web for {TOPIC}."
NUMBER = str(reference_number(TOPIC))
SUMMARY = "\n".join(f"{heading}\nAnna builds a boat." for heading in HEADINGS)


@pytest.fixture
def behind() -> Iterator[RunningEmulator]:
    with emulator("xai-responses", signatures="strict") as one:
        yield one


@pytest.fixture
def running(behind: RunningEmulator, tmp_path: Path) -> Iterator[Running]:
    with emulator("xai") as chat:
        providers = {
            "p": provider("xai-responses", behind.base_url, websocket=True),
            "chat": provider("xai", chat.base_url),
        }
        models = {"m": {"target": "p/grok-4.3"}, "chat": {"target": "chat/grok-4.3"}}
        with gateway({"providers": providers, "models": models}, tmp_path) as one:
            yield one


def test_claudes_search_becomes_xais_and_its_results_go_back(running: Running, behind: RunningEmulator) -> None:
    client = running.anthropic()
    tools: Any = [{"type": "web_search_20250305", "name": "web_search", "allowed_domains": ["example.net"]}]
    given: Any = {"model": "m", "max_tokens": 500, "tools": tools}
    turn: Any = {"role": "user", "content": ASKED}
    answer = client.messages.create(messages=[turn], **given)
    kinds = [block.type for block in answer.content]
    assert kinds.count("server_tool_use") == kinds.count("web_search_tool_result") == 1
    texts = "".join(block.text for block in answer.content if block.type == "text")
    assert NUMBER in texts
    cited = [note for block in answer.content if block.type == "text" for note in block.citations or ()]
    assert [note.to_dict()["url"] for note in cited] == ["https://example.net/the-tallest-tower-of-lisbon"]
    assert behind.requests[0].body["tools"] == [{"type": "web_search", "filters": {"allowed_domains": ["example.net"]}}]
    again: Any = {"role": "assistant", "content": answer.to_dict()["content"]}
    client.messages.create(messages=[turn, again, {"role": "user", "content": "Thanks."}], **given)
    sent = json.dumps(behind.requests[1].body["input"])
    assert NUMBER in sent


def test_geminis_grounding_is_xais_search(running: Running) -> None:
    config = types.GenerateContentConfig(tools=[types.Tool(google_search=types.GoogleSearch())])
    answer = running.gemini().models.generate_content(model="m", contents=ASKED, config=config)
    assert NUMBER in (answer.text or "")
    grounding = answer.candidates[0].grounding_metadata if answer.candidates else None
    assert grounding is not None
    assert grounding.grounding_chunks


def test_a_search_of_chat_goes_to_the_api_that_has_it(running: Running) -> None:
    tools: Any = [{"type": "web_search_20250305", "name": "web_search"}]
    answer = running.anthropic().messages.create(
        model="chat", max_tokens=500, tools=tools, messages=[{"role": "user", "content": ASKED}]
    )
    assert NUMBER in json.dumps(answer.to_dict())


def test_own_items_go_back_as_they_came(running: Running, behind: RunningEmulator) -> None:
    """Two items of reasoning share an id, and results are sealed in others."""
    client = running.openai()
    given: Any = {
        "model": "m",
        "tools": [{"type": "web_search"}],
        "include": ["reasoning.encrypted_content"],
        "store": False,
    }
    turn: Any = {"role": "user", "content": ASKED}
    output: Any = client.responses.create(input=[turn], **given).to_dict()["output"]
    client.responses.create(input=[turn, *output, {"role": "user", "content": "Thanks."}], **given)
    assert behind.requests[1].body["input"][1:-1] == output
    assert [item["id"][:4] for item in output].count("tco_") == 1


def test_a_socket_saves_the_turns_before_also_with_instructions(
    running: Running, behind: RunningEmulator, sent_over: list[dict[str, Any]]
) -> None:
    behind.script(*TURNS)
    with talking(running) as talk:
        ends = run_tool_loop(talk, "m")
    assert [text(end) for end in ends] == ["", "It is a fox.", "Yes."]
    assert [one.headers.get("upgrade") for one in behind.requests] == ["websocket"] * 3
    assert [len(one["input"]) for one in sent_over] == [2, 1, 1]
    assert sent_over[0]["input"][0] == {"role": "system", "content": "Be brief."}
    assert not any("instructions" in one for one in sent_over)
    assert all("previous_response_id" in one for one in sent_over[1:])
    assert len(behind.requests[2].body["input"]) == 7


def test_other_instructions_are_sent_with_everything(
    running: Running, behind: RunningEmulator, sent_over: list[dict[str, Any]]
) -> None:
    behind.script("One.", "Two.")
    with talking(running) as talk:
        first = talk.ask("m", "1", instructions="Be brief.")
        second = talk.ask("m", "2", instructions="Be long.", previous_response_id=first["response"]["id"])
    assert text(second) == "Two."
    assert [len(one["input"]) for one in sent_over] == [2, 4]
    assert "previous_response_id" not in sent_over[1]


@pytest.mark.parametrize("instructions", [None, "Be brief."])
def test_an_id_goes_to_xai_unless_instructions_stand_beside_it(
    running: Running, behind: RunningEmulator, instructions: str | None
) -> None:
    behind.script("Hello Anna.", "You are Anna.")
    client = running.openai()
    first = client.responses.create(model="m", input="I am Anna.")
    more: Any = {} if instructions is None else {"instructions": instructions}
    second = client.responses.create(model="m", input="Who am I?", previous_response_id=first.id, **more)
    assert (second.output_text, second.previous_response_id) == ("You are Anna.", first.id)
    sent = behind.requests[1].body
    assert ("previous_response_id" in sent) is (instructions is None)
    assert ("I am Anna." in json.dumps(sent)) is (instructions is not None)


def test_its_own_compaction_at_its_path_and_ours_for_a_trigger(running: Running, behind: RunningEmulator) -> None:
    client = running.openai()
    given: Any = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "I am Anna."}]
    (own,) = client.responses.compact(model="m", input=given).to_dict()["output"]
    assert own["type"] == "compaction"
    assert behind.requests[-1].path.endswith("/compact")
    behind.script("You are Anna.", SUMMARY, "A boat.")
    question: Any = {"role": "user", "content": "Who am I?"}
    client.responses.create(model="m", input=[own, question], store=False)
    assert behind.requests[-1].body["input"][0] == own
    triggered: Any = [*given, {"type": "compaction_trigger"}]
    (ours,) = client.responses.create(model="m", input=triggered, store=False).to_dict()["output"]
    assert "compaction_trigger" not in json.dumps(behind.requests[-1].body)
    client.responses.create(model="m", input=[ours, question], store=False)
    assert "Anna builds a boat" in json.dumps(behind.requests[-1].body)


def test_codex_null_content_of_reasoning_is_left_out(running: Running, behind: RunningEmulator) -> None:
    behind.script("Hello.")
    thought: Any = {"type": "reasoning", "summary": [], "content": None}
    given: Any = [{"role": "user", "content": "Hi"}, thought, {"role": "user", "content": "You?"}]
    answer = running.openai().responses.create(model="m", input=given, store=False)
    assert answer.output_text == "Hello."
    assert len(behind.requests) == 1, "without a refusal before"
