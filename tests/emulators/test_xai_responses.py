"""xAI's Responses API: what it refuses, how it searches, compacts and answers over a WebSocket."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest
from recordings import exchanges
from websockets.sync.client import connect

from dragoman.emulators.catalogue import provider
from dragoman.emulators.plausible.hosted_tools import reference_number
from dragoman.emulators.provider import ErrorResponse
from dragoman.emulators.signatures import mint
from dragoman.testing import emulator

TOPIC = "the tallest tower of Lisbon"
SEARCH: dict[str, Any] = {
    "model": "grok-4.3",
    "input": [{"role": "user", "content": f"Search the web for {TOPIC}."}],
    "tools": [{"type": "web_search"}],
    "include": ["reasoning.encrypted_content"],
    "store": False,
}


def judged(body: dict[str, Any], **options: Any) -> ErrorResponse | None:
    one = provider("xai-responses", **options)
    call = one.parse_request("POST", "/v1/responses", {}, {}, json.dumps(body).encode())
    return call if isinstance(call, ErrorResponse) else one.judge(call)


def grok(url: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0)


def asked(*items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "grok-4.3", "input": [*items, {"role": "user", "content": "Hi"}], **more}


THOUGHT: dict[str, Any] = {"type": "reasoning", "summary": []}
FUNCTION: dict[str, Any] = {"type": "function", "name": "look"}
REFUSED: dict[str, tuple[dict[str, Any], int, str]] = {
    "null-content": (asked({**THOUGHT, "content": None}), 422, "untagged enum ModelInput"),
    "odd-role": (asked({"role": "robot", "content": "x"}), 422, "untagged enum ModelInput"),
    "both": (asked(instructions="Be brief.", previous_response_id="r"), 400, "instructions and previous_response_id"),
    "root": (asked(tools=[{**FUNCTION, "parameters": {"type": "array"}}]), 400, "Invalid tool look"),
    "effort": ({**asked(reasoning={"effort": "low"}), "model": "grok-build-1"}, 400, "parameter reasoningEffort"),
    "foreign": (asked({**THOUGHT, "encrypted_content": mint("openai-responses", "x")}), 400, "encrypted_content"),
    "namespace": (asked(tools=[FUNCTION, {"type": "namespace"}]), 422, "tools[1].type: unknown variant `namespace`"),
    "custom": (asked(tools=[{"type": "custom", "name": "run"}]), 422, "unknown variant `custom`"),
    "container": (asked(tools=[{"type": "code_interpreter", "container": {"type": "auto"}}]), 400, "container"),
    "patch": (asked({"type": "apply_patch_call", "call_id": "c"}), 422, "untagged enum ModelInput"),
    "shell": (asked({"type": "shell_call", "call_id": "c"}), 422, "untagged enum ModelInput"),
    "late-tools": (asked({"type": "additional_tools", "tools": []}), 422, "untagged enum ModelInput"),
    "lone-choice": (asked(tool_choice="auto"), 400, "no tools were specified"),
    "no-model": ({"input": "Hi"}, 422, "missing field `model`"),
}


@pytest.mark.parametrize(("body", "status", "words"), REFUSED.values(), ids=REFUSED)
def test_what_it_refuses_is_a_code_and_a_sentence(body: dict[str, Any], status: int, words: str) -> None:
    refused = judged(body)
    assert refused is not None
    assert (refused.status, refused.body["code"]) == (status, "invalid-argument")
    assert words in refused.body["error"]


TAKEN: dict[str, dict[str, Any]] = {
    "no-content": asked(THOUGHT),
    "null-state": asked({**THOUGHT, "encrypted_content": None}),
    "own-state": asked({**THOUGHT, "encrypted_content": mint("xai", "x")}),
    "effort": asked(reasoning={"effort": "low"}),
    "summary": {**asked(reasoning={"summary": "auto"}), "model": "grok-build-1"},
    "unknown-key": asked({"role": "user", "content": "x", "zzz": 1}, zzz=1),
    "search": asked({"type": "custom_tool_call", "call_id": "xs_call_1", "name": "x", "input": "{}"}),
    "shell": asked({"type": "shell_call", "call_id": "c", "action": {"commands": []}}),
    "own-tools": asked(tools=[{"type": "web_search"}, {"type": "shell", "environment": {"type": "local"}}]),
    "choice": asked(tools=[FUNCTION], tool_choice="auto"),
    "instructions": asked(instructions="Be brief."),
}


@pytest.mark.parametrize("body", TAKEN.values(), ids=TAKEN)
def test_what_is_near_it_is_taken(body: dict[str, Any]) -> None:
    assert judged(body) is None


def test_every_recorded_request_is_taken() -> None:
    known = [one["request"]["body"] for one in exchanges("xai.openai-responses.jsonl") if one["request"]]
    assert len(known) >= 60
    assert [(refused, body) for body in known if (refused := judged(body)) is not None] == []


def test_a_search_has_sources_numbered_citations_and_results_that_are_sealed() -> None:
    with emulator("xai-responses") as server:
        client = grok(server.url)
        whole = client.responses.create(**SEARCH)
        *_, last = client.responses.create(**SEARCH, stream=True)
        again: Any = [*SEARCH["input"], *whole.to_dict()["output"], {"role": "user", "content": "Thanks."}]
        client.responses.create(**{**SEARCH, "input": again})
    kinds = [item.type for item in whole.output]
    assert kinds[-1] == "message"
    assert kinds.count("web_search_call") == 1
    assert [item.type for item in last.response.output] == kinds
    search: Any = next(item for item in whole.output if item.type == "web_search_call")
    assert search.action.to_dict()["sources"], "they come unasked"
    assert [item.id[:4] for item in whole.output if item.type == "reasoning" and not item.summary][:1] == ["tco_"]
    message: Any = whole.output[-1]
    part = message.content[0]
    assert str(reference_number(TOPIC)) in part.text
    note = part.annotations[0]
    assert (note.title, part.text[note.start_index : note.end_index]) == ("1", f"[[1]]({note.url})")
    usage = whole.usage.to_dict()  # type: ignore[union-attr]
    assert usage["num_server_side_tools_used"] == usage["server_side_tool_usage_details"]["web_search_calls"] == 1


def test_a_compaction_is_one_item_for_everything() -> None:
    with emulator("xai-responses") as server:
        client = grok(server.url)
        given: Any = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "I am Anna."}]
        compacted = client.responses.compact(model="grok-4.3", input=given)
        (item,) = compacted.to_dict()["output"]
        assert item["type"] == "compaction"
        client.responses.create(model="grok-4.3", input=[item, {"role": "user", "content": "Who am I?"}])
        with (
            emulator("openai-responses", signatures="strict") as other,
            pytest.raises(openai.BadRequestError, match="could not be verified"),
        ):
            grok(other.url).responses.create(model="gpt-5.6", input=[item, {"role": "user", "content": "Who am I?"}])


def test_a_socket_keeps_the_newest_answer_and_has_no_lanes() -> None:
    with emulator("xai-responses", script=["One.", "Two."]) as server:
        address = server.url.replace("http", "ws") + "/v1/responses"
        with connect(address, additional_headers={"authorization": "Bearer k"}, proxy=None) as line:

            def ask(**more: Any) -> dict[str, Any]:
                line.send(json.dumps({"type": "response.create", "model": "grok-4.3", "store": False, **more}))
                while (event := json.loads(line.recv(timeout=60)))["type"] not in ("response.completed", "error"):
                    pass
                return event

            first = ask(input="Hi")["response"]["id"]
            both = ask(input="Hi", previous_response_id=first, instructions="Be brief.")
            assert (both["status"], both["error"]["code"]) == (400, "invalid-argument")
            second = ask(input="Hi")["response"]["id"]
            assert ask(input="And?", previous_response_id=second, generate=False)["type"] == "response.completed"
            assert ask(input="Hi", stream_id="a")["error"]["code"] == "unknown_parameter"
