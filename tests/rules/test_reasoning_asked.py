"""Rule `reasoning-asked`: what a target gives only when it is asked, for clients of other dialects (K21)."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from tests.rules.runs import facts, sent

from dragoman.conversation.conversation import Conversation
from dragoman.conversation.settings import Effort, Settings, Thinking
from dragoman.engine.compile.plan import expects_reasoning
from dragoman.engine.library.adapt import read
from dragoman.profiles.facts import Facts
from dragoman.rules.context import Context
from dragoman.rules.settings.reasoning_asked import reasoning_asked

HI: dict[str, Any] = {"messages": [{"role": "user", "content": "Hi"}]}
CHAT: dict[str, Any] = {**HI, "reasoning_effort": "high"}
CLAUDE: dict[str, Any] = {**HI, "max_tokens": 20000, "thinking": {"type": "enabled", "budget_tokens": 2048}}
GEMINI: dict[str, Any] = {
    "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
    "generationConfig": {"thinkingConfig": {"includeThoughts": True, "thinkingBudget": 2048}},
}
RESPONSES: dict[str, Any] = {"input": "Hi", "reasoning": {"effort": "low", "summary": "auto"}}
EXPECTING = {"openai-chat": CHAT, "anthropic": CLAUDE, "gemini": GEMINI, "openai-responses": RESPONSES}
ENCRYPTED = ["reasoning.encrypted_content"]


def asked(body: dict[str, Any], target: str) -> Any:
    """What a compiled body says of showing thoughts, or None."""
    if "generationConfig" in body:
        return body["generationConfig"].get("thinkingConfig", {}).get("includeThoughts")
    if "input" in body:
        return body.get("reasoning", {}).get("summary")
    return body.get("thinking", {}).get("display")


TARGETS = {
    "gemini/gemini-2.5-flash": ("gemini", True),
    "gemini/gemini-3-pro-preview": ("gemini", True),
    "vertex/gemini-2.5-pro": ("gemini", True),
    "openai-responses/gpt-5": ("openai-responses", "auto"),
    "openai-responses/gpt-5.6": ("openai-responses", "auto"),
    "anthropic/claude-opus-4-7": ("anthropic", "summarized"),
    "anthropic/claude-sonnet-5": ("anthropic", "summarized"),
    "anthropic/claude-sonnet-4-6": ("anthropic", None),
    "anthropic/claude-sonnet-4-5": ("anthropic", None),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("source", EXPECTING)
def test_thoughts_that_the_client_expects_are_asked_for_in_the_targets_way(source: str, target: str) -> None:
    dialect, way = TARGETS[target]
    if source == dialect:
        return
    assert asked(sent(EXPECTING[source], target, source=source).json, target) == way


SILENT = {
    "openai-chat": HI,
    "anthropic": {**HI, "max_tokens": 20000},
    "gemini": {"contents": GEMINI["contents"]},
    "openai-responses": {"input": "Hi"},
}
UNWILLING = {
    "openai-chat": {**HI, "reasoning_effort": "none"},
    "anthropic": {**HI, "max_tokens": 20000, "thinking": {"type": "disabled"}},
    "gemini": {"contents": GEMINI["contents"], "generationConfig": {"thinkingConfig": {"includeThoughts": False}}},
    "openai-responses": {"input": "Hi", "reasoning": {"effort": "none"}},
}


@pytest.mark.parametrize("bodies", [SILENT, UNWILLING], ids=["silent", "unwilling"])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("source", SILENT)
def test_thoughts_that_nobody_expects_are_not_asked_for(source: str, target: str, bodies: Any) -> None:
    if source != TARGETS[target][0]:
        assert asked(sent(bodies[source], target, source=source).json, target) in (None, False, "omitted")


@pytest.mark.parametrize("source", [name for name in SILENT if name != "openai-responses"])
def test_responses_is_asked_for_the_state_wherever_the_model_may_think(source: str) -> None:
    body = sent(SILENT[source], "openai-responses/gpt-5", source=source).json
    assert (body["include"], body["store"]) == (ENCRYPTED, False)
    plain = sent(SILENT[source], "openai-responses/gpt-4o", source=source).json
    assert "include" not in plain
    assert plain["store"] is False
    off = sent(UNWILLING["openai-chat"], "openai-responses/gpt-5.6", source="openai-chat").json
    assert "include" not in off


def test_a_client_that_wants_its_answer_stored_gets_it_stored() -> None:
    assert sent({**HI, "store": True}, "openai-responses/gpt-5", source="openai-chat").json["store"] is True


@pytest.mark.parametrize("target", TARGETS)
def test_in_the_targets_own_dialect_nothing_is_added(target: str) -> None:
    source = TARGETS[target][0]
    for bodies in (EXPECTING, SILENT):
        body = {"model": "m", **bodies[source]} if source != "gemini" else bodies[source]
        done = sent(body, target, source=source)
        assert "reasoning-asked" not in [rule for rule, *_ in done.changes]
        careful = sent(body, target, source=source, doubt="careful")
        assert "reasoning-asked" not in [rule for rule, *_ in careful.changes]


def test_what_was_asked_is_in_the_report_and_loses_nothing() -> None:
    done = sent(CHAT, "openai-responses/gpt-5", source="openai-chat")
    assert [entry for entry in done.changes if entry[0] == "reasoning-asked"] == [
        ("reasoning-asked", "/reasoning_effort", "nothing", True),
        ("reasoning-asked", "/reasoning_effort", "nothing", True),
    ]


def test_a_caller_that_wants_no_made_up_turns_is_still_served() -> None:
    assert sent(CHAT, "openai-responses/gpt-5", source="openai-chat", synthetic=False).json["include"] == ENCRYPTED


def test_the_rule_can_be_switched_off() -> None:
    body = sent(CHAT, "openai-responses/gpt-5", source="openai-chat", rules={"reasoning-asked": "keep"}).json
    assert "include" not in body
    assert "summary" not in body["reasoning"]


def test_reasoning_in_the_history_is_expected_again() -> None:
    history = {
        "messages": [
            *HI["messages"],
            {"role": "assistant", "content": "Hello.", "reasoning_content": "A greeting."},
            {"role": "user", "content": "Go on"},
        ]
    }
    assert asked(sent(history, "gemini/gemini-2.5-flash", source="openai-chat").json, "") is True
    assert asked(sent(history, "openai-responses/gpt-5", source="openai-chat").json, "") == "auto"
    assert asked(sent(history, "anthropic/claude-sonnet-5", source="openai-chat").json, "") == "summarized"
    declined = {**history, "reasoning_effort": "none"}
    assert asked(sent(declined, "gemini/gemini-2.5-flash", source="openai-chat").json, "") is None


WISHES: list[tuple[str, dict[str, Any], bool]] = [
    ("openai-chat", HI, False),
    ("openai-chat", CHAT, True),
    ("openai-chat", {**HI, "reasoning": {"max_tokens": 2000}}, True),
    ("openai-chat", {**HI, "reasoning": {"effort": "high", "exclude": True}}, False),
    ("openai-chat", {**HI, "thinking": {"type": "enabled"}}, True),
    ("openai-chat", {**HI, "thinking": {"type": "disabled"}}, False),
    ("openai-chat", {**HI, "include_reasoning": True}, True),
    ("openai-chat", {**HI, "include_reasoning": False}, False),
    ("anthropic", CLAUDE, True),
    ("anthropic", {**CLAUDE, "thinking": {"type": "adaptive"}}, True),
    ("anthropic", {**CLAUDE, "thinking": {"type": "adaptive", "display": "omitted"}}, False),
    ("anthropic", {**HI, "max_tokens": 9, "output_config": {"effort": "high"}}, False),
    ("gemini", GEMINI, True),
    ("gemini", {**GEMINI, "generationConfig": {"thinkingConfig": {"thinkingBudget": 2048}}}, False),
    ("openai-responses", RESPONSES, True),
    ("openai-responses", {"input": "Hi", "reasoning": {"effort": "high"}}, False),
]


@pytest.mark.parametrize(("source", "body", "expected"), WISHES)
def test_who_expects_to_be_shown_thinking(source: str, body: dict[str, Any], expected: bool) -> None:
    assert expects_reasoning(read(body, source=source)) is expected


def _run(settings: Settings, known: Facts, *, translated: bool = True, expects: bool = True) -> Settings:
    conversation = Conversation((), settings=settings)
    context = Context(known, translated=translated, expects_reasoning=expects)
    if not reasoning_asked.is_called_for(context):
        return settings
    done = reasoning_asked.repair(conversation, context)
    assert (done.conversation is conversation) == (not done.notes)
    again = reasoning_asked.repair(done.conversation, context)
    assert again.conversation is done.conversation
    return done.conversation.settings


def test_each_wish_is_asked_for_on_its_own() -> None:
    shows = facts(thoughts_on_request="visible", thinking_visible="accepts", thinking_form="budget", thinking="accepts")
    sums = facts(thoughts_on_request="summary", thinking_form="effort", reasoning_default=True)
    keeps = replace(sums, state_on_request=True)
    high = Settings(thinking=Thinking(effort=Effort.HIGH))
    assert _run(high, shows).thinking == Thinking(effort=Effort.HIGH, visible=True)
    assert _run(high, shows, expects=False) == high
    assert _run(high, shows, translated=False) == high
    assert _run(Settings(thinking=Thinking(on=False)), shows).thinking == Thinking(on=False)
    assert _run(Settings(thinking=Thinking(on=True, visible=False)), shows).thinking == Thinking(on=True, visible=False)
    assert _run(Settings(), sums) == Settings(thinking=Thinking(summary="auto"))
    assert _run(Settings(thinking=Thinking(summary="detailed")), sums).thinking == Thinking(summary="detailed")
    assert _run(Settings(), keeps, expects=False) == Settings(reasoning_state=True)
    assert _run(Settings(), facts()) == Settings()


@pytest.mark.parametrize("model", ["MiniMax-M3", "MiniMax-M2"])
@pytest.mark.parametrize("source", ["anthropic", "gemini", "openai-responses"])
def test_thinking_that_would_stand_in_the_text_is_asked_for_apart(source: str, model: str) -> None:
    foreign = {"context_management": {"edits": []}} if source == "anthropic" else {}
    done = sent({**EXPECTING[source], **foreign}, f"minimax/{model}", source=source)
    assert done.json["reasoning_split"] is True
    assert "context_management" not in done.json
    assert ("reasoning-asked", "/reasoning_split", "nothing", True) in done.changes
    again = sent(done.json, f"minimax/{model}")
    assert (again.json, again.changes) == (done.json, [])


def test_a_client_of_the_same_dialect_reads_the_text_as_it_is() -> None:
    assert "reasoning_split" not in sent(HI, "minimax/MiniMax-M3").json
