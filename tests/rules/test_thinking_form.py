"""`thinking-form`: a request to think in a form that the target does not know."""

from __future__ import annotations

from typing import Any

import pytest
from tests.rules.runs import CHAT, facts, run, sent

from dragoman import adapt
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.parts import Text
from dragoman.conversation.settings import EFFORT_ALONE, Effort, Settings, Thinking
from dragoman.conversation.tools import Tool
from dragoman.rules.settings.thinking_form import thinking_form

HI = (Message(Role.USER, (Text(b'"Hi"'),), at=0),)
NONE, MINIMAL, LOW, MEDIUM, HIGH, XHIGH, ULTRA, MAX = Effort
OFF = Thinking(on=False)


def formed(asked: Thinking, limit: int | None = None, tools: bool = False, **stated: Any) -> Thinking | None:
    said = Conversation(HI, (Tool("f"),) if tools else (), Settings(thinking=asked, max_tokens=limit))
    done = run(thinking_form, said, facts(**stated))
    assert done.untouched is (done.conversation.settings.thinking is asked)
    assert done.changes == ([] if done.untouched else [("/thinking", "metadata", False)])
    assert done.conversation.settings.max_tokens == limit
    return done.conversation.settings.thinking


# the target's form, what is asked, what is sent
FORMS: list[tuple[str, Thinking, Thinking | None]] = [
    ("none", Thinking(effort=HIGH), None),
    ("none", Thinking(on=True, budget=2000), None),
    ("optional-budget", Thinking(on=True), Thinking(on=True)),
    ("optional-budget", Thinking(on=True, budget=2000), Thinking(on=True, budget=2000)),
    ("optional-budget", Thinking(effort=LOW), Thinking(on=True, budget=2048)),
    ("optional-budget", Thinking(on=True, adaptive=True), Thinking(on=True)),
    ("optional-budget", Thinking(on=True, budget=-1), Thinking(on=True)),
    ("optional-budget", Thinking(effort=NONE), OFF),
    ("optional-budget", OFF, OFF),
    ("optional-budget", Thinking(visible=True), None),
    ("effort", Thinking(effort=HIGH), Thinking(effort=HIGH)),
    ("effort", Thinking(on=True, budget=9000), Thinking(effort=MEDIUM)),
    ("effort", Thinking(budget=8192), Thinking(effort=MEDIUM)),
    ("effort", Thinking(budget=8191), Thinking(effort=LOW)),
    ("effort", Thinking(budget=0), Thinking(effort=NONE)),
    ("effort", Thinking(budget=-1), Thinking(effort=MEDIUM)),
    ("effort", Thinking(on=False, effort=HIGH), Thinking(effort=NONE)),
    ("effort", Thinking(on=True), Thinking(effort=MEDIUM)),
    ("effort", Thinking(on=True, adaptive=True), Thinking(effort=MEDIUM)),
    ("effort", Thinking(), None),
    ("budget", Thinking(effort=LOW), Thinking(on=True, budget=2048)),
    ("budget", Thinking(on=True), Thinking(on=True, budget=8192)),
    ("budget", Thinking(on=True, budget=3000), Thinking(on=True, budget=3000)),
    ("budget", Thinking(on=True, adaptive=True, budget=3000), Thinking(on=True, budget=3000)),
    ("budget", Thinking(effort=NONE), OFF),
    ("budget", OFF, OFF),
    ("budget", Thinking(budget=-1), Thinking(budget=-1)),
    ("budget", Thinking(visible=True), Thinking(on=True, budget=8192)),
    ("budget", Thinking(visible=False), Thinking()),
    ("adaptive", Thinking(effort=HIGH), Thinking(on=True, adaptive=True, effort=HIGH)),
    ("adaptive", Thinking(effort=MINIMAL), Thinking(on=True, adaptive=True, effort=LOW)),
    ("adaptive", Thinking(on=True, budget=2500), Thinking(on=True, adaptive=True, effort=LOW)),
    ("adaptive", Thinking(on=True, adaptive=True), Thinking(on=True, adaptive=True)),
    ("adaptive", Thinking(budget=0), OFF),
    ("any", Thinking(on=True, budget=2500), Thinking(on=True, budget=2500)),
    ("any", Thinking(effort=HIGH), Thinking(on=True, adaptive=True, effort=HIGH)),
    ("any", Thinking(budget=2500, effort=MINIMAL), Thinking(budget=2500, effort=LOW)),
    ("any", Thinking(on=False, budget=2500), OFF),
    ("level", Thinking(effort=HIGH), Thinking(effort=HIGH)),
    ("level", Thinking(budget=2500), Thinking(budget=2500)),
    ("level", OFF, Thinking(effort=MINIMAL)),
    ("level", Thinking(budget=0), Thinking(effort=MINIMAL)),
    ("level", Thinking(on=True, adaptive=True), Thinking(effort=MEDIUM)),
    ("level", Thinking(on=False, budget=2500), Thinking(effort=MINIMAL)),
    ("switch", Thinking(effort=HIGH), Thinking(on=True, effort=HIGH)),
    ("switch", Thinking(budget=2500), Thinking(on=True, effort=LOW)),
    ("switch", Thinking(effort=NONE), OFF),
    ("switch", Thinking(on=True), Thinking(on=True)),
    ("open", Thinking(effort=HIGH), Thinking(effort=HIGH)),
    ("open", Thinking(on=True, adaptive=True, effort=HIGH), Thinking(on=True, effort=HIGH)),
    ("open", Thinking(budget=-1), Thinking(on=True)),
    ("open", Thinking(budget=2500), Thinking(budget=2500)),
]


@pytest.mark.parametrize(("form", "asked", "said"), FORMS)
def test_the_form_of_the_target(form: str, asked: Thinking, said: Thinking | None) -> None:
    assert formed(asked, thinking_form=form) == said


BOUNDS: list[tuple[Thinking, int | None, Thinking]] = [
    (Thinking(on=True, budget=9000), 8000, Thinking(on=True, budget=7999)),
    (Thinking(on=True, budget=2000), 8000, Thinking(on=True, budget=2000)),
    (Thinking(effort=HIGH), 4000, Thinking(on=True, budget=2000)),
    (Thinking(effort=HIGH), 2000, OFF),
    (Thinking(on=True, budget=512), 8000, Thinking(on=True, budget=1024)),
    (Thinking(on=True, budget=99_999), None, Thinking(on=True, budget=32_768)),
    (Thinking(on=True, budget=2000), 1024, OFF),
    (Thinking(on=True, budget=2000), None, Thinking(on=True, budget=2000)),
]


@pytest.mark.parametrize("form", ["budget", "any"])
@pytest.mark.parametrize(("asked", "limit", "said"), BOUNDS)
def test_a_budget_stays_in_its_bounds(form: str, asked: Thinking, limit: int | None, said: Thinking) -> None:
    if form == "any" and asked.budget is None:
        return  # there an effort stays an effort
    stated = {"budget_min": 1024, "budget_max": 32_768, "budget_below_limit": True}
    assert formed(asked, limit, thinking_form=form, **stated) == said


@pytest.mark.parametrize(
    ("form", "asked", "said"),
    [
        ("budget", OFF, Thinking(on=True, budget=128)),
        ("budget", Thinking(budget=0), Thinking(on=True, budget=128)),
        ("budget", Thinking(effort=NONE), Thinking(on=True, budget=128)),
        ("effort", OFF, Thinking(effort=LOW)),
    ],
)
def test_a_model_that_cannot_stop_thinking_thinks_as_little_as_it_can(
    form: str, asked: Thinking, said: Thinking
) -> None:
    stated: dict[str, Any] = {"thinking_off": "refuses", "budget_min": 128, "efforts": ["none", "low", "high"]}
    assert formed(asked, thinking_form=form, **stated) == said


def test_a_budget_that_the_model_chooses() -> None:
    dynamic = Thinking(budget=-1)
    assert formed(dynamic, thinking_form="budget") is dynamic
    assert formed(dynamic, thinking_form="budget", dynamic_budget="refuses") == Thinking(on=True, budget=8192)
    assert formed(dynamic, thinking_form="effort", reasoning_default=True) is None


def test_an_effort_has_no_room_below_the_limit() -> None:
    stated: dict[str, Any] = {"thinking_form": "open", "budget_min": 1024, "budget_below_limit": True}
    assert formed(Thinking(effort=HIGH), 1000, **stated) == OFF
    assert formed(Thinking(effort=HIGH), 2000, **stated) == Thinking(effort=HIGH)
    assert formed(Thinking(budget=4000), 2000, **stated) == Thinking(budget=1999)
    assert formed(Thinking(budget=4000), 1000, **stated) == OFF


def test_a_model_that_cannot_be_asked_is_not_asked() -> None:
    for form in ("effort", "budget", "adaptive", "level", "switch", "open", "any"):
        assert formed(Thinking(effort=HIGH), thinking_form=form, thinking="refuses") is None


def test_a_budget_may_exceed_the_limit_if_they_are_counted_apart() -> None:
    asked = Thinking(on=True, budget=9000)
    assert formed(asked, 8000, thinking_form="budget", budget_below_limit=False) == asked


@pytest.mark.parametrize(
    ("asked", "offered", "said"),
    [
        (XHIGH, ["low", "medium", "high"], HIGH),
        (MINIMAL, ["low", "medium", "high"], LOW),
        (MEDIUM, ["low", "high"], HIGH),
        (XHIGH, ["low", "medium", "high", "max"], HIGH),
        (MEDIUM, ["none", "high"], HIGH),
        (LOW, ["none", "high"], HIGH),
        (NONE, ["none", "high"], NONE),
        (NONE, ["low", "high"], LOW),
        (HIGH, ["low", "high"], HIGH),
        (MAX, [], MAX),
    ],
)
def test_an_effort_that_the_model_does_not_offer(asked: Effort, offered: list[str], said: Effort) -> None:
    assert formed(Thinking(effort=asked), thinking_form="effort", efforts=offered) == Thinking(effort=said)


@pytest.mark.parametrize(
    ("target", "key", "said"),
    [
        ("openai-responses/gpt-5.1", "reasoning", {"effort": "medium", "summary": "auto"}),
        ("openai/gpt-5.1", "reasoning_effort", "medium"),
        ("openai/gpt-5", "reasoning_effort", None),  # it thinks by itself
        ("openrouter/openai/gpt-5.1", "reasoning", {"enabled": True, "exclude": False}),
        ("anthropic/claude-sonnet-4-5", "thinking", {"type": "enabled", "budget_tokens": 4500}),
        ("deepseek/deepseek-chat", "thinking", {"type": "enabled"}),
        ("ollama/qwen3:8b", "think", True),
    ],
)
def test_the_wish_to_see_thoughts_switches_thinking_on(target: str, key: str, said: Any) -> None:
    config = {"thinkingConfig": {"includeThoughts": True}, "maxOutputTokens": 9000}
    asked = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], "generationConfig": config}
    assert sent(asked, target, source="gemini").json.get(key) == said


def test_the_wish_of_a_client_of_the_targets_own_dialect_is_left_alone() -> None:
    asked = {"messages": [{"role": "user", "content": "Hi"}], "reasoning": {"exclude": False}}
    assert sent(asked, "openrouter/openai/gpt-5.1").json["reasoning"] == {"exclude": False}


def test_a_request_to_think_leaves_the_amount_to_gemini_3_which_thinks_by_itself() -> None:
    asked = {"messages": [{"role": "user", "content": "Hi"}], "think": True}
    done = sent(asked, "gemini/gemini-3-flash-preview", source="ollama")
    assert done.json["generationConfig"]["thinkingConfig"] == {"includeThoughts": True}
    assert [loses for rule, _, loses, _ in done.changes if rule == "thinking-form"] == ["nothing"]


def test_a_model_without_efforts_thinks_as_it_likes() -> None:
    assert formed(Thinking(effort=HIGH), thinking_form="effort", efforts=["none"]) is None
    assert formed(Thinking(effort=NONE), thinking_form="effort", efforts=["none"]) == Thinking(effort=NONE)


def test_no_effort_is_off_if_thinking_can_be_switched() -> None:
    assert formed(Thinking(effort=NONE), thinking_form="open", efforts=["low"]) == OFF


def test_a_switch_goes_without_saying_beside_an_effort_that_the_model_knows() -> None:
    assert formed(Thinking(effort=HIGH), thinking_form="switch", efforts=["high"]) == Thinking(effort=HIGH)


def test_what_is_shown_of_the_thoughts() -> None:
    asked = Thinking(effort=HIGH, visible=True, summary="auto")
    both: dict[str, Any] = {"thinking_visible": "accepts", "thinking_summary": "accepts"}
    assert formed(asked, thinking_form="open", **both) == asked
    assert formed(asked, thinking_form="open", thinking_visible="accepts") == Thinking(effort=HIGH, visible=True)
    assert formed(asked, thinking_form="open", thinking_summary="accepts") == Thinking(effort=HIGH, summary="auto")
    assert formed(asked, thinking_form="effort", **both) == Thinking(effort=HIGH, summary="auto")
    assert formed(Thinking(visible=True), thinking_form="level", **both) == Thinking(visible=True)


@pytest.mark.parametrize("form", ["budget", "adaptive", "any"])
def test_thinking_that_is_off_has_no_thoughts_to_show(form: str) -> None:
    shown: dict[str, Any] = {"thinking_form": form, "thinking_visible": "accepts"}
    assert formed(Thinking(on=False, visible=True), **shown) == OFF


def test_a_model_that_shows_thoughts_on_request_takes_the_word_beside_no_budget() -> None:
    config = {"thinkingConfig": {"includeThoughts": False, "thinkingBudget": 0}}
    asked = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], "generationConfig": config}
    assert sent(asked, "gemini/gemini-2.5-flash", source="gemini").json == asked


def test_the_word_about_thoughts_goes_with_a_budget_for_which_there_is_no_room() -> None:
    asked = {"max_tokens": 16, "messages": [{"role": "user", "content": "Hi"}]}
    off = {**asked, "thinking": {"type": "disabled", "display": "summarized"}}
    assert sent(off, "anthropic/claude-sonnet-4-5").json["thinking"] == {"type": "disabled"}
    for display in ("summarized", "updates"):  # the latter is a word of a beta, which Claude Code uses
        small = {**asked, "thinking": {"type": "adaptive", "display": display}}
        assert sent(small, "anthropic-compatible/claude-sonnet-4-5").json["thinking"] == {"type": "disabled"}


def test_tools_beside_an_effort() -> None:
    stated: dict[str, Any] = {"thinking_form": "effort", "tools_with_effort": "refuses"}
    assert formed(Thinking(effort=HIGH), tools=True, **stated) is None
    assert formed(Thinking(effort=NONE), tools=True, **stated) == Thinking(effort=NONE)
    assert formed(Thinking(effort=HIGH), tools=False, **stated) == Thinking(effort=HIGH)
    assert formed(Thinking(effort=HIGH), tools=True, efforts=["low", "high"], **stated) is None


def test_an_effort_that_is_no_wish_to_think() -> None:
    alone = Thinking(effort=HIGH, wire_form=EFFORT_ALONE)
    assert formed(alone, thinking_form="adaptive") is alone
    assert formed(alone, thinking_form="any") is alone
    assert formed(alone, thinking_form="budget") is None
    lower = formed(alone, thinking_form="adaptive", efforts=["low", "medium"])
    assert lower == Thinking(effort=MEDIUM, wire_form=EFFORT_ALONE)
    elsewhere = formed(alone, thinking_form="effort")
    assert elsewhere is not None
    assert (elsewhere.effort, elsewhere.wire_form) == (HIGH, "")


def test_the_report_says_whether_it_was_left_out() -> None:
    said = Conversation(HI, settings=Settings(thinking=Thinking(effort=HIGH)))
    assert run(thinking_form, said, facts(thinking_form="none")).did == ["left out the request to think"]
    assert run(thinking_form, said, facts(thinking_form="budget")).did == ["asked for thinking in the target's form"]


def test_a_conversation_that_says_nothing_of_it() -> None:
    assert run(thinking_form, "@temperature 1\nuser: Hi", facts(thinking_form="none")).untouched


def test_adapt_for_real_providers() -> None:
    asked: dict[str, Any] = {
        "messages": [{"role": "user", "content": "Hi"}],
        "max_tokens": 20000,
        "reasoning_effort": "high",
    }
    claude = sent(asked, "anthropic/claude-sonnet-4-5", source=CHAT)
    assert claude.json["thinking"] == {"type": "enabled", "budget_tokens": 10000}
    assert claude.changes == [("thinking-form", "/reasoning_effort", "metadata", False)]
    adaptive = sent(asked, "anthropic/claude-opus-4-8", source=CHAT)
    assert (adaptive.json["thinking"], adaptive.json["output_config"]) == (
        {"type": "adaptive", "display": "summarized"},
        {"effort": "high"},
    )
    gemini = sent(asked, "gemini/gemini-3-pro-preview", source=CHAT)
    assert gemini.json["generationConfig"]["thinkingConfig"]["thinkingLevel"] == "HIGH"
    thoughtless = sent({**asked, "max_tokens": 8000}, "gemini/gemini-2.0-flash", source=CHAT)
    assert "thinkingConfig" not in thoughtless.json["generationConfig"]
    assert thoughtless.changes == [("thinking-form", "/reasoning_effort", "metadata", False)]


@pytest.mark.parametrize(
    ("budget", "limit", "said"), [(512, 8000, 1024), (512, 1000, None), (9000, 8000, 7999), (2000, 8000, 2000)]
)
def test_adapt_keeps_a_budget_in_its_bounds(budget: int, limit: int, said: int | None) -> None:
    config = {"maxOutputTokens": limit, "thinkingConfig": {"thinkingBudget": budget}}
    body = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], "generationConfig": config}
    done = sent(body, "anthropic/claude-opus-4-6", source="gemini")
    assert done.json["thinking"].get("budget_tokens") == said


def test_an_effort_that_is_one_vendors_word() -> None:
    def asked(effort: str) -> dict[str, Any]:
        return {"messages": [{"role": "user", "content": "Hi"}], "reasoning_effort": effort}

    assert "reasoning_effort" not in sent(asked("default"), "openai/gpt-5").json
    assert sent(asked("default"), "groq/qwen/qwen3-32b").json["reasoning_effort"] == "default"
    assert sent(asked("default"), "groq/moonshotai/kimi-k2-instruct-0905").changes == []
    assert sent(asked("xhigh"), "groq/moonshotai/kimi-k2-instruct-0905").json["reasoning_effort"] == "high"
    assert "reasoning_effort" not in sent(asked("default"), "fireworks/some-model").json
    assert sent(asked("ultra"), "openai/gpt-5").json["reasoning_effort"] == "high"
    assert sent(asked("ultra"), "openai-compatible-strict/some-model").json["reasoning_effort"] == "max"
    assert sent(asked("ultra"), "openai-compatible/some-model").json["reasoning_effort"] == "ultra"
    assert sent(asked("newest"), "openai/gpt-5").json["reasoning_effort"] == "newest"


def test_a_second_wish_goes_with_the_first() -> None:
    asked = {
        "messages": [{"role": "user", "content": "Hi"}],
        "reasoning": {"effort": "high"},
        "reasoning_effort": "high",
    }
    once = sent(asked, "groq/qwen/qwen3-32b")
    assert once.json.keys() == {"model", "messages"}
    assert once.changes == [("thinking-form", "/reasoning_effort", "metadata", False)]
    foreign = {
        "messages": [{"role": "user", "content": "Hi"}],
        "reasoning_effort": "low",
        "logit_bias": {},
        "thinking": 1,
    }
    assert sent(foreign, "groq/qwen/qwen3-32b").json.keys() == {"model", "messages", "logit_bias"}


def test_k21_a_small_budget_switches_thinking_on_and_names_no_effort() -> None:
    body = {
        "messages": [{"role": "user", "content": "Hi"}],
        "thinking": {"type": "enabled", "token_budget": 500},
    }
    done = sent(body, "moonshot/kimi-k2-thinking", source="cohere")
    assert done.json["thinking"] == {"type": "enabled"}
    assert "reasoning_effort" not in done.json


def test_a_second_field_does_not_go_on_saying_what_the_first_one_said() -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    both = {"reasoning_effort": "minimal", "reasoning": {"effort": "minimal"}}
    made = adapt({**body, **both}, source="openai-chat", target="zai/glm-4.6")
    assert made.json["reasoning_effort"] == "low"
    assert "reasoning" not in made.json
    assert [change.at for change in made.changes] == ["/reasoning_effort", "/reasoning"]


@pytest.mark.parametrize(
    "target", ["cohere-openai/m", "qwen/qwq-32b", "together/m", "minimax/MiniMax-M2", "perplexity/m"]
)
@pytest.mark.parametrize("second", [{"exclude": True}, {"enabled": False}, {"max_tokens": 2000}])
def test_two_fields_for_thinking_do_not_say_the_same_twice(target: str, second: dict[str, Any]) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "reasoning_effort": "high"}
    once = adapt({**body, "reasoning": second}, source="openai-chat", target=target)
    assert "effort" not in once.json.get("reasoning", {}) or "reasoning_effort" not in once.json
    again = adapt(once.body, source="openai-chat", target=target)
    assert (again.body, again.changes) == (once.body, ())


@pytest.mark.parametrize(
    ("model", "fields", "output"),
    [
        (
            "us.anthropic.claude-opus-4-6-v1",
            {"thinking": {"type": "enabled", "budget_tokens": 1024}},
            {"effort": "low"},
        ),
        (
            "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            {"thinking": {"type": "enabled", "budget_tokens": 1024}},
            None,
        ),
        ("openai.gpt-oss-120b-1:0", {"reasoning_effort": "low"}, None),
    ],
)
def test_an_effort_next_to_the_thinking_of_claude_is_written_once(
    model: str, fields: dict[str, Any], output: dict[str, Any] | None
) -> None:
    both = {"thinking": {"type": "enabled", "budget_tokens": 1024}, "reasoning_effort": "low"}
    body = {"messages": [{"role": "user", "content": [{"text": "Hi"}]}], "additionalModelRequestFields": both}
    done = sent(body, f"bedrock/{model}", source="bedrock")
    assert done.json["additionalModelRequestFields"] == fields
    assert done.json.get("outputConfig") == output


@pytest.mark.parametrize("asked", [{"type": "enabled", "budget_tokens": 2048}, {"type": "disabled"}])
def test_a_field_that_the_target_has_beside_its_usual_one_stays(asked: dict[str, Any]) -> None:
    kimi = "fireworks/accounts/fireworks/models/kimi-k3"
    done = sent({"messages": [{"role": "user", "content": "Hi"}], "thinking": asked}, kimi)
    assert (done.json["thinking"], done.changes) == (asked, [])
    assert sent({"messages": [{"role": "user", "content": "Hi"}], "thinking": asked}, "openai/gpt-5").changes


@pytest.mark.parametrize("target", ["openai-compatible/m", "vllm/m", "llamacpp/m"])
@pytest.mark.parametrize("asked", [{"type": "enabled", "budget_tokens": 2048}, {"type": "disabled"}])
def test_a_server_whose_field_nobody_knows_gets_the_clients(asked: dict[str, Any], target: str) -> None:
    done = sent({"messages": [{"role": "user", "content": "Hi"}], "thinking": asked}, target)
    assert (done.json["thinking"], done.changes) == (asked, [])
    assert "reasoning_effort" not in done.json
    claude = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 4096, "thinking": asked}
    assert "thinking" not in sent(claude, target, source="anthropic").json


@pytest.mark.parametrize(
    ("model", "asked", "said"),
    [
        ("moonshotai/Kimi-K2.5", {"thinking": {"type": "disabled"}}, {"reasoning": {"enabled": False}}),
        ("moonshotai/Kimi-K2.5", {"reasoning_effort": "none"}, {"reasoning": {"enabled": False}}),
        ("moonshotai/Kimi-K2.5", {"reasoning_effort": "high"}, {"reasoning_effort": "high"}),
        ("moonshotai/Kimi-K2-Thinking", {"reasoning": {"enabled": False}}, {"reasoning": {"enabled": False}}),
        ("openai/gpt-oss-120b", {"thinking": {"type": "disabled"}}, {"reasoning_effort": "low"}),
    ],
)
def test_a_host_whose_models_have_a_switch_or_efforts(model: str, asked: dict[str, Any], said: dict[str, Any]) -> None:
    made = sent({"messages": [{"role": "user", "content": "Hi"}], **asked}, f"together/{model}")
    assert {key: value for key, value in made.json.items() if key not in ("messages", "model")} == said
    assert bool(made.changes) is (asked != said)


ADAPTIVE = {"thinking": {"type": "adaptive"}}


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("minimax/MiniMax-M3", ADAPTIVE),
        ("minimax/MiniMax-M2", {"thinking": {"type": "enabled"}}),
        ("openai-compatible/m", ADAPTIVE),
        ("vllm/m", ADAPTIVE),
        ("anthropic/claude-opus-4-8", {"thinking": {"type": "adaptive", "display": "summarized"}}),
        ("deepseek/deepseek-chat", {"thinking": {"type": "enabled"}}),
        ("fireworks/m", {"reasoning_effort": "medium"}),
        ("openai/gpt-5.1", {"reasoning_effort": "medium"}),
        ("openrouter/openai/gpt-5.1", {"reasoning": {"enabled": True}}),
        ("ollama/qwen3:8b", {"think": True}),
    ],
)
def test_claudes_word_for_thinking_in_a_chat_request(target: str, said: dict[str, Any]) -> None:
    done = sent({"messages": [{"role": "user", "content": "Hi"}], **ADAPTIVE}, target, source=CHAT)
    fields = ("thinking", "reasoning_effort", "reasoning", "think")
    assert {name: done.json[name] for name in fields if name in done.json} == said
    assert said != ADAPTIVE or done.changes == []


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"thinking": {"type": "disabled"}}, "disabled"),
        ({"thinking": {"type": "enabled"}}, "adaptive"),
        ({"reasoning_effort": "none"}, "disabled"),
        ({"reasoning_effort": "high"}, "adaptive"),
        ({"reasoning": {"enabled": False}}, "disabled"),
    ],
)
def test_a_model_that_decides_itself_is_switched_by_its_own_field(asked: dict[str, Any], said: str) -> None:
    body = {"messages": [{"role": "user", "content": "Hi"}], **asked}
    done = sent(body, "minimax/MiniMax-M3")
    assert done.json["thinking"] == {"type": said}
    assert done.json.keys() == {"model", "messages", "thinking"}
    assert sent(done.json, "minimax/MiniMax-M3").changes == []


def test_an_effort_alone_is_no_wish_to_think_for_a_model_without_efforts() -> None:
    body = {"max_tokens": 99, "messages": [{"role": "user", "content": "Hi"}], "output_config": {"effort": "low"}}
    assert "thinking" not in sent(body, "minimax/MiniMax-M3", source="anthropic").json


def nova(effort: str) -> dict[str, Any]:
    return {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": effort}}


NOVA_OFF = {"reasoningConfig": {"type": "disabled"}}


@pytest.mark.parametrize(
    ("effort", "said"), [("low", nova("low")), ("high", nova("medium")), ("max", nova("medium")), ("none", NOVA_OFF)]
)
def test_nova_is_asked_in_its_own_words_and_never_for_what_takes_no_limit(effort: str, said: dict[str, Any]) -> None:
    body = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 300, "reasoning_effort": effort}
    done = sent(body, "bedrock/us.amazon.nova-2-lite-v1:0", source=CHAT)
    assert done.json["additionalModelRequestFields"] == said
    again = sent(done.json, "bedrock/us.amazon.nova-2-lite-v1:0", source="bedrock")
    assert (again.json, again.changes) == (done.json, [])


@pytest.mark.parametrize(
    ("model", "asked", "said"),
    [
        ("us.amazon.nova-2-lite-v1:0", nova("medium"), nova("medium")),
        ("us.amazon.nova-2-lite-v1:0", nova("high"), nova("high")),
        ("us.amazon.nova-2-lite-v1:0", NOVA_OFF, NOVA_OFF),
        ("us.amazon.nova-lite-v1:0", nova("low"), None),
        ("us.amazon.nova-lite-v1:0", nova("high"), None),
        ("us.anthropic.claude-opus-4-8", nova("low"), {"thinking": {"type": "adaptive"}}),
        ("us.anthropic.claude-opus-4-8", nova("high"), None),
        ("arn:aws:bedrock:us-east-1:1:application-inference-profile/a", nova("low"), nova("low")),
        ("meta.llama3-3-70b-instruct-v1:0", {**nova("low"), "reasoning_effort": "low"}, None),
        ("openai.gpt-oss-120b-1:0", {**nova("low"), "reasoning_effort": "max"}, {"reasoning_effort": "high"}),
    ],
)
def test_novas_words_go_to_models_that_know_them(
    model: str, asked: dict[str, Any], said: dict[str, Any] | None
) -> None:
    body = {"messages": [{"role": "user", "content": [{"text": "Hi"}]}], "additionalModelRequestFields": asked}
    done = sent(body, f"bedrock/{model}", source="bedrock")
    assert done.json.get("additionalModelRequestFields") == said
    assert bool(done.changes) is (asked != said)


def test_openrouter_gets_a_budget_or_an_effort() -> None:
    """https://github.com/musistudio/claude-code-router/issues/488"""
    asked = {"thinking": {"type": "enabled", "budget_tokens": 4000}, "output_config": {"effort": "high"}}
    body = {"model": "m", "max_tokens": 9000, "messages": [{"role": "user", "content": "Hi"}], **asked}
    done = sent(body, "openrouter/anthropic/claude-sonnet-4.5", source="anthropic")
    assert done.json["reasoning"] == {"enabled": True, "max_tokens": 4000}
