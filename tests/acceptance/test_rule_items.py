"""Items that are rules with choices: merging, duplicate ids, cache hints, system texts, limits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.asking import CLAUDE, NATIVE, OPENAI, STRICT, Wire, answered, ask, called, rules, says, sent
from tests.acceptance.through_gateway import PATH, served
from tests.gateway.upstream import Answer, Seen, refusal

from dragoman.engine.library.adapt import BUILTIN
from dragoman.errors import RepairRefused, Unrepresentable

HI = says("user", "Hi")
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}


def through_gateway(folder: Path, profile: str, request: Wire, **more: Any) -> Any:
    """What a provider of this profile gets for a Chat request, or the status of the refusal."""
    with served(folder, profile=profile, **more) as (running, behind):
        answer = running.post(PATH, {**request, "model": "m"})
        return behind.seen[-1].body if answer.status_code == 200 else answer.status_code


SEVERAL = [
    ask(says("user", "a"), says("user", [{"type": "text", "text": "b"}, IMAGE])),
    ask(HI, called(), answered(), called("call_2"), answered("call_2")),
    ask(says("user", "a"), says("system", "s"), says("user", "b")),
    ask(HI, {**says("assistant", "x"), "tool_calls": []}, HI),
]


@pytest.mark.parametrize("request_", SEVERAL)
def test_A15_nothing_is_merged_if_turns_need_not_alternate(tmp_path: Path, request_: Wire) -> None:
    assert len(sent(request_, OPENAI).json["messages"]) == len(request_["messages"])
    sent_body = through_gateway(tmp_path, "openai-compatible-lenient", request_)
    assert len(sent_body["messages"]) == len(request_["messages"])


def test_A15_pictures_and_calls_are_merged_as_parts_or_not_at_all(tmp_path: Path) -> None:
    (turn,) = sent(SEVERAL[0], STRICT, rules={"list-content": "keep"}).json["messages"]
    assert [part["type"] for part in turn["content"]] == ["text", "text", "image_url"]
    kept = through_gateway(tmp_path, "strict-template", SEVERAL[1])["messages"]
    assert [one["role"] for one in kept] == ["user", "assistant", "tool", "assistant", "tool"]


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len({key for key, _ in pairs}) == len(pairs), pairs
    return dict(pairs)


EMPTY_MEMBERS: list[tuple[str, Any]] = [
    ("tool_calls", []),
    ("tool_calls", None),
    ("function_call", None),
    ("reasoning_content", None),
    ("reasoning_details", []),
    ("annotations", []),
    ("audio", None),
    ("prefix", False),
]


@pytest.mark.parametrize(("name", "value"), EMPTY_MEMBERS)
@pytest.mark.parametrize("target", ["lmstudio/m", "perplexity/sonar", STRICT])
def test_A15_an_empty_member_is_absent_when_turns_are_merged(target: str, name: str, value: Any) -> None:
    full = {"reasoning_content": "Hm", "reasoning_details": [{"type": "reasoning.text", "text": "Hm"}], "prefix": True}
    full |= {"audio": {"id": "a"}, "annotations": [{"type": "url_citation", "url_citation": {"url": "https://a/b"}}]}
    begun = {"role": "assistant", "content": "One", name: value}
    more = [{"role": "assistant", "content": "Two", name: full[name]}] if name in full else [called(), answered()]
    compiled = sent(ask(HI, begun, *more), target)
    turns = json.loads(compiled.body, object_pairs_hook=_without_twins)["messages"]
    assert name in full or turns[1]["tool_calls"][0]["id"] == turns[2]["tool_call_id"]


@pytest.mark.parametrize("words", ["One", ""])
@pytest.mark.parametrize("target", ["lmstudio/m", "perplexity/sonar", STRICT])
def test_A15_one_text_stays_a_string_when_it_is_merged_with_calls(target: str, words: str) -> None:
    compiled = sent(ask(HI, says("assistant", words), called(), answered()), target)
    assert [one["role"] for one in compiled.json["messages"]] == ["user", "assistant", "tool"]
    assert compiled.json["messages"][1].get("content") in (words, None)


def test_A15_thinking_that_is_demanded_back_stands_in_place_of_an_empty_field() -> None:
    turn = {**called(), "reasoning_content": None}
    compiled = sent({**ask(HI, turn, answered()), "reasoning_effort": "high"}, "deepseek/deepseek-reasoner")
    assert json.loads(compiled.body, object_pairs_hook=_without_twins)["messages"][1]["reasoning_content"] == " "


TWICE = ask(HI, called(), answered(), called(), answered())


def test_A16_a_repeated_call_id_fails_everywhere_if_asked_for(tmp_path: Path) -> None:
    for target in (OPENAI, CLAUDE, NATIVE):
        with pytest.raises(RepairRefused, match="duplicate-call-id"):
            sent(TWICE, target, rules={"duplicate-call-id": "fail"})
    once = ask(HI, called(), answered(), called("call_2"), answered("call_2"))
    assert sent(once, OPENAI, rules={"duplicate-call-id": "fail"}).json["messages"] == once["messages"]
    chosen = {"duplicate-call-id": "fail"}
    assert through_gateway(tmp_path, "openai-compatible-lenient", TWICE, rules=chosen) == 422
    made = through_gateway(tmp_path, "openai-compatible-lenient", TWICE)["messages"]
    assert [made[1], made[2]] == TWICE["messages"][1:3]
    assert made[3]["tool_calls"][0]["id"] == made[4]["tool_call_id"] != made[2]["tool_call_id"]


MARK = {"type": "ephemeral"}


@pytest.mark.parametrize(
    ("target", "marked"),
    [
        ("openrouter/anthropic/claude-sonnet-4.5", 0),
        ("openrouter/google/gemini-2.5-pro", 1),
        ("openrouter/meta-llama/llama-4", None),
        ("openrouter/google/gemma-3-27b-it", None),
        (OPENAI, None),
        ("groq/llama-4", None),
    ],
)
def test_A18_marks_go_if_the_model_has_a_cache(tmp_path: Path, target: str, marked: int | None) -> None:
    request, chosen = ask(says("system", "Be brief."), HI), {"cache-marks": "add"}
    profile, _, model = target.partition("/")
    models = {"m": {"target": f"p/{model}"}}
    for body in (
        sent(request, target, rules=chosen).json,
        through_gateway(tmp_path, profile, request, rules=chosen, models=models),
    ):
        found = [at for at, one in enumerate(body["messages"]) if "cache_control" in json.dumps(one)]
        assert found == ([] if marked is None else [marked])
    assert "cache_control" not in json.dumps(sent(request, target).json)


def test_A18_claude_itself_gets_it_in_the_system_field() -> None:
    system = sent(ask(says("system", "Be brief."), HI), CLAUDE, rules={"cache-marks": "add"}).json["system"]
    assert system == [{"type": "text", "text": "Be brief.", "cache_control": MARK}]


def test_B4_what_is_no_text_in_a_system_message_is_left_out() -> None:
    blocks = [{"type": "text", "text": "a"}, {**IMAGE, "image_url": {"url": "https://x.example/y.png"}}]
    done = sent(ask(says("system", blocks), HI), CLAUDE)
    assert done.json["system"] == [{"type": "text", "text": "a"}]
    change = next(one for one in done.changes if one.rule == "mixed-system")
    assert (change.at, change.loses) == ("/messages/0/content/1", "content")


BESIDE_TEXT: list[Wire] = [
    {"type": "tool_use", "id": "t", "name": "f", "input": {}},
    {"type": "tool_result", "tool_use_id": "t", "content": "12"},
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
    {"type": "thinking", "thinking": "Hm", "signature": "x"},
]


@pytest.mark.parametrize("block", BESIDE_TEXT, ids=[str(block["type"]) for block in BESIDE_TEXT])
@pytest.mark.parametrize("target", [CLAUDE, "anthropic/claude-opus-4-8", "anthropic-compatible/x", OPENAI, NATIVE])
def test_B4_it_is_left_out_beside_a_system_field_too(target: str, block: Wire) -> None:
    texts = [{"type": "text", "text": "a"}, block, {"type": "text", "text": "b"}]
    request = {"model": "m", "max_tokens": 99, "system": "F", "messages": [says("system", texts), HI]}
    done = sent(request, target, source="anthropic")
    assert ("mixed-system", "/messages/0/content/1") in [(one.rule, one.at) for one in done.changes]
    assert f'"{block["type"]}"' not in done.body.decode()
    if "system" in done.json:
        assert done.json["system"] == "F\n\na\nb"


@pytest.mark.parametrize("system", ["", " \n", [{"type": "text", "text": ""}]])
def test_B5_an_empty_system_text_leaves_no_field(system: Any) -> None:
    request = {"model": "m", "max_tokens": 5, "system": system, "messages": [HI]}
    done = sent(request, OPENAI, source="anthropic")
    assert done.json["messages"] == [HI]
    assert rules(done) == ["empty-content"]
    careful = sent(request, CLAUDE, source="anthropic", doubt="careful")
    assert "system" not in careful.json
    own = sent(request, CLAUDE, source="anthropic")
    assert own.json.get("system", "") == "", "a bare empty text is recorded as accepted; anything else is left out"
    assert rules(own) == ([] if system == "" else ["empty-content"])


@pytest.mark.parametrize("said", ["", "\n", [], [{"type": "text", "text": ""}]])
@pytest.mark.parametrize("field", ["", " "])
def test_B5_an_empty_field_and_empty_messages_leave_no_field(field: str, said: Any) -> None:
    """X4. What is left of all system texts is nothing, so there is no field, though a bare empty one is taken."""
    request = {"model": "m", "max_tokens": 5, "system": field, "messages": [says("system", said), HI]}
    done = sent(request, CLAUDE, source="anthropic")
    assert "system" not in done.json
    assert done.json["messages"] == [HI]
    assert {change.at for change in done.changes} == {"/system", "/messages/0"}
    with_words = sent(
        {**request, "messages": [says("system", said), says("system", "x"), HI]}, CLAUDE, source="anthropic"
    )
    assert with_words.json["system"] == "x"


EMPTY_SYSTEMS: dict[str, tuple[str, Wire]] = {
    "a field of Anthropic's": ("anthropic", {"max_tokens": 5, "system": "", "messages": [HI]}),
    "messages of Chat": (
        "openai-chat",
        {"messages": [says("system", text) for text in (" ", "", [], None)] + [says("developer", ""), HI]},
    ),
    "instructions": ("openai-responses", {"instructions": "", "input": "Hi"}),
    "a field of Gemini's": (
        "gemini",
        {"systemInstruction": {"parts": [{"text": ""}]}, "contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
    ),
}


LENIENT = ["ollama/m", "vllm/m", "llamacpp/m", "ollama-openai/m", CLAUDE, NATIVE, OPENAI]


@pytest.mark.parametrize(
    ("target", "name"),
    [
        (target, name)
        for target in LENIENT
        for name, (source, _) in EMPTY_SYSTEMS.items()
        if source != BUILTIN.target(target).dialect
    ],
)
def test_B5_it_leaves_none_in_any_other_dialect(target: str, name: str) -> None:
    """X4. Some servers take an empty system message, and leave out the model's own prompt then."""
    source, request = EMPTY_SYSTEMS[name]
    done = sent({"model": "m", **request}, target, source=source)
    left = {change.rule for change in done.changes if change.did.startswith("took out")}
    assert left
    assert left <= {"empty-content", "null-content"}
    assert not {"system", "systemInstruction", "instructions"} & done.json.keys()
    assert len(done.json.get("messages", done.json.get("contents"))) == 1


def test_B4_an_empty_text_among_others_is_skipped_in_any_other_dialect() -> None:
    texts = [{"type": "text", "text": text} for text in ("a", "", "b")]
    request = {"model": "m", "max_tokens": 5, "system": texts, "messages": [HI, says("system", texts), HI]}
    first, _, late, _ = sent(request, "ollama/m", source="anthropic").json["messages"]
    assert [first["content"], late["content"]] == ["a\nb", "[System] a\nb"]


def test_B6_a_system_message_without_a_place_is_a_clear_error(tmp_path: Path) -> None:
    late, chosen = ask(HI, says("system", "s"), HI), {"late-system": "keep"}
    for target in (CLAUDE, NATIVE):
        with pytest.raises(Unrepresentable, match="no place for a system message") as raised:
            sent(late, target, rules=chosen)
        assert raised.value.at == "/messages/1"
    assert sent(late, OPENAI, rules=chosen).json["messages"] == late["messages"]
    models = {"m": {"target": "p/claude-sonnet-4-5"}}
    assert through_gateway(tmp_path, "anthropic", late, rules=chosen, models=models) in (400, 422)


def test_B7_blocks_become_a_string_in_chat(tmp_path: Path) -> None:
    blocks = [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}]
    request = {
        "model": "m",
        "max_tokens": 5,
        "system": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
        "messages": [says("user", blocks), says("assistant", blocks[:1]), HI],
    }
    expected = [says("system", "a\nb"), says("user", "x\ny"), says("assistant", "x"), HI]
    for target in (OPENAI, "openrouter/openai/gpt-4o", "openai-compatible-strict/x"):
        assert sent(request, target, source="anthropic").json["messages"] == expected
    with served(tmp_path, profile="openai-compatible-strict") as (running, behind):
        assert running.post("/v1/messages", request).status_code == 200
        assert behind.seen[-1].body["messages"] == expected


def test_B7_parts_of_gemini_become_a_string_in_chat() -> None:
    """Q38. Texts of the model in a row are pieces of one text, as Gemini streams them."""
    texts = [{"text": "x"}, {"text": "y"}]
    response = {"functionResponse": {"name": "f", "response": {"output": "12"}}}
    contents = [
        {"role": "user", "parts": texts},
        {"role": "model", "parts": [*texts, {"functionCall": {"name": "f", "args": {}}}]},
        {"role": "user", "parts": [response, *texts]},
    ]
    request = {"systemInstruction": {"parts": texts}, "contents": contents}
    for target in (OPENAI, "openrouter/openai/gpt-4o", "openai-compatible-strict/x", "lmstudio/x"):
        messages = sent(request, target, source="gemini").json["messages"]
        system, asked, calling, result, *after = [message["content"] for message in messages]
        assert (system, asked, calling, result) == ("x\ny", "x\ny", "xy", "12")
        assert after in (["x\ny"], ["Understood.", "x\ny"])


def test_B7_a_cache_hint_and_a_picture_keep_the_list() -> None:
    hinted = [{"type": "text", "text": "x", "cache_control": MARK}]
    request = {"model": "m", "max_tokens": 5, "messages": [says("user", hinted)]}
    done = sent(request, "openrouter/anthropic/claude-sonnet-4.5", source="anthropic")
    assert done.json["messages"][0]["content"] == hinted


def test_C22_both_names_of_the_limit_are_one_value(tmp_path: Path) -> None:
    both = ask(HI, max_tokens=7, max_completion_tokens=7)
    assert sent(both, "openai/gpt-5").json.get("max_completion_tokens") == 7
    assert "max_tokens" not in sent(both, "openai/gpt-5").json
    assert sent(both, CLAUDE).json["max_tokens"] == 7
    for target in (CLAUDE, NATIVE, "mistral/mistral-large-latest"):
        again = [change for change in sent(both, target, max_loss="nothing").changes if change.kind == "repair"]
        assert [(change.at, change.loses) for change in again] in ([], [("/max_completion_tokens", "nothing")])

    def judge(seen: Seen) -> Answer | None:
        limited = "max_tokens" in seen.body or "max_completion_tokens" in seen.body
        return (422, refusal("max_tokens is too large")) if limited else None

    with served(tmp_path, judge) as (running, behind):
        assert running.post(PATH, both).status_code == 200
        assert len(behind.seen) == 2, "the second request has neither name"
