"""`refused-hint`: cache hints that the target refuses, or too many of them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.judges import judge
from tests.rules.runs import Run, facts, run, sent

from dragoman import adapt
from dragoman.rules.clean.refused_hint import refused_hint

HINT: dict[str, Any] = {"cache_control": {"type": "ephemeral"}}
CLAUDE = "anthropic"
REFUSES = facts(CLAUDE, cache_hints="refuses")


def words(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": text, **more}


def request(hint: dict[str, Any], *, top: dict[str, Any] | None = None) -> dict[str, Any]:
    """One hint on a tool, a system text, a user's text, a call, a result and inside it."""
    call = {"type": "tool_use", "id": "c", "name": "f", "input": {}, **hint}
    result = {"type": "tool_result", "tool_use_id": "c", "content": [words("12", **hint)], **hint}
    return {
        "max_tokens": 9,
        "tools": [{"name": "f", "input_schema": {"type": "object"}, **hint}],
        "system": [words("Be brief.", **hint)],
        "messages": [
            {"role": "user", "content": [words("Hi", **hint), words("there")]},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result]},
        ],
        **(top or {}),
    }


EVERYWHERE = ["/tools/0", "/system/0", "/messages/0/content/0", "/messages/1/content/0", "/messages/2/content/0"]


def through(body: dict[str, Any], known: Any) -> Run:
    return run(refused_hint, body, known, source=CLAUDE)


def test_all_of_them_are_taken_off() -> None:
    done = through(request(HINT, top=HINT), REFUSES)
    plain = {name: value for name, value in done.json.items() if name != "model"}
    assert plain == request({})
    assert [at for at, _, _ in done.changes] == [*EVERYWHERE, "/messages/2/content/0", "/cache_control"]
    assert {(loses, adds) for _, loses, adds in done.changes} == {("metadata", False)}


@pytest.mark.parametrize("kept", [1, 2, 5])
def test_the_last_ones_stay_if_there_are_too_many(kept: int) -> None:
    done = through(request(HINT), facts(CLAUDE, cache_hint_max=kept))
    assert str(done.json).count("cache_control") == kept
    assert [at for at, _, _ in done.changes] == [*EVERYWHERE, "/messages/2/content/0"][: 6 - kept]


def test_the_hint_of_the_whole_request_goes_last() -> None:
    done = through(request(HINT, top=HINT), facts(CLAUDE, cache_hint_max=1))
    assert done.json["cache_control"] == HINT["cache_control"]
    assert str(done.json).count("cache_control") == 1


def test_what_holds_no_hint_stays_the_same_object() -> None:
    body = request({})
    body["messages"].append({"role": "user", "content": [words("More", **HINT)]})
    done = through(body, REFUSES)
    before, after = done.ask.conversation.messages, done.conversation.messages
    assert [new is old for new, old in zip(after, before, strict=True)] == [True, True, True, True, False]
    assert done.changes == [("/messages/3/content/0", "metadata", False)]


def test_a_hint_on_a_whole_message() -> None:
    done = run(refused_hint, {"messages": [{"role": "user", "content": "Hi", **HINT}]}, facts(cache_hints="refuses"))
    assert done.json["messages"] == [{"role": "user", "content": "Hi"}]
    assert done.changes == [("/messages/0", "metadata", False)]


def chat(**first: Any) -> dict[str, Any]:
    """A hint on each message, as LiteLLM's clients write it, and on a tool's result."""
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    return {
        "messages": [
            {"role": "system", "content": "Be brief.", **HINT},
            {"role": "user", "content": [words("Hi"), words("there")], **HINT, **first},
            {"role": "assistant", "content": None, "tool_calls": [call], **HINT},
            {"role": "tool", "tool_call_id": "c", "content": "12", **HINT},
        ]
    }


def test_a_hint_on_a_message_goes_to_its_last_part() -> None:
    done = sent(chat(), "anthropic/claude-opus-4-8", source="openai-chat")
    assert done.json["system"] == [words("Be brief.", **HINT)]
    user, assistant, answered = [message["content"] for message in done.json["messages"]]
    assert user == [words("Hi"), words("there", **HINT)]
    assert [assistant[-1]["cache_control"], answered[-1]["cache_control"]] == [HINT["cache_control"]] * 2
    moved = [one for one in done.changes if one[0] == "refused-hint"]
    assert moved == [("refused-hint", f"/messages/{index}", "nothing", False) for index in range(3)]
    point = {"cachePoint": {"type": "default"}}
    cloud = sent(chat(), "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", source="openai-chat").json
    assert [cloud["system"][-1], *[message["content"][-1] for message in cloud["messages"]]] == [point] * 4
    broken = sent({"messages": chat()["messages"][:2]}, "openai/gpt-5.6", source="openai-chat").json["messages"]
    assert [message["content"][-1]["prompt_cache_breakpoint"]["mode"] for message in broken] == ["explicit"] * 2
    same = sent(chat(), "openrouter/anthropic/claude-sonnet-4.5", source="openai-chat")
    assert same.json["messages"] == chat()["messages"]


def test_a_hint_on_a_message_that_has_its_own_or_no_part() -> None:
    """The own one of the part stays. Without a part there is nothing to cache."""
    own = chat(content=[words("Hi", cache_control={"type": "ephemeral", "ttl": "1h"})])
    done = run(refused_hint, own, facts(cache_hints_on_messages=False))
    assert done.json["messages"][1]["content"] == own["messages"][1]["content"]
    bare = run(refused_hint, chat(content=[]), facts(cache_hints_on_messages=False))
    assert "cache_control" not in bare.json["messages"][1]
    assert bare.changes[1] == ("/messages/1", "metadata", False)


UNTOUCHED = {
    "no hints": (request({}), REFUSES),
    "a target that takes any number": (request(HINT), facts(CLAUDE)),
    "as many as it takes": (request(HINT), facts(CLAUDE, cache_hint_max=6)),
}


@pytest.mark.parametrize("name", UNTOUCHED)
def test_untouched(name: str) -> None:
    assert through(*UNTOUCHED[name]).untouched


def test_adapt_for_real_providers() -> None:
    body = request(HINT)
    done = sent(body, "anthropic/claude-opus-4-8")
    assert str(done.json).count("cache_control") == 4
    assert done.changes == [("refused-hint", at, "metadata", False) for at in EVERYWHERE[:2]]
    said = {"messages": [{"role": "user", "content": [words("Hi", **HINT)]}]}
    refusing = sent(said, "openai/gpt-4o")
    assert refusing.json["messages"] == [{"role": "user", "content": [words("Hi")]}]
    assert refusing.changes == [("refused-hint", "/messages/0/content/0", "metadata", False)]
    assert sent(said, "openrouter/openai/gpt-4o").json["messages"] == said["messages"]


SCOPED: dict[str, Any] = {"cache_control": {"type": "ephemeral", "scope": "global", "ttl": "1h"}}
NARROW: dict[str, Any] = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}


def test_a_scope_that_the_target_refuses_is_left_out() -> None:
    done = through(request(SCOPED, top=SCOPED), facts(CLAUDE, cache_scope="refuses"))
    assert {name: value for name, value in done.json.items() if name != "model"} == request(NARROW, top=NARROW)
    assert [at for at, _, _ in done.changes] == [*EVERYWHERE, "/messages/2/content/0", "/cache_control"]
    assert {(loses, adds) for _, loses, adds in done.changes} == {("metadata", False)}
    assert through(request(NARROW, top=NARROW), facts(CLAUDE, cache_scope="refuses")).untouched
    assert through(request(SCOPED, top=SCOPED), facts(CLAUDE)).untouched


def test_what_is_taken_off_needs_no_other_scope() -> None:
    done = through(request(SCOPED), facts(CLAUDE, cache_scope="refuses", cache_hint_max=2))
    assert str(done.json).count("cache_control") == 2
    assert "scope" not in str(done.json)


def test_the_clouds_get_no_scope_whatever_the_client_names() -> None:
    asked = {"max_tokens": 9, "system": [words("Be brief.", **SCOPED)], "messages": [{"role": "user", "content": "Hi"}]}
    for target in ("vertex-anthropic/claude-sonnet-4-6", "bedrock-anthropic/us.anthropic.claude-opus-4-8"):
        done = sent(asked, target, source=CLAUDE)
        assert done.json["system"] == [words("Be brief.", **NARROW)]
        assert done.changes == [("refused-hint", "/system/0", "metadata", False)]
    same = sent(asked, "anthropic-compatible-strict/some-model", source=CLAUDE)
    assert same.json["system"] == asked["system"]
    careful = sent(asked, "anthropic-compatible-strict/some-model", source=CLAUDE, doubt="careful")
    assert "scope" not in str(careful.json)


def test_a18_a_hint_inside_a_result_goes_to_the_result_for_bedrock() -> None:
    inside = {"type": "tool_result", "tool_use_id": "c", "content": [words("12", **HINT), words("13")]}
    body = request({})
    body["messages"][2]["content"] = [inside]
    done = sent(body, "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", source=CLAUDE)
    result, point = done.json["messages"][2]["content"]
    assert result["toolResult"]["content"] == [{"text": "12"}, {"text": "13"}]
    assert point == {"cachePoint": {"type": "default"}}
    assert ("refused-hint", "/messages/2/content/0", "metadata", False) in done.changes


def test_hints_are_counted_after_they_moved() -> None:
    """Two inside a result become one of it, so the target that takes two keeps both that are left."""
    both = {"type": "tool_result", "tool_use_id": "c", "content": [words("12", **HINT), words("13", **HINT)]}
    body = request({})
    body["messages"][2]["content"] = [both]
    body["system"] = [words("Be brief.", **HINT)]
    done = run(refused_hint, body, facts(CLAUDE, cache_hint_max=2, cache_hints_in_results=False), source=CLAUDE)
    assert done.did == ["moved a cache hint from inside a result to the result"]
    assert run(refused_hint, body, facts(CLAUDE, cache_hint_max=3), source=CLAUDE).untouched


def test_hints_on_tools_go_if_only_they_are_refused() -> None:
    """Nova takes them in the system text and in messages."""
    tool = {"name": "f", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}}
    body = {
        "max_tokens": 9,
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}}]}
        ],
        "tools": [tool],
    }
    done = sent(body, "bedrock/us.amazon.nova-lite-v1:0", source="anthropic")
    assert done.json["messages"] == [{"role": "user", "content": [{"text": "Hi"}, {"cachePoint": {"type": "default"}}]}]
    assert [list(one) for one in done.json["toolConfig"]["tools"]] == [["toolSpec"]]
    assert ("refused-hint", "/tools/0", "metadata", False) in done.changes


WHOLE = {"model": "m", "max_tokens": 10, "cache_control": {"type": "ephemeral"}, "system": "Be brief."}
RESULT = {"type": "tool_result", "tool_use_id": "c", "content": "7"}
CALL = {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}]}


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "user", "content": "Hi"}],
        [{"role": "user", "content": "Hi"}, CALL, {"role": "user", "content": [RESULT]}],
    ],
)
def test_a_hint_for_the_whole_request_goes_to_the_last_part(messages: list[Any]) -> None:
    asked = {**WHOLE, "messages": messages, "tools": [{"name": "f", "input_schema": {"type": "object"}}]}
    done = adapt(asked, source="anthropic", target="bedrock/anthropic.claude-sonnet-4-5")
    assert done.json["messages"][-1]["content"][-1] == {"cachePoint": {"type": "default"}}
    assert sum(str(message).count("cachePoint") for message in done.json["messages"]) == 1
    assert [(one.at, one.did, one.loses) for one in done.changes if one.rule == "refused-hint"] == [
        ("/cache_control", "moved the cache hint to the last part", "nothing")
    ]


@pytest.mark.parametrize(
    "target",
    [
        "openrouter/anthropic/claude-sonnet-4.5",
        "bedrock-anthropic/us.anthropic.claude-opus-4-6-v1",
        "bedrock-anthropic/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    ],
)
def test_a_hint_for_the_whole_request_if_only_parts_have_hints(target: str) -> None:
    """Chat has no such field, and Claude on Bedrock up to 4.6 refuses it."""
    done = adapt({**WHOLE, "messages": [{"role": "user", "content": "Hi"}]}, source="anthropic", target=target)
    assert done.json["messages"][-1] == {"role": "user", "content": [words("Hi", **HINT)]}
    assert "cache_control" not in done.json
    assert [one.at for one in done.changes if one.rule == "refused-hint"] == ["/cache_control"]


def test_the_emulated_claude_on_bedrock_refuses_a_hint_for_the_whole_request() -> None:
    turns = [{"role": "user", "content": "Hi"}]
    body = {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 9, "messages": turns, **HINT}
    for model, taken in (("anthropic.claude-sonnet-4-6", False), ("us.anthropic.claude-opus-4-8", True)):
        refused = judge("bedrock-anthropic", model, "/model/{model}/invoke", {}, msgspec.json.encode(body))
        assert (refused is None) is taken
        assert refused is None or refused.body == {"message": "cache_control: Extra inputs are not permitted"}


def test_a_hint_for_the_whole_request_stays_if_newer_models_take_it() -> None:
    body = {**WHOLE, "messages": [{"role": "user", "content": "Hi"}]}
    done = adapt(body, source="anthropic", target="bedrock-anthropic/us.anthropic.claude-opus-4-8")
    assert (done.json["cache_control"], done.changes) == (HINT["cache_control"], ())


def test_a_hint_for_the_whole_request_is_taken_off_if_the_model_takes_none() -> None:
    asked = {**WHOLE, "messages": [{"role": "user", "content": "Hi"}]}
    done = adapt(asked, source="anthropic", target="bedrock/meta.llama3-3-70b-instruct-v1:0")
    assert b"cachePoint" not in done.body
    assert [one.did for one in done.changes if one.at == "/cache_control"] == ["took off a cache hint"]


def test_a_long_hint_after_a_short_one_becomes_short() -> None:
    hour = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    body = {
        "max_tokens": 9,
        "tools": [{"name": "f", "input_schema": {"type": "object"}, **hour}],
        "system": [words("One.", **hour), words("Two.", **HINT), words("Three.", **hour)],
        "messages": [{"role": "user", "content": [words("Hi", **hour)]}],
    }
    done = through(body, facts(CLAUDE, late_long_hint="refuses"))
    assert [at for at, _, _ in done.changes] == ["/system/2", "/messages/0/content/0"]
    assert [one.get("cache_control") for one in done.json["system"]] == [
        hour["cache_control"],
        HINT["cache_control"],
        HINT["cache_control"],
    ]
    assert done.json["messages"][0]["content"][0]["cache_control"] == HINT["cache_control"]
    assert through(request(hour), facts(CLAUDE, late_long_hint="refuses", cache_hint_max=9)).untouched
    assert through(request(HINT), facts(CLAUDE, late_long_hint="refuses", cache_hint_max=9)).untouched


def test_a_hint_on_a_tool_that_is_found_later_goes_to_one_that_is_loaded() -> None:
    search = {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"}
    plain = {"name": "f", "input_schema": {"type": "object"}}
    later = {"name": "g", "input_schema": {"type": "object"}, "defer_loading": True}
    body = {"max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
    done = adapt({**body, "tools": [search, plain, {**later, **HINT}]}, target="anthropic/claude-opus-4-8")
    assert done.json["tools"] == [search, {**plain, **HINT}, later]
    assert [(one.rule, one.at, str(one.loses)) for one in done.changes] == [("refused-hint", "/tools/2", "nothing")]
    beside = adapt({**body, "tools": [search, {**later, **HINT}]}, target="anthropic/claude-opus-4-8")
    assert beside.json["tools"] == [{**search, **HINT}, later]
    assert [(one.at, str(one.loses)) for one in beside.changes] == [("/tools/1", "nothing")]
    before = adapt({**body, "tools": [{**later, **HINT}, search]}, target="anthropic/claude-opus-4-8")
    assert before.json["tools"] == [later, search]
    assert [(one.at, str(one.loses)) for one in before.changes] == [("/tools/0", "metadata")]


SEARCH = {"type": "web_search_20250305", "name": "web_search"}
FOUND = {"type": "search_result", "source": "s", "title": "t", "content": [words("x")]}


def test_hints_on_the_vendors_own_tools_and_blocks_count() -> None:
    """They were copied as they stood, and four others beside one of them were refused."""
    others = [words(name, **HINT) for name in "abcd"]
    body = {"max_tokens": 9, "tools": [{**SEARCH, **HINT}], "messages": [{"role": "user", "content": others}]}
    done = adapt(body, source="anthropic", target="anthropic/claude-sonnet-4-5")
    assert (done.json["tools"], done.json["messages"]) == ([SEARCH], body["messages"])
    assert [(one.rule, one.at) for one in done.changes] == [("refused-hint", "/tools/0")]
    user = {"role": "user", "content": [*others[:3], {**FOUND, **HINT}, others[3]]}
    done = adapt({"max_tokens": 9, "messages": [user]}, source="anthropic", target="anthropic/claude-sonnet-4-5")
    assert done.json["messages"] == [{"role": "user", "content": [words("a"), *user["content"][1:]]}]
    assert [(one.rule, one.at) for one in done.changes] == [("refused-hint", "/messages/0/content/0")]


def test_hints_on_the_vendors_own_blocks_have_their_place_in_the_order() -> None:
    hour = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    for first, later, left in ((HINT, hour, HINT), (hour, hour, hour), (hour, HINT, HINT)):
        body = {"max_tokens": 9, "messages": [{"role": "user", "content": [{**FOUND, **first}, {**FOUND, **later}]}]}
        done = adapt(body, source="anthropic", target="anthropic/claude-sonnet-4-5")
        assert done.json["messages"][0]["content"] == [{**FOUND, **first}, {**FOUND, **left}]
        assert bool(done.changes) is (later is not left)


def test_a_hint_that_does_not_fit_stays_in_its_block() -> None:
    body = {"max_tokens": 9, "messages": [{"role": "user", "content": [{**FOUND, "cache_control": "yes"}]}]}
    done = adapt(body, source="anthropic", target="anthropic-compatible/some-model")
    assert done.json["messages"] == body["messages"]


POINT = {"cachePoint": {"type": "default"}}
LONG_POINT = {"cachePoint": {"type": "default", "ttl": "1h"}}


def test_cache_points_that_belong_to_no_block_count_too() -> None:
    """Converse's hints are blocks: one may stand first in the system text, or behind another."""
    content = [{"text": "a"}, POINT, POINT, POINT, {"text": "b"}, LONG_POINT]
    asked = {"system": [POINT, {"text": "s"}], "messages": [{"role": "user", "content": content}]}
    done = adapt(asked, source="bedrock", target="bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0")
    assert done.json["system"] == [{"text": "s"}]
    assert done.json["messages"][0]["content"] == [*content[:-1], POINT]
    assert [one.at for one in done.changes] == ["/system/0", "/messages/0/content/6"]
    assert {(one.rule, str(one.loses)) for one in done.changes} == {("refused-hint", "metadata")}
    again = adapt(done.body, source="bedrock", target="bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0")
    assert (again.body, again.changes) == (done.body, ())


def test_no_cache_point_is_left_if_the_model_takes_none() -> None:
    """One behind another with a lifetime was told in words, and one among the tools was sent."""
    spec = {"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}}
    content = [{"text": "a"}, POINT, LONG_POINT, {"text": "b"}]
    asked = {"toolConfig": {"tools": [POINT, spec, POINT]}, "messages": [{"role": "user", "content": content}]}
    done = adapt(asked, source="bedrock", target="bedrock/meta.llama3-3-70b-instruct-v1:0")
    assert done.json["toolConfig"]["tools"] == [spec]
    assert done.json["messages"][0]["content"] == [{"text": "a"}, {"text": "b"}]
    assert {(one.rule, str(one.loses)) for one in done.changes} == {("refused-hint", "metadata")}
    foreign = adapt(asked, source="bedrock", target="openai/gpt-4o")
    assert b"achePoint" not in foreign.body
    assert {str(one.loses) for one in foreign.changes} == {"metadata", "nothing"}


def test_dashscope_gets_the_hints_on_parts_alone() -> None:
    """It takes four, and caches what they mark at a tenth of the price."""
    marked = {"cache_control": {"type": "ephemeral"}}
    body: dict[str, Any] = {
        "model": "m",
        "max_tokens": 10,
        "system": [{"type": "text", "text": "Be brief.", **marked}],
        "tools": [{"name": "f", "input_schema": {"type": "object"}, **marked}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi", **marked}]}],
    }
    found = sent(body, "qwen/qwen3-max", source="anthropic").json
    assert [message["content"][0]["cache_control"] for message in found["messages"]] == [{"type": "ephemeral"}] * 2
    assert "cache_control" not in found["tools"][0]


CLOUD = "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0"
NOTES = {"document": {"name": "Notes", "format": "md", "source": {"bytes": "SGk="}}}
PAPER = {"document": {"name": "Paper", "format": "pdf", "source": {"bytes": "JVBERg=="}}}
THOUGHT = {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}}
CALL = {"toolUse": {"toolUseId": "c", "name": "f", "input": {}}}
DONE = {"toolResult": {"toolUseId": "c", "content": [{"text": "12"}]}}
HI = {"text": "Hi"}
BEFORE = {
    "behind a document that is read as text": ([HI, NOTES, POINT], [HI, POINT, NOTES], "nothing"),
    "behind two of them": ([HI, NOTES, NOTES, POINT, HI], [HI, POINT, NOTES, NOTES, HI], "nothing"),
    "behind one that stands alone": ([NOTES, POINT, HI], [NOTES, HI], "metadata"),
    "beside one that has a hint": ([HI, POINT, NOTES, POINT], [HI, POINT, NOTES], "nothing"),
    "before all else": ([POINT, HI], [HI], "metadata"),
}


@pytest.mark.parametrize("name", BEFORE)
def test_a_hint_at_a_place_that_takes_none_goes_to_the_part_before(name: str) -> None:
    """https://github.com/aws/aws-sdk-java-v2/issues/6277, https://github.com/strands-agents/harness-sdk/pull/3677"""
    content, left, loses = BEFORE[name]
    done = run(
        refused_hint,
        {"messages": [{"role": "user", "content": content}]},
        facts("bedrock", unhinted_places=["document", "thinking", "first"]),
        source="bedrock",
    )
    assert done.json["messages"][0]["content"] == left
    assert [change[1] for change in done.changes] == [loses]


def test_a_hint_on_thinking_goes_to_the_part_before_or_is_taken_off() -> None:
    """https://github.com/anomalyco/opencode/issues/36517"""
    known = facts("bedrock", unhinted_places=["thinking"])
    spoken = {"messages": [{"role": "assistant", "content": [HI, THOUGHT, POINT, CALL]}]}
    assert run(refused_hint, spoken, known, source="bedrock").json["messages"][0]["content"] == [
        HI,
        POINT,
        THOUGHT,
        CALL,
    ]
    bare = {"messages": [{"role": "assistant", "content": [THOUGHT, POINT, CALL]}]}
    assert run(refused_hint, bare, known, source="bedrock").json["messages"][0]["content"] == [THOUGHT, CALL]


PLACED = {"on a paper": [HI, PAPER, POINT], "on words": [NOTES, HI, POINT]}


@pytest.mark.parametrize("name", PLACED)
def test_a_hint_where_it_may_stand_stays(name: str) -> None:
    body = {"messages": [{"role": "user", "content": PLACED[name]}]}
    assert adapt(body, source="bedrock", target=CLOUD).changes == ()


def test_the_emulator_refuses_hints_where_bedrock_does() -> None:
    tools = {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}}]}
    turns = [{"role": "user", "content": [HI]}, {"role": "assistant", "content": [THOUGHT, POINT, CALL]}]
    thought = {"messages": [*turns, {"role": "user", "content": [DONE, POINT]}], "toolConfig": tools}
    asked = [
        {"messages": [{"role": "user", "content": BEFORE[name][0]}]}
        for name in ("before all else", "behind a document that is read as text")
    ]
    name, _, model = CLOUD.partition("/")
    for body in (*asked, thought):
        wire = msgspec.json.encode(body)
        sent_body = adapt(body, source="bedrock", target=CLOUD)
        assert judge(name, model, "/model/{model}/converse", {}, wire, strict=False) is not None
        assert judge(name, model, sent_body.path, {}, sent_body.body, strict=False) is None


def test_hints_of_other_dialects_stand_before_documents_that_are_read_as_text() -> None:
    text = {"type": "text", "media_type": "text/plain", "data": "Hi"}
    document = {"type": "document", "title": "Notes", "source": text, **HINT}
    asked = {"max_tokens": 9, "messages": [{"role": "user", "content": [words("Sum up."), document]}]}
    content = adapt(asked, source="anthropic", target=CLOUD).json["messages"][0]["content"]
    assert content[1] == POINT
    assert "document" in content[2]
    direct = adapt(asked, source="anthropic", target="anthropic/claude-sonnet-4-5")
    assert direct.changes == ()
